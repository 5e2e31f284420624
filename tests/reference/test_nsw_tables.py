"""LaLonde's and Thornton's effects through ``itt_table``, at the precision of their papers."""

from __future__ import annotations

import pandas as pd
import pytest

import dprct

# LaLonde (1986), table 5, unadjusted difference in 1978 earnings, and Dehejia and Wahba (1999)
PLAIN = {
    "nsw": ("886", "(472)"),
    "nsw_dw": ("1794", "(633)"),
    "psid_controls": ("-15578", "(913)"),
    "cps_controls": ("-8870", "(562)"),
}
# Imbens and Xu (2024), table of experimental and observational differences, robust errors
ROBUST = {
    "nsw": ("886", "(488)"),
    "nsw_dw": ("1794", "(671)"),
    "psid_controls": ("-15578", "(508)"),
    "cps_controls": ("-8870", "(408)"),
}


@pytest.fixture(scope="module")
def samples(shared):
    folder = shared / "data" / "lalonde"
    nsw, _ = dprct.read_dta(folder / "nsw.dta")
    found = {"nsw": nsw, "nsw_dw": dprct.read_dta(folder / "nsw_dw.dta")[0]}
    for name in ("psid_controls", "cps_controls"):
        controls, _ = dprct.read_dta(folder / f"{name}.dta")
        trained = nsw[nsw["treat"] == 1]
        found[name] = pd.concat([trained, controls], ignore_index=True)
    return found


def effect(data, cov_type):
    table = dprct.itt_table(data, outcomes=["re78"], arms=["treat"], cov_type=cov_type, style="aer")
    lines = table.styled(digits=0).grid().lines
    return tuple(str(line.cells[1]) for line in lines[:2])


@pytest.mark.parametrize("name", PLAIN)
def test_the_unadjusted_column_of_lalonde(samples, name):
    assert effect(samples[name], "nonrobust") == PLAIN[name]


@pytest.mark.parametrize("name", ROBUST)
def test_robust_errors_of_imbens_and_xu(samples, name):
    assert effect(samples[name], "HC1") == ROBUST[name]


def test_control_mean_of_the_training_experiment(samples):
    """Mean earnings of the 425 controls in 1978, 5,090 dollars in LaLonde's table 3."""
    table = dprct.itt_table(samples["nsw"], outcomes=["re78"], arms=["treat"])
    assert round(table.estimates["control_mean"].item()) == 5090
    assert table.estimates["nobs"].item() == 722


def test_thornton_by_village(shared):
    data, schema = dprct.read_dta(shared / "data" / "thornton" / "thornton_hiv.dta")
    tested = data[(data["test2004"] == 1) & data["hiv2004"].isin([0, 1])]
    table = dprct.itt_table(
        tested,
        schema,
        outcomes=["got"],
        arms=["any"],
        covariates=["male", "hiv2004", "age", "age2", "rumphi", "balaka"],
        cluster="villnum",
        style="aer",
    )
    row = table.displayed().iloc[:2, 1].tolist()
    assert row == ["0.431", "(0.023)"]
    assert table.estimates["nobs"].item() == 2812
    assert table.rows_without_group == 4
    assert table.estimates["df"].item() == table.estimates["n_groups"].item() - 1
