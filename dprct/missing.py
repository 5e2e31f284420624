"""Stata's 27 missing codes, carried by an ordinary double.

``.`` is a plain NaN; ``.a`` to ``.z`` put their letter into bits 32 to 39 of the payload, where
R's haven puts its tagged missing values.  The payload lives in NumPy memory only: Polars, DuckDB,
parquet and pandas' grouping merge or destroy it, so it is read with a NumPy view, here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MISSING_CODES: tuple[str, ...] = (".", *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"))
"""The missing codes in Stata's order; the index of a code is its number (0 to 26)."""

_NA_REAL = np.uint64(0x7FF8_0000_0000_07A2)
_TAG_SHIFT = np.uint64(32)
_TAG_MASK = np.uint64(0xFF)
_BEFORE_A = 96


def code_number(code: str) -> int:
    """Return the number of a missing code, 0 for ``"."`` to 26 for ``".z"``.

    Raises
    ------
    ParameterError
        If ``code`` is not one of :data:`MISSING_CODES`.

    Examples
    --------
    >>> code_number(".b")
    2
    """
    if code not in MISSING_CODES:
        raise ParameterError(f"missing code {code!r}; allowed: '.' and '.a' to '.z'")
    return MISSING_CODES.index(code)


def tagged(numbers: ArrayLike) -> NDArray[np.float64]:
    """Return NaNs that carry the missing codes ``numbers`` (0 is ``.``, 26 is ``.z``).

    Examples
    --------
    >>> missing_numbers(tagged([0, 1, 26])).tolist()
    [0, 1, 26]
    """
    k = np.asarray(numbers, np.uint64)
    tag = np.where(k > 0, k + np.uint64(_BEFORE_A), np.uint64(0)) << _TAG_SHIFT
    out: NDArray[np.float64] = (_NA_REAL | tag).view(np.float64)
    return out


def missing_numbers(values: ArrayLike) -> NDArray[np.int8]:
    """Return -1 where ``values`` is a number, else the number of its missing code.

    A NaN that carries no letter is ``.`` (0).

    Examples
    --------
    >>> missing_numbers([1.5, float("nan")]).tolist()
    [-1, 0]
    """
    x = np.ascontiguousarray(values, np.float64)
    tag = ((x.view(np.uint64) >> _TAG_SHIFT) & _TAG_MASK).astype(np.int16) - _BEFORE_A
    letter = np.where((tag >= 1) & (tag <= 26), tag, 0)
    return np.where(np.isnan(x), letter, -1).astype(np.int8)
