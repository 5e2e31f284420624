"""Write docs/coverage_moments.md: coverage of what is read off released moments, over a grid.

Usage: python scripts/coverage_moments.py [quick | runs per cell, 1,000 by default] [processes]

Moments are simulated directly: rows are drawn from a pool (beyond 20,000 by the central limit
theorem for their sums), shrunk to the ball, summed, and given the noise of a release.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special
from scipy.optimize import brentq
from scipy.stats import norm

from dprct.errors import ParameterError
from dprct.estimate.moments.effects import Combinations, effects_of, means_of, weights_of
from dprct.estimate.moments.indices import index_of
from dprct.estimate.moments.instruments import iv_of
from dprct.estimate.moments.noisy import NoisyMoments
from dprct.estimate.moments.regression import squared_t
from dprct.estimate.moments.system import (
    Regressor,
    fit,
    inverse_of,
    profile,
    rows_of,
    system_of,
)
from dprct.privacy.budget import Guarantee
from dprct.results.joint import family_pvalues

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
NONE = Guarantee.none("a simulation")
DELTA, POOL, DRAWN = 1e-6, 100_000, 20_000
OTHERS = "## Effects within subgroups\n"
LOW = {0.05: 0.935, 0.01: 0.98}

HEAD = """# How well intervals from released moments cover

Written by `scripts/coverage_moments.py`; {runs} simulated releases per row ({large} from n = 1e5
on), delta = 1e-6. One Gaussian release of first and second moments; everything below is read off
it. A row in bold is more than three binomial errors below .935 at the 95 % level or .98 at the
99 % level.

## Least squares

The layout is that for all coefficients: T is an indicator of -1 and 1 that is not shrunk, p
covariates of standard deviation one and the outcome are shrunk to a ball of 1.5 root (p + lam_y^2),
h^2 = R^2 / 10. T depends on the covariates. The truth is least squares on the shrunk rows. *Read*:
the share of releases that pass the gate (eta^2 at most .1); the others are "not estimated".
Coverage is that of the hull, among releases that were read. *Debiased alone* is the lowest coverage
over slopes of the estimate -+ 1.96 errors without the hull. Errors are over those of ordinary least
squares with robust errors.

| data | n | p | epsilon | read | T 95 % | x1 95 % | T 99 % | x1 99 % | debiased alone | \
error of T | of x | bias of T (sd) |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""

