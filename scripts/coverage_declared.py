"""Write docs/coverage_declared.md: coverage and error of declared regressions, over a grid.

Usage: python scripts/coverage_declared.py [runs per cell, 600 by default] [part of a case's name]

The truth is the effect on the outcome clipped at its declared bounds.  Every release is a whole fit
of PrivateMoments on fresh rows, with seeded noise of the law of the release.  With a part of a name
the rows of these cases alone are printed, and nothing is written.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct import Column, PrivateMoments, Schema

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_declared.md"
DELTA, LOW = 1e-6, 0.93
NEVER: Any = {"missing": ()}

HEAD = """# How well declared regressions do

Written by `scripts/coverage_declared.py`; {runs} simulated releases per row, delta = 1e-6, ten
covariates fixed before treatment (R squared .4 where the outcome is normal), one person protected,
treatment public. **The truth is the effect on the outcome clipped at its declared bounds.** Rows
are drawn anew in every release, and treatment is assigned anew.

*Error*: root mean squared error over that of least squares with covariates and without privacy.
*Width*: the median standard error over the standard deviation of the same. *Off by*: the mean
error, in these standard deviations. *Test*: how often the 5 % test of a true zero rejects, where
the effect is zero. A coverage in bold is more than three binomial errors below .93.

| case | rows | epsilon | coverage 95 % | error | width | off by | test |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """One cell of the grid; ``kind`` is the law of the outcome.

    ``where``: of the half of the rows for which a condition on a public column holds.  ``slope``:
    the coefficient of treatment times a covariate with which the effect varies.
    """

    name: str
    n: int
    kind: str = "normal"
    outcomes: int = 1
    cluster: int = 1
    sizes: tuple[int, int] | None = None
    share: float = 0.5
    scale: float = 1.0
    centre: float = 0.0
    where: bool = False
    slope: bool = False
    epsilons: tuple[float, ...] = (1.0, 4.0)


CASES = (
    *(Case(f"{kind}, robust errors", n, kind)
      for kind in ("normal", "lognormal") for n in (1000, 5000, 20000)),
    Case("normal, eight outcomes", 5000, outcomes=8),
    Case("lognormal, eight outcomes", 5000, "lognormal", outcomes=8),
    Case("no effect, unequal spread", 2000, "spread"),
    Case("2 % have the outcome", 5000, "rare"),
    Case("zero-inflated", 5000, "zeros"),
    Case("sd three times too small", 5000, scale=1 / 3),
    Case("centre one sd off", 5000, centre=1.0),
    Case("5 % are treated", 5000, share=0.05),
    Case("40 clusters of 15, eight outcomes", 600, outcomes=8, cluster=15),
    Case("100 clusters of 20, eight outcomes", 2000, outcomes=8, cluster=20),
    Case("200 clusters of 30, eight outcomes", 6000, outcomes=8, cluster=30),
    Case("200 clusters of 30", 6000, cluster=30),
    Case("15 clusters of 100", 1500, cluster=100),
    Case("100 clusters of 5 to 100", 5000, cluster=50, sizes=(5, 100)),
    Case("half of the rows, by a condition", 5000, where=True),
    *(Case("treatment times a covariate", n, slope=True) for n in (5000, 20000)),
    Case("treatment times a covariate, skewed", 5000, "lognormal", slope=True),
    Case("treatment times a covariate, 200 clusters", 6000, cluster=30, slope=True),
)  # fmt: skip


def bounds_of(kind: str) -> tuple[float, float, float, float]:
    """Return lower and upper bound, standard deviation and centre of a law: public guesses."""
    return {
        "normal": (-4.0, 4.0, 1.0, 0.0), "lognormal": (0.0, 12.0, 2.16, 1.5),
        "spread": (0.0, 12.0, 1.5, 1.0), "rare": (0.0, 1.0, 0.14, 0.0),
        "zeros": (0.0, 10.0, 1.5, 0.5),
    }[kind]  # fmt: skip


