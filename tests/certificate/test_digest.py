"""The digest, against its definition computed by other means, and what it must not see."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dprct.certificate.certificate import (
    ValuesDigest,
    digest_of,
    labels_digest,
    number_digest,
    text_digest,
    to_15_digits,
)
from dprct.errors import ParameterError
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema


def by_definition(cells: list[float | str], *, exact: bool = True) -> str:
    """The column digest of the docstring, cell by cell: numbers, and missing codes as text."""
    out = b"N" + struct.pack(">Q", len(cells))
    for cell in cells:
        if isinstance(cell, str):
            code = 0 if cell == "." else ord(cell[1]) - 96
            out += bytes([0x7F, 0xF8, 0, 0, 0, 0, 0, code if exact else 0])
        else:
            out += struct.pack(">d", cell + 0.0)
    return hashlib.sha256(out).hexdigest()


def table(**changes: Any) -> tuple[pd.DataFrame, Schema]:
    data = pd.DataFrame(
        {
            "got": np.array([1.0, -0.0, *tagged([0, 1, 26])]),
            "pay": np.array([0.1, 1 / 3, 1e300, 2.0, 3.0]),
            "who": np.array(["Ada", "é", "", b"\xff", "x"], dtype=object),
        }
    )
    columns = (
        Column("got", "byte", label="got it", value_label="yesno"),
        Column("pay", "double"),
        Column("who", "str8"),
    )
    file = FileFacts(value_labels={"yesno": {1: "yes", 0: "no", ".a": "refused"}})
    return data.assign(**changes), Schema(columns, file)


def test_numbers_are_as_defined() -> None:
    values = table()[0]["got"].to_numpy()
    cells: list[float | str] = [1.0, 0.0, ".", ".a", ".z"]
    assert number_digest(values, exact=True) == by_definition(cells)
    assert number_digest(values, exact=False) == by_definition(cells, exact=False)


@given(hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False)))
def test_any_numbers_are_as_defined(values: Any) -> None:
    expected = by_definition([float(x) for x in values])
    assert number_digest(values, exact=True) == number_digest(values, exact=False) == expected


def test_texts_are_as_defined() -> None:
    raw = [b"Ada", "é".encode(), b"", b"\xff", b"x"]
    content = b"T" + struct.pack(">Q", 5) + b"".join(struct.pack(">Q", len(x)) + x for x in raw)
    found = text_digest(["Ada", "é", None, "\udcff", b"x"])
    assert found == hashlib.sha256(content).hexdigest()
    assert text_digest(["ab", "c"]) != text_digest(["a", "bc"])


def test_the_table_is_as_defined() -> None:
    found = digest_of(*table())
    content = b"dprct-values-1\n"
    for column in found.columns:
        content += struct.pack(">Q", len(column.name)) + column.name.encode()
        content += bytes.fromhex(column.exact)
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.plain_sha256 != found.sha256
    assert [column.kind for column in found.columns] == ["number", "number", "text"]


def test_the_order_of_columns_counts() -> None:
    data, schema = table()
    turned = Schema(schema.columns[::-1], schema.file)
    one, other = digest_of(data, schema), digest_of(data, turned)
    assert one.columns == other.columns[::-1]
    assert one.sha256 != other.sha256
    assert one.plain_sha256 != other.plain_sha256


@pytest.mark.parametrize(
    "change",
    [{"got": np.array([1.0, 0.0, *tagged([0, 2, 26])])}, {"pay": np.arange(5.0)},
     {"who": np.array(["Ada", "e", "", b"\xff", "x"], dtype=object)}],
)  # fmt: skip
def test_another_value_is_another_digest(change: dict[str, Any]) -> None:
    (column,) = change
    before, after = digest_of(*table()), digest_of(*table(**change))
    assert before.sha256 != after.sha256
    same = {x.name for x, y in zip(before.columns, after.columns, strict=True) if x == y}
    assert same == {"got", "pay", "who"} - {column}


def test_only_the_exact_digest_knows_missing_codes() -> None:
    data, schema = table()
    merged = data.assign(got=np.array([1.0, 0.0, *tagged([0, 0, 0])]))
    assert digest_of(data, schema).plain_sha256 == digest_of(merged, schema).plain_sha256
    assert digest_of(data, schema).sha256 != digest_of(merged, schema).sha256


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fifteen_digits_survive_being_printed(value: float) -> None:
    once = to_15_digits(np.array([value]))
    assert once[0] == float(f"{value:.15g}")
    assert to_15_digits(once)[0] == once[0]


def test_fifteen_digits_leave_missing_codes() -> None:
    missing = tagged([0, 5])
    assert to_15_digits(missing).tobytes() == missing.tobytes()


def test_labels_do_not_depend_on_their_order_but_on_every_word() -> None:
    one = labels_digest("got it", {1: "yes", 0: "no", ".a": "refused"})
    assert one == labels_digest("got it", {".a": "refused", 0: "no", 1: "yes"})
    others = [
        labels_digest("got", {1: "yes", 0: "no", ".a": "refused"}),
        labels_digest("got it", {1: "yes", 0: "no", ".b": "refused"}),
        labels_digest("got it", {2: "yes", 0: "no", ".a": "refused"}),
        labels_digest("got it", {1: "no", 0: "yes", ".a": "refused"}),
    ]
    assert len({one, *others}) == 5


def test_it_is_read_back_and_a_change_is_noticed() -> None:
    found = digest_of(*table())
    content = json.loads(json.dumps(found.to_dict()))
    assert ValuesDigest.from_dict(content) == found
    content["columns"][0]["exact"] = "0" * 64
    with pytest.raises(ParameterError, match="do not add up"):
        ValuesDigest.from_dict(content)


def test_a_digest_that_is_no_number_is_refused_in_a_sentence() -> None:
    facts = {"rows": 1, "columns": [], "sha256": "", "plain_sha256": ""}
    column = {
        "name": "a",
        "kind": "number",
        "exact": "zz",
        "plain": "zz",
        "rounded": "",
        "labels": "",
    }
    with pytest.raises(ParameterError, match="do not add up"):
        ValuesDigest.from_dict({**facts, "columns": [column]})


@pytest.mark.parametrize(
    "numbers",
    [
        lambda rng: rng.normal(size=2000) * 10.0 ** rng.integers(-12, 20, 2000),
        lambda rng: np.frombuffer(rng.bytes(16_000)),
        lambda rng: rng.integers(-(10**6), 10**6, 2000) / 1000,
        # halves of the last digit
        lambda rng: (rng.integers(10**14, 10**15, 2000) + 0.5) / 10.0 ** rng.integers(0, 20, 2000),
        lambda _: np.concatenate(
            [np.nextafter(10.0 ** np.arange(-30, 30), to) for to in (0, 1, np.inf)]
        ),
    ],
)
def test_fifteen_digits_are_those_that_are_printed(numbers):
    values = numbers(np.random.default_rng())
    values = values[~np.isnan(values)]
    printed = np.array([float(f"{value:.15g}") for value in values.tolist()])
    assert to_15_digits(values).tobytes() == printed.tobytes()
