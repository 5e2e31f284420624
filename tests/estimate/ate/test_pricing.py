"""The price of hiding treatment: both errors, from either side, the same numbers."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from dprct.estimate.ate.plan import price_of
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.ate.results import arm_contrasts
from dprct.privacy.arms import Arms
from dprct.queries import HiddenArms
from dprct.schema import Column

Y = Column("y", bounds=(0.0, 1.0), missing=())
EMPTY = np.empty(0, np.int64)
PUBLIC = Outcome(Y, Arms(EMPTY, ((300, 100),)), Fraction(1))
PRIVATE = HiddenOutcome(Y, HiddenArms((), (), (Fraction(3, 4), Fraction(1, 4)), 400), Fraction(1))
NAMES = arm_contrasts(("control", "t"))


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+\.\d+", text)]


def test_both_relations_quote_the_same_prices() -> None:
    here = price_of(PUBLIC, NAMES, Fraction(1), 0.2, (0.05,))
    assert here == price_of(PRIVATE, NAMES, Fraction(1), 0.2, (0.05,))
    public, best, worst = numbers(here)
    assert public == pytest.approx(
        PUBLIC.expected(Fraction(1), 0.04, NAMES)[0].standard_error((0.05,)), rel=1e-3
    )
    assert public <= best < worst
    assert worst == pytest.approx(
        PRIVATE.expected(Fraction(1), 0.25, NAMES)[0].standard_error((0.05,)), rel=1e-3
    )


def test_without_a_declared_sd_both_are_at_their_worst() -> None:
    assert len(numbers(price_of(PUBLIC, NAMES, Fraction(1), None, (0.05,)))) == 2


def test_there_is_no_price_where_only_one_is_offered() -> None:
    blocked = Arms(EMPTY, ((5, 5), (5, 5)), (Fraction(1, 2),) * 2)
    clusters = Arms(EMPTY, ((5, 5),), clusters=EMPTY, largest=2)
    for arms in (blocked, clusters):
        assert not price_of(Outcome(Y, arms, Fraction(1)), NAMES, Fraction(1), None, (0.05,))
    counted = CountedOutcome(Y, PUBLIC.arms, Fraction(1))
    assert not price_of(counted, NAMES, Fraction(1), None, (0.05,))
