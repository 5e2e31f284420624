"""How one fit divides its budget: mechanisms as values, and what they cost together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, exact
from dprct.privacy.composition import Charge, parallel, per_row, root, sequential

if TYPE_CHECKING:
    from dprct.privacy.budget import Real
    from dprct.privacy.composition import Composition
    from dprct.privacy.mechanisms import Mechanism


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The mechanisms of one fit, made before anything is charged or drawn.

    Parameters
    ----------
    budget : Budget
        What the guarantee of the fit promises for one unit.
    parts : mapping from name to mechanism
        Everything that the fit will draw.
    disjoint : tuple of tuples of names
        Which parts read which of several disjoint sets of rows; without, all read the same rows.
        Who is in which set must not depend on any value that the relation protects.
    rows : int, default 1
        Most rows that one unit may have.  Mechanisms are calibrated to one row.
    composition : {"sequential", "zcdp", "gdp"}
        How the claim of the whole follows from its parts: their epsilons and deltas add up, or
        their rho or mu squared does, of which the sum is converted to ``budget``.

    Raises
    ------
    ParameterError
        If the mechanisms together claim more than ``budget``, or a part is in no set of rows, or
        lacks the rho or mu by which the whole is composed.

    Notes
    -----
    Parts that read the same rows compose sequentially.  A unit that is in one of several disjoint
    sets pays for that set alone, so that the whole costs the largest of them, in epsilon, in
    delta, in rho, and in mu: given who is in which set, which is drawn whatever the values, the
    trade-off function of the whole is that of the set the unit is in, and the average of such
    functions over the draw is not below G_mu, because G_mu is convex.

    All of this holds where a part reads what an earlier part released, as long as every mechanism
    is fixed before the first draw: adaptive composition is proved for parameters that do not
    depend on what was released.

    ``rows = k``: group privacy.  Epsilon and mu grow k times, rho grows k^2 times, delta as in
    :func:`~dprct.privacy.composition.per_row`.

    References
    ----------
    Dwork and Roth (2014), Theorems 2.2 and 3.16.  Bun and Steinke (2016), Lemmas 1.7 and 2.3 and
    Proposition 1.9.  Dong, Roth and Su (2022), Theorem 3.2, Corollary 3.3 and Theorem 2.14.

    Examples
    --------
    >>> from dprct.privacy.mechanisms import DiscreteLaplace
    >>> half = DiscreteLaplace(0.5, l1=1)
    >>> both = Allocation(budget=Budget(1), parts={"effect": half, "variance": half})
    >>> both.cost().budget == Budget(1), both.cost().concentrated()
    (True, Fraction(1, 4))
    """

    budget: Budget
    parts: Mapping[str, Mechanism]
    disjoint: tuple[tuple[str, ...], ...] = ()
    rows: int = 1
    composition: Composition = "sequential"
    _cost: Charge = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sets = self.disjoint or (tuple(self.parts),)
        if sorted(name for names in sets for name in names) != sorted(self.parts):
            raise ParameterError("every part of an allocation must be in exactly one set of rows")
        object.__setattr__(self, "_cost", self._composed(sets))

    def __getitem__(self, name: str) -> Mechanism:
        return self.parts[name]

    def cost(self) -> Charge:
        """Return what a fit charges before it draws: the claim, and what is proved besides it."""
        return self._cost

    def describe(self) -> str:
        """Return the laws of all mechanisms, so that an allocation can be a part of another."""
        return "; ".join(part.describe() for part in self.parts.values())

    def _composed(self, sets: tuple[tuple[str, ...], ...]) -> Charge:
        costs = [[self.parts[name].cost() for name in names] for names in sets]
        if self.rows == 1 and len(self.parts) == 1 and costs[0][0].budget == self.budget:
            return costs[0][0]
        rho = _largest([_sum([one.concentrated() for one in part]) for part in costs], self.rows)
        gaussian = _gaussian([[one.squared_mu() for one in part] for part in costs], self.rows)
        if self.composition != "sequential":
            return self._converted(rho, gaussian)
        claimed = parallel(sequential(one.budget for one in part) for part in costs)
        if not claimed.fits(per_row(self.budget, self.rows)):
            raise ParameterError(
                f"the mechanisms of this fit claim {claimed} for a row, which is more than "
                f"{self.budget} for {self.rows} rows of one unit"
            )
        pure = all(one.measure == "pure" for part in costs for one in part)
        return Charge(
            self.budget,
            "pure" if pure and not self.budget.delta else "approximate",
            rho=rho,
            gaussian=gaussian,
        )

    def _converted(
        self, rho: Fraction | None, gaussian: tuple[Fraction, Fraction] | None
    ) -> Charge:
        """Return the charge of a sum of rho or mu squared, which refuses what is not the claim."""
        if self.composition == "zcdp" and rho is not None:
            return Charge(self.budget, "zcdp", rho)
        if self.composition == "gdp" and gaussian is not None:
            square, slack = gaussian
            return Charge(self.budget, "gdp", root(square), slack, rho=rho, gaussian=gaussian)
        raise ParameterError(
            f"composition={self.composition!r} needs a proved rho or mu of every mechanism; add "
            "epsilons and deltas up with composition='sequential'"
        )


def split(asked: Mapping[str, Real] | None, parts: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the share of a budget that each part has, of sum one.

    Parameters
    ----------
    asked : mapping from part to number, or None
        ``budget_shares=`` of a method; the default proportions if None.
    parts : mapping from part to int
        The parts that the fit has, with their default proportions.

    Raises
    ------
    ParameterError
        If another part is named, one is missing or not positive, or shares do not add up to one.

    Examples
    --------
    >>> split(None, {"effect": 3, "variance": 1})
    {'effect': Fraction(3, 4), 'variance': Fraction(1, 4)}
    """
    if asked is None:
        total = sum(parts.values())
        return {name: Fraction(part, total) for name, part in parts.items()}
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"budget_shares= is {type(asked).__name__}; give a mapping from each of "
            f"{', '.join(parts)} to its share of the budget"
        )
    found = {str(name): exact(share, "a share in budget_shares=") for name, share in asked.items()}
    if set(found) != set(parts) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"budget_shares= names {', '.join(found) or 'nothing'}; give a positive share for each "
            f"of {', '.join(parts)}"
        )
    if sum(found.values()) != 1:
        raise ParameterError(
            "budget_shares= do not sum to one exactly; give fractions or decimals that do"
        )
    return {name: found[name] for name in parts}


def _sum(values: list[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) if len(known) == len(values) else None


def _largest(values: list[Fraction | None], rows: int) -> Fraction | None:
    known = [value for value in values if value is not None]
    return max(known) * rows**2 if len(known) == len(values) else None


def _gaussian(
    costs: list[list[tuple[Fraction, Fraction] | None]], rows: int
) -> tuple[Fraction, Fraction] | None:
    """Return mu^2 and slack of the whole.

    A slack is a distance in total variation to an exactly Gaussian mechanism, on every input: it
    adds up along a sequence, and does not grow with the number of rows of a unit.
    """
    squares = [_sum([None if c is None else c[0] for c in part]) for part in costs]
    slacks = [_sum([None if c is None else c[1] for c in part]) for part in costs]
    square, slack = _largest(squares, rows), _largest(slacks, 1)
    return None if square is None or slack is None else (square, slack)
