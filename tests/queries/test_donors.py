"""Sealed weights and series of donors: exact, and never more sensitive than they say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.donors import (
    UNIT,
    WEIGHT_UNIT,
    Donors,
    Predictor,
    RidgeGrid,
    Scale,
    ridge_weights,
    series_units,
    squared_norm,
    weight_steps,
    weighted_mean,
    weighted_series,
)
from dprct.queries.sums import GRID
from dprct.schema import Column

if TYPE_CHECKING:
    from dprct.privacy import IntegerVector

Array = np.ndarray[Any, Any]
ONE = Scale(-1.0, 1.0)


def opened(sealed: IntegerVector) -> list[int]:
    return [int(v) for v in _open(sealed)]


def donors(X: Array, T0: int, scale: Scale = ONE) -> Donors:
    return Donors(scale.steps(np.asarray(X, np.float64)), scale, T0)


def test_the_grid_keeps_bounds_and_clips() -> None:
    scale = Scale(0.0, 300.0)
    values = np.array([-1.0, 0.0, 150.0, 300.0, 1e9, np.nan, np.inf, -np.inf])
    assert scale.steps(values).tolist() == [0, 0, UNIT // 2, UNIT, UNIT, 0, UNIT, 0]
    assert scale.width == UNIT
    assert Scale(-1, 1).width == GRID
    assert scale.bound == 300
    assert float(scale.step) * UNIT == pytest.approx(300)


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0, 1e-300)]
)
def test_bounds_that_are_none_are_refused(low: float, high: float) -> None:
    with pytest.raises(ParameterError, match="from public knowledge"):
        Scale(low, high)


def test_bounds_far_from_zero_and_close_are_refused() -> None:
    with pytest.raises(ParameterError, match="subtract a public constant"):
        Scale(1e6, 1e6 + 1)


@pytest.mark.parametrize(("n", "T0"), [(3, 8), (8, 3), (5, 5)])
@pytest.mark.parametrize("penalty", [0.1, 1.0, 20.0])
def test_ridge_weights_are_those_of_the_formula(n: int, T0: int, penalty: float) -> None:
    rng = np.random.default_rng(n)
    X, y = rng.uniform(-1, 1, (n, T0 + 2)), rng.uniform(-1, 1, T0)
    lam = penalty * T0
    grid = RidgeGrid(n, T0, lam, math.sqrt(T0))
    sealed = ridge_weights(donors(X, T0), ONE.steps(y), grid)
    found = np.array(opened(sealed)) * float(grid.grid)
    P = X[:, :T0]
    wanted = np.linalg.solve(P @ P.T + lam / 2 * np.eye(n), P @ y)
    assert found == pytest.approx(wanted, abs=2e-5)
    assert (sealed.l1, sealed.l2_squared, sealed.relation) == (grid.l1, grid.l2**2, "replace-one")


@pytest.mark.parametrize("penalty", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("protected", [False, True])
def test_worst_neighbours_stay_within_the_stated_sensitivity(
    penalty: float, protected: bool
) -> None:
    n, T0 = 6, 5
    lam = penalty * T0
    y = ONE.steps(np.ones(T0))
    norm = math.sqrt(squared_norm(y)) / UNIT
    grid = RidgeGrid(n, T0, lam, None if protected else norm)
    s = min(1.0, math.sqrt(lam / 2 / T0))
    rng = np.random.default_rng(3)
    reached = 0.0
    for trial in range(60):
        X = rng.choice([-1.0, 0.0, 1.0], (n, T0)) if trial else np.zeros((n, T0))
        X[0], other, z = s, X.copy(), y
        other[0] = -s
        if protected and trial % 2:
            other, z = X, -y
        first = np.array(opened(ridge_weights(donors(X, T0), y, grid)), object)
        second = np.array(opened(ridge_weights(donors(other, T0), z, grid)), object)
        assert sum(abs(first - second)) <= grid.l1
        assert sum((first - second) ** 2) <= grid.l2**2
        reached = max(reached, math.sqrt(sum((first - second) ** 2)) / grid.l2)
    assert reached > (0.6 if protected else 0.9999)


@pytest.mark.parametrize("weight", [0.3, 9.0])
@pytest.mark.parametrize("penalty", [0.4, 20.0])
def test_a_predictor_counts_in_the_sensitivity(weight: float, penalty: float) -> None:
    """The bound is attained; without the predictor's part it would be exceeded."""
    n, T0 = 4, 3
    root = round(math.sqrt(weight) * UNIT)
    lam = penalty * (T0 + weight)
    y = np.append(np.full(T0, UNIT), root)
    norm = math.sqrt(squared_norm(y)) / UNIT
    grid = RidgeGrid(n, T0, lam, norm, (root,))
    forgot = RidgeGrid(n, T0, lam, norm)
    size = min(1.0, math.sqrt(lam / 2 / (T0 + weight)))
    found = []
    for sign in (1, -1):
        steps, extra = np.zeros((n, T0), np.int64), np.zeros((n, 1), np.int64)
        steps[0], extra[0] = sign * int(size * UNIT), sign * int(size * root)
        box = Donors(steps, ONE, T0, extra)
        found.append(np.array(opened(ridge_weights(box, y, grid)), object) * grid.grid)
    moved = math.sqrt(sum((found[0] - found[1]) ** 2))
    assert 0.9999 * grid.l2 * grid.grid < moved <= grid.l2 * grid.grid
    if penalty > 2:  # where kappa is below T0 the bound is that of the penalty alone
        assert moved > 1.02 * forgot.l2 * forgot.grid


