"""What a ledger says: the budget, the rule, and one entry for every charge, as frozen values."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy.budget import Budget, spelled
from dprct.privacy.charges import Content, Entry, Saved, now
from dprct.privacy.composition import NOTHING, RULES, Charge, Composition, Cost, Rule
from dprct.privacy.guarantee import RELATIONS, Relation
from dprct.privacy.together import Together, together

if TYPE_CHECKING:
    from collections.abc import Sequence


TERMS = ("dataset_id", "epsilon", "delta", "relation", "unit", "composition")
"""What a ledger fixes before its first entry."""


def checksum(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-ready values, whatever their order.

    Examples
    --------
    >>> checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1})
    True
    """
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def chained(ledger: Mapping[str, Any]) -> list[str]:
    """Return the link of every entry: the SHA-256 of the link before it and of the entry.

    Parameters
    ----------
    ledger : mapping
        The values of a ledger file; links that its entries have already do not count.

    Returns
    -------
    list of str
        One longer than the entries: the first link is of the terms.

    Notes
    -----
    The last link stands for the terms and for every entry up to it.  Certificates carry it, so
    that a ledger from which entries were removed, or in which they were changed, contradicts the
    certificates of the releases that it paid for, even if its own checksum was computed anew.

    Examples
    --------
    >>> links = chained({"epsilon": "1", "entries": [{"id": "1-a"}, {"id": "2-b"}]})
    >>> links[:2] == chained({"epsilon": "1", "entries": [{"id": "1-a"}]})
    True
    """
    links = [checksum({name: ledger.get(name) for name in TERMS})]
    for entry in ledger["entries"]:
        bare = {name: value for name, value in entry.items() if name != "chain"}
        links.append(checksum({"after": links[-1], "entry": bare}))
    return links


def first_broken(ledger: Mapping[str, Any], links: Sequence[str]) -> int | None:
    """Return the number of the first entry, from 1, that does not continue the chain."""
    for number, (entry, link) in enumerate(zip(ledger["entries"], links[1:], strict=True), 1):
        if entry.get("chain") != link:
            return number
    return None


VERSION = 3
_READABLE = (1, 2, VERSION)


