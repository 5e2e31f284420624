"""What breaks a rule breaks it in memory and in an engine, in the same words."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import duckdb
import polars as pl
import pytest

from dprct.errors import ColumnError, EngineError, MissingDependencyError, SchemaError
from dprct.schema import Column, Schema, Unit
from dprct.schema.tables import COMPANION, collected, row_count, table, validate

NAN, INF = float("nan"), float("inf")

COLUMNS: dict[str, Column] = {
    "bounds": Column("x", bounds=(0.0, 1.0), missing=()),
    "byte": Column("x", "byte", missing=(".",)),
    "float": Column("x", "float", missing=(".",)),
    "whole": Column("x", "double", integer=True, missing=(".",)),
    "decimals": Column("x", "double", decimals=2, missing=(".",)),
    "float decimals": Column("x", "float", decimals=1, missing=(".",)),
    "levels": Column("x", "float", levels=(0.1, 2.0), missing=(".", ".a")),
    "any": Column("x"),
}
VALUES: list[list[Any]] = [
    [0.0, 1.0], [0.1, 2.0], [0.10000000149011612], [1.5, None], [NAN], [INF, 1.0], [-INF],
    [200.0], [1e300], [2.0**53, 1.0], [0.125], [0.12], [-0.5], [1e17 + 16.0], [100.0, 101.0],
]  # fmt: skip


def sentence(schema: Schema, data: Any, names: list[str] | None = None) -> str:
    try:
        validate(schema, data, names)
    except (SchemaError, ColumnError) as refusal:
        return str(refusal)
    return ""


def lazy(frame: pl.DataFrame) -> list[Any]:
    return [frame.lazy(), duckdb.from_arrow(frame.to_arrow())]


@pytest.mark.long
def test_numbers_are_refused_alike() -> None:
    said = set()
    for column, values in itertools.product(COLUMNS.values(), VALUES):
        frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})
        expected = sentence(Schema((column,)), frame)
        said.add(expected)
        for engine in lazy(frame):
            assert sentence(Schema((column,)), engine) == expected, (column, values)
    assert "" in said
    assert len(said) > 10


def test_missing_codes_are_refused_alike() -> None:
    schema = Schema((COLUMNS["levels"],))
    for codes in ([-1, 0], [-1, 1], [-1, 2], [-1, None], [-1, 27], [-2, 0], [0, 0]):
        frame = pl.DataFrame({"x": [2.0, None], "x" + COMPANION: codes})
        expected = sentence(schema, frame)
        assert all(sentence(schema, engine) == expected for engine in lazy(frame)), codes
    assert sentence(schema, frame.lazy()) == ""
    text = pl.DataFrame({"x": [2.0], "x" + COMPANION: ["a"]})
    assert all("must hold missing codes" in sentence(schema, engine) for engine in lazy(text))


def test_texts_types_and_absent_columns_are_refused_alike() -> None:
    schema = Schema((Column("g", "str2", levels=("a", "")),))
    for texts in (["a", None], ["a", "b"], ["", "a"]):
        frame = pl.DataFrame({"g": texts})
        expected = sentence(schema, frame)
        assert all(sentence(schema, engine) == expected for engine in lazy(frame))
    for engine in lazy(pl.DataFrame({"g": [1, 2]})):
        assert "the schema says text" in sentence(schema, engine)
    for engine in lazy(pl.DataFrame({"x": ["a"]})):
        assert "the schema says numbers" in sentence(Schema((COLUMNS["any"],)), engine)
        assert "g" in sentence(schema, engine)


def test_exclusive_groups_and_ids_are_refused_alike() -> None:
    facts: dict[str, Any] = {"levels": (0.0, 1.0), "missing": (), "exclusive": "arm"}
    both = (Column("a", "byte", **facts), Column("b", "byte", **facts))
    for rows, overlap in (([[1, 0], [0, 1]], False), ([[1, 1], [0, 1]], True)):
        frame = pl.DataFrame({"a": rows[0], "b": rows[1]})
        expected = sentence(Schema(both), frame)
        assert ("a row with several of what is declared exclusive" in expected) == overlap
        assert all(sentence(Schema(both), engine) == expected for engine in lazy(frame))
    for kind, values in (("int", [1, 1, 2]), ("str1", ["a", "a", ""]), ("int", [1, 2, None])):
        for most in (1, 2):
            schema = Schema((Column("id", kind),), unit=Unit("person", "id", max_rows=most))
            frame = pl.DataFrame({"id": values})
            expected = sentence(schema, frame)
            assert all(sentence(schema, engine) == expected for engine in lazy(frame))


def test_null_and_nan_are_both_missing() -> None:
    schema = Schema((Column("x", bounds=(0.0, 1.0), missing=()),))
    for value in (None, NAN):
        frame = pl.DataFrame({"x": pl.Series([0.5, value], dtype=pl.Float64)})
        assert all("missing code that is not declared" in sentence(schema, e) for e in lazy(frame))


def test_tables_without_rows_or_with_equal_names_are_refused() -> None:
    for engine in lazy(pl.DataFrame({"x": pl.Series([], dtype=pl.Float64)})):
        with pytest.raises(SchemaError, match="no rows"):
            table(engine)
    capitals = duckdb.from_arrow(pl.DataFrame({"y": [1.0], "z": [2.0]}).to_arrow())
    with pytest.raises(SchemaError, match="differ in capitals"):
        table(capitals.project('y, z as "Y"'))
    assert row_count(table(pl.LazyFrame({"y": [1.0], "Y": [2.0]}))) == 1


def test_an_engine_that_fails_shows_no_value() -> None:
    secret = duckdb.sql("select cast(v as int) as x from (values ('1'), ('secret')) as t(v)")
    with pytest.raises(EngineError, match="withheld") as refusal:
        validate(Schema((Column("x"),)), secret)
    assert "secret" not in str(refusal.value)
    absent = pl.scan_parquet("no-such-file.parquet")
    with pytest.raises(EngineError, match="polars ended with"):
        table(absent)
    assert collected(table(pl.LazyFrame({"x": [1]})))["x"].to_list() == [1]


def test_an_engine_without_what_brings_its_answers_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = duckdb.sql("select 1.0 as x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"dprct\[engines\]"):
        table(rows)
