"""The plug-in learner: the difference of two functions, and the law of its noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate.plug_in import PlugIn
from dprct.estimate.cate.release import LearnerForm, released
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.additive import HALF_STEPS, CodedRows
from tests.estimate.cate.test_model import GRID, model_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema

N = 30_000


def form_of(schema: Schema, pairs: tuple[tuple[str, str], ...] = ()) -> LearnerForm:
    terms = terms_of(schema, ["x1", "town"], bins=5, pairs=pairs)
    return LearnerForm("t", terms, {"effect": N}, (-4.0, 4.0), 8.0, None, 0.1)


def rows_of() -> CodedRows:
    """The effect is 1 - x1 / 2 + town, and treatment depends on x1."""
    rng = np.random.default_rng(2)
    x1, town = (rng.integers(0, k, N).astype(np.int32) for k in (5, 2))
    t = (rng.random(N) < 0.3 + 0.1 * x1).astype(float)
    y = 0.5 * x1 - 1 + t * (1 - x1 / 2 + town) + rng.normal(0, 0.3, N)
    return CodedRows([x1, town], np.clip(y, -4, 4), t)


def drawn(form: LearnerForm, budget: Budget, seed: int) -> PlugIn:
    found = form.fits(released(form, form.allocation(budget), rows_of(), source(seed)))
    assert isinstance(found["effect"], PlugIn)
    return found["effect"]


@pytest.mark.parametrize("pairs", [(), (("x1", "town"),)])
def test_an_effect_is_found_where_treatment_was_chosen(
    schema: Schema, pairs: tuple[tuple[str, str], ...]
) -> None:
    fit = drawn(form_of(schema, pairs), Budget.asked(20, 1e-2), 3)
    x1, town = (g.ravel().astype(np.int32) for g in np.meshgrid(np.arange(5), np.arange(2)))
    assert fit.at([x1, town]) == pytest.approx(1 - x1 / 2 + town, abs=0.2)
    assert fit.average == pytest.approx(0.5, abs=0.1)
    table = fit.levels("x1", part="noise")
    assert table["raw"] @ table["count"] / table["count"].sum() == pytest.approx(fit.average)


@pytest.mark.parametrize("budget", [Budget.asked(2, 1e-6), Budget.asked(2, 0)])
def test_the_law_of_its_noise_is_that_of_draws(schema: Schema, budget: Budget) -> None:
    """40 draws: an sd of the average, and of levels, between half and twice what is said."""
    form = form_of(schema)
    fits = [drawn(form, budget, seed) for seed in range(40)]
    found = np.array([fit._numbers for fit in fits]).std(axis=0)
    said = [fits[0].average_noise().sd, *fits[0].levels("x1", part="noise")["std.error"]]
    said += [*fits[0].levels("town", part="noise")["std.error"]]
    assert (found / said > 0.5).all()
    assert (found / said < 2).all()


def test_it_costs_the_bounds_of_the_outcome(schema: Schema) -> None:
    layout = form_of(schema).allocation(Budget.asked(1, 1e-6)).layouts["effect"]
    assert layout.l2_squared == 13 * HALF_STEPS**2
    assert layout.clip == 4


def test_it_needs_no_propensity_and_no_parts(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    result = model_of(trial, schema, learner="t").fit(5, 1e-6)
    low, high = result.effect(GRID)
    assert low == pytest.approx(-0.25, abs=0.5)
    assert high == pytest.approx(1.75, abs=0.5)
    assert result.propensity == "not needed"
    assert result.sizes == {"effect": 8000}
    with pytest.raises(ParameterError, match="functions of both arms are smoothed"):
        result.average_interval()
    with pytest.raises(ParameterError, match="has no projection"):
        result.projection(["x1"])
    assert (result.tidy()["low"] < result.tidy()["high"]).all()
    assert "plug-in" in result.summary()
    for name, columns in (("subgroups", ["x2"]), ("projection", ["x1"])):
        with pytest.raises(ParameterError, match=f"learner='t' has no {name}="):
            dprct.CATE(
                trial(400), schema, outcome="y", features=["x1", "town"], treatment="t",
                learner="t", **{name: columns},
            )  # fmt: skip
