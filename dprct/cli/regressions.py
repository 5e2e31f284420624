"""``dprct regressions``: what do-files estimate, read and not run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.show import complain, printable, say

if TYPE_CHECKING:
    from dprct.dofile import Reading, Regression

_LONGEST = 100
_MOST_NOTES = 12


def regressions(
    do: Annotated[
        list[Path],
        typer.Argument(help="Do-files in the order in which they are run, or folders of them."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="A .dta file whose header resolves ranges and wildcards.",
            metavar="FILE",
        ),
    ] = None,
    treatment: Annotated[
        list[str] | None,
        typer.Option("--treatment", help="A treatment column; may be given again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the regressions that DO files run; nothing is executed, and no data are read."""
    from dprct.study.do_files import read_do

    schema = None
    if data is not None:
        from dprct.schema.schema import Schema

        schema = Schema.from_dta(data)
    reading = read_do(do, schema, treatments=treatment)
    if as_json:
        say(json.dumps([row.to_dict() for row in reading], indent=2))
    else:
        _show(reading)
    for note in reading.notes[:_MOST_NOTES]:
        complain(f"note: {note}", "yellow")
    if reading.passed_over:
        names = [f"{name} ({times})" for name, times in reading.passed_over.items()]
        more = f" and {len(names) - 30} more" if len(names) > 30 else ""
        complain(f"note: passed over: {', '.join(names[:30])}{more}", "yellow")


def _show(reading: Reading) -> None:
    """Print a line for each estimation, below its file and the table that it is for."""
    above = ("", "")
    for row in reading:
        if (row.file, row.table) != above:
            say(f"{row.file}, {row.table}" if row.table else row.file)
            above = (row.file, row.table)
        say(printable(f"{row.line:>6}  {_sentence(row)}"))
    counts = dict.fromkeys(("read", "partly", "unread"), 0)
    for row in reading:
        counts[row.status] += 1
    said = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    say(f"{len(reading)} estimations" + (f": {said}" if said else ""))


def _sentence(row: Regression) -> str:
    """Return ``regress income ~ [treat] age | village if round==2; cluster village``."""
    marked = " ".join(f"[{name}]" if name in row.treatments else name for name in row.regressors)
    text = f"{row.command} {' '.join(row.outcomes)}" + (f" ~ {_short(marked)}" if marked else "")
    if row.instruments:
        text += f" ({' '.join(row.endogenous)} = {_short(' '.join(row.instruments))})"
    if row.absorb:
        text += f" | {' '.join(row.absorb)}"
    if row.sample:
        text += f" if {_short(row.sample)}"
    errors = " ".join((row.vce, *row.cluster))
    ends = (errors, row.weights, "" if row.status == "read" else row.status)
    return "; ".join((text, *(end for end in ends if end)))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
