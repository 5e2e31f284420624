"""Heterogeneous effects without privacy: meta-learners on gradient boosting."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from dprct.defaults import TRIM
from dprct.errors import MissingDependencyError, ParameterError
from dprct.formula.columns import columns_of
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.noise import source
from dprct.results.confidential import WATERMARK, Confidential
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narwhals.typing import IntoFrame
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Learner = Literal["dr", "r", "s", "t", "constant"]

SETTINGS = {"max_iter": 50, "max_leaf_nodes": 8, "max_bins": 32}
"""Of the gradient boosting; small trees, because effects are smoother than outcomes."""

FOLDS = 2


@dataclass(frozen=True, eq=False, repr=False)
class BaselineCATE(Confidential):
    """An effect function without privacy: confidential, and marked so.

    Parameters
    ----------
    learner : {"dr", "r", "s", "t", "constant"}
    features : tuple of str
    average : float
        Mean of the effect over the rows.
    models : tuple
        Fitted regressions whose difference, or whose only member, is the effect.
    guarantee : Guarantee
    """

    learner: str
    features: tuple[str, ...]
    average: float
    models: tuple[Any, ...]
    guarantee: Guarantee

    def effect(self, new_data: IntoFrame) -> Array:
        """Return the effect (m,) at rows that have the features."""
        return self.at(_matrix(new_data, self.features))

    def at(self, X: Array) -> Array:
        """Return the effect (m,) at features (m, p)."""
        return _effect(self.learner, self.models, X, self.average)

    def summary(self) -> str:
        """Return the fit in a few lines, watermarked."""
        first = f"CATE without privacy, {self.learner}-learner on gradient boosting"
        rest = f"Average effect {self.average:.4g}", str(self.guarantee)
        return "\n".join((WATERMARK, first, *rest))

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<BaselineCATE: {self.learner}, confidential>"


class CATE:
    """Effects that vary, **without privacy**, to compare private ones with.

    Parameters
    ----------
    data : DataFrame
        Without missing values.
    outcome, treatment : str
        Treatment is 0 or 1.
    features : sequence of str
    learner : {"dr", "r", "s", "t", "constant"}
        Doubly robust, residuals on residuals, one model of treatment and features, one model per
        arm, or the average of the doubly robust pseudo-outcomes for everybody.
    propensity : float, optional
        The known probability of treatment; estimated if not given.
    seed : int
        Of the two folds, between which nuisances and pseudo-outcomes are crossed.

    Raises
    ------
    ParameterError
        If the learner is unknown, a row incomplete, or an arm has fewer than four people.
    MissingDependencyError
        Without scikit-learn.

    References
    ----------
    Künzel, Sekhon, Bickel and Yu (2019), "Metalearners for estimating heterogeneous treatment
    effects" (S, T); Nie and Wager (2021) (R); Kennedy (2023) (DR).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, t = rng.random(2000), np.arange(2000) % 2
    >>> data = pd.DataFrame({"x": x, "t": t, "y": t * x + rng.normal(scale=0.1, size=2000)})
    >>> fit = CATE(data, outcome="y", treatment="t", features=["x"], propensity=0.5).fit()
    >>> low, high = fit.effect(pd.DataFrame({"x": [0.2, 0.8]}))
    >>> bool(abs(high - low - 0.6) < 0.1)
    True
    """

    def __init__(
        self,
        data: IntoFrame,
        *,
        outcome: str,
        treatment: str,
        features: Sequence[str],
        learner: Learner = "dr",
        propensity: float | None = None,
        seed: int = 0,
    ) -> None:
        if learner not in get_args(Learner):
            raise ParameterError(
                f"learner={given(learner)}; allowed: {', '.join(get_args(Learner))}"
            )
        if propensity is not None and not 0 < propensity < 1:
            raise ParameterError(f"propensity={given(propensity)}; give a number between 0 and 1")
        self.features = tuple(features)
        self.X = _matrix(data, self.features)
        self.y, self.t = _matrix(data, (outcome, treatment)).T
        complete = np.isfinite(self.X).all() and np.isfinite(self.y).all()
        arms = [int((self.t == arm).sum()) for arm in (0, 1)]
        if not complete or sum(arms) != len(self.t) or min(arms) < 2 * FOLDS:
            raise ParameterError(
                f"rows are incomplete, {treatment!r} is not 0 or 1, or an arm has fewer than "
                f"{2 * FOLDS} people; leave such rows out, or give more"
            )
        self.learner, self.propensity, self.seed = learner, propensity, seed

    def fit(self) -> BaselineCATE:
        """Return the effect function; there is no budget, because nothing is protected."""
        models, average = self._models()
        if self.learner != "constant":
            average = float(_effect(self.learner, models, self.X, 0.0).mean())
        return BaselineCATE(
            learner=self.learner,
            features=self.features,
            average=average,
            models=models,
            guarantee=Guarantee.none("it is computed from the confidential rows without noise"),
        )

    def _models(self) -> tuple[tuple[Any, ...], float]:
        X, y, t = self.X, self.y, self.t
        if self.learner == "s":
            return (_boosted(np.column_stack([X, t]), y),), 0.0
        if self.learner == "t":
            return tuple(_boosted(X[t == arm], y[t == arm]) for arm in (1, 0)), 0.0
        target, weights = self._pseudo()
        if self.learner == "constant":
            return (), float(target.mean())
        return (_boosted(X, target, weights),), 0.0

    def _pseudo(self) -> tuple[Array, Array]:
        """Return pseudo-outcomes (n,) and weights (n,), from nuisances of the other fold."""
        target, weights = np.empty(len(self.y)), np.ones(len(self.y))
        fold = np.empty(len(self.y), int)
        rng = source(self.seed).post_processing_rng()
        for arm in (0, 1):  # both arms are in both folds
            rows = rng.permutation(np.flatnonzero(self.t == arm))
            fold[rows] = np.arange(len(rows)) % FOLDS
        for k in range(FOLDS):
            out, own = fold == k, fold != k
            X, y, t = self.X[own], self.y[own], self.t[own]
            e = self._propensity(own, self.X[out])
            outcome, arm = self.y[out], self.t[out]
            if self.learner == "r":
                gap = arm - e
                target[out] = (outcome - _boosted(X, y).predict(self.X[out])) / gap
                weights[out] = gap**2
                continue
            m0, m1 = (_boosted(X[t == a], y[t == a]).predict(self.X[out]) for a in (0, 1))
            residual = np.where(arm == 1, (outcome - m1) / e, -(outcome - m0) / (1 - e))
            target[out] = m1 - m0 + residual
        return target, weights

    def _propensity(self, own: NDArray[np.bool_], at: Array) -> Array:
        if self.propensity is not None:
            return np.full(len(at), self.propensity)
        found = _boosted(self.X[own], self.t[own]).predict(at)
        return np.asarray(np.clip(found, TRIM, 1 - TRIM))

    def __repr__(self) -> str:
        return f"baselines.CATE({self.learner}, no privacy)"


def _effect(learner: str, models: tuple[Any, ...], X: Array, average: float) -> Array:
    if learner == "constant":
        return np.full(len(X), average)
    if learner == "s":
        one, zero = (
            models[0].predict(np.column_stack([X, np.full(len(X), arm)])) for arm in (1.0, 0.0)
        )
        return np.asarray(one - zero)
    found = models[0].predict(X)
    return np.asarray(found - models[1].predict(X) if learner == "t" else found)


def _boosted(X: Array, y: Array, weights: Array | None = None) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise MissingDependencyError.extra(
            "scikit-learn", "learners", "effects without privacy"
        ) from None
    # with a seed of its own it leaves the global generator alone
    model = HistGradientBoostingRegressor(**SETTINGS, random_state=0)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        # joblib, where no command counts the cores, warns and prints where it looked for one
        warnings.filterwarnings("ignore", "Could not find the number of physical cores")
        return model.fit(X, y, sample_weight=weights)


def _matrix(data: IntoFrame, names: Sequence[str]) -> Array:
    columns = columns_of(data, tuple(names))
    return np.column_stack([pd.to_numeric(columns[name]).to_numpy(np.float64) for name in names])
