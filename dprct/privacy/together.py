"""What several charges promise together: for whom, under which relation, resting on what.

Each charge protects a set of pairs of neighbouring tables.  The sum of their costs protects the
pairs that every one of them protects, and no other: the proof is in :func:`together`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.privacy.guarantee import RELATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.privacy.charges import Entry
    from dprct.privacy.guarantee import Relation

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


@dataclass(frozen=True, slots=True)
class Together:
    """The promise of a sum of charges, which is that of the weakest of them in every respect.

    Parameters
    ----------
    relations : tuple of str
        Under which the sum holds, the strongest first.
    unit : str
        Who is protected: the unit of all charges, or ``"row"`` if their units differ.
    unit_id : str or None
        The column that says which rows are of one unit.
    max_rows : int
        Most rows of one unit that are protected together.
    units : tuple of str
        The units of the charges, in words.
    mixed : bool
        Whether a charge holds under more relations than the sum.
    public_facts, not_covered : tuple of str
        What any charge takes as public, or does not protect.
    unrecorded : tuple of str
        Numbers of the entries of which that was not recorded.
    """

    relations: tuple[Relation, ...]
    unit: str
    unit_id: str | None
    max_rows: int
    units: tuple[str, ...]
    mixed: bool
    public_facts: tuple[str, ...]
    not_covered: tuple[str, ...]
    unrecorded: tuple[str, ...]

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


@dataclass(frozen=True, slots=True)
class Parts:
    """What is kept of charges to say what they promise together, however many they are.

    Parameters
    ----------
    relations : tuple of str
        Of the charges, each once.
    kinds : tuple of (str, str or None)
        Unit and column that says which rows are of one unit, each pair once.
    rows : int
        The least of their most rows of one unit; 0 without a charge.
    units, public_facts, not_covered : tuple of str
        Each once.
    unrecorded : tuple of (int, int)
        Runs of numbers of entries of which public facts were not recorded.
    """

    relations: tuple[Relation, ...] = ()
    kinds: tuple[tuple[str, str | None], ...] = ()
    rows: int = 0
    units: tuple[str, ...] = ()
    public_facts: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
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
        """Return what the charges promise together; the proof is in :func:`together`.

        Raises
        ------
        ParameterError
        """
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
    """Return what charges promise together.

    Parameters
    ----------
    entries : sequence of Entry
        At least one, each with a price.

    Raises
    ------
    ParameterError
        If no relation, or no unit, is known that all of them protect.

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

    - One id in all charges: the rows of one value of it, at most the least k.
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
    """Return a tuple with what it lacks; the same one if it lacks nothing."""
    new = [one for one in dict.fromkeys(more) if one not in known]
    return (*known, *new) if new else known


def _listed(facts: Iterable[str]) -> str:
    return "; ".join(facts)
