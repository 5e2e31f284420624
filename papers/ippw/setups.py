"""The set-ups that are compared: the paper's estimator, its defects corrected, and the strict one.

Everything here is a simulation on data whose owner looks on: scales and bounds of the paper's
set-up are taken from the sample, which is what voids its guarantee.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dprct.estimate.ipw.model import IPW
from dprct.estimate.ipw.release import released
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import analytic_gaussian
from dprct.privacy.noise import source
from dprct.privacy.noise import source as noise_source
from dprct.published.ipw import logistic_weights
from dprct.queries.sums import GRID
from papers import baselines
from papers.ippw.samples import SYNTHETIC_N2, TRUE_EFFECT
from papers.runner import Settings

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
    "mended": Setup("published, corrected", mended=True),
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


@dataclass(frozen=True, slots=True)
class Strict:
    """A way to call :class:`dprct.IPW`.

    Parameters
    ----------
    title : str
    options : mapping
    """

    title: str
    options: Mapping[str, Any]


STRICT: Mapping[str, Strict] = {
    "strict": Strict("strict", {"hajek": False}),
    "hajek": Strict("strict, Hajek", {"hajek": True}),
}


def strict(
    study: Study,
    sample: Sample,
    epsilons: Sequence[Fraction],
    rng: np.random.Generator,
    **options: Any,
) -> Estimates:
    """Return one draw of :class:`dprct.IPW` at every epsilon; NaN where it releases no effect.

    Notes
    -----
    The private step alone is run, as ``fit`` runs it in simulation: standard errors are not asked
    for, and would take most of the time.
    """
    split = None
    if study.name == "synthetic":
        split = study.n1 / (study.n1 + SYNTHETIC_N2)
    model = IPW.from_arrays(
        sample.X, sample.t, sample.y,
        bounds=study.bounds, x_bounds=study.x_bounds, split=split, errors="conditional", **options,
    )  # fmt: skip
    rows, radius = model._rows(), (study.bounds[1] - study.bounds[0]) / 2
    noise = source(rng)
    found = tuple(
        released(
            model.spec.weighting(model.facts).allocation(Budget(epsilon, DELTA)), rows, noise
        ).theta
        * radius
        for epsilon in epsilons
    )
    nothing = (float("nan"),) * len(found)
    return Estimates(float("nan"), nothing, found, 1)


def without_privacy(sample: Sample) -> dict[str, float]:
    """Return the difference in means, ``teffects ipw`` and ``aipw``, and weights of trees."""
    y, t = sample.y, sample.t
    found = {"difference in means": float(y[t].mean() - y[~t].mean())}
    for estimator in ("ipw", "aipw"):
        fit = baselines.IPW.from_arrays(sample.X, t, y, estimator=estimator).fit()
        found[estimator] = fit.estimate
    for name, grow in baselines.TREES.items():
        found[f"ipw, {name}"] = baselines.tree_effect(sample.X, t, y, grow)
    return found


EPSILONS = tuple(map(Fraction, ("1/5", "1/2", "1", "2", "5")))
"""As many as Tables 2 and 3 have; theirs are lost in the text at hand."""


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    study : str
        Label of the study.
    setup : str
        Of :data:`SETUPS` or :data:`STRICT`.
    draws : int
    seed : int
    data : str
        Hash of the data.
    """

    FORMAT: ClassVar[int] = 2

    study: str
    setup: str
    draws: int
    seed: int
    data: str

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.study} {self.setup}"

    def compute(self, study: Study) -> pd.DataFrame:
        """Return one row per draw and epsilon.

        Returns
        -------
        DataFrame
            draw, epsilon, estimate, partial (noise on the propensity weights only), own (without
            noise), truth, copies.
        """
        # the data of a draw are the same in all set-ups; what is drawn on them is not
        samples = study.stream(self.seed)
        rng = noise_source(int(self.key, 16)).post_processing_rng()
        rows = []
        for draw in range(self.draws):
            sample = study.sample(draw, samples)
            if self.setup in STRICT:
                found = strict(study, sample, EPSILONS, rng, **STRICT[self.setup].options)
            else:
                found = estimated(study, sample, SETUPS[self.setup], EPSILONS, rng)
            rows += [
                {
                    "draw": draw,
                    "epsilon": float(epsilon),
                    "estimate": full,
                    "partial": partial,
                    "own": found.own,
                    "truth": sample.truth,
                    "copies": found.copies,
                }
                for epsilon, partial, full in zip(EPSILONS, found.partial, found.full, strict=True)
            ]
        return pd.DataFrame(rows)


def setups_of(study: Study) -> tuple[str, ...]:
    """Return the set-ups of a study: those that sample twice only where section 4 does.

    Examples
    --------
    >>> from papers.ippw.samples import studies
    >>> setups_of(studies(None)["synthetic n1=500"])
    ('once', 'mended', 'strict', 'hajek')
    """
    if study.effect != TRUE_EFFECT:
        return ("once",)  # for the paper's figure alone
    published = tuple(SETUPS) if study.resampled else ("once", "mended")
    return (*published, *STRICT)


def title_of(setup: str) -> str:
    """Return a set-up as reports name it."""
    return (STRICT if setup in STRICT else SETUPS)[setup].title
