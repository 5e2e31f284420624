"""Covariances by their textbook formulas, one row or one group at a time, and by their laws."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.results import covariance as vce


@pytest.fixture
def problem():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    y = X @ [1, 2, 3] + rng.normal(size=40) * (1 + X[:, 1] ** 2)
    return X, y


def fit_of(X, y, copies=None):
    copies = np.ones(len(X)) if copies is None else copies
    bread = np.linalg.inv(X.T @ (X * copies[:, None]))
    beta = bread @ (X.T @ (y * copies))
    return vce.LeastSquares(beta, y - X @ beta, bread, X.shape[1], copies)


def sandwich(fit, X, squares):
    meat = sum(s * np.outer(x, x) for s, x in zip(squares, X, strict=True))
    return fit.bread @ meat @ fit.bread


def test_each_is_its_formula(problem):
    X, y = problem
    fit = fit_of(X, y)
    e2, n, k = fit.resid**2, *X.shape
    h = np.diag(X @ fit.bread @ X.T)
    np.testing.assert_allclose(vce.leverage(fit, X), h)
    expected = {
        "nonrobust": e2.sum() / (n - k) * fit.bread,
        "HC0": sandwich(fit, X, e2),
        "HC1": sandwich(fit, X, e2) * n / (n - k),
        "HC2": sandwich(fit, X, e2 / (1 - h)),
        "HC3": sandwich(fit, X, e2 / (1 - h) ** 2),
    }
    assert set(expected) == set(vce.HETEROSKEDASTIC)
    for name, function in vce.HETEROSKEDASTIC.items():
        np.testing.assert_allclose(function(fit, X), expected[name], rtol=1e-10)


def test_hc3_is_the_jackknife_around_the_estimate(problem):
    X, y = problem
    fit = fit_of(X, y)
    left_out = [
        np.linalg.lstsq(np.delete(X, i, 0), np.delete(y, i), rcond=None)[0] for i in range(len(X))
    ]
    spread = np.array(left_out) - fit.beta
    np.testing.assert_allclose(vce.hc3(fit, X), spread.T @ spread, rtol=1e-8)


def test_cluster_is_its_formula_in_any_order(problem):
    X, y = problem
    fit = fit_of(X, y)
    groups = np.arange(40) % 7
    scores = [X[groups == g].T @ fit.resid[groups == g] for g in range(7)]
    meat = sum(np.outer(s, s) for s in scores)
    expected = 7 / 6 * 39 / 37 * fit.bread @ meat @ fit.bread
    np.testing.assert_allclose(vce.cr1(fit, X, groups), expected, rtol=1e-10)


def test_copies_are_repeated_rows(problem):
    X, y = problem
    copies = 1.0 + np.arange(40) % 3
    repeat = np.repeat(np.arange(40), copies.astype(int))
    groups = np.arange(40) // 5
    few, many = fit_of(X, y, copies), fit_of(X[repeat], y[repeat])
    for function in vce.HETEROSKEDASTIC.values():
        np.testing.assert_allclose(function(few, X), function(many, X[repeat]), rtol=1e-9)
    np.testing.assert_allclose(
        vce.cr1(few, X, groups), vce.cr1(many, X[repeat], groups[repeat]), rtol=1e-9
    )


def test_group_sums():
    sums = vce.group_sums(np.array([[1.0, 10], [2, 20], [4, 40]]), np.array([1, 0, 1]))
    assert sums.tolist() == [[2, 20], [5, 50]]


@pytest.mark.parametrize("name", ["HC2", "HC3"])
def test_a_row_that_is_fitted_exactly_is_refused(name):
    X = np.column_stack([np.ones(5), np.eye(5)[0]])
    fit = fit_of(X, np.arange(5.0))
    with pytest.raises(ParameterError, match=f"{name} is not defined"):
        vce.HETEROSKEDASTIC[name](fit, X)


def test_the_later_of_dependent_columns_goes():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 30))
    one, zero = np.ones(30), np.zeros(30)
    X = np.column_stack([one, a, 2 * a, zero, b, 1e9 * (a - b), 1e-9 * rng.normal(size=30)])
    assert vce.independent(X).tolist() == [True, True, False, False, True, False, True]
    assert vce.independent(X[:, ::-1]).sum() == 4
    assert vce.independent(X[:2, [0, 1, 4]]).sum() == 2
    dummies = np.eye(3)[np.arange(30) % 3]
    assert vce.independent(np.column_stack([one, dummies])).tolist() == [1, 1, 1, 0]


def test_nearly_dependent_columns_stay():
    a = np.linspace(0, 1, 50)
    assert vce.independent(np.column_stack([np.ones(50), a, a + 1e-5 * a**2])).all()
