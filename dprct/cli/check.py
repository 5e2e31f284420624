"""``dprct check``: what a study still lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.options import StudyFile
from dprct.cli.show import complain, say, show_verdicts, working

_MOST_GAPS = 20

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict


def say_same_data(study: Study) -> None:
    """Say which other ledger was charged for the same data."""
    from dprct.study.ready import also_charged

    if others := also_charged(study):
        complain(f"note: {others}", "yellow")


def say_gaps(lacking: Sequence[str]) -> None:
    """Say which cells of the declared tables no release will have."""
    for one in lacking[:_MOST_GAPS]:
        complain(f"note: {one}", "yellow")
    if len(lacking) > _MOST_GAPS:
        complain(f"note: {len(lacking) - _MOST_GAPS} more; --json lists them", "yellow")


def check(
    study_file: StudyFile,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do",
            help="A do-file: print verdicts on its regressions for the planned file. "
            "Repeatable; by default those that STUDY names.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what STUDY still lacks, and what its ledger would refuse; exit 1 if anything.

    The data section of its file is not read, and nothing is charged. The file is hashed if there
    are ledgers next to it, to see whether one of them was charged for the same data.
    """
    with working("reading"):  # a sign of life before anything large is loaded
        from dprct.study.data_sets import judged
        from dprct.study.ready import all_open_points, study_of

        study = study_of(study_file)
        problems = all_open_points(study)
        lacking = _lacking(study, any_open=bool(problems))
    say_same_data(study)
    files = tuple(do) if do else study.do_files
    if not as_json:
        for problem in problems:
            say(f"- {problem}")
        points = "1 open point" if len(problems) == 1 else f"{len(problems)} open points"
        say(points if problems else "complete: nothing is open; next: dprct plan")
        say_gaps(lacking)
    with working("judging the do-files"):
        found = judged(study, files, any_open=bool(problems)) if files else []
        more = _more(study, files, found) if found and not problems else []
    if as_json:
        verdicts = None if found is None else [one.to_dict() for one in found]
        document = {
            "open": problems, "tables": lacking, "regressions": verdicts, "declare": more
        }  # fmt: skip
        say(json.dumps(document, indent=2))
    elif found is None:
        say("the regressions of the do-files are judged once that is closed")
    elif files:
        show_verdicts(found)
        for line in more:
            say(line)
    if problems:
        raise typer.Exit(1)


def _lacking(study: Study, *, any_open: bool) -> list[str]:
    """Cells of tables that no release will have, as far as open points let it be said."""
    from dprct.errors import DprctError
    from dprct.study.table_gaps import gaps_of

    try:
        return gaps_of(study)
    except DprctError:
        if not any_open:
            raise
        return []


def _more(study: Study, files: Sequence[Path], found: Sequence[Verdict]) -> list[str]:
    """Return what a study could declare besides its own regressions, as its file has it."""
    from dprct.study.declarable import declarable
    from dprct.study.headers import header_and_rows

    more = declarable(study, *header_and_rows(study), files, found)
    return [] if more is None else [*more.lines()]
