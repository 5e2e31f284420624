"""strLs: long texts and binary objects, kept once and referred to by number."""

from __future__ import annotations

import hashlib
import io
import shutil
import struct
from array import array
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dprct.errors import SchemaError
from dprct.io.stata.layout import (
    LAYOUTS,
    ByteOrder,
    Layout,
    decoded,
    packed_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.io.stata.layout import Cursor
    from dprct.schema.columns import Column

    Content = tuple[int, bytes]


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
    """Head of a strL: mark, variable, row, kind and length."""
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
        """How many bytes the content of every cell has."""
        found = self._found(cells)
        sizes = np.zeros(len(cells), np.int64)
        if len(self._numbers):
            sizes = np.where(cells == 0, 0, self._lengths[found].astype(np.int64))
        return sizes

    def texts(self, cells: Cells) -> NDArray[np.object_]:
        """The contents that cells refer to, each distinct one read once.

        A binary object is bytes, undecodable text :class:`RawText`.

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
        """Places of the cells among the numbers; any place for an empty one."""
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
        """Cells of a strL column in a piece, of a place from 1; equal contents are kept once."""
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
        """Contents that no earlier piece held; the others are renumbered in place."""
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
