from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import IPW
from dprct.estimate.ipw.release import IPWAllocation, released
from dprct.model import revived, saved
from dprct.privacy.budget import Budget
from dprct.privacy.noise import random_part, source
from dprct.queries.weighting import HALF, Weighted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


def drawn(data: pd.DataFrame, schema: Schema, epsilon: float, **options: Any) -> Any:
    model = IPW.from_formula(
        "treat ~ age", data, schema, outcome="earnings", estimator="ipw", **options
    )
    return released(bought(model, epsilon), model._rows(), source(1)), model


def bought(model: IPW, epsilon: float) -> IPWAllocation:
    """Return the mechanisms of the form that was asked for."""
    return model.spec.weighting(model.facts).allocation(Budget(epsilon, 1e-4))


def test_without_noise_to_speak_of_it_is_the_textbook_estimate(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(4000)
    found, model = drawn(data, schema, 30, lam=0.01)
    rows = model._rows()
    second = rows.part(rows.order()[~random_part(4000, 2000, source(1))])
    Z = second.Z.chunk(0, 2000)
    u = Z @ found.weights
    less = np.square(Z).sum(axis=1) * found.weight_sd**2 / 2
    top = (1 - model.spec.weighting(model.facts).scheme.trim) / model.spec.weighting(
        model.facts
    ).scheme.trim
    weights = np.where(
        second.t,
        1 + np.exp(-u - less).clip(1 / top, top),
        -1 - np.exp(u - less).clip(1 / top, top),
    )
    phi = weights * (second.steps / HALF - 1)
    assert found.theta == pytest.approx(phi.mean(), abs=10 * found.noises[0])
    assert found.variance == pytest.approx(phi.var() / 2000, rel=0.1)


@pytest.mark.parametrize("estimand", ["ate", "att", "atc"])
def test_the_variance_is_that_of_influences_about_the_effect(
    study: Callable[..., pd.DataFrame], schema: Schema, estimand: str
) -> None:
    """An ATT is about a mean of the treated: its effect is taken off their terms alone."""
    data = study(4000).assign(earnings=lambda x: np.where(x["treat"] == 1, 0.9, -0.3))
    public = {} if estimand == "ate" else {"neighbors": "replace-one-design-public"}
    found, model = drawn(data, schema, 30, lam=0.01, hajek=False, estimand=estimand, **public)
    rows = model._rows()
    second = rows.part(rows.order()[~random_part(4000, 2000, source(1))])
    (piece,) = Weighted(
        second, found.weights, found.weight_sd, model.spec.weighting(model.facts).scheme
    ).pieces()
    shifts = {"ate": (1, 1), "att": (1, 0), "atc": (0, 1)}[estimand]
    phi = np.where(piece.t, piece.treated, -piece.control) * piece.y
    size = {"ate": 2000, "att": piece.t.sum(), "atc": (~piece.t).sum()}[estimand]
    assert found.theta == pytest.approx(phi.sum() / size, abs=0.05)
    phi = phi - found.theta * np.where(piece.t, *shifts)
    assert found.variance == pytest.approx(np.square(phi).sum() / size**2, rel=0.1)


@pytest.mark.parametrize("hajek", [False, True])
def test_balance_is_the_weighted_difference_per_row_of_the_second_part(
    study: Callable[..., pd.DataFrame], schema: Schema, hajek: bool
) -> None:
    data = study(4000).assign(age=lambda x: 0.5 + x["age"] / 2)
    found, model = drawn(data, schema, 30, lam=9.0, hajek=hajek, balance=["age"], split=0.2)
    rows = model._rows()
    second = rows.part(rows.order()[~random_part(4000, 800, source(1))])
    weighted = Weighted(
        second, found.weights, found.weight_sd, model.spec.weighting(model.facts).scheme
    )
    (piece,) = weighted.pieces()
    (block,) = model.spec.roles(model.facts).design.blocks
    x = second.columns[block]
    expected = (np.where(piece.t, piece.treated, -piece.control) * x).mean()
    apart, spread, noise = found.balance["age"]
    assert noise < abs(expected) / 4
    assert apart == pytest.approx(expected, abs=8 * noise)
    assert spread == pytest.approx(np.sqrt(np.square(x).mean()), rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_noise_that_is_told_is_the_noise_that_is_drawn(
    study: Callable[..., pd.DataFrame], schema: Schema, noise: str
) -> None:
    """Everybody is alike, with the outcome in the middle: what differs between fits is noise."""
    data, draws = study(60).assign(earnings=0.0, age=0.5, treat=1.0), 1500
    model = IPW.from_formula(
        "treat ~ age", data, schema, outcome="earnings", noise=noise, hajek=False, lam=1.0
    )
    allocation, rows, seeds = bought(model, 2), model._rows(), source(3)
    found = [released(allocation, rows, seeds) for _ in range(draws)]
    told = found[0].noises[0] * (2 if noise == "laplace" else 1) ** 0.5
    assert found[0].gaussian == (noise == "gaussian")
    # ratios of variances, of kurtosis 6 or 3; false alarm 1e-9
    ratio = float(np.mean([one.theta**2 for one in found])) / told**2
    assert abs(ratio - 1) < 6.2 * np.sqrt((5 if noise == "laplace" else 2) / draws)
    weights = np.array([one.weights for one in found])
    ratio = float(weights.var(axis=0, ddof=1).mean()) / found[0].weight_sd ** 2
    assert abs(ratio - 1) < 6.2 * np.sqrt(2 / (2 * draws))


def test_the_slope_is_that_of_the_effect_in_the_weights(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(20_000).assign(earnings=0.9)
    found, model = drawn(data, schema, 30, hajek=False, lam=0.05)
    second = model._rows()
    second = second.part(second.order()[~random_part(20_000, 10_000, source(1))])
    weighted = Weighted(
        second, found.weights, found.weight_sd, model.spec.weighting(model.facts).scheme
    )
    gradient = sum(
        np.where(p.t, p.treated_slope * p.y, -p.control_slope * p.y) @ p.Z
        for p in weighted.pieces()
    )
    assert found.steepness == pytest.approx(np.linalg.norm(gradient / 10_000), rel=0.05)


def test_the_noise_of_means_is_that_of_their_sums_over_released_weights(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    found, model = drawn(study(4000), schema, 8, hajek=True, lam=0.01)
    allocation = bought(model, 8)
    most = allocation.form.scheme.most
    sums = allocation["effect"].scale / HALF  # type: ignore[union-attr]
    masses = allocation["mass"].scale / (2 * HALF)  # type: ignore[union-attr]
    assert found.noises[:2] == pytest.approx([sums * most / m for m in found.masses])
    second = model._rows()
    second = second.part(second.order()[~random_part(4000, 2000, source(1))])
    (piece,) = Weighted(
        second, found.weights, found.weight_sd, model.spec.weighting(model.facts).scheme
    ).pieces()
    for arm, weights, noise in (
        (piece.t, piece.treated, found.noises[2]), (~piece.t, piece.control, found.noises[3]),
    ):  # fmt: skip
        mean = np.average(piece.y[arm], weights=weights[arm])
        size = weights[arm].sum()
        assert noise == pytest.approx(abs(mean) * masses * most / size, rel=0.3, abs=1e-3 * masses)


def test_public_and_counted_arms_are_about_the_same_effect(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(4000)
    counted, _ = drawn(data, schema, 20, estimand="att", lam=0.01)
    public, _ = drawn(
        data, schema, 20, estimand="att", neighbors="replace-one-design-public", lam=0.01
    )
    assert counted.masses[0] == pytest.approx(public.masses[0], abs=60)
    assert public.noises[1] == 0 < counted.noises[1]


def test_the_state_is_json(study: Callable[..., pd.DataFrame], schema: Schema) -> None:
    for options in ({}, {"hajek": True, "overlap": True, "balance": ["age"]}):
        found, _ = drawn(study(400), schema, 2, **options)
        again = revived(json.loads(json.dumps(saved(found))), (type(found),))
        assert again.weights.tolist() == found.weights.tolist()
        assert (again.variance, again.balance) == (found.variance, found.balance)


def test_seeds_decide_everything(study: Callable[..., pd.DataFrame], schema: Schema) -> None:
    one, other = (drawn(study(400), schema, 2)[0].theta for _ in range(2))
    assert one == other
