from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import DprctError, ParameterError
from dprct.privacy import Budget
from dprct.privacy.budget import exact, spelled


def test_ten_tenths_and_three_thirds_are_one() -> None:
    assert sum([Budget(0.1, 1e-7)] * 10, Budget(0)) == Budget(1, 1e-6)
    assert sum([Budget(Fraction(1, 3))] * 3, Budget(0)) == Budget(1)
    assert sum([Budget(0.1)] * 10, Budget(0)).fits(Budget(1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.int64(3), Fraction(3)),
    ],
)
def test_a_number_is_the_decimal_that_it_prints(value: object, expected: Fraction) -> None:
    assert exact(value, "epsilon") == expected


@pytest.mark.parametrize(
    "value",
    [
        "1", None, True, b"1", [1], 1 + 0j, float("nan"), float("inf"), -float("inf"),
        Decimal("nan"), Decimal("inf"), 10**400, np.float64("nan"), np.array([1.0, 2.0]),
    ],
)  # fmt: skip
def test_what_is_not_a_finite_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(ParameterError, match="epsilon") as refusal:
        Budget(value)  # type: ignore[arg-type]
    assert isinstance(refusal.value, ValueError)
    assert isinstance(refusal.value, DprctError)


@pytest.mark.parametrize("epsilon", [-1, -1e-300, Fraction(-1, 3)])
def test_negative_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"epsilon.*negative"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5])
def test_delta_outside_its_range_is_refused(delta: float) -> None:
    with pytest.raises(ParameterError, match=r"delta.*\[0, 1\)"):
        Budget(1, delta)


def test_a_release_needs_epsilon_above_zero() -> None:
    assert Budget(0).epsilon == 0
    with pytest.raises(ParameterError, match="epsilon=0"):
        Budget.asked(0)


@pytest.mark.parametrize(
    ("part", "fits"),
    [
        (Budget(1, 1e-6), True),
        (Budget(0.5), True),
        (Budget(Fraction(10**20 + 1, 10**20)), False),
        (Budget(0.5, 1.0000001e-6), False),
    ],
)
def test_fitting_needs_both_epsilon_and_delta(part: Budget, fits: bool) -> None:
    assert part.fits(Budget(1, 1e-6)) is fits


def test_split_is_exact() -> None:
    parts = Budget(1, 1e-6).split([0.67, 0.28, 0.05])
    assert sum(parts, Budget(0)) == Budget(1, 1e-6)
    assert parts[1] == Budget(0.28, Fraction(28, 10**8))


@pytest.mark.parametrize("shares", [[0.5, 0.4], [1.5, -0.5], [1, 0], [], [1 / 3] * 3])
def test_shares_must_be_positive_and_sum_to_one(shares: list[float]) -> None:
    with pytest.raises(ParameterError, match="sum to one"):
        Budget(1).split(shares)


@given(st.fractions(min_value=0, max_value=1000), st.fractions(min_value=0, max_value=0.25))
def test_spelling_is_read_back_exactly(epsilon: Fraction, delta: Fraction) -> None:
    assert Fraction(spelled(epsilon)) == epsilon
    budget = Budget(epsilon, delta)
    assert pickle.loads(pickle.dumps(budget)) == budget == copy.deepcopy(budget)
    assert hash(budget) == hash(Budget(epsilon, delta))


def test_a_budget_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Budget(1).epsilon = Fraction(2)  # type: ignore[misc]


def test_text() -> None:
    assert str(Budget(0.5)) == "epsilon=0.5"
    assert str(Budget(0.5, 1e-6)) == "epsilon=0.5, delta=1e-06"


@pytest.mark.parametrize("delta", ["0", None, True])
def test_a_delta_that_is_no_number_is_not_sent_to_one_that_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="give 0, or a number far below 1/n"):
        Budget(1, delta)  # type: ignore[arg-type]
