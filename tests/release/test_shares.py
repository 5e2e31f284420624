from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.release.calibrated.covariates import covariates_of
from dprct.release.calibrated.spec import division, shares_of
from dprct.schema import Column, Schema

SCHEMA = Schema((Column("x", "byte", levels=(0.0, 1.0), missing=()),))
COVARIATES = covariates_of(SCHEMA, frozenset(), 50, filler=False)
FIFTH = Fraction(1, 5)


@pytest.mark.parametrize("wanted", ["auto", "histogram", "marginals", "filler"])
@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
def test_the_parts_are_the_whole(wanted: Any, epsilon: float) -> None:
    shares, _ = shares_of(None, wanted, ["y"], moments=False)
    part = division(Budget(epsilon), shares, wanted, COVARIATES)
    assert part.whole == Budget(epsilon)
    assert part.effects.delta == 0
    assert (part.covariates == Budget(0)) == (part.rule == "filler")


def test_delta_goes_to_slopes_if_there_are_some_else_to_covariates() -> None:
    one = division(Budget(1, 1e-6), {"covariates": FIFTH}, "marginals", COVARIATES)
    assert (one.covariates.delta, one.slopes) == (Budget(1, 1e-6).delta, Budget(0))
    both = {"covariates": FIFTH, "moments": FIFTH}
    two = division(Budget(1, 1e-6), both, "marginals", COVARIATES)
    assert (two.covariates.delta, two.slopes) == (0, Budget(0.2, 1e-6))
    assert two.effects == Budget(0.6)
    assert two.whole == Budget(1, 1e-6)


def test_a_fifth_is_the_default_of_covariates_and_of_moments() -> None:
    assert shares_of(None, "auto", ["y"], moments=False) == ({"covariates": FIFTH}, None)
    assert shares_of(None, "filler", ["y"], moments=False) == ({}, None)
    parts = {"covariates": FIFTH, "moments": FIFTH}
    assert shares_of(None, "marginals", ["y"], moments=True) == (parts, None)


def test_outcomes_alone_divide_what_is_left() -> None:
    asked = {"y": 0.75, "z": 0.25}
    shares = {"y": Fraction(3, 4), "z": Fraction(1, 4)}
    assert shares_of(asked, "auto", ["y", "z"], moments=False) == ({"covariates": FIFTH}, shares)
    assert shares_of(asked, "filler", ["y", "z"], moments=False) == ({}, shares)


@pytest.mark.parametrize(
    ("asked", "wanted", "words"),
    [
        ({"covariates": 1, "y": 0}, "auto", "a positive share for each of covariates, y"),
        ({"covariates": 0.5}, "auto", "a positive share for each of covariates, y"),
        ({"covariates": 0.5, "y": 0.6}, "auto", "sum to one"),
        ({"covariates": 0.2, "y": 0.8}, "filler", "a positive share for each of y"),
        ({"moments": 0.2, "y": 0.8}, "auto", "a positive share for each of covariates, y"),
        ({}, "auto", "names nothing"),
        (0.25, "marginals", "give a mapping"),
    ],
)
def test_shares_of_other_parts_are_refused(asked: Any, wanted: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        shares_of(asked, wanted, ["y"], moments=False)


def test_an_outcome_with_the_name_of_a_part_is_refused() -> None:
    with pytest.raises(ParameterError, match="rename the column"):
        shares_of({"covariates": 1}, "filler", ["covariates"], moments=False)
