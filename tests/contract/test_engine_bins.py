"""Bins are the same in every engine, whether coded row by row or counted by their keys."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

from dprct.encoding import Encoding, encodings, prepared_for
from dprct.missing import tagged
from dprct.privacy.aggregates import _open
from dprct.queries.counts import BinKey, Ceilings, bin_key, cell_counts, one_way_counts
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION, eager, table

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = Schema(
    (
        Column("one", bounds=(0.0, 1.0), bins=5, missing=()),
        Column("three", bounds=(0.0, 1.0), bins=50, missing=()),
        Column("signed", bounds=(-2.0, 2.1), bins=7, missing=()),
        Column("compared", bounds=(-2.0, 2.1), bins=100, missing=()),
        Column("far", bounds=(1e6, 1e6 + 1), bins=10, missing=(".", ".a")),
        Column("alike", bounds=(1e9, 1e9 + 10), bins=5000, missing=()),
        Column("edges", bounds=(-1.0, 1.0), bins=(-0.3, 0.1), missing=(".",)),
        Column("age", "byte", bounds=(15.0, 80.0), bins=5, missing=(".",)),
        Column("money", bounds=(0.0, 100.0), decimals=2, bins=97, missing=()),
        Column("level", "byte", levels=(0.0, 1.0), missing=()),
        Column("rank", "byte", levels=(0.0, 1.0, 2.0), missing=(".", ".b")),
    )
)
CODES = encodings(SCHEMA, SCHEMA.names)
BEYOND = [-math.inf, -1e308, -0.0, 0.0, 5e-324, 1e308, math.inf]


def in_duckdb(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    return connection.sql("select * from rows order by hash(one, age)")


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas, nullable": lambda frame: frame.to_pandas().convert_dtypes(),
    "pandas, arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "Polars": lambda frame: frame.sample(fraction=1, shuffle=True, seed=2),
    "Polars, lazy": lambda frame: frame.lazy(),
    "DuckDB": in_duckdb,
}


def around(encoding: Encoding) -> list[float]:
    """Legal values next to all edges (of many, some), and what is illegal far away."""
    few = encoding.cells[:: max(1, len(encoding.cells) // 40)]
    ends = np.array([x for cell in few for x in (cell[0], cell[-1])])
    if encoding.step is not None or len(encoding.cells[0]) == 1:
        return [*ends.tolist(), *BEYOND]
    return [*ends.tolist(), *np.nextafter(ends, -1e9), *np.nextafter(ends, 1e300), *BEYOND]


def rows() -> pl.DataFrame:
    """Every column takes all values of its own, and in two rows none: NaN, and null."""
    values = [around(code) for code in CODES if isinstance(code, Encoding)]
    n = max(map(len, values))
    columns: dict[str, Any] = {}
    for name, found in zip(SCHEMA.names, values, strict=True):
        columns[name] = [*np.resize(found, n), math.nan, None]
    n += 2
    beside = {
        name + COMPANION: np.array([-1] * (n - 2) + [0, code], np.int8)
        for name, code in (("far", 1), ("rank", 2))
    }
    return pl.DataFrame({**columns, **beside})


def counts(data: Any, names: list[str]) -> tuple[Any, list[int]]:
    frame, codes = table(data), encodings(SCHEMA, names)
    digits, numbers = _open(cell_counts(frame, codes))
    cells = [*zip(map(tuple, digits.tolist()), numbers.tolist(), strict=True)]
    return cells, _open(one_way_counts(frame, codes)).tolist()


def expected(names: list[str]) -> tuple[Any, list[int]]:
    """Code row by row, and count in Python."""
    codes = encodings(SCHEMA, names)
    coded = prepared_for(eager(rows()), codes).select(*[code.expression() for code in codes])
    ways = [Counter(coded[name].to_list()) for name in names]
    one_way = [way[k] for way, code in zip(ways, codes, strict=True) for k in range(code.size)]
    return sorted(Counter(coded.rows()).items()), one_way


def test_the_columns_are_of_every_kind() -> None:
    keys = {code.name: bin_key(code.rule) for code in CODES if isinstance(code, Encoding)}
    terms = {
        name: len(key.key.terms) if isinstance(key.key, Ceilings) else "compared"
        for name, key in keys.items()
        if isinstance(key, BinKey)
    }
    assert terms == {
        "one": 1, "three": 3, "signed": 2, "compared": "compared", "far": 2, "age": 1, "money": 1
    }  # fmt: skip
    assert {"alike", "edges", "level", "rank"} == keys.keys() - terms.keys()


ASKED = [[name] for name in SCHEMA.names] + [list(SCHEMA.names)]


@pytest.mark.parametrize("names", ASKED, ids=" ".join)
@pytest.mark.parametrize("where", ENGINES)
def test_counts_are_those_of_codes_row_by_row(where: str, names: list[str]) -> None:
    assert counts(ENGINES[where](rows()), names) == expected(names)


def test_a_code_in_another_bin_is_seen() -> None:
    other = rows().with_columns(one=pl.col("one").replace(0.2, math.nextafter(0.2, 1.0)))
    assert counts(other, ["one"]) != expected(["one"])


def test_missing_codes_in_payloads_are_counted_alike() -> None:
    data = rows().drop("far" + COMPANION).to_pandas()
    data.loc[len(data) - 2 :, "far"] = tagged([0, 1])
    assert counts(data, ["far"]) == expected(["far"])


@pytest.mark.audit  # half a minute of Java
@pytest.mark.filterwarnings("ignore")  # of Spark and what it depends on
def test_spark_counts_the_same(spark: Any) -> None:
    frame = spark.createDataFrame(rows().to_arrow()).repartition(3).cache()
    for names in ASKED:
        assert counts(frame, names) == expected(names), names
