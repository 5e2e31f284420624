"""The published estimator in several set-ups: the paper's, and with each of its defects mended.

Everything here is a simulation on data whose owner looks on: scales and bounds of the paper's
set-up are taken from the sample, which is what voids its guarantee.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.privacy.budget import Budget
from dprct.privacy.calibration import analytic_gaussian
from dprct.published.ipw_steps import logistic_weights
from dprct.queries.grid import GRID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from papers.ippw.samples import Sample, Study

    Array = NDArray[np.float64]
    Index = NDArray[np.intp]

LAM = 0.01
DELTA = Fraction(1, 100_000)
TRIM = 0.1
IHDP_TEST = 75
"""Rows of the usual test sets of IHDP; the others are for training."""
FIRST, SECOND = 250, 100
"""Of each arm, sampled for the propensity model and for the effect."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How the published estimator is run.

    Parameters
    ----------
    title : str
    resampled : bool
        People are sampled with replacement, so that some are in several copies.
    sample_norm : bool
        Covariates are divided by the largest norm in the sample.
    mended : bool
        Every row in one part, a penalised intercept, propensities trimmed, outcomes clipped to
        public bounds, and noise that is proved at every epsilon.
    """

    title: str
    resampled: bool = False
    sample_norm: bool = False
    mended: bool = False


SETUPS: Mapping[str, Setup] = {
    "printed": Setup("as printed", resampled=True, sample_norm=True),
    "once": Setup("printed, nobody twice", sample_norm=True),
    "public": Setup("printed, public norm", resampled=True),
    "mended": Setup("published, mended", mended=True),
}


@dataclass(frozen=True, slots=True)
class Estimates:
    """What one draw of a set-up gives, by epsilon.

    Parameters
    ----------
    own : float
        The same estimator on the same rows without noise.
    partial : tuple of float
        With noise on the propensity weights only.
    full : tuple of float
        With noise on the effect, too.
    copies : int
        The largest number of copies of a person in one part.
    """

    own: float
    partial: tuple[float, ...]
    full: tuple[float, ...]
    copies: int


def estimated(
    study: Study,
    sample: Sample,
    setup: Setup,
    epsilons: Sequence[Fraction],
    rng: np.random.Generator,
) -> Estimates:
    """Return one draw of a set-up at every epsilon, with the same rows."""
    first, second = _parts(study, sample, setup, rng)
    scale = None if setup.sample_norm else study.norm
    Z1, Z2 = (_scaled(sample.X[rows], scale, intercept=setup.mended) for rows in (first, second))
    w = logistic_weights(Z1, sample.t[first], LAM, free_last=False)
    y, t = sample.y[second], sample.t[second]
    radius, centre = float(np.abs(y).max()), 0.0
    if setup.mended:
        low, high = study.bounds
        radius, centre = (high - low) / 2, (high + low) / 2
        y = y.clip(low, high) - centre
    trim = TRIM if setup.mended else None
    partial, full = [], []
    for epsilon in epsilons:
        gaussian = _proved if setup.mended else _classical
        sd = 2 / (len(first) * LAM) * gaussian(epsilon, len(w))
        noisy = weighted_effect(Z2 @ (w + sd * rng.normal(size=len(w))), t, y, trim)
        partial.append(noisy)
        out = 2 * radius / (len(second) * TRIM) * gaussian(epsilon, 1)
        full.append(noisy + out * rng.normal())
    own = weighted_effect(Z2 @ w, t, y, trim)
    return Estimates(own, tuple(partial), tuple(full), _copies(first, second))


def weighted_effect(u: Array, t: NDArray[np.bool_], y: Array, trim: float | None) -> float:
    """Return the mean of t y / e - (1 - t) y / (1 - e), e the logistic function of u.

    Notes
    -----
    From the log odds: untrimmed propensities of noisy weights are 0 and 1 in floating point.

    Examples
    --------
    >>> weighted_effect(np.zeros(2), np.array([True, False]), np.array([3.0, 1.0]), None)
    2.0
    """
    if trim is not None:
        limit = math.log((1 - trim) / trim)
        u = u.clip(-limit, limit)
    odds = np.exp(np.where(t, -u, u).clip(-700, 700))
    return float(np.mean(np.where(t, y, -y) * (1 + odds)))


def _parts(
    study: Study, sample: Sample, setup: Setup, rng: np.random.Generator
) -> tuple[Index, Index]:
    """Return the rows of the propensity model, and those of the effect."""
    order = rng.permutation(len(sample.t))
    if setup.mended or not study.resampled:
        return order[: study.n1], order[study.n1 :]
    treated, others = order[sample.t[order]], order[~sample.t[order]]
    arms = (treated, others)
    if not setup.resampled:
        few = min(len(treated), len(others))
        second = SECOND if few >= 2 * SECOND else few // 3
        return (
            np.concatenate([arm[second : min(few, second + FIRST)] for arm in arms]),
            np.concatenate([arm[:second] for arm in arms]),
        )
    if study.name == "ihdp":
        test = order[:IHDP_TEST]
        rest = order[IHDP_TEST:]
        return _balanced(sample, rest, FIRST, rng), _balanced(sample, test, SECOND, rng)
    second_rows = np.concatenate([arm[:SECOND] for arm in arms])
    rest = np.concatenate([arm[SECOND:] for arm in arms])
    return _balanced(sample, rest, FIRST, rng), second_rows


def _balanced(sample: Sample, rows: Index, each: int, rng: np.random.Generator) -> Index:
    """Return rows drawn with replacement, so many of each arm."""
    t = sample.t[rows]
    return np.concatenate([rng.choice(rows[t], each), rng.choice(rows[~t], each)])


def _scaled(X: Array, norm: float | None, *, intercept: bool) -> Array:
    """Return rows of norm at most 1: by a public norm, or by the largest in the sample."""
    sizes = np.linalg.norm(X, axis=1)
    largest = float(sizes.max()) if norm is None else norm
    Z = X / np.maximum(sizes, largest)[:, None]
    if not intercept:
        return np.asarray(Z)
    return np.asarray(np.column_stack([Z, np.ones(len(Z))]) / math.sqrt(2))


def _classical(epsilon: Fraction, d: int) -> float:
    """Return the paper's noise per unit of sensitivity, which is proved below epsilon 1 only."""
    del d
    return math.sqrt(2 * math.log(1.25 / float(DELTA))) / float(epsilon)


def _proved(epsilon: Fraction, d: int) -> float:
    budget = Budget(epsilon, DELTA)
    return analytic_gaussian(Fraction(GRID**2), d, budget).sigma / GRID


def _copies(first: Index, second: Index) -> int:
    return max(max(Counter(rows.tolist()).values()) for rows in (first, second))
