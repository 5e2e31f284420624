"""What is released of each outcome: mechanisms, the draw, and the law of what was drawn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dprct.defaults import (
    COUNTED_SHARES,
    FEWEST_COUNTED,
    FEWEST_COUNTED_SCALES,
    MANY_ARM_SHARES,
    TWO_ARM_SHARES,
)
from dprct.estimate.ate.clusters import design_effects, sampling_of, shares_of, words_of
from dprct.estimate.effects import (
    NoisyEffect,
    NoisyMean,
    NoisyVariance,
    against_control,
    combined,
    inverse_sizes,
)
from dprct.estimate.noise_law import LARGEST_RHO, check_noise
from dprct.lazy import narwhals as nw
from dprct.privacy.mechanisms import Allocation, CubeNoise, DiscreteLaplace
from dprct.queries.horvitz_thompson import (
    PrivateArms,
    arm_of,
    horvitz_thompson_difference,
    horvitz_thompson_sums,
)
from dprct.queries.missing_outcomes import observed_squares, observed_sums, square_reach
from dprct.queries.sums import (
    GRID,
    Asked,
    Clipped,
    arm_aggregates,
    difference_aggregates,
    side_by_side,
)
from dprct.queries.together import summed
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.model import BoundTable
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import NoisyVector
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.sums import Arms, Rows
    from dprct.schema.columns import Column


@dataclass(frozen=True, eq=False)
class _Bounded:
    """One outcome, who counts for it, its share of the budget, and what stands for missing."""

    column: Column  # with bounds (l, u), w apart
    arms: Any
    share: Fraction  # of the budget
    fill: float | None = None
    among_observed: bool = False  # who has a value is public, and the others do not count

    @property
    def width(self) -> Fraction:
        """U - l, exactly as the grid has it."""
        return Fraction(Clipped(self.column).step) * GRID

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        assert self.column.bounds is not None
        return float(Fraction(self.column.bounds[0]) + self.width / 2)


@dataclass(frozen=True, eq=False)
class _OfMeans(_Bounded, ABC):
    """An outcome of which a difference, with two arms, or the means of all arms are released."""

    # All outcomes, this one too, whose noise is drawn together, uniform in cubes; none where each
    # has Laplace noise at its own share of epsilon.
    beside: tuple[Self, ...] = field(default=(), repr=False)

    of_arms: ClassVar[Mapping[str, int]]  # L1 sensitivities with more than two arms

    @property
    @abstractmethod
    def two_arms(self) -> bool:
        """Whether the difference itself is released, rather than arm means."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """Sensitivity of a released variance over the square of that of its mean."""

    @property
    @abstractmethod
    def each(self) -> tuple[Fraction, ...]:
        """By how much one record moves the mean of each arm, control first."""

    @abstractmethod
    def sampling(self, moment: float) -> list[float]:
        """Sampling variance of the mean of each arm if a person's is ``moment``."""

    @abstractmethod
    def _arm_means(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> tuple[NoisyMean, ...]:
        """Means of all arms, with their laws, from what was released."""

    @property
    def about(self) -> float:
        """Value of the outcome that released means are measured from."""
        return self.middle

    @property
    def presence_public(self) -> bool:
        """Whether it is public who has a value, though not everybody has one."""
        return self.among_observed

    @property
    def size(self) -> int:
        """How many outcomes have jointly drawn noise."""
        return len(self.beside) or 1

    @property
    def l1(self) -> dict[str, int]:
        """L1 sensitivity of each vector that is released, in units of the grid."""
        return dict(_OF_TWO if self.two_arms else self.of_arms)

    def split(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of effects, of variances and, with two arms, of the control mean.

        Outcomes whose noise is drawn together have what all of them would have.
        """
        if not self.beside:
            return tuple(epsilon * self.share * part for part in self._shares(epsilon))
        each = zip(*(outcome.split(epsilon) for outcome in self.beside), strict=True)
        return tuple(sum(parts, Fraction(0)) for parts in each)

    def _shares(self, _: Fraction) -> tuple[Fraction, ...]:
        return TWO_ARM_SHARES if self.two_arms else MANY_ARM_SHARES

    def rho(self, epsilon: Fraction) -> float:
        """Return b_V / b^2: eps_tau^2 / eps_v, times :attr:`ratio`."""
        of_effect, of_variance = self.split(epsilon)[:2]
        return float(self.ratio * of_effect**2 / of_variance)

    def reaches(self) -> tuple[Fraction, ...]:
        """Return by how much one record moves what is released, in units of the outcome.

        Of the difference, with two arms; else of each arm mean, control first.
        """
        return (max(self.each),) if self.two_arms else self.each

    def read(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> Released:
        """Effects and their laws from what was released of ``sealed``."""
        if self.two_arms:
            return self._difference(epsilon, parts)
        means = self._arm_means(epsilon, parts)
        return Released(against_control(means), means[0].value, means[0].scale, means)

    def expected(
        self, epsilon: Fraction, moment: float, contrasts: Sequence[Contrast]
    ) -> tuple[NoisyEffect, ...]:
        """Effects of size 0 as they are expected to be released, from public facts alone.

        Epsilon is that of all outcomes together, ``moment`` what :meth:`sampling` takes.
        """
        sampling, reaches, rho = self.sampling(moment), self.reaches(), self.rho(epsilon)
        of_effect, of_variance = self.split(epsilon)[:2]
        scales = [float(reach / of_effect) for reach in reaches]
        noise = [float(reach**2 * self.ratio / of_variance) for reach in reaches]
        if self.two_arms:
            spread = NoisyVariance(sum(sampling), noise[0], rho, self.size)
            return (NoisyEffect(0.0, (scales[0],), (spread,), self.size),)
        means = [
            NoisyMean(0.0, scale, NoisyVariance(v, b, rho, self.size))
            for scale, v, b in zip(scales, sampling, noise, strict=True)
        ]
        return tuple(combined(means, contrast.weights) for contrast in contrasts)

    def _difference(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> Released:
        tau, v, control = (float(part.values[0]) for part in parts)
        of_effect, of_variance, of_control = self.split(epsilon)
        (reach,) = self.reaches()
        scale = float(reach**2 * self.ratio / of_variance)
        spread = NoisyVariance(v, scale, self.rho(epsilon), self.size)
        effect = NoisyEffect(tau, (float(reach / of_effect),), (spread,), self.size)
        return Released((effect,), self.about + control, float(self.each[0] / of_control))


_OF_TWO = {"effect": GRID, "variance": GRID, "control mean": GRID}


@dataclass(frozen=True, eq=False)
class Outcome(_OfMeans):
    """One outcome of an experiment whose treatment is public.

    One record moves the mean of one arm only, and its variance: a vector over all arms has the
    sensitivity of one of them.
    """

    arms: Arms

    of_arms: ClassVar[Mapping[str, int]] = {"arm means": GRID, "arm variances": GRID}

    @property
    def two_arms(self) -> bool:
        """Whether the difference itself is released, rather than arm means."""
        return len(self.arms.sizes[0]) == 2

    @property
    def asked(self) -> Asked:
        """What the outcome needs of rows in an engine."""
        return self.arms.asked(self.column, self.fill)

    @property
    def ratio(self) -> Fraction:
        """The inflation by clusters."""
        return self.arms.inflation

    @property
    def each(self) -> tuple[Fraction, ...]:
        """By how much one record moves the mean of each arm, control first."""
        return tuple(self.width * self.arms.reach(a) for a in range(len(self.arms.sizes[0])))

    @property
    def about(self) -> float:
        """The lower bound, from which sums are."""
        return self.column.bounds[0] if self.column.bounds else 0.0

    def _shares(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The variance of clusters costs more than that of people: public facts divide it."""
        if self.arms.inflation <= 1:
            return _OfMeans._shares(self, epsilon)
        sampling = sampling_of(self.arms, float(self.width), self.column.sd)
        own = Fraction(epsilon) * self.share
        return shares_of(own, self.reaches(), self.arms.inflation, sampling)

    def sealed(self, frame: Rows) -> tuple[IntegerVector, ...]:
        """Vectors that are released, in the order of :attr:`l1`."""
        if not self.two_arms:
            return arm_aggregates(frame, self.column, self.arms, self.fill)
        found = difference_aggregates(frame, self.column, self.arms, self.fill)
        return found.difference, found.variance, found.control

    def sampling(self, moment: float) -> list[float]:
        """``moment`` is the variance of the outcome within an arm."""
        effects = None if self.arms.clusters is None else design_effects(self.arms)
        return [moment * part for part in inverse_sizes(self.arms, effects)]

    def remarks(self, _: Released) -> tuple[str, ...]:
        """Remarks on an estimate besides its estimand: the rule behind clustered errors."""
        if self.arms.rule is None:
            return ()
        declared = words_of(self.arms.rule, self.column.name)
        return (f"Errors rest on {declared}: where it does not hold, intervals are too short.",)

    def _arm_means(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> tuple[NoisyMean, ...]:
        means, spreads = ([int(unit) for unit in part.units] for part in parts)
        of_effect, of_variance = self.split(epsilon)
        inflated = [reach**2 * self.ratio for reach in self.each]
        rho = self.rho(epsilon)
        return tuple(
            NoisyMean(
                self.about + float(mean * reach / GRID),
                float(reach / of_effect),
                NoisyVariance(
                    float(spread * most / GRID), float(most / of_variance), rho, self.size
                ),
            )
            for mean, spread, reach, most in zip(means, spreads, self.each, inflated, strict=True)
        )


@dataclass(frozen=True)
class Released:
    """What left the confidential table for one outcome."""

    effects: tuple[NoisyEffect, ...]  # of each arm against control
    control: float  # noisy control mean
    control_scale: float  # scale of its noise
    # Of all arms, control first; none where the difference itself was released.
    means: tuple[NoisyMean, ...] = ()
    # Noisy numbers of values in all arms, cut at zero and at the public arm sizes; none where they
    # were not released.
    counts: tuple[int, ...] = ()

    def contrasted(self, contrasts: Sequence[Contrast]) -> Released:
        """Return it with other effects, where arm means were released; free."""
        if not self.means:
            return self
        effects = tuple(combined(self.means, contrast.weights) for contrast in contrasts)
        return replace(self, effects=effects)


@dataclass(frozen=True, eq=False)
class HiddenOutcome(_OfMeans):
    """One outcome of an experiment whose treatment column is confidential.

    Notes
    -----
    Relation: replace-one; n and the declared probabilities pi_a are public, who is in which arm
    and how many are not.  Two arms: the mean of phi = (y - mid)(T / pi - (1 - T) / (1 - pi)) plus
    Laplace(b), b = w / (n min(pi, 1 - pi) eps_tau), and V = s_phi^2 / n plus Laplace(b_V), with
    rho = b_V / b^2 = eps_tau^2 / eps_v.  More arms: all sums of y - mid, each with Laplace noise of
    scale w / eps_tau, and all sums of squares Q_a, with (w^2 / 2) / eps_v; mean_a is
    S_a / (n pi_a), V_a = Q_a / (n pi_a)^2 and rho = eps_tau^2 / (2 eps_v).  Sensitivities are
    proved in :mod:`dprct.queries.horvitz_thompson`.

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
    Horvitz and Thompson (1952), "A Generalization of Sampling Without Replacement From a Finite
    Universe".
    """

    arms: PrivateArms

    # a record that changes its arm moves the sums of two
    of_arms: ClassVar[Mapping[str, int]] = {"arm sums": 2 * GRID, "arm squares": GRID}

    @property
    def two_arms(self) -> bool:
        """Whether the difference itself is released, rather than arm sums."""
        return len(self.arms.shares) == 2

    @property
    def asked(self) -> Asked:
        """What the outcome needs of rows in an engine."""
        return Asked(self.column, self.fill, self.arms.present)

    @property
    def ratio(self) -> Fraction:
        """1, or a half with more than two arms."""
        return Fraction(1, 1 if self.two_arms else 2)

    @property
    def each(self) -> tuple[Fraction, ...]:
        """By how much one record moves the mean of each arm, control first."""
        return tuple(self.width / (self.arms.n * share) for share in self.arms.shares)

    def sealed(self, frame: Rows) -> tuple[IntegerVector, ...]:
        """Vectors that are released, in the order of :attr:`l1`."""
        if not self.two_arms:
            return horvitz_thompson_sums(frame, self.column, self.arms, self.fill)
        found = horvitz_thompson_difference(frame, self.column, self.arms, self.fill)
        return found.difference, found.variance, found.control

    def sampling(self, moment: float) -> list[float]:
        """``moment`` is the second one about the middle of the bounds; at most w^2 / 4."""
        return [moment / (self.arms.n * float(share)) for share in self.arms.shares]

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

    def _arm_means(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> tuple[NoisyMean, ...]:
        return tuple(self._means(epsilon, parts))

    def _means(self, epsilon: Fraction, parts: Sequence[NoisyVector]) -> Iterator[NoisyMean]:
        of_effect, of_variance = self.split(epsilon)
        totals, moments = (part.values for part in parts)
        for share, total, moment in zip(self.arms.shares, totals, moments, strict=True):
            people = float(self.arms.n * share)
            scale = float(self.width**2 / 2 / of_variance) / people**2
            yield NoisyMean(
                self.middle + float(total) / people,
                float(self.width / of_effect) / people,
                NoisyVariance(float(moment) / people**2, scale, self.rho(epsilon), self.size),
            )


@dataclass(frozen=True, eq=False)
class CountedOutcome(_Bounded):
    """One outcome whose missing values are confidential; arms are public.

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
    that loses coverage).  So c(rho) applies, with rho at its public upper limit
    eps_1^2 / eps_2 times 10/9, for C~ is at least 10 where it is used.

    Where C~ is below ``fewest``, a public number, the arm's mean is put in the middle of the bounds
    with a standard deviation of w: an interval that contains all values the effect can have.

    What is approximate: C~ in the denominators is taken as given, which its floor of 20 noise
    scales makes harmless (see the coverage tests), and sums are about normal, as for every
    z-interval.  It is conservative, by up to the second Laplace, where few have a value.  The
    estimand is among those with a value: an effect of treatment only if having a value is none.
    """

    arms: Arms  # everybody who was assigned; without blocks and clusters
    among_observed: bool = True

    two_arms = False
    presence_public = False
    size = 1
    of_arms: ClassVar[Mapping[str, int]] = {"sums and counts": 2 * GRID, "squares": GRID}

    @property
    def asked(self) -> Asked:
        """What the outcome needs of rows in an engine."""
        return self.arms.asked(self.column, None, with_value=True)

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

    @property
    def l1(self) -> dict[str, int]:
        """L1 sensitivity of each vector that is released, in units of the grid."""
        return dict(self.of_arms)

    def release(
        self, frame: Rows, epsilon: Fraction, parts: Sequence[DiscreteLaplace], noise: NoiseSource
    ) -> Released:
        """Draw the release with the mechanisms of :func:`mechanisms_of`, charged before.

        What the squares are about is released first: the second mechanism is adaptive, its
        sensitivity is not.
        """
        of_sums, of_squares = parts
        sizes = self.arms.sizes[0]
        sealed = observed_sums(frame, self.column, self.arms)
        units = of_sums.release(sealed, noise).units
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
        spreads = of_squares.release(squares, noise).units
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
        """Effects of size 0 as expected if all have a value, from public facts alone."""
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
        return NoisyMean(self.middle + float(level * half), scale, variance, (second,))

    def _unknown(self, epsilon: Fraction) -> NoisyMean:
        """Return the mean of an arm of which too few have a value: it can be anything."""
        anything = NoisyVariance(float(self.width) ** 2, 0.0, self.rho(epsilon))
        return NoisyMean(self.middle, self._scale(epsilon, self.fewest(epsilon)), anything)


AnyOutcome = Outcome | HiddenOutcome | CountedOutcome


def control_law(outcome: AnyOutcome, found: Released) -> NoisyEffect | None:
    """Return the control mean as released, with the law of its error; None where that has none.

    Notes
    -----
    Of released arm means it is the law of the first.  Where the difference was released and
    treatment is public, the error of the control mean is N(0, V_0) plus Laplace(b_0), and V, the
    sum of both arms' variances, is known with noise.  V stands for V_0: c of rho = b_V / b_0^2
    makes the interval cover where the variance is V, whatever V is, and with V_0 <= V the error is
    more concentrated about zero (Anderson 1955: both laws are symmetric and unimodal).  With
    treatment private, V may be below V_0.
    """
    if found.means:
        return combined(found.means, [float(a == 0) for a in range(len(found.means))])
    if not isinstance(outcome, Outcome):
        return None
    ((spread,),) = (effect.variances for effect in found.effects)
    # widths of bounds cancel, but for rounding: outcomes with equal shares have one c
    rho = float(f"{spread.scale / found.control_scale**2:.12g}")
    if rho > LARGEST_RHO:
        return None
    known = NoisyVariance(spread.value, spread.scale, rho, outcome.size)
    return NoisyEffect(found.control, (found.control_scale,), (known,), outcome.size)


def together(outcomes: Sequence[AnyOutcome]) -> tuple[AnyOutcome, ...]:
    """Outcomes whose noise is drawn jointly, uniform in cubes, where it can be.

    Notes
    -----
    One record may move all outcomes at once, so that J outcomes with Laplace noise have epsilon / J
    each.  Noise that is uniform in cubes protects them for epsilon together, and its standard
    deviation is smaller by (6 J^2 / ((J + 1) (J + 2)))^(1/2): :class:`CubeNoise`.  Outcomes whose
    missing values are private are released in two steps, the second of which depends on the first
    of the same outcome; they have Laplace noise, as have outcomes with unequal shares of epsilon.
    """
    of_means = [o for o in outcomes if isinstance(o, Outcome | HiddenOutcome)]
    alike = len({(type(outcome), outcome.share) for outcome in outcomes}) == 1
    if len(outcomes) < 2 or len(of_means) < len(outcomes) or not alike:
        return tuple(outcomes)
    beside: Any = tuple(of_means)
    return tuple(replace(one, beside=beside) for one in of_means)


def check_drawn(outcome: AnyOutcome, epsilon: Fraction) -> None:
    """Refuse, before anything is charged, what could not be drawn or read afterwards."""
    scale = max(outcome.of_arms.values()) / outcome.split(epsilon)[-1]
    check_noise(epsilon, outcome.rho(epsilon), scale)


def mechanisms_of(outcome: AnyOutcome, epsilon: Fraction) -> dict[str, DiscreteLaplace]:
    """What is drawn of one outcome, in this order, by name; epsilon is of all outcomes together."""
    check_drawn(outcome, epsilon)
    pairs = zip(outcome.l1.items(), outcome.split(epsilon), strict=True)
    return {
        f"{outcome.column.name}: {part}": DiscreteLaplace(each, l1=l1) for (part, l1), each in pairs
    }


@dataclass(frozen=True, kw_only=True)
class ATEAllocation(Allocation):
    """The mechanisms of the effects of a fit."""

    parts: Mapping[str, DiscreteLaplace | CubeNoise]

    def of(self, outcome: AnyOutcome) -> tuple[DiscreteLaplace, ...]:
        """Return the mechanisms of one outcome, in the order in which it draws."""
        found = tuple(self.parts[f"{outcome.column.name}: {part}"] for part in outcome.l1)
        return tuple(one for one in found if isinstance(one, DiscreteLaplace))

    def of_all(self, outcome: AnyOutcome) -> tuple[CubeNoise, ...]:
        """Return the mechanisms of all outcomes together, of which one is given."""
        found = tuple(self.parts[part] for part in outcome.l1)
        return tuple(one for one in found if isinstance(one, CubeNoise))


def allocated(outcomes: Sequence[AnyOutcome], budget: Budget) -> ATEAllocation:
    """Return the mechanisms of all outcomes together.

    Notes
    -----
    All parts may read the same rows and compose sequentially.  Each is calibrated to one protected
    unit, a person or a whole cluster.
    """
    assert budget.delta == 0, "a budget with a delta buys the joint release"
    parts: dict[str, DiscreteLaplace | CubeNoise] = {}
    for outcome in outcomes:
        if outcome.size == 1:
            parts |= mechanisms_of(outcome, budget.epsilon)
            continue
        check_drawn(outcome, budget.epsilon)
        pairs = zip(outcome.l1.items(), outcome.split(budget.epsilon), strict=True)
        parts |= {part: CubeNoise(each, reach, outcome.size) for (part, reach), each in pairs}
    return ATEAllocation(budget=budget, parts=parts)


def sums_of(outcomes: Sequence[AnyOutcome], table: BoundTable) -> Rows:
    """Return all that the outcomes need of rows in an engine, of one pass; rows in memory as is."""
    if not isinstance(table.frame, nw.LazyFrame):
        return table.frame
    by: dict[str, nw.Expr] = {}
    for outcome in outcomes:  # all of one experiment, and so of the same groups
        if isinstance(outcome, HiddenOutcome):
            by = {"arm": arm_of(outcome.arms)}
        elif outcome.arms.combinations is not None:
            by = {name: nw.col(name) for name in outcome.arms.combinations.columns}
    return summed(table.frame, by, [outcome.asked for outcome in outcomes], table.counted)


def released(
    outcomes: Sequence[AnyOutcome],
    allocation: ATEAllocation,
    table: BoundTable,
    noise: NoiseSource,
    sums: Rows | None = None,
) -> tuple[Released, ...]:
    """Draw the release of all outcomes; the caller has charged the allocation.

    ``sums`` are those of :func:`sums_of`, where they were asked for before.
    """
    epsilon = allocation.budget.epsilon
    if sums is None:
        sums = sums_of(outcomes, table)
    each = [o for o in outcomes if not isinstance(o, CountedOutcome) and o.size > 1]
    if each:
        tables = zip(*(outcome.sealed(sums) for outcome in each), strict=True)
        mechanisms = allocation.of_all(each[0])
        drawn = [
            mechanism.release(side_by_side(vectors), noise)
            for mechanism, vectors in zip(mechanisms, tables, strict=True)
        ]
        parts = zip(*drawn, strict=True)
        return tuple(o.read(epsilon, part) for o, part in zip(each, parts, strict=True))
    return tuple(drawn_alone(o, sums, epsilon, allocation.of(o), noise) for o in outcomes)


def drawn_alone(
    outcome: AnyOutcome,
    sums: Rows,
    epsilon: Fraction,
    parts: Sequence[DiscreteLaplace],
    noise: NoiseSource,
) -> Released:
    """Draw one outcome with the mechanisms of :func:`mechanisms_of`, charged before."""
    if isinstance(outcome, CountedOutcome):
        return outcome.release(sums, epsilon, parts, noise)
    drawn = [p.release(v, noise) for p, v in zip(parts, outcome.sealed(sums), strict=True)]
    return outcome.read(epsilon, drawn)
