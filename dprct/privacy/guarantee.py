"""What a result promises, to whom, and what it does not: a value, printed the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from dprct.arguments import checked
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

Relation = Literal["replace-one", "add-remove", "replace-one-design-public"]
Measure = Literal["pure", "approximate", "zcdp", "gdp", "none"]

RELATIONS: dict[Relation, str] = {
    "replace-one": "one {unit}'s values are replaced by any other legal values; n is public",
    "add-remove": "one {unit} is added or removed; n is not public",
    "replace-one-design-public": (
        "one {unit}'s outcomes and covariates are replaced by any other legal values; "
        "n, participation, treatment, arm sizes, strata and declared missingness are public"
    ),
}


@checked
@dataclass(frozen=True, slots=True)
class Guarantee:
    """A statement of who is protected, how strongly, and resting on which public facts.

    Parameters
    ----------
    measure : {"pure", "approximate", "zcdp", "gdp", "none"}
        What is claimed.  ``"none"`` needs a ``reason``.
    relation : {"replace-one", "add-remove", "replace-one-design-public"} or None
        Which data sets are neighbours.
    budget : Budget or None
        Epsilon and delta of the claim (for ``"zcdp"`` and ``"gdp"``: after conversion).
    unit : str
        What one record is, for example ``"person"``.
    public_facts : tuple of str
        Facts that the claim takes as known to everybody.
    not_covered : tuple of str
        What the claim does not protect.
    reason : str
        Why there is no guarantee, for ``"none"``.
    parameter : Fraction or None
        rho of zCDP or mu of GDP.
    simulation : bool
        A seeded generator was used: the claim is void, whatever else is printed.
    unverified : bool
        Whether, for ``"none"``, something may be promised that could not be verified.

    Examples
    --------
    >>> print(Guarantee.of(Budget(1), "replace-one", unit="person").sentence())
    Pure differential privacy with epsilon=1 for every person: one person's values are replaced
    by any other legal values; n is public.
    """

    measure: Measure
    relation: Relation | None = None
    budget: Budget | None = None
    unit: str = "row"
    public_facts: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    reason: str = ""
    parameter: Fraction | None = None
    simulation: bool = False
    unverified: bool = False

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise ParameterError(
                f"measure={self.measure!r}; allowed: {', '.join(get_args(Measure))}"
            )
        if self.measure == "none":
            if not self.reason:
                raise ParameterError("a guarantee of 'none' needs a reason; say why")
        elif self.unverified:
            raise ParameterError("a guarantee that is stated is not unverified; leave that out")
        elif self.relation not in RELATIONS or self.budget is None:
            raise ParameterError("a guarantee needs a relation and a budget; or use Guarantee.none")
        if self.measure == "pure" and self.budget is not None and self.budget.delta:
            raise ParameterError("a pure guarantee has delta=0; use measure='approximate'")
        if self.measure in ("zcdp", "gdp") and self.parameter is None:
            raise ParameterError(f"a {self.measure} guarantee needs its parameter (rho or mu)")

    @classmethod
    def of(cls, budget: Budget, relation: Relation, **facts: Any) -> Guarantee:
        """Return the pure or approximate guarantee of ``budget``."""
        return cls("approximate" if budget.delta else "pure", relation, budget, **facts)

    @classmethod
    def none(cls, reason: str, *, not_covered: tuple[str, ...] = ()) -> Guarantee:
        """Return the guarantee that promises nothing, and why."""
        return cls("none", reason=reason, not_covered=not_covered)

    @classmethod
    def unverified_because(cls, reason: str) -> Guarantee:
        """Return the guarantee of data that may have one: nothing is claimed, and why.

        Examples
        --------
        >>> print(Guarantee.unverified_because("no certificate was found with these data"))
        Guarantee not verified: no certificate was found with these data.
        """
        return cls("none", reason=reason, unverified=True)

    @property
    def holds(self) -> bool:
        """Whether anything is promised: neither ``"none"`` nor a simulation."""
        return self.measure != "none" and not self.simulation

    def as_simulation(self) -> Guarantee:
        """Return the same statement, void because a seed was given."""
        return replace(self, simulation=True)

    def sentence(self) -> str:
        """Return the claim in one sentence."""
        if self.unverified:
            return f"Guarantee not verified: {self.reason}."
        if self.measure == "none":
            return f"No differential-privacy guarantee, because {self.reason}."
        assert self.relation is not None
        assert self.budget is not None
        kind = {
            "pure": "Pure differential privacy",
            "approximate": "Approximate differential privacy",
            "zcdp": f"Zero-concentrated privacy (rho={_number(self.parameter)}), hence",
            "gdp": f"Gaussian differential privacy (mu={_number(self.parameter)}), hence",
        }[self.measure]
        relation = RELATIONS[self.relation].format(unit=self.unit)
        claim = f"{kind} with {self.budget} for every {self.unit}: {relation}."
        if self.simulation:
            return f"For simulation only, no guarantee: a seed was given (otherwise: {claim})"
        return claim

    def __str__(self) -> str:
        lines = [self.sentence()]
        if self.public_facts:
            lines.append("It takes as public: " + "; ".join(self.public_facts) + ".")
        if self.not_covered:
            lines.append("It does not protect: " + "; ".join(self.not_covered) + ".")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values; numbers of a budget are exact decimals."""
        return {
            "measure": self.measure,
            "relation": self.relation,
            "epsilon": None if self.budget is None else spelled(self.budget.epsilon),
            "delta": None if self.budget is None else spelled(self.budget.delta),
            "parameter": None if self.parameter is None else spelled(self.parameter),
            "unit": self.unit,
            "public_facts": list(self.public_facts),
            "not_covered": list(self.not_covered),
            "reason": self.reason,
            "simulation": self.simulation,
            "sentence": self.sentence(),
            **({"unverified": True} if self.unverified else {}),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Guarantee:
        """Return the guarantee that :meth:`to_dict` wrote."""
        try:
            budget = None
            if facts["epsilon"] is not None:
                budget = Budget(Fraction(facts["epsilon"]), Fraction(facts["delta"]))
            return cls(
                measure=facts["measure"],
                relation=facts["relation"],
                budget=budget,
                unit=facts["unit"],
                public_facts=tuple(facts["public_facts"]),
                not_covered=tuple(facts["not_covered"]),
                reason=facts["reason"],
                parameter=None if facts["parameter"] is None else Fraction(facts["parameter"]),
                simulation=facts["simulation"],
                unverified=facts.get("unverified", False),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise ParameterError(
                "these are not the facts of a guarantee; give what to_dict() wrote"
            ) from None


def _number(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):g}"
