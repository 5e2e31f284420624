"""Products of treatment and private covariates by one step: the coefficients that were written."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema((
    Column("y", bounds=(-4, 8), sd=1.3, **NEVER), Column("t", **BINARY), Column("t2", **BINARY),
    Column("x", bounds=(-3, 3), sd=1.0, **NEVER), Column("female", **BINARY),
    Column("region", "byte", levels=(1.0, 2.0, 3.0), **NEVER),
    Column("block", "byte", levels=(0.0, 1.0), **NEVER), Column("village", "int", **NEVER),
    Column("rare", **BINARY), Column("w", bounds=(1, 3), fate="public", **NEVER),
), dataset_id="study")  # fmt: skip
PUBLIC = "replace-one-design-public"


def table(seed: int = 1, n: int = 6000, villages: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    village = np.arange(n) // 30
    arm = rng.permutation(np.repeat([0, 1, 2], n // 3))
    if villages:
        arm = rng.permutation(np.resize([0, 1, 2], n // 30))[village]
    x = rng.normal(size=n).clip(-3, 3)
    female = (rng.random(n) < 0.4) * 1.0
    y = 2 + 0.5 * x + 0.3 * female + (arm == 1) * (0.3 + 0.3 * x - 0.4 * female)
    y = y + (arm == 2) * (0.1 + 0.2 * female) + rng.normal(size=n)
    y = y + villages * 0.4 * rng.normal(size=n // 30)[village]
    return pd.DataFrame({
        "y": y.clip(-4, 8), "t": (arm == 1) * 1.0, "t2": (arm == 2) * 1.0, "x": x,
        "female": female, "region": rng.integers(1, 4, n) * 1.0, "block": np.arange(n) % 2.0,
        "village": village, "rare": (np.arange(n) < 3) * 1.0,
        "w": 1.0 + (village + village // 2) % 3,
    })  # fmt: skip


ROWS = table()
ARMS = dprct.Complete(["t", "t2"], shares=[1 / 3, 1 / 3])


def model(data: Any = ROWS, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {"assignment": ARMS, "neighbors": PUBLIC, "attrition": True, **options}
    return PrivateMoments(data, SCHEMA, **given)


FORMULAS = [
    ("y ~ t*female + t2*female + x", ["t", "t2", "t:female", "t2:female"]),
    ("y ~ t*female + t*x + t2", ["t", "t2", "t:female", "t:x"]),
    ("y ~ t + t2 + x + t:x | block", ["t", "t2", "t:x"]),
    ("y ~ t*C(region) + t2", ["t", "t2", "t:C(region)[T.2]", "t:C(region)[T.3]"]),
]


def assert_sampling(found: Any, plain: Any) -> None:
    """The released variances are those of the regression, up to their noise."""
    for name, effect in zip(found.params.index, found.laws, strict=True):
        wanted = plain.bse[name] ** 2
        assert abs(effect.parts[0] - wanted) < 4 * effect.spreads[0] + 0.3 * wanted
        assert effect.spreads[0] < wanted


@pytest.mark.parametrize(("formula", "terms"), FORMULAS)
def test_the_coefficients_are_those_of_the_regression(formula: str, terms: list[str]) -> None:
    found = model(formulas=[formula]).fit(40, 1e-6).ols(formula)
    plain = dprct.ols(formula.replace("| block", "+ C(block)"), ROWS)
    assert sorted(found.params.index) == sorted(terms)
    gap = np.abs(found.params[terms] - plain.params[terms])
    assert (gap < 5 * np.hypot(found.bse_noise[terms], 0.25 * plain.bse[terms])).all()
    assert_sampling(found, plain)
    assert found.df_inference == plain.df_resid
    assert found.cov_type == "HC1"
    both = f"t + {terms[-1]}" if terms[-1].startswith("t:") else "t2 + t2:female"
    line, wanted = found.lincom(both), plain.lincom(both)
    noise = np.hypot(line.bse_noise.iloc[0], 0.25 * wanted.bse.iloc[0])
    assert abs(line.params.iloc[0] - wanted.params.iloc[0]) < 5 * noise
    assert_sampling(line, wanted)


def test_clusters_have_the_errors_of_clusters() -> None:
    rows = table(2, villages=True)
    formula = "y ~ t*female + t2"
    design = dprct.Cluster(["t", "t2"], cluster="village", shares=[1 / 3, 1 / 3])
    found = model(rows, assignment=design, formulas=[formula]).fit(40, 1e-6).ols(formula)
    plain = dprct.ols(formula, rows, cluster="village")
    assert found.of.groups == 200
    assert found.df_inference == 199
    assert_sampling(found, plain)
    assert found.bse["t"] > 1.3 * dprct.ols(formula, rows).bse["t"]
    assert found.wald_test("t:female = 0").pvalue < 0.05


@pytest.mark.parametrize("villages", [False, True])
def test_public_weights_give_weighted_least_squares(villages: bool) -> None:
    rows, formula, options = ROWS, "y ~ t*female + t2 + x | block", dict[str, Any]()
    if villages:
        rows = table(2, villages=True)
        options["assignment"] = dprct.Cluster(["t", "t2"], cluster="village", shares=[1 / 3] * 2)
    asked = Regression(formula, weights="w")
    found = model(rows, formulas=[asked], **options).fit(40, 1e-6).ols(asked)
    plain = dprct.ols("y ~ t*female + t2 + x + C(block)", rows, weights="w",
                      **({"cluster": "village"} if villages else {"cov_type": "HC1"}))  # fmt: skip
    names = ["t", "t2", "t:female"]
    gap = np.abs(found.params[names] - plain.params[names])
    assert (gap < 5 * np.hypot(found.bse_noise[names], 0.25 * plain.bse[names])).all()
    assert_sampling(found, plain)


def test_intervals_cover_the_effect_and_how_it_varies() -> None:
    rng, hits, times = np.random.default_rng(3), np.zeros(2), 100
    formula = "y ~ t*x"
    for _ in range(times):
        t, x = rng.permutation(np.repeat([0.0, 1.0], 1000)), rng.uniform(-3, 3, 2000)
        y = 3 + 0.3 * x + t * (0.3 + 0.2 * x) + rng.normal(size=2000)
        data = pd.DataFrame({"y": y.clip(-4, 8), "t": t, "x": x})
        m = model(data, assignment=dprct.Complete("t", shares=0.5), formulas=[formula])
        ends = m.fit(4, 1e-6, rng=int(rng.integers(1 << 30))).ols(formula).conf_int()
        hits += (ends[0] <= [0.3, 0.2]) & (ends[1] >= [0.3, 0.2])
    assert (hits >= 0.88 * times).all()


def test_a_plan_keeps_its_word_and_names_every_coefficient() -> None:
    formula = "y ~ t*female + t2 + x"
    asked = model(formulas=[formula])
    planned = asked._allocated(dprct.Budget(40, 1e-6)).planned[0]  # type: ignore[attr-defined]
    found = asked.fit(40, 1e-6).ols(formula)
    np.testing.assert_allclose(found.bse_noise, planned.noise, rtol=0.2)
    np.testing.assert_allclose(found.bse, planned.error, rtol=0.35)
    assert "t:female" in str(asked.plan(4, 1e-6))


def test_the_same_covariates_of_several_outcomes_are_read_once() -> None:
    formulas = ["y ~ t*female + t2", Regression("y ~ t*female + t2", where="t2 == 0 | t2 == 1",
                                                name="again")]  # fmt: skip
    steps = model(formulas=formulas).facts.steps
    assert len(steps.features) == 1
    assert len(steps.grams()) == 1


def test_rows_in_an_engine_and_a_saved_release_give_the_same_numbers(tmp_path: Any) -> None:
    formula = "y ~ t*female + t2*x"
    one = model(formulas=[formula]).fit(4, 1e-6, rng=3)
    other = model(pl.from_pandas(ROWS).lazy(), formulas=[formula]).fit(4, 1e-6, rng=3)
    pd.testing.assert_series_equal(one.regressions[0].params, other.regressions[0].params)
    pd.testing.assert_frame_equal(one.regressions[0].cov, other.regressions[0].cov)
    one = model(formulas=[formula]).fit(4, 1e-6)
    back = Moments.load(one.save(tmp_path / "study.moments.json"))
    assert back.to_dict() == one.to_dict()
    assert str(back.ols(formula)) == str(one.ols(formula))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(json.dumps(one.to_dict())), json.loads(rules))


def test_a_covariate_that_hardly_varies_has_no_coefficients(tmp_path: Any) -> None:
    formula = "y ~ t*rare + t2"
    m = model(formulas=[formula]).fit(1, 1e-6)
    found = m.ols(formula)
    assert found.params.isna().all()
    assert "Not estimated, for the covariates" in str(found)
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.ols(formula).params.isna().all()


def test_what_is_not_the_coefficient_of_a_population_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"t:x needs both of its factors.*is declared public"):
        model(formulas=[Regression("y ~ t + t2 + t:x", where="t2 == 0")])
    shares = {0.0: [0.2, 0.3], 1.0: [0.4, 0.3]}
    uneven = dprct.Block(["t", "t2"], block="block", shares=shares)
    with pytest.raises(ParameterError, match="shares differ between blocks"):
        model(assignment=uneven, formulas=["y ~ t*female + t2 | block"])


def test_a_plan_says_that_covariates_may_drown_in_noise() -> None:
    """With weights moments are noisier, so that nothing may be left at a small budget."""
    for weights, epsilon, said in (("w", 40, False), ("w", 0.2, True), (None, 40, False)):
        asked = model(formulas=[Regression("y ~ t*x", weights=weights)]).plan(epsilon, 1e-6)
        words = [one for one in asked.warnings if "may not be estimated" in one]
        assert bool(words) == said
        assert not said or words[0].endswith("or leave the weights out")
