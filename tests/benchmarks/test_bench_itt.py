"""How long a paper's main table takes; the baseline is one regression at a time."""

from __future__ import annotations

import pytest

import dprct

OUTCOMES = [
    "fam_asb_lt",
    "drugssellever_ltav",
    "stealnb_ltav",
    "disputes_all_z_ltav",
    "carryweapon_ltav",
    "arrested_ltav",
    "asbhostilstd_ltav",
    "domabuse_z_ltav",
]
ARMS = ["tpassonly", "cashassonly", "tpcashass"]
BLOCKS = ["tp_strata_alt", "cg_strata"]
GROUP = "table of 8 outcomes, 3 arms, 131 columns, n=947"


@pytest.fixture(scope="module")
def liberia(shared):
    data, schema = dprct.read_dta(shared / "data" / "liberia" / "liberia_round5.dta")
    return data, schema, [name for name in data.columns if name.endswith("_b")]


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.parametrize("adjust", ["bonferroni", "romano-wolf"])
def test_table_of_effects(benchmark, liberia, adjust):
    data, schema, baseline = liberia
    table = benchmark(
        dprct.itt_table,
        data,
        schema,
        outcomes=OUTCOMES,
        arms=ARMS,
        covariates=baseline,
        blocks=BLOCKS,
        adjust=adjust,
    )
    assert len(table.estimates) == 24


@pytest.mark.benchmark(group=GROUP)
def test_baseline_one_regression_at_a_time(benchmark, liberia):
    data, schema, baseline = liberia
    right = " + ".join([*ARMS, *baseline, *(f"C({name})" for name in BLOCKS)])

    def regressions():
        return [dprct.ols(f"{name} ~ {right}", data, schema) for name in OUTCOMES]

    assert len(benchmark(regressions)) == 8
