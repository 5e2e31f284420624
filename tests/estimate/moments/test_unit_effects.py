"""Fixed effects of units: the regression on deviations from means, released as any other."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Schema, Unit
from dprct.errors import ColumnError, DprctError, FormulaError, ParameterError, SchemaError
from dprct.estimate.moments.document import digest_of
from dprct.privacy.noise import Secure

NEVER: Any = {"missing": ()}
COLUMNS = (
    Column("worker", "long", **NEVER),
    Column("firm", "byte", levels=(1.0, 2.0), **NEVER),
    Column("quarter", "byte", levels=(0.0, 1.0, 2.0, 3.0), **NEVER),
    Column("bonus", "byte", levels=(0.0, 1.0), **NEVER),
    Column("hours", bounds=(10.0, 60.0), sd=5.0, **NEVER),
    Column("sales", bounds=(0.0, 30.0), sd=3.0, **NEVER),
    Column("late", bounds=(0.0, 1.0), missing=(".",)),
)
SCHEMA = Schema(COLUMNS, unit=Unit("worker", id="worker", max_rows=4), dataset_id="shop floor")
RIGHT = "bonus + hours + bonus:hours + C(quarter)"
FORMULA = f"sales ~ {RIGHT} | worker"
KNOWN: Any = {"sales": {"sd_within": 2.0}, "hours": {"sd_within": 4.0}}


def workers(n: int) -> pd.DataFrame:
    """Workers in one to four quarters, some of whom get a bonus from the third on."""
    rng = np.random.default_rng(n)
    often = rng.integers(1, 5, n)
    worker = np.repeat(np.arange(n), often)
    quarter = np.concatenate([np.sort(rng.permutation(4)[:k]) for k in often]).astype(float)
    kind = rng.normal(size=n)[worker]
    bonus = ((quarter >= 2) & (worker % 2 == 0)).astype(float)
    hours = (35 + 6 * kind + 4 * rng.normal(size=len(worker))).clip(10, 60)
    noise = rng.normal(size=len(worker)) * (1 + bonus)
    sales = 12 + 3 * kind + bonus + 0.05 * hours + 0.02 * bonus * hours + 0.3 * quarter + noise
    return pd.DataFrame(
        {"worker": worker, "firm": worker % 2 + 1.0, "quarter": quarter, "bonus": bonus,
         "hours": hours, "sales": sales.clip(0, 30), "late": 0.5}
    ).sample(frac=1, random_state=1, ignore_index=True)  # fmt: skip


ROWS = workers(20_000)


def model(data: pd.DataFrame = ROWS, schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    given = {"formulas": [FORMULA], "cov_type": "CR1", "radius": "box"}
    return PrivateMoments(data, schema, **given | options)


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Secure, "discrete_gaussian", lambda *_: 0)


@pytest.mark.usefixtures("noiseless")
def test_it_is_the_regression_with_an_effect_of_every_unit() -> None:
    """Also where units have other numbers of rows, with products, and clustered errors."""
    m = model().fit(epsilon=30, delta=1e-6)
    fit = m.ols(FORMULA)
    raw = dprct.ols(FORMULA, (ROWS, SCHEMA), cluster="worker")
    names = [name for name in raw.params.index if name in fit.params.index]
    assert len(names) == len(fit.params) == 6
    # whose estimates take a bias away that no noise has made here
    sampling = np.sqrt(fit.bse**2 - fit.bse_noise**2)
    assert (abs(fit.params[names] - raw.params[names]) < 0.1 * raw.bse[names]).all()
    # effects within which errors are dependent anyway do not count, as in xtreg; areg counts them
    own = raw.bse[names] * np.sqrt(raw.df_resid / (len(ROWS) - len(names) - 1))
    assert raw.df_resid < 0.7 * len(ROWS)
    # of bonus and its product, which are nearly collinear, noise is thought to be in A
    assert sampling[names].to_numpy() == pytest.approx(own, rel=0.15)
    apart = [name for name in names if "bonus" not in name]
    assert sampling[apart].to_numpy() == pytest.approx(own[apart], rel=0.02)
    pooled = dprct.ols(f"sales ~ {RIGHT}", (ROWS, SCHEMA), cluster="worker")
    assert (abs(pooled.params["hours"] - raw.params["hours"]) / raw.bse["hours"]) > 20


@pytest.mark.long
def test_noise_is_in_its_errors() -> None:
    """36 of a normal law, 6 of each seed: none beyond 6, and a mean square of about 1."""
    raw = dprct.ols(FORMULA, (ROWS, SCHEMA), cluster="worker").params
    asked = model(schema=SCHEMA.declare(**KNOWN), radius=None)
    away = []
    for seed in range(6):
        fit = asked.fit(epsilon=30, delta=1e-6, rng=seed).ols(FORMULA)
        assert fit.estimated.all()
        away += ((fit.params - raw) / fit.bse_noise)[fit.params.index].tolist()
    assert 0.5 < np.sqrt(np.mean(np.square(away))) < 1.6
    assert max(map(abs, away)) < 6


@pytest.mark.usefixtures("noiseless")
def test_a_release_is_published_and_read_again(tmp_path: Any) -> None:
    m = model(formulas=[FORMULA, "sales ~ hours"]).fit(epsilon=30, delta=1e-6)
    assert m.columns[:2] == ("sales | worker", "bonus | worker")
    assert m.columns[-2:] == ("sales", "hours")
    assert m.within == "worker"
    back = Moments.load(m.save(tmp_path / "shop.moments.json"))
    for text in (FORMULA, "sales ~ hours"):
        pd.testing.assert_series_equal(m.ols(text).params, back.ols(text).params)
        pd.testing.assert_series_equal(m.ols(text).bse, back.ols(text).bse)
    assert dprct.ols(FORMULA, back).params.equals(m.ols(FORMULA).params)
    content = json.loads(json.dumps(m.to_dict()))
    assert content["moments"] == 7
    rules = json.loads(
        files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    )
    jsonschema.validate(content, rules)
    bare = [{k: v for k, v in one.items() if k != "within"} for one in content["variables"]]
    alone = {**content["layout"], "rows": 1}
    for other in ({"moments": 4}, {"variables": bare}, {"layout": alone}):
        changed = {**content, **other}
        path = tmp_path / "other.json"
        path.write_text(json.dumps(changed | {"digest": digest_of(changed)}), "utf-8")
        with pytest.raises(DprctError, match=r"Moments\.save wrote|unknown part"):
            Moments.load(path)


def test_what_was_not_released_is_named() -> None:
    m = model(formulas=["sales ~ bonus | worker"]).fit(epsilon=30, delta=1e-6)
    for text, words in (
        ("sales ~ hours | worker", "'hours' was not released"),
        ("sales ~ bonus", "'sales' was not released; released: sales | worker, bonus | worker"),
        ("sales ~ C(quarter) | worker", "'quarter' was not released"),
        ("sales ~ bonus | firm", "'firm' was not released"),
    ):
        with pytest.raises(ColumnError) as caught:
            m.ols(text)
        assert words in caught.value.args[0].replace('"', "")
    with pytest.raises(ParameterError, match="rows of one unit to be independent"):
        m.iv("sales ~ [bonus ~ hours] | worker")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"formulas": ["sales ~ bonus | worker + firm"]}, FormulaError, "C(firm) | worker"),
        ({"formulas": ["sales ~ [bonus ~ hours] | worker"]}, ParameterError, "has instruments"),
        ({"formulas": ["sales ~ 1 | worker"]}, FormulaError, "no regressor besides"),
        ({"weights": "late", "missing_policy": 0.5}, ParameterError, "the mean that is taken away"),
        ({"subgroups": ["firm"]}, ParameterError, "'firm' makes groups"),
        ({"assignment": dprct.Simple("bonus")}, ParameterError, "'bonus' makes groups"),
        ({"missing_policy": "private"}, ParameterError, "of other rows than the regression's"),
        ({"missing_policy": "public"}, ParameterError, "of other rows than the regression's"),
        ({"cov_type": "nonrobust"}, ParameterError, "cov_type='CR1'"),
        ({"columns": ["worker"]}, SchemaError, "only | worker at the end of a formula"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    options: dict[str, Any], error: type[DprctError], words: str
) -> None:
    schema = SCHEMA
    if "missing_policy" in options:
        options = {**options, "formulas": ["sales ~ bonus + late | worker"]}
        schema = SCHEMA.declare(late={"missing_policy": options.pop("missing_policy")})
    with pytest.raises(error) as caught:
        model(schema=schema, **options)
    assert words in str(caught.value)


def test_units_of_one_row_have_no_effects_of_their_own() -> None:
    once = ROWS.drop_duplicates("worker")
    schema = Schema(COLUMNS, unit=Unit("worker", id="worker"))
    with pytest.raises(SchemaError, match="units with several"):
        model(once, schema, cov_type="HC1")


def test_a_number_may_stand_for_what_is_missing_and_levels_of_units_stay_possible() -> None:
    half = SCHEMA.declare(late={"missing_policy": 0.5})
    m = model(schema=half, formulas=["sales ~ late | worker"]).fit(epsilon=30, delta=1e-6)
    assert "late | worker" in m.columns
    # whose id has levels may be released as these, too
    schema = Schema(COLUMNS[1:], unit=Unit("firm", id="firm", max_rows=len(ROWS)))
    known = PrivateMoments(
        ROWS.drop(columns="worker").head(50), schema, columns=["C(firm)"], cov_type="CR1",
        formulas=["sales ~ bonus"],
    )  # fmt: skip
    assert known.facts.layout.names == ("C(firm)[T.2]", "sales", "bonus")


def test_plan_tells_the_error_of_each_coefficient() -> None:
    plan = model().plan(epsilon=4, delta=1e-6)
    assert plan.value("columns", "sales | worker, bonus | worker, hours | worker") == 7
    assert plan.value("error_ratio", term="bonus") > 1
    narrow = model(radius=None).facts.layout
    # an indicator's deviations have a standard deviation of at most 1/2
    assert narrow.shrunk_radius < model().facts.layout.shrunk_radius
