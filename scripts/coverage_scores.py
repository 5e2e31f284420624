"""Write the part of docs/coverage_moments.md on robust errors: fits of the class itself.

Usage: python scripts/coverage_scores.py [runs per cell, 300 by default] [processes]

Covariates are uniform and errors bounded, so that the box moves nobody and the truth is known.
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

from dprct import Column, PrivateMoments, Schema, Unit

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
START = "## Robust errors from scores\n"
LOW = 0.935
TRUTH = {"T": 0.15, "x1": 0.3, "other": -0.1}

HEAD = """
Written by `scripts/coverage_scores.py`: {runs} fits of `PrivateMoments` per row ({large} from n =
1e5 on), delta = 1e-6, all p covariates and T regressed on, `cov_type="HC1"` or, with M rows of one
unit, `"CR1"`. Errors vary by a factor of 13 with x1. Of units with M rows, T, x1 and the sign of
the error are those of the unit. *Classical*: the interval of the same release with
`cov_type="nonrobust"`; with several rows it is refused. *Error of x1 over OLS*: the median, over
the robust error of least squares on the rows. A row in bold is more than three binomial errors
below .935.

| data | rows | M | p | epsilon | read | T, scores | x1, scores | x1, classical \
| error of x1 over OLS |
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


def row(cell: Cell, runs: int) -> tuple[str, bool]:
    """Return one row of the table."""
    rng = np.random.default_rng([cell.n, cell.rows, cell.p, int(cell.epsilon)])
    formula = "y ~ T + " + " + ".join(f"x{j + 1}" for j in range(cell.p))
    schema = schema_of(cell)
    hits, classical, ratios = [], [], []
    runs = max(1, runs // 2) if cell.n >= 100_000 else runs
    for _ in range(runs):
        data = drawn(cell, rng)
        asked = PrivateMoments(
            data, schema, formulas=[formula], radius="box",
            cov_type="HC1" if cell.rows == 1 else "CR1",
        )  # fmt: skip
        m = asked.fit(epsilon=cell.epsilon, delta=1e-6, rng=rng)
        found = m.ols(formula)
        if not found.estimated.all():
            continue
        interval = found.conf_int()
        hits.append([
            float(interval.loc[k].iloc[0]) <= TRUTH[k] <= float(interval.loc[k].iloc[1])
            for k in ("T", "x1")
        ])  # fmt: skip
        if cell.rows == 1:
            low, high = map(float, m.ols(formula, cov_type="nonrobust").conf_int().loc["x1"])
            classical.append(low <= TRUTH["x1"] <= high)
        ratios.append(float(found.bse["x1"]) / robust_error(data, cell))
    said = [cell.label, f"{cell.n:,}", str(cell.rows), str(cell.p), f"{cell.epsilon:g}"]
    said.append(f"{len(hits) / runs:.2f}")
    if len(hits) < 30:
        return "| " + " | ".join([*said, *["-"] * 4]) + " |\n", False
    share = np.mean(hits, axis=0)
    is_low = bool((share < LOW - 3 * math.sqrt(0.05 * 0.95 / len(hits))).any())
    said += [f"{one:.3f}" for one in share]
    said.append(f"{np.mean(classical):.3f}" if classical else "-")
    said.append(f"{np.median(ratios):.2f}")
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
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
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
