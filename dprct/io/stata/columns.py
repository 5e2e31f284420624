"""Columns of numbers and of text of a fixed width, and the value labels of numbers."""

from __future__ import annotations

import hashlib
import io
import shutil
import struct
from array import array
from collections.abc import Mapping
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import (
    LAYOUTS,
    MISSING_START,
    NUMPY_TYPE,
    OLD_MISSING,
    OLDEST_MISSING_DOUBLE,
    ByteOrder,
    Layout,
    decoded,
    packed_text,
    padded_text,
)
from dprct.missing import MISSING_CODES, code_number, missing_numbers, tagged
from dprct.schema.columns import Code, Column
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


BINARY, TEXT = 129, 130
"""Kinds of strL."""

_STRL_FIELD = "strLs"

Cells = NDArray[np.uint64]


class RawText(bytes):
    """Text of a strL that is invalid in the file's encoding, as opposed to a binary object.

    It equals, and may be used as, the same ``bytes``; writing keeps it a text.
    """


def cell_number(variable: int, row: int, layout: Layout, byteorder: ByteOrder) -> int:
    """Return the number in a cell that refers to the strL (variable, row), both from 1.

    Examples
    --------
    >>> hex(cell_number(3, 1, LAYOUTS[118], "<")), hex(cell_number(3, 1, LAYOUTS[118], ">"))
    ('0x10003', '0x3000000000001')
    """
    bits = 8 * layout.strl_variable
    return variable + (row << bits) if byteorder == "<" else (variable << (64 - bits)) + row


def gso_head(layout: Layout, byteorder: ByteOrder) -> struct.Struct:
    """Return what stands before a strL: mark, variable, row, kind and length."""
    return struct.Struct(f"{byteorder}3sI{layout.gso_row}BI")


class Strls:
    """Where every strL of a file lies; contents are read when they are asked for.

    Parameters
    ----------
    cursor : Cursor
        Stands at the section of strLs, and after it when this is made.

    Notes
    -----
    Only heads are read here, once.  21 bytes are kept of each strL, however long it is: number,
    place, length and kind.
    """

    def __init__(self, cursor: Cursor, layout: Layout, byteorder: ByteOrder) -> None:
        self.cursor, self.layout, self.byteorder = cursor, layout, byteorder
        numbers, places, lengths, kinds = _scan(cursor, layout, byteorder)
        self._numbers = np.frombuffer(numbers, np.uint64)
        self._places = np.frombuffer(places, np.uint64)
        self._lengths = np.frombuffer(lengths, np.uint32)
        self._kinds = np.frombuffer(kinds, np.uint8)
        self._sort()

    def settle(self, cells: Iterable[Cells]) -> None:
        """Learn, from all cells of the file, which release's cells they are.

        Notes
        -----
        ReadStat (and with it haven) writes release 119 with the cells of 118; where the cells
        make no sense as 119, they are read so.
        """
        if self.layout.release == 119 and not all(self._known(c).all() for c in cells):
            self._renumber(LAYOUTS[118])

    def sizes(self, cells: Cells) -> NDArray[np.int64]:
        """Return how many bytes the content of every cell has."""
        found = self._found(cells)
        sizes = np.zeros(len(cells), np.int64)
        if len(self._numbers):
            sizes = np.where(cells == 0, 0, self._lengths[found].astype(np.int64))
        return sizes

    def texts(self, cells: Cells) -> NDArray[np.object_]:
        """Return the contents that cells refer to, each distinct one read once.

        Parameters
        ----------
        cells : ndarray of uint64, shape (n,)

        Returns
        -------
        ndarray of object, shape (n,)
            str; bytes for a binary object, :class:`RawText` for undecodable text.

        Notes
        -----
        In the order of the file, as Stata writes strLs in the order of the rows that hold them.
        """
        distinct, inverse = np.unique(cells, return_inverse=True)
        contents = np.empty(len(distinct), object)
        contents[:] = ""
        used = np.flatnonzero(distinct)
        found = self._found(distinct[used])
        for i in np.argsort(self._places[found]).tolist():
            contents[used[i]] = self._content(int(found[i]))
        self.cursor.file.seek(self.cursor.at)
        texts: NDArray[np.object_] = contents[inverse]
        return texts

    def _content(self, i: int) -> str | bytes:
        self.cursor.file.seek(int(self._places[i]))
        length = int(self._lengths[i])
        content = self.cursor.file.read(length)
        if len(content) != length:
            self.cursor.fail(
                "the file became shorter while it was read; read it again", _STRL_FIELD
            )
        if self._kinds[i] == BINARY:
            return content
        text = decoded(content.split(b"\0", 1)[0], self.layout.encoding)
        return RawText(text) if isinstance(text, bytes) else text

    def _found(self, cells: Cells) -> NDArray[np.intp]:
        """Return where the cells stand among the numbers; any place for an empty one."""
        if not self._known(cells).all():
            self.cursor.fail(
                "a row refers to a strL that does not exist; copy the file again", _STRL_FIELD
            )
        return np.minimum(np.searchsorted(self._numbers, cells), max(len(self._numbers) - 1, 0))

    def _known(self, cells: Cells) -> NDArray[np.bool_]:
        at = np.searchsorted(self._numbers, cells)
        known: NDArray[np.bool_] = cells == 0
        inside = at < len(self._numbers)
        known[inside] |= self._numbers[at[inside]] == cells[inside]
        return known

    def _renumber(self, layout: Layout) -> None:
        """Use the numbers of another release; a strL that has none there is no more found."""
        bits, other = 8 * self.layout.strl_variable, 8 * layout.strl_variable
        low = np.uint64(bits if self.byteorder == "<" else 64 - bits)
        lower, upper = self._numbers & ((np.uint64(1) << low) - np.uint64(1)), self._numbers >> low
        variable, row = (lower, upper) if self.byteorder == "<" else (upper, lower)
        fits = variable < np.uint64(1 << other)
        variable, row = np.where(fits, variable, 0), np.where(fits, row, 0)
        self._numbers = (
            variable + (row << np.uint64(other))
            if self.byteorder == "<"
            else (variable << np.uint64(64 - other)) + row
        )
        self._sort()

    def _sort(self) -> None:
        if np.all(self._numbers[1:] > self._numbers[:-1]):
            return
        order = np.argsort(self._numbers, kind="stable")
        self._numbers, self._places = self._numbers[order], self._places[order]
        self._lengths, self._kinds = self._lengths[order], self._kinds[order]
        if np.any((self._numbers[1:] == self._numbers[:-1]) & (self._numbers[1:] > 0)):
            self.cursor.fail("two strLs have the same place; copy the file again", _STRL_FIELD)


