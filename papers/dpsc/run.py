"""Run the experiments: every setting once, then a table, figures and a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.disk import atomic_write
from papers.dpsc.forms import BOUNDS, FORMS, Setting
from papers.dpsc.report import report_of, write_figures
from papers.dpsc.several import Several
from papers.runner import check_counts, finished

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from papers.runner import Progress

REPS = 300
FULL_REPS = 500
"""As in section 8.1, which draws them on one panel; here each has a panel of its own."""

EPSILONS = (2.0, 4.0, 10.0, 20.0, 40.0, 100.0, 200.0)
LAMBDAS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SIZES = ((10, 10), (100, 10), (10, 100), (100, 100))
"""The paper's data sets: donors and periods before treatment."""


@dataclass(frozen=True, slots=True)
class Experiments:
    """What came out.

    Parameters
    ----------
    table : DataFrame
        One row per setting and form: error after treatment and before it, Monte Carlo error, and
        the bounds.
    report : str
        Markdown.
    """

    table: pd.DataFrame
    report: str

    def draw_figures(self, folder: Path) -> list[Path]:
        """Draw the figures as PNG into a folder, and return their files.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        return write_figures(folder, self.table)


def settings(*, quick: bool = False) -> list[Setting]:
    """Return every setting: error against epsilon, lambda, n and T0.

    Examples
    --------
    >>> len(settings(quick=True)), len(settings())
    (4, 110)
    """
    if quick:
        return [Setting(n, 10, e, m * 10.0) for n, e in ((10, 2.0), (100, 10.0)) for m in (1, 20)]
    found = [Setting(n, T0, e, float(m * T0)) for n, T0 in SIZES for e in EPSILONS for m in (1, 20)]
    found += [Setting(n, T0, 100.0, float(lam)) for n, T0 in SIZES for lam in LAMBDAS]
    found += [Setting(n, 10, 10.0, m * 10.0) for n in (5, 10, 20, 50, 100, 200) for m in (1, 20)]
    found += [Setting(10, T0, 10.0, float(m * T0)) for T0 in (5, 10, 20, 50, 100) for m in (1, 20)]
    return list(dict.fromkeys(found))


def rerun(
    out: Path,
    *,
    draws: int | None = None,
    jobs: int = 1,
    seed: int = 1,
    quick: bool = False,
    full: bool = False,
    progress: Progress | None = None,
) -> Experiments:
    """Run the experiments and write ``rmse.csv``, ``several.csv`` and ``report.md``.

    Parameters
    ----------
    out : Path
        Folder.
    draws : int, optional
        Repetitions per setting, each on a new panel; 300 by default.
    jobs : int
        Processes.
    seed : int
        Of everything drawn: this is a simulation.
    quick : bool
        Only the four settings of the table in the report.
    full : bool
        As many repetitions as in section 8.1.
    progress : callable, optional
        Called with what was done, how much is done, and how much there is.

    Raises
    ------
    ParameterError
        If there are fewer than 2 repetitions, or no process.
    FileError
        If a file cannot be written.
    """
    reps = (FULL_REPS if full else REPS) if draws is None else draws
    check_counts(reps, jobs, seed, fewest=2)
    wanted = settings(quick=quick)
    calls = {one: partial(one.compute, reps, seed) for one in wanted}
    rows: dict[Setting, list[dict[str, object]]] = {}
    for one, found in finished(calls, jobs):
        rows[one] = _rows(one, {k: list(v) for k, v in found.items()})
        if progress is not None:
            progress(f"n={one.n}, T0={one.T0}", len(rows), len(wanted))
    table = pd.DataFrame([row for one in wanted for row in rows[one]])
    several = Several().compute(reps, seed)
    made = Experiments(table, report_of(table, reps, several))
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        "rmse.csv": table.to_csv(index=False, lineterminator="\n"),
        "several.csv": several.to_csv(index=False, lineterminator="\n"),
        "report.md": made.report,
    }
    for name, text in texts.items():
        with atomic_write(out / name, "w") as file:
            file.write(text)
    return made


def _rows(one: Setting, found: dict[str, Sequence[float]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for form in FORMS:
        errors = np.asarray(found[form])
        bounds = [float(np.mean(found[name])) for name in BOUNDS.get(form, ())]
        own = {"bound.printed": bounds[0] if len(bounds) == 2 else math.nan}
        own["bound.ours"] = bounds[-1] if bounds else math.nan
        rows.append(
            {
                "n": one.n, "T0": one.T0, "epsilon": one.epsilon, "lambda": one.lam, "form": form,
                "rmse": float(errors.mean()),
                "se": float(errors.std(ddof=1)) / math.sqrt(len(errors)),
                "median": float(np.median(errors)),
                "before": float(np.mean(found[f"{form}, before"])), **own,
            }
        )  # fmt: skip
    return rows
