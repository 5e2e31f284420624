"""Weighted and augmented means of potential outcomes, with both models in the standard error.

Rows are those of an observational study: y (n), t (n, bool), X (n, k) of the treatment model and
M (n, l) of the outcome model, each with its constant.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import statsmodels.api as sm

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

Estimand = Literal["ate", "att", "atc"]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Rows without missing values; confidential.

    Parameters
    ----------
    y : (n,) array
    t : (n,) array of bool
    X : (n, k) array
        Of the treatment model.
    M : (n, l) array or None
        Of the outcome model; None leaves it out.
    """

    y: Array
    t: Mask
    X: Array
    M: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Propensity:
    """A logit fitted by maximum likelihood.

    Parameters
    ----------
    coefficients : (k,) array
    e : (n,) array
        Propensities.
    influence : (n, k) array
        Of each row on the coefficients, so that their robust variance is
        ``influence.T @ influence / n^2``.
    """

    coefficients: Array
    e: Array
    influence: Array


@dataclass(frozen=True, slots=True, eq=False)
class PotentialMean:
    """The mean of one potential outcome among those an effect is about.

    Parameters
    ----------
    value : float
    influence : (n,) array
    weights : (n,) array
        Of the rows of its arm, 0 for the others.
    """

    value: float
    influence: Array
    weights: Array


def propensity(study: Study) -> Propensity:
    """Return the logit of treatment.

    Raises
    ------
    ParameterError
        If covariates are collinear or separate the arms, so that there is no maximum.
    """
    t = study.t.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = sm.Logit(t, study.X).fit(method="newton", tol=1e-12, maxiter=100, disp=False)
        except np.linalg.LinAlgError as error:
            raise ParameterError(
                "the covariates of the treatment model are collinear; leave some out"
            ) from error
    e = np.asarray(fit.predict(), np.float64)
    if not fit.mle_retvals["converged"] or not np.isfinite(fit.params).all() or _ends(e):
        raise ParameterError(
            "the covariates tell some treated and untreated apart without error, so that weights "
            "are infinite; leave some out, or merge levels"
        )
    hessian = (study.X * (e * (1 - e))[:, None]).T @ study.X / len(t)
    influence = np.linalg.solve(hessian, (study.X * (t - e)[:, None]).T).T
    return Propensity(np.asarray(fit.params, np.float64), e, np.asarray(influence))


def potential_mean(
    study: Study, model: Propensity, arm: bool, estimand: Estimand, *, normalized: bool, known: bool
) -> PotentialMean:
    """Return the mean of the outcome under one arm, by weighting, augmented if M is there.

    Parameters
    ----------
    study : Study
    model : Propensity
    arm : bool
        Treated or not.
    estimand : {"ate", "att", "atc"}
        Whose mean: everybody's, that of the treated, that of the others.
    normalized : bool
        Weights add up to one (Hajek).
    known : bool
        Take the propensities as known in the influence.

    Notes
    -----
    With r = 1 (ATE), t (ATT) or 1 - t (ATC), weights w = r / P(arm) on the rows D of the arm and
    the regression m on M among them (0 without M), the mean is ``sum r m / sum r + nu``, where nu
    is ``sum D w (y - m)`` over ``sum D w`` if normalised and over ``sum r`` if not.  The equations
    of the logit, of m and of the mean are stacked; the influence is what M-estimation gives:
    that of the mean's own equation, plus its derivative in each model times the influence on that
    model.

    References
    ----------
    Lunceford and Davidian (2004), "Stratification and Weighting via the Propensity Score",
    sections 2.1 and 3.
    Stata Treatment-Effects Reference Manual, ``teffects ipw`` and ``teffects aipw``, Methods.
    """
    n, D, e = len(study.y), study.t == arm, model.e
    everyone = np.ones(n)
    r = {"ate": everyone, "att": study.t.astype(float), "atc": 1.0 - study.t}[estimand]
    weights, slope = _weights(arm, estimand, e)
    weights, slope = D * weights, D * slope
    m = np.zeros(n)
    if study.M is not None:
        m = study.M @ np.linalg.lstsq(study.M[D], study.y[D], rcond=None)[0]
    size = float(weights.mean() if normalized else r.mean())
    mean, resid = float(np.average(m, weights=r)), study.y - m
    nu = float((weights * resid).mean() / size)
    inner = resid - nu if normalized else resid
    influence = r * (m - mean) / r.mean() + weights * inner / size
    if not normalized:
        influence = influence - r * nu / r.mean()
    if not known:
        influence = influence + model.influence @ ((slope * inner) @ study.X / (n * size))
    if study.M is not None:
        along = (r / r.mean() - weights / size) @ study.M / n
        gram = (study.M * D[:, None]).T @ study.M / n
        influence = influence + D * resid * (study.M @ (np.linalg.pinv(gram) @ along))
    return PotentialMean(mean + nu, np.asarray(influence), np.asarray(weights))


def _weights(arm: bool, estimand: Estimand, e: Array) -> tuple[Array, Array]:
    """Return the weight of a row in its arm, and its derivative in the linear predictor."""
    odds = e / (1 - e) if not arm else (1 - e) / e
    sign = 1.0 if not arm else -1.0
    if estimand == "ate":
        return 1 + odds, sign * odds
    if (estimand == "att") is arm:
        return np.ones(len(e)), np.zeros(len(e))
    return odds, sign * odds


def _ends(e: Array) -> bool:
    return bool((e < 1e-8).any() or (e > 1 - 1e-8).any())
