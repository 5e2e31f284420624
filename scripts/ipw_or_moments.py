"""Write the table at the top of docs/ipw.md: three effects of a chosen treatment side by side.

Usage: python scripts/ipw_or_moments.py [runs of each row, 100 by default]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ipw.md"
BEGIN, END = "<!-- rows of ipw_or_moments.py -->", "<!-- end of ipw_or_moments.py -->"
HEAD = (
    "| n | covariates | epsilon | weighting | doubly robust | its coverage | `PrivateMoments` |\n"
    + "|---" * 7 + "|\n"
)  # fmt: skip
CELLS = ((5_000, 3, 1.0), (5_000, 3, 4.0), (20_000, 3, 1.0), (20_000, 10, 1.0), (20_000, 10, 4.0))
EFFECT = 0.2


def study(n: int, p: int, rng: np.random.Generator) -> pd.DataFrame:
    """N people: covariates choose the treatment (log odds with sd .5) and move the outcome."""
    X = rng.uniform(-1, 1, (n, p))
    along = X.sum(axis=1) * np.sqrt(3 / p)
    t = rng.random(n) < 1 / (1 + np.exp(-along / 2))
    y = EFFECT * t + 0.6 * along + 0.8 * rng.normal(size=n)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return table.assign(t=t.astype(float), y=y.clip(-4, 4))


def schema(p: int) -> dprct.Schema:
    """Public facts of such people."""
    return dprct.Schema(
        (
            dprct.Column("y", bounds=(-4.0, 4.0), missing=(), sd=0.8),
            dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
            *(dprct.Column(f"x{j}", bounds=(-1.0, 1.0), missing=()) for j in range(p)),
        )
    )


def without_privacy(table: pd.DataFrame, names: list[str]) -> float:
    """The doubly robust effect of a logit and a least-squares fit."""
    X = np.column_stack([np.ones(len(table)), table[names]])
    t, y, w = table["t"].to_numpy(), table["y"].to_numpy(), np.zeros(X.shape[1])
    for _ in range(8):
        e = 1 / (1 + np.exp(-X @ w))
        w += np.linalg.solve(X.T @ (X * (e * (1 - e))[:, None]), X.T @ (t - e))
    b, *_ = np.linalg.lstsq(np.column_stack([X, t]), y, rcond=None)
    m0 = X @ b[:-1]
    psi = b[-1] + t * (y - m0 - b[-1]) / e - (1 - t) * (y - m0) / (1 - e)
    return float(psi.mean())


def row(n: int, p: int, epsilon: float, runs: int) -> str:
    """Return root mean squared errors over that without privacy."""
    names = [f"x{j}" for j in range(p)]
    errors = np.empty((runs, 4))
    covers = 0
    for run in range(runs):
        rng = np.random.default_rng([n, p, int(epsilon), run])
        table = study(n, p, rng)
        given = {"treatment": "t", "covariates": names, "outcome": "y"}
        found = [without_privacy(table, names)]
        for estimator in ("ipw", "aipw"):
            model = dprct.IPW(table, schema(p), estimator=estimator, **given)
            result = model.fit(epsilon, 1e-6, rng=rng)
            found.append(float(result.params.iloc[0]))
        low, high = result.conf_int().to_numpy()[0]
        covers += low <= EFFECT <= high
        formula = f"y ~ t + {' + '.join(names)}"
        moments = dprct.PrivateMoments(table, schema(p), formulas=[formula])
        fitted = moments.fit(epsilon, 1e-6, rng=rng).ols(formula)
        found.append(float(fitted.params["t"]))
        errors[run] = np.array(found) - EFFECT
    raw, *others = np.sqrt(np.nanmean(np.square(errors), axis=0))
    weighting, robust, moments_error = (f"{one / raw:.2f}" for one in others)
    return (
        f"| {n:,} | {p} | {epsilon:g} | {weighting} | {robust} | {covers / runs:.2f} | "
        f"{moments_error} |\n"
    )


def main() -> None:
    """Write the table into the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rows = "".join(row(*cell, runs) for cell in CELLS)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{HEAD}{rows}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
