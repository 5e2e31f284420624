"""Mechanisms as values: what is drawn, what it costs, and the draw itself, in this order.

A mechanism knows public numbers only. It is made, described and charged before it sees an
aggregate, and it cannot be made with a scale that no sampler reaches; ``release`` opens the
aggregate, adds the noise and returns what may be published. The caller charges ``mechanism.cost()``
first: ``release`` does not know an accountant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.aggregates import IntegerTable, IntegerVector, _open
from dprct.privacy.budget import Budget, exact
from dprct.privacy.composition import (
    SLACK_SHARE,
    Charge,
    gdp_mu,
    parallel,
    per_row,
    root,
    sequential,
    tv_delta,
    zcdp_rho,
)
from dprct.privacy.noise import SCALES, double_at_least, laplace_loss
from dprct.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.budget import Real, Relation
    from dprct.privacy.composition import Composition
    from dprct.privacy.noise import Integers, NoiseSource


ROUNDING_DISTANCE = Fraction(202, 10_000)
"""Total variation between a rounded and a discrete Gaussian is below this over sigma squared.

The constant is 0.968 / 48 = 0.02017 in the limit; the bound holds for sigma of 10 or more.
"""

_USUAL_SIGMA = 2**20
_LARGEST_SIGMA = 2**50
_SPARE = 32
_CUBE_LARGE = 2000.0


@dataclass(frozen=True)
class GaussianNoise:
    """A discrete Gaussian that stands in for a continuous one."""

    scale: float  # sigma of the draw, in units of the grid divided by ``2 ** refinement``
    refinement: int  # by how many binary digits the grid is refined before the draw
    mu: Fraction  # parameter of Gaussian differential privacy of the continuous noise
    # Bound on the total variation between the draw and the rounded continuous noise.
    slack: Fraction

    @property
    def sigma(self) -> float:
        """Standard deviation in units of the grid."""
        return math.ldexp(self.scale, -self.refinement)


def reachable_scale(scale: Fraction) -> float:
    """Return the smallest double that is not below ``scale``.

    Examples
    --------
    >>> reachable_scale(Fraction(3, 2))
    1.5
    """
    _check_reach(scale**2)
    return double_at_least(scale)


@lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, epsilon: Fraction) -> float:
    """Scale at which discrete Laplace noise of an L1 sensitivity costs at most ``epsilon``.

    Examples
    --------
    >>> laplace_scale(2, Fraction(1))
    2.0
    >>> laplace_scale(2, Fraction(7, 10)) > 2 / 0.7
    True
    """
    scale = reachable_scale(Fraction(sensitivity) / _positive(epsilon))
    while laplace_loss(scale, sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=256)
def concentrated_scale(l2_squared: Fraction, rho: Fraction) -> float:
    """Return the smallest sigma at which Gaussian noise costs at most ``rho`` of zCDP.

    Notes
    -----
    ``l2_squared / (2 sigma^2) <= rho`` holds exactly (Canonne, Kamath and Steinke 2020,
    Theorem 14, for the discrete Gaussian on integer vectors).

    Examples
    --------
    >>> concentrated_scale(Fraction(1), Fraction(1, 8))
    2.0
    """
    square = Fraction(l2_squared) / (2 * _positive(rho))
    _check_reach(square)
    return root_at_least(square)


@lru_cache(maxsize=256)
def concentrated_rho(budget: Budget) -> Fraction:
    """Return the rho that ``budget`` buys, rounded down."""
    return zcdp_rho(budget.epsilon, _with_delta(budget).delta)


@lru_cache(maxsize=256)
def analytic_gaussian(l2_squared: Fraction, size: int, budget: Budget) -> GaussianNoise:
    """Noise of the analytic Gaussian mechanism for integers.

    The square of the L2 sensitivity is in squared units of the grid; delta is above 0.

    Notes
    -----
    sigma is the smallest at which continuous Gaussian noise satisfies
    ``Phi(D/(2s) - eps s/D) - e^eps Phi(-D/(2s) - eps s/D) <= 0.999 delta``.  What is drawn is a
    discrete Gaussian on a grid refined by a power of two.  A continuous Gaussian rounded to that
    grid post-processes the mechanism, and the discrete one is within total variation
    ``0.0202 / sigma_u^2`` of it per coordinate (sigma_u is sigma in refined units), which costs
    ``(1 + e^eps) d 0.0202 / sigma_u^2`` in delta.  The grid is so fine that this is a millionth
    of delta, and never more than the thousandth that is kept for it.  The mechanism rounds the
    draw to the original grid: post-processing.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8.

    Examples
    --------
    >>> from dprct.privacy.budget import Budget
    >>> round(analytic_gaussian(Fraction(1), 1, Budget(1, 1e-5)).sigma, 3)
    3.731
    """
    epsilon, delta = budget.epsilon, _with_delta(budget).delta
    mu = gdp_mu(epsilon, delta * (1 - SLACK_SHARE))
    square = Fraction(l2_squared) / mu**2
    _check_reach(square)
    sigma = root_at_least(square)
    allowed = delta * SLACK_SHARE / tv_delta(Fraction(1), epsilon)
    finest = size * ROUNDING_DISTANCE / allowed
    if finest > Fraction(SCALES[1]) ** 2:
        raise _too_fine(budget)
    least = root_at_least(finest)
    needed = min(max(_SPARE * least, _USUAL_SIGMA), max(least, _LARGEST_SIGMA))
    refinement = max(0, math.ceil(math.log2(needed / sigma)))
    scale = math.ldexp(sigma, refinement)
    if scale > SCALES[1]:
        raise _too_fine(budget)
    return GaussianNoise(scale, refinement, mu, size * ROUNDING_DISTANCE / Fraction(scale) ** 2)


def _too_fine(budget: Budget) -> ParameterError:
    return ParameterError(
        f"{budget} asks for a noise scale above 2^53 on the refined grid; give a larger delta, or "
        "a smaller epsilon"
    )


def _check_reach(square: Fraction) -> None:
    """Refuse the square of a scale that no sampler reaches, and that a float may not hold."""
    if square > Fraction(SCALES[1]) ** 2:
        raise ParameterError(
            "this budget, or the smallest part of it, asks for a noise scale above 2^53 steps of "
            "the grid, which no sampler reaches; give a larger epsilon"
        )
    if square < Fraction(SCALES[0]) ** 2:
        raise ParameterError(
            "this budget asks for a noise scale below 2^-40 steps of the grid, which no sampler "
            "reaches; give a smaller epsilon"
        )


def root_at_least(square: Fraction) -> float:
    """Return the smallest double whose square is not below ``square``.

    Examples
    --------
    >>> root_at_least(Fraction(9, 4))
    1.5
    """
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while Fraction(lower := math.nextafter(root, 0.0)) ** 2 >= square:
        root = lower
    return root


def _positive(value: Fraction) -> Fraction:
    if value <= 0:
        raise ParameterError(f"{float(value):g} pays for no release; give a number above 0")
    return value


def _with_delta(budget: Budget) -> Budget:
    if not budget.delta:
        raise ParameterError(
            "Gaussian noise needs delta > 0; give one far below 1/n, or use Laplace noise"
        )
    return budget


@dataclass(frozen=True, eq=False)
class NoisyVector:
    """A released vector.

    Parameters
    ----------
    units : array of int, shape (d,)
        The noisy integers.
    grid : Fraction
        What one unit is worth in the unit of the data.
    noise_sd : float
        Standard deviation of the noise of a coordinate, in the unit of the data; public.
    relation : {"replace-one", "add-remove", "replace-one-design-public"}
        The relation under which the mechanism's claim holds.
    simulation : bool
        A seed was given: no guarantee.

    Examples
    --------
    >>> from fractions import Fraction
    >>> NoisyVector(np.array([3, -1]), Fraction(1, 4), 0.5, "replace-one", False).values.tolist()
    [0.75, -0.25]
    """

    units: Integers
    grid: Fraction
    noise_sd: float
    relation: Relation
    simulation: bool

    @property
    def values(self) -> NDArray[np.float64]:
        """The noisy numbers in the unit of the data, shape (d,)."""
        return np.array([float(int(unit) * self.grid) for unit in self.units])


MAX_SIZE = 10_000_000
"""Coordinates of a vector that a mechanism takes; more is likely a mistake."""


class Mechanism(Protocol):
    """What every mechanism offers."""

    @property
    def budget(self) -> Budget:
        """The exact (epsilon, delta) that is claimed."""

    def cost(self) -> Charge:
        """Charge to be made before ``release``."""

    def describe(self) -> str:
        """Return the law of the noise in one sentence, from public numbers."""


class Pure:
    """What a mechanism of pure privacy claims, and what it costs."""

    __slots__ = ()

    epsilon: Fraction

    @property
    def budget(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    def cost(self) -> Charge:
        """Return the pure charge."""
        return Charge(self.budget, "pure")


@dataclass(frozen=True)
class DiscreteLaplace(Pure):
    r"""Independent discrete Laplace noise on an integer vector: pure differential privacy.

    Parameters
    ----------
    epsilon : number
        Above 0.
    l1 : int
        L1 sensitivity that the noise is calibrated to, in units of the grid.

    Notes
    -----
    P(Z = k) = (1 - a) / (1 + a) a^|k| with a = exp(-1 / scale) and scale = l1 / epsilon (raised
    by units in the last place so that l1 / scale <= epsilon exactly).  Under the aggregate's
    relation the log ratio of any two output probabilities is at most l1 / scale.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012), "Universally Utility-Maximizing Privacy
    Mechanisms".

    Examples
    --------
    >>> mechanism = DiscreteLaplace(0.5, l1=1)
    >>> mechanism.scale, round(mechanism.noise_sd, 3)
    (2.0, 2.799)
    >>> print(mechanism.describe())
    discrete Laplace noise of scale 2 on sums of L1 sensitivity 1 (epsilon=0.5)
    """

    epsilon: Fraction
    l1: int
    scale: float = field(init=False, repr=False, compare=False)
    """Scale of the noise in units of the grid; the law is exact for this double."""

    def __init__(self, epsilon: Real, l1: int) -> None:
        object.__setattr__(self, "epsilon", Budget.asked(epsilon).epsilon)
        object.__setattr__(self, "l1", _sensitivity(l1, "l1"))
        object.__setattr__(self, "scale", laplace_scale(self.l1, self.epsilon))

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise in units of the grid."""
        rate = 1 / self.scale  # sinh(rate / 2) in a form that a large rate does not overflow
        return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return (
            f"discrete Laplace noise of scale {self.scale:.6g} on sums of L1 sensitivity "
            f"{self.l1} ({self.budget})"
        )

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> NoisyVector:
        """Add the noise.

        Parameters
        ----------
        aggregate : IntegerVector
            With ``aggregate.l1 <= self.l1``.
        """
        values = _admitted(aggregate, "l1", self.l1)
        noise = source.discrete_laplace(self.scale, aggregate.size)
        return _noisy(aggregate, values + noise, self.noise_sd, source)


