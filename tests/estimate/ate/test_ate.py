from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial
from dprct.errors import (
    BudgetError,
    FormulaError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
)
from dprct.estimate.ate.model import PrivateATE
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.schema import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema import Schema

    Trial = Callable[..., pd.DataFrame]


def two_arms(data: pd.DataFrame) -> pd.DataFrame:
    return data[data["t2"] == 0].drop(columns="t2").reset_index(drop=True)


def test_two_arms_give_the_difference_in_means_and_its_error(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial(30_000))
    result = PrivateATE.from_formula("y ~ t", data, schema).fit(epsilon=8)
    groups = data.groupby("t")["y"]
    means, variances = groups.mean(), groups.var() / groups.size()
    noise = 45 / 10_000 / (0.67 * 8)
    assert result.params["t"] == pytest.approx(means[1.0] - means[0.0], abs=25 * noise)
    assert result.bse_noise is not None
    assert result.bse_noise["t"] == pytest.approx(np.sqrt(2) * noise, rel=1e-6)
    assert result.effects[0].variances[0].value == pytest.approx(
        variances.sum(), abs=25 * 45**2 / 10_000**2 / (0.28 * 8)
    )
    assert result.control.loc["y", "mean"] == pytest.approx(
        means[0.0], abs=25 * 45 / 10_000 / (0.05 * 8)
    )


def test_arms_share_a_control_and_so_a_covariance(trial: Trial, schema: Schema) -> None:
    data = trial(9_000)
    result = PrivateATE(data, schema, outcome="y", treatment=["t", "t2"]).fit(epsilon=4)
    assert list(result.params.index) == ["t", "t2"]
    b = 45 / 3_000 / (0.7 * 4)
    for name, true in (("t", 5.0), ("t2", 2.0)):
        # 25 noise scales and 7 sampling errors
        assert result.params[name] == pytest.approx(true, abs=50 * b + 7 * 0.08)
    cov = result.cov_params()
    shared = result.effects[0].variances[1].at(0.05) + 2 * b**2
    assert cov.loc["t", "t2"] == cov.loc["t2", "t"] == pytest.approx(shared, rel=1e-5)
    assert cov.loc["t", "t"] == pytest.approx(result.bse["t"] ** 2)


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_a_seed_means_the_same_in_every_engine_and_promises_nothing(
    trial: Trial, schema: Schema, as_frame: Any
) -> None:
    data = two_arms(trial())
    given = as_frame({name: data[name].to_numpy() for name in data})
    found = PrivateATE.from_formula("y ~ t", given, schema).fit(epsilon=1, rng=3)
    expected = PrivateATE.from_formula("y ~ t", data, schema).fit(epsilon=1, rng=3)
    assert found.params["t"] == expected.params["t"]
    assert not found.guarantee.holds
    assert "simulation" in found.summary()


def test_the_guarantee_is_never_called_replace_one(trial: Trial, schema: Schema) -> None:
    result = PrivateATE.from_formula("y ~ t", two_arms(trial()), schema).fit(epsilon=1)
    assert result.guarantee.relation == "replace-one-design-public"
    assert result.guarantee.measure == "pure"
    text = result.summary()
    assert "It does not protect: participation, treatment" in text
    assert "clipped to [-15, 30]" in text
    with pytest.raises(ParameterError, match="needs assignment="):
        PrivateATE.from_formula("y ~ t", two_arms(trial()), schema, neighbors="replace-one")


def test_the_budget_is_charged_once_and_before_the_draw(trial: Trial, schema: Schema) -> None:
    model = PrivateATE.from_formula("y ~ t", two_arms(trial()), schema)
    accountant = Accountant(1, relation="replace-one-design-public")
    model.fit(epsilon=0.75, accountant=accountant)
    assert accountant.spent == Budget(0.75)
    with pytest.raises(BudgetError):
        model.fit(epsilon=0.5, accountant=accountant)
    assert accountant.spent == Budget(0.75)


