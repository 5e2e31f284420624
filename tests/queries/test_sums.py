from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.encoding import encodings
from dprct.errors import SchemaError
from dprct.missing import tagged
from dprct.privacy.aggregates import _open
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.queries.sums import GRID, Clipped
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION, eager
from tests.queries.of_columns import clipped_sums

NAN, INF = float("nan"), float("inf")

SCHEMA = Schema(
    (
        Column("arm", "byte", levels=(0.0, 1.0, 2.0), bounds=(0.0, 2.0), missing=()),
        Column("age", "byte", bounds=(15.0, 80.0), bins=5, missing=(".", ".b")),
        Column("income", "double", bounds=(-10.0, 10.0), bins=7, missing=(".",)),
        Column("region", "str5", levels=("north", "south", "")),
        Column("rate", "double", bounds=(0.0, 1.0), decimals=2, missing=()),
    )
)
NUMERIC = [column for column in SCHEMA.columns if not column.is_text]
RELATIONS = ("replace-one", "add-remove", "replace-one-design-public")


def table(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 81, n).astype(float)
    age[rng.random(n) < 0.1] = tagged([2])[0]
    income = rng.normal(0, 4, n)
    income[rng.random(n) < 0.1] = tagged([0])[0]
    return pd.DataFrame(
        {
            "arm": rng.integers(0, 3, n).astype(float),
            "age": age,
            "income": income,
            "region": np.array(["north", "south", ""], object)[rng.integers(0, 3, n)],
            "rate": rng.integers(0, 101, n) / 100,
        }
    )


def polars(data: pd.DataFrame) -> pl.DataFrame:
    """The same table as engines see it: nulls, and the missing codes in a companion column."""
    from dprct.missing import missing_numbers

    cells: dict[str, Any] = {}
    for name in data.columns:
        values = data[name].to_numpy()
        if values.dtype == object:
            cells[name] = values.tolist()
            continue
        cells[name] = [None if math.isnan(x) else x for x in values.tolist()]
        cells[name + COMPANION] = missing_numbers(values)
    return pl.DataFrame(cells)


def cells(counts: Any) -> Counter[tuple[int, ...]]:
    digits, numbers = _open(counts)
    return Counter({tuple(d): int(c) for d, c in zip(digits.tolist(), numbers, strict=True)})


def everything(data: object) -> list[Any]:
    frame = eager(data)
    found = encodings(SCHEMA, SCHEMA.names)
    return [
        cells(cell_counts(frame, found)),
        _open(one_way_counts(frame, found)).tolist(),
        _open(clipped_sums(frame, NUMERIC)).tolist(),
    ]


def steps(values: Any, column: Column) -> list[int]:
    """Python-integer reference: k = floor((y - l) / g + 1/2), clipped; missing at the lower."""
    assert column.bounds is not None
    low, high = column.bounds
    g = (high - low) / 2**20
    inside = [low if math.isnan(y) else min(max(y, low), high) for y in values]
    return [min(max(math.floor((y - low) / g + 0.5), 0), 2**20) for y in inside]


# exact values


def test_sums_are_those_of_python_integers() -> None:
    data = table(5_000)
    k = [steps(data[c.name].tolist(), c) for c in NUMERIC]
    assert _open(clipped_sums(eager(data), NUMERIC)).tolist() == [sum(x) for x in k]


@pytest.mark.parametrize(
    ("bounds", "values", "expected"),
    [
        ((0.0, 2.0**20), [0, 0.49, 0.5, 1.49, 1.5, 2.0**20], [0, 0, 1, 1, 2, 2**20]),
        ((-1.0, 1.0), [-1, 0, 1, -5, 5, NAN, INF, -INF], [0, 2**19, 2**20, 0, 2**20, 0, 2**20, 0]),
        ((0.0, 0.1), [0.05, 0.1], [2**19, 2**20]),
    ],
)
def test_rounding_to_the_grid(
    bounds: tuple[float, float], values: list[float], expected: list[int]
) -> None:
    column = Column("x", bounds=bounds)
    nulls = [None if math.isnan(v) else float(v) for v in values]
    for data in (
        pd.DataFrame({"x": np.array(values, float)}),
        pd.DataFrame({"x": pd.array(nulls, dtype="Float64")}),
        pl.DataFrame({"x": np.array(values, float)}),
        pl.DataFrame({"x": nulls}),
    ):
        got = eager(data).select(Clipped(column).steps().alias("k"))["k"].to_list()
        assert got == expected
    assert steps(values, column) == expected


