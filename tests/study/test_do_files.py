"""``dprct.study.read_do``: do-files, folders of them, and the header that goes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dprct.study
from dprct.errors import FileError
from dprct.schema import Column, Schema
from dprct.study import read_do

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema(
    (
        Column("y"),
        Column("arm", role="treatment"),
        Column("z1"),
        Column("z2"),
        Column("z3"),
        Column("village"),
    )
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "main.do").write_text("use data/survey\ndo tables/one\n")
    (tmp_path / "tables" / "one.do").write_text("gen az = arm*z1\nreg y arm az z1-z3, cl(vil)\n")
    (tmp_path / "tables" / "two.do").write_text("use other\nreg y z1-z3\n")
    return tmp_path


def test_a_folder_is_read_once(folder: Path) -> None:
    rows = read_do(folder)
    assert [(row.file, row.dataset) for row in rows] == [
        ("tables/one.do", "data/survey.dta"),
        ("tables/two.do", "other.dta"),
    ]
    assert rows[0].regressors == ("arm", "az", "z1-z3")


def test_a_schema_gives_header_and_treatments(folder: Path) -> None:
    row = read_do(folder / "main.do", SCHEMA)[0]
    assert row.regressors == ("arm", "az", "z1", "z2", "z3")
    assert (row.treatments, row.cluster) == (("arm", "az"), ("village",))
    assert read_do([str(folder / "main.do")], SCHEMA, treatments=["z2"])[0].treatments == ("z2",)


def test_a_header_is_of_the_data_set_that_is_named(folder: Path) -> None:
    rows = read_do(folder, SCHEMA, dataset="other.dta")
    assert rows[0].regressors == ("arm", "az", "z1-z3")
    assert rows[1].regressors == ("z1", "z2", "z3")


def test_what_is_no_do_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"'gone.do' is not a file or folder; give do-files"):
        read_do(tmp_path / "gone.do")
    with pytest.raises(FileError, match=r"holds no file that ends in \.do"):
        read_do(tmp_path)


def test_the_room_offers_the_name() -> None:
    assert dprct.study.__all__ == ["read_do"]
    with pytest.raises(AttributeError, match="has no attribute 'read_dos'"):
        _ = dprct.study.read_dos
