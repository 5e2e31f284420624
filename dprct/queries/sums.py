"""Clipped columns on their public integer grid, and exact sums over all rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dprct.errors import SchemaError
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerTable, IntegerVector
from dprct.queries.clusters import inflation, variance_of_total
from dprct.records import dataclass
from dprct.schema.columns import as_is_within, check_own, clipped_if_beyond, divided
from dprct.schema.facts import EXTREMES
from dprct.schema.tables import NumPyTable, asking, collected, row_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narwhals.typing import IntoDType

    from dprct.privacy.budget import Relation
    from dprct.queries.clusters import ClusterRule
    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame, Table


def compact(
    frame: Table, expressions: Mapping[str, nw.Expr], types: Mapping[str, IntoDType]
) -> dict[str, NDArray[Any]]:
    """Expressions of a prepared table as arrays, in their order; confidential.

    Expressions are total, and never null: they fill what is missing.  Doubles alone may be null,
    which is NaN.  The engine casts to ``types``, which hold the numbers, before it returns
    anything.

    Notes
    -----
    **One call is one pass, and all its arrays have the rows in one order.  Of two calls they may
    not**: engines promise none.  So everything that a fit needs of its rows is asked for at once,
    and what a seed is to decide about rows comes after
    :func:`dprct.queries.weighting.canonical_order`.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema.tables import table
    >>> frame = table(pd.DataFrame({"t": [0.0, 1.0]}))
    >>> compact(frame, {"treated": nw.col("t") == 1}, {"treated": nw.Int8})
    {'treated': array([0, 1], dtype=int8)}
    """
    chosen = [e.cast(types[name]).alias(name) for name, e in expressions.items()]
    found = collected(frame.select(*chosen))
    columns = {name: found[name] for name in expressions}
    del found  # an engine's column is let go once it is an array
    return {name: np.asarray(columns.pop(name).to_numpy()) for name in expressions}


def smallest_integer(size: int) -> IntoDType:
    """Return the smallest signed type, which every engine has, of the codes 0, ..., size - 1.

    Examples
    --------
    >>> smallest_integer(128), smallest_integer(129)
    (Int8, Int16)
    """
    for dtype, bits in ((nw.Int8, 7), (nw.Int16, 15), (nw.Int32, 31)):
        if size <= 1 << bits:
            return dtype
    return nw.Int64


# Operations on arrays in memory and on an engine's columns alike, equal to the last bit.
#
# A formula that is written in these, and in +, - and *, is one formula for both: IEEE 754 rounds
# each operation in one way, and their order is that of the source.

Array = NDArray[np.float64]
Numbers = TypeVar("Numbers", Array, "nw.Expr")
"""Doubles, one for each row: an array (n,), or an expression of a table that stays where it is."""


def over(x: Numbers, by: Numbers | float) -> Numbers:
    """Return x / by, rounded once, of finite x and ``by`` not 0; an overflow is infinite.

    Examples
    --------
    >>> over(np.array([1.0, -1.0]), 4.0).tolist()
    [0.25, -0.25]
    """
    if isinstance(x, nw.Expr):
        return divided(x, by) if isinstance(by, (int, float)) else x / by
    with np.errstate(over="ignore"):
        return np.asarray(x / by, np.float64)


def within(x: Numbers, low: float, high: float) -> Numbers:
    """Return x within [low, high], a NaN (in an engine, a null too) being 0 first.

    Examples
    --------
    >>> within(np.array([np.nan, np.inf, -5.0]), -2.0, 2.0).tolist()
    [0.0, 2.0, -2.0]
    """
    if isinstance(x, nw.Expr):  # engines differ in how NaN and null compare, so that both are named
        above = nw.when((x > high) & ~x.is_nan()).then(nw.lit(high)).otherwise(nw.lit(0.0))
        beyond = nw.when((x < low) & ~x.is_nan()).then(nw.lit(low)).otherwise(above)
        return as_is_within(x, low, high, beyond)
    return np.asarray(np.clip(np.where(np.isnan(x), 0.0, x), low, high))


def at_most(x: Numbers, most: Numbers) -> Numbers:
    """Return x within [-most, most], row by row; both are numbers.

    Examples
    --------
    >>> at_most(np.array([3.0, -3.0]), np.array([1.0, 4.0])).tolist()
    [1.0, -3.0]
    """
    if isinstance(x, nw.Expr):
        return nw.max_horizontal(nw.min_horizontal(x, most), most * -1.0)
    return np.asarray(np.clip(x, -most, most))


def nearest(x: Numbers) -> Numbers:
    """Return floor(x + 1/2), still a double.

    Examples
    --------
    >>> nearest(np.array([0.5, -0.5, 1.4])).tolist()
    [1.0, 0.0, 1.0]
    """
    half = x + 0.5
    if isinstance(half, nw.Expr):
        return half.floor()
    return np.asarray(np.floor(half), np.float64)


GRID = 1 << 20
"""Grid steps within the bounds of a clipped column (docs/methods.md, section 0)."""


@dataclass(frozen=True)
class Clipped:
    """A numeric column on the public grid k = floor((y - l) / g + 1/2), g = (u - l)/2^20."""

    # With bounds (l, u); what lies outside, and what is missing, is at the nearer bound (missing at
    # the lower; strict methods apply their declared policy first).
    column: Column

    def __post_init__(self) -> None:
        check_own(self.column)
        if self.column.is_text or self.column.bounds is None:
            raise SchemaError(
                f"column {self.column.name!r} has no bounds; declare ``bounds=(low, high)`` from "
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
        """Step k of one public number, such as the constant that missing values are set to."""
        assert self.column.bounds is not None
        low = float(self.column.bounds[0])
        return min(max(math.floor((value - low) / self.step + 0.5), 0), GRID)

    def steps(self) -> nw.Expr:
        """Steps k (int64, 0 to 2^20) as an expression."""
        return self.whole().cast(nw.Int64)

    def whole(self, *, clip: bool = True) -> nw.Expr:
        """Steps k, whole doubles from 0 to 2^20, as an expression.

        Nothing has to be clipped after this: y - l and its quotient by g rise with y, whatever is
        rounded, k is 0 at l, and at y = u the quotient is 2^20, because g is the rounded u - l over
        a power of two.  For the same reason k without ``clip`` is this k wherever it is from 0 to
        2^20, and elsewhere y is beyond its bounds or missing.
        """
        assert self.column.bounds is not None
        low, high = map(float, self.column.bounds)
        name = self.column.name
        y = clipped_if_beyond(name, low, high) if clip else nw.col(name).cast(nw.Float64)
        above = y - low if low else y
        return (divided(above, self.step) + 0.5).floor().cast(nw.Float64)


def check_extent(name: str, low: float, high: float) -> None:
    """Refuse bounds of a column whose sums of squares may be no doubles."""
    if not (high - low >= EXTREMES[0] and max(-low, high) <= EXTREMES[1]):
        raise SchemaError(
            f"column {name!r}: the bounds are too close or too far apart for sums of squares; give "
            f"bounds within {EXTREMES[1]:g} of 0 and at least {EXTREMES[0]:g} apart, in another "
            "unit"
        )


# Passes over a table: whole numbers added group by group, in the table's own engine.

_ROWS = "__rows"
_STEPS, _HIGH, _SQUARE = "__k", "__a", "__q"


EXACT = 1 << 53
"""Up to here doubles are all whole numbers, so that adding some is exact in any order."""

MOST_GROUPS = 1 << 14
"""What is asked of several columns shares a pass while all of them cross in at most so many cells.

