"""What a private IPW releases and at which price: public facts only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dprct.defaults import (
    FEWEST_COUNTED,
    FEWEST_WEIGHT_SCALES,
    HAJEK_FLOORS,
    IPW_HAJEK_PARTS,
    IPW_PARTS,
    propensity_penalty,
)
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, exact
from dprct.privacy.calibration import analytic_gaussian
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace
from dprct.queries.grid import GRID
from dprct.queries.logistic import least_penalty
from dprct.queries.propensity import PropensityGrid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Relation
    from dprct.queries.weighted import Scheme

Noise = Literal["laplace", "gaussian"]
Errors = Literal["total", "conditional"]
Mechanism = AnalyticGaussian | DiscreteLaplace


@dataclass(frozen=True, slots=True)
class Prices:
    """The mechanisms of one fit, and what its budget makes of the penalty.

    Parameters
    ----------
    lam : float
    grid : PropensityGrid
    weights : AnalyticGaussian
        On the first part of the rows.
    parts : mapping from name to mechanism
        On the second part; together they keep the budget.
    """

    lam: float
    grid: PropensityGrid
    weights: AnalyticGaussian
    parts: Mapping[str, Mechanism]

    @property
    def weight_sd(self) -> float:
        """s1, the noise of each propensity weight."""
        return self.weights.noise_sd * float(self.grid.grid)

    @property
    def weight_spread(self) -> float:
        """Variance of a released weight in any direction: noise and, at most, sampling.

        Notes
        -----
        s1^2 + 1 / (4 lam n1).  The penalised weights have asymptotic variance H^-1 M H^-1 / n1,
        where M = E (t - e)^2 zz' and H = E e(1-e) zz' + lam I.  In a well-specified model M is
        H - lam I, and (h - lam) / h^2 is at most 1 / (4 lam).
        """
        return self.weight_sd**2 + 1 / (4 * self.lam * self.grid.n)


@dataclass(frozen=True)
class Recipe:
    """What a fit releases.

    Parameters
    ----------
    n1, n2 : int
        Rows for the weights, and for the effect.
    d : int
        Coordinates of the propensity model.
    scheme : Scheme
    hajek : bool
        Weights of each arm are divided by their released sum.
    relation : {"replace-one", "replace-one-design-public"}
    noise : {"laplace", "gaussian"}
        Of the effect.
    errors : {"total", "conditional"}
        Whether the gradient in the weights is released, from which their part of the error is.
    lam : float or None
        The penalty; :func:`dprct.defaults.propensity_penalty` if None.
    balance : tuple of str
    overlap : bool
    shares : mapping from part to Fraction
        Of epsilon on the second part of the rows.
    """

    n1: int
    n2: int
    d: int
    scheme: Scheme
    hajek: bool
    relation: Relation
    noise: Noise
    errors: Errors
    lam: float | None
    balance: tuple[str, ...]
    overlap: bool
    shares: Mapping[str, Fraction]

    def priced(self, budget: Budget) -> Prices:
        """Return the mechanisms of a fit at this budget.

        Raises
        ------
        ParameterError
            If delta is 0, or the penalty too small.

        Notes
        -----
        The two parts of the rows are disjoint and chosen whatever the values, so that the whole
        keeps the larger of what each part keeps: weights (epsilon, delta), the rest (epsilon,
        delta) by sequential composition, the epsilons in ``shares`` and delta equally among the
        Gaussian ones.
        """
        check_delta(budget)
        multiplier = analytic_gaussian(Fraction(GRID**2), self.d, budget).sigma / GRID
        lam = self.lam
        if lam is None:
            least = least_penalty(self.n1, self.d)
            lam = propensity_penalty(self.n1, self.d, multiplier)
            lam = lam if lam > least else least
        grid = PropensityGrid(self.n1, self.d, lam)
        weights = AnalyticGaussian(budget, grid.l2**2, self.d)
        return Prices(lam, grid, weights, self._parts(budget))

    def default_form(self, budget: Budget) -> Recipe:
        """Return this recipe in the form that is the default at a budget, Hajek or plain.

        Notes
        -----
        A ratio of weighted sums does not depend on where the bounds of the outcome are, and most of
        the noise of the weights cancels in it.  It is released where its denominators are far from
        their noise: it is the default where the weight expected of an arm (all rows, or half of
        them if the effect is on one arm) is ``HAJEK_FLOORS`` times what it must exceed.  A function
        of sizes, trimming, shares and budget alone.
        """
        parts = parts_of(
            hajek=True, count=False, total=self.errors == "total", balance=bool(self.balance),
            overlap=self.overlap,
        )  # fmt: skip
        ratio = replace(self, hajek=True, shares=shares_of(None, parts))
        far = ratio.expected_mass >= HAJEK_FLOORS * ratio.mass_floor(budget)
        return ratio if far else self

    @property
    def expected_mass(self) -> float:
        """Expected sum of the weights of an arm if half of the rows are treated."""
        return self.n2 if self.scheme.estimand == "ate" else self.n2 / 2

    def mass_floor(self, budget: Budget) -> float:
        """Return what the released sums of weights of a Hajek form must both exceed."""
        scale = self._l1("mass") / GRID / float(budget.epsilon * self.shares["mass"])
        floor = FEWEST_WEIGHT_SCALES * scale * self.scheme.most
        return floor if floor > FEWEST_COUNTED else float(FEWEST_COUNTED)

    @property
    def counts_arm(self) -> bool:
        """Whether the effect is about a number of records that is not public."""
        counted = self.scheme.estimand != "ate" and not self.hajek
        return counted and self.relation == "replace-one"

    def _parts(self, budget: Budget) -> dict[str, Mechanism]:
        gaussian = {"gradient"} & set(self.shares)
        if self.noise == "gaussian":
            gaussian.add("effect")
        found: dict[str, Mechanism] = {}
        for name, share in self.shares.items():
            epsilon = budget.epsilon * share
            if name in gaussian:
                own = Budget(epsilon, budget.delta / len(gaussian))
                found[name] = self._gaussian(name, own)
            elif name == "balance":
                for column in self.balance:
                    each = epsilon / len(self.balance)
                    found[f"balance {column}"] = DiscreteLaplace(each * Fraction(7, 10), GRID)
                    found[f"spread {column}"] = DiscreteLaplace(each * Fraction(3, 10), GRID)
            else:
                found[name] = DiscreteLaplace(epsilon, self._l1(name))
        return found

    def _gaussian(self, name: str, budget: Budget) -> AnalyticGaussian:
        if name == "effect":
            return AnalyticGaussian(budget, GRID**2, 2 if self.hajek else 1)
        return AnalyticGaussian(budget, gradient_l2(self.d) ** 2, self.d)

    def _l1(self, name: str) -> int:
        if name == "overlap":
            return 2
        if name == "mass" and self.counts_arm:
            return 1
        return 2 * GRID if name == "mass" and self.relation == "replace-one" else GRID


def gradient_l2(d: int) -> int:
    """Return the L2 sensitivity of the rounded gradient, in steps."""
    root = 1
    while root * root < d:
        root += 1
    return GRID + root


def check_delta(budget: Budget) -> None:
    """Refuse a budget without delta.

    Raises
    ------
    ParameterError
    """
    if not budget.delta:
        raise ParameterError(
            "IPW needs delta > 0, because its propensity weights carry Gaussian noise; give one "
            "far below 1/n, such as delta=1e-6"
        )


def parts_of(
    *, hajek: bool, count: bool, total: bool, balance: bool, overlap: bool
) -> dict[str, int]:
    """Return the parts of a fit on the second part of the rows, with their default proportions.

    Examples
    --------
    >>> parts_of(hajek=False, count=False, total=True, balance=False, overlap=False)
    {'effect': 12, 'variance': 4, 'gradient': 4}
    """
    wanted = {
        "effect": True, "mass": hajek or count, "variance": True, "gradient": total,
        "balance": balance, "overlap": overlap,
    }  # fmt: skip
    parts = IPW_HAJEK_PARTS if hajek else IPW_PARTS
    found = {name: part for name, part in parts.items() if wanted[name]}
    return found | ({"mass": 1} if count else {})


def shares_of(asked: Mapping[str, Real] | None, parts: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the share of epsilon of each part, adding up to one.

    Raises
    ------
    ParameterError
        If another part is named, or shares do not add up.

    Examples
    --------
    >>> shares_of(None, {"effect": 3, "variance": 1})
    {'effect': Fraction(3, 4), 'variance': Fraction(1, 4)}
    """
    if asked is None:
        total = sum(parts.values())
        return {name: Fraction(part, total) for name, part in parts.items()}
    found = {str(name): exact(share, "share") for name, share in asked.items()}
    if set(found) != set(parts) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"shares names {', '.join(found) or 'nothing'}; give a positive share for each of "
            f"{', '.join(parts)}"
        )
    if sum(found.values()) != 1:
        raise ParameterError("shares do not sum to one exactly; give fractions that do")
    return {name: found[name] for name in parts}
