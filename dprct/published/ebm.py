"""The fence around interpret's DP-EBM: the one way in, on which its known leaks cannot happen.

Nothing here makes DP-EBM certified.  It keeps to the conditions without which its claim is known to
be false (ALGORITHMS.md, section 7), and returns tables of scores instead of the fitted object.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.budget import Budget

    Array = NDArray[np.float64]

CONDITIONS = (
    "bounds of every feature are declared",
    "every feature is a number (listed or nominal levels show whether somebody has them)",
    "no sample weights (the noise would scale with the data's largest weight)",
    "targets are clipped to a public range and centred at its middle",
    "no seed",
)
"""What the claim is known to need; all of it is enforced here."""

READ_OFF = "0.7.8"
"""The version of interpret-core from which the conditions were read."""


@dataclass(frozen=True, slots=True, eq=False)
class EBMFit:
    """A fitted DP-EBM as tables: cuts and scores of every feature, and an intercept.

    Parameters
    ----------
    names : tuple of str
    bounds : tuple of (float, float)
    cuts : tuple of arrays
        Inner edges of the bins of each feature.
    scores : tuple of arrays
        One more than there are cuts.
    intercept : float
        The middle of the target's range included.
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    cuts: tuple[Array, ...]
    scores: tuple[Array, ...]
    intercept: float

    def at(self, X: Array) -> Array:
        """Return the function (m,) at rows (m, p); outside bounds it is that at the nearest."""
        found = np.full(len(X), self.intercept)
        for j, (cuts, scores) in enumerate(zip(self.cuts, self.scores, strict=True)):
            found += scores[np.searchsorted(cuts, np.clip(X[:, j], *self.bounds[j]), side="right")]
        return found

    def state(self) -> dict[str, Any]:
        """Return the tables as JSON-ready values."""
        return {
            "names": list(self.names),
            "cuts": [cuts.tolist() for cuts in self.cuts],
            "scores": [scores.tolist() for scores in self.scores],
            "intercept": self.intercept,
        }


def fitted_ebm(
    X: Array,
    y: Array,
    names: Sequence[str],
    bounds: Sequence[tuple[float, float]],
    target: tuple[float, float],
    budget: Budget,
    seed: int | None = None,
) -> EBMFit:
    """Fit a DP-EBM under every condition of :data:`CONDITIONS`.

    Parameters
    ----------
    X : (n, p) array
        Clipped to ``bounds`` here.
    y : (n,) array
        Clipped to ``target`` and centred at its middle here.
    names : sequence of str
    bounds : sequence of (low, high)
        Public.
    target : (low, high)
        Public range of the target.
    budget : Budget
        With delta above 0.
    seed : int, optional
        For simulation only.

    Returns
    -------
    EBMFit

    Raises
    ------
    ParameterError
        If a public fact is missing.
    MissingDependencyError
        If interpret is not installed.

    Notes
    -----
    There is no parameter for weights, types of features or initial scores: what is not asked for
    cannot be passed.
    """
    _check(names, bounds, target, budget)
    low, high = target
    middle = low / 2 + high / 2
    clipped = np.column_stack([np.clip(X[:, j], *b) for j, b in enumerate(bounds)])
    model = _regressor()(
        feature_names=list(names),
        feature_types=["continuous"] * len(names),
        privacy_bounds=dict(zip(names, bounds, strict=True)),
        privacy_target_min=low - middle,
        privacy_target_max=high - middle,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        composition="gdp",
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        if seed is not None:  # a simulation says so itself
            warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")
        model.fit(clipped, np.clip(y, low, high) - middle)
    cuts = tuple(np.array(model.bins_[j][0], np.float64) for j in range(len(names)))
    # the first score is of missing values and the last of unknown ones, of which there are none
    scores = tuple(np.array(s[1:-1], np.float64) for s in model.term_scores_)
    intercept = float(np.asarray(model.intercept_).ravel()[0]) + middle
    return EBMFit(tuple(names), tuple(bounds), cuts, scores, intercept)


def installed_version() -> str:
    """Return the version of interpret-core.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("interpret-core")
    except PackageNotFoundError:
        raise _missing() from None


def _regressor() -> Any:
    try:
        from interpret.privacy import DPExplainableBoostingRegressor
    except ImportError:
        raise _missing() from None
    return DPExplainableBoostingRegressor


def _missing() -> MissingDependencyError:
    return MissingDependencyError.extra("interpret-core", "ebm", "DP-EBM")


def _check(
    names: Sequence[str],
    bounds: Sequence[tuple[float, float]],
    target: tuple[float, float],
    budget: Budget,
) -> None:
    if not budget.delta:
        raise ParameterError("DP-EBM draws Gaussian noise and needs delta > 0; give one below 1/n")
    if len(bounds) != len(names) or not all(_is_range(b) for b in (*bounds, target)):
        raise ParameterError(
            "every feature, and the target, needs a public range (low, high); declare them"
        )


def _is_range(bounds: Any) -> bool:
    return len(bounds) == 2 and all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]
