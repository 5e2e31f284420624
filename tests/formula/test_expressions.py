"""Expressions: NumPy's arithmetic, Stata's missing values, and nothing run by Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import FormulaError
from dprct.formula.expressions import Expression, spelled


def checked(source, names=("a", "b"), functions=True):
    return Expression.checked(source, names, functions=functions, part=source)


A = np.array([1.0, 2.0, -3.0, np.nan])
B = np.array([0.0, 4.0, 0.5, 1.0])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("v0 + v1 * 2", [1, 10, -2, np.nan]),
        ("-v0 ** 2", [-1, -4, -9, np.nan]),
        ("(v0 - v1) / 2", [0.5, -1, -1.75, np.nan]),
        ("v0 / v1", [np.nan, 0.5, -6, np.nan]),
        ("log(v0)", [0, np.log(2), np.nan, np.nan]),
        ("sqrt(v1)", [0, 2, np.sqrt(0.5), np.nan]),
        ("exp(1000 * v1)", [1, np.nan, np.exp(500), np.nan]),
        ("abs(v0)", [1, 2, 3, np.nan]),
        ("v0 > 1", [0, 1, 0, np.nan]),
        ("v0 != v1", [1, 1, 1, np.nan]),
        ("(v0 >= 1) * (v1 < 1)", [1, 0, 0, np.nan]),
        ("2 ** v0", [2, 4, 0.125, np.nan]),
    ],
)
def test_values(source, expected):
    names = ("a", "b")
    result = checked(source, names)({"a": A, "b": B})
    if "v1" not in source:
        assert np.isnan(result[3])
    np.testing.assert_allclose(result[:3], expected[:3], rtol=1e-14)


def test_a_missing_side_makes_a_comparison_missing():
    assert np.isnan(checked("v0 > 1")({"a": A, "b": B})[3])  # not 1, as in Stata


def test_what_is_computed_from_something_undefined_is_undefined():
    for source in ("1 / (1 / v1)", "log(v1) < 0", "exp(1e6 * v0) > 1"):
        assert np.isnan(checked(source)({"a": A, "b": B})[0]), source


def test_text_spells_the_columns():
    assert str(checked("v0+ v1 **2", ("x", "a b"))) == "x + `a b` ** 2"
    assert spelled("class") == "class"


@pytest.mark.parametrize(
    "source",
    ["v0.real", "v0[0]", "f(v0)", "log(v0, v1)", "log(x=v0)", "(v0, v1)", "[v0]", "v0 if 1 else 2",
     "v0 @ v1", "v0 // 2", "v0 % 2", "v0 & v1", "~v0", "v0 is 1", "True + v0", "'a' + v0",
     "1j * v0", "v0 or v1",
     "lambda: 0", "(v0 := 1)", "v0; v1", "*v0", "log(*v0)", "f'{v0}'", "..."],
)  # fmt: skip
def test_everything_else_is_refused(source):
    with pytest.raises(FormulaError):
        checked(source)


@pytest.mark.parametrize("source", ["log(v0)", "v0 > 1", "abs(v0)"])
def test_private_fits_compute_arithmetic_only(source):
    with pytest.raises(FormulaError, match="private fit"):
        checked(source, functions=False)


@given(st.text(alphabet="z01 +-*/()<>=.logexpabs_[]{}'\":,@", max_size=40))
def test_any_source_is_computed_or_refused(source):
    try:
        expression = checked(source.replace("z", " v1 "))
    except FormulaError:
        return
    assert expression({"a": A, "b": B}).shape == (4,)


def test_deep_nesting_is_no_crash():
    signs = "-" * 400
    try:
        expression = checked(f"{signs}v0")
    except FormulaError:
        return
    np.testing.assert_array_equal(expression({"a": A, "b": B}), A)
