"""``dprct protect``: from a study file to a protected file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct.cli.check import say_gaps, say_same_data
from dprct.cli.options import Long, Output, StudyFile
from dprct.cli.show import errors, say, say_plan, working
from dprct.errors import ConfirmationError, ParameterError

_PLAN = 16  # lines; with the results a screen

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.study.study import Study


def protect(
    study_file: StudyFile,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. It does not confirm a refused plan.")
    ] = False,
    accept_no_guarantee: Annotated[
        bool,
        typer.Option(
            "--accept-no-guarantee",
            help="Release by a published method that has no privacy guarantee.",
        ),
    ] = False,
    approved: Annotated[
        str | None,
        typer.Option(
            metavar="HASH", help="Refuse unless STUDY is still the one with this hash (dprct plan)."
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY",
            help="Make the file from the saved release of this ledger entry; charges nothing.",
        ),
    ] = None,
    output: Output = None,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do",
            help="A do-file: certificate and README give verdicts on its regressions. "
            "Repeatable; by default those that STUDY names.",
        ),
    ] = None,
    long: Long = False,
) -> None:
    """Read, plan, ask, release: write the protected file, its certificate and the ledger."""
    with working("reading"):  # a sign of life before anything large is loaded
        from dprct.study.offer import refuse_unpromised, written_again
        from dprct.study.package import check_package_of
        from dprct.study.ready import study_of

        study = study_of(study_file, output)
        files = files_judged(study, do)
    if resume is not None:
        with working("resuming"):
            made = written_again(study, resume, approved, files)
        say(_said(made.result, long=long))
        _say_written(study, made.paths, "; nothing was charged")
        if study.makes_file:
            say("Its rows are a fresh draw from the release that the entry paid for.")
        return
    refuse_unpromised(study, accepted=accept_no_guarantee)
    released(study, files, yes=yes, approved=approved, before=check_package_of, long=long)


def released(
    study: Study,
    files: tuple[Path, ...],
    *,
    yes: bool,
    approved: str | None,
    before: Callable[[Study], None] | None = None,
    long: bool = False,
) -> None:
    """Read, plan, ask and release; what ``before`` refuses is refused before the question."""
    from dprct.study.offer import offered
    from dprct.study.protect import check_places
    from dprct.study.table_gaps import gaps_of

    with working("reading"):
        check_places(study)
        offer = offered(study, approved)
        if before is not None:
            before(study)
        lacking = gaps_of(study)
    say_plan(offer.plan, None if long else _PLAN)
    say_same_data(study)
    offer.check()
    say_gaps(lacking)
    say(offer.words)
    if not yes and not _agreed():
        raise ConfirmationError("not released: the question was answered with no")
    with working("protecting"):
        made = offer.taken(files)
    say(_said(made.result, long=long))
    _say_written(study, made.paths)
    if offer.cost is not None:
        say("Running protect again makes another file and charges the ledger again.")


def _said(result: Any, *, long: bool) -> str:
    """Results in words; in short without what stands in the certificate as well."""
    from dprct.results.typeset import Summary

    if not long and hasattr(result, "brief"):
        return str(result.brief())
    found = result.summary()
    return found.as_brief_text() if isinstance(found, Summary) and not long else str(found)


def _say_written(study: Study, paths: tuple[Path, ...], also: str = "") -> None:
    first, *others = paths
    certificate = " with its certificate (.certificate.txt, .json, .html)"
    say(f"wrote {first}{'' if not study.makes_file else certificate}{also}")
    for path in others:
        say(f"wrote {path}")


def files_judged(study: Study, do: list[Path] | None) -> tuple[Path, ...]:
    """Do-files whose regressions are judged; they are read before anything is charged."""
    from dprct.study.data_sets import others_of
    from dprct.study.verdicts import of_study

    if do and not study.makes_file:
        raise ParameterError(
            f"--do: method = {study.release.method!r} makes a document of numbers, on which no "
            "do-file runs; leave it out, and ask dprct check --do what the release serves"
        )
    if not study.makes_file:
        return ()
    files = tuple(do) if do else study.do_files
    if files:
        of_study(files, study, others_of(study))
    return files


def _agreed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():  # None if the shell closed it
        raise ConfirmationError("there is no terminal to ask on; give --yes")
    errors.print("Release now? [y/N] ", end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
