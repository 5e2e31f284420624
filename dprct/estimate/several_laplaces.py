"""The law of a contrast of several arms: normal plus any number of Laplace draws, equal or not.

Partial fractions cancel where scales are alike, and the main effects of a factorial experiment
have many that are equal.  Here the tail is a contour integral instead, which keeps its relative
accuracy however far out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

_BEND = math.tan(math.pi / 8)
"""The contour ends at 22.5 degrees from the vertical: half way to where e^(v s^2 / 2) grows."""

_STEP, _REACH = 1 / 16, 10.0
_U = np.arange(0, _REACH, _STEP)
_PATH = _BEND * (np.cosh(_U) - 1) + 1j * np.sinh(_U)
_SLOPE = _BEND * np.sinh(_U) + 1j * np.cosh(_U)
_SLOPE[0] /= 2  # half of the path is summed; its other half is the complex conjugate

_HALVINGS, _MOST_STEPS = 40, 60


@dataclass(frozen=True, slots=True)
class _Law:
    """N(0, variance) + Laplaces, in units of its standard deviation; arrays of one shape."""

    variance: Array
    scales: tuple[Array, ...]

    def saddle(self, x: Array) -> Array:
        """Return where e^(K(s) - s x) / s is least between 0 and the first pole."""
        first = 1 / np.maximum.reduce(self.scales)
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = (x + np.sqrt(x * x + 4 * self.variance)) / (2 * self.variance)
        low, high = np.zeros(x.shape), np.fmin(first, np.where(self.variance > 0, normal, first))
        for _ in range(_HALVINGS):
            s = (low + high) / 2
            slope = sum(2 * b * b * s / (1 - (b * s) ** 2) for b in self.scales)
            above = self.variance * s + slope - x - 1 / s > 0
            low, high = np.where(above, low, s), np.where(above, s, high)
        found: Array = (low + high) / 2
        return found

    def curvature(self, s: Array) -> Array:
        """Return the second derivative of K(s) - log s."""
        squares = [(b * s) ** 2 for b in self.scales]
        laplace = sum(
            2 * b * b * (1 + u) / (1 - u) ** 2 for b, u in zip(self.scales, squares, strict=True)
        )
        found: Array = self.variance + laplace + 1 / s**2
        return found

    def tail(self, x: Array) -> tuple[Array, Array]:
        """Return P(X > x) and the density, both (...,), for x >= 0."""
        at = self.saddle(x)
        width = 1 / np.sqrt(self.curvature(at))
        s = at[..., None] + width[..., None] * _PATH
        height = np.exp(self.variance[..., None] / 2 * s * s - s * x[..., None])
        for b in self.scales:
            height = height / (1 - (b[..., None] * s) ** 2)
        height = height * _SLOPE * (width[..., None] * _STEP / math.pi)
        return (height / s).imag.sum(axis=-1), height.imag.sum(axis=-1)


def tail_of_sum(x: ArrayLike, variance: ArrayLike, scales: tuple[float, ...]) -> Array:
    """Return P(N(0, variance) + Laplace(b1) + ... + Laplace(bm) > x) for x >= 0, elementwise.

    Parameters
    ----------
    x, variance : array
        At least 0; broadcast against each other.
    scales : tuple of m floats
        Above 0, in any order, some or all of them equal; m at least 3.

    Notes
    -----
    With K(s) = variance s^2 / 2 - sum_j log(1 - b_j^2 s^2), the tail is
    (1 / 2 pi i) integral of e^(K(s) - s x) / s over a line between 0 and the least 1 / b_j.  The
    exponent is convex on the real axis there; the line goes through its least point, where the
    integrand is as small as the tail itself, so that nothing cancels.  It is bent to a hyperbola,
    s = s0 + w (tan(pi/8) (cosh u - 1) + i sinh u), along which the integrand falls whether a
    normal or a Laplace part rules; all singularities are real, so that none is passed.  The
    trapezoidal rule in u then has an error of about e^(-pi^2 / (4 step)), here below 1e-13; what
    the path leaves out is below 1e-12.

    References
    ----------
    Daniels (1954), Saddlepoint approximations in statistics (the path); Trefethen and Weideman
    (2014), The exponentially convergent trapezoidal rule, section 15.

    Examples
    --------
    >>> bool(np.isclose(tail_of_sum(0.0, 1.0, (1.0, 1.0, 2.0)), 0.5))
    True
    """
    law, x, _ = _standardised(x, variance, scales)
    return law.tail(x)[0]


def quantile_of_sum(alpha: ArrayLike, variance: ArrayLike, scales: tuple[float, ...]) -> Array:
    """Return q with P(|N(0, variance) + Laplaces| > q) = alpha, elementwise.

    Parameters
    ----------
    alpha : array
        In (0, 1).
    variance : array
    scales : tuple of floats

    Notes
    -----
    The law is log-concave, being a convolution of log-concave ones, so that the logarithm of the
    tail is concave: Newton's steps on it come from the right after the first and cannot miss.

    Examples
    --------
    >>> q = quantile_of_sum(0.05, 1.0, (1.0, 1.0, 2.0))
    >>> bool(np.isclose(2 * tail_of_sum(q, 1.0, (1.0, 1.0, 2.0)), 0.05))
    True
    """
    law, a, unit = _standardised(alpha, variance, scales, divide=False)
    target = np.log(a / 2)
    x = np.sqrt(-2 * target) * (1 - a)
    for _ in range(_MOST_STEPS):
        above, density = law.tail(x)
        step = (np.log(above) - target) * above / density
        x = np.maximum(x + step, 0.0)
        if (np.abs(step) <= 1e-12 * x).all():
            break
    return np.asarray(x * unit)


def _standardised(
    x: ArrayLike, variance: ArrayLike, scales: tuple[float, ...], *, divide: bool = True
) -> tuple[_Law, Array, Any]:
    """Return the law in units of its standard deviation, the argument, and the unit."""
    at, v = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(variance, np.float64))
    unit = np.sqrt(v + 2 * math.fsum(b * b for b in scales))
    law = _Law(v / unit**2, tuple(b / unit for b in scales))
    return law, np.asarray(at / unit if divide else at), unit
