"""The records of a ledger: charges, states of the data file, and what was saved; frozen values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, spelled
from dprct.privacy.composition import Charge
from dprct.privacy.guarantee import RELATIONS, Relation
from dprct.privacy.numbers import fraction

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

ENTRY_ID = re.compile(r"[0-9]{1,9}-[0-9a-f]{12}")
"""Number and random part; safe as a file name."""

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
            raise ParameterError("unit_id of a charge must be the name of a column, or None")
        for name in ("public_facts", "not_covered"):
            self._check_texts(name)
        if self.priced == (self.relation is None):
            raise ParameterError(
                "a charge that claims something needs a relation, and one that claims nothing none"
            )
        if self.priced and self.relation not in RELATIONS:
            raise ParameterError(
                f"relation={self.relation!r} of a charge; allowed: {', '.join(RELATIONS)}"
            )
        if (self.parallel_group is None) != (self.block is None):
            raise ParameterError("a parallel charge needs both parallel_group= and block=")

    def _check_texts(self, name: str) -> None:
        texts = getattr(self, name)
        if texts is not None and not (
            isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)
        ):
            raise ParameterError(f"{name} of a charge must be a tuple of texts, or None")

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
            raise ParameterError("an entry has an id that is not one of ours")
        for name in ("public_facts", "not_covered"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        return cls(charge=charge, **values)


def _proved(charge: Charge) -> dict[str, Any]:
    """Return what is proved of a charge besides its claim.

    What is not there is left out, so that an entry of an earlier version keeps its hash.
    """
    found: dict[str, Any] = {}
    if charge.rho is not None:
        found["rho"] = spelled(charge.rho)
    if charge.gaussian is not None:
        found["gaussian"] = [spelled(number) for number in charge.gaussian]
    return found


def _read(rho: str | None, gaussian: list[str] | None) -> dict[str, Any]:
    """Return what :func:`_proved` wrote."""
    return {
        "rho": None if rho is None else fraction(rho),
        "gaussian": None if gaussian is None else (fraction(gaussian[0]), fraction(gaussian[1])),
    }


@dataclass(frozen=True, slots=True)
class Content:
    """The SHA-256 of the data file when it was used; it detects change, it does not identify."""

    sha256: str
    when: str
    note: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ParameterError("sha256 of a content must be 64 lower-case hexadecimal digits")

    def to_dict(self) -> dict[str, str]:
        """Return JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Saved:
    """That the released state of an entry was saved, and its SHA-256.

    Parameters
    ----------
    entry : str
        The id of the entry that paid for it.
    sha256 : str
        Of the file that holds the state; a state that was edited is refused.
    when : str
        UTC, ISO 8601.
    """

    entry: str
    sha256: str
    when: str

    def __post_init__(self) -> None:
        if not ENTRY_ID.fullmatch(self.entry) or not _SHA256.fullmatch(self.sha256):
            raise ParameterError("a saved state needs the id of its entry and a SHA-256")

    def to_dict(self) -> dict[str, str]:
        """Return JSON-ready values."""
        return asdict(self)


def now() -> str:
    """Return the present time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
