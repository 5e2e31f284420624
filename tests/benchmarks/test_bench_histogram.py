"""How long a strict histogram takes; the baseline is drawing its noise on occupied cells alone."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.privacy.aggregates import CellCounts
from dprct.privacy.histograms import SparseHistogram, draw_rows
from dprct.privacy.noise import source

N = 1000
DOMAINS = {
    "K=1e4": (10,) * 4,
    "K=1e15": (10,) * 15,
    "K=1e30": (1000,) * 10,
}


def singletons(radices: tuple[int, ...]) -> CellCounts:
    """A thousand people, each alone in a cell as far as the domain has room."""
    codes = np.random.default_rng(0).integers(0, radices[0], (N, len(radices)))
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    return CellCounts(cells, counts, radices=radices, relation="replace-one")


@pytest.mark.benchmark(group="strict histogram, n=1000")
@pytest.mark.parametrize("radices", DOMAINS.values(), ids=DOMAINS.keys())
def test_release_and_rows(benchmark, radices):
    secret = singletons(radices)
    mechanism = SparseHistogram(1, secret.cells, N)

    def protect():
        noise = source()
        return draw_rows(mechanism.release(secret, noise), N, noise.post_processing_rng())

    assert benchmark(protect).shape == (N, len(radices))


@pytest.mark.benchmark(group="strict histogram, n=1000")
def test_baseline_noise_on_occupied_cells(benchmark):
    assert len(benchmark(source().discrete_laplace, 2.0, N)) == N
