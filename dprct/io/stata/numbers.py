"""Columns of numbers: Stata's five types on one side, float64 with missing codes on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import MISSING_START, NUMPY_TYPE
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LAST_CODE = len(MISSING_CODES) - 1


def mark_missing(x: NDArray[np.float64], column: Column, offset: int | None = None) -> None:
    """Replace, in place, the numbers that stand for missing codes by NaNs that carry the code.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Numbers as they are in the file.
    column : Column
    offset : int, optional
        First byte of the data section, for the refusal.

    Raises
    ------
    StataFormatError
        If a number lies between two missing codes.

    Notes
    -----
    In every type the codes are equidistant, so that one formula serves all five.  A NaN of
    another program is ``.``; an infinity stays what it is.
    """
    start, step = MISSING_START[column.type]
    if not x.size or x.max() < start:  # a NaN makes the comparison false
        return
    found = np.flatnonzero(~(x < start))  # where a NaN is found too
    values = x[found]
    with np.errstate(invalid="ignore"):
        code = (values - start) / step
    code[np.isnan(values)] = 0.0
    finite = np.isfinite(code)
    if (code[finite] > _LAST_CODE).any() or (code[finite] % 1).any():
        raise StataFormatError(
            f"column {column.name!r} has a {column.type} between two missing codes, which no Stata "
            "writes; copy the file again, or in Stata replace the value and save",
            offset=offset,
            field="data",
        )
    x[found[finite]] = tagged(code[finite])


def packed_numbers(values: NDArray[Any], column: Column) -> NDArray[Any]:
    """Return numbers as the column's type holds them; nothing is rounded or clipped.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Integers, booleans or floats; NaNs carry missing codes (see :mod:`dprct.missing`).
    column : Column

    Returns
    -------
    ndarray, shape (n,)
        In the machine's byte order.

    Raises
    ------
    SchemaError
        If a number does not fit.

    Notes
    -----
    Below, a real number is limited by its bits only: Stata keeps what it overflows to, minus
    infinity included.  Above are the missing codes.
    """
    x = values.astype(np.float64, copy=False)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and _beyond_2_53(values):
        _refuse(column, "holds whole numbers beyond 2^53, which a double does not hold exactly")
    if not x.size or not np.isnan(x.max()):  # the largest of numbers with a NaN is a NaN
        return _packed(x, column)
    missing = np.flatnonzero(np.isnan(x))
    numbers = x.copy()
    numbers[missing] = 0.0  # which is legal in every type
    out = _packed(numbers, column)
    start, step = MISSING_START[column.type]
    out[missing] = start + step * missing_numbers(x[missing])
    return out


def _packed(x: NDArray[np.float64], column: Column) -> NDArray[Any]:
    """Return numbers without a NaN as the column's type, or refuse."""
    if x.size:
        _check_numbers(x, column)
    return x.astype(NUMPY_TYPE[column.type], copy=False)


def _beyond_2_53(values: NDArray[Any]) -> bool:
    return bool(((values > 2**53) | (values < -(2**53 if values.dtype.kind == "i" else 0))).any())


def _check_numbers(x: NDArray[np.float64], column: Column) -> None:
    storage = column.type
    low, high = INTEGER_LIMITS.get(storage) or (-np.inf, FLOAT_LIMITS[storage])
    if x.max() > high or (storage in INTEGER_LIMITS and x.min() < low):
        span = f"{low:,} to {high:,}" if storage in INTEGER_LIMITS else f"numbers up to {high:g}"
        _refuse(column, f"holds a number that is not among {span}, the range of the type")
    if storage in INTEGER_LIMITS and (x != np.rint(x)).any():
        _refuse(column, f"holds a number that is not whole, which a {storage} must be")
    if storage == "float" and not _survives_32_bits(x):
        _refuse(column, "holds a number that a float (32 bits) does not hold exactly")


def _survives_32_bits(x: NDArray[np.float64]) -> bool:
    with np.errstate(over="ignore", under="ignore"):
        return bool((x == x.astype(np.float32)).all())


def _refuse(column: Column, rule: str) -> None:
    raise SchemaError(
        f"column {column.name!r} ({column.type}) {rule}; change the numbers or declare a wider type"
    )
