"""How long a custodian waits: ten releases of 5,000 rows; the baseline reads and sums the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.custodian import risk, utility

GROUP = "custodian, 10 releases of 5,000 rows"


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(5_000, 9)).round(2), columns=[f"x{k}" for k in range(9)])
    rows["treat"] = rng.integers(0, 2, 5_000).astype(float)
    return rows


@pytest.fixture(scope="module")
def tables():
    return [table(seed) for seed in range(12)]


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.filterwarnings("ignore:this compares with the confidential data")
def test_utility_of_two_outcomes(benchmark, tables):
    formula = "x0 + x1 ~ treat + x2 + x3 + x4 + x5"
    report = benchmark(lambda: utility(tables[0], tables[2:], formula=formula))
    assert len(report.to_frame()) == 10 * 2 * 5


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.filterwarnings("ignore:this compares with the confidential data")
def test_risk_with_a_holdout(benchmark, tables):
    report = benchmark.pedantic(
        lambda: risk(tables[0], tables[2:], keys=["treat"], holdout=tables[1]), rounds=2
    )
    assert len(report.to_frame()) == 10


@pytest.mark.benchmark(group=GROUP)
def test_baseline_sums_of_all_cells(benchmark, tables):
    assert np.isfinite(benchmark(lambda: sum(rows.sum().sum() for rows in tables)))
