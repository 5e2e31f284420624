"""``dprct check``, ``plan`` and ``protect``: from a study file to a protected file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.show import errors, say, working
from dprct.errors import ConfirmationError, DprctError, FileError
from dprct.release.base import Release
from dprct.release.writing import check_target
from dprct.replicate.package import bound_model, planned, protected, read_header
from dprct.replicate.study import Study, load_study

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")]


def check(study_file: StudyFile) -> None:
    """List what STUDY still lacks; the data section of its file is not read. Exit 1 if anything."""
    study = load_study(study_file)
    problems = study.problems(read_header(study))
    for problem in problems:
        say(f"- {problem}")
    say(f"{len(problems)} open points" if problems else "complete: nothing is open")
    if problems:
        raise typer.Exit(1)


def plan(study_file: StudyFile) -> None:
    """Print what STUDY will cost and how good it can be, from public facts only."""
    say(str(planned(load_study(study_file))))


def protect(
    study_file: StudyFile,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. It does not confirm a refused plan.")
    ] = False,
) -> None:
    """Read, plan, ask, release: write the protected file, its certificate and the ledger."""
    study = load_study(study_file)
    check_target(study.output)
    with working("reading"):
        model = bound_model(study)
    released_plan = planned(study, model)
    say(str(released_plan))
    released_plan.check(confirm=study.release.confirm)
    say(f"This charges {released_plan.budget} to the ledger of {study.dataset_id!r}.")
    if not yes and not _agreed():
        raise ConfirmationError("not released: the question was answered with no")
    with working("protecting"):
        release = protected(study, model)
        _write(release, study)
    say(release.summary())
    say(f"wrote {study.output} with its certificate (.certificate.txt, .certificate.json)")


def _write(release: Release, study: Study) -> None:
    """Write a release whose budget is spent; a refusal says where its counts are kept."""
    try:
        release.write_dta(study.output)
    except DprctError as error:
        raise FileError(
            f"{error}; the budget is charged, and the released counts are kept in the folder "
            f"{study.dataset_id}.ledger.released beside the data"
        ) from None


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise ConfirmationError("there is no terminal to ask on; give --yes")
    errors.print("Release now? [y/N] ", end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
