"""``dprct describe``: a codebook without values, and a study file to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from dprct.cli.show import output, printable, say, working
from dprct.disk import atomic_write
from dprct.errors import FileError, ParameterError

if TYPE_CHECKING:
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

_MOST_LABELS = 12
_IMPORTED = (
    "; Stata's import delimited writes names in lower case, unless it has case(preserve), and "
    "without blanks and signs: save the data after it, and give that .dta file"
)


def describe(
    file: Annotated[
        Path,
        typer.Argument(
            help="The confidential file. Only the header of a .dta file is read; other formats "
            "have none, so their names and types are read with the rows."
        ),
    ],
    draft_file: Annotated[
        Path | None,
        typer.Option("--draft", help="Write a study file with blanks to fill in.", metavar="TOML"),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            help="A column of the draft, or a pattern such as 'hh_*'; the others are withheld; may "
            "be given again.",
        ),
    ] = None,
    do: Annotated[
        list[Path] | None,
        typer.Option("--do", help="A do-file that fills in the draft; may be given again."),
    ] = None,
    treatment: Annotated[
        list[str] | None,
        typer.Option("--treatment", help="A treatment column, for --do; may be given again."),
    ] = None,
) -> None:
    """Print a codebook of FILE without its values; with --draft, write a study file to fill in."""
    with working("reading"):  # a sign of life before anything large is loaded
        from dprct.io.stata.names import stata_names
        from dprct.schema.columns import shown
        from dprct.study.do_rows import from_do_files
        from dprct.study.draft import draft
        from dprct.study.headers import facts_of_file

    if do and (draft_file is None or not treatment):
        raise ParameterError("--do fills in a draft: give --draft and --treatment too")
    if treatment and not do:
        raise ParameterError(
            "--treatment is for do-files that fill in a draft: give --do too, or leave it out"
        )
    if columns and draft_file is None:
        raise ParameterError("--columns chooses the columns of a draft: give --draft too")
    with working("reading"):
        facts = facts_of_file(file)
    schema, count = facts.schema, facts.rows
    rows = "unknown" if count is None else f"{count:,}"
    is_dta = file.suffix.lower() == ".dta"  # of no other file is it a fact
    release = f", release {schema.file.release}" if is_dta and schema.file.release else ""
    say(f"{file.name}: {rows} rows, {len(schema.columns)} columns{release}")
    if schema.file.label:
        say(f"label: {shown(schema.file.label)}")
    if schema.file.sorted_by:
        say(f"sorted by: {' '.join(schema.file.sorted_by)}")
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for heading in ("name", "type", "format", "label", "values"):
        table.add_column(heading, overflow="fold", no_wrap=heading not in ("label", "values"))
    for column in schema.columns:
        cells = (column.name, column.type, column.format, shown(column.label))
        table.add_row(*map(printable, (*cells, _values(schema, column))))
    with output.capture() as drawn:
        output.print(table, soft_wrap=False)
    say("\n".join(line.rstrip() for line in drawn.get().splitlines()))
    if draft_file is not None:
        if draft_file.exists():
            raise FileError(f"{draft_file.name!r} exists; give another name or remove it")
        with atomic_write(draft_file, mode="wb") as target:
            if stata_names(schema.names):
                with working("reading"):
                    facts = facts_of_file(file, "stata")
            filled = from_do_files(do, facts.schema, file, treatment or ()) if do else None
            text = draft(facts.schema, file, draft_file, filled, columns or (), facts.whole)
            target.write(text.encode("utf-8", "replace"))
        if filled is not None and not any(part.formula for part in (filled, *filled.prepared)):
            arms = " or ".join(treatment or ())
            say(
                f"no regression on {arms} with columns of {file.name} was read from the do-files: "
                "compare their names with those of the draft, and with dprct regressions"
                + _IMPORTED
                * (file.suffix.lower() == ".csv")
            )
        say(f"wrote {draft_file}: fill in the blanks, then: dprct check {draft_file}")


def _values(schema: Schema, column: Column) -> str:
    from dprct.schema.columns import shown

    labels = [f"{code} {shown(text)}" for code, text in schema.labels_of(column.name).items()]
    more = f"; ... {len(labels)} in all" if len(labels) > _MOST_LABELS else ""
    return "; ".join(labels[:_MOST_LABELS]) + more
