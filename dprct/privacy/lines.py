"""The records of a ledger on file, each read from its line when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

Record = TypeVar("Record")


class Lines(Sequence[Record], Generic[Record]):
    """Records that stand in lines of a file, and those that were added since.

    Parameters
    ----------
    lines : list of bytes
        One record each; shared, and never changed.
    read : callable
        What a line says.
    more : tuple
        Records that follow.
    """

    __slots__ = ("_known", "_lines", "_more", "_read")

    def __init__(
        self,
        lines: list[bytes],
        read: Callable[[bytes], Record],
        more: tuple[Record, ...] = (),
        known: dict[int, Record] | None = None,
    ) -> None:
        self._lines, self._read, self._more = lines, read, more
        self._known: dict[int, Record] = {} if known is None else known

    def followed_by(self, record: Record) -> Lines[Record]:
        """Return the records with one more."""
        return Lines(self._lines, self._read, (*self._more, record), self._known)

    def begins_with(self, earlier: Lines[Record]) -> bool:
        """Whether these are ``earlier`` with, at most, records appended."""
        if len(earlier) > len(self):
            return False
        if self._lines is earlier._lines:
            return self._more[: len(earlier._more)] == earlier._more
        shared = min(len(self._lines), len(earlier._lines))
        return self._lines[:shared] == earlier._lines[:shared] and all(
            self[k] == earlier[k] for k in range(shared, len(earlier))
        )

    def __len__(self) -> int:
        return len(self._lines) + len(self._more)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return tuple(self[k] for k in range(*place.indices(len(self))))
        at = place + len(self) if place < 0 else place
        if not 0 <= at < len(self):
            raise IndexError(place)
        if at >= len(self._lines):
            return self._more[at - len(self._lines)]
        if at not in self._known:
            self._known[at] = self._read(self._lines[at])
        return self._known[at]

    def __iter__(self) -> Iterator[Record]:
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, Lines) else other)

    def __hash__(self) -> int:
        return hash(tuple(self))
