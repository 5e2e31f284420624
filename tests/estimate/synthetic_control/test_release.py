"""What is released of a unit: weights made usable, and paths with the noise that is stated."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dprct import Budget
from dprct.estimate.noise_law import PathNoise
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.estimate.synthetic_control.release import (
    Series,
    UnitRelease,
    public_norm,
    shrunk,
    simplex_projection,
    uniform,
    usable,
)
from dprct.model import revived, saved
from dprct.privacy.noise import source
from dprct.queries.donors import UNIT, Scale

ONE = Scale(-1.0, 1.0)

VECTORS = arrays(np.float64, st.integers(1, 8), elements=st.floats(-50, 50))


@given(VECTORS)
def test_the_projection_is_on_the_simplex_and_closest(v) -> None:
    g = simplex_projection(v)
    assert g.sum() == pytest.approx(1)
    assert (g >= 0).all()
    # the closest point makes no acute angle with any corner
    for corner in np.eye(len(v)):
        assert (v - g) @ (corner - g) <= 1e-9 * (1 + np.abs(v).max())


def test_the_projection_agrees_with_an_optimiser() -> None:
    v = np.array([0.7, -0.1, 0.9, 0.2])
    found = minimize(
        lambda g: ((g - v) ** 2).sum(),
        uniform(4),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
        tol=1e-14,
    )
    assert simplex_projection(v) == pytest.approx(found.x, abs=1e-6)


def test_shrinking_takes_off_what_noise_adds() -> None:
    f = uniform(4) + np.array([0.3, -0.3, 0.3, -0.3])
    assert shrunk(f, 0.0) == pytest.approx(f)
    assert shrunk(f, 0.3) == pytest.approx(uniform(4))  # n sd^2 = ||f - f0||^2
    half = shrunk(f, 0.3 / np.sqrt(2))
    assert half - uniform(4) == pytest.approx((f - uniform(4)) / 2)


@given(VECTORS, st.floats(0, 10))
def test_any_released_weights_become_usable(v, sd) -> None:
    g = usable(v, sd)
    assert g.sum() == pytest.approx(1)
    assert (g >= 0).all()


def test_equal_weights_stay_equal() -> None:
    assert usable(uniform(5), 0.1).tolist() == uniform(5).tolist()


def test_the_norm_of_a_public_series_is_never_too_small() -> None:
    y = np.array([0.1, -0.7, 2.0])
    steps = ONE.steps(y)
    exact = math.sqrt(sum(Fraction(int(k), UNIT) ** 2 for k in steps))
    assert exact <= public_norm(ONE, y) <= exact * (1 + 1e-11)


def test_draws_with_little_noise_are_the_formulas() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (5, 9)), rng.uniform(-1, 1, 9)
    model = SyntheticControl.from_arrays(
        X, y, 6, 1.0, lam=120, pre_fit=True, placebos=["donor 2", "donor 3"]
    )
    result = model.fit(10**6, rng=2)
    found, other = result.released, result.placebos[1]
    f = np.linalg.solve(X[:, :6] @ X[:, :6].T + 60 * np.eye(5), X[:, :6] @ y[:6])
    assert found.noisy_weights == pytest.approx(f, abs=1e-3)
    assert found.post.prediction == pytest.approx(X[:, 6:].T @ found.weights, abs=1e-3)
    assert found.post.target.tolist() == y[6:].tolist()
    assert found.pre is not None
    assert found.pre.prediction == pytest.approx(X[:, :6].T @ found.weights, abs=1e-3)
    rest = np.delete(X, 2, axis=0)
    f = np.linalg.solve(rest[:, :6] @ rest[:, :6].T + 60 * np.eye(4), rest[:, :6] @ X[2, :6])
    assert other.noisy_weights == pytest.approx(f, abs=1e-3)
    assert other.post.target == pytest.approx(X[2, 6:], abs=1e-2)
    assert other.post.target.tolist() != X[2, 6:].tolist()


@pytest.mark.parametrize("hidden", [False, True])
def test_what_was_drawn_is_saved_as_json_and_comes_back(hidden: bool) -> None:
    [one] = drawn(12, 8, hidden=hidden)
    again = revived(json.loads(json.dumps(saved(one))), (UnitRelease, Series, PathNoise))
    assert repr(again) == repr(one)
    assert again.att == one.att
    assert again.att_noise == one.att_noise


def drawn(T: int, seed: Any, count: int = 1, *, hidden: bool = False) -> list[UnitRelease]:
    X, y = np.linspace(-0.5, 0.5, 4 * T).reshape(4, T), np.full(T, 0.25)
    model = SyntheticControl.from_arrays(
        X, y, 3, 1.0, donor_weights="uniform", mean_effect=True, protect_treated=hidden
    )
    # without the plan, the charge and the result that each fit makes of the same draw
    allocation, noise = model._allocated(Budget(8)), source(seed)
    return [model._draw(allocation, noise)[0] for _ in range(count)]


@pytest.mark.parametrize("hidden", [False, True])
def test_the_mean_by_itself_has_the_law_that_is_stated(hidden: bool) -> None:
    """Of nine periods: nine tenths of the precision are the mean's own."""
    truth = 0.25 - np.linspace(-0.5, 0.5, 48).reshape(4, 12)[:, 3:].mean()
    found = drawn(12, 8, 1600, hidden=hidden)
    errors = np.array([one.att for one in found]) - truth
    law = found[0].att_noise
    assert abs(errors.mean()) < 6.2 * law.sd / math.sqrt(1600)
    # the standard error of a standard deviation of nearly Laplace noise is about 2.8%
    assert errors.std() / law.sd == pytest.approx(1, abs=0.17)
    covered = (np.abs(errors) <= law.half_width(0.1)).mean()
    assert covered == pytest.approx(0.9, abs=0.047)
    path = found[0].post.effect_noise.mean_of(9).sd
    assert law.sd == pytest.approx(path * math.sqrt(1 / 10), rel=1e-6)


def test_the_mean_by_itself_pays_above_three_periods() -> None:
    for K, pays in ((2, False), (3, False), (4, True), (9, True)):
        [one] = drawn(K + 3, 1)
        whole = one.post.effect_noise.mean_of(K).sd / 2
        assert (one.att_noise.sd < whole * (1 - 1e-9)) is pays
