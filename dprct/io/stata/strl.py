"""Long text and binary objects (strL), which lie apart from the rows that refer to them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dprct.errors import SchemaError
from dprct.io.stata.fields import packed_text
from dprct.io.stata.layout import LAYOUTS, ByteOrder, Layout
from dprct.io.stata.strings import decoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.io.stata.cursor import Cursor
    from dprct.schema.facts import Column

_FIELD = "strLs"
_BINARY, _TEXT = 129, 130
_LONGEST = 2_000_000_000

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


def read_strls(cursor: Cursor, layout: Layout) -> dict[tuple[int, int], str | bytes]:
    """Read the section of strLs by the variable and row that hold them first."""
    found: dict[tuple[int, int], str | bytes] = {}
    cursor.expect("<strls>", _FIELD)
    while cursor.peek("GSO"):
        cursor.expect("GSO", _FIELD)
        key = cursor.number("I", _FIELD), cursor.number(layout.gso_row, _FIELD)
        kind, length = cursor.number("B", _FIELD), cursor.number("I", _FIELD)
        if kind not in (_BINARY, _TEXT):
            cursor.fail("a strL is neither text nor binary; copy the file again", _FIELD)
        if key in found:
            cursor.fail("two strLs have the same place; copy the file again", _FIELD)
        found[key] = _content(cursor.take(length, _FIELD), kind, layout)
    cursor.expect("</strls>", _FIELD)
    return found


def _content(content: bytes, kind: int, layout: Layout) -> str | bytes:
    if kind == _BINARY:
        return content
    text = decoded(content.split(b"\0", 1)[0], layout.encoding)
    return RawText(text) if isinstance(text, bytes) else text


def look_up(
    cursor: Cursor,
    cells: Sequence[Cells],
    strls: Mapping[tuple[int, int], str | bytes],
    layout: Layout,
    byteorder: ByteOrder,
) -> list[NDArray[np.object_]]:
    """Return the texts that the cells of the strL columns refer to.

    Notes
    -----
    ReadStat (and with it haven) writes release 119 with the cells of 118; where the cells make
    no sense as 119 but do as 118, they are read so.
    """
    layouts = [layout, LAYOUTS[118]] if layout.release == 119 else [layout]
    for candidate in layouts:
        texts = {cell_number(*key, candidate, byteorder): text for key, text in strls.items()}
        texts[0] = ""
        try:
            return [_objects([texts[number] for number in c.tolist()]) for c in cells]
        except KeyError:
            continue
    return cursor.fail("a row refers to a strL that does not exist; copy the file again", _FIELD)


def _objects(texts: Sequence[str | bytes]) -> NDArray[np.object_]:
    out = np.empty(len(texts), object)
    out[:] = texts
    return out


class StrlWriter:
    """Collects the strLs of a file while its cells are packed.

    Parameters
    ----------
    layout : Layout
    byteorder : {"<", ">"}
    """

    def __init__(self, layout: Layout, byteorder: ByteOrder) -> None:
        self.layout, self.byteorder = layout, byteorder
        self._objects: dict[tuple[int, int], tuple[int, bytes]] = {}

    def cells(self, values: Sequence[object], variable: int, column: Column) -> Cells:
        """Return the cells of a strL column; equal contents are kept once.

        Parameters
        ----------
        values : sequence of str or bytes, length n
        variable : int
            Place of the column, from 1.
        column : Column

        Returns
        -------
        ndarray of uint64, shape (n,)

        Raises
        ------
        SchemaError
            If a value is neither text nor bytes, or too long.
        """
        numbers: dict[tuple[int, bytes], int] = {(_TEXT, b"\0"): 0}
        out = []
        for row, value in enumerate(values, 1):
            content = _packed(value, column, self.layout)
            number = numbers.get(content)
            if number is None:
                number = cell_number(variable, row, self.layout, self.byteorder)
                numbers[content] = number
                self._objects[row, variable] = content
            out.append(number)
        return np.array(out, np.uint64)

    def section(self) -> bytes:
        """Return the section of strLs, by row and then variable, as Stata wants them."""
        head = struct.Struct(f"{self.byteorder}I{self.layout.gso_row}BI")
        packed = [
            b"GSO" + head.pack(variable, row, kind, len(content)) + content
            for (row, variable), (kind, content) in sorted(self._objects.items())
        ]
        return b"<strls>" + b"".join(packed) + b"</strls>"


def _packed(value: object, column: Column, layout: Layout) -> tuple[int, bytes]:
    what = f"column {column.name!r} (strL)"
    if isinstance(value, str):
        return _TEXT, packed_text(value, _LONGEST, layout, what) + b"\0"
    if isinstance(value, RawText):
        return _TEXT, bytes(value) + b"\0"
    if isinstance(value, bytes) and len(value) <= _LONGEST:
        return _BINARY, value
    raise SchemaError(
        f"{what} holds something that is neither text nor at most {_LONGEST:,} bytes; "
        "Stata has no missing text, give '' instead"
    )
