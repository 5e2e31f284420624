from __future__ import annotations

import numpy as np
import pytest

from dprct.missing import missing_numbers, tagged
from dprct.rbridge.convert.vectors import (
    INTEGER_NA,
    doubles,
    fields,
    is_r_missing,
    kind_of,
    list_of,
    named_list,
    numbers,
    short_texts,
    texts,
    vector_of,
    view,
)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("NULL", "NULL"),
        ("1", "double"),
        ("1L", "integer"),
        ("TRUE", "logical"),
        ("'a'", "character"),
        ("list()", "list"),
        ("raw(1)", "raw"),
        ("1i", "complex"),
        ("sum", "builtin"),
        ("function() 1", "closure"),
        ("new.env()", "environment"),
        ("quote(x)", "symbol"),
        ("quote(x + 1)", "language"),
    ],
)
def test_kinds_are_those_of_typeof(r, code, kind):
    assert kind_of(r(code)) == kind


def test_a_view_is_the_memory_and_a_copy_is_not(r):
    vector = r("c(1, 2)")
    copied = numbers(vector)
    view(vector)[0] = 5
    assert view(vector).tolist() == [5, 2]
    assert copied.tolist() == [1, 2]
    assert view(r("c(1L, NA)")).tolist() == [1, INTEGER_NA]
    assert view(r("numeric(0)")).tolist() == []


def test_missing_values_keep_their_letters_and_a_nan_becomes_na(r):
    values = np.array([1.0, np.nan, *tagged([0, 1, 26])])
    out = doubles(values)
    assert missing_numbers(numbers(out)).tolist() == [-1, 0, 0, 1, 26]
    assert is_r_missing(numbers(out)).tolist() == [False, True, True, True, True]
    assert is_r_missing(numbers(r("c(NA, NaN, 1)"))).tolist() == [True, False, False]
    assert r.identical(vector_of(values[1:2], "double"), r("NaN"))


def test_texts_and_lists(r):
    assert texts(short_texts(["a", None])) == ["a", None]
    assert texts(r("NULL")) == []
    assert r.identical(short_texts([]), r("character(0)"))
    assert r.identical(list_of([]), r("list()"))
    assert r.identical(named_list({"a": r("1")}), r("list(a = 1)"))
    assert list(fields(r("list(a = 1, b = 2)"))) == ["a", "b"]