def test_outcomes_divide_the_budget(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial())
    schema = schema.declare(got={"missing_policy": "public"})
    options = {"treatment": "t", "budget_shares": {"y": 0.75, "got": 0.25}}
    result = PrivateATE(data, schema, outcome=["y", "got"], **options).fit(epsilon=1, rng=1)
    assert list(result.params.index) == ["y: t", "got: t"]
    n = int(data.groupby("t")["got"].count().min())
    assert result.effects[0].scales[0] == pytest.approx(45 / 300 / (0.67 * 0.75), rel=1e-6)
    assert result.effects[1].scales[0] == pytest.approx(1 / n / (0.67 * 0.25), rel=1e-6)
    assert np.isnan(result.cov_params().iloc[0, 1])
    with pytest.raises(ParameterError, match="budget_shares"):
        PrivateATE(data, schema, outcome=["y", "got"], **{**options, "budget_shares": {"y": 1}})


def test_missing_needs_a_policy_and_each_policy_its_estimand(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial(20_000))
    with pytest.raises(SchemaError, match="may be missing"):
        PrivateATE.from_formula("got ~ t", data, schema)
    with pytest.raises(SchemaError, match="outside the bounds"):
        schema.declare(got={"missing_policy": 7})
    with pytest.raises(SchemaError, match="allowed: public, private, level, or the number"):
        schema.declare(got={"missing_policy": True})
    with pytest.raises(SchemaError, match="allowed: public, private, level"):
        schema.declare(got={"missing_policy": "count"})
    public, filled = (
        PrivateATE.from_formula("got ~ t", data, schema.declare(got={"missing_policy": policy}))
        .fit(epsilon=8)
        for policy in ("public", 1)
    )  # fmt: skip
    observed = data[data["t"] == 0]["got"]
    noise = 25 / 6_000 / (0.05 * 8)
    assert public.control.loc["got", "mean"] == pytest.approx(observed.mean(), abs=noise)
    assert filled.control.loc["got", "mean"] == pytest.approx(observed.fillna(1).mean(), abs=noise)
    assert "who has a value of got" in public.guarantee.public_facts
    assert "missing values being 1" in filled.summary()


def test_blocks_are_averaged_by_their_sizes(trial: Trial, schema: Schema) -> None:
    rng = np.random.default_rng(4)
    block = np.repeat([0.0, 1.0], [4_000, 16_000])
    t = np.concatenate(
        [rng.permutation(np.arange(m) < m * p) for m, p in ((4000, 0.2), (16000, 0.5))]
    )
    y = 10 * block + 3 * t + rng.normal(0, 1, 20_000)
    data = pd.DataFrame({"y": y, "t": t.astype(float), "village": block})
    design = Block("t", block="village", shares={0.0: [0.2], 1.0: [0.5]})
    model = PrivateATE(data, schema, outcome="y", assignment=design)
    result = model.fit(epsilon=8)
    # the largest w_h / n_ha is that of the treated of the first block: .2 / 800
    b = 45 * 0.2 / 800 / (0.67 * 8)
    assert result.effects[0].scales[0] == pytest.approx(b, rel=1e-6)
    assert result.params["t"] == pytest.approx(3, abs=25 * b + 7 * 0.02)
    with pytest.raises(ParameterError, match="biased"):
        PrivateATE(data, schema, outcome="y", assignment=design, blocks="ignore")


def test_blocks_that_are_left_out_are_said(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial()).assign(village=lambda rows: np.arange(len(rows)) % 2)
    design = Block("t", block="village", shares=0.3)
    options = {"outcome": "y", "assignment": design, "attrition": True}
    for delta in (0, 1e-6):
        for rule, times in (("weight", 0), ("ignore", 1)):
            model = PrivateATE(data, schema, **options, blocks=rule)
            said = " ".join(str(model.plan(epsilon=1, delta=delta)).split())
            assert said.count("blocks (village) are left out of the estimate") == times
            notes = " ".join(model.fit(epsilon=1, delta=delta).notes)
            assert notes.count("Blocks (village) are left out of the estimate") == times


