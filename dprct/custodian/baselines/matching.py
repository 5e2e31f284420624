"""Abadie's choice of how much each predictor counts, by the fit before treatment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from dprct.custodian.baselines.control_weights import ControlWeights, simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def scaled(donors: Array, treated: Array) -> tuple[Array, Array]:
    """Return predictors divided by their standard deviation over all units.

    Parameters
    ----------
    donors : (n, p) array
    treated : (p,) array
    """
    spread = np.vstack([donors, treated]).std(axis=0, ddof=1)
    return donors / spread, treated / spread


def matched(
    predictors: tuple[Array, Array], series: tuple[Array, Array], steps: int = 2000
) -> tuple[ControlWeights, Array]:
    """Return simplex weights and the importance of predictors that fit the series best.

    Parameters
    ----------
    predictors : ((n, p) array, (p,) array)
        Of the donors and of the treated unit.
    series : ((n, K) array, (K,) array)
        Before treatment, whose mean squared error chooses the importance.
    steps : int
        Of Nelder and Mead's method, from equal importance.

    Notes
    -----
    The objective has several minima: other starts and methods end elsewhere.

    References
    ----------
    Abadie and Gardeazabal (2003), appendix B.
    """
    P, p = scaled(*predictors)
    X, y = series

    def importance(v: Array) -> Array:
        size = np.abs(v)
        return np.asarray(size / size.sum())

    def loss(v: Array) -> float:
        weights = simplex(P, p, importance(v)).weights
        return float(np.mean((X.T @ weights - y) ** 2))

    start = np.full(len(p), 1 / len(p))
    found = minimize(loss, start, method="Nelder-Mead", options={"maxiter": steps})
    best = importance(found.x)
    return simplex(P, p, best), best
