"""Write the parts of docs/coverage_moments.md on robust errors and on weighted rows.

Usage: python scripts/coverage_scores.py [weights] [runs per cell, 1,000 by default] [processes]

With ``weights`` only the part on weighted rows is written, whose fits are those of the class end to
end.  For the other one rows are put on the grid of a release, summed and given noise of its law;
layout, scores and fits are those of the class.  Covariates are uniform and errors bounded, so that
the box moves nobody and the truth is known.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from dprct import Column, PrivateMoments, Schema, Unit
from dprct.estimate.moments.release import SCORES, gaussian_of, moments_of
from dprct.estimate.moments.robust_errors import DrawnScores, meat_of, score_map, whitened
from dprct.estimate.moments.system import Fit, Regressor, fit, inverse_of, rows_of, system_of
from dprct.privacy.budget import Budget
from dprct.queries.group_moments import STEPS, moved_in

if TYPE_CHECKING:
    from dprct.estimate.moments.layout import Layout

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
START, WEIGHTED = "## Robust errors from scores\n", "## Weighted rows\n"
LOW = 0.935
TRUTH = {"T": 0.15, "x1": 0.3, "other": -0.1}

HEAD = """
Written by `scripts/coverage_scores.py`: {runs} simulated releases per row ({large} from n = 1e5
on), delta = 1e-6, T and p covariates, `cov_type="HC1"` or, with M rows of one unit, `"CR1"`. Errors
vary by a factor of 13 with x1. Within a unit of M rows, T, x1 and the sign of the error are the
same. Coverage at 95 % is that of the estimate -+ its errors without the hull, which is never
narrower. *Classical*: the same without scores, which users cannot request for units with several
rows. *Error over OLS*: the median, over the robust error of least squares on the rows. A row in
bold is more than three binomial errors below .935.

| data | rows | M | p | epsilon | read | T, scores | x1, scores | x1, classical | error over OLS |
|---|---|---|---|---|---|---|---|---|---|
"""

OF_WEIGHTS = """
Written by `scripts/coverage_scores.py weights`: {runs} fits of
`PrivateMoments(weights="w", cov_type="HC1")` per row, delta = 1e-6, T and 4 covariates. Half of all
people have an effect of .35, half of -.05; the first are a third of the rows, with weights of 1.5,
the others have weights of .75. So the effect is .15 by weighted least squares. Errors vary by a
factor of 13 with x1. Coverage is that of the printed interval. *Unweighted*: that of least
squares on the confidential rows without weights, for T at 95 %, to show why weights matter.
*Error over WLS*: the median for T, over the robust error of weighted least squares on the rows.

| rows | epsilon | read | T, 95 % | x1, 95 % | T, 99 % | x1, 99 % | unweighted | error over WLS |
|---|---|---|---|---|---|---|---|---|
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
    """A bound release, one of its regressions, and the noise of its two draws."""

    layout: Layout
    regressors: list[Regressor]
    sigma: tuple[float, float]

    @classmethod
    def of(cls, model: PrivateMoments, names: list[str], epsilon: float) -> Asked:
        """Bind rows once: layout, noise and regression are functions of public facts alone."""
        budget = Budget(epsilon, 1e-6)
        parts = model.spec.allocation(model.facts, budget)
        return cls(
            layout=model.spec.at(model.facts, budget).layout,
            regressors=[Regressor("Intercept"), *(Regressor(one, one) for one in names)],
            sigma=(gaussian_of(parts).noise_sd, gaussian_of(parts, SCORES.format(1)).noise_sd),
        )


def asked_of(cell: Cell, data: pd.DataFrame) -> Asked:
    """Return the release of a cell; the box projects nobody."""
    names = ["T", *(f"x{j + 1}" for j in range(cell.p))]
    model = PrivateMoments(
        data, schema_of(cell), formulas=["y ~ " + " + ".join(names)], radius="box",
        cov_type="HC1" if cell.rows == 1 else "CR1",
    )  # fmt: skip
    return Asked.of(model, names, cell.epsilon)


