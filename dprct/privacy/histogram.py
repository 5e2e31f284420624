"""Histograms over every cell of a public domain, none of which is ever stored but the kept ones.

`SparseHistogram` has the law of the dense mechanism: discrete Laplace noise on each of the K
counts, then a public threshold.  Cells that nobody is in are not visited one by one: how many of
them pass the threshold is one binomial draw, which ones is a draw of distinct empty cells, and by
how much is a draw from the tail.  K may be 1e15 or 1e60.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.aggregate import MOVED_ROWS, CellCounts, _open
from dprct.privacy.binomial import Tail
from dprct.privacy.budget import Budget
from dprct.privacy.calibration import laplace_scale
from dprct.privacy.cells import cell_digits, cell_indices, distinct_empty_cells
from dprct.privacy.rules import Charge
from dprct.privacy.thresholds import (
    lone_cell_seen,
    pure_threshold,
    spurious_rows,
    stability_threshold,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.privacy.budget import Real
    from dprct.privacy.cells import IntArray
    from dprct.privacy.guarantee import Relation
    from dprct.privacy.noise import NoiseSource

_LARGEST_COUNT = 2**62
_INT64_PRODUCTS = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class HistogramRelease:
    """The explicit list of released cells, in the order of their index.

    Parameters
    ----------
    codes : array of int64, shape (m, p)
        Digits of each released cell.
    counts : array of int64, shape (m,)
        Noisy counts, each at least ``threshold``.
    radices : tuple of int, length p
    threshold : int
        Public.
    simulation : bool
        A seed was given: no guarantee.

    Notes
    -----
    Cells are sorted by index (the first column varies slowest), so that the order does not tell
    occupied cells from empty ones.
    """

    codes: IntArray
    counts: IntArray
    radices: tuple[int, ...]
    threshold: int
    simulation: bool


@dataclass(frozen=True, slots=True)
class SparseHistogram:
    """Noisy counts of all K cells that reach a public threshold: pure differential privacy.

    Parameters
    ----------
    epsilon : number
        Above 0.
    cells : int
        K, the number of cells of the public domain; any size.
    n : int
        Public number of rows; it sets the threshold.
    relation : {"replace-one", "replace-one-design-public", "add-remove"}
        Replacing a row moves two counts by one (s = 2), adding one moves one (s = 1).

    Notes
    -----
    Law, exactly: every cell c gets count_c + Z_c, Z_c independent discrete Laplace with
    a = exp(-epsilon / s); released are the cells with count_c + Z_c >= t.  Dense noise is pure
    epsilon under the relation, thresholding is post-processing.  For an empty cell
    P(Z >= t) = a^t / (1 + a), and Z given Z >= t is t - 1 + Geometric(1 - a).

    t is the smallest integer >= 1 at which empty cells contribute at most n / 20 rows in
    expectation: K a^t / (1 + a) (t - 1 + 1 / (1 - a)) <= n / 20.

    References
    ----------
    ALGORITHMS.md, section 1.  Cormode, Procopiuc, Srivastava and Tran (2012), "Differentially
    Private Summaries for Sparse Data", for the idea of drawing the empty cells that pass.

    Examples
    --------
    >>> mechanism = SparseHistogram(1, cells=10**15, n=1000)
    >>> mechanism.threshold, round(mechanism.expected_spurious_rows, 1)
    (69, 45.6)
    >>> print(mechanism.budget)
    epsilon=1
    """

    epsilon: Fraction
    cells: int
    n: int
    relation: Relation = "replace-one"
    scale: float = field(init=False, repr=False, compare=False)
    """Scale of the noise; the law is exact for this double."""

    def __init__(
        self, epsilon: Real, cells: int, n: int, relation: Relation = "replace-one"
    ) -> None:
        object.__setattr__(self, "epsilon", Budget.asked(epsilon).epsilon)
        object.__setattr__(self, "cells", _at_least_one(cells, "cells"))
        object.__setattr__(self, "n", _at_least_one(n, "n"))
        object.__setattr__(self, "relation", _known(relation))
        object.__setattr__(self, "scale", laplace_scale(MOVED_ROWS[relation], self.epsilon))

    @property
    def tail(self) -> Tail:
        """The event that an empty cell is released; ``tail.exponent`` is -log a, exactly."""
        return Tail(1 / Fraction(self.scale), self.threshold)

    @property
    def threshold(self) -> int:
        """The public threshold t; a combination shared by fewer people is likely to disappear."""
        return pure_threshold(self.cells, self.n, 1 / Fraction(self.scale))

    @property
    def expected_spurious_rows(self) -> float:
        """Expected sum of the released counts of cells that nobody is in, at most n / 20."""
        return float(spurious_rows(self.cells, 1 / Fraction(self.scale), self.threshold))

    @property
    def budget(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    def cost(self) -> Charge:
        """Return the pure charge."""
        return Charge(self.budget, "pure")

    def describe(self) -> str:
        """Return the law in one sentence, from public numbers."""
        return (
            f"discrete Laplace noise of scale {self.scale:.6g} on all {self.cells} cells, "
            f"of which those with a noisy count of {self.threshold} or more are released "
            f"({self.budget})"
        )

    def release(self, counts: CellCounts, source: NoiseSource) -> HistogramRelease:
        """Draw the released cells and their noisy counts.

        Parameters
        ----------
        counts : CellCounts
            Over a domain of ``self.cells`` cells and under ``self.relation``.
        source : NoiseSource

        Returns
        -------
        HistogramRelease

        Raises
        ------
        ParameterError
            If the domain or the relation is not the one that was described.
        """
        codes, numbers = _admitted(self, counts)
        scale, tail = self.scale, self.tail
        occupied = cell_indices(codes, counts.radices)
        noisy = numbers + source.discrete_laplace(scale, len(numbers))
        kept = noisy >= tail.threshold
        found = source.binomial(self.cells - len(numbers), tail)
        empty = distinct_empty_cells(self.cells, found, occupied.tolist(), source)
        above = source.geometric(scale, found) + (tail.threshold - 1)
        indices = occupied[kept].tolist() + empty
        values = noisy[kept].tolist() + above.tolist()
        return _listed(indices, values, counts.radices, tail.threshold, source)


@dataclass(frozen=True, slots=True)
class StabilityHistogram:
    """Noisy counts of the occupied cells that reach a public threshold: (epsilon, delta).

    Parameters
    ----------
    epsilon : number
        Above 0.
    delta : number
        In (0, 1).
    cells : int
        K, the number of cells of the public domain.
    relation : {"replace-one", "replace-one-design-public", "add-remove"}

    Notes
    -----
    Only occupied cells get noise, a = exp(-epsilon / s).  A cell with one row, which a neighbour
    does not have, is seen with probability a^(t-1) / (1 + a); everything else has log ratio at
    most epsilon.  The guarantee is exactly (epsilon, a^(t-1) / (1 + a)), by enumeration, and t is
    the smallest integer >= 1 that brings it to delta: t = 1 + ceil((s / epsilon)
    ln(1 / (delta (1 + a)))), at least 1.

    References
    ----------
    ALGORITHMS.md, section 1.  Korolova, Kenthapadi, Mishra and Ntoulas (2009), "Releasing Search
    Queries and Clicks Privately", for thresholds of this kind.

    Examples
    --------
    >>> mechanism = StabilityHistogram(1, 1e-6, cells=10**15)
    >>> mechanism.threshold, mechanism.delta_attained <= 1e-6
    (28, True)
    """

    epsilon: Fraction
    delta: Fraction
    cells: int
    relation: Relation = "replace-one"
    scale: float = field(init=False, repr=False, compare=False)
    """Scale of the noise; the law is exact for this double."""

    def __init__(
        self, epsilon: Real, delta: Real, cells: int, relation: Relation = "replace-one"
    ) -> None:
        budget = Budget.asked(epsilon, delta)
        if not budget.delta:
            raise ParameterError(
                "delta=0 needs SparseHistogram; the stability form needs delta > 0"
            )
        object.__setattr__(self, "epsilon", budget.epsilon)
        object.__setattr__(self, "delta", budget.delta)
        object.__setattr__(self, "cells", _at_least_one(cells, "cells"))
        object.__setattr__(self, "relation", _known(relation))
        object.__setattr__(self, "scale", laplace_scale(MOVED_ROWS[relation], self.epsilon))

    @property
    def threshold(self) -> int:
        """The public threshold t."""
        return stability_threshold(self.delta, 1 / Fraction(self.scale))

    @property
    def delta_attained(self) -> float:
        """The delta that really holds, rounded up."""
        bound = float(lone_cell_seen(1 / Fraction(self.scale), self.threshold))
        return math.nextafter(bound, 1.0)

    @property
    def budget(self) -> Budget:
        """The (epsilon, delta) that was asked for."""
        return Budget(self.epsilon, self.delta)

    def cost(self) -> Charge:
        """Return the approximate charge."""
        return Charge(self.budget, "approximate")

    def describe(self) -> str:
        """Return the law in one sentence, from public numbers."""
        return (
            f"discrete Laplace noise of scale {self.scale:.6g} on the occupied cells, of which "
            f"those with a noisy count of {self.threshold} or more are released ({self.budget})"
        )

    def release(self, counts: CellCounts, source: NoiseSource) -> HistogramRelease:
        """Draw the released cells and their noisy counts; as in `SparseHistogram.release`."""
        codes, numbers = _admitted(self, counts)
        noisy = numbers + source.discrete_laplace(self.scale, len(numbers))
        kept = noisy >= self.threshold
        indices = cell_indices(codes[kept], counts.radices).tolist()
        return _listed(indices, noisy[kept].tolist(), counts.radices, self.threshold, source)


def draw_rows(release: HistogramRelease, n: int, rng: np.random.Generator) -> IntArray:
    """Draw synthetic rows in proportion to the released counts: post-processing.

    Parameters
    ----------
    release : HistogramRelease
    n : int
        How many rows.
    rng : numpy.random.Generator

    Returns
    -------
    array of int64, shape (n, p)
        Digits; uniform over the whole public domain if no cell was released.

    Examples
    --------
    >>> one = HistogramRelease(np.array([[1, 0]]), np.array([9]), (2, 3), 4, False)
    >>> draw_rows(one, 2, np.random.default_rng(1)).tolist()
    [[1, 0], [1, 0]]
    """
    if len(release.counts) == 0:
        return np.column_stack([rng.integers(radix, size=n) for radix in release.radices])
    rows: IntArray = release.codes[weighted_indices(release.counts, n, rng)]
    return rows


def weighted_indices(weights: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Draw ``n`` indices in proportion to non-negative integer weights, not all of them zero.

    Notes
    -----
    Systematic sampling: index j appears ``n w_j / sum(w)`` times, rounded up or down at random, in
    random order.  Its expectation is that of independent draws; it adds no sampling noise of its
    own to what was released.  All of it is integer arithmetic.

    Examples
    --------
    >>> weighted_indices(np.array([0, 3, 0]), 2, np.random.default_rng(1)).tolist()
    [1, 1]
    """
    ends = np.cumsum(weights)
    total = int(ends[-1])
    start = int(rng.integers(total))
    if total * (n + 1) >= _INT64_PRODUCTS:
        ends = ends.astype(object)
    reached = ((ends * n + start) // total).astype(np.int64)
    drawn: IntArray = np.repeat(np.arange(len(weights)), np.diff(reached, prepend=0))
    return rng.permutation(drawn)


def _admitted(
    mechanism: SparseHistogram | StabilityHistogram, counts: CellCounts
) -> tuple[IntArray, IntArray]:
    """Open the counts if they are over the domain and under the relation described."""
    if not isinstance(counts, CellCounts):
        raise ParameterError(f"got {type(counts).__name__}; a histogram releases CellCounts")
    if counts.relation != mechanism.relation or counts.cells != mechanism.cells:
        raise ParameterError(
            f"counts are over {counts.cells} cells under {counts.relation}, the mechanism was "
            f"described for {mechanism.cells} under {mechanism.relation}; make them agree"
        )
    opened: tuple[IntArray, IntArray] = _open(counts)
    return opened


def _listed(
    indices: Sequence[int],
    values: Sequence[int],
    radices: tuple[int, ...],
    threshold: int,
    source: NoiseSource,
) -> HistogramRelease:
    pairs = sorted(zip(indices, values, strict=True))
    return HistogramRelease(
        cell_digits([index for index, _ in pairs], radices),
        np.array([min(value, _LARGEST_COUNT) for _, value in pairs], np.int64),
        radices,
        threshold,
        source.simulation,
    )


def _known(relation: Relation) -> Relation:
    if relation not in MOVED_ROWS:
        raise ParameterError(f"relation={relation!r}; allowed: {', '.join(MOVED_ROWS)}")
    return relation


def _at_least_one(value: int, name: str) -> int:
    if type(value) is not int or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1")
    return value
