from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.privacy.composition import (
    CONTEXT,
    LOCK,
    TINIEST,
    boundary,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    mp,
    probability,
    root,
    rounded_off,
)

positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@given(positive)
def test_roots_are_bracketed_closely(square: Fraction) -> None:
    down, up = root(square, "down"), root(square, "up")
    assert down**2 <= square <= up**2
    assert up <= down * (1 + Fraction(1, 10**13))


@given(positive)
def test_rational_roots_are_exact(number: Fraction) -> None:
    assert root(number**2) == root(number**2, "down") == number


@given(positive)
def test_rounding_goes_outwards_and_is_close(number: Fraction) -> None:
    with LOCK, CONTEXT.workdps(50):
        down, up = rounded_off(mp(number), "down"), rounded_off(mp(number), "up")
    assert down < number < up
    assert up - down <= number * Fraction(3, 10**14)


def test_probabilities_stay_in_range() -> None:
    assert probability(CONTEXT.mpf(2)) == 1
    assert probability(CONTEXT.mpf(0)) == TINIEST
    assert probability(CONTEXT.mpf(10) ** -400) == TINIEST


def test_a_probability_of_millions_of_digits_is_not_spelled_out(monkeypatch) -> None:
    monkeypatch.setattr("dprct.privacy.composition.rounded_off", None)  # would take minutes
    assert probability(CONTEXT.exp(-(10**9))) == TINIEST


@pytest.mark.parametrize("turn", [Fraction(1, 10**9), Fraction(2, 3), Fraction(12345)])
def test_the_boundary_is_found_from_both_sides(turn: Fraction) -> None:
    fails, holds = boundary(lambda x: x >= turn, "x")
    assert fails < turn <= holds
    assert holds - fails <= turn * Fraction(2, 10**13)


@pytest.mark.parametrize("turn", [Fraction(1, 10**9), Fraction(2, 3), Fraction(12345)])
@pytest.mark.parametrize("off", [1, 1 + 1e-15, 1 - 1e-11, 0.4, 5])
def test_what_is_nearly_right_spares_work_and_moves_no_boundary(turn: Fraction, off: float) -> None:
    asked = []

    def holds(x: Fraction) -> bool:
        asked.append(x)
        return x >= turn

    alone = boundary(holds, "x")
    whole = len(asked)
    assert boundary(holds, "x", lambda x: x >= float(turn) * off) == alone
    assert len(asked) - whole == 2 if off == 1 else len(asked) <= 2 * whole + 2


def test_what_floats_take_for_0_or_1_is_left_to_long_arithmetic() -> None:
    tiny, nearly_1 = Fraction(1, 10**400), 1 - Fraction(1, 10**17)
    assert float(nearly_1) == 1
    mu = gdp_mu(1, nearly_1)
    assert gdp_delta(mu, 1) <= nearly_1 < gdp_delta(mu * (1 + Fraction(1, 10**12)), 1)
    epsilon = gdp_epsilon(1000, nearly_1)
    assert gdp_delta(1000, epsilon) <= nearly_1
    with pytest.raises(ParameterError, match="too extreme"):
        gdp_epsilon(tiny, tiny / 10)


@pytest.mark.parametrize("answer", [True, False])
def test_a_boundary_out_of_reach_is_refused(answer: bool) -> None:
    with pytest.raises(ParameterError, match="too extreme"):
        boundary(lambda _: answer, "epsilon")
