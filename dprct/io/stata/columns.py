"""Columns of numbers and of text of a fixed width, and the value labels of numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import MISSING_START, NUMPY_TYPE, packed_text, padded_text
from dprct.missing import MISSING_CODES, code_number, missing_numbers, tagged
from dprct.schema.columns import FLOAT_LIMITS, INTEGER_LIMITS, Code, Column, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.io.stata.layout import ByteOrder, Cursor, Layout


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


_MOST_REMEMBERED = 65_536


class Decoded(dict[bytes, str | bytes]):
    """Cells of one column as text, decoded once per distinct cell.

    Parameters
    ----------
    layout : Layout

    Notes
    -----
    Text that is invalid in the encoding stays bytes.  The memory is emptied when it is full, so
    that a column of distinct texts does not keep them all twice.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.encoding = layout.encoding

    def __missing__(self, cell: bytes) -> str | bytes:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        content = cell.split(b"\0", 1)[0]
        text = self[cell] = decoded(content, self.encoding)
        return text


def decoded(content: bytes, encoding: str) -> str | bytes:
    r"""Return bytes as text, or as they are where the encoding does not know them.

    Examples
    --------
    >>> decoded(b"caf\xe9", "utf-8"), decoded(b"caf\xe9", "cp1252")
    (b'caf\xe9', 'café')
    """
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content


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

    Parameters
    ----------
    cells : sequence of str or bytes, length n
    column : Column
    layout : Layout

    Returns
    -------
    ndarray of ``S#``, shape (n,)

    Raises
    ------
    SchemaError
        If a text is too long, not encodable, or no text at all.
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
_LOWEST = -(2**31)
_PADDING = 3
_LONGEST_TEXT = 32_000


def read_label_sets(cursor: Cursor, layout: Layout) -> LabelSets:
    """Read every label set, attached or not, in the order of the file.

    The cursor stands at the start of the section (117 and later: at its tag).
    """
    sets: dict[str, Mapping[Code, str]] = {}
    if layout.tagged:
        cursor.expect("<value_labels>", _FIELD)
    while cursor.peek("<lbl>") if layout.tagged else cursor.left:
        name, labels = _read_set(cursor, layout)
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
    return name, {_code(number): texts[start] for number, start in zip(codes, starts, strict=True)}


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


def _code(number: int) -> Code:
    return number if number < _FIRST_MISSING else MISSING_CODES[number - _FIRST_MISSING]


def pack_label_sets(sets: LabelSets, layout: Layout, byteorder: ByteOrder) -> bytes:
    """Return the section of value labels as bytes.

    Raises
    ------
    SchemaError
        If a name, code or text does not fit into the release.
    """
    packed = b"".join(_pack_set(name, sets[name], layout, byteorder) for name in sets)
    return b"<value_labels>" + packed + b"</value_labels>" if layout.tagged else packed


def _pack_set(name: str, labels: Mapping[Code, str], layout: Layout, byteorder: ByteOrder) -> bytes:
    numbers = {_number(name, code): code for code in labels}
    if len(numbers) < len(labels):
        raise SchemaError(f"label set {name!r} labels one number twice; keep one label")
    order = sorted(numbers)
    what = f"label set {name!r}"
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


def _number(name: str, code: Code) -> int:
    if isinstance(code, str) and code in MISSING_CODES:
        return _FIRST_MISSING + code_number(code)
    if isinstance(code, int) and _LOWEST <= code < _FIRST_MISSING:
        return int(code)
    raise SchemaError(
        f"label set {name!r} labels something that is neither a whole number of a long "
        "nor a missing code such as '.a'; remove that label"
    )
