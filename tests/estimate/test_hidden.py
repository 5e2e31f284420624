"""Where treatment is private, design and schema decide what is refused, and no row does."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from dprct.assignment import Block, Cluster, Complete, Custom, Factorial, Simple
from dprct.assignment.base import Design
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.experiment import check_hidden, hidden_arms
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

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