def test_clusters_cost_by_the_unit_that_is_protected(schema: Schema) -> None:
    village = np.repeat(np.arange(200.0), 10)
    t = (village % 2).astype(float)
    rng = np.random.default_rng(5)
    y = 2 * t + rng.normal(0, 1, 200)[village.astype(int)] + rng.normal(0, 1, 2_000)
    data = pd.DataFrame({"y": y, "t": t, "village": village})
    design = Cluster("t", cluster="village")
    model = PrivateATE(data, schema, outcome="y", assignment=design)
    of_effect, of_variance = (float(e) for e in model.facts.outcomes[0].split(Fraction(2))[:2])
    people = model.fit(epsilon=2, rng=1)
    whole = PrivateATE(
        data,
        schema,
        outcome="y",
        assignment=replace(design, largest=12),
        privacy_unit="cluster",
    ).fit(epsilon=2, rng=1)
    of_person, of_cluster = people.effects[0], whole.effects[0]
    assert of_cluster.scales[0] == pytest.approx(12 * of_person.scales[0] * of_effect / 1.34)
    assert of_person.variances[0].rho == pytest.approx(19 * of_effect**2 / of_variance)
    assert of_cluster.variances[0].rho == pytest.approx(1.34**2 / 0.56)
    assert whole.guarantee.unit == "cluster of village"
    with pytest.raises(SchemaError, match="largest= of the design"):
        PrivateATE(data, schema, outcome="y", assignment=design, privacy_unit="cluster")
    with pytest.raises(ParameterError, match="largest= of the design"):
        PrivateATE(
            data,
            schema,
            outcome="y",
            assignment=replace(design, largest=9),
            privacy_unit="cluster",
        )


def test_the_plan_costs_nothing_and_does_not_look(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial())
    other = data.assign(y=0.0)
    plans = [
        str(PrivateATE.from_formula("y ~ t", frame, schema).plan(epsilon=1))
        for frame in (data, other)
    ]
    assert plans[0] == plans[1]
    assert "80% power" in plans[0]
    narrow = PrivateATE.from_formula("y ~ t", data.iloc[:40], schema.declare(y={"sd": 3.0}))
    assert "not usable at this n" in str(narrow.plan(epsilon=0.1))


def test_what_is_not_an_experiment_is_refused(trial: Trial, schema: Schema) -> None:
    data = two_arms(trial())
    with pytest.raises(FormulaError, match="other terms than arms"):
        PrivateATE.from_formula("y ~ t + C(village)", data, schema)
    with pytest.raises(FormulaError, match="its own bounds"):
        PrivateATE.from_formula("I(y * 2) ~ t", data, schema)
    with pytest.raises(FormulaError, match="plain outcome"):
        PrivateATE.from_formula("~ t", data, schema)
    with pytest.raises(SchemaError, match="bounds"):
        PrivateATE.from_formula("village ~ t", data, schema)
    with pytest.raises(ParameterError, match="not one of the design"):
        PrivateATE(data, schema, outcome="y", assignment=Complete("t", shares=0.3))
    with pytest.raises(ParameterError, match="alphas="):
        PrivateATE.from_formula("y ~ t", data, schema, alphas=[0.9])
    with pytest.raises(ParameterError, match="rho="):
        PrivateATE.from_formula("y ~ t", data, schema).fit(epsilon=1e5)
    several = replace(schema, unit=replace(schema.unit, id="village", max_rows=100))
    with pytest.raises(SchemaError, match="several rows"):
        PrivateATE.from_formula("y ~ t", data, several)


def test_an_epsilon_that_cannot_be_drawn_is_not_charged(trial: Trial, schema: Schema) -> None:
    model = PrivateATE.from_formula("y ~ t", two_arms(trial()), schema)
    accountant = Accountant(10**6, relation="replace-one-design-public")
    for epsilon in (1e-12, 1e5):
        with pytest.raises(ParameterError, match="epsilon="):
            model.fit(epsilon=epsilon, accountant=accountant)
    assert accountant.spent == Budget(0)


def test_samples_that_need_more_than_a_difference_in_means_are_refused(
    trial: Trial, schema: Schema
) -> None:
    data = two_arms(trial())
    weighted = schema.with_columns([replace(schema.column("village"), role="weight")])
    with pytest.raises(SchemaError, match="weights"):
        PrivateATE.from_formula("y ~ t", data, weighted)
    for name, words in (("_svy_wvar", "survey"), ("iis", "panel.*xtset, clear")):
        file = replace(schema.file, characteristics=(("_dta", name, "village"),))
        with pytest.raises(SchemaError, match=words):
            PrivateATE.from_formula("y ~ t", data, replace(schema, file=file))
    with pytest.raises(ParameterError, match="part of the design"):
        PrivateATE(data, schema, outcome=["y", "t"], treatment="t")


