"""Counts of coded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.encode import Coded, Encoding, prepared_for
from dprct.privacy.aggregate import CellCounts, IntegerVector
from dprct.schema.table import COMPANION, collected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.schema.table import Frame, Table


_ROWS = "__rows"
_COUNT = nw.len().alias(_ROWS)


def cell_counts(
    frame: Table, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> CellCounts:
    """Count the rows in every occupied cell of the public domain.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
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
    counted = _counted(frame, dict(zip(names, encodings, strict=True)))
    digits = np.column_stack([_integers(counted, name) for name in names])
    order = np.lexsort(digits.T[::-1])  # engines group in any order; a seed must mean the same
    return CellCounts(
        digits[order],
        _integers(counted, "rows")[order],
        radices=[encoding.size for encoding in encodings],
        relation=relation,
    )


def one_way_counts(
    frame: Table, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> IntegerVector:
    """Count the rows at every level of every column, one column after the other.

    Returns
    -------
    IntegerVector
        Sealed, of length ``sum(sizes)``.  Replacing one row moves one unit in each of the p
        columns: L1 sensitivity 2p, L2 sensitivity sqrt(2p), largest coordinate 1 (adding or
        removing: p, sqrt(p), 1).
    """
    counts = [_one_way(frame, encoding) for encoding in encodings]
    moved = len(encodings) * (1 if relation == "add-remove" else 2)
    return IntegerVector(
        np.concatenate(counts),
        l1=moved,
        l2_squared=moved,
        l_inf=1,
        relation=relation,
    )


def _one_way(frame: Table, encoding: Coded) -> NDArray[np.int64]:
    counted = _counted(frame, {"code": encoding})
    found = np.zeros(encoding.size, np.int64)
    found[_integers(counted, "code")] = _integers(counted, "rows")
    return found


def _counted(frame: Table, encodings: Mapping[str, Coded]) -> Frame:
    """Count rows by codes, one column for each name, and ``rows``.

    Where a code is one legal value, rows are grouped by what they hold and only the groups are
    encoded: legal values are as few as codes, by the schema, and encoding every row costs an engine
    more than counting it.
    """
    coded = prepared_for(frame, encodings.values())
    held = dict.fromkeys(name for e in encodings.values() for name in _held(e))
    codes = {name: e.expression().alias(name) for name, e in encodings.items() if not _held(e)}
    groups = coded.select(*held, *codes.values()).group_by(*held, *codes).agg(_COUNT)
    if not held:
        return collected(groups.select(*codes, nw.col(_ROWS).alias("rows")))
    later = [e.expression().alias(name) for name, e in encodings.items() if _held(e)]
    few = groups.select(*later, *codes, _ROWS).group_by(*encodings)
    return collected(few.agg(nw.col(_ROWS).sum().alias("rows")))


def _held(encoding: Coded) -> list[str]:
    """Return the columns that hold what has one code each; none where bins hold many values."""
    if isinstance(encoding, Encoding) and len(encoding.cells[0]) > 1:
        return []
    names = [column.name for column in encoding.columns]
    beside = [name + COMPANION for name in names] if getattr(encoding, "missing", ()) else []
    return [*names, *beside]


def _integers(frame: Frame, name: str) -> NDArray[np.int64]:
    return np.asarray(frame[name].to_numpy()).astype(np.int64)
