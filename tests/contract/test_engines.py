"""Every query of a table says the same wherever its rows are, and however they are cut up."""

from __future__ import annotations

import os
import shutil
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

from dprct import (
    Block,
    BlockCluster,
    Calibrated,
    Cluster,
    Complete,
    Marginals,
    MVHistogram,
    PrivateATE,
    Simple,
)
from dprct.encode import encodings
from dprct.errors import EngineError, ParameterError, SchemaError
from dprct.privacy.aggregate import _open
from dprct.queries import (
    HiddenArms,
    cell_counts,
    clipped_sums,
    cross_products,
    hidden_difference,
    hidden_sums,
    moments,
    one_way_counts,
)
from dprct.schema import Column, Schema
from dprct.schema.legal import validate
from dprct.schema.table import COMPANION, eager, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEVELS = {"levels": (0.0, 1.0), "missing": ()}
SCHEMA = Schema(
    (
        Column("y", bounds=(-2.0, 2.1), missing=(".", ".a"), bins=7, fate="modelled"),
        Column("x", "float", bounds=(0.0, 0.7), missing=(), bins=35, fate="modelled"),
        Column("t", "byte", fate="public", **LEVELS),
        Column("block", "byte", fate="public"),
        Column("school", "int", fate="public"),
        Column("whole", "byte", fate="public", **LEVELS),
        Column("g", "str3", levels=("", "a", "bc"), fate="modelled"),
    )
)


def rows(n: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    block = rng.integers(0, 3, n)
    school = block * 8 + rng.integers(0, 8, n)
    codes = rng.choice([-1, -1, -1, 0, 1], n)
    y = rng.normal(size=n).clip(-2, 2.1)
    return pl.DataFrame(
        {
            "y": [None if code >= 0 else value for code, value in zip(codes, y, strict=True)],
            "y" + COMPANION: codes.astype(np.int8),
            "x": rng.integers(0, 8, n).astype(np.float32) / np.float32(10),
            "t": rng.integers(0, 2, n),
            "block": block,
            "school": school,
            "whole": (np.random.default_rng(5).permutation(24) % 2)[school],
            "g": [[None, "a", "bc"][k] for k in rng.integers(0, 3, n)],
        }
    )


def in_duckdb(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    # an engine promises no order: this one keeps none
    return connection.sql("select * from rows order by hash(y, school, x)")


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars, lazy": lambda frame: frame.sample(fraction=1, shuffle=True, seed=1).lazy(),
    "DuckDB": in_duckdb,
}

X, Y = SCHEMA.column("x"), SCHEMA.column("y")
HIDDEN = HiddenArms(("t",), ((0.0,), (1.0,)), (Fraction(1, 2), Fraction(1, 2)), 900)

QUERIES: dict[str, Callable[[Any], list[Any]]] = {
    "cells": lambda f: list(_open(cell_counts(f, encodings(SCHEMA, ["y", "x", "g"])))),
    "one way": lambda f: [_open(one_way_counts(f, encodings(SCHEMA, ["y", "x", "g"])))],
    "sums": lambda f: [_open(clipped_sums(f, [X, Y]))],
    "products": lambda f: [_open(cross_products(f, [X, Y]))],
    "moments": lambda f: [_open(moments(f, [X, SCHEMA.column("g")], [Y]))],
    "hidden": lambda f: [_open(hidden_difference(f, Y, HIDDEN, 0.5).difference)],
    "hidden sums": lambda f: [_open(part) for part in hidden_sums(f, Y, HIDDEN)],
}

EFFECTS: dict[str, dict[str, Any]] = {
    "observed": {"treatment": "t", "missing": "public", "attrition": True},
    "filled": {"assignment": Simple("t"), "missing": 0.5},
    "counted": {"assignment": Simple("t"), "missing": "private"},
    "private arms": {"assignment": Simple("t"), "missing": "public", "neighbors": "replace-one"},
    "blocked": {"assignment": Block("t", block="block"), "missing": "public", "attrition": True},
    "clustered": {
        "assignment": Cluster("whole", cluster="school"), "missing": 0.0, "attrition": True,
    },
    "clusters in blocks": {
        "assignment": BlockCluster("whole", block="block", cluster="school"),
        "missing": "public", "attrition": True,
    },
}  # fmt: skip


def answers(data: Any) -> dict[str, list[Any]]:
    """What every query returns, as lists that compare."""
    frame = table(data)
    found = {
        name: [np.asarray(v).tolist() for v in query(frame)] for name, query in QUERIES.items()
    }
    for name, options in EFFECTS.items():
        model = PrivateATE(data, SCHEMA, outcome="y", **options)
        result = model.fit(epsilon=1, rng=3)
        found[name] = [*result.params, *result.bse, str(model.guarantee(result.guarantee.budget))]
    return found


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Any]]:
    return answers(rows())


@pytest.mark.parametrize("engine", ENGINES)
def test_every_query_says_the_same_in_an_engine(engine: str, expected: dict[str, Any]) -> None:
    found = answers(ENGINES[engine](rows()))
    for name, answer in expected.items():
        assert found[name] == answer, name


def test_queries_can_tell_data_apart(expected: dict[str, Any]) -> None:
    other = rows().with_columns(
        x=pl.lit(0.0, pl.Float32), t=1 - pl.col("t"), y=-pl.col("y").clip(-2, 2)
    )
    found = answers(other)
    assert all(found[name] != answer for name, answer in expected.items() if "cluster" not in name)


