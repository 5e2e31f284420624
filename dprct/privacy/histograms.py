"""Histograms over every cell of a public domain, none of which is ever stored but the kept ones.

`SparseHistogram` has the law of the dense mechanism: discrete Laplace noise on each of the K
counts, then a public threshold.  Cells that nobody is in are not visited one by one: how many of
them pass the threshold is one binomial draw, which ones is a draw of distinct empty cells, and by
how much is a draw from the tail.  K may be 1e15 or 1e60.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.aggregates import (
    MOVED_ROWS,
    CellCounts,
    IntegerVector,
    _open,
    cell_digits,
    cell_indices,
    checked_radices,
    distinct_empty_cells,
)
from dprct.privacy.budget import Budget
from dprct.privacy.composition import Charge
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace, Pure, laplace_scale
from dprct.privacy.noise import Tail, interval_context
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dprct.privacy.aggregates import IntArray
    from dprct.privacy.budget import Real, Relation
    from dprct.privacy.noise import NoiseSource


# Below which noisy count a histogram's cell is dropped: functions of public numbers.

SPURIOUS_SHARE = Fraction(1, 20)
"""Rows that the noise of empty cells may add up to, as a share of n."""

_DIGITS = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
_FAR = 1 << 16


@lru_cache(maxsize=256)
def pure_threshold(cells: int, n: int, exponent: Fraction) -> int:
    """Smallest t >= 1 at which empty cells add n / 20 rows or fewer, in expectation.

    ``exponent`` is ``-log alpha`` of the discrete Laplace noise.

    Examples
    --------
    >>> pure_threshold(10**9, 1000, Fraction(1, 2))
    41
    """
    share = n * SPURIOUS_SHARE
    allowed = _DIGITS.divide(Decimal(share.numerator), Decimal(share.denominator))
    return smallest(lambda t: spurious_rows(cells, exponent, t) <= allowed)


def spurious_rows(cells: int, exponent: Fraction, threshold: int) -> Decimal:
    """Return the expected released count of ``cells`` empty cells, to 40 digits at least.

    Notes
    -----
    ``K alpha^t / (1 + alpha) (t - 1 + 1 / (1 - alpha))``; it falls with t, since the ratio of
    neighbouring values is at most ``alpha (2 - alpha) < 1``.

    Examples
    --------
    >>> round(float(spurious_rows(10**9, Fraction(1, 2), 41)), 1)
    33.1
    """
    with localcontext(_DIGITS):
        rate = Decimal(exponent.numerator) / exponent.denominator
        alpha = (-rate).exp()
        mean_count = threshold - 1 + 1 / (1 - alpha)
        return cells * (-rate * threshold).exp() / (1 + alpha) * mean_count


@lru_cache(maxsize=256)
def stability_threshold(delta: Fraction, exponent: Fraction) -> int:
    """Return the smallest t >= 1 at which a lone row is seen with probability ``delta`` at most.

    Examples
    --------
    >>> stability_threshold(Fraction(1, 10**6), Fraction(1, 2))
    28
    """
    return smallest(lambda t: lone_cell_seen(exponent, t) <= delta)


def lone_cell_seen(exponent: Fraction, threshold: int) -> Fraction:
    """Return ``alpha^(t-1) / (1 + alpha)``, rounded up at 40 digits (or to 2^-65536).

    The probability that a cell with one row reaches the threshold ``t``.

    Examples
    --------
    >>> round(float(lone_cell_seen(Fraction(1, 2), 4)), 6)
    0.138889
    """
    if exponent * (threshold - 1) > _FAR:  # the exact power would not fit into memory
        return Fraction(1, 1 << _FAR)
    context = interval_context(160)
    rate = context.mpf(exponent.numerator) / context.mpf(exponent.denominator)
    seen = context.exp(-rate * (threshold - 1)) / (1 + context.exp(-rate))
    _, mantissa, power, _ = seen._mpi_[1]
    upper: Fraction = Fraction(int(mantissa)) * Fraction(2) ** int(power)
    return upper


def smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest t >= 1 at which a condition holds that then holds for good."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


_LARGEST_COUNT = 2**62
_INT64_PRODUCTS = 2**63


@dataclass(frozen=True, eq=False)
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


class CellHistogram(ABC):
    """Noisy counts of the cells of a public domain that reach a public threshold."""

    __slots__ = ()

    epsilon: Fraction
    cells: int
    relation: Relation
    scale: float

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of a count, before the threshold."""
        return DiscreteLaplace(self.epsilon, MOVED_ROWS[self.relation]).noise_sd

    @property
    @abstractmethod
    def threshold(self) -> int:
        """The public threshold t; a combination shared by fewer people is likely to disappear."""

    @abstractmethod
    def describe(self) -> str:
        """Return the law in one sentence, from public numbers."""

    def _admitted(self, counts: CellCounts) -> tuple[IntArray, IntArray]:
        """Open the counts if they are over the domain and under the relation described."""
        if not isinstance(counts, CellCounts):
            raise ParameterError(
                f"got ``{type(counts).__name__}``; a histogram releases CellCounts"
            )
        if counts.relation != self.relation or counts.cells != self.cells:
            raise ParameterError(
                f"counts are over {counts.cells} cells under {counts.relation}, the mechanism was "
                f"described for {self.cells} under {self.relation}; make them agree"
            )
        opened: tuple[IntArray, IntArray] = _open(counts)
        return opened


