"""Private IPW against reading and sorting the same table: ratios, not seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct import IPW


def table(n: int, p: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, p))
    t = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
    return X, t, (0.2 * t + 0.4 * X[:, 0]).clip(-1, 1)


@pytest.mark.parametrize(("n", "p"), [(10_000, 5), (1_000_000, 20)])
@pytest.mark.parametrize("what", ["fit", "with a seed", "baseline: sort every column"])
def test_fit(benchmark: Any, n: int, p: int, what: str) -> None:
    X, t, y = table(n, p)
    benchmark.group = f"private IPW, n={n:,}, p={p}"
    if what.startswith("baseline"):
        benchmark.pedantic(lambda: np.sort(X, axis=0), rounds=3)
        return
    model = IPW.from_arrays(X, t, y, bounds=(-1, 1), x_bounds=(-1, 1), estimator="ipw")
    # with a seed, rows are put in an order of their own first; a release does not sort
    seed = None if what == "fit" else 1
    found = benchmark.pedantic(lambda: model.fit(1, 1e-7, rng=seed), rounds=3)
    assert abs(found.params.iloc[0] - 0.2) < 0.5
