"""What is assigned: rows, or clusters of rows, and the blocks that they lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.assignment.groups import quoted
from dprct.errors import ColumnError, ParameterError
from dprct.formula.columns import columns_of, is_missing

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from narwhals.typing import IntoFrame

    from dprct.assignment.allocation import Codes

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
    """

    member: Codes
    block: Codes
    labels: Sequence[Hashable]

    @property
    def sizes(self) -> Codes:
        """Units per block; (B,)."""
        return np.bincount(self.block, minlength=len(self.labels))

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
    index = frame.index if isinstance(frame, pd.DataFrame) else pd.RangeIndex(_length(frame))
    if len(index) == 0:
        raise ParameterError("the frame has no rows; give one row per participant")
    if rows.columns.empty:
        rows = pd.DataFrame(index=pd.RangeIndex(len(index)))
    return rows, index


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
        return Units(np.arange(len(rows)), in_block, labels)
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


def _length(frame: IntoFrame) -> int:
    count = nw.from_native(frame).lazy().select(nw.len()).collect()
    return int(count.item())
