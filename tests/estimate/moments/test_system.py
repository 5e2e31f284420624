"""The algebra of noisy moments: the fixed point, the noise of scores, and the profile."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dprct.estimate.moments.system import (
    Regressor,
    errors,
    fit,
    inverse_of,
    profile,
    rows_of,
    system_of,
)

CONSTANT = Regressor("Intercept")
ABC = [CONSTANT, *(Regressor(name, name) for name in "abc")]
UNITS = {"centre": [0.0, 5.0, 2000.0, 200.0], "scale": [1.0, 2.0, 3.0, 4.0]}


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)) + np.array([0, 5, 2000.0])
    return np.column_stack([x, x @ [1, 2, 0.1] + rng.normal(size=150) * 3])


def test_an_outcome_that_is_a_regressor_has_the_coefficient_one(table, from_rows):
    units = {"centre": [0, 5, 2000, 200.0], "scale": [3.0, 3, 3, 12]}
    cell = from_rows(table, "abcy", math.sqrt(2), 2.0, np.random.default_rng(0), **units)
    system = system_of([cell], ABC)
    inverse = inverse_of(system)
    b = system.to_names @ fit(system, inverse, rows_of([cell], ABC[2])).b
    np.testing.assert_allclose(b, [0, 0, 1, 0], atol=1e-9)


def test_the_fixed_point_takes_the_bias_away(from_rows):
    """With one regressor A (M + s2^2 A) = 1: the ratio is biased by eta^2, this one is not."""
    rng = np.random.default_rng(6)
    s, draws = 0.2, 400_000
    M, m = 1 + s * rng.normal(size=draws), 2 + s / math.sqrt(2) * rng.normal(size=draws)
    A = (np.sqrt(M**2 + 4 * s**2) - M) / (2 * s**2)
    se = (A * m).std() / math.sqrt(draws)
    assert abs((A * m).mean() - 2) < 0.01
    assert (m / M)[M > 0.2].mean() - 2 > 0.08 > 50 * se
    for i in range(5):
        cell = from_rows(np.zeros((1, 2)), "xy")
        cross = np.array([[M[i], m[i]], [m[i], 5.0]])
        cell = replace(cell, n=50.0, cross=cross, s1=s / math.sqrt(2), s2=s)
        system = system_of([cell], [Regressor("x", "x")])
        inverse = inverse_of(system)
        assert inverse.A[0, 0] == pytest.approx(A[i], rel=1e-9)
        assert inverse.eta2 == pytest.approx(s**2 / 2 * A[i] ** 2)
        found = fit(system, inverse, rows_of([cell], Regressor("y", "y")))
        assert found.b[0] * system.to_names[0, 0] == pytest.approx(A[i] * m[i], rel=1e-9)


def test_moments_that_are_noise_alone_leave_no_sampling_error(from_rows):
    """No part has a variance that could be raised: that was a division of nothing by nothing."""
    rows = np.random.default_rng(2).normal(size=(40, 2))
    cells = [
        from_rows(half, "ay", 1.0, math.sqrt(2), np.random.default_rng(3))
        for half in (rows[:20], rows[20:])
    ]
    noise = [replace(cell, n=0.5, cross=-1e6 * np.eye(2), totals=np.zeros(2)) for cell in cells]
    regressors = [CONSTANT, Regressor("t", None, (0, 1)), Regressor("a", "a")]
    inverse, system = inverse_of(system_of(cells, regressors)), system_of(noise, regressors)
    a = system.residual(rows_of(noise, Regressor("y", "y")), np.array([0.3, -1.0, 2.0]))
    released, sampling, _ = errors(system, inverse, a, 1.0, by_cell=True)
    assert np.isfinite(released).all()
    assert np.abs(sampling).max() == 0


def test_noise_of_scores_has_the_stated_covariance(from_rows):
    rng = np.random.default_rng(9)
    table = rng.normal(size=(30, 3))
    cells = [
        from_rows(table[:10], "aby"),
        from_rows(table[10:], "aby", private=True),
    ]
    cells = [
        replace(cell, s1=s1, s2=s2) for cell, s1, s2 in zip(cells, (2, 1), (3, 2), strict=True)
    ]
    regressors = [
        CONSTANT,
        Regressor("t", None, (0, 1)),
        Regressor("a", "a"),
        Regressor("t:b", "b", (0, 1)),
    ]
    system = system_of(cells, regressors)
    a = system.residual(rows_of(cells, Regressor("y", "y")), np.array([0.3, -1.0, 2.0, 0.5]))
    drawn = np.zeros((200_000, 4))
    for g, cell in enumerate(cells):
        N = rng.normal(0, cell.s2, (200_000, 4, 4))
        N = (N + N.swapaxes(1, 2)) / 2
        N[:, 0, 0] *= 0 if cell.n_is_public else 1
        drawn += np.einsum("ki,nij,j->nk", system.T[g], N, a[g])
    K = system.noise_of_scores(a)
    seen = drawn.T @ drawn / len(drawn)
    unit = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert np.abs((seen - K) / unit).max() < 6 * math.sqrt(2 / 200_000)


def test_the_profile_is_least_near_the_estimate_and_zero_noise_gives_t(table, from_rows):
    cell = from_rows(table, "abcy", **UNITS)
    system = system_of([cell], ABC)
    found = fit(system, inverse_of(system), rows_of([cell], Regressor("y", "y")))
    direction = system.to_names[1]
    value = float(direction @ found.b)
    assert profile(found, direction[None], np.array([value])) == pytest.approx(0, abs=1e-9)
    se = math.sqrt(direction @ found.cov @ direction)
    q = profile(found, direction[None], np.array([value + 2 * se]))
    assert q * 146 / (150 - q) == pytest.approx(4)