def test_predictors_are_clipped_and_scaled_whatever_a_column_holds() -> None:
    held = [[0.0, 10.0], [np.nan, 8.0], [np.nan, np.nan], [-99.0, np.inf], [np.inf, 1e300]]
    frame = nw.from_native(pd.DataFrame({"x": np.ravel(held)}), eager_only=True)
    rows = np.arange(10).reshape(5, 2)
    read = Predictor(Column("x", bounds=(0.0, 10.0), missing=(".",)), (0, 1), 4.0)
    assert (read.steps(frame, rows) / UNIT).round(5).tolist() == [0, 1.2, 0, 0, 2]
    later = Predictor(read.column, (1,), 4.0)
    assert (later.steps(frame, rows) / UNIT).round(5).tolist() == [2, 1.2, 0, 2, 2]
    assert read.reach == 2 * UNIT


def test_weights_of_predictors_that_sums_cannot_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match="weights of predictors are too large for 100 donors"):
        RidgeGrid(100, 10, 200.0, 3.0, (20 * UNIT,))


def test_noise_grid_is_fine_enough() -> None:
    grid = RidgeGrid(100, 10, 200.0, math.sqrt(10))
    assert grid.l2 >= GRID * 100
    assert grid.grid.numerator == 1
    assert grid.grid.denominator.bit_count() == 1


def test_a_penalty_that_the_solver_cannot_follow_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"lam=1e-09 is too small.*such as 20 \* T0"):
        RidgeGrid(100, 100, 1e-9, 10.0)
    with pytest.raises(ParameterError, match="use donor_weights='uniform'"):
        RidgeGrid(40_000, 10, 200.0, 3.0)


def test_a_target_of_zeros_has_weights_of_zero() -> None:
    grid = RidgeGrid(3, 4, 80.0, 0.0)
    X = np.ones((3, 5))
    assert opened(ridge_weights(donors(X, 4), np.zeros(4, np.int64), grid)) == [0, 0, 0]


def test_weighted_series_are_exact_sums() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (7, 6))
    weights = rng.dirichlet(np.ones(7))
    box = donors(X, 4)
    sealed = weighted_series(box, weights, slice(4, 6))
    whole = weight_steps(weights)
    reach = max(whole) * ONE.width
    exact = [
        sum(Fraction(w) * int(k) for w, k in zip(whole, box.steps[:, t], strict=True))
        for t in (4, 5)
    ]
    wanted = [math.floor(value * GRID / reach + Fraction(1, 2)) for value in exact]
    assert opened(sealed) == wanted
    unit, _ = series_units(ONE, weights)
    found = np.array([float(v * unit) for v in opened(sealed)])
    assert found == pytest.approx(weights @ X[:, 4:], abs=5e-6)