@dataclass(frozen=True)
class CubeNoise(Pure):
    r"""Discrete noise on several statistics at once, uniform in cubes: pure differential privacy.

    Parameters
    ----------
    epsilon : number
        Above 0.
    reach : int
        Sensitivity that the noise is calibrated to, in units of the grid: the sum over columns of
        the largest move of any of the statistics there (:class:`IntegerTable`).
    size : int
        J, the number of statistics.

    Notes
    -----
    Every column of J integers gets noise with P(x) proportional to exp(-max_j |x_j| / scale),
    scale = reach / epsilon (raised by units in the last place).  For neighbours the log ratio of
    probabilities is at most sum_a max_j |Delta_ja| / scale <= epsilon, by the triangle inequality
    in every column.  J independent Laplace draws at epsilon / J each protect the same; here the
    standard deviation of a coordinate is ((J + 1) (J + 2) / 3)^(1/2) scale instead of
    2^(1/2) J scale: 1.41 times smaller at J = 2, 1.64 at 3, 2.07 at 8.

    A coordinate is t U with t of the gamma law with J + 1 degrees and U uniform on [-1, 1], or, by
    integrating t out, plus or minus a gamma variate whose number of degrees is uniform on
    1, ..., J.

    References
    ----------
    Hardt and Talwar (2010), "On the Geometry of Differential Privacy"; Awan and Slavkovic (2021),
    "Structure and Sensitivity in Differential Privacy: Comparing K-Norm Mechanisms".

    Examples
    --------
    >>> mechanism = CubeNoise(0.5, reach=2**20, size=8)
    >>> round(8 * DiscreteLaplace(0.5, l1=2**20).noise_sd / mechanism.noise_sd, 2)
    2.07
    >>> CubeNoise(1, reach=4, size=2).describe()
    'noise uniform in cubes, scale 4, on 2 statistics of sensitivity 4 (epsilon=1)'
    """

    epsilon: Fraction
    reach: int
    size: int
    scale: float = field(init=False, repr=False, compare=False)
    """Scale of the noise in units of the grid; the law is exact for this double."""

    def __init__(self, epsilon: Real, reach: int, size: int) -> None:
        object.__setattr__(self, "epsilon", Budget.asked(epsilon).epsilon)
        object.__setattr__(self, "reach", _sensitivity(reach, "reach"))
        object.__setattr__(self, "size", _dimension(size))
        object.__setattr__(self, "scale", laplace_scale(self.reach, self.epsilon))

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of a coordinate, in units of the grid."""
        # E t (t + 1) / 3; the sum over half integers is the gamma integral where the scale is large
        if self.scale > _CUBE_LARGE:
            return self.scale * math.sqrt((self.size + 1) * (self.size + 2) / 3)
        t = np.arange(math.ceil(self.scale * (4 * self.size + 60)) + 1)
        logs = self.size * np.log(2 * t + 1.0) - t / self.scale
        weights = np.exp(logs - logs.max())
        return float(np.sqrt((weights * t * (t + 1)).sum() / weights.sum() / 3))

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return (
            f"noise uniform in cubes, scale {self.scale:.6g}, on {self.size} statistics of "
            f"sensitivity {self.reach} ({self.budget})"
        )

    def release(self, aggregate: IntegerTable, source: NoiseSource) -> tuple[NoisyVector, ...]:
        """Add the noise.

        Parameters
        ----------
        aggregate : IntegerTable
            Of ``size`` rows, with ``aggregate.reach <= self.reach``.

        Returns
        -------
        tuple of NoisyVector, length J
            Rows, each in its own unit.
        """
        if not isinstance(aggregate, IntegerTable):
            raise ParameterError(
                f"got ``{type(aggregate).__name__}``; this mechanism releases an IntegerTable"
            )
        rows, columns = aggregate.shape
        if aggregate.reach > self.reach or rows != self.size:
            raise ParameterError(
                f"the aggregate has {rows} rows that one record changes by {aggregate.reach}, the "
                f"noise covers {self.size} and {self.reach}; make the mechanism for the aggregate"
            )
        noise = source.cubes(self.scale, rows, columns)
        sd, simulation = self.noise_sd, source.simulation
        return tuple(
            NoisyVector(units, grid, sd * float(grid), aggregate.relation, simulation)
            for units, grid in zip(_open(aggregate) + noise.T, aggregate.grids, strict=True)
        )


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent discrete Gaussian noise on an integer vector: zero-concentrated privacy.

    Parameters
    ----------
    budget : Budget
        (epsilon, delta) with delta > 0; the largest rho that converts to it is spent.
    l2_squared : Fraction or int
        Square of the L2 sensitivity that the noise is calibrated to, in squared grid units.

    Notes
    -----
    P(Z = k) is proportional to exp(-k^2 / (2 scale^2)) on the integers.  The release satisfies
    rho-zCDP with rho = l2_squared / (2 scale^2).  Prefer :class:`AnalyticGaussian` for one
    release at a given (epsilon, delta), and this one where several compose under zCDP.

    References
    ----------
    Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy",
    Theorem 14.

    Examples
    --------
    >>> mechanism = DiscreteGaussian(Budget(1, 1e-6), l2_squared=2)
    >>> mechanism.cost().measure, round(mechanism.scale, 2)
    ('zcdp', 6.41)
    """

    budget: Budget
    l2_squared: Fraction
    rho: Fraction = field(init=False, repr=False, compare=False)
    """Parameter of zero-concentrated privacy that is spent."""
    scale: float = field(init=False, repr=False, compare=False)
    """The sigma of the draw in units of the grid; the law is exact for this double."""

    def __init__(self, budget: Budget, l2_squared: Fraction | int) -> None:
        object.__setattr__(self, "budget", Budget.asked(budget.epsilon, budget.delta))
        object.__setattr__(self, "l2_squared", _squared_sensitivity(l2_squared))
        object.__setattr__(self, "rho", concentrated_rho(self.budget))
        object.__setattr__(self, "scale", concentrated_scale(self.l2_squared, self.rho))

    @property
    def noise_sd(self) -> float:
        """Upper bound on the standard deviation in units of the grid (close unless tiny)."""
        return self.scale

    def cost(self) -> Charge:
        """Return the zCDP charge."""
        return Charge(self.budget, "zcdp", self.rho)

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return (
            f"discrete Gaussian noise of scale {self.scale:.6g} on sums of L2 sensitivity "
            f"{math.sqrt(self.l2_squared):.6g} (rho={float(self.rho):.6g}, hence {self.budget})"
        )

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> NoisyVector:
        """Add the noise; ``aggregate.l2_squared`` must not exceed ``self.l2_squared``."""
        values = _admitted(aggregate, "l2_squared", self.l2_squared)
        noise = source.discrete_gaussian(self.scale, aggregate.size)
        return _noisy(aggregate, values + noise, self.noise_sd, source)


