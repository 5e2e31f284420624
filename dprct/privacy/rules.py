"""The three ways an accountant adds charges up, each a filter fixed before the first charge.

A rule turns a charge into a cost of two exact numbers, and a total budget into a capacity of two.
A charge fits if the summed cost stays within the capacity in both.  Which rule applies is chosen
when the accountant is opened and never changes: charges may then be chosen, and sized, after
seeing earlier results.  (Taking, after the fact, whichever rule gives the smaller number is *not*
proved for such charges, and it is not done here.)

References
----------
Rogers, Roth, Ullman and Vadhan (2016), "Privacy Odometers and Filters" (sequential).
Whitehouse, Ramdas, Rogers and Wu (2023), "Fully Adaptive Composition in Differential Privacy",
Theorem 1 (zCDP).
Smith and Thakurta (2022), "Fully Adaptive Composition for Gaussian Differential Privacy" (GDP).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, get_args

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.composition import (
    MOST_EPSILON,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_rho,
    pure_mu,
    pure_rho,
    tv_delta,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dprct.privacy.rounding import root

Composition = Literal["sequential", "zcdp", "gdp"]
ChargeMeasure = Literal["pure", "approximate", "zcdp", "gdp", "none"]
Cost = tuple[Fraction, Fraction]

NOTHING: Cost = (Fraction(0), Fraction(0))

# The part of delta that a "gdp" accountant keeps for discrete Gaussians being not quite Gaussian.
SLACK_SHARE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release costs: its claim, and for Gaussian noise the parameter behind the claim.

    Parameters
    ----------
    budget : Budget
        The claimed (epsilon, delta); epsilon > 0, but 0 for ``"none"``.
    measure : {"pure", "approximate", "zcdp", "gdp", "none"}
        What is proved about the mechanism; ``"none"``: nothing, so that it has no price, and what
        an accountant says holds for the other charges alone.
    parameter : Fraction or None
        rho for ``"zcdp"``, mu for ``"gdp"``.
    slack : Fraction, default 0
        For ``"gdp"``: total-variation distance to a mechanism that is exactly mu-GDP (a discrete
        Gaussian has a tiny one).  It costs (1 + e^epsilon) slack in delta.
    rho : Fraction or None
        What is proved besides the claim: rho of zero-concentrated privacy.
    gaussian : (Fraction, Fraction) or None
        What is proved besides the claim: mu^2 of Gaussian privacy, and its slack.

    Raises
    ------
    ParameterError
        If the parameter is missing, superfluous, or does not imply the claim.

    Notes
    -----
    ``budget`` is what the reader of a guarantee is promised.  ``rho`` and ``gaussian`` hold for the
    same release and are what accountants of these kinds add up; either may be None, which says
    that nothing of the kind is proved.

    Examples
    --------
    >>> Charge(Budget(1), "pure").budget == Budget(1)
    True
    """

    budget: Budget
    measure: ChargeMeasure
    parameter: Fraction | None = None
    slack: Fraction = Fraction(0)
    rho: Fraction | None = None
    gaussian: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        if self.measure not in get_args(ChargeMeasure):
            allowed = ", ".join(get_args(ChargeMeasure))
            raise ParameterError(f"measure={self.measure!r} cannot be charged; allowed: {allowed}")
        if self.measure == "none" and self.budget != Budget(0):
            raise ParameterError(
                "what promises nothing cannot be charged a budget; give Budget(0) with "
                "measure='none', or the measure that is proved"
            )
        if self.measure != "none" and not self.budget.epsilon:
            raise ParameterError("epsilon=0 pays for no release; charge epsilon > 0")
        if self.measure == "pure" and self.budget.delta:
            raise ParameterError("a pure charge has delta=0; use measure='approximate'")
        gaussian = self.measure in ("zcdp", "gdp")
        if gaussian != (self.parameter is not None):
            need = "needs its parameter (rho or mu)" if gaussian else "takes no parameter"
            raise ParameterError(f"a charge with measure={self.measure!r} {need}")
        if self.slack < 0 or (self.slack and self.measure != "gdp"):
            raise ParameterError("slack is for measure='gdp' and at least 0")
        square, slack = self.gaussian or (Fraction(1), Fraction(0))
        if (self.rho is not None and self.rho <= 0) or square <= 0 or slack < 0:
            raise ParameterError("rho= and gaussian= of a charge must be above 0, slack at least 0")
        if gaussian and self._delta() > self.budget.delta:
            raise ParameterError(
                f"{self.measure} parameter {float(self.parameter or 0):g} gives a delta above the "
                f"one claimed in {self.budget}; add noise or claim a larger delta"
            )

    def concentrated(self) -> Fraction | None:
        """Return the rho that is proved of this release, None if none is."""
        if self.rho is not None or self.measure in ("approximate", "none"):
            return self.rho
        if self.measure == "pure":
            return pure_rho(self.budget.epsilon)
        assert self.parameter is not None
        if self.measure == "zcdp":
            return self.parameter
        return None if self.slack else gdp_rho(self.parameter)

    def squared_mu(self) -> tuple[Fraction, Fraction] | None:
        """Return the mu^2 that is proved of this release and its slack, None if none is."""
        if self.gaussian is not None or self.measure in ("approximate", "zcdp", "none"):
            return self.gaussian
        if self.measure == "gdp":
            assert self.parameter is not None
            return self.parameter**2, self.slack
        if self.budget.epsilon > MOST_EPSILON:
            return None
        return pure_mu(self.budget.epsilon) ** 2, Fraction(0)

    def _delta(self) -> Fraction:
        assert self.parameter is not None
        if self.measure == "zcdp":
            return zcdp_delta(self.parameter, self.budget.epsilon)
        extra = tv_delta(self.slack, self.budget.epsilon)
        return gdp_delta(self.parameter, self.budget.epsilon) + extra


