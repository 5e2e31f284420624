"""An outcome less a public function of the same row: what an index leaves of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.schema.own import check_own
from dprct.schema.table import numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.schema.schema import Schema
    from dprct.schema.table import Frame


def covariates(frame: Frame, names: Sequence[str], schema: Schema) -> pd.DataFrame:
    """Return the columns that an index uses: float64 numbers, or text; confidential rows.

    Raises
    ------
    SchemaError
        If one person can move the rows of others in a column: then a residual is no function of
        its own record, and :func:`with_residual` proves nothing.
    """
    columns = [schema.column(name) for name in names]
    for column in columns:
        check_own(column)
    return pd.DataFrame(
        {
            column.name: text_of(frame, column.name)
            if column.is_text
            else numbers_of(frame, column.name)[0]
            for column in columns
        }
    )


def with_residual(
    frame: Frame, outcome: str, index: NDArray[np.float64], fill: float | None = None
) -> Frame:
    """Return the frame with an outcome replaced by what it is more than its index.

    Parameters
    ----------
    frame : narwhals frame, n rows
    outcome : str
    index : (n,) array
        g0(X) of each row, from that row alone.
    fill : float or None
        What stands for a missing outcome; without it, missing stays missing.

    Notes
    -----
    Row i becomes r_i = y_i - g0(x_i), and 0 where that is not finite, so that r_i depends on
    record i alone: g0 is public and computed row by row.  Replacing one record, outcome and
    covariates together, changes one r_i, and every query clips it to its declared bounds
    first.  All sensitivities are therefore those of an outcome with the bounds of the residual;
    that the covariates are private too costs nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema.table import eager
    >>> frame = eager(pd.DataFrame({"y": [3.0, 5.0]}))
    >>> with_residual(frame, "y", np.array([1.0, np.inf]))["y"].to_list()
    [2.0, 0.0]
    """
    y = numbers_of(frame, outcome)[0]
    if fill is not None:
        y = np.where(np.isnan(y), fill, y)
    with np.errstate(invalid="ignore", over="ignore"):
        rest = y - index
    rest = np.where(np.isnan(y), np.nan, np.where(np.isfinite(rest), rest, 0.0))
    series = nw.new_series(outcome, rest, nw.Float64, backend=frame.implementation)
    out: Frame = frame.with_columns(series)
    return out
