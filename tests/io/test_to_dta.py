from __future__ import annotations

import datetime
import decimal
import os
import tempfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dprct.errors import FileError, SchemaError
from dprct.io import to_dta
from dprct.io.stata import read_dta
from dprct.io.streaming import convert, schema_beside
from dprct.missing import missing_numbers
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBER, TEXT = Column("x", "double"), Column("x", "str9")
SECRET = 123456789


@pytest.fixture
def converted(tmp_path: Path) -> Callable[..., Path]:
    """Write a table and a schema, and convert them."""

    def write(table: pa.Table, *columns: Column) -> Path:
        pq.write_table(table, tmp_path / "a.parquet")
        Schema(columns).save(tmp_path / "a.schema.toml")
        convert(tmp_path / "a.parquet", tmp_path / "a.dta", overwrite=True)
        return tmp_path / "a.dta"

    return write


NOON = datetime.datetime(2020, 5, 17, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("values", "column", "words"),
    [
        (pa.array([decimal.Decimal(SECRET)]), NUMBER, "decimal128.*cast it to a number"),
        (pa.array([NOON]), NUMBER, "timestamp.*cast it to a number"),
        (pa.array([NOON.date()]), NUMBER, "date32.*cast it to a number"),
        (pa.array([[SECRET]]), NUMBER, "list.*cast it to a number"),
        (pa.array([{"a": SECRET}]), NUMBER, "struct.*cast it to a number"),
        (pa.array([str(SECRET)]), NUMBER, "string.*cast it to a number"),
        (pa.array([SECRET]), TEXT, "int64.*cast it to text"),
        (pa.array([b"123456789"]), TEXT, "binary.*cast it to text"),
        (pa.array([2**53 + 1]), NUMBER, r"'x' holds whole numbers beyond 2\*\*53"),
        (pa.array([SECRET]), Column("x", "byte"), "'x'"),
        (pa.array([0.5]), Column("x", "byte"), "'x'"),
        (pa.array([float("inf")]), NUMBER, "'x'"),
        (pa.array(["1234567890"]), TEXT, r"'x' \(str9\)"),
        (pa.array(["a\0b"]), TEXT, "'x'.*NUL"),
    ],
)
def test_what_stata_cannot_hold_is_refused(
    values: pa.Array, column: Column, words: str, converted: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(SchemaError, match=f"^'a.parquet': .*{words}") as refusal:
        converted(pa.table({"x": values}), column)
    for value in ("123456789", str(2**53), "2020", "inf "):
        assert value not in str(refusal.value).replace("2**53", "")
    assert {f.name for f in tmp_path.iterdir()} == {"a.parquet", "a.schema.toml"}


@pytest.mark.parametrize("name", ["two words", "a.b", "1st", "x" * 33, "_n", "str5"])
def test_names_that_stata_cannot_hold_are_refused(
    name: str, converted: Callable[..., Path]
) -> None:
    with pytest.raises(SchemaError, match=f"'a.parquet': '{name}' is .*rename the column"):
        converted(pa.table({name: [1.0]}), Column(name))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"y": [1.0]}), "'x' of the schema is not in the .parquet file"),
        (pa.table({"x": [1.0], "y": [1.0]}), "'y' is not in the schema beside the file"),
        (pa.table([[1.0], [2.0]], names=["x", "x"]), "two columns are called 'x'"),
        (pa.table({"x": [1.0], "x__missing": ["a"]}), "'x__missing' is string"),
        (pa.table({"x": [None], "x__missing": [27]}), "'x__missing' holds something else"),
    ],
)
def test_a_schema_that_does_not_describe_the_file_is_refused(
    table: pa.Table, words: str, converted: Callable[..., Path]
) -> None:
    with pytest.raises(SchemaError, match=words):
        converted(table, NUMBER)


def test_a_file_without_a_schema_is_refused_with_how_to_make_one(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"no schema beside it.*Schema\.from_frame"):
        convert(tmp_path / "a.parquet", tmp_path / "a.dta")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None], pa.int64()),
        pa.array([1, None], pa.uint8()),
        pa.array([1.0, float("nan")], pa.float32()),
        pa.array([True, None]),
    ],
)
def test_numbers_of_any_kind_are_taken(values: pa.Array, converted: Callable[..., Path]) -> None:
    data, _ = read_dta(converted(pa.table({"x": values}), Column("x", "byte")))
    assert missing_numbers(data["x"].to_numpy()).tolist() == [-1, 0]
    assert data["x"][0] == 1


@pytest.mark.parametrize("storage", ["str9", "strL"])
def test_text_of_any_kind_is_taken(storage: str, converted: Callable[..., Path]) -> None:
    plain = pa.array(["ä", None, "b", "ä"])
    for values in (plain, plain.cast(pa.large_string()), plain.dictionary_encode()):
        data, _ = read_dta(converted(pa.table({"x": values}), Column("x", storage)))
        assert data["x"].tolist() == ["ä", "", "b", "ä"]


def test_a_damaged_file_is_refused_and_nothing_is_left(trial: Callable[..., Path]) -> None:
    dta = trial(1_000, long=True)
    parquet, back = dta.with_suffix(".parquet"), dta.with_name("back.dta")
    convert(dta, parquet)
    content = bytearray(parquet.read_bytes())
    content[200:4_000] = bytes(3_800)
    parquet.write_bytes(bytes(content))
    with pytest.raises((FileError, SchemaError), match=r"'big\.parquet'"):
        convert(parquet, back)
    parquet.write_bytes(b"PAR1")
    with pytest.raises(FileError, match="not a parquet file"):
        convert(parquet, back)
    assert {f.name for f in dta.parent.iterdir()} == {
        "big.dta", "big.parquet", "big.schema.toml",
    }  # fmt: skip


def test_long_text_waits_where_only_its_owner_can_read_it(
    trial: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    dta = trial(100, long=True)
    parquet, seen = dta.with_suffix(".parquet"), []
    convert(dta, parquet)
    plain = tempfile.TemporaryFile

    def spied(**options: Any) -> Any:
        file = plain(**options)
        seen.append((options["dir"], os.fstat(file.fileno()).st_mode & 0o777))
        return file

    monkeypatch.setattr(to_dta.tempfile, "TemporaryFile", spied)
    convert(parquet, dta.with_name("back.dta"))
    assert seen == [(dta.parent.resolve(), 0o600)]
    assert schema_beside(parquet).exists()
