"""Weights of donors after noise: shrunk towards equal weights, then put on the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def uniform(n: int) -> Array:
    """Return equal weights (n,)."""
    return np.full(n, 1.0 / n)


def simplex_projection(v: Array) -> Array:
    """Return the closest point (n,) with no negative coordinate and sum 1.

    Parameters
    ----------
    v : (n,) array

    Notes
    -----
    ``max(v - c, 0)``, with the c at which the sum is one, found among the sorted coordinates.

    References
    ----------
    Held, Wolfe and Crowder (1974), "Validation of subgradient optimization".

    Examples
    --------
    >>> simplex_projection(np.array([0.5, 0.9, -0.2])).round(3).tolist()
    [0.3, 0.7, 0.0]
    """
    ordered = np.sort(v)[::-1]
    level = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
    last = np.nonzero(ordered > level)[0][-1]
    return np.asarray(np.maximum(v - level[last], 0.0))


def shrunk(noisy: Array, noise_sd: float) -> Array:
    """Return noisy weights moved towards equal ones, in the manner of James and Stein.

    Parameters
    ----------
    noisy : (n,) array
        Released weights.
    noise_sd : float
        Standard deviation of the noise of each, public.

    Notes
    -----
    ``f0 + s (f - f0)`` with ``s = max(0, 1 - n noise_sd^2 / ||f - f0||^2)``: the noise alone makes
    the squared distance from equal weights n noise_sd^2 on average.

    Examples
    --------
    >>> shrunk(np.array([0.75, 0.25]), 0.25).tolist()
    [0.5, 0.5]
    """
    centre = uniform(len(noisy))
    apart = noisy - centre
    distance = float(apart @ apart)
    keep = 1 - len(noisy) * noise_sd**2 / distance if distance > 0 else 0.0
    return np.asarray(centre + (keep if keep > 0 else 0.0) * apart)


def usable(noisy: Array, noise_sd: float) -> Array:
    """Return released weights (n,) made usable: shrunk, then projected on the simplex; free."""
    return simplex_projection(shrunk(noisy, noise_sd))
