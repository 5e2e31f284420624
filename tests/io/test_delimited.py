from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError
from dprct.io.delimited import readings

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_csv_is_read_as_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", '\ufeffa,b\r\n007,"x, ""y"""\r\n,"two\nlines"\r\n')
    (cells,) = readings(path)
    assert cells.names == ("a", "b")
    assert cells.columns == (("007", ""), ('x, "y"', "two\nlines"))


def test_row_numbers_without_a_name_are_left_out(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", '"","got"\n"1",0\n"2",1\n'))
    assert (cells.names, cells.columns) == (("got",), (("0", "1"),))


def test_a_tab_file_is_read_in_both_ways(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tab", 'a\tb\n1\t"say \\"yes\\"\\tor\\nno \\\\"\n')
    assert readings(path)[-1].columns == (("1",), ('say "yes"\tor\nno \\',))
    path = written(tmp_path, "b.tab", 'a\tb\r\n1\t"say ""yes"""\r\n')
    assert readings(path)[0].columns == (("1",), ('say "yes"',))


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_row_needs_no_line_end(tmp_path: Path, end: str) -> None:
    for cells in readings(written(tmp_path, "a.tab", "a\tb\n1\tx\n2\ty" + end)):
        assert cells.columns == (("1", "2"), ("x", "y"))


def test_only_line_feeds_and_returns_end_a_row(tmp_path: Path) -> None:
    for cells in readings(written(tmp_path, "a.tab", "a\tb\n1\tx\u2028y\x85\x0c\n")):
        assert cells.columns == (("1",), ("x\u2028y\x85\x0c",))


def test_one_column_may_have_empty_cells(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", "got\n1\n\n2\n"))
    assert cells.columns == (("1", "", "2"),)


def test_names_alone_are_a_table_without_rows(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", "a,b\n"))
    assert (cells.names, cells.columns) == (("a", "b"), ((), ()))


@pytest.mark.parametrize("text", ["", "a,b\n1\n", 'a,b\n1,"open\n'])
def test_what_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match="is no table"):
        readings(written(tmp_path, "a.csv", text))
    with pytest.raises(FileError, match="is no table"):
        readings(written(tmp_path, "a.tab", text.replace(",", "\t").replace("open", "\t\t")))


def test_a_cell_that_is_too_long_is_named_among_the_reasons(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a,b\n1," + "x" * 131_073 + "\n")
    with pytest.raises(FileError, match="no cell above 131,072 characters"):
        readings(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(FileError, match="not UTF-8"):
        readings(path)
    with pytest.raises(FileError):
        readings(tmp_path / "none.csv")
