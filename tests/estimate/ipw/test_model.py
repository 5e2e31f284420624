from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

import dprct
from dprct import IPW, Accountant
from dprct.errors import (
    BudgetError,
    ColumnError,
    DprctError,
    EngineError,
    FormulaError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
)
from dprct.schema import Column, Schema, Unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

FORMULA = "treat ~ age + educ + city"
VARIANTS: list[dict[str, Any]] = [
    {},
    {"hajek": True},
    {"estimand": "att"},
    {"estimand": "atc", "hajek": True},
    {"estimand": "att", "neighbors": "replace-one-design-public"},
    {"estimand": "atc", "neighbors": "replace-one-design-public", "hajek": True},
    {"noise": "gaussian"},
    {"noise": "gaussian", "hajek": True, "errors": "conditional"},
    {"balance": ["age"], "overlap": True},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_every_variant_finds_the_effect(
    study: Callable[..., pd.DataFrame], schema: Schema, options: dict[str, Any]
) -> None:
    model = IPW.from_formula(
        FORMULA, study(20_000), schema, outcome="earnings", estimator="ipw", **options
    )
    result = model.fit(30, 1e-3, rng=1, accept_large_delta=True)
    assert result.params.iloc[0] == pytest.approx(0.2, abs=0.04)
    assert result.guarantee.simulation
    low, high = result.conf_int().to_numpy()[0]
    assert low < result.params.iloc[0] < high
    assert 0 < result.bse_noise.iloc[0] < result.bse.iloc[0] < 0.2
    assert result.params.index[0] == options.get("estimand", "ate").upper()


def test_the_naive_difference_is_further_off(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(20_000)
    arms = data.groupby("treat")["earnings"].mean()
    model = IPW.from_formula(FORMULA, data, schema, outcome="earnings", estimator="ipw", hajek=True)
    found = model.fit(30, 1e-3, rng=1, accept_large_delta=True).params.iloc[0]
    assert abs(arms[1.0] - arms[0.0] - 0.2) > 3 * abs(found - 0.2)


def test_a_real_fit_is_charged_and_pickles(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula(FORMULA, study(400), schema, outcome="earnings", estimator="ipw")
    accountant = Accountant(2, 1e-5)
    result = model.fit(1, 1e-6, accountant=accountant)
    assert accountant.spent == dprct.Budget(1, 1e-6)
    assert result.guarantee == model.guarantee(dprct.Budget(1, 1e-6))
    assert result.guarantee.relation == "replace-one"
    assert pickle.loads(pickle.dumps(result)).params.equals(result.params)
    with pytest.raises(BudgetError):
        model.fit(1.5, 1e-6, accountant=accountant)
    assert accountant.spent == dprct.Budget(1, 1e-6)


def test_public_treatment_is_said(study: Callable[..., pd.DataFrame], schema: Schema) -> None:
    model = IPW.from_formula(
        FORMULA, study(400), schema, outcome="earnings", estimand="att",
        neighbors="replace-one-design-public",
    )  # fmt: skip
    promise = model.guarantee(dprct.Budget(1, 1e-6))
    assert promise.relation == "replace-one-design-public"
    assert "treatment" in promise.not_covered[0]


def in_duckdb(data: pd.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("people", pl.from_pandas(data, nan_to_null=True).to_arrow())
    # an engine promises no order: this one keeps none
    return connection.sql("select * from people order by hash(earnings, age)")


def scanned(data: pd.DataFrame, folder: Path) -> Any:
    path = folder / "people.parquet"
    pl.from_pandas(data).sample(fraction=1, shuffle=True, seed=2).write_parquet(path)
    return pl.scan_parquet(path)


@pytest.mark.long
@pytest.mark.parametrize("options", [VARIANTS[k] for k in (0, 3, 4, 7, 8)], ids=str)
def test_with_a_seed_all_engines_and_orders_of_rows_give_the_same_bits(
    study: Callable[..., pd.DataFrame], schema: Schema, options: dict[str, Any], tmp_path: Path
) -> None:
    data = study(600)
    engines = {
        "pandas": data,
        "pandas, shuffled": data.sample(frac=1, random_state=1),
        "Polars": pl.from_pandas(data),
        "Polars, null": pl.from_pandas(data, nan_to_null=True),
        "Polars, scanned": scanned(data, tmp_path),
        "DuckDB": in_duckdb(data),
    }
    found = {}
    for name, given in engines.items():
        model = IPW.from_formula(
            "treat ~ age*city + educ",
            given,
            schema,
            outcome="earnings",
            estimator="ipw",
            **options,
        )
        result = model.fit(4, 1e-4, rng=3)
        assert model.n == 600
        found[name] = [
            *result.params, *result.bse, *result.propensity_params, str(model.plan(4, 1e-4)),
            result.summary(),
        ]  # fmt: skip
    assert all(answer == found["pandas"] for answer in found.values())


def test_engines_are_held_against_the_schema_at_the_door(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(200)
    data.loc[3, "age"] = 7.0
    sentences = []
    for given in (data, pl.from_pandas(data).lazy(), in_duckdb(data)):
        with pytest.raises(SchemaError) as refusal:
            IPW.from_formula(FORMULA, given, schema, outcome="earnings", estimator="ipw")
        sentences.append(str(refusal.value))
    assert len(set(sentences)) == 1
    with pytest.raises(ColumnError, match="agee"):
        IPW.from_formula(
            "treat ~ agee", pl.from_pandas(data).lazy(), schema, outcome="earnings", estimator="ipw"
        )


def test_a_real_fit_of_an_engine_is_charged_once(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula(
        FORMULA, pl.from_pandas(study(2000)).lazy(), schema, outcome="earnings"
    )
    accountant = Accountant(30, 1e-3)
    result = model.fit(30, 1e-3, accountant=accountant, accept_large_delta=True)
    assert accountant.remaining.epsilon == 0
    assert not result.guarantee.simulation
    assert np.isfinite(result.params.iloc[0])


@pytest.mark.parametrize("gone", ["rows", "connection"])
def test_a_table_that_changes_between_door_and_fit_is_refused_before_the_charge(
    study: Callable[..., pd.DataFrame], schema: Schema, gone: str
) -> None:
    connection = duckdb.connect()
    connection.register("given", pl.from_pandas(study(200)).to_arrow())
    connection.sql("create table people as select * from given")
    model = IPW.from_formula(
        FORMULA, connection.table("people"), schema, outcome="earnings", estimator="ipw"
    )
    if gone == "rows":
        connection.sql("delete from people where rowid = 3")
    else:
        connection.close()
    accountant = Accountant(2, 1e-5)
    with pytest.raises((EngineError, duckdb.ConnectionException)) as refusal:
        model.fit(1, 1e-6, accountant=accountant)
    assert accountant.spent == dprct.Budget(0)
    assert gone == "connection" or "another number" in str(refusal.value)


def test_a_model_does_not_leave_its_process(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula(FORMULA, study(100), schema, outcome="earnings", estimator="ipw")
    for deed in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ModelPicklingError):
            deed(model)
    assert "earnings" in repr(model)


@pytest.mark.parametrize("t", ["none treated", "all treated", "separated", "one treated"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_hopeless_data_are_mapped_without_an_error(
    study: Callable[..., pd.DataFrame], schema: Schema, t: str, options: dict[str, Any]
) -> None:
    data = study(300)
    data["treat"] = {
        "none treated": 0.0,
        "all treated": 1.0,
        "separated": (data["age"] > 0).astype(float),
        "one treated": (np.arange(300) == 7).astype(float),
    }[t]
    model = IPW.from_formula(FORMULA, data, schema, outcome="earnings", estimator="ipw", **options)
    result = model.fit(5, 1e-4, rng=1)
    assert np.isfinite(result.bse.iloc[0])
    assert result.notes


def test_an_effect_whose_denominator_is_noise_is_not_estimated(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(300).assign(treat=0.0)
    model = IPW.from_formula(
        FORMULA, data, schema, outcome="earnings", estimator="ipw", estimand="att"
    )
    result = model.fit(5, 1e-4, rng=1)
    assert np.isnan(result.params.iloc[0])
    assert np.isnan(result.pvalues.iloc[0])
    assert "Not estimated" in result.summary()


@pytest.mark.parametrize("treat", [0.0, 1.0])
def test_means_are_not_estimated_where_one_arm_is_empty(
    study: Callable[..., pd.DataFrame], schema: Schema, treat: float
) -> None:
    data = study(4000).assign(treat=treat)
    model = IPW.from_formula(FORMULA, data, schema, outcome="earnings", estimator="ipw", hajek=True)
    assert np.isnan(model.fit(10, 1e-4, rng=1).params.iloc[0])


def test_values_behind_the_door_are_clipped(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = study(300)
    model = IPW.from_formula(FORMULA, data, schema, outcome="earnings", estimator="ipw")
    data.loc[:5, ["earnings", "age", "educ"]] = [np.inf, -np.inf, 1e300]
    data.loc[6:9, ["earnings", "age", "treat"]] = np.nan
    assert np.isfinite(model.fit(5, 1e-4, rng=1).params.iloc[0])


REFUSED: list[tuple[dict[str, Any], type[DprctError], str]] = [
    ({"trim": 0.5}, ParameterError, "trim="),
    ({"trim": 0}, ParameterError, "trim="),
    ({"lam": 0}, ParameterError, "lam="),
    ({"lam": -1.0}, ParameterError, "lam="),
    ({"lam": True}, ParameterError, "lam="),
    ({"estimand": "late"}, ParameterError, "estimand="),
    ({"noise": "cauchy"}, ParameterError, "noise="),
    ({"errors": "robust"}, ParameterError, "errors="),
    ({"neighbors": "add-remove"}, ParameterError, "neighbors="),
    ({"neighbors": "replace-one-design-public"}, ParameterError, "ATT and the ATC"),
    ({"weights": "w"}, ParameterError, "weights"),
    ({"split": 1}, ParameterError, "split="),
    ({"split": 0.999}, ParameterError, "fewer than 10"),
    ({"budget_shares": {"effect": 1}}, ParameterError, "budget_shares= names"),
    (
        {"budget_shares": {"effect": 0.5, "variance": 0.3, "gradient": 0.3}},
        ParameterError,
        "sum to one",
    ),
    ({"balance": ["city"]}, ParameterError, "balance="),
    ({"treated": 7}, ParameterError, "treated="),
    ({"alphas": (0.9,)}, ParameterError, "alphas="),
    ({"treated_share": 1}, ParameterError, "treated_share="),
    ({"outcome": "age"}, ParameterError, "must differ"),
    ({"outcome": "earning"}, ColumnError, "did you mean 'earnings'"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=lambda x: str(x)[:40])
def test_bad_input_is_one_sentence(
    study: Callable[..., pd.DataFrame],
    schema: Schema,
    options: dict[str, Any],
    error: type[DprctError],
    words: str,
) -> None:
    with pytest.raises(error, match=words) as caught:
        IPW.from_formula(FORMULA, study(100), schema, **{"outcome": "earnings", **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("~ age", "not one column"),
        ("treat + age ~ educ", "not one column"),
        ("treat ~ age - 1", "no intercept"),
        ("treat ~ I(age ** 2)", "derived column"),
        ("treat ~ 1", "no covariates"),
    ],
)
def test_formulas_that_are_no_propensity_model_are_refused(
    study: Callable[..., pd.DataFrame], schema: Schema, formula: str, words: str
) -> None:
    with pytest.raises(FormulaError, match=words):
        IPW.from_formula(formula, study(100), schema, outcome="earnings", estimator="ipw")


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        ("earnings", {"bounds": None}, "needs bounds"),
        ("age", {"bounds": None}, "no bounds"),
        ("treat", {"levels": None}, "two levels"),
        ("treat", {"levels": (0.0, 1.0, 2.0)}, "two levels"),
        ("treat", {"missing": None}, "missing policy"),
        ("age", {"role": "weight"}, "sampling weights"),
    ],
)
def test_undeclared_facts_are_refused(
    study: Callable[..., pd.DataFrame], schema: Schema, name: str, facts: Any, words: str
) -> None:
    from dataclasses import replace

    loose = schema.with_columns([replace(schema.column(name), **facts)])
    with pytest.raises(SchemaError, match=words):
        IPW.from_formula(FORMULA, study(100), loose, outcome="earnings", estimator="ipw")


def test_several_rows_a_person_are_refused(study: Callable[..., pd.DataFrame]) -> None:
    schema = Schema(
        (
            Column("earnings", bounds=(-1.0, 1.0), missing=()),
            Column("treat", levels=(0.0, 1.0), missing=()),
            Column("age", bounds=(-1.0, 1.0), missing=()),
        ),
        unit=Unit("person", id="age", max_rows=2),
    )
    with pytest.raises(SchemaError, match="several rows"):
        IPW.from_formula("treat ~ age", study(100), schema, outcome="earnings", estimator="ipw")


@pytest.mark.parametrize("delta", [0, 1.0])
def test_a_budget_without_delta_is_refused(
    study: Callable[..., pd.DataFrame], schema: Schema, delta: float
) -> None:
    model = IPW.from_formula(FORMULA, study(100), schema, outcome="earnings", estimator="ipw")
    accountant = Accountant(5, 0.5)
    for deed in (model.plan, partial(model.fit, accountant=accountant)):
        with pytest.raises(ParameterError, match="delta" if delta else "IPW needs a delta above 0"):
            deed(1, delta)
    assert accountant.spent == dprct.Budget(0)


def test_a_penalty_that_cannot_be_kept_is_refused_before_the_charge(
    study: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = IPW.from_formula(
        FORMULA, study(100), schema, outcome="earnings", estimator="ipw", lam=1e-12
    )
    accountant = Accountant(5, 1e-3)
    with pytest.raises(ParameterError, match="too small"):
        model.fit(1, 1e-6, accountant=accountant)
    assert accountant.spent == dprct.Budget(0)
