"""Heterogeneous effects without privacy: meta-learners on gradient boosting."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.defaults import TRIM
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from papers.cate.designs import Sample

    Array = NDArray[np.float64]

Learner = Literal["dr", "r", "s", "t", "constant"]

SETTINGS = {"max_iter": 50, "max_leaf_nodes": 8, "max_bins": 32}
"""Of the gradient boosting; small trees, because effects are smoother than outcomes."""

FOLDS = 2


def fitted_effect(
    sample: Sample, at: Array, learner: Learner, propensity: float | None = None, seed: int = 0
) -> Array:
    """Return the effect (m,) at features (m, p), fitted to a sample without privacy.

    Parameters
    ----------
    sample : Sample
    at : (m, p) array
    learner : {"dr", "r", "s", "t", "constant"}
        Doubly robust, residuals on residuals, one model of treatment and features, one model per
        arm, or the average of the doubly robust pseudo-outcomes for everybody.
    propensity : float, optional
        The known probability of treatment; estimated if not given.
    seed : int
        Of the two folds, between which nuisances and pseudo-outcomes are crossed.

    References
    ----------
    Künzel, Sekhon, Bickel and Yu (2019), "Metalearners for estimating heterogeneous treatment
    effects" (S, T); Nie and Wager (2021) (R); Kennedy (2023) (DR).
    """
    X, y, t = sample.X, sample.y, sample.t
    if learner == "s":
        model = _boosted(np.column_stack([X, t]), y)
        arms = (model.predict(np.column_stack([at, np.full(len(at), arm)])) for arm in (1.0, 0.0))
    elif learner == "t":
        arms = (_boosted(X[t == arm], y[t == arm]).predict(at) for arm in (1, 0))
    else:
        target, weights = _pseudo_outcomes(sample, learner, propensity, seed)
        if learner == "constant":
            return np.full(len(at), target.mean())
        return np.asarray(_boosted(X, target, weights).predict(at))
    one, zero = arms
    return np.asarray(one - zero)


def _pseudo_outcomes(
    sample: Sample, learner: Learner, propensity: float | None, seed: int
) -> tuple[Array, Array]:
    """Return pseudo-outcomes (n,) and weights (n,), from nuisances of the other fold."""
    fold = _folds(sample.t, seed)
    target, weights = np.empty(len(fold)), np.ones(len(fold))
    for k in range(FOLDS):
        out, own = fold == k, fold != k
        X, y, t = sample.X[own], sample.y[own], sample.t[own]
        at, outcome, arm = sample.X[out], sample.y[out], sample.t[out]
        if propensity is None:
            e = np.clip(_boosted(X, t).predict(at), TRIM, 1 - TRIM)
        else:
            e = np.full(len(at), propensity)
        if learner == "r":
            gap = arm - e
            target[out] = (outcome - _boosted(X, y).predict(at)) / gap
            weights[out] = gap**2
            continue
        m0, m1 = (_boosted(X[t == a], y[t == a]).predict(at) for a in (0, 1))
        residual = np.where(arm == 1, (outcome - m1) / e, -(outcome - m0) / (1 - e))
        target[out] = m1 - m0 + residual
    return target, weights


def _folds(t: Array, seed: int) -> NDArray[np.int_]:
    """Return the fold (n,) of every row; both arms are in both folds."""
    fold = np.empty(len(t), int)
    rng = source(seed).post_processing_rng()
    for arm in (0, 1):
        rows = rng.permutation(np.flatnonzero(t == arm))
        fold[rows] = np.arange(len(rows)) % FOLDS
    return fold


def _boosted(X: Array, y: Array, weights: Array | None = None) -> Any:
    # here, because it takes a second, and the other papers do without it
    from sklearn.ensemble import HistGradientBoostingRegressor

    # with a seed of its own it leaves the global generator alone
    model = HistGradientBoostingRegressor(**SETTINGS, random_state=0)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        # joblib, where no command counts the cores, warns and prints where it looked for one
        warnings.filterwarnings("ignore", "Could not find the number of physical cores")
        return model.fit(X, y, sample_weight=weights)
