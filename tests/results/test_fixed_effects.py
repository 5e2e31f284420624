"""Absorbed fixed effects: numbers of R and of pyfixest, dummies, and the rules' own arithmetic."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, ParameterError
from dprct.results.covariance import FixedEffects
from dprct.results.ols import ols

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
OF_R = json.loads((REFERENCE / "fixed_effects_r.json").read_text("utf-8"))
OF_PYFIXEST = json.loads((REFERENCE / "fixed_effects_pyfixest.json").read_text("utf-8"))
KINDS = {"classical": "nonrobust", "iid": "nonrobust"}
TIGHT = 1e-10


@pytest.fixture
def panel():
    return pd.DataFrame(OF_R["data"])


def agree(one, other, rtol=TIGHT):
    names = one.params.index
    np.testing.assert_allclose(other.params[names], one.params, rtol=rtol)
    np.testing.assert_allclose(other.bse[names], one.bse, rtol=rtol)
    assert other.df_inference == one.df_inference


@pytest.mark.parametrize("case", OF_R["cases"], ids=lambda case: case["name"])
def test_areg_is_what_r_computes(case, panel):
    result = ols(
        "y ~ x + z",
        panel,
        cov_type=KINDS.get(case["vcov"], "HC1"),
        cluster=case["clusters"],
        weights=case["weights"],
        absorb=case["effects"],
    )
    np.testing.assert_allclose(result.params, case["estimate"], rtol=TIGHT)
    np.testing.assert_allclose(result.bse, case["bse"], rtol=TIGHT)
    assert result.df_inference == case["df"]
    assert result.rsquared == pytest.approx(case["rsquared"], rel=TIGHT)


@pytest.mark.parametrize(
    "case",
    OF_PYFIXEST["cases"],
    ids=lambda case: "-".join([*case["effects"], case["vcov"], str(case["weights"])]),
)
def test_fixest_is_what_pyfixest_computes(case, panel):
    result = ols(
        "y ~ x + z",
        panel,
        cov_type=KINDS.get(case["vcov"], "HC1"),
        cluster=case["vcov"] if case["vcov"] in panel else None,
        weights=case["weights"],
        absorb=case["effects"],
        fe_df="fixest",
    )
    np.testing.assert_allclose(result.params, case["estimate"], rtol=TIGHT)
    np.testing.assert_allclose(result.bse, case["bse"], rtol=TIGHT)
    np.testing.assert_allclose(result.pvalues, case["p"], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("groups", [None, "region", "year"])
@pytest.mark.parametrize("effects", [["firm"], ["firm", "year"], ["firm", "part"]])
@pytest.mark.parametrize("weights", [None, ("w", "aweight"), ("year", "fweight")])
def test_absorbed_effects_are_dummies(panel, groups, effects, weights):
    options = {"cluster": groups}
    if weights is not None:
        options |= {"weights": weights[0], "weights_type": weights[1]}
    within = ols("y ~ x + z", panel, absorb=effects, **options)
    dummies = ols("y ~ x + z + " + " + ".join(f"C({f})" for f in effects), panel, **options)
    agree(within, dummies)
    for name in ("rsquared", "rsquared_adj", "rmse", "df_resid", "nobs"):
        assert getattr(within, name) == pytest.approx(getattr(dummies, name), rel=TIGHT)


def corrected(result, parameters):
    """Cluster variance times the factor for so many parameters, from the uncorrected one."""
    n, g = result.nobs, result.n_groups
    return g / (g - 1) * (n - 1) / (n - parameters)


def test_the_rules_differ_by_their_count_alone(panel):
    by = {
        rule: ols("y ~ x + z", panel, absorb="firm", cluster="region", fe_df=rule)
        for rule in ("areg", "reghdfe", "fixest", "xtreg")
    }
    counts = {"areg": 2 + 23, "reghdfe": 2 + 1, "fixest": 2 + 1, "xtreg": 2 + 1}
    for rule, result in by.items():
        ratio = (result.bse / by["areg"].bse) ** 2
        expected = corrected(result, counts[rule]) / corrected(result, counts["areg"])
        np.testing.assert_allclose(ratio, expected, rtol=TIGHT)
        assert result.absorbed.parameters == counts[rule] - 2
        assert result.rmse == pytest.approx(by["areg"].rmse)
        assert f"{rule}: {result.absorbed.parameters} parameter" in result.summary()
        assert "firm (23, nested in clusters)" in result.summary()


def test_xtreg_without_clusters_is_areg(panel):
    one, other = (
        ols("y ~ x", panel, absorb="firm", cov_type="nonrobust", fe_df=rule)
        for rule in ("areg", "xtreg")
    )
    agree(one, other)


def test_effects_that_are_not_nested_are_counted(panel):
    result = ols("y ~ x", panel, absorb=["firm", "year"], cluster="region", fe_df="reghdfe")
    assert result.absorbed.nested == (True, False)
    assert result.absorbed.parameters == 8  # the years, among them the constant
    assert ols("y ~ x", panel, absorb="year", cluster="region").absorbed.nested == (False,)


def test_reghdfe_counts_connected_components(panel):
    result = ols("y ~ x", panel, absorb=["firm", "part"], fe_df="reghdfe")
    assert result.absorbed.parameters == 23 + 6 - 2
    agree(result, ols("y ~ x", panel, absorb=["firm", "part"]))


def test_reghdfe_drops_rows_that_are_alone(panel):
    panel.loc[0, "firm"] = 99
    panel.loc[1, "firm"] = 98
    kept = ols("y ~ x", panel, absorb="firm")
    dropped = ols("y ~ x", panel, absorb="firm", fe_df="reghdfe")
    assert (kept.nobs, kept.rows_dropped) == (240, 0)
    assert (dropped.nobs, dropped.rows_dropped) == (238, 2)
    np.testing.assert_allclose(kept.params, dropped.params, rtol=TIGHT)
    agree(dropped, ols("y ~ x", panel.iloc[2:], absorb="firm"))


def test_a_missing_level_drops_its_row(panel):
    holes = panel.assign(firm=panel["firm"].where(panel.index >= 3))
    result = ols("y ~ x", holes, absorb="firm")
    assert result.rows_dropped == 3
    agree(result, ols("y ~ x", panel.iloc[3:], absorb="firm"))
    text = panel.assign(firm=panel["firm"].map("f{}".format).where(panel.index >= 3, ""))
    agree(result, ols("y ~ x", text, absorb="firm"))


def test_what_does_not_vary_within_levels_is_omitted(panel):
    result = ols("y ~ x + region", panel.assign(big=1e9 + panel["region"]), absorb="firm")
    assert result.omitted == ("region",)
    assert "(omitted)" in result.summary()
    assert "Intercept" not in result.layout
    big = ols("y ~ x + big", panel.assign(big=1e9 + panel["region"]), absorb="firm")
    assert big.omitted == ("big",)
    with pytest.raises(ParameterError, match="no regressor varies within"):
        ols("y ~ region", panel, absorb="firm")


def test_within_r_squared(panel):
    result = ols("y ~ x + z", panel, absorb="firm")
    left = panel[["y", "x", "z"]] - panel.groupby("firm")[["y", "x", "z"]].transform("mean")
    plain = ols("y ~ 0 + x + z", left)
    assert result.rsquared_within == pytest.approx(plain.rsquared, rel=TIGHT)
    assert np.isnan(ols("y ~ x", panel).rsquared_within)


def test_results_with_effects_hold_no_rows(panel):
    many = pd.concat([panel] * 30, ignore_index=True)
    small, large = (len(pickle.dumps(ols("y ~ x", d, absorb="firm"))) for d in (panel, many))
    assert abs(small - large) < 50


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"fe_df": "stata"}, "allowed: areg, reghdfe, fixest, xtreg"),
        ({"cov_type": "HC3"}, "leverage of every row"),
        ({"absorb": ["firm", "year"], "fe_df": "xtreg"}, "for one factor"),
        ({"fe_df": "xtreg"}, "clustered by the panel"),
        ({"fe_df": "xtreg", "cluster": "year"}, "nested in the clusters"),
    ],
)
def test_options_are_refused_in_one_sentence(panel, options, match):
    with pytest.raises(ParameterError, match=match):
        ols("y ~ x", panel, **({"absorb": "firm"} | options))


def test_a_column_that_is_not_there(panel):
    with pytest.raises(ColumnError, match="did you mean 'firm'"):
        ols("y ~ x", panel, absorb="firms")
    with pytest.raises(ParameterError, match="allowed: areg"):
        ols("y ~ x", panel, fe_df="none")


def test_more_effects_than_rows_can_bear(panel):
    four = panel.iloc[:4].assign(pair=[0, 0, 1, 1])
    with pytest.raises(ParameterError, match="4 observations for 4 coefficients"):
        ols("y ~ x + z", four, absorb="pair")


def test_a_name_twice_is_one_factor(panel):
    effects = FixedEffects.read(["firm", "firm"], "areg", "HC1", panel)
    assert effects.names == ("firm",)
    agree(ols("y ~ x", panel, absorb=["firm", "firm"]), ols("y ~ x", panel, absorb="firm"))


def test_thornton_with_village_effects(shared):
    rows = pd.read_stata(
        shared / "data" / "thornton" / "thornton_hiv.dta", convert_categoricals=False
    )
    rows = rows[(rows["test2004"] == 1) & rows["hiv2004"].isin([0, 1])]
    formula = "got ~ any + male + hiv2004 + age + age2"
    within = ols(formula, rows, cluster="villnum", absorb="villnum")
    agree(within, ols(f"{formula} + C(villnum)", rows, cluster="villnum"))
    assert within.absorbed.levels == (119,)
