from __future__ import annotations

import io
import struct
from types import MappingProxyType

import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.cursor import Cursor
from dprct.io.stata.labels import pack_label_sets, read_label_sets
from dprct.io.stata.layout import LAYOUTS, RELEASES

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
@pytest.mark.parametrize("release", RELEASES)
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
