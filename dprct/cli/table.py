"""``dprct table``: the tables that a study declares, from its protected or confidential file."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.protect import StudyFile
from dprct.cli.show import say, working
from dprct.errors import ParameterError
from dprct.replicate.declared_tables import long_form
from dprct.replicate.expected import mismatches
from dprct.replicate.package import declared_tables
from dprct.replicate.study import load_study
from dprct.results.itt import ITTTable

WATERMARK = "CONFIDENTIAL: computed from the confidential file, with no privacy; do not publish."


class On(enum.StrEnum):
    """From which file."""

    protected = "protected"
    confidential = "confidential"


def table(
    study_file: StudyFile,
    on: Annotated[
        On, typer.Option("--on", help="Which file the tables are made of.")
    ] = On.protected,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX (booktabs).")] = False,
    html: Annotated[bool, typer.Option("--html", help="Print HTML.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, unrounded.")] = False,
    expect: Annotated[
        Path | None,
        typer.Option(help="Compare with this expected.csv; exit 1 if a number differs."),
    ] = None,
) -> None:
    """Print the tables that STUDY declares.

    They are made of the protected file, so anybody who has it can run this. Running protect
    again would make another file with other numbers, and charge the ledger.
    """
    if latex + html + as_csv > 1:
        raise ParameterError("--latex, --html and --csv exclude each other; give one of them")
    study = load_study(study_file)
    with working("making tables"):
        tables = declared_tables(study, on.value)
    if on is On.confidential:
        say(_commented(WATERMARK, latex=latex, html=html, as_csv=as_csv))
    for made in tables.values():
        say(_printed(made, latex=latex, html=html, as_csv=as_csv))
    for name in (spec.name for spec in study.tables if spec.name not in tables):
        words = f"{name}: needs the confidential file, its columns are not in the protected one"
        say(_commented(words, latex=latex, html=html, as_csv=as_csv))
    if expect is not None:
        _check(expect, study.dataset_id, tables)


def _printed(made: ITTTable, *, latex: bool, html: bool, as_csv: bool) -> str:
    if latex:
        return made.to_latex()
    if html:
        return made.to_html()
    return made.to_csv() if as_csv else made.to_text()


def _commented(words: str, *, latex: bool, html: bool, as_csv: bool) -> str:
    if latex:
        return f"% {words}"
    if html:
        return f"<!-- {words} -->"
    return f"# {words}" if as_csv else words


def _check(expect: Path, study: str, tables: dict[str, ITTTable]) -> None:
    different = mismatches(expect, study, long_form(tables))
    for mismatch in different:
        say(f"- {mismatch}")
    if different:
        say(f"{len(different)} numbers differ from {expect.name}")
        raise typer.Exit(1)
    say(f"every number is that of {expect.name}")
