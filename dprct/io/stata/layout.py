"""What the releases of the .dta format differ in: widths, type codes, encodings, limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dprct.schema.facts import STRING_WIDTH

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
