"""How long the published histogram takes on the Liberia file; the baseline copies its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import read_dta
from dprct.published import MVHistogram


@pytest.fixture
def liberia(shared):
    return read_dta(shared / "data" / "liberia" / "liberia_round5.dta")


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_bind_and_protect(benchmark, liberia):
    data, schema = liberia
    release = benchmark(lambda: MVHistogram(data, schema).fit(epsilon=1))
    assert release.protected.shape == (947, 71)


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_protect_once_bound(benchmark, liberia):
    model = MVHistogram(*liberia)
    assert benchmark(lambda: model.fit(epsilon=1)).protected.shape == (947, 71)


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_baseline_a_bootstrap_of_the_rows(benchmark, liberia):
    data, _ = liberia
    rng = np.random.default_rng(1)
    drawn = benchmark(lambda: data.sample(frac=1, replace=True, random_state=rng))
    assert isinstance(drawn, pd.DataFrame)
