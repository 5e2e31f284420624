"""How long a private synthetic control takes; the baseline is NumPy's solve of the ridge system."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.estimate.synthetic_control.model import SyntheticControl

GROUP = "synthetic control, 1,000 donors, 500 periods"
T0 = 400


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, (1000, 500)), rng.uniform(-1, 1, 500)


@pytest.mark.benchmark(group=GROUP)
def test_fit(benchmark, panel):
    X, y = panel
    model = SyntheticControl.from_arrays(X, y, T0, 1.0)
    assert len(benchmark(lambda: model.fit(epsilon=1)).effect) == 100


@pytest.mark.benchmark(group=GROUP)
def test_the_door(benchmark, panel):
    X, y = panel
    assert benchmark(lambda: SyntheticControl.from_arrays(X, y, T0, 1.0)).n == 1000


@pytest.mark.benchmark(group=GROUP)
def test_baseline_solve(benchmark, panel):
    X, y = panel[0][:, :T0], panel[1][:T0]
    system = X @ X.T + 10 * T0 * np.eye(1000)
    assert len(benchmark(lambda: np.linalg.solve(system, X @ y))) == 1000
