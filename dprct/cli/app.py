"""``dprct app``: declare and protect a study on a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.show import complain, say, working
from dprct.errors import ParameterError


def app(
    file: Annotated[Path, typer.Argument(help="The confidential file, such as a .dta file.")],
    study: Annotated[
        Path | None,
        typer.Option("--study", metavar="TOML", help="The study file; FILE with .toml by default."),
    ] = None,
    do: Annotated[
        list[Path] | None,
        typer.Option(
            "--do",
            help="A do-file: the page shows verdicts on its regressions. Repeatable; by "
            "default those that the study file names.",
        ),
    ] = None,
    treatment: Annotated[
        list[str] | None,
        typer.Option(
            "--treatment",
            help="A treatment column: the do-files then fill in a new study file. Repeatable.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free port.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
) -> None:
    """Open a page on this machine to declare FILE in a study file, and to protect it.

    Nothing leaves the machine. Only the header of a .dta file is read until you open the data on
    the page. The command ends when the last window is closed, or with Ctrl-C.
    """
    with working("starting"):  # a sign of life before anything large is loaded
        from dprct.app.desk import opened
        from dprct.app.server import require, serve
        from dprct.schema.schema import Schema
        from dprct.study.do_rows import from_do_files

    require()
    if treatment and not do:
        raise ParameterError(
            "--treatment is for do-files that fill in a new study file: give --do, too"
        )
    filled = None
    if do and treatment:
        filled = from_do_files(do, Schema.from_dta(file), file, treatment)
    place = file.with_suffix(".toml") if study is None else study
    is_new = not place.exists()
    with working(f"reading {file.name}"):
        desk = opened(file, place, filled, tuple(do or ()))
    if is_new:
        complain(f"note: wrote {place}, a study file with blanks", "yellow")
    elif filled is not None:
        complain(f"note: {place} exists, so that the do-files do not fill it in", "yellow")
    try:
        serve(desk, port, browser=not no_browser, announce=say)
    except KeyboardInterrupt as error:
        if type(error) is not KeyboardInterrupt:  # SIGTERM ends it as it ends every command
            raise
