"""Between .dta and .parquet and back: the same bytes, in pieces, and nothing half written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import DprctError, FileError, ParameterError, SchemaError
from dprct.io import to_dta, to_parquet
from dprct.io.stata import write_dta
from dprct.io.stata.read import read_dta
from dprct.io.streaming import convert, schema_beside
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 1_000


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_parquet, "ROWS", 300)
    monkeypatch.setattr(to_dta, "_ROWS", 170)


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
