from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as forall
from hypothesis import strategies as st
from scipy.optimize import minimize

from dprct.errors import ParameterError
from papers.baselines import synthetic_control as rules


@forall(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 9))
def test_simplex_weights_meet_the_conditions_of_optimality(seed: int, n: int, K: int) -> None:
    """The gradient is smallest, and equal, where weights are positive (Karush-Kuhn-Tucker)."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(3, 10, (n, K)), rng.normal(0, 10, K)
    w = rules.simplex(X, y).weights
    assert w.sum() == pytest.approx(1)
    assert (w >= 0).all()
    gradient = X @ (X.T @ w - y)
    size = np.abs(gradient).max() + np.abs(X).max() ** 2
    assert (gradient >= gradient @ w - 1e-7 * size).all()


def test_simplex_weights_agree_with_a_general_optimiser() -> None:
    rng = np.random.default_rng(1)
    X, y, v = rng.normal(size=(5, 8)), rng.normal(size=8), rng.uniform(0.1, 3, 8)
    found = minimize(
        lambda w: (v * (X.T @ w - y) ** 2).sum(),
        np.full(5, 0.2),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert rules.simplex(X, y, v).weights == pytest.approx(found.x, abs=1e-5)


def test_a_perfect_fit_is_found() -> None:
    X = np.eye(3)
    assert rules.simplex(X, X[1]).weights == pytest.approx([0, 1, 0], abs=1e-12)
    assert rules.simplex(np.ones((3, 4)), np.ones(4)).weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(("n", "T0"), [(3, 8), (8, 3)])
def test_ridge_is_its_formula_in_both_shapes(n: int, T0: int) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(n, T0)), rng.normal(size=T0)
    wanted = np.linalg.solve(X @ X.T + 1.5 * np.eye(n), X @ y)
    assert rules.ridge(X, y, 3.0).weights == pytest.approx(wanted)


def test_noise_is_thresholded_away() -> None:
    rng = np.random.default_rng(3)
    signal = np.outer(rng.normal(size=60), rng.normal(size=40)) * 2
    signal += np.outer(rng.normal(size=60), rng.normal(size=40))
    noisy = signal + rng.normal(0, 0.1, signal.shape)
    assert rules.usual_rank(noisy) == 2
    cleaned = rules.hard_thresholded(noisy, 2)
    assert np.linalg.norm(cleaned - signal) < 0.4 * np.linalg.norm(noisy - signal)
    assert np.linalg.matrix_rank(cleaned) == 2


def test_equal_weights_and_differences() -> None:
    X, y = np.array([[1.0, 3.0], [3.0, 5.0]]), np.array([10.0, 12.0])
    assert rules.uniform(X).weights.tolist() == [0.5, 0.5]
    assert rules.did(X, y).intercept == 8


def test_published_weights_are_put_in_order() -> None:
    assert rules.published({"c": 0.75, "a": 0.25}, ("a", "b", "c")).weights.tolist() == [
        0.25,
        0,
        0.75,
    ]
    with pytest.raises(ParameterError, match="weights name 'd', which is not a donor"):
        rules.published({"d": 1.0}, ("a",))
