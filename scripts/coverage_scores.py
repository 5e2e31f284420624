"""Write the part of docs/coverage_moments.md on robust errors.

Usage: python scripts/coverage_scores.py [runs per cell, 1,000 by default] [processes]

Rows are put on the grid of a release, summed and given noise of its law; layout, scores and fits
are those of the class.  Covariates are uniform and errors bounded, so that the box moves nobody and
the truth is known.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from dprct import Column, PrivateMoments, Schema, Unit
from dprct.estimate.moments.release import SCORES, gaussian_of, moments_of
from dprct.estimate.moments.scores import DrawnScores, meat_of, score_map, whitened
from dprct.estimate.moments.system import Fit, Regressor, fit, inverse_of, rows_of, system_of
from dprct.privacy.budget import Budget
from dprct.queries.ball import STEPS

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
START = "## Robust errors from scores\n"
LOW = 0.935
TRUTH = {"T": 0.15, "x1": 0.3, "other": -0.1}

HEAD = """
Written by `scripts/coverage_scores.py`: {runs} simulated releases per row ({large} from n = 1e5
on), delta = 1e-6, T and p covariates, `cov_type="HC1"` or, with M rows of one unit, `"CR1"`. Errors
vary by a factor of 13 with x1. Of units with M rows, T, x1 and the sign of the error are those of
the unit. Coverage at 95 % is that of the estimate -+ its errors without the hull, which is never
narrower. *Classical*: the same without scores, of which nothing but the tests can ask where units
have several rows. *Error over OLS*: the median, over the robust error of least squares on the rows.
A row in bold is more than three binomial errors below .935.

| data | rows | M | p | epsilon | read | T, scores | x1, scores | x1, classical | error over OLS |
|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    n: int
    rows: int
    p: int
    epsilon: float

    @property
    def label(self) -> str:
        """What is robust."""
        return "errors vary with x1" if self.rows == 1 else "rows of a unit are alike"


GRID = (
    Cell(10_000, 1, 4, 1.0),
    Cell(10_000, 1, 4, 8.0),
    Cell(100_000, 1, 4, 1.0),
    Cell(100_000, 1, 10, 4.0),
    Cell(40_000, 4, 3, 1.0),
    Cell(40_000, 4, 3, 8.0),
    Cell(100_000, 4, 3, 1.0),
)


