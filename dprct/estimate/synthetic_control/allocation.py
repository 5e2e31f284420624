"""The mechanisms of a synthetic control: one budget, several releases from the same donors."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from dprct.errors import ParameterError
from dprct.estimate.noise_law import PathNoise
from dprct.privacy.budget import Budget
from dprct.privacy.composition import (
    SLACK_SHARE,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    root,
    tv_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dprct.privacy.mechanisms import (
    Allocation,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    concentrated_scale,
)
from dprct.queries.donors import RidgeGrid
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.composition import Composition
    from dprct.queries.donors import Scale

Noise = Literal["laplace", "gaussian", "concentrated"]
Rule = Literal["ridge", "uniform"]
Mechanism = DiscreteLaplace | AnalyticGaussian | DiscreteGaussian
Mechanisms = dict[str, Mechanism]

COMPOSED: dict[Noise, Composition] = {
    "laplace": "sequential", "gaussian": "gdp", "concentrated": "zcdp",
}  # fmt: skip
"""How the parts of a fit add up, by the kind of their noise."""

WEIGHTS = "donor_weights"
"""The part that is drawn first; the others use what it released."""

_SHORT = 1 - Fraction(1, 10**9)
"""Parts get a billionth less than their share, so that rounded conversions do not add up to more
than the whole."""

_STEP = Fraction(1, 2)
"""Of the epsilon at which a finer grid is looked for."""


@dataclass(frozen=True, kw_only=True)
class ControlAllocation(Allocation):
    """The mechanisms of one fit: donor weights first, then what is computed with them.

    Notes
    -----
    *The cost is the same whatever the released weights are.*  Let g be the weights that a path
    uses, and w the width of the bounds.  One donor moves each of the K values of X' g by at most
    max(g) w, so that the L1 sensitivity in the unit of the outcome, K max(g) w, is known after the
    first release only.  But the query rounds X' g to a grid whose step is max(g) w / 2^20
    (:func:`~dprct.queries.donors.weighted_series`): in steps, one donor moves each value by at
    most 2^20, for every g.  The mechanism is calibrated in steps, to L1 2^20 K and L2
    2^20 sqrt(K), and knows neither g nor the outcome.  It is therefore fixed before the first
    draw, and so are its epsilon, rho and mu: for each value of g that may have been released, the
    path given g satisfies the same bound, which is what adaptive composition asks for.  The mean,
    the path before treatment, and placebos, each with weights of its own, are such parts as well.

    What does follow g is the noise in the unit of the outcome, which :meth:`law` returns once g
    is released: a function of g and public facts.

    References
    ----------
    Dwork and Roth (2014), section 3.5.1; Bun and Steinke (2016), Lemma 2.3; Dong, Roth and Su
    (2022), Theorem 3.2: composition where a mechanism may use what earlier ones released.
    """

    parts: Mapping[str, Mechanism]
    form: Form
    scale: Scale  # public bounds of the outcome
    chosen: str  # the rule for the weights, and why, in words

    def __getitem__(self, name: str) -> Mechanism:
        return self.parts[name]

    @property
    def weight_sd(self) -> float:
        """Noise of each ridge weight of the treated unit, one standard deviation."""
        return self[WEIGHTS].noise_sd * float(self.form.grid.grid)

    def path_sd(self, name: str = "prediction") -> float:
        """Return the noise of one period per unit of the largest weight, in the outcome's unit."""
        return self[name].noise_sd * float(self.scale.width * self.scale.step / GRID)

    def law(self, name: str, step: Fraction) -> PathNoise:
        """Law of the noise of one value of a part; a step of its grid follows the released weights.

        Notes
        -----
        As if there were no grid, whose steps are a 2^-20th of the sensitivity.
        """
        mechanism = self[name]
        if isinstance(mechanism, DiscreteLaplace):
            return PathNoise(((mechanism.scale * float(step), 1),))
        return PathNoise((), (mechanism.noise_sd * float(step)) ** 2)


@dataclass(frozen=True)
class Form:
    """What a fit releases, whatever its budget: public facts only."""

    # n, T, T0: donors, periods and pre-periods.
    n: int
    T: int
    T0: int
    rule: Rule
    lam: float  # penalty, for data divided by the bound
    # Norm of the treated unit's pre-period over the bound, and of its predictors; None where it is
    # protected.
    y_norm: float | None
    pre_fit: bool  # whether the path before treatment is released
    placebos: tuple[int, ...]  # donors that are treated in pretence
    shares: Mapping[str, Fraction]  # of the budget, of sum one
    reaches: tuple[int, ...] = ()  # largest coordinate of each predictor, in grid steps

    def allocation(self, budget: Budget, noise: Noise, scale: Scale, why: str) -> ControlAllocation:
        """Return the mechanisms of a fit at this budget."""
        rule = f"ridge, lambda {self.lam:g}" if self.rule == "ridge" else "equal, free"
        return ControlAllocation(
            budget=budget,
            parts=mechanisms_of(budget, noise, self.parts()),
            composition=COMPOSED[noise],
            form=self,
            scale=scale,
            chosen=f"{rule} {why}".strip(),
        )

    @cached_property
    def grid(self) -> RidgeGrid:
        """Sensitivities of the weights of the treated unit."""
        return RidgeGrid(self.n, self.T0, self.lam, self.y_norm, self.reaches)

    @cached_property
    def placebo_grid(self) -> RidgeGrid:
        """Sensitivities of the weights of a placebo, whose own series is confidential."""
        return RidgeGrid(self.n - 1, self.T0, self.lam, None, self.reaches)

    def parts(self) -> dict[str, ReleasePart]:
        """Every release by name, with its share and sensitivity."""
        own = {name: s for name, s in self.shares.items() if name != "placebos"}
        grid = self.grid if self.rule == "ridge" else None
        # a protected unit's own series is released with noise, next to the prediction
        series = 2 if self.y_norm is None else 1
        found = {name: self._part(name, s, grid, series) for name, s in own.items()}
        if not self.placebos:
            return found
        each = self.shares["placebos"] / len(self.placebos) / sum(own.values())
        other = self.placebo_grid if self.rule == "ridge" else None
        for j in self.placebos:
            for name, share in own.items():
                found[placebo_name(j, name)] = self._part(name, share * each, other, 2)
        return found

    def _part(self, name: str, share: Fraction, grid: RidgeGrid | None, series: int) -> ReleasePart:
        if name == WEIGHTS:
            assert grid is not None
            return ReleasePart(share, grid.l1, grid.l2**2, grid.n)
        if name == "mean":
            return ReleasePart(share, GRID, GRID**2, series)
        K = self.T0 if name == "pre_fit" else self.T - self.T0
        return ReleasePart(share, GRID * K, GRID**2 * K, series * K)


