"""Covariances of least squares: one function each, of the fit and its design.

``classical`` to ``hc3`` and ``cr1`` are what Stata calls ``vce(ols)``, ``robust``, ``hc2``, ``hc3``
and ``cluster``; what they share is ``bread @ meat @ bread``, computed as the cross product of the
influences ``X @ bread`` so that a badly scaled regressor costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

COLLINEAR = 1e-7
"""A column is omitted when this share of its length or less is not explained by earlier ones."""

_EXACT_FIT = 1e-10


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """A least-squares fit, with all that its covariances need besides the design.

    Parameters
    ----------
    beta : (k,) array
    resid : (n,) array
        Residuals, times the root of the weight where there are analytic or sampling weights.
    bread : (k, k) array
        Inverse of ``X' diag(copies) X``.
    rank : int
        Equal to k: collinear columns are omitted beforehand.
    copies : (n,) array
        How many identical observations a row stands for: frequency weights, else ones.
    absorbed : int
        Parameters that absorbed fixed effects count as, besides ``rank``.
    """

    beta: Array
    resid: Array
    bread: Array
    rank: int
    copies: Array
    absorbed: int = 0

    @property
    def nobs(self) -> float:
        """Number of observations, a row of frequency 3 counting as 3."""
        return float(self.copies.sum())

    @property
    def df_resid(self) -> float:
        """Observations less rank and absorbed parameters."""
        return self.nobs - self.rank - self.absorbed


def classical(fit: LeastSquares, X: Array) -> Array:
    """Return ``s^2 (X'X)^-1`` with ``s^2 = SSR / (n - k)``; homoskedastic errors.

    Parameters
    ----------
    fit : LeastSquares
    X : (n, k) array
        Times the root of the weight, like the residuals.

    Returns
    -------
    (k, k) array
    """
    return (fit.copies @ fit.resid**2) / fit.df_resid * fit.bread


def hc0(fit: LeastSquares, X: Array) -> Array:
    """Return White's covariance, ``meat = sum e_i^2 x_i x_i'``; see :func:`classical`."""
    return _sandwich(fit, X, fit.resid**2)


def hc1(fit: LeastSquares, X: Array) -> Array:
    """Return White's covariance times ``n / (n - k)``, Stata's ``robust``."""
    return fit.nobs / fit.df_resid * hc0(fit, X)


def hc2(fit: LeastSquares, X: Array) -> Array:
    """Return the covariance with ``e_i^2 / (1 - h_i)``, unbiased under homoskedasticity."""
    return _sandwich(fit, X, fit.resid**2 / _remaining(fit, X, "HC2"))


def hc3(fit: LeastSquares, X: Array) -> Array:
    """Return the covariance with ``e_i^2 / (1 - h_i)^2``, near the jackknife."""
    return _sandwich(fit, X, fit.resid**2 / _remaining(fit, X, "HC3") ** 2)


def cr1(fit: LeastSquares, X: Array, groups: Codes) -> Array:
    """Return the cluster-robust covariance times ``G/(G-1) (n-1)/(n-k)``, Stata's ``cluster``.

    Parameters
    ----------
    fit, X
        As in :func:`classical`.
    groups : (n,) array of int
        Codes 0 to G - 1, each occurring.
    """
    n_groups = int(groups.max()) + 1
    influence = group_sums(X @ fit.bread * (fit.resid * fit.copies)[:, None], groups)
    factor = n_groups / (n_groups - 1) * (fit.nobs - 1) / fit.df_resid
    return factor * influence.T @ influence


HETEROSKEDASTIC = MappingProxyType(
    {"nonrobust": classical, "HC0": hc0, "HC1": hc1, "HC2": hc2, "HC3": hc3}
)
"""The covariances that need no groups, by the ``cov_type`` that asks for them."""

Covariance = Callable[[LeastSquares, Array], Array]


def leverage(fit: LeastSquares, X: Array) -> Array:
    """Return the diagonal of the hat matrix, ``h_i = x_i' (X'X)^-1 x_i``; (n,) array."""
    return np.asarray(np.einsum("ij,ij->i", X @ fit.bread, X), np.float64)


def group_sums(scores: Array, groups: Codes) -> Array:
    """Return the sum of ``scores`` (n, k) within each of the groups 0 to G - 1; (G, k) array."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    return np.add.reduceat(scores[order], starts, axis=0)


def independent(X: Array) -> NDArray[np.bool_]:
    """Return which columns are not linear combinations of earlier ones, as R and Stata keep.

    Parameters
    ----------
    X : (n, k) array

    Returns
    -------
    (k,) array of bool
    """
    lengths = np.sqrt((X**2).sum(axis=0))
    scaled = X / np.where(lengths > 0, lengths, 1)
    # Dependencies among the columns of X are those among the columns of its triangular factor.
    triangle = cast("Array", np.linalg.qr(scaled, mode="r"))
    if len(X) >= X.shape[1] and np.all(np.abs(np.diag(triangle)) > COLLINEAR):
        return np.ones(X.shape[1], bool)
    basis = np.zeros((len(triangle), 0))
    kept = np.zeros(X.shape[1], bool)
    for j, column in enumerate(triangle.T):
        rest = column
        for _ in range(2):  # the second pass removes the rounding of the first
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > COLLINEAR:
            basis = np.column_stack([basis, rest / length])
            kept[j] = True
    return kept


def _sandwich(fit: LeastSquares, X: Array, squares: Array) -> Array:
    influence = X @ fit.bread
    return influence.T @ (influence * (squares * fit.copies)[:, None])


def _remaining(fit: LeastSquares, X: Array, name: str) -> Array:
    """Return ``1 - h``, or refuse a row that the fit meets exactly, whatever its outcome."""
    remaining = 1 - leverage(fit, X)
    if np.any(remaining < _EXACT_FIT):
        raise ParameterError(
            f"{name} is not defined: a row is fitted exactly, such as the only member of a "
            "category; use cov_type='HC1' or drop the regressor"
        )
    return remaining