@dataclass(frozen=True, slots=True)
class Ledger:
    """A budget, the terms on which it is spent, and what was charged so far.

    ``relation`` and ``unit`` are demands on every charge; None demands nothing.

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
    entries: tuple[Entry, ...] = ()
    contents: tuple[Content, ...] = ()
    saved: tuple[Saved, ...] = ()

    def __post_init__(self) -> None:
        if self.relation is not None and self.relation not in RELATIONS:
            raise ParameterError(
                f"relation={self.relation!r}; allowed: {', '.join(RELATIONS)}, or None"
            )
        if self.unit is not None and not isinstance(self.unit, str):
            raise ParameterError("unit= is no text; say what one record is, such as 'person'")
        if self.composition not in RULES:
            raise ParameterError(f"composition={self.composition!r}; allowed: {', '.join(RULES)}")
        if not self.total.epsilon:
            raise ParameterError("epsilon=0 allows no release at all; give epsilon > 0")
        if self.composition != "sequential" and not self.total.delta:
            raise ParameterError(
                f"composition={self.composition!r} needs a delta to convert at; give delta > 0"
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
    def head(self) -> str:
        """The last link of the chain: it stands for the terms and all entries."""
        return self.links[-1]

    @property
    def together(self) -> Together | None:
        """What all charges promise together; None before the first."""
        return together(self.priced) if self.priced else None

    @property
    def spent(self) -> Budget:
        """An (epsilon, delta) that holds for everything that was charged so far, together.

        It says nothing about entries without a guarantee.
        """
        priced = self.priced
        if not priced:
            return Budget(0)
        cost = total_cost(self.rule, priced)
        if not self._within(cost):  # only a first charge may be: see ``refuse_unfit``
            return priced[0].budget
        return self.rule.spent(cost, self.total)

    @property
    def remaining(self) -> Budget:
        """The largest budget that one further charge may have."""
        if not self.priced:
            return self.total
        return self.rule.room(total_cost(self.rule, self.priced), self.total)

    def with_entry(self, entry: Entry) -> Ledger:
        """Return the ledger with one more entry."""
        return replace(self, entries=(*self.entries, entry))

    def refuse_unfit(self, entry: Entry) -> None:
        """Raise unless ``entry`` may be appended.

        Raises
        ------
        ParameterError
            If it does not hold under the terms, or nothing is known that it and the others
            protect, or the accountant's rule cannot add its measure.
        BudgetError
            If it does not fit into what is left.

        Notes
        -----
        The very first charge is sized before anything was released, so it is judged by its own
        claim where that is enough; every later one by the accountant's rule.
        """
        if not entry.priced:
            return
        self._refuse_terms(entry)
        together((*self.priced, entry))
        cost = total_cost(self.rule, (*self.priced, entry))
        alone = not self.priced and entry.budget.fits(self.total)
        if not (alone or self._within(cost)):
            raise BudgetError(
                f"asked for {_plain(entry.budget)}, {_plain(self.remaining)} of "
                f"{_plain(self.total)} is left (composition={self.composition!r}), and what was "
                "spent on these people stays spent; ask for less; nothing was drawn"
            )

    def _within(self, cost: Cost) -> bool:
        capacity = self.rule.capacity(self.total)
        return cost[0] <= capacity[0] and cost[1] <= capacity[1]

    def _refuse_terms(self, entry: Entry) -> None:
        """Refuse a charge that does not hold under the relation, or for the unit, demanded."""
        if self.unit is not None and entry.unit != self.unit:
            raise ParameterError(
                f"a charge per {entry.unit!r} does not fit, because this accountant demands "
                f"unit={self.unit!r}; fit per {self.unit}; nothing was drawn"
            )
        holds = together((entry,)).relations
        if self.relation is not None and self.relation not in holds:
            raise ParameterError(
                f"a {entry.relation!r} charge does not hold under relation={self.relation!r}, "
                f"which this accountant demands; fit with neighbors={self.relation!r}, where the "
                "method offers it; nothing was drawn"
            )

    def with_content(self, sha256: str) -> Ledger:
        """Return the ledger that knows the data file's present hash; the same one if it did."""
        if self.contents and self.contents[-1].sha256 == sha256:
            return self
        note = "the file changed; the ledger continues" if self.contents else "first use"
        return replace(self, contents=(*self.contents, Content(sha256, now(), note)))

    def with_saved(self, entry_id: str, sha256: str) -> Ledger:
        """Return the ledger that knows what was saved for an entry; the same one if it did."""
        if any(saved.entry == entry_id for saved in self.saved):
            return self
        return replace(self, saved=(*self.saved, Saved(entry_id, sha256, now())))

    def hash_of(self, entry_id: str) -> str | None:
        """Return the SHA-256 of what was saved for an entry, if that is known."""
        return next((saved.sha256 for saved in self.saved if saved.entry == entry_id), None)

    def continues(self, earlier: Ledger) -> bool:
        """Whether this ledger is ``earlier`` with, at most, records appended."""
        return _terms(self) == _terms(earlier) and all(
            ours[: len(theirs)] == theirs
            for ours, theirs in zip(_records(self), _records(earlier), strict=True)
        )

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
            "dataset_id": self.dataset_id,
            "epsilon": spelled(self.total.epsilon),
            "delta": spelled(self.total.delta),
            "relation": self.relation,
            "unit": self.unit,
            "composition": self.composition,
            "contents": [content.to_dict() for content in self.contents],
            "entries": [entry.to_dict() for entry in self.entries],
            "saved": [saved.to_dict() for saved in self.saved],
        }

    @classmethod
    def from_dict(cls, facts: object) -> Ledger:
        """Return the ledger that :meth:`to_dict` wrote.

        Raises
        ------
        LedgerError
            If it is not a ledger, is of a newer version, or anything in it was changed.
        """
        if not isinstance(facts, Mapping) or facts.get("format") != "dprct ledger":
            raise LedgerError("it is not a ledger of dprct")
        if facts.get("version") not in _READABLE:
            raise LedgerError(f"it has a version above {VERSION}; use the dprct that wrote it")
        values = dict(facts)
        if values.pop("checksum", None) != checksum(values):
            raise LedgerError("its checksum does not match its content, so it was changed by hand")
        try:
            return cls._from_values(values)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise LedgerError(f"it contradicts itself ({error})") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Ledger:
        broken = first_broken(values, chained(values)) if values["version"] > 1 else None
        if broken is not None:
            raise ParameterError(f"entry {broken}, or what is before it, was changed by hand")
        del values["format"], values["version"]
        total = Budget(Fraction(values.pop("epsilon")), Fraction(values.pop("delta")))
        entries = tuple(
            Entry.from_dict({k: v for k, v in entry.items() if k != "chain"})
            for entry in values.pop("entries")
        )
        saved = tuple(Saved(**one) for one in values.pop("saved", ()))
        contents = tuple(Content(**content) for content in values.pop("contents"))
        if len({entry.id for entry in entries}) < len(entries):
            raise ParameterError("two entries share an id")
        if not {one.entry for one in saved} <= {entry.id for entry in entries}:
            raise ParameterError("a state was saved for an entry that is not there")
        ledger = cls(total=total, entries=entries, contents=contents, saved=saved, **values)
        if ledger.priced:
            together(ledger.priced)
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
        free = len(self.entries) - len(self.priced)
        if free:
            head.append(
                f"NO GUARANTEE for {free} of {len(self.entries)} entries: what is spent holds for "
                "the others alone"
            )
        return "\n".join((*head, *_table(self.entries)))


def new_entry(ledger: Ledger, charge: Charge, **facts: Any) -> Entry:
    """Return the next entry of ``ledger``, with a fresh id and the present time."""
    number = f"{len(ledger.entries) + 1}-{secrets.token_hex(6)}"
    return Entry(id=number, when=now(), charge=charge, **facts)


def total_cost(rule: Rule, entries: tuple[Entry, ...]) -> Cost:
    """Return the summed cost: blocks of one parallel group count as the largest of them."""
    blocks: dict[tuple[str, str | None], dict[str, Cost]] = {}
    for entry in entries:
        group = (entry.parallel_group or "", None if entry.parallel_group else entry.id)
        sums = blocks.setdefault(group, {})
        block = entry.block or ""
        sums[block] = _add(sums.get(block, NOTHING), rule.cost(entry.charge))
    total = NOTHING
    for sums in blocks.values():
        largest = max(c[0] for c in sums.values()), max(c[1] for c in sums.values())
        total = _add(total, largest)
    return total


def _terms(ledger: Ledger) -> Ledger:
    return replace(ledger, entries=(), contents=(), saved=())


def _records(ledger: Ledger) -> tuple[tuple[object, ...], ...]:
    return ledger.entries, ledger.contents, ledger.saved


def _add(left: Cost, right: Cost) -> Cost:
    return left[0] + right[0], left[1] + right[1]


def _plain(budget: Budget) -> str:
    text = f"epsilon={float(budget.epsilon):.10g}"
    return text + (f", delta={float(budget.delta):.10g}" if budget.delta else "")


def _table(entries: tuple[Entry, ...]) -> list[str]:
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
