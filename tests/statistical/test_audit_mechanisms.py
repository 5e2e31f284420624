"""Every mechanism that claims epsilon is audited at worst-case neighbouring aggregates.

A vector of `DRAWS` coordinates, each shifted by the whole sensitivity on the neighbour, gives
independent draws of the one-coordinate mechanism.  Draws are the real ones (OpenDP, the operating
system's randomness); an audit alarms falsely once in 1e9.  Where a mechanism is tight, the same
audit must also refute the claim that it would make if its noise were 10 % too small; the distance
is at least six standard deviations of the bound.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.privacy.aggregates import CellCounts, IntegerTable, IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.composition import gdp_epsilon, gdp_mu
from dprct.privacy.histograms import HistogramRelease, SparseHistogram, StabilityHistogram
from dprct.privacy.mechanisms import (
    AnalyticGaussian,
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
)
from dprct.privacy.noise import source
from tests.statistical.auditing import AuditResult, lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ALPHA = 1e-9
DRAWS = 100_000
GRID = 2**20 + 1
"""Sensitivity, in grid units, of a statistic rounded to the grid (ALGORITHMS.md, section 0)."""


def shifted(by: int) -> IntegerVector:
    return IntegerVector(
        np.full(DRAWS, by), l1=max(by, 1), l2_squared=max(by, 1) ** 2, relation="replace-one"
    )


def audited(
    mechanism: DiscreteLaplace | DiscreteGaussian | AnalyticGaussian, by: int, delta: float = 0
) -> AuditResult:
    draws = [mechanism.release(shifted(at), source()).units for at in (0, by)]
    return lower_bound(*draws, delta=delta, alpha=ALPHA)


@pytest.mark.parametrize("l1", [1, GRID])
def test_discrete_laplace(l1: int) -> None:
    too_little_for = 2.0
    claim = Fraction(20, 9)
    audit = audited(DiscreteLaplace(claim, l1=l1), l1)
    assert not audit.refutes(float(claim)), audit
    assert audit.refutes(too_little_for), audit
    assert audit.epsilon > 0.8 * claim


CUBES = 20_000


@pytest.mark.parametrize("size", [2, 5])
def test_noise_in_cubes(size: int) -> None:
    """All statistics move at once; the coordinate that is furthest out tells the most."""
    claim, too_little_for, reach = Fraction(20, 9), 1.5, 64
    mechanism = CubeNoise(claim, reach=reach, size=size)

    def furthest(by: int) -> NDArray[np.int64]:
        rows = [IntegerVector(np.full(CUBES, by), l1=reach, relation="replace-one")] * size
        drawn = mechanism.release(IntegerTable(rows, reach=reach), source())
        units = np.array([row.units for row in drawn], np.int64)
        return units[np.abs(units).argmax(axis=0), np.arange(CUBES)]

    audit = lower_bound(furthest(0), furthest(reach), delta=0, alpha=ALPHA)
    assert not audit.refutes(float(claim)), audit
    assert audit.refutes(too_little_for), audit


def test_analytic_gaussian() -> None:
    mechanism = AnalyticGaussian(Budget(1, 0.2), l2_squared=GRID**2, size=DRAWS)
    audit = audited(mechanism, GRID, delta=0.2)
    too_little_for = gdp_epsilon(gdp_mu(1, 0.2) * Fraction(9, 10), 0.2)  # 0.783
    assert not audit.refutes(1), audit
    assert audit.refutes(float(too_little_for)), audit


def test_discrete_gaussian() -> None:
    # the zCDP conversion is not tight, so the bound stays further below the claim
    audit = audited(DiscreteGaussian(Budget(1, 0.2), l2_squared=GRID**2), GRID, delta=0.2)
    assert not audit.refutes(1), audit
    assert audit.epsilon > 0.2


def released(
    mechanism: SparseHistogram | StabilityHistogram,
    counts: list[int],
    score: Callable[[dict[int, int]], float],
    size: int = 8_000,
) -> list[float]:
    cells = [k for k, count in enumerate(counts) if count]
    aggregate = CellCounts(
        [[k] for k in cells], [counts[k] for k in cells], radices=[4], relation="replace-one"
    )
    return [score(_by_cell(mechanism.release(aggregate, source()))) for _ in range(size)]


def _by_cell(release: HistogramRelease) -> dict[int, int]:
    return dict(zip(release.codes[:, 0].tolist(), release.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "mechanism",
    [SparseHistogram(4, cells=4, n=16), StabilityHistogram(4, 1e-3, cells=4)],
    ids=lambda m: type(m).__name__,
)
def test_histograms_where_a_row_moves_between_occupied_cells(
    mechanism: SparseHistogram | StabilityHistogram,
) -> None:
    def score(cells: dict[int, int]) -> float:  # 2 where both counts speak for the first input
        return float(cells.get(0, 0) >= 8) + float(cells.get(1, 0) <= 7)

    draws = [released(mechanism, counts, score) for counts in ([8, 7, 1], [7, 8, 1])]
    audit = lower_bound(*draws, delta=float(mechanism.budget.delta), alpha=ALPHA)
    assert not audit.refutes(4), audit
    assert audit.epsilon > 0.6 * 4


def test_a_histogram_hides_who_is_alone_in_a_cell() -> None:
    mechanism = StabilityHistogram(1, 0.2, cells=4)

    def score(cells: dict[int, int]) -> float:
        return float(2 in cells)

    draws = [released(mechanism, counts, score, 3_000) for counts in ([8, 7, 1], [9, 7, 0])]
    assert not lower_bound(*draws, delta=0.2, alpha=ALPHA).refutes(1)
    assert lower_bound(*draws, delta=0.0, alpha=ALPHA).refutes(1)  # delta is needed
