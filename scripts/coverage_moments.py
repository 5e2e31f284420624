"""Write docs/coverage_moments.md: coverage of what is read off released moments, over a grid.

Usage: python scripts/coverage_moments.py [quick | runs per cell, 300 by default] [processes]

The truth is always the regression that the user wrote, on columns clipped at their declared bounds
and on nothing else.  Rows are drawn from a pool, put on the grid of the release, projected into the
ball that the class plans at the budget, summed, and given noise of the law of the release; layout,
scores and fits are those of the class.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from coverage_scores import Asked, in_ball, simulated
from scipy import special
from scipy.optimize import brentq
from scipy.stats import norm

from dprct import Column, PrivateMoments, Schema
from dprct.errors import ParameterError
from dprct.estimate.contrasts import arm_contrasts
from dprct.estimate.moments.effects import Combinations, Unit, arm_means, effects_of, means_of
from dprct.estimate.moments.indices import index_of
from dprct.estimate.moments.instruments import iv_of
from dprct.estimate.moments.noisy import NoisyMoments
from dprct.estimate.moments.regression import squared_t
from dprct.estimate.moments.system import Regressor, profile
from dprct.privacy.budget import Guarantee
from dprct.results.joint import family_pvalues

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
NONE = Guarantee.none("a simulation")
DELTA, POOL = 1e-6, 400_000
OTHERS = "## Effects within subgroups\n"
LOW = {0.05: 0.935, 0.01: 0.98}
WRONG = 3.0
"""By what a wrong scale is too small or too large."""

HEAD = """# How well intervals from released moments cover

Written by `scripts/coverage_moments.py`; {runs} simulated releases per row ({large} from n = 1e5
on), delta = 1e-6. Everything below is computed from one Gaussian release of first and
second moments. A row in bold is more than three binomial errors below .935 at the 95 % level or .98
at the 99 % level.

## Least squares

`y ~ T + x1 + ... + xp`, HC1. **The truth is the regression as written, on columns clipped at their
declared bounds**, without projection onto a ball. Outcomes are clipped at their bounds and never
projected; covariates are projected onto the ball that the plan chooses from n, epsilon, delta and
p. T is 0 or 1, and is either randomised or *chosen*, that is, dependent on the covariates. Effects
multiply skewed and zero-inflated outcomes by about 1.2; *equal means, unequal spread* is lognormal,
of standard deviation .5 among the untreated and 1.2 among the treated in logarithms. Covariates are
normal with correlation .5, or lognormal (*skewed x*). *Scales wrong*: all `sd` a third of the
truth, or three times as large; *centres wrong*: off by a standard deviation.

*Radius*: of the ball, in typical rows of covariates. *Projected*: the share of rows outside.
*Read*: the share of releases in which coefficients are estimated (eta^2 at most .1). Coverage is
that of the printed interval, among these releases. *Worst slope*: the lowest coverage over
covariates of the estimate -+ 1.96 errors, without the hull. *Error*: the median, over the robust
error of least squares on the confidential rows. *Off by*: the mean difference from the truth, in
robust errors of least squares.

| data | n | p | epsilon | radius | projected | read | T 95 % | x1 95 % | T 99 % | x1 99 % \
| worst slope | error of T | of x | T off by | x1 off by |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""

EFFECTS = """
{low}

## Effects of arms

Eight outcomes, each clipped at its own bounds; the truth is the difference of the means of clipped
outcomes. Noise in standard deviations of the outcome in the control group. *Without kappa*:
sampling variances as they were released.

| data | epsilon | noise sd | 95 % | worst outcome | 99 % | without kappa, 95 % |
|---|---|---|---|---|---|---|
"""

REST = """
{low}

## Instrumental variables, indices, families of tests

| what | n | epsilon | 95 % | note |
|---|---|---|---|---|
"""

FOOT = """
{low}
"""

REASONS = "A row in bold misses by more than chance; see the text of its table for the reason."
OF_SLOPES = (
    "A row in bold misses by more than chance: where T was drawn by lot it is the slope of x1, "
    "which is that of projected rows. Where it is the point of the study, put the covariate in "
    '`columns=`, which takes it out of the ball, or say `radius="box"`.'
)


def scales(radius: float, constant: float, epsilon: float) -> tuple[float, float]:
    """Return s1 and s2 of a release with this radius and constant."""

    def beyond(mu: float) -> float:
        upper = norm.cdf(mu / 2 - epsilon / mu)
        return float(upper - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - DELTA)

    mu = brentq(beyond, 1e-6, 50)
    total = radius**2 + constant**2
    return total / (mu * constant), math.sqrt(2) * total / mu


