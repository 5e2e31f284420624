"""Tables as documents of Word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError
from dprct.results.tables import Column, Estimate, Row, Table

if TYPE_CHECKING:
    from pathlib import Path

docx = pytest.importorskip("docx")
TABLE = Table(
    columns=(Column("a", "Raw"), Column("b", "Released")),
    rows=(Row("t", "Treated", (Estimate(-0.5, 0.1, 0.001), Estimate(0.4, 0.2, 0.04))),),
    title="Effects",
    notes=("Made up.",),
)


def test_a_table_in_word_has_the_numbers_of_the_text(tmp_path: Path) -> None:
    TABLE.to_docx(tmp_path / "table.docx")
    document = docx.Document(str(tmp_path / "table.docx"))
    (table,) = document.tables
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells[0] == ["", "Raw", "Released"]
    assert cells[1] == ["Treated", "\N{MINUS SIGN}0.500***", "0.400**"]
    assert cells[2] == ["", "(0.100)", "(0.200)"]
    said = [paragraph.text for paragraph in document.paragraphs]
    assert said[0] == "Effects"
    assert "Made up." in said


def test_another_name_than_docx_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"\.docx"):
        TABLE.to_docx(tmp_path / "table.doc")
