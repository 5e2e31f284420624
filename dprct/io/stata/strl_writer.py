"""Writing long text and binary objects (strL): equal contents once, after all rows."""

from __future__ import annotations

import hashlib
import io
import shutil
from typing import IO, TYPE_CHECKING

import numpy as np

from dprct.errors import SchemaError
from dprct.io.stata.fields import packed_text
from dprct.io.stata.strl import BINARY, TEXT, Cells, RawText, cell_number, gso_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.io.stata.layout import ByteOrder, Layout
    from dprct.schema.facts import Column

    Content = tuple[int, bytes]

_LONGEST = 2_000_000_000
_EMPTY = (TEXT, b"\0")


class StrlWriter:
    """Takes the strLs of a file while its cells are packed, in one piece or in many.

    Parameters
    ----------
    layout : Layout
    byteorder : {"<", ">"}
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
        column : Column

        Returns
        -------
        ndarray of uint64, shape (n,)

        Raises
        ------
        SchemaError
            If a value is neither text nor bytes, or too long.
        """
        which: dict[Content, int] = {_EMPTY: 0}
        rows, out = [0], np.empty(len(values), np.intp)
        for i, value in enumerate(values):
            content = _packed(value, column, self.layout)
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


def _packed(value: object, column: Column, layout: Layout) -> Content:
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