def released(
    totals: np.ndarray,
    cross: np.ndarray,
    n: float,
    scale: tuple[float, float],
    rng: np.random.Generator,
    names: tuple[str, ...],
    weight: np.ndarray | None = None,
    private: bool = False,
) -> NoisyMoments:
    """Return moments with noise of the law of a release."""
    s1, s2 = scale
    h, p = s2 / (math.sqrt(2) * s1), len(names)
    noise = rng.normal(0, s2, (p + 1, p + 1))
    noise = (noise + noise.T) / 2
    weight = np.ones(p) if weight is None else weight
    return NoisyMoments(
        names,
        n + private * noise[0, 0] / h**2,
        not private,
        totals + noise[0, 1:] / h,
        cross + noise[1:, 1:],
        s1,
        s2,
        np.zeros(p),
        np.ones(p),
        weight,
    )


@dataclass(frozen=True)
class Law:
    """An outcome given T and the index of the covariates, with its declared bounds."""

    draw: Callable[[Array, Array, np.random.Generator], Array]
    bounds: tuple[float, float]
    size: float = 0.3

    def clipped(self, t: Array, index: Array, rng: np.random.Generator) -> Array:
        """Return outcomes within their bounds; ``size`` is what the index is multiplied by."""
        found: Array = np.clip(self.draw(t, self.size * index, rng), *self.bounds)
        return found

    @property
    def of_two(self) -> bool:
        """Whether it is 0 or 1."""
        return self.bounds == (0.0, 1.0)


def _e(x: Array, rng: np.random.Generator) -> Array:
    return rng.normal(size=len(x))


LAWS = {
    "normal": Law(lambda t, x, rng: 0.2 * t + 2 * x + _e(x, rng), (-6, 6)),
    "errors vary with x": Law(
        lambda t, x, rng: 0.2 * t + 2 * x + _e(x, rng) * np.sqrt(0.3 + 7 * x**2), (-8, 8)
    ),
    "exponential": Law(lambda t, x, rng: rng.exponential(1, len(x)) * np.exp(0.2 * t + x), (0, 20)),
    "lognormal": Law(lambda t, x, rng: np.exp(0.2 * t + x + _e(x, rng)), (0, 50)),
    "lognormal, bounds 0 to 6": Law(lambda t, x, rng: np.exp(0.2 * t + x + _e(x, rng)), (0, 6)),
    "zero-inflated": Law(
        lambda t, x, rng: (rng.random(len(x)) > 0.3) * np.exp(0.2 * t + x + 1.2 * _e(x, rng)),
        (0, 60),
    ),
    "rare, 2 to 3 %": Law(
        lambda t, x, rng: (rng.random(len(x)) < 0.02 + 0.01 * t + 0.01 * np.clip(x, -1, 1)) * 1.0,
        (0.0, 1.0),
    ),
    "counts": Law(lambda t, x, rng: rng.poisson(np.exp(0.2 * t + x)) * 1.0, (0, 20)),
    "equal means, unequal spread": Law(
        lambda t, x, rng: np.exp((0.5 + 0.7 * t) * _e(x, rng) - (0.5 + 0.7 * t) ** 2 / 2), (0, 60)
    ),
}


@dataclass(frozen=True)
class Cell:
    """One row of the table of least squares."""

    law: str
    n: int
    p: int
    epsilon: float = 1.0
    rho: float = 0.5
    chosen: bool = False
    skewed: bool = False
    scale: float = 1.0
    off: float = 0.0
    twin: float = 0.0

    @property
    def label(self) -> str:
        """What is unusual about it."""
        of_scales = "scales too small" if self.scale < 1 else "scales too large"
        more = [
            "T chosen" * self.chosen,
            "skewed x" * self.skewed,
            of_scales * (self.scale != 1),
            "centres wrong" * (self.off != 0),
            f"correlation {self.rho:g}" * (self.rho not in (0.0, 0.5)),
            f"twins {self.twin:g}" * (self.twin > 0),
        ]
        return ", ".join([self.law, *filter(None, more)])


