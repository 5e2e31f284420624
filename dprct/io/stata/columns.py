"""Columns of numbers and of text of a fixed width, and the value labels of numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import (
    LAYOUTS,
    MISSING_START,
    NUMPY_TYPE,
    OLD_MISSING,
    OLDEST_MISSING_DOUBLE,
    ByteOrder,
    Layout,
    packed_text,
    padded_text,
)
from dprct.missing import MISSING_CODES, code_number, missing_numbers, tagged
from dprct.schema.columns import Code, Column
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.io.stata.layout import Cursor

    Content = tuple[int, bytes]


_LAST_CODE = len(MISSING_CODES) - 1
_NEWEST = LAYOUTS[119]


def mark_missing(
    x: NDArray[np.float64], column: Column, offset: int | None = None, layout: Layout = _NEWEST
) -> None:
    """Replace, in place, the numbers that stand for missing codes by NaNs that carry the code.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Numbers as they are in the file.
    offset : int, optional
        First byte of the data section, for the refusal.
    layout : Layout
        Of the file's release.

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
    """Return numbers as the column's type holds them; nothing is rounded or clipped.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Integers, booleans or floats; NaNs carry missing codes (see :mod:`dprct.missing`).
    layout : Layout
        Of the release that is written.

    Returns
    -------
    ndarray, shape (n,)
        In the machine's byte order.

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
    """Return texts as fields of the column's width.

    Returns
    -------
    ndarray of ``S#``, shape (n,)
    """
    packed = _Packed(column, layout)
    try:
        fields = list(map(packed.__getitem__, cells))
    except TypeError:
        fields = [packed_cell(cell, packed.width, column, layout) for cell in cells]
    return np.array(fields, f"S{packed.width}")


LabelSets = Mapping[str, Mapping[Code, str]]

_FIELD = "value labels"
_FIRST_MISSING = 2_147_483_621
_OLD_MISSING_LONG = 2**31 - 1
_LOWEST = -(2**31)
_PADDING = 3
_LONGEST_TEXT = 32_000
_SHORT_TEXT = 8


def read_label_sets(cursor: Cursor, layout: Layout) -> LabelSets:
    """Read every label set, attached or not, in the order of the file.

    The cursor stands at the start of the section (117 and later: at its tag).
    """
    sets: dict[str, Mapping[Code, str]] = {}
    read_set = _read_short_set if layout.short_labels else _read_set
    if layout.tagged:
        cursor.expect("<value_labels>", _FIELD)
    while cursor.peek("<lbl>") if layout.tagged else cursor.left:
        name, labels = read_set(cursor, layout)
        if name in sets:
            cursor.fail(f"two label sets are called {name!r}; copy the file again", _FIELD)
        sets[name] = MappingProxyType(labels)
    if layout.tagged:
        cursor.expect("</value_labels></stata_dta>", _FIELD)
    return MappingProxyType(sets)


def _read_set(cursor: Cursor, layout: Layout) -> tuple[str, dict[Code, str]]:
    if layout.tagged:
        cursor.expect("<lbl>", _FIELD)
    length = cursor.number("I", _FIELD)
    name = layout.decode(cursor.take(layout.name + _PADDING, _FIELD)[: layout.name])
    end = cursor.at + length
    cursor.need(length, _FIELD)
    entries, text_length = cursor.numbers("II", _FIELD)
    if cursor.at + 8 * entries + text_length > end:
        cursor.fail(f"label set {name!r} is longer than it says", _FIELD)
    starts = cursor.numbers(f"{entries}I", _FIELD)
    codes = cursor.numbers(f"{entries}i", _FIELD)
    texts = _texts(cursor, layout, cursor.take(text_length, _FIELD), starts)
    cursor.jump(end, _FIELD)
    if layout.tagged:
        cursor.expect("</lbl>", _FIELD)
    if len(set(codes)) < entries:
        cursor.fail(f"label set {name!r} labels one number twice", _FIELD)
    pairs = zip(codes, starts, strict=True)
    return name, {_code(number, layout): texts[start] for number, start in pairs}


def _read_short_set(cursor: Cursor, layout: Layout) -> tuple[str, dict[Code, str]]:
    """Read a label set of releases up to 105: a count, a name, numbers, and texts of 8 bytes."""
    entries = cursor.number("H", _FIELD)
    name = layout.decode(cursor.take(layout.name + 1, _FIELD)[: layout.name])
    codes = cursor.numbers(f"{entries}h", _FIELD)
    texts = cursor.take(_SHORT_TEXT * entries, _FIELD)
    if len(set(codes)) < entries:
        cursor.fail(f"label set {name!r} labels one number twice", _FIELD)
    starts = range(0, len(texts), _SHORT_TEXT)
    fields = [layout.decode(texts[start : start + _SHORT_TEXT]) for start in starts]
    return name, dict(zip(codes, fields, strict=True))


def _texts(cursor: Cursor, layout: Layout, block: bytes, starts: tuple[int, ...]) -> dict[int, str]:
    """Return the text that begins at each start; they may not overlap.

    Overlapping texts would let a small file ask for memory of the square of its size.
    """
    texts, free = {}, 0
    for start in sorted(set(starts)):
        if not free <= start < len(block):
            cursor.fail("a label begins outside the text, or inside another label", _FIELD)
        end = block.find(b"\0", start)
        free = len(block) if end < 0 else end + 1
        texts[start] = layout.decode(block[start:free])
    return texts


def _code(number: int, layout: Layout) -> Code:
    if not layout.has_codes:
        return "." if number == _OLD_MISSING_LONG else number
    return number if number < _FIRST_MISSING else MISSING_CODES[number - _FIRST_MISSING]


def pack_label_sets(sets: LabelSets, layout: Layout, byteorder: ByteOrder) -> bytes:
    """Return the section of value labels as bytes."""
    packed = b"".join(_pack_set(name, sets[name], layout, byteorder) for name in sets)
    return b"<value_labels>" + packed + b"</value_labels>" if layout.tagged else packed


def _pack_set(name: str, labels: Mapping[Code, str], layout: Layout, byteorder: ByteOrder) -> bytes:
    numbers = {_number(name, code, layout): code for code in labels}
    if len(numbers) < len(labels):
        raise SchemaError(f"label set {name!r} labels one number twice; keep one label")
    order = sorted(numbers)
    what = f"label set {name!r}"
    if layout.short_labels:
        fields = b"".join(
            packed_text(labels[numbers[number]], _SHORT_TEXT, layout, f"a label of {what}").ljust(
                _SHORT_TEXT, b"\0"
            )
            for number in order
        )
        title = padded_text(name, layout.name, layout, f"the name of {what}") + b"\0"
        start = struct.pack(f"{byteorder}H", len(order)) + title
        return start + struct.pack(f"{byteorder}{len(order)}h", *order) + fields
    texts = [
        packed_text(labels[numbers[number]], _LONGEST_TEXT, layout, f"a label of {what}") + b"\0"
        for number in order
    ]
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text))
    n = len(order)
    table = struct.pack(f"{byteorder}II{n}I{n}i", n, starts[-1], *starts[:-1], *order)
    head = struct.pack(f"{byteorder}I", len(table) + starts[-1])
    title = padded_text(name, layout.name, layout, f"the name of {what}") + bytes(_PADDING)
    packed = head + title + table + b"".join(texts)
    return b"<lbl>" + packed + b"</lbl>" if layout.tagged else packed


def _number(name: str, code: Code, layout: Layout) -> int:
    if layout.short_labels:
        if isinstance(code, int) and -(2**15) <= code < 2**15:
            return int(code)
        raise SchemaError(
            f"label set {name!r} labels something other than a whole number of an int, which "
            f"release {layout.release} cannot; write ``version=113`` or later"
        )
    if not layout.has_codes and (code == "." or isinstance(code, int)):
        number = _OLD_MISSING_LONG if code == "." else int(code)
        if _LOWEST <= number < _OLD_MISSING_LONG or code == ".":
            return number
    elif layout.has_codes and isinstance(code, str) and code in MISSING_CODES:
        return _FIRST_MISSING + code_number(code)
    elif isinstance(code, int) and _LOWEST <= code < _FIRST_MISSING:
        return int(code)
    raise SchemaError(
        f"label set {name!r} labels something that is neither a whole number of a long "
        "nor a missing code such as '.a'; remove that label"
    )
