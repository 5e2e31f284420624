"""How GenModel divides its epsilon: between covariates, residual variances and coefficients."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.arguments import checked
from dprct.errors import BudgetError, ParameterError
from dprct.privacy.budget import Budget, Real, exact
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


@dataclass(frozen=True)
class CoefficientShare:
    """What one coefficient of one outcome gets."""

    range_: Fraction  # Epsilon of its private range
    noise: Fraction  # Epsilon of the Laplace noise on its mean
    delta: Fraction = Fraction(0)  # of its private range


@dataclass(frozen=True)
class OutcomeShare:
    """What one outcome gets."""

    # Epsilon of each of three steps for the residual variance: its sd, its range, its noise; 0
    # where the confidential variance is used instead.
    variance: Fraction
    coefficients: Mapping[str, CoefficientShare]  # by the name of the coefficient
    # Of each of the first two of these three steps, which are histograms.
    delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The sum of the parts."""
        parts = [c.range_ + c.noise for c in self.coefficients.values()]
        return 3 * self.variance + sum(parts, Fraction(0))

    @property
    def deltas(self) -> Fraction:
        """The sum of the parts of delta."""
        return 2 * self.delta + sum((c.delta for c in self.coefficients.values()), Fraction(0))


@dataclass(frozen=True)
class Division:
    """A budget divided: the parts add up to it exactly."""

    covariates: Budget  # of X~
    outcomes: Mapping[str, OutcomeShare]

    @property
    def total(self) -> Budget:
        """The sum of all parts."""
        parts = [(outcome.epsilon, outcome.deltas) for outcome in self.outcomes.values()]
        epsilons, deltas = zip(*parts, strict=True)
        return self.covariates + Budget(sum(epsilons, Fraction(0)), sum(deltas, Fraction(0)))

    def entries(self) -> Iterator[tuple[str, Budget]]:
        """Yield what every part is for and what it gets."""
        yield "covariates", self.covariates
        for name, outcome in self.outcomes.items():
            if outcome.variance:
                for step in ("sd of the variance", "range of the variance"):
                    yield f"{name}: {step}", Budget(outcome.variance, outcome.delta)
                yield f"{name}: variance", Budget(outcome.variance)
            for coefficient, share in outcome.coefficients.items():
                yield f"{name}: range of {coefficient}", Budget(share.range_, share.delta)
                yield f"{name}: {coefficient}", Budget(share.noise)


