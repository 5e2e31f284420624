"""Between .dta and .parquet and back: the same bytes, in pieces."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ColumnError, FileError, ParameterError, SchemaError
from dprct.io import streaming
from dprct.io.stata import read_dta, write_dta
from dprct.io.streaming import convert, read_pieces, schema_beside
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column, Schema
from dprct.schema.facts import FileFacts
from dprct.schema.legal import validate

if TYPE_CHECKING:
    from pathlib import Path

N = 1_000
SCHEMA = Schema(
    (
        Column("id", "long", missing=()),
        Column("age", "byte", label="Age", value_label="ages"),
        Column("x", "float"),
        Column("y", "double"),
        Column("g", "str6"),
    ),
    FileFacts(
        label="a trial",
        value_labels=MappingProxyType({"ages": MappingProxyType({1: "one", ".a": "unknown"})}),
        characteristics=(("_dta", "note1", "kept"),),
        rows=N,
    ),
)


@pytest.fixture
def dta(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    age = rng.integers(0, 90, N).astype(float)
    age[::9], age[::10] = tagged(np.ones(len(age[::9]))), tagged(np.zeros(len(age[::10])))
    y = rng.normal(size=N)
    y[::11] = tagged(np.full(len(y[::11]), 26))
    data = pd.DataFrame(
        {
            "id": np.arange(N, dtype=float), "age": age,
            "x": rng.normal(size=N).astype(np.float32).astype(float), "y": y,
            "g": np.array(["", "north", "süd"], object)[rng.integers(0, 3, N)],
        }
    )  # fmt: skip
    write_dta(data, SCHEMA, tmp_path / "big.dta")
    return tmp_path / "big.dta"


def test_there_and_back_gives_the_same_bytes(dta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_GROUP", 300)
    steps: list[tuple[int, int]] = []
    parquet, back = dta.with_suffix(".parquet"), dta.with_name("back.dta")
    schema = convert(dta, parquet, lambda done, total: steps.append((done, total)))
    assert steps == [(300, N), (600, N), (900, N), (N, N)]
    assert Schema.load(schema_beside(parquet)).columns == schema.columns
    convert(parquet, back)
    assert back.read_bytes() == dta.read_bytes()


def test_engines_read_what_was_converted(dta: Path) -> None:
    parquet = dta.with_suffix(".parquet")
    schema = convert(dta, parquet)
    data, _ = read_dta(dta)
    for table in (pl.scan_parquet(parquet), duckdb.read_parquet(str(parquet))):
        validate(schema, table, ["id", "age", "x", "y", "g"])
    codes = pl.read_parquet(parquet)["age__missing"].to_numpy()
    assert codes.tolist() == missing_numbers(data["age"].to_numpy()).tolist()


def test_pieces_are_the_rows(dta: Path) -> None:
    whole, _ = read_dta(dta)
    parts = list(read_pieces(dta, 333))
    assert [len(part) for part in parts] == [333, 333, 333, 1]
    assert pd.concat(parts, ignore_index=True)["y"].tolist()[1:5] == whole["y"].tolist()[1:5]


def test_parts_of_a_file_are_read(dta: Path) -> None:
    whole, _ = read_dta(dta)
    data, schema = read_dta(dta, columns=["g", "age"], rows=(400, 420))
    assert (schema.names, schema.file.rows) == (["age", "g"], 20)
    expected = whole[["age", "g"]].iloc[400:420].reset_index(drop=True)
    pd.testing.assert_frame_equal(data, expected)
    assert missing_numbers(data["age"].to_numpy()).tolist() == (
        missing_numbers(expected["age"].to_numpy()).tolist()
    )
    assert len(read_dta(dta, rows=5)[0]) == 5
    assert len(read_dta(dta, rows=(N - 1, 2 * N))[0]) == 1
    with pytest.raises(ColumnError, match="nothing"):
        read_dta(dta, columns=["nothing"])
    for rows in (-1, (5, 2), (1, 2, 3), (0.5, 2)):
        with pytest.raises(ParameterError, match="rows="):
            read_dta(dta, rows=rows)  # type: ignore[arg-type]


def test_refusals(dta: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="one is a"):
        convert(dta, tmp_path / "big.csv")
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "alone.parquet")
    with pytest.raises(FileError, match="no schema beside it"):
        convert(tmp_path / "alone.parquet", tmp_path / "alone.dta")
    SCHEMA.save(tmp_path / "alone.schema.toml")
    with pytest.raises(SchemaError, match="is not in the"):
        convert(tmp_path / "alone.parquet", tmp_path / "alone.dta")
    assert not (tmp_path / "alone.dta").exists()
    for columns, words in (
        ((Column("s", "strL"),), "strL"),
        ((Column("x"), Column("x__missing")), "rename it"),
    ):
        schema = replace(SCHEMA, columns=columns, file=FileFacts())
        cells = {c.name: [""] if c.is_text else [1.0] for c in columns}
        data = pd.DataFrame(
            {name: pd.Series(v, dtype=object if v == [""] else float) for name, v in cells.items()}
        )
        write_dta(data, schema, tmp_path / "odd.dta")
        with pytest.raises(SchemaError, match=words):
            convert(tmp_path / "odd.dta", tmp_path / "odd.parquet")
