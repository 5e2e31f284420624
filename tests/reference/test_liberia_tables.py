"""Tables 11 and 12 of "Assessing Utility of Differential Privacy for RCTs", number by number.

The data are those of Blattman, Jamison and Sheridan (2017); what the paper printed is in
``liberia_tables.csv``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dprct

PRINTED = pd.read_csv(
    Path(__file__).with_name("liberia_tables.csv"), comment="#", dtype=str
).fillna("")
OUTCOMES = list(dict.fromkeys(PRINTED["outcome"]))
ARMS = {"tpassonly": "Therapy Only", "cashassonly": "Cash Only", "tpcashass": "Both"}
REDUCED = [
    "age_b",
    "asbhostil_b",
    "drugssellever_b",
    "drinkboozeself_b",
    "druggrassself_b",
    "harddrugsever_b",
    "steals_b",
]
SUBSET = [*REDUCED, "school_b", "wealth_indexstd_b", "cognitive_score_b"]


@pytest.fixture(scope="module")
def liberia(shared):
    return dprct.read_dta(shared / "data" / "liberia" / "liberia_round5.dta")


def baseline(data):
    return [name for name in data.columns if name.endswith("_b")]


def printed_as(table, covariates, data, schema, **change):
    options = {
        "outcomes": OUTCOMES,
        "arms": ARMS,
        "covariates": covariates,
        "blocks": ["tp_strata_alt", "cg_strata"],
        "alternative": "one-sided",
        "distribution": "normal",
        "adjust": "bonferroni",
        "families": {"index": OUTCOMES[:1], "components": OUTCOMES[1:]},
        "family_sizes": {"index": 9} if table == "11" else None,
    }
    return dprct.itt_table(data, schema, **(options | change))


def cells(table, digits):
    """The printed cells of each estimate: control mean, ITT, [SE] with stars, p."""
    grid = table.styled(digits=digits, p_digits=digits).grid()
    found, panel = {}, ""
    for line, row in zip(grid.lines, table.rows, strict=True):
        panel = row.key if row.kind == "section" else panel
        if line.cells:
            words = [str(cell) for cell in line.cells]
            for k, arm in enumerate(ARMS):
                found[panel, row.key, arm] = [words[0], *words[1 + 3 * k : 4 + 3 * k]]
    return found


def differing(printed, found):
    """How many numbers are not as they were printed, and of how many; minus zero is zero."""
    wrong = []
    total = 0
    for row in printed.itertuples():
        ours = found[row.panel, row.outcome, row.arm]
        theirs = [row.control_mean, row.itt, row.se, row.p]
        for name, one, other in zip(("mean", "itt", "se", "p"), ours, theirs, strict=True):
            if other:
                total += 1
                if one != other:
                    wrong.append((row.panel, row.outcome, row.arm, name))
    return wrong, total


def test_table_11_every_number_and_star(liberia):
    data, schema = liberia
    assert len(baseline(data)) == 57
    table = printed_as("11", baseline(data), data, schema)
    printed = PRINTED[PRINTED["table"] == "11"]
    wrong, total = differing(printed, cells(table, 3))
    assert wrong == []
    # a control mean is printed once per outcome, and was compared once per arm
    assert total - 2 * len(OUTCOMES) == 80
    assert dict(zip(table.estimates["outcome"], table.estimates["rank"], strict=True)) == {
        name: 120 if name == "domabuse_z_ltav" else 131 for name in OUTCOMES
    }
    assert sorted(set(table.estimates["nobs"])) == [730, 943, 947]
    assert len(table.omitted["", "fam_asb_lt"]) == 3


def test_the_numbers_are_those_of_ols(liberia):
    data, schema = liberia
    table = printed_as("11", baseline(data), data, schema).estimates
    for name in ("fam_asb_lt", "domabuse_z_ltav"):
        right = " + ".join([*ARMS, *baseline(data), "C(tp_strata_alt)", "C(cg_strata)"])
        fit = dprct.ols(f"{name} ~ {right}", data, schema)
        ours = table[table["outcome"] == name].set_index("arm")
        np.testing.assert_allclose(ours["estimate"], fit.params[list(ARMS)], rtol=1e-10)
        np.testing.assert_allclose(ours["std.error"], fit.bse[list(ARMS)], rtol=1e-10)


def odd_record(data):
    """The one person with a tenth of a partner."""
    odd = ~np.isin(data["mpartners_b"], range(6))
    assert odd.sum() == 1
    return odd


def table_12(data, schema):
    sets = {"Reduced Subset": REDUCED, "Subset": SUBSET, "Full Baseline": baseline(data)}
    table = printed_as("12", sets, data, schema)
    # Table 12 has no brackets and no stars
    plain = table.styled(brackets="", stars=None)
    return differing(PRINTED[PRINTED["table"] == "12"].assign(control_mean=""), cells(plain, 2))


def test_table_12_is_matched_with_the_slip_of_its_authors(liberia):
    """Meaning to correct one odd record, they set the count of partners to 1 for all others."""
    data, schema = liberia
    slipped = data.assign(mpartners_b=data["mpartners_b"].where(odd_record(data), 1.0))
    assert table_12(slipped, schema) == ([], 216)


def test_table_12_without_the_slip_differs_in_25_cells_of_the_full_block(liberia):
    data, schema = liberia
    corrected = data.assign(mpartners_b=data["mpartners_b"].mask(odd_record(data), 1.0))
    for version in (data, corrected):
        wrong, total = table_12(version, schema)
        assert total == 216
        assert len(wrong) == 25
        assert {panel for panel, *_ in wrong} == {"Full Baseline"}
