from __future__ import annotations

import io

import pytest

from dprct.errors import StataFormatError
from dprct.io.stata.cursor import Cursor


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
