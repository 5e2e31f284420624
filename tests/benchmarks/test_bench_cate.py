"""How long a private CATE takes at a million rows; the baseline is NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.estimate.cate.model import CATE
from dprct.schema import Column, Schema

GROUP = "effect function, 1,000,000 rows, 20 features"
ROWS = 1_000_000
NAMES = [f"x{j}" for j in range(20)]
SCHEMA = Schema(
    (
        Column("y", bounds=(-5, 5), missing=()),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        *(Column(name, bounds=(-1, 1), missing=()) for name in NAMES),
    )
)
ASKED = {"outcome": "y", "features": NAMES, "treatment": "t"}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    X, t = rng.uniform(-1, 1, (ROWS, 20)), rng.integers(0, 2, ROWS).astype(float)
    y = np.clip(X[:, 0] * t + rng.normal(size=ROWS), -5, 5)
    return pd.DataFrame(X, columns=NAMES).assign(t=t, y=y)


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.parametrize("propensity", [0.5, None])
def test_fit(benchmark, people, propensity):
    model = CATE(people, SCHEMA, propensity=propensity, **ASKED)
    result = benchmark.pedantic(lambda: model.fit(1, 1e-6), rounds=2)
    assert abs(result.average) < 0.1


@pytest.mark.benchmark(group=GROUP)
def test_the_door(benchmark, people):
    assert benchmark.pedantic(lambda: CATE(people, SCHEMA, **ASKED), rounds=1).n == ROWS


@pytest.mark.benchmark(group=GROUP)
def test_baseline_least_squares(benchmark, people):
    X, y = people[NAMES].to_numpy(), people["y"].to_numpy()
    assert len(benchmark.pedantic(lambda: np.linalg.lstsq(X, y, rcond=None)[0], rounds=2)) == 20
