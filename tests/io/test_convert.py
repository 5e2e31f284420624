"""Between .dta and .parquet and back: the same bytes, in pieces, and nothing half written."""

from __future__ import annotations

import datetime
import decimal
import os
import random
import tempfile
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dprct.errors import DprctError, FileError, ParameterError, SchemaError, StataFormatError
from dprct.io import convert as conversion
from dprct.io.convert import convert, read_pieces, schema_beside
from dprct.io.stata import read_dta, write_dta
from dprct.io.stata.strls import RawText
from dprct.missing import missing_numbers
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts
from dprct.schema.tables import validate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


N = 1_000


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "ROWS", 300)
    monkeypatch.setattr(conversion, "_ROWS", 170)


@pytest.mark.usefixtures("small_pieces")
def test_there_and_back_gives_the_same_bytes(trial: Callable[..., Path]) -> None:
    dta = trial(N)
    steps: list[tuple[int, int]] = []
    parquet, back = dta.with_suffix(".parquet"), dta.with_name("back.dta")
    schema = convert(dta, parquet, lambda done, total: steps.append((done, total)))
    assert steps == [(300, N), (600, N), (900, N), (N, N)]
    assert Schema.load(schema_beside(parquet)).columns == schema.columns
    convert(parquet, back)
    assert back.read_bytes() == dta.read_bytes()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("release", [117, 118, 119])
def test_long_text_comes_back_as_the_same_bytes(
    release: int, order: str, trial: Callable[..., Path]
) -> None:
    dta = trial(N, long=True, release=release, byteorder=order)
    parquet, back = dta.with_suffix(".parquet"), dta.with_name("back.dta")
    convert(dta, parquet)
    convert(parquet, back)
    assert back.read_bytes() == dta.read_bytes()
    assert sorted(f.name for f in dta.parent.iterdir()) == [
        "back.dta", "big.dta", "big.parquet", "big.schema.toml",
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.usefixtures("small_pieces")
def test_files_of_stata_come_back_as_the_writer_in_memory_writes_them(
    shared: Path, tmp_path: Path
) -> None:
    kept, long = 0, 0
    for source in sorted((shared / "data").rglob("*.dta")):
        parquet, back = tmp_path / f"{source.stem}.parquet", tmp_path / f"{source.stem}.dta"
        if source.stem in ("test2_115", "test2_115b", "test2_117"):
            with pytest.raises(SchemaError, match=f"'column2' of '{source.name}' holds text in no"):
                convert(source, parquet)
            continue
        convert(source, parquet)
        convert(parquet, back)
        data, schema = read_dta(source)
        write_dta(data, schema, tmp_path / "memory.dta")
        assert back.read_bytes() == (tmp_path / "memory.dta").read_bytes()
        kept += 1
        long += any(c.type == "strL" and len(set(data[c.name])) > 1 for c in schema.columns)
    assert kept > 20
    assert long


def test_files_that_exist_are_not_replaced_unasked(trial: Callable[..., Path]) -> None:
    dta = trial(10)
    parquet = dta.with_suffix(".parquet")
    convert(dta, parquet)
    before = parquet.read_bytes()
    for one, other in ((dta, parquet), (parquet, dta)):
        with pytest.raises(FileError, match=r"exists.*--force"):
            convert(one, other)
    assert parquet.read_bytes() == before
    convert(dta, parquet, overwrite=True)


def test_a_schema_that_says_more_is_kept_and_one_that_says_otherwise_is_not_replaced_unasked(
    trial: Callable[..., Path],
) -> None:
    dta = trial(10)
    parquet = dta.with_suffix(".parquet")
    declared = convert(dta, parquet).declare(age=dict(bounds=(0, 99)))
    declared.save(schema_beside(parquet))
    for schema in (convert(dta, parquet, overwrite=True), Schema.load(schema_beside(parquet))):
        assert schema.columns[1].bounds == (0, 99)
    dta.unlink()
    parquet.unlink()
    dta = trial(10, long=True)
    with pytest.raises(SchemaError, match=r"'big.dta' in the columns \(more, said\).*--force"):
        convert(dta, parquet)
    assert not parquet.exists()
    convert(dta, parquet, overwrite=True)
    assert "said" in Schema.load(schema_beside(parquet)).names
    schema_beside(parquet).write_text("no = [toml")
    with pytest.raises(SchemaError, match="TOML"):
        convert(dta, parquet, overwrite=True)


def test_one_file_by_two_names_is_refused(trial: Callable[..., Path]) -> None:
    dta = trial(10)
    link = dta.with_name("link.parquet")
    link.symlink_to(dta)
    with pytest.raises(FileError, match="are the same file"):
        convert(dta, link, overwrite=True)


@pytest.mark.parametrize("names", [("a.csv", "a.dta"), ("a.dta", "a"), ("a.dta", "b.dta")])
def test_other_pairs_are_refused(names: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"one is a \.dta"):
        convert(tmp_path / names[0], tmp_path / names[1])


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
@pytest.mark.usefixtures("small_pieces")
def test_an_interruption_leaves_nothing(
    interruption: type[BaseException], trial: Callable[..., Path]
) -> None:
    dta = trial(N, long=True)
    parquet = dta.with_suffix(".parquet")

    def interrupt(done: int, _total: int) -> None:
        if done > 400:
            raise interruption

    with pytest.raises(interruption):
        convert(dta, parquet, interrupt)
    assert [f.name for f in dta.parent.iterdir()] == ["big.dta"]
    convert(dta, parquet)
    before = sorted(dta.parent.iterdir())
    with pytest.raises(interruption):
        convert(parquet, dta.with_name("back.dta"), interrupt)
    assert sorted(dta.parent.iterdir()) == before


def test_a_folder_that_is_missing_is_named(trial: Callable[..., Path]) -> None:
    dta = trial(10)
    with pytest.raises(FileError, match=r"the folder of '.*none.*' does not exist"):
        convert(dta, dta.parent / "none" / "a.parquet")
    for source in ("gone.dta", "gone.parquet"):
        other = {"gone.dta": "a.parquet", "gone.parquet": "a.dta"}[source]
        with pytest.raises(DprctError, match=r"'.*gone.*' does not exist"):
            convert(dta.with_name(source), dta.with_name(other))


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
        (pa.table({"x": [1.0], "y": [1.0]}), "'y' is not in the schema"),
        (pa.table([[1.0], [2.0]], names=["x", "x"]), "two columns are called 'x'"),
        (pa.table({"x": [1.0], "x__missing": ["a"]}), "'x__missing' is string"),
        (pa.table({"x": [None], "x__missing": [27]}), "'x__missing' holds something other"),
    ],
)
def test_a_schema_that_does_not_describe_the_file_is_refused(
    table: pa.Table, words: str, converted: Callable[..., Path]
) -> None:
    with pytest.raises(SchemaError, match=words):
        converted(table, NUMBER)