@dataclass(frozen=True)
class SparseHistogram(CellHistogram, Pure):
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
    docs/methods.md, section 1.  Cormode, Procopiuc, Srivastava and Tran (2012), "Differentially
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
        """The public threshold t."""
        return pure_threshold(self.cells, self.n, 1 / Fraction(self.scale))

    @property
    def expected_spurious_rows(self) -> float:
        """Expected sum of the released counts of cells that nobody is in, at most n / 20."""
        return float(spurious_rows(self.cells, 1 / Fraction(self.scale), self.threshold))

    def describe(self) -> str:
        """Return the law in one sentence, from public numbers."""
        return (
            f"discrete Laplace noise of scale {self.scale:.6g} on all {self.cells} cells, "
            f"of which those with a noisy count of {self.threshold} or more are released "
            f"({self.budget})"
        )

    def release(self, counts: CellCounts, source: NoiseSource) -> HistogramRelease:
        """Draw the released cells and their noisy counts."""
        codes, numbers = self._admitted(counts)
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


@dataclass(frozen=True)
class StabilityHistogram(CellHistogram):
    """Noisy counts of the occupied cells that reach a public threshold: (epsilon, delta).

    Parameters
    ----------
    epsilon : number
        Above 0.
    delta : number
        In (0, 1).
    cells : int
        K, the number of cells of the public domain.

    Notes
    -----
    Only occupied cells get noise, a = exp(-epsilon / s).  A cell with one row, which a neighbour
    does not have, is seen with probability a^(t-1) / (1 + a); everything else has log ratio at
    most epsilon.  The guarantee is exactly (epsilon, a^(t-1) / (1 + a)), by enumeration, and t is
    the smallest integer >= 1 that brings it to delta: t = 1 + ceil((s / epsilon)
    ln(1 / (delta (1 + a)))), at least 1.

    References
    ----------
    docs/methods.md, section 1.  Korolova, Kenthapadi, Mishra and Ntoulas (2009), "Releasing Search
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
                "``delta=0`` needs SparseHistogram; the stability form needs delta > 0"
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
        """Draw the released cells and their noisy counts."""
        codes, numbers = self._admitted(counts)
        noisy = numbers + source.discrete_laplace(self.scale, len(numbers))
        kept = noisy >= self.threshold
        indices = cell_indices(codes[kept], counts.radices).tolist()
        return _listed(indices, noisy[kept].tolist(), counts.radices, self.threshold, source)


def draw_rows(release: HistogramRelease, n: int, rng: np.random.Generator) -> IntArray:
    """Draw synthetic rows in proportion to the released counts: post-processing.

    Parameters
    ----------
    n : int
        How many rows.

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
    rng.shuffle(drawn)
    return drawn


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
        raise ParameterError(f"``relation={relation!r}``; allowed: {', '.join(MOVED_ROWS)}")
    return relation


def _at_least_one(value: int, name: str) -> int:
    if type(value) is not int or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1")
    return value


# One-way histograms of many columns, released together with public bins.


@dataclass(frozen=True, eq=False)
class OneWayRelease:
    """Noisy counts of every level of every column.

    Parameters
    ----------
    counts : tuple of arrays of int64
        ``counts[j]`` has one entry per level of column j; noise may make it negative.
    noise_sd : float
        Standard deviation of the noise of each count; public.
    simulation : bool
        A seed was given: no guarantee.
    """

    counts: tuple[IntArray, ...]
    noise_sd: float
    simulation: bool