GRID = (
    Cell("normal", 2_000, 1),
    Cell("normal", 20_000, 1, 4.0),
    Cell("normal", 100_000, 1, 4.0),
    Cell("normal", 2_000, 3),
    Cell("normal", 10_000, 10),
    Cell("normal", 100_000, 10),
    Cell("normal", 20_000, 30, 4.0),
    Cell("normal", 10_000, 3, chosen=True),
    Cell("normal", 100_000, 3, 4.0, chosen=True),
    Cell("normal", 20_000, 1, 4.0, scale=1 / WRONG),
    Cell("normal", 20_000, 1, 4.0, scale=WRONG),
    Cell("normal", 20_000, 1, 4.0, off=1.0),
    Cell("normal", 20_000, 3, skewed=True),
    Cell("normal", 16_000, 10, rho=0.9),
    Cell("normal", 30_000, 3, 4.0, twin=0.2),
    Cell("errors vary with x", 20_000, 3, 4.0),
    Cell("errors vary with x", 100_000, 3, 4.0),
    Cell("exponential", 20_000, 1, 4.0),
    Cell("lognormal", 2_000, 1, 4.0),
    Cell("lognormal", 20_000, 1, 4.0),
    Cell("lognormal", 100_000, 10),
    Cell("lognormal", 20_000, 1, 4.0, scale=1 / WRONG, off=1.0),
    Cell("lognormal", 20_000, 1, 4.0, skewed=True),
    Cell("lognormal, bounds 0 to 6", 20_000, 1),
    Cell("zero-inflated", 20_000, 1, 4.0),
    Cell("zero-inflated", 100_000, 10, 4.0),
    Cell("zero-inflated", 20_000, 1, 4.0, scale=1 / WRONG),
    Cell("rare, 2 to 3 %", 20_000, 1),
    Cell("rare, 2 to 3 %", 100_000, 1, 2.0),
    Cell("rare, 2 to 3 %", 100_000, 1, 2.0, scale=1 / WRONG, off=1.0),
    Cell("counts", 20_000, 3, 2.0),
    Cell("equal means, unequal spread", 2_000, 1, 4.0),
    Cell("equal means, unequal spread", 20_000, 1),
    Cell("equal means, unequal spread", 100_000, 10),
)


def pool_of(cell: Cell) -> tuple[pd.DataFrame, PrivateMoments]:
    """Return rows, each column within its bounds, and the release that is asked for."""
    rng = np.random.default_rng(0)
    law, p, names = LAWS[cell.law], cell.p, [f"x{j + 1}" for j in range(cell.p)]
    X = rng.normal(size=(POOL, p)) @ np.linalg.cholesky(cell.rho + (1 - cell.rho) * np.eye(p)).T
    if cell.twin:
        X[:, 1] = (X[:, 0] + cell.twin * rng.normal(size=POOL)) / math.sqrt(1 + cell.twin**2)
    ends = (-1.5, 8.0) if cell.skewed else (-4.0, 4.0)
    if cell.skewed:
        X = (np.exp(0.7 * X) - math.exp(0.245)) / math.sqrt((math.exp(0.49) - 1) * math.exp(0.49))
    X = X.clip(*ends)
    T = rng.permutation(POOL) % 2 * 1.0
    if cell.chosen:
        lean = X @ np.linspace(1, -1, p) / math.sqrt(p)
        T = (lean + rng.normal(size=POOL) > 0) * 1.0
    y = law.clipped(T, X @ np.linspace(1, -0.6, p) / math.sqrt(p), rng)
    schema = Schema(
        (
            *(
                Column(name, bounds=ends, sd=cell.scale, centre=cell.off, missing=())
                for name in names
            ),
            Column("T", "byte", levels=(0.0, 1.0), missing=()),
            Column("y", "byte", levels=(0.0, 1.0), missing=())
            if law.of_two
            else Column("y", bounds=law.bounds, sd=cell.scale * float(y.std()), missing=()),
        )
    )
    data = pd.DataFrame(X, columns=names).assign(T=T, y=y)
    model = PrivateMoments(
        data.iloc[: cell.n], schema, formulas=["y ~ " + " + ".join(["T", *names])]
    )  # fmt: skip
    return data, model


