"""Calibration: the claim holds in exact arithmetic, and nothing smaller would do."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dprct.errors import ParameterError
from dprct.privacy import Budget, analytic_gaussian, gdp_delta, tv_delta
from dprct.privacy.composition import zcdp_delta
from dprct.privacy.mechanisms import (
    ROUNDING_DISTANCE,
    concentrated_rho,
    concentrated_scale,
    double_at_least,
    laplace_scale,
    root_at_least,
)
from dprct.privacy.noise import laplace_loss

positive = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)


def below(value: float, ulps: int = 1) -> float:
    for _ in range(ulps):
        value = math.nextafter(value, 0.0)
    return value


@given(positive)
def test_the_smallest_double_that_is_not_below(value):
    double = double_at_least(value)
    assert Fraction(double) >= value > Fraction(below(double))


@given(positive)
def test_the_smallest_double_whose_square_is_not_below(value):
    root = root_at_least(value)
    assert Fraction(root) ** 2 >= value > Fraction(below(root)) ** 2


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 1000), 50, max_denominator=1000))
@settings(max_examples=50)
def test_laplace_scale_costs_what_was_asked_and_no_more_than_ulps_more_noise(l1, epsilon):
    scale = laplace_scale(l1, epsilon)
    assert l1 / Fraction(scale) <= epsilon
    assert laplace_loss(scale, l1) <= epsilon
    assert scale <= float(l1 / epsilon) * (1 + 1e-14)


def test_the_case_in_which_opendp_exceeds_the_target_by_an_ulp():
    assert (
        laplace_loss(2 / 0.7, 2)
        > Fraction(7, 10)
        >= laplace_loss(laplace_scale(2, Fraction(7, 10)), 2)
    )


def exact_gaussian_delta(sigma: float, epsilon: float) -> float:
    """Balle and Wang (2018), Theorem 8, at sensitivity 1."""
    return norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -0.5 / sigma - epsilon * sigma
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.4, 12.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_analytic_sigma_is_the_smallest(epsilon, delta):
    sigma = analytic_gaussian(Fraction(1), 1, Budget(epsilon, delta)).sigma
    assert exact_gaussian_delta(sigma, epsilon) <= delta
    assert exact_gaussian_delta(0.999 * sigma, epsilon) > delta


def test_analytic_sigma_against_stored_values():
    # from bisection of the curve above in an independent run; the classical formula gives 4.84
    assert analytic_gaussian(Fraction(1), 1, Budget(1, 1e-5)).sigma == pytest.approx(3.7306, 1e-3)
    assert analytic_gaussian(Fraction(4), 1, Budget(1, 1e-5)).sigma == pytest.approx(7.4612, 1e-3)


@pytest.mark.parametrize("size", [1, 50, 10_000])
@pytest.mark.parametrize("l2_squared", [Fraction(1), Fraction(2, 3), Fraction((2**20 + 1) ** 2)])
def test_delta_with_the_slack_of_the_grid_stays_within_the_budget(size, l2_squared):
    budget = Budget(1, 1e-6)
    noise = analytic_gaussian(l2_squared, size, budget)
    assert Fraction(noise.sigma) ** 2 * noise.mu**2 >= l2_squared
    slack = tv_delta(noise.slack, budget.epsilon)
    assert gdp_delta(noise.mu, budget.epsilon) + slack <= budget.delta
    assert slack <= budget.delta / 10**5
    assert noise.slack == size * ROUNDING_DISTANCE / Fraction(noise.scale) ** 2
    assert noise.scale == noise.sigma * 2**noise.refinement


def test_a_grid_that_is_fine_already_is_not_refined():
    assert analytic_gaussian(Fraction((2**20) ** 2), 1, Budget(1, 1e-5)).refinement == 0


@pytest.mark.parametrize("sigma", [10.0, 33.3, 300.0])
def test_total_variation_of_rounded_and_discrete_gaussian_is_within_the_bound(sigma):
    k = np.arange(-12 * int(sigma), 12 * int(sigma) + 1)
    rounded = norm.cdf(k + 0.5, scale=sigma) - norm.cdf(k - 0.5, scale=sigma)
    discrete = np.exp(-((k / sigma) ** 2) / 2)
    distance = np.abs(rounded - discrete / discrete.sum()).sum() / 2
    assert (
        0.9 * float(ROUNDING_DISTANCE) / sigma**2 < distance < float(ROUNDING_DISTANCE) / sigma**2
    )


@pytest.mark.parametrize("epsilon", [800, 1000])
def test_an_epsilon_that_no_grid_is_fine_enough_for_is_refused(epsilon):
    with pytest.raises(ParameterError, match="smaller epsilon"):
        analytic_gaussian(Fraction(1), 3, Budget(epsilon, 1e-6))


def test_concentrated_noise_keeps_the_budget_exactly():
    budget = Budget(1, 1e-6)
    rho = concentrated_rho(budget)
    sigma = concentrated_scale(Fraction(2), rho)
    assert 2 / (2 * Fraction(sigma) ** 2) <= rho < 2 / (2 * Fraction(below(sigma)) ** 2)
    assert zcdp_delta(rho, budget.epsilon) <= budget.delta
    assert zcdp_delta(rho * Fraction(101, 100), budget.epsilon) > budget.delta


def test_gaussian_noise_without_delta_is_refused():
    for calibrate in (concentrated_rho, lambda b: analytic_gaussian(Fraction(1), 1, b)):
        with pytest.raises(ParameterError, match="delta > 0"):
            calibrate(Budget(1))


@pytest.mark.parametrize("calibrate", [laplace_scale, concentrated_scale])
def test_nothing_is_bought_with_nothing(calibrate):
    with pytest.raises(ParameterError, match="above 0"):
        calibrate(1, Fraction(0))
