"""Effects among those with a value, where who has one is confidential: ratios of noisy sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.defaults import COUNTED_SHARES, FEWEST_COUNTED, FEWEST_COUNTED_SCALES
from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance, against_control, combined
from dprct.estimate.mechanism import Released, check_noise
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries import GRID, Clipped, observed_squares, observed_sums, square_reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.privacy.arms import Arms
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.facts import Column
    from dprct.schema.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class CountedOutcome:
    """One outcome whose missing values are confidential; arms are public.

    Parameters
    ----------
    column : Column
        With bounds (l, u), w apart.
    arms : Arms
        Everybody who was assigned; without blocks and clusters.
    share : Fraction
        Of the budget.

    Notes
    -----
    Relation: replace-one with the design public; whether somebody has a value is protected.  With
    eps_1 + eps_2 the outcome's budget, in every arm, arms in parallel:

    1. S = sum of y - mid and C = number of values are released together: one record moves
       (S, (w/2) C) by at most w in L1, so that S~ = S + Laplace(w / eps_1) and
       C~ = C + Laplace(2 / eps_1) cost eps_1, not eps_1 twice (proof in
       :func:`dprct.queries.observed_sums`).  C~ is cut at the public arm size n_a.
    2. Given m = S~ / C~, cut at -+w/2 and now public, A = sum of (y - mid - m)^2 over the values
       moves by at most (w/2 + |m|)^2 <= w^2, and is released at eps_2 (adaptive composition).

    theta = m estimates the mean of those with a value, t say, and **exactly**
    theta - t = [sum (y - t) + Laplace(w / eps_1) - (t - mid) Laplace(2 / eps_1)] / C~.  The law of
    the error is thus N(0, V) plus two Laplaces of scales w / (eps_1 C~) and
    2 |t - mid| / (eps_1 C~).  For |t - mid| stands min(w/2, |m| + w / (eps_1 C~)), one noise scale
    above its estimate.  Cutting C~ and theta only brings the error nearer to zero.

    V = A~ / (C~ (C~ - 1)).  A is at least the sum of squares about the own mean, whatever m is, and
    its noise is independent of the noise in theta (a noisy square *subtracted* would be the rule
    that ALGORITHMS.md rejects).  So c(rho) applies, with rho at its public upper limit
    eps_1^2 / eps_2 times 10/9, for C~ is at least 10 where it is used.

    Where C~ is below ``fewest``, a public number, the arm's mean is put in the middle of the bounds
    with a standard deviation of w: an interval that contains all values the effect can have.

    What is approximate: C~ in the denominators is taken as given, which its floor of 20 noise
    scales makes harmless (see the coverage tests), and sums are about normal, as for every
    z-interval.  It is conservative, by up to the second Laplace, where few have a value.  The
    estimand is among those with a value: an effect of treatment only if having a value is none.
    """

    column: Column
    arms: Arms
    share: Fraction
    fill: None = None
    among_observed: bool = True

    two_arms = False
    presence_public = False

    @property
    def width(self) -> Fraction:
        """U - l, exactly as the grid has it."""
        return Fraction(Clipped(self.column).step) * GRID

    def split(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of sums and counts, and of squares."""
        return tuple(epsilon * self.share * part for part in COUNTED_SHARES)

    def rho(self, epsilon: Fraction) -> float:
        """Return the largest b_V / b^2 that can occur."""
        of_sums, of_squares = self.split(epsilon)
        return float(of_sums**2 / of_squares * Fraction(FEWEST_COUNTED, FEWEST_COUNTED - 1))

    def fewest(self, epsilon: Fraction) -> Fraction:
        """Return the released count below which an arm's mean is not estimated; public."""
        return max(Fraction(FEWEST_COUNTED), 2 * FEWEST_COUNTED_SCALES / self.split(epsilon)[0])

    def check(self, epsilon: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn or read afterwards.

        Raises
        ------
        ParameterError
            If epsilon leaves no noise to speak of, or more than the sampler can draw.
        """
        check_noise(epsilon, self.rho(epsilon), 2 * GRID / self.split(epsilon)[-1])

    def release(self, frame: Table, epsilon: Fraction, noise: NoiseSource) -> Released:
        """Draw the release; the caller has charged ``epsilon * share``."""
        of_sums, of_squares = self.split(epsilon)
        sizes = self.arms.sizes[0]
        sealed = observed_sums(frame, self.column, self.arms)
        units = DiscreteLaplace(of_sums, l1=2 * GRID).release(sealed, noise).units
        sums = [int(unit) for unit in units[: len(sizes)]]
        counts = [
            min(Fraction(int(unit), GRID), Fraction(size))
            for unit, size in zip(units[len(sizes) :], sizes, strict=True)
        ]
        fewest = self.fewest(epsilon)
        levels = [
            min(max(s / c, Fraction(-GRID)), Fraction(GRID)) if c >= fewest else Fraction(0)
            for s, c in zip(sums, counts, strict=True)
        ]
        centres = [round(level) for level in levels]
        squares = observed_squares(frame, self.column, self.arms, centres)
        spreads = DiscreteLaplace(of_squares, l1=GRID).release(squares, noise).units
        means = tuple(
            self._mean(epsilon, m, c, int(spread)) if c >= fewest else self._unknown(epsilon)
            for m, c, spread in zip(levels, counts, spreads, strict=True)
        )
        noise_of = math.hypot(means[0].scale, *means[0].others)
        return Released(
            against_control(means),
            means[0].value,
            noise_of,
            means,
            tuple(max(0, round(count)) for count in counts),
        )

    def expected(
        self, epsilon: Fraction, moment: float, contrasts: Sequence[Contrast]
    ) -> tuple[NoisyEffect, ...]:
        """Return effects of size 0 as expected if all have a value, from public facts alone.

        Parameters
        ----------
        epsilon : Fraction
            Of all outcomes together.
        moment : float
            Variance of the outcome within an arm.
        contrasts : sequence of Contrast
        """
        of_squares = self.split(epsilon)[1]
        means = []
        for size in self.arms.sizes[0]:
            if size < self.fewest(epsilon):
                means.append(self._unknown(epsilon))
                continue
            spread = float(self.width**2 / of_squares) / (size * (size - 1))
            scale = self._scale(epsilon, Fraction(size))
            variance = NoisyVariance(moment / size, spread, self.rho(epsilon))
            means.append(NoisyMean(0.0, scale, variance, (scale,)))
        return tuple(combined(means, contrast.weights) for contrast in contrasts)

    def remarks(self, found: Released) -> tuple[str, ...]:
        """Return what a reader must know beyond the estimand."""
        name = self.column.name
        said = [
            f"Who has a value of {name} is private; this is an effect of treatment only if having "
            "a value is not affected by it."
        ]
        if any(mean.variance.scale == 0 for mean in found.means):
            said.append(
                f"In some arm the released number of values of {name} is too small to divide by: "
                "its mean is put in the middle of the bounds and may be anything."
            )
        return tuple(said)

    def _scale(self, epsilon: Fraction, count: Fraction) -> float:
        return float(self.width / (self.split(epsilon)[0] * count))

    def _mean(self, epsilon: Fraction, level: Fraction, count: Fraction, spread: int) -> NoisyMean:
        """Return the mean of an arm with ``count`` values, and its law; ``level`` in half steps."""
        half = self.width / (2 * GRID)
        scale = self._scale(epsilon, count)
        farthest = min(float(abs(level) * half) + scale, float(self.width) / 2)
        most = square_reach(round(level)) * half**2
        pairs = count * (count - 1)
        variance = NoisyVariance(
            float(spread * most / GRID / pairs),
            float(most / self.split(epsilon)[1] / pairs),
            self.rho(epsilon),
        )
        second = farthest * 2 / float(self.split(epsilon)[0] * count)
        return NoisyMean(self._middle + float(level * half), scale, variance, (second,))

    def _unknown(self, epsilon: Fraction) -> NoisyMean:
        """Return the mean of an arm of which too few have a value: it can be anything."""
        anything = NoisyVariance(float(self.width) ** 2, 0.0, self.rho(epsilon))
        return NoisyMean(self._middle, self._scale(epsilon, self.fewest(epsilon)), anything)

    @property
    def _middle(self) -> float:
        assert self.column.bounds is not None
        return float(Fraction(self.column.bounds[0]) + self.width / 2)