@pytest.mark.parametrize("scale", [ONE, Scale(0.0, 300.0), Scale(-2.0, 7.0)])
def test_one_donor_moves_each_period_by_its_reach_and_no_more(scale: Scale) -> None:
    rng = np.random.default_rng(5)
    weights = np.array([0.1, 0.6, 0.3])
    X = rng.uniform(scale.low, scale.high, (3, 5))
    for i in range(3):
        low, high = X.copy(), X.copy()
        low[i], high[i] = scale.low, scale.high
        moved = [
            b - a
            for a, b in zip(
                opened(weighted_series(donors(low, 2, scale), weights, slice(2, 5))),
                opened(weighted_series(donors(high, 2, scale), weights, slice(2, 5))),
                strict=True,
            )
        ]
        if i == 1:
            assert moved == [GRID] * 3  # the largest weight: attained exactly
        assert max(moved) <= GRID


def test_a_weighted_mean_is_an_exact_sum_over_periods() -> None:
    rng = np.random.default_rng(6)
    X, y, weights = rng.uniform(-1, 1, (7, 9)), rng.uniform(-1, 1, 9), rng.dirichlet(np.ones(7))
    sealed = weighted_mean(donors(X, 4), weights, slice(4, 9), ONE.steps(y))
    assert (sealed.size, sealed.l1, sealed.l2_squared) == (2, GRID, GRID**2)
    whole = weight_steps(weights)
    total = sum(
        Fraction(w) * int(k) for w, row in zip(whole, ONE.steps(X), strict=True) for k in row[4:]
    )
    wanted = math.floor(total * GRID / (5 * max(whole) * ONE.width) + Fraction(1, 2))
    path, target = opened(sealed)
    assert path == wanted
    own, each = series_units(ONE, weights)
    assert float(path * own) == pytest.approx((weights @ X[:, 4:]).mean(), abs=5e-6)
    assert float(target * each) == pytest.approx(y[4:].mean(), abs=5e-6)


@pytest.mark.parametrize("scale", [ONE, Scale(0.0, 300.0), Scale(-2.0, 7.0)])
def test_one_donor_moves_the_mean_by_its_reach_and_no_more(scale: Scale) -> None:
    rng = np.random.default_rng(5)
    weights, y = np.array([0.1, 0.6, 0.3]), np.full(5, scale.low)
    X = rng.uniform(scale.low, scale.high, (3, 5))
    for i in range(3):
        ends = []
        for end in (scale.low, scale.high):
            Z = X.copy()
            Z[i] = end
            sealed = weighted_mean(donors(Z, 2, scale), weights, slice(2, 5), scale.steps(y))
            ends.append(opened(sealed))
        assert ends[1][0] - ends[0][0] <= GRID
        assert ends[1][1] == ends[0][1]  # the treated unit's is another coordinate
        if i == 1:
            assert ends[1][0] - ends[0][0] == GRID  # the largest weight: attained exactly
    box = donors(X, 2, scale)
    top = opened(weighted_mean(box, weights, slice(2, 5), scale.steps(np.full(5, scale.high))))
    assert top[1] - opened(weighted_mean(box, weights, slice(2, 5), scale.steps(y)))[1] == GRID


def test_donor_and_treated_unit_move_different_coordinates() -> None:
    X, y = np.zeros((2, 4)), np.zeros(4)
    weights = np.array([0.5, 0.5])
    box = donors(X, 2)
    base = opened(weighted_series(box, weights, slice(2, 4), ONE.steps(y)))
    target = opened(weighted_series(box, weights, slice(2, 4), ONE.steps(y + 1)))
    X[0] = 1
    donor = opened(weighted_series(donors(X, 2), weights, slice(2, 4), ONE.steps(y)))
    assert [t - b for t, b in zip(target, base, strict=True)] == [0, 0, GRID // 2, GRID // 2]
    assert [d - b for d, b in zip(donor, base, strict=True)] == [GRID // 2, GRID // 2, 0, 0]
    sealed = weighted_series(box, weights, slice(2, 4), ONE.steps(y))
    assert (sealed.size, sealed.l1, sealed.l2_squared) == (4, 2 * GRID, 2 * GRID**2)


def test_weights_are_whole_multiples() -> None:
    assert sum(weight_steps(np.full(8, 1 / 8))) == WEIGHT_UNIT


def test_a_donor_is_taken_out_for_its_placebo() -> None:
    X = np.arange(12.0).reshape(3, 4) / 12
    others, own = donors(X, 2).without(1)
    assert others.steps.tolist() == ONE.steps(X[[0, 2]]).tolist()
    assert own.tolist() == ONE.steps(X[1]).tolist()
