"""A table in several engines, whose rows stand there in other orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable


def in_duckdb(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    # an engine promises no order: this one keeps none
    return connection.sql("select * from rows order by hash(y, age, x)")


def in_pieces(frame: pl.DataFrame) -> Any:
    """Return the rows as a lazy union of partitions, one of them large."""
    some = frame.sample(fraction=1, shuffle=True, seed=1)
    return pl.concat([some[:7].lazy(), some[7:20].lazy(), some[20:].lazy()])


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas, shuffled": lambda frame: frame.sample(fraction=1, shuffle=True, seed=3).to_pandas(),
    "Polars, lazy": in_pieces,
    "DuckDB": in_duckdb,
}
