from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io import to_parquet
from dprct.io.stata import read_dta, write_dta
from dprct.io.stata.strl import RawText
from dprct.io.streaming import convert, schema_beside
from dprct.io.to_parquet import read_pieces
from dprct.missing import missing_numbers
from dprct.schema import Column, Schema
from dprct.schema.facts import FileFacts
from dprct.schema.legal import validate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 1_000


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
    monkeypatch.setattr(to_parquet, "_TEXT_BYTES", 900)
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
