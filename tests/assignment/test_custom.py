"""Designs of the user's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Custom
from dprct.errors import ColumnError, ParameterError

ROWS = pd.DataFrame({"x": [3.0, 1.0, 2.0, 4.0], "secret": [1, 2, 3, 4]}, index=list("dcba"))


def returns(value):
    return lambda frame, rng: value


@pytest.mark.parametrize(
    "value",
    [
        [1, 0, 0, 1],
        np.array([True, False, False, True]),
        np.array([[1.0], [0.0], [0.0], [1.0]]),
        pd.Series([1, 0, 0, 1], index=[9, 8, 7, 6]),
        pd.DataFrame({"t": [1, 0, 0, 1]}, index=[9, 8, 7, 6]),
        {"t": [1, 0, 0, 1]},
    ],
)
def test_a_procedure_may_return_what_has_the_rows(value):
    assigned = Custom(returns(value), "t").assign(ROWS, 1)
    assert assigned["t"].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert assigned.index.tolist() == list("dcba")


def test_columns_are_put_in_order():
    design = Custom(returns({"b": [0, 1], "a": [1, 0]}), ["a", "b"])
    assert design.assign(ROWS[:2], 1).columns.tolist() == ["a", "b"]
    assert design.arms == ("a", "b", "control")


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ([1, 0, 0], ParameterError, "returned 3 rows; it was given 4"),
        (None, ParameterError, "no table of columns 'a', 'b'"),
        (np.zeros((4, 3)), ParameterError, "no table of columns"),
        ({"a": [0] * 4}, ColumnError, "1 columns that are not 'a', 'b'"),
        ({"a": [0] * 4, "b": [0] * 4, "c": [0] * 4}, ColumnError, "3 columns that are not"),
        ({"a": [1] * 4, "b": [1] * 4}, ParameterError, "arms 'a', 'b' overlap"),
        ({"a": [2] * 4, "b": [0] * 4}, ParameterError, "values that no group has"),
        ({"a": [None] * 4, "b": [0] * 4}, ParameterError, "missing values"),
    ],
)
def test_what_is_no_assignment_is_refused(value, error, says):
    if isinstance(value, list):
        value = {"a": value, "b": value}
    with pytest.raises(error, match=says):
        Custom(returns(value), ["a", "b"]).assign(ROWS, 1)


def test_a_procedure_sees_a_copy_of_the_columns_it_names():
    seen = []

    def procedure(frame, rng):
        seen.append(frame.columns.tolist())
        frame["x"] = 0.0
        return np.zeros(len(frame))

    before = ROWS.copy()
    design = Custom(procedure, "t", uses="x")
    design.assign(ROWS, 1)
    assert seen == [["x"]]
    assert ROWS.equals(before)
    assert "by procedure from 'x'" in design.describe()


def test_levels_are_codes_of_one_column():
    design = Custom(lambda f, rng: rng.permutation([0, 1, 2, 2]), "t", levels=[0, 1, 2])
    assert sorted(design.assign(ROWS, 1)["t"]) == [0, 1, 2, 2]
    with pytest.raises(ParameterError, match="no group"):
        Custom(returns([3] * 4), "t", levels=[0, 1]).assign(ROWS, 1)


def test_probabilities_are_declared_or_unknown():
    with pytest.raises(ParameterError, match="declare shares="):
        Custom(returns([0] * 4), "t").probabilities(ROWS)
    chances = Custom(returns([0] * 4), ["a", "b"], shares=[0.2, 0.3]).probabilities(ROWS)
    assert chances.iloc[0].tolist() == [0.2, 0.3, 0.5]
    chances = Custom(returns(0), "t", levels=[0, 1], shares=[0.2, 0.8]).probabilities(ROWS)
    assert chances.iloc[3].tolist() == [0.2, 0.8]


def test_without_controls_everybody_is_in_an_arm():
    design = Custom(returns(np.eye(2)), ["a", "b"], control=False, shares=[0.5, 0.5])
    assert design.assign(ROWS[:2], 1).to_numpy().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ParameterError, match="exactly one of the arms"):
        Custom(returns(np.zeros((2, 2))), ["a", "b"], control=False).assign(ROWS[:2], 1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Custom("coin", "t"), "procedure= is 'coin'; give a function"),
        (lambda: Custom(returns(0), []), "columns= has nothing"),
        (lambda: Custom(returns(0), ["a", "a"]), "one of them twice"),
        (lambda: Custom(returns(0), ["a", "b"], levels=[0, 1]), "levels= is for one column"),
        (lambda: Custom(returns(0), "t", shares=1.5), "a share is 1.5"),
        (lambda: Custom(returns(0), "t", levels=[0, 1], shares=[0.5, 0.4]), "sum to 0.9"),
    ],
)
def test_what_is_no_design_is_refused(make, says):
    with pytest.raises(ParameterError, match=says):
        make()
