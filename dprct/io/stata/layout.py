"""What the releases of the .dta format differ in: widths, type codes, encodings, limits."""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Literal, NoReturn

import numpy as np

from dprct.errors import SchemaError, StataFormatError
from dprct.records import dataclass
from dprct.schema.columns import Column
from dprct.schema.facts import STRING_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


ByteOrder = Literal["<", ">"]

NUMPY_TYPE = {"byte": "i1", "int": "i2", "long": "i4", "float": "f4", "double": "f8"}

MISSING_START = {
    "byte": (101.0, 1.0),
    "int": (32_741.0, 1.0),
    "long": (2_147_483_621.0, 1.0),
    "float": (2.0**127, 2.0**115),
    "double": (2.0**1023, 2.0**1011),
}
"""The number that stands for ``.``, and the step to the next missing code, of each type."""

OLD_MISSING = {
    "byte": 127.0, "int": 32_767.0, "long": 2_147_483_647.0, "float": 2.0**127, "double": 2.0**1023,
}  # fmt: skip
"""The number that stands for ``.``, the only missing code, in releases before 113."""

OLDEST_MISSING_DOUBLE = 2.0**333
"""The number that stands for ``.`` in a double of releases up to 105."""

TYPE_CODE = {"byte": 65530, "int": 65529, "long": 65528, "float": 65527, "double": 65526}
OLD_TYPE_CODE = {"byte": 251, "int": 252, "long": 253, "float": 254, "double": 255}
OLDEST_TYPE_CODE = {"byte": 98, "int": 105, "long": 108, "float": 102, "double": 100}  # letters
_OLDEST_TEXT = 127  # to which the width of a text is added in releases before 111
STRL_CODE = 32768

DEFAULT_FORMAT = {
    "byte": "%8.0g",
    "int": "%8.0g",
    "long": "%12.0g",
    "float": "%9.0g",
    "double": "%10.0g",
    "strL": "%9s",
}

RELEASES = (102, 103, 104, 105, 108, 110, 111, 113, 114, 115, 117, 118, 119)


def default_format(storage: str) -> str:
    """Return the display format that Stata gives to a new variable of a storage type.

    Examples
    --------
    >>> default_format("str12")
    '%12s'
    """
    return DEFAULT_FORMAT.get(storage) or f"%{max(9, int(storage[3:]))}s"


