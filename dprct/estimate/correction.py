"""c(rho): how much a noisy variance is raised so that intervals cover (ALGORITHMS.md, section 4).

An effect's error is N(0, V) + Laplace(b).  V is released as V + Laplace(b_V), b_V = rho b^2, and
the interval uses V~ = max(0, V + Laplace(b_V) + c b_V).  Taking b = 1, its coverage is a function
of r = V / b^2, rho, c and the level alone; c(rho, level) is the smallest c whose worst coverage
over all r reaches the level.  Everything here is a function of public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from dprct.errors import ParameterError
from dprct.estimate.normal_laplace import density, quantile, tail, widening

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

LARGEST_RHO = 1e4
"""Beyond it (epsilon in the thousands) nothing is computed, and nothing protected."""

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class _Level:
    """Tables of one level: x0, the half width without sampling error, and V at a half width x."""

    x0: float
    variance_at: Callable[[Array], Array]
    width_at: Callable[[Array], Array]


def correction(rho: float, alpha: float = 0.05) -> float:
    """Return c(rho) at level 1 - alpha, rounded up by at most 1e-6.

    Parameters
    ----------
    rho : float
        b_V / b^2, in (0, 1e4].
    alpha : float
        In (0, 1).

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    ParameterError
        If rho or alpha is outside its range.

    Notes
    -----
    Coverage rises with c, because V~ does.  The tabulated values of ALGORITHMS.md allow the worst
    coverage to fall short by 2e-4; here it does not.

    Examples
    --------
    >>> round(correction(1.0), 2)
    0.38
    """
    if not 0 < rho <= LARGEST_RHO:
        raise ParameterError(f"rho={rho:g} is outside (0, {LARGEST_RHO:g}]; lower epsilon")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha:g} is outside (0, 1); give a number such as 0.05")
    return _correction(float(rho), float(alpha))


@lru_cache(maxsize=4096)
def _correction(rho: float, alpha: float) -> float:
    ratios = _ratios(rho)
    if _shortfall(0.0, rho, alpha, ratios) <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while _shortfall(high, rho, alpha, ratios) > 0:
        low, high = high, 2 * high
    root = brentq(_shortfall, low, high, args=(rho, alpha, ratios), xtol=_TOLERANCE)
    return float(root) + 2 * _TOLERANCE


def worst_coverage(rho: float, c: float, alpha: float = 0.05) -> float:
    """Return the smallest coverage of the interval over all V / b^2.

    Examples
    --------
    >>> bool(worst_coverage(1.0, 0.0) < 0.95 < worst_coverage(1.0, 0.5))
    True
    """
    return 1 - alpha - _shortfall(c, rho, alpha, _ratios(rho))


def coverage(ratio: Array, rho: float, c: float, alpha: float = 0.05) -> Array:
    """Return the coverage of the interval at each V / b^2.

    Parameters
    ----------
    ratio : (m,) array
        V / b^2, at least 0.

    Notes
    -----
    |X| <= q(V~) if and only if V~ >= v(|X|), v being the inverse of q.  Hence coverage is
    P(|X| <= q(0)) + integral over x > q(0) of 2 f(x) P(V + Laplace + c b_V >= v(x)) dx, where f is
    the density of X.  The integrand is smooth on both sides of x* = q(V + c b_V), and panels
    shrink towards it.

    Examples
    --------
    >>> bool(coverage(np.array([0.0]), 1.0, 0.0)[0] > 0.95)
    True
    """
    level = _level(alpha)
    r = np.asarray(ratio, np.float64)[:, None]
    centre = r + rho * c
    x, weight = _panels(r, level.width_at(centre), level.x0)
    gap = (level.variance_at(x) - centre) / rho
    reached = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
    beyond = (weight * 2 * density(x, r, 1.0) * reached).sum(axis=1)
    inside = 1 - 2 * tail(level.x0, r[:, 0], 1.0)
    found: Array = inside + beyond
    return found


def _shortfall(c: float, rho: float, alpha: float, ratios: Array) -> float:
    """Return by how much the worst coverage misses the level; refined at every local worst."""
    short = 1 - alpha - coverage(ratios, rho, c, alpha)
    peaks = 1 + np.flatnonzero((short[1:-1] >= short[:-2]) & (short[1:-1] >= short[2:]))
    found = [_refined(c, rho, alpha, ratios[i - 1], ratios[i + 1]) for i in peaks]
    return max(float(short.max()), *found, -1.0)


def _refined(c: float, rho: float, alpha: float, low: float, high: float) -> float:
    """Return the largest shortfall between two ratios around a peak."""
    for _ in range(2):
        ratios = np.geomspace(low, high, 12)
        short = 1 - alpha - coverage(ratios, rho, c, alpha)
        top = int(np.argmax(short))
        low, high = ratios[max(top - 1, 0)], ratios[min(top + 1, 11)]
    return float(short.max())


def _ratios(rho: float) -> Array:
    # far above, V~ / V tends to one from a side on which the interval covers; see the tests
    return np.geomspace(1e-5, 300 * max(1.0, rho), 50)


def _panels(ratio: Array, kink: Array, x0: float) -> tuple[Array, Array]:
    """Return nodes (m, p) and weights from x0 to where the density ends, fine near the kink."""
    end = np.maximum(x0, kink) + 9 * np.sqrt(ratio) + 45
    towards = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 18)])
    both = np.concatenate([towards / 2, 1 - towards[-2::-1] / 2])
    left = x0 + (kink - x0) * both
    right = kink + (end - kink) * towards
    edges = np.concatenate([left, right[:, 1:]], axis=1)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    middle = (edges[:, :-1] + edges[:, 1:])[:, :, None] / 2
    shape = (len(ratio), -1)
    return (middle + half * _POINTS).reshape(shape), (half * _WEIGHTS).reshape(shape)


@lru_cache(maxsize=256)
def _level(alpha: float) -> _Level:
    v = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 2500)])
    x = quantile(alpha, v, (1.0,))
    slope = widening(x, v, 1.0)
    widths = CubicHermiteSpline(v, x, slope)
    return _Level(float(x[0]), CubicHermiteSpline(x, v, 1 / slope), widths)
