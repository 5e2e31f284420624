"""Log odds of treatment from moments: least squares, corrected as for normal log odds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dprct.lazy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CONSTANT = math.sqrt(0.5)
"""What z has in its last place, up to a billionth."""

_NODES, _WEIGHTS = (part.copy() for part in np.polynomial.hermite_e.hermegauss(24))


def raised(S: Array, least: float) -> tuple[Array, Array]:
    """Return a covariance matrix with no eigenvalue below ``least``, and its inverse."""
    values, vectors = np.linalg.eigh(S)
    kept = values.clip(least)
    return (vectors * kept) @ vectors.T, (vectors / kept) @ vectors.T


def log_odds(q: float, slopes: Array, S: Array, error: float) -> tuple[float, Array]:
    """Mean of log odds, a share q being treated, and their slopes on covariates with covariance S.

    ``slopes`` are those of treatment by least squares, ``error`` is the expected contribution of
    noise to the variance that they explain.

    Notes
    -----
    Where log odds are normal, least squares slopes are E[p (1 - p)] times theirs (Stein's lemma).
    """
    explained = float(slopes @ S @ slopes) - error
    mean, curvature = logit_of(q, min(max(explained, 0.0), q * (1 - q) / 2))
    return mean, slopes / curvature


def with_constant(slopes: Array, at_centre: float, centre: Array) -> Array:
    """Return slopes and the coefficient of the constant of z, for a value at the centre."""
    return np.append(slopes, (at_centre - float(slopes @ centre)) / CONSTANT)


def logit_of(q: float, explained: float) -> tuple[float, float]:
    """The mean m of normal log odds with E p = q, and E[p (1 - p)], by which their slopes exceed g.

    ``explained`` is the variance of z'g, which is (s E[p (1 - p)])^2 with the sd s of the log odds,
    at most 4.

    Examples
    --------
    >>> m, curvature = logit_of(0.5, 0.02)
    >>> abs(m) < 1e-9, round(curvature, 3)
    (True, 0.23)
    """
    weights = _WEIGHTS / math.sqrt(2 * math.pi)
    m, curvature = math.log(q / (1 - q)), q * (1 - q)
    for _ in range(60):
        s = min(math.sqrt(explained) / curvature, 4.0)
        p = special.expit(m + s * _NODES)
        curvature = float(weights @ (p * (1 - p)))
        m -= (float(weights @ p) - q) / curvature
    return m, curvature
