"""Operations on arrays in memory and on an engine's columns alike, equal to the last bit.

A formula that is written in these, and in +, - and *, is one formula for both: IEEE 754 rounds each
operation in one way, and their order is that of the source.
"""

from __future__ import annotations

from typing import TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dprct.bins import divided

Array = NDArray[np.float64]
Numbers = TypeVar("Numbers", Array, nw.Expr)
"""Doubles, one for each row: an array (n,), or an expression of a table that stays where it is."""


def over(x: Numbers, by: Numbers | float) -> Numbers:
    """Return x / by, rounded once, of finite x and ``by`` not 0; an overflow is infinite.

    Examples
    --------
    >>> over(np.array([1.0, -1.0]), 4.0).tolist()
    [0.25, -0.25]
    """
    if isinstance(x, nw.Expr):
        return divided(x, by) if isinstance(by, (int, float)) else x / by
    with np.errstate(over="ignore"):
        return np.asarray(x / by, np.float64)


def within(x: Numbers, low: float, high: float) -> Numbers:
    """Return x within [low, high], a NaN (in an engine, a null too) being 0 first.

    Examples
    --------
    >>> within(np.array([np.nan, np.inf, -5.0]), -2.0, 2.0).tolist()
    [0.0, 2.0, -2.0]
    """
    if isinstance(x, nw.Expr):  # engines differ in how NaN and null compare, so that both are named
        known = nw.when(x.is_nan()).then(nw.lit(0.0)).otherwise(x).fill_null(0.0)
        return known.clip(low, high)
    return np.asarray(np.clip(np.where(np.isnan(x), 0.0, x), low, high))


def at_most(x: Numbers, most: Numbers) -> Numbers:
    """Return x within [-most, most], row by row; both are numbers.

    Examples
    --------
    >>> at_most(np.array([3.0, -3.0]), np.array([1.0, 4.0])).tolist()
    [1.0, -3.0]
    """
    if isinstance(x, nw.Expr):
        return nw.max_horizontal(nw.min_horizontal(x, most), most * -1.0)
    return np.asarray(np.clip(x, -most, most))


def nearest(x: Numbers) -> Numbers:
    """Return floor(x + 1/2), still a double.

    Examples
    --------
    >>> nearest(np.array([0.5, -0.5, 1.4])).tolist()
    [1.0, 0.0, 1.0]
    """
    half = x + 0.5
    if isinstance(half, nw.Expr):
        return half.floor()
    return np.asarray(np.floor(half), np.float64)
