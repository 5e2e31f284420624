from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ConversionError
from dprct.rbridge.convert import Matrix, to_r

OBJECTS = pd.DataFrame({"x": pd.Series([1, None, 2.5], dtype=object)})


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (pd.DataFrame({"a": [1, 2]}), "data.frame(a = 1:2)"),
        (pd.DataFrame({"a": [1.5, np.nan]}), "data.frame(a = c(1.5, NA))"),
        (pd.DataFrame({"a": [2**40, 1]}), "data.frame(a = c(2^40, 1))"),
        (pd.DataFrame({"a": [True, False]}), "data.frame(a = c(TRUE, FALSE))"),
        (pd.DataFrame({"a": ["x", None]}), "data.frame(a = c('x', NA))"),
        (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "data.frame(a = c(1L, NA))"),
        (pd.DataFrame({"a": pd.array([True, None], "boolean")}), "data.frame(a = c(TRUE, NA))"),
        (pd.DataFrame({"a": pd.Categorical(["v", None], ["v", "u"], ordered=True)}),
         "data.frame(a = factor(c('v', NA), c('v', 'u'), ordered = TRUE))"),
        (pd.DataFrame({"a": [1.0]}, index=["r"]), "data.frame(a = 1, row.names = 'r')"),
        (pd.DataFrame({"a": [1.0, 2]}, index=["r", "r"]), "data.frame(a = c(1, 2))"),
        (OBJECTS, "data.frame(x = c(1, NA, 2.5))"),
        (pd.DataFrame({"t": pd.to_datetime(["1970-01-02", None])}),
         "data.frame(t = structure(c(86400, NA), class = c('POSIXct', 'POSIXt'), tzone = 'UTC'))"),
        (pd.DataFrame({("a", "b"): [1.0]}), "structure(data.frame(x = 1), names = 'a b')"),
    ],
)  # fmt: skip
def test_frames_of_results(r, frame, code):
    assert r.identical(to_r(frame), r(code))


def test_matrices(r):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], ["a", "b"], ["c", "d"])
    assert r.identical(to_r(Matrix.of(frame)), r("rbind(a = c(c = 1, d = 2), b = c(3, 4))"))
    assert r.identical(to_r(np.array([[1, 2]])), r("matrix(c(1, 2), 1)"))


@pytest.mark.parametrize("values", [np.array([1j]), np.zeros((1, 1, 1)), pd.Series([object()])])
def test_what_r_has_not_is_refused(r, values):
    with pytest.raises(ConversionError):
        to_r(values)
