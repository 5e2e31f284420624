"""Epsilon and delta as exact numbers, so that ten tenths are one."""

from __future__ import annotations

import math
import numbers
import re
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, get_args

from dprct.arguments import checked
from dprct.errors import ConfirmationError, ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_LONGEST = 4000
_FORM = re.compile(r"-?[0-9]+(?:/[0-9]+|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)")


def fraction(text: object) -> Fraction:
    """Return the exact number that a text of a ledger spells.

    ``Fraction("1e999999999")`` would fill the memory, so that form and length are checked first.

    Examples
    --------
    >>> fraction("1/3") + fraction("2.5e-1")
    Fraction(7, 12)
    >>> fraction("1e999999999")
    Traceback (most recent call last):
    dprct.errors.ParameterError: a number of a ledger is not one that this package writes
    """
    if not isinstance(text, str) or len(text) > _LONGEST or not _FORM.fullmatch(text):
        raise ParameterError("a number of a ledger is not one that this package writes")
    return Fraction(text)


Real = int | float | Decimal | Fraction

_MOST_BITS = 4000
"""Of the denominator of a number that is written down."""


def exact(value: object, name: str) -> Fraction:
    """Return the decimal number that ``value`` spells, exactly (0.1 is one tenth).

    Examples
    --------
    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        such = (
            "0, or a number far below 1/n" if name == "delta" else "a positive number such as 1.0"
        )
        raise ParameterError(f"{name} is ``{type(value).__name__}``; give {such}")
    if isinstance(value, (Fraction, Decimal, numbers.Integral)):
        if isinstance(value, Decimal) and not value.is_finite():
            raise ParameterError(f"``{name}={value}`` is not finite; give a finite number")
        number = Fraction(int(value) if isinstance(value, numbers.Integral) else value)
        if abs(number) > sys.float_info.max:
            raise ParameterError(f"{name} is above {sys.float_info.max:g}; give a smaller number")
        return number
    if not math.isfinite(float(value)):
        raise ParameterError(f"``{name}={float(value)}`` is not finite; give a finite number")
    return Fraction(repr(float(value)))


def spelled(value: Fraction) -> str:
    """Return a fraction as text that ``Fraction`` reads back exactly, a decimal where it is one.

    Examples
    --------
    >>> spelled(Fraction(1, 10)), spelled(Fraction(1, 3))
    ('0.1', '1/3')
    """
    as_float = float(value)
    if Fraction(repr(as_float)) == value:
        return repr(as_float)
    if value.denominator.bit_length() > _MOST_BITS:
        raise ParameterError("a number has over a thousand digits; give one that is shorter")
    return str(value)


@checked
@dataclass(frozen=True)
class Budget:
    """A privacy budget (epsilon, delta) in exact arithmetic.

    Parameters
    ----------
    epsilon : number
        At least 0.  A float is read as the decimal that it prints.
    delta : number, default 0
        In [0, 1); 0 is pure differential privacy.

    Raises
    ------
    ParameterError
        If a number is negative, not finite, not a number, or ``delta`` is 1 or more.

    Examples
    --------
    >>> sum([Budget(0.1)] * 10, Budget(0)) == Budget(1)
    True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        eps, dlt = exact(epsilon, "epsilon"), exact(delta, "delta")
        if eps < 0:
            raise ParameterError(f"``epsilon={float(eps):g}`` is negative; give epsilon > 0")
        if not 0 <= dlt < 1:
            raise ParameterError(
                f"``delta={float(dlt):g}`` is outside [0, 1); give 0 for pure privacy, "
                "or far below 1/n"
            )
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)

    @classmethod
    def asked(cls, epsilon: Real, delta: Real = 0) -> Budget:
        """Return the budget that a user wants to spend, for which epsilon must be above 0."""
        budget = cls(epsilon, delta)
        if budget.epsilon == 0:
            raise ParameterError("``epsilon=0`` allows no release at all; give epsilon > 0")
        return budget

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.epsilon + other.epsilon, self.delta + other.delta)

    def fits(self, total: Budget) -> bool:
        """Whether this budget is covered by ``total`` in both epsilon and delta."""
        return self.epsilon <= total.epsilon and self.delta <= total.delta

    def split(self, shares: Sequence[Real]) -> tuple[Budget, ...]:
        """Divide the budget by ``shares``, which must sum to one exactly.

        Examples
        --------
        >>> [str(part) for part in Budget(1).split([0.67, 0.28, 0.05])]
        ['epsilon=0.67', 'epsilon=0.28', 'epsilon=0.05']
        """
        parts = [exact(share, "share") for share in shares]
        if any(part <= 0 for part in parts) or sum(parts) != 1:
            raise ParameterError("shares of a budget must be positive and sum to one exactly")
        return tuple(Budget(self.epsilon * part, self.delta * part) for part in parts)

    def __str__(self) -> str:
        text = f"epsilon={float(self.epsilon):g}"
        return text + (f", delta={float(self.delta):g}" if self.delta else "")


