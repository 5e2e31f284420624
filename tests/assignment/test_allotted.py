"""Designs by share or by number: what they accept, and the rules that they check."""

from __future__ import annotations

import pandas as pd
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Simple
from dprct.errors import ParameterError

ROWS = pd.DataFrame({"s": [1, 1, 2, 2], "c": [1, 1, 2, 3]})


def check(design, **columns):
    return list(design.check(ROWS.assign(**columns)))


def test_blocks_must_be_balanced():
    design = Block("t", block="s")
    assert check(design, t=[1, 0, 0, 1]) == []
    assert check(design, t=[1, 1, 0, 0]) == [
        "groups 't', 'control' do not have their shares of the rows in a block of 's', rounded "
        "down or up"
    ]


def test_codes_of_groups_are_said_as_they_are():
    design = Complete([1, 2], arm="t")
    assert check(design, t=[1, 1, 1, 2]) == [
        "groups 1, 2 do not have their shares of the rows in the data, rounded down or up"
    ]


def test_lost_rows_excuse_numbers_but_not_rules():
    design = Block("t", block="s", shares={1: 0.5, 2: 0.0})
    data = ROWS.assign(t=[1, 1, 0, 0])
    assert design.check(data)
    assert not design.check(data, attrition=True)
    (problem,) = design.check(ROWS.assign(t=[1, 0, 1, 0]), attrition=True)
    assert problem == "group 't' has members in a block where its share is 0"


def test_complete_numbers_are_counted_in_the_whole_data():
    assert check(Complete("t"), t=[1, 1, 0, 0]) == []
    (problem,) = check(Complete("t"), t=[1, 1, 1, 0])
    assert problem.endswith("of the rows in the data, rounded down or up")
    assert check(Complete("t", counts=3), t=[1, 1, 1, 0]) == []
    assert check(Complete("t", counts=2), t=[1, 1, 1, 0]) != []


def test_clusters_must_be_whole():
    design = Cluster("t", cluster="c")
    assert check(design, t=[1, 1, 0, 0]) == []
    assert check(design, t=[1, 0, 0, 0]) == ["some cluster of 'c' is split between groups"]
    (problem,) = check(design, t=[1, 1, 1, 1])
    assert "of the clusters of 'c' in the data" in problem


def test_clusters_must_lie_in_blocks():
    design = BlockCluster("t", block="s", cluster="c")
    (problem,) = check(design, t=[1, 1, 0, 0], s=[1, 2, 2, 2])
    assert "some cluster of 'c' lies in more than one block of 's'" in problem


def test_missing_blocks_are_a_problem_of_the_data():
    assert check(Block("t", block="s"), t=[1, 0, 1, 0], s=[1, 1, None, None]) == [
        "column 's' has missing values, and every row is in some block or cluster: leave the "
        "others out"
    ]


def test_blocks_without_shares_are_a_problem_of_the_data():
    (problem,) = check(Block("t", block="s", shares={1: 0.5}), t=[1, 0, 1, 0])
    assert "``shares=`` lacks 1 of the blocks of 's'" in problem


def test_simple_sizes_are_judged_by_their_probability():
    rows = pd.DataFrame({"t": [1.0] * 60 + [0.0] * 40})
    assert not Simple("t").check(rows)
    problems = list(Simple("t", shares=0.1).check(rows))
    assert problems[0] == "group 't' has a size that its share gives with probability below 1e-9"
    assert not Simple("t", shares=0.1).check(rows, attrition=True)


def test_an_arm_without_a_share_in_a_simple_design_has_no_members():
    design = Simple(["a", "control"], shares=[0.5, 0.5])
    assert list(design.check(pd.DataFrame({"a": [1, 0], "control": [0, 1]}))) == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Complete(["a", "a"]), "one of them twice"),
        (lambda: Complete([]), "is empty"),
        (lambda: Complete(3), "arms= is 3"),
        (lambda: Complete(None), "arms= is NoneType"),
        (lambda: Complete("t", shares={1: 0.5}), "Complete has no blocks"),
        (lambda: Complete("t", shares=0.5, counts=2), "both given"),
        (lambda: Complete("t", counts=[1, 2]), "2 numbers for 1 arm;"),
        (lambda: Complete("t", counts=0), "a count is 0"),
        (lambda: Complete("t", counts=1.5), "a count is 1.5"),
        (lambda: Complete("t", counts="many"), "'many'"),
        (lambda: Complete([0, 1], arm="t", control_share=0.5), "control_share= is for arms"),
        (lambda: Block("t", block=[]), "block= has nothing"),
        (lambda: Block("t", block=["s", "s"]), "one of them twice"),
        (lambda: Cluster("t", cluster=2), "cluster= is 2"),
        (lambda: BlockCluster("t", block="s", cluster=()), "cluster= has nothing"),
    ],
)
def test_designs_that_are_none_are_refused(make, says):
    with pytest.raises(ParameterError, match=says):
        make()


@pytest.mark.parametrize(
    ("design", "what"),
    [
        (Complete("t", counts=9), "counts= sum to 9 and the frame has 4 rows"),
        (Complete([0, 1], arm="t", counts=[1, 2]), "counts= sum to 3 and the frame has 4 rows"),
        (Cluster("t", cluster="c", counts=4), "counts= sum to 4 and the frame has 3 clusters"),
    ],
)
def test_counts_must_fit_the_frame(design, what):
    with pytest.raises(ParameterError, match=what):
        design.assign(ROWS, rng=1)


def test_shares_that_the_caller_changes_later_do_not_change_the_design():
    shares = {1: [0.5], 2: [0.25]}
    design = Block("t", block="s", shares=shares)
    shares[1][0] = 0.9
    assert design.probabilities(ROWS)["t"].tolist() == [0.5, 0.5, 0.25, 0.25]


def test_counts_from_other_languages_may_be_whole_doubles():
    assert Complete("t", counts=2.0).counts == (2,)
