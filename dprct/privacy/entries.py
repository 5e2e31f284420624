"""What a ledger says: the budget, the rule, and one entry for every charge, as frozen values."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, overload

from dprct.errors import BudgetError, DprctError, LedgerError, ParameterError, marked
from dprct.privacy.budget import RELATIONS, Budget, Relation, fraction, spelled
from dprct.privacy.charges import (
    Content,
    Entry,
    Opening,
    Parts,
    Saved,
    Sums,
    Together,
    chained,
    checksum,
    first_broken,
    first_link,
    link_after,
    now,
)
from dprct.privacy.composition import RULES, Charge, Composition, Cost, Rule
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


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


VERSION = 3
"""Of a ledger as one JSON value."""
IN_LINES = 4
"""Of a ledger on file, whose records stand in lines."""
_READABLE = (1, 2, VERSION)


@dataclass(frozen=True)
class Ledger:
    """A budget, the terms on which it is spent, and what was charged so far.

    ``relation`` and ``unit`` are demands on every charge; None demands nothing.  ``separate`` says
    why the same data may have this budget besides another.  ``openings`` say how often the data
    were opened under declared facts, and cost nothing.  The records of a ledger on file are read
    when they are asked for; ``running`` is what is known without them.

    Examples
    --------
    >>> ledger = Ledger(Budget(1), None, None, "sequential")
    >>> entry = new_entry(ledger, Charge(Budget(0.25), "pure"), method="MVHistogram",
    ...                   relation="replace-one", unit="person")
    >>> print(ledger.with_entry(entry).remaining)
    epsilon=0.75
    """

    total: Budget
    relation: Relation | None
    unit: str | None
    composition: Composition
    dataset_id: str | None = None
    entries: Sequence[Entry] = ()
    contents: Sequence[Content] = ()
    saved: Sequence[Saved] = ()
    separate: str | None = None
    openings: Sequence[Opening] = ()
    running: Sums | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.relation is not None and self.relation not in RELATIONS:
            raise ParameterError(
                f"``relation={self.relation!r}``; allowed: {', '.join(RELATIONS)}, or ``None``"
            )
        if self.unit is not None and not isinstance(self.unit, str):
            raise ParameterError("``unit=`` is not text; name what one record is, such as 'person'")
        if self.composition not in RULES:
            raise ParameterError(
                f"``composition={self.composition!r}``; allowed: {', '.join(RULES)}"
            )
        if not self.total.epsilon:
            raise ParameterError("``epsilon=0`` allows no release at all; give epsilon > 0")
        if self.composition != "sequential" and not self.total.delta:
            raise ParameterError(
                f"``composition={self.composition!r}`` needs a delta to convert at; give delta > 0"
            )

    @property
    def rule(self) -> Rule:
        """How charges add up."""
        return RULES[self.composition]

    @property
    def priced(self) -> tuple[Entry, ...]:
        """The entries that claim something."""
        return tuple(entry for entry in self.entries if entry.priced)

    @property
    def links(self) -> list[str]:
        """The chain (SHA-256): a link for the terms, and one for each entry."""
        return chained(self._facts())

    @property
    def sums(self) -> Sums:
        """What all entries cost and promise together."""
        if self.running is None:
            sums = Sums(first_link(self.terms()))
            for entry in self.entries:
                sums = sums.with_entry(entry, self.rule)
            object.__setattr__(self, "running", sums)
        assert self.running is not None
        return self.running

    @property
    def head(self) -> str:
        """The last link of the chain: it stands for the terms and all entries."""
        return self.sums.head

    @property
    def together(self) -> Together | None:
        """What all charges promise together; None before the first."""
        return self.sums.parts.together() if self.sums.priced else None

    @property
    def spent(self) -> Budget:
        """An (epsilon, delta) that holds for everything that was charged so far, together.

        It says nothing about entries without a guarantee.
        """
        sums = self.sums
        if sums.first is None:
            return Budget(0)
        if not self._within(sums.cost):  # only a first charge may be: see ``refuse_unfit``
            return sums.first
        return self.rule.spent(sums.cost, self.total)

    @property
    def remaining(self) -> Budget:
        """The largest budget that one further charge may have."""
        if not self.sums.priced:
            return self.total
        return self.rule.room(self.sums.cost, self.total)

    def entry(self, entry_id: str) -> Entry | None:
        """Return an entry by its id, or by its number alone; None if there is none."""
        number = entry_id.split("-")[0]
        if number.isascii() and number.isdecimal() and 0 < len(number) < 10:
            place = int(number)  # entries are numbered in their order
            if 0 < place <= len(self.entries):
                found = self.entries[place - 1]
                if entry_id in (found.id, found.number):
                    return found
        return None

    def with_entry(self, entry: Entry) -> Ledger:
        """Return the ledger with one more entry."""
        sums = self.sums.with_entry(entry, self.rule)
        return replace(self, entries=_followed(self.entries, entry), running=sums)

    def refuse_unfit(self, entry: Entry) -> None:
        """Raise unless ``entry`` may be appended.

        Notes
        -----
        The very first charge is sized before anything was released, so it is judged by its own
        claim where that is enough; every later one by the accountant's rule.
        """
        if not entry.priced:
            return
        self._refuse_terms(entry)
        after = self.sums.with_entry(entry, self.rule)
        after.parts.together()
        cost = after.cost
        alone = not self.sums.priced and entry.budget.fits(self.total)
        if not (alone or self._within(cost)):
            raise BudgetError(
                f"asked for {_plain(entry.budget)}, {_plain(self.remaining)} of "
                f"{_plain(self.total)} is left (``composition={self.composition!r}``), and what "
                "was spent on these people stays spent; ask for less; nothing was drawn"
            )

    def _within(self, cost: Cost) -> bool:
        capacity = self.rule.capacity(self.total)
        return cost[0] <= capacity[0] and cost[1] <= capacity[1]

    def _refuse_terms(self, entry: Entry) -> None:
        """Refuse a charge that does not hold under the relation, or for the unit, demanded."""
        if self.unit is not None and entry.unit != self.unit:
            raise ParameterError(
                f"a charge per {entry.unit!r} does not fit, because this accountant demands "
                f"``unit={self.unit!r}``; fit per {self.unit}; nothing was drawn"
            )
        holds = Parts().with_entry(entry).together().relations
        if self.relation is not None and self.relation not in holds:
            raise ParameterError(
                f"a {entry.relation!r} charge does not hold under "
                f"``relation={self.relation!r}``, which this accountant demands; fit with "
                f"``neighbors={self.relation!r}``, where the method offers it; nothing was drawn"
            )

    def with_content(self, sha256: str) -> Ledger:
        """Return the ledger that knows the data file's present hash; the same one if it did."""
        if self.contents and self.contents[-1].sha256 == sha256:
            return self
        note = "the file changed; the ledger continues" if self.contents else "first use"
        return replace(self, contents=_followed(self.contents, Content(sha256, now(), note)))

    def with_opening(self, opening: Opening) -> Ledger:
        """Return the ledger with one more opening of the data."""
        return replace(self, openings=_followed(self.openings, opening))

    def with_saved(self, entry_id: str, sha256: str) -> Ledger:
        """Return the ledger that knows what was saved for an entry; the same one if it did."""
        if self.hash_of(entry_id) is not None:
            return self
        return self.with_first_saved(entry_id, sha256)

    def with_first_saved(self, entry_id: str, sha256: str) -> Ledger:
        """Return the ledger that knows what was saved for an entry of which nothing was."""
        return replace(self, saved=_followed(self.saved, Saved(entry_id, sha256, now())))

    def hash_of(self, entry_id: str) -> str | None:
        """Return the SHA-256 of what was saved for an entry, if that is known."""
        return next((saved.sha256 for saved in self.saved if saved.entry == entry_id), None)

    def checked(self) -> Ledger:
        """Return the ledger if its sums are those of its entries."""
        try:
            sums = Sums(first_link(self.terms()))
            for number, entry in enumerate(self.entries, 1):
                if entry.number != str(number):
                    raise ParameterError(f"entry {number} has the number of another one")
                sums = sums.with_entry(entry, self.rule)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerError(f"the ledger contradicts itself ({marked(error)})") from error
        if sums != self.sums:
            raise LedgerError(
                "the ledger contradicts itself: its sums are not those of its entries; it was "
                "changed by hand, so restore it from a backup"
            )
        return self

    def continues(self, earlier: Ledger) -> bool:
        """Whether this ledger is ``earlier`` with, at most, records appended."""
        return self.terms() == earlier.terms() and all(
            _begins_with(ours, theirs)
            for ours, theirs in zip(_records(self), _records(earlier), strict=True)
        )

    def terms(self) -> dict[str, Any]:
        """Terms that are fixed before the first entry, as JSON-ready values."""
        return {
            "dataset_id": self.dataset_id,
            "epsilon": spelled(self.total.epsilon),
            "delta": spelled(self.total.delta),
            "relation": self.relation,
            "unit": self.unit,
            "composition": self.composition,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, with the chain of the entries and a checksum over all."""
        facts = self._facts()
        for entry, link in zip(facts["entries"], chained(facts)[1:], strict=True):
            entry["chain"] = link
        return {**facts, "checksum": checksum(facts)}

    def _facts(self) -> dict[str, Any]:
        return {
            "format": "dprct ledger",
            "version": VERSION,
            **self.terms(),
            "contents": list(map(asdict, self.contents)),
            "entries": [entry.to_dict() for entry in self.entries],
            "saved": list(map(asdict, self.saved)),
            **({} if self.separate is None else {"separate": self.separate}),
            **({"openings": list(map(asdict, self.openings))} if self.openings else {}),
        }

    @classmethod
    def from_dict(cls, facts: object) -> Ledger:
        """Return the ledger that :meth:`to_dict` wrote."""
        if not isinstance(facts, Mapping) or facts.get("format") != "dprct ledger":
            raise LedgerError("it is not a ledger of dprct")
        if facts.get("version") not in _READABLE:
            raise LedgerError(f"it has a version above {IN_LINES}; use the dprct that wrote it")
        values = dict(facts)
        if values.pop("checksum", None) != checksum(values):
            raise LedgerError("its checksum does not match its content, so it was changed by hand")
        try:
            return cls._from_values(values)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise LedgerError(f"it contradicts itself ({marked(error)})") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Ledger:
        broken = first_broken(values, chained(values)) if values["version"] > 1 else None
        if broken is not None:
            raise ParameterError(f"entry {broken}, or what is before it, was changed by hand")
        del values["format"], values["version"]
        total = Budget(fraction(values.pop("epsilon")), fraction(values.pop("delta")))
        entries = tuple(
            Entry.from_dict({k: v for k, v in entry.items() if k != "chain"})
            for entry in values.pop("entries")
        )
        saved = tuple(Saved(**one) for one in values.pop("saved", ()))
        contents = tuple(Content(**content) for content in values.pop("contents"))
        values["openings"] = tuple(Opening(**one) for one in values.get("openings", ()))
        if len({entry.id for entry in entries}) < len(entries):
            raise ParameterError("two entries share an id")
        if not {one.entry for one in saved} <= {entry.id for entry in entries}:
            raise ParameterError("a state was saved for an entry that is not there")
        ledger = cls(total=total, entries=entries, contents=contents, saved=saved, **values)
        if ledger.sums.priced:
            ledger.sums.parts.together()
        return ledger

    def __str__(self) -> str:
        name = f" of {self.dataset_id}" if self.dataset_id else ""
        promise = self.together
        unit = self.unit if promise is None else promise.unit
        demand = "any relation" if self.relation is None else f"demands {self.relation}"
        head = [
            f"Privacy budget{name}: {self.total}{f' per {unit}' if unit else ''} "
            f"({demand}, {self.composition})",
            f"spent: {self.spent}; left: {self.remaining}",
            *([] if promise is None else promise.sentences()),
        ]
        free = self.sums.entries - self.sums.priced
        if free:
            head.append(
                f"NO GUARANTEE for {free} of {len(self.entries)} entries: what is spent holds for "
                "the others alone"
            )
        return "\n".join((*head, *_table(self.entries)))


def new_entry(ledger: Ledger, charge: Charge, **facts: Any) -> Entry:
    """Return the next entry of ``ledger``, with a fresh id and the present time.

    It is read back as a file would be, so that nothing is written that is refused later.
    """
    number = f"{len(ledger.entries) + 1}-{secrets.token_hex(6)}"
    entry = Entry(id=number, when=now(), charge=charge, **facts)
    if Entry.from_dict(entry.to_dict()) != entry:
        raise ParameterError("the charge cannot be written down; give plain texts and numbers")
    return entry


def _records(ledger: Ledger) -> tuple[Sequence[object], ...]:
    return ledger.entries, ledger.contents, ledger.saved, ledger.openings


def _followed(records: Sequence[Any], new: Any) -> Sequence[Any]:
    return records.followed_by(new) if isinstance(records, Lines) else (*records, new)


def _begins_with(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    if isinstance(ours, Lines) and isinstance(theirs, Lines):
        return ours.begins_with(theirs)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return ours[: len(theirs)] == theirs
    return len(theirs) <= len(ours) and all(
        one == other for one, other in zip(ours, theirs, strict=False)
    )


def _plain(budget: Budget) -> str:
    text = f"epsilon={float(budget.epsilon):.10g}"
    return text + (f", delta={float(budget.delta):.10g}" if budget.delta else "")


def _table(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    rows = [("entry", "when", "method", "epsilon", "delta", "measure", "description")]
    for entry in entries:
        epsilon, delta = float(entry.budget.epsilon), float(entry.budget.delta)
        number = entry.number
        spent = f"{epsilon:g}", f"{delta:g}", entry.measure
        rows.append((number, entry.when, entry.method, *spent, entry.description))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


_BEGIN = b'{"format": "dprct ledger", "version": 4, '
_ENTRY, _CONTENT, _SAVED, _SEPARATE, _OPENING = _KINDS = tuple(
    f',{{"{kind}": '.encode() for kind in ("entry", "content", "saved", "separate", "opening")
)
_ID = b',{"entry": {"id": "'
_END, _HASH = b"],", b', "sha256": "'
_TAIL = 2**16


class Damage(LedgerError):
    """A ledger whose bytes are not those that were written."""


@dataclass(frozen=True)
class Seen:
    """What was read of a ledger file."""

    ledger: Ledger
    ids: set[str]  # ids of its entries
    at: int | None = None  # where the last line begins; None in a file of an earlier version
    end: bytes = b""  # the last line
    digest: str = ""  # the hash of all lines before it
    tail: bytes = b""  # the end of the file
    state: tuple[int, int, int] | None = None  # identity, size and time of the file

    def again(self, file: IO[bytes]) -> Seen | None:
        """Content of the file now if it only went on since; None if that is not sure."""
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
        """Content of the file after lines were appended."""
        assert self.at is not None
        new = b"".join(lines)
        tail = self.tail[: len(self.tail) - len(self.end)] + new
        self.ids.update(_id(line) for line in lines if line.startswith(_ID))
        return Seen(
            ledger, self.ids, self.at + len(new), end, digest, tail[-_TAIL:] + end, _state(state)
        )


def seen(raw: bytes, state: os.stat_result | None) -> Seen:
    """Return the ledger that a file holds, in lines or in the format of an earlier version."""
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
    lazily: dict[str, Any] = {
        name: Lines(records[kind], read) for name, (kind, read) in _RECORDS.items()
    }
    ledger = replace(
        ledger,
        **lazily,
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
    empty = replace(ledger, entries=(), contents=(), saved=(), openings=(), separate=None,
                    running=None)  # fmt: skip
    lines = [first, begins, *lines_beyond(ledger, empty)]
    return b"".join(lines) + last_line(ledger, digest_after("", lines))


def lines_beyond(ledger: Ledger, earlier: Ledger) -> list[bytes]:
    """Return the lines of the records that a ledger has and an earlier state of it lacks."""
    lines = [_line(_CONTENT, asdict(one)) for one in ledger.contents[len(earlier.contents) :]]
    head = earlier.head
    for entry in ledger.entries[len(earlier.entries) :]:
        facts = entry.to_dict()
        head = link_after(head, facts)
        lines.append(_line(_ENTRY, {**facts, "chain": head}))
    lines += [_line(_SAVED, asdict(one)) for one in ledger.saved[len(earlier.saved) :]]
    lines += [_line(_OPENING, asdict(o)) for o in ledger.openings[len(earlier.openings) :]]
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
    """Content of a last line, if it is the one of lines with this hash."""
    body, _, signed = end.rpartition(_HASH)
    if signed != hashlib.sha256(body).hexdigest().encode() + b'"}\n' or not body.startswith(_END):
        raise Damage("its last line is not as it was written")
    try:
        said = json.loads(b"{" + body.removeprefix(_END) + b"}")
        if said["records_sha256"] != digest:
            raise Damage("a line is not as it was written")
        return Sums.from_dict(said["now"])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LedgerError(f"it contradicts itself (``{type(error).__name__}``)") from error


def _terms(line: bytes) -> Ledger:
    """Return the empty ledger of a first line."""
    try:
        values = json.loads(line.rstrip(b",\n") + b"}")
        del values["format"], values["version"]
        total = Budget(fraction(values.pop("epsilon")), fraction(values.pop("delta")))
        return Ledger(total=total, **values)
    except (KeyError, TypeError, ValueError, RecursionError, ZeroDivisionError) as error:
        raise LedgerError(f"it contradicts itself ({marked(error)})") from error


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
    more: dict[str, Any] = {}
    for name, (kind, read) in _RECORDS.items():
        known = getattr(ledger, name)
        for line in records[kind]:
            known = known.followed_by(read(line))
        more[name] = known
    for line in records[_SEPARATE]:
        more["separate"] = _read(line, _SEPARATE)["why"]
    return replace(ledger, **more)


def _sorted(lines: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {kind: [] for kind in _KINDS}
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
        raise LedgerError(f"a record of it cannot be read (``{type(error).__name__}``)") from error


def _entry(line: bytes) -> Entry:
    facts = _read(line, _ENTRY)
    facts.pop("chain", None)
    try:
        return Entry.from_dict(facts)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        if isinstance(error, DprctError):
            raise LedgerError(f"an entry of it contradicts itself ({marked(error)})") from error
        raise LedgerError(f"an entry of it cannot be read (``{type(error).__name__}``)") from error


_RECORDS: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
    "entries": (_ENTRY, _entry),
    "contents": (_CONTENT, lambda line: Content(**_read(line, _CONTENT))),
    "saved": (_SAVED, lambda line: Saved(**_read(line, _SAVED))),
    "openings": (_OPENING, lambda line: Opening(**_read(line, _OPENING))),
}
"""Of each kind of record how its lines begin, and what they say."""


def _id(line: bytes) -> str:
    return line[len(_ID) : line.find(b'"', len(_ID))].decode("ascii", "replace")


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns
