"""Mechanisms as values: what is drawn, what it costs, and the draw itself, in this order.

A mechanism knows public numbers only. It is made, described and charged before it sees an
aggregate, and it cannot be made with a scale that no sampler reaches; ``release`` opens the
aggregate, adds the noise and returns what may be published. The caller charges ``mechanism.cost()``
first: ``release`` does not know an accountant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.aggregates import IntegerVector, _open
from dprct.privacy.budget import Budget, exact
from dprct.privacy.calibration import (
    GaussianNoise,
    analytic_gaussian,
    concentrated_rho,
    concentrated_scale,
    laplace_scale,
    reachable_scale,
)
from dprct.privacy.composition import Charge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Relation
    from dprct.privacy.noise import Integers, NoiseSource


@dataclass(frozen=True, slots=True, eq=False)
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
        """Return what to charge before ``release``."""

    def describe(self) -> str:
        """Return the law of the noise in one sentence, from public numbers."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
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

    @property
    def budget(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    def cost(self) -> Charge:
        """Return the pure charge."""
        return Charge(self.budget, "pure")

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
        source : NoiseSource

        Returns
        -------
        NoisyVector

        Raises
        ------
        ParameterError
            If the aggregate is of another kind or more sensitive than declared.
        """
        values = _admitted(aggregate, "l1", self.l1)
        noise = source.discrete_laplace(self.scale, aggregate.size)
        return _noisy(aggregate, values + noise, self.noise_sd, source)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    :func:`dprct.privacy.calibration.analytic_gaussian`.  The delta claimed contains the slack.

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


@dataclass(frozen=True, slots=True)
class Exponential:
    """Choice of one candidate by its integer score: the exponential mechanism, pure.

    Parameters
    ----------
    epsilon : number
        Above 0.
    l_inf : int
        By how much one record changes any score, at most, in units of the grid.

    Notes
    -----
    P(i) = exp(score_i / scale) / sum_j exp(score_j / scale), scale = 2 l_inf / epsilon (rounded
    up).  Drawn as the largest score plus Gumbel noise, whose digits OpenDP draws until the
    comparison is certain, so the law is exact.

    References
    ----------
    McSherry and Talwar (2007), "Mechanism Design via Differential Privacy", Theorem 6.

    Examples
    --------
    >>> print(Exponential(1, l_inf=1).describe())
    exponential mechanism of scale 2 on scores of sensitivity 1 (epsilon=1)
    """

    epsilon: Fraction
    l_inf: int
    scale: float = field(init=False, repr=False, compare=False)
    """Scale of the scores; the law is exact for this double."""

    def __init__(self, epsilon: Real, l_inf: int) -> None:
        object.__setattr__(self, "epsilon", Budget.asked(epsilon).epsilon)
        object.__setattr__(self, "l_inf", _sensitivity(l_inf, "l_inf"))
        object.__setattr__(self, "scale", reachable_scale(2 * self.l_inf / self.epsilon))

    @property
    def budget(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    def cost(self) -> Charge:
        """Return the pure charge."""
        return Charge(self.budget, "pure")

    def describe(self) -> str:
        """Return the law of the choice in one sentence."""
        return (
            f"exponential mechanism of scale {self.scale:.6g} on scores of sensitivity "
            f"{self.l_inf} ({self.budget})"
        )

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> int:
        """Return the index of the chosen score; ``aggregate.l_inf`` must not exceed ours."""
        scores = _admitted(aggregate, "l_inf", self.l_inf)
        if scores.dtype == object:
            raise ParameterError("scores must fit into int64; round them to a coarser grid")
        return source.noisy_argmax(scores.tolist(), self.scale)


def _admitted(aggregate: IntegerVector, norm: str, covered: Fraction | int) -> NDArray[Any]:
    """Open the aggregate if its sensitivity is covered."""
    if not isinstance(aggregate, IntegerVector):
        raise ParameterError(
            f"got {type(aggregate).__name__}; this mechanism releases an IntegerVector"
        )
    if getattr(aggregate, norm) > covered:
        raise ParameterError(
            f"the aggregate has {norm}={getattr(aggregate, norm)}, the noise covers {covered}; "
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
        raise ParameterError(f"size={size} is outside 1 to {MAX_SIZE}; ask for fewer numbers")
    return size
