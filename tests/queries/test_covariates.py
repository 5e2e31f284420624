"""Features are total: whatever a row holds is a whole number within the grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.encoding import encodings, prepared
from dprct.errors import SchemaError
from dprct.queries.covariates import HALF, Feature, features_of
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

NAN, INF = float("nan"), float("inf")
AGE = Column("age", "byte", bounds=(20.0, 60.0), missing=(".",))
REGION = Column("region", "str5", levels=("north", "south", ""))
FLAG = Column("flag", "byte", levels=(0.0, 1.0), missing=())


def steps(feature: Feature, data: Any) -> list[int]:
    frame = prepared(eager(data), [feature.column])
    return [int(k) for k in frame.select(feature.steps().alias("k"))["k"].to_list()]


def test_numbers_are_measured_from_the_middle_and_missing_is_there() -> None:
    data = pd.DataFrame({"age": [20, 40, 60, 50, -5, 100, INF, -INF, NAN]}, dtype=float)
    m = HALF
    assert steps(Feature.value(AGE), data) == [-m, 0, m, m // 2, -m, m, m, -m, 0]
    nulls = pl.DataFrame({"age": [20.0, None, 60.0]})
    assert steps(Feature.value(AGE), nulls) == [-m, 0, m]


def test_missing_is_a_feature_where_it_is_a_level() -> None:
    value, missing = features_of([AGE])
    data = pd.DataFrame({"age": [20, NAN, INF]})
    assert steps(missing, data) == [-HALF, HALF, -HALF]
    assert [f.name for f in (value, missing)] == ["age", "missing(age)"]
    assert (missing.middle, missing.half) == (0.5, 0.5)


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_texts_are_their_levels_but_the_first(as_frame: Any) -> None:
    data = as_frame({"region": ["north", "south", "", None, "elsewhere"]})
    south, empty = features_of([REGION])
    m = HALF
    assert steps(south, data) == [-m, m, -m, -m, -m]
    assert steps(empty, data) == [-m, -m, m, m, -m]


def test_an_enum_may_lack_a_level() -> None:
    data = pl.DataFrame({"region": ["north", "north"]}, schema={"region": pl.Enum(["north"])})
    assert steps(features_of([REGION])[0], data) == [-HALF, -HALF]


def test_levels_bound_a_column_that_has_no_bounds() -> None:
    assert Feature.value(FLAG).bounds == (0.0, 1.0)


def test_encodings_are_their_columns() -> None:
    arms = [Column(f"a{k}", "byte", levels=(0.0, 1.0), missing=(), exclusive="g") for k in (1, 2)]
    schema = Schema((AGE.__class__("age", "byte", bounds=(20.0, 60.0), missing=(".",)), *arms))
    found = features_of(encodings(schema, schema.names, 5))
    assert [f.name for f in found] == ["age", "missing(age)", "a1", "a2"]


def test_released_columns_have_the_same_features() -> None:
    columns: dict[str, Any] = {
        "age": np.array([20.0, 45.0, NAN]),
        "region": np.array(["south", "", "north"], object),
    }
    rows = np.column_stack([f.values(columns) for f in features_of([AGE, REGION])])
    assert rows.tolist() == [[20, 0, 1, 0], [45, 0, 0, 1], [40, 1, 0, 0]]
    for feature in features_of([AGE, REGION]):
        own = pd.DataFrame({feature.column.name: columns[feature.column.name]})
        scaled = (feature.values(columns) - feature.middle) / feature.half * HALF
        assert steps(feature, own) == [math.floor(x + 0.5) for x in scaled]


@pytest.mark.parametrize("column", [Column("x"), Column("s", "str3")])
def test_a_column_without_public_facts_is_refused(column: Column) -> None:
    with pytest.raises(SchemaError, match=column.name):
        features_of([column])
