"""Write the part of docs/calibrated.md on how often the reader's interval covers with a delta.

Usage: python scripts/coverage_calibrated.py [runs per row, 1,000 by default]

Rows are put on the grid of a release, summed and given noise of its law; what regressions on the
file return is what the class makes of that.  Rows are within their bounds: the truth is known.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from dprct import Calibrated, Column, Complete, Schema, Simple
from dprct.errors import DprctWarning
from dprct.estimate.moments.release import DrawnMoments, gaussian_of
from dprct.privacy.budget import Budget
from dprct.release.calibrated.model import Drawn
from dprct.release.calibrated.spec import CalibratedAllocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUT = Path(__file__).resolve().parents[1] / "docs" / "calibrated.md"
START = "### Coverage with a delta\n"
END = "\n## "
LEVELS = (0.05, 0.01)
DELTA = 1e-6
LOW, HIGH = -3.5, 3.5
SHIFT = 0.4

HEAD = """
Written by `scripts/coverage_calibrated.py`: {runs} experiments per row, delta = 1e-6,
`alphas=(.05, .01)`; shares of effects (all arms, all outcomes) and of control means that lie within
1.96 and 2.58 of the errors that the file returns. Arms are of one size, but in the last row one in
five is treated. *Noise*: the sd of the privacy noise of an effect over that of its sampling error.
The binomial error of one effect is {errors[0]:.3f} at 95 % and {errors[1]:.3f} at 99 %; several
outcomes make it smaller.

| outcomes | arms | n | epsilon | treatment | noise | effects 95 % | 99 % | control 95 % | 99 % |
|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    law: str
    outcomes: int
    arms: int
    n: int
    epsilon: float
    private: bool
    share: float | None = None

    @property
    def names(self) -> list[str]:
        """The columns of the treatment."""
        return [f"t{arm}" for arm in range(1, self.arms)]

    @property
    def treatment(self) -> str:
        """Who knows it."""
        return "private" if self.private else "public"


GRID = (
    Row("normal", 4, 3, 900, 2.0, private=False),
    Row("normal", 4, 3, 900, 2.0, private=True),
    Row("normal", 8, 2, 2000, 1.0, private=True),
    Row("zeros, and exponential", 2, 2, 1500, 8.0, private=True),
    Row("10 % have 1, else 0", 2, 2, 2000, 4.0, private=True, share=0.2),
)


