"""Textbook mechanisms: exact laws, sensitivities that rounding keeps, one sentence for the rest.

False alarms: each test of a law has probability 1e-8; the same test refuses noise of another scale.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dprct.errors import ParameterError
from dprct.privacy.mechanisms import analytic_gaussian
from dprct.privacy.noise import source
from dprct.published import Gaussian, Laplace, RandomizedResponse
from dprct.published.textbook import _grid, _rounded

ALPHA = 1e-8
DRAWS = 4000
NUMBERS = st.floats(-1e12, 1e12)


@given(NUMBERS, st.floats(1e-9, 1e9), st.floats(-1, 1))
def test_rounding_moves_neighbours_by_a_step_more_at_most(
    x: float, sensitivity: float, share: float
) -> None:
    """The noise covers whatever two doubles are apart, if that is within the sensitivity."""
    other = x + share * sensitivity
    if abs(Fraction(other) - Fraction(x)) > Fraction(sensitivity):
        return
    grid = _grid(Fraction(sensitivity))
    (one,), (two,) = _rounded(x, grid), _rounded(other, grid)
    assert abs(one - two) <= Laplace(1, sensitivity)._mechanism(1).l1
    square = Gaussian(1, 1e-5, sensitivity)._mechanism(1).l2_squared
    assert (one - two) ** 2 <= square


@pytest.mark.parametrize(
    "kind", [int, Fraction, Decimal, np.int64, np.longdouble, lambda k: np.array([k], np.int64)]
)
@pytest.mark.parametrize("first", [2**53, 2**60 + 128, 2**62 - 2])
def test_neighbours_past_the_doubles_stay_as_far_apart_as_claimed(kind: Any, first: int) -> None:
    """A number that became a double first moved these by 256, or not at all."""
    grid = _grid(Fraction(1))
    (one,), (two,) = (_rounded(kind(number), grid) for number in (first, first + 1))
    assert (two - one) * grid == 1
    assert two * grid == first + 1
    assert two - one <= Laplace(1, 1)._mechanism(1).l1


@pytest.mark.parametrize("number", [10**302, -(Fraction(10) ** 400), Decimal("1e400"), math.inf])
def test_a_number_that_no_double_holds_is_refused(number: Any) -> None:
    with pytest.raises(ParameterError, match="not a finite number"):
        Laplace(1, 1).draw(number)
    assert math.isfinite(Laplace(1, 1e300).draw(10**300))


@given(st.lists(NUMBERS, min_size=2, max_size=6), st.integers(0, 2**32))
def test_so_do_vectors(x: list[float], seed: int) -> None:
    moved = np.random.default_rng(seed).normal(size=len(x))
    other = np.array(x) + moved
    differences = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, other.tolist(), strict=True)]
    l1 = float(sum(differences)) * (1 + 1e-12)
    l2 = math.sqrt(sum(d * d for d in differences)) * (1 + 1e-12)
    for claimed, norm in ((l1, 1), (l2, 2)):
        grid = _grid(Fraction(claimed))
        one, two = _rounded(x, grid), _rounded(other, grid)
        apart = sum(abs(a - b) ** norm for a, b in zip(one, two, strict=True))
        if norm == 1:
            assert apart <= Laplace(1, claimed)._mechanism(len(x)).l1
        else:
            assert apart <= Gaussian(1, 1e-5, claimed)._mechanism(len(x)).l2_squared


def test_noise_is_hardly_more_than_the_sensitivity_asks_for() -> None:
    assert Laplace(0.5, 3.0).noise_sd() == pytest.approx(math.sqrt(2) * 6, rel=1e-5)
    sigma = analytic_gaussian(Fraction(1), 1, Gaussian(1, 1e-5, 1).budget).sigma
    assert Gaussian(1, 1e-5, 0.3).noise_sd() == pytest.approx(0.3 * sigma, rel=1e-3)
    assert Laplace(1, 1.0).noise_sd(1000) == pytest.approx(math.sqrt(2), rel=2e-3)


@pytest.mark.parametrize("made", [Laplace(0.7, 0.3), Gaussian(0.7, 1e-6, 0.3)])
def test_the_law_is_the_one_that_is_named(made: Laplace | Gaussian) -> None:
    sd = made.noise_sd(1)
    law = stats.laplace(scale=sd / math.sqrt(2)) if isinstance(made, Laplace) else stats.norm(0, sd)
    noise = np.array([made.draw(41.5) for _ in range(DRAWS)]) - 41.5
    assert stats.kstest(noise, law.cdf).pvalue > ALPHA
    assert stats.kstest(2 * noise, law.cdf).pvalue < ALPHA


def test_a_vector_has_noise_of_its_own_on_each_number() -> None:
    for made in (Laplace(1, 1), Gaussian(1, 1e-5, 1)):
        noise = made.draw(np.arange(3000.0)) - np.arange(3000.0)
        assert noise.std() == pytest.approx(made.noise_sd(3000), rel=0.2)
        assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 6 / math.sqrt(3000)


def test_a_seed_repeats_and_numbers_keep_their_form() -> None:
    for made in (Laplace(1, 1), Gaussian(1, 1e-5, 1)):
        assert made.draw(2.0, rng=7) == made.draw(2.0, rng=7)
        assert isinstance(made.draw(2.0), float)
        assert made.draw([2.0]).shape == (1,)
        step = float(_grid(Fraction(1)))
        assert made.draw(1 / 3) % step == 0  # no digit of the number below the grid


@pytest.mark.parametrize("levels", [["no", "yes"], [1.0, 2.0, 3.0, 4.0]])
def test_answers_are_told_with_the_probabilities_of_randomised_response(
    levels: list[object],
) -> None:
    epsilon, k = 0.8, len(levels)
    asked = RandomizedResponse(epsilon, levels)
    told = asked.draw([levels[1]] * DRAWS)
    counts = [sum(one == level for one in told) for level in levels]
    for wrong, alarm in ((0.0, False), (0.4, True)):
        weights = np.ones(k)
        weights[1] = math.exp(epsilon - wrong)
        found = stats.chisquare(counts, DRAWS * weights / weights.sum())
        assert (found.pvalue < ALPHA) == alarm
    assert asked.kept == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    assert math.log(asked.kept / ((1 - asked.kept) / (k - 1))) <= epsilon * (1 + 1e-15)


def test_shares_are_unbiased() -> None:
    """Of 25 surveys: beyond 8 standard errors in 1e-7 of runs; uncorrected shares are seen."""
    asked = RandomizedResponse(1, ["a", "b", "c"])
    answers = ["a"] * 500 + ["b"] * 375 + ["c"] * 125
    told = [asked.draw(answers) for _ in range(25)]
    shares = np.array([asked.shares(one) for one in told])
    uncorrected = np.array([[one.count(level) / 1000 for level in "abc"] for one in told])
    for found, biased in ((shares, False), (uncorrected, True)):
        error = found.std(axis=0, ddof=1) / math.sqrt(25)
        away = abs(found.mean(axis=0) - [0.5, 0.375, 0.125]) > 8 * error
        assert away.any() == biased
    assert shares.sum(axis=1) == pytest.approx(np.ones(25))


def test_noise_is_that_of_the_operating_system_unless_seeded() -> None:
    assert not source(None).simulation
    asked = RandomizedResponse(1, [0, 1])
    answers = [0, 1] * 50
    assert asked.draw(answers, rng=3) == asked.draw(answers, rng=3)
    assert len({tuple(asked.draw(answers)) for _ in range(3)}) == 3


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        (lambda: Laplace(0, 1), "epsilon=0 allows no release"),
        (lambda: Laplace(1, 0), "sensitivity=0; give a finite number above 0"),
        (lambda: Laplace(1, math.inf), "sensitivity=inf"),
        (lambda: Laplace(1, "a"), "sensitivity='a'"),
        (lambda: Laplace(1, Fraction(1, 10**400)), "sensitivity="),
        (lambda: Laplace(1e-30, 1), "which no sampler reaches"),
        (lambda: Laplace(1, 1).noise_sd(0), "size=0; give a whole number above 0"),
        (lambda: Gaussian(1, 0, 1), "needs delta > 0"),
        (lambda: Gaussian(1, 1e-5, -1), "sensitivity=-1"),
        (lambda: Laplace(1, 1).draw(math.nan), "without missing values"),
        (lambda: Laplace(1, 1).draw([]), "x is empty"),
        (lambda: Gaussian(1, 1e-5, 1).draw([[1.0]]), "a table"),
        (lambda: Gaussian(1, 1e-5, 1).draw("a"), "x is not numeric"),
        (lambda: RandomizedResponse(1, "ab"), r"levels='ab'; give a list"),
        (lambda: RandomizedResponse(1, [1]), "repeated or missing"),
        (lambda: RandomizedResponse(1, [1, 1]), "repeated"),
        (lambda: RandomizedResponse(1, [1, None]), "missing"),
        (lambda: RandomizedResponse(0, [0, 1]), "epsilon=0 allows no release"),
        (lambda: RandomizedResponse(1, [0, 1]).shares([]), "there are no answers"),
    ],
)
def test_refusals(deed, says) -> None:
    with pytest.raises(ParameterError, match=says):
        deed()


def test_an_answer_that_cannot_be_given_is_not_shown() -> None:
    with pytest.raises(ParameterError, match="none of the levels") as refused:
        RandomizedResponse(1, [0, 1]).draw([0, 77])
    assert "77" not in str(refused.value)
    assert refused.value.__context__ is refused.value.__cause__ is None