EFFECTS = """
{low}

The lowest coverage over slopes falls short in two places. Where errors vary with a covariate, that
covariate's own slope is covered in .90 at n = 1e6, where noise no longer hides that classical
errors are too small, and the hull is no wider there; scores (`cov_type="HC1"`) mend it.
Where near twins hide all signal in the direction that noise hides, the de-biased estimate alone
covers in .6 to .8; the hull does not miss.

## Effects of arms

Outcomes in units of half their box or one standard deviation, R = the box or 1.5 root J, h = R.
*Without kappa*: sampling variances as they were released.

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


def ball(z: np.ndarray, radius: float) -> np.ndarray:
    """Shrink rows to the ball."""
    length = np.linalg.norm(z, axis=-1, keepdims=True)
    shrunk: np.ndarray = z * np.minimum(1, radius / np.maximum(length, 1e-300))
    return shrunk


@dataclass(frozen=True)
class Cell:
    """One row of the table of least squares."""

    label: str
    n: int
    p: int
    epsilon: float = 1.0
    facts: dict[str, Any] = field(default_factory=dict)


GRID = (
    Cell("normal", 700, 3),
    Cell("normal", 2_000, 3),
    Cell("normal", 2_000, 3, 4.0),
    Cell("normal", 3_200, 10),
    Cell("normal", 5_000, 10),
    Cell("normal", 5_000, 10, 16.0),
    Cell("normal", 20_000, 20),
    Cell("normal", 20_000, 30),
    Cell("binary half", 10_000, 10, facts={"binary": True}),
    Cell("skewed", 10_000, 10, facts={"skew": True}),
    Cell("low signal", 10_000, 10, facts={"signal": 0.1}),
    Cell("correlation .9", 16_000, 10, facts={"rho": 0.9}),
    Cell("correlation .9", 10_000, 10, facts={"rho": 0.9}),
    Cell("errors vary with x", 10_000, 10, facts={"het": True}),
    Cell("clusters of 10", 20_000, 10, facts={"icc": 0.1}),
    Cell("twins .2, hard", 10_000, 3, facts={"twin": 0.2, "hard": 1.0}),
    Cell("twins .1, hard", 30_000, 3, facts={"twin": 0.1, "hard": 1.0}),
    Cell("binary half, errors vary", 100_000, 20, facts={"binary": True, "het": True}),
    Cell("normal", 100_000, 30),
    Cell("errors vary with x", 1_000_000, 10, facts={"het": True}),
    Cell("correlation .9", 1_000_000, 30, facts={"rho": 0.9}),
)


def pool_of(
    p: int,
    *,
    rho: float = 0.5,
    het: bool = False,
    binary: bool = False,
    skew: bool = False,
    signal: float = 0.6,
    twin: float = 0.0,
    hard: float = 0.0,
    icc: float = 0.0,
) -> tuple[np.ndarray, float, float]:
    """Return rows (T, x, y) in units of z, lam_y and R."""
    rng = np.random.default_rng(0)
    f = 0.3
    ly = math.sqrt((math.sqrt(1 + 8 * p * f) - 1) / (4 * f))
    radius, lam_t = 1.5 * math.sqrt(p + ly**2), 1.5
    X = rng.normal(size=(POOL, p)) @ np.linalg.cholesky(rho + (1 - rho) * np.eye(p)).T
    if binary:
        X[:, : p // 2] = (X[:, : p // 2] > norm.ppf(0.8)) / 0.4 - 0.5
    if skew:
        X = (np.exp(0.7 * X) - math.exp(0.245)) / math.sqrt((math.exp(0.49) - 1) * math.exp(0.49))
    if twin:
        X[:, 1] = (X[:, 0] + twin * rng.normal(size=POOL)) / math.sqrt(1 + twin**2)
    X = np.clip(X, -3, 3)
    lean = X @ np.linspace(0.5, -0.5, p) / math.sqrt(p) + rng.normal(size=POOL)
    T = np.where(lean > 0, 1.0, -1.0)
    e = rng.normal(size=POOL)
    if icc:
        e = math.sqrt(1 - icc) * e + math.sqrt(icc) * np.repeat(rng.normal(size=POOL // 10), 10)
    if skew:
        e = (np.exp(e) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    g = np.linspace(0.5, -0.3, p) * signal
    y = 0.15 * T + X @ g + e * (np.sqrt(0.3 + 0.7 * X[:, -1] ** 2) if het else 1)
    if hard:
        y = y + hard * (X[:, 0] - X[:, 1]) / twin
    y = np.clip(y / math.sqrt(1 + g @ g + hard**2), -5, 5)
    tail = ball(np.column_stack([X, ly * y]), radius)
    return np.column_stack([lam_t * T, tail]), ly, math.hypot(radius, lam_t)


def least_squares_row(cell: Cell, runs: int) -> tuple[str, bool]:
    """Return one row of the table of least squares."""
    rng = np.random.default_rng([cell.n, cell.p, int(cell.epsilon * 10), len(str(cell.facts))])
    z, ly, radius = pool_of(cell.p, **cell.facts)
    names = ("T", *(f"x{j + 1}" for j in range(cell.p)), "y")
    weight = np.array([1.5, *np.ones(cell.p), ly])
    scale = scales(radius, radius / math.sqrt(10), cell.epsilon)
    regressors = [Regressor("Intercept"), *(Regressor(one, one) for one in names[:-1])]
    x = np.column_stack([np.ones(len(z)), z / weight])
    truth = np.linalg.lstsq(x[:, :-1], x[:, -1], rcond=None)[0]
    e = x[:, -1] - x[:, :-1] @ truth
    bread = np.linalg.inv(x[:, :-1].T @ x[:, :-1] / len(x))
    meat = (x[:, :-1] * e[:, None] ** 2).T @ x[:, :-1] / len(x)
    robust = np.sqrt(np.diag(bread @ meat @ bread) / cell.n)
    sums, squares = z.sum(axis=0) / len(z), z.T @ z / len(z)
    small = min(cell.n, DRAWN)
    hits, errors, ses, slopes, read = [], [], [], [], 0
    block = 10 if "icc" in cell.facts else 1
    for _ in range(runs):
        at = rng.integers(0, len(z) // block, small // block)
        rows = z[(at[:, None] * block + np.arange(block)).ravel()]
        S, Q = rows.sum(axis=0), rows.T @ rows
        if small < cell.n:
            more = math.sqrt(cell.n / small)
            S, Q = (
                cell.n * sums + more * (S - small * sums),
                (cell.n * squares + more * (Q - small * squares)),
            )
        moments = released(S, Q, cell.n, scale, rng, names, weight)
        system = system_of([moments], regressors)
        inverse = inverse_of(system)
        if not inverse.passes:
            continue
        read += 1
        found = fit(system, inverse, rows_of([moments], Regressor("y", "y")))
        J = system.to_names
        b, se = J @ found.b, np.sqrt(np.diag(J @ found.cov @ J.T))
        t = np.abs(b - truth) / se
        errors.append(b - truth)
        ses.append(se)
        slopes.append(t <= 1.959964)
        covered = []
        for j in (1, 2):
            q = profile(found, J[j][None], truth[[j]])
            least = min(t[j], math.sqrt(squared_t(q, system.n, system.df_resid)))
            covered += [least <= special.stdtrit(system.df_resid, 1 - a / 2) for a in (0.05, 0.01)]
        hits.append(covered)
    said = [cell.label, f"{cell.n:,}", str(cell.p), f"{cell.epsilon:g}", f"{read / runs:.2f}"]
    if read < 30:
        return "| " + " | ".join([*said, *["-"] * 8]) + " |\n", False
    share = np.array(hits).mean(axis=0)
    low = any(
        share[i] < LOW[a] - 3 * math.sqrt(a * (1 - a) / read)
        for i, a in enumerate((0.05, 0.01, 0.05, 0.01))
    )
    err, sd = np.array(errors), np.array(ses)
    ratio = np.median(sd, axis=0) / robust
    worst = np.sort(np.array(slopes)[:, 1:].mean(axis=0))[0]
    said += [f"{share[i]:.3f}" for i in (0, 2, 1, 3)]
    said += [f"{worst:.3f}", f"{ratio[1]:.2f}", f"{np.median(ratio[2:]):.2f}"]
    said.append(f"{err[:, 1].mean() / err[:, 1].std():+.2f}")
    said = [f"**{one}**" for one in said] if low else said
    return "| " + " | ".join(said) + " |\n", low


def _normal(sizes: tuple[int, int], J: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [ball(rng.normal(size=(n, J)), 1.5 * math.sqrt(J)) for n in sizes]


def _binary(sizes: tuple[int, int], J: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [(rng.random((n, J)) < 0.02) * 2.0 - 1 for n in sizes]


def _zeros(sizes: tuple[int, int], J: int, rng: np.random.Generator) -> list[np.ndarray]:
    counts = [np.minimum(rng.poisson(3, (n, J)), 15) for n in sizes]
    return [np.where(rng.random(c.shape) < 0.6, 0, c) / 7.5 - 1 for c in counts]


def _corner(sizes: tuple[int, int], J: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [-np.ones((n, J)) for n in sizes]


ARMS = tuple(
    (label, draw, sizes, epsilon, private)
    for epsilon in (1.0, 4.0, 16.0)
    for label, draw, sizes, private in (
        ("normal 200 v 225", _normal, (200, 225), False),
        ("normal 500 v 500, arm private", _normal, (500, 500), True),
        ("2 % binary 500 v 500", _binary, (500, 500), False),
        ("2 % binary 500 v 500, arm private", _binary, (500, 500), True),
        ("zero-inflated 500 v 500", _zeros, (500, 500), False),
        ("all at a corner 200 v 225", _corner, (200, 225), False),
        ("normal 20 v 25", _normal, (20, 25), False),
        ("normal 10 v 990", _normal, (10, 990), False),
    )
)


def effects_row(arm: tuple[Any, ...], runs: int) -> tuple[str, bool]:
    """Return one row of the table of effects."""
    label, draw, sizes, epsilon, private = arm
    rng, J = np.random.default_rng([len(label), sizes[1], int(epsilon)]), 8
    radius = 1.5 * math.sqrt(J) if draw is _normal else math.sqrt(J)
    scale = scales(radius, radius, epsilon)
    names = tuple(f"y{j}" for j in range(J))
    covered, noise = [], []
    for _ in range(runs):
        cells = [
            released(x.sum(axis=0), x.T @ x, len(x), scale, rng, names, private=private)
            for x in draw(sizes, J, rng)
        ]
        weights, offsets = weights_of(cells, names, [(-1, 1)])
        means = tuple(means_of(one) for one in cells)
        for one in Combinations(means, weights, offsets, np.zeros((J, J))).each():
            plain = math.sqrt(max(0.0, float(one.parts.sum())) + one.noise)
            away = abs(one.value)
            halves = (one.half_width(0.05), one.half_width(0.01), 1.959964 * plain)
            covered.append([away <= half for half in halves])
            noise.append(one.noise_sd)
    each = np.array(covered).reshape(runs, J, 3).mean(axis=0)
    share = each.mean(axis=0)
    low = any(
        share[i] < LOW[a] - 3 * math.sqrt(a * (1 - a) / runs) for i, a in enumerate((0.05, 0.01))
    )
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
    rng, radius = np.random.default_rng([n, J, int(epsilon)]), 1.5 * math.sqrt(J)
    scale, names = scales(radius, radius, epsilon), tuple(f"y{j}" for j in range(J))
    L = np.linalg.cholesky(0.5 + 0.5 * np.eye(J))
    big = [ball(rng.normal(size=(400_000, J)) @ L.T + shift, radius) for shift in (0.0, 0.2)]
    shift = big[1].mean(axis=0) - big[0].mean(axis=0)
    truth = float((shift / big[0].std(axis=0)).mean())
    hit, usable, false = 0, 0, 0
    for _ in range(runs):
        cells = []
        for at in (0.0, 0.2):
            x = ball(rng.normal(size=(n // 2, J)) @ L.T + at, radius)
            cells.append(released(x.sum(axis=0), x.T @ x, n // 2, scale, rng, names))
        found = effects_of(cells, names, {"t": (-1, 1)}, guarantee=NONE)
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


LATE = ((2_000, 0.5, 1.0, 1), (2_000, 0.5, 4.0, 1), (20_000, 0.5, 1.0, 3), (400, 0.1, 1.0, 1))
INDEX = ((1_000, 8, 1.0), (1_000, 8, 4.0), (10_000, 8, 1.0))


def main() -> None:
    """Write the page."""
    quick = "quick" in sys.argv
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    runs = numbers[0] if numbers else (60 if quick else 1_000)
    large = max(1, runs * 3 // 10)
    with ProcessPoolExecutor(numbers[1] if len(numbers) > 1 else 1) as workers:
        jobs = [
            [workers.submit(least_squares_row, c, large if c.n >= 1e5 else runs) for c in GRID],
            [workers.submit(effects_row, one, runs) for one in ARMS],
            [workers.submit(partial(late_row, one), runs) for one in LATE]
            + [workers.submit(partial(index_row, one), runs) for one in INDEX],
        ]
        tables = [[job.result() for job in table] for table in jobs]
    said = [REASONS if any(low for _, low in t) else "No row is in bold." for t in tables]
    parts = [HEAD.format(runs=runs, large=large), *(row for row, _ in tables[0])]
    parts += [EFFECTS.format(low=said[0]), *(row for row, _ in tables[1])]
    parts += [REST.format(low=said[1]), *(row for row, _ in tables[2]), FOOT.format(low=said[2])]
    # the last parts are those of scripts/coverage_within.py and scripts/coverage_scores.py
    _, start, others = (OUT.read_text("utf-8") if OUT.exists() else "").partition(OTHERS)
    OUT.write_text("".join(parts).rstrip() + "\n" + ("\n" * bool(start)) + start + others, "utf-8")


if __name__ == "__main__":
    main()
