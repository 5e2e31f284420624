"""Run the experiments again: draw the cells that are not yet there, sum up, write."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dprct.disk import atomic_write
from dprct.errors import MissingDependencyError
from dprct.published.ebm import installed_version
from papers.cate.designs import MOST_TEST_ROWS, TEST_ROWS, designs, stream
from papers.cate.forms import FORMS, NO_PRIVACY, Fits, forms_of
from papers.cate.multistage import Multistage
from papers.cate.report import report_of, summarised, write_figures
from papers.cate.shapes import Shapes, write_figure
from papers.runner import Settings, Store, check_counts, drawn

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from papers.cate.designs import Design
    from papers.runner import Progress

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    design : str
    kind : {"strict", "published", "none"}
    n : int
    epsilons : str
        Separated by spaces, for settings are kept as JSON.
    draws : int
        Samples, each with one fit of every form at every epsilon; 2 at least.
    seed : int
    data : str
        Hash of the data.
    test : int
        People on whom errors are measured.
    """

    FORMAT: ClassVar[int] = 4

    design: str
    kind: str
    n: int
    epsilons: str
    draws: int
    seed: int
    data: str
    test: int = TEST_ROWS

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.design} {self.kind} {self.n}"

    def compute(self, design: Design) -> pd.DataFrame:
        """Return one row per form, epsilon and draw.

        Returns
        -------
        DataFrame
            ``form, epsilon, draw, mse``, and ``mse_mean`` of the mean of all fits.

        Notes
        -----
        Samples depend on design, n, seed and draw alone, and the test set on design and seed: forms
        are compared on the same people.
        """
        test = design.test(self.seed, self.test)
        forms = [name for name in forms_of(design) if FORMS[name].kind == self.kind]
        epsilons = [float(word) for word in self.epsilons.split()]
        fits = Fits(design, forms, test.X)
        where = int(hashlib.sha256(self.design.encode()).hexdigest()[:8], 16)
        total: dict[tuple[str, float], Array] = {}
        rows: list[dict[str, Any]] = []
        for draw in range(self.draws):
            rng = stream(self.seed, where, self.n, draw)
            sample = design.train(self.n, rng)
            for form, epsilon, effect in fits.on(sample, epsilons, int(self.key, 16) + draw):
                mse = float(np.mean((effect - test.tau) ** 2))
                rows.append({"form": form, "epsilon": epsilon, "draw": draw, "mse": mse})
                total[form, epsilon] = total.get((form, epsilon), 0) + effect / self.draws
        of_mean = {one: float(np.mean((mean - test.tau) ** 2)) for one, mean in total.items()}
        return pd.DataFrame(
            [row | {"mse_mean": of_mean[row["form"], row["epsilon"]]} for row in rows]
        )


DRAWS = {"strict": 4, "published": 2, "none": 2}
"""Samples per cell; an error with DP-EBM takes some six seconds whatever n is."""

SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0)
MAIN_SIZE, MAIN_EPSILON = 16_000, 1.0
"""Error against epsilon is at this n, and against n at this epsilon; section 5.1.3 crosses all.

Its Figure 3 has 4,000 rows for C, D and E; here all designs have as many.
"""

EBM_SIZES, EBM_EPSILONS = (4000, 16_000), (1.0, 4.0, 16.0)
"""Of DP-EBM, where not everything is asked for."""

FULL_DRAWS, FULL_TEST = 50, 250_000
"""As in section 5.1.3: 25 pairs of samples, and its test set of setups A to E."""

Scale = tuple[tuple[int, ...], tuple[float, ...], int]
QUICK: Scale = ((500, 2000), (1.0, 4.0), 2000)
"""Sizes, epsilons and main size of a quick run."""


@dataclass(frozen=True, slots=True)
class Experiments:
    """What came out.

    Parameters
    ----------
    summary : DataFrame
        One row per design, form, n and epsilon (infinite without privacy).
    report : str
        Markdown.
    shapes : DataFrame or None
        The effect along age, by form and epsilon (Figure 1), where the voting data are there.
    multistage : DataFrame or None
        Errors of a partially linear model and of nonparametric instruments (Remark 3.2).
    """

    summary: pd.DataFrame
    report: str
    shapes: pd.DataFrame | None = None
    multistage: pd.DataFrame | None = None

    def draw_figures(self, folder: Path) -> list[Path]:
        """Draw the figures as PNG into a folder, and return their files.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        FileError
            If one cannot be written.
        """
        written = write_figures(folder, self.summary)
        return written if self.shapes is None else [*written, write_figure(folder, self.shapes)]


