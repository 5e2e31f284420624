"""What the releases of the .dta format differ in: widths, type codes, encodings, limits."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Literal, NoReturn

from dprct.errors import SchemaError, StataFormatError
from dprct.schema.columns import STRING_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator


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

TYPE_CODE = {"byte": 65530, "int": 65529, "long": 65528, "float": 65527, "double": 65526}
OLD_TYPE_CODE = {"byte": 251, "int": 252, "long": 253, "float": 254, "double": 255}
STRL_CODE = 32768

DEFAULT_FORMAT = {
    "byte": "%8.0g",
    "int": "%8.0g",
    "long": "%12.0g",
    "float": "%9.0g",
    "double": "%10.0g",
    "strL": "%9s",
}

RELEASES = (113, 114, 115, 117, 118, 119)


def default_format(storage: str) -> str:
    """Return the display format that Stata gives to a new variable of a storage type.

    Examples
    --------
    >>> default_format("str12")
    '%12s'
    """
    return DEFAULT_FORMAT.get(storage) or f"%{max(9, int(storage[3:]))}s"


@dataclass(frozen=True, slots=True)
class Layout:
    """Widths in bytes, integer formats (of :mod:`struct`) and limits of one release.

    Parameters
    ----------
    release : int
    columns, rows, sort : str
        Integer formats of the number of variables and rows and of a sort-list entry.
    name, format, label : int
        Widths of a name, a display format and a label, the closing NUL included.
    encoding : str
        Of names, labels and text; bytes that are invalid in it are kept as surrogate escapes.
    most_columns, most_rows, widest : int
        Largest number of variables and rows, and width of a ``str#``.
    label_length : str
        Integer format of the length of the dataset label (117 and later).
    strl_variable : int
        Bytes of a strL cell that hold the number of the variable; 0 without strLs.
    gso_row : str
        Integer format of the row in a strL's head.
    """

    release: int
    columns: str = "H"
    rows: str = "I"
    sort: str = "H"
    name: int = 33
    format: int = 49
    label: int = 81
    encoding: str = "cp1252"
    most_columns: int = 32_767
    most_rows: int = 2_147_483_647
    widest: int = 244
    label_length: str = "B"
    strl_variable: int = 0
    gso_row: str = "I"

    @property
    def tagged(self) -> bool:
        """Whether sections stand between tags, as in releases 117 and later."""
        return self.release >= 117

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
LAYOUTS = {
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
    codes = TYPE_CODE if layout.tagged else OLD_TYPE_CODE
    if layout.tagged and code == STRL_CODE:
        return "strL"
    if 1 <= code <= layout.widest:
        return f"str{code}"
    return next((name for name, number in codes.items() if number == code), None)


def type_code(storage: str, layout: Layout) -> int:
    """Return the type code of a storage type that the release knows."""
    if storage == "strL":
        return STRL_CODE
    codes = TYPE_CODE if layout.tagged else OLD_TYPE_CODE
    return codes.get(storage) or int(storage[3:])


def packed_text(text: str, most: int, layout: Layout, what: str) -> bytes:
    r"""Return a text as bytes of the release's encoding, or refuse.

    Parameters
    ----------
    text : str
        Surrogate escapes become the bytes they stand for.
    most : int
        Largest number of bytes.
    layout : Layout
    what : str
        What the text is, to begin the refusal with.

    Raises
    ------
    SchemaError
        If the release cannot encode the text, it is too long, or it holds a NUL.

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
        return "write version=118 or change the text"
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