def potential(kind: str, z: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return outcomes without and with treatment, of standard normal z."""
    if kind == "normal":
        return z, z + 0.2
    if kind == "lognormal":
        return np.exp(z), 1.2 * np.exp(z)
    if kind == "spread":  # equal means, unequal spread
        return np.exp(0.5 * z - 0.125), np.exp(1.0 * z - 0.5)
    if kind == "rare":
        u = rng.random(z.shape)
        return (u < 0.02) * 1.0, (u < 0.02) * 1.0
    some = rng.random(z.shape) < 0.3
    return np.where(some, np.exp(z), 0.0), np.where(some, 1.2 * np.exp(z), 0.0)


def release(case: Case, epsilon: float, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return errors, standard errors, coverage and rejections of one release, and plain errors."""
    G = case.n // case.cluster
    each = np.full(G, case.cluster)
    if case.sizes is not None:
        each = rng.integers(case.sizes[0], case.sizes[1] + 1, G)
    group = np.repeat(np.arange(G), each)
    n, K = len(group), case.outcomes
    t = np.zeros(G)
    t[rng.permutation(G)[: round(G * case.share)]] = 1
    T = t[group]
    X = np.clip(rng.normal(size=(n, 10)), -3, 3)
    icc = 0.1 if case.cluster > 1 else 0.0
    own = math.sqrt(icc) * rng.normal(size=(G, K))[group]
    e = own + math.sqrt(1 - icc) * rng.normal(size=(n, K))
    z = math.sqrt(0.04) * X.sum(axis=1)[:, None] + math.sqrt(0.6) * e
    low, high, sd, centre = bounds_of(case.kind)
    off, on = potential(case.kind, z, rng)
    on = on + 0.1 * X[:, :1] if case.slope else on
    Y = np.clip(np.where(T[:, None] == 1, on, off), low, high)
    truth = (np.clip(on, low, high) - np.clip(off, low, high)).mean(axis=0)
    truth = truth if case.kind != "spread" else np.full(K, spread_truth())
    if case.slope:
        line = np.column_stack([np.ones(n), X[:, 0]])
        truth = np.linalg.lstsq(line, np.clip(on, low, high) - np.clip(off, low, high))[0][1]
    names = [f"x{j}" for j in range(10)]
    outcomes = [f"y{k}" for k in range(K)]
    data = pd.DataFrame(np.column_stack([Y, T, X, group]), columns=[*outcomes, "t", *names, "v"])
    data["wave"] = np.arange(n) % 2.0
    facts: dict[str, Any] = {"bounds": (low, high), **NEVER}
    if case.kind == "rare":
        facts = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
    about = {"sd": sd * case.scale, "centre": min(max(centre + case.centre * sd, low), high)}
    if case.kind == "rare":
        about = {}
    schema = Schema((
        *(Column(y, **facts, **about) for y in outcomes),
        Column("t", "byte", levels=(0.0, 1.0), **NEVER),
        *(Column(x, bounds=(-3, 3), sd=1.0, **NEVER) for x in names),
        Column("v", "long", **NEVER),
        Column("wave", "byte", missing=(".",), fate="public"),
    ))  # fmt: skip
    design: Any = dprct.Complete("t", counts=int(T.sum()))
    if case.cluster > 1:
        design = dprct.Cluster("t", cluster="v", counts=int(t.sum()), icc=0.1)
    right = " + ".join(["t", *names, *["t:x0"] * case.slope])
    where = "wave != 1 & y0 < ." if case.where else None
    model = PrivateMoments(
        data, schema, assignment=design,
        formulas=[dprct.Regression(f"{y} ~ {right}", where=where) for y in outcomes],
        neighbors="replace-one-design-public",
    )  # fmt: skip
    found = model.fit(epsilon, DELTA, rng=int(rng.integers(2**31))).regressions
    at = 1 if case.slope else 0
    ends = np.array([one.conf_int().iloc[at].to_numpy() for one in found])
    W = np.column_stack([np.ones(n), T, X])
    W = np.insert(W, 1, T * X[:, 0], axis=1) if case.slope else W
    use = data["wave"] != 1 if case.where else data["wave"] >= 0
    plain = np.linalg.lstsq(W[use], Y[use], rcond=None)[0][1] - truth
    return (
        np.array([one.params.iloc[at] for one in found]) - truth,
        np.array([one.bse.iloc[at] for one in found]),
        (ends[:, 0] <= truth) & (truth <= ends[:, 1]),
        np.array([one.pvalues.iloc[at] < 0.05 for one in found]),
        plain,
    )


def spread_truth() -> float:
    """Return the difference of the clipped means of two lognormal laws, by quadrature."""
    z, w = np.polynomial.hermite_e.hermegauss(400)
    off, on = potential("spread", z, np.random.default_rng(0))
    return float(w @ (np.clip(on, 0, 12) - np.clip(off, 0, 12)) / w.sum())


def row(case: Case, epsilon: float, runs: int) -> str:
    """Return one row of the table."""
    rng = np.random.default_rng(20_261_125)
    parts = zip(*(release(case, epsilon, rng) for _ in range(runs)), strict=True)
    errors, widths, covered, rejected, plain = (np.array(part) for part in parts)
    scale = math.sqrt((plain**2).mean())
    cover = covered.mean()
    low = cover < LOW - 3 * math.sqrt(LOW * (1 - LOW) / runs)
    said = f"**{cover:.3f}**" if low else f"{cover:.3f}"
    test = f"{rejected.mean():.3f}" if case.kind == "rare" else ""
    return (
        f"| {case.name} | {case.n:,} | {epsilon:g} | {said} | "
        f"{math.sqrt((errors**2).mean()) / scale:.2f} | {np.median(widths) / plain.std():.2f} | "
        f"{errors.mean() / plain.std():+.2f} | {test} |"
    )


def main(runs: int, part: str) -> None:
    """Write the page, or print the rows of some cases."""
    warnings.simplefilter("ignore")
    rows = []
    for case in CASES:
        if part in case.name:
            for epsilon in case.epsilons:
                rows.append(row(case, epsilon, runs))
                print(rows[-1], flush=True)
    if not part:
        OUT.write_text(HEAD.format(runs=runs) + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600, sys.argv[2] if len(sys.argv) > 2 else "")
