"""Columns of any frame: kinds, missing values, levels and their order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.formula.design_matrix import categories_of, columns_of, is_factor, is_missing, numbers_of
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema


def levels(column, schema=None, mode="data"):
    return list(categories_of("x", pd.Series(column), schema, mode).categories)


def test_levels_of_the_data_are_sorted_and_whole():
    assert levels([3.0, 1.0, 2.0, 1.0]) == [1, 2, 3]
    assert levels([0.5, 0.0]) == [0, 0.5]
    assert levels(["b", "a"]) == ["a", "b"]
    assert levels([True, False]) == [False, True]
    assert levels([b"b", "a", b"\xff"]) == ["\\xff", "a", "b"]
    assert [type(level) for level in levels([1.0])] == [int]


def test_a_categorical_column_keeps_its_order():
    column = pd.Categorical(["lo", "hi", "lo"], categories=["none", "lo", "hi"])
    assert levels(column) == ["lo", "hi"]


def test_codes_are_those_of_the_rows():
    found = categories_of("x", pd.Series([3.0, 1.0, 3.0, 2.0]), None, "data")
    assert [found.categories[code] for code in found.codes] == [3, 1, 3, 2]


def test_declared_levels_give_order_base_and_limits():
    schema = Schema((Column("x", levels=(2, 1, 3)),))
    assert levels([1.0, 2.0], schema) == [2, 1]
    assert levels([1.0, 2.0], schema, "schema") == [2, 1, 3]
    with pytest.raises(SchemaError, match="'x' has values outside") as refusal:
        levels([1.0, 987.0], schema)
    assert "987" not in str(refusal.value)


def test_labelled_codes_are_levels_but_do_not_forbid_others():
    labels = {"yn": {1: "yes", 0: "no", ".a": "refused"}}
    schema = Schema((Column("x", value_label="yn"),), FileFacts(value_labels=labels))
    assert levels([1.0], schema, "schema") == [0, 1]
    assert levels([1.0, 0.0, -5.0], schema) == [0, 1, -5]
    with pytest.raises(SchemaError, match="outside its levels"):
        levels([-5.0], schema, "schema")


def test_public_levels_are_needed_where_the_data_must_not_speak():
    with pytest.raises(SchemaError, match="declare levels"):
        levels([1.0], Schema((Column("x"),)), "schema")


def test_missing_values_of_every_kind():
    assert is_missing(pd.Series(tagged([0, 1, 26]))).all()
    assert is_missing(pd.Series(["", None, "a", b""], dtype=object)).tolist() == [1, 1, 0, 1]
    assert is_missing(pd.Series([1, None], dtype="Int8")).tolist() == [False, True]
    assert is_missing(pd.Series(["", "x"], dtype="category")).tolist() == [True, False]
    assert np.isnan(numbers_of(pd.Series([None, True], dtype="boolean"))[0])


@pytest.mark.parametrize(
    ("column", "expected"),
    [([1.5], False), ([True], False), (["a"], True), (pd.Categorical([1]), True)],
)
def test_what_is_a_factor(column, expected):
    assert is_factor(pd.Series(column)) is expected


def test_unknown_repeated_and_no_frame():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ColumnError, match="2 columns 'a'"):
        columns_of(frame, ["a"])
    with pytest.raises(ColumnError, match="did you mean 'age'"):
        columns_of(pd.DataFrame({"age": [1]}), ["aeg"])
    with pytest.raises(ParameterError, match="data is dict"):
        columns_of({"a": [1]}, ["a"])


def test_polars_frames_are_read_eager_and_lazy():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    for given in (frame, frame.lazy()):
        found = columns_of(given, ["b", "a"])
        assert list(found.columns) == ["b", "a"]
        assert is_missing(found["a"]).tolist() == [False, True]
    with pytest.raises(ColumnError):
        columns_of(frame.lazy(), ["c"])
