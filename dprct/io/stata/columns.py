"""Columns of numbers and of text of a fixed width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import (
    LAYOUTS,
    MISSING_START,
    NUMPY_TYPE,
    OLD_MISSING,
    OLDEST_MISSING_DOUBLE,
    Layout,
    packed_text,
)
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.schema.columns import Column

    Content = tuple[int, bytes]


_LAST_CODE = len(MISSING_CODES) - 1
_NEWEST = LAYOUTS[119]


def mark_missing(
    x: NDArray[np.float64], column: Column, offset: int | None = None, layout: Layout = _NEWEST
) -> None:
    """Replace, in place, the numbers that stand for missing codes by NaNs that carry the code.

    ``offset`` is the first byte of the data section, for the refusal.

    Notes
    -----
    In every type the codes are equidistant, so that one formula serves all five.  A NaN of
    another program is ``.``; an infinity stays what it is.  Releases before 113 have ``.`` alone,
    and those up to 105 write it in a double as another number.
    """
    if not layout.has_codes:
        _mark_old(x, column, offset, layout)
        return
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
        _no_stata(column, "between two missing codes", offset)
    x[found[finite]] = tagged(code[finite])


def _mark_old(x: NDArray[np.float64], column: Column, offset: int | None, layout: Layout) -> None:
    """Mark the one missing code of releases before 113; numbers below it are numbers."""
    start = OLD_MISSING[column.type]
    missing = np.isnan(x) | (x == start)
    if layout.short_labels and column.type == "double":
        missing |= x == OLDEST_MISSING_DOUBLE
    if (np.isfinite(x) & (x > start)).any():
        _no_stata(column, "beyond the missing code", offset)
    x[missing] = tagged(0)


def _no_stata(column: Column, place: str, offset: int | None) -> NoReturn:
    raise StataFormatError(
        f"column {column.name!r} has a {column.type} {place}, which no Stata writes; copy the "
        "file again, or in Stata replace the value and save",
        offset=offset,
        field="data",
    )


def packed_numbers(values: NDArray[Any], column: Column, layout: Layout = _NEWEST) -> NDArray[Any]:
    """Numbers as the column's type holds them, in the machine's byte order; nothing is rounded.

    NaNs carry missing codes (see :mod:`dprct.missing`).

    Notes
    -----
    Below, a real number is limited by its bits only: Stata keeps what it overflows to, minus
    infinity included.  Above are the missing codes.
    """
    x = values.astype(np.float64, copy=False)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and _beyond_2_53(values):
        _refuse(column, "holds whole numbers beyond 2^53, which a double does not hold exactly")
    if not x.size or not np.isnan(x.max()):  # the largest of numbers with a NaN is a NaN
        return _packed(x, column, layout)
    missing = np.flatnonzero(np.isnan(x))
    numbers = x.copy()
    numbers[missing] = 0.0  # which is legal in every type
    out = _packed(numbers, column, layout)
    codes = missing_numbers(x[missing])
    if layout.has_codes:
        start, step = MISSING_START[column.type]
        out[missing] = start + step * codes
        return out
    if codes.any():
        raise SchemaError(
            f"column {column.name!r} holds missing codes such as '.a', and release "
            f"{layout.release} has '.' alone; write ``version=113`` or later"
        )
    out[missing] = _old_missing(column.type, layout)
    return out


def _old_missing(storage: str, layout: Layout) -> float:
    oldest = layout.short_labels and storage == "double"
    return OLDEST_MISSING_DOUBLE if oldest else OLD_MISSING[storage]


def _packed(x: NDArray[np.float64], column: Column, layout: Layout) -> NDArray[Any]:
    """Return numbers without a NaN as the column's type, or refuse."""
    if x.size:
        _check_numbers(x, column, layout)
    return x.astype(NUMPY_TYPE[column.type], copy=False)


def _beyond_2_53(values: NDArray[Any]) -> bool:
    return bool(((values > 2**53) | (values < -(2**53 if values.dtype.kind == "i" else 0))).any())


def _check_numbers(x: NDArray[np.float64], column: Column, layout: Layout) -> None:
    storage = column.type
    low, high = INTEGER_LIMITS.get(storage) or (-np.inf, FLOAT_LIMITS[storage])
    if not layout.has_codes and storage in INTEGER_LIMITS:
        low, high = low - 1, int(OLD_MISSING[storage]) - 1
    if layout.short_labels and storage == "double" and (x == OLDEST_MISSING_DOUBLE).any():
        _refuse(column, f"holds 2^333, which is the missing code of release {layout.release}")
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


class _Packed(dict[Any, bytes]):
    """Texts of one column as bytes, checked once per distinct text."""

    def __init__(self, column: Column, layout: Layout) -> None:
        super().__init__()
        self.column, self.layout = column, layout
        self.width = text_width(column.type) or 0

    def __missing__(self, text: object) -> bytes:
        packed = self[text] = packed_cell(text, self.width, self.column, self.layout)
        return packed


def packed_cell(text: object, most: int, column: Column, layout: Layout) -> bytes:
    """Return one cell of text as bytes, or refuse it without showing it."""
    if isinstance(text, bytes):
        if b"\0" in text:
            raise SchemaError(
                f"column {column.name!r} ({column.type}) holds bytes with a NUL, which ends a "
                "text in Stata; declare the column strL"
            )
        if len(text) <= most:
            return text
    elif not isinstance(text, str):
        raise SchemaError(
            f"column {column.name!r} ({column.type}) holds something that is not text; "
            "Stata has no missing text, give '' instead"
        )
    else:
        packed = packed_text(text, max(most, 4 * len(text)), layout, f"column {column.name!r}")
        if len(packed) <= most:
            return packed
    raise SchemaError(
        f"column {column.name!r} ({column.type}) holds text of more than {most:,} bytes; "
        "shorten it or declare a wider type"
    )


def packed_strings(cells: Sequence[object], column: Column, layout: Layout) -> NDArray[np.bytes_]:
    """Texts as fields of the column's width."""
    packed = _Packed(column, layout)
    try:
        fields = list(map(packed.__getitem__, cells))
    except TypeError:
        fields = [packed_cell(cell, packed.width, column, layout) for cell in cells]
    return np.array(fields, f"S{packed.width}")