def _scan(
    cursor: Cursor, layout: Layout, byteorder: ByteOrder
) -> tuple[array[int], array[int], array[int], array[int]]:
    """Return number, place, length and kind of every strL, in the order of the file."""
    numbers, places, lengths, kinds = array("Q"), array("Q"), array("I"), array("B")
    head, file = gso_head(layout, byteorder), cursor.file
    most_variable = 1 << 8 * layout.strl_variable
    most_row = 1 << 64 - 8 * layout.strl_variable
    cursor.expect("<strls>", _STRL_FIELD)
    while (read := file.read(head.size)).startswith(b"GSO"):
        if len(read) < head.size:
            cursor.need(head.size, _STRL_FIELD)
        _, variable, row, kind, length = head.unpack(read)
        if kind not in (BINARY, TEXT):
            cursor.fail("a strL is neither text nor binary; copy the file again", _STRL_FIELD)
        if variable >= most_variable or row >= most_row:
            cursor.fail("a strL has a place that no row can name; copy the file again", _STRL_FIELD)
        cursor.need(head.size + length, _STRL_FIELD)
        numbers.append(cell_number(variable, row, layout, byteorder))
        places.append(cursor.at + head.size)
        lengths.append(length)
        kinds.append(kind)
        cursor.at += head.size + length
        file.seek(length, 1)
    file.seek(cursor.at)
    cursor.expect("</strls>", _STRL_FIELD)
    return numbers, places, lengths, kinds


_LONGEST = 2_000_000_000
_EMPTY = (TEXT, b"\0")