def test_the_sum_of_values_comes_back_from_the_sum_of_steps() -> None:
    column = Column("x", bounds=(-3.0, 5.0))
    x = np.random.default_rng(1).uniform(-3, 5, 1_000)
    total = _open(clipped_sums(eager(pd.DataFrame({"x": x})), [column]))[0]
    g = Fraction(8, GRID)
    assert abs(float(len(x) * -3 + g * total) - x.sum()) <= float(g) / 2 * len(x)


# the same on every engine and in every order


def test_engines_agree_to_the_bit() -> None:
    data = table(4_000)
    assert everything(polars(data)) == everything(data)
    nullable = data.copy()
    for name in ("age", "income"):
        nullable[name] = pd.array([None if x != x else x for x in data[name]], dtype="Float64")
        nullable[name + COMPANION] = polars(data)[name + COMPANION].to_numpy()
    assert everything(nullable) == everything(data)


def test_the_order_of_rows_does_not_matter() -> None:
    data = table(4_000)
    shuffled = data.sample(frac=1, random_state=np.random.default_rng(7))
    assert everything(shuffled) == everything(data)
    assert everything(polars(shuffled)) == everything(data)


def test_aggregates_of_chunks_add_up() -> None:
    data = table(4_001)
    parts = [everything(data.iloc[i : i + 997]) for i in range(0, len(data), 997)]
    whole = everything(data)
    assert sum((part[0] for part in parts), Counter()) == whole[0]
    for j in (1, 2):
        columns = zip(*(part[j] for part in parts), strict=True)
        assert [sum(column) for column in columns] == whole[j]
    chunked = pl.concat(
        [polars(data[i : i + 997]) for i in range(0, len(data), 997)], rechunk=False
    )
    assert chunked.n_chunks() > 1
    assert everything(chunked) == whole


def test_names_of_columns_do_not_get_in_the_way() -> None:
    names = ["rows", "code1", "code0", "a0", "k1", "b0"]
    schema = Schema(
        tuple(Column(n, "byte", levels=(0.0, 1.0), bounds=(0.0, 1.0), missing=()) for n in names)
    )
    data = pd.DataFrame({n: [0.0, 1.0, 1.0] for n in names})
    counts = cell_counts(eager(data), encodings(schema, names))
    assert cells(counts) == {(0,) * 6: 1, (1,) * 6: 2}
    assert set(_open(clipped_sums(eager(data), schema.columns))) == {2 * GRID}


# large values


