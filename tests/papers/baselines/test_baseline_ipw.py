"""Weighting without privacy: R's numbers, Stata's names, and what keeps them in."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import DisclosureError, FormulaError, ParameterError
from dprct.results.base import is_confidential
from papers.baselines import IPW

R = json.loads((Path(__file__).parents[2] / "reference" / "ipw_r.json").read_text(encoding="utf-8"))
STACKED = {
    f"{c['estimand']}-{'aipw' if c['augmented'] else 'ipw'}-{c['normalized']}": c
    for c in R["stacked"]
}


def rows() -> pd.DataFrame:
    return pd.DataFrame({name: R[name] for name in ("y", "t", "x1", "x2")})


def fit(**options):
    return IPW.from_formula("t ~ x1 + x2", rows(), outcome="y", **options).fit()


@pytest.mark.parametrize("case", list(STACKED))
def test_effects_and_stacked_errors_are_those_of_r(case) -> None:
    wanted = STACKED[case]
    found = fit(
        estimator="aipw" if wanted["augmented"] else "ipw",
        estimand=wanted["estimand"],
        normalized=wanted["normalized"],
    )
    assert found.params.tolist() == pytest.approx([wanted["effect"], wanted["pomean"]], rel=1e-9)
    assert found.bse.tolist() == pytest.approx([wanted["se"], wanted["se_pomean"]], rel=1e-7)
    assert found.treatment_model.tolist() == pytest.approx(R["logit"], rel=1e-9)


@pytest.mark.parametrize("estimand", ["ate", "att", "atc"])
def test_weights_taken_as_known_give_the_errors_of_rs_survey(estimand) -> None:
    wanted = R["known"][estimand]
    found = fit(estimand=estimand, cov_type="known")
    n = len(rows())
    assert found.params.tolist() == pytest.approx([wanted["effect"], wanted["pomean"]], rel=1e-9)
    assert (found.bse * (n / (n - 1)) ** 0.5).tolist() == pytest.approx(
        [wanted["se"], wanted["se_pomean"]], rel=1e-8
    )
    assert found.bse.iloc[0] > 1.1 * fit(estimand=estimand).bse.iloc[0]


def test_names_and_defaults_are_those_of_stata() -> None:
    assert fit().params.index.tolist() == ["ATE", "POmean"]
    assert fit(estimand="att").params.index.tolist() == ["ATET", "POmean"]
    assert fit().estimate == fit(normalized=True).estimate
    assert fit(estimator="aipw").estimate == fit(estimator="aipw", normalized=False).estimate
    assert fit().treatment_model.index.tolist() == ["Intercept", "x1", "x2"]


def test_arrays_formulas_and_columns_are_one_model() -> None:
    data = rows()
    arrays = IPW.from_arrays(data[["x1", "x2"]], data["t"], data["y"]).fit()
    columns = IPW(data, treatment="t", outcome="y", covariates=["x1", "x2"]).fit()
    assert arrays.params.tolist() == pytest.approx(fit().params.tolist(), rel=1e-12)
    assert columns.params.tolist() == fit().params.tolist()
    other = fit(estimator="aipw", adjust="x1 + I(x1 * x1)")
    design = np.column_stack([data["x1"], data["x1"] ** 2])
    same = IPW.from_arrays(
        data[["x1", "x2"]], data["t"], data["y"], adjust=design, estimator="aipw"
    ).fit()
    assert other.estimate == pytest.approx(same.estimate, rel=1e-9)


def test_incomplete_rows_are_left_out_of_both_models() -> None:
    data = rows()
    data.loc[0, "y"] = np.nan
    data.loc[1, "x1"] = np.nan
    data.loc[2, "t"] = np.nan
    found = IPW.from_formula("t ~ x1 + x2", data, outcome="y", estimator="aipw").fit()
    whole = IPW.from_formula("t ~ x1 + x2", data.iloc[3:], outcome="y", estimator="aipw").fit()
    assert found.used.sum() == found.nobs == 297
    assert found.params.tolist() == pytest.approx(whole.params.tolist(), rel=1e-12)


def test_labels_of_arms_are_taken_as_named() -> None:
    data = rows().assign(t=lambda d: np.where(d["t"] == 1, "got", "not"))
    assert fit().estimate == pytest.approx(
        IPW.from_formula("t ~ x1 + x2", data, outcome="y", treated="got").fit().estimate
    )


def test_doubly_robust_against_a_wrong_treatment_model() -> None:
    """The propensity depends on x^2, which the logit leaves out; the outcome model has it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=40_000)
    t = rng.random(40_000) < 1 / (1 + np.exp(1 - x**2))
    y = t + x**2 + rng.normal(size=40_000)
    plain = IPW.from_arrays(x, t, y).fit()
    both = IPW.from_arrays(x, t, y, adjust=np.column_stack([x, x**2]), estimator="aipw").fit()
    assert abs(both.estimate - 1) < 6 * both.bse["ATE"]
    assert abs(plain.estimate - 1) > 20 * plain.bse["ATE"]


def test_nothing_of_it_leaves() -> None:
    found = fit()
    assert is_confidential(found)
    assert is_confidential(found.tidy())
    assert found.guarantee.measure == "none"
    assert str(found).startswith("CONFIDENTIAL")
    assert "confidential" in repr(found)
    with pytest.raises(DisclosureError):
        pickle.dumps(found)
    assert found.conf_int().loc["ATE"].mean() == pytest.approx(found.estimate)
    assert "no privacy" in repr(IPW.from_arrays([1, 2], [0, 1], [1, 2]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "matching"}, "allowed: ipw, aipw"),
        ({"estimand": "late"}, "allowed: ate, att, atc"),
        ({"cov_type": "HC1"}, "allowed: stacked, known"),
        ({"treated": 3}, "is not a code of 't'"),
    ],
)
def test_each_mistake_has_its_sentence(options, words) -> None:
    with pytest.raises(ParameterError, match=words):
        fit(**options)


def test_data_that_cannot_be_weighted_are_refused() -> None:
    x = np.arange(20.0)
    with pytest.raises(ParameterError, match="apart without error"):
        IPW.from_arrays(x, x > 9, x).fit()
    with pytest.raises(ParameterError, match="nobody is in one"):
        IPW.from_arrays(x, x < 0, x)
    with pytest.raises(ParameterError, match="different lengths"):
        IPW.from_arrays(x[1:], x > 9, x)
    with pytest.raises(ParameterError, match="missing or infinite"):
        IPW.from_arrays(x, x > 9, np.where(x > 3, np.nan, x))
    with pytest.raises(ParameterError, match="collinear"):
        IPW.from_arrays(np.column_stack([x, x]), x % 2 > 0, x).fit()
    with pytest.raises(ParameterError, match="has 20 codes"):
        IPW.from_formula("x ~ y", pd.DataFrame({"x": x, "y": x}), outcome="y")
    with pytest.raises((ParameterError, FormulaError)):
        IPW.from_formula("x1 + t ~ x2", rows(), outcome="y")
