"""Numbers as a Stata storage type holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.schema.facts import Column


def stored(column: Column, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as the column's storage type holds them (float rounds to 24 bits).

    Examples
    --------
    >>> from dprct.schema import Column
    >>> stored(Column("x", "float"), np.array([0.1])).tolist()
    [0.10000000149011612]
    """
    x = values.astype(np.float64)
    if column.type == "float":
        return np.asarray(x.astype(np.float32), dtype=np.float64)
    return x
