"""``dprct verify``: whether a file is what its certificate describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.show import say, show_verdicts, working
from dprct.release import verify as verification


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            help="The protected file, also saved again or as .tab or .csv; or results (.json)."
        ),
    ],
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate (JSON); by default the one next to FILE."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger to find the file's entries in; by default the one next to FILE."),
    ] = None,
    do: Annotated[
        list[Path] | None,
        typer.Option("--do", help="A do-file: what are its regressions worth on FILE? Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold FILE against its certificate; exit 1 if its values differ, or a ledger contradicts it.

    A document of results, which dprct protect writes for an estimate, is held against the hash that
    it carries, and its text against the document; released moments are held against theirs, and
    against their certificate where there is one.

    It works on the file as released, on a .dta that another program saved again, and on the .tab
    or .csv that an archive makes of it. It shows integrity, not authorship. Which ledger entries
    the file needs is said, and looked up where there is a ledger. With --do, every regression of
    the do-files is valid on FILE, returns the effects only, is an artefact, or cannot run.
    """
    with working("verifying"):
        found = verification.verify(file, certificate, ledger=ledger)
    document = found.to_dict()
    if do:
        from dprct.study.verdicts import of_file

        worth = of_file(do, file, certificate)
        document |= {"regressions": [one.to_dict() for one in worth]}
    say(json.dumps(document, indent=2) if as_json else str(found))
    if do and not as_json:
        show_verdicts(worth)
    if not found:
        raise typer.Exit(1)
