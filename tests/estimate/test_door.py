from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.ate.model import ATESpec, check_relation, policy_of
from dprct.model import BoundTable
from dprct.schema import Column, Schema


def shares_of(asked: Any, *outcomes: str) -> dict[str, Fraction]:
    return ATESpec.of(outcome=outcomes, treatment="t", budget_shares=asked).shares()


def test_shares_are_equal_or_those_that_are_given() -> None:
    assert shares_of(None, "a", "b", "c") == dict.fromkeys("abc", Fraction(1, 3))
    assert shares_of({"b": 0.25, "a": 0.75}, "a", "b") == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
    for asked, words in (
        ({"a": 1}, "a positive share for each of a, b"),
        ({"a": 1, "b": 0}, "a positive share for each of a, b"),
        ({"a": 0.5, "b": 0.4}, "do not sum to one exactly"),
        ("pweight", "is str; give a mapping"),
        ([0.5, 0.5], "is list; give a mapping"),
    ):
        with pytest.raises(ParameterError, match=words):
            shares_of(asked, "a", "b")
    with pytest.raises(ParameterError, match="names no column"):
        ATESpec.of(outcome=(), treatment="t").outcome_columns(Schema(()))


def test_relations_are_those_that_can_be_kept() -> None:
    with pytest.raises(ParameterError, match="allowed"):
        check_relation("add-remove")


def test_several_files_are_merged_first() -> None:
    one, two = pd.DataFrame({"y": [0.0, 1.0]}), pd.DataFrame({"t": [0.0, 1.0]})
    for several in ([one, two], {"one": one, "two": two}):
        with pytest.raises(SchemaError, match="merge the files and protect once"):
            BoundTable(several)


def test_a_missing_policy_is_needed_where_values_may_be_missing() -> None:
    column = Column("y", bounds=(0, 1), missing=(".",))
    assert policy_of(replace(column, missing_policy="private")) == "private"
    assert policy_of(replace(column, missing_policy=0.5)) == 0.5
    assert policy_of(replace(column, missing=(), missing_policy="private")) is None
    for other in (column, replace(column, missing_policy="level")):
        with pytest.raises(SchemaError, match="missing_policy='private'"):
            policy_of(other)
