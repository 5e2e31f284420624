"""interpret's DP-EBM: corrected, with everything that its claim needs enforced, and as printed."""

from __future__ import annotations

import math
import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import MissingDependencyError, ParameterError
from dprct.lazy import special
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


@dataclass(frozen=True, eq=False)
class EBMFit:
    """A fitted DP-EBM as tables: cuts and scores of every feature, and an intercept."""

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    cuts: tuple[Array, ...]  # inner edges of the bins of each feature
    scores: tuple[Array, ...]  # one more than there are cuts
    intercept: float  # the middle of the target's range included
    # The levels of features that interpret took for nominal, in place of cuts; the last score of
    # such a feature is that of any other value.  Only as printed.
    levels: Mapping[int, Array] = field(default_factory=dict)
    classifies: bool = False  # whether the function is the log odds of a probability

    def at(self, X: Array) -> Array:
        """Return the function (m,) at rows (m, p); outside bounds it is that at the nearest."""
        found = np.full(len(X), self.intercept)
        for j, (cuts, scores) in enumerate(zip(self.cuts, self.scores, strict=True)):
            if j in self.levels:
                found += scores[_level_at(self.levels[j], X[:, j])]
            else:
                within = np.clip(X[:, j], *self.bounds[j])
                found += scores[np.searchsorted(cuts, within, side="right")]
        return np.asarray(special.expit(found)) if self.classifies else found


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

    Features are clipped to ``bounds``, y to ``target`` and centred at its middle.  A seed is for
    simulation only.

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


def printed_ebm(
    X: Array,
    y: Array,
    names: Sequence[str],
    budget: Budget,
    *,
    weights: Array | None = None,
    classifies: bool = False,
    seed: int | None = None,
) -> EBMFit:
    """Fit a DP-EBM with "all hyperparameters set to their default values" (section 5.1.1).

    Ranges of features and of the target, kinds of features, and classes are taken from the data.

    The budget is Interpret's parameter and no guarantee; ``classifies`` says that y is a class, 0
    or 1, as treatment is.
    """
    if classifies and len(np.unique(y)) < 2:
        raise ParameterError(
            "nobody, or everybody, in the part of the propensity was treated, and a classifier "
            "needs both; give a larger share to it by ``parts=``"
        )
    model = _regressor(classifies)(
        feature_names=list(names), epsilon=float(budget.epsilon), delta=float(budget.delta),
        random_state=seed, n_jobs=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        # what they say, the guarantee says: that there is none, and why
        warnings.filterwarnings("ignore", "Possible privacy violation")
        if seed is not None:
            warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")
        model.fit(X, y.astype(np.int64) if classifies else y, sample_weight=weights)
    everywhere = (-math.inf, math.inf)
    cuts, scores, levels = [], [], {}
    for j, ((bins, *_), table) in enumerate(zip(model.bins_, model.term_scores_, strict=True)):
        if isinstance(bins, dict):
            levels[j] = np.array(sorted(bins, key=bins.__getitem__), np.float64)
        # the first score is of missing values, and the last one of levels that were not there
        cuts.append(np.zeros(0) if j in levels else np.array(bins, np.float64))
        scores.append(np.array(table[1:] if j in levels else table[1:-1], np.float64))
    intercept = float(np.asarray(model.intercept_).ravel()[0])
    return EBMFit(
        tuple(names), (everywhere,) * len(cuts), tuple(cuts), tuple(scores), intercept, levels,
        classifies,
    )  # fmt: skip


def _level_at(levels: Array, x: Array) -> NDArray[np.intp]:
    """Return the place of each value among levels, one beyond the last where it is none."""
    order = np.argsort(levels)
    near = np.minimum(np.searchsorted(levels[order], x), len(levels) - 1)
    return np.where(levels[order][near] == x, order[near], len(levels))


def installed_version() -> str:
    """Return the version of interpret-core."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("interpret-core")
    except PackageNotFoundError:
        raise _missing() from None


def _regressor(classifies: bool = False) -> Any:
    try:
        from interpret import privacy
    except ImportError:
        raise _missing() from None
    if classifies:
        return privacy.DPExplainableBoostingClassifier
    return privacy.DPExplainableBoostingRegressor


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
            "every feature, and the target, needs a public range ``(low, high)``; declare them"
        )


def _is_range(bounds: Any) -> bool:
    return len(bounds) == 2 and all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]