class Rule(Protocol):
    """How charges become costs, and costs a budget."""

    def cost(self, charge: Charge) -> Cost:
        """Return the two numbers that add up."""

    def capacity(self, total: Budget) -> Cost:
        """Return what the two sums may reach."""

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Return an (epsilon, delta) that holds for everything charged so far."""

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Return the largest budget that one further charge may have."""


class Sequential:
    """Epsilons add, deltas add; every kind of charge is accepted.

    Examples
    --------
    >>> print(Sequential().room((Fraction(1, 4), Fraction(0)), Budget(1)))
    epsilon=0.75
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (epsilon, delta)."""
        return charge.budget.epsilon, charge.budget.delta

    def capacity(self, total: Budget) -> Cost:
        """Return (epsilon, delta) of the total."""
        return total.epsilon, total.delta

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Return the sums."""
        return Budget(*cost)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Return what is left in each."""
        nothing = Fraction(0)
        return Budget(max(total.epsilon - cost[0], nothing), max(total.delta - cost[1], nothing))


class ZeroConcentrated:
    """rho adds (pure epsilon counts epsilon^2/2); charges without a proved rho are refused.

    Examples
    --------
    >>> ZeroConcentrated().cost(Charge(Budget(1), "pure"))
    (Fraction(1, 2), Fraction(0, 1))
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (rho, 0)."""
        rho = charge.concentrated()
        if rho is None:
            raise ParameterError(_refused("zcdp", charge, "ones with a proved rho"))
        return rho, Fraction(0)

    def capacity(self, total: Budget) -> Cost:
        """Return the largest rho that converts to the total."""
        return zcdp_rho(total.epsilon, total.delta), Fraction(0)

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Convert the summed rho at the accountant's delta."""
        return Budget(zcdp_epsilon(cost[0], total.delta), total.delta)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Convert the rho that is left at the accountant's delta, rounded down."""
        left = self.capacity(total)[0] - cost[0]
        if left <= 0:
            return Budget(0)
        return Budget(zcdp_epsilon(left, total.delta, "down"), total.delta)


class Gaussian:
    """mu^2 and slack add; pure epsilon counts as the mu that covers it, others need a proved one.

    Notes
    -----
    One part in a thousand of delta is kept for the slack of discrete Gaussians, the rest is what
    the composed mu is converted at; each part is a filter of its own.  If M is within total
    variation s of M' on every input and M' is (epsilon, d), then M is
    (epsilon, d + (1 + e^epsilon) s).

    Examples
    --------
    >>> Gaussian().cost(Charge(Budget(1, 0.2), "gdp", Fraction(1)))
    (Fraction(1, 1), Fraction(0, 1))
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (mu^2, slack)."""
        found = charge.squared_mu()
        if found is None:
            raise ParameterError(_refused("gdp", charge, "ones with a proved mu"))
        return found

    def capacity(self, total: Budget) -> Cost:
        """Return the largest mu^2 and slack that the two parts of delta pay for."""
        slack = total.delta * SLACK_SHARE / tv_delta(Fraction(1), total.epsilon)
        return gdp_mu(total.epsilon, self._gaussian_part(total)) ** 2, slack

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Convert the composed mu at the accountant's delta."""
        return Budget(gdp_epsilon(root(cost[0]), self._gaussian_part(total)), total.delta)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Convert the mu that is left at the accountant's delta, rounded down."""
        left = self.capacity(total)[0] - cost[0]
        if left <= 0:
            return Budget(0)
        part = self._gaussian_part(total)
        return Budget(gdp_epsilon(root(left, "down"), part, "down"), part)

    @staticmethod
    def _gaussian_part(total: Budget) -> Fraction:
        return total.delta * (1 - SLACK_SHARE)


RULES: dict[Composition, Rule] = {
    "sequential": Sequential(),
    "zcdp": ZeroConcentrated(),
    "gdp": Gaussian(),
}


def _refused(rule: Composition, charge: Charge, accepted: str) -> str:
    return (
        f"an accountant with composition={rule!r} adds {accepted} charges, and this one is "
        f"{charge.measure!r} without one: fit with delta=0, or with a noise of which it is proved, "
        "where the method offers that; or charge by hand with measure=; nothing was drawn"
    )