_LARGE_EPSILON = 10


def check_delta(budget: Budget, n: int, *, accepted: bool) -> None:
    """Refuse a delta above ``1/n``, unless that is accepted; rows are public.

    Examples
    --------
    >>> check_delta(Budget(1, 1e-6), 1000, accepted=False)
    """
    if budget.delta * n > 1 and not accepted:
        raise ConfirmationError(
            f"{_LARGE_DELTA.format(float(budget.delta), n)}; give one far below that, such as "
            f"``delta={10.0 ** -(len(str(n)) + 1):g}``, or ``accept_large_delta=True``"
        )


_LARGE_DELTA = (
    "delta={:g} is above 1/n = 1/{}: a program that publishes the whole rows of a few "
    "people, drawn at random, keeps such a promise"
)


def caution(budget: Budget, n: int) -> str:
    """Sentence that says of a budget how little it promises; empty for one that promises much.

    Notes
    -----
    With probability delta a mechanism may do anything at all.  One that publishes each row with
    probability delta, by itself, is (0, delta) private and publishes n delta rows on average.

    Examples
    --------
    >>> caution(Budget(12), 1000)
    'epsilon=12 is above 10: the odds of a guess about one record may change by e^12.'
    >>> caution(Budget(1, 1e-6), 1000)
    ''
    """
    said = []
    if budget.delta * n > 1:
        said.append(_LARGE_DELTA.format(float(budget.delta), n))
    if budget.epsilon > _LARGE_EPSILON:
        epsilon = float(budget.epsilon)
        said.append(
            f"epsilon={epsilon:g} is above {_LARGE_EPSILON}: the odds of a guess about one record "
            f"may change by e^{epsilon:g}"
        )
    return "; ".join(said) + "." * bool(said)


Relation = Literal["replace-one", "add-remove", "replace-one-design-public"]
Measure = Literal["pure", "approximate", "zcdp", "gdp", "none"]
TAKES_AS_PUBLIC, DOES_NOT_PROTECT = "It takes as public: ", "It does not protect: "
"""How the lines of a guarantee begin that follow its sentence."""

RELATIONS: dict[Relation, str] = {
    "replace-one": "one {unit}'s values are replaced by any other admissible values; n is public",
    "add-remove": "one {unit} is added or removed; n is not public",
    "replace-one-design-public": (
        "one {unit}'s outcomes and covariates are replaced by any other admissible values; "
        "n, participation, treatment, arm sizes, strata and declared missingness are public"
    ),
}


class GuaranteeContent(TypedDict):
    """A guarantee in a document; numbers of a budget are exact decimals."""

    measure: Measure
    relation: Relation | None
    epsilon: str | None
    delta: str | None
    parameter: str | None
    unit: str
    public_facts: tuple[str, ...]
    not_covered: tuple[str, ...]
    reason: str
    simulation: Literal[False]
    sentence: str
    unverified: NotRequired[Literal[True]]
    caution: NotRequired[str]


