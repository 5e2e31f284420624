from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import IPW, Accountant
from dprct.errors import ParameterError
from dprct.estimate.ipw.release import Form, effect_sd, slope_kept
from dprct.estimate.ipw.results import Declared, expected_effect
from dprct.privacy.mechanisms import split
from dprct.queries.weighting import Scheme

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.privacy.budget import Budget
    from dprct.schema import Schema


@pytest.mark.parametrize(
    "options", [{}, {"hajek": True}, {"noise": "gaussian"}, {"estimand": "att"}], ids=str
)
def test_the_expected_noise_is_about_what_is_found(
    study: Callable[..., pd.DataFrame], schema: Schema, budget: Budget, options: dict[str, Any]
) -> None:
    model = IPW.from_formula(
        "treat ~ age", study(4000), schema, outcome="earnings", estimator="ipw", **options
    )
    planned = effect_sd(model.spec.allocation(model.facts, budget), 1.0)
    result = model.fit(2, 1e-6, rng=1)
    assert 0.5 < result.bse_noise.iloc[0] / planned < 2


def test_a_plan_says_what_shapes_the_noise_and_nothing_of_the_data(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(1000)
    plan = IPW.from_formula("treat ~ age", data, schema, outcome="earnings", estimator="ipw").plan(
        1, 1e-6
    )
    text = str(plan)
    assert plan.value("rows", "propensity weights") == 500
    assert plan.value("budget", "effect") == 0.6
    assert (plan.value("trimming"), plan.value("trimming", "largest")) == (0.1, 0.9)
    data[["earnings", "age"]] = -1.0
    other = IPW.from_formula("treat ~ age", data, schema, outcome="earnings", estimator="ipw").plan(
        1, 1e-6
    )
    assert text == str(other)


def test_warnings_name_what_will_disappoint(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula("treat ~ age", study(100), schema, outcome="earnings", estimator="ipw")
    assert any("most of the confounding" in text for text in model.plan(0.05, 1e-6).warnings)
    assert any("not usable with 100" in text for text in model.plan(0.05, 1e-6).warnings)
    own = IPW.from_formula(
        "treat ~ age", study(400), schema, outcome="earnings", estimator="ipw", lam=0.001
    )
    assert any("mostly noise" in text for text in own.plan(0.5, 1e-6).warnings)
    assert not any("mostly noise" in text for text in model.plan(0.05, 1e-6).warnings)
    large = IPW.from_formula(
        "treat ~ age", study(20_000), schema, outcome="earnings", estimator="ipw"
    )
    assert large.plan(4, 1e-6).warnings == ()
    assert "conditional" not in str(large.plan(4, 1e-6))


def test_the_form_is_chosen_by_public_facts_and_said(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula(
        "treat ~ age", study(2000), schema, outcome="earnings", estimator="ipw"
    )
    assert model.plan(0.5, 1e-6).facts["form"].startswith("plain")
    said = model.plan(4, 1e-6).facts["form"]
    assert said.startswith("Hajek")
    plan = model.plan(4, 1e-6)
    assert round(plan.value("least sum of weights")) == 150
    assert round(plan.value("least sum of weights", "expected")) == 1000
    assert plan.value("budget", "mass") > 0


def test_the_expected_error_is_about_what_is_found(
    study: Callable[..., pd.DataFrame], schema: Schema, budget: Budget
) -> None:
    model = IPW.from_formula(
        "treat ~ age", study(4000), schema, outcome="earnings", estimator="ipw"
    )
    effect = expected_effect(model.spec.allocation(model.facts, budget), Declared(1.0))
    planned = effect.standard_error((0.05,))
    assert 0.3 < model.fit(2, 1e-6, rng=1).bse.iloc[0] / planned < 3
    plan = model.plan(2, 1e-6)
    assert plan.value("std_error", outcome="earnings", term="treat") == planned
    # sd .5 in units of the half width, half of all rows treated
    assert plan.value("std_error_without_privacy") == pytest.approx(0.5 * 2 / math.sqrt(4000))
    assert plan.value("half_width") == effect.half_width(0.05)


def test_a_larger_penalty_leaves_less_of_the_slopes(budget: Budget) -> None:
    def kept(lam: float) -> float:
        scheme = Scheme("ate", 0.1)
        form = Form(
            500, 500, 5, scheme, False, "replace-one", "laplace", "total", lam, (), False,
            split(None, {"effect": 1, "gradient": 1}),
        )  # fmt: skip
        return slope_kept(form.allocation(budget))

    assert kept(1 / 128) == pytest.approx(0.5)
    assert kept(0.1) < 0.1 < 0.8 < kept(0.001)


@pytest.mark.parametrize("hajek", [False, True])
def test_the_width_to_expect_is_about_the_width_found(
    study: Callable[..., pd.DataFrame], schema: Schema, budget: Budget, hajek: bool
) -> None:
    sd = float(study(4000).groupby("treat")["earnings"].std().mean())
    facts = schema.declare(earnings={"sd": sd})
    model = IPW.from_formula(
        "treat ~ age", study(4000), facts, outcome="earnings", estimator="ipw", hajek=hajek
    )
    planned = expected_effect(
        model.spec.allocation(model.facts, budget), model.spec.declared(model.facts)
    ).half_width(0.05)
    found = [model.fit(2, 1e-6, rng=seed).effect.half_width(0.05) for seed in range(12)]
    assert 0.5 < planned / np.median(found) < 2


def test_usable_is_said_by_the_declared_sd(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    def warned(sd: float | None = None) -> bool:
        facts = schema if sd is None else schema.declare(earnings={"sd": sd})
        model = IPW.from_formula(
            "treat ~ age", study(4000), facts, outcome="earnings", estimator="ipw"
        )
        return any("not usable" in text for text in model.plan(2, 1e-6).warnings)

    assert not warned()
    assert not warned(sd=0.5)
    assert warned(sd=0.02)


def test_a_share_of_treated_decides_before_the_charge(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    def model(n: int, **options: Any) -> IPW:
        return IPW.from_formula(
            "treat ~ age",
            study(n),
            schema,
            outcome="earnings",
            estimand="att",
            **options,
        )

    budget = Accountant(10, 1e-3)
    with pytest.raises(ParameterError, match=r"treated_share=0\.05 of 300 rows"):
        model(600, treated_share=0.05).fit(1, 1e-6, accountant=budget)
    assert budget.spent.epsilon == 0
    assert model(20_000).plan(2, 1e-6).facts["form"].startswith("Hajek")
    assert model(20_000, treated_share=0.02).plan(2, 1e-6).facts["form"].startswith("plain")
    said = [any("treated_share" in text for text in model(20_000, **options).plan(2, 1e-6).warnings)
            for options in ({}, {"treated_share": 0.3})]  # fmt: skip
    assert said == [True, False]


def test_conditional_errors_are_those_of_the_hajek_form_unless_the_plain_one_is_asked_for(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    def plan(epsilon: float, **options: Any) -> Any:
        rows = study(2000)
        model = IPW.from_formula(
            "treat ~ age",
            rows,
            schema,
            outcome="earnings",
            errors="conditional",
            **options,
        )
        return model.plan(epsilon, 1e-6)

    assert plan(4).facts["form"].startswith("Hajek")
    with pytest.raises(ParameterError, match="is for the Hajek form"):
        plan(0.5)
    asked = plan(0.5, hajek=False)
    assert any("covered 62 to 75%" in text for text in asked.warnings)
