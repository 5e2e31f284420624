"""Clipped columns on their public integer grid, and exact sums over all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.encoding import clipped, divided
from dprct.errors import SchemaError
from dprct.privacy.aggregates import IntegerVector
from dprct.schema.columns import check_own
from dprct.schema.tables import Table, collected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.privacy.guarantee import Relation
    from dprct.schema.columns import Column


GRID = 1 << 20
"""Grid steps within the bounds of a clipped column (ALGORITHMS.md, section 0)."""

EXTREMES = (1e-60, 1e60)
"""How close bounds may be to each other, and how far from 0.

Within these the squares and ratios of squares of sums, with the noise of any scale that a sampler
reaches, are doubles: what is checked here cannot overflow after a charge.
"""

DIGIT = 1 << 10
"""k = DIGIT a + b: the digits whose products are summed, so that no sum passes 2^63."""


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
        check_own(self.column)
        if self.column.is_text or self.column.bounds is None:
            raise SchemaError(
                f"column {self.column.name!r} has no bounds; declare bounds=(low, high) from "
                "public knowledge, never from the data"
            )
        check_extent(self.column.name, *self.column.bounds)

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
        scaled = divided(clipped(self.column.name, low, high) - low, self.step)
        return (scaled + 0.5).floor().clip(0, GRID).cast(nw.Int64)


def check_extent(name: str, low: float, high: float) -> None:
    """Refuse bounds of a column whose sums of squares may be no doubles.

    Raises
    ------
    SchemaError
    """
    if not (high - low >= EXTREMES[0] and max(-low, high) <= EXTREMES[1]):
        raise SchemaError(
            f"column {name!r}: the bounds are too close or too far apart for sums of squares; give "
            f"bounds within {EXTREMES[1]:g} of 0 and at least {EXTREMES[0]:g} apart, in another "
            "unit"
        )


def clipped_sums(
    frame: Table, columns: Sequence[Column], relation: Relation = "replace-one"
) -> IntegerVector:
    """Sum the clipped values of columns, as exact integers on their grids.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
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
    sums = collected(digits.select(nw.all().sum())).row(0)
    values = [DIGIT * int(sums[2 * j]) + int(sums[2 * j + 1]) for j in range(len(columns))]
    return _bounded(values, GRID, relation)


def cross_products(
    frame: Table, columns: Sequence[Column], relation: Relation = "replace-one"
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
    sums = [int(value) for value in collected(digits.select(*products)).row(0)]
    values = [
        DIGIT**2 * aa + DIGIT * (ab + ba) + bb
        for aa, ab, ba, bb in zip(*(sums[k::4] for k in range(4)), strict=True)
    ]
    return _bounded(values, GRID**2, relation)


def _digits(frame: Table, columns: Sequence[Column]) -> Table:
    steps = frame.select(*[Clipped(c).steps().alias(f"k{j}") for j, c in enumerate(columns)])
    return steps.select(
        *[
            expression
            for j in range(len(columns))
            for expression in (
                (nw.col(f"k{j}") // DIGIT).alias(f"a{j}"),
                (nw.col(f"k{j}") % DIGIT).alias(f"b{j}"),
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


_ROWS = "__rows"


_STEPS, _HIGH, _LOW = "__k", "__a", "__b"


def added(frame: Table, sums: Mapping[str, nw.Expr], by: Sequence[str] = ()) -> list[list[Any]]:
    """Add whole numbers over all rows, or group by group, and count the rows.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    sums : mapping from name to expression of int64
        The names are not those of ``by``.
    by : sequence of str
        Columns that make the groups.

    Returns
    -------
    list of lists
        One per group, in no particular order: the values of ``by``, None for a missing one, then
        the sums and the number of rows as Python integers.

    Notes
    -----
    Where the numbers stay below 2^63 / n, no engine wraps or rounds, so that the result depends
    neither on the order of rows nor on how they are partitioned.
    """
    numbers = frame.select(*by, *[e.cast(nw.Int64).alias(name) for name, e in sums.items()])
    wanted = [*[nw.col(name).sum() for name in sums], nw.len().alias(_ROWS)]
    found = collected(numbers.group_by(*by).agg(*wanted) if by else numbers.select(*wanted))
    return [
        [*map(_key, row[: len(by)]), *(int(number or 0) for number in row[len(by) :])]
        for row in found.select(*by, *sums, _ROWS).rows()
    ]


def steps_of(column: Column, fill: float | None = None) -> nw.Expr:
    """Return k as an expression, a missing value being ``fill`` or else at the lower bound."""
    grid = Clipped(column)
    if fill is None:
        return grid.steps()
    return nw.when(present(column.name)).then(grid.steps()).otherwise(nw.lit(grid.steps_at(fill)))


def present(name: str) -> nw.Expr:
    """Return whether a numeric column has a value, as an expression."""
    x = nw.col(name).cast(nw.Float64)
    return ~(x.is_null() | x.is_nan())


def square_sums(frame: Table, steps: nw.Expr, by: Sequence[str]) -> list[list[Any]]:
    """Return the keys of each group, its rows, the sum of k and the sum of k^2, exactly.

    Each k is 1024 a + b, whose digits' products are added (ALGORITHMS.md, section 0): below 2^63
    for any n below 8e12, where the sum of k^2 itself wraps at 8.4e6 rows.
    """
    k = frame.select(*by, steps.alias(_STEPS))
    digits = k.with_columns(
        (nw.col(_STEPS) // DIGIT).alias(_HIGH), (nw.col(_STEPS) % DIGIT).alias(_LOW)
    )
    a, b = nw.col(_HIGH), nw.col(_LOW)
    sums = {"__s": nw.col(_STEPS), "__aa": a * a, "__ab": a * b, "__bb": b * b}
    return [
        [*keys, n, s, DIGIT**2 * aa + 2 * DIGIT * ab + bb]
        for *keys, s, aa, ab, bb, n in added(digits, sums, by)
    ]


def _key(value: Any) -> Any:
    """Return a key such that it is found again: one None for null and NaN alike."""
    return None if value is None or value != value else value
