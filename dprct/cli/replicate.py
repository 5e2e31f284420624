"""``dprct replicate``: the tables and experiments of papers about these methods, once more."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dprct.cli.show import errors, say
from dprct.errors import MissingDependencyError, ParameterError
from dprct.replicate import cate_paper, dpsc_paper
from dprct.replicate.ippw_paper import rerun
from dprct.replicate.rct_paper import draw_figures, regenerate
from dprct.replicate.rct_paper.contents import IMPLEMENTED, parse_tables, study_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Paper(enum.StrEnum):
    """Which paper."""

    rct_paper = "rct-paper"
    ippw_paper = "ippw-paper"
    dpsc_paper = "dpsc-paper"
    cate_paper = "cate-paper"


def replicate(
    paper: Annotated[Paper, typer.Argument(help="Which paper.")],
    tables: Annotated[
        str | None,
        typer.Option(
            help="Of rct-paper, such as 1,3,4,11-18; all whose data are there by default."
        ),
    ] = None,
    reps: Annotated[
        int | None,
        typer.Option(
            "--reps",
            "--draws",
            min=1,
            help="Releases per method and setting; for rct-paper 300 (15 runs of the paper's 20) "
            "for the simulations and 200 for Liberia by default, for ippw-paper 100 of the "
            "synthetic designs and 500 of IHDP and LaLonde, for cate-paper 4 samples.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; one per processor by default.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with sim1_confidential.csv, sim2_confidential.csv, liberia_round5.dta, or "
            "some of them; for ippw-paper with ihdp_npci_1-100.npz and nsw.dta, or one of them; "
            "for cate-paper with social.csv.gz."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for what is written, and for draws that are kept; named after "
            "the paper by default."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 1,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Draw the figures that belong to them, as PNG; matplotlib."),
    ] = False,
) -> None:
    """Regenerate the tables of a paper, or run its experiments again.

    rct-paper: "Assessing Utility of Differential Privacy for RCTs"; ours stand beside the printed,
    with the reason where they differ. ippw-paper: "Privacy-Preserving Causal Inference via Inverse
    Probability Weighting"; its set-up beside the mended and the strict one.

    dpsc-paper: "Differentially Private Synthetic Control"; errors and bounds, the strict form
    beside.

    cate-paper: "Differentially Private Estimation of Heterogeneous Causal Effects"; DP-EBM, the
    one-step learner and learners without privacy on setups A to E and a voting design.

    What was drawn is kept in the folder, so that an interrupted run goes on where it was. The
    folder holds estimates on the data given: keep it with them.
    """
    settings: dict[str, Any] = {
        "data": data,
        "draws": reps,
        "jobs": jobs or os.cpu_count() or 1,
        "seed": seed,
    }
    folder = out or Path(paper.value)
    if paper is Paper.ippw_paper:
        if tables is not None:
            raise ParameterError("--tables is for rct-paper; leave it out, or name that paper")
        _ippw_paper(folder, figures=figures, **settings)
    elif paper is Paper.dpsc_paper:
        if tables is not None or settings.pop("data") is not None:
            raise ParameterError("--tables and --data are not for dpsc-paper; leave them out")
        _dpsc_paper(folder, figures=figures, **settings)
    elif paper is Paper.cate_paper:
        if tables is not None:
            raise ParameterError("--tables is for rct-paper; leave it out, or name that paper")
        _cate_paper(folder, figures=figures, **settings)
    else:
        _rct_paper(folder, tables, figures=figures, **settings)


def _ippw_paper(out: Path, *, figures: bool, **settings: Any) -> None:
    with _bar() as bar:
        made = rerun(out, **settings, progress=_progress(bar))
    say(made.report)
    say(f"report.md, summary.csv and baselines.csv are in {out}")
    if figures:
        say(_tried(lambda: made.draw_figures(out)) or "no figures")


def _dpsc_paper(out: Path, *, figures: bool, **settings: Any) -> None:
    with _bar() as bar:
        made = dpsc_paper.rerun(out, **settings, progress=_progress(bar))
    say(made.report)
    say(f"report.md and rmse.csv are in {out}")
    if figures:
        say(_tried(lambda: made.draw_figures(out)) or "no figures")


def _cate_paper(out: Path, *, figures: bool, **settings: Any) -> None:
    with _bar() as bar:
        made = cate_paper.rerun(out, **settings, progress=_progress(bar))
    say(made.report)
    say(f"report.md and summary.csv are in {out}")
    if figures:
        say(_tried(lambda: made.draw_figures(out)) or "no figures")


def _rct_paper(out: Path, tables: str | None, *, figures: bool, **settings: Any) -> None:
    wanted = None if tables is None else parse_tables(tables)
    drawn = ""
    with _bar() as bar:
        progress = _progress(bar)
        made = regenerate(out, wanted, **settings, progress=progress)
        if figures:
            drawn = _tried(lambda: draw_figures(out, wanted, **settings, progress=progress))
            drawn = drawn or "no figures: none belongs to these tables alone"
    for one in made:
        say(one.table.to_text())
        say()
    _say_what_is_left_out([one.number for one in made], every=wanted is None)
    say(f"text, LaTeX, HTML and CSV of each are in {out}")
    if drawn:
        say(drawn)


def _progress(bar: Progress) -> Callable[[str, int, int], None]:
    """Return what shows on a bar how far work has come."""
    task = bar.add_task("drawing", total=None)

    def progress(what: str, done: int, of: int) -> None:
        bar.update(task, completed=done, total=of, description=what)

    return progress


def _tried(draw: Callable[[], list[Path]]) -> str:
    """Draw figures where that is possible, and return what is to be said of it."""
    try:
        names = ", ".join(path.name for path in draw())
    except MissingDependencyError as error:
        return f"no figures: {error}"
    return f"figures: {names}" if names else ""


def _bar() -> Progress:
    """Return a progress bar on standard error, which is nothing where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns,
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )


def _say_what_is_left_out(made: list[int], *, every: bool) -> None:
    absent = [number for number in IMPLEMENTED if number not in made]
    if every and absent:
        numbers = ", ".join(str(n) for n in absent if study_of(n) == "liberia")
        say(f"left out: tables {numbers}; they need liberia_round5.dta, see --data")
