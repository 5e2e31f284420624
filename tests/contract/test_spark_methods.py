"""Java compiles the methods that Spark writes for a query, however many columns it has."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dprct.errors import EngineError
from dprct.queries.group_moments import MomentCells, MomentsGrid, Part, Scaled, moment_sums
from dprct.schema import Column, Schema
from dprct.schema.tables import counted_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

LONGEST = 8_000
"""Bytes of a method above which Java interprets it for ever (its option DontCompileHugeMethods)."""

MOST = 100
"""Columns above which Spark writes no method of its own for a stage."""

NAMES = [f"x{j}" for j in range(24)]  # planning takes as long as the square of their number
SCHEMA = Schema(tuple(Column(name, bounds=(0.0, 1.0), missing=()) for name in NAMES))


def moments(rows: Any, per_unit: float, exempt: bool) -> object:
    columns = tuple(
        Scaled(c.name, (Part(c),), (0.0, 1.0), 0.5, per_unit, exempt=exempt) for c in SCHEMA.columns
    )
    grid = MomentsGrid(columns, 30000, clipped=1)
    return moment_sums(rows, grid, MomentCells(), "replace-one-design-public")


QUERIES: dict[str, Callable[[Any], object]] = {
    "validation": lambda rows: counted_once(SCHEMA, rows, NAMES),
    "moments that nobody is moved for": lambda rows: moments(rows, 1000.0, True),
    "moments of rows in a ball": lambda rows: moments(rows, 65536.0, False),
}


@pytest.fixture
def sizes(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of the longest method of each stage of what Spark is asked for; nothing is run."""
    found: list[int] = []
    options = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in options}

    def written(frame: Any, *args: Any, **more: Any) -> Any:
        plan = frame.to_native()._jdf.queryExecution().executedPlan()
        debug = getattr(spark._jvm.org.apache.spark.sql.execution.debug, "package$")
        stages = getattr(debug, "MODULE$").codegenStringSeq(plan)
        found.extend(stages.apply(k)._3().maxMethodCodeSize() for k in range(stages.size()))
        raise ValueError("this is all that was to be asked")

    for name, value in options.items():
        spark.conf.set(name, value)
    with monkeypatch.context() as patch:
        patch.setattr(nw.LazyFrame, "collect", written)
        yield found
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize("form", QUERIES)
def test_spark_writes_methods_that_java_compiles(
    spark: Any, engines: ModuleType, sizes: list[int], form: str
) -> None:
    drawn = np.random.default_rng(1).random((200, len(NAMES)))
    rows = engines.in_spark(pl.DataFrame(drawn, schema=NAMES), spark)
    with suppress(EngineError):
        QUERIES[form](nw.from_native(rows))
    # each column adds as much
    assert 500 < max(sizes) < LONGEST * len(NAMES) / MOST
