"""What is publicly known of clusters stands with the design."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprct import BlockCluster, Cluster, Complete, Factorial
from dprct.assignment.clusters import ClusterFacts
from dprct.errors import ParameterError
from dprct.model import OF_CLUSTERS
from dprct.study.sections import design_from


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"largest": 0}, "largest=0; give the most rows"),
        ({"largest": True}, "largest="),
        ({"largest": 4.0}, "largest="),
        ({"largest": "4"}, "largest="),
        ({"icc": 1.5}, "icc is 1.5; declare an upper bound from 0 to 1"),
        ({"icc": {"y": -1}}, "icc of 'y' is -1"),
        ({"cluster_mean_bounds": (1, 0)}, "first number"),
        ({"cluster_mean_bounds": {"y": 3}}, "of 'y' is 3; give a list of numbers"),
        ({"icc": 0.1, "cluster_mean_bounds": {"y": (0, 1)}}, "leave the other out"),
        ({"icc": {"y": 0.1}, "cluster_mean_bounds": {"y": (0, 1)}}, "of 'y' icc= and"),
    ],
)
def test_facts_of_clusters_are_checked(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Cluster("t", cluster="village", **facts)
    assert says in str(caught.value)


def test_facts_are_found_by_outcome() -> None:
    design = BlockCluster(
        "t", block="region", cluster="village", largest=60,
        icc={"y": 0.1}, cluster_mean_bounds={"z": (0, 1)},
    )  # fmt: skip
    found = design.cluster_facts
    assert found.largest == 60
    assert found.correlations(["y", "z"]) == {"y": Fraction(1, 10)}
    assert found.means(["y", "z"]) == {"z": (Fraction(0), Fraction(1))}
    assert found.outcomes == ("y", "z")
    with pytest.raises(ParameterError, match="there are several outcomes"):
        Cluster("t", cluster="v", cluster_mean_bounds=(0, 1)).cluster_facts.means(["y", "z"])


def test_factors_share_what_is_known_of_their_clusters() -> None:
    known, silent = Cluster("a", cluster="v", icc=0.1), Cluster("b", cluster="v")
    assert Factorial([known, silent]).cluster_facts == known.cluster_facts
    assert Factorial([Complete("a"), Complete("b")]).cluster_facts == ClusterFacts()
    with pytest.raises(ParameterError, match="declare different"):
        Factorial([known, Cluster("b", cluster="v", icc=0.2)])


def test_a_study_file_declares_them_with_the_design() -> None:
    table = {"kind": "cluster", "arms": ["t"], "cluster": "v", "largest": 9, "icc": {"y": 0.2}}
    found = design_from({"design": table})
    assert found is not None
    assert found.cluster_facts == ClusterFacts(9, {"y": 0.2})
    assert set(OF_CLUSTERS) <= set(Cluster.__dataclass_fields__)
