"""How long calibrated residuals take; the baseline is the reader's own regression."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from dprct.release.calibrated.residuals import Specification, residuals

CASES = {
    "1,000 rows, 2 arms, 10 columns": (1_000, 2, 8),
    "1,000 rows, 4 arms, 131 columns": (1_000, 4, 127),
    "100,000 rows, 2 arms, 131 columns": (100_000, 2, 129),
    "100,000 rows, 5 arms, 131 columns": (100_000, 5, 126),
}


def case(name):
    n, arms, p = CASES[name]
    rng = np.random.default_rng(1)
    arm = rng.permutation(np.arange(n) % arms)
    T = (arm[:, None] == np.arange(1, arms)).astype(float)
    W = np.column_stack([T, np.ones(n), rng.normal(size=(n, p))])
    sigma = (1 + np.diag(np.linspace(1, 2, arms - 1))) * arms / n
    return Specification.of(W, arms - 1, sigma), rng.normal(size=n)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in CASES]
)
def test_residuals(benchmark, name):
    specification, start = case(name)
    found = benchmark(lambda: residuals([specification], start))
    assert found.exact == (True,)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in CASES]
)
def test_baseline_one_regression_in_statsmodels(benchmark, name):
    specification, start = case(name)
    fit = benchmark(lambda: sm.OLS(start, specification.design).fit(cov_type="HC1").bse)
    assert np.isfinite(fit).all()
