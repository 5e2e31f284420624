"""The one door of strict methods to confidential rows.

Every function here computes an aggregate in exact integer arithmetic and returns it sealed, with
its sensitivity; only the mechanisms of ``dprct.privacy`` can turn it into a release.  Nothing here
raises, warns or loops because of what the rows hold: values were checked at the door, and
encoding is total.

The rows stay where they are: every step is an expression of the data frame's own engine, and
because the sums are sums of integers, they do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from sys import float_info
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.bins import clipped
from dprct.encode import Coded, prepared_for
from dprct.errors import SchemaError
from dprct.privacy.aggregate import CellCounts, IntegerVector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.arms import Arms
    from dprct.privacy.guarantee import Relation
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame

GRID = 1 << 20
"""Grid steps within the bounds of a clipped column (ALGORITHMS.md, section 0)."""

_DIGIT = 1 << 10


def cell_counts(
    frame: Frame, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> CellCounts:
    """Count the rows in every occupied cell of the public domain.

    Parameters
    ----------
    frame : narwhals frame, n rows
    encodings : sequence of Encoding or ExclusiveEncoding, length p
    relation : str
        Which data sets are neighbours.

    Returns
    -------
    CellCounts
        Sealed.  Replacing one row moves one unit from one cell to another: L1 sensitivity 2, L2
        sensitivity sqrt(2); adding or removing one: 1 and 1.
    """
    names = [f"code{j}" for j in range(len(encodings))]
    codes = prepared_for(frame, encodings).select(
        *[e.expression().alias(name) for e, name in zip(encodings, names, strict=True)]
    )
    counted = codes.group_by(names).agg(nw.len().alias("rows"))
    digits = np.column_stack([counted[name].to_numpy() for name in names])
    order = np.lexsort(digits.T[::-1])  # engines group in any order; a seed must mean the same
    return CellCounts(
        digits[order],
        counted["rows"].to_numpy()[order],
        radices=[encoding.size for encoding in encodings],
        relation=relation,
    )


def one_way_counts(
    frame: Frame, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> IntegerVector:
    """Count the rows at every level of every column, one column after the other.

    Returns
    -------
    IntegerVector
        Sealed, of length ``sum(sizes)``.  Replacing one row moves one unit in each of the p
        columns: L1 sensitivity 2p, L2 sensitivity sqrt(2p), largest coordinate 1 (adding or
        removing: p, sqrt(p), 1).
    """
    table = prepared_for(frame, encodings)
    counts = [
        np.bincount(table.select(e.expression())[e.name].to_numpy(), minlength=e.size)
        for e in encodings
    ]
    moved = len(encodings) * (1 if relation == "add-remove" else 2)
    return IntegerVector(
        np.concatenate(counts).astype(np.int64),
        l1=moved,
        l2_squared=moved,
        l_inf=1,
        relation=relation,
    )


@dataclass(frozen=True, slots=True)
class Clipped:
    """A numeric column on the public integer grid k = floor((y - l) / g + 1/2), g = (u - l)/2^20.

    Parameters
    ----------
    column : Column
        With bounds (l, u); what lies outside, and what is missing, is at the nearer bound (missing
        at the lower; strict methods apply their declared policy first).
    """

    column: Column

    def __post_init__(self) -> None:
        if self.column.is_text or self.column.bounds is None:
            raise SchemaError(
                f"column {self.column.name!r} has no bounds; declare bounds=(low, high) from "
                "public knowledge, never from the data"
            )
        if not float_info.min <= self.step < math.inf:
            raise SchemaError(
                f"column {self.column.name!r}: the bounds are too close or too far apart for a "
                "grid of 2^20 steps between them; change the unit"
            )

    @property
    def step(self) -> float:
        """The grid g, exactly a 2^20th of the (rounded) width of the bounds."""
        assert self.column.bounds is not None
        low, high = self.column.bounds
        return (high - low) / GRID

    def steps_at(self, value: float) -> int:
        """Return k of one public number, such as the constant that missing values are set to."""
        assert self.column.bounds is not None
        low = float(self.column.bounds[0])
        return min(max(math.floor((value - low) / self.step + 0.5), 0), GRID)

    def steps(self) -> nw.Expr:
        """Return k (int64, 0 to 2^20) as an expression."""
        assert self.column.bounds is not None
        low, high = map(float, self.column.bounds)
        scaled = (clipped(self.column.name, low, high) - low) / self.step + 0.5
        return scaled.floor().clip(0, GRID).cast(nw.Int64)


def clipped_sums(
    frame: Frame, columns: Sequence[Column], relation: Relation = "replace-one"
) -> IntegerVector:
    """Sum the clipped values of columns, as exact integers on their grids.

    Parameters
    ----------
    frame : narwhals frame, n rows
    columns : sequence of Column, length p
        With bounds.

    Returns
    -------
    IntegerVector
        Sealed, (p,): sums of k.  The sum of the clipped values is ``n l + g`` times it.  One
        record moves every coordinate by at most 2^20: L1 p 2^20, L2 sqrt(p) 2^20.

    Notes
    -----
    Each k is split as 1024 a + b and the digits are summed, so that no sum of squares or products
    passes 2^63 for any n below 8e12 (ALGORITHMS.md, section 0).
    """
    digits = _digits(frame, columns)
    sums = digits.select(nw.all().sum()).row(0)
    values = [_DIGIT * int(sums[2 * j]) + int(sums[2 * j + 1]) for j in range(len(columns))]
    return _bounded(values, GRID, relation)


def cross_products(
    frame: Frame, columns: Sequence[Column], relation: Relation = "replace-one"
) -> IntegerVector:
    """Sum the products of all pairs of clipped columns (each with itself too).

    Returns
    -------
    IntegerVector
        Sealed, (p (p + 1) / 2,): sums of k_i k_j for i <= j, row by row of the upper triangle.
        One record moves every coordinate by at most 2^40.
    """
    digits = _digits(frame, columns)
    p = len(columns)
    pairs = [(i, j) for i in range(p) for j in range(i, p)]
    products = [
        (nw.col(f"{first}{i}") * nw.col(f"{second}{j}")).sum().alias(f"{first}{i}{second}{j}")
        for i, j in pairs
        for first in "ab"
        for second in "ab"
    ]
    sums = [int(value) for value in digits.select(*products).row(0)]
    values = [
        _DIGIT**2 * aa + _DIGIT * (ab + ba) + bb
        for aa, ab, ba, bb in zip(*(sums[k::4] for k in range(4)), strict=True)
    ]
    return _bounded(values, GRID**2, relation)


@dataclass(frozen=True, slots=True)
class DifferenceAggregates:
    """A treated mean less the control mean, its variance, and the control mean; each sealed."""

    difference: IntegerVector
    variance: IntegerVector
    control: IntegerVector


def observed(frame: Frame, column: Column) -> NDArray[np.bool_]:
    """Return which rows have a value; only for a column whose missingness is declared public."""
    x = nw.col(column.name).cast(nw.Float64)
    found = frame.select((~(x.is_null() | x.is_nan())).alias("observed"))["observed"].to_numpy()
    return np.asarray(found, dtype=bool)


def difference_aggregates(
    frame: Frame, column: Column, arms: Arms, fill: float | None = None
) -> DifferenceAggregates:
    """Compare two arms: sum_h w_h (mean_h1 - mean_h0) of clipped values, exactly.

    Parameters
    ----------
    frame : narwhals frame, n rows
    column : Column
        With bounds (l, u), u - l = w.
    arms : Arms
        Two arms.
    fill : float or None
        Missing values are this constant.

    Returns
    -------
    DifferenceAggregates
        Each of L1 sensitivity 2^20 under replace-one with the design public, on its own grid.

    Notes
    -----
    One record moves the difference by at most D = w max_ha w_h / n_ha, and the variance
    V = sum_ha w_h^2 s_ha^2 / n_ha by at most D^2: s^2 = SS_- / (n - 1) + (y - mean_-)^2 / n, where
    mean_- and SS_- are of the others and (y - mean_-)^2 lies in [0, w^2].  For clusters,
    V_a = M_a s^2(S_g) / n_a^2 with S_g the totals about the middle of the bounds: for one person in
    a cluster of m, (S - m_-)^2 - (S' - m_-)^2 = (S - S')(S + S' - 2 m_-) is at most
    w^2 (2m - 1); for a whole cluster it is at most (m w)^2.  Both are rationals, rounded to a
    2^20th of their sensitivity: x -> floor(x + 1/2) is monotone and commutes with adding
    integers, so that numbers at most 2^20 apart stay so.
    """
    (m0, v0), (m1, v1) = _arm_statistics(frame, column, arms, fill)
    step, reach = Fraction(Clipped(column).step), max(arms.reach(0), arms.reach(1))
    return DifferenceAggregates(
        _rounded([(m1 - m0) / reach], step * reach),
        _rounded(
            [(v0 + v1) / (reach**2 * GRID * arms.inflation)],
            step**2 * reach**2 * GRID * arms.inflation,
        ),
        _rounded([m0 / arms.reach(0)], step * arms.reach(0)),
    )


def arm_aggregates(
    frame: Frame, column: Column, arms: Arms, fill: float | None = None
) -> tuple[IntegerVector, IntegerVector]:
    """Return the means of all arms, less l, and their variances: (A,) both, sealed.

    Returns
    -------
    means, variances : IntegerVector
        Arm a in units of ``step * reach(a)``, and of ``step^2 reach(a)^2 2^20 inflation``.  One
        record is in one arm, so that it moves one coordinate, by at most 2^20: L1 sensitivity
        2^20 under replace-one with the design public.
    """
    found = _arm_statistics(frame, column, arms, fill)
    reach = [arms.reach(a) for a in range(len(found))]
    means = [m / r for (m, _), r in zip(found, reach, strict=True)]
    spread = [v / (r**2 * GRID * arms.inflation) for (_, v), r in zip(found, reach, strict=True)]
    return _rounded(means, Fraction(1)), _rounded(spread, Fraction(1))


def _arm_statistics(
    frame: Frame, column: Column, arms: Arms, fill: float | None
) -> list[tuple[Fraction, Fraction]]:
    """Return mean and variance of the mean, in grid steps, of every arm; confidential."""
    k = _filled(frame, column, fill)
    count = len(arms.sizes) * len(arms.sizes[0])
    sums, squares = _sums(k, arms.codes, count)
    if arms.clusters is not None:
        return _cluster_statistics(k, arms, sums)
    found = []
    for arm in range(len(arms.sizes[0])):
        mean = variance = Fraction(0)
        for h, (weight, sizes) in enumerate(zip(arms.weights, arms.sizes, strict=True)):
            n, s = sizes[arm], sums[h * len(sizes) + arm]
            mean += weight * Fraction(s, n)
            q = squares[h * len(sizes) + arm]
            variance += weight**2 * Fraction(n * q - s * s, n * n * (n - 1))
        found.append((mean, variance))
    return found


def _cluster_statistics(
    k: NDArray[np.int64], arms: Arms, sums: list[int]
) -> list[tuple[Fraction, Fraction]]:
    """Return mean and M s^2(S_g) / n^2 of every arm, S_g the totals of k about the middle."""
    assert arms.clusters is not None
    found = []
    for arm, n in enumerate(arms.sizes[0]):
        rows = arms.codes == arm
        members = np.bincount(arms.clusters[rows])
        centred = np.bincount(arms.clusters[rows], weights=k[rows] - GRID // 2)[members > 0]
        totals = [int(total) for total in centred]
        m, s = len(totals), sum(totals)
        spread = Fraction(m * sum(t * t for t in totals) - s * s, m - 1)
        found.append((Fraction(sums[arm], n), spread / n**2))
    return found


def _filled(frame: Frame, column: Column, fill: float | None) -> NDArray[np.int64]:
    """Return k of every row, a missing value being ``fill`` or, without one, at the lower bound."""
    grid = Clipped(column)
    k = frame.select(grid.steps().alias("k"))["k"].to_numpy()
    if fill is None:
        return np.asarray(k, dtype=np.int64)
    return np.where(observed(frame, column), k, grid.steps_at(fill)).astype(np.int64)


def _sums(
    k: NDArray[np.int64], codes: NDArray[np.int64], count: int
) -> tuple[list[int], list[int]]:
    """Return the sums of k and k^2 by code as Python integers; exact for n below 2^32.

    Every sum of digits is a whole number below 2^53, so that doubles add it without rounding.
    """
    high, low = np.divmod(k, _DIGIT)

    def by_code(x: NDArray[np.int64]) -> list[int]:
        return [int(v) for v in np.bincount(codes + 1, weights=x, minlength=count + 1)[1:]]

    aa, ab, bb = by_code(high * high), by_code(high * low), by_code(low * low)
    squares = [_DIGIT**2 * x + 2 * _DIGIT * y + z for x, y, z in zip(aa, ab, bb, strict=True)]
    return by_code(k), squares


def _rounded(values: list[Fraction], unit: Fraction) -> IntegerVector:
    """Seal rationals of which one record moves one, by at most 2^20, rounded to integers."""
    return IntegerVector(
        np.array([math.floor(value + Fraction(1, 2)) for value in values], dtype=object),
        l1=GRID,
        relation="replace-one-design-public",
        grid=unit,
    )


def _digits(frame: Frame, columns: Sequence[Column]) -> Frame:
    steps = frame.select(*[Clipped(c).steps().alias(f"k{j}") for j, c in enumerate(columns)])
    return steps.select(
        *[
            expression
            for j in range(len(columns))
            for expression in (
                (nw.col(f"k{j}") // _DIGIT).alias(f"a{j}"),
                (nw.col(f"k{j}") % _DIGIT).alias(f"b{j}"),
            )
        ]
    )


def _bounded(values: list[int], each: int, relation: Relation) -> IntegerVector:
    """Seal integers of which one record moves each by at most ``each``."""
    d = len(values)
    return IntegerVector(
        np.array(values, dtype=object),
        l1=d * each,
        l2_squared=d * each**2,
        l_inf=each,
        relation=relation,
    )
