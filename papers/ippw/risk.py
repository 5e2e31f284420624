"""Bounds of ``SignRisk`` beside the shares of the same events in simulated noise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dprct.privacy.noise import source
from dprct.published import SignRisk
from dprct.published.ipw import logistic_weights
from papers.ippw.samples import DIMENSION, synthetic
from papers.ippw.setups import DELTA, LAM, TRIM, weighted_effect

SIZES = (1_000, 10_000, 100_000)
"""n1 and n2."""

EPSILONS = (1.0, 5.0)
EFFECT = -0.25
"""So that signs do turn; the penalty leaves confounding, and the estimate is about .3."""

NORM, RADIUS = 6.0, 5.0
"""Public bounds of the covariates' norm and of the outcome's absolute value."""

DRAWS = 300
WORDS = {
    "partial": "wrong before the noise of the effect (Theorem 4, Lemma 6)",
    "both": "wrong before and after it (Theorem 5)",
    "full": "wrong after it",
    "moved": "moved by half of the effect or more (Corollary 7)",
}


def compared(seed: int, draws: int = DRAWS) -> pd.DataFrame:
    """Return every bound on one synthetic sample of each size, and the simulated share.

    Parameters
    ----------
    seed : int
    draws : int
        Of the noise, on the same rows.

    Returns
    -------
    DataFrame
        ``n, epsilon, effect`` (the estimate without noise), ``event, bound, share, draws``.

    Notes
    -----
    ``published.IPW`` with trimming, which the bounds are of: the noise of Definition 2 and equation
    (5), rows within a public norm, outcomes clipped.
    """
    rows: list[dict[str, float | str]] = []
    for n in SIZES:
        rng = source([seed, n]).post_processing_rng()
        sample = synthetic(2 * n, rng, EFFECT)
        X = sample.X / np.maximum(np.linalg.norm(sample.X, axis=1), NORM)[:, None]
        w = logistic_weights(X[:n], sample.t[:n], LAM, free_last=False)
        t, y = sample.t[n:], sample.y[n:].clip(-RADIUS, RADIUS)
        own = weighted_effect(X[n:] @ w, t, y, TRIM)
        for epsilon in EPSILONS:
            risk = SignRisk(
                n1=n, n2=n, covariates=DIMENSION, lam=LAM, epsilon=epsilon, delta=float(DELTA),
                radius=RADIUS, trim=TRIM,
            )  # fmt: skip
            noise = rng.normal(0, risk.weight_sd, (draws, DIMENSION))
            partial = np.array([weighted_effect(X[n:] @ (w + b), t, y, TRIM) for b in noise])
            full = partial + rng.normal(0, risk.effect_sd, draws)
            wrong, after = (np.sign(drawn) != np.sign(own) for drawn in (partial, full))
            events = {
                "partial": (risk.partial(own), wrong),
                "both": (risk.both(own), wrong & after),
                "full": (risk.full(own), after),
                "moved": (risk.moved(abs(own) / 2), np.abs(partial - own) >= abs(own) / 2),
            }
            rows += [
                {"n": n, "epsilon": epsilon, "effect": own, "event": event, "bound": bound,
                 "share": float(found.mean()), "draws": draws}
                for event, (bound, found) in events.items()
            ]  # fmt: skip
    return pd.DataFrame(rows)