def least_squares_row(cell: Cell, runs: int) -> tuple[str, bool]:
    """Return one row of the table of least squares."""
    rng = np.random.default_rng([cell.n, cell.p, int(cell.epsilon * 10), len(cell.label)])
    data, model = pool_of(cell)
    names = ["T", *(f"x{j + 1}" for j in range(cell.p))]
    asked = Asked.of(model, names, cell.epsilon)
    r, projected = in_ball(asked.layout, data)
    x, y = np.column_stack([np.ones(POOL), data[names].to_numpy()]), data["y"].to_numpy()
    bread = np.linalg.inv(x.T @ x / POOL)
    truth = bread @ (x.T @ y / POOL)
    scores = x * (y - x @ truth)[:, None]
    robust = np.sqrt(np.diag(bread @ (scores.T @ scores / POOL) @ bread) / cell.n)
    hits, errors, ses, slopes = [], [], [], []
    for _ in range(runs):
        try:
            found = simulated(asked, r[rng.integers(0, POOL, cell.n)], 1, rng)
        except ParameterError:  # a residual variance at or below 0
            continue
        if found is None:
            continue
        one = found[0]
        J, system = one.system.to_names, one.system
        b, se = J @ one.b, np.sqrt(np.diag(J @ one.cov @ J.T))
        at = [system.names.index(name) for name in ["Intercept", *names]]
        b, se, J = b[at], se[at], J[at]
        t = np.abs(b - truth) / se
        errors.append(b - truth)
        ses.append(se)
        slopes.append(t <= 1.959964)
        covered = []
        for j in (1, 2):
            q = profile(one, J[j][None], truth[[j]])
            least = min(t[j], math.sqrt(squared_t(q, system.nobs, system.df_resid)))
            covered += [least <= special.stdtrit(system.df_resid, 1 - a / 2) for a in (0.05, 0.01)]
        hits.append(covered)
    read, typical = len(hits), math.sqrt(cell.p)
    said = [cell.label, f"{cell.n:,}", str(cell.p), f"{cell.epsilon:g}"]
    said += [
        f"{asked.layout.shrunk_radius / typical:.2f}",
        f"{projected:.3f}",
        f"{read / runs:.2f}",
    ]
    if read < 30:
        return "| " + " | ".join([*said, *["-"] * 9]) + " |\n", False
    share = np.array(hits).mean(axis=0)
    low = any(
        share[i] < LOW[a] - 3 * math.sqrt(a * (1 - a) / read)
        for i, a in enumerate((0.05, 0.01, 0.05, 0.01))
    )
    off, ratio = np.mean(errors, axis=0) / robust, np.median(ses, axis=0) / robust
    said += [f"{share[i]:.3f}" for i in (0, 2, 1, 3)]
    said += [f"{np.mean(slopes, axis=0)[2:].min():.3f}", f"{ratio[1]:.2f}"]
    said += [f"{np.median(ratio[2:]):.2f}", f"{off[1]:+.2f}", f"{off[2]:+.2f}"]
    said = [f"**{one}**" for one in said] if low else said
    return "| " + " | ".join(said) + " |\n", low


@dataclass(frozen=True)
class Outcome:
    """An outcome in either arm, with its bounds; ``draw`` has the arm, 0 or 1, and a shape."""

    draw: Callable[[int, tuple[int, int], np.random.Generator], Array]
    bounds: tuple[float, float]

    def arms(self, sizes: tuple[int, int], J: int, rng: np.random.Generator) -> list[Array]:
        """Return the clipped outcomes of both arms."""
        return [np.clip(self.draw(a, (n, J), rng), *self.bounds) for a, n in enumerate(sizes)]


OUTCOMES = {
    "normal": Outcome(lambda a, size, rng: 0.2 * a + rng.normal(size=size), (-5, 5)),
    "2 % binary": Outcome(lambda a, size, rng: (rng.random(size) < 0.02) * 1.0, (0, 1)),
    "zero-inflated counts": Outcome(
        lambda a, size, rng: np.where(rng.random(size) < 0.6, 0, rng.poisson(3, size)), (0, 15)
    ),
    "lognormal": Outcome(lambda a, size, rng: np.exp(0.2 * a + rng.normal(size=size)), (0, 50)),
    "equal means, unequal spread": Outcome(
        lambda a, size, rng: np.exp((0.5 + 0.7 * a) * rng.normal(size=size)
                                    - (0.5 + 0.7 * a) ** 2 / 2), (0, 60)
    ),
    "all at a corner": Outcome(lambda a, size, rng: np.zeros(size), (0, 1)),
}  # fmt: skip


ARMS = tuple(
    (law, sizes, epsilon, private)
    for epsilon in (1.0, 4.0, 16.0)
    for law, sizes, private in (
        ("normal", (200, 225), False),
        ("normal", (500, 500), True),
        ("2 % binary", (500, 500), False),
        ("2 % binary", (500, 500), True),
        ("zero-inflated counts", (500, 500), False),
        ("lognormal", (2_000, 2_000), False),
        ("lognormal", (2_000, 2_000), True),
        ("equal means, unequal spread", (2_000, 2_000), False),
        ("all at a corner", (200, 225), False),
        ("normal", (20, 25), False),
        ("normal", (10, 990), False),
    )
)


