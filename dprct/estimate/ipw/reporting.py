"""From released numbers to the result of a private IPW: post-processing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.estimate.correction import LARGEST_RHO
from dprct.estimate.effects import NoisyEffect, NoisyVariance
from dprct.estimate.ipw.normal_effect import NormalEffect
from dprct.estimate.ipw.results import IPWResults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.ipw.draws import Released
    from dprct.estimate.ipw.recipe import Prices, Recipe
    from dprct.privacy.guarantee import Guarantee
    from dprct.queries.propensity import Covariates

ERRORS = {"total": "total", "conditional": "conditional on the propensity model"}
_LEAST = 1e-12


def effect_of(found: Released, radius: float) -> NoisyEffect | NormalEffect:
    """Return the effect in units of the outcome, with the law of its error.

    Parameters
    ----------
    found : Released
    radius : float
        R, half the width of the bounds.

    Notes
    -----
    theta = effect + sampling + weights + noise.  *Sampling*: the released mean of squared
    influences over n2, whose expectation is V and the square of the noise in theta more.
    *Weights*: the released squared gradient times the variance of a weight
    (:attr:`~dprct.estimate.ipw.recipe.Prices.weight_spread`); its noise makes it larger on average.
    *Noise*: one Laplace draw, or several by the delta method where there are denominators.
    """
    rates = [size * radius for size in found.noises if size > _LEAST]
    v, b = found.variance * radius**2, found.variance_scale * radius**2
    weights = found.slope * found.weight_spread * radius**2
    widest = sorted(rates)[-1]
    rho = ladder(b / widest**2)
    variances = (NoisyVariance(v, b, rho), NoisyVariance(weights, 0.0, rho))
    value = found.theta * radius
    if not found.gaussian:
        return NoisyEffect(value, tuple(rates), variances)
    sds = [
        size * radius * (1 if place < found.gaussian else math.sqrt(2))
        for place, size in enumerate(found.noises)
    ]
    return NormalEffect(value, math.hypot(*sds), variances)


def ladder(rho: float) -> float:
    """Return the next half power of two, within what :mod:`dprct.estimate.correction` takes.

    Notes
    -----
    b_V depends on released numbers here, and c(rho) is slow to compute: a few values of rho serve
    all fits.  c rises with rho, so that rounding up widens intervals.

    Examples
    --------
    >>> ladder(0.2), ladder(0.0)
    (0.25, 0.0009765625)
    """
    within = float(np.clip(rho, 2.0**-10, LARGEST_RHO))
    return float(min(2.0 ** (math.ceil(2 * math.log2(within)) / 2), LARGEST_RHO))


def results_of(
    found: Released,
    recipe: Recipe,
    prices: Prices,
    radius: float,
    design: Covariates,
    guarantee: Guarantee,
    words: Mapping[str, str],
    levels: Sequence[float],
) -> IPWResults:
    """Return the results object.

    Parameters
    ----------
    found : Released
    recipe : Recipe
    prices : Prices
    radius : float
    design : Covariates
    guarantee : Guarantee
    words : mapping from {"outcome", "formula", "estimand", "ledger"} to str
    levels : sequence of float
    """
    effect = effect_of(found, radius)
    index = pd.Index([recipe.scheme.estimand.upper()], dtype=object)
    error = effect.standard_error(levels)
    return IPWResults(
        params=pd.Series([effect.value], index=index),
        cov=pd.DataFrame([[error**2]], index=index, columns=index),
        bse_noise=pd.Series([effect.noise_sd], index=index),
        df_inference=float("inf"),
        df_resid=float("inf"),
        nobs=recipe.n1 + recipe.n2,
        cov_type="private",
        guarantee=guarantee,
        outcome=words["outcome"],
        formula=words["formula"],
        title="Private inverse probability weighting",
        notes=_notes(found, recipe, prices, words, effect),
        effect=effect,
        errors=ERRORS[recipe.errors],
        scheme=recipe.scheme,
        levels=tuple(levels),
        weights=pd.Series(found.weights, index=pd.Index(design.names, dtype=object)),
        weight_sd=found.weight_sd,
        lam=prices.lam,
        design=design,
        balance_table=_balance(found),
        overlap_table=_overlap(found),
        ledger=words["ledger"],
    )


def _notes(
    found: Released, recipe: Recipe, prices: Prices, words: Mapping[str, str], effect: Any
) -> tuple[str, ...]:
    trim = recipe.scheme.trim
    notes = [
        words["estimand"],
        f"Propensities: logistic, penalty {prices.lam:.3g}, fitted to {recipe.n1:,} rows, weights "
        f"with noise sd {found.weight_sd:.3g}, odds de-biased for it, trimmed to [{trim:g}, "
        f"{1 - trim:g}]; the effect is of the other {recipe.n2:,}.",
    ]
    if math.isnan(effect.value):
        notes.append(
            "Not estimated: a released denominator is not far enough from its noise; spend more."
        )
    if recipe.errors == "conditional":
        notes.append(
            "Errors are conditional on the propensity model: they leave out that its weights are "
            "noisy and estimated."
        )
    else:
        notes.append(
            "Errors contain sampling, the propensity weights (to first order) and privacy noise; "
            "not the bias of penalty and trimming."
        )
    return tuple(notes)


def _balance(found: Released) -> pd.DataFrame | None:
    if not found.balance:
        return None
    rows = {
        name: {"smd": apart / spread, "noise": noise / spread}
        for name, (apart, spread, noise) in found.balance.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _overlap(found: Released) -> pd.DataFrame | None:
    if found.overlap is None:
        return None
    bins = found.overlap.shape[1]
    names = [f"{k / bins:g} to {(k + 1) / bins:g}" for k in range(bins)]
    return pd.DataFrame({"treated": found.overlap[0], "control": found.overlap[1]}, index=names)
