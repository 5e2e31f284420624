"""Remark 3.2: further estimators of Algorithm 1, with the guarantee of their learners.

The paper defines none of them; it says that its Theorem 3.3 covers their versions with disjoint
parts of the sample.  Here are two, on this package's additive learner and on noisy cross products.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from dprct.estimate.additive.model import PrivateAdditive
from dprct.estimate.cate.release import partition, sizes_of
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.published.base_learners import Part
from dprct.schema import Column, Schema
from papers.cate.designs import designs, stream
from papers.runner import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from papers.cate.designs import Sample

    Array = NDArray[np.float64]
    Learn = Callable[[Part, Array, Array, int], "Learned"]

DELTA = 1e-5
EPSILONS = (1.0, 4.0, 16.0)


@dataclass(frozen=True, slots=True)
class Learned:
    """A fitted function of rows (m, p), and what its fit promises."""

    at: Callable[[Array], Array]
    guarantee: str


@dataclass(frozen=True, slots=True)
class Estimated:
    """A number or function of the last stage, and what each part promises."""

    coefficients: Array
    guarantees: Mapping[str, str]


def additive(part: Part, X: Array, y: Array, seed: int) -> Learned:
    """Fit :class:`dprct.PrivateAdditive` to a part."""
    names = [f"x{j}" for j in range(len(part.bounds))]
    columns = [Column(n, bounds=b, missing=()) for n, b in zip(names, part.bounds, strict=True)]
    schema = Schema((*columns, Column("target", bounds=part.target, missing=())))
    rows = pd.DataFrame(_within(X, part), columns=names).assign(target=np.clip(y, *part.target))
    model = PrivateAdditive(rows, schema, outcome="target", features=names)
    fit = model.fit(part.budget.epsilon, part.budget.delta, rng=seed)
    found = f"PrivateAdditive, {part.budget}, replace-one"
    return Learned(
        lambda new: np.asarray(fit.predict(pd.DataFrame(_within(new, part), columns=names))), found
    )


def cross_products(part: Part, X: Array, y: Array, seed: int) -> Array:
    """Return least squares (p,) without a constant, from noisy cross products.

    Notes
    -----
    Columns and target are divided by their largest absolute values, which are public; then a
    product of two of them is within -1 and 1, and one row that is replaced changes each sum by 2 at
    most.  Laplace noise of scale ``2 m / epsilon`` on each of the m sums keeps epsilon, for draws
    in real numbers: these are floating-point ones, of a simulation.
    """
    reach = np.abs(np.array(part.bounds)).max(axis=1)
    limit = max(map(abs, part.target))
    Z, v = _within(X, part) / reach, np.clip(y, *part.target) / limit
    upper = np.triu_indices(len(reach))
    m = len(upper[0]) + len(reach)
    noise = source(seed).post_processing_rng().laplace(0, 2 * m / float(part.budget.epsilon), m)
    gram = np.zeros((len(reach), len(reach)))
    gram[upper] = (Z.T @ Z)[upper] + noise[: len(upper[0])]
    gram = gram + np.triu(gram, 1).T
    right = Z.T @ v + noise[len(upper[0]) :]
    return np.asarray(limit / reach * np.linalg.lstsq(gram, right, rcond=None)[0])


def _within(X: Array, part: Part) -> Array:
    low, high = np.array(part.bounds).T
    return np.clip(X, low, high)


def partially_linear(
    sample: Sample,
    bounds: tuple[tuple[float, float], ...],
    target: tuple[float, float],
    budget: Budget,
    seed: int,
    learn: Learn = additive,
) -> Estimated:
    """Return theta of y = theta t + g(x) + u by residuals on residuals, each fit on its own part.

    Parameters
    ----------
    bounds, target : pairs of numbers
        Public ranges of features and outcome.
    budget : Budget
        Of every part: they are disjoint.

    References
    ----------
    Chernozhukov et al. (2018), "Double/debiased machine learning", section 1.
    """
    shares = {"propensity": Fraction(1, 4), "outcome": Fraction(1, 4), "effect": Fraction(1, 2)}
    of = _parts(shares, sample, seed)
    e = learn(Part("propensity", budget, bounds, (0.0, 1.0)), *of["propensity"][::2], seed)
    m = learn(Part("outcome", budget, bounds, target), *of["outcome"][:2], seed + 1)
    X, y, t = of["effect"]
    gap = target[1] - target[0]
    last = Part("effect", budget, ((-1.0, 1.0),), (-gap, gap))
    theta = cross_products(last, (t - e.at(X))[:, None], y - m.at(X), seed + 2)
    return Estimated(
        theta,
        {"propensity": e.guarantee, "outcome": m.guarantee, "effect": f"sums, {budget}"},
    )


def _parts(
    shares: Mapping[str, Fraction], sample: Sample, seed: int
) -> dict[str, tuple[Array, Array, Array]]:
    """Return features, outcome and treatment of every part, drawn uniformly."""
    noise = source(seed)
    places = partition(sizes_of(shares, len(sample.y)), noise)
    return {name: (sample.X[rows], sample.y[rows], sample.t[rows]) for name, rows in places.items()}


@dataclass(frozen=True, slots=True)
class Instrumented:
    """Rows of a structural function g with an instrument, (n,) each, within -1 and 1 and -3 and 3.

    Parameters
    ----------
    z, t, y : (n,) array
        The instrument, what it moves, and the outcome ``g(t) + u`` with u related to t.
    """

    z: Array
    t: Array
    y: Array


OUTCOME = (-3.0, 3.0)
UNIT = (-1.0, 1.0)


def structural(t: Array) -> Array:
    """The function that is to be found, within the basis of :func:`basis`."""
    return np.asarray(t - t**2)


def instrumented(n: int, rng: np.random.Generator) -> Instrumented:
    """Draw rows whose errors move treatment and outcome together."""
    z, v = rng.uniform(*UNIT, n), rng.normal(0, 0.3, n)
    t = np.clip(0.7 * z + v, *UNIT)
    y = structural(t) + 1.5 * v + rng.normal(0, 0.3, n)
    return Instrumented(z, t, np.clip(y, *OUTCOME))


def basis(t: Array) -> Array:
    """Constant, t and (3 t^2 - 1) / 2, (n, 3), all within -1 and 1."""
    return np.column_stack([np.ones(len(t)), t, (3 * t**2 - 1) / 2])


def instrumental(rows: Instrumented, budget: Budget, seed: int, learn: Learn = additive) -> Array:
    """Return coefficients (3,) of g in the basis: the outcome on what the instrument tells of it.

    Each basis function but the constant has a first stage of its own, on a part of its own.

    References
    ----------
    Newey and Powell (2003), "Instrumental variable estimation of nonparametric models".
    """
    names = ("first", "second", "effect")
    shares = dict(zip(names, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), strict=True))
    places = partition(sizes_of(shares, len(rows.y)), source(seed))
    stages = [
        learn(Part(name, budget, (UNIT,), UNIT), rows.z[own][:, None], basis(rows.t[own])[:, k],
              seed + k)
        for k, name in enumerate(names[:2], start=1) for own in [places[name]]
    ]  # fmt: skip
    own = places["effect"]
    z = rows.z[own][:, None]
    told = np.column_stack([np.ones(len(z)), *(np.clip(one.at(z), *UNIT) for one in stages)])
    return cross_products(Part("effect", budget, (UNIT,) * 3, OUTCOME), told, rows.y[own], seed)


@dataclass(frozen=True, slots=True)
class Multistage(Settings):
    """Everything that the errors of both estimators depend on."""

    FORMAT: ClassVar[int] = 1

    n: int
    draws: int
    seed: int

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"remark 3.2, n={self.n}"

    def compute(self) -> pd.DataFrame:
        """Return ``estimator, epsilon, rmse, without`` of the effect, or of g over its range.

        ``without`` is the error of the same sample without the correction: the outcome regressed on
        treatment, or on the basis, with no noise.
        """
        design, grid = designs(None)["C"], np.linspace(-0.8, 0.8, 41)
        ranges = tuple((low, high) for _, low, high in design.features)
        errors: dict[tuple[str, float], list[tuple[float, float]]] = {}
        for draw in range(self.draws):
            rng = stream(self.seed, 2, self.n, draw)
            sample, rows = design.train(self.n, rng), instrumented(self.n, rng)
            naive = float(np.cov(sample.t, sample.y)[0, 1] / np.var(sample.t, ddof=1))
            plain = basis(grid) @ np.linalg.lstsq(basis(rows.t), rows.y, rcond=None)[0]
            for epsilon in EPSILONS:
                budget, seed = Budget(Fraction(epsilon), Fraction(DELTA)), self.seed + 10 * draw
                theta = partially_linear(sample, ranges, design.bounds, budget, seed).coefficients
                errors.setdefault(("partially linear", epsilon), []).append(
                    (float(theta[0]) - 1, naive - 1)
                )
                g = basis(grid) @ instrumental(rows, budget, seed)
                errors.setdefault(("nonparametric IV", epsilon), []).append(
                    (_rms(g - structural(grid)), _rms(plain - structural(grid)))
                )
        return pd.DataFrame(
            [
                {"estimator": name, "epsilon": epsilon,
                 "rmse": _rms(np.array(found)[:, 0]), "without": _rms(np.array(found)[:, 1])}
                for (name, epsilon), found in errors.items()
            ]
        )  # fmt: skip


def _rms(gap: Array) -> float:
    return float(np.sqrt(np.mean(gap**2)))
