"""The solver's promise, the sensitivity it rests on, and a search for data that break either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import minimize

from dprct.errors import ParameterError
from dprct.queries import propensity
from dprct.queries.propensity import Solver, gradient, least_penalty, logistic_weights

if TYPE_CHECKING:
    from collections.abc import Iterator


def ball(rng: np.random.Generator, n: int, d: int, kind: int) -> np.ndarray:
    """Rows of norm at most 1: on the sphere, inside, few corners, or all alike."""
    Z = rng.normal(size=(n, d))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    if kind == 1:
        Z *= rng.random((n, 1))
    elif kind == 2:
        Z = np.eye(d)[rng.integers(d, size=n)] * rng.choice([-1.0, 1.0], (n, 1))
    elif kind == 3:
        Z = np.tile(Z[:1], (n, 1))
    return Z


@pytest.mark.parametrize("lam", [1e-3, 0.05, 2.0])
@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("labels", ["all", "none", "separated", "random"])
def test_the_gradient_is_within_the_tolerance_for_all_data(
    lam: float, kind: int, labels: str
) -> None:
    rng = np.random.default_rng(kind)
    Z = ball(rng, 80, 3, kind)
    t = {
        "all": np.ones(80, bool),
        "none": np.zeros(80, bool),
        "separated": Z[:, 0] > 1e-3,
        "random": rng.random(80) < 0.5,
    }[labels]
    solver = Solver(80, 3, lam)
    w = logistic_weights(Z, t, solver)
    assert np.linalg.norm(gradient(Z, t.astype(float), w, lam)) <= solver.tolerance
    assert solver.tolerance < 1e-2 * 2 / 80


def test_the_solution_is_that_of_another_solver() -> None:
    rng = np.random.default_rng(1)
    Z, t = ball(rng, 300, 4, 1), rng.random(300) < 0.4
    signs = np.where(t, 1.0, -1.0)

    def objective(w: np.ndarray) -> float:
        return float(np.logaddexp(0, -signs * (Z @ w)).mean() + 0.01 * w @ w)

    other = minimize(objective, np.zeros(4), tol=1e-12).x
    solver = Solver(300, 4, 0.02)
    np.testing.assert_allclose(logistic_weights(Z, t, solver), other, atol=1e-5)


@pytest.mark.parametrize("give_up", [False, True])
def test_large_problems_come_out_the_same(give_up: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    Z, t = ball(rng, 4000, 4, 0), rng.random(4000) < 0.4
    solver = Solver(4000, 4, 0.01)
    small = logistic_weights(Z, t, solver)
    monkeypatch.setattr(propensity, "WORK", 0.0)
    if give_up:
        monkeypatch.setattr(propensity, "_newton", lambda *_: np.full(4, 7.0))
    large = logistic_weights(Z, t, solver)
    assert np.linalg.norm(large - small) <= 2 * solver.tolerance / solver.lam
    assert np.linalg.norm(gradient(Z, t.astype(float), large, 0.01)) <= solver.tolerance


def hard(n: int, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows on which Newton's method could diverge, in orders that a part of them would not show."""
    rng = np.random.default_rng(n)
    Z = rng.normal(size=(n, d))
    Z /= np.linalg.norm(Z, axis=1)[:, None] * (1 + 1e-9)
    plane, eighth = Z[:, 0] > 0, np.arange(n) % 8 == 0
    yield Z, plane
    yield Z, np.ones(n, bool)
    yield Z, np.arange(n) == 5
    yield Z * 10.0 ** rng.uniform(-8, 0, n)[:, None], plane
    yield np.where(eighth[:, None], Z, 1e-3 * Z), eighth ^ plane
    for first, other, t in ((1.0, -1.0, plane), (1.0, -1.0, plane ^ (np.arange(n) < 3)),
                            (1.0, -1.0, np.ones(n, bool))):  # fmt: skip
        points = np.zeros((n, d))
        points[:, 0] = np.where(plane, first, other)
        yield points, t
    apart = np.zeros((n, d))
    apart[~eighth, 0] = apart[eighth, 1] = 1
    yield apart, ~eighth
    opposite = np.zeros((n, d))
    opposite[:, 0] = np.where(eighth, -1, 1)
    yield opposite, np.ones(n, bool)


