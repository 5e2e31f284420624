"""Effects where treatment is confidential too: centred Horvitz-Thompson, under replace-one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.defaults import MANY_ARM_SHARES, TWO_ARM_SHARES
from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance, against_control, combined
from dprct.estimate.mechanism import Released, check_noise
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries import GRID, Clipped, HiddenArms, hidden_difference, hidden_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.facts import Column
    from dprct.schema.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class HiddenOutcome:
    """One outcome of an experiment whose treatment column is confidential.

    Parameters
    ----------
    column : Column
        With bounds, w apart.
    arms : HiddenArms
    share : Fraction
        Of the budget.
    fill : float or None
        What stands for a missing value.
    among_observed : bool
        Who has a value is public, and the others do not count.

    Notes
    -----
    Relation: replace-one; n and the declared probabilities pi_a are public, who is in which arm
    and how many are not.  Two arms: the mean of phi = (y - mid)(T / pi - (1 - T) / (1 - pi)) plus
    Laplace(b), b = w / (n min(pi, 1 - pi) eps_tau), and V = s_phi^2 / n plus Laplace(b_V), with
    rho = b_V / b^2 = eps_tau^2 / eps_v.  More arms: all sums of y - mid, each with Laplace noise of
    scale w / eps_tau, and all sums of squares Q_a, with (w^2 / 2) / eps_v; mean_a is
    S_a / (n pi_a), V_a = Q_a / (n pi_a)^2 and rho = eps_tau^2 / (2 eps_v).  Sensitivities are
    proved in :mod:`dprct.queries.horvitz`.

    **The variance.**  Let d_i = c_i1 / pi_1 + c_i0 / pi_0, c the two potential outcomes less mid.

    - *Simple randomisation*: the phi_i are independent, and V is unbiased.
    - *Complete randomisation*: given potential outcomes the estimate is a constant plus
      (1/n) sum (T_i - pi) d_i.  For rows that are independent draws its variance is, over that of
      independent T, smaller by (E d)^2 (pi (1 - pi) n - Var n_1) / n^2.  That is not negative: a
      whole number of mean n pi varies least, Var n_1 = r (1 - r), r the fraction of n pi, where it
      is n pi rounded down or up, as a binomial number is a case of it.  So V is conservative.
    - *Blocks with the same shares*: the same holds block by block, where the rows of a block are
      independent draws; V contains the variance between blocks besides.
    - *More arms*: a contrast sum w_a mean_a is the mean of phi = sum_a w_a 1(arm a) c / pi_a, whose
      variance is (sum_a w_a^2 E c_a^2 / pi_a - (sum_a w_a E c_a)^2) / n <= sum_a w_a^2 E V_a.

    The price: E c^2 is the second moment about the middle of the bounds, not about the mean, so
    that an outcome near a bound is estimated less precisely than with treatment public.

    References
    ----------
    ALGORITHMS.md, section 4; Horvitz and Thompson (1952).
    """

    column: Column
    arms: HiddenArms
    share: Fraction
    fill: float | None = None
    among_observed: bool = False

    @property
    def presence_public(self) -> bool:
        """Whether it is public who has a value, though not everybody has one."""
        return self.among_observed

    @property
    def two_arms(self) -> bool:
        """Whether the difference itself is released, rather than arm sums."""
        return len(self.arms.shares) == 2

    @property
    def width(self) -> Fraction:
        """U - l, exactly as the grid has it."""
        return Fraction(Clipped(self.column).step) * GRID

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        assert self.column.bounds is not None
        return float(Fraction(self.column.bounds[0]) + self.width / 2)

    def split(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of effects, of variances and, with two arms, of the control mean."""
        shares = TWO_ARM_SHARES if self.two_arms else MANY_ARM_SHARES
        return tuple(epsilon * self.share * part for part in shares)

    def rho(self, epsilon: Fraction) -> float:
        """Return b_V / b^2: eps_tau^2 / eps_v, half of it with more than two arms."""
        of_effect, of_variance = self.split(epsilon)[:2]
        return float(of_effect**2 / of_variance / (1 if self.two_arms else 2))

    def check(self, epsilon: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn or read afterwards.

        Raises
        ------
        ParameterError
            If epsilon leaves no noise to speak of, or more than the sampler can draw.
        """
        check_noise(epsilon, self.rho(epsilon), 2 * GRID / self.split(epsilon)[-1])

    def reaches(self) -> tuple[Fraction, ...]:
        """Return by how much one record moves the effect, with two arms, else each arm mean."""
        each = [self.width / (self.arms.n * share) for share in self.arms.shares]
        return (sorted(each)[-1],) if self.two_arms else tuple(each)

    def release(self, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
        """Draw the release; the caller has charged ``epsilon * share``."""
        if self.two_arms:
            return self._difference(frame, epsilon, noise)
        means = tuple(self._means(frame, epsilon, noise))
        return Released(against_control(means), means[0].value, means[0].scale, means)

    def expected(
        self, epsilon: Fraction, moment: float, contrasts: Sequence[Contrast]
    ) -> tuple[NoisyEffect, ...]:
        """Return effects of size 0 as they are expected to be released, from public facts alone.

        Parameters
        ----------
        epsilon : Fraction
            Of all outcomes together.
        moment : float
            Second moment of the outcome about the middle of the bounds; at most w^2 / 4.
        contrasts : sequence of Contrast
        """
        of_effect, of_variance = self.split(epsilon)[:2]
        sampling = [moment / (self.arms.n * float(share)) for share in self.arms.shares]
        reaches, rho = self.reaches(), self.rho(epsilon)
        if self.two_arms:
            spread = NoisyVariance(sum(sampling), float(reaches[0] ** 2 / of_variance), rho)
            return (NoisyEffect(0.0, (float(reaches[0] / of_effect),), (spread,)),)
        means = [
            NoisyMean(
                0.0,
                float(reach / of_effect),
                NoisyVariance(v, float(reach**2 / 2 / of_variance), rho),
            )
            for v, reach in zip(sampling, reaches, strict=True)
        ]
        return tuple(combined(means, contrast.weights) for contrast in contrasts)

    def remarks(self, _: Released) -> tuple[str, ...]:
        """Return what a reader must know beyond the estimand."""
        middle = f"{self.middle:g}"
        found = [
            "Treatment is private: Horvitz-Thompson about the middle of the bounds of "
            f"{self.column.name} ({middle}), with the declared probabilities; errors hold for "
            "simple randomisation and are conservative for complete randomisation."
        ]
        if self.among_observed:
            found.append(
                "The declared probabilities are taken to hold among those with a value: whether "
                f"{self.column.name} is missing must not depend on treatment."
            )
        return tuple(found)

    def _difference(self, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
        sealed = hidden_difference(frame, self.column, self.arms, self.fill)
        parts = (sealed.difference, sealed.variance, sealed.control)
        of_effect, of_variance, of_control = self.split(epsilon)
        tau, v, control = (
            float(DiscreteLaplace(share, l1=GRID).release(part, noise).values[0])
            for part, share in zip(parts, (of_effect, of_variance, of_control), strict=True)
        )
        (reach,) = self.reaches()
        spread = NoisyVariance(v, float(reach**2 / of_variance), self.rho(epsilon))
        effect = NoisyEffect(tau, (float(reach / of_effect),), (spread,))
        scale = float(self.width / (self.arms.n * self.arms.shares[0] * of_control))
        return Released((effect,), self.middle + control, scale)

    def _means(self, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Iterator[NoisyMean]:
        sums, squares = hidden_sums(frame, self.column, self.arms, self.fill)
        of_effect, of_variance = self.split(epsilon)
        totals = DiscreteLaplace(of_effect, l1=2 * GRID).release(sums, noise).values
        moments = DiscreteLaplace(of_variance, l1=GRID).release(squares, noise).values
        for share, total, moment in zip(self.arms.shares, totals, moments, strict=True):
            size = float(self.arms.n * share)
            scale = float(self.width**2 / 2 / of_variance) / size**2
            yield NoisyMean(
                self.middle + float(total) / size,
                float(self.width / of_effect) / size,
                NoisyVariance(float(moment) / size**2, scale, self.rho(epsilon)),
            )
