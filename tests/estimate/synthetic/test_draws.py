"""What is released, at which price, in which order: the recipe and its draws."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dprct.estimate.synthetic.control_options import shares_of
from dprct.estimate.synthetic.draws import (
    Recipe,
    UnitRelease,
    placebo_name,
    public_norm,
    release_placebo,
    release_treated,
)
from dprct.estimate.synthetic.panel import panel_of_arrays
from dprct.estimate.synthetic.pricing import priced
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.donors import UNIT, Donors, Scale
from dprct.queries.grid import GRID

ONE = Scale(-1.0, 1.0)


def recipe(rule: str = "ridge", **changes: Any) -> Recipe:
    facts: dict[str, Any] = {"pre_fit": True, "placebos": (1, 2), "y_norm": 1.5} | changes
    shares = shares_of(
        None, rule, pre_fit=facts["pre_fit"], placebos=bool(facts["placebos"]), auto=False
    )
    return Recipe(n=5, T=9, T0=6, rule=rule, lam=120.0, shares=shares, **facts)


@pytest.mark.parametrize("rule", ["ridge", "uniform"])
@pytest.mark.parametrize("y_norm", [1.5, None])
def test_parts_are_a_whole(rule: str, y_norm: float | None) -> None:
    parts = recipe(rule, y_norm=y_norm).parts()
    assert sum(part.share for part in parts.values()) == 1
    own = ["weights"] * (rule == "ridge") + ["prediction", "pre_fit"]
    assert set(parts) == {*own, *(placebo_name(j, name) for j in (1, 2) for name in own)}
    placebos = sum(part.share for name, part in parts.items() if name.startswith("placebo"))
    assert placebos == Fraction(1, 2)


def test_sensitivities_are_those_of_the_queries() -> None:
    parts = recipe().parts()
    assert (parts["prediction"].l1, parts["prediction"].size) == (3 * GRID, 3)
    assert (parts["pre_fit"].l1, parts["pre_fit"].l2_squared) == (6 * GRID, 6 * GRID**2)
    # a placebo's own series has noise too, one donor less is left, and any target is possible
    assert parts["placebo 1: prediction"].size == 6
    assert parts["placebo 1: weights"].size == 4
    assert recipe().placebo_grid.y_norm is None
    assert recipe(y_norm=None).parts()["prediction"].size == 6


def test_the_norm_of_a_public_series_is_never_too_small() -> None:
    y = np.array([0.1, -0.7, 2.0])
    steps = ONE.steps(y)
    exact = math.sqrt(sum(Fraction(int(k), UNIT) ** 2 for k in steps))
    assert exact <= public_norm(ONE, y) <= exact * (1 + 1e-11)


def test_draws_with_little_noise_are_the_formulas() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (5, 9)), rng.uniform(-1, 1, 9)
    panel, donors = panel_of_arrays(X, y, 6), Donors(ONE.steps(X), ONE, 6)
    plain = recipe(y_norm=public_norm(ONE, y[:6]))
    prices = priced(Budget(10**6), "laplace", plain.parts())
    found = release_treated(plain, panel, donors, y, prices, source(2))
    f = np.linalg.solve(X[:, :6] @ X[:, :6].T + 60 * np.eye(5), X[:, :6] @ y[:6])
    assert found.noisy_weights == pytest.approx(f, abs=1e-3)
    assert found.post.prediction == pytest.approx(X[:, 6:].T @ found.weights, abs=1e-3)
    assert found.post.target.tolist() == y[6:].tolist()
    assert found.pre is not None
    assert found.pre.prediction == pytest.approx(X[:, :6].T @ found.weights, abs=1e-3)
    other = release_placebo(plain, panel, donors, 2, prices, source(3))
    rest = np.delete(X, 2, axis=0)
    f = np.linalg.solve(rest[:, :6] @ rest[:, :6].T + 60 * np.eye(4), rest[:, :6] @ X[2, :6])
    assert other.noisy_weights == pytest.approx(f, abs=1e-3)
    assert other.post.target == pytest.approx(X[2, 6:], abs=1e-2)
    assert other.post.target.tolist() != X[2, 6:].tolist()


def test_the_state_is_json_and_holds_no_public_series() -> None:
    X, y = np.zeros((5, 9)), np.ones(9)
    panel, donors = panel_of_arrays(X, y, 6), Donors(ONE.steps(X), ONE, 6)
    plain = recipe(y_norm=public_norm(ONE, y[:6]))
    prices = priced(Budget(1), "laplace", plain.parts())
    state = release_treated(plain, panel, donors, y, prices, source(2)).state()
    assert set(json.loads(json.dumps(state))) == {"weights", "post", "pre"}
    hidden = release_placebo(plain, panel, donors, 0 + 1, prices, source(2)).state()
    assert set(hidden) == {"weights", "post", "pre", "post own", "pre own"}


def drawn(T: int, seed: Any, count: int = 1, *, hidden: bool = False) -> list[UnitRelease]:
    X, y = np.linspace(-0.5, 0.5, 4 * T).reshape(4, T), np.full(T, 0.25)
    shares = shares_of(None, "uniform", pre_fit=False, placebos=False, auto=False, mean_effect=True)
    norm = None if hidden else public_norm(ONE, y[:3])
    plain = Recipe(4, T, 3, "uniform", 60.0, norm, False, (), shares)
    panel, donors = panel_of_arrays(X, y, 3), Donors(ONE.steps(X), ONE, 3)
    prices = priced(Budget(8), "laplace", plain.parts())
    public, noise = None if hidden else y, source(seed)
    return [release_treated(plain, panel, donors, public, prices, noise) for _ in range(count)]


@pytest.mark.parametrize("hidden", [False, True])
def test_the_mean_by_itself_has_the_law_that_is_stated(hidden: bool) -> None:
    """Of nine periods: nine tenths of the precision are the mean's own."""
    truth = 0.25 - np.linspace(-0.5, 0.5, 48).reshape(4, 12)[:, 3:].mean()
    found = drawn(12, 8, 3000, hidden=hidden)
    errors = np.array([one.att for one in found]) - truth
    law = found[0].att_noise
    assert abs(errors.mean()) < 6.2 * law.sd / math.sqrt(3000)
    # the standard error of a standard deviation of nearly Laplace noise is about 2%
    assert errors.std() / law.sd == pytest.approx(1, abs=0.12)
    covered = (np.abs(errors) <= law.half_width(0.1)).mean()
    assert covered == pytest.approx(0.9, abs=0.034)
    path = found[0].post.effect_noise.mean_of(9).sd
    assert law.sd == pytest.approx(path * math.sqrt(1 / 10), rel=1e-6)
    state = found[0].state()
    assert ("mean" in state, "mean own" in state) == (True, hidden)


def test_the_mean_by_itself_pays_above_three_periods() -> None:
    for K, pays in ((2, False), (3, False), (4, True), (9, True)):
        [one] = drawn(K + 3, 1)
        whole = one.post.effect_noise.mean_of(K).sd / 2
        assert (one.att_noise.sd < whole * (1 - 1e-9)) is pays
