"""Least squares of several outcomes on one design: the design is decomposed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.linalg import solve_triangular

from dprct.errors import ParameterError
from dprct.results.covariance import (
    HETEROSKEDASTIC,
    Array,
    Codes,
    LeastSquares,
    cr1,
    independent,
)

if TYPE_CHECKING:
    from dprct.formula.design_matrix import Mask
    from dprct.results.weights import Weighting


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
    >>> from dprct.results.weights import Weighting
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
