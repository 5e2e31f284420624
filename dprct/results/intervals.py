"""Intervals as statsmodels returns them, of whatever law gave their half widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.schema.columns import given

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def checked_alpha(alpha: object) -> float:
    """Return the size of a test, refusing what is not between 0 and 1.

    Raises
    ------
    ParameterError
        If it is not a number between 0 and 1.

    Examples
    --------
    >>> checked_alpha(0.05)
    0.05
    """
    if isinstance(alpha, (int, float)) and 0 < alpha < 1:
        return float(alpha)
    raise ParameterError(f"alpha={given(alpha)}; give a number between 0 and 1 such as 0.05")


def interval_frame(params: pd.Series[float], half: ArrayLike) -> pd.DataFrame:
    """Return the ends of intervals around estimates.

    Parameters
    ----------
    params : (k,) Series
        Estimates by name.
    half : (k,) array or number
        Half widths, in the unit of the estimates.

    Returns
    -------
    (k, 2) DataFrame
        Columns 0 and 1 are the lower and the upper end.

    Examples
    --------
    >>> interval_frame(pd.Series({"t": 2.0}), 0.5).loc["t"].tolist()
    [1.5, 2.5]
    """
    values, around = params.to_numpy(), np.asarray(half, np.float64)
    ends = np.column_stack([values - around, values + around])
    return pd.DataFrame(ends, index=params.index)