def drawn(cell: Cell, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of the law of a cell."""
    units = cell.n // cell.rows
    who = np.repeat(np.arange(units), cell.rows)
    x = rng.uniform(-1, 1, (cell.n, cell.p))
    x[:, 0] = rng.uniform(-1, 1, units)[who]
    treated = rng.integers(0, 2, units).astype(float)[who]
    size = 0.05 + 0.6 * x[:, 0] ** 2
    sign = rng.choice([-1.0, 1.0], units)[who]
    error = size * sign * rng.uniform(0.5, 1, cell.n)
    y = TRUTH["T"] * treated + TRUTH["x1"] * x[:, 0] + TRUTH["other"] * x[:, 1] + error
    data = pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(cell.p)])
    return data.assign(y=y, T=treated, who=who.astype(float))


def schema_of(cell: Cell) -> Schema:
    """Return bounds that hold for every row."""
    names = [f"x{j + 1}" for j in range(cell.p)]
    never: tuple[str, ...] = ()
    found = Schema(
        (
            *(Column(name, bounds=(-1, 1), missing=never) for name in names),
            Column("y", bounds=(-1.25, 1.25), missing=never),
            Column("T", "byte", levels=(0, 1), missing=never),
            Column("who", "int", missing=never),
        )
    )
    if cell.rows == 1:
        return found
    return found.declare(unit=Unit("unit", id="who", max_rows=cell.rows))


@dataclass(frozen=True)
class Asked:
    """A bound release of a cell, its regression, and the noise of its two draws."""

    model: PrivateMoments
    formula: str
    regressors: list[Regressor]
    sigma: tuple[float, float]


def asked_of(cell: Cell, data: pd.DataFrame) -> Asked:
    """Bind rows once: layout, noise and regression are functions of public facts alone."""
    formula = "y ~ T + " + " + ".join(f"x{j + 1}" for j in range(cell.p))
    model = PrivateMoments(
        data, schema_of(cell), formulas=[formula], radius="box",
        cov_type="HC1" if cell.rows == 1 else "CR1",
    )  # fmt: skip
    parts = model.spec.allocation(model.facts, Budget(cell.epsilon, 1e-6))
    sigma = gaussian_of(parts).noise_sd, gaussian_of(parts, SCORES.format(1)).noise_sd
    names = ["T", *(f"x{j + 1}" for j in range(cell.p))]
    regressors = [Regressor("Intercept"), *(Regressor(one, one) for one in names)]
    return Asked(model, formula, regressors, sigma)


def noisy(sums: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Return twice the sums with noise of the law of a release."""
    noise = rng.normal(0, sigma, sums.shape)
    doubled: np.ndarray = 2 * sums + noise + noise.T
    return doubled


def simulated(
    cell: Cell, asked: Asked, data: pd.DataFrame, rng: np.random.Generator
) -> tuple[Fit, Fit] | None:
    """Return the fit with scores and the classical one; None where the gate fails."""
    layout = asked.model.facts.layout
    r = np.full((cell.n, len(layout.places) + 1), float(layout.grid.constant))
    for k, column in enumerate(layout.grid.columns, 1):
        values = data[column.name].to_numpy()
        r[:, k] = np.floor((values - column.centre) * column.per_unit + 0.5)
    sums = noisy(r.T @ r, asked.sigma[0], rng)
    sums[0, 0] = 2 * cell.n * layout.grid.constant**2
    cells = [moments_of(layout, sums, asked.sigma[0], cell.n)]
    of = whitened(cells, Regressor("y", "y"), asked.regressors, cell.rows)
    if of.fit is None:
        return None
    size = len(asked.regressors)
    ask = score_map(of, [[0]], layout, 1, size)
    g = (r @ ask.residual[0])[:, None] * (r @ ask.regressors[0].T) * ask.per_unit
    g = g.reshape(-1, cell.rows, size).sum(axis=1)
    g *= np.minimum(1, STEPS / np.maximum(np.linalg.norm(g, axis=1), 1))[:, None]
    names = tuple(one.name for one in asked.regressors)
    drawn = DrawnScores("y", names, noisy(g.T @ g, asked.sigma[1], rng), asked.sigma[1])
    meat = meat_of(of, drawn, cell.rows)
    system = system_of(cells, asked.regressors)
    inverse, w = inverse_of(system), rows_of(cells, Regressor("y", "y"))
    return fit(system, inverse, w, meat=meat), fit(system, inverse, w)


def row(cell: Cell, runs: int) -> tuple[str, bool]:
    """Return one row of the table."""
    rng = np.random.default_rng([cell.n, cell.rows, cell.p, int(cell.epsilon)])
    runs = max(1, runs // 2) if cell.n >= 100_000 else runs
    asked = asked_of(cell, drawn(cell, rng))
    hits, classical, ratios = [], [], []
    for _ in range(runs):
        data = drawn(cell, rng)
        found = simulated(cell, asked, data, rng)
        if found is None:
            continue
        both = []
        for one in found:
            J = one.system.to_names
            se = np.sqrt(np.diag(J @ one.cov @ J.T))
            at = [one.system.names.index(name) for name in ("T", "x1")]
            away = np.abs((J @ one.b)[at] - [TRUTH["T"], TRUTH["x1"]])
            both.append(away <= special.stdtrit(one.system.df_resid, 0.975) * se[at])
            if one is found[0]:
                ratios.append(se[at[1]] / robust_error(data, cell))
        hits.append(both[0])
        classical.append(both[1][1])
    said = [cell.label, f"{cell.n:,}", str(cell.rows), str(cell.p), f"{cell.epsilon:g}"]
    said.append(f"{len(hits) / runs:.2f}")
    if len(hits) < 30:
        return "| " + " | ".join([*said, *["-"] * 4]) + " |\n", False
    share = np.mean(hits, axis=0)
    is_low = bool((share < LOW - 3 * math.sqrt(0.05 * 0.95 / len(hits))).any())
    said += [f"{one:.3f}" for one in share]
    said += [f"{np.mean(classical):.3f}", f"{np.median(ratios):.2f}"]
    said = [f"**{one}**" for one in said] if is_low else said
    return "| " + " | ".join(said) + " |\n", is_low


def robust_error(data: pd.DataFrame, cell: Cell) -> float:
    """Return the robust error of x1 by least squares on the rows."""
    names = ["T", *(f"x{j + 1}" for j in range(cell.p))]
    x = np.column_stack([np.ones(len(data)), data[names].to_numpy()])
    bread = np.linalg.inv(x.T @ x)
    e = data["y"].to_numpy() - x @ (bread @ (x.T @ data["y"].to_numpy()))
    scores = (x * e[:, None]).reshape(-1, cell.rows, x.shape[1]).sum(axis=1)
    cov = bread @ (scores.T @ scores) @ bread
    return float(np.sqrt(cov[2, 2]))


def main() -> None:
    """Run the grid and replace the part of the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with ProcessPoolExecutor(processes) as pool:
        rows = list(pool.map(partial(row, runs=runs), GRID))
    text = HEAD.format(runs=runs, large=max(1, runs // 2)) + "".join(line for line, _ in rows)
    text += "\n" + ("A row in bold misses by more than chance." if any(low for _, low in rows)
                    else "No row is in bold.") + "\n"  # fmt: skip
    kept = OUT.read_text("utf-8").partition(START)[0].rstrip()
    OUT.write_text(kept + "\n\n" + START + text, "utf-8")


if __name__ == "__main__":
    main()
