from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import DprctError, FileError, ParameterError
from dprct.io import read, write
from dprct.io.formats import READABLE, WRITABLE
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path


DATA, SCHEMA = pd.DataFrame({"x": [1.0, 2.0]}), Schema((Column("x"),))


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
def test_what_is_written_is_read(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{extension.upper()}"
    write(DATA, SCHEMA, str(path))
    data, schema = read(str(path))
    pd.testing.assert_frame_equal(data, DATA)
    assert schema.columns == SCHEMA.columns
    assert schema.source == path


def test_dta_is_left_to_its_own_codec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    codec = ModuleType("dprct.io.stata")
    codec.read_dta = lambda path: calls.append(path) or (DATA, SCHEMA)  # type: ignore[attr-defined]
    codec.write_dta = lambda *args: calls.append(args)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dprct.io.stata", codec)
    path = tmp_path / "x.dta"
    path.write_bytes(b"")
    assert read(path) == (DATA, SCHEMA)
    write(DATA, SCHEMA, path)
    assert calls == [path, (DATA, SCHEMA, path)]


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.dta.zip"])
def test_unknown_extensions_list_the_known_ones(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ParameterError) as caught:
        read(tmp_path / name)
    assert all(extension in str(caught.value) for extension in READABLE)
    with pytest.raises(ParameterError) as caught:
        write(DATA, SCHEMA, tmp_path / name)
    assert str(caught.value).endswith(", ".join(WRITABLE))


def test_a_packed_file_is_to_be_unpacked() -> None:
    with pytest.raises(ParameterError, match="unpack it first"):
        read("survey.csv.gz")


@pytest.mark.parametrize("extension", READABLE)
def test_a_missing_file_is_refused(extension: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\."):
        read(tmp_path / f"none{extension}")


@pytest.mark.parametrize("extension", READABLE)
def test_a_folder_is_refused(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{extension}"
    path.mkdir()
    with pytest.raises(FileError, match="folder"):
        read(path)


@pytest.mark.parametrize("extension", [e for e in READABLE if e not in (".dta", ".csv")])
@pytest.mark.parametrize("content", [b"", b"x,y\n1,2\n", bytes(range(256)) * 20])
def test_content_that_is_something_else_is_refused_in_one_sentence(
    extension: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"x{extension}"
    path.write_bytes(content)
    with pytest.raises(DprctError, match=r"can(not)? be read") as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("bad", [3, None, b"x.csv", ["x.csv"]])
def test_what_is_no_path_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="give a file name"):
        read(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="give a file name"):
        write(DATA, SCHEMA, bad)  # type: ignore[arg-type]


def test_names_are_the_file_s_or_stata_s(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write(DATA, SCHEMA, str(path))
    with pytest.raises(ParameterError, match="names='r'; allowed: same, stata"):
        read(path, names="r")  # type: ignore[arg-type]
