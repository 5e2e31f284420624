"""What a ledger says: the budget, the rule, and one entry for every charge, as frozen values."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy.budget import Budget, spelled
from dprct.privacy.guarantee import RELATIONS, Relation
from dprct.privacy.rules import NOTHING, RULES, Charge, Composition, Cost, Rule

VERSION = 1
_ENTRY_ID = re.compile(r"[0-9]{1,9}-[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge, as it stands in the ledger.

    Parameters
    ----------
    id : str
        Number and random part, for example ``"3-9f86d081884c"``.
    when : str
        UTC, ISO 8601.
    method : str
        What was released, for example ``"MVHistogram"``.
    charge : Charge
        The claim and what is proved about the mechanism.
    relation : {"replace-one", "add-remove", "replace-one-design-public"}
        Neighbours under which the claim was made.
    unit : str
        What one record is.
    description : str
        Free words of the caller; public.
    parallel_group, block : str or None
        Charges of one group on different blocks cost the largest of them, not the sum.
    """

    id: str
    when: str
    method: str
    charge: Charge
    relation: Relation
    unit: str
    description: str = ""
    parallel_group: str | None = None
    block: str | None = None

    def __post_init__(self) -> None:
        for name in ("method", "unit", "description"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"{name} of a charge must be text")
        if self.relation not in RELATIONS:
            raise ParameterError(
                f"relation={self.relation!r} of a charge; allowed: {', '.join(RELATIONS)}"
            )
        if (self.parallel_group is None) != (self.block is None):
            raise ParameterError("a parallel charge needs both parallel_group= and block=")

    @property
    def budget(self) -> Budget:
        """The claimed (epsilon, delta)."""
        return self.charge.budget

    @property
    def measure(self) -> str:
        """What is proved: ``"pure"``, ``"approximate"``, ``"zcdp"`` or ``"gdp"``."""
        return self.charge.measure

    @property
    def parameter(self) -> Fraction | None:
        """Rho of a zCDP charge, mu of a GDP charge."""
        return self.charge.parameter

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; numbers are exact text."""
        parameter = self.charge.parameter
        return {
            "id": self.id,
            "when": self.when,
            "method": self.method,
            "epsilon": spelled(self.budget.epsilon),
            "delta": spelled(self.budget.delta),
            "measure": self.charge.measure,
            "parameter": None if parameter is None else spelled(parameter),
            "slack": spelled(self.charge.slack),
            "relation": self.relation,
            "unit": self.unit,
            "description": self.description,
            "parallel_group": self.parallel_group,
            "block": self.block,
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Entry:
        """Return the entry that :meth:`to_dict` wrote."""
        values = dict(facts)
        parameter = values.pop("parameter")
        charge = Charge(
            Budget(Fraction(values.pop("epsilon")), Fraction(values.pop("delta"))),
            values.pop("measure"),
            None if parameter is None else Fraction(parameter),
            Fraction(values.pop("slack")),
        )
        if not _ENTRY_ID.fullmatch(values["id"]):
            raise ParameterError("an entry has an id that is not one of ours")
        return cls(charge=charge, **values)


@dataclass(frozen=True, slots=True)
class Content:
    """The SHA-256 of the data file when it was used; it detects change, it does not identify."""

    sha256: str
    when: str
    note: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ParameterError("sha256 of a content must be 64 lower-case hexadecimal digits")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A budget, the terms on which it is spent, and what was charged so far.

    Examples
    --------
    >>> ledger = Ledger(Budget(1), "replace-one", "person", "sequential")
    >>> entry = new_entry(ledger, Charge(Budget(0.25), "pure"), method="MVHistogram",
    ...                   relation="replace-one", unit="person")
    >>> print(ledger.with_entry(entry).remaining)
    epsilon=0.75
    """

    total: Budget
    relation: Relation
    unit: str
    composition: Composition
    dataset_id: str | None = None
    entries: tuple[Entry, ...] = ()
    contents: tuple[Content, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ParameterError(f"relation={self.relation!r}; allowed: {', '.join(RELATIONS)}")
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
    def spent(self) -> Budget:
        """An (epsilon, delta) that holds for everything released so far, together."""
        if not self.entries:
            return Budget(0)
        cost = total_cost(self.rule, self.entries)
        if not self._within(cost):  # only a first charge may be: see ``refuse_unfit``
            return self.entries[0].budget
        return self.rule.spent(cost, self.total)

    @property
    def remaining(self) -> Budget:
        """The largest budget that one further charge may have."""
        if not self.entries:
            return self.total
        return self.rule.room(total_cost(self.rule, self.entries), self.total)

    def with_entry(self, entry: Entry) -> Ledger:
        """Return the ledger with one more entry."""
        return replace(self, entries=(*self.entries, entry))

    def refuse_unfit(self, entry: Entry) -> None:
        """Raise unless ``entry`` may be appended.

        Notes
        -----
        The very first charge is sized before anything was released, so it is judged by its own
        claim where that is enough; every later one by the accountant's rule.
        """
        self._refuse_relation(entry.relation)
        if entry.unit != self.unit:
            raise ParameterError(
                f"a charge per {entry.unit!r} cannot be added to an accountant per {self.unit!r}; "
                "use an accountant of the same unit"
            )
        cost = total_cost(self.rule, (*self.entries, entry))
        alone = not self.entries and entry.budget.fits(self.total)
        if not (alone or self._within(cost)):
            raise BudgetError(
                f"asked for {_plain(entry.budget)}, {_plain(self.remaining)} of "
                f"{_plain(self.total)} is left (composition={self.composition!r}); "
                "ask for less or start a new accountant; nothing was drawn"
            )

    def _within(self, cost: Cost) -> bool:
        capacity = self.rule.capacity(self.total)
        return cost[0] <= capacity[0] and cost[1] <= capacity[1]

    def _refuse_relation(self, relation: Relation) -> None:
        if relation == self.relation:
            return
        if (relation, self.relation) == ("replace-one", "replace-one-design-public"):
            return  # the public design only removes neighbours
        why = (
            "add-remove and replace-one claims are never added together"
            if "add-remove" in (relation, self.relation)
            else "a charge that takes the design as public does not protect the design"
        )
        raise ParameterError(
            f"a {relation!r} charge does not fit an accountant with relation={self.relation!r}: "
            f"{why}; use an accountant with relation={relation!r}"
        )

    def with_content(self, sha256: str) -> Ledger:
        """Return the ledger that knows the data file's present hash; the same one if it did."""
        if self.contents and self.contents[-1].sha256 == sha256:
            return self
        note = "the file changed; the ledger continues" if self.contents else "first use"
        return replace(self, contents=(*self.contents, Content(sha256, now(), note)))

    def continues(self, earlier: Ledger) -> bool:
        """Whether this ledger is ``earlier`` with, at most, entries and contents appended."""
        return (
            replace(self, entries=(), contents=()) == replace(earlier, entries=(), contents=())
            and self.entries[: len(earlier.entries)] == earlier.entries
            and self.contents[: len(earlier.contents)] == earlier.contents
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, with a checksum over them."""
        facts: dict[str, Any] = {
            "format": "dprct ledger",
            "version": VERSION,
            "dataset_id": self.dataset_id,
            "epsilon": spelled(self.total.epsilon),
            "delta": spelled(self.total.delta),
            "relation": self.relation,
            "unit": self.unit,
            "composition": self.composition,
            "contents": [
                {"sha256": c.sha256, "when": c.when, "note": c.note} for c in self.contents
            ],
            "entries": [entry.to_dict() for entry in self.entries],
        }
        return {**facts, "checksum": _checksum(facts)}

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
        if facts.get("version") != VERSION:
            raise LedgerError(f"it has a version other than {VERSION}; use the dprct that wrote it")
        values = dict(facts)
        if values.pop("checksum", None) != _checksum(values):
            raise LedgerError("its checksum does not match its content")
        try:
            return cls._from_values(values)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise LedgerError(f"it contradicts itself ({error})") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Ledger:
        del values["format"], values["version"]
        total = Budget(Fraction(values.pop("epsilon")), Fraction(values.pop("delta")))
        entries = tuple(Entry.from_dict(entry) for entry in values.pop("entries"))
        contents = tuple(Content(**content) for content in values.pop("contents"))
        if len({entry.id for entry in entries}) < len(entries):
            raise ParameterError("two entries share an id")
        return cls(total=total, entries=entries, contents=contents, **values)

    def __str__(self) -> str:
        name = f" of {self.dataset_id}" if self.dataset_id else ""
        head = (
            f"Privacy budget{name}: {self.total} per {self.unit} "
            f"({self.relation}, {self.composition})",
            f"spent: {self.spent}; left: {self.remaining}",
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


def now() -> str:
    """Return the present time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _add(left: Cost, right: Cost) -> Cost:
    return left[0] + right[0], left[1] + right[1]


def _checksum(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(budget: Budget) -> str:
    text = f"epsilon={float(budget.epsilon):.10g}"
    return text + (f", delta={float(budget.delta):.10g}" if budget.delta else "")


def _table(entries: tuple[Entry, ...]) -> list[str]:
    if not entries:
        return []
    rows = [("entry", "when", "method", "epsilon", "delta", "measure", "description")]
    for entry in entries:
        epsilon, delta = float(entry.budget.epsilon), float(entry.budget.delta)
        number = entry.id.split("-")[0]
        spent = f"{epsilon:g}", f"{delta:g}", entry.measure
        rows.append((number, entry.when, entry.method, *spent, entry.description))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
