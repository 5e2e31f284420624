"""How much noise a budget buys, as the double that the sampler takes; always on the safe side.

A sampler's scale is a double, that is a rational number.  Each function returns the smallest
double (or one a few units in the last place above it) at which the claim is true in exact
arithmetic, so that what is charged is the decimal that was asked for.  A scale that no sampler
reaches is refused here, where a mechanism is made and nothing is charged yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dprct.errors import ParameterError
from dprct.privacy.composition import SLACK_SHARE, gdp_mu, tv_delta, zcdp_rho
from dprct.privacy.noise import SCALES, laplace_loss

if TYPE_CHECKING:
    from dprct.privacy.budget import Budget

ROUNDING_DISTANCE = Fraction(202, 10_000)
"""Total variation between a rounded and a discrete Gaussian is below this over sigma squared.

The constant is 0.968 / 48 = 0.02017 in the limit; the bound holds for sigma of 10 or more.
"""

_USUAL_SIGMA = 2**20
_LARGEST_SIGMA = 2**50
_SPARE = 32


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """A discrete Gaussian that stands in for a continuous one.

    Parameters
    ----------
    scale : float
        sigma of the draw, in units of the grid divided by ``2 ** refinement``.
    refinement : int
        By how many binary digits the grid is refined before the draw.
    mu : Fraction
        Parameter of Gaussian differential privacy of the continuous noise.
    slack : Fraction
        Bound on the total variation between the draw and the rounded continuous noise.
    """

    scale: float
    refinement: int
    mu: Fraction
    slack: Fraction

    @property
    def sigma(self) -> float:
        """Standard deviation in units of the grid."""
        return math.ldexp(self.scale, -self.refinement)


def double_at_least(value: Fraction) -> float:
    """Return the smallest double that is not below ``value``.

    Examples
    --------
    >>> Fraction(double_at_least(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def reachable_scale(scale: Fraction) -> float:
    """Return the smallest double that is not below ``scale``.

    Raises
    ------
    ParameterError
        If no sampler reaches it.

    Examples
    --------
    >>> reachable_scale(Fraction(3, 2))
    1.5
    """
    _check_reach(scale**2)
    return double_at_least(scale)


@lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, epsilon: Fraction) -> float:
    """Return the scale at which discrete Laplace noise costs at most ``epsilon``.

    Parameters
    ----------
    sensitivity : int
        L1, in units of the grid.
    epsilon : Fraction

    Returns
    -------
    float
        ``sensitivity / epsilon``, raised by units in the last place until the exact ratio and
        the one that OpenDP certifies (rounded up) are at most ``epsilon``.

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
    """Return the noise of the analytic Gaussian mechanism for integers.

    Parameters
    ----------
    l2_squared : Fraction
        Square of the L2 sensitivity, in squared units of the grid.
    size : int
        Number of coordinates, d.
    budget : Budget
        With ``delta > 0``.

    Returns
    -------
    GaussianNoise

    Raises
    ------
    ParameterError
        If ``delta`` is 0, or so small that no sampler reaches the scale; known before a charge.

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
        raise ParameterError(f"{float(value):g} buys no release; give a number above 0")
    return value


def _with_delta(budget: Budget) -> Budget:
    if not budget.delta:
        raise ParameterError(
            "Gaussian noise needs delta > 0; give one far below 1/n, or use Laplace noise"
        )
    return budget
