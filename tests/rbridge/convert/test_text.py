from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ConversionError
from dprct.rbridge.convert import call_r
from dprct.rbridge.convert.text import texts_to_r, unpacked


def packed(r, code):
    return call_r(r.session.function("pack_text"), r(code))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("character(0)", []),
        ("c(NA_character_, NA)", [None, None]),
        ("c('', NA, '')", ["", None, ""]),
        ("c('b', 'a', 'b')", ["b", "a", "b"]),
        ("'\\x1f'", ["\x1f"]),
        ("intToUtf8(c(31, 30, 29, 28, 1:4))", ["\x1f\x1e\x1d\x1c\x01\x02\x03\x04"]),
        ("c(intToUtf8(c(31, 30, 29, 28, 1:4)), NA, 'a')",
         ["\x1f\x1e\x1d\x1c\x01\x02\x03\x04", None, "a"]),
        ("'\U0001f600'", ["\U0001f600"]),
    ],
)  # fmt: skip
def test_text_arrives_and_goes_back(r, code, expected):
    found = unpacked(packed(r, code))
    assert found.tolist() == expected
    assert r.identical(texts_to_r(found), r(code))


def test_what_stands_for_na_can_be_chosen(r):
    assert unpacked(packed(r, "c('a', NA)"), missing="").tolist() == ["a", ""]


def test_text_of_other_encodings_is_the_same_text(r):
    latin = "iconv('caf\u00e9', 'UTF-8', 'latin1')"
    assert unpacked(packed(r, latin)).tolist() == ["caf\u00e9"]


def test_bytes_stay_bytes(r):
    out = texts_to_r([b"caf\xe9", "a", None])
    assert r.identical(out, r("{x <- c('caf\\xe9', 'a', NA); Encoding(x) <- 'bytes'; x}"))
    assert unpacked(call_r(r.session.function("pack_text"), out)).tolist()[0] == b"caf\xe9"


def test_nan_and_none_are_na(r):
    assert r.identical(texts_to_r(["a", np.nan, None]), r("c('a', NA, NA)"))


@pytest.mark.parametrize(
    ("values", "words"),
    [([1], "neither text nor bytes"), (["a\0"], "NUL"), ([b"\0"], "NUL"), (["\udce9"], "encoding")],
)
def test_what_r_cannot_keep_is_refused(r, values, words):
    with pytest.raises(ConversionError, match=f"column 'x' holds .*{words}"):
        texts_to_r(values, "column 'x'")
