"""Passes over a table: whole numbers added group by group, in the table's own engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from dprct.queries.grid import DIGIT, Clipped
from dprct.schema.table import Table, collected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.privacy.arms import Arms
    from dprct.schema.facts import Column

_ROWS = "__rows"
_STEPS, _HIGH, _LOW = "__k", "__a", "__b"
_CELL, _CLUSTER = "__cell", "__cluster"


@dataclass(frozen=True, slots=True)
class Part:
    """Sums over the rows of one group; confidential.

    Parameters
    ----------
    cell, cluster : int
        ``block * A + arm``, and the cluster, 0 where there are none.
    n, s, q : int
        Rows, sum of k and sum of k^2, exactly.
    """

    cell: int
    cluster: int
    n: int
    s: int
    q: int


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


def by_cell(
    frame: Table,
    column: Column,
    arms: Arms,
    fill: float | None = None,
    *,
    with_value: bool = False,
) -> list[Part]:
    """Return the sums of a clipped outcome by block, arm and cluster; of rows that count.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    column : Column
        With bounds.
    arms : Arms
    fill : float or None
        Missing values are this constant; without it, at the lower bound.
    with_value : bool
        Leave out the rows that have no value.

    Returns
    -------
    list of Part
        One or several for each cell and cluster that occurs.  An engine must return the same rows
        in every pass: one that samples anew, or reads what others change, has no arm sizes.
    """
    rows, keys = _keyed(frame, column, arms)
    if with_value:
        rows = rows.filter(present(column.name))
    found = square_sums(rows, steps_of(column, fill), keys)
    parts = [Part(*_place(row[: len(keys)], arms), *row[len(keys) :]) for row in found]
    return [part for part in parts if part.cell >= 0]


def _keyed(frame: Table, column: Column, arms: Arms) -> tuple[Table, list[str]]:
    """Return the rows that count with the columns that tell their cell, and these columns."""
    where = arms.combinations
    if where is not None:
        keys = list(where.columns)
        rows = frame.select(*dict.fromkeys([*keys, column.name, *_names(where.present)]))
        return (rows.filter(present(where.present)) if where.present else rows), keys
    assert isinstance(frame, nw.DataFrame)
    codes = {_CELL: arms.codes}
    if arms.clusters is not None:
        codes[_CLUSTER] = arms.clusters
    series = [
        nw.new_series(name, values, nw.Int64, backend=frame.implementation)
        for name, values in codes.items()
    ]
    return frame.select(column.name).with_columns(*series).filter(nw.col(_CELL) >= 0), list(codes)


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


def _key(value: Any) -> Any:
    """Return a key such that it is found again: one None for null and NaN alike."""
    return None if value is None or value != value else value
