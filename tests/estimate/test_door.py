from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.door import check_relation, constant_of, levels_of, shares_of, with_bounds
from dprct.schema import Column


def test_bounds_come_from_levels_where_they_are_not_declared() -> None:
    found = with_bounds(Column("y", "byte", levels=(2.0, 0.0, 1.0), missing=()))
    assert found.bounds == (0.0, 2.0)
    with pytest.raises(SchemaError, match="needs bounds"):
        with_bounds(Column("y", missing=()))
    with pytest.raises(SchemaError, match="missing policy"):
        with_bounds(Column("y", bounds=(0, 1)))


def test_shares_are_equal_or_those_that_are_given() -> None:
    assert shares_of(None, ("a", "b", "c")) == (Fraction(1, 3),) * 3
    assert shares_of({"b": 0.25, "a": 0.75}, ("a", "b")) == (Fraction(3, 4), Fraction(1, 4))
    with pytest.raises(ParameterError, match="names no column"):
        shares_of(None, ())
    with pytest.raises(ParameterError, match="one share for each"):
        shares_of({"a": 1}, ("a", "b"))


@pytest.mark.parametrize("policy", [True, "count", None])
def test_a_constant_is_a_number(policy: Any) -> None:
    with pytest.raises(ParameterError, match="for 'y'"):
        constant_of(policy, Column("y", bounds=(0, 1)))


def test_levels_and_relations_are_those_that_can_be_kept() -> None:
    assert levels_of([0.05, 0.01]) == (0.05, 0.01)
    for levels in ([], [0.6], [0.0]):
        with pytest.raises(ParameterError, match="levels="):
            levels_of(levels)
    with pytest.raises(ParameterError, match="allowed"):
        check_relation("add-remove")
