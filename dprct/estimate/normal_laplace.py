"""The law of an effect's error: sampling, about normal, plus one or more Laplace draws.

N(0, V) + Laplace(b) has a closed distribution function.  It is written here with the scaled
complementary error function, so that no exponential overflows and tails keep their digits.  Two
draws are a mixture of two such laws; more than two are in ``several_laplaces``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from dprct.errors import ParameterError
from dprct.estimate.several_laplaces import quantile_of_sum, tail_of_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.floating[Any]]

_ROOT_HALF = math.sqrt(0.5)
_APART = 2e-3
"""Squared scales closer than this, relatively, are moved apart symmetrically (error about 1e-6)."""

_STEPS = 90


def tail(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """Return P(N(0, variance) + Laplace(scale) > x) for x >= 0, elementwise.

    Parameters
    ----------
    x : array
        At least 0.
    variance : array
        At least 0.
    scale : array
        Above 0.

    Notes
    -----
    With s^2 = variance, z = x / s, t = s / scale:
    Phi(-z) + e^(t^2/2 - zt) Phi(z - t) / 2 - e^(t^2/2 + zt) Phi(-z - t) / 2
    (ALGORITHMS.md, section 4).  e^(t^2/2 + zt) Phi(-z - t) = e^(-z^2/2) erfcx((z + t)/sqrt 2) / 2.

    Examples
    --------
    >>> bool(np.isclose(tail(2.0, 0.0, 1.0), np.exp(-2) / 2))
    True
    """
    z, upper, lower = _sides(x, variance, scale)
    found: Array = special.ndtr(-z) + (upper - lower) / 2
    return found


def density(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """Return the density of N(0, variance) + Laplace(scale) at x >= 0, elementwise.

    Examples
    --------
    >>> float(density(0.0, 0.0, 1.0))
    0.5
    """
    _, upper, lower = _sides(x, variance, scale)
    found: Array = (upper + lower) / (2 * np.asarray(scale, np.float64))
    return found


def widening(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """Return dx / dvariance along a fixed tail probability, elementwise.

    Notes
    -----
    The density f solves the heat equation, so that the tail grows with the variance by -f' / 2;
    both f' and f are made of the two terms of the tail.

    Examples
    --------
    >>> float(widening(3.0, 0.0, 1.0))
    0.5
    """
    _, upper, lower = _sides(x, variance, scale)
    found: Array = (upper - lower) / (upper + lower) / (2 * np.asarray(scale, np.float64))
    return found


def cdf(x: ArrayLike, variance: float, scales: tuple[float, ...]) -> Array:
    """Return the distribution function of N(0, variance) + Laplace(b1) [+ Laplace(b2) ...].

    Parameters
    ----------
    x : array
    variance : float
    scales : tuple of floats, at least one
        Above 0.

    Notes
    -----
    Two scales: F = (b1^2 F_b1 - b2^2 F_b2) / (b1^2 - b2^2), by partial fractions of the
    characteristic function; (almost) equal ones are moved apart, their sum of squares kept.  More
    than two: :func:`~dprct.estimate.several_laplaces.tail_of_sum`.

    Examples
    --------
    >>> float(cdf(0.0, 1.0, (1.0, 2.0)))
    0.5
    """
    x = np.asarray(x, np.float64)
    upper = (
        tail_of_sum(np.abs(x), variance, scales)
        if len(scales) > 2
        else sum(w * tail(np.abs(x), variance, b) for w, b in _mixture(scales))
    )
    found: Array = np.where(x < 0, upper, 1 - upper)
    return found


def quantile(alpha: ArrayLike, variance: ArrayLike, scales: tuple[float, ...]) -> Array:
    """Return q with P(|N(0, variance) + Laplaces| > q) = alpha: the half width of an interval.

    Parameters
    ----------
    alpha : array
        In (0, 1).
    variance : array
        At least 0; broadcast against ``alpha``.
    scales : tuple of floats, at least one

    Examples
    --------
    >>> float(np.round(quantile(0.05, 0.0, (1.0,)), 4))
    2.9957
    """
    a, v = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(variance, np.float64))
    if not ((a > 0) & (a < 1)).all():
        raise ParameterError("alpha is outside (0, 1); give a number such as 0.05")
    if len(scales) > 2:
        return quantile_of_sum(a, v, scales)
    parts = _mixture(scales)
    low = np.zeros(a.shape)
    # P(|N + L| > q) is at most the sum of what each part exceeds at its share of q
    each = a / (1 + len(scales))
    high = np.sqrt(v) * -special.ndtri(each / 2) - sum(scales) * np.log(each)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = 2 * sum(w * tail(middle, v, b) for w, b in parts) > a
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)


def _mixture(scales: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """Return the (weight, scale) whose tails add up to that of the sum of Laplaces."""
    if len(scales) == 1:
        return ((1.0, scales[0]),)
    u1, u2 = (b * b for b in scales)
    middle = (u1 + u2) / 2
    if abs(u1 - u2) < _APART * middle:
        u1, u2 = middle * (1 + _APART / 2), middle * (1 - _APART / 2)
    return ((u1 / (u1 - u2), math.sqrt(u1)), (u2 / (u2 - u1), math.sqrt(u2)))


def _sides(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> tuple[Array, Array, Array]:
    """Return z, e^(t^2/2 - zt) Phi(z - t) and e^(t^2/2 + zt) Phi(-z - t); no overflow."""
    x, v, b = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (x, variance, scale)))
    s = np.sqrt(v)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z, t = np.where(s > 0, x / s, np.inf), s / b
        bell = np.exp(-z * z / 2)
        near = bell * special.erfcx((t - z) * _ROOT_HALF) / 2
        far = np.exp(t * t / 2 - x / b) * special.ndtr(z - t)
        lower = bell * special.erfcx((t + z) * _ROOT_HALF) / 2
    return z, np.where(z < t, near, far), lower