def placebo_name(j: int, part: str) -> str:
    """Return the name of a part of the placebo of donor j."""
    return f"placebo {j}: {part}"


@dataclass(frozen=True)
class ReleasePart:
    """One release: its share of the budget, and its sensitivity in steps of its grid."""

    share: Fraction  # of epsilon (Laplace), of mu squared (Gaussian) or of rho (concentrated)
    l1: int
    l2_squared: int
    size: int  # coordinates


def check_noise(noise: object, budget: Budget) -> None:
    """Refuse a budget that does not fit the kind of noise."""
    if noise == "laplace" and budget.delta:
        raise ParameterError(
            f"``delta={float(budget.delta):g}`` gains nothing with ``noise='laplace'``; leave "
            "delta out, or use ``noise='gaussian'``"
        )
    if noise != "laplace" and not budget.delta:
        raise ParameterError(
            f"``noise={noise!r}`` needs delta > 0; give one far below one over the number of "
            "donors, or use ``noise='laplace'``"
        )


def mechanisms_of(budget: Budget, noise: Noise, parts: Mapping[str, ReleasePart]) -> Mechanisms:
    """A mechanism per part; an :class:`Allocation` proves that they keep the budget.

    Noise is of pure, Gaussian differential or zero-concentrated privacy; shares add up to one.

    Notes
    -----
    Epsilons add, squared mus add, rhos add.  A Gaussian part is given to its mechanism as the
    (epsilon_i, delta) that its mu_i (or rho_i) converts to, or as a larger epsilon_i with its
    smaller delta_i where the whole needs a finer grid.

    Examples
    --------
    >>> a, b = (ReleasePart(Fraction(share, 4), 8, 16, 4) for share in (1, 3))
    >>> parts = {"a": a, "b": b}
    >>> mechanisms_of(Budget(2), "laplace", parts)["a"].scale
    16.0
    """
    check_noise(noise, budget)
    if sum(part.share for part in parts.values()) != 1:
        raise ParameterError("shares of a budget must be positive and sum to one exactly")
    if noise == "laplace":
        return {k: DiscreteLaplace(budget.epsilon * p.share, p.l1) for k, p in parts.items()}
    return _gaussian(budget, parts) if noise == "gaussian" else _concentrated(budget, parts)


def _gaussian(budget: Budget, parts: Mapping[str, ReleasePart]) -> Mechanisms:
    kept = budget.delta * (1 - SLACK_SHARE)
    total = gdp_mu(budget.epsilon, kept)
    found = {}
    for name, part in parts.items():
        mu = total * root(part.share, "down") * _SHORT
        if len(parts) > 1:
            found[name] = _fine_enough(mu, part, budget, len(parts))
        else:
            found[name] = AnalyticGaussian(budget, part.l2_squared, part.size)
    slack = sum((mechanism.noise.slack for mechanism in found.values()), Fraction(0))
    if gdp_delta(total, budget.epsilon) + tv_delta(slack, budget.epsilon) > budget.delta:
        raise _too_large(budget, len(parts))
    return dict(found)


def _fine_enough(mu: Fraction, part: ReleasePart, budget: Budget, count: int) -> AnalyticGaussian:
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
        f"{budget} is too large to be divided among {count} releases with ``noise='gaussian'``, "
        "whose draws would need a finer grid; use ``noise='concentrated'``"
    )


def _concentrated(budget: Budget, parts: Mapping[str, ReleasePart]) -> Mechanisms:
    total = zcdp_rho(budget.epsilon, budget.delta)
    found = {}
    for name, part in parts.items():
        own = budget
        if len(parts) > 1:
            rho = total * part.share * _SHORT
            own = Budget(_spendable(zcdp_epsilon(rho, budget.delta)), budget.delta)
        found[name] = DiscreteGaussian(own, part.l2_squared)
    return dict(found)


def _spendable(epsilon: Fraction) -> Fraction:
    if not epsilon:
        raise ParameterError(
            "delta is so large that the smallest part of the budget would need no epsilon; give a "
            "smaller delta"
        )
    return epsilon
