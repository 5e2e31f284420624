"""Measure what a release of moments costs: docs/private_moments.md has the numbers.

Usage: python scripts/bench_moments.py [FOLDER with liberia_round5.dta, or -] [runs, 24]

Least squares on made data: error of the treatment's coefficient and of a typical covariate's over
that of least squares without privacy, in one run.  A treatment that people chose: half width of the
interval of its effect, and from how many rows it is estimated.  Liberia: noise of the effects of
three arms on eight outcomes, all from one budget.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import dprct
from dprct.errors import ParameterError
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from dprct.estimate.moments.regression import RegressionResults

DELTA = 1e-6
OUTCOMES = (
    "fam_asb_lt", "drugssellever_ltav", "stealnb_ltav", "disputes_all_z_ltav", "carryweapon_ltav",
    "arrested_ltav", "asbhostilstd_ltav", "domabuse_z_ltav",
)  # fmt: skip
ARMS = ("cashassonly", "tpassonly", "tpcashass")


def made(
    n: int, p: int, seed: int, *, effect: float = 0.3, correlation: float = 0.5
) -> tuple[pd.DataFrame, Schema, str]:
    """Return rows with p covariates, a treatment by choice, and an outcome of a residual of 1."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(p)]
    alike = correlation + (1 - correlation) * np.eye(p)
    x = rng.normal(size=(n, p)) @ np.linalg.cholesky(alike).T
    x = np.clip(x, -3, 3)
    t = x @ np.linspace(0.5, -0.5, p) / np.sqrt(p) + rng.normal(size=n) > 0
    slopes = 0.6 * np.linspace(0.5, -0.3, p)
    y = effect * t + x @ slopes + rng.normal(size=n)
    y = np.clip(y / np.sqrt(1 + slopes @ slopes), -5, 5)
    data = pd.DataFrame(x, columns=names).assign(t=t.astype(float), y=y)
    columns = [Column(name, bounds=(-3.0, 3.0), missing=()) for name in names]
    columns.append(Column("t", "byte", levels=(0.0, 1.0), missing=()))
    columns.append(Column("y", bounds=(-5.0, 5.0), missing=()))
    return data, Schema(tuple(columns)), f"y ~ t + {' + '.join(names)}"


def released(
    data: pd.DataFrame, schema: Schema, formula: str, *, bare: bool = False
) -> RegressionResults:
    """Return least squares on moments of epsilon 1, with robust errors; bare: without an sd."""
    scales = {} if bare else {name: {"sd": 1.0} for name in schema.names if name != "t"}
    model = dprct.PrivateMoments.from_formulas(formula, data, schema.declare(**scales))
    return model.fit(1, DELTA).ols(formula)


def ratios(n: int, p: int, runs: int) -> str:
    """Return errors over those of least squares, and how often it was estimated."""
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for run in range(runs):
        data, schema, formula = made(n, p, run)
        plain = dprct.ols(formula, data, schema).bse
        for bare, ones in found.items():
            try:
                private = released(data, schema, formula, bare=bare)
            except ParameterError:  # a residual variance at or below 0
                continue
            if private.estimated["t"]:
                over = private.bse / plain
                ones.append((float(over["t"]), float(over[[f"x{j}" for j in range(p)]].median())))
    said = [f"p={p} n={n:,}"]
    for bare, ones in found.items():
        t, x = np.median(ones, axis=0) if ones else (np.nan, np.nan)
        where = "without an sd" if bare else "with an sd"
        said.append(
            f"{where} treatment {t:.2f}, covariate {x:.2f} ({len(ones)} of {runs} estimated)"
        )
    return "; ".join(said)


def chosen(n: int, correlation: float, runs: int) -> str:
    """Return how wide the interval is of an effect of one residual standard deviation."""
    halves, covered = [], 0
    scale = float(np.sqrt(1 + np.sum((0.6 * np.linspace(0.5, -0.3, 10)) ** 2)))  # as in made
    for run in range(runs):
        try:
            private = released(*made(n, 10, run, effect=1.0, correlation=correlation))
        except ParameterError:  # a residual variance at or below 0
            continue
        if private.estimated["t"]:
            low, high = private.conf_int().loc["t"] * scale
            halves.append((high - low) / 2)
            covered += low <= 1.0 <= high
    if not halves:
        return f"n={n:,}, correlation {correlation:g}: not estimated in {runs} runs"
    return (
        f"n={n:,}, correlation {correlation:g}: half width {np.median(halves):.2f}, "
        f"{covered} of {len(halves)} hold the effect ({len(halves)} of {runs} estimated)"
    )


def liberia(folder: Path) -> None:
    """Print the noise of the effects on eight outcomes, in standard deviations of each."""
    (path,) = folder.rglob("liberia_round5.dta")
    data, _ = dprct.read_dta(path)
    data = data[[*OUTCOMES, *ARMS]]
    scale = {name: float(data[name].std()) for name in OUTCOMES}
    centre = {name: float(data[name].mean()) for name in OUTCOMES}
    arms = [Column(n, "byte", levels=(0.0, 1.0), missing=(), exclusive="arm") for n in ARMS]
    for width in (4.0, 3.0):
        ends = {n: (centre[n] - width * scale[n], centre[n] + width * scale[n]) for n in OUTCOMES}
        columns = [
            Column(
                n,
                bounds=ends[n],
                sd=scale[n],
                missing=(".",),
                missing_policy=centre[n],
                built_from="own",
            )
            for n in OUTCOMES
        ]
        inside = data.assign(**{name: data[name].clip(*ends[name]) for name in OUTCOMES})
        model = dprct.PrivateMoments(
            inside, Schema((*columns, *arms)),
            formulas=[f"{' + '.join(OUTCOMES)} ~ {' + '.join(ARMS)}"],
            assignment=dprct.Simple(list(ARMS)), neighbors="replace-one-design-public",
        )  # fmt: skip
        clipped = float((inside[[*OUTCOMES]] != data[[*OUTCOMES]].fillna(np.inf)).mean(axis=None)
                        - data[[*OUTCOMES]].isna().mean(axis=None))  # fmt: skip
        noise = []
        for epsilon in (1, 2, 4):
            effects = model.fit(epsilon, DELTA).effects()
            own = [scale[name.split(":")[0]] for name in effects.params.index]
            noise.append(float((effects.bse_noise / own).mean()))
        said = ", ".join(f"{x:.3f}" for x in noise)
        print(f"Liberia, bounds {width:g} sd from the mean: noise sd {said} at epsilon 1, 2, 4; "
              f"{clipped:.2%} of values clipped (bounds from the file: a benchmark)")  # fmt: skip


def main() -> None:
    """Print the rows of the page."""
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    if len(sys.argv) > 1 and sys.argv[1] != "-":
        liberia(Path(sys.argv[1]))
    for n, correlation in ((4_000, 0.0), (4_000, 0.5), (6_000, 0.5), (8_000, 0.5)):
        print(chosen(n, correlation, runs), flush=True)
    for p, n in ((10, 10_000), (10, 100_000), (10, 1_000_000), (20, 10_000), (20, 100_000)):
        print(ratios(n, p, runs if n < 1_000_000 else max(1, runs // 6)), flush=True)


if __name__ == "__main__":
    main()
