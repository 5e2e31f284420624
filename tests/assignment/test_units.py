"""Rows, clusters and blocks of any data frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.assignment.groups import lacking, rows_of, units_of
from dprct.errors import ColumnError, ParameterError
from dprct.missing import tagged
from dprct.schema.tables import NumPyTable

ROWS = pd.DataFrame({"a": ["x", "y", "x", "y", "x"], "b": [1.0, 1, 2, 2, 1], "c": [5, 6, 7, 8, 5]})


def test_without_blocks_all_rows_are_one():
    units = units_of(ROWS, (), ())
    assert units.sizes.tolist() == [5]
    assert units.member.tolist() == [0, 1, 2, 3, 4]


def test_combinations_of_columns_are_blocks():
    units = units_of(ROWS, ("a", "b"), ())
    labels = [units.labels[code] for code in units.block]
    assert labels == list(ROWS[["a", "b"]].itertuples(index=False, name=None))
    assert sorted(units.sizes) == [1, 1, 1, 2]


def test_clusters_lie_in_blocks():
    units = units_of(ROWS, ("b",), ("c",))
    assert len(units.block) == 4
    assert units.member[0] == units.member[4]
    assert [units.labels[code] for code in units.block[units.member]] == ROWS["b"].tolist()
    assert units.first_rows().tolist() == [0, 1, 2, 3]
    assert units.sizes.tolist() == [2, 2]


def test_a_cluster_in_two_blocks_is_refused():
    with pytest.raises(ParameterError, match="'c' lies in more than one block of 'a'"):
        units_of(ROWS.assign(a=["x", "y", "x", "y", "y"]), ("a",), ("c",))


def test_missing_blocks_are_a_block_and_missing_clusters_refused():
    rows = pd.DataFrame({"s": [1.0, np.nan, np.nan], "t": ["u", None, "u"]})
    assert sorted(units_of(rows, ("s",), ()).sizes) == [1, 2]
    assert sorted(units_of(rows, ("t",), ()).sizes) == [1, 2]
    with pytest.raises(ParameterError, match="cluster column 's' has missing values"):
        units_of(rows, (), ("s",))


@pytest.mark.parametrize("dtype", ["float64", "Int64", "category", "object"])
def test_missing_blocks_are_none_whatever_the_type(dtype):
    rows = pd.DataFrame({"s": pd.Series([1, None, 2]).astype(dtype), "t": [1, 1, 2]})
    assert set(units_of(rows, ("s",), ()).labels) == {1, 2, None}
    assert set(units_of(rows, ("s", "t"), ()).labels) == {(1, 1), (None, 1), (2, 2)}


@pytest.mark.parametrize("names", [[], ["b"]])
@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, lambda f: pl.DataFrame(f).lazy()])
def test_any_data_frame_has_rows(names, convert):
    rows, index = rows_of(convert(ROWS), names)
    assert len(rows) == len(index) == 5
    assert list(rows.columns) == names


def test_the_frames_own_index_is_kept():
    _, index = rows_of(ROWS.set_axis(list("edcba"), axis=0), ["b"])
    assert index.tolist() == list("edcba")


@pytest.mark.parametrize("empty", [pd.DataFrame(), ROWS.iloc[:0], pl.DataFrame()])
def test_a_frame_without_rows_is_refused(empty):
    with pytest.raises(ParameterError, match="no rows"):
        rows_of(empty, [])


def test_unknown_columns_are_named():
    assert lacking(ROWS, ["a", "strata"]) == ["strata"]
    with pytest.raises(ColumnError, match="no column 'strata'"):
        rows_of(ROWS, ["strata"])


def test_blocks_of_arrays_are_those_of_the_frame():
    """Zeros of both signs are one value, as are missing codes; bytes and texts differ."""
    rng = np.random.default_rng(5)
    numbers = np.array([0.0, -0.0, *tagged(np.array([0, 1, 3])), np.inf, 2.0**53, 2.0**53 + 2, 0.1])
    texts = np.array(["a", "a\0", "", b"a", b"", "e\u0301", "\u00e9", "nan", "b\udc80"], object)
    arrays = {"x": rng.choice(numbers, 300), "town": rng.choice(texts, 300)}
    arrays["odd"] = rng.choice(np.array(["a", "b\udc80"], object), 300)  # texts alone, not UTF-8
    frame = pd.DataFrame({name: pd.Series(x, dtype=x.dtype) for name, x in arrays.items()})
    for columns in (("x",), ("town",), ("odd",), ("x", "town")):
        here, there = (units_of(one, columns, ()) for one in (NumPyTable(arrays, 300), frame))
        assert [*map(repr, here.labels)] == [*map(repr, there.labels)]
        assert here.member.tolist() == there.member.tolist()
        assert here.block.tolist() == there.block.tolist()
