"""The two computations of PP-IPW: penalised logistic weights, and the weighted difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Estimand = Literal["ate", "att", "atc"]


def weighted_difference(
    estimand: Estimand, t: NDArray[np.bool_], y: Array, e: Array
) -> tuple[float, float]:
    """Return the estimate of eq. (2) or appendix F, and its reach per unit of outcome.

    Parameters
    ----------
    estimand : {"ate", "att", "atc"}
    t : (n,) array of bool
    y, e : (n,) array

    Examples
    --------
    >>> t, y = np.array([True, False]), np.array([1.0, 0.0])
    >>> weighted_difference("ate", t, y, np.array([0.5, 0.5]))
    (1.0, 2.0)
    """
    treated = {"ate": 1 / e, "att": np.ones(len(e)), "atc": (1 - e) / e}[estimand]
    control = {"ate": 1 / (1 - e), "att": e / (1 - e), "atc": np.ones(len(e))}[estimand]
    size = {"ate": len(t), "att": int(t.sum()), "atc": int((~t).sum())}[estimand]
    weights = np.where(t, treated, -control)
    divisor = max(size, 1)
    return float(weights @ y) / divisor, float(2 * np.abs(weights).max()) / divisor


def logistic_weights(X: Array, t: NDArray[np.bool_], lam: float, *, free_last: bool) -> Array:
    """Minimise mean cross-entropy + lam / 2 ||w||^2, without the penalty on the last if asked.

    Parameters
    ----------
    X : (n, d) array
    t : (n,) array of bool
    lam : float
    free_last : bool

    Examples
    --------
    >>> logistic_weights(np.ones((4, 1)), np.array([True] * 3 + [False]), 1e-9, free_last=False)
    array([1.098612...])
    """
    penalty = np.full(X.shape[1], lam)
    if free_last:
        penalty[-1] = 0.0
    signs = np.where(t, 1.0, -1.0)

    def objective(w: Array) -> tuple[float, Array]:
        margin = signs * (X @ w)
        value = np.logaddexp(0.0, -margin).mean() + penalty @ np.square(w) / 2
        return float(value), -(signs * expit(-margin)) @ X / len(X) + penalty * w

    start = np.zeros(X.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-10})
    return np.asarray(found.x)
