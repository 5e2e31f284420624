"""An order of rows that depends on what they hold, not on where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

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