@dataclass(frozen=True)
class Layout:
    """Widths in bytes, integer formats (of :mod:`struct`) and limits of one release."""

    release: int
    # columns, rows, sort: integer formats of the number of variables and rows and of a sort-list
    # entry.
    columns: str = "H"
    rows: str = "I"
    sort: str = "H"
    # name, format, label: widths of a name, a display format and a label, the closing NUL included.
    name: int = 33
    format: int = 49
    label: int = 81
    # Of names, labels and text; bytes that are invalid in it are kept as surrogate escapes.
    encoding: str = "cp1252"
    # most_columns, most_rows, widest: largest number of variables and rows, and width of a
    # ``str#``.
    most_columns: int = 32_767
    most_rows: int = 2_147_483_647
    widest: int = 244
    label_length: str = "B"  # integer format of the length of the dataset label (117 and later)
    # Integer format of the length of a characteristic; empty where a release has none.
    expansion: str = "I"
    # Bytes of a strL cell that hold the number of the variable; 0 without strLs.
    strl_variable: int = 0
    gso_row: str = "I"  # integer format of the row in a strL's head

    @property
    def tagged(self) -> bool:
        """Whether sections stand between tags, as in releases 117 and later."""
        return self.release >= 117

    @property
    def has_codes(self) -> bool:
        """Whether the format has the missing codes ``.a`` to ``.z`` in addition to ``.``."""
        return self.release >= 113

    @property
    def timestamp(self) -> int:
        """Width of the timestamp before release 117."""
        return 18 if self.release >= 105 else 0

    @property
    def short_labels(self) -> bool:
        """Whether value labels have 8 bytes each and label whole numbers of two bytes."""
        return self.release <= 105

    @property
    def type_codes(self) -> dict[str, int]:
        """The code of each numeric type."""
        if self.tagged:
            return TYPE_CODE
        return OLD_TYPE_CODE if self.release >= 111 else OLDEST_TYPE_CODE

    @property
    def text_code(self) -> int:
        """What the code of a text of fixed width exceeds its width by."""
        return 0 if self.release >= 111 else _OLDEST_TEXT

    def decode(self, field: bytes) -> str:
        """Return the text of a NUL-terminated field."""
        return field.split(b"\0", 1)[0].decode(self.encoding, "surrogateescape")

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text, whose surrogate escapes become the bytes they stand for."""
        return text.encode(self.encoding, "surrogateescape")


_115 = Layout(115)
_117 = replace(_115, release=117, most_rows=2**32 - 1, widest=STRING_WIDTH, strl_variable=4)
_118 = replace(
    _117,
    release=118,
    rows="Q",
    name=129,
    format=57,
    label=321,
    encoding="utf-8",
    most_rows=2**48 - 1,
    label_length="H",
    strl_variable=2,
    gso_row="Q",
)
_111 = replace(_115, release=111, format=12)
_108 = replace(_111, release=108, name=9, expansion="H", widest=80)
_105 = replace(_108, release=105, label=32)
_104 = replace(_105, release=104, format=7, expansion="")
LAYOUTS = {
    102: replace(_104, release=102, rows="H", most_rows=65_535),
    103: replace(_104, release=103),
    104: _104,
    105: _105,
    108: _108,
    110: replace(_111, release=110, widest=80),
    111: _111,
    113: replace(_115, release=113, format=12),
    114: replace(_115, release=114),
    115: _115,
    117: _117,
    118: _118,
    119: replace(
        _118, release=119, columns="I", sort="I", strl_variable=3, most_columns=120_000,
        most_rows=2**40 - 1,
    ),
}  # fmt: skip
"""The layout of every release that is read and written here."""


def storage_type(code: int, layout: Layout) -> str | None:
    """Return the storage type of a type code, or None if the release knows no such code."""
    if layout.tagged and code == STRL_CODE:
        return "strL"
    if 1 <= code - layout.text_code <= layout.widest:
        return f"str{code - layout.text_code}"
    return next((name for name, number in layout.type_codes.items() if number == code), None)


def type_code(storage: str, layout: Layout) -> int:
    """Return the type code of a storage type that the release knows."""
    if storage == "strL":
        return STRL_CODE
    return layout.type_codes.get(storage) or int(storage[3:]) + layout.text_code


def packed_text(text: str, most: int, layout: Layout, what: str) -> bytes:
    r"""A text as bytes of the release's encoding, or a refusal that begins with ``what``.

    Surrogate escapes become the bytes they stand for.

    Examples
    --------
    >>> from dprct.io.stata.layout import LAYOUTS
    >>> packed_text("é", 8, LAYOUTS[118], "the label")
    b'\xc3\xa9'
    """
    try:
        packed = layout.encode(text)
    except UnicodeEncodeError:
        raise SchemaError(
            f"{what} has a character that release {layout.release} cannot hold; {_mend(layout)}"
        ) from None
    if b"\0" in packed:
        raise SchemaError(f"{what} holds a NUL character, which ends a text in Stata; remove it")
    if len(packed) > most:
        raise SchemaError(
            f"{what} has {len(packed):,} bytes and release {layout.release} allows {most:,}; "
            "shorten it"
        )
    return packed


def padded_text(text: str, width: int, layout: Layout, what: str) -> bytes:
    """Return a text as a field of ``width`` bytes that ends in at least one NUL."""
    return packed_text(text, width - 1, layout, what).ljust(width, b"\0")


def _mend(layout: Layout) -> str:
    if layout.release < 118:
        return "write ``version=118`` or change the text"
    return "give the undecodable text as bytes"


class Cursor:
    """Reads a binary file forward and never past its end.

    Parameters
    ----------
    file : binary file object
        Open, seekable.
    size : int
        Its length in bytes; what a file claims of itself is compared with it before any memory
        is asked for.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file = file
        self.size = size
        self.at = 0
        self.byteorder = "<"

    @property
    def left(self) -> int:
        """Bytes between here and the end of the file."""
        return self.size - self.at

    def fail(self, message: str, field: str, at: int | None = None) -> NoReturn:
        """Refuse the file, naming the field and the byte where it was."""
        raise StataFormatError(message, offset=self.at if at is None else at, field=field)

    def need(self, count: int, field: str) -> None:
        """Refuse unless the file has ``count`` more bytes."""
        if count > self.left:
            self.fail("the file is shorter than it says; copy or download it again", field, self.at)

    def take(self, count: int, field: str) -> bytes:
        """Return the next ``count`` bytes."""
        self.need(count, field)
        taken = self.file.read(count)
        if len(taken) != count:
            self.fail("the file became shorter while it was read; read it again", field)
        self.at += count
        return taken

    def numbers(self, form: str, field: str) -> tuple[int, ...]:
        """Return the next integers, in a format of :mod:`struct` without byte order."""
        form = self.byteorder + form
        return struct.unpack(form, self.take(struct.calcsize(form), field))

    def number(self, form: str, field: str) -> int:
        """Return the next integer."""
        return self.numbers(form, field)[0]

    def expect(self, tag: str, field: str) -> None:
        """Step over a tag that must stand here."""
        start = self.at
        if self.take(len(tag), field) != tag.encode("ascii"):
            self.fail(
                f"expected {tag}; the file is damaged, copy or download it again", field, start
            )

    def peek(self, tag: str) -> bool:
        """Whether a tag stands here; the place does not move."""
        found = self.file.read(len(tag)) == tag.encode("ascii")
        self.file.seek(self.at)
        return found

    @contextlib.contextmanager
    def visit(self, to: int, field: str) -> Iterator[None]:
        """Go to a later byte, and return from there."""
        back = self.at
        self.jump(to, field)
        yield
        self.at = back
        self.file.seek(back)

    def rewind(self) -> None:
        """Go back to the start of the file."""
        self.file.seek(0)
        self.at = 0

    def jump(self, to: int, field: str) -> None:
        """Go to a later byte without reading what lies between."""
        if not self.at <= to <= self.size:
            self.fail("the file points outside itself; copy or download it again", field)
        self.file.seek(to)
        self.at = to


