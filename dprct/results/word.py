"""A grid as a document of Word, by python-docx: rules, spans and notes of a paper's table."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from dprct.disk import atomic_write
from dprct.errors import FileError, MissingDependencyError

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.results.typeset import Grid, Printed


def write_word(grid: Grid, path: str | Path) -> None:
    """Write a grid as a .docx file, whole or not at all.

    Raises
    ------
    FileError
        If the name does not end in .docx, or the file cannot be written.
    MissingDependencyError
        Without python-docx.
    """
    if not str(path).lower().endswith(".docx"):
        raise FileError(f"{str(path)!r} is not the name of a Word document; end it in .docx")
    content = word(grid)
    with atomic_write(path, "wb") as file:
        file.write(content)


def word(grid: Grid) -> bytes:
    """Grid as the content of a .docx file."""
    try:
        import docx
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Pt
    except ImportError:
        raise MissingDependencyError.extra("python-docx", "docx", "a Word document") from None
    document = docx.Document()
    if grid.warning:
        document.add_paragraph().add_run(grid.warning).bold = True
    if grid.title:
        document.add_paragraph().add_run(grid.title).bold = True
    width = 1 + len(grid.headings)
    table = document.add_table(rows=0, cols=width)
    for spans in grid.above:
        cells, at = table.add_row().cells, 1
        for heading, columns in spans:
            merged = cells[at].merge(cells[at + columns - 1])
            merged.text = heading
            merged.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER
            at += columns
    _fill(table.add_row().cells, (grid.corner, *grid.headings))
    heads = len(table.rows)
    for line in grid.lines:
        row = table.add_row()
        _fill(row.cells, (line.name, *map(_words, line.cells)))
        if line.rule:
            _rule(row, "top")
    _rule(table.rows[0], "top")
    _rule(table.rows[heads - 1], "bottom")
    _rule(table.rows[-1], "bottom")
    for one in table.rows:
        for cell in one.cells[1:]:
            cell.paragraphs[0].alignment = cell.paragraphs[0].alignment or WD_ALIGN_PARAGRAPH.RIGHT
    for text in (*(f"{name} {value}" for name, value in grid.facts), *grid.notes):
        document.add_paragraph().add_run(text).font.size = Pt(9)
    held = io.BytesIO()
    document.save(held)
    return held.getvalue()


def _words(cell: Printed | str) -> str:
    if isinstance(cell, str):
        return cell
    return cell.text.replace("-", "\N{MINUS SIGN}") + "*" * cell.stars


def _fill(cells: Any, texts: tuple[str, ...]) -> None:
    for cell, text in zip(cells, texts, strict=False):  # a section has a name and no cells
        cell.text = text


def _rule(row: Any, side: str) -> None:
    """Draw a rule above or below a row."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for cell in row.cells:
        properties = cell._tc.get_or_add_tcPr()
        borders = properties.first_child_found_in("w:tcBorders")
        if borders is None:
            borders = OxmlElement("w:tcBorders")
            properties.append(borders)
        line = OxmlElement(f"w:{side}")
        for name, value in (("val", "single"), ("sz", "6"), ("color", "000000")):
            line.set(qn(f"w:{name}"), value)
        borders.append(line)