@checked
@dataclass(frozen=True)
class Guarantee:
    """Who is protected, how strongly, and given which public facts.

    Parameters
    ----------
    measure : {"pure", "approximate", "zcdp", "gdp", "none"}
        The kind of guarantee.  ``"none"`` needs a ``reason``.
    relation : {"replace-one", "add-remove", "replace-one-design-public"} or None
        Which data sets are neighbours.
    budget : Budget or None
        Epsilon and delta; for ``"zcdp"`` and ``"gdp"``, after conversion.
    unit : str
        Who is protected, for example ``"person"``.
    public_facts : tuple of str
        Facts that the guarantee takes as known to everybody.
    not_covered : tuple of str
        What the guarantee does not protect.
    reason : str
        Why there is no guarantee, for ``"none"``.
    parameter : Fraction or None
        rho of zCDP or mu of GDP.
    simulation : bool
        Whether a seed was used.  If so, the guarantee is void.
    unverified : bool
        Whether, for ``"none"``, something may be promised that could not be verified.
    caution : str
        Warning about a weak budget, printed first (:func:`caution`).

    Examples
    --------
    >>> print(Guarantee.of(Budget(1), "replace-one", unit="person").sentence())
    Pure differential privacy with epsilon=1 for every person: one person's values are replaced
    by any other admissible values; n is public.
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
    caution: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.measure, str) or self.measure not in get_args(Measure):
            raise ParameterError(
                f"``measure={self.measure!r}``; allowed: {', '.join(get_args(Measure))}"
            )
        if self.measure == "none":
            if not self.reason:
                raise ParameterError("a guarantee of 'none' needs a reason: give one")
        elif self.unverified:
            raise ParameterError("a guarantee that is stated is not unverified; leave that out")
        elif self.relation not in RELATIONS or self.budget is None:
            raise ParameterError("a guarantee needs a relation and a budget; or use Guarantee.none")
        if self.measure == "pure" and self.budget is not None and self.budget.delta:
            raise ParameterError("a pure guarantee has ``delta=0``; use ``measure='approximate'``")
        if self.measure in ("zcdp", "gdp") and self.parameter is None:
            raise ParameterError(f"a {self.measure} guarantee needs its parameter (rho or mu)")

    @classmethod
    def of(cls, budget: Budget, relation: Relation, **facts: Any) -> Guarantee:
        """Return the pure or approximate guarantee of ``budget``."""
        return cls("approximate" if budget.delta else "pure", relation, budget, **facts)

    @classmethod
    def none(cls, reason: str, *, not_covered: tuple[str, ...] = ()) -> Guarantee:
        """Return the statement that there is no guarantee, and why."""
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
        """Whether there is a guarantee: neither ``"none"`` nor a simulation."""
        return self.measure != "none" and not self.simulation

    def as_simulation(self) -> Guarantee:
        """Return the same guarantee, made void because a seed was given."""
        return replace(self, simulation=True)

    def sentence(self) -> str:
        """Return the guarantee in one sentence, after a :attr:`caution` if there is one."""
        return f"{self.caution} {self._claim()}" if self.caution else self._claim()

    def _claim(self) -> str:
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
            lines.append(TAKES_AS_PUBLIC + "; ".join(self.public_facts) + ".")
        if self.not_covered:
            lines.append(DOES_NOT_PROTECT + "; ".join(self.not_covered) + ".")
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
            **({"caution": self.caution} if self.caution else {}),
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
                caution=facts.get("caution", ""),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise ParameterError(
                "these are not the facts of a guarantee; give what to_dict() wrote"
            ) from None


def cautious(guarantee: Guarantee, n: int) -> Guarantee:
    """Return a guarantee that begins with how little its budget promises to ``n`` rows."""
    if guarantee.budget is None:
        return guarantee
    return replace(guarantee, caution=caution(guarantee.budget, n))


def _number(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):g}"
