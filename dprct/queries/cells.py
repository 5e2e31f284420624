"""Counts of coded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.encode import Coded, prepared_for
from dprct.privacy.aggregate import CellCounts, IntegerVector
from dprct.schema.table import collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.schema.table import Frame, Table


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
    codes = prepared_for(frame, encodings).select(
        *[e.expression().alias(name) for e, name in zip(encodings, names, strict=True)]
    )
    counted = collected(codes.group_by(names).agg(nw.len().alias("rows")))
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
    coded = prepared_for(frame, encodings)
    counts = [_one_way(coded, encoding) for encoding in encodings]
    moved = len(encodings) * (1 if relation == "add-remove" else 2)
    return IntegerVector(
        np.concatenate(counts),
        l1=moved,
        l2_squared=moved,
        l_inf=1,
        relation=relation,
    )


def _one_way(coded: Table, encoding: Coded) -> NDArray[np.int64]:
    codes = coded.select(encoding.expression().alias("code"))
    counted = collected(codes.group_by("code").agg(nw.len().alias("rows")))
    found = np.zeros(encoding.size, np.int64)
    found[_integers(counted, "code")] = _integers(counted, "rows")
    return found


def _integers(frame: Frame, name: str) -> NDArray[np.int64]:
    return np.asarray(frame[name].to_numpy()).astype(np.int64)
