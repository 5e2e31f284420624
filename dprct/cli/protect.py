"""``dprct check``, ``plan`` and ``protect``: from a study file to a protected file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct import disk
from dprct.cli.show import complain, errors, say, show_verdicts, working
from dprct.disk import atomic_write, file_error
from dprct.errors import ConfirmationError, FileError, ParameterError
from dprct.study.approval import KIND, approval_of, approval_page
from dprct.study.data_sets import others_of, planned_verdicts
from dprct.study.package import (
    all_open_points,
    bound_model,
    check_places,
    study_of,
    written_files,
)
from dprct.study.protecting import also_charged, offered, refuse_unpromised
from dprct.study.verdicts import of_study

if TYPE_CHECKING:
    from dprct.study.study import Study

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", metavar="FILE", help="Where the output goes, if not where STUDY says."
    ),
]


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
    study = study_of(study_file)
    problems = all_open_points(study)
    _say_same_data(study)
    for problem in problems:
        say(f"- {problem}")
    points = "1 open point" if len(problems) == 1 else f"{len(problems)} open points"
    say(points if problems else "complete: nothing is open; next: dprct plan")
    files = tuple(do) if do else study.do_files
    if files:
        show_verdicts(planned_verdicts(study, files))
    if problems:
        raise typer.Exit(1)


def plan(
    study_file: StudyFile,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="PAGE", help="Write a page for the custodian to read and sign."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Draw the expected errors against epsilon, as .png, .svg or .pdf.",
        ),
    ] = None,
) -> None:
    """Print what STUDY will cost and how good it can be, and the hash of what is to be approved.

    What is printed follows from public facts; the data are read
    only to refuse what the declarations do not allow.
    """
    study = study_of(study_file)
    if html is not None:
        _check_page(html)
    if picture is not None:
        _check_picture(picture)
    model = bound_model(study)
    approval = approval_of(study, model)
    say(str(approval.plan))
    _say_same_data(study)
    say(f"Approval hash: {approval.sha256}")
    if html is not None:
        with atomic_write(html, mode="wb") as file:
            file.write(approval_page(approval).encode("utf-8"))
        say(f"wrote {html}: print it to a PDF, and have it signed before dprct protect --approved")
    if picture is not None:
        _draw(study, model, picture)
        say(f"wrote {picture}")


_PICTURES = (".png", ".svg", ".pdf")


def _check_picture(path: Path) -> None:
    """Refuse a name that is none of a picture, and to replace anything."""
    if path.suffix.lower() not in _PICTURES:
        raise FileError(f"{path.name!r} is not the name of a picture; end it in .png, .svg or .pdf")
    if path.exists():
        raise FileError(f"{path.name!r} exists; give another name, or remove it")


def _draw(study: Study, model: Any, path: Path) -> None:
    """Write the plan as a picture."""
    from dprct.plots import plan_errors

    asked = study.release
    axes = plan_errors(
        model, asked.epsilon, asked.delta, accept_large_delta=asked.accept_large_delta
    )
    with atomic_write(path, mode="wb") as file:
        axes[0].figure.savefig(file, format=path.suffix[1:].lower())  # type: ignore[union-attr]


def _say_same_data(study: Study) -> None:
    """Say which other ledger was charged for the same data."""
    if others := also_charged(study):
        complain(f"note: {others}", "yellow")


def _check_page(path: Path) -> None:
    """Refuse to replace anything but such a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{path.name!r} is not the name of a page; let it end in .html")
    try:
        with disk.opened(path) as page:
            start = page.read(2000)
    except FileNotFoundError:
        return
    except OSError as error:
        raise file_error(error, path, "read") from None
    if f"<title>{KIND}".encode() not in start:
        raise FileError(f"{path.name!r} exists and is no such page; give another name or remove it")


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
            help="Make the file from what this ledger entry paid for and saved; charges nothing.",
        ),
    ] = None,
    output: Output = None,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do",
            help="A do-file: certificate and README say what its regressions are worth. "
            "Repeatable; by default those that STUDY names.",
        ),
    ] = None,
) -> None:
    """Read, plan, ask, release: write the protected file, its certificate and the ledger."""
    study = study_of(study_file, output)
    files = _do_files(study, do)
    if resume is not None:
        _resumed(study, resume, approved, files)
        return
    refuse_unpromised(study, accepted=accept_no_guarantee)
    check_places(study)
    with working("reading"):
        offer = offered(study, approved)
    say(str(offer.plan))
    _say_same_data(study)
    offer.check()
    say(offer.words)
    if not yes and not _agreed():
        raise ConfirmationError("not released: the question was answered with no")
    with working("protecting"):
        made = offer.taken(files)
    say(str(made.result.summary()))
    _say_written(study, made.paths)
    if offer.cost is not None:
        say("Running protect again makes another file and charges the ledger again.")


def _resumed(study: Study, entry: str, approved: str | None, do: tuple[Path, ...]) -> None:
    """Write what a ledger entry charged and saved before; nothing is charged."""
    check_places(study)
    with working("reading"):
        model = bound_model(study)
    if approved is not None:
        approval_of(study, model).check(approved)
    with working("resuming"):
        made = model.resume(entry)
        paths = written_files(study, model, made, do)
    say(str(made.summary()))
    _say_written(study, paths, "; nothing was charged")
    if study.makes_file:
        say("Its rows are a fresh draw from the release that the entry paid for.")


def _say_written(study: Study, paths: tuple[Path, ...], also: str = "") -> None:
    first, *others = paths
    certificate = " with its certificate (.certificate.txt, .json, .html)"
    say(f"wrote {first}{'' if not study.makes_file else certificate}{also}")
    for path in others:
        say(f"wrote {path}")


def _do_files(study: Study, do: list[Path] | None) -> tuple[Path, ...]:
    """Do-files whose regressions are judged; they are read before anything is charged."""
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
