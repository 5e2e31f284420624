"""Remark 3.2: what further estimators find, and the sensitivity of their last stage."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.published.base_learners import Part
from papers.cate.designs import designs, stream
from papers.cate.multistage import (
    DELTA,
    Learned,
    Multistage,
    basis,
    cross_products,
    instrumental,
    instrumented,
    partially_linear,
    structural,
)
from papers.cate.report import stages

LARGE = Budget(Fraction(10**9), Fraction(DELTA))


def least_squares(part: Part, X: np.ndarray, y: np.ndarray, seed: int) -> Learned:
    """A learner without noise: a quadratic of each feature."""

    def wide(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(rows)), rows, rows**2])

    beta = np.linalg.lstsq(wide(X), y, rcond=None)[0]
    return Learned(lambda rows: wide(rows) @ beta, "none")


def test_cross_products_without_noise_are_least_squares() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (500, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 500)
    part = Part("effect", LARGE, ((-2.0, 2.0),) * 3, (-20.0, 20.0))
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(cross_products(part, X, y, 1), expected, atol=1e-5)


def test_one_row_moves_the_sums_by_what_their_noise_is_made_for() -> None:
    """All corners of two features and the target: each sum moves by 2 at most, so m sums by 2 m."""
    corners = [np.array(z) for z in itertools.product((-1.0, 0.0, 1.0), repeat=3)]
    upper = np.triu_indices(2)

    def sums(z: np.ndarray) -> np.ndarray:
        return np.concatenate([np.outer(z[:2], z[:2])[upper], z[:2] * z[2]])

    moved = [np.abs(sums(a) - sums(b)) for a, b in itertools.product(corners, repeat=2)]
    assert max(move.max() for move in moved) == 2
    assert 4 <= max(move.sum() for move in moved) <= 2 * len(sums(corners[0]))


def test_the_noise_of_cross_products_has_the_scale_of_its_docstring() -> None:
    """Two sums, epsilon 1: scale 4; one row, so that the quotient shows both draws."""
    part = Part("effect", Budget(1), ((-1.0, 1.0),), (-1.0, 1.0))
    for seed in range(20):
        first, second = source(seed).post_processing_rng().laplace(0, 4, 2)
        found = cross_products(part, np.ones((1, 1)), np.zeros(1), seed)
        assert found[0] == pytest.approx(second / (1 + first))


def test_the_effect_of_a_partially_linear_model_is_found() -> None:
    """Setup C: the effect is 1, and the difference in means is above 2.  20,000 rows, no noise."""
    design = designs(None)["C"]
    sample = design.train(20_000, stream(1, 2, 3))
    ranges = tuple((low, high) for _, low, high in design.features)
    found = partially_linear(sample, ranges, design.bounds, LARGE, 1, least_squares)
    assert found.coefficients[0] == pytest.approx(1, abs=0.15)
    assert list(found.guarantees) == ["propensity", "outcome", "effect"]
    plain = sample.y[sample.t == 1].mean() - sample.y[sample.t == 0].mean()
    assert abs(plain - 1) > 1


def test_a_structural_function_is_found_and_a_plain_regression_misses_it() -> None:
    rows = instrumented(40_000, stream(1, 2, 4))
    grid = np.linspace(-0.8, 0.8, 9)
    g = basis(grid) @ instrumental(rows, LARGE, 1, least_squares)
    plain = basis(grid) @ np.linalg.lstsq(basis(rows.t), rows.y, rcond=None)[0]
    assert np.abs(g - structural(grid)).max() < 0.1
    assert np.abs(plain - structural(grid)).max() > 0.3


def test_errors_are_in_a_table() -> None:
    found = Multistage(1000, 2, 1).compute()
    assert set(found["estimator"]) == {"partially linear", "nonparametric IV"}
    assert len(found) == 6
    assert found["rmse"].notna().all()
    assert stages(found).count("\n") == 7
