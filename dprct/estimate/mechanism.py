"""The private step of an effect: what is released of one outcome, at which scales."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprct.defaults import MANY_ARM_SHARES, TWO_ARM_SHARES
from dprct.errors import ParameterError
from dprct.estimate.correction import LARGEST_RHO
from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance, combined
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries import GRID, Clipped, arm_aggregates, difference_aggregates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.door import AnyOutcome
    from dprct.privacy.arms import Arms
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.facts import Column
    from dprct.schema.table import Table

LARGEST_SCALE = 1 << 52
"""Noise scales above it, in grid units, are not drawn; epsilon is then below 1e-8."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One outcome, who counts for it, its share of the budget, and what stands for missing.

    Parameters
    ----------
    column : Column
        With bounds.
    arms : Arms
    share : Fraction
    fill : float or None
    among_observed : bool
        Who has a value is public, and the others do not count.
    """

    column: Column
    arms: Arms
    share: Fraction
    fill: float | None = None
    among_observed: bool = False

    @property
    def presence_public(self) -> bool:
        """Whether it is public who has a value, though not everybody has one."""
        return self.among_observed

    @property
    def two_arms(self) -> bool:
        """Whether the difference itself is released, rather than arm means."""
        return len(self.arms.sizes[0]) == 2

    @property
    def width(self) -> Fraction:
        """U - l, exactly as the grid has it."""
        return Fraction(Clipped(self.column).step) * GRID

    def split(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of effects, of variances and, with two arms, of the control mean."""
        shares = TWO_ARM_SHARES if self.two_arms else MANY_ARM_SHARES
        return tuple(epsilon * self.share * part for part in shares)

    def rho(self, epsilon: Fraction) -> float:
        """Return b_V / b^2 = eps_tau^2 / eps_v, times (2m - 1) for people in clusters."""
        of_effect, of_variance = self.split(epsilon)[:2]
        return float(self.arms.inflation * of_effect**2 / of_variance)

    def check(self, epsilon: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn or read afterwards.

        Raises
        ------
        ParameterError
            If epsilon leaves no noise to speak of, or more than the sampler can draw.
        """
        check_noise(epsilon, self.rho(epsilon), GRID / self.split(epsilon)[-1])

    def release(self, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
        """Draw the release; the caller has charged ``epsilon * share``."""
        return released(self, frame, epsilon, noise)

    def expected(
        self, epsilon: Fraction, moment: float, contrasts: Sequence[Contrast]
    ) -> tuple[NoisyEffect, ...]:
        """Return effects of size 0 as they are expected to be released, from public facts alone.

        Parameters
        ----------
        epsilon : Fraction
            Of all outcomes together.
        moment : float
            Variance of the outcome within an arm.
        contrasts : sequence of Contrast
        """
        sampling = [moment * part for part in _inverse_sizes(self.arms)]
        of_effect, of_variance = self.split(epsilon)[:2]
        reaches, rho = self.reaches(), self.rho(epsilon)
        scales = [float(reach / of_effect) for reach in reaches]
        noise = [float(reach**2 * self.arms.inflation / of_variance) for reach in reaches]
        if self.two_arms:
            return (NoisyEffect(0.0, (scales[0],), (NoisyVariance(sum(sampling), noise[0], rho),)),)
        means = [
            NoisyMean(0.0, scale, NoisyVariance(v, b, rho))
            for scale, v, b in zip(scales, sampling, noise, strict=True)
        ]
        return tuple(combined(means, contrast.weights) for contrast in contrasts)

    def remarks(self, _: Released) -> tuple[str, ...]:
        """Return what a reader must know beyond the estimand: nothing."""
        return ()

    def reaches(self) -> tuple[Fraction, ...]:
        """Return by how much one record moves what is released, in units of the outcome.

        Of the difference, with two arms; else of each arm mean, control first.
        """
        each = [self.width * self.arms.reach(a) for a in range(len(self.arms.sizes[0]))]
        return (sorted(each)[-1],) if self.two_arms else tuple(each)


def check_noise(epsilon: Fraction, rho: float, scale: Fraction) -> None:
    """Refuse an epsilon that leaves no noise to speak of, or more than the sampler can draw.

    Parameters
    ----------
    epsilon : Fraction
        As it was asked for.
    rho : float
        b_V / b^2.
    scale : Fraction
        The largest noise scale, in grid units.

    Raises
    ------
    ParameterError
    """
    if rho > LARGEST_RHO or scale > LARGEST_SCALE:
        raise ParameterError(
            f"epsilon={float(epsilon):g} is outside what this estimate is made for "
            f"(rho={rho:.3g}, at most {LARGEST_RHO:g}, and noise that a double holds); "
            f"{'lower' if rho > LARGEST_RHO else 'raise'} epsilon"
        )


@dataclass(frozen=True, slots=True)
class Released:
    """What left the confidential table for one outcome.

    Parameters
    ----------
    effects : tuple of NoisyEffect
        Of each arm against control.
    control : float
        Noisy control mean.
    control_scale : float
        Scale of its Laplace noise.
    means : tuple of NoisyMean
        Of all arms, control first; none where the difference itself was released.
    counts : tuple of int
        Noisy numbers of values in all arms, cut at zero and at the public arm sizes; none where
        they were not released.
    """

    effects: tuple[NoisyEffect, ...]
    control: float
    control_scale: float
    means: tuple[NoisyMean, ...] = ()
    counts: tuple[int, ...] = ()

    def contrasted(self, contrasts: Sequence[Contrast]) -> Released:
        """Return it with other effects, where arm means were released; free."""
        if not self.means:
            return self
        effects = tuple(combined(self.means, contrast.weights) for contrast in contrasts)
        return replace(self, effects=effects)


def released(outcome: Outcome, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
    """Draw the release of one outcome; the caller has charged ``epsilon * outcome.share``."""
    if outcome.two_arms:
        return _difference(outcome, frame, epsilon, noise)
    return _arm_means(outcome, frame, epsilon, noise)


def _difference(outcome: Outcome, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
    sealed = difference_aggregates(frame, outcome.column, outcome.arms, outcome.fill)
    parts = (sealed.difference, sealed.variance, sealed.control)
    tau, v, control = (
        float(DiscreteLaplace(share, l1=GRID).release(part, noise).values[0])
        for part, share in zip(parts, outcome.split(epsilon), strict=True)
    )
    of_effect, of_variance, of_control = outcome.split(epsilon)
    (reach,) = outcome.reaches()
    scale = float(reach**2 * outcome.arms.inflation / of_variance)
    low = outcome.column.bounds[0] if outcome.column.bounds else 0.0
    effect = NoisyEffect(
        tau, (float(reach / of_effect),), (NoisyVariance(v, scale, outcome.rho(epsilon)),)
    )
    control_scale = float(outcome.width * outcome.arms.reach(0) / of_control)
    return Released((effect,), low + control, control_scale)


def _arm_means(outcome: Outcome, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
    sealed = arm_aggregates(frame, outcome.column, outcome.arms, outcome.fill)
    of_effect, of_variance = outcome.split(epsilon)
    means, spreads = (
        [int(unit) for unit in DiscreteLaplace(share, l1=GRID).release(part, noise).units]
        for part, share in zip(sealed, (of_effect, of_variance), strict=True)
    )
    reaches, rho = outcome.reaches(), outcome.rho(epsilon)
    inflated = [reach**2 * outcome.arms.inflation for reach in reaches]
    low = outcome.column.bounds[0] if outcome.column.bounds else 0.0
    arms = tuple(
        NoisyMean(
            low + float(mean * reach / GRID),
            float(reach / of_effect),
            NoisyVariance(float(spread * most / GRID), float(most / of_variance), rho),
        )
        for mean, spread, reach, most in zip(means, spreads, reaches, inflated, strict=True)
    )
    effects = tuple(
        combined(arms, [(i == a) - (i == 0) for i in range(len(arms))]) for a in range(1, len(arms))
    )
    return Released(effects, arms[0].value, arms[0].scale, arms)


def state_of(outcomes: Sequence[AnyOutcome], found: Sequence[Released]) -> dict[str, Any]:
    """Return what was released as JSON-ready values, for the ledger."""
    return {
        outcome.column.name: {
            "control": one.control,
            "effects": [
                {"value": e.value, "variances": [v.value for v in e.variances]} for e in one.effects
            ],
            "means": [m.value for m in one.means],
        }
        for outcome, one in zip(outcomes, found, strict=True)
    }


def _inverse_sizes(arms: Arms) -> list[float]:
    """Return sum_h w_h^2 / n_ha for each arm; times the largest cluster, at worst."""
    return [
        arms.largest
        * sum(float(w) ** 2 / row[a] for w, row in zip(arms.weights, arms.sizes, strict=True))
        for a in range(len(arms.sizes[0]))
    ]
