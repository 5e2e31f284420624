"""The steps of DPSC as published: parameters of the noise, the draws, and the minimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Objective:
    """The parameters of Algorithm 3 before it draws.

    Parameters
    ----------
    eps0 : float
        What is left for the noise.
    extra : float
        Delta, added to the penalty.
    scale : float
        Of the noise b: the L2-Laplace's a, or the normal's standard deviation.
    """

    eps0: float
    extra: float
    scale: float


def output_scale(n: int, T0: int, lam: float, eps1: float) -> float:
    """Return the scale of Algorithm 2's L2-Laplace noise, ``4 T0 sqrt(8 + n) / (lam eps1)``.

    Examples
    --------
    >>> output_scale(8, 10, 10.0, 1.0)
    16.0
    """
    return 4 * T0 * math.sqrt(8 + n) / (lam * eps1)


def objective_of(
    n: int, T0: int, lam: float, eps1: float, delta: float = 0.0, c: float | None = None
) -> Objective:
    """Return eps0, Delta and the noise scale of Algorithm 3.

    Parameters
    ----------
    n, T0 : int
    lam, eps1, delta : float
    c : float, optional
        ``(1 + sqrt(16 n - 15)) T0`` if not given.

    Examples
    --------
    >>> objective_of(10, 10, 10.0, 25.0).extra
    0.0
    """
    c = (1 + math.sqrt(16 * n - 15)) * T0 if c is None else c
    spent = math.log1p(2 * c / lam + (c / lam) ** 2)
    if eps1 > spent:
        eps0, extra = eps1 - spent, 0.0
    else:
        eps0, extra = eps1 / 2, c / math.expm1(eps1 / 4) - lam
    reach = 4 * T0 * math.sqrt(8 + n)
    if delta:
        return Objective(eps0, extra, reach * math.sqrt(2 * math.log(2 / delta) + eps0) / eps0)
    return Objective(eps0, extra, min(reach, c * math.sqrt(n) + 4 * T0) / eps0)


def l2_laplace(size: int, scale: float, rng: np.random.Generator) -> Array:
    """Draw v (size,) with density proportional to ``exp(-||v|| / scale)``, in floating point.

    Parameters
    ----------
    size : int
    scale : float
        The mean of ||v|| is ``size * scale``.
    rng : numpy.random.Generator

    Notes
    -----
    A uniform direction times a Gamma(size, scale) radius.  (A radius with another law, as in public
    implementations, is another mechanism and loses the guarantee.)

    Examples
    --------
    >>> l2_laplace(3, 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    direction = rng.standard_normal(size)
    return np.asarray(direction / np.linalg.norm(direction) * rng.gamma(size, scale))


def minimiser(X: Array, y: Array, penalty: float, b: Array | None = None) -> Array:
    """Return ``(2 X X' + penalty)^-1 (2 X y - b)``, the minimiser of the (noisy) ridge objective.

    Parameters
    ----------
    X : (n, T0) array
    y : (T0,) array
    penalty : float
    b : (n,) array, optional

    Examples
    --------
    >>> minimiser(np.ones((1, 2)), np.ones(2), 4.0).round(6).tolist()
    [0.5]
    """
    right = 2 * X @ y - (0.0 if b is None else b)
    return np.asarray(cho_solve(cho_factor(2 * X @ X.T + penalty * np.eye(len(X))), right))


def published_path(
    X: Array,
    y: Array,
    lam: float,
    scale: float | Objective,
    eps2: float,
    rng: np.random.Generator,
    *,
    normal: bool = False,
) -> tuple[Array, Array]:
    """Draw noisy weights (n,) and the path (K,) that noisy donors have with them.

    Parameters
    ----------
    X : (n, T0 + K) array
        Donors, of absolute value at most one.
    y : (T0,) array
    lam : float
    scale : float or Objective
        Of Algorithm 2's noise on the weights, or the parameters of Algorithm 3.
    eps2 : float
        For step 2.
    rng : numpy.random.Generator
    normal : bool
        Whether Algorithm 3 draws normal noise (its delta is positive).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> f, path = published_path(np.ones((2, 5)), np.ones(3), 3.0, 1e-12, 1e12, rng)
    >>> f.round(6).tolist(), path.round(6).tolist()
    ([0.4, 0.4], [0.8, 0.8])
    """
    n, T0 = len(X), len(y)
    if isinstance(scale, Objective):
        b = rng.normal(0.0, scale.scale, n) if normal else l2_laplace(n, scale.scale, rng)
        weights = minimiser(X[:, :T0], y, lam + scale.extra, b)
    else:
        weights = minimiser(X[:, :T0], y, lam) + l2_laplace(n, scale, rng)
    after = X[:, T0:]
    width = 2 * math.sqrt(after.shape[1]) / eps2
    noisy = after + l2_laplace(after.size, width, rng).reshape(after.shape)
    return weights, np.asarray(noisy.T @ weights)