class StrlWriter:
    """Takes the strLs of a file while its cells are packed, in one piece or in many.

    Parameters
    ----------
    spool : binary file object, optional
        Open for writing and reading, empty: contents wait there until the rows are written.
        By default they wait in memory, and the rows come in one piece.

    Notes
    -----
    Of each distinct content of an earlier piece 24 bytes are kept: a digest of 128 bits and the
    number of its cell.  Equal digests of unequal contents are not to be expected before 2^64
    contents.
    """

    def __init__(
        self, layout: Layout, byteorder: ByteOrder, spool: IO[bytes] | None = None
    ) -> None:
        self.layout, self.byteorder = layout, byteorder
        self.size = 0
        self._spool = io.BytesIO() if spool is None else spool
        self._head = gso_head(layout, byteorder)
        self._rows = 0
        self._waiting: dict[tuple[int, int], Content] = {}
        self._earlier: dict[int, _Earlier] | None = None if spool is None else {}

    def cells(self, values: Sequence[object], variable: int, column: Column) -> Cells:
        """Return the cells of a strL column; equal contents are kept once.

        Parameters
        ----------
        values : sequence of str or bytes, length n
            Of this piece.
        variable : int
            Place of the column, from 1.

        Returns
        -------
        ndarray of uint64, shape (n,)
        """
        which: dict[Content, int] = {_EMPTY: 0}
        rows, out = [0], np.empty(len(values), np.intp)
        for i, value in enumerate(values):
            content = _packed_strls(value, column, self.layout)
            out[i] = which.setdefault(content, len(rows))
            if out[i] == len(rows):
                rows.append(self._rows + i + 1)
        numbers = np.array(
            [0, *(cell_number(variable, row, self.layout, self.byteorder) for row in rows[1:])],
            np.uint64,
        )
        contents = list(which)
        for i in self._new(contents, numbers, variable):
            self._waiting[rows[i], variable] = contents[i]
        return numbers[out]

    def end_piece(self, rows: int) -> None:
        """Put what this piece of ``rows`` rows holds for the first time behind the others.

        Within the file strLs stand by row and then by variable, as Stata wants them.
        """
        for (row, variable), (kind, content) in sorted(self._waiting.items()):
            self._spool.write(self._head.pack(b"GSO", variable, row, kind, len(content)))
            self._spool.write(content)
            self.size += self._head.size + len(content)
        self._waiting.clear()
        self._rows += rows

    def copy_to(self, file: IO[bytes]) -> None:
        """Write all strLs, without the tags around them."""
        self._spool.seek(0)
        shutil.copyfileobj(self._spool, file, 1 << 20)

    def _new(self, contents: list[Content], numbers: Cells, variable: int) -> list[int]:
        """Return which contents no earlier piece held, and renumber the others in place."""
        if self._earlier is None:
            return list(range(1, len(contents)))
        earlier = self._earlier.setdefault(variable, _Earlier())
        digests = earlier.digests(contents[1:])
        known = earlier.numbers(digests)
        new = known == 0
        earlier.add(digests[new], numbers[1:][new])
        numbers[1:] = np.where(new, numbers[1:], known)
        return (1 + np.flatnonzero(new)).tolist()


class _Earlier:
    """The contents of a column in earlier pieces, by their digests.

    Sorted runs of which each is at least twice as long as the next, so that few are looked
    through and each content is merged few times.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Cells, Cells, Cells]] = []

    def digests(self, contents: Sequence[Content]) -> Cells:
        """Return digests, shape (m, 2)."""
        digests = [
            hashlib.blake2b(content, digest_size=16, salt=bytes([kind])).digest()
            for kind, content in contents
        ]
        return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)

    def numbers(self, digests: Cells) -> Cells:
        """Return the numbers of the contents with these digests, 0 for one that is new."""
        found = np.zeros(len(digests), np.uint64)
        for firsts, seconds, numbers in self._runs:
            at = np.minimum(np.searchsorted(firsts, digests[:, 0]), len(firsts) - 1)
            # where two contents share the first half alone, the later may be kept twice: no harm
            same = (firsts[at] == digests[:, 0]) & (seconds[at] == digests[:, 1])
            found[same] = numbers[at[same]]
        return found

    def add(self, digests: Cells, numbers: Cells) -> None:
        """Remember contents."""
        if not len(digests):
            return
        self._runs.append(_sorted(digests[:, 0], digests[:, 1], numbers))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            *self._runs, one, other = self._runs
            a, b, c = (np.concatenate(pair) for pair in zip(one, other, strict=True))
            self._runs.append(_sorted(a, b, c))


def _sorted(firsts: Cells, seconds: Cells, numbers: Cells) -> tuple[Cells, Cells, Cells]:
    order: NDArray[np.intp] = np.argsort(firsts, kind="stable")  # merges two sorted runs quickly
    return firsts[order], seconds[order], numbers[order]


def _packed_strls(value: object, column: Column, layout: Layout) -> Content:
    what = f"column {column.name!r} (strL)"
    if isinstance(value, str):
        return TEXT, packed_text(value, _LONGEST, layout, what) + b"\0"
    if isinstance(value, RawText):
        return TEXT, bytes(value) + b"\0"
    if isinstance(value, bytes) and len(value) <= _LONGEST:
        return BINARY, value
    raise SchemaError(
        f"{what} holds something that is neither text nor at most {_LONGEST:,} bytes; "
        "Stata has no missing text, give '' instead"
    )
