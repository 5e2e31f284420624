"""Write the part of docs/calibrated.md on how often declared regressions on the file cover.

Usage: python scripts/coverage_carried.py [runs per row, 200 by default]

Every run makes an experiment, releases it and fits the declared regression on the protected table
by statsmodels, as a reader would; outcomes are within their bounds, so that the truth is known.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

from dprct import Calibrated, Cluster, Column, Complete, Schema
from dprct.errors import DprctWarning

OUT = Path(__file__).resolve().parents[1] / "docs" / "calibrated.md"
START = "### Coverage of declared regressions\n"
END = "\n## "
EFFECT = 0.3
DELTA = 1e-6
GRID = (("people", 4.0), ("people", 1.0), ("villages", 4.0))

HEAD = """
Written by `scripts/coverage_carried.py`: {runs} experiments of 1,200 people per row, or of 60
villages of 20, delta = 1e-6, `y ~ t + x + f`; y has a standard deviation of 1 and bounds of [-4,
4], covariates of the file are filler. The regression is fitted on the file by statsmodels, with
HC1 or clustered errors. *Difference* is the largest difference between these coefficients
and (relative) errors and the released ones. The binomial error of the coverage is {error:.3f}.

| assigned | epsilon | error | over that without privacy | coverage of 95 % | difference |
|---|---|---|---|---|---|
"""


def schema() -> Schema:
    """Return the public facts."""
    public: dict[str, Any] = {"missing": (), "fate": "public"}
    private: dict[str, Any] = {"missing": (), "fate": "modelled"}
    return Schema((
        Column("v", "int", **public), Column("t", "byte", levels=(0.0, 1.0), **public),
        Column("x", bounds=(-3, 3), sd=1.0, **private),
        Column("f", "byte", levels=(0.0, 1.0), **private),
        Column("y", bounds=(-4, 4), sd=1.0, **private),
    ))  # fmt: skip


def experiment(kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return one experiment."""
    groups, of = (60, 20) if kind == "villages" else (1200, 1)
    member = np.repeat(np.arange(groups), of)
    n = len(member)
    t = rng.permutation(np.arange(groups) % 2)[member]
    x, f = np.clip(rng.normal(size=n), -3, 3), rng.integers(0, 2, n)
    shared = 0.3 * rng.normal(size=groups)[member] if kind == "villages" else 0.0
    y = EFFECT * t + 0.6 * x + 0.3 * f - 0.15 + shared + 0.7 * rng.normal(size=n)
    columns = {"v": member, "t": t, "x": x, "f": f, "y": np.clip(y, -4, 4)}
    return pd.DataFrame(columns).astype(np.float64)


def fitted(table: pd.DataFrame, kind: str) -> tuple[float, float]:
    """Return coefficient and error of treatment, by least squares."""
    fit = sm.OLS(table["y"], sm.add_constant(table[["t", "x", "f"]]))
    robust = {"cov_type": "HC1"}
    if kind == "villages":
        robust = {"cov_type": "cluster", "cov_kwds": {"groups": table["v"]}}
    found = fit.fit(**robust)
    return float(found.params["t"]), float(found.bse["t"])


def line(kind: str, epsilon: float, runs: int) -> str:
    """Return a row of the table."""
    warnings.simplefilter("ignore", DprctWarning)
    design: Any = Complete("t", shares=0.5)
    if kind == "villages":
        design = Cluster("t", cluster="v", shares=0.5, icc=0.1)
    covered, errors, raw, gap = 0, [], [], 0.0
    for run in range(runs):
        data = experiment(kind, np.random.Generator(np.random.PCG64(run)))
        model = Calibrated(
            data, schema(), formulas=["y ~ t + x + f"], assignment=design,
            covariate_release="filler",
        )  # fmt: skip
        release = model.fit(epsilon=epsilon, delta=DELTA, rng=run)
        value, error = fitted(release.protected, kind)
        told = release.estimates
        gap = max(gap, abs(value - told.params.iloc[0]), abs(error / told.bse.iloc[0] - 1))
        covered += abs(value - EFFECT) < 1.96 * error
        errors.append(error)
        raw.append(fitted(data, kind)[1])
    return (
        f"| {kind} | {epsilon:g} | {np.mean(errors):.4f} | {np.mean(errors) / np.mean(raw):.2f} | "
        f"{covered / runs:.3f} | {gap:.0e} |"
    )


def main() -> None:
    """Write the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lines = [line(kind, epsilon, runs) for kind, epsilon in GRID]
    page = OUT.read_text("utf-8")
    start = page.index(START) + len(START)
    end = page.index(END, start)
    table = HEAD.format(runs=runs, error=math.sqrt(0.05 * 0.95 / runs)) + "\n".join(lines) + "\n"
    OUT.write_text(page[:start] + table + page[end:], "utf-8")


if __name__ == "__main__":
    main()
