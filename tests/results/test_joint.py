"""Hypotheses in words, and tests of several coefficients at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.results.joint import (
    family_pvalues,
    positive,
    restrictions,
    simultaneous_level,
    wald_test,
)

NAMES = ("t1", "t2", "y: t1", "t1:age", "C(region)[2]", "a-b")


@pytest.mark.parametrize(
    ("text", "weights", "values"),
    [
        ("t1 - t2", [{"t1": 1, "t2": -1}], [0]),
        ("t1 = t2 = 0", [{"t1": 1, "t2": -1}, {"t2": 1}], [0, 0]),
        ("2*t1 + .5 * t2 == 1", [{"t1": 2, "t2": 0.5}], [1]),
        ("-t1 + 3", [{"t1": -1}], [-3]),
        ("y: t1 = t1:age", [{"y: t1": 1, "t1:age": -1}], [0]),
        ("C(region)[2] = 1e-2", [{"C(region)[2]": 1}], [0.01]),
        ("a-b - `t2`", [{"a-b": 1, "t2": -1}], [0]),
        ("t1 - t1 + t2", [{"t2": 1}], [0]),
        ({"t1": 1, "t2": -2.5}, [{"t1": 1, "t2": -2.5}], [0]),
        (["t1", "t2 = 3"], [{"t1": 1}, {"t2": 1}], [0, 3]),
    ],
)
def test_what_is_read(text, weights, values):
    found = restrictions(text, NAMES)
    expected = [[row.get(name, 0) for name in NAMES] for row in weights]
    assert found.weights.tolist() == expected
    assert found.values.tolist() == values


@pytest.mark.parametrize(
    "text",
    ["", "t3", "t1 t2", "t1 -", "t1 * t2", "1 = 2", "t1 = ", "t1 / 2", "`t1", "t1 - t1", "= t1"],
)
def test_what_is_not_read_is_refused_with_the_names(text):
    with pytest.raises(ParameterError, match=r"t1, t2"):
        restrictions(text, NAMES)


def test_no_weight_is_a_text_or_a_nan():
    for wrong in ({"t1": "2"}, {"t1": math.nan}, {"t9": 1}, 7, [3]):
        with pytest.raises((ParameterError, TypeError)):
            restrictions(wrong, NAMES)


def test_wald_is_chi_square_or_f():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    b = np.array([1.0, -2.0])
    chi2 = b @ np.linalg.solve(cov, b)
    found = wald_test(b, cov, "x")
    assert found.statistic == pytest.approx(chi2)
    assert found.pvalue == pytest.approx(stats.chi2.sf(chi2, 2))
    f = wald_test(b, cov, "x", 40)
    assert f.pvalue == pytest.approx(stats.f.sf(chi2 / 2, 2, 40))
    assert "F(2, 40)" in str(f)
    assert "chi2(2)" in str(found)


def test_the_nearest_positive_matrix_keeps_a_positive_one():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(positive(cov), cov, atol=1e-14)
    assert np.linalg.eigvalsh(positive(cov - 2 * np.eye(2)))[0] > -1e-14


def test_the_law_of_the_largest_t():
    for m in (1, 2, 8):
        level = simultaneous_level(np.eye(m), 0.05)
        assert level == pytest.approx(1 - 0.95 ** (1 / m), rel=0.02)
    assert simultaneous_level(np.ones((5, 5)), 0.05) == pytest.approx(0.05, rel=0.02)


def test_independent_p_values_are_sidak_step_down():
    p = np.array([0.01, np.nan, 0.04])
    found = family_pvalues(p, np.diag([1.0, np.nan, 4.0]))
    assert found[0] == pytest.approx(1 - 0.99**2, rel=0.03)
    assert found[2] == pytest.approx(0.04, rel=0.03)
    assert np.isnan(found[1])
