from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import ModelPicklingError, ParameterError
from dprct.estimate.experiment import Experiment, experiment_of

ROWS = pd.DataFrame(
    {
        "t": [1.0, 0, 1, 0, 1, 0, 1, 0],
        "code": [2.0, 1, 2, 1, 2, 1, 2, 1],
        "block": [0.0, 0, 0, 0, 1, 1, 1, 1],
        "u": [1.0, 0, 0, 1, 1, 0, 0, 1],
        "home": [1.0, 2, 1, 2, 3, 4, 3, 4],
    }
)

FACTORIAL = Factorial([Block("t", block="block"), Simple("u")])


def bound(design: Any = None, treatment: Any = None, **options: Any) -> Experiment:
    given = {"control": None, "blocks": "weight", "privacy_unit": "person", "largest_cluster": None}
    data = options.pop("data", ROWS)
    return experiment_of(data, treatment, design, **{**given, "attrition": False, **options})


def test_control_comes_first_whatever_its_code() -> None:
    found = bound(treatment="t")
    assert found.arms == ("control", "t")
    assert found.codes.tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    coded = bound(Complete([2, 1], arm="code"), control=1)
    assert coded.arms == ("1", "2")
    assert coded.codes.tolist() == found.codes.tolist()


def test_who_is_in_which_arm_is_neither_shown_nor_pickled() -> None:
    found = bound(treatment="t")
    assert "codes" not in repr(found)
    for taken in (pickle.dumps, copy.deepcopy, Experiment.__getstate__):
        with pytest.raises(ModelPicklingError, match="Experiment holds confidential rows"):
            taken(found)


def test_blocks_weigh_by_the_rows_that_count() -> None:
    arms = bound(Block("t", block="block")).counted()
    assert arms.sizes == ((2, 2), (2, 2))
    assert arms.codes.tolist() == [1, 0, 1, 0, 3, 2, 3, 2]
    assert [float(weight) for weight in arms.weights] == [0.5, 0.5]


def test_an_arm_of_one_is_refused_and_blocks_can_be_left_out() -> None:
    observed = np.array([True] * 6 + [False, True])
    with pytest.raises(ParameterError, match="blocks='ignore'"):
        bound(Block("t", block="block")).counted(observed)
    arms = bound(Block("t", block="block"), blocks="ignore").counted(observed)
    assert arms.sizes == ((4, 3),)
    assert arms.codes.tolist() == [1, 0, 1, 0, 1, 0, -1, 0]


def test_clusters_are_counted_as_clusters() -> None:
    found = bound(Cluster("t", cluster="home"))
    assert found.largest == 2
    assert found.counted().clusters is not None
    with pytest.raises(ParameterError, match="two clusters"):
        found.counted(np.array([True] * 6 + [True, False]) & (ROWS["home"] != 4).to_numpy())


@pytest.mark.parametrize(
    ("design", "options", "words"),
    [
        (None, {}, "neither treatment="),
        (Complete([2, 1], arm="code"), {}, "control="),
        (Complete("t"), {"treatment": "code"}, "the design has t"),
        (Complete("t"), {"privacy_unit": "cluster"}, "design of clusters"),
        (Complete("t"), {"privacy_unit": "village"}, "allowed: person, cluster"),
        (Complete("t"), {"blocks": "pool"}, "allowed: weight, ignore"),
        (Complete("t", shares=0.1), {}, "not one of the design"),
        (FACTORIAL, {}, "blocks=.ignore."),
        (Complete("t"), {"blocks": {0: "a"}}, "has none of its own"),
        (Block("t", block="block"), {"blocks": {7: "a"}}, "no block of the design"),
        (Factorial([Cluster("t", cluster="home"), Simple("u")]), {}, "different units"),
        ("complete", {}, "give a design"),
    ],
)
def test_contradictions_are_refused(design: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        bound(design, **options)


def test_blocks_with_too_few_are_pooled_as_declared() -> None:
    observed = np.array([True] * 6 + [False, True])
    found = bound(Block("t", block="block"), blocks={0: "both", 1: "both"}).counted(observed)
    assert found.sizes == ((4, 3),)
    with pytest.raises(ParameterError, match="fewer than two people"):
        bound(Block("t", block="block"), blocks={1: "alone"}).counted(observed)


@pytest.mark.parametrize("largest", [4.0, "4", np.int64(4), True, [4]])
def test_the_largest_cluster_is_a_whole_number(largest: Any) -> None:
    with pytest.raises(ParameterError, match=r"largest_cluster=.*as a whole number"):
        bound(Cluster("t", cluster="home"), privacy_unit="cluster", largest_cluster=largest)


def test_an_empty_arm_is_not_blamed_on_blocks_that_are_not_there() -> None:
    for arm in (0.0, 1.0):
        rows = pd.DataFrame({"t": [arm] * 9 + [1 - arm]})
        with pytest.raises(ParameterError, match="no error can be told; declare the") as found:
            bound(treatment="t", data=rows).counted()
        assert "block" not in str(found.value)


def test_clusters_within_blocks_are_counted_by_block() -> None:
    rows = pd.DataFrame({"block": np.repeat([0.0, 1.0], 8), "home": np.repeat(np.arange(8.0), 2)})
    rows["t"] = rows["home"] % 2
    design = BlockCluster("t", block="block", cluster="home")
    found = bound(design, data=rows)
    arms = found.counted()
    assert arms.sizes == ((4, 4), (4, 4))
    assert arms.clusters is not None
    whole = bound(design, data=rows, blocks="ignore").counted()
    assert whole.sizes == ((8, 8),)


def test_factors_that_assign_the_same_clusters_are_read_as_clusters() -> None:
    rows = pd.DataFrame({"home": np.repeat(np.arange(16.0), 2)})
    rows["t"], rows["u"] = rows["home"] % 2, rows["home"] // 2 % 2
    design = Factorial([Cluster("t", cluster="home"), Cluster("u", cluster="home")])
    found = bound(design, data=rows, blocks="ignore")
    assert found.clustered
    assert found.largest == 2
    assert found.arms == ("control", "t+u", "t", "u")
    assert found.order == (3, 0, 1, 2)


def test_simple_randomisation_is_read_given_its_arm_sizes() -> None:
    assert bound(Simple("t")).counted().sizes == ((4, 4),)
