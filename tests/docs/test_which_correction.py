"""Every number on docs/which_correction.md is computed again, so that the page cannot drift."""

from __future__ import annotations

import json
import re
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

import dprct

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "which_correction.md"
FORMULA = "got ~ any + hiv2004 + age"

OURS: dict[str, dict[str, Any]] = {
    "Stata `regress`": {"cov_type": "nonrobust"},
    "Stata `regress, vce(robust)`": {},
    "Stata `regress, vce(hc3)`": {"cov_type": "HC3"},
    'R `fixest::feols(vcov = "hetero")`': {},
    "`dprct.ols(...)`": {},
    "Stata `regress, vce(cluster villnum)`": {"cluster": "villnum"},
    "R `fixest::feols(cluster = ~villnum)`": {"cluster": "villnum"},
    '`dprct.ols(..., cluster="villnum")`': {"cluster": "villnum"},
    "Stata `areg, absorb(villnum) vce(cluster villnum)`": {
        "cluster": "villnum",
        "absorb": "villnum",
    },
    "Stata `reghdfe, absorb(villnum) vce(cluster villnum)`": {
        "cluster": "villnum",
        "absorb": "villnum",
        "fe_df": "reghdfe",
    },
    "Stata `xtreg, fe vce(cluster villnum)`": {
        "cluster": "villnum",
        "absorb": "villnum",
        "fe_df": "xtreg",
    },
    "R `fixest::feols(... \\| villnum, cluster = ~villnum)`": {
        "cluster": "villnum",
        "absorb": "villnum",
        "fe_df": "fixest",
    },
    '`dprct.ols(..., cluster="villnum", absorb="villnum")`': {
        "cluster": "villnum",
        "absorb": "villnum",
    },
}
STATSMODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "statsmodels `.fit()`": (FORMULA, {}),
    'statsmodels `.fit(cov_type="HC1")`': (FORMULA, {"cov_type": "HC1"}),
    'statsmodels `.fit(cov_type="cluster", cov_kwds=...)`': (FORMULA, {"cov_type": "cluster"}),
    "the same with `use_t=True`": (FORMULA, {"cov_type": "cluster", "use_t": True}),
    'statsmodels with `C(villnum)`, `cov_type="cluster"`': (
        f"{FORMULA} + C(villnum)",
        {"cov_type": "cluster"},
    ),
}
OF_R = {
    "R `summary(lm(...))`": "summary(lm)",
    "R `coeftest(fit, vcovHC)`": "coeftest(fit, vcovHC)",
    "R `coeftest(fit, vcovCL, cluster = ~villnum)`": "coeftest(fit, vcovCL, cluster = ~villnum)",
    "R `lm` with `factor(villnum)`, `vcovCL`": "lm with factor(villnum), vcovCL",
}
FIXEST_EFFECTS = "R `fixest::feols(... \\| villnum, cluster = ~villnum)`"
WITNESSED = {
    'R `fixest::feols(vcov = "hetero")`': "feols(vcov = 'hetero')",
    "R `fixest::feols(cluster = ~villnum)`": "feols(cluster = ~villnum)",
    FIXEST_EFFECTS: "feols(| villnum, cluster = ~villnum)",
}


@cache
def rows() -> pd.DataFrame:
    data, _ = dprct.read_dta(ROOT / "data" / "thornton_hiv.dta")
    data = data[data["hiv2004"].isin([0, 1])]
    return data[["got", "any", "hiv2004", "age", "villnum"]].dropna()


def of_ours(call: str) -> tuple[float, float, float]:
    fit = dprct.ols(FORMULA, rows(), **OURS[call])
    return fit.params["hiv2004"], fit.bse["hiv2004"], fit.pvalues["hiv2004"]


def of_statsmodels(call: str) -> tuple[float, float, float]:
    import statsmodels.formula.api as smf

    formula, options = STATSMODELS[call]
    if options.get("cov_type") == "cluster":
        options = options | {"cov_kwds": {"groups": rows()["villnum"].astype(int)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # covariance of constraints, which nothing here uses
        fit = smf.ols(formula, rows()).fit(**options)
        return fit.params["hiv2004"], fit.bse["hiv2004"], fit.pvalues["hiv2004"]


def stored(file: str, name: str) -> tuple[float, float, float]:
    text = (ROOT / "tests" / "reference" / file).read_text("utf-8")
    found = json.loads(text)["found"][name]
    return found["estimate"], found["bse"], found["p"]


def computed(call: str) -> tuple[float, float, float]:
    if call in OURS:
        return of_ours(call)
    if call in STATSMODELS:
        return of_statsmodels(call)
    return stored("which_correction_r.json", OF_R[call])


def table_rows() -> dict[str, list[str]]:
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) == 5 and re.fullmatch(r"0\.\d{5}", cells[3]):
            found[cells[0]] = cells
    return found


@pytest.mark.parametrize("call", [*OURS, *STATSMODELS, *OF_R])
def test_the_page_shows_the_number(call):
    _, bse, p = computed(call)
    assert table_rows()[call][3:] == [f"{bse:.5f}", f"{p:.5f}"]


def test_every_row_of_the_page_is_computed_here():
    assert set(table_rows()) == {*OURS, *STATSMODELS, *OF_R}


@pytest.mark.parametrize("call", WITNESSED)
def test_fixest_rows_have_a_witness(call):
    witness = stored("which_correction_pyfixest.json", WITNESSED[call])
    assert of_ours(call) == pytest.approx(witness, rel=1e-8)


def test_every_fit_has_the_same_coefficient_on_the_page():
    text = PAGE.read_text("utf-8")
    plain, village = of_ours("Stata `regress`")[0], of_ours(list(OURS)[-1])[0]
    assert f"{plain:.5f}" in text
    assert f"{village:.5f}" in text
    for call in [*OURS, *STATSMODELS, *OF_R]:
        near = village if "absorb" in OURS.get(call, {}) or "|" in call else plain
        if "villnum)`" in call and ("factor" in call or "C(villnum)" in call):
            near = village
        assert computed(call)[0] == pytest.approx(near, rel=1e-9)


def test_the_counts_on_the_page():
    text = PAGE.read_text("utf-8")
    assert len(rows()) == 2812
    assert rows()["villnum"].nunique() == 119
    assert "n = 2,812, k = 4, G = 119" in text
    assert rows()["villnum"].value_counts().min() > 1  # so that reghdfe drops no row
    n, g, k = 2812, 119, 4
    cluster = g / (g - 1) * (n - 1) / (n - k)
    counted = g / (g - 1) * (n - 1) / (n - 3 - g)
    nested = g / (g - 1) * (n - 1) / (n - 3 - 1)
    hc1 = n / (n - k)
    for factor in (hc1, cluster, counted, nested):
        assert f"{factor:.5f}" in text
    estimate, bse, _ = of_ours("Stata `regress, vce(cluster villnum)`")
    assert f"t(9) would give {2 * stats.t.sf(abs(estimate / bse), 9):.2f}" in text
