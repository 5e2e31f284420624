"""``dprct convert``: a .dta file as .parquet, or back, however many rows it has."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dprct.cli.show import errors, say

if TYPE_CHECKING:
    from collections.abc import Iterator


def convert(
    source: Annotated[Path, typer.Argument(help="A .dta or .parquet file.")],
    target: Annotated[Path, typer.Argument(help="The file to write, .parquet or .dta.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace TARGET, and a schema that contradicts it.")
    ] = False,
) -> None:
    """Convert SOURCE to TARGET row by row; the schema lies next to the .parquet file."""
    from dprct.io.convert import convert as convert_file
    from dprct.io.convert import schema_beside

    with _terminable(), Progress(
        TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=errors, transient=True, disable=not errors.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("rows", total=None)
        convert_file(
            source,
            target,
            lambda done, total: bar.update(task, completed=done, total=total),
            overwrite=force,
        )
    beside = schema_beside(target if target.suffix.lower() == ".parquet" else source)
    say(f"wrote {target}; its schema is {beside}")


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Tidy up when a scheduler ends the process (SIGTERM), as when its user does (Ctrl-C)."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
