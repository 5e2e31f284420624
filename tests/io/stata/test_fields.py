from __future__ import annotations

import pytest

from dprct.errors import SchemaError
from dprct.io.stata.fields import packed_text, padded_text
from dprct.io.stata.layout import LAYOUTS

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
