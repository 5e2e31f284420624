from __future__ import annotations

import traceback
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ColumnError, DprctError, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column, Schema, Unit
from dprct.schema.columns import stored
from dprct.schema.tables import (
    COMPANION,
    broken_rules,
    clipped_as_declared,
    collected,
    eager,
    opened,
    validate,
)

NAN, INF = float("nan"), float("inf")
SENTINEL = 81.625  # distinctive, and never part of a fact


def engines(values: Any, name: str = "x") -> list[Any]:
    """The same column in pandas, in nullable pandas and in Polars."""
    x = np.asarray(values, float)
    nulls = [None if np.isnan(v) else v for v in x]
    side = {name + COMPANION: missing_numbers(x)}
    return [
        pd.DataFrame({name: x}),
        pd.DataFrame({name: pd.array(nulls, dtype="Float64"), **side}),
        pl.DataFrame({name: nulls, **side}, schema_overrides={name: pl.Float64}),
    ]


LEGAL: list[tuple[Column, list[float]]] = [
    (Column("x", "byte"), [-127, 0, 100]),
    (Column("x", "long"), [-(2**31) + 1, 2**31 - 28]),
    (Column("x", "float"), [0.5, float(np.float32(0.1)), 2.0**126]),
    (Column("x", "double"), [0.1, -1e300, 5e-324]),
    (Column("x", "byte", bounds=(15.0, 80.0)), [15, 80]),
    (Column("x", "double", bounds=(0.1, 0.7)), [0.1, 0.7]),
    (Column("x", "float", bounds=(0.1, 0.7)), [float(np.float32(b)) for b in (0.1, 0.7)]),
    (Column("x", "float", levels=(0.1, 0.2)), [float(np.float32(b)) for b in (0.1, 0.2)]),
    (Column("x", "double", decimals=2), [0.01, 0.29, 1.1, -3.57, 12345.67, 0]),
    (
        Column("x", "float", decimals=2),
        np.float32([0.01, 0.29, 1.1, 999.99]).astype(float).tolist(),
    ),
    (Column("x", "double", integer=True), [-3, 0, 2.0**40]),
    (Column("x", "double", missing=(".", ".a")), [1, *tagged([0, 1])]),
    (Column("x", "double"), [1, *tagged([0, 26])]),
    (Column("x", "byte", levels=(0.0, 1.0), missing=()), [0, 1, -0.0]),
]


@pytest.mark.parametrize(("column", "values"), LEGAL)
def test_legal_values_on_every_engine(column: Column, values: list[float]) -> None:
    for data in engines(values):
        assert broken_rules(column, eager(data)) == []
        validate(Schema((column,)), data)


ILLEGAL: list[tuple[Column, list[float], str]] = [
    (Column("x", "byte"), [101], "a value that type byte cannot hold"),
    (Column("x", "int"), [-32_768], "a value that type int cannot hold"),
    (Column("x", "long"), [2.0**31], "a value that type long cannot hold"),
    (Column("x", "float"), [2.0**127], "a value that type float cannot hold"),
    (Column("x", "float"), [0.1], "a value that type float cannot hold exactly"),
    (Column("x", "double"), [1e308], "a value that type double cannot hold"),
    (Column("x", "double"), [INF], "an infinite value"),
    (Column("x", "float"), [-INF], "an infinite value"),
    (Column("x", "byte"), [0.5], "a value that is not whole"),
    (Column("x", "double", integer=True), [SENTINEL], "a value that is not whole"),
    (Column("x", "double", decimals=0), [0.1], "a value that is not whole"),
    (Column("x", "double", decimals=2), [0.001], "a value with more than 2 decimals"),
    (Column("x", "double", decimals=1), [0.1 + 0.2], "a value with more than 1 decimals"),
    (Column("x", "float", decimals=1), [float(np.float32(0.15))], "more than 1 decimals"),
    (Column("x", "byte", bounds=(15.0, 80.0)), [81], "a value outside the bounds"),
    (Column("x", "byte", bounds=(15.0, 80.0)), [14], "a value outside the bounds"),
    (Column("x", "double", bounds=(0.0, 0.7)), [np.nextafter(0.7, 1)], "outside the bounds"),
    (Column("x", "byte", levels=(0.0, 1.0)), [2], "a value outside the declared levels"),
    (Column("x", "float", levels=(0.1, 0.2)), [0.5], "a value outside the declared levels"),
    (Column("x", "byte", missing=()), [NAN],
     r"a missing code that is not declared \(declared: none\)"),
    (Column("x", "byte", missing=(".", ".a")), [*tagged([2])],
     r"a missing code that is not declared \(declared: ., .a\)"),
    (Column("x", "byte", missing=(".a",)), [*tagged([0])], "a missing code that is not declared"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "values", "rule"), ILLEGAL)
