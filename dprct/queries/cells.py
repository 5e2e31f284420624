"""Counts of coded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.encode import Coded, prepared_for
from dprct.privacy.aggregate import CellCounts, IntegerVector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.privacy.guarantee import Relation
    from dprct.schema.table import Frame


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
