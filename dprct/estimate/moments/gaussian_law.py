"""How much a variance released with Gaussian noise is raised so that intervals keep their level.

An effect has the error N(0, V + v): V is its sampling variance, v the known variance of its noise.
V is released with Gaussian noise of standard deviation om.  The interval takes z times the root of
max(0, V~ + kappa om) + v.  With v = 1 its coverage is a function of V, om / v, kappa and the level
alone; kappa(om / v, level) is the smallest kappa whose worst coverage over all V >= 0 reaches the
level.  Everything here is a function of public numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.roots import root
from dprct.lazy import special
from dprct.results.base import checked_alpha

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

LARGEST_RATIO = 1e4
"""Beyond it (epsilon in the thousands) nothing is computed, and nothing protected."""

ALPHAS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.5, 0.9)
"""Levels at which kappa is computed for p-values; between two, the larger of both serves."""

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_REACH = 9.0  # standard deviations of the noise of V that are summed; the rest is below 1e-18
_TOLERANCE = 1e-7
_GRID, _FINER = 60, 13
_STEP = 0.01  # ratios are rounded up on this logarithmic grid, so that effects share kappas


def miss(variance: Array, ratio: float, kappa: float, alpha: float) -> Array:
    """Return one minus the coverage of the interval at each V / v, to its relative precision.

    Let g be the noise of V in its standard deviations.  Below k = -V / om - kappa the variance is
    cut at 0; above it the half width is a smooth function of g, whose scale near k is 1 / ratio:
    the panels of the quadrature halve towards k.
    """
    z = -special.ndtri(alpha / 2)
    r = np.asarray(variance, np.float64)[:, None]
    k = np.clip(-r / ratio - kappa, -_REACH, _REACH)
    halvings = max(4, math.ceil(math.log2(ratio * 8 * _REACH)))
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-halvings, -3), np.arange(2, 9) / 8])
    low, width = edges[:-1, None], np.diff(edges)[:, None]
    share = (low + width * (_POINTS + 1) / 2).ravel()
    weight = (width * _WEIGHTS / 2).ravel() * (_REACH - k)
    g = k + (_REACH - k) * share
    inside = np.sqrt((1 + np.maximum(r + ratio * (g + kappa), 0)) / (1 + r))
    density = np.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    missed = special.erfc(z / math.sqrt(2) * inside)
    cut = special.ndtr(k) * special.erfc(z / np.sqrt(2 * (1 + r)))
    found: Array = cut[:, 0] + (weight * density * missed).sum(axis=1)
    return found


def worst_miss(ratio: float, kappa: float, alpha: float = 0.05) -> float:
    """Return the largest miss over all V >= 0: on a grid, then on finer ones around each peak."""
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 300 * max(1.0, ratio), _GRID)])
    found = miss(grid, ratio, kappa, alpha)
    beside = np.concatenate([[-1.0], found, [-1.0]])
    peaks = np.flatnonzero((found >= beside[:-2]) & (found >= beside[2:]))
    low, high = np.maximum(peaks - 1, 0), np.minimum(peaks + 1, len(grid) - 1)
    finer = np.linspace(grid[low], grid[high], _FINER).ravel()
    everywhere = np.concatenate([found, miss(finer, ratio, kappa, alpha)])
    return float(everywhere.max())


def kappa(ratio: float, alpha: float = 0.05) -> float:
    """Return the smallest kappa that covers for every V >= 0, rounded up by at most 1e-6.

    Coverage rises with kappa, because the half width does.  ``ratio`` is om / v; at 0 the variance
    is known and nothing is added.
    """
    size = checked_alpha(alpha)
    if not 0 <= ratio <= LARGEST_RATIO:
        raise ParameterError(
            f"the noise of a variance is {ratio:g} times that of its effect; at most "
            f"{LARGEST_RATIO:g} is read: lower epsilon"
        )
    return 0.0 if ratio == 0 else _kappa(float(ratio), size)


def rounded_up(ratio: float) -> float:
    """Return the ratio of which kappa is taken: up to 1 % larger, at least 0.001.

    kappa rises with the ratio, and by no larger share.
    """
    if ratio == 0:
        return 0.0
    return max(1e-3, math.exp(_STEP * math.ceil(math.log(ratio) / _STEP - 1e-9)))


_RATIOS = (0, 0.06, 0.12, 0.17, 0.25, 0.5, 1, 2, 4, 8, 100)
_KAPPAS = (0, 0.061, 0.109, 0.143, 0.19, 0.297, 0.432, 0.586, 0.746, 0.901, 1.4)


def planned_kappa(ratio: Array) -> Array:
    """Return kappa at 95 % of each ratio, roughly."""
    found: Array = np.interp(ratio, _RATIOS, _KAPPAS)
    return found


@lru_cache(maxsize=4096)
def _kappa(ratio: float, alpha: float) -> float:
    def short(value: float) -> float:
        return worst_miss(ratio, value, alpha) / alpha - 1

    if short(0.0) <= 0:
        return 0.0
    high = 1.0
    while short(high) > 0:
        high *= 2
    return root(short, 0.0, high, _TOLERANCE) + 2 * _TOLERANCE


def p_value(
    statistic: float, variance_at: Callable[[float], float], tail: Callable[[float], float]
) -> float:
    """Return the largest level whose interval contains zero, not below the least of ALPHAS.

    ``variance_at(alpha)`` is the squared standard error at a level; ``tail(t)`` the two-sided
    probability beyond t.  Between two levels the larger variance of both is used, so that the
    p-value is not below the one of the exact inversion.
    """
    ends = (*ALPHAS[1:], 1.0)

    def piece(i: int) -> float:
        spread = max(variance_at(alpha) for alpha in ALPHAS[i : i + 2])
        return tail(abs(statistic) / math.sqrt(spread)) if spread > 0 else float(statistic == 0)

    # variances fall and levels rise with i: the pieces that hold their own p-value come first
    low, high, found = 0, len(ALPHAS), ALPHAS[0]
    while low < high:
        i = (low + high) // 2
        p = piece(i)
        if p >= ALPHAS[i]:
            low, found = i + 1, min(p, ends[i])
        else:
            high = i
    return found
