"""Measure what a release of moments costs: docs/private_moments.md has the numbers.

Usage: python scripts/bench_moments.py [FOLDER with liberia_round5.dta at any depth] [runs, 8]

Least squares on made data: error of the treatment's coefficient and of a typical covariate's over
that of least squares without privacy, in one run.  Liberia: noise of the effects of three arms on
eight outcomes, all from one budget.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dprct
from dprct.schema import Column, Schema

DELTA = 1e-6
OUTCOMES = (
    "fam_asb_lt", "drugssellever_ltav", "stealnb_ltav", "disputes_all_z_ltav", "carryweapon_ltav",
    "arrested_ltav", "asbhostilstd_ltav", "domabuse_z_ltav",
)  # fmt: skip
ARMS = ("cashassonly", "tpassonly", "tpcashass")


def made(n: int, p: int, seed: int) -> tuple[pd.DataFrame, Schema, str]:
    """Return rows with p covariates of correlation .5, a treatment by choice, and an outcome."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(p)]
    x = rng.normal(size=(n, p)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(p)).T
    x = np.clip(x, -3, 3)
    t = x @ np.linspace(0.5, -0.5, p) / np.sqrt(p) + rng.normal(size=n) > 0
    slopes = 0.6 * np.linspace(0.5, -0.3, p)
    y = 0.3 * t + x @ slopes + rng.normal(size=n)
    y = np.clip(y / np.sqrt(1 + slopes @ slopes), -5, 5)
    data = pd.DataFrame(x, columns=names).assign(t=t.astype(float), y=y)
    columns = [Column(name, bounds=(-3.0, 3.0), missing=()) for name in names]
    columns.append(Column("t", "byte", levels=(0.0, 1.0), missing=()))
    columns.append(Column("y", bounds=(-5.0, 5.0), missing=()))
    return data, Schema(tuple(columns)), f"y ~ t + {' + '.join(names)}"


def ratios(n: int, p: int, runs: int) -> str:
    """Return errors over those of least squares, and how often it was estimated."""
    found: list[tuple[float, float]] = []
    for run in range(runs):
        data, schema, formula = made(n, p, run)
        scales = dict.fromkeys([*(f"x{j}" for j in range(p)), "y"], 1.0)
        plain = dprct.ols(formula, data, schema)
        fit = dprct.PrivateMoments.from_formulas(formula, data, schema, sd=scales).fit(1, DELTA)
        private = fit.ols(formula)
        if private.estimated["t"]:
            over = private.bse / plain.bse
            found.append((float(over["t"]), float(over[[f"x{j}" for j in range(p)]].median())))
    if not found:
        return f"p={p} n={n:,}: not estimated in {runs} runs"
    t, x = np.median(found, axis=0)
    return f"p={p} n={n:,}: treatment {t:.2f}, covariate {x:.2f} ({len(found)} of {runs} estimated)"


def liberia(folder: Path) -> None:
    """Print the noise of the effects on eight outcomes, in standard deviations of each."""
    (path,) = folder.rglob("liberia_round5.dta")
    data, header = dprct.read_dta(path)
    data = data[[*OUTCOMES, *ARMS]]
    scale = {name: float(data[name].std()) for name in OUTCOMES}
    centre = {name: float(data[name].mean()) for name in OUTCOMES}
    columns = [
        Column(name, bounds=(-50.0, 80.0), missing=(".",), built_from="own") for name in OUTCOMES
    ]
    columns += [Column(n, "byte", levels=(0.0, 1.0), missing=(), exclusive="arm") for n in ARMS]
    del header
    for factor in (2.0, 1.5):
        model = dprct.PrivateMoments(
            data, Schema(tuple(columns)), formulas=[f"{' + '.join(OUTCOMES)} ~ {' + '.join(ARMS)}"],
            assignment=dprct.Simple(list(ARMS)), neighbors="replace-one-design-public",
            sd=scale, centre=centre, missing=centre, radius=factor * np.sqrt(len(OUTCOMES)),
        )  # fmt: skip
        z = np.column_stack([(data[n].fillna(centre[n]) - centre[n]) / scale[n] for n in OUTCOMES])
        moved = float((np.linalg.norm(z, axis=1) > factor * np.sqrt(len(OUTCOMES))).mean())
        noise = []
        for epsilon in (1, 2, 4):
            effects = model.fit(epsilon, DELTA).effects()
            own = [scale[name.split(":")[0]] for name in effects.params.index]
            noise.append(float((effects.bse_noise / own).mean()))
        said = ", ".join(f"{x:.3f}" for x in noise)
        print(f"Liberia, R = {factor:g} sqrt 8: noise sd {said} at epsilon 1, 2, 4; "
              f"{moved:.1%} of rows moved (scales from the file: a benchmark)")  # fmt: skip


def main() -> None:
    """Print the rows of the page."""
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    if len(sys.argv) > 1:
        liberia(Path(sys.argv[1]))
    for p, n in ((10, 10_000), (10, 100_000), (20, 10_000), (20, 100_000)):
        print(ratios(n, p, runs), flush=True)


if __name__ == "__main__":
    main()
