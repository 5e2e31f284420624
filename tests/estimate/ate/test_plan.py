"""What effects promise, cost and can show: each line of a plan is a function of public facts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import Calibrated, Complete, PrivateATE, read_dta
from dprct.estimate.ate.plan import (
    COLUMNS,
    expected,
    planned_outcome,
    price_of,
    promise_of,
)
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.contrasts import arm_contrasts
from dprct.estimate.noise_law import cdf
from dprct.privacy.budget import Budget
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.queries.sums import Arms
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from dprct.estimate.ate.release import AnyOutcome


CODES = np.repeat([0, 1], [300, 100]).astype(np.int64)


def outcome_of(sd: float | None) -> Outcome:
    column = Column("y", bounds=(0.0, 1.0), sd=sd)
    return Outcome(column, Arms(CODES, ((300, 100),)), Fraction(1))


NAMES = ("control", "t")
ARM = arm_contrasts(NAMES)


def test_the_worst_case_is_what_the_bounds_allow() -> None:
    (worst,), (declared,) = (
        expected(outcome_of(None), Fraction(1), ARM),
        expected(outcome_of(0.1), Fraction(1), ARM),
    )
    assert worst.variances[0].value == pytest.approx(0.25 * (1 / 300 + 1 / 100))
    assert declared.variances[0].value == pytest.approx(0.01 * (1 / 300 + 1 / 100))
    assert worst.scales[0] == pytest.approx(1 / 100 / 0.67)


def test_a_detectable_effect_is_found_in_eight_of_ten_experiments() -> None:
    (effect,) = expected(outcome_of(0.3), Fraction(1), ARM)
    beyond = effect.detectable(0.05, 0.8) - effect.half_width(0.05)
    assert cdf(beyond, effect.variances[0].value, effect.scales) == pytest.approx(0.8)


def test_a_plan_has_the_errors_with_and_without_privacy() -> None:
    numbers, _ = planned_outcome(outcome_of(0.3), NAMES, ARM, Fraction(1), (0.05,))
    found = {(one.quantity, one.term): one.value for one in numbers}
    (effect,) = expected(outcome_of(0.3), Fraction(1), ARM)
    assert found["std_error", "t"] == effect.standard_error((0.05,))
    without = 0.3 * (1 / 300 + 1 / 100) ** 0.5
    assert found["std_error_without_privacy", "t"] == pytest.approx(without)
    assert found["noise_sd", "t"] == effect.noise_sd
    assert found["detectable_effect", "t"] == effect.detectable(0.05, 0.8)
    assert [one.value for one in numbers if one.quantity == "people"] == [300, 100]
    assert found["price_of_hiding_treatment", "t"] > found["std_error", "t"]


def test_what_cannot_be_found_is_said() -> None:
    assert not planned_outcome(outcome_of(None), NAMES, ARM, Fraction(1), (0.05,))[1]
    _, (warning,) = planned_outcome(outcome_of(0.1), NAMES, ARM, Fraction(1, 20), (0.05,))
    assert "not usable at this n" in warning


ARMS = ["cashassonly", "tpassonly", "tpcashass"]


def scaled(data: pd.DataFrame, schema: Schema) -> PrivateATE:
    """The effects on y, of which 3 is the declared standard deviation."""
    return PrivateATE(data, schema.declare(y={"sd": 3.0}), outcome="y", treatment=["t", "t2"])


def test_the_table_is_that_of_the_plan(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    model = scaled(trial(), schema)
    table = model.power(1)
    assert list(table.columns) == list(COLUMNS)
    row = table.loc[("y", "t")]
    quantities = {
        "std_err": "std_error", "noise": "noise_sd", "sampling": "std_error_without_privacy",
        "detectable": "detectable_effect",
    }  # fmt: skip
    plan = model.plan(1)
    for name, quantity in quantities.items():
        assert row[name] == plan.value(quantity, outcome="y", term="t")
    assert plan.value("epsilon", "where noise is", outcome="y", term="t") == row["equal_epsilon"]
    other = model.power(row["equal_epsilon"]).loc[("y", "t")]
    assert other["noise"] == pytest.approx(other["sampling"], rel=1e-6)
    assert model.power(2).loc[("y", "t"), "std_err"] == row["std_err_double"]
    assert model.power(0.5).loc[("y", "t"), "detectable"] == row["detectable_half"]


def test_an_effect_above_one_standard_deviation_is_not_usable(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = scaled(trial(), schema)
    assert model.power(8)["usable"].all()
    poor = model.power(0.1)
    assert not poor["usable"].any()
    assert (poor["detectable"] > poor["sd"]).all()


def liberia(outcomes: int, folder: Path, **how: Any) -> Calibrated:
    """The design of Liberia with ``outcomes`` outcomes of width 8, spread .08 sqrt(n / 2)."""
    data, _ = read_dta(folder / "data/liberia/liberia_round5.dta")
    names = [f"y{j}" for j in range(outcomes)]
    covariate: dict[str, Any] = {"levels": (0.0, 1.0), "missing": (), "fate": "modelled"}
    columns = [Column(n, bounds=(-2.0, 6.0), sd=0.87, missing=(), fate="modelled") for n in names]
    columns += [Column(a, "byte", levels=(0.0, 1.0), missing=(), fate="public") for a in ARMS]
    columns += [Column("muslim_b", "byte", **covariate)]
    frame = data[[*ARMS, "muslim_b"]].assign(**{n: np.zeros(len(data)) for n in names})
    formula = " + ".join(names) + " ~ " + " + ".join([*ARMS, "muslim_b"])
    return Calibrated.from_formula(
        formula, frame, Schema(tuple(columns)), treatment=ARMS,
        assignment=Complete(ARMS), attrition=True, **how,
    )  # fmt: skip


def test_one_outcome_and_all_of_epsilon_on_effects_is_eight_times_as_precise(
    shared: Path,
) -> None:
    halves = {"covariates": 0.5, **{f"y{j}": 0.0625 for j in range(8)}}
    one = liberia(1, shared, covariate_release="filler").power(1).xs("tpassonly", level="effect")
    eight = (
        liberia(8, shared, covariate_release="marginals", budget_shares=halves)
        .power(1)
        .xs("cashassonly", level="effect")
    )
    assert one["sampling"].tolist() == pytest.approx([0.08], abs=0.003)
    assert one["noise"].tolist() == pytest.approx([0.105], abs=0.01)  # the document: .11
    # 1.66 with a Laplace draw for each outcome, 2.07 times as much
    assert eight["noise"].tolist() == pytest.approx([0.805] * 8, rel=0.01)
    assert one["usable"].all()
    assert not eight["usable"].any()
    assert eight["equal_epsilon"].iloc[0] == pytest.approx(0.805 / 0.08, rel=0.1)


Y = Column("y", bounds=(0.0, 1.0), missing=())
EMPTY = np.empty(0, np.int64)
PUBLIC = Outcome(Y, Arms(EMPTY, ((300, 100),)), Fraction(1))
PRIVATE = HiddenOutcome(Y, PrivateArms((), (), (Fraction(3, 4), Fraction(1, 4)), 400), Fraction(1))
GROUPS = arm_contrasts(("control", "t"))


def prices(outcome: AnyOutcome, sd: float | None) -> list[float]:
    known = replace(outcome, column=replace(outcome.column, sd=sd))
    return [one.value for one in price_of(known, GROUPS, Fraction(1), (0.05,))]


def test_both_relations_quote_the_same_prices() -> None:
    assert prices(PUBLIC, 0.2) == prices(PRIVATE, 0.2)
    public, best, worst = prices(PUBLIC, 0.2)
    assert public == pytest.approx(
        PUBLIC.expected(Fraction(1), 0.04, GROUPS)[0].standard_error((0.05,)), rel=1e-3
    )
    assert public <= best < worst
    assert worst == pytest.approx(
        PRIVATE.expected(Fraction(1), 0.25, GROUPS)[0].standard_error((0.05,)), rel=1e-3
    )


def test_without_a_declared_sd_both_are_at_their_worst() -> None:
    assert len(prices(PUBLIC, None)) == 2


def test_there_is_no_price_where_only_one_is_offered() -> None:
    blocked = Arms(EMPTY, ((5, 5), (5, 5)), (Fraction(1, 2),) * 2)
    clusters = Arms(EMPTY, ((5, 5),), clusters=EMPTY, largest=2)
    for arms in (blocked, clusters):
        assert not prices(Outcome(Y, arms, Fraction(1)), None)
    counted = CountedOutcome(Y, PUBLIC.arms, Fraction(1))
    assert not prices(counted, None)


@pytest.mark.parametrize(
    ("policy", "relation", "known", "uncovered"),
    [
        (0.0, "replace-one-design-public", "arm sizes", "treatment, blocks"),
        ("public", "replace-one-design-public", "has a value of got", "got is miss"),
        (0.0, "replace-one", "control 1/3, t 1/3, t2 1/3", "participat"),
    ],
)
def test_a_promise_rests_on_what_is_public_and_says_so(
    trial: Callable[..., pd.DataFrame],
    schema: Schema,
    policy: Any,
    relation: Any,
    known: str,
    uncovered: str,
) -> None:
    facts = schema.declare(got={"missing_policy": policy})
    model = PrivateATE(
        trial(), facts, outcome=["y", "got"], assignment=Complete(["t", "t2"]),
        neighbors=relation,
    )  # fmt: skip
    promise = promise_of(Budget(1), model.facts)
    assert promise == model.guarantee(Budget(1))
    assert promise.relation == relation
    assert known in " ".join(promise.public_facts)
    assert uncovered in " ".join(promise.not_covered)
    assert schema.unit.said in promise.public_facts
    assert ("arm sizes" in " ".join(promise.public_facts)) == (relation != "replace-one")
