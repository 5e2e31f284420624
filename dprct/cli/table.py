"""``dprct table``: the tables that a study declares, from its protected or confidential file."""

from __future__ import annotations

import enum
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.options import Output, StudyFile
from dprct.cli.show import complain, say, working
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.results.itt import ITTTable
    from dprct.study.results_document import ResultsDocument

WATERMARK = "CONFIDENTIAL: computed from the confidential file, with no privacy; do not publish."
_IMPOSSIBLE = 2


class On(enum.StrEnum):
    """From which file."""

    protected = "protected"
    confidential = "confidential"


class _Format(enum.Enum):
    text = "{}"
    latex = "% {}"
    html = "<!-- {} -->"
    csv = "# {}"

    def comment(self, words: str) -> str:
        """Return one line of words that is no part of a table."""
        line = " ".join(words.split())
        return self.value.format(line.replace("--", "- -") if self is _Format.html else line)

    def table(self, made: ITTTable | ResultsDocument) -> str:
        if self is _Format.latex:
            return made.to_latex()
        if self is _Format.html:
            return made.to_html()
        if self is _Format.csv:
            return made.to_csv()
        from dprct.results.typeset import terminal_width

        return made.to_text(terminal_width())


def table(
    study_file: StudyFile,
    on: Annotated[
        On, typer.Option("--on", help="The file from which the tables are made.")
    ] = On.protected,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print LaTeX (booktabs, siunitx).")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="Print HTML.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, unrounded.")] = False,
    docx: Annotated[
        Path | None,
        typer.Option(
            "--docx",
            metavar="FILE",
            help="Write Word documents instead: FILE, or FILE-TABLE if there are several tables.",
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(help="Compare with this expected.csv; exit 1 if a number differs."),
    ] = None,
    no_guarantee: Annotated[
        bool,
        typer.Option(
            "--no-guarantee",
            help="Leave out the lines of the guarantee, which are also in the certificate.",
        ),
    ] = False,
    output: Output = None,
) -> None:
    """Print the tables that STUDY declares, or else the results of its estimate.

    Tables are made from the protected file, or read off the released moments, so anyone who has
    these can run this command. Running
    protect again would make another file with other numbers, and charge the ledger.
    """
    from dprct.study.protect import declared_tables, results_of
    from dprct.study.ready import study_of

    form = _chosen(latex=latex, html=html, as_csv=as_csv)
    if docx is not None and form is not _Format.text:
        raise ParameterError("--docx writes documents; leave out --latex, --html and --csv")
    if expect is not None and on is On.confidential:
        raise ParameterError(
            "--expect compares with numbers of the protected file; leave out --on confidential"
        )
    study = study_of(study_file, output)
    if not study.makes_file and not study.tables:
        _check_estimate(on, expect, no_guarantee)
        if docx is not None:
            raise ParameterError(
                "--docx is for tables of a protected file; give --html, which Word opens"
            )
        say(form.table(results_of(study)))
        return
    with working("making tables"):
        tables = declared_tables(study, on.value)
    if on is On.confidential:
        say(form.comment(WATERMARK))
    for name, made in tables.made.items():
        if form in (_Format.latex, _Format.csv) and len(study.tables) > 1:
            say(form.comment(name))
        made = _without_guarantee(made) if no_guarantee else made
        shown = made
        if on is On.confidential:  # among its own notes, so that a copied table keeps the warning
            shown = replace(made, notes=(WATERMARK, *made.notes)).styled(notes=True)
        if docx is None:
            say(form.table(shown))
            continue
        place = docx if len(tables.made) == 1 else docx.with_stem(f"{docx.stem}-{name}")
        shown.to_docx(place)
        say(f"wrote {place}")
    for name, why in tables.withheld.items():
        say(form.comment(f"{name}: {why}"))
    for name, why in tables.failed.items():
        complain(f"error: table {name!r} cannot be made: {why}", "red")
    if expect is not None:
        _check(expect, study.dataset_id, tables.made, form)
    elif tables.failed:
        raise typer.Exit(_IMPOSSIBLE)


def _check_estimate(on: On, expect: Path | None, no_guarantee: bool) -> None:
    """Refuse what is for tables of a protected file."""
    if no_guarantee:
        raise ParameterError(
            "results of an estimate are printed with their guarantee; leave out --no-guarantee"
        )
    if on is On.confidential:
        raise ParameterError(
            "the study's method makes no protected file, so that no table is made of the "
            "confidential one either; leave out --on confidential"
        )
    if expect is not None:
        raise ParameterError(
            "--expect compares tables of a protected file, and the study's method makes none; "
            "leave it out: a document of results that was changed is refused by itself"
        )


def _chosen(*, latex: bool, html: bool, as_csv: bool) -> _Format:
    if latex + html + as_csv > 1:
        raise ParameterError("--latex, --html and --csv exclude each other; give one of them")
    if latex:
        return _Format.latex
    if html:
        return _Format.html
    return _Format.csv if as_csv else _Format.text


def _without_guarantee(made: ITTTable) -> ITTTable:
    """Return the table without the lines of its guarantee; the other notes stay."""
    lines = str(made.guarantee).splitlines()
    return replace(made, notes=tuple(note for note in made.notes if note not in lines))


def _check(expect: Path, study: str, made: Mapping[str, ITTTable], form: _Format) -> None:
    from dprct.study.declared_tables import long_form, mismatches

    different = mismatches(expect, study, long_form(made), of_do=False)
    for mismatch in different:
        say(form.comment(f"differs: {mismatch}"))
    if different:
        many = "1 number differs" if len(different) == 1 else f"{len(different)} numbers differ"
        say(form.comment(f"{many} from {expect.name}"))
        raise typer.Exit(1)
    say(form.comment(f"every number equals that of {expect.name}"))
