"""Shares as users give them, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.assignment.designs import percent, shares_of
from dprct.errors import ParameterError


def rows(shares=None, control_share=None, arms=2, implicit=True):
    return shares_of(shares, control_share, arms, implicit=implicit).rows


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (1 / 3, 1 / 3, 1 / 3)),
        ({"control_share": 0.5}, (0.25, 0.25, 0.5)),
        ({"control_share": 0}, (0.5, 0.5, 0)),
        ({"shares": [0.2, 0.3]}, (0.2, 0.3, 0.5)),
        ({"shares": [0.2, 0.8]}, (0.2, 0.8, 0)),
        ({"shares": np.array([0.2, 0.3], np.float32), "control_share": 0.5}, (0.2, 0.3, 0.5)),
        ({"shares": 0.1, "arms": 1}, (0.1, 0.9)),
        ({"implicit": False}, (0.5, 0.5, 0)),
        ({"shares": [0.1] * 10, "arms": 10, "implicit": False}, (0.1,) * 10 + (0,)),
    ],
)
def test_what_is_not_said_follows(given, expected):
    if isinstance(given.get("shares"), np.ndarray):
        given = {**given, "shares": given["shares"].astype(float).round(6)}
    (row,) = rows(**given)
    assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"shares": [0.7, 0.7]}, "sum to 1.4"),
        ({"shares": [0.2, 0.3], "control_share": 0.4}, "sum to 0.9"),
        ({"shares": [0.2, 0.3], "implicit": False}, "sum to 0.5; the shares of all groups"),
        ({"shares": [-0.1, 0.3]}, "a share is -0.1; shares are numbers from 0 to 1"),
        ({"shares": [float("nan"), 0.3]}, "a share is nan"),
        ({"shares": ["half", 0.3]}, "a share is 'half'"),
        ({"shares": "0.5", "arms": 1}, "a share is '0.5'"),
        ({"shares": [0.2]}, "1 number for 2 arms"),
        ({"shares": object()}, "shares= is object"),
        ({"shares": [0.0, 0.3]}, "share of arm 1 is 0"),
        ({"shares": {}}, "empty mapping"),
        ({"shares": {"x": [0.5, 0.6]}}, "sum to 1.1"),
        ({"control_share": 0.2, "implicit": False}, "arms with a column"),
        ({"control_share": 1.0}, "share of arm 1 is 0"),
    ],
)
def test_shares_that_are_none_are_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        rows(**given)


def test_shares_by_block_are_found_by_label():
    shares = shares_of({1: [0.5, 0.5], 2: [0.1, 0.2]}, None, 2, implicit=True)
    assert shares.of([2.0, 1.0], ["strata"]).tolist() == [
        pytest.approx([0.1, 0.2, 0.7]),
        [0.5, 0.5, 0.0],
    ]
    assert shares.control
    assert shares.text("abc") == "a 10% to 50%, b 20% to 50%, c 0% to 70%"
    with pytest.raises(ParameterError, match="lacks 1 of the blocks of 'strata'"):
        shares.of([3, 1], ["strata"])


def test_an_arm_may_be_closed_in_one_block():
    shares = shares_of({1: [0, 0.5], 2: [0.5, 0]}, None, 2, implicit=True)
    assert shares.rows == ((0, 0.5, 0.5), (0.5, 0, 0.5))


def test_percentages_are_short():
    assert percent(1 / 8) == "12.5%"
