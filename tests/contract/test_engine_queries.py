"""Every query that takes a table returns the same integers wherever its rows are."""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import dprct.queries
from dprct.schema.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


PARTS = frozenset(
    {"Coordinates.coded", "ResidualRows.of", "added", "answered", "by_cell", "compact"}
    | {
        "engine_sums",
        "grouped",
        "square_sums",
        "Predictor.steps",
        "predictor_steps",
        "rows_in_ball",
    }
    | {"series_steps", "units_of"}
)
"""Parts of the queries that have a case, by their names."""


def test_a_query_says_the_same_in_every_engine(
    engines: ModuleType, query: str, people: Any
) -> None:
    found = engines.QUERIES[query](table(people))
    assert [np.asarray(part).tolist() for part in found] == in_pandas(engines, query)


@functools.cache
def in_pandas(engines: ModuleType, query: str) -> list[Any]:
    found = engines.QUERIES[query](table(engines.rows().to_pandas()))
    return [np.asarray(part).tolist() for part in found]


def test_every_query_can_tell_data_apart(engines: ModuleType, query: str) -> None:
    rows = engines.rows()
    other = rows.with_columns(
        x=pl.lit(0.0, pl.Float32), y=pl.Series([*rows["y"][1:], None]).clip(-2, 0), g=pl.lit("a")
    )
    one, another = (engines.QUERIES[query](table(frame)) for frame in (rows, other))
    assert any(not np.array_equal(a, b) for a, b in zip(one, another, strict=True))


def test_partitions_of_spark_are_several_and_one_holds_most_or_nothing(
    engines: ModuleType, spark: Any
) -> None:
    from pyspark.sql.functions import spark_partition_id

    even, skewed = (engines.ENGINES[name](engines.rows(), spark) for name in engines.ON_SPARK)
    sizes = [
        sorted(part["count"] for part in frame.groupBy(spark_partition_id()).count().collect())
        for frame in (even, skewed)
    ]
    assert (even.rdd.getNumPartitions(), skewed.rdd.getNumPartitions()) == (3, 3)
    assert sizes[0] == [300, 300, 300]
    assert sizes[1] == [45, 855]


def test_no_query_that_takes_a_table_is_without_a_case(engines: ModuleType) -> None:
    of_tables, in_memory = set(), set()
    for name, types in _signatures():
        words = re.findall(r"\w+", " ".join(types))
        if {"Table", "LazyFrame", "EngineCodes"} & set(words):
            of_tables.add(name)
        elif "Frame" in words:
            in_memory.add(name)
    with_case = {name for case in engines.QUERIES for name in case.split(" of ")[0].split(", ")}
    assert with_case | PARTS >= of_tables >= with_case
    assert set(engines.IN_MEMORY) | PARTS >= in_memory >= set(engines.IN_MEMORY)
    assert (of_tables | in_memory) - with_case - set(engines.IN_MEMORY) >= PARTS


def _signatures() -> Iterator[tuple[str, list[str]]]:
    """Yield every public function and method of a query, and the types that it takes."""
    for name, item in _public():
        if inspect.isfunction(item):
            yield name, _types(item)
        elif inspect.isclass(item):
            for method, bound in inspect.getmembers(item, callable):
                if not method.startswith("_") and hasattr(bound, "__annotations__"):
                    yield f"{name}.{method}", _types(bound)


def _public() -> Iterator[tuple[str, Any]]:
    for found in pkgutil.iter_modules(dprct.queries.__path__, "dprct.queries."):
        for name, item in vars(import_module(found.name)).items():
            if not name.startswith("_") and getattr(item, "__module__", None) == found.name:
                yield name, item


def _types(function: Any) -> list[str]:
    return [str(kind) for what, kind in function.__annotations__.items() if what != "return"]