def test_a_file_without_a_schema_is_refused_with_how_to_make_one(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"no schema .*Schema\.from_frame"):
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

    monkeypatch.setattr(conversion.tempfile, "TemporaryFile", spied)
    convert(parquet, dta.with_name("back.dta"))
    assert seen == [(dta.parent.resolve(), 0o600)]
    assert schema_beside(parquet).exists()


def joined(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize("order", ["<", ">"])
def test_pieces_are_the_rows(order: str, trial: Callable[..., Path]) -> None:
    dta = trial(N, long=True, byteorder=order)
    whole, _ = read_dta(dta)
    parts = list(read_pieces(dta, 333))
    assert [len(part["y"]) for part in parts] == [333, 333, 333, 1]
    for name, cells in joined(parts).items():
        expected = whole[name].to_numpy()
        assert cells.dtype == expected.dtype
        if cells.dtype == object:
            assert cells.tolist() == expected.tolist()
        else:
            assert np.array_equal(cells.view(np.uint64), expected.view(np.uint64))


def test_pieces_end_where_long_text_would_fill_them(
    trial: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    dta = trial(N, long=True)
    whole, _ = read_dta(dta)
    monkeypatch.setattr(conversion, "_TEXT_BYTES", 900)
    parts = list(read_pieces(dta, 333))
    bytes_of = np.vectorize(lambda text: len(text.encode()) + 1 if text else 0)
    sizes = [bytes_of(part["said"]) + bytes_of(part["more"]) for part in parts]
    assert all(size.sum() <= 900 or len(size) == 1 for size in sizes)
    assert sum(len(size) > 1 for size in sizes) > 100
    assert joined(parts)["said"].tolist() == whole["said"].tolist()


def test_engines_read_what_was_converted(trial: Callable[..., Path]) -> None:
    dta = trial(N, long=True)
    parquet = dta.with_suffix(".parquet")
    schema = convert(dta, parquet)
    data, _ = read_dta(dta)
    for table in (pl.scan_parquet(parquet), duckdb.read_parquet(str(parquet))):
        validate(schema, table, ["id", "age", "x", "y", "g"])
    found = pl.read_parquet(parquet)
    codes = found["age__missing"].to_numpy()
    assert codes.tolist() == missing_numbers(data["age"].to_numpy()).tolist()
    assert found["said"].to_list() == data["said"].tolist()


def test_cells_of_118_in_a_119_are_understood(trial: Callable[..., Path]) -> None:
    """As ReadStat (haven) writes them: told from all rows, before the first is read."""
    dta = trial(N, long=True, release=118)
    content = dta.read_bytes()
    wide = trial(N, long=True, release=119).read_bytes()
    at, length = (content.index(b"<data>") + 6, content.index(b"</data>"))
    at_wide = wide.index(b"<data>") + 6
    mixed = wide[:at_wide] + content[at:length] + wide[wide.index(b"</data>") :]
    dta.write_bytes(mixed)
    whole, _ = read_dta(dta)
    assert joined(list(read_pieces(dta, 333)))["said"].tolist() == whole["said"].tolist()
    assert len(set(whole["said"])) > 100


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (Column("s", "strL"), b"\0secret", "binary objects"),
        (Column("s", "strL"), RawText(b"secret\xff"), "no known encoding"),
        (Column("s", "str9"), b"secret\xff", "no known encoding"),
    ],
)
def test_what_is_no_text_is_refused(
    column: Column, cell: bytes, words: str, tmp_path: Path
) -> None:
    data = pd.DataFrame({"s": pd.Series([cell], dtype=object)})
    write_dta(data, Schema((column,)), tmp_path / "odd.dta")
    with pytest.raises(SchemaError, match=f"'s' of 'odd.dta' holds .*{words}") as refusal:
        convert(tmp_path / "odd.dta", tmp_path / "odd.parquet")
    assert "secret" not in str(refusal.value)
    assert [f.name for f in tmp_path.iterdir()] == ["odd.dta"]


