from __future__ import annotations

import pytest

from dprct.errors import SchemaError
from dprct.io.stata.layout import LAYOUTS
from dprct.io.stata.strings import _MOST_REMEMBERED, Decoded, packed_strings
from dprct.schema import Column

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
def test_what_does_not_fit_is_refused_without_its_value(cell, layout, rule):
    with pytest.raises(SchemaError, match=rule) as refusal:
        packed_strings(["a", cell], Column("s", "str3"), layout)
    assert "'s'" in str(refusal.value)
    assert "secret" not in str(refusal.value)
