"""One budget, several releases from the same donors: which mechanism each one gets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.calibration import concentrated_scale
from dprct.privacy.composition import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    tv_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteGaussian, DiscreteLaplace
from dprct.privacy.rounding import root
from dprct.privacy.rules import SLACK_SHARE
from dprct.schema.arguments import check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.privacy.aggregate import IntegerVector
    from dprct.privacy.guarantee import Measure
    from dprct.privacy.noise import NoiseSource
    from dprct.privacy.released import NoisyVector

Noise = Literal["laplace", "gaussian", "concentrated"]

_SHORT = 1 - Fraction(1, 10**9)
"""Parts are priced a billionth below their share, so that rounded conversions do not add up to
more than the whole."""


_STEP = Fraction(1, 2)
"""Of the epsilon at which a finer grid is looked for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One release: its share of the budget, and its sensitivity in steps of its grid.

    Parameters
    ----------
    share : Fraction
        Of epsilon (Laplace), of mu squared (Gaussian) or of rho (concentrated).
    l1, l2_squared : int
    size : int
        Coordinates.
    """

    share: Fraction
    l1: int
    l2_squared: int
    size: int


@dataclass(frozen=True, slots=True)
class Priced:
    """The mechanisms of all parts, and what they prove together.

    Parameters
    ----------
    mechanisms : mapping from name to mechanism
    measure : {"pure", "gdp", "zcdp"}
    parameter : Fraction or None
        mu of GDP or rho of zCDP of everything together.
    """

    mechanisms: Mapping[str, DiscreteLaplace | AnalyticGaussian | DiscreteGaussian]
    measure: Measure
    parameter: Fraction | None

    def release(self, name: str, sealed: IntegerVector, source: NoiseSource) -> NoisyVector:
        """Draw one part; the caller has charged the whole."""
        return self.mechanisms[name].release(sealed, source)


def check_kind(noise: object) -> None:
    """Refuse a kind of noise that does not exist.

    Raises
    ------
    ParameterError
    """
    check_choice("noise", noise, get_args(Noise))


def check_noise(noise: object, budget: Budget) -> None:
    """Refuse noise that does not exist, or that the budget cannot pay.

    Raises
    ------
    ParameterError
    """
    check_kind(noise)
    if noise == "laplace" and budget.delta:
        raise ParameterError(
            f"delta={float(budget.delta):g} buys nothing with noise='laplace'; leave delta out, or "
            "use noise='gaussian'"
        )
    if noise != "laplace" and not budget.delta:
        raise ParameterError(
            f"noise={noise!r} needs delta > 0; give one far below one over the number of donors, "
            "or use noise='laplace'"
        )


def priced(budget: Budget, noise: Noise, parts: Mapping[str, Part]) -> Priced:
    """Return a mechanism per part such that all together keep the budget.

    Parameters
    ----------
    budget : Budget
    noise : {"laplace", "gaussian", "concentrated"}
        Pure privacy; Gaussian differential privacy; zero-concentrated privacy.
    parts : mapping from name to Part
        Shares add up to one.

    Raises
    ------
    ParameterError
        If shares do not add up to one, or delta is too large for the smallest part.

    Notes
    -----
    Parts compose sequentially: epsilons add, squared mus add, rhos add.  A Gaussian part is given
    to its mechanism as the (epsilon_i, delta) that its mu_i (or rho_i) converts to, or as a larger
    epsilon_i with its smaller delta_i where the whole needs a finer grid; that the sum, with what
    discrete draws cost, is within the whole is then checked in exact arithmetic.

    Examples
    --------
    >>> parts = {"a": Part(Fraction(1, 4), 8, 16, 4), "b": Part(Fraction(3, 4), 8, 16, 4)}
    >>> found = priced(Budget(2), "laplace", parts)
    >>> found.mechanisms["a"].scale, found.measure
    (16.0, 'pure')
    """
    check_noise(noise, budget)
    if sum(part.share for part in parts.values()) != 1:
        raise ParameterError("shares of a budget must be positive and sum to one exactly")
    if noise == "laplace":
        laplace = {k: DiscreteLaplace(budget.epsilon * p.share, p.l1) for k, p in parts.items()}
        return Priced(laplace, "pure", None)
    return _gaussian(budget, parts) if noise == "gaussian" else _concentrated(budget, parts)


def _gaussian(budget: Budget, parts: Mapping[str, Part]) -> Priced:
    kept = budget.delta * (1 - SLACK_SHARE)
    total = gdp_mu(budget.epsilon, kept)
    found = {}
    for name, part in parts.items():
        mu = total * root(part.share, "down") * _SHORT
        if len(parts) > 1:
            found[name] = _fine_enough(mu, part, budget, len(parts))
        else:
            found[name] = AnalyticGaussian(budget, part.l2_squared, part.size)
    draws = [mechanism.noise for mechanism in found.values()]
    _check([draw.mu**2 for draw in draws], total**2)
    slack = sum((draw.slack for draw in draws), Fraction(0))
    if gdp_delta(total, budget.epsilon) + tv_delta(slack, budget.epsilon) > budget.delta:
        raise _too_large(budget, len(parts))
    return Priced(found, "gdp", total)


def _fine_enough(mu: Fraction, part: Part, budget: Budget, count: int) -> AnalyticGaussian:
    """Return Gaussian noise of this mu, on a grid that the whole budget's delta can pay for.

    A mechanism refines its grid for the (epsilon, delta) that it is given.  The same mu has many
    of these; a larger epsilon has a smaller delta and a finer grid, with the same noise.
    """
    kept = budget.delta * (1 - SLACK_SHARE)
    allowed = budget.delta * SLACK_SHARE / tv_delta(Fraction(1), budget.epsilon) / count
    own = Budget(_spendable(gdp_epsilon(mu, kept)), budget.delta)
    concentrated_scale(Fraction(part.l2_squared), mu**2 / 2)  # refuses noise beyond any grid
    try:
        found = AnalyticGaussian(own, part.l2_squared, part.size)
        while found.noise.slack > allowed and own.epsilon < budget.epsilon:
            epsilon = min(own.epsilon + _STEP, budget.epsilon)
            own = Budget(epsilon, gdp_delta(mu, epsilon) / (1 - SLACK_SHARE))
            found = AnalyticGaussian(own, part.l2_squared, part.size)
    except ParameterError as error:  # no sampler reaches the finer grid
        raise _too_large(budget, count) from error
    return found


def _too_large(budget: Budget, count: int) -> ParameterError:
    return ParameterError(
        f"{budget} is too large to be divided among {count} releases with noise='gaussian', whose "
        "draws would need a finer grid; use noise='concentrated'"
    )


def _concentrated(budget: Budget, parts: Mapping[str, Part]) -> Priced:
    total = zcdp_rho(budget.epsilon, budget.delta)
    found = {}
    for name, part in parts.items():
        own = budget
        if len(parts) > 1:
            rho = total * part.share * _SHORT
            own = Budget(_spendable(zcdp_epsilon(rho, budget.delta)), budget.delta)
        found[name] = DiscreteGaussian(own, part.l2_squared)
    _check([mechanism.rho for mechanism in found.values()], total)
    return Priced(found, "zcdp", total)


def _spendable(epsilon: Fraction) -> Fraction:
    if not epsilon:
        raise ParameterError(
            "delta is so large that the smallest part of the budget would need no epsilon; give a "
            "smaller delta"
        )
    return epsilon


def _check(costs: Sequence[Fraction], total: Fraction) -> None:
    if sum(costs) > total:
        raise ParameterError(
            "this budget cannot be divided exactly among its parts; give a larger epsilon"
        )
