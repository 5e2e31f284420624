from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import ParameterError
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
    given = {"control": None, "blocks": "weight", "unit": "person", "largest_cluster": None}
    return experiment_of(ROWS, treatment, design, **{**given, "attrition": False, **options})


def test_control_comes_first_whatever_its_code() -> None:
    found = bound(treatment="t")
    assert found.arms == ("control", "t")
    assert found.codes.tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    coded = bound(Complete([2, 1], arm="code"), control=1)
    assert coded.arms == ("1", "2")
    assert coded.codes.tolist() == found.codes.tolist()


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
        (Complete("t"), {"unit": "cluster"}, "design of clusters"),
        (Complete("t"), {"unit": "village"}, "allowed: person, cluster"),
        (Complete("t"), {"blocks": "pool"}, "allowed: weight, ignore"),
        (Complete("t", shares=0.1), {}, "not one of the design"),
        (FACTORIAL, {}, "blocks=.ignore."),
        (BlockCluster("t", block="block", cluster="home"), {}, "clusters within blocks"),
        ("complete", {}, "give a design"),
    ],
)
def test_contradictions_are_refused(design: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        bound(design, **options)


def test_simple_randomisation_is_read_given_its_arm_sizes() -> None:
    assert bound(Simple("t")).counted().sizes == ((4, 4),)
