from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import IPW
from dprct.estimate.ipw.draws import released
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.privacy.partition import random_part
from dprct.queries.records import HALF

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


def drawn(data: pd.DataFrame, schema: Schema, epsilon: float, **options: Any) -> Any:
    model = IPW.from_formula("treat ~ age", data, schema, outcome="earnings", **options)
    prices = model.recipe.priced(Budget(epsilon, 1e-4))
    return released(model.recipe, model._rows(), prices, source(1)), model


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
    top = (1 - model.recipe.scheme.trim) / model.recipe.scheme.trim
    weights = np.where(
        second.t,
        1 + np.exp(-u - less).clip(1 / top, top),
        -1 - np.exp(u - less).clip(1 / top, top),
    )
    phi = weights * (second.steps / HALF - 1)
    assert found.theta == pytest.approx(phi.mean(), abs=10 * found.noises[0])
    assert found.variance == pytest.approx(phi.var() / 2000, rel=0.1)


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
        assert json.loads(json.dumps(found.state()))["weights"] == found.weights.tolist()


def test_seeds_decide_everything(study: Callable[..., pd.DataFrame], schema: Schema) -> None:
    one, other = (drawn(study(400), schema, 2)[0].theta for _ in range(2))
    assert one == other
