"""How well a regression fits as a whole: R-squared, root MSE, F."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from dprct.results.counting import Absorbed
    from dprct.results.covariance import Array, LeastSquares
    from dprct.results.weights import Weighting


def fit_as_a_whole(
    fit: LeastSquares, y: Array, weighting: Weighting, cov: Array, df: float, intercept: bool
) -> dict[str, Any]:
    """Return R-squared, root MSE and F of a fit without absorbed effects.

    Parameters
    ----------
    fit : LeastSquares
    y : (n,) array
    weighting : Weighting
    cov : (k, k) array
    df : float
        Degrees of freedom of inference.
    intercept : bool
        Whether the first coefficient is one.
    """
    weight = weighting.root**2 * weighting.copies
    centre = np.average(y, weights=weight) if intercept else 0.0
    total = float(weight @ (y - centre) ** 2)
    unexplained = float(fit.copies @ fit.resid**2)
    df_total = fit.nobs - intercept
    slopes = slice(int(intercept), None)
    fvalue = wald(fit.beta[slopes], cov[slopes, slopes], df)
    df_model = fit.rank - intercept
    share = unexplained / total if total > 0 else np.nan
    return {
        "df_model": df_model,
        "rsquared": 1 - share,
        "rsquared_adj": 1 - share * df_total / fit.df_resid,
        "rmse": float(np.sqrt(unexplained / fit.df_resid)),
        "fvalue": fvalue,
        "f_pvalue": float(special.fdtrc(df_model, df, fvalue)) if df_model else np.nan,
    }


def with_effects(
    fit: LeastSquares, left: Array, y: Array, weighting: Weighting, absorbed: Absorbed
) -> dict[str, Any]:
    """Return R-squared around the mean and within, and the root MSE, for absorbed effects.

    How well they fit does not depend on a counting rule: all levels are parameters here.

    Parameters
    ----------
    fit : LeastSquares
    left : (n,) array
        What the effects leave of the outcome.
    y : (n,) array
        The outcome.
    weighting : Weighting
    absorbed : Absorbed
    """
    weight = weighting.root**2 * weighting.copies
    unexplained = float(fit.copies @ fit.resid**2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    varies = float(weight @ left**2)
    df = max(fit.nobs - fit.rank - absorbed.rank, 0)
    share = unexplained / total if total > 0 else np.nan
    return {
        "rsquared": 1 - share,
        "rsquared_adj": 1 - share * (fit.nobs - 1) / df if df else np.nan,
        "rsquared_within": 1 - unexplained / varies if varies > 0 else np.nan,
        "rmse": float(np.sqrt(unexplained / df)) if df else np.nan,
    }


def wald(beta: Array, cov: Array, df: float) -> float:
    """Return ``b' V^-1 b / q``, or NaN where ``V`` has no inverse, as with few clusters."""
    scale = np.sqrt(np.diag(cov))
    if not 0 < len(beta) <= df or not np.all(scale > 0):
        return float("nan")
    correlation = cov / np.outer(scale, scale)
    if np.linalg.cond(correlation) > 1e12:
        return float("nan")
    standard = beta / scale
    return float(standard @ np.linalg.solve(correlation, standard) / len(beta))
