"""Run the experiments again: draw what is not yet there, sum up, write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from dprct.disk import atomic_write
from papers.ippw.figures import write_figures
from papers.ippw.report import report, summarised
from papers.ippw.risk import DRAWS as RISK_DRAWS
from papers.ippw.risk import compared
from papers.ippw.samples import studies
from papers.ippw.setups import Cell, setups_of, without_privacy
from papers.runner import Store, check_counts, drawn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from papers.ippw.samples import Study
    from papers.runner import Progress

DRAWS = {"synthetic": 100, "ihdp": 300, "lalonde": 300}
FULL_DRAWS = DRAWS | {"ihdp": 1000, "lalonde": 1000}
"""As in section 4."""

REALISATIONS = 100
"""Data sets at most on which estimators without privacy are run."""


@dataclass(frozen=True, slots=True)
class Experiments:
    """What the experiments say.

    Parameters
    ----------
    summary : DataFrame
        One row per study, set-up and epsilon.
    baselines : DataFrame
        Estimates without privacy, one row per study and estimator.
    risks : DataFrame
        Bounds of ``SignRisk``, and simulated shares.
    report : str
        Markdown.
    """

    summary: pd.DataFrame
    baselines: pd.DataFrame
    risks: pd.DataFrame
    report: str

    def write(self, folder: Path) -> list[Path]:
        """Write ``report.md`` and the three tables that it is made from, and return them.

        Raises
        ------
        FileError
            If a file cannot be written.
        """
        written = {
            "summary.csv": self.summary.to_csv(index=False, lineterminator="\n"),
            "baselines.csv": self.baselines.to_csv(index=False, lineterminator="\n"),
            "risks.csv": self.risks.to_csv(index=False, lineterminator="\n"),
            "report.md": self.report,
        }
        for name, text in written.items():
            with atomic_write(folder / name, "w") as file:
                file.write(text)
        return [folder / name for name in written]

    def draw_figures(self, folder: Path) -> list[Path]:
        """Write a PNG per study, one by n1, and Figures 1 and 2 of the paper; return their files.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        FileError
            If one cannot be written.
        """
        return write_figures(folder, self.summary)


def rerun(
    out: Path,
    *,
    data: Path | None = None,
    draws: int | None = None,
    jobs: int = 1,
    seed: int = 1,
    full: bool = False,
    progress: Progress | None = None,
) -> Experiments:
    """Run the experiments of the paper again, with and without its defects.

    Parameters
    ----------
    out : Path
        Folder for the results and, below ``cells``, for finished draws, which are used again where
        all their settings are the same.
    data : Path, optional
        Folder with ``ihdp_npci_1-100.npz`` and ``nsw.dta``, or one of them; without it only the
        synthetic designs are run.
    draws : int, optional
        Of each set-up and study; 100 of the synthetic designs and 300 of the others by default.
    jobs : int
        Processes.
    seed : int
        Of everything drawn: this is a simulation, and nothing of it is a release.
    full : bool
        As many draws as section 4 has: 1000 of IHDP and LaLonde.
    progress : callable, optional
        Called with what was done, how much is done, and how much there is.

    Returns
    -------
    Experiments

    Raises
    ------
    ParameterError
        If an option is not allowed.
    FileError
        If data cannot be read, or results not written.

    References
    ----------
    Lee, Gresele, Park and Muandet, section 4.
    """
    check_counts(draws, jobs, seed)
    there = studies(data)
    default = FULL_DRAWS if full else DRAWS
    cells = {
        (label, setup): Cell(label, setup, draws or default[study.name], seed, study.digest())
        for label, study in there.items()
        for setup in setups_of(study)
    }
    out.mkdir(parents=True, exist_ok=True)
    # the last ones take longest
    calls = {one: partial(cells[one].compute, there[one[0]]) for one in reversed(cells)}
    found = drawn(cells, calls, Store(out / "cells"), jobs, progress)
    summary, baselines = summarised(found), _baselines(there, draws, seed)
    risks = compared(seed, min(draws or RISK_DRAWS, RISK_DRAWS))
    made = Experiments(summary, baselines, risks, report(summary, baselines, risks))
    made.write(out)
    return made


def _baselines(there: Mapping[str, Study], draws: int | None, seed: int) -> pd.DataFrame:
    """Return means and errors of the estimators without privacy."""
    rows = []
    for label, study in there.items():
        count = 1 if study.name == "lalonde" else min(draws or REALISATIONS, REALISATIONS)
        rng = study.stream(seed)
        for draw in range(count):
            sample = study.sample(draw, rng)
            for name, value in without_privacy(sample).items():
                error = value - sample.truth
                rows.append({"study": label, "estimator": name, "estimate": value, "error": error})
    table = pd.DataFrame(rows)
    return table.groupby(["study", "estimator"], sort=False, as_index=False).agg(
        mean=("estimate", "mean"),
        bias=("error", "mean"),
        rmse=("error", lambda e: float((e**2).mean() ** 0.5)),
        median_error=("error", lambda e: float(e.abs().median())),
        draws=("error", "size"),
    )
