"""All sums of a fit in one pass over a table that stays in an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from dprct.queries.sums import EXACT, GRID, Asked, Sums, added, present, whole_steps_of
from dprct.schema.tables import check_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.schema.tables import Counted, Table


def summed(
    frame: Table, by: Mapping[str, nw.Expr], asked: Sequence[Asked], counted: Counted | None = None
) -> Sums:
    """Add k and k^2 of several outcomes group by group, in one pass.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    by : mapping from name to expression
        What rows are grouped by: public columns, or the code of a private arm.
    asked : sequence of Asked
    counted : Counted, optional
        What the pass at the door found; another number of rows, or other public counts, now are
        refused.

    Returns
    -------
    Sums
        Equal to what each outcome is told in a pass of its own: a row that does not count for one
        adds 0 to its sums, and to the number of its rows.

    Raises
    ------
    EngineError
        If the engine fails, or the table is not what it was.

    Notes
    -----
    k^2 = 2^20 h + l: no sum of k, of h or of l passes 2^20 n, which doubles hold for n up to 2^33,
    and int64 below 8e12.  The number of rows is public, and held against those that were added.
    """
    wanted = list(dict.fromkeys(asked))
    public = () if counted is None else counted.present
    keys = [f"__by{k}" for k in range(len(by))]
    rows = [key.alias(name) for key, name in zip(by.values(), keys, strict=True)]
    for j, one in enumerate(wanted):
        k = whole_steps_of(one.column, one.fill)
        if one.present is not None:
            k = nw.when(present(one.present)).then(k).otherwise(nw.lit(0.0))
            rows.append(_flag(present(one.present)).alias(f"__n{j}"))
        rows.append(k.alias(f"__k{j}"))
    rows += [_flag(present(name)).alias(f"__has{i}") for i, name in enumerate(public)]
    squares = frame.select(*rows).with_columns(
        *[(nw.col(f"__k{j}") * nw.col(f"__k{j}")).alias(f"__q{j}") for j in range(len(wanted))]
    )
    parts = squares.with_columns(
        *[
            (nw.col(f"__q{j}") * (1 / GRID)).floor().cast(nw.Float64).alias(f"__h{j}")
            for j in range(len(wanted))
        ]
    )
    doubles = counted is not None and counted.rows * GRID <= EXACT
    found = added(parts, _sums(wanted, public), keys, doubles=doubles)
    if counted is not None:
        check_counts(_counts(found, tuple(by), counted), counted)
    groups: dict[Asked, list[tuple[tuple[Any, ...], int, int, int]]] = {one: [] for one in wanted}
    for row in found:
        key, sums, number = tuple(row[: len(keys)]), iter(row[len(keys) : -1]), row[-1]
        for one in wanted:
            n = next(sums) if one.present is not None else number
            s, high, low = (next(sums) for _ in range(3))
            groups[one].append((key, n, s, GRID * high + low))
    return Sums(groups)


def _flag(holds: nw.Expr) -> nw.Expr:
    return nw.when(holds).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def _sums(wanted: Sequence[Asked], public: Sequence[str]) -> dict[str, nw.Expr]:
    """Return what is added, outcome after outcome, and last who has a value, where it is public."""
    sums = {}
    for j, one in enumerate(wanted):
        if one.present is not None:
            sums[f"s_n{j}"] = nw.col(f"__n{j}")
        high = nw.col(f"__h{j}")
        sums |= {f"s_s{j}": nw.col(f"__k{j}"), f"s_h{j}": high}
        sums |= {f"s_l{j}": nw.col(f"__q{j}") - high * float(GRID)}
    return sums | {f"s_has{i}": nw.col(f"__has{i}") for i in range(len(public))}


def _counts(
    found: Sequence[Sequence[Any]], by: tuple[str, ...], counted: Counted
) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Return public counts as the door has them: by combination, else of all rows together."""
    places = len(counted.present)
    counts: dict[tuple[Any, ...], tuple[int, ...]] = {}
    for row in found:
        key = tuple(row[: len(by)]) if by == counted.keys else ()
        sizes = (row[-1], *row[len(row) - 1 - places : -1])
        before = counts.get(key, (0,) * len(sizes))
        counts[key] = tuple(a + b for a, b in zip(before, sizes, strict=True))
    return counts