@pytest.mark.parametrize("lam", [10.0, 1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_newton_reaches_the_tolerance_on_rows_made_to_be_hard(lam: float) -> None:
    """So that no accelerated steps are made after it, whose time would tell such rows apart."""
    for d in (2, 8):
        solver = Solver(4_000, d, lam)
        for Z, t in hard(4_000, d):
            w = propensity._newton(propensity.rows_of(Z), t, solver)
            left = float(np.linalg.norm(gradient(Z, t, w, lam)))
            assert left <= solver.tolerance - solver.rounding


def adversarial(n: int, d: int, lam: float, tries: int) -> float:
    """Return the largest move of the weights that a search over neighbours finds."""
    rng, solver, worst = np.random.default_rng(n + d), Solver(n, d, lam), 0.0
    for attempt in range(tries):
        Z = ball(rng, n, d, attempt % 4)
        t = rng.random(n) < (0.5, 1.1, -1.0)[attempt % 3]
        w = logistic_weights(Z, t, solver)
        for move in range(3):
            Z2, t2 = Z.copy(), t.copy()
            if move == 0:
                Z2[0] = -Z2[0]
            elif move == 1:
                t2[0] = not t2[0]
            else:
                Z2[0], t2[0] = ball(rng, 1, d, 0)[0], not t2[0]
            worst = max(worst, float(np.linalg.norm(logistic_weights(Z2, t2, solver) - w)))
    return worst


@pytest.mark.parametrize(("n", "d", "lam"), [(2, 1, 1.0), (5, 2, 0.3), (20, 1, 0.05)])
def test_no_neighbour_moves_the_weights_further(n: int, d: int, lam: float) -> None:
    assert adversarial(n, d, lam, 12) <= Solver(n, d, lam).l2


def test_the_bound_is_not_idle() -> None:
    """With a large penalty both gradients are about 1/2 in norm: half of the bound is reached."""
    found, bound = adversarial(10, 1, 5.0, 12), Solver(10, 1, 5.0).l2
    assert 0.4 * bound < found <= bound


def test_more_rows_and_penalty_move_less() -> None:
    assert Solver(1000, 5, 0.01).l2 < Solver(500, 5, 0.01).l2
    assert Solver(1000, 5, 0.02).l2 < Solver(1000, 5, 0.01).l2
    assert Solver(1000, 5, 0.01).l2 == pytest.approx(2 / (1000 * 0.01), rel=2e-3)


def test_the_rounding_bound_holds_against_higher_precision() -> None:
    rng = np.random.default_rng(3)
    Z, t, w = ball(rng, 5000, 6, 0), rng.random(5000) < 0.5, rng.normal(size=6)
    long = Z.astype(np.longdouble)
    exact = ((1 / (1 + np.exp(-(long @ w))) - t)[:, None] * long).mean(axis=0) + 0.01 * w
    error = np.linalg.norm((gradient(Z, t.astype(float), w, 0.01) - exact).astype(float))
    assert error <= Solver(5000, 6, 0.01).rounding


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan"), float("inf"), 1e-14])
def test_a_penalty_that_cannot_be_kept_is_refused(lam: float) -> None:
    with pytest.raises(ParameterError, match="lam="):
        Solver(1000, 3, lam)


@pytest.mark.parametrize(("n", "d"), [(20, 1), (1000, 5), (5_000_000, 21)])
def test_the_least_penalty_is_taken_and_a_smaller_one_is_not(n: int, d: int) -> None:
    least = least_penalty(n, d)
    assert Solver(n, d, least).lam == least
    with pytest.raises(ParameterError, match="too small"):
        Solver(n, d, least * 0.999)