TREATED = arm_contrasts(("control", "t"))


def means_of_arms(cells: list[NoisyMoments]) -> Combinations:
    """Return the means of both arms, a cell each; columns are in units of their noise."""
    J = len(cells[0].names)
    units = [Unit(j, 0.0, 1.0, 1.0) for j in range(J)]
    return arm_means([means_of(one) for one in cells], units, np.tile(np.eye(2), (J, 1, 1)))


def effects_row(arm: tuple[Any, ...], runs: int) -> tuple[str, bool]:
    """Return one row of the table of effects."""
    law, sizes, epsilon, private = arm
    rng, J, of = np.random.default_rng([len(law), sizes[1], int(epsilon)]), 8, OUTCOMES[law]
    # in units of half the bounds, about their middle, a row has the length root J at most
    radius, half = math.sqrt(J), (of.bounds[1] - of.bounds[0]) / 2
    scale = scales(radius, radius, epsilon)
    names = tuple(f"y{j}" for j in range(J))
    big = of.arms((POOL, POOL), 4, rng)
    truth = float(big[1].mean() - big[0].mean()) / half
    spread = float(big[0].std()) / half or 1.0
    covered, noise = [], []
    for _ in range(runs):
        inside = [(x - sum(of.bounds) / 2) / half for x in of.arms(sizes, J, rng)]
        cells = [
            released(x.sum(axis=0), x.T @ x, len(x), scale, rng, names, private=private)
            for x in inside
        ]
        for one in means_of_arms(cells).contrasted(TREATED, J).each():
            plain = math.sqrt(max(0.0, float(one.parts.sum())) + one.noise)
            away = abs(one.value - truth)
            halves = (one.half_width(0.05), one.half_width(0.01), 1.959964 * plain)
            covered.append([away <= half for half in halves])
            noise.append(one.noise_sd / spread)
    each = np.array(covered).reshape(runs, J, 3).mean(axis=0)
    share = each.mean(axis=0)
    low = any(
        share[i] < LOW[a] - 3 * math.sqrt(a * (1 - a) / runs) for i, a in enumerate((0.05, 0.01))
    )
    label = f"{law}, {sizes[0]} v {sizes[1]}{', arm private' if private else ''}"
    said = [label, f"{epsilon:g}", f"{np.median(noise):.3f}", f"{share[0]:.3f}"]
    said += [f"{np.sort(each[:, 0])[0]:.3f}", f"{share[1]:.4f}", f"{share[2]:.3f}"]
    said = [f"**{one}**" for one in said] if low else said
    return "| " + " | ".join(said) + " |\n", low


def late_row(case: tuple[int, float, float, int], runs: int) -> tuple[str, bool]:
    """Return coverage of Anderson-Rubin sets over arms; the outcome is not clipped."""
    n, take, epsilon, K = case
    rng, lam = np.random.default_rng([n, K, int(10 * take)]), 0.5
    scale, rows = scales(math.sqrt(17.0), math.sqrt(17.0), epsilon), n // (K + 1)
    dummies = np.eye(K + 1)[1:]
    arms = [Regressor(f"arm{a}", None, tuple(row)) for a, row in enumerate(dummies.tolist())]
    hit, bounded, read = 0, 0, 0
    for _ in range(runs):
        cells = []
        for a in range(K + 1):
            v = rng.normal(size=rows)
            d = np.where(v < norm.ppf(0.1 + take * a / K), 1.0, -1.0)
            z = np.column_stack([lam * d + 0.5 * v + 0.8 * rng.normal(size=rows), d])
            cells.append(released(z.sum(axis=0), z.T @ z, rows, scale, rng, ("y", "d")))
        found = iv_of(cells, "y", "d", [Regressor("Intercept")], arms, guarantee=NONE, by_cell=True)
        read += found.estimated
        reduced, critical = found.reduced, found.reduced.critical(0.05)
        hit += reduced.of(lam) <= critical
        bounded += reduced.statistic(math.pi / 2) > critical
    share = hit / runs
    note = f"{K} instrument{'s' * (K > 1)}, take-up {take:g}; bounded sets {bounded / runs:.2f}"
    return _rest("Anderson-Rubin set", n, epsilon, share, note, runs)


