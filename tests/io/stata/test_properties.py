"""Any table survives, in every release and byte order; no damage does more than be refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dprct.errors import StataFormatError
from dprct.io.stata import read_dta, read_header, write_dta
from dprct.io.stata.layout import LAYOUTS, RELEASES, decoded
from dprct.missing import MISSING_CODES, tagged
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
LONG = settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
FEW = settings(LONG, max_examples=25)


def text(release, most, empty=True):
    """Texts of at most ``most`` bytes that the release encodes and reads back as they are."""
    codec = LAYOUTS[release].encoding
    alphabet = st.characters(codec=codec, exclude_characters="\0", exclude_categories=["Cs"])
    return st.text(alphabet, min_size=not empty, max_size=min(most, 40)).filter(
        lambda t: len(t.encode(codec)) <= most
    )


ALL_CODES = [release for release in RELEASES if release >= 113]  # the others have "." alone


def names(release):
    letters = "abcXYZ_é名" if release >= 118 else "abcXYZ_"
    first, rest = st.sampled_from(letters), st.text(letters + "0123456789", max_size=20)
    return st.builds(lambda a, b: f"v_{a}{b}", first, rest)


def storage_types(release):
    fixed = st.integers(1, LAYOUTS[release].widest).map("str{}".format)
    some = ["byte", "int", "long", "float", "double"] + ["strL"] * (release >= 117)
    return st.sampled_from(some) | fixed


def numbers(storage):
    if storage in INTEGER_LIMITS:
        legal = st.integers(*INTEGER_LIMITS[storage]).map(float)
    else:
        most = FLOAT_LIMITS[storage]
        width = 32 if storage == "float" else 64
        legal = st.floats(-most, most, width=width)
    return legal | st.integers(0, 26).map(lambda k: float(tagged([k])[0]))


def cells(storage, release):
    if storage == "strL":
        return text(release, 40) | st.binary(max_size=20)
    width, codec = int(storage[3:]), LAYOUTS[release].encoding
    raw = st.binary(min_size=1, max_size=min(width, 20)).filter(
        lambda b: b"\0" not in b and isinstance(decoded(b, codec), bytes)
    )
    return text(release, width) | (raw if width > 2 else st.nothing())


@st.composite
def tables(draw, release=None):
    release = release or draw(st.sampled_from(ALL_CODES))
    rows = draw(st.integers(0, 6))
    wide = 4 if release >= 118 else 1
    labels = text(release, 80 * wide)
    sets = draw(
        st.dictionaries(
            names(release),
            st.dictionaries(
                st.integers(-(2**31), 2_147_483_620) | st.sampled_from(MISSING_CODES),
                text(release, 100),
                max_size=4,
            ).map(MappingProxyType),
            max_size=3,
        )
    )
    chosen = draw(st.lists(names(release), min_size=1, max_size=5, unique=True))
    attached = st.sampled_from(["", *sets, "gone"])
    columns, data = [], {}
    for name in chosen:
        storage = draw(storage_types(release))
        fmt = draw(text(release, 11, empty=False))
        columns.append(Column(name, storage, fmt, draw(labels), draw(attached)))
        cell = cells(storage, release) if columns[-1].is_text else numbers(storage)
        values = draw(st.lists(cell, min_size=rows, max_size=rows))
        data[name] = pd.Series(values, dtype=object if columns[-1].is_text else float)
    owner = st.sampled_from(["_dta", *chosen])
    facts = FileFacts(
        release=release,
        byteorder=draw(st.sampled_from("<>")),
        label=draw(labels),
        timestamp=draw(st.sampled_from(["", "21 Nov 2026 07:36"])),
        sorted_by=tuple(draw(st.lists(st.sampled_from(chosen), unique=True))),
        value_labels=MappingProxyType(sets),
        characteristics=tuple(
            draw(st.lists(st.tuples(owner, names(release), text(release, 200)), max_size=3))
        ),
        rows=rows,
    )
    return pd.DataFrame(data), Schema(tuple(columns), facts, opened=True)


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("properties") / "any.dta"


@pytest.mark.long
@given(table=tables())
@LONG
def test_any_table_survives(table, file, same):
    write_dta(*table, file)
    same(table, read_dta(file))


@given(table=tables(release=118))
@FEW
def test_release_119_holds_what_118_does(table, file, same):
    data, schema = table
    write_dta(data, schema, file, version=119)
    wider = replace(schema, file=replace(schema.file, release=119))
    same((data, wider), read_dta(file))


@pytest.mark.long
@given(table=tables(), mutate=st.data())
@LONG
def test_damage_is_read_or_refused(table, mutate, file):
    """Flipped bits, overwritten and cut bytes: a whole frame of legal types, or one refusal."""
    write_dta(*table, file)
    content = bytearray(file.read_bytes())
    for _ in range(mutate.draw(st.integers(1, 3))):
        at = mutate.draw(st.integers(0, len(content) - 1))
        content[at] ^= mutate.draw(st.integers(1, 255))
    if mutate.draw(st.booleans()):
        del content[mutate.draw(st.integers(1, len(content))) :]
    file.write_bytes(content)
    with contextlib.suppress(StataFormatError):
        data, schema = read_dta(file)
        assert list(data.columns) == schema.names
        assert len(data) == schema.file.rows
        for column in schema.columns:
            assert data[column.name].dtype == (object if column.is_text else np.float64)
    with contextlib.suppress(StataFormatError):
        read_header(file)


@given(table=st.sampled_from([117, 118, 119]).flatmap(tables), cut=st.floats(0, 1))
@FEW
def test_a_cut_file_of_117_and_later_is_always_refused(table, cut, file):
    write_dta(*table, file)
    content = file.read_bytes()
    file.write_bytes(content[: int(cut * (len(content) - 1))])
    with pytest.raises(StataFormatError):
        read_dta(file)
