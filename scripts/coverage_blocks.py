"""Print error and coverage of declared regressions with weights, missing outcomes and conditions.

Usage: python scripts/coverage_blocks.py [runs per row, 600 by default]

The rows are those of 2,500 people at the end of the table in docs/declared_regressions.md.  The
effect is .2, and .1 more for a standard deviation of x0; least squares of the same rows is what
errors are compared with.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct import Column, PrivateMoments, Regression, Schema

N, BLOCKS = 2500, 10
NEVER: Any = {"missing": ()}
RIGHT = "x1 + x2 + C(b)"
CASES = {
    "public weights in blocks": Regression(f"y ~ t*x0 + {RIGHT}", weights="w"),
    "private missing outcomes in blocks": Regression(f"y ~ t + x0 + {RIGHT}"),
    "a private condition with a product": Regression("y ~ t*x0 + x1 + x2", where="g == 1"),
}


def world(gone: bool, rng: np.random.Generator) -> pd.DataFrame:
    """People in blocks, half of each treated; if ``gone``, some have no outcome."""
    x, block = rng.normal(size=(N, 3)).clip(-3, 3), np.arange(N) // (N // BLOCKS)
    t = np.concatenate([rng.permutation(N // BLOCKS) % 2 for _ in range(BLOCKS)]).astype(float)
    y = 0.01 * block + x @ [0.4, 0.3, -0.2] + (0.2 + 0.1 * x[:, 0]) * t + 0.8 * rng.normal(size=N)
    y = np.where(gone & (rng.random(N) < np.where(t == 1, 0.2, 0.1)), np.nan, y.clip(-4, 4))
    own = {f"x{j}": x[:, j] for j in range(3)}
    g = (rng.random(N) < 0.6) * 1.0
    return pd.DataFrame({"y": y, "t": t, "b": block, "w": 1 + np.arange(N) % 4, "g": g, **own})


def schema(gone: bool) -> Schema:
    """Bounds and levels."""
    lacks: Any = {"missing": (".",), "missing_policy": "private"} if gone else NEVER
    return Schema((
        Column("y", bounds=(-4, 4), sd=1, centre=0, **lacks),
        *(Column(name, "byte", levels=(0.0, 1.0), **NEVER) for name in "tg"),
        *(Column(name, "int", fate="public", **NEVER) for name in "bw"),
        *(Column(f"x{j}", bounds=(-3, 3), sd=1, centre=0, **NEVER) for j in range(3)),
    ))  # fmt: skip


def row_of(name: str, epsilon: float, runs: int) -> str:
    """One row of the table."""
    asked, gone = CASES[name], "missing" in name
    blocks = "C(b)" in asked.formula
    design: Any = dprct.Block("t", block="b", shares=0.5) if blocks else dprct.Complete(
        "t", shares=0.5)  # fmt: skip
    names = ["t", "t:x0"] if "*" in asked.formula else ["t"]
    truth, rng = np.array([0.2, 0.1])[: len(names)], np.random.default_rng(7)
    raw, found = [], []
    for _ in range(runs):
        data = world(gone, rng)
        used = data[data["g"] == 1] if asked.where else data.dropna()
        weights = np.sqrt(used["w"].to_numpy() if asked.weights else np.ones(len(used)))
        own = [
            used["t"],
            used["t"] * used["x0"],
            1 + 0 * used["t"],
            *(used[f"x{j}"] for j in "012"),
        ]
        own = own[:1] + own[2:] if len(names) == 1 else own
        own += [used["b"] == k for k in range(1, BLOCKS)] if blocks else []
        X = np.column_stack(own) * weights[:, None]
        raw.append(np.linalg.lstsq(X, used["y"] * weights, rcond=None)[0][: len(names)] - truth)
        fit = PrivateMoments(
            data, schema(gone), formulas=[asked], assignment=design,
            neighbors="replace-one-design-public",
        ).fit(epsilon, 1e-6, rng=int(rng.integers(1 << 40))).regressions[0]  # fmt: skip
        found.append([*(fit.params[names] - truth), *fit.bse[names]])
    errors, widths = np.split(np.array(found)[np.isfinite(found).all(axis=1)], 2, axis=1)
    ratio = np.sqrt((errors**2).mean(axis=0) / np.square(raw).mean(axis=0)).round(2)
    inside = (np.abs(errors) < 1.96 * widths).mean(axis=0).round(3)
    return f"| {name} | {epsilon:g} | {len(errors)} of {runs} | {ratio} | {inside} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    for one in CASES:
        for budget in (1.0, 4.0):
            print(row_of(one, budget, wanted), flush=True)