@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")  # of small samples
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_the_same_but_for_the_order_of_public_columns(engine: str) -> None:
    for method in (MVHistogram, Marginals):
        one, other = (
            method(data, SCHEMA).fit(epsilon=2, rng=8).protected[["y", "x", "g"]]
            for data in (rows(), ENGINES[engine](rows()))
        )
        # public columns come in the engine's order, and the file is sorted by all columns
        assert sorted(one["y"].dropna()) == sorted(other["y"].dropna())
        assert sorted(zip(one["x"], one["g"], strict=True)) == sorted(
            zip(other["x"], other["g"], strict=True)
        )


@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")  # of small samples
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("design", ["observed", "clusters in blocks"])
def test_a_calibrated_file_is_made_from_an_engine(engine: str, design: str) -> None:
    unmodelled = [
        Column(c.name, c.type, bounds=c.bounds, missing=c.missing, levels=c.levels,
               fate="drop" if c.name in ("x", "g") else None)
        for c in SCHEMA.columns
    ]  # fmt: skip
    treatment = EFFECTS[design].get("treatment")
    used = {"observed": {"y", "t"}, "clusters in blocks": {"y", "whole", "block", "school"}}[design]
    schema = Schema(
        tuple(
            Column(c.name, c.type, bounds=c.bounds, missing=c.missing, levels=c.levels,
                   fate=None if c.name in used else "drop")
            for c in unmodelled
        )
    )  # fmt: skip
    options = {**EFFECTS[design], "treatment": treatment}
    one, other = (
        Calibrated(data, schema, outcome="y", **options).fit(epsilon=4, rng=2)
        for data in (rows(), ENGINES[engine](rows()))
    )
    assert one.estimates.params.tolist() == other.estimates.params.tolist()
    name = one.estimates.params.index[0]
    assert one.protected[name].sum() == other.protected[name].sum()
    assert one.protected["y"].isna().sum() == other.protected["y"].isna().sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_assignment_is_refused_alike(engine: str) -> None:
    lopsided = rows().with_columns(t=pl.when(pl.int_range(900) < 100).then(1).otherwise(0))
    for design in (Complete("t"), Block("t", block="block"), Complete("t", counts=[99])):
        sentences = []
        for data in (lopsided, ENGINES[engine](lopsided)):
            with pytest.raises(ParameterError) as refusal:
                PrivateATE(data, SCHEMA, outcome="y", assignment=design, missing=0.0)
            sentences.append(str(refusal.value))
        assert sentences[0] == sentences[1]
    exact = Complete("t", counts=[100])
    for data in (lopsided, ENGINES[engine](lopsided)):
        PrivateATE(data, SCHEMA, outcome="y", assignment=exact, missing=0.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_in_python_is_refused_with_what_to_do(engine: str) -> None:
    with pytest.raises(EngineError, match="collect the columns"):
        PrivateATE(
            ENGINES[engine](rows()), SCHEMA, outcome="y", treatment="t", missing=0.0,
            attrition=True, index="2*x", index_bounds=(-3, 3),
        )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_near_the_end_of_int64_neither_wrap_nor_differ(engine: str) -> None:
    data = pl.DataFrame({"x": [2**63 - 1, -(2**63), 2**62, 0, None]})
    column = Column("x", bounds=(-1.0, 2.0**53), missing=(".",))
    one, other = (
        _open(clipped_sums(frame, [column])).tolist()
        for frame in (eager(data), table(ENGINES[engine](
            data.with_columns(y=pl.col("x"), school=pl.lit(0))
        )))
    )  # fmt: skip
    assert one == other
    assert 0 < one[0] <= 5 * 2**20


def test_decimals_of_an_engine_are_numbers() -> None:
    data = duckdb.sql("select 0.25::decimal(18, 2) as y, 1::hugeint as t")
    schema = Schema((Column("y", bounds=(0.0, 1.0), missing=()), Column("t", "byte")))
    validate(schema, data)
    assert _open(clipped_sums(table(data), [schema.column("y")])).tolist() == [2**18]


def test_times_with_a_zone_are_refused_by_their_type() -> None:
    data = duckdb.sql("select now() as y")
    schema = Schema((Column("y", bounds=(0.0, 1.0), missing=()),))
    with pytest.raises(SchemaError, match="Datetime"):
        validate(schema, data)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A Spark session of this process; skipped, or failed where promised, without Java."""
    pytest.importorskip("pyspark", reason="needs the extra dprct[spark]")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        if os.environ.get("DPRCT_REQUIRE_SPARK"):
            pytest.fail("DPRCT_REQUIRE_SPARK is set and there is no Java")
        pytest.skip("needs Java; see scripts/java-for-tests")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.mark.audit  # a minute of Java
@pytest.mark.filterwarnings("ignore")  # of Spark and what it depends on
def test_every_query_says_the_same_in_spark_with_skewed_partitions(
    spark: Any, expected: dict[str, Any]
) -> None:
    frame = spark.createDataFrame(rows().to_arrow())
    even = frame.repartition(3).cache()
    skewed = frame.filter("school < 22").coalesce(1).union(frame.filter("school >= 22"))
    assert (even.rdd.getNumPartitions(), skewed.rdd.getNumPartitions() > 1) == (3, True)
    for name, query in QUERIES.items():
        assert [np.asarray(v).tolist() for v in query(table(even))] == expected[name], name
    for name in ("cells", "products"):
        assert [np.asarray(v).tolist() for v in QUERIES[name](table(skewed))] == expected[name]
    for name in ("observed", "clusters in blocks"):
        result = PrivateATE(skewed, SCHEMA, outcome="y", **EFFECTS[name]).fit(epsilon=1, rng=3)
        assert [*result.params, *result.bse] == expected[name][:-1], name
    with pytest.raises(SchemaError, match="outside the bounds"):
        validate(Schema((Column("y", bounds=(-1.0, 1.0), missing=(".", ".a")),)), even, ["y"])
