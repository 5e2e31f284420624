#!/usr/bin/env python3
"""Simulate the coverage of private effects and write the table of docs/coverage.md.

scripts/coverage_table.py [--runs 4000] [--jobs 2]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("POLARS_MAX_THREADS", "1")  # every process has its own scenario
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "estimate")]

from coverage_scenarios import FULL, LAWS, LEVELS, Scenario, Simulated, simulate  # noqa: E402

HEAD = """# Coverage of private effects

## Treatment public

The table shows how often the intervals of `PrivateATE` contain the effect, in {runs:,} simulated
experiments per row, with the code of a release (exact grid, clipping, noise, variance correction),
under replace-one with the design public. With so many runs, a share of 95% has a standard error of
{se95:.2f} points, and a share of 99% one of {se99:.2f}. Outcomes have the same distribution in all
arms, so the effect on the clipped outcome is zero.

- *private*, *plain*: share of intervals that contain the effect; plain is the usual interval of the
  difference in means, without any privacy, on the same data.
- *width*: mean width of the private interval over that of the plain one.
- *rmse*: root mean squared error of the private effect over that of the plain difference in means.
- *unit*: what one record is; *n* counts rows.

Intervals are conservative where noise dominates (small n times epsilon): the correction of the
variance holds for every true variance, and is tight for the least favourable one. Arms that were
released one by one (three arms or more) are corrected one by one, which is a little more
conservative. Protecting clusters costs more the more people they have.

Every interval assumes that the difference in means is approximately normal, as the plain one does.
If it is not (ten treated), the plain interval covers too rarely; so does the private one as soon as
sampling error outweighs its noise. Such rows are marked **no** in the last column, which says
whether 95% is reached, up to the error of the simulation (three standard errors). Errors below
those of the plain difference are an effect of clipping.

`scripts/coverage_table.py` writes this table; `make audit` repeats the runs as tests.
"""

BY_HAND = "<!-- what follows is written by hand -->"

COLUMNS = (
    "outcome", "bounds", "design", "unit", "n", "eps",
    "private 95%", "plain 95%", "private 99%", "plain 99%", "width", "rmse", "reached",
)  # fmt: skip


def row(scenario: Scenario, found: Simulated) -> str:
    """Return one line of the table."""
    a, b = LEVELS
    low, high = LAWS[scenario.law][1]
    short = 0.95 - found.covered[a] / found.runs
    reached = short <= 3 * (0.95 * 0.05 / found.runs) ** 0.5
    still = found.plain_rmse == 0
    cells = [
        scenario.law.removesuffix(", close"),
        f"[{low:g}, {high:g}]",
        scenario.design,
        scenario.unit,
        f"{sum(scenario.sizes):,}",
        f"{scenario.epsilon:g}",
        f"{100 * found.covered[a] / found.runs:.1f}",
        f"{100 * found.plain_covered[a] / found.runs:.1f}",
        f"{100 * found.covered[b] / found.runs:.1f}",
        f"{100 * found.plain_covered[b] / found.runs:.1f}",
        "-" if still else f"{found.width[a] / found.plain_width[a]:.2f}",
        "-" if still else f"{found.rmse / found.plain_rmse:.2f}",
        "yes" if reached else "**no**",
    ]
    return f"| {' | '.join(cells)} |"


def page(results: dict[str, Simulated], runs: int) -> str:
    """Return the page."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    lines += [row(FULL[name], found) for name, found in results.items()]
    missed = [name for name, line in zip(results, lines[2:], strict=True) if "**no**" in line]
    said = f"{len(results) - len(missed)} of {len(results)} scenarios reach 95%."
    if missed:
        said += f" Not: {'; '.join(missed)}."
    head = HEAD.format(
        runs=runs, se95=100 * (0.95 * 0.05 / runs) ** 0.5, se99=100 * (0.99 * 0.01 / runs) ** 0.5
    )
    return "\n".join([head, said, "", *lines, ""])


def main() -> None:
    """Run all scenarios and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "coverage.md")
    options = parser.parse_args()
    names = sorted(FULL, key=lambda name: (FULL[name].design, FULL[name].law, FULL[name].epsilon))
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        found = pool.map(partial(simulate, runs=options.runs), names)
        results = dict(zip(names, found, strict=True))
    kept = options.out.read_text("utf-8").partition(BY_HAND)[2] if options.out.exists() else ""
    text = page(results, options.runs) + f"\n{BY_HAND}{kept}"
    options.out.write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