def rerun(
    out: Path,
    *,
    data: Path | None = None,
    draws: int | None = None,
    jobs: int = 1,
    seed: int = 1,
    quick: bool = False,
    full: bool = False,
    progress: Progress | None = None,
) -> Experiments:
    """Run the experiments and write ``summary.csv`` and ``report.md``.

    Parameters
    ----------
    out : Path
        Folder for the results and, below ``cells``, for finished draws, which are used again where
        all their settings are the same.
    data : Path, optional
        Folder with ``social.csv.gz``; without it the voting design is left out.
    draws : int, optional
        Samples per design, form, n and epsilon; 2 at least; by default 4 of the one-step learner
        and 2 of the others.
    jobs : int
        Processes.
    seed : int
        Of everything drawn: this is a simulation, and nothing of it is a release.
    quick : bool
        Two sizes and two epsilons only, and no DP-EBM.
    full : bool
        Every size at every epsilon, 50 samples, and test sets of the paper's size: some 25 hours
        of one processor by the time of a fit.
    progress : callable, optional
        Called with what was done, how much is done, and how much there is.

    Raises
    ------
    ParameterError
        If an option is not allowed.
    FileError
        If data cannot be read, or results not written.

    References
    ----------
    "Differentially Private Estimation of Heterogeneous Causal Effects", section 5.
    """
    count = dict.fromkeys(DRAWS, FULL_DRAWS) if full else DRAWS
    if draws is not None:
        count = dict.fromkeys(DRAWS, draws)
    check_counts(draws, jobs, seed, fewest=2)
    there, ebm = designs(data), not quick and _has_ebm()
    cells = [
        Cell(name, kind, n, epsilons, count[kind], seed, design.digest(), _test_rows(design, full))
        for name, design in there.items()
        for kind in ("strict", "published", "none")
        if ebm or kind != "published"
        for n, epsilons in settings(kind, quick=quick, full=full)
    ]
    out.mkdir(parents=True, exist_ok=True)
    # the largest first, so that no process ends alone with one
    last = sorted(cells, key=lambda cell: -cell.n)
    calls = {cell: partial(cell.compute, there[cell.design]) for cell in last}
    units = {cell: cell for cell in cells}
    summary = summarised(drawn(units, calls, Store(out / "cells"), jobs, progress))
    voting = there.get("voting")
    shapes = None
    if ebm and voting is not None:
        one = Shapes("voting", MAIN_SIZE, seed, voting.digest())
        call = {one: partial(one.compute, voting)}
        shapes = drawn({one: one}, call, Store(out / "cells"), jobs, progress)[one]
    stages = None
    if not quick:
        further = Multistage(MAIN_SIZE, count["strict"], seed)
        stages = drawn(
            {further: further},
            {further: partial(further.compute)},
            Store(out / "cells"),
            jobs,
            progress,
        )[further]
    report = report_of(summary, there, cells[0].test, ebm=ebm or quick, multistage=stages)
    made = Experiments(summary, report, shapes, stages)
    texts = {"summary.csv": _csv(summary), "report.md": made.report}
    if stages is not None:
        texts["multistage.csv"] = _csv(stages)
    for file_name, text in texts.items():
        with atomic_write(out / file_name, "w") as file:
            file.write(text)
    return made


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n"))


def settings(kind: str, *, quick: bool = False, full: bool = False) -> list[tuple[int, str]]:
    """Return n and the epsilons of every cell of a kind of form.

    Examples
    --------
    >>> settings("strict", quick=True), settings("none", quick=True)
    ([(500, '1'), (2000, '1 4')], [(500, 'inf'), (2000, 'inf')])
    >>> settings("published")
    [(4000, '1'), (16000, '1 4 16')]
    """
    sizes, epsilons, main = QUICK if quick else (SIZES, EPSILONS, MAIN_SIZE)
    if kind == "none":
        return [(n, f"{NO_PRIVACY:g}") for n in sizes]
    if kind == "published" and not (quick or full):
        sizes, epsilons = EBM_SIZES, EBM_EPSILONS
    every = " ".join(f"{epsilon:g}" for epsilon in epsilons)
    return [(n, every if full or n == main else f"{MAIN_EPSILON:g}") for n in sizes]


def _test_rows(design: Design, full: bool) -> int:
    if not full:
        return TEST_ROWS
    return FULL_TEST if design.file is None else MOST_TEST_ROWS


def _has_ebm() -> bool:
    try:
        installed_version()
    except MissingDependencyError:
        return False
    return True
