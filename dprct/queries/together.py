"""All sums of a fit in one pass over a table that stays in an engine."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dprct.errors import EngineError
from dprct.lazy import narwhals as nw
from dprct.queries.sums import (
    EXACT,
    GRID,
    Asked,
    Sums,
    added,
    answered,
    as_whole,
    present,
    whole_steps_of,
)
from dprct.schema.tables import check_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dprct.schema.tables import Counted, Table

_BEYOND, _SECOND = "__beyond", "__second"
_MIDDLE, _FEW = GRID // 2, 1 << 25


def summed(
    frame: Table, by: Mapping[str, nw.Expr], asked: Sequence[Asked], counted: Counted | None = None
) -> Sums:
    """Add k and k^2 of several outcomes group by group, in one pass.

    Rows are grouped by public columns, or by the code of a private arm.  Another number of rows, or
    other public counts, than the pass at the door found are refused.

    Notes
    -----
    k^2 = 2^20 h + l: no sum of k, of h or of l passes 2^20 n, which doubles hold for n up to 2^33,
    and int64 below 8e12.  The number of rows is public, and checked against those that were added.

    Below 2^25 rows, and in DuckDB, whose sums of integers have 128 bits, of any number, one sum
    does for two: that of (k - c)^2, c = 2^19, which is at most 2^38, so that int64 holds it; and
    k^2 = (k - c)^2 + 2^20 k - c^2.

    Clipping costs an engine as much as adding, and at the door every value was within its bounds.
    So the pass adds k without clipping, and with it how many rows have a k that is not from 0 to
    2^20.  If there are none, these are the sums of clipped values.  Else the table is not what it
    was, nothing of the pass is used, and another one clips every value; so it is where a k^2 is no
    integer and the pass fails.  Spark clips at once: its floor is of int64 and fails on what is
    beyond that.
    """
    wanted = list(dict.fromkeys(asked))
    public = () if counted is None else counted.present
    keys = [f"__by{k}" for k in range(len(by))]
    rows = [key.alias(name) for key, name in zip(by.values(), keys, strict=True)]
    rows += [_flag(present(name)).alias(f"__has{i}") for i, name in enumerate(public)]
    engine, found, doubles, whole = frame.implementation, None, False, False
    if counted is not None:
        doubles = counted.rows * GRID <= EXACT
        whole = doubles and (engine.is_duckdb() or counted.rows < _FEW)
        if doubles and not engine.is_pyspark():
            steps = frame.select(*rows, *_steps(wanted, whole=whole, clip=False))
            two = _two_groups(frame, tuple(by), counted)
            with suppress(*((EngineError,) if whole else ())):
                found = _unclipped(steps, keys, wanted, public, two, whole=whole)
    if found is None:
        steps = frame.select(*rows, *_steps(wanted, whole=whole))
        steps = steps if whole else _squared(steps, wanted)
        parts = _sums(wanted, public, whole=whole)
        found = added(steps, parts, keys, doubles=doubles and not whole)
    if counted is not None:
        check_counts(_counts(found, tuple(by), counted), counted)
    groups: dict[Asked, list[tuple[tuple[Any, ...], int, int, int]]] = {one: [] for one in wanted}
    for row in found:
        key, sums, number = tuple(row[: len(keys)]), iter(row[len(keys) : -1]), row[-1]
        for one in wanted:
            n = next(sums) if one.present is not None else number
            s, high = next(sums), next(sums)
            # (k - c)^2 is of all rows: of those that do not count k is 0
            about = GRID * s - number * _MIDDLE**2
            groups[one].append((key, n, s, high + about if whole else GRID * high + next(sums)))
    return Sums(groups)


def _unclipped(
    steps: Table,
    keys: Sequence[str],
    wanted: Sequence[Asked],
    public: Sequence[str],
    two: _Two,
    *,
    whole: bool,
) -> list[list[Any]] | None:
    """Return the sums of k that nothing clipped; None if a row has a k that is to be clipped."""
    ks = [nw.col(f"__k{j}") for j in range(len(wanted))]
    # no engine takes a NaN for a number of at most 2^20, and null is within nothing
    held = [(k >= 0) & (k <= GRID) for k in ks]
    if two is not None:
        held.append((nw.col(keys[0]) == two[0]) | (nw.col(keys[0]) == two[1]))
    within = nw.all_horizontal(*held, ignore_nulls=False)
    beyond = nw.when(within).then(nw.lit(0.0)).otherwise(nw.lit(1.0))
    rows = steps if whole else _squared(steps, wanted)
    sums = {_BEYOND: beyond, **_sums(wanted, public, whole=whole)}
    found = answered(rows, sums, keys) if two is None else _apart(rows, sums, keys[0], two)
    if any(row[len(keys)] for row in found):
        return None
    return [as_whole((*row[: len(keys)], *row[len(keys) + 1 :]), len(keys)) for row in found]


_Two = tuple[Any, Any] | None


def _two_groups(frame: Table, by: tuple[str, ...], counted: Counted) -> _Two:
    """Return the two public values of a key by which Polars need not group; None elsewhere.

    A sum by group costs Polars twice a sum of all rows, and DuckDB no more than that.
    """
    if not frame.implementation.is_polars() or by != counted.keys or len(by) != 1:
        return None
    values = [key[0] for key in counted.groups]
    return (values[0], values[1]) if len(values) == 2 and None not in values else None


def _apart(
    frame: Table, sums: Mapping[str, nw.Expr], key: str, two: tuple[Any, Any]
) -> list[tuple[Any, ...]]:
    """Return the sums of two groups: those of the second, and the first's as what is left of all.

    All are whole, and as doubles at most 2^53, so that the difference is exact.
    """
    rows, second = frame.with_columns((nw.col(key) == two[1]).alias(_SECOND)), nw.col(_SECOND)
    ofs = {f"{name}__2": nw.when(second).then(e).otherwise(nw.lit(0)) for name, e in sums.items()}
    ((*found, n),) = answered(rows, {**sums, **ofs, _SECOND: _flag(second)}, ())
    every, apart = (*found[: len(sums)], n), found[len(sums) :]
    first = [a - b for a, b in zip(every, apart, strict=True)]
    return [(two[0], *first), (two[1], *apart)]


def _steps(wanted: Sequence[Asked], *, whole: bool, clip: bool = True) -> Iterator[nw.Expr]:
    """Yield k of every outcome, 0 where a row does not count, and whether it counts."""
    for j, one in enumerate(wanted):
        k = whole_steps_of(one.column, one.fill, clip=clip)
        if one.present is not None:
            k = nw.when(present(one.present)).then(k).otherwise(nw.lit(0.0))
            yield _flag(present(one.present)).alias(f"__n{j}")
        yield (k.cast(nw.Int64) if whole else k).alias(f"__k{j}")


def _squared(steps: Table, wanted: Sequence[Asked]) -> Table:
    """Return the steps, doubles, with k^2 and h."""
    made = []
    for j in range(len(wanted)):
        square = nw.col(f"__k{j}") * nw.col(f"__k{j}")
        high = (square * (1 / GRID)).floor().cast(nw.Float64)
        made += [square.alias(f"__q{j}"), high.alias(f"__h{j}")]
    return steps.with_columns(*made)


def _flag(holds: nw.Expr) -> nw.Expr:
    return nw.when(holds).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def _sums(
    wanted: Sequence[Asked], public: Sequence[str], *, whole: bool = False
) -> dict[str, nw.Expr]:
    """Sums to add, outcome after outcome, and last who has a value, where it is public."""
    sums = {}
    for j, one in enumerate(wanted):
        if one.present is not None:
            sums[f"s_n{j}"] = nw.col(f"__n{j}")
        k, high = nw.col(f"__k{j}"), nw.col(f"__h{j}")
        apart = k - _MIDDLE
        parts = (apart * apart,) if whole else (high, nw.col(f"__q{j}") - high * float(GRID))
        sums |= {f"s_{i}_{j}": part for i, part in enumerate((k, *parts))}
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