def test_illegal_values_on_every_engine(column: Column, values: list[float], rule: str) -> None:
    for data in engines([1.0, *values] if column.missing != () else values):
        with pytest.raises(SchemaError, match=f"the data do not fit the schema: x: .*{rule}"):
            validate(Schema((column,)), data)


def test_a_missing_code_without_a_payload_is_a_dot() -> None:
    column = Column("x", "byte", missing=(".a",))
    for data in (pl.DataFrame({"x": [1.0, None]}), pl.DataFrame({"x": [1.0, NAN]})):
        assert broken_rules(column, eager(data)) != []
        assert broken_rules(Column("x", "byte", missing=(".",)), eager(data)) == []


def test_text_levels() -> None:
    column = Column("x", "str5", levels=("north", ""))
    for values in (["north", ""], ["north", None]):
        for engine in (pd, pl):
            assert broken_rules(column, eager(engine.DataFrame({"x": values}))) == []
    for data in (
        pd.DataFrame({"x": ["North"]}),
        pl.DataFrame({"x": ["north "]}),
        pd.DataFrame({"x": pd.Series([b"north"], dtype=object)}),
    ):
        assert broken_rules(column, eager(data)) == ["a text outside the declared levels"]
    assert broken_rules(Column("x", "str5"), eager(pd.DataFrame({"x": ["any"]}))) == []


def test_every_broken_rule_of_every_column_is_listed() -> None:
    schema = Schema((Column("a", "byte", bounds=(0.0, 9.0)), Column("b", "byte", missing=())))
    with pytest.raises(SchemaError) as caught:
        validate(schema, pd.DataFrame({"a": [12.5], "b": [NAN]}))
    assert str(caught.value) == (
        "the data do not fit the schema: a: a value that is not whole; a: a value outside "
        "the bounds; b: a missing code that is not declared (declared: none); correct the data, "
        "or declare all that is possible (never what the data hold)"
    )


def test_a_long_list_is_cut() -> None:
    names = [f"x{k}" for k in range(20)]
    schema = Schema(tuple(Column(name, "byte") for name in names))
    with pytest.raises(SchemaError, match=r"x11: a value .*; and 8 more; correct") as caught:
        validate(schema, pd.DataFrame({name: [0.5] for name in names}))
    assert "x12" not in str(caught.value)


def test_columns_must_be_those_of_the_schema() -> None:
    schema = Schema((Column("age", "byte"), Column("got", "byte")))
    with pytest.raises(ColumnError, match="no column 'got' in the data; it has age"):
        validate(schema, pd.DataFrame({"age": [1.0]}))
    extra = pd.DataFrame({"age": [1.0], "got": [1.0], "gott": [1.0]})
    with pytest.raises(ColumnError, match="no column 'gott' in the schema; did you mean 'got'"):
        validate(schema, extra)
    validate(schema, extra, ["age"])
    validate(schema, extra[["got", "age"]])
    with pytest.raises(ColumnError, match="no column 'aeg' in the schema; did you mean 'age'"):
        validate(schema, extra, ["aeg"])


def test_only_the_columns_asked_for_are_checked() -> None:
    schema = Schema((Column("a", "byte"), Column("b", "byte")))
    data = pd.DataFrame({"a": [1.0], "b": [0.5]})
    validate(schema, data, ["a"])
    with pytest.raises(SchemaError, match="b: a value that is not whole"):
        validate(schema, data, ["b"])


def test_a_column_named_like_a_companion_is_refused() -> None:
    schema = Schema((Column("x", "byte"), Column("x" + COMPANION, "byte")))
    data = pd.DataFrame({"x": [1.0], "x" + COMPANION: [0.0]})
    words = r"under which the missing codes of 'x' are stored; .*leave it out of .*, else rename it"
    with pytest.raises(SchemaError, match=words):
        validate(schema, data)
    validate(schema.select(["x"]), data)


IDS: list[tuple[Column, list[Any]]] = [
    (Column("id", "long"), [1.0, 2.0, 1.0, 3.0, 1.0]),
    (Column("id", "str5"), ["a", "b", "a", "c", "a"]),
]


@pytest.mark.parametrize(("column", "ids"), IDS)
def test_a_repeated_id_needs_max_rows(column: Column, ids: list[Any]) -> None:
    for engine in (pd, pl):
        data = engine.DataFrame({"id": ids})
        once = Schema((column,), unit=Unit("household", "id"))
        with pytest.raises(
            SchemaError, match="id: a household with several rows; declare max_rows"
        ):
            validate(once, data)
        twice = once.declare(unit=Unit("household", "id", 2))
        with pytest.raises(SchemaError, match="id: a household with more rows than max_rows=2"):
            validate(twice, data)
        validate(once.declare(unit=Unit("household", "id", 3)), data)
        validate(once, data[:2])


