"""The designs of textbooks, one by one."""

from __future__ import annotations

import pandas as pd
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Simple
from dprct.assignment.designs import design_of
from dprct.errors import ParameterError

ROWS = pd.DataFrame({"s": list("aaaabbbc"), "c": [1, 1, 2, 3, 4, 4, 5, 6]})


def test_simple_sizes_vary():
    sizes = {Simple("t").assign(ROWS, seed)["t"].sum() for seed in range(50)}
    assert len(sizes) > 3


def test_complete_sizes_do_not():
    assigned = [Complete(["a", "b"], counts=[3, 2]).assign(ROWS, seed) for seed in range(20)]
    assert {tuple(one.sum()) for one in assigned} == {(3.0, 2.0)}
    assert len({tuple(one["a"]) for one in assigned}) > 10


def test_remainders_of_blocks_go_either_way():
    totals = [
        Block("t", block="s").assign(ROWS, k).groupby(ROWS["s"])["t"].sum() for k in range(60)
    ]
    assert {total["a"] for total in totals} == {2.0}
    assert {total["b"] for total in totals} == {1.0, 2.0}
    assert {total["c"] for total in totals} == {0.0, 1.0}


def test_blocks_may_be_combinations_of_columns_with_their_own_shares():
    rows = pd.DataFrame({"x": [1, 1, 2, 2] * 10, "y": [0, 1, 0, 1] * 10})
    shares = {(1, 0): 0.1, (1, 1): 0.2, (2, 0): 0.3, (2, 1): 0.4}
    design = Block("t", block=["x", "y"], shares=shares)
    assert design.uses == ("x", "y")
    totals = design.assign(rows, 1)["t"].groupby([rows["x"], rows["y"]]).sum()
    assert totals.to_dict() == {(1, 0): 1, (1, 1): 2, (2, 0): 3, (2, 1): 4}


def test_clusters_stay_whole_and_are_counted_as_one():
    for seed in range(20):
        assigned = Cluster("t", cluster="c").assign(ROWS, seed)["t"]
        by_cluster = assigned.groupby(ROWS["c"]).agg(["min", "max"])
        assert (by_cluster["min"] == by_cluster["max"]).all()
        assert by_cluster["max"].sum() == 3


def test_clusters_are_balanced_within_blocks():
    rows = ROWS[ROWS["s"] != "c"]
    design = BlockCluster("t", block="s", cluster="c", shares=0.5)
    for seed in range(20):
        first = design.assign(rows, seed)["t"].groupby([rows["s"], rows["c"]]).first()
        assert first["a"].sum() in {1, 2}
        assert first["b"].sum() == 1


def test_blocked_clusters_are_no_blocks_of_rows():
    assert not isinstance(BlockCluster("t", block="s", cluster="c"), Block)


def test_one_column_of_codes():
    design = Complete(["placebo", "drug"], arm="treatment", shares=[0.25, 0.75])
    assigned = design.assign(ROWS, 1)
    assert assigned["treatment"].value_counts().to_dict() == {"drug": 6, "placebo": 2}
    assert design.arms == ("placebo", "drug")
    assert design.columns == ("treatment",)


@pytest.mark.parametrize(
    ("design", "text"),
    [
        (Simple("t"), "Simple randomisation of rows, groups: 't' 50%, 'control' 50%."),
        (
            Complete([0, 1], arm="t", counts=[3, 5]),
            "Complete randomisation of rows, groups of column 't': 0 3, 1 5.",
        ),
        (
            Complete("t", counts=3),
            "Complete randomisation of rows, groups: 't' 3, 'control' the rest.",
        ),
        (
            Block("t", block="s", shares={"a": 0.2, "b": 0.5}),
            "Complete randomisation of rows within blocks of 's', groups: 't' 20% to 50%, "
            "'control' 50% to 80%.",
        ),
        (
            Cluster(["x", "y"], cluster="c", control_share=0),
            "Complete randomisation of clusters of 'c', groups: 'x' 50%, 'y' 50%.",
        ),
        (
            BlockCluster("t", block="s", cluster="c", shares=1 / 3),
            "Complete randomisation of clusters of 'c' within blocks of 's', groups: 't' 33.33%, "
            "'control' 66.67%.",
        ),
    ],
)
def test_descriptions(design, text):
    assert design.describe() == text


def test_without_a_design_rows_were_assigned_completely_at_random() -> None:
    design = Block("t", block="s", shares=0.5)
    assert design_of("t", None) == Complete("t")
    assert design_of(None, design) is design
    assert design_of(["t"], design) is design
    for treatment, assignment, words in (
        (None, None, "neither treatment= nor assignment="),
        ("", None, "names no column"),
        ("z", design, "the design has t"),
        ("t", "t", "assignment is str; give a design"),
    ):
        with pytest.raises(ParameterError, match=words):
            design_of(treatment, assignment)  # type: ignore[arg-type]