@dataclass(frozen=True)
class AnalyticGaussian:
    """Gaussian noise of the smallest sigma for (epsilon, delta), on integers.

    Parameters
    ----------
    budget : Budget
        (epsilon, delta) with delta > 0.
    l2_squared : Fraction or int
        Square of the L2 sensitivity that the noise is calibrated to, in squared grid units.
    size : int
        Number of coordinates.

    Notes
    -----
    Z = round(N / 2^r) where N is discrete Gaussian on a grid 2^r times finer; the claim and the
    slack (1 + e^eps) d 0.0202 / sigma_u^2 in delta are derived in
    :func:`dprct.privacy.mechanisms.analytic_gaussian`.  The delta claimed contains the slack.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8.

    Examples
    --------
    >>> mechanism = AnalyticGaussian(Budget(1, 1e-5), l2_squared=1, size=1)
    >>> mechanism.cost().measure, round(mechanism.noise_sd, 2)
    ('gdp', 3.74)
    """

    budget: Budget
    l2_squared: Fraction
    size: int
    noise: GaussianNoise = field(init=False, repr=False, compare=False)
    """Scale, refinement, mu and slack of the draw."""

    def __init__(self, budget: Budget, l2_squared: Fraction | int, size: int) -> None:
        asked = Budget.asked(budget.epsilon, budget.delta)
        square, coordinates = _squared_sensitivity(l2_squared), _dimension(size)
        object.__setattr__(self, "budget", asked)
        object.__setattr__(self, "l2_squared", square)
        object.__setattr__(self, "size", coordinates)
        object.__setattr__(self, "noise", analytic_gaussian(square, coordinates, asked))

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise in units of the grid; rounding adds 1/12 at most."""
        noise = self.noise
        return math.sqrt(noise.sigma**2 + (1 / 12 if noise.refinement else 0.0))

    @property
    def rho(self) -> Fraction:
        """Parameter of zero-concentrated privacy: of the discrete Gaussian before it is rounded."""
        noise = self.noise
        return self.l2_squared * (1 << 2 * noise.refinement) / (2 * Fraction(noise.scale) ** 2)

    def cost(self) -> Charge:
        """Return the Gaussian-DP charge with its slack, and the rho of the same draw."""
        return Charge(self.budget, "gdp", self.noise.mu, self.noise.slack, rho=self.rho)

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return (
            f"Gaussian noise of standard deviation {self.noise.sigma:.6g}, drawn exactly on "
            f"integers, on sums of L2 sensitivity {math.sqrt(self.l2_squared):.6g} "
            f"(mu={float(self.noise.mu):.6g}, hence {self.budget})"
        )

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> NoisyVector:
        """Add the noise; the aggregate must have ``self.size`` coordinates and fit in L2."""
        values = _admitted(aggregate, "l2_squared", self.l2_squared)
        if aggregate.size != self.size:
            raise ParameterError(
                f"the aggregate has {aggregate.size} coordinates, the mechanism was described "
                f"for {self.size}; make the mechanism for the aggregate's size"
            )
        noise = source.discrete_gaussian(self.noise.scale, self.size)
        units = values + _rounded(noise, self.noise.refinement)
        return _noisy(aggregate, units, self.noise_sd, source)


def _admitted(aggregate: IntegerVector, norm: str, covered: Fraction | int) -> NDArray[Any]:
    """Open the aggregate if its sensitivity is covered."""
    if not isinstance(aggregate, IntegerVector):
        raise ParameterError(
            f"got ``{type(aggregate).__name__}``; this mechanism releases an IntegerVector"
        )
    if getattr(aggregate, norm) > covered:
        raise ParameterError(
            f"the aggregate has ``{norm}={getattr(aggregate, norm)}``, the noise covers {covered}; "
            "make the mechanism for the aggregate's sensitivity"
        )
    _dimension(aggregate.size)
    values: NDArray[Any] = _open(aggregate)
    return values


def _noisy(
    aggregate: IntegerVector, units: Integers, noise_sd: float, source: NoiseSource
) -> NoisyVector:
    return NoisyVector(
        units,
        aggregate.grid,
        noise_sd * float(aggregate.grid),
        aggregate.relation,
        source.simulation,
    )


def _rounded(noise: Integers, refinement: int) -> Integers:
    """Round multiples of ``2 ** -refinement`` to whole numbers, halves upwards."""
    half = (1 << refinement) >> 1
    return (noise + half) >> refinement


def _sensitivity(value: int, name: str) -> int:
    if type(value) is not int or value < 1:
        raise ParameterError(f"{name} must be a whole number of grid units, at least 1")
    return value


def _squared_sensitivity(value: Fraction | int) -> Fraction:
    squared = exact(value, "l2_squared")
    if squared <= 0:
        raise ParameterError("l2_squared must be above 0; give the squared L2 sensitivity")
    return squared


def _dimension(size: int) -> int:
    if not 1 <= size <= MAX_SIZE:
        raise ParameterError(f"``size={size}`` is outside 1 to {MAX_SIZE}; ask for fewer numbers")
    return size


Part = TypeVar("Part")


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
        Membership must not depend on any value that the relation protects.
    rows : int, default 1
        Most rows that one unit may have.  Mechanisms are calibrated to one row.
    composition : {"sequential", "zcdp", "gdp"}
        How the claim of the whole follows from its parts: their epsilons and deltas add up, or
        their rho or mu squared does, of which the sum is converted to ``budget``.

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

    def part(self, name: str, kind: type[Part]) -> Part:
        """Return a part that is of a known kind."""
        found = self.parts[name]
        assert isinstance(found, kind)
        return found

    def cost(self) -> Charge:
        """Charge before a fit draws: the claim, and what is proved besides it."""
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
        """Return the charge of a sum of rho or mu squared; refuse a missing proof."""
        if self.composition == "zcdp" and rho is not None:
            return Charge(self.budget, "zcdp", rho)
        if self.composition == "gdp" and gaussian is not None:
            square, slack = gaussian
            return Charge(self.budget, "gdp", root(square), slack, rho=rho, gaussian=gaussian)
        raise ParameterError(
            f"``composition={self.composition!r}`` needs a proved rho or mu of every mechanism; "
            "add epsilons and deltas up with ``composition='sequential'``"
        )


def split(asked: Mapping[str, Real] | None, parts: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the share of a budget that each part has, of sum one.

    Parameters
    ----------
    asked : mapping from part to number, or None
        ``budget_shares=`` of a method; the default proportions if None.
    parts : mapping from part to int
        The parts that the fit has, with their default proportions.

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
            f"``budget_shares=`` is ``{type(asked).__name__}``; give a ``mapping`` from each of "
            f"{', '.join(parts)} to its share of the budget"
        )
    found = {
        str(name): exact(share, "a share in ``budget_shares=``") for name, share in asked.items()
    }
    if set(found) != set(parts) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"``budget_shares=`` names {', '.join(found) or 'nothing'}; give a positive share "
            f"for each of {', '.join(parts)}"
        )
    if sum(found.values()) != 1:
        raise ParameterError(
            "``budget_shares=`` do not sum to one exactly; give fractions or decimals that do"
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
