"""The records of a ledger: charges, states of the data file, and what was saved; frozen values."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.privacy.budget import RELATIONS, Budget, Relation, fraction, spelled
from dprct.privacy.composition import NOTHING, Charge, Cost
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.privacy.composition import Rule


ENTRY_ID = re.compile(r"[0-9]{1,9}-[0-9a-f]{12}")
"""Number and random part; safe as a file name."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
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
    relation : {"replace-one", "add-remove", "replace-one-design-public"} or None
        Neighbours under which the claim was made; None where nothing is claimed.
    unit : str
        What one record is.
    description : str
        Free words of the caller; public.
    parallel_group, block : str or None
        Charges of one group on different blocks cost the largest of them, not the sum.
    unit_id : str or None
        The column that says which rows are of one unit, if one was declared.
    max_rows : int, default 1
        Most rows that one unit may have; the claim is for all of them together.
    public_facts, not_covered : tuple of str, or None
        What the claim takes as public and what it does not protect; None if that was not recorded.
    """

    id: str
    when: str
    method: str
    charge: Charge
    relation: Relation | None
    unit: str
    description: str = ""
    parallel_group: str | None = None
    block: str | None = None
    unit_id: str | None = None
    max_rows: int = 1
    public_facts: tuple[str, ...] | None = None
    not_covered: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("method", "unit", "description"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"{name} of a charge must be text")
        if type(self.max_rows) is not int or self.max_rows < 1:
            raise ParameterError("max_rows of a charge must be a whole number, at least 1")
        if self.unit_id is not None and not isinstance(self.unit_id, str):
            raise ParameterError("unit_id of a charge must be the name of a column, or ``None``")
        for name in ("public_facts", "not_covered"):
            self._check_texts(name)
        if self.priced == (self.relation is None):
            raise ParameterError(
                "a charge that claims something needs a relation, and one that claims nothing none"
            )
        if self.priced and self.relation not in RELATIONS:
            raise ParameterError(
                f"``relation={self.relation!r}`` of a charge; allowed: {', '.join(RELATIONS)}"
            )
        if (self.parallel_group is None) != (self.block is None):
            raise ParameterError("a parallel charge needs both ``parallel_group=`` and ``block=``")

    def _check_texts(self, name: str) -> None:
        texts = getattr(self, name)
        if texts is not None and not (
            isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)
        ):
            raise ParameterError(f"{name} of a charge must be ``a tuple`` of texts, or ``None``")

    @property
    def number(self) -> str:
        """The number of the entry in its ledger, from 1."""
        return self.id.split("-")[0]

    @property
    def recorded(self) -> bool:
        """Whether it was recorded what the claim takes as public and what it does not protect."""
        return self.public_facts is not None and self.not_covered is not None

    @property
    def priced(self) -> bool:
        """Whether anything is claimed, so that it costs something."""
        return self.charge.measure != "none"

    @property
    def budget(self) -> Budget:
        """The claimed (epsilon, delta); zero where nothing is claimed."""
        return self.charge.budget

    @property
    def measure(self) -> str:
        """What is proved: ``"pure"``, ``"approximate"``, ``"zcdp"``, ``"gdp"`` or ``"none"``."""
        return self.charge.measure

    @property
    def parameter(self) -> Fraction | None:
        """Rho of a zCDP charge, mu of a GDP charge."""
        return self.charge.parameter

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; numbers are exact text.

        What was not recorded is left out, so that an entry of an earlier version keeps its hash.
        """
        parameter = self.charge.parameter
        lists = {"public_facts": self.public_facts, "not_covered": self.not_covered}
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
            "unit_id": self.unit_id,
            "max_rows": self.max_rows,
            **_proved(self.charge),
            **{name: list(texts) for name, texts in lists.items() if texts is not None},
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Entry:
        """Return the entry that :meth:`to_dict` wrote."""
        values = dict(facts)
        parameter = values.pop("parameter")
        charge = Charge(
            Budget(fraction(values.pop("epsilon")), fraction(values.pop("delta"))),
            values.pop("measure"),
            None if parameter is None else fraction(parameter),
            fraction(values.pop("slack")),
            **_read(values.pop("rho", None), values.pop("gaussian", None)),
        )
        if not ENTRY_ID.fullmatch(values["id"]):
            raise ParameterError("an entry has an id that dprct did not write")
        for name in ("public_facts", "not_covered"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        return cls(charge=charge, **values)


def _proved(charge: Charge) -> dict[str, Any]:
    """Proved part of a charge besides its claim.

    What is not there is left out, so that an entry of an earlier version keeps its hash.
    """
    found: dict[str, Any] = {}
    if charge.rho is not None:
        found["rho"] = spelled(charge.rho)
    if charge.gaussian is not None:
        found["gaussian"] = [spelled(number) for number in charge.gaussian]
    return found


def _read(rho: str | None, gaussian: list[str] | None) -> dict[str, Any]:
    """Charge from what :func:`_proved` wrote."""
    return {
        "rho": None if rho is None else fraction(rho),
        "gaussian": None if gaussian is None else (fraction(gaussian[0]), fraction(gaussian[1])),
    }


@dataclass(frozen=True)
class Content:
    """The SHA-256 of the data file when it was used; it detects change, it does not identify."""

    sha256: str
    when: str
    note: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ParameterError("sha256 of a content must be 64 lower-case hexadecimal digits")


@dataclass(frozen=True)
class Opening:
    """That confidential data were opened under declared facts, and whether they refused them."""

    when: str  # UTC, ISO 8601
    refused: bool  # whether a value was outside what was declared
    facts: Mapping[str, str]  # a hash of what was declared of each column that was looked at
    file: str  # the name of the data file
    sha256: str  # of the data file

    def __post_init__(self) -> None:
        texts = (self.when, self.file, self.sha256, *self.facts, *self.facts.values())
        if type(self.refused) is not bool or not all(isinstance(text, str) for text in texts):
            raise ParameterError("an opening has a time, whether it was refused, and texts")

    def differs(self, facts: Mapping[str, str]) -> bool:
        """Whether a column that was looked at was declared otherwise than it is now."""
        return any(facts.get(name, said) != said for name, said in self.facts.items())


@dataclass(frozen=True)
class Saved:
    """That the released state of an entry was saved, and its SHA-256."""

    entry: str  # the id of the entry that paid for it
    sha256: str  # of the file that holds the state; a state that was edited is refused
    when: str  # UTC, ISO 8601

    def __post_init__(self) -> None:
        if not ENTRY_ID.fullmatch(self.entry) or not _SHA256.fullmatch(self.sha256):
            raise ParameterError("a saved state needs the id of its entry and a SHA-256")


def now() -> str:
    """Return the present time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


ROW = "row"
"""The unit of a sum whose charges are for different units."""

_SERIES = "donor"
"""The unit of synthetic control: a series of a panel, and no row of a table of persons."""

_IMPLIED: dict[Relation, tuple[Relation, ...]] = {
    "replace-one": ("replace-one", "replace-one-design-public"),
    "replace-one-design-public": ("replace-one-design-public",),
    "add-remove": ("add-remove",),
}
"""Relations under which a charge holds: a public design only takes neighbours away."""


@dataclass(frozen=True)
class Together:
    """The promise of a sum of charges, which is that of the weakest of them in every respect."""

    relations: tuple[Relation, ...]  # under which the sum holds, the strongest first
    unit: str  # who is protected: the unit of all charges, or ``"row"`` if their units differ
    unit_id: str | None  # the column that says which rows are of one unit
    max_rows: int  # most rows of one unit that are protected together
    units: tuple[str, ...]  # the units of the charges, in words
    mixed: bool  # whether a charge holds under more relations than the sum
    # public_facts, not_covered: what any charge takes as public, or does not protect.
    public_facts: tuple[str, ...]
    not_covered: tuple[str, ...]
    unrecorded: tuple[str, ...]  # numbers of the entries of which that was not recorded

    def claim(self) -> str:
        """Return for whom, and under which relation, the sum holds."""
        under = ", and so under ".join(self.relations)
        if self.mixed:
            under += ", the weakest relation of them"
        if len(self.units) > 1 and self.unit == ROW:
            return (
                f"for every single row, and not for several rows of one unit together, because "
                f"charges are for different units ({'; '.join(self.units)}), under {under}"
            )
        if len(self.units) > 1:
            who = unit_words(self.unit, self.unit_id, 1)
            return (
                f"for every {who} with no more rows in a release than its entry says, under {under}"
            )
        return f"for every {unit_words(self.unit, self.unit_id, self.max_rows)}, under {under}"

    def sentences(self) -> list[str]:
        """Return the promise in sentences, one a line."""
        lines = [f"The sum of all charges holds {self.claim()}."]
        if self.public_facts:
            lines.append(f"It takes as public what any charge does: {_listed(self.public_facts)}.")
        if self.not_covered:
            lines.append(
                f"It does not protect what any charge does not: {_listed(self.not_covered)}."
            )
        if self.unrecorded:
            numbers = ", ".join(self.unrecorded)
            lines.append(
                f"What is public and what is not covered was not recorded of entry {numbers}."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "relations": list(self.relations),
            "unit": self.unit,
            "unit_id": self.unit_id,
            "max_rows": self.max_rows,
            "units": list(self.units),
            "public_facts": list(self.public_facts),
            "not_covered": list(self.not_covered),
            "not_recorded": list(self.unrecorded),
        }


@dataclass(frozen=True)
class Parts:
    """What is kept of charges to say what they promise together, however many they are."""

    relations: tuple[Relation, ...] = ()  # of the charges, each once
    # Unit and column that says which rows are of one unit, each pair once.
    kinds: tuple[tuple[str, str | None], ...] = ()
    rows: int = 0  # the least of their most rows of one unit; 0 without a charge
    # units, public_facts, not_covered: each once.
    units: tuple[str, ...] = ()
    public_facts: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    # Runs of numbers of entries of which public facts were not recorded.
    unrecorded: tuple[tuple[int, int], ...] = ()

    def with_entry(self, entry: Entry) -> Parts:
        """Return the parts with one more charge, which has a price."""
        said = unit_words(entry.unit, entry.unit_id, entry.max_rows)
        number = int(entry.number)
        runs = self.unrecorded
        if not entry.recorded:
            joined = bool(runs) and runs[-1][1] == number - 1
            runs = (*runs[:-1], (runs[-1][0], number)) if joined else (*runs, (number, number))
        return Parts(
            _with(self.relations, (_relation(entry),)),
            _with(self.kinds, ((entry.unit, entry.unit_id),)),
            min(self.rows or entry.max_rows, entry.max_rows),
            _with(self.units, (said,)),
            _with(self.public_facts, entry.public_facts or ()),
            _with(self.not_covered, entry.not_covered or ()),
            runs,
        )

    def together(self) -> Together:
        """Common promise of the charges; the proof is in :func:`together`."""
        relations = [r for r in RELATIONS if all(r in _IMPLIED[one] for one in self.relations)]
        if not relations:
            raise ParameterError(
                "add-remove and replace-one charges cannot be added together, because no relation "
                "is known under which both hold; fit with the neighbors of the first charges; "
                "nothing was drawn"
            )
        if "add-remove" in relations:
            relations = ["add-remove"]
        _refuse_apart(self.kinds)
        one = len(self.kinds) == 1
        unit, unit_id = self.kinds[0] if one else (ROW, None)
        return Together(
            relations=tuple(relations),
            unit=unit,
            unit_id=unit_id,
            max_rows=self.rows if one else 1,
            units=self.units,
            mixed=len(self.relations) > 1,
            public_facts=self.public_facts,
            not_covered=self.not_covered,
            unrecorded=tuple(
                str(n) for first, last in self.unrecorded for n in range(first, last + 1)
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        made: dict[str, Any] = json_ready(asdict(self))
        return made

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Parts:
        """Return the parts that :meth:`to_dict` wrote."""
        values = dict(facts)
        for name in ("relations", "units", "public_facts", "not_covered"):
            values[name] = tuple(values[name])
        for name in ("kinds", "unrecorded"):
            values[name] = tuple((first, last) for first, last in values[name])
        return cls(**values)


def json_ready(value: Any) -> Any:
    """Return a value with its tuples as lists, as JSON reads them back."""
    if isinstance(value, dict):
        return {name: json_ready(one) for name, one in value.items()}
    return [json_ready(one) for one in value] if isinstance(value, (tuple, list)) else value


def together(entries: Iterable[Entry]) -> Together:
    """Common promise of charges.

    Notes
    -----
    Write N_i for the pairs of tables (D, D') that charge i protects at its cost.  A filter on the
    costs bounds what all releases show of D against D' for every pair in all N_i: for such a pair
    each release, given the earlier ones, has its cost.  So the sum may be stated for any set of
    pairs that lies in every N_i, and the order of the charges does not matter.

    *Relation.*  Under replace-one-design-public a pair agrees, besides, in the design; such a pair
    is a pair under replace-one.  A replace-one charge therefore holds under both, a design-public
    one under its own only.  Tables that are neighbours under add-remove differ in n, and under the
    others they do not: no pair is in both.

    *Public facts.*  A charge protects pairs that agree in what it takes as public.  A pair that is
    in all N_i agrees in what any of them takes as public, so the union is public for the sum.

    *Unit.*  A charge for the rows of one value of an id, at most k of them, protects pairs that
    differ in those rows, and so pairs that differ in some of them.

    - One id in all charges: the rows of one value of it, at most the least k where the releases are
      of the same rows; of several files, such as two rounds, at most k of the file of each.
    - Different ids (persons and clusters, say): a pair that differs in one row differs in rows of
      one value of each of them, so it is in all N_i.  Two rows of one person may lie in two
      clusters, and no charge says that they do not: only a single row is promised.
    - A charge without an id is for units of which none has two rows, as was declared, so that it
      protects one row; with charges that have an id, one row is promised, and a person only where
      that declaration holds.
    - Charges without an id for units of different names: one row is one unit in either, so they
      are not about the same rows, and nothing is known that both protect.  A donor is a whole
      series, which is added to donors only.
    """
    parts = Parts()
    for entry in entries:
        parts = parts.with_entry(entry)
    return parts.together()


def unit_words(unit: str, unit_id: str | None, max_rows: int) -> str:
    """Return a unit in words.

    Examples
    --------
    >>> unit_words("person", "pid", 3)
    'person (by pid, up to 3 rows)'
    """
    several = f"up to {max_rows} rows" if max_rows > 1 else ""
    details = ", ".join(filter(None, (f"by {unit_id}" if unit_id else "", several)))
    return f"{unit} ({details})" if details else unit


def _refuse_apart(kinds: Sequence[tuple[str, str | None]]) -> None:
    """Refuse units of which no common part is known."""
    names = list(dict.fromkeys(name for name, _ in kinds))
    without = list(dict.fromkeys(name for name, unit_id in kinds if unit_id is None))
    apart = without if len(without) > 1 else names if _SERIES in names and len(names) > 1 else []
    if apart:
        raise ParameterError(
            f"charges per {apart[0]!r} and per {apart[1]!r} cannot be added together, because "
            f"nothing is known that both protect; fit per {apart[0]}; nothing was drawn"
        )


def _relation(entry: Entry) -> Relation:
    assert entry.relation is not None
    return entry.relation


def _with(known: tuple[Any, ...], more: Iterable[Any]) -> tuple[Any, ...]:
    """Return a tuple with the items that it lacks added; the same tuple if it lacks none."""
    new = [one for one in dict.fromkeys(more) if one not in known]
    return (*known, *new) if new else known


def _listed(facts: Iterable[str]) -> str:
    return "; ".join(facts)


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
    """Link of every entry: the SHA-256 of the link before it and of the entry.

    Links that entries have already do not count.

    Notes
    -----
    The last link stands for the terms and for every entry up to it.  Certificates carry it, so
    that a ledger from which entries were removed, or in which they were changed, contradicts the
    certificates of the releases that it paid for, even if its own checksum was computed again.

    Examples
    --------
    >>> links = chained({"epsilon": "1", "entries": [{"id": "1-a"}, {"id": "2-b"}]})
    >>> links[:2] == chained({"epsilon": "1", "entries": [{"id": "1-a"}]})
    True
    """
    links = [first_link(ledger)]
    for entry in ledger["entries"]:
        links.append(link_after(links[-1], entry))
    return links


def first_link(terms: Mapping[str, Any]) -> str:
    """Return the link of the terms of a ledger."""
    return checksum({name: terms.get(name) for name in TERMS})


def link_after(before: str, entry: Mapping[str, Any]) -> str:
    """Return the link of an entry that follows a link; one that it has already does not count."""
    bare = {name: value for name, value in entry.items() if name != "chain"}
    return checksum({"after": before, "entry": bare})


def first_broken(ledger: Mapping[str, Any], links: Sequence[str]) -> int | None:
    """Return the number of the first entry, from 1, that does not continue the chain."""
    for number, (entry, link) in enumerate(zip(ledger["entries"], links[1:], strict=True), 1):
        if entry.get("chain") != link:
            return number
    return None


@dataclass(frozen=True)
class Sums:
    """What is known of all entries of a ledger together."""

    head: str  # the last link of their chain
    # entries, priced: how many there are, and how many claim something.
    entries: int = 0
    priced: int = 0
    first: Budget | None = None  # the claim of the first that has a price
    alone: Cost = NOTHING  # the summed cost of the charges that are in no parallel group
    # The summed cost of each block of each parallel group.
    groups: Mapping[str, Mapping[str, Cost]] = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)  # what the charges promise together

    def with_entry(self, entry: Entry, rule: Rule) -> Sums:
        """Return the sums with one more entry; ParameterError if the rule does not add it."""
        head = link_after(self.head, entry.to_dict())
        counted = replace(self, head=head, entries=self.entries + 1)
        if not entry.priced:
            return counted
        cost, alone, groups = rule.cost(entry.charge), self.alone, self.groups
        if entry.parallel_group is None:
            alone = added(alone, cost)
        else:
            blocks = dict(groups.get(entry.parallel_group, {}))
            block = entry.block or ""
            blocks[block] = added(blocks.get(block, NOTHING), cost)
            groups = {**groups, entry.parallel_group: blocks}
        return replace(
            counted,
            priced=self.priced + 1,
            first=self.first or entry.budget,
            alone=alone,
            groups=groups,
            parts=self.parts.with_entry(entry),
        )

    @property
    def cost(self) -> Cost:
        """The summed cost: blocks of one parallel group count as the largest of them."""
        total = self.alone
        for blocks in self.groups.values():
            largest = max(c[0] for c in blocks.values()), max(c[1] for c in blocks.values())
            total = added(total, largest)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; numbers are exact text."""
        return {
            "head": self.head,
            "entries": self.entries,
            "priced": self.priced,
            "first": None if self.first is None else _text((self.first.epsilon, self.first.delta)),
            "alone": _text(self.alone),
            "groups": {
                group: {block: _text(cost) for block, cost in blocks.items()}
                for group, blocks in self.groups.items()
            },
            "parts": self.parts.to_dict(),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Sums:
        """Return the sums that :meth:`to_dict` wrote."""
        values = dict(facts)
        first = values["first"]
        values["first"] = None if first is None else Budget(*_cost(first))
        values["alone"] = _cost(values["alone"])
        values["groups"] = {
            group: {block: _cost(cost) for block, cost in blocks.items()}
            for group, blocks in values["groups"].items()
        }
        values["parts"] = Parts.from_dict(values["parts"])
        return cls(**values)


_MOST_BITS, _KEPT_BITS = 4000, 2000


def added(left: Cost, right: Cost) -> Cost:
    """Return the sum of two costs, exact unless its denominator passes a thousand digits.

    Such a sum is rounded up, so that it stays a bound and a ledger of any length can be written.
    """
    return _held(left[0] + right[0]), _held(left[1] + right[1])


def _held(number: Fraction) -> Fraction:
    if number.denominator.bit_length() <= _MOST_BITS:
        return number
    return Fraction(math.ceil(number * 2**_KEPT_BITS), 2**_KEPT_BITS)


def _text(cost: Cost) -> list[str]:
    return [spelled(cost[0]), spelled(cost[1])]


def _cost(text: list[str]) -> Cost:
    return fraction(text[0]), fraction(text[1])
