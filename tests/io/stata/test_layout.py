from __future__ import annotations

import io

import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import (
    LAYOUTS,
    MISSING_START,
    RELEASES,
    Cursor,
    default_format,
    packed_text,
    padded_text,
    storage_type,
    type_code,
)


@pytest.mark.parametrize("release", RELEASES)
def test_every_type_code_has_one_type(release):
    layout = LAYOUTS[release]
    types = {code: storage_type(code, layout) for code in range(2**16)}
    known = {code: storage for code, storage in types.items() if storage}
    assert len(known) == layout.widest + 5 + layout.tagged
    assert len(set(known.values())) == len(known)
    assert all(type_code(storage, layout) == code for code, storage in known.items())
    assert types[0] is None


def test_the_codes_of_the_specification():
    assert storage_type(255, LAYOUTS[115]) == "double"
    assert storage_type(251, LAYOUTS[115]) == "byte"
    assert storage_type(244, LAYOUTS[113]) == "str244"
    assert storage_type(65526, LAYOUTS[118]) == "double"
    assert storage_type(65530, LAYOUTS[117]) == "byte"
    assert storage_type(32768, LAYOUTS[119]) == "strL"
    assert storage_type(255, LAYOUTS[117]) == "str255"


def test_missing_codes_begin_where_the_specification_says():
    import numpy as np

    start, step = MISSING_START["float"]
    assert np.float32(start).view(np.uint32) == 0x7F000000
    assert np.float32(start + 26 * step).view(np.uint32) == 0x7F000000 + 26 * 0x800
    start, step = MISSING_START["double"]
    assert np.float64(start).view(np.uint64) == 0x7FE0000000000000
    assert np.float64(start + 26 * step).view(np.uint64) == 0x7FE0000000000000 + 26 * 2**40
    assert [MISSING_START[t][0] for t in ("byte", "int", "long")] == [101, 32741, 2147483621]


def test_default_formats_are_those_of_a_new_variable():
    assert [default_format(t) for t in ("byte", "long", "float", "double")] == [
        "%8.0g", "%12.0g", "%9.0g", "%10.0g",
    ]  # fmt: skip
    assert [default_format(t) for t in ("str3", "str20", "strL")] == ["%9s", "%20s", "%9s"]


def test_old_text_keeps_bytes_that_cp1252_does_not_know():
    everything = bytes(range(1, 256))
    assert LAYOUTS[117].encode(LAYOUTS[117].decode(everything)) == everything
    assert LAYOUTS[118].encode(LAYOUTS[118].decode(everything)) == everything
    assert LAYOUTS[117].decode(b"ab\0rubbish") == "ab"


NEW = LAYOUTS[118]


def test_a_field_ends_in_a_nul():
    assert padded_text("ab", 4, NEW, "x") == b"ab\0\0"
    with pytest.raises(SchemaError, match="x has 4 bytes and release 118 allows 3"):
        padded_text("abcd", 4, NEW, "x")
    assert packed_text("\udce9", 9, NEW, "x") == b"\xe9"


@pytest.mark.parametrize(
    ("text", "release", "why"),
    [
        ("名", 115, "release 115 cannot hold; write version=118"),
        ("\ud800", 118, "give the undecodable text as bytes"),
        ("a\0b", 118, "holds a NUL"),
    ],
)
def test_what_a_release_cannot_hold_is_refused(text, release, why):
    with pytest.raises(SchemaError, match=f"the label .*{why}"):
        packed_text(text, 80, LAYOUTS[release], "the label")


def cursor(content):
    return Cursor(io.BytesIO(content), len(content))


def test_it_reads_forward_in_the_byte_order():
    c = cursor(b"\1\0\0\0\0\1<tag>rest")
    assert c.number("H", "a") == 1
    assert c.number("H", "a") == 0
    c.byteorder = ">"
    assert c.numbers("BB", "a") == (0, 1)
    assert c.peek("<tag>")
    assert c.at == 6
    c.expect("<tag>", "a")
    assert c.left == 4
    c.jump(13, "a")
    assert c.take(2, "a") == b"st"


def test_a_claim_beyond_the_end_is_refused_before_memory_is_asked_for():
    with pytest.raises(StataFormatError, match="shorter than it says") as refusal:
        cursor(b"abc").take(2**60, "data")
    assert refusal.value.offset == 0
    assert refusal.value.field == "data"


def test_a_wrong_tag_names_its_place():
    c = cursor(b"xx<wrong>")
    c.take(2, "a")
    with pytest.raises(StataFormatError, match=r"expected <right>.*in names, at byte 2") as refusal:
        c.expect("<right>", "names")
    assert (refusal.value.offset, refusal.value.field) == (2, "names")


@pytest.mark.parametrize("place", [0, 100])
def test_it_neither_jumps_back_nor_beyond_the_end(place):
    c = cursor(b"abcdef")
    c.take(3, "a")
    with pytest.raises(StataFormatError, match="outside itself"):
        c.jump(place, "map")


def test_a_file_that_shrinks_while_it_is_read_is_refused():
    with pytest.raises(StataFormatError, match="became shorter"):
        Cursor(io.BytesIO(b"ab"), 10).take(5, "data")
