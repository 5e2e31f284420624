"""A place in a file of bytes that nobody vouches for."""

from __future__ import annotations

import contextlib
import struct
from typing import IO, TYPE_CHECKING, NoReturn

from dprct.errors import StataFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator


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
