"""Logit, probit and Poisson against R (``tests/reference/ordinary_r.R``), GLM and derivatives."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import dprct
from dprct.errors import ParameterError

REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "ordinary_r.json").read_text("utf-8")
)
ROWS, THEIRS = pd.DataFrame(REFERENCE["data"]), REFERENCE["binary"]
FITS = {"logit": dprct.logit, "probit": dprct.probit}
COUNTS = pd.DataFrame(
    {
        "d": np.tile([0.0, 1.0], 150),
        "x": np.linspace(-1, 1, 300) ** 3,
        "g": np.arange(300) // 5,
    }
).assign(y=lambda f: np.random.default_rng(4).poisson(np.exp(0.5 + 0.4 * f["d"] - f["x"])))


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1", "cluster"])
def test_logit_is_that_of_r(cov_type):
    cluster = "v" if cov_type == "cluster" else None
    fit = dprct.logit("b ~ d + x", ROWS, cov_type=cov_type, cluster=cluster)
    np.testing.assert_allclose(fit.params, THEIRS["estimate"], rtol=1e-8)
    np.testing.assert_allclose(fit.cov, THEIRS[cov_type], rtol=1e-6)
    assert fit.llf == pytest.approx(THEIRS["loglik"])
    assert fit.pvalues["d"] == pytest.approx(2 * stats.norm.sf(abs(fit.tvalues["d"])))


def test_probit_is_that_of_r_with_the_observed_information():
    fit = dprct.probit("b ~ d + x", ROWS)
    np.testing.assert_allclose(fit.params, THEIRS["probit"], rtol=1e-6)
    assert fit.llf == pytest.approx(THEIRS["probit_loglik"])
    X = np.column_stack([np.ones(len(ROWS)), ROWS["d"], ROWS["x"]])
    sign = 2 * ROWS["b"].to_numpy() - 1

    def score(beta):
        index = sign * (X @ beta)
        return X.T @ (sign * np.exp(stats.norm.logpdf(index) - stats.norm.logcdf(index)))

    at, h = fit.params.to_numpy(), 1e-5
    assert np.abs(score(at)).max() < 1e-6
    information = [-(score(at + h * e) - score(at - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(fit.cov, np.linalg.inv(information), rtol=1e-6)


def test_a_saturated_logit_is_the_log_odds():
    fit = dprct.logit("b ~ z", ROWS, cov_type="HC1")
    p = ROWS.groupby("z")["b"].mean()
    odds = np.log(p / (1 - p))
    assert fit.params["Intercept"] == pytest.approx(odds[0])
    assert fit.params["z"] == pytest.approx(odds[1] - odds[0])
    assert fit.predict(pd.DataFrame({"z": [1, 0]})).tolist() == pytest.approx([p[1], p[0]])


@pytest.mark.parametrize("link", FITS)
def test_margins_are_means_of_differences_with_the_delta_method(link):
    rows = ROWS.assign(town=np.where(ROWS["v"] % 2, "a", "b"))
    fit = FITS[link]("b ~ d + x + town", rows)
    for name in ("d", "town"):
        found = fit.margins(name, rows)

        def effect(beta, name=name):
            moved = type(fit)(
                **{f.name: getattr(fit, f.name) for f in fields(fit)}
                | {"params": pd.Series(beta, index=fit.params.index)}
            )
            if name == "town":
                ends = [moved.predict(rows.assign(town=level)) for level in ("b", "a")]
            else:
                ends = [moved.predict(rows.assign(d=rows["d"] + s)) / 2e-5 for s in (1e-5, -1e-5)]
            return float((ends[0] - ends[1]).mean())

        beta = fit.params.to_numpy()
        gradient = [(effect(beta + 1e-4 * e) - effect(beta - 1e-4 * e)) / 2e-4 for e in np.eye(4)]
        assert found.params.iloc[0] == pytest.approx(effect(beta), rel=1e-6)
        expected = np.sqrt(gradient @ fit.cov.to_numpy() @ gradient)
        assert found.bse.iloc[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("cov_type", "theirs"), [("nonrobust", "nonrobust"), ("HC1", "HC0")])
def test_poisson_is_the_generalised_linear_model(cov_type, theirs):
    """Iteratively reweighted least squares, another way to the same maximum."""
    fit = dprct.poisson("y ~ d + x", COUNTS, cov_type=cov_type)
    X = sm.add_constant(COUNTS[["d", "x"]])
    model = sm.GLM(COUNTS["y"], X, family=sm.families.Poisson()).fit(tol=1e-12, cov_type=theirs)
    scale = 1 if cov_type == "nonrobust" else 300 / 299
    np.testing.assert_allclose(fit.params, model.params, rtol=1e-8)
    np.testing.assert_allclose(fit.cov, model.cov_params() * scale, rtol=1e-7)
    assert fit.llf == pytest.approx(model.llf)
    assert fit.llnull == pytest.approx(dprct.poisson("y ~ 1", COUNTS).llf)
    assert fit.df_inference == math.inf


def test_poisson_with_clusters_is_stata_s_sum_of_scores():
    fit = dprct.poisson("y ~ d", COUNTS, cluster="g")
    X = np.column_stack([np.ones(300), COUNTS["d"]])
    mean = np.exp(X @ fit.params.to_numpy())
    bread = np.linalg.inv(X.T @ (mean[:, None] * X))
    scores = pd.DataFrame(X * (COUNTS["y"].to_numpy() - mean)[:, None]).groupby(COUNTS["g"]).sum()
    meat = scores.T.to_numpy() @ scores.to_numpy()
    np.testing.assert_allclose(fit.cov, 60 / 59 * bread @ meat @ bread, rtol=1e-7)


def test_a_saturated_poisson_is_the_log_of_means():
    fit = dprct.poisson("y ~ d", COUNTS, cov_type="HC1")
    means = COUNTS.groupby("d")["y"].mean()
    ratio = fit.rate_ratios().loc["d"]
    assert ratio["estimate"] == pytest.approx(means[1] / means[0])
    assert ratio["conf.low"] == pytest.approx(np.exp(fit.conf_int().loc["d"].iloc[0]))
    assert ratio["std.error"] == pytest.approx(ratio["estimate"] * fit.bse["d"])
    assert fit.margins("d", COUNTS.assign(d=COUNTS["d"])).nobs == 300
    large = COUNTS.assign(y=COUNTS["y"] * 10_000)
    assert dprct.poisson("y ~ d + x", large).params["d"] == pytest.approx(
        dprct.poisson("y ~ d + x", COUNTS).params["d"]
    )


def test_margins_of_a_factor_after_poisson_are_differences_of_means():
    rows = COUNTS.assign(arm=np.where(COUNTS["d"] == 1, "b", "a"))
    fit = dprct.poisson("y ~ arm", rows, cov_type="HC1")
    means = rows.groupby("arm")["y"].mean()
    found = fit.margins("arm", rows)
    assert found.params.iloc[0] == pytest.approx(means["b"] - means["a"])
    ordinary = dprct.ols("y ~ arm", rows, cov_type="HC1")
    assert found.bse.iloc[0] == pytest.approx(ordinary.bse.iloc[1], rel=0.01)


def test_ratios_are_of_their_own_link():
    logit = dprct.logit("b ~ z", ROWS)
    p = ROWS.groupby("z")["b"].mean()
    odds = (p[1] / (1 - p[1])) / (p[0] / (1 - p[0]))
    assert logit.odds_ratios().loc["z", "estimate"] == pytest.approx(odds)
    with pytest.raises(ParameterError, match=r"a logit has no rate ratios; fit dprct.poisson"):
        logit.rate_ratios()
    with pytest.raises(ParameterError, match=r"a probit has no odds ratios; fit dprct.logit"):
        dprct.probit("b ~ z", ROWS).odds_ratios()


@pytest.mark.parametrize("link", ["logit", "poisson"])
def test_a_frame_without_rows_is_called_that(link):
    with pytest.raises(ParameterError, match="the data have no rows"):
        getattr(dprct, link)("y ~ d", COUNTS.iloc[:0])


@pytest.mark.parametrize("changed", [{"y": -1.0}, {"y": 0.0}])
def test_what_is_no_count_is_refused(changed):
    with pytest.raises(ParameterError, match="must be 0 or above"):
        dprct.poisson("y ~ d", COUNTS.assign(**changed))
    with pytest.raises(ParameterError, match="predict the outcome perfectly"):
        dprct.poisson("y ~ d", COUNTS.assign(y=COUNTS["y"] * COUNTS["d"]))


def test_what_is_printed_counts():
    rows = ROWS.assign(x=ROWS["x"].where(ROWS.index > 2))
    fit = dprct.logit("b ~ d + x", rows, cluster="v")
    text = fit.summary()
    for words in ("Logit", "LR chi2(2)", "Pseudo R-squared", "Clusters", "P>|z|"):
        assert words in text
    assert fit.rows_dropped == 3
    assert fit.glance()["nobs"].item() == 177
    null = dprct.logit("b ~ 1", rows.iloc[3:])
    assert fit.llnull == pytest.approx(null.llf)
    assert "[1]" not in str(fit.wald_test("d = x = 0"))


@pytest.mark.parametrize("link", FITS)
@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ d", {}, "must be 0 and 1"),
        ("one ~ d", {}, "both of which occur"),
        ("b ~ same", {}, "predict the outcome perfectly"),
        ("b ~ d", {"cov_type": "HC3"}, "allowed: nonrobust, HC1"),
        ("b ~ d", {"cov_type": "cluster"}, "allowed: nonrobust, HC1"),
    ],
)
def test_what_has_no_fit_is_refused(link, formula, options, words):
    rows = ROWS.assign(one=1, same=ROWS["b"] * 2 + 1)
    with pytest.raises(ParameterError, match=words):
        FITS[link](formula, rows, **options)
