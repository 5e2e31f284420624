"""Groups and the values that tell them apart in the file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.assignment.groups import checked_names, indicators, levels, listed
from dprct.errors import ParameterError

ARMS = indicators(["cash", "therapy"], control=True)
TEXT = levels("arm", ["a", "b"])


@pytest.mark.parametrize(
    "groups", [ARMS, TEXT, levels("treat", [0, 1, 7]), indicators(["a", "b"], control=False)]
)
def test_codes_undo_frames(groups):
    codes = np.random.default_rng(1).integers(0, len(groups.names), 50)
    frame = groups.frame(codes)
    assert tuple(frame.columns) == groups.columns
    assert groups.codes(frame).tolist() == codes.tolist()
    assert groups.problems(frame) == []


def test_indicators_and_codes_are_doubles_as_in_a_read_file():
    assert set(ARMS.frame(np.array([0, 2])).dtypes) == {np.dtype("float64")}
    assert levels("treat", [0, 1]).frame(np.array([1]))["treat"].dtype == np.float64
    assert TEXT.frame(np.array([1]))["arm"].tolist() == ["b"]


@pytest.mark.parametrize("dtype", ["int8", "Int64", "bool", "float32", "object"])
def test_a_realised_assignment_may_have_any_numeric_type(dtype):
    rows = pd.DataFrame({"cash": [1, 0, 0], "therapy": [0, 1, 0]}).astype(dtype)
    assert ARMS.codes(rows).tolist() == [0, 1, 2]
    assert ARMS.problems(rows) == []


def test_categories_are_read_as_their_values():
    rows = pd.DataFrame({"arm": pd.Categorical(["b", "a"])})
    assert TEXT.codes(rows).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"cash": [1, None], "therapy": [0, 0]}, "column 'cash' has missing values"),
        ({"cash": [1, 2], "therapy": [0, 0]}, "column 'cash' has values that no group has"),
        ({"cash": [1, 0], "therapy": [1, 0]}, "arms 'cash', 'therapy' overlap"),
    ],
)
def test_rows_in_no_group_are_described_without_their_values(rows, says):
    (problem,) = ARMS.problems(pd.DataFrame(rows))
    assert says in problem
    assert "2" not in problem


def test_without_a_control_group_everybody_is_in_an_arm():
    groups = indicators(["a", "b"], control=False)
    (problem,) = groups.problems(pd.DataFrame({"a": [1, 0], "b": [0, 0]}))
    assert "exactly one of the arms 'a', 'b' is 1" in problem


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: indicators(["a", "a"], control=True), "one of them twice"),
        (lambda: indicators([], control=True), "nothing"),
        (lambda: indicators(["a", 3], control=True), "names of columns, as text"),
        (lambda: indicators(["a", "control"], control=True), "control_share=0"),
        (lambda: levels("t", [1, 1.0]), "a level twice"),
        (lambda: levels("t", [1, "b"]), "not all numbers or all text"),
        (lambda: levels("t", [float("nan"), 1]), "not all numbers or all text"),
        (lambda: levels("t", []), "not all numbers or all text"),
        (lambda: levels("", [1, 2]), "names of columns"),
        (lambda: checked_names(None, "cluster"), "cluster= is NoneType"),
        (lambda: listed(object(), "arms"), "arms= is object; give a list"),
    ],
)
def test_what_is_no_group_is_refused(make, says):
    with pytest.raises(ParameterError, match=says):
        make()


def test_an_arm_may_be_the_control_group():
    assert indicators(["treat", "control"], control=False).names == ("treat", "control")