def potential(law: str, arm: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return an outcome of people in these arms, within its bounds."""
    n = len(arm)
    if law == "normal":
        found = rng.normal(0, 1, n) + SHIFT * arm
    elif law.startswith("zeros"):
        found = np.where(rng.random(n) < 0.5, 0, rng.exponential(1, n)) + SHIFT * arm
    else:
        found = (rng.random(n) < 0.1 + 0.1 * arm) * 1.0
    return np.clip(found, LOW, HIGH)


@cache
def truth(law: str, arms: int) -> tuple[float, ...]:
    """Return the mean of each arm, from ten million draws."""
    rng = np.random.Generator(np.random.PCG64(9))
    draws, blocks = 10**6, 10
    return tuple(
        math.fsum(potential(law, np.full(draws, a), rng).mean() for _ in range(blocks)) / blocks
        for a in range(arms)
    )


def schema_of(row: Row) -> Schema:
    """Return the public facts."""
    found = [Column(f"y{j}", bounds=(LOW, HIGH), missing=()) for j in range(row.outcomes)]
    apart = {"exclusive": "arm"} if row.arms > 2 else {}
    found += [Column(t, "byte", levels=(0.0, 1.0), missing=(), **apart) for t in row.names]
    return Schema(tuple(found))


def model_of(row: Row) -> tuple[Calibrated, NDArray[np.int64]]:
    """Return a release of a row, and the arms that are public in it."""
    rng = np.random.Generator(np.random.PCG64(3))
    arm = rng.permutation(np.arange(row.n) % row.arms)
    design: Any = Complete(row.names)
    if row.share is not None:
        design = Simple(row.names, shares=[row.share])
    outcomes = [f"y{j}" for j in range(row.outcomes)]
    data = pd.DataFrame({name: potential(row.law, arm, rng) for name in outcomes})
    for place, name in enumerate(row.names, 1):
        data[name] = (arm == place) * 1.0
    model = Calibrated(
        data, schema_of(row), outcome=outcomes, assignment=design, covariate_release="filler",
        alphas=LEVELS,
        neighbors="replace-one" if row.private else "replace-one-design-public",
    )  # fmt: skip
    return model, arm


def released(
    rows: NDArray[np.float64], arm: NDArray[np.int64], arms: int, layout: Any, sigma: float,
    rng: np.random.Generator,
) -> DrawnMoments:  # fmt: skip
    """Return what is released of rows: twice the noisy moments of r = (h, k) in every arm."""
    grid = layout.grid
    per_unit = np.array([column.per_unit for column in grid.columns])
    centre = np.array([column.centre for column in grid.columns])
    k = np.floor((rows - centre) * per_unit + 0.5)
    r = np.column_stack([np.full(len(k), float(grid.constant)), k])
    sums = np.array([r[arm == a].T @ r[arm == a] for a in range(arms)])
    noise = rng.normal(0, sigma, sums.shape)
    found = 2 * sums + noise + noise.transpose(0, 2, 1)
    if not grid.count:
        found[:, 0, 0] = 2 * sums[:, 0, 0]
    return DrawnMoments(found, sigma)


def line(row: Row, runs: int) -> str:
    """Return a row of the table."""
    warnings.simplefilter("ignore", DprctWarning)
    model, arm = model_of(row)
    budget = Budget(row.epsilon, DELTA)
    allocation, guarantee = model._allocated(budget), model.guarantee(budget)
    assert isinstance(allocation, CalibratedAllocation)
    layout = model.spec.effects.layout(model.facts.effects)
    sigma = gaussian_of(allocation.effects).noise_sd
    rng = np.random.Generator(np.random.PCG64([row.n, row.outcomes, row.private]))
    true = np.array(truth(row.law, row.arms))
    covered, parts = np.zeros((len(LEVELS), 2)), np.zeros(2)
    for _ in range(runs):
        arm = rng.permutation(arm)
        if row.share is not None:
            arm = (rng.random(row.n) < row.share) * 1
        rows = np.column_stack([potential(row.law, arm, rng) for _ in range(row.outcomes)])
        drawn = released(rows, arm, row.arms, layout, sigma, rng)
        estimates, targets, _ = model._told(
            Drawn("filler", None, None, drawn, {}), None, guarantee, ""
        )
        parts += np.mean([[e.noise, float(e.parts.sum())] for e in estimates.effects], axis=0)
        for target in targets:
            gap = np.abs(target.effects - (true[1:] - true[0]))
            mean = abs(target.control - true[0])
            for i, level in enumerate(LEVELS):
                z = -special.ndtri(level / 2)
                covered[i, 0] += np.mean(gap <= z * np.sqrt(np.diag(target.covariance)))
                covered[i, 1] += mean <= z * (target.control_error or math.inf)
    shown = " | ".join(f"{share:.3f}" for share in (covered / runs / row.outcomes).T.ravel())
    return (
        f"| {row.outcomes}, {row.law} | {row.arms} | {row.n:,} | {row.epsilon:g} | "
        f"{row.treatment} | {math.sqrt(parts[0] / parts[1]):.2f} | {shown} |"
    )


def main() -> None:
    """Write the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    lines = [line(row, runs) for row in GRID]
    page = OUT.read_text("utf-8")
    start = page.index(START) + len(START)
    end = page.index(END, start)
    errors = [math.sqrt(level * (1 - level) / runs) for level in LEVELS]
    table = HEAD.format(runs=runs, errors=errors) + "\n".join(lines) + "\n"
    OUT.write_text(page[:start] + table + page[end:], "utf-8")


if __name__ == "__main__":
    main()