@checked
@dataclass(frozen=True)
class Allocation:
    """The rule by which GenModel divides (epsilon, delta).

    Parameters
    ----------
    covariates : Fraction
        Share of epsilon for X~; all of delta goes there that ``histograms`` leaves.
    variance : Fraction
        Share of an outcome's epsilon for its residual variance, in three equal parts.
    treatments : Fraction
        Share of an outcome's epsilon for the coefficients of treatments, together; half of each
        for its range, half for its noise.
    each : bool
        ``treatments`` is the share of each one instead.
    epsilon_x : Fraction or None
        Epsilon of X~ as a number, instead of the share.
    own : mapping from coefficient to share
        Of an outcome's epsilon, for coefficients that get a share of their own, such as
        ``{"treat": 0.2}``; half for the range, half for the noise.
    histograms : Fraction
        Share of delta for the histograms of the private variance and ranges (the delta of
        Algorithms 4 and 5), in equal parts; 0, as in the paper's experiments, by default.

    Raises
    ------
    ParameterError
        If a share is outside its range.

    Notes
    -----
    Outcomes share what X~ leaves equally.  What an outcome's variance and treatments leave goes
    to its other coefficients, the intercept included, equally.

    References
    ----------
    Table 19 of "Assessing Utility of Differential Privacy for RCTs".

    Examples
    --------
    >>> parts = Allocation.section4().divide(Budget(1), ["y"], ["t"], {"y": ["Intercept", "t"]})
    >>> parts.total == Budget(1), str(parts.covariates)
    (True, 'epsilon=0.5')
    >>> parts.outcomes["y"].coefficients["t"].noise
    Fraction(3, 40)
    """

    covariates: Fraction = Fraction(1, 2)
    variance: Fraction = Fraction(1, 10)
    treatments: Fraction = Fraction(3, 10)
    each: bool = False
    epsilon_x: Fraction | None = None
    own: Mapping[str, Fraction] = field(default_factory=dict)
    histograms: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("covariates", "variance", "treatments"):
            share = exact(getattr(self, name), name)
            object.__setattr__(self, name, share)
            if not 0 < share < 1:
                raise ParameterError(f"``{name}={float(share):g}``; give a share between 0 and 1")
        if self.epsilon_x is not None:
            object.__setattr__(self, "epsilon_x", exact(self.epsilon_x, "epsilon_x"))
            if self.epsilon_x <= 0:
                raise ParameterError("epsilon_x must be above 0; it is the epsilon of X~")
        own = {name: exact(share, "own") for name, share in self.own.items()}
        for name, share in own.items():
            if not 0 < share < 1:
                raise ParameterError(
                    f"``own=`` gives {name!r} {float(share):g}; give a share between 0 and 1"
                )
        object.__setattr__(self, "own", own)
        object.__setattr__(self, "histograms", exact(self.histograms, "histograms"))
        if not 0 <= self.histograms < 1:
            raise ParameterError(
                f"``histograms={float(self.histograms):g}``; give a share of delta, from "
                "0 to below 1"
            )

    @classmethod
    def section4(cls) -> Allocation:
        """Return the rule of section 4, for the simulations of the paper.

        Half for X~; of the other half a tenth for the variance, three tenths for all treatments,
        the rest for the other coefficients (of the whole epsilon: 50, 5, 15 and 30 percent).
        """
        return cls()

    @classmethod
    def section5(cls, epsilon_x: Real) -> Allocation:
        """Return the rule of section 5, for Liberia.

        X~ gets ``epsilon_x`` (1/2 of 1 in GenM-1, 1 of 2 in GenM-2, 1 of 9 in GenM-9), outcomes
        equal parts of the rest: a tenth for the variance, a tenth for every treatment.
        """
        return cls(treatments=Fraction(1, 10), each=True, epsilon_x=exact(epsilon_x, "epsilon_x"))

    def divide(
        self,
        budget: Budget,
        outcomes: Sequence[str],
        treatments: Sequence[str],
        coefficients: Mapping[str, Sequence[str]],
        *,
        covariates: bool = True,
        variance: bool | Collection[str] = True,
    ) -> Division:
        """Return the parts of a budget.

        Parameters
        ----------
        budget : Budget
        outcomes : sequence of str
        treatments : sequence of str
            Names of the coefficients that are effects.
        coefficients : mapping of str to sequence of str
            All coefficients of every outcome.
        covariates : bool
            Whether there are any; without, outcomes get all.
        variance : bool or collection of str
            Whether the residual variance costs anything, or the outcomes of which it does; without,
            coefficients get its share.

        Raises
        ------
        BudgetError
            If ``epsilon_x`` leaves nothing for the outcomes.
        ParameterError
            If the treatments leave nothing for the other coefficients.
        """
        x = Fraction(0)
        if covariates:
            x = self.epsilon_x if self.epsilon_x is not None else self.covariates * budget.epsilon
        if x >= budget.epsilon:
            raise BudgetError(
                f"``epsilon_x={float(x):g}`` leaves nothing of {budget} for the outcomes; give a "
                "larger epsilon or a smaller epsilon_x"
            )
        own = (budget.epsilon - x) / len(outcomes)
        if isinstance(variance, bool):
            variance = outcomes if variance else ()
        steps = sum(len(coefficients[name]) + 2 * (name in variance) for name in outcomes)
        delta = self.histograms * budget.delta / steps
        shares = {
            name: self._outcome(own, coefficients[name], treatments, name in variance, delta)
            for name in outcomes
        }
        return Division(Budget(x, budget.delta - steps * delta), shares)

    def _outcome(
        self,
        epsilon: Fraction,
        names: Sequence[str],
        treatments: Sequence[str],
        variance: bool,
        delta: Fraction,
    ) -> OutcomeShare:
        for name in self.own:
            if name not in names:
                raise ParameterError(
                    f"``own=`` names {name!r}, which is not a coefficient; there are "
                    f"{', '.join(names)}"
                )
        effects = [name for name in names if name in treatments and name not in self.own]
        others = [name for name in names if name not in treatments and name not in self.own]
        step = self.variance / 3 * epsilon if variance else Fraction(0)
        left = epsilon - 3 * step - sum(self.own.values(), Fraction(0)) * epsilon
        if left < 0 or bool(effects or others) != bool(left):
            raise ParameterError(
                "``own=`` and the variance leave nothing for the other coefficients, or "
                "something for none; give shares that leave room"
            )
        for_effects = self.treatments * epsilon * (len(effects) if self.each else bool(effects))
        if not others:
            for_effects = left
        if for_effects > left or (others and for_effects == left):
            raise ParameterError(
                f"{len(effects)} treatments of {float(self.treatments):g} each leave nothing for "
                "the other coefficients; give Allocation a smaller share of treatments"
            )
        alike = {
            True: _halves(for_effects, len(effects), delta),
            False: _halves(left - for_effects, len(others), delta),
        }
        shares = {
            name: _halves(self.own[name] * epsilon, 1, delta)
            if name in self.own
            else alike[name in treatments]
            for name in names
        }
        return OutcomeShare(step, shares, delta if variance else Fraction(0))


def _halves(epsilon: Fraction, coefficients: int, delta: Fraction) -> CoefficientShare:
    """Return the share of each of so many coefficients: half for its range, half for its noise."""
    half = epsilon / (2 * max(coefficients, 1))
    return CoefficientShare(half, half, delta)
