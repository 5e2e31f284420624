from __future__ import annotations

import io
import struct
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.columns import (
    mark_missing,
    packed_numbers,
    packed_strings,
)
from dprct.io.stata.layout import (
    _MOST_REMEMBERED,
    LAYOUTS,
    MISSING_START,
    NUMPY_TYPE,
    RELEASES,
    Cursor,
    Decoded,
)
from dprct.io.stata.value_labels import pack_label_sets, read_label_sets
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column

TYPES = list(NUMPY_TYPE)


@pytest.mark.parametrize("storage", TYPES)
def test_all_27_codes_become_their_numbers_and_return(storage):
    start, step = MISSING_START[storage]
    raw = (start + step * np.arange(27)).astype(NUMPY_TYPE[storage])
    x = np.append(raw.astype(float), [7.0])
    mark_missing(x, Column("x", storage))
    assert missing_numbers(x).tolist() == [*range(27), -1]
    assert np.array_equal(
        packed_numbers(x, Column("x", storage)), np.append(raw, 7).astype(raw.dtype)
    )


@pytest.mark.parametrize("storage", ["float", "double"])
def test_what_lies_between_two_codes_is_refused(storage):
    start, step = MISSING_START[storage]
    for wrong in (start + step / 2, start + 27 * step):
        with pytest.raises(StataFormatError, match=r"'x' has a .* between two missing codes"):
            mark_missing(np.array([wrong]), Column("x", storage), 5)


def test_a_nan_of_another_program_is_the_plain_code_and_infinity_stays():
    alien = np.array([0x7FF8006100000001, 0xFFF8000000000000], np.uint64).view(float)
    x = np.concatenate([alien, [np.inf, -np.inf, 1.0]])
    mark_missing(x, Column("x"))
    assert missing_numbers(x).tolist() == [0, 0, -1, -1, -1]
    assert np.array_equal(x[:2].view(np.uint64), tagged([0, 0]).view(np.uint64))
    assert x[2:].tolist() == [np.inf, -np.inf, 1.0]


@pytest.mark.parametrize(
    ("storage", "value", "rule"),
    [
        ("byte", 101, "not among -127 to 100"),
        ("byte", -128, "not among -127 to 100"),
        ("int", 32741, "not among -32,767 to 32,740"),
        ("long", 2147483621, "not among"),
        ("byte", 1.5, "not whole"),
        ("float", 0.1, "32 bits"),
        ("float", 2.0**127, "not among numbers up to 1.70141e[+]38"),
        ("float", -1e39, "32 bits"),
        ("double", np.inf, "not among numbers up to 8.98847e[+]307"),
        ("double", 2.0**1023, "not among numbers up to"),
    ],
)
@pytest.mark.parametrize("with_missing", [False, True])
def test_what_does_not_fit_is_refused_without_its_value(storage, value, rule, with_missing):
    x = np.array([1.0, value, np.nan if with_missing else 2.0])
    with pytest.raises(SchemaError, match=rule) as refusal:
        packed_numbers(x, Column("income", storage))
    assert "'income'" in str(refusal.value)
    assert storage in str(refusal.value)
    if value == 0.1:
        assert "0.1" not in str(refusal.value)


def test_whole_numbers_beyond_2_to_53_are_refused_not_rounded():
    with pytest.raises(SchemaError, match=r"2\^53"):
        packed_numbers(np.array([2**53 + 1]), Column("x"))
    assert packed_numbers(np.array([-(2**53)]), Column("x"))[0] == -(2.0**53)


@pytest.mark.parametrize("storage", ["float", "double"])
def test_minus_infinity_is_kept_as_stata_keeps_it(storage):
    x = packed_numbers(np.array([-np.inf, -(2.0**127), 1.0]), Column("x", storage))
    mark_missing(back := x.astype(float), Column("x", storage))
    assert back.tolist() == [-np.inf, -(2.0**127), 1.0]


def test_other_numeric_arrays_are_taken_as_they_are():
    assert packed_numbers(np.array([True, False]), Column("x", "byte")).tolist() == [1, 0]
    assert packed_numbers(np.array([3], np.uint8), Column("x", "int")).tolist() == [3]
    assert packed_numbers(np.array([], float), Column("x", "int")).tolist() == []
    assert packed_numbers(pd.Series([1.5]).to_numpy(), Column("x", "float")).tolist() == [1.5]


NEW, OLD = LAYOUTS[118], LAYOUTS[115]


def test_undecodable_text_stays_bytes():
    read = Decoded(NEW)
    assert [read[b] for b in (b"caf\xc3\xa9", b"caf\xe9", b"a\0rubbish")] == [
        "café",
        b"caf\xe9",
        "a",
    ]
    assert Decoded(OLD)[b"caf\xe9"] == "café"
    assert Decoded(OLD)[b"\x81"] == b"\x81"


