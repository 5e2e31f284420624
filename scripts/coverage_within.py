"""Write the part of docs/coverage_moments.md on subgroups of the joint release of PrivateATE.

Usage: python scripts/coverage_within.py [runs per cell, 1,000 by default] [processes]

Each run draws rows, and fits the class end to end but for the ledger.  No row is outside its
bounds, so that the truth is known: the effect on the outcome, of everybody and within three levels.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

import dprct
from dprct import Budget, Column, PrivateATE, Schema
from dprct.model import Paid
from dprct.privacy.noise import source

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_moments.md"
START, NEXT = "## Effects within subgroups\n", "## Robust errors from scores\n"
LOW = {0.05: 0.935, 0.01: 0.98}
DELTA = 1e-6
FEW = 30
"""Fits that a level is read in, at least, before it can be the worst."""
SHARES = {
    "even": (1 / 3, 1 / 3, 1 / 3),
    "one in twenty": (0.05, 0.35, 0.6),
    "one in fifty": (0.02, 0.18, 0.8),
}
EFFECTS = np.array([0.2, 0.6, 0.0])
SCHEMA = Schema(
    (
        *(Column(name, bounds=(-4.0, 4.0), missing=()) for name in ("y", "w")),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("g", "byte", levels=(1.0, 2.0, 3.0), missing=()),
    )
)
GRID: tuple[tuple[str, int, float, str, bool], ...] = (
    ("normal", 1_500, 1.0, "even", False),
    ("normal", 1_500, 1.0, "even", True),
    ("normal", 1_500, 4.0, "even", False),
    ("normal", 1_500, 4.0, "even", True),
    ("normal", 6_000, 1.0, "one in twenty", False),
    ("normal", 6_000, 4.0, "one in twenty", True),
    ("2 % binary", 3_000, 4.0, "even", True),
    ("normal", 3_000, 1.0, "one in twenty", False),
    ("normal", 3_000, 4.0, "one in fifty", False),
    ("normal", 3_000, 4.0, "one in fifty", True),
    ("2 % binary", 3_000, 4.0, "one in twenty", True),
)

HEAD = """
Written by `scripts/coverage_within.py`: {runs} fits of `PrivateATE(subgroups=["g"])` per row, two
outcomes, two arms, three levels of g. Intervals are for the full sample and for the levels, and for
both outcomes. The shares of the levels are a third each, or 5, 35 and 60 %, or 2, 18 and 80 %;
*worst level* is among those estimated in 30 fits or more. *Read*: the share of effects within
levels that were estimated; those of a private cell whose noisy count is below five times its error
are not.

| data | n | epsilon | levels | arm | all, 95 % | 99 % | within, 95 % | worst level | 99 % | read |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def rows_of(kind: str, n: int, shares: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows; effects differ by level on y, and are 0 on w."""
    g = rng.choice(3, n, p=SHARES[shares])
    t = (rng.random(n) < 0.5).astype(float)
    if kind == "normal":
        y, w = rng.normal(size=n).clip(-3, 3), rng.normal(size=n).clip(-4, 4)
        y = y + t * EFFECTS[g]
    else:
        y, w = (np.where(rng.random(n) < 0.02, 4.0, -4.0) for _ in range(2))
    return pd.DataFrame({"y": y, "w": w, "t": t, "g": g + 1.0})


def row(case: tuple[str, int, float, str, bool], runs: int) -> tuple[str, bool]:
    """Return one row of the table, and whether it is in bold."""
    kind, n, epsilon, shares, hidden = case
    effect = EFFECTS if kind == "normal" else np.zeros(3)
    truth = np.column_stack([effect, np.zeros(3)]).ravel()
    whole = np.array([effect @ np.array(SHARES[shares]), 0.0])
    rng = np.random.default_rng(GRID.index(case))
    hits: dict[tuple[str, float], list[Any]] = {}
    for _ in range(runs):
        model = PrivateATE(
            rows_of(kind, n, shares, rng), SCHEMA, outcome=["y", "w"], subgroups=["g"],
            assignment=dprct.Simple("t", shares=0.5), attrition=not hidden,
            neighbors="replace-one" if hidden else "replace-one-design-public",
        )  # fmt: skip
        budget, noise = Budget(epsilon, DELTA), source(int(rng.integers(2**31)))
        allocation = model._allocated(budget)
        drawn, none = model._draw(allocation, noise), cast("Any", None)  # it is read without a plan
        fit: Any = model._read(drawn, Paid(none, allocation, model.guarantee(budget), "", noise))
        for name, found, true in (("whole", fit, whole), ("within", fit.effects(where="g"), truth)):
            for alpha in LOW:
                ends = found.conf_int(alpha).to_numpy()
                inside = (ends[:, 0] <= true) & (true <= ends[:, 1])
                hits.setdefault((name, alpha), []).append(
                    np.where(np.isfinite(ends).all(axis=1), inside, np.nan)
                )
    said, bold = [kind, f"{n:,}", f"{epsilon:g}", shares, "private" if hidden else "public"], False
    for name in ("whole", "within"):
        for alpha, least in LOW.items():
            share = np.array(hits[name, alpha], float)
            few = least - 3 * math.sqrt(alpha * (1 - alpha) / np.isfinite(share).sum())
            low = bool(np.nanmean(share) < few)
            bold |= low
            text = f"{np.nanmean(share):.3f}"
            said.append(f"**{text}**" if low else text)
            if name == "within" and alpha == 0.05:
                often = share[:, np.isfinite(share).sum(axis=0) >= FEW]
                said.append(f"{np.nanmean(often, axis=0).min():.3f}")
    said.append(f"{np.isfinite(np.array(hits['within', 0.05], float)).mean():.2f}")
    return "| " + " | ".join(said) + " |\n", bold


def main() -> None:
    """Run the grid and replace the part of the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with ProcessPoolExecutor(processes) as pool:
        rows = list(pool.map(partial(row, runs=runs), GRID))
    text = START + HEAD.format(runs=runs) + "".join(line for line, _ in rows)
    text += "\n" + ("A row in bold misses by more than chance." if any(low for _, low in rows)
                    else "No row is in bold.") + "\n\n"  # fmt: skip
    page = OUT.read_text("utf-8")
    after = page.partition(NEXT)[2]
    before = page.partition(START)[0] if START in page else page.partition(NEXT)[0]
    OUT.write_text(before + text + NEXT + after, "utf-8")


if __name__ == "__main__":
    main()
