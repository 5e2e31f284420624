"""``dprct check``: what a study still lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.options import StudyFile
from dprct.cli.show import complain, say, show_verdicts

if TYPE_CHECKING:
    from dprct.study.study import Study


def say_same_data(study: Study) -> None:
    """Say which other ledger was charged for the same data."""
    from dprct.study.offer import also_charged

    if others := also_charged(study):
        complain(f"note: {others}", "yellow")


def check(
    study_file: StudyFile,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do",
            help="A do-file: what will its regressions be worth on the file? Repeatable; by "
            "default those that STUDY names.",
        ),
    ] = None,
) -> None:
    """List what STUDY still lacks, and what its ledger would refuse. Exit 1 if anything.

    The data section of its file is not read, and nothing is charged. The file is hashed if there
    are ledgers next to it, to see whether one of them was charged for the same data.
    """
    from dprct.errors import DprctError
    from dprct.study.data_sets import planned_verdicts
    from dprct.study.declarable import declarable
    from dprct.study.do_files import read_do
    from dprct.study.protect import all_open_points, header_and_rows, study_of

    study = study_of(study_file)
    problems = all_open_points(study)
    say_same_data(study)
    for problem in problems:
        say(f"- {problem}")
    points = "1 open point" if len(problems) == 1 else f"{len(problems)} open points"
    say(points if problems else "complete: nothing is open; next: dprct plan")
    files = tuple(do) if do else study.do_files
    if files:
        try:
            found = planned_verdicts(study, files)
        except DprctError:
            if not problems:
                raise
            read_do(files)  # a do-file that is not there is no open point
            say("the regressions of the do-files are judged once that is closed")
            raise typer.Exit(1) from None
        show_verdicts(found)
        more = declarable(study, *header_and_rows(study), files, found) if not problems else None
        for line in () if more is None else more.lines():
            say(line)
    if problems:
        raise typer.Exit(1)
