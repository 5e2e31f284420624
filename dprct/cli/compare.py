"""``dprct compare``: what differs between two files, and what of it a certificate permits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.show import say, working


def compare_files(
    first: Annotated[Path, typer.Argument(metavar="A", help="The original file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The other file.")],
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate (JSON); by default the one next to B, if there is one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List every facet in which B differs from A; exit 1 if one is not permitted.

    Differences that the certificate next to B permits are listed separately. No value of either
    file is printed.
    """
    from dprct.io.compare import compare

    with working("comparing"):
        found = compare(first, second, certificate=certificate)
    say(json.dumps(found.to_dict(), indent=2) if as_json else str(found))
    if found.unexpected:
        raise typer.Exit(1)
