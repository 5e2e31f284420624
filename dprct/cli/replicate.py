"""``dprct replicate``: the tables of a paper about these methods, regenerated."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dprct.cli.show import errors, say
from dprct.errors import MissingDependencyError
from dprct.replicate.rct_paper import draw_figures, regenerate
from dprct.replicate.rct_paper.contents import IMPLEMENTED, parse_tables, study_of


class Paper(enum.StrEnum):
    """Which paper."""

    rct_paper = "rct-paper"


def replicate(
    paper: Annotated[Paper, typer.Argument(help="Which paper.")],
    tables: Annotated[
        str | None,
        typer.Option(help="Such as 1,3,4,11-18; all whose data are there by default."),
    ] = None,
    reps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Releases per method and setting; 300 (15 runs of the paper's 20) for the "
            "simulations and 200 for Liberia by default.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; one per processor by default.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with sim1_confidential.csv, sim2_confidential.csv, liberia_round5.dta, or "
            "some of them."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the tables, and for draws that are kept.")
    ] = Path("rct-paper"),
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 1,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures", help="Draw the figures that belong to the tables, as PNG; matplotlib."
        ),
    ] = False,
) -> None:
    """Regenerate tables of "Assessing Utility of Differential Privacy for RCTs".

    Ours stand beside the printed, with the reason where they differ. What was drawn is kept in the
    folder, so that an interrupted run goes on where it was. The folder holds estimates on the data
    given: keep it with them.
    """
    wanted = None if tables is None else parse_tables(tables)
    settings: dict[str, Any] = {
        "data": data,
        "draws": reps,
        "jobs": jobs or os.cpu_count() or 1,
        "seed": seed,
    }
    drawn = ""
    with _bar() as bar:
        task = bar.add_task("drawing", total=None)

        def progress(what: str, done: int, of: int) -> None:
            bar.update(task, completed=done, total=of, description=what)

        made = regenerate(out, wanted, **settings, progress=progress)
        if figures:
            drawn = _figures(out, wanted, **settings, progress=progress)
    for one in made:
        say(one.table.to_text())
        say()
    _say_what_is_left_out([one.number for one in made], every=wanted is None)
    say(f"text, LaTeX, HTML and CSV of each are in {out}")
    if drawn:
        say(drawn)


def _figures(out: Path, wanted: tuple[int, ...] | None, **settings: Any) -> str:
    """Draw figures where that is possible, and return what is to be said of it."""
    try:
        written = draw_figures(out, wanted, **settings)
    except MissingDependencyError as error:
        return f"no figures: {error}"
    names = ", ".join(path.name for path in written)
    return f"figures: {names}" if names else "no figures: none belongs to these tables alone"


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