def noisy(sums: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Return twice the sums with noise of the law of a release."""
    noise = rng.normal(0, sigma, sums.shape)
    doubled: np.ndarray = 2 * sums + noise + noise.T
    return doubled


def in_ball(layout: Layout, data: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Return r of rows that are each their own unit, and the share of them that is projected."""
    grid = layout.grid
    k = np.empty((len(data), grid.width), np.int64)
    for j, column in enumerate(grid.columns):
        values = data[column.name].to_numpy().clip(*column.bounds)
        k[:, j] = np.floor((values - column.centre) * column.per_unit + 0.5)
    free = np.array([not column.exempt for column in grid.columns])
    outside = (k[:, free] ** 2).sum(axis=1) > grid.room
    k[:, free] = moved_in(k[:, free], grid.room)
    return np.column_stack([np.full(len(k), grid.constant), k]).astype(float), outside.mean()


def simulated(
    asked: Asked, r: np.ndarray, rows: int, rng: np.random.Generator
) -> tuple[Fit, Fit] | None:
    """Return the fit of y with scores and the classical one; None where the gate fails."""
    layout, (sigma, of_scores) = asked.layout, asked.sigma
    sums = noisy(r.T @ r, sigma, rng)
    sums[0, 0] = 2 * len(r) * layout.grid.constant**2
    cells = [moments_of(layout, sums, sigma, len(r))]
    of = whitened(cells, Regressor("y", "y"), asked.regressors, rows, of_scores)
    if of.fit is None:
        return None
    size = len(asked.regressors)
    ask = score_map(of, [[0]], layout, 1, size)
    g = (r @ ask.residual[0])[:, None] * (r @ ask.regressors[0].T) * ask.per_unit
    g = g.reshape(-1, rows, size).sum(axis=1)
    g *= np.minimum(1, STEPS / np.maximum(np.linalg.norm(g, axis=1), 1))[:, None]
    names = tuple(one.name for one in asked.regressors)
    drawn = DrawnScores("y", names, noisy(g.T @ g, of_scores, rng), of_scores)
    meat = meat_of(of, drawn, rows)
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
        found = simulated(asked, in_ball(asked.layout, data)[0], cell.rows, rng)
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


WEIGHTS = ((10_000, 4.0), (40_000, 1.0), (40_000, 8.0))
WEIGHTED_SCHEMA = Schema(
    (
        *(Column(f"x{j + 1}", bounds=(-1, 1), missing=()) for j in range(4)),
        Column("y", bounds=(-1.5, 1.5), missing=()),
        Column("T", "byte", levels=(0, 1), missing=()),
        Column("w", bounds=(0, 1.5), missing=()),
    )
)


def weighted_row(cell: tuple[int, float], runs: int) -> tuple[str, bool]:
    """Return one row of the table of weighted rows."""
    n, epsilon = cell
    rng = np.random.default_rng([n, int(epsilon)])
    names, truth = ["T", *(f"x{j + 1}" for j in range(4))], np.array([TRUTH["T"], TRUTH["x1"]])
    formula = "y ~ " + " + ".join(names)
    hits, ratios, plain = [], [], []
    for _ in range(runs):
        data = drawn(Cell(n, 1, 4, epsilon), rng).drop(columns="who")
        rare = rng.random(n) < 1 / 3
        data["y"] += np.where(rare, 0.2, -0.2) * data["T"]
        data["w"] = np.where(rare, 1.5, 0.75)
        model = PrivateMoments(
            data, WEIGHTED_SCHEMA, formulas=[formula], radius="box", cov_type="HC1", weights="w"
        )
        found = model.fit(epsilon, 1e-6, rng=int(rng.integers(2**31))).ols(formula)
        b, se = _weighted(data, names, np.ones(n))
        plain.append(abs(b[1] - TRUTH["T"]) <= 1.959964 * se[1])
        if not found.estimated[["T", "x1"]].all():
            continue
        ends = [found.conf_int(alpha).loc[["T", "x1"]].to_numpy() for alpha in (0.05, 0.01)]
        hits.append([(e[:, 0] <= truth) & (truth <= e[:, 1]) for e in ends])
        ratios.append(found.bse["T"] / _weighted(data, names, data["w"].to_numpy())[1][1])
    said = [f"{n:,}", f"{epsilon:g}", f"{len(hits) / runs:.2f}"]
    if len(hits) < 30:
        return "| " + " | ".join([*said, *["-"] * 6]) + " |\n", False
    share = np.mean(hits, axis=0)
    least = [low - 3 * math.sqrt(a * (1 - a) / len(hits)) for a, low in ((0.05, LOW), (0.01, 0.98))]
    is_low = bool((share < np.array(least)[:, None]).any())
    said += [f"{one:.3f}" for one in share.ravel()]
    said += [f"{np.mean(plain):.3f}", f"{np.median(ratios):.2f}"]
    said = [f"**{one}**" for one in said] if is_low else said
    return "| " + " | ".join(said) + " |\n", is_low


def _weighted(data: pd.DataFrame, names: list[str], w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted least squares on the rows, and its robust errors."""
    x, y = np.column_stack([np.ones(len(data)), data[names].to_numpy()]), data["y"].to_numpy()
    bread = np.linalg.inv((x * w[:, None]).T @ x)
    b = bread @ (x.T @ (w * y))
    scores = x * (w * (y - x @ b))[:, None]
    return b, np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))


def main() -> None:
    """Run the grids and replace their parts of the page."""
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    runs = numbers[0] if numbers else 1_000
    with ProcessPoolExecutor(numbers[1] if len(numbers) > 1 else 2) as pool:
        weights = pool.map(partial(weighted_row, runs=runs), WEIGHTS)
        scores = [] if "weights" in sys.argv else pool.map(partial(row, runs=runs), GRID)
        of_weights, of_scores = list(weights), list(scores)
    before, start, after = OUT.read_text("utf-8").partition(START)
    kept = after.partition(WEIGHTED)[0]
    if of_scores:
        head = HEAD.format(runs=runs, large=max(1, runs // 2))
        start, kept = START, _table(head, of_scores)
    text = _table(OF_WEIGHTS.format(runs=runs), of_weights)
    parts = [before.rstrip(), start + kept.rstrip("\n"), WEIGHTED + text.rstrip("\n")]
    OUT.write_text("\n\n".join(parts) + "\n", "utf-8")


def _table(head: str, rows: list[tuple[str, bool]]) -> str:
    low = any(low for _, low in rows)
    said = "A row in bold misses by more than chance." if low else "No row is in bold."
    return head + "".join(line for line, _ in rows) + f"\n{said}\n"


if __name__ == "__main__":
    main()
