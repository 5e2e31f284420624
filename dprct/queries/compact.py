"""Rows of any engine as a few bytes each, where a method needs all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.schema.table import collected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.schema.table import Table


def compact(
    frame: Table, expressions: Mapping[str, nw.Expr], types: Mapping[str, IntoDType]
) -> dict[str, NDArray[Any]]:
    """Return expressions of a table as arrays; confidential.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
        Prepared (:func:`dprct.encode.prepared`), if the expressions need it.
    expressions : mapping from name to expression
        Total, and never null: they fill what is missing.  Doubles alone may be null, which is NaN.
    types : mapping from name to narwhals dtype
        What the engine casts to before it returns anything: of numbers that it holds.

    Returns
    -------
    dict from name to (n,) array
        In the order of ``expressions``; perhaps read-only.

    Raises
    ------
    EngineError, MissingDependencyError
        As of :func:`dprct.schema.table.collected`.

    Notes
    -----
    **One call is one pass, and all its arrays have the rows in one order.  Of two calls they may
    not**: engines promise none.  So everything that a fit needs of its rows is asked for at once,
    and what a seed is to decide about rows comes after
    :func:`dprct.queries.order.canonical_order`.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema.table import table
    >>> frame = table(pd.DataFrame({"t": [0.0, 1.0]}))
    >>> compact(frame, {"treated": nw.col("t") == 1}, {"treated": nw.Int8})
    {'treated': array([0, 1], dtype=int8)}
    """
    chosen = [e.cast(types[name]).alias(name) for name, e in expressions.items()]
    found = collected(frame.select(*chosen))
    columns = {name: found[name] for name in expressions}
    del found  # an engine's column is let go once it is an array
    return {name: np.asarray(columns.pop(name).to_numpy()) for name in expressions}


def smallest_integer(size: int) -> IntoDType:
    """Return the smallest signed type, which every engine has, of the codes 0, ..., size - 1.

    Examples
    --------
    >>> smallest_integer(128), smallest_integer(129)
    (Int8, Int16)
    """
    for dtype, bits in ((nw.Int8, 7), (nw.Int16, 15), (nw.Int32, 31)):
        if size <= 1 << bits:
            return dtype
    return nw.Int64
