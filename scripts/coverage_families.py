"""Print error and coverage of logits, probits and Poisson regressions by private scoring.

Usage: python scripts/coverage_families.py [runs per cell, 200 by default] [part of a case's name]

The rows are those of the tables in docs/declared_regressions.md.  Every release is a whole fit of
PrivateMoments on fresh rows, compared with maximum likelihood of the same rows without privacy, and
both with the coefficient, and the average effect, in 300,000 rows.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct import Column, Complete, PrivateMoments, Regression, Schema

NEVER: Any = {"missing": ()}


@dataclass(frozen=True)
class Case:
    """A model, and who is in it."""

    family: Any
    n: int
    covariates: int
    epsilon: float
    level: float = -0.5
    where: str | None = None
    weights: str | None = None
    cluster: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """What its row says."""
        ones = f"level {self.level:g}"
        some = [one for one in (self.where, self.weights, self.cluster) if one is not None]
        return f"{self.family}, {ones}, {', '.join(map(str, some)) or 'everybody'}"

    @property
    def formula(self) -> str:
        """Outcome, treatment and covariates."""
        return "y ~ t + " + " + ".join(f"x{j}" for j in range(self.covariates))


CASES = (
    *(Case("logit", n, p, e) for n, p, e in ((5000, 3, 4), (20000, 3, 1), (5000, 8, 4),
                                             (20000, 8, 1), (2000, 3, 1), (500, 3, 8),
                                             (1000, 3, 4), (2000, 3, 4))),
    Case("logit", 2000, 3, 4, level=-2.3), Case("logit", 20000, 3, 4, level=-3.2),
    Case("logit", 50000, 3, 1, level=-3.2),
    Case("probit", 5000, 3, 4, level=-0.3), Case("probit", 20000, 3, 1, level=-0.3),
    *(Case("poisson", n, 3, e, level=0.3) for n, e in ((5000, 4), (20000, 1), (20000, 4))),
    Case("logit", 5000, 3, 4, where="g == 1"), Case("logit", 10000, 3, 4, weights="w"),
    Case("poisson", 10000, 3, 4, level=0.3, where="g == 1"),
    Case("logit", 5000, 3, 4, cluster=("village", "year")),
    *(Case(one, n, 3, e, level=level) for one, level in (("logit", -0.5), ("probit", -0.3),
                                                         ("poisson", 0.3))
      for n in (1000, 2000, 4000) for e in (1, 4)),
)  # fmt: skip


def world(case: Case, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """People with covariates of correlation .3, half of them treated."""
    p = case.covariates
    x = math.sqrt(0.7) * rng.normal(size=(n, p)) + math.sqrt(0.3) * rng.normal(size=(n, 1))
    t = (rng.permutation(n) % 2).astype(float)
    village, year = rng.integers(0, 60, n), rng.integers(0, 20, n)
    slopes = np.linspace(1, -0.6, p) * (0.2 if case.family == "poisson" else 0.5)
    index = case.level + {"logit": 0.4, "probit": 0.25, "poisson": 0.2}[case.family] * t
    index = index + x @ slopes * (0.6 if case.family == "probit" else 1)
    if case.cluster:
        effects = rng.normal(size=60)[village] + rng.normal(size=20)[year]
        index = index + 0.3 * effects
    if case.family == "poisson":
        y = rng.poisson(np.exp(index)).clip(0, 10).astype(float)
    elif case.family == "probit":
        y = (rng.normal(size=n) < index).astype(float)
    else:
        y = (rng.random(n) < 1 / (1 + np.exp(-index))).astype(float)
    return pd.DataFrame({
        "y": y, "t": t, "g": rng.integers(0, 2, n).astype(float), "w": rng.uniform(1, 3, n),
        "village": village, "year": year, **{f"x{j}": x[:, j].clip(-4, 4) for j in range(p)},
    })  # fmt: skip


def schema(case: Case) -> Schema:
    """Bounds and levels."""
    counts: Any = {"bounds": (0, 10)} if case.family == "poisson" else {"levels": (0.0, 1.0)}
    two: Any = {"levels": (0.0, 1.0), **NEVER}
    return Schema((
        Column("y", "byte", **counts, **NEVER), Column("t", "byte", **two),
        Column("g", "byte", **two), Column("w", bounds=(0, 3), **NEVER),
        *(Column(one, "int", fate="public", **NEVER) for one in ("village", "year")),
        *(Column(f"x{j}", bounds=(-4, 4), sd=1, centre=0, **NEVER)
          for j in range(case.covariates)),
    ))  # fmt: skip


def released(case: Case, asked: Regression, data: pd.DataFrame, seed: int) -> Any:
    """Return the model of one release."""
    model = PrivateMoments(
        data, schema(case), formulas=[asked], assignment=Complete("t", shares=0.5),
        neighbors="replace-one-design-public",
    )  # fmt: skip
    return model.fit(case.epsilon, 1e-6, rng=seed).glm(asked)


def row_of(case: Case, runs: int) -> str:
    """One row of the table: error over raw, coverage, and the same of the average effect."""
    rng, fit = np.random.default_rng(1), getattr(dprct, case.family)
    asked = Regression(case.formula, family=case.family, where=case.where, weights=case.weights,
                       cluster=case.cluster)  # fmt: skip
    big = world(case, 300_000, np.random.default_rng(5))
    # treatment as a factor, whose average effect is a difference of means, not a derivative
    factor = case.formula.replace("t +", "C(t) +", 1)
    whole = fit(factor, big)
    truth = whole.params.iloc[1], whole.margins("t", big).params.iloc[0]
    found = dict[str, list[tuple[float, bool]]]()
    for _ in range(runs):
        data = world(case, case.n, rng)
        used = data[data["g"] == 1] if case.where else data
        raw = fit(factor, used, cov_type="HC1")
        own = released(case, asked, data, int(rng.integers(1 << 40)))
        results = {"raw": raw, "raw margins": raw.margins("t", used)}
        if own.estimated["t"]:
            results["own"] = own
        if own.estimated.all():
            results["own margins"] = own.margins("t")
        for name, one in results.items():
            average = name.endswith("margins")
            at = 0 if average else 1  # after the constant
            off = float(one.params.iloc[at]) - truth[average]
            inside = abs(off) < 1.96 * float(one.bse.iloc[at])
            found.setdefault(name, []).append((off, inside))
    error = {name: float(np.sqrt(np.mean([off**2 for off, _ in of]))) for name, of in found.items()}
    cover = {name: float(np.mean([inside for _, inside in of])) for name, of in found.items()}
    return (
        f"| {case.name} | {case.n:,}, {case.covariates}, {case.epsilon:g} | {runs}, "
        f"{len(found['own'])} estimated | {error['own'] / error['raw']:.2f} | {cover['own']:.3f} "
        f"({cover['raw']:.3f}) | {error['own margins'] / error['raw margins']:.2f} | "
        f"{cover['own margins']:.3f} |"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for one in CASES:
        if len(sys.argv) < 3 or sys.argv[2] in f"{one.name} {one.n} {one.epsilon:g}":
            print(row_of(one, wanted), flush=True)
