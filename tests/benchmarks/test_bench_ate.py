"""How long a private effect takes at a million rows; the baseline is the difference in means."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.estimate.ate.model import PrivateATE
from dprct.schema import Column, Schema

GROUP = "effect, 1,000,000 rows"
SCHEMA = Schema((Column("y", bounds=(0, 1), missing=()), Column("t", "byte", missing=())))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"y": rng.uniform(size=1_000_000), "t": rng.integers(0, 2, 1_000_000).astype(float)}
    )


@pytest.mark.benchmark(group=GROUP)
def test_fit_once_the_frame_is_in_memory(benchmark, rows):
    model = PrivateATE.from_formula("y ~ t", rows, SCHEMA)
    model.fit(epsilon=1, rng=1).summary()  # c(rho) is computed once per epsilon
    result = benchmark(lambda: model.fit(epsilon=1))
    assert abs(result.params["t"]) < 0.01


@pytest.mark.benchmark(group=GROUP)
def test_the_door(benchmark, rows):
    assert benchmark(lambda: PrivateATE.from_formula("y ~ t", rows, SCHEMA)).n == 1_000_000


@pytest.mark.benchmark(group=GROUP)
def test_baseline_difference_in_means(benchmark, rows):
    found = benchmark(lambda: rows.groupby("t")["y"].agg(["mean", "var"]))
    assert len(found) == 2
