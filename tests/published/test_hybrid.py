"""Algorithm 2: the confidential effect is kept, and that nothing is promised is said everywhere."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.errors import (
    DprctError,
    FileError,
    FormulaError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
    SimulationError,
)
from dprct.missing import missing_numbers, tagged
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.published import Hybrid
from dprct.schema import Column, Schema

ALPHA = 1e-9
FORMULA = "y ~ treat + age + score + C(site)"
DESIGN = dprct.Block("treat", block="site")


def bound(data, schema, formula=FORMULA, **options):
    settings = {"treatment": "treat", "assignment": DESIGN} | options
    return Hybrid.from_formula(formula, data, schema, **settings)


def test_table_1_is_matched(simulation):
    """The confidential fit as the paper has it, and the mean of 60 draws; alarms at 6 errors."""
    data, schema = simulation
    formula = "y ~ t1 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8"
    model = Hybrid.from_formula(
        formula, data, schema, treatment="t1", assignment=dprct.Complete("t1")
    )
    [fit] = model.facts.fits
    confidential = dprct.ols(formula, data, schema)
    assert fit.beta[model.facts.regressors.index("t1")] == pytest.approx(5.198862, abs=5e-7)
    assert confidential.bse["t1"] == pytest.approx(0.1240195, abs=5e-8)
    found = [
        dprct.ols(formula, model.fit(epsilon=1, rng=seed).protected, schema) for seed in range(60)
    ]
    effects = np.array([one.params["t1"] for one in found])
    assert abs(effects.mean() - 5.198862) < 6 * effects.std(ddof=1) / 60**0.5 < 0.15
    errors = np.array([one.bse["t1"] for one in found])
    assert abs(errors.mean() / 0.1240195 - 1) < 0.02


def test_outcomes_have_the_law_of_the_confidential_fit(experiment, schema):
    """With X~ given, (y~ - W~ beta^) / s^ is standard normal; alarms at 1e-9."""
    own = experiment[["age", "score", "site"]]
    model = bound(experiment, schema, x_method=own)
    [fit] = model.facts.fits
    confidential = dprct.ols(FORMULA, experiment, schema)
    np.testing.assert_allclose(fit.beta, confidential.params, rtol=1e-8)
    errors = []
    for seed in range(20):
        released = model.fit(epsilon=1, rng=seed).protected
        W = np.column_stack(
            [np.ones(400), released["treat"], released["age"], released["score"]]
            + [released["site"] == level for level in (2, 3, 4)]
        )
        errors.append((released["y"] - W @ confidential.params) / confidential.rmse)
    assert stats.kstest(np.concatenate(errors), "norm").pvalue > ALPHA
    assert stats.kstest(np.concatenate(errors) * 1.2, "norm").pvalue < ALPHA


def test_treatments_are_those_of_the_design(experiment, schema):
    for seed in range(5):
        released = bound(experiment, schema).fit(epsilon=1, rng=seed).protected
        for _, site in released.groupby("site"):
            assert abs(site["treat"].sum() - len(site) / 2) < 1


def test_several_outcomes_and_families_share_their_rows(experiment, schema):
    model = bound(
        experiment,
        schema,
        "y + arrested + visits ~ treat + score",
        assignment=dprct.Complete("treat"),
        families={"arrested": "binomial", "visits": "poisson"},
    )
    release = model.fit(epsilon=1, rng=1)
    released = release.protected
    assert set(released["arrested"]) == {0.0, 1.0}
    assert (released["visits"] == np.floor(released["visits"])).all()
    assert release.schema.column("visits").type == "byte"
    alone = bound(experiment, schema, "y ~ treat + score", assignment=dprct.Complete("treat")).fit(
        epsilon=1, rng=1
    )
    pd.testing.assert_frame_equal(released[["treat", "score"]], alone.protected[["treat", "score"]])
    assert released["age"].isna().all()  # not in the formula: withheld


def test_a_treatment_that_interacts_goes_through_the_histogram(experiment, schema):
    data = experiment.assign(treat=(experiment["score"] > 0).astype(float))
    model = bound(data, schema, "y ~ treat*score", assignment=None)
    assert "drawn with the covariates" in model.plan(1).facts["T~"]
    released = model.fit(epsilon=100, rng=1).protected
    agree = (released["treat"] == (released["score"] > 0)).mean()
    assert agree > 0.95  # assigned anew it would be a half


def test_aliased_columns_are_omitted_by_name(experiment, schema):
    wide = Schema((*schema.columns, Column("twice", "int")))
    data = experiment.assign(twice=2 * experiment["age"])
    model = bound(data, wide, "y ~ treat + age + twice + C(site)")
    assert model.facts.omitted == {"y": ("twice",)}
    assert "twice" in model.plan(1).facts["omitted"]
    right = dprct.ols("y ~ treat + age + C(site)", data, wide)
    [fit] = model.facts.fits
    np.testing.assert_allclose(fit.beta, right.params, rtol=1e-8)
    assert model.fit(epsilon=1, rng=1).protected["y"].notna().all()


def test_a_factors_base_is_that_of_the_confidential_fit(experiment, schema):
    """Released rows may lack the base level, or have one that nobody had."""
    wide = schema.declare(site=[1, 2, 3, 4, 9])
    own = experiment[["age", "score", "site"]].copy()
    own["site"] = np.where(own["site"] == 1, 9.0, own["site"])
    model = bound(experiment, wide, x_method=own)
    [fit] = model.facts.fits
    assert model.facts.omitted == {"y": ("C(site)[T.9]",)}
    found = np.mean(
        [
            model.fit(epsilon=1, rng=seed).protected.groupby("site")["y"].mean()
            for seed in range(30)
        ],
        axis=0,
    )
    names = [n for n, kept in zip(model.facts.regressors, fit.kept, strict=True) if kept]
    beta = dict(zip(names, fit.beta, strict=True))
    own["mean"] = beta["Intercept"] + 0.5 * beta["treat"]
    own["mean"] += beta["age"] * own["age"] + beta["score"] * own["score"]
    own["mean"] += [beta.get(f"C(site)[T.{level:g}]", 0.0) for level in own["site"]]
    expected = own.groupby("site")["mean"].mean()
    assert np.abs(found - expected).max() < 6 * 1.6 / (100 * 30) ** 0.5 + 0.1


def test_missing_outcomes_are_reproduced_per_arm_or_dropped(experiment, schema):
    data = experiment.copy()
    treated = np.flatnonzero(data["treat"] == 1)
    values = data["y"].to_numpy().copy()
    values[treated[:50]] = tagged(np.repeat([0, 3], 25))
    data["y"] = values
    released = bound(data, schema, x_method="published").fit(epsilon=1, rng=1).protected
    codes = missing_numbers(released["y"].to_numpy())
    arm = released["treat"].to_numpy()
    assert (codes[arm == 0] == -1).all()
    size = (arm == 1).sum()
    for code in (0, 3):
        assert abs((codes[arm == 1] == code).sum() - size / 8) <= 1
    dropped = bound(data, schema, missing_outcomes="drop").fit(epsilon=1, rng=1).protected
    assert dropped["y"].notna().all()


def test_a_missing_covariate_leaves_the_outcome_missing(experiment, schema):
    values = experiment["age"].to_numpy().copy()
    values[:80] = tagged(np.ones(80))
    data = experiment.assign(age=values)
    model = bound(data, schema)
    assert model.facts.fits[0].nobs == 320
    released = model.fit(epsilon=1, rng=1).protected
    assert (released["age"].isna() == released["y"].isna()).all()
    assert 40 < released["y"].isna().sum() < 130


def test_without_covariates(experiment, schema):
    model = bound(experiment, schema, "y ~ treat", assignment=dprct.Complete("treat"))
    released = model.fit(epsilon=1, rng=1).protected
    assert released["treat"].sum() == 200
    assert "no covariates" in str(model.plan(1))


def test_outcomes_that_a_type_cannot_hold_get_a_wider_one(experiment, schema, tmp_path):
    model = bound(experiment, schema.declare(arrested=[0, 1]), "arrested ~ treat + score",
                  assignment=dprct.Complete("treat"))  # fmt: skip
    release = model.fit(epsilon=1)
    column = release.schema.column("arrested")
    assert (column.type, column.levels) == ("double", None)
    differences = release.certificate().differences
    assert ("type", "arrested") in {(d.facet, d.column) for d in differences}
    path = tmp_path / "made_no_dp_guarantee.dta"
    release.write_dta(path)
    back, header = dprct.read_dta(path)
    assert header.column("arrested").type == "double"
    assert dprct.compare((experiment, schema), path).unexpected == ()
    np.testing.assert_array_equal(back["arrested"], release.protected["arrested"])


def test_float_and_decimals_are_kept(experiment, schema):
    narrow = schema.with_columns([Column("y", "float", decimals=2)])
    data = experiment.assign(y=np.round(experiment["y"], 2).astype(np.float32).astype(float))
    y = bound(data, narrow).fit(epsilon=1, rng=1).protected["y"].to_numpy()
    assert (y == y.astype(np.float32)).all()
    assert np.abs(np.round(y, 2) - y).max() < 1e-5


@pytest.mark.parametrize("x_method", ["published", "strict", "marginals"])
def test_nothing_is_promised_and_every_file_says_so(
    experiment, schema, strict_schema, tmp_path, x_method
):
    model = bound(experiment, strict_schema, x_method=x_method)
    release = model.fit(epsilon=1, confirm=True)
    assert not release.guarantee.holds
    assert release.guarantee.budget is None
    assert "outcome model is confidential" in release.guarantee.sentence()
    alone = "alone, without any outcome, are differentially private with epsilon=1"
    assert (alone in release.guarantee.sentence()) == (x_method != "published")
    assert str(model.plan(1)).startswith("Plan: published.Hybrid")
    assert "NONE" in model.plan(1).facts["guarantee"]
    with pytest.raises(FileError, match="no_dp_guarantee"):
        release.write_dta(tmp_path / "made.dta")
    path = tmp_path / "made_no_dp_guarantee.dta"
    certificate = release.write_dta(path)
    _, header = dprct.read_dta(path)
    assert header.file.label.startswith("NO DP GUARANTEE:")
    notes = [text for _, name, text in header.file.characteristics if name.startswith("note")]
    assert any("No differential-privacy guarantee" in text for text in notes)
    written = json.loads(path.with_suffix(".certificate.json").read_text("utf-8"))
    assert written["guarantee"]["measure"] == "none"
    assert written["guarantee"]["epsilon"] is None
    assert any("no guarantee" in limit for limit in certificate.limits)
    assert dprct.compare((experiment, schema), path).unexpected == ()


def test_strict_covariates_are_charged_before_anything_is_drawn(experiment, strict_schema):
    model = bound(experiment, strict_schema, x_method="strict")
    accountant = Accountant(1)
    release = model.fit(epsilon=0.75, accountant=accountant, confirm=True)
    assert accountant.spent == Budget(0.75)
    assert "for the covariates alone" in release.ledger
    with pytest.raises(DprctError, match="left"):
        model.fit(epsilon=0.75, accountant=accountant, confirm=True)
    with pytest.raises(ParameterError, match="no price"):
        bound(experiment, strict_schema).fit(epsilon=1, accountant=accountant)
    assert accountant.spent == Budget(0.75)


def test_a_seed_is_a_simulation(experiment, schema):
    model = bound(experiment, schema)
    one, two = (model.fit(epsilon=1, rng=5) for _ in range(2))
    pd.testing.assert_frame_equal(one.protected, two.protected)
    with pytest.raises(SimulationError):
        one.certificate()
    assert not model.fit(epsilon=1).protected.equals(model.fit(epsilon=1).protected)


def test_models_stay_and_releases_travel(experiment, schema):
    model = bound(experiment, schema)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model)
    release = pickle.loads(pickle.dumps(model.fit(epsilon=1)))
    assert release.protected.shape == experiment.shape
    assert release.estimates is None


def test_polars(experiment, schema):
    polars = pytest.importorskip("polars")
    one = bound(experiment, schema).fit(epsilon=1, rng=2).protected
    two = bound(polars.from_pandas(experiment), schema).fit(epsilon=1, rng=2).protected
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    ("change", "options", "error", "says"),
    [
        ({}, {"formula": "y ~ age"}, FormulaError, "'treat' is not in the formula"),
        ({}, {"formula": "y ~ treat + scale(age)"}, FormulaError, "scale"),
        ({}, {"assignment": dprct.Complete("age")}, ParameterError, "draws the columns age"),
        ({"y": np.nan}, {}, ParameterError, "'y' is missing in every row"),
        ({"age": np.nan}, {}, SchemaError, "'age' is missing in every row"),
        ({"treat": 2.0}, {}, ParameterError, "'treat'"),
        ({"arrested": 2.0}, {"formula": "arrested ~ treat", "families": {"arrested": "binomial"}},
         ParameterError, "other than 0 and 1"),
        ({}, {"families": {"z": "poisson"}}, ParameterError, "'z', which is not an outcome"),
        ({}, {"missing_outcomes": "keep"}, ParameterError, "missing_outcomes='keep'"),
    ],
)  # fmt: skip
def test_refusals(experiment, schema, change, options, error, says):
    with pytest.raises(error, match=says):
        bound(experiment.assign(**change), schema, **options)


def test_arms_that_overlap(experiment, schema):
    data = experiment.assign(arrested=experiment["treat"])
    with pytest.raises(ParameterError, match="overlap"):
        bound(data, schema, "y ~ treat + arrested", treatment=["treat", "arrested"],
              assignment=dprct.Complete(["treat", "arrested"]))  # fmt: skip


def test_arm_sizes_of_another_design(experiment, schema):
    data = experiment.assign(treat=(np.arange(400) < 60).astype(float))
    with pytest.raises(ParameterError, match="not one of the design"):
        bound(data, schema)
    assert bound(data, schema, attrition=True).fit(epsilon=1, rng=1).protected["treat"].sum() > 150


def test_more_coefficients_than_rows(experiment, schema):
    data = experiment.iloc[::67].reset_index(drop=True)
    with pytest.raises(ParameterError, match=r"'y' has 6 complete rows for 6 coefficients"):
        bound(data, schema, "y ~ treat + age + score + C(site)", assignment=dprct.Complete("treat"),
              attrition=True)  # fmt: skip


def test_liberia(shared):
    """Eight outcomes, 57 covariates, two stratifications; ranks as in Tables 11 and 12."""
    data, schema = dprct.read_dta(shared / "data" / "liberia" / "liberia_round5.dta")
    baseline = " + ".join(name for name in schema.names if name.endswith("_b"))
    outcomes = [name for name in schema.names if name.endswith(("_ltav", "_lt"))]
    design = dprct.Factorial(
        [dprct.Block("cash", block="cg_strata"), dprct.Block("tp", block="tp_strata_alt")],
        arms={"cashassonly": ["cash"], "tpassonly": ["tp"], "tpcashass": ["cash", "tp"]},
    )
    arms = ["cashassonly", "tpassonly", "tpcashass"]
    regressors = [*arms, baseline, "C(tp_strata_alt)", "C(cg_strata)"]
    formula = f"{' + '.join(outcomes)} ~ {' + '.join(regressors)}"
    model = Hybrid.from_formula(
        formula, data, schema, treatment=arms, assignment=design, attrition=True
    )
    assert [(len(fit.beta), fit.nobs) for fit in model.facts.fits] == [
        (131, 947), (131, 947), (131, 947), (131, 947), (131, 943), (131, 947), (131, 943),
        (120, 730),
    ]  # fmt: skip
    release = model.fit(epsilon=1)
    assert list(release.protected.columns) == schema.names
    assert release.protected["control"].isna().all()
    missing = release.protected[outcomes].isna().sum() - data[outcomes].isna().sum()
    assert missing.abs().max() < 60
