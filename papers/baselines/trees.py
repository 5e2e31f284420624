"""Propensities of classification trees, without privacy, to compare logistic ones with."""

from __future__ import annotations

import contextlib
import io
import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.defaults import TRIM
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Grow = Callable[[], Any]

LEAF = 0.05
"""Smallest share of the rows in a leaf of a single tree."""


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0)


TREES: Mapping[str, Grow] = MappingProxyType({"CART": _tree, "boosted CART": _boosted})
"""What grows, by the names of section 2 of the paper on private weights."""


def tree_propensities(X: Array, t: Mask, grow: Grow, seed: int = 0) -> Array:
    """Propensities (n,) from trees grown on the other half, within [TRIM, 1 - TRIM].

    Parameters
    ----------
    X : (n, p) array
    t : (n,) array of bool
    grow : callable
        Of :data:`TREES`.
    seed : int
        Of the halves.

    References
    ----------
    Lee, Lessler and Stuart (2010), "Improving propensity score weighting using machine learning".

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0]], 400, axis=0)
    >>> t = np.tile([True, False, False, False], 200) ^ (X[:, 0] == 1)
    >>> e = tree_propensities(X, t, TREES["CART"])
    >>> bool(e[X[:, 0] == 0].max() < 0.4 < 0.6 < e[X[:, 0] == 1].min())
    True
    """
    half = source(seed).post_processing_rng().permutation(len(t)) < len(t) // 2
    e = np.empty(len(t))
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        # joblib, where no command counts the cores, warns and prints where it looked for one
        warnings.filterwarnings("ignore", "Could not find the number of physical cores")
        for own in (half, ~half):
            e[~own] = grow().fit(X[own], t[own]).predict_proba(X[~own])[:, -1]
    return np.asarray(e.clip(TRIM, 1 - TRIM))


def tree_effect(X: Array, t: Mask, y: Array, grow: Grow, seed: int = 0) -> float:
    """Mean effect by weights of trees that add up to one in each arm."""
    e = tree_propensities(X, t, grow, seed)
    return float(np.average(y[t], weights=1 / e[t]) - np.average(y[~t], weights=1 / (1 - e[~t])))
