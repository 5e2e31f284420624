"""``python -m papers``: the tables and experiments of papers about these methods, once more."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dprct.cli.main import guarded, run_app
from dprct.cli.show import errors, say
from dprct.errors import MissingDependencyError
from papers import cate as cate_paper
from papers import dpsc as dpsc_paper
from papers import ippw as ippw_paper
from papers import rct as rct_paper
from papers.page import write_page
from papers.rct.printed import EVERY, parse_tables, study_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Tell = Callable[[str, int, int], object]


class Experiments(Protocol):
    """What the experiments of a paper gave."""

    @property
    def report(self) -> str:
        """Markdown."""

    def draw_figures(self, folder: Path) -> list[Path]:
        """Draw the figures into a folder, and return their files."""


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Regenerate the tables of a paper, or run its experiments again.",
    epilog="What was drawn is kept in the folder, so that an interrupted run goes on where it was. "
    "The folder holds estimates on the data given: keep it with them.",
)

Draws = Annotated[
    int | None,
    typer.Option("--reps", "--draws", min=1, help="Releases, panels or samples per setting."),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; one per processor by default.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for what is written, and for draws that are kept; named after the paper by "
        "default."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything drawn.")]
Figures = Annotated[
    bool,
    typer.Option("--figures", help="Draw the figures that belong to them, as PNG; matplotlib."),
]

Full = Annotated[
    bool,
    typer.Option(
        "--full",
        help="As many draws and settings as in print; see docs/papers.md for the time.",
    ),
]


def rct(
    tables: Annotated[
        str | None,
        typer.Option(help="Such as 1,3,4,11-18; all whose data are there by default."),
    ] = None,
    reps: Draws = None,
    jobs: Jobs = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with sim1_confidential.csv, sim2_confidential.csv, liberia_round5.dta, or "
            "some of them."
        ),
    ] = None,
    out: Out = None,
    seed: Seed = 1,
    figures: Figures = False,
) -> None:
    """Regenerate the tables of "Assessing Utility of Differential Privacy for RCTs".

    Ours stand beside the printed, with the reason where they differ. By default there are 100
    releases: 5 runs of the paper's 20 for the simulations, a distribution for Liberia.
    """
    folder = out or Path("rct-paper")
    wanted = None if tables is None else parse_tables(tables)
    drawn = ""
    with _progress() as progress:
        settings = _settings(reps, jobs, seed, progress, data=data)
        made = rct_paper.regenerate(folder, wanted, **settings)
        if figures:
            drawn = _tried(lambda: rct_paper.draw_figures(folder, wanted, **settings))
            drawn = drawn or "no figures: none belongs to these tables alone"
    for one in made:
        say(one.table.to_text())
        say()
    _say_what_is_left_out([one.number for one in made], every=wanted is None)
    say(f"text, LaTeX, HTML and CSV of each are in {folder}")
    if drawn:
        say(drawn)


def ippw(
    reps: Draws = None,
    jobs: Jobs = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with ihdp_npci_1-100.npz and nsw.dta, or one of them."),
    ] = None,
    out: Out = None,
    seed: Seed = 1,
    figures: Figures = False,
    full: Full = False,
) -> None:
    """Run "Privacy-Preserving Causal Inference via Inverse Probability Weighting" again.

    Its set-up stands beside the mended and the strict one. By default there are 60 draws of the
    synthetic designs and 300 of IHDP and LaLonde.
    """
    folder = out or Path("ippw-paper")
    with _progress() as progress:
        made = ippw_paper.rerun(
            folder, **_settings(reps, jobs, seed, progress, data=data), full=full
        )
    _say_what_came_out(
        made, folder, "report.md, summary.csv, baselines.csv and risks.csv", figures=figures
    )


def dpsc(
    reps: Draws = None,
    jobs: Jobs = None,
    out: Out = None,
    seed: Seed = 1,
    figures: Figures = False,
    full: Full = False,
) -> None:
    """Run the experiments of "Differentially Private Synthetic Control" again.

    Errors and bounds of the published forms, the strict form beside them. By default there are 300
    panels of each setting.
    """
    folder = out or Path("dpsc-paper")
    with _progress() as progress:
        made = dpsc_paper.rerun(folder, **_settings(reps, jobs, seed, progress), full=full)
    _say_what_came_out(made, folder, "report.md and rmse.csv", figures=figures)


def cate(
    reps: Draws = None,
    jobs: Jobs = None,
    data: Annotated[Path | None, typer.Option(help="Folder with social.csv.gz.")] = None,
    out: Out = None,
    seed: Seed = 1,
    figures: Figures = False,
    full: Full = False,
) -> None:
    """Run "Differentially Private Estimation of Heterogeneous Causal Effects" again.

    DP-EBM, the one-step learner and learners without privacy on setups A to E and a voting design.
    By default there are 4 samples of each setting, 2 with DP-EBM, which has few settings.
    """
    folder = out or Path("cate-paper")
    with _progress() as progress:
        made = cate_paper.rerun(
            folder, **_settings(reps, jobs, seed, progress, data=data), full=full
        )
    _say_what_came_out(made, folder, "report.md and summary.csv", figures=figures)


def page(
    states: Annotated[
        Path, typer.Option(help="Folder with those that make replicate-* leaves.")
    ] = Path("build"),
    out: Annotated[Path, typer.Option(help="The page on all papers.")] = Path("docs/papers.md"),
    effects: Annotated[
        Path | None, typer.Option(help="The page on effects that vary, whose tables are renewed.")
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="At which the runs were made; this checkout's by default.")
    ] = None,
) -> None:
    """Write one page on all papers from what the other commands left."""
    write_page(states, out, effects, commit)
    say(f"wrote {out}" + (f" and the tables of {effects}" if effects else ""))


def _settings(
    reps: int | None, jobs: int | None, seed: int, progress: Tell, **more: Any
) -> dict[str, Any]:
    processes = jobs or os.cpu_count() or 1
    return {"draws": reps, "jobs": processes, "seed": seed, "progress": progress, **more}


def _say_what_came_out(made: Experiments, folder: Path, files: str, *, figures: bool) -> None:
    say(made.report)
    say(f"{files} are in {folder}")
    if figures:
        say(_tried(lambda: made.draw_figures(folder)) or "no figures")


@contextmanager
def _progress() -> Iterator[Tell]:
    """Show on standard error how far work has come, and nothing where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as bar:
        task = bar.add_task("drawing", total=None)
        yield lambda what, done, of: bar.update(task, completed=done, total=of, description=what)


def _tried(draw: Callable[[], list[Path]]) -> str:
    """Draw figures where that is possible, and return what is to be said of it."""
    try:
        names = ", ".join(path.name for path in draw())
    except MissingDependencyError as error:
        return f"no figures: {error}"
    return f"figures: {names}" if names else ""


def _say_what_is_left_out(made: list[int], *, every: bool) -> None:
    absent = [number for number in EVERY if number not in made]
    if every and absent:
        numbers = ", ".join(str(n) for n in absent if study_of(n) == "liberia")
        say(f"left out: tables {numbers}; they need liberia_round5.dta, see --data")


for _command in (rct, ippw, dpsc, cate, page):
    app.command(_command.__name__)(guarded(_command))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code, as ``dprct`` does."""
    run_app(app, arguments, "python -m papers")


if __name__ == "__main__":
    main()