def index_row(case: tuple[int, int, float], runs: int) -> tuple[str, bool]:
    """Return coverage of an index over released scales, and the error of a family of tests."""
    n, J, epsilon = case
    rng, radius = np.random.default_rng([n, J, int(epsilon)]), FARTHEST * math.sqrt(J)
    scale, names = scales(radius, radius, epsilon), tuple(f"y{j}" for j in range(J))
    L = np.linalg.cholesky(0.5 + 0.5 * np.eye(J))

    def arm(rows: int, shift: float) -> Array:
        drawn: Array = (rng.normal(size=(rows, J)) @ L.T + shift).clip(-FARTHEST, FARTHEST)
        return drawn

    big = [arm(POOL, at) for at in (0.0, 0.2)]
    shift = big[1].mean(axis=0) - big[0].mean(axis=0)
    truth = float((shift / big[0].std(axis=0)).mean())
    hit, usable, false = 0, 0, 0
    for _ in range(runs):
        cells = []
        for at in (0.0, 0.2):
            x = arm(n // 2, at)
            cells.append(released(x.sum(axis=0), x.T @ x, n // 2, scale, rng, names))
        found = effects_of(
            means_of_arms(cells), names, TREATED, ("control", "t"), [math.nan] * J, guarantee=NONE,
            nobs=n, df_resid=float(n - 2), units=np.ones((2, J)), columns=names,
        )  # fmt: skip
        t = (found.params.to_numpy() - shift) / found.bse.to_numpy()
        single = 2 * special.ndtr(-np.abs(t))
        adjusted = family_pvalues(single, found.combinations.covariance())
        false += bool((adjusted <= 0.05).any())
        try:
            low, high = index_of(found, names, control=0).conf_int().iloc[0]
        except ParameterError:
            continue
        usable += 1
        hit += low <= truth <= high
    family = f"family-wise error of {J} tests {false / runs:.3f}"
    if usable < 30:
        return _rest("index over released sd", n, epsilon, math.nan, f"refused; {family}", runs)
    note = f"not refused {usable / runs:.2f}; {family}"
    return _rest("index over released sd", n, epsilon, hit / usable, note, usable)


def _rest(
    what: str, n: int, epsilon: float, share: float, note: str, runs: int
) -> tuple[str, bool]:
    low = share < LOW[0.05] - 3 * math.sqrt(0.05 * 0.95 / runs)
    covered = "-" if math.isnan(share) else f"{share:.3f}"
    said = [what, f"{n:,}", f"{epsilon:g}", f"**{covered}**" if low else covered, note]
    return "| " + " | ".join(said) + " |\n", low


FARTHEST = 3.0
"""Bounds of the outcomes of an index, in standard deviations."""
LATE = ((2_000, 0.5, 1.0, 1), (2_000, 0.5, 4.0, 1), (20_000, 0.5, 1.0, 3), (400, 0.1, 1.0, 1))
INDEX = ((1_000, 8, 1.0), (4_000, 8, 4.0), (30_000, 8, 1.0))


def main() -> None:
    """Write the page."""
    quick = "quick" in sys.argv
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    runs = numbers[0] if numbers else (60 if quick else 300)
    large = max(1, runs // 3)
    with ProcessPoolExecutor(numbers[1] if len(numbers) > 1 else 1) as workers:
        jobs = [
            [workers.submit(least_squares_row, c, large if c.n >= 1e5 else runs) for c in GRID],
            [workers.submit(effects_row, one, runs) for one in ARMS],
            [workers.submit(partial(late_row, one), runs) for one in LATE]
            + [workers.submit(partial(index_row, one), runs) for one in INDEX],
        ]
        tables = [[job.result() for job in table] for table in jobs]
    reasons = (OF_SLOPES, REASONS, REASONS)
    said = [
        reason if any(low for _, low in table) else "No row is in bold."
        for table, reason in zip(tables, reasons, strict=True)
    ]
    parts = [HEAD.format(runs=runs, large=large), *(row for row, _ in tables[0])]
    parts += [EFFECTS.format(low=said[0]), *(row for row, _ in tables[1])]
    parts += [REST.format(low=said[1]), *(row for row, _ in tables[2]), FOOT.format(low=said[2])]
    # the last parts are those of scripts/coverage_within.py and scripts/coverage_scores.py
    _, start, others = (OUT.read_text("utf-8") if OUT.exists() else "").partition(OTHERS)
    OUT.write_text("".join(parts).rstrip() + "\n" + ("\n" * bool(start)) + start + others, "utf-8")


if __name__ == "__main__":
    main()
