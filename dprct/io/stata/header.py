"""Everything that stands before the data section of a .dta file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import StataFormatError
from dprct.io.stata.layout import (
    LAYOUTS,
    NUMPY_TYPE,
    ByteOrder,
    Layout,
    default_format,
    storage_type,
)
from dprct.schema.columns import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.io.stata.layout import Cursor

MAP_ENTRIES = 14
_MAP_LABELS = 11  # of the map's entries, the one that holds the place of the value labels
_CHARACTERISTIC = 1  # of the kinds of expansion field, the only one that Stata ever wrote

Characteristics = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the data, and where the data and the value labels are.

    Parameters
    ----------
    layout : Layout
    byteorder : {"<", ">"}
    columns : tuple of Column
    rows : int
    label, timestamp : str
    sorted_by : tuple of str
    characteristics : tuple of (owner, name, text)
    data_at, labels_at : int
        First byte of the first row, and of the section of value labels.
    """

    layout: Layout
    byteorder: ByteOrder
    columns: tuple[Column, ...]
    rows: int
    label: str
    timestamp: str
    sorted_by: tuple[str, ...]
    characteristics: Characteristics
    data_at: int
    labels_at: int

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The type of one row."""
        return row_dtype([column.type for column in self.columns], self.byteorder)


def row_dtype(types: Sequence[str], byteorder: ByteOrder) -> np.dtype[np.void]:
    """Return the type of one row of the data section; a strL is one integer of 8 bytes."""
    fields = [
        (f"c{i}", f"{byteorder}{NUMPY_TYPE[t]}" if t in NUMPY_TYPE else _text_dtype(t, byteorder))
        for i, t in enumerate(types)
    ]
    return np.dtype(fields)


def _text_dtype(storage: str, byteorder: ByteOrder) -> str:
    return f"{byteorder}u8" if storage == "strL" else f"S{storage[3:]}"


def read(cursor: Cursor) -> Header:
    """Read a header; the cursor then stands at the first row.

    Raises
    ------
    StataFormatError
        If the bytes are no .dta file, or one of a release that is not read here.
    """
    start = cursor.take(min(cursor.size, 11), "file signature")
    if start == b"<stata_dta>":
        return _read_tagged(cursor)
    cursor.rewind()
    if start[:2] == b"PK":
        raise StataFormatError(
            "this is a set of frames (.dtas); in Stata, use it and save each frame as a .dta file"
        )
    if is_binary_header(start):
        return _read_binary(cursor)
    raise StataFormatError("this is not a .dta file; name a file that Stata saved")


def is_binary_header(start: bytes) -> bool:
    """Whether the first bytes are those of a .dta file of release 102 to 115."""
    return len(start) >= 3 and 102 <= start[0] <= 115 and start[1] in (1, 2) and start[2] == 1


def _layout_of(release: int) -> Layout:
    if release in LAYOUTS:
        return LAYOUTS[release]
    if release in (120, 121):
        raise StataFormatError(
            f"release {release} holds alias variables, whose values are in another frame; "
            "in Stata, replace them by ordinary variables (or drop them) and save again"
        )
    raise StataFormatError(
        f"release {release} is not one that is read here (102 to 111, 113 to 115, 117 to 119); "
        "in Stata, save the data again, for example with saveold"
    )


def _read_tagged(cursor: Cursor) -> Header:
    cursor.expect("<header><release>", "header")
    release = cursor.take(3, "release")
    layout = _layout_of(int(release) if release.isdigit() else 0)
    cursor.expect("</release><byteorder>", "header")
    byteorder = _byteorder(cursor, cursor.take(3, "byte order"), {b"LSF": "<", b"MSF": ">"})
    cursor.expect("</byteorder><K>", "header")
    k = cursor.number(layout.columns, "number of variables")
    cursor.expect("</K><N>", "header")
    rows = cursor.number(layout.rows, "number of rows")
    cursor.expect("</N><label>", "header")
    length = cursor.number(layout.label_length, "dataset label")
    label = layout.decode(cursor.take(length, "dataset label"))
    cursor.expect("</label><timestamp>", "header")
    timestamp = layout.decode(cursor.take(cursor.number("B", "timestamp"), "timestamp"))
    cursor.expect("</timestamp></header><map>", "header")
    places = cursor.numbers(f"{MAP_ENTRIES}Q", "map")
    cursor.expect("</map><variable_types>", "map")
    types = _types(cursor, layout, cursor.numbers(f"{k}H", "variable types"))
    cursor.expect("</variable_types><varnames>", "variable types")
    names = _names(cursor, layout, k)
    cursor.expect("</varnames><sortlist>", "names")
    sorted_by = _sort_list(cursor, layout, names)
    cursor.expect("</sortlist><formats>", "sort list")
    formats = _texts(cursor, layout, k, layout.format, "formats")
    cursor.expect("</formats><value_label_names>", "formats")
    attached = _texts(cursor, layout, k, layout.name, "value-label names")
    cursor.expect("</value_label_names><variable_labels>", "value-label names")
    labels = _texts(cursor, layout, k, layout.label, "variable labels")
    cursor.expect("</variable_labels><characteristics>", "variable labels")
    characteristics = _tagged_characteristics(cursor, layout)
    cursor.expect("</characteristics><data>", "characteristics")
    columns = _columns(names, types, formats, labels, attached)
    _check_rows(cursor, columns, rows, byteorder)
    return Header(
        layout, byteorder, columns, rows, label, timestamp, sorted_by, characteristics,
        data_at=cursor.at, labels_at=places[_MAP_LABELS],
    )  # fmt: skip


def _read_binary(cursor: Cursor) -> Header:
    layout = _layout_of(cursor.take(1, "release")[0])
    byteorder = _byteorder(cursor, cursor.take(1, "byte order"), {b"\1": ">", b"\2": "<"})
    cursor.take(2, "header")
    k = cursor.number("H", "number of variables")
    rows = cursor.number("I", "number of rows")
    label = layout.decode(cursor.take(layout.label, "dataset label"))
    timestamp = layout.decode(cursor.take(18, "timestamp"))
    types = _types(cursor, layout, cursor.numbers(f"{k}B", "variable types"))
    names = _names(cursor, layout, k)
    sorted_by = _sort_list(cursor, layout, names)
    formats = _texts(cursor, layout, k, layout.format, "formats")
    attached = _texts(cursor, layout, k, layout.name, "value-label names")
    labels = _texts(cursor, layout, k, layout.label, "variable labels")
    characteristics = _expansion_fields(cursor, layout)
    columns = _columns(names, types, formats, labels, attached)
    width = _check_rows(cursor, columns, rows, byteorder)
    return Header(
        layout, byteorder, columns, rows, label, timestamp, sorted_by, characteristics,
        data_at=cursor.at, labels_at=cursor.at + rows * width,
    )  # fmt: skip


def _byteorder(cursor: Cursor, mark: bytes, known: dict[bytes, ByteOrder]) -> ByteOrder:
    if mark not in known:
        cursor.fail("the byte order is neither of the two; copy the file again", "byte order")
    cursor.byteorder = known[mark]
    return known[mark]


def _types(cursor: Cursor, layout: Layout, codes: tuple[int, ...]) -> list[str]:
    types = [storage_type(code, layout) for code in codes]
    if None in types:
        cursor.fail(
            f"variable {types.index(None) + 1} has a type that release {layout.release} "
            "does not know; copy the file again",
            "variable types",
        )
    return [t for t in types if t is not None]


def _texts(cursor: Cursor, layout: Layout, count: int, width: int, field: str) -> list[str]:
    block = cursor.take(count * width, field)
    return [layout.decode(block[i * width : (i + 1) * width]) for i in range(count)]


def _names(cursor: Cursor, layout: Layout, count: int) -> list[str]:
    names = _texts(cursor, layout, count, layout.name, "names")
    if "" in names:
        cursor.fail(f"variable {names.index('') + 1} has no name; copy the file again", "names")
    if len(set(names)) < count:
        twice = Counter(names).most_common(1)[0][0]
        cursor.fail(f"two variables are called {twice!r}; copy the file again", "names")
    return names


def _sort_list(cursor: Cursor, layout: Layout, names: list[str]) -> tuple[str, ...]:
    numbers = cursor.numbers(f"{len(names) + 1}{layout.sort}", "sort list")
    used = numbers[: numbers.index(0)] if 0 in numbers else numbers
    if max(used, default=0) > len(names) or len(set(used)) < len(used):
        cursor.fail("the sort list names variables that do not exist, or one twice", "sort list")
    return tuple(names[number - 1] for number in used)


def _columns(
    names: list[str], types: list[str], formats: list[str], labels: list[str], attached: list[str]
) -> tuple[Column, ...]:
    return tuple(
        Column(name, storage, fmt or default_format(storage), label, value_label)
        for name, storage, fmt, label, value_label in zip(
            names, types, formats, labels, attached, strict=True
        )
    )


def _check_rows(
    cursor: Cursor, columns: tuple[Column, ...], rows: int, byteorder: ByteOrder
) -> int:
    """Return the width of a row, if the file has as many rows as it says."""
    if rows and not columns:
        cursor.fail("the file has rows but no variables; copy it again", "number of rows")
    width = row_dtype([column.type for column in columns], byteorder).itemsize
    cursor.need(rows * width, "data")
    return width


def _tagged_characteristics(cursor: Cursor, layout: Layout) -> Characteristics:
    found = []
    while cursor.peek("<ch>"):
        cursor.expect("<ch>", "characteristics")
        length = cursor.number("I", "characteristics")
        found.append(_characteristic(cursor, layout, length))
        cursor.expect("</ch>", "characteristics")
    return tuple(found)


def _expansion_fields(cursor: Cursor, layout: Layout) -> Characteristics:
    found = []
    while True:
        kind = cursor.number("B", "expansion fields")
        length = cursor.number("I", "expansion fields")
        if kind == _CHARACTERISTIC:
            found.append(_characteristic(cursor, layout, length))
        elif kind or length:
            cursor.take(length, "expansion fields")
        else:
            return tuple(found)


def _characteristic(cursor: Cursor, layout: Layout, length: int) -> tuple[str, str, str]:
    if length < 2 * layout.name:
        cursor.fail("a characteristic is shorter than its names", "characteristics")
    body, width = cursor.take(length, "characteristics"), layout.name
    return (
        layout.decode(body[:width]),
        layout.decode(body[width : 2 * width]),
        layout.decode(body[2 * width :]),
    )
