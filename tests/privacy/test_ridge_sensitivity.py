"""How far one donor moves ridge weights: attained where the proof says, exceeded nowhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from dprct.errors import ParameterError
from dprct.privacy import ridge_l1, ridge_l2, target_l2
from dprct.privacy.ridge_sensitivity import solver_error

Array = np.ndarray[Any, Any]
SHAPES = [(1, 1), (1, 4), (2, 3), (5, 2), (8, 4), (10, 3)]
PENALTIES = [0.02, 0.5, 1.0, 2.0, 5.0, 20.0]


def weights(X: Array, y: Array, lam: float) -> Array:
    return np.asarray(np.linalg.solve(X @ X.T + lam / 2 * np.eye(len(X)), X @ y))


def moved(x: Array, other: Array, rest: Array, y: Array, lam: float, order: int) -> float:
    both = [weights(np.vstack([row, rest]), y, lam) for row in (x, other)]
    return float(np.linalg.norm(both[0] - both[1], order))


@pytest.mark.parametrize(("n", "T0"), SHAPES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_extremal_pair_attains_the_l2_bound(n: int, T0: int, penalty: float) -> None:
    lam, y = penalty * T0, np.ones(T0)
    s = min(math.sqrt(T0), math.sqrt(lam / 2))
    x = s * y / math.sqrt(T0)
    rest = np.zeros((n - 1, T0))
    if lam / 2 < T0:  # then the square root of kappa is inside the cube
        assert np.abs(x).max() <= 1
    found = moved(x, -x, rest, y, lam, 2)
    assert found == pytest.approx(ridge_l2(math.sqrt(T0), T0, lam), rel=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("n", "T0", "penalty"), [(2, 3, 0.5), (4, 3, 2.0), (6, 2, 20.0), (3, 2, 5)]
)
def test_an_adversary_finds_nothing_beyond_the_bound(
    n: int, T0: int, penalty: float, order: int
) -> None:
    """Local search from random, from extremal and from rank-one starts, over X, x' and y."""
    rng = np.random.default_rng(int(100 * penalty) + order)
    lam = penalty * T0

    def split(v: Array) -> tuple[Array, Array, Array, Array]:
        z = np.clip(v, -1, 1)
        body = z[: n * T0].reshape(n, T0)
        return body[0], z[n * T0 : n * T0 + T0], body[1:], z[n * T0 + T0 :]

    def gain(v: Array) -> float:
        x, other, rest, y = split(v)
        norm = float(np.linalg.norm(y)) or 1.0
        bound = ridge_l2(norm, T0, lam) if order == 2 else ridge_l1(norm, n, T0, lam)
        return moved(x, other, rest, y, lam, order) / bound

    best = 0.0
    size = (n + 2) * T0
    for start in range(8):
        v = rng.uniform(-1, 1, size) if start % 2 else rng.choice([-1.0, 0.0, 1.0], size)
        if start % 4 == 0:
            v[: n * T0] = np.outer(rng.uniform(0, 1, n), np.ones(T0)).ravel()
            v[n * T0 :] = np.concatenate([-v[:T0], np.ones(T0)])
        found = minimize(
            lambda u: -gain(u), v, method="L-BFGS-B", bounds=[(-1, 1)] * size,
            options={"maxiter": 150},
        )  # fmt: skip
        best = max(best, -float(found.fun))
    assert best <= 1 + 1e-9
    assert best > 0.6  # the search is able to come close


@pytest.mark.parametrize(
    ("n", "T0", "penalty"), [(1, 10, 1), (10, 10, 1), (100, 10, 20), (9, 4, 0.01)]
)
def test_the_closed_form_of_the_l1_bound_is_the_maximum(n: int, T0: int, penalty: float) -> None:
    lam = penalty * T0
    kappa = lam / 2
    th = np.linspace(1e-9, T0 / kappa, 3001)[:, None]
    b = th * np.linspace(0, 1, 1001)[None, :]
    values = np.sqrt(b) * (1 + np.sqrt((n - 1) * (th - b))) / ((1 + th) * math.sqrt(kappa))
    best = 2 * float(values.max())
    assert best <= ridge_l1(1.0, n, T0, lam) * (1 + 1e-12)
    assert best == pytest.approx(ridge_l1(1.0, n, T0, lam), rel=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_l1_bound_is_at_most_what_the_l2_bound_implies(penalty: float) -> None:
    for n, T0 in SHAPES:
        l1, l2 = ridge_l1(1.0, n, T0, penalty * T0), ridge_l2(1.0, T0, penalty * T0)
        assert l2 <= l1 * (1 + 1e-12)
        assert l1 <= math.sqrt(n) * l2 * (1 + 1e-12)


def test_numbers_of_the_note() -> None:
    """ALGORITHMS.md, section 5: sqrt 2 at lam = T0; 0.40 of sqrt(n) D at n = 10, lam = 20 T0."""
    root = math.sqrt(10)
    assert ridge_l2(root, 10, 10) == pytest.approx(math.sqrt(2))
    ratio = ridge_l1(root, 10, 10, 200) / (root * ridge_l2(root, 10, 200))
    assert ratio == pytest.approx(0.40, abs=0.005)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 20.0, 200.0])
def test_the_treated_unit_moves_weights_by_its_bound_at_most(penalty: float) -> None:
    rng = np.random.default_rng(1)
    n, T0 = 5, 3
    lam = penalty * T0
    bound = target_l2(n, T0, lam)
    assert bound <= math.sqrt(2 * T0 / lam) * (1 + 1e-12)
    for _ in range(300):
        X = rng.choice([-1.0, 0.3, 1.0], (n, T0))
        y = rng.choice([-1.0, 1.0], T0)
        assert np.linalg.norm(weights(X, y, lam) - weights(X, -y, lam)) <= bound * (1 + 1e-12)
    if n * T0 <= lam / 2:
        ones = np.ones((n, T0))
        found = weights(ones, ones[0], lam) - weights(ones, -ones[0], lam)
        assert np.linalg.norm(found) == pytest.approx(bound, rel=1e-10)


def test_the_solver_errs_by_less_than_its_bound() -> None:
    import mpmath

    rng = np.random.default_rng(2)
    for n, T0, lam in [(6, 9, 1e-4), (9, 4, 1e-3), (5, 5, 20.0)]:
        X, y = rng.choice([-1.0, 1.0, 0.5], (n, T0)), np.ones(T0)
        X[1] = X[0]
        with mpmath.workdps(40):
            A = mpmath.matrix(X.tolist())
            exact = mpmath.lu_solve(
                A * A.T + mpmath.mpf(lam) / 2 * mpmath.eye(n), A * mpmath.matrix(y.tolist())
            )
            error = math.sqrt(
                sum(float(f - e) ** 2 for f, e in zip(weights(X, y, lam), exact, strict=True))
            )
        assert error <= solver_error(math.sqrt(T0), n, T0, lam)


def test_a_hopeless_system_has_an_infinite_bound() -> None:
    assert solver_error(1.0, 500, 500, 1e-12) == math.inf


@pytest.mark.parametrize("lam", [0.0, -1.0, math.nan, math.inf])
def test_a_penalty_that_is_none_is_refused(lam: float) -> None:
    with pytest.raises(ParameterError, match="give a number above 0"):
        ridge_l2(1.0, 5, lam)


def test_no_donor_and_no_period_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one donor"):
        ridge_l1(1.0, 0, 5, 1.0)
    with pytest.raises(ParameterError, match="at least one pre-period"):
        ridge_l2(1.0, 0, 1.0)
