"""What regressions accept as clusters and weights; through ``ols`` in test_ols.py as well."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.formula import design
from dprct.results.ols import (
    check_finite,
    cluster_codes,
    covariance_named,
    one_per_row,
    weights_of,
)

EVERY = np.ones(3, bool)


@pytest.mark.parametrize(
    ("given", "groups", "expected"),
    [
        ("hc3", None, "HC3"),
        ("CR1", "g", "cluster"),
        ("HC1", "g", "cluster"),
        ("NonRobust", None, "nonrobust"),
    ],
)
def test_names_of_covariances(given, groups, expected):
    assert covariance_named(given, groups) == expected


@pytest.mark.parametrize(
    ("given", "groups", "says"),
    [("robust", None, "HC1"), ("cluster", None, "cluster="), ("HC3", "g", "leave out one")],
)
def test_covariances_that_do_not_exist(given, groups, says):
    with pytest.raises(ParameterError, match=says):
        covariance_named(given, groups)


def test_one_value_per_row():
    rows = pd.DataFrame({"g": [3, 1, 3]})
    assert one_per_row("g", rows, 3, "cluster").tolist() == [3, 1, 3]
    with pytest.raises(ParameterError, match="2 values for 3 rows"):
        one_per_row([1, 2], rows, 3, "cluster")


def test_clusters_are_coded_among_the_rows_used():
    column = pd.Series(["x", "b", "a", "b"])
    assert cluster_codes(column, np.array([False, True, True, True])).tolist() == [0, 1, 0]
    with pytest.raises(ParameterError, match="at least two"):
        cluster_codes(column, np.array([False, True, False, True]))


@pytest.mark.parametrize(
    ("weights", "says"),
    [([1, -1, 1], "negative"), ([1, np.nan, 1], "missing"), (["a", "b", "c"], "text")],
)
def test_weights_that_are_none(weights, says):
    with pytest.raises(ParameterError, match=says):
        weights_of(weights, "aweight", pd.DataFrame({"y": [1, 2, 3]}), EVERY)


def test_a_missing_weight_of_an_incomplete_row_is_no_matter():
    complete = np.array([True, False, True])
    found = weights_of([1, np.nan, 2], "aweight", pd.DataFrame({"y": [1, 2, 3]}), complete)
    assert found[complete].tolist() == [1, 2]


def test_infinity_is_refused_by_name():
    with pytest.raises(ParameterError, match="'x' is infinite"):
        check_finite(design("y ~ x", pd.DataFrame({"y": [1.0, 2], "x": [1, np.inf]})))