def test_the_name_of_a_companion_is_refused(tmp_path: Path) -> None:
    schema = Schema((Column("x"), Column("x__missing")), FileFacts())
    write_dta(pd.DataFrame({"x": [1.0], "x__missing": [1.0]}), schema, tmp_path / "odd.dta")
    with pytest.raises(SchemaError, match=r"'x__missing' of 'odd.dta'.*rename it"):
        convert(tmp_path / "odd.dta", tmp_path / "odd.parquet")


@pytest.mark.parametrize(("release", "order"), [(117, ">"), (118, "<"), (119, "<")])
def test_damaged_files_are_refused_or_read_as_in_memory(
    release: int, order: str, trial: Callable[..., Path]
) -> None:
    dta = trial(40, long=True, release=release, byteorder=order)
    content = dta.read_bytes()
    first, last = content.index(b"<data>"), content.index(b"</strls>") + 8
    parquet, rng = dta.with_suffix(".parquet"), random.Random(release)
    outcomes = set()
    for kind in range(60):
        at = rng.randrange(first, last)
        dta.write_bytes(content[:at] + _damage(kind % 4, content, at, rng))
        words, expected = _outcome(lambda: read_dta(dta)[0]["said"].tolist())
        refused, _ = _outcome(lambda: convert(dta, parquet))
        outcomes.add(not refused)
        assert not any(value in words + refused for value in ("north", "süd", "éé", "the same"))
        if refused:
            assert words or "which .parquet cannot hold" in refused
            assert {f.name for f in dta.parent.iterdir()} == {"big.dta"}
        else:
            assert pl.read_parquet(parquet)["said"].to_list() == expected
            parquet.unlink()
            schema_beside(parquet).unlink()
    assert outcomes == {True, False}


def _outcome(act: Callable[[], Any]) -> tuple[str, Any]:
    """Return the words of a refusal, or what was made."""
    try:
        return "", act()
    except (StataFormatError, SchemaError) as refusal:
        return str(refusal), None


def _damage(kind: int, content: bytes, at: int, rng: random.Random) -> bytes:
    """Return the rest of a file with a bit, four bytes, or a piece of it wrong."""
    rest = content[at:]
    if kind == 0:
        return bytes([rest[0] ^ 1 << rng.randrange(8)]) + rest[1:]
    if kind == 1:
        return rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\x80", bytes(4)]) + rest[4:]
    if kind == 2:
        return rest[rng.randrange(1, 30) :]
    return content[at - 50 : at] + rest
