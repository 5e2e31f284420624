"""Covariances of least squares: one function each, of the fit and its design.

``classical`` to ``hc3`` and ``cr1`` are what Stata calls ``vce(ols)``, ``robust``, ``hc2``, ``hc3``
and ``cluster``; what they share is ``bread @ meat @ bread``, computed as the cross product of the
influences ``X @ bread`` so that a badly scaled regressor costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from dprct.formula.design_matrix import Mask

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


WeightsType = Literal["aweight", "fweight", "pweight"]


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of the rows used, as the two roles they can play.

    Parameters
    ----------
    root : (n,) array
        Square root of the weight by which outcome and regressors are multiplied.
    copies : (n,) array
        How many identical observations a row stands for.
    """

    root: Array
    copies: Array

    @classmethod
    def of(cls, weights: Array | None, weights_type: WeightsType, rows: int) -> Weighting:
        """Return the roles that weights of a type play.

        Parameters
        ----------
        weights : (n,) array or None
            Checked and positive.
        weights_type : {"aweight", "fweight", "pweight"}
        rows : int
            n.

        Examples
        --------
        >>> Weighting.of(np.array([1.0, 3.0]), "aweight", 2).root.tolist()
        [0.7071067811865476, 1.224744871391589]
        >>> Weighting.of(np.array([1.0, 3.0]), "fweight", 2).copies.tolist()
        [1.0, 3.0]
        """
        ones = np.ones(rows)
        if weights is None:
            return cls(ones, ones)
        if weights_type == "fweight":
            return cls(ones, weights)
        return cls(np.sqrt(weights * (rows / weights.sum())), ones)


def check_weights_type(weights_type: str, cov_type: str, *, given: bool) -> None:
    """Refuse a type that is unknown, or that has no standard errors of the kind asked for.

    Parameters
    ----------
    weights_type, cov_type : str
    given : bool
        Whether there are weights at all.
    """
    if weights_type == "iweight":
        raise ParameterError(
            "weights_type='iweight' has no sampling meaning, so its standard errors have none; "
            "allowed: aweight, fweight, pweight"
        )
    if weights_type not in get_args(WeightsType):
        raise ParameterError(
            f"weights_type={weights_type!r}; allowed: {', '.join(get_args(WeightsType))}"
        )
    if given and weights_type == "pweight" and cov_type == "nonrobust":
        raise ParameterError(
            "sampling weights (pweight) need a robust covariance; use cov_type='HC1' or cluster="
        )


def check_weights(weights: Array, weights_type: str, name: str) -> None:
    """Refuse weights that are missing, infinite, negative, all zero, or not whole counts.

    Parameters
    ----------
    weights : (n,) array
        Of the rows that are otherwise complete.
    weights_type : str
    name : str
        What to call them in the message.
    """
    if np.isnan(weights).any():
        raise ParameterError(
            f"{name} are missing in rows that are otherwise complete; fill or drop"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError(f"{name} are negative or infinite in some row; give weights from 0 up")
    if not (weights > 0).any():
        raise ParameterError(f"{name} are zero in every complete row; give some above 0")
    if weights_type == "fweight" and (weights != np.round(weights)).any():
        raise ParameterError(
            f"{name} are not whole numbers, as frequencies are; use weights_type='aweight' or "
            "'pweight'"
        )


@dataclass(frozen=True, slots=True)
class SharedFit:
    """Fits that share their rows and regressors.

    Parameters
    ----------
    X : (n, k) array
        Regressors that are kept, times the root of the weight.
    kept : (K,) array of bool
        Which of the regressors given are no linear combinations of earlier ones.
    fits : tuple of LeastSquares
        One per outcome.
    groups : (n,) array of int or None
        Clusters, coded from 0.
    cov_type : str
        A key of ``HETEROSKEDASTIC``, or ``"cluster"``.
    """

    X: Array
    kept: Mask
    fits: tuple[LeastSquares, ...]
    groups: Codes | None
    cov_type: str

    @property
    def df(self) -> float:
        """Degrees of freedom of inference: rows less rank, with clusters their number less one."""
        return self.fits[0].df_resid if self.groups is None else float(self.groups.max())

    def cov(self, outcome: int) -> Array:
        """Return the covariance of the coefficients of one outcome, (k, k)."""
        if self.groups is None:
            return HETEROSKEDASTIC[self.cov_type](self.fits[outcome], self.X)
        return cr1(self.fits[outcome], self.X, self.groups)


def fit_several(
    X: Array, Y: Array, weighting: Weighting, cov_type: str = "HC1", groups: Codes | None = None
) -> SharedFit:
    """Fit every column of ``Y`` on ``X``, as :func:`dprct.results.ols.least_squares` fits one.

    Parameters
    ----------
    X : (n, K) array
    Y : (n, q) array
    weighting : Weighting
    cov_type : str
    groups : (n,) array of int, optional

    Returns
    -------
    SharedFit

    Raises
    ------
    ParameterError
        If there are not more rows than coefficients.

    Examples
    --------
    >>> from dprct.results.covariance import Weighting
    >>> X = np.column_stack([np.ones(4), [0.0, 0, 1, 1]])
    >>> Y = np.column_stack([[1.0, 2, 3, 5], [0.0, 1, 1, 1]])
    >>> both = fit_several(X, Y, Weighting.of(None, "aweight", 4))
    >>> [fit.beta.round(12).tolist() for fit in both.fits]
    [[1.5, 2.5], [0.5, 0.5]]
    """
    total = weighting.root * np.sqrt(weighting.copies)
    lengths = np.sqrt(total**2 @ X**2)
    lengths[lengths == 0] = 1
    stacked = np.column_stack([X * total[:, None] / lengths, Y * total[:, None]])
    triangle = cast("Array", np.linalg.qr(stacked, mode="r"))
    k = X.shape[1]
    kept = independent(triangle[:, :k])
    rank = int(kept.sum())
    if weighting.copies.sum() <= rank:
        raise ParameterError(
            f"{weighting.copies.sum():g} observations for {rank} coefficients leave nothing to "
            "estimate errors from; use fewer covariates"
        )
    turned, root = np.linalg.qr(triangle[:, :k][:, kept])
    inverse = solve_triangular(root, np.eye(rank)) / lengths[kept][:, None]
    betas = inverse @ (turned.T @ triangle[:, k:])
    residuals = (Y - X[:, kept] @ betas) * weighting.root[:, None]
    bread = inverse @ inverse.T
    fits = tuple(
        LeastSquares(beta, resid, bread, rank, weighting.copies)
        for beta, resid in zip(betas.T, residuals.T, strict=True)
    )
    return SharedFit(X[:, kept] * weighting.root[:, None], kept, fits, groups, cov_type)
