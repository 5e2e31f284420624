"""Weights of donors without privacy: ridge, simplex, robust, equal, and difference in differences.

X (n donors, T0 pre-periods) and y (T0) are the series before treatment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ControlWeights:
    """Weights of the donors and a constant: the path is ``X'weights + intercept``.

    Parameters
    ----------
    weights : (n,) array
    intercept : float
    """

    weights: Array
    intercept: float = 0.0


def ridge(X: Array, y: Array, lam: float) -> ControlWeights:
    """Return ``(X X' + lam/2)^-1 X y`` (DPSC, equation 4, with its closed form corrected).

    Parameters
    ----------
    X : (n, T0) array
    y : (T0,) array
    lam : float

    Examples
    --------
    >>> ridge(np.ones((1, 2)), np.ones(2), 4.0).weights.round(6).tolist()
    [0.5]
    """
    n, T0 = X.shape
    if n <= T0:
        return ControlWeights(
            np.asarray(cho_solve(cho_factor(X @ X.T + lam / 2 * np.eye(n)), X @ y))
        )
    return ControlWeights(X @ cho_solve(cho_factor(X.T @ X + lam / 2 * np.eye(T0)), y))


def simplex(X: Array, y: Array, importance: Array | None = None) -> ControlWeights:
    """Return the weights that are not negative, have sum 1 and make ``||X'w - y||`` smallest.

    Parameters
    ----------
    X : (n, K) array
        Pre-periods, or other predictors.
    y : (K,) array
    importance : (K,) array, optional
        Of each predictor, not negative: Abadie's V; equal if not given.

    Notes
    -----
    On the simplex ``X'w - y = (X - y)'w``.  For v = t w, ``||A v||^2 + (sum(v) - 1)^2`` is smallest
    over t at ``q / (1 + q)``, q = ||A w||^2, which grows with q: so non-negative least squares
    (Lawson and Hanson's, in SciPy) followed by a division by the sum solves the problem exactly,
    without a package for quadratic programs.

    References
    ----------
    Abadie, Diamond and Hainmueller (2010), "Synthetic Control Methods for Comparative Case
    Studies".
    Lawson and Hanson (1974), "Solving Least Squares Problems", chapter 23.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    >>> simplex(X, np.array([0.25, 0.75])).weights.round(6).tolist()
    [0.75, 0.25, 0.0]
    """
    root = np.ones(len(y)) if importance is None else np.sqrt(importance)
    apart = ((X - y) * root).T
    size = math.sqrt(float(np.mean(apart**2)) * len(y)) or 1.0
    system = np.vstack([apart / size, np.ones(len(X))])
    found, _ = nnls(system, np.append(np.zeros(len(y)), 1.0), maxiter=100 * len(X) + 1000)
    return ControlWeights(np.asarray(found / found.sum()))


def hard_thresholded(X: Array, rank: int) -> Array:
    """Return X with all but its ``rank`` largest singular values set to zero (HSVT).

    Examples
    --------
    >>> hard_thresholded(np.diag([3.0, 2.0, 1.0]), 2).round(6).tolist()
    [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    """
    left, values, right = np.linalg.svd(X, full_matrices=False)
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank])


def usual_rank(X: Array) -> int:
    """Return how many singular values are above the optimal hard threshold for unknown noise.

    References
    ----------
    Gavish and Donoho (2014), "The Optimal Hard Threshold for Singular Values is 4 / sqrt(3)",
    equation 4 with the cubic approximation of omega.

    Examples
    --------
    >>> usual_rank(np.outer(np.ones(20), np.arange(15.0)))
    1
    """
    b = min(X.shape) / max(X.shape)
    values = np.linalg.svd(X, compute_uv=False)
    omega = 0.56 * b**3 - 0.95 * b**2 + 1.82 * b + 1.43
    above = int((values > omega * max(float(np.median(values)), 1e-12 * float(values[0]))).sum())
    return max(above, 1)


def robust(X: Array, y: Array, lam: float) -> ControlWeights:
    """Return ridge weights on donors that were de-noised (robust synthetic control).

    Parameters
    ----------
    X : (n, T0) array
        De-noised by :func:`hard_thresholded`, over all periods.
    y : (T0,) array
    lam : float

    References
    ----------
    Amjad, Shah and Shen (2018), "Robust Synthetic Control", Algorithm 1.
    """
    return ridge(X, y, lam)


def uniform(X: Array) -> ControlWeights:
    """Return equal weights."""
    return ControlWeights(np.full(len(X), 1 / len(X)))


def did(X: Array, y: Array) -> ControlWeights:
    """Return equal weights and the mean difference before treatment.

    Examples
    --------
    >>> did(np.array([[0.0, 2.0], [2.0, 4.0]]), np.array([5.0, 7.0])).intercept
    4.0
    """
    weights = uniform(X)
    return ControlWeights(weights.weights, float(np.mean(y - X.T @ weights.weights)))


def given(weights: dict[str, float], names: tuple[str, ...]) -> ControlWeights:
    """Return published weights in the order of the donors; donors that are not named have none.

    Raises
    ------
    ParameterError
        If a name is no donor.
    """
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise ParameterError(f"weights name {unknown[0]!r}, which is no donor; name donors only")
    return ControlWeights(np.array([float(weights.get(name, 0.0)) for name in names]))