def test_the_memory_of_distinct_texts_is_bounded():
    read = Decoded(NEW)
    for i in range(_MOST_REMEMBERED + 10):
        assert read[b"%d" % i] == str(i)
    assert len(read) <= _MOST_REMEMBERED


def test_texts_become_fields():
    packed = packed_strings(["é", b"\xff", "", "é"], Column("s", "str3"), NEW)
    assert packed.dtype == "S3"
    assert packed.tolist() == [b"\xc3\xa9", b"\xff", b"", b"\xc3\xa9"]


@pytest.mark.parametrize(
    ("cell", "layout", "rule"),
    [
        ("secret", NEW, "more than 3 bytes"),
        (b"secret", NEW, "more than 3 bytes"),
        ("éé", NEW, "more than 3 bytes"),
        ("a\0b", NEW, "NUL"),
        (b"a\0b", NEW, "NUL"),
        ("名", OLD, "release 115 cannot hold; write version=118"),
        ("\ud800", NEW, "cannot hold"),
        (None, NEW, "not text"),
        (float("nan"), NEW, "not text"),
        (3, NEW, "not text"),
        ([], NEW, "not text"),
    ],
)
def test_text_that_does_not_fit_is_refused_without_itself(cell, layout, rule):
    with pytest.raises(SchemaError, match=rule) as refusal:
        packed_strings(["a", cell], Column("s", "str3"), layout)
    assert "'s'" in str(refusal.value)
    assert "secret" not in str(refusal.value)


SETS = {"b": {2: "two", -5: "minus", ".z": "z", ".": "dot", ".a": "a"}, "a": {1: ""}, "none": {}}


def read(section, layout, order="<"):
    cursor = Cursor(io.BytesIO(section), len(section))
    cursor.byteorder = order
    return read_label_sets(cursor, layout)


def written(sets, release=118, order="<"):
    return pack_label_sets(sets, LAYOUTS[release], order)[: -0 or None] + (
        b"</stata_dta>" if release >= 117 else b""
    )


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("release", [release for release in RELEASES if release >= 113])
def test_sets_return_with_their_order_and_missing_codes(release, order):
    found = read(written(SETS, release, order), LAYOUTS[release], order)
    assert found == SETS
    assert list(found) == list(SETS)
    assert list(found["b"]) == [-5, 2, ".", ".a", ".z"]


def table(starts, codes, text):
    n = len(codes)
    body = struct.pack(f"<II{n}I{n}i", n, len(text), *starts, *codes) + text
    return struct.pack("<I", len(body)) + b"set".ljust(36, b"\0") + body


def test_two_codes_may_share_a_text_but_not_a_part_of_it():
    assert read(table([0, 0], [1, 2], b"yes\0"), LAYOUTS[115]) == {"set": {1: "yes", 2: "yes"}}
    with pytest.raises(StataFormatError, match="inside another label"):
        read(table([0, 1], [1, 2], b"yes\0"), LAYOUTS[115])


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (table([9], [1], b"yes\0"), "outside the text"),
        (table([0, 4], [1, 1], b"yes\0no\0"), "one number twice"),
        (2 * table([0], [1], b"yes\0"), "two label sets are called 'set'"),
        (table([0], [1], b"yes\0")[:-2], "shorter than it says"),
        (b"\x05\0\0\0" + table([0], [1], b"yes\0")[4:], "longer than it says"),
        (
            table([0], [1], b"y\0")[:40] + struct.pack("<II", 2**31, 0) + bytes(10),
            "longer than it says",
        ),
        (b"xx", "shorter than it says"),
    ],
)
def test_damaged_sets_are_refused(section, why):
    with pytest.raises(StataFormatError, match=why):
        read(section, LAYOUTS[115])


def test_many_entries_cannot_ask_for_the_square_of_the_size():
    n = 20_000
    with pytest.raises(StataFormatError, match="inside another label"):
        read(table(range(n), range(n), b"a" * 2 * n), LAYOUTS[115])


@pytest.mark.parametrize(
    ("sets", "release", "why"),
    [
        ({"s": {1.5: "x"}}, 118, "neither a whole number"),
        ({"s": {"many": "x"}}, 118, "neither a whole number"),
        ({"s": {2_147_483_621: "x"}}, 118, "neither a whole number"),
        ({"s": {1: "名"}}, 115, "write version=118"),
        ({"s": {1: "a\0b"}}, 118, "NUL"),
        ({"s": {1: "a" * 32_001}}, 118, "allows 32,000"),
        ({"s" * 33: {}}, 115, "allows 32"),
    ],
)
def test_what_does_not_fit_is_refused(sets, release, why):
    with pytest.raises(SchemaError, match=why):
        written(MappingProxyType(sets), release)