A pass over the rows costs an engine more than thousands of groups: five features of 8 levels are
2 passes and not 5.
"""


def added(
    frame: Table, sums: Mapping[str, nw.Expr], by: Sequence[str] = (), *, doubles: bool = False
) -> list[list[Any]]:
    """Add whole numbers over all rows, or group by group, and count the rows.

    ``sums`` are whole numbers, whose names are not those of the groups ``by``.  To add ``doubles``
    is faster; only where no sum of the sizes of all rows passes 2^53 by public facts, of which the
    caller then checks the number of rows against what was added.

    Notes
    -----
    Where the numbers stay below 2^63 / n (as doubles, up to 2^53 / n), no engine wraps or rounds,
    so that the result depends neither on the order of rows nor on how they are partitioned.
    """
    found = answered(frame, sums, by, nw.Float64 if doubles else nw.Int64)
    return [as_whole(row, len(by)) for row in found]


def answered(
    frame: Table, sums: Mapping[str, nw.Expr], by: Sequence[str], kind: IntoDType | None = None
) -> list[tuple[Any, ...]]:
    """Result of :func:`added`, sums as the engine gives them; without ``kind``, of their types."""
    numbers = {name: e.cast(kind) if kind else e for name, e in sums.items()}
    if isinstance(frame, nw.LazyFrame):  # no engine has to hold what it adds
        wanted = [e.sum().alias(name) for name, e in numbers.items()]
    else:  # groups of pandas are added column by column
        frame = frame.select(*by, *[e.alias(name) for name, e in numbers.items()])
        wanted = [nw.col(name).sum() for name in numbers]
    wanted.append(nw.len().alias(_ROWS))
    with asking(frame, "sums"):  # some engines fail when a query is made, not run
        found = collected(frame.group_by(*by).agg(*wanted) if by else frame.select(*wanted))
    return list(found.select(*by, *sums, _ROWS).rows())


def as_whole(row: Sequence[Any], keys: int) -> list[Any]:
    """Return a row of an answer: ``keys`` keys, then sums as Python integers."""
    return [*map(_key, row[:keys]), *(int(number or 0) for number in row[keys:])]


def steps_of(column: Column, fill: float | None = None) -> nw.Expr:
    """Steps k as an expression, a missing value being ``fill`` or else at the lower bound."""
    return whole_steps_of(column, fill).cast(nw.Int64)


def whole_steps_of(column: Column, fill: float | None = None, *, clip: bool = True) -> nw.Expr:
    """Steps k of :func:`steps_of` as doubles; without ``clip``, see :meth:`Clipped.whole`."""
    grid = Clipped(column)
    k = grid.whole(clip=clip)
    if fill is None and (clip or column.missing == ()):
        return k
    filled = nw.lit(0.0 if fill is None else float(grid.steps_at(fill)))
    return nw.when(present(column.name)).then(k).otherwise(filled)


def present(name: str) -> nw.Expr:
    """Whether a numeric column has a value, as an expression."""
    x = nw.col(name).cast(nw.Float64)
    return ~(x.is_null() | x.is_nan())


def square_sums(frame: Table, steps: nw.Expr, by: Sequence[str]) -> list[list[Any]]:
    """Return the keys of each group, its rows, the sum of k and the sum of k^2, exactly.

    k^2 = 2^20 h + l, and h and l are added: below 2^63 for any n below 8e12, where the sum of k^2
    itself wraps at 8.4e6 rows.
    """
    rows = frame.select(*by, steps.cast(nw.Float64).alias(_STEPS))
    k, high, square = nw.col(_STEPS), nw.col(_HIGH), nw.col(_SQUARE)
    parts = rows.with_columns((k * k).alias(_SQUARE))
    parts = parts.with_columns((square * (1 / GRID)).floor().cast(nw.Float64).alias(_HIGH))
    sums = {"__s": k, "__h": high, "__l": square - high * float(GRID)}
    return [[*keys, n, s, GRID * h + low] for *keys, s, h, low, n in added(parts, sums, by)]


def _key(value: Any) -> Any:
    """Return a key such that it is found again: one None for null and NaN alike."""
    return None if value is None or value != value else value


# Who is in which arm of an experiment: what is public where the design is.


@dataclass(frozen=True, eq=False)
class Combinations:
    """Where rows stay in an engine: the combinations of public columns that occur; public."""

    columns: tuple[str, ...]  # treatment, block and cluster columns
    # (C,): the number, from 0, of each of the G combinations; a missing value is None.
    places: Mapping[tuple[Any, ...], int]
    # Rows without a value of this column do not count, where that is public.
    present: str | None = None


@dataclass(frozen=True, eq=False)
class Arms:
    """Who is in which arm, block and cluster: public where the design is."""

    # (n,): ``block * A + arm`` of each row, the control arm being 0; -1 for a row that does not
    # count because its outcome is missing and missingness is public.  With ``combinations``: (G,),
    # of each of these.  In whole numbers of any size.
    codes: NDArray[Any]
    sizes: tuple[tuple[int, ...], ...]  # (H, A): rows that count, by block and arm; at least 2
    weights: tuple[Fraction, ...] = (Fraction(1),)  # (H,): public weights of the blocks, of sum one
    # (n,): cluster of each row (or combination), where clusters were assigned; each lies in one
    # block and one arm.
    clusters: NDArray[np.int64] | None = None
    largest: int = 1  # rows of the largest cluster (declared or public)
    unit: Literal["person", "cluster"] = "person"  # what one record is
    # What ``codes`` and ``clusters`` belong to, where rows stay in an engine.
    combinations: Combinations | None = None
    # (H, A): sums of the squared sizes of the clusters that count; empty where there are none.
    squares: tuple[tuple[int, ...], ...] = ()
    # What is declared of clusters, by which the variance of their totals is found.
    rule: ClusterRule | None = None

    def reach(self, arm: int) -> Fraction:
        """Amount by which an arm's mean moves when one record moves from l to u, over u - l."""
        rows = self.largest if self.unit == "cluster" else 1
        return rows * max(w / n[arm] for w, n in zip(self.weights, self.sizes, strict=True))

    def asked(self, column: Column, fill: float | None, *, with_value: bool = False) -> Asked:
        """Sums that an outcome needs of rows in an engine."""
        public = None if self.combinations is None else self.combinations.present
        return Asked(column, fill, column.name if with_value else public)

    @property
    def inflation(self) -> Fraction:
        """Sensitivity of an arm's variance over the square of :meth:`reach` times u - l."""
        if self.clusters is None:
            return Fraction(1)
        return inflation(self.rule, self.largest, self.unit, self.sizes, self.squares, GRID)


