"""Several effects of several outcomes as one table, with what is known of their covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.effects import NoisyEffect, NoisyMean


def tabulated(
    outcomes: Sequence[str],
    effects: Sequence[Sequence[NoisyEffect]],
    means: Sequence[Sequence[NoisyMean]],
    contrasts: Sequence[Contrast],
    levels: Sequence[float],
) -> dict[str, Any]:
    """Return the attributes of a result that depend on which effects it is about.

    Parameters
    ----------
    outcomes : sequence of str, length q
    effects : (q, k) nested sequence of NoisyEffect
    means : q sequences of NoisyMean
        Empty where differences themselves were released.
    contrasts : sequence of Contrast, length k
    levels : sequence of float
        Sizes of tests at which errors are valid.

    Returns
    -------
    dict
        ``params``, ``cov``, ``bse_noise`` and ``effects``.

    Notes
    -----
    Two contrasts w, w' of one outcome have the covariance sum_a w_a w'_a (V~_a + 2 b_a^2): V~_0 +
    2 b_0^2 for two arms against one control (ALGORITHMS.md, section 4).  Their variances are the
    squares of standard errors that are valid at the declared levels.  Between outcomes it is NaN,
    for the covariance of their sampling errors was not released.
    """
    several = len(outcomes) > 1
    names = [f"{y}: {c.name}" if several else c.name for y in outcomes for c in contrasts]
    index = pd.Index(names, dtype=object)
    together = tuple(effect for one in effects for effect in one)
    cov = np.full((len(names), len(names)), np.nan)
    for place, of_arms in enumerate(means):
        here = slice(place * len(contrasts), (place + 1) * len(contrasts))
        if of_arms:
            cov[here, here] = _covariance(of_arms, contrasts, levels[0])
    np.fill_diagonal(cov, np.square([effect.standard_error(levels) for effect in together]))
    return {
        "params": pd.Series([effect.value for effect in together], index=index),
        "cov": pd.DataFrame(cov, index=index, columns=index),
        "bse_noise": pd.Series([effect.noise_sd for effect in together], index=index),
        "effects": together,
    }


def _covariance(
    means: Sequence[NoisyMean], contrasts: Sequence[Contrast], level: float
) -> NDArray[np.float64]:
    weights = np.array([[float(w) for w in contrast.weights] for contrast in contrasts])
    spread = np.array([mean.variance.at(level) + mean.noise_variance for mean in means])
    found: NDArray[np.float64] = (weights * spread) @ weights.T
    return found
