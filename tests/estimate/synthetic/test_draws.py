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
