"""Laws of composition and conversion, and Google's dp_accounting as an independent witness."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dprct.errors import ParameterError
from dprct.privacy import Budget
from dprct.privacy import composition as c

EPSILONS = [0.01, 0.1, 0.5, 1, 2, 8]
DELTAS = [1e-2, 1e-6, 1e-12]
moderate = st.floats(min_value=1e-3, max_value=8)
small = st.floats(min_value=1e-12, max_value=0.1)


def exact_delta(mu: float, epsilon: float) -> float:
    return float(
        norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    )


def test_sequential_adds_and_parallel_takes_the_largest_of_each() -> None:
    parts = [Budget(0.5), Budget(0.2, 1e-6), Budget(0.1, 1e-7)]
    assert c.sequential(parts) == Budget(0.8, Fraction(11, 10**7))
    assert c.parallel(parts) == Budget(0.5, 1e-6)
    assert c.sequential([]) == c.parallel([]) == Budget(0)


@settings(max_examples=25, deadline=None)
@given(moderate, small, st.integers(min_value=1, max_value=50))
def test_per_row_groups_back_to_the_budget(epsilon: float, delta: float, rows: int) -> None:
    budget = Budget(epsilon, delta)
    row = c.per_row(budget, rows)
    assert row.epsilon * rows == budget.epsilon
    grouped = sum(math.exp(i * float(row.epsilon)) for i in range(rows)) * float(row.delta)
    assert grouped == pytest.approx(delta, rel=1e-12)
    assert row.fits(budget)


def test_per_row_rounds_delta_down() -> None:
    row = c.per_row(Budget(1, 1e-6), 2)
    above = row.delta * (1 + Fraction(1, 10**13))
    grouping = 1 + Fraction(math.exp(0.5))  # this double is off by under 1e-15
    assert row.delta * grouping <= Fraction(1, 10**6) * (1 + Fraction(1, 10**15))
    assert above * grouping > Fraction(1, 10**6)


@pytest.mark.parametrize("rows", [1, 5])
def test_per_row_of_pure_and_of_epsilon_zero_is_exact(rows: int) -> None:
    assert c.per_row(Budget(1), rows) == Budget(Fraction(1, rows))
    assert c.per_row(Budget(0, 1e-6), rows) == Budget(0, Fraction(1, rows * 10**6))


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2"])
def test_per_row_refuses_what_is_no_count(rows: object) -> None:
    with pytest.raises(ParameterError, match="max_rows"):
        c.per_row(Budget(1), rows)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.floats(min_value=0.05, max_value=8), st.floats(min_value=0, max_value=5))
def test_gdp_delta_is_the_analytic_curve_rounded_up(mu: float, epsilon: float) -> None:
    delta = c.gdp_delta(mu, epsilon)
    assert float(delta) == pytest.approx(exact_delta(mu, epsilon), rel=1e-8, abs=1e-14)


def test_gdp_delta_survives_cancellation() -> None:
    # d/dmu of the curve at mu = 0, epsilon = 0 is phi(0)
    assert float(c.gdp_delta(1e-12, 0)) == pytest.approx(1e-12 / math.sqrt(2 * math.pi), rel=1e-12)
    assert 0 < c.gdp_delta(1e-3, 1) <= Fraction(1, 10**300)
    assert c.gdp_delta(200, 1) == 1


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_inverses_meet_and_err_on_the_safe_side(epsilon: float, delta: float) -> None:
    limit, near = Fraction(str(delta)), 1 + Fraction(1, 10**11)
    mu, rho = c.gdp_mu(epsilon, delta), c.zcdp_rho(epsilon, delta)
    assert c.gdp_delta(mu, epsilon) <= limit < c.gdp_delta(mu * near, epsilon)
    assert c.zcdp_delta(rho, epsilon) <= limit < c.zcdp_delta(rho * near, epsilon)
    assert float(c.gdp_epsilon(mu, delta)) == pytest.approx(epsilon, rel=1e-9)
    assert float(c.zcdp_epsilon(rho, delta)) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("convert", [c.gdp_epsilon, c.zcdp_epsilon])
@pytest.mark.parametrize("parameter", [0.01, 0.3, 2])
def test_epsilon_brackets_the_boundary(convert, parameter: float) -> None:
    back = c.gdp_delta if convert is c.gdp_epsilon else c.zcdp_delta
    up, down = convert(parameter, 1e-6), convert(parameter, 1e-6, "down")
    assert down < up <= down * (1 + Fraction(1, 10**11))
    assert back(parameter, up) <= Fraction(1, 10**6) < back(parameter, down)


@settings(max_examples=30, deadline=None)
@given(moderate, moderate, moderate)
def test_curves_are_monotone(first: float, second: float, epsilon: float) -> None:
    low, high = sorted([first, second])
    for curve in (c.gdp_delta, c.zcdp_delta):
        assert curve(low, epsilon) <= curve(high, epsilon)
        assert curve(epsilon, high) <= curve(epsilon, low)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1, 3])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_zcdp_bounds_the_gaussian_that_it_describes(mu: float, epsilon: float) -> None:
    assert c.gdp_delta(mu, epsilon) <= c.zcdp_delta(c.gdp_rho(mu), epsilon)


def test_zcdp_delta_is_the_minimum_over_orders() -> None:
    rho, epsilon = 0.05, 1.0
    orders = [1 + 10 ** (k / 1000 - 2) for k in range(3500)]
    best = min(math.exp((a - 1) * (a * rho - epsilon)) * (1 - 1 / a) ** a / (a - 1) for a in orders)
    assert float(c.zcdp_delta(rho, epsilon)) == pytest.approx(best, rel=1e-5)


def test_rho_of_pure_and_gaussian_releases() -> None:
    assert c.gdp_rho(0.5) == Fraction(1, 8)
    assert c.pure_rho(0.2) == Fraction(1, 50)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu_of_pure_covers_pure_and_touches_it(epsilon: float) -> None:
    mu = float(c.pure_mu(epsilon))
    corner = 1 / (1 + math.exp(epsilon))
    assert norm.cdf(-mu / 2) == pytest.approx(corner, rel=1e-9)
    for alpha in (1e-4, 0.01, corner, 0.3, 0.9):
        pure = max(0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
        assert norm.cdf(norm.ppf(1 - alpha) - mu) <= pure + 1e-12


def test_total_variation_costs_both_sides() -> None:
    assert c.tv_delta(0, 1) == 0
    assert c.tv_delta(0.25, 0) == Fraction(1, 2)
    assert float(c.tv_delta(1e-9, 1)) == pytest.approx(1e-9 * (1 + math.e), rel=1e-12)
    with pytest.raises(ParameterError, match="1000"):
        c.tv_delta(1e-9, 1001)


@pytest.mark.parametrize(
    "call",
    [
        lambda: c.gdp_delta(0, 1),
        lambda: c.gdp_delta(1, -1),
        lambda: c.gdp_mu(1, 0),
        lambda: c.gdp_epsilon(1, 0),
        lambda: c.zcdp_rho(0, 1e-6),
        lambda: c.zcdp_epsilon(1, 1),
        lambda: c.zcdp_delta(float("nan"), 1),
        lambda: c.gdp_rho(0),
        lambda: c.pure_mu(101),
    ],
)
def test_what_cannot_be_converted_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


def test_threads_do_not_disturb_the_precision() -> None:
    expected = [c.gdp_delta(0.5, e) for e in EPSILONS]
    c._gdp_delta.cache_clear()
    found: dict[int, list[Fraction]] = {}

    def work(k: int) -> None:
        for _ in range(20):
            c._gdp_delta.cache_clear()
            found[k] = [c.gdp_delta(0.5, e) for e in EPSILONS]
            c.per_row(Budget(1, 1e-6), 3)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[k] == expected for k in range(4))


@pytest.fixture(scope="module")
def google() -> Any:
    return pytest.importorskip("dp_accounting", reason="the witness is not installed")


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_mu_agrees_with_googles_analytic_gaussian(
    google: Any, epsilon: float, delta: float
) -> None:
    sigma = google.get_sigma_gaussian(epsilon, delta)
    assert 1 / float(c.gdp_mu(epsilon, delta)) == pytest.approx(sigma, rel=1e-6)
    assert float(c.gdp_epsilon(1 / sigma, delta)) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("rho", [0.01, 0.1, 1])
def test_zcdp_agrees_with_googles_accountant(google: Any, rho: float) -> None:
    orders = [1 + 10 ** (k / 100 - 2) for k in range(500)]
    accountant = google.rdp.RdpAccountant(orders)
    accountant.compose(google.ZCDpEvent(rho))
    ours, theirs = float(c.zcdp_epsilon(rho, 1e-6)), accountant.get_epsilon(1e-6)
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_composed_gaussians_agree_with_googles_loss_distributions(google: Any) -> None:
    mus = [0.1, 0.2, 0.2]
    accountant = google.pld.PLDAccountant()
    for mu in mus:
        accountant.compose(google.GaussianDpEvent(1 / mu))
    ours = float(c.gdp_epsilon(Fraction(3, 10), 1e-6))  # the root of the sum of squares
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)
