"""A ledger as lines of one JSON document: terms, records, and last the sums with their hashes.

The first line has the terms, every further one a record, the last one the sums of all entries and
two hashes.  A record's hash is taken of the hash before it and of its line, so that the last line
stands for every byte.  To append a record only the last line is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from dprct.errors import DprctError, LedgerError
from dprct.privacy.budget import Budget
from dprct.privacy.chain import first_link, link_after
from dprct.privacy.charges import Content, Entry, Saved
from dprct.privacy.entries import IN_LINES, Ledger
from dprct.privacy.lines import Lines
from dprct.privacy.numbers import fraction
from dprct.privacy.running import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_BEGIN = b'{"format": "dprct ledger", "version": 4, '
_ENTRY, _CONTENT, _SAVED, _SEPARATE = (
    f',{{"{kind}": '.encode() for kind in ("entry", "content", "saved", "separate")
)
_ID = b',{"entry": {"id": "'
_END, _HASH = b"],", b', "sha256": "'
_TAIL = 2**16


class Damage(LedgerError):
    """A ledger whose bytes are not those that were written."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a ledger file.

    Parameters
    ----------
    ledger : Ledger
    ids : set of str
        Ids of its entries.
    at : int or None
        Where the last line begins; None in a file of an earlier version.
    end : bytes
        The last line.
    digest : str
        The hash of all lines before it.
    tail : bytes
        The end of the file.
    state : tuple or None
        Identity, size and time of the file.
    """

    ledger: Ledger
    ids: set[str]
    at: int | None = None
    end: bytes = b""
    digest: str = ""
    tail: bytes = b""
    state: tuple[int, int, int] | None = None

    def again(self, file: IO[bytes]) -> Seen | None:
        """Return what stands in the file now if it only went on since; None if that is not sure."""
        if self.at is None or self.state is None:
            return None
        now = os.fstat(file.fileno())
        inode, size, _ = self.state
        if now.st_ino != inode or now.st_size < size:
            return None
        begin = size - len(self.tail)
        file.seek(begin)
        found = file.read()
        if _state(now) == self.state:
            return self if found == self.tail else None
        shared = self.at - begin
        if now.st_size == size or found[:shared] != self.tail[:shared]:
            return None
        try:
            return self._with_lines(found[shared:], now)
        except Damage:
            return None

    def _with_lines(self, more: bytes, state: os.stat_result) -> Seen:
        *lines, end = more.splitlines(keepends=True)
        digest = digest_after(self.digest, lines)
        running = _sums(end, digest)
        return self.followed(
            replace(_with_records(self.ledger, lines), running=running), lines, end, digest, state
        )

    def followed(
        self, ledger: Ledger, lines: list[bytes], end: bytes, digest: str, state: os.stat_result
    ) -> Seen:
        """Return what is in the file after lines were appended."""
        assert self.at is not None
        new = b"".join(lines)
        tail = self.tail[: len(self.tail) - len(self.end)] + new
        self.ids.update(_id(line) for line in lines if line.startswith(_ID))
        return Seen(
            ledger, self.ids, self.at + len(new), end, digest, tail[-_TAIL:] + end, _state(state)
        )


def seen(raw: bytes, state: os.stat_result | None) -> Seen:
    """Return the ledger that a file holds, in lines or in the format of an earlier version.

    Raises
    ------
    Damage
        If a byte is not the one that was written.
    LedgerError
        If it is no ledger, or contradicts itself.
    """
    if not raw.startswith(_BEGIN):
        ledger = _as_one_value(raw)
        return Seen(ledger, {entry.id for entry in ledger.entries})
    lines = raw.split(b"\n")
    if len(lines) < 4 or lines.pop():
        raise Damage("it is cut off")
    lines = [line + b"\n" for line in lines]
    end = lines.pop()
    digest = digest_after("", lines)
    running = _sums(end, digest)
    ledger = _terms(lines[0])
    try:
        begins = json.loads(lines[1].removeprefix(b'"records": ['))
    except (ValueError, RecursionError):
        begins = None
    if begins != {"terms": first_link(ledger.terms())}:
        raise Damage("its first record is not that of its terms")
    records = _sorted(lines[2:])
    ids = {_id(line) for line in records[_ENTRY]}
    if running.entries != len(records[_ENTRY]) or len(ids) != running.entries:
        raise Damage("it has not the entries that its last line counts")
    reasons = [_read(line, _SEPARATE)["why"] for line in records[_SEPARATE]]
    ledger = replace(
        ledger,
        entries=Lines(records[_ENTRY], _entry),
        contents=Lines(records[_CONTENT], lambda line: Content(**_read(line, _CONTENT))),
        saved=Lines(records[_SAVED], lambda line: Saved(**_read(line, _SAVED))),
        separate=reasons[-1] if reasons else None,
        running=running,
    )
    at = len(raw) - len(end)
    tail = raw[max(at - _TAIL, 0) :]
    return Seen(ledger, ids, at, end, digest, tail, None if state is None else _state(state))


def rendered(ledger: Ledger) -> bytes:
    """Return the file of a ledger."""
    terms = json.dumps(ledger.terms())[1:-1]
    first = _BEGIN + terms.encode() + b",\n"
    begins = b'"records": [' + json.dumps({"terms": first_link(ledger.terms())}).encode() + b"\n"
    empty = replace(ledger, entries=(), contents=(), saved=(), separate=None, running=None)
    lines = [first, begins, *lines_beyond(ledger, empty)]
    return b"".join(lines) + last_line(ledger, digest_after("", lines))


def lines_beyond(ledger: Ledger, earlier: Ledger) -> list[bytes]:
    """Return the lines of the records that a ledger has and an earlier state of it lacks."""
    lines = [_line(_CONTENT, one.to_dict()) for one in ledger.contents[len(earlier.contents) :]]
    head = earlier.head
    for entry in ledger.entries[len(earlier.entries) :]:
        facts = entry.to_dict()
        head = link_after(head, facts)
        lines.append(_line(_ENTRY, {**facts, "chain": head}))
    lines += [_line(_SAVED, one.to_dict()) for one in ledger.saved[len(earlier.saved) :]]
    if ledger.separate != earlier.separate:
        lines.append(_line(_SEPARATE, {"why": ledger.separate}))
    return lines


def last_line(ledger: Ledger, digest: str) -> bytes:
    """Return the last line of a file whose other lines have this hash."""
    now = json.dumps(ledger.sums.to_dict())
    body = _END + f'"now": {now}, "records_sha256": "{digest}"'.encode()
    return body + _HASH + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def digest_after(digest: str, lines: Iterable[bytes]) -> str:
    """Return the hash of lines that follow others with this hash."""
    sha256 = hashlib.sha256
    for line in lines:
        digest = sha256(digest.encode() + line).hexdigest()
    return digest


def _sums(end: bytes, digest: str) -> Sums:
    """Return what a last line says, if it is the one of lines with this hash."""
    body, _, signed = end.rpartition(_HASH)
    if signed != hashlib.sha256(body).hexdigest().encode() + b'"}\n' or not body.startswith(_END):
        raise Damage("its last line is not as it was written")
    try:
        said = json.loads(b"{" + body.removeprefix(_END) + b"}")
        if said["records_sha256"] != digest:
            raise Damage("a line is not as it was written")
        return Sums.from_dict(said["now"])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LedgerError(f"it contradicts itself ({type(error).__name__})") from error


def _terms(line: bytes) -> Ledger:
    """Return the empty ledger of a first line."""
    try:
        values = json.loads(line.rstrip(b",\n") + b"}")
        del values["format"], values["version"]
        total = Budget(fraction(values.pop("epsilon")), fraction(values.pop("delta")))
        return Ledger(total=total, **values)
    except (KeyError, TypeError, ValueError, RecursionError, ZeroDivisionError) as error:
        raise LedgerError(f"it contradicts itself ({error})") from error


def _as_one_value(raw: bytes) -> Ledger:
    try:
        facts = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damage("it is not JSON") from error
    if isinstance(facts, dict) and facts.get("version") == IN_LINES:
        raise Damage("its lines are not as they were written")
    return Ledger.from_dict(facts)


def _with_records(ledger: Ledger, lines: Iterable[bytes]) -> Ledger:
    """Return a ledger with the records of further lines; its sums are not counted on."""
    records = _sorted(lines)
    kinds: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
        "entries": (_ENTRY, _entry),
        "contents": (_CONTENT, lambda line: Content(**_read(line, _CONTENT))),
        "saved": (_SAVED, lambda line: Saved(**_read(line, _SAVED))),
    }
    more: dict[str, Any] = {}
    for name, (kind, read) in kinds.items():
        known = getattr(ledger, name)
        for line in records[kind]:
            known = known.followed_by(read(line))
        more[name] = known
    for line in records[_SEPARATE]:
        more["separate"] = _read(line, _SEPARATE)["why"]
    return replace(ledger, **more)


def _sorted(lines: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {_ENTRY: [], _CONTENT: [], _SAVED: [], _SEPARATE: []}
    for line in lines:
        kind = line[: line.find(b" ") + 1]
        if kind not in found:
            raise LedgerError("it has a record that this version does not know")
        found[kind].append(line)
    return found


def _line(kind: bytes, facts: Mapping[str, Any]) -> bytes:
    return kind + json.dumps(facts).encode() + b"}\n"


def _read(line: bytes, kind: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line.removeprefix(kind).rstrip(b"\n")[:-1]))
    except (TypeError, ValueError, RecursionError) as error:
        raise LedgerError(f"a record of it cannot be read ({type(error).__name__})") from error


def _entry(line: bytes) -> Entry:
    facts = _read(line, _ENTRY)
    facts.pop("chain", None)
    try:
        return Entry.from_dict(facts)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        if isinstance(error, DprctError):
            raise LedgerError(f"an entry of it contradicts itself ({error})") from error
        raise LedgerError(f"an entry of it cannot be read ({type(error).__name__})") from error


def _id(line: bytes) -> str:
    return line[len(_ID) : line.find(b'"', len(_ID))].decode("ascii", "replace")


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns
