"""``dprct verify``: whether a file is what its certificate describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.show import complain, say, show_verdicts, working
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from dprct.study.package_checks import Compared

_MOST_SHOWN = 20


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            help="The protected file, as released, saved again, or as .tab or .csv; results "
            "(.json); or the folder of a package."
        ),
    ],
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate (JSON); by default the one next to FILE."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger in which to find the file's entries; by default the one next to FILE."
        ),
    ] = None,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do", help="A do-file: print verdicts on its regressions for FILE. Repeatable."
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            help="Compare the valid regressions of --do with this expected.csv of a package; exit "
            "1 if a number differs."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check FILE against its certificate; exit 1 if its values differ, or a ledger contradicts it.

    A document of results, which dprct protect writes for an estimate, is checked against its own
    hash, and its text against the document; released moments are checked against their hash and, if
    there is one, their certificate.

    It works on the file as released, on a .dta that another program saved again, and on the .tab or
    .csv that an archive makes from it. It shows integrity, not authorship. It names the ledger
    entries that paid for the file, and looks them up if there is a ledger. With --do, every
    regression of the do-files gets a verdict: valid on FILE, effects only, artefact, or cannot run.

    In a package, every file is compared with the manifest, every release is checked as above, and
    the numbers of the valid regressions are computed and compared with expected.csv.
    """
    from dprct.release import verify as verification

    if expect is not None and not do:
        raise ParameterError("--expect needs --do: give the do-files whose numbers it holds")
    if file.is_dir():
        if certificate or do:
            raise ParameterError(
                "a package has its own certificates, do-files and numbers: give it without "
                "--certificate, --do and --expect"
            )
        _verify_package(file, ledger, as_json=as_json)
        return
    with working("verifying"):
        found = verification.verify(file, certificate, ledger=ledger)
    document = found.to_dict()
    if do:
        from dprct.study.data_sets import others_beside
        from dprct.study.verdicts import of_file

        worth = of_file(do, file, certificate, others_beside(file, certificate))
        document |= {"regressions": [one.to_dict() for one in worth]}
    say(json.dumps(document, indent=2) if as_json else str(found))
    if do and not as_json:
        show_verdicts(worth)
    beside = None
    if do and expect is not None:
        from dprct.study.package_checks import compared

        beside = compared(worth, file, certificate, expect)
        _complain_of(beside)
    if not found or (beside is not None and not beside):
        raise typer.Exit(1)


def _verify_package(folder: Path, ledger: Path | None, *, as_json: bool) -> None:
    """Check every file of a package, its releases, and the numbers that it promises."""
    from dprct.study.package_checks import checked_package

    with working("verifying"):
        found = checked_package(folder, ledger)
    if found.changed is not None:
        complain(str(found), "red")
        raise typer.Exit(1)
    checked = found.releases
    if as_json:
        documents = [
            {**one.found.to_dict(), "regressions": [row.to_dict() for row in one.verdicts]}
            for one in checked
        ]
        say(json.dumps({"releases": documents}, indent=2))
    for one in checked if not as_json else ():
        say(str(one.found))
        show_verdicts(one.verdicts)
    for one in checked:
        if one.compared is not None:
            _complain_of(one.compared)
    if not found:
        raise typer.Exit(1)


def _complain_of(found: Compared) -> None:
    """Say which numbers of the valid regressions are not those that are expected."""
    for one in found.wrong[:_MOST_SHOWN]:
        complain(str(one), "red")
    complain(str(found), "green" if found else "red")