_CELL, _CLUSTER = "__cell", "__cluster"


@dataclass(frozen=True)
class Asked:
    """What an outcome needs of the rows: the sums of k and k^2 in every group."""

    column: Column  # with bounds
    fill: float | None = None  # missing values are this constant; without it, at the lower bound
    present: str | None = None  # rows without a value of this column do not count


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of several outcomes, which an engine added in one pass; confidential."""

    # (keys, n, s, q): keys of the group, rows that count, sum of k and sum of k^2.
    groups: Mapping[Asked, Sequence[tuple[tuple[Any, ...], int, int, int]]]

    def of(self, asked: Asked) -> list[list[Any]]:
        """Result of :func:`square_sums` of one outcome."""
        return [[*keys, n, s, q] for keys, n, s, q in self.groups[asked] if n]


Rows: TypeAlias = "Table | Sums"
"""Rows to add up, or the sums that an engine added of them."""


@dataclass(frozen=True)
class GroupSums:
    """Sums over the rows of one group; confidential."""

    # cell, cluster: ``block * A + arm``, and the cluster, 0 where there are none.
    cell: int
    cluster: int
    # n, s, q: rows, sum of k and sum of k^2, exactly.
    n: int
    s: int
    q: int


def by_cell(
    frame: Table | Sums,
    column: Column,
    arms: Arms,
    fill: float | None = None,
    *,
    with_value: bool = False,
) -> list[GroupSums]:
    """Sums of a clipped outcome by block, arm and cluster; of rows that count.

    A missing value counts as ``fill``, without it as the lower bound, or ``with_value`` not at all.
    """
    if isinstance(frame, Sums):
        assert arms.combinations is not None
        keys = list(arms.combinations.columns)
        found = frame.of(arms.asked(column, fill, with_value=with_value))
    else:
        every: dict[tuple[Any, ...], list[int]] = {}
        for part in _some_rows(frame, arms):
            rows, keys = _keyed(frame, column, arms, part)
            if with_value:
                rows = rows.filter(present(column.name))
            for row in square_sums(rows, steps_of(column, fill), keys):
                key, sums = tuple(row[: len(keys)]), row[len(keys) :]
                if before := every.get(key):
                    sums = [a + b for a, b in zip(before, sums, strict=True)]
                every[key] = sums
        found = [[*key, *sums] for key, sums in every.items()]
    parts = [GroupSums(*_place(row[: len(keys)], arms), *row[len(keys) :]) for row in found]
    return [part for part in parts if part.cell >= 0]


_MOST_ROWS = 1 << 17


def _some_rows(frame: Table, arms: Arms) -> Iterator[slice]:
    """Yield rows in memory, some at a time; in an engine all."""
    if arms.combinations is not None:
        yield slice(None)
        return
    assert isinstance(frame, nw.DataFrame)
    for start in range(0, max(len(frame), 1), _MOST_ROWS):
        yield slice(start, start + _MOST_ROWS)


def _keyed(
    frame: Table, column: Column, arms: Arms, part: slice = slice(None)
) -> tuple[Table, list[str]]:
    """Return the rows that count with the columns that tell their cell, and these columns."""
    where = arms.combinations
    if where is not None:
        keys = list(where.columns)
        rows = frame.select(*dict.fromkeys([*keys, column.name, *_names(where.present)]))
        return (rows.filter(present(where.present)) if where.present else rows), keys
    assert isinstance(frame, nw.DataFrame)
    codes = {_CELL: arms.codes[part]}
    if arms.clusters is not None:
        codes[_CLUSTER] = arms.clusters[part]
    series = [
        nw.new_series(name, values, nw.Int64, backend=frame.implementation)
        for name, values in codes.items()
    ]
    rows = frame.select(column.name)[part].with_columns(*series)
    return rows.filter(nw.col(_CELL) >= 0), list(codes)


def _place(keys: list[Any], arms: Arms) -> tuple[int, int]:
    where = arms.combinations
    if where is None:
        return keys[0], keys[1] if len(keys) > 1 else 0
    place = where.places.get(tuple(keys))
    if place is None:  # was not there at the door: in no cell, and no error
        return -1, 0
    return int(arms.codes[place]), 0 if arms.clusters is None else int(arms.clusters[place])


def _names(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


@dataclass(frozen=True)
class DifferenceAggregates:
    """A treated mean less the control mean, its variance, and the control mean; each sealed."""

    difference: IntegerVector
    variance: IntegerVector
    control: IntegerVector


def observed(frame: Frame | NumPyTable, column: Column) -> NDArray[np.bool_]:
    """Mask of rows that have a value; only for a column whose missingness is declared public."""
    if isinstance(frame, NumPyTable):
        if (numbers := frame.numbers(column.name)) is not None:
            return ~np.isnan(numbers)
        frame = frame.frame
    found = frame.select(present(column.name).alias("observed"))["observed"].to_numpy()
    return np.asarray(found, dtype=bool)


def observed_counts(table: Table, column: Column, where: Combinations) -> NDArray[np.int64]:
    """Return, of every combination, how many rows have a value; (G,).

    Only for a column whose missingness is declared public.
    """
    found = np.zeros(len(where.places), np.int64)
    rows = table.filter(present(column.name))
    for *keys, count in added(rows.select(*where.columns), {}, where.columns):
        if tuple(keys) in where.places:
            found[where.places[tuple(keys)]] += count
    return found


def observed_together(
    table: Table, columns: Sequence[Column | None], arms: Arms, size: int
) -> NDArray[np.int64]:
    """How many rows of each group have a value of two columns; (size, J, J).

    Only for columns whose missingness is declared public; of None everybody has a value.
    """
    pairs = [(i, j) for i in range(len(columns)) for j in range(i, len(columns))]
    found = np.zeros((size, len(columns), len(columns)), np.int64)
    if arms.combinations is None:
        assert isinstance(table, nw.DataFrame)
        has = [
            np.ones(len(table), bool) if column is None else observed(table, column)
            for column in columns
        ]
        for i, j in pairs:
            codes = arms.codes[has[i] & has[j] & (arms.codes >= 0)]
            found[:, i, j] = found[:, j, i] = np.bincount(codes, minlength=size)
        return found
    where = arms.combinations
    there = [nw.lit(1, nw.Int64) if c is None else present(c.name).cast(nw.Int64) for c in columns]
    # no engine adds a number that is of no column: of two that everybody has, rows are counted
    asked = [(i, j) for i, j in pairs if columns[i] is not None or columns[j] is not None]
    everybody = [pair for pair in pairs if pair not in asked]
    sums = {f"s{i}_{j}": there[i] * there[j] for i, j in asked}
    for row in added(table, sums, where.columns):
        key = tuple(row[: len(where.columns)])
        group = int(arms.codes[where.places[key]]) if key in where.places else -1
        numbers = [*row[len(where.columns) : -1], *[row[-1]] * len(everybody)]
        for (i, j), number in zip([*asked, *everybody], numbers, strict=True):
            if group >= 0:
                found[group, i, j] = found[group, j, i] = found[group, i, j] + number
    return found


def observed_number(table: Table, column: Column) -> int:
    """How many rows have a value; only where missingness is declared public."""
    return row_count(table.select(column.name).filter(present(column.name)))


def difference_aggregates(
    frame: Table | Sums, column: Column, arms: Arms, fill: float | None = None
) -> DifferenceAggregates:
    """Compare two arms: sum_h w_h (mean_h1 - mean_h0) of clipped values, exactly.

    Parameters
    ----------
    column : Column
        With bounds (l, u), u - l = w.
    arms : Arms
        Two arms.
    fill : float or None
        Missing values are this constant.

    Notes
    -----
    One record moves the difference by at most D = w max_ha w_h / n_ha, and the variance
    V = sum_ha w_h^2 s_ha^2 / n_ha by at most D^2: s^2 = SS_- / (n - 1) + (y - mean_-)^2 / n, where
    mean_- and SS_- are of the others and (y - mean_-)^2 lies in [0, w^2].  For clusters,
    V_a = M_a s^2(S_g) / n_a^2 with S_g the totals about the middle of the bounds: for one person in
    a cluster of m, (S - m_-)^2 - (S' - m_-)^2 = (S - S')(S + S' - 2 m_-) is at most
    w^2 (2m - 1); for a whole cluster it is at most (m w)^2.  Here S and S' lie within m w / 2 of
    zero, w apart at most, and so does m_-, the mean total of the other clusters: S + S' is at most
    (m - 1) w, less 2 m_- at most (2m - 1) w.  Where bounds on the means of clusters or their
    correlation are declared, :mod:`dprct.queries.clusters` has the proof.  Clusters within blocks:
    a person or cluster is in one block h and arm a, whose term is w_h^2 V_ha, so that the bound is
    the largest w_h^2 / n_ha^2 times it, which is D^2 over w^2.  All are rationals, rounded to a
    2^20th of their sensitivity: x -> floor(x + 1/2) is monotone and commutes with adding
    integers, so that numbers at most 2^20 apart stay so.
    """
    (m0, v0), (m1, v1) = _arm_statistics(frame, column, arms, fill)
    step, reach = Fraction(Clipped(column).step), max(arms.reach(0), arms.reach(1))
    return DifferenceAggregates(
        rounded([(m1 - m0) / reach], step * reach),
        rounded(
            [(v0 + v1) / (reach**2 * GRID * arms.inflation)],
            step**2 * reach**2 * GRID * arms.inflation,
        ),
        rounded([m0 / arms.reach(0)], step * arms.reach(0)),
    )


def arm_aggregates(
    frame: Table | Sums, column: Column, arms: Arms, fill: float | None = None
) -> tuple[IntegerVector, IntegerVector]:
    """Return the means of all arms, less l, and their variances: (A,) both, sealed."""
    found = _arm_statistics(frame, column, arms, fill)
    reach = [arms.reach(a) for a in range(len(found))]
    means = [m / r for (m, _), r in zip(found, reach, strict=True)]
    spread = [v / (r**2 * GRID * arms.inflation) for (_, v), r in zip(found, reach, strict=True)]
    return rounded(means, Fraction(1)), rounded(spread, Fraction(1))


def _arm_statistics(
    frame: Table | Sums, column: Column, arms: Arms, fill: float | None
) -> list[tuple[Fraction, Fraction]]:
    """Return mean and variance of the mean, in grid steps, of every arm; confidential."""
    parts = by_cell(frame, column, arms, fill)
    if arms.clusters is not None:
        return _cluster_statistics(parts, arms)
    cells = len(arms.sizes) * len(arms.sizes[0])
    sums, squares = [0] * cells, [0] * cells
    for part in parts:
        sums[part.cell] += part.s
        squares[part.cell] += part.q
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


def _cluster_statistics(parts: list[GroupSums], arms: Arms) -> list[tuple[Fraction, Fraction]]:
    """Return sum_h w_h mean_h and sum_h w_h^2 Var(S_h) / n_h^2 of every arm.

    S_h is the sum of k over the arm and block, of which clusters are independent.
    """
    cells: list[dict[int, tuple[int, int, int]]] = [
        {} for _ in range(len(arms.sizes) * len(arms.sizes[0]))
    ]
    for part in parts:
        n, s, q = cells[part.cell].get(part.cluster, (0, 0, 0))
        cells[part.cell][part.cluster] = (n + part.n, s + part.s, q + part.q)
    squares = arms.squares or tuple((0,) * len(row) for row in arms.sizes)
    found = []
    for arm in range(len(arms.sizes[0])):
        mean = variance = Fraction(0)
        for h, (weight, sizes) in enumerate(zip(arms.weights, arms.sizes, strict=True)):
            each, n = list(cells[h * len(sizes) + arm].values()), sizes[arm]
            about = sum(s - m * (GRID // 2) for m, s, _ in each)
            mean += weight * (Fraction(about, n) + GRID // 2)
            spread = variance_of_total(arms.rule, each, n, squares[h][arm], GRID)
            variance += weight**2 * spread / n**2
        found.append((mean, variance))
    return found


def side_by_side(vectors: Sequence[IntegerVector]) -> IntegerTable:
    """The same statistic of several outcomes, (J,) vectors with a place for every arm.

    They are of :func:`difference_aggregates` or :func:`arm_aggregates`, or with treatment private
    of :mod:`dprct.queries.horvitz_thompson`; all of one design, so of one sensitivity.

    Notes
    -----
    Sensitivity D of one vector in L1, and all vectors in sum_a max_j.  With one place it is the
    largest of J moves, each at most D.  With a place for each arm and treatment public, a record
    counts in one and the same arm for every outcome, and moves this place by at most D.  With
    treatment private it may leave an arm and come into another: a record that stays moves one place
    by at most D, as above, and one that changes moves two places, each by at most D / 2 in every
    vector, because it adds to a sum at most half of what replacing it can move.
    """
    (reach,) = {vector.l1 for vector in vectors}
    return IntegerTable(vectors, reach=reach)


def rounded(
    values: list[Fraction], unit: Fraction, relation: Relation = "replace-one-design-public"
) -> IntegerVector:
    """Seal rationals that one record moves by at most 2^20 in all, rounded to integers."""
    return IntegerVector(
        np.array([math.floor(value + Fraction(1, 2)) for value in values], dtype=object),
        l1=GRID,
        relation=relation,
        grid=unit,
    )
