from __future__ import annotations

import datetime as dt
import math
import threading
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import BridgeError, ConversionError
from dprct.rbridge.convert import Matrix, RError, RFunction, from_r, to_r


@pytest.mark.parametrize(
    "code",
    [
        "NULL",
        "TRUE",
        "1L",
        "-2147483647L",
        "1.5",
        "-0",
        "Inf",
        "NaN",
        "2^40",
        "'\u4e2d'",
        "''",
        "c(1.5, NA)",
        "c(NaN, 1)",
        "c(1L, 2L)",
        "c(TRUE, NA)",
        "c('a', NA, '')",
        "letters",
        "I(1) * 2 + 0:1",
        "matrix(c(1, 2, 3, 4, 5, 6), 2)",
        "list(a = 1, b = 'x', c = list(1, 'y'))",
        "as.Date('2024-02-29')",
        "list()",
    ],
)
def test_values_come_back_identical(r, code):
    assert r.back(code)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("NA", None),
        ("NA_character_", None),
        ("NA_real_", None),
        ("NA_integer_", None),
        ("as.Date(NA)", None),
        ("5", 5.0),
        ("5L", 5),
        ("c(low = 1, high = 2)", {"low": 1.0, "high": 2.0}),
        ("c(a = 'x')", {"a": "x"}),
        ("factor(c('u', NA, 'v'))", ["u", None, "v"]),
        ("factor('u')", "u"),
        ("list(1, 'a')", [1.0, "a"]),
        ("as.Date('1959-12-31')", dt.date(1959, 12, 31)),
    ],
)
def test_values_mean_in_python_what_they_mean_in_r(r, code, value):
    found = from_r(r(code))
    assert found == value
    assert type(found) is type(value)


def test_one_value_stays_a_vector_where_r_says_so(r):
    assert from_r(r("I(1)")).tolist() == [1.0]
    assert from_r(r("I('a')")) == ["a"]


def test_missing_integers_are_missing(r):
    np.testing.assert_array_equal(from_r(r("c(1L, NA)")), [1, np.nan])
    np.testing.assert_array_equal(from_r(r("matrix(c(1L, NA), 1)")), [[1, np.nan]])


@pytest.mark.parametrize(
    "code",
    [
        "globalenv()",
        "quote(x)",
        "y ~ x",
        "matrix('a')",
        "list(a = 1, 2)",
        "Sys.time()",
        "as.POSIXlt(Sys.time())",
        "structure(1, units = 'days', class = 'difftime')",
        "{x <- '\\xff'; Encoding(x) <- 'UTF-8'; x}",
    ],
)
def test_what_has_no_counterpart_is_refused(r, code):
    with pytest.raises(ConversionError):
        from_r(r(code))


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Fraction(1, 4), "0.25"),
        (Colour.RED, "'red'"),
        (Path("a") / "b", "'a/b'"),
        (np.float64(2), "2"),
        (np.int64(2), "2L"),
        (np.bool_(True), "TRUE"),
        (2**31, "2147483648"),
        ([1, 2], "c(1L, 2L)"),
        ((1, 2.5), "c(1, 2.5)"),
        ([True, None], "c(TRUE, NA)"),
        (["a", None], "c('a', NA)"),
        ([1, "a"], "list(1L, 'a')"),
        ([None], "list(NULL)"),
        ({}, "list()"),
        (pd.Series([1.0, np.nan], ["a", "b"]), "c(a = 1, b = NA)"),
        (Matrix(np.array([[1.0, 2.0]]), ["r"], ["a", "b"]), "rbind(r = c(a = 1, b = 2))"),
        (np.array([1.0, np.nan]), "c(1, NaN)"),
        (np.array([True, False]), "c(TRUE, FALSE)"),
        (dt.date(1970, 1, 3), "structure(2, class = 'Date')"),
    ],
)
def test_results_arrive_as_r_would_write_them(r, value, code):
    assert r.identical(to_r(value), r(code))


@pytest.mark.parametrize("value", [object(), {1, 2}, 2**60, np.zeros((1, 1, 1)), "a\0b", "\ud800"])
def test_results_without_a_form_in_r_are_refused(r, value):
    with pytest.raises(ConversionError):
        to_r(value)


def test_functions_can_be_called_and_go_back_as_themselves(r):
    function = from_r(r("function(x, by = 1) x + by"))
    assert isinstance(function, RFunction)
    assert function(1, by=2) == 3.0
    assert r.identical(to_r(function), function.sexp)


def test_an_error_of_r_carries_its_condition(r):
    function = from_r(r("function() stop('boo')"))
    with pytest.raises(RError, match="boo") as caught:
        function()
    assert "simpleError" in list(caught.value.condition.rclass)


def test_r_is_called_from_the_main_thread_only(r):
    function, caught = from_r(r("function() 1")), []

    def ask():
        try:
            function()
        except BridgeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "main thread" in caught[0]


def test_a_nan_is_not_na(r):
    assert math.isnan(from_r(r("NaN")))
    assert from_r(r("NA_real_")) is None
