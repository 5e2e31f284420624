"""Who is in which arm, and what is no assignment."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.results.itt_estimates import assignment_of

ROWS = pd.DataFrame(
    {
        "a": [1, 0, 0, 0, np.nan],
        "b": [0, 1, 0, 0, 0],
        "c": [0, 0, 1, 0, 0],
        "both": [1, 1, 0, 0, 0],
        "dose": [2, 0, 0, 0, 0],
        "word": ["x", "", "", "", ""],
        "flag": [True, False, False, False, False],
    }
)


def test_everybody_else_is_a_control_but_those_with_a_missing_arm():
    found = assignment_of(ROWS, ["a", "b"])
    assert found.control.tolist() == [False, False, True, True, False]
    assert found.assigned.tolist() == [True, True, True, True, False]
    assert found.members[:, 0].tolist() == [True, False, False, False, False]


def test_a_named_control_group_leaves_others_out():
    found = assignment_of(ROWS, ["a", "b"], control="c")
    assert found.control.tolist() == [False, False, True, False, False]
    assert found.assigned.tolist() == [True, True, True, False, False]


def test_truth_values_are_indicators():
    assert assignment_of(ROWS, ["flag"]).control.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("arms", "control", "says"),
    [
        (["a", "both"], None, "'a' and 'both' overlap"),
        (["a"], "both", "'a' and 'both' overlap"),
        (["dose"], None, "'dose' holds numbers other than 0 and 1"),
        (["word"], None, "'word' holds text"),
        (["a", "a"], None, "twice"),
        (["a"], "a", "twice"),
    ],
)
def test_what_is_no_assignment(arms, control, says):
    with pytest.raises(ParameterError, match=says):
        assignment_of(ROWS, arms, control)


def test_empty_groups_are_named():
    found = assignment_of(ROWS, ["a", "b"])
    found.check(np.ones(5, bool), "y")
    with pytest.raises(ParameterError, match="control group is empty in the rows used for 'y'"):
        found.check(np.array([True, True, False, False, True]), "y")
    with pytest.raises(ParameterError, match="arm 'b' is empty in the rows used for 'y'"):
        found.check(np.array([True, False, True, True, True]), "y")