@pytest.mark.parametrize(("column", "ids"), [
    (Column("id", "long"), [1.0, NAN]), (Column("id", "str5"), ["a", ""]),
])  # fmt: skip
def test_an_id_may_not_be_missing(column: Column, ids: list[Any]) -> None:
    schema = Schema((column,), unit=Unit(id="id"))
    with pytest.raises(SchemaError, match="id: an id that is missing"):
        validate(schema, pd.DataFrame({"id": ids}))


def test_ids_that_no_encoding_reads_are_counted_and_not_shown() -> None:
    column = Column("id", "str5")
    schema = Schema((column,), unit=Unit("person", "id"))
    validate(schema, pd.DataFrame({"id": [b"s\xe9c", b"t\xe9c"]}, dtype=object))
    with pytest.raises(SchemaError, match="a person with several rows"):
        validate(schema, pd.DataFrame({"id": [b"s\xe9c", b"s\xe9c"]}, dtype=object))


def test_the_unit_is_checked_even_where_its_column_is_not_asked_for() -> None:
    schema = Schema((Column("id", "long"), Column("x", "byte")), unit=Unit(id="id"))
    data = pd.DataFrame({"id": [1.0, 1.0], "x": [1.0, 2.0]})
    with pytest.raises(SchemaError, match="id: a person with several rows"):
        validate(schema, data, ["x"])
    with pytest.raises(ColumnError, match="no column 'id' in the data"):
        validate(schema, data[["x"]], ["x"])


def test_floats_are_rounded_as_the_file_does() -> None:
    assert stored(Column("x", "float"), np.array([0.1]))[0] == float(np.float32(0.1))
    assert stored(Column("x", "double"), np.array([0.1]))[0] == 0.1


@pytest.mark.parametrize(
    "column",
    [
        Column("x", "byte"),
        Column("x", "float"),
        Column("x", "double", bounds=(0.0, 1.0)),
        Column("x", "double", levels=(0.0, 1.0)),
        Column("x", "double", decimals=1),
        Column("x", "double", integer=True),
        Column("x", "str3", levels=("a",)),
        Column("x", "str3"),
    ],
)
@pytest.mark.parametrize("sentinel", [SENTINEL, str(SENTINEL), 1e308, "secret", 987654321.123])
def test_no_refusal_shows_a_value(column: Column, sentinel: Any) -> None:
    told = []
    for data in (
        pd.DataFrame({"x": [sentinel, sentinel]}),
        pl.DataFrame({"x": [sentinel, sentinel]}),
        pd.DataFrame({"x": pd.Series([1.0, sentinel], dtype=object)}),
        pd.DataFrame({"x": [sentinel], "x2": [sentinel]}),
    ):
        try:
            validate(Schema((column,), unit=Unit(id="x")), data)
        except DprctError as error:
            told.append(str(error) + repr(error) + repr(error.__context__))
            told += traceback.format_exception_only(error)
    assert told
    assert all(str(sentinel) not in text for text in told)


BEYOND = [-5.0, 0.5, 9.0, float("inf"), float("-inf")]


@pytest.mark.parametrize("engine", [False, True])
def test_values_beyond_the_bounds_count_as_the_bound_where_that_is_declared(engine: bool) -> None:
    data = pd.DataFrame({"y": BEYOND})
    table = pl.from_pandas(data).lazy() if engine else data
    column = Column("y", bounds=(0, 2), missing="never")
    with pytest.raises(SchemaError, match="outside the bounds"):
        validate(Schema((column,)), table)
    schema = Schema((replace(column, clip=True),))
    validate(schema, table)
    moved = collected(clipped_as_declared(schema, opened(table)))
    assert moved["y"].to_list() == [0.0, 0.5, 2.0, 2.0, 0.0]


@pytest.mark.parametrize("engine", [False, True])
def test_clipping_keeps_what_is_missing(engine: bool) -> None:
    data = pd.DataFrame({"y": [np.nan, 9.0]})
    table = pl.from_pandas(data).lazy() if engine else data
    schema = Schema((Column("y", bounds=(0, 2), clip=True, missing="."),))
    moved = collected(clipped_as_declared(schema, opened(table)))["y"].to_numpy()
    assert np.isnan(moved[0])
    assert moved[1] == 2.0
    with pytest.raises(SchemaError, match="a missing code that is not declared"):
        validate(schema.declare(y={"missing": "never"}), table)