def test_a_model_stays_in_its_process_and_results_travel(trial: Trial, schema: Schema) -> None:
    model = PrivateATE.from_formula("y ~ t", two_arms(trial()), schema)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model)
    result = model.fit(epsilon=1)
    again = pickle.loads(pickle.dumps(result))
    assert again.summary() == result.summary()
    assert repr(model) == "PrivateATE(n=600, outcome: y, arms: control, t)"


def factorial_trial(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    cash, talk = (rng.permutation(np.arange(n) % 2).astype(float) for _ in range(2))
    y = 2 * cash + talk + 3 * cash * talk + rng.normal(0, 2, n)
    return pd.DataFrame({"y": np.clip(y, -15, 30), "t": cash, "t2": talk})


def test_factorial_effects_are_contrasts_of_arm_means(schema: Schema) -> None:
    factors = [replace(schema.column(name), exclusive=None) for name in ("t", "t2")]
    schema = schema.with_columns(factors)
    data = factorial_trial(20_000)
    design = Factorial([Complete("t"), Complete("t2")])
    model = PrivateATE(data, schema, outcome="y", assignment=design, effects="factorial")
    result = model.fit(epsilon=8)
    assert list(result.params.index) == ["t", "t2", "t:t2"]
    b = 45 / 4_900 / (0.7 * 8)
    # 25 noise scales per arm, and 7 sampling errors
    for name, true, weight in (("t", 3.5, 0.5), ("t2", 2.5, 0.5), ("t:t2", 3.0, 1.0)):
        assert result.params[name] == pytest.approx(true, abs=weight * (100 * b + 7 * 0.06))
    sizes = data.groupby(["t", "t2"]).size().to_numpy()
    expected = np.sqrt(2 * (45 / sizes / (0.7 * 8)) ** 2 @ np.ones(4)) / 2
    assert result.bse_noise is not None
    assert result.bse_noise["t"] == pytest.approx(expected, rel=1e-6)
    assert len(result.effects[0].scales) == 4
    # equal arms: main effects and interaction are all but uncorrelated
    assert abs(result.cov_params().loc["t", "t2"]) < 0.1 * result.cov_params().loc["t", "t"]
    assert "factorial effect" in result.notes[0]
    assert "y: t:t2" in str(model.plan(epsilon=1))
    by_arm = result.contrast("`t+t2` - control")
    assert by_arm.params.iloc[0] == pytest.approx(6, abs=50 * b + 7 * 0.06)
    with pytest.raises(ParameterError, match=r"dprct.Factorial"):
        PrivateATE(data, schema, outcome="y", treatment="t", effects="main")


def test_blocks_of_one_are_pooled_and_clusters_weighted_by_block(schema: Schema) -> None:
    rng = np.random.default_rng(8)
    block = np.concatenate([np.repeat([0.0, 1.0], 4_000), [2.0, 2.0]])
    t = np.concatenate([np.arange(8_000) % 2, [0, 1]]).astype(float)
    data = pd.DataFrame({"y": 2 * t + block + rng.normal(0, 1, 8_002), "t": t, "village": block})
    options: dict[str, Any] = {"outcome": "y", "assignment": Block("t", block="village")}
    with pytest.raises(ParameterError, match=r"blocks=\{'label': 'pool'"):
        PrivateATE(data, schema, **options)
    model = PrivateATE(data, schema, **options, blocks={1: "rest", 2: "rest"})
    assert model.facts.outcomes[0].arms.sizes == ((2000, 2000), (2001, 2001))
    assert model.fit(epsilon=8).params["t"] == pytest.approx(2, abs=0.2)
    home = np.arange(8_000) // 10
    data = data.iloc[:8_000].assign(t=(home % 2).astype(float), t2=home.astype(float))
    data["y"] = data["t"] + rng.normal(0, 1, 800)[home]
    homes = schema.with_columns([Column("t2", missing=())])
    design = BlockCluster("t", block="village", cluster="t2")
    by_block = PrivateATE(data, homes, outcome="y", assignment=design).fit(epsilon=8, rng=1)
    assert by_block.params["t"] == pytest.approx(1, abs=7 * 0.08)
    assert by_block.effects[0].variances[0].rho == pytest.approx(19 * 0.67**2 * 8 / 0.28)
