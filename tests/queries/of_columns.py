"""Sums of clipped columns: the plainest query, for tests of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import GRID, Clipped, added

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.privacy.budget import Relation
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table


def clipped_sums(
    frame: Table, columns: Sequence[Column], relation: Relation = "replace-one"
) -> IntegerVector:
    """Sum the clipped values of columns, as exact integers on their grids.

    Notes
    -----
    The sums are whole numbers below 2^63 for any n below 8e12 (docs/methods.md, section 0).
    """
    steps = {f"k{j}": Clipped(column).whole() for j, column in enumerate(columns)}
    d, held = len(steps), np.array(added(frame, steps)[0][:-1], dtype=object)
    return IntegerVector(held, l1=d * GRID, l2_squared=d * GRID**2, l_inf=GRID, relation=relation)