MAP_ENTRIES = 14
_MAP_LABELS = 11  # of the map's entries, the one that holds the place of the value labels
_CHARACTERISTIC = 1  # of the kinds of expansion field, the only one that Stata ever wrote

Characteristics = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Header:
    """What stands before the data, and where the data and the value labels are.

    Parameters
    ----------
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


def parsed_header(cursor: Cursor) -> Header:
    """Read a header; the cursor then stands at the first row."""
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
    if len(start) >= 3 and start[0] == 102 and start[1] == 0:  # which names no byte order
        return start[2] in (0, 1)
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
        f"release {release} is not one that is read here ({', '.join(map(str, LAYOUTS))}); "
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
    marks: dict[bytes, ByteOrder] = {b"\1": ">", b"\2": "<"}
    if layout.release == 102:
        marks[b"\0"] = "<"
    byteorder = _byteorder(cursor, cursor.take(1, "byte order"), marks)
    cursor.take(2, "header")
    k = cursor.number(layout.columns, "number of variables")
    rows = cursor.number(layout.rows, "number of rows")
    label = layout.decode(cursor.take(layout.label, "dataset label"))
    timestamp = layout.decode(cursor.take(layout.timestamp, "timestamp"))
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
    found: list[tuple[str, str, str]] = []
    while layout.expansion:
        kind = cursor.number("B", "expansion fields")
        length = cursor.number(layout.expansion, "expansion fields")
        if kind == _CHARACTERISTIC:
            found.append(_characteristic(cursor, layout, length))
        elif kind or length:
            cursor.take(length, "expansion fields")
        else:
            break
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


_MOST_REMEMBERED = 65_536


class Decoded(dict[bytes, str | bytes]):
    """Cells of one column as text, decoded once per distinct cell.

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
