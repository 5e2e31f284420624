"""What is assigned: rows, or clusters of rows, and the blocks that they lie in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.assignment.groups import quoted
from dprct.errors import ColumnError, ParameterError
from dprct.formula.design_matrix import columns_of, is_missing
from dprct.queries.arms import Combinations
from dprct.queries.sums import added
from dprct.schema.tables import names_of, row_count

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from narwhals.typing import IntoFrame

    from dprct.assignment.allocation import Codes

ROWS = "__rows"
"""Column of the number of rows that each combination of public columns has."""

WHOLE: tuple[Hashable, ...] = ("",)
"""The blocks of a design without blocks: one."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a randomisation.

    Parameters
    ----------
    member : (n,) array of int
        The unit of each row, 0 to U - 1.
    block : (U,) array of int
        The block of each unit, 0 to B - 1.
    labels : sequence
        The B blocks.
    weights : (U,) array of int or None
        How many units each entry stands for, where rows were put together; one if not given.
    """

    member: Codes
    block: Codes
    labels: Sequence[Hashable]
    weights: Codes | None = None

    @property
    def sizes(self) -> Codes:
        """Units per block; (B,)."""
        found = np.bincount(self.block, weights=self.weights, minlength=len(self.labels))
        return found.astype(np.int64)

    @property
    def total(self) -> int:
        """Number of units."""
        return int(self.sizes.sum())

    def first_rows(self) -> Codes:
        """Return one row of each unit; (U,)."""
        first = np.empty(len(self.block), np.int64)
        first[self.member[::-1]] = np.arange(len(self.member))[::-1]
        return first


def rows_of(frame: IntoFrame, names: Iterable[str]) -> tuple[pd.DataFrame, pd.Index[Any]]:
    """Return some columns of a frame with rows, numbered from 0, and the frame's own index.

    Raises
    ------
    ColumnError
        If a column is not in the frame.
    ParameterError
        If the frame has no rows.
    """
    rows = columns_of(frame, names)
    if isinstance(frame, pd.DataFrame):
        index = frame.index
    else:
        index = pd.RangeIndex(row_count(nw.from_native(frame)))
    if len(index) == 0:
        raise ParameterError("the frame has no rows; give one row per participant")
    if rows.columns.empty:
        rows = pd.DataFrame(index=pd.RangeIndex(len(index)))
    return rows, index


def combined(frame: IntoFrame, names: Iterable[str]) -> tuple[pd.DataFrame, Combinations | None]:
    """Return some columns of every row, or, of a table in an engine, of every combination.

    Parameters
    ----------
    frame : data frame, eager or lazy, n rows
    names : iterable of str
        Public columns: treatment, blocks and clusters.

    Returns
    -------
    rows : DataFrame
        (n, C), numbered from 0; or (G, C + 1) of the combinations that occur, with the number of
        rows of each in column :data:`ROWS`.
    combinations : Combinations or None
        Where each of these is found again; None if every row is there.

    Raises
    ------
    ColumnError
        If a column is not in the frame.
    """
    wanted = list(dict.fromkeys(names))
    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.LazyFrame):
        return rows_of(frame, wanted)[0], None
    there = names_of(table)
    for name in wanted:
        if name not in there:
            raise ColumnError.unknown(name, there, "the data")
    if not wanted:
        return pd.DataFrame({ROWS: [row_count(table)]}), Combinations((), {(): 0})
    counts: Counter[tuple[Any, ...]] = Counter()
    for *key, number in added(table, {}, wanted):
        counts[tuple(key)] += number
    keys = sorted(counts, key=lambda key: [(value is None, value or 0) for value in key])
    columns = {name: _values([key[j] for key in keys]) for j, name in enumerate(wanted)}
    rows = pd.DataFrame({**columns, ROWS: [counts[key] for key in keys]})
    return rows, Combinations(tuple(wanted), {key: g for g, key in enumerate(keys)})


def _values(values: list[Any]) -> pd.Series[Any]:
    """Return what an engine returned as a column: decimals as numbers, like every number."""
    return pd.Series([float(x) if isinstance(x, Decimal) else x for x in values])


def lacking(frame: IntoFrame, names: Iterable[str]) -> list[str]:
    """Return the columns that a frame does not have."""
    found = []
    for name in dict.fromkeys(names):
        try:
            columns_of(frame, [name])
        except ColumnError:
            found.append(name)
    return found


def units_of(rows: pd.DataFrame, block: Sequence[str], cluster: Sequence[str]) -> Units:
    """Return the units and blocks of a frame; missing values make a block of their own.

    Raises
    ------
    ParameterError
        If a cluster column has missing values, or a cluster lies in more than one block.
    """
    in_block, labels = _blocks(rows, block)
    if not cluster:
        weights = rows[ROWS].to_numpy(np.int64) if ROWS in rows else None
        return Units(np.arange(len(rows)), in_block, labels, weights)
    if has_missing(rows, cluster):
        raise ParameterError(
            f"cluster column {quoted(cluster)} has missing values; give every row a cluster"
        )
    member, _ = _coded(rows, cluster)
    found = Units(member, np.zeros(int(member.max()) + 1, np.int64), labels)
    of_cluster = in_block[found.first_rows()]
    if (of_cluster[member] != in_block).any():
        raise ParameterError(
            f"some cluster of {quoted(cluster)} lies in more than one block of {quoted(block)}; "
            "blocks are sets of whole clusters"
        )
    return Units(member, of_cluster, labels)


def has_missing(rows: pd.DataFrame, names: Iterable[str]) -> bool:
    """Whether any of some columns has a missing value."""
    return any(bool(is_missing(rows[name]).any()) for name in names)


def _blocks(rows: pd.DataFrame, block: Sequence[str]) -> tuple[Codes, Sequence[Hashable]]:
    if not block:
        return np.zeros(len(rows), np.int64), WHOLE
    return _coded(rows, block)


def _coded(rows: pd.DataFrame, names: Sequence[str]) -> tuple[Codes, list[Hashable]]:
    """Return codes of the combinations of columns, and the combinations (of one column: values).

    What is missing is None.
    """
    codes, values = pd.factorize(rows[names[0]], use_na_sentinel=False)
    if len(names) == 1:
        return codes.astype(np.int64), list(_or_none(pd.Series(values)))
    inner = np.zeros(len(rows), np.int64)
    for name in names:
        codes, values = pd.factorize(rows[name], use_na_sentinel=False)
        inner = pd.factorize(inner * len(values) + codes)[0].astype(np.int64)
    first = np.unique(inner, return_index=True)[1]
    found = rows[list(names)].iloc[first]
    return inner, list(zip(*(_or_none(found[name]) for name in names), strict=True))


def _or_none(values: pd.Series[Any]) -> Iterable[Hashable]:
    """Return values with None for all that are missing, so that each can be looked up."""
    return [None if gone else value for value, gone in zip(values, values.isna(), strict=True)]
