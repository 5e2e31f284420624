"""Arms, blocks and clusters of an experiment: what is read, pooled and refused."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Custom, Factorial, Simple
from dprct.assignment.groups import Design, Units
from dprct.errors import ModelPicklingError, ParameterError, SchemaError
from dprct.estimate.experiment import Experiment, check_hidden, experiment_of, hidden_arms, pooled
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    given = {"control": None, "blocks": "weight", "privacy_unit": "person"}
    data = options.pop("data", ROWS)
    return experiment_of(data, treatment, design, **{**given, "attrition": False, **options})


def test_control_comes_first_whatever_its_code() -> None:
    found = bound(treatment="t")
    assert found.arms == ("control", "t")
    assert found.codes.tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    coded = bound(Complete([2, 1], arm="code"), control=1)
    assert coded.arms == ("1", "2")
    assert coded.codes.tolist() == found.codes.tolist()


def test_what_to_do_about_a_design_does_not_repeat_what_was_said() -> None:
    lacking = ROWS.assign(block=[None, *ROWS["block"][1:]])
    design = Block("t", block="block")
    with pytest.raises(ParameterError, match=r"leave the others out.*or say attrition=True"):
        bound(design, data=lacking)
    with pytest.raises(ParameterError, match=r"declare the design that was used$"):
        bound(design, data=lacking, attrition=True)


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
        (Complete("t"), {"blocks": "pool"}, "allowed: weight, ignore"),
        (Complete("t", shares=0.1), {}, "not one of the design"),
        (FACTORIAL, {}, "blocks=.ignore."),
        (Complete("t"), {"blocks": {0: "a"}}, "has none of its own"),
        (Block("t", block="block"), {"blocks": {7: "a"}}, "not a block of the design"),
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


def test_an_empty_arm_is_not_blamed_on_blocks_that_are_not_there() -> None:
    for arm in (0.0, 1.0):
        rows = pd.DataFrame({"t": [arm] * 9 + [1 - arm]})
        with pytest.raises(ParameterError, match="error cannot be estimated; declare the") as found:
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


BIT: dict[str, Any] = {"type": "byte", "levels": (0.0, 1.0), "missing": ()}
LAST = {"shares": {1.0: 0.5, 2.0: 0.5, None: 0.5}}


def schema(*more: Column) -> Schema:
    return Schema(
        (
            Column("t", **BIT),
            Column("t2", **BIT),
            Column("a", **BIT, exclusive="arm"),
            Column("b", **BIT, exclusive="arm"),
            Column("code", "str1", levels=("c", "t")),
            Column("three", "byte", levels=(0.0, 1.0, 2.0), missing=()),
            Column("gone", "byte", levels=(0.0, 1.0), missing=(".",)),
            Column("whole", "byte", bounds=(0, 1), missing=()),
            Column("block", "byte", levels=(1.0, 2.0), missing=(".",)),
            Column("village", "int", missing=()),
            *more,
        )
    )


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (None, "needs assignment="),
        (Cluster("t", cluster="village"), "clusters were assigned"),
        (Block("t", block="village", shares={0.0: 0.5, 1.0: 0.2}), "differ between blocks"),
        (Factorial([Simple("t"), Cluster("t2", cluster="village")]), "clusters were assigned"),
        (Block("t", block="block", shares={1.0: 0.5, 2.0: 0.5}), "lacks a block that the schema"),
        (Block("t", block="village", shares={1.0: 0.5}), "has no declared levels"),
        (
            Block("t", block=["block", "three"], shares={(1.0, 0.0): 0.5}),
            "lacks a block that the schema",
        ),
        (Factorial([Simple("t2"), Block("t", block="block", shares={1.0: 0.5})]), "lacks a block"),
        (Simple(["t", "t2"]), "that are in no group"),
        (Simple(["t", "a"]), "that are in no group"),
        (Simple(["a", "b"], control_share=0), "that are in no group"),
        (Simple("three"), "declare its levels, here 0, 1"),
        (Simple("whole"), "declare its levels, here 0, 1"),
        (Simple("gone"), "may be missing"),
        (Complete(["c"], arm="code"), "declare its levels, here c"),
    ],
)
def test_what_would_be_refused_by_rows_is_refused_by_the_schema(
    design: Design | None, words: str
) -> None:
    with pytest.raises((ParameterError, SchemaError), match=words):
        check_hidden(design, schema())


@pytest.mark.parametrize(
    "design",
    [
        Simple("t"),
        Complete("t", counts=20),
        Simple(["a", "b"]),
        Complete(["c", "t"], arm="code"),
        Complete([0, 1, 2], arm="three"),
        Block("t", block="block", **LAST),
        Block("t", block="village"),
        Block("t", block=["block", "three"]),
        Factorial([Complete("t"), Complete("t2")]),
        Factorial([Complete(["a", "b"]), Block("t2", block="block", **LAST)]),
        Custom(lambda rows, rng: rng.random(len(rows)) < 0.5, "t", shares=0.5),
    ],
)
def test_a_design_that_every_legal_table_could_come_from_is_taken(design: Design) -> None:
    check_hidden(design, schema())


@pytest.mark.parametrize(
    ("design", "order", "shares"),
    [
        (Complete(["a", "b"]), (2, 0, 1), (Fraction(1, 3),) * 3),
        (Simple("t", shares=0.01), (1, 0), (Fraction(99, 100), Fraction(1, 100))),
        (Complete("t", counts=20), (1, 0), (Fraction(4, 5), Fraction(1, 5))),
        (Block("t", block="block", **LAST), (1, 0), (Fraction(1, 2),) * 2),
        (
            Factorial([Complete("t", counts=20), Simple("t2", shares=0.5)]),
            (3, 0, 1, 2),
            (Fraction(2, 5), Fraction(1, 10), Fraction(1, 10), Fraction(2, 5)),
        ),
        (
            Custom(lambda rows, rng: rows, "t", shares=0.25),
            (1, 0),
            (Fraction(3, 4), Fraction(1, 4)),
        ),
    ],
)
def test_shares_are_the_fractions_that_the_design_means(
    design: Design, order: Sequence[int], shares: tuple[Fraction, ...]
) -> None:
    arms = hidden_arms(design, order, 100)
    assert arms.shares == shares
    assert arms.values == tuple(design.groups.values[group] for group in order)
    assert arms.n == 100


def test_a_design_without_common_probabilities_is_refused() -> None:
    class Own(Simple):
        common = Design.common

    for design in (Own("t"), Custom(lambda rows, rng: rows, "t")):
        with pytest.raises(ParameterError, match="shares="):
            hidden_arms(design, (1, 0), 100)
    with pytest.raises(ParameterError, match="counts of this frame"):
        hidden_arms(Complete("t", counts=101), (1, 0), 100)
    with pytest.raises(ParameterError, match="declared share 0"):
        hidden_arms(Custom(lambda rows, rng: rows, "t", shares=1.0), (1, 0), 100)


UNITS = Units(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 2, 1]), [1.0, None, ("a", 2)])
EQUAL = np.full((5, 2), 0.5)


def test_named_blocks_go_together_and_others_stay() -> None:
    found = pooled(UNITS, {1: "p", None: "p"}, EQUAL)
    assert found.member.tolist() == [0, 0, 1, 2, 3]
    assert found.block.tolist() == [0, 0, 1, 0]
    assert len(found.labels) == 2
    # a pool is no block, whatever it is called
    assert pooled(UNITS, {1: "1.0"}, EQUAL).block.tolist() == UNITS.block.tolist()


def test_pools_have_the_same_shares() -> None:
    chances = np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6], [0.5, 0.5], [0.4, 0.6]])
    assert pooled(UNITS, {1: "p", ("a", 2): "p"}, chances).block.tolist() == [0, 1, 0, 1]
    with pytest.raises(ParameterError, match="shares differ"):
        pooled(UNITS, {1: "p", None: "p"}, chances)


def test_labels_and_names_are_checked() -> None:
    with pytest.raises(ParameterError, match="not a block of the design"):
        pooled(UNITS, {2: "p"}, EQUAL)
    with pytest.raises(ParameterError, match="blocks= has the pool 3; give a text"):
        pooled(UNITS, {1: 3}, EQUAL)  # type: ignore[dict-item]