@dataclass(frozen=True)
class OneWayHistograms:
    """Noise on the p one-way histograms of p columns, jointly.

    Parameters
    ----------
    epsilon : number
        Above 0; for all columns together.
    radices : sequence of int, length p
        Public number of levels of each column.
    delta : number, default 0
        0: discrete Laplace noise; above 0: Gaussian noise by the analytic calibration.

    Notes
    -----
    Replacing one row moves one count down and one up in each of the p histograms: joint L1
    sensitivity 2p, L2 sensitivity sqrt(2p) (add-remove: p and sqrt(p)).  Noise goes on every
    level, so no threshold is needed.

    Examples
    --------
    >>> mechanism = OneWayHistograms(1, radices=[2, 5, 3])
    >>> print(mechanism.describe())
    discrete Laplace noise of scale 6 on sums of L1 sensitivity 6 (epsilon=1)
    """

    epsilon: Fraction
    radices: tuple[int, ...]
    delta: Fraction = Fraction(0)
    relation: Relation = "replace-one"
    mechanism: DiscreteLaplace | AnalyticGaussian = field(init=False, repr=False, compare=False)
    """The mechanism that draws the noise."""

    def __init__(
        self,
        epsilon: Real,
        radices: Sequence[int],
        delta: Real = 0,
        relation: Relation = "replace-one",
    ) -> None:
        budget = Budget.asked(epsilon, delta)
        object.__setattr__(self, "epsilon", budget.epsilon)
        object.__setattr__(self, "radices", checked_radices(radices))
        object.__setattr__(self, "delta", budget.delta)
        object.__setattr__(self, "relation", _known(relation))
        object.__setattr__(self, "mechanism", self._made())

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of a count."""
        return self.mechanism.noise_sd

    @property
    def sensitivity(self) -> int:
        """Joint L1 sensitivity; also the square of the joint L2 sensitivity."""
        return MOVED_ROWS[self.relation] * len(self.radices)

    def _made(self) -> DiscreteLaplace | AnalyticGaussian:
        if self.delta:
            return AnalyticGaussian(self.budget, self.sensitivity, sum(self.radices))
        return DiscreteLaplace(self.epsilon, self.sensitivity)

    @property
    def budget(self) -> Budget:
        """The (epsilon, delta) of all columns together."""
        return Budget(self.epsilon, self.delta)

    def cost(self) -> Charge:
        """Return the charge of the mechanism that draws the noise."""
        return self.mechanism.cost()

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return self.mechanism.describe()

    def aggregate(self, counts: Sequence[IntArray]) -> IntegerVector:
        """Seal the confidential one-way counts with their joint sensitivity.

        Parameters
        ----------
        counts : sequence of arrays of int
            ``counts[j]`` has ``radices[j]`` entries.
        """
        if tuple(len(column) for column in counts) != self.radices:
            raise ParameterError("counts must have one entry per declared level of each column")
        joint = self.sensitivity
        stacked = np.concatenate([np.asarray(column) for column in counts])
        return IntegerVector(stacked, l1=joint, l2_squared=joint, l_inf=1, relation=self.relation)

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> OneWayRelease:
        """Add the noise.

        Parameters
        ----------
        aggregate : IntegerVector
            From :meth:`aggregate`.
        """
        if aggregate.size != sum(self.radices) or aggregate.relation != self.relation:
            raise ParameterError(
                "the aggregate is not of the declared levels and relation; seal it with aggregate()"
            )
        noisy = self.mechanism.release(aggregate, source)
        ends = accumulate(self.radices, initial=0)
        columns = tuple(noisy.units[start:stop].astype(np.int64) for start, stop in pairwise(ends))
        return OneWayRelease(columns, noisy.noise_sd, noisy.simulation)


def draw_independent_rows(release: OneWayRelease, n: int, rng: np.random.Generator) -> IntArray:
    """Draw columns independently in proportion to the positive part: post-processing.

    Parameters
    ----------
    n : int
        How many rows.

    Returns
    -------
    array of int64, shape (n, p)
        Digits; a column without a positive count is uniform over its levels.

    Examples
    --------
    >>> sure = OneWayRelease((np.array([-1, 4]), np.array([7, 0, -2])), 1.0, False)
    >>> draw_independent_rows(sure, 2, np.random.default_rng(1)).tolist()
    [[1, 0], [1, 0]]
    """
    columns = []
    for noisy in release.counts:
        positive = np.maximum(noisy, 0)
        weights = positive if positive.any() else np.ones_like(positive)
        columns.append(weighted_indices(weights, n, rng))
    return np.column_stack(columns)
