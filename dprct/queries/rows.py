"""Rows of any engine as a few bytes each, where a method needs all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dprct.encoding import divided
from dprct.schema.tables import collected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narwhals.typing import IntoDType

    from dprct.schema.tables import Table


def compact(
    frame: Table, expressions: Mapping[str, nw.Expr], types: Mapping[str, IntoDType]
) -> dict[str, NDArray[Any]]:
    """Return expressions of a table as arrays; confidential.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
        Prepared (:func:`dprct.encoding.prepared`), if the expressions need it.
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
        As of :func:`dprct.schema.tables.collected`.

    Notes
    -----
    **One call is one pass, and all its arrays have the rows in one order.  Of two calls they may
    not**: engines promise none.  So everything that a fit needs of its rows is asked for at once,
    and what a seed is to decide about rows comes after
    :func:`dprct.queries.rows.canonical_order`.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema.tables import table
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


_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def canonical_order(columns: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Return places (n,) of the rows in an order that is the same however they came; confidential.

    Parameters
    ----------
    columns : iterable of (n,) arrays of numbers or bool
        Everything that is used of a row.

    Returns
    -------
    (n,) array of int64
        Rows in the order of a 64-bit mix of their numbers.  Rows that hold the same are
        exchangeable; that two different ones get one number has probability n^2 / 2^65.

    Notes
    -----
    For simulation only: with a seed, engines that return rows in other orders then put the same
    people into the same part.  A guarantee does not rest on an order: a part that is drawn
    uniformly from all of its size has the same law in every order of the rows.

    References
    ----------
    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", for the mix.

    Examples
    --------
    >>> x = np.array([3.0, 1.0, 2.0])
    >>> there, back = canonical_order([x]), canonical_order([x[::-1]])
    >>> bool((x[there] == x[::-1][back]).all())
    True
    """
    mixed: NDArray[np.uint64] | None = None
    for column in columns:
        words = (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # one zero
        words = np.where(np.isnan(column), np.uint64(1), words)  # one NaN
        mixed = _mix(words if mixed is None else mixed ^ words)
    if mixed is None:
        raise ValueError("no columns to order by")
    return np.argsort(mixed, kind="stable")


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a bijection of 64-bit numbers that leaves no pattern (SplitMix64's finaliser)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return np.asarray(words ^ (words >> _SHIFTS[2]))


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