def test_the_digits_leave_room_for_any_number_of_rows() -> None:
    # the largest digit sum of a row is that of a * a at k = 2^20, where a = 1024
    largest = (GRID // 1024) ** 2
    assert 8_000_000_000_000 * largest < 2**63


# sensitivity, by all neighbours


DOMAIN = Schema(
    (
        Column("a", "byte", levels=(0.0, 1.0), missing=()),
        Column("b", "byte", bounds=(0.0, 2.0), missing=(".",)),
    )
)
RECORDS = [(a, b) for a in (0.0, 1.0) for b in (0.0, 1.0, 2.0, NAN)]


def vector(aggregate: Any) -> dict[Any, int]:
    content = _open(aggregate)
    return dict(cells(aggregate)) if isinstance(content, tuple) else dict(enumerate(content))


CODES = encodings(DOMAIN, ["a", "b"])
COLUMNS = [Column("a", bounds=(0.0, 1.0)), Column("b", "byte", bounds=(0.0, 2.0))]
QUERIES: dict[str, Any] = {
    "cells": lambda frame, relation: cell_counts(frame, CODES, relation),
    "one-way counts": lambda frame, relation: one_way_counts(frame, CODES, relation),
    "sums": lambda frame, relation: clipped_sums(frame, COLUMNS, relation),
}


def of_records(rows: Any) -> Any:
    """A table of records, of Polars, which reads small ones at a fraction of the price."""
    return eager(pl.DataFrame([RECORDS[i] for i in rows], schema=["a", "b"], orient="row"))


@cache
def contents(query: str) -> dict[tuple[int, ...], dict[Any, int]]:
    """What a query says of each table of up to three rows, which no relation changes."""
    return {
        rows: vector(QUERIES[query](of_records(rows), "replace-one"))
        for n in (1, 2, 3)
        for rows in itertools.combinations_with_replacement(range(len(RECORDS)), n)
    }


def claim_of(query: str, relation: str) -> Any:
    return QUERIES[query](of_records([0]), relation)


def largest_change(query: str, relation: str) -> tuple[int, int, int]:
    """The largest L1, squared L2 and Linf change between neighbours of up to three rows."""
    found, largest = contents(query), (0, 0, 0)
    for rows, before in found.items():
        rest = {rows[:i] + rows[i + 1 :] for i in range(len(rows))}
        if relation == "add-remove":
            after = [found[r] for r in rest if r]
        else:
            after = [found[tuple(sorted((*r, new)))] for r in rest for new in range(len(RECORDS))]
        for other in after:
            moved = [abs(before.get(k, 0) - other.get(k, 0)) for k in before.keys() | other.keys()]
            change = (sum(moved), sum(m * m for m in moved), max(moved))
            largest = tuple(map(max, largest, change))  # type: ignore[assignment]
    return largest


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_of_cells_is_attained(relation: str) -> None:
    claimed = claim_of("cells", relation)
    assert largest_change("cells", relation)[:2] == (claimed.l1, claimed.l2_squared)
    assert claimed.relation == relation


@pytest.mark.long
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", ["one-way counts", "sums"])
def test_a_sensitivity_is_attained_and_never_exceeded(query: str, relation: str) -> None:
    claimed = claim_of(query, relation)
    assert claimed.relation == relation
    assert largest_change(query, relation) == (claimed.l1, claimed.l2_squared, claimed.l_inf)


def test_the_sensitivities_are_those_of_the_docstrings() -> None:
    data = eager(table(10))
    found = encodings(SCHEMA, SCHEMA.names)
    one_way = one_way_counts(data, found)
    assert (one_way.l1, one_way.l2_squared, one_way.l_inf) == (10, 10, 1)
    assert one_way_counts(data, found, "add-remove").l1 == 5
    sums = clipped_sums(data, NUMERIC)
    assert (sums.l1, sums.l2_squared, sums.l_inf) == (4 * GRID, 4 * GRID**2, GRID)


# totality and silence


def test_nothing_is_raised_or_warned_whatever_the_rows_hold() -> None:
    odd = [NAN, INF, -INF, 1e308, -1e308, 5e-324, *tagged([1, 26])]
    data = pd.DataFrame(
        {c.name: odd for c in NUMERIC} | {"region": ["x", None, b"\xff", "", *"abcd"]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counted, one_way, *_ = everything(data)
    assert counted.total() == len(odd)
    assert sum(one_way) == 5 * len(odd)


def test_what_is_returned_shows_no_number() -> None:
    data = eager(pd.DataFrame({"x": [1.0] * 918}))
    column = Column("x", "byte", bounds=(0.0, 1.0), missing=())
    for aggregate in (
        cell_counts(data, encodings(Schema((column,)), ["x"])),
        clipped_sums(data, [column]),
    ):
        assert "918" not in repr(aggregate) + str(aggregate)


@pytest.mark.parametrize("column", [Column("x"), Column("x", "str3", levels=("a",))])
def test_a_column_without_bounds_has_no_sums(column: Column) -> None:
    with pytest.raises(
        SchemaError, match=r"column 'x' has no bounds; declare bounds=\(low, high\)"
    ):
        clipped_sums(eager(pd.DataFrame({"x": [918273645.0]})), [column])


@pytest.mark.parametrize(
    "bounds",
    [(0.0, 5e-324), (0.0, 9e-61), (-1e154, 1e154), (1e60, 1.1e60), (-8e307, 8e307)],
)
def test_bounds_whose_squares_may_be_no_doubles_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(
        SchemaError, match="give bounds within 1e\\+60 of 0 and at least 1e-60 apart"
    ):
        Clipped(Column("x", bounds=bounds))


@pytest.mark.parametrize("bounds", [(0.0, 1e-60), (-1e60, 1e60)])
def test_bounds_whose_squares_are_doubles_are_taken(bounds: tuple[float, float]) -> None:
    assert Clipped(Column("x", bounds=bounds)).step > 0
