"""The law of many Laplace draws against exact forms: partial fractions in 150 digits, gammas."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dprct.estimate.noise_law import cdf, quantile, quantile_of_sum, tail_of_sum

SCALES = [
    (1.0, 0.7, 0.4),
    (1.0, 1.0001, 0.9999, 1.00005),
    (1.0, 0.01, 0.011, 3.0),
    tuple(1 + k * 1e-7 for k in range(8)),
]


def by_partial_fractions(x: float, variance: float, scales: tuple[float, ...]) -> float:
    """The tail of distinct scales; digits enough for whatever cancels."""
    with mpmath.workdps(150):
        at, s = mpmath.mpf(x), mpmath.sqrt(mpmath.mpf(variance))
        total = mpmath.mpf(0)
        for j, b in enumerate(map(mpmath.mpf, scales)):
            weight = mpmath.mpf(1)
            for c in (mpmath.mpf(c) for i, c in enumerate(scales) if i != j):
                weight *= b * b / (b * b - c * c)
            if variance == 0:
                total += weight * mpmath.exp(-at / b) / 2
                continue
            t, z = s / b, at / s
            near = mpmath.exp(t * t / 2 - at / b) * mpmath.ncdf(z - t)
            far = mpmath.exp(t * t / 2 + at / b) * mpmath.ncdf(-z - t)
            total += weight * (mpmath.ncdf(-z) + (near - far) / 2)
        return float(total)


@pytest.mark.parametrize("variance", [0.0, 1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scales", SCALES)
def test_distinct_scales_are_partial_fractions(variance: float, scales: tuple[float, ...]) -> None:
    sd = np.sqrt(variance + 2 * sum(b * b for b in scales))
    for z in (0.0, 0.1, 1.0, 3.0, 8.0, 20.0):
        exact = by_partial_fractions(z * sd, variance, scales)
        if exact > 1e-200:
            assert tail_of_sum(z * sd, variance, scales) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("m", [3, 4, 8, 16])
@pytest.mark.parametrize("x", [0.5, 4.0, 30.0, 60.0])
def test_equal_scales_are_a_difference_of_gammas(m: int, x: float) -> None:
    exact, _ = integrate.quad(
        lambda g: stats.gamma.pdf(g, m) * stats.gamma.sf(g + x, m), 0, 80, epsabs=0, epsrel=1e-11
    )
    assert tail_of_sum(x, 0.0, (1.0,) * m) == pytest.approx(exact, rel=1e-8)


def test_one_more_laplace_is_a_convolution() -> None:
    def inner(u: float) -> float:
        return np.exp(-abs(u)) / 2 * float(cdf(2.0 - u, 1.5, (1.0, 1.7)))

    whole, _ = integrate.quad(inner, -40, 40, points=[0.0, 2.0], limit=300, epsabs=1e-11)
    assert cdf(2.0, 1.5, (1.0, 1.7, 1.0)) == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("variance", [0.0, 0.3, 50.0, 1e8])
@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-10])
def test_the_quantile_inverts_the_law(variance: float, alpha: float) -> None:
    for scales in ((1.0,) * 4, (0.2, 1.0, 3.0), (1.0,) * 16):
        q = quantile(alpha, variance, scales)
        assert 2 * cdf(-q, variance, scales) == pytest.approx(alpha, rel=1e-9)


def test_many_at_once_and_in_any_order_and_unit() -> None:
    found = quantile_of_sum(0.05, np.array([0.0, 1.0, 4.0]), (1.0, 1.0, 2.0))
    assert found.shape == (3,)
    assert (np.diff(found) > 0).all()
    for scales in itertools.permutations((1.0, 1.0, 2.0)):
        assert quantile_of_sum(0.05, 4.0, scales) == pytest.approx(found[2])
    huge = tuple(b * 1e150 for b in (1.0, 1.0, 2.0))
    assert quantile_of_sum(0.05, 4e300, huge) == pytest.approx(found[2] * 1e150)


def test_simulated_draws_follow_it() -> None:
    rng = np.random.default_rng(3)
    n, scales = 400_000, (0.5, 0.5, 0.5, 1.0)
    draws = rng.normal(0, 0.8, n) + sum(rng.laplace(0, b, n) for b in scales)
    q = quantile(0.05, 0.64, scales)
    count = int((np.abs(draws) > q).sum())
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], n, 0.05)
    assert low <= count <= high
    # noise a tenth off would be noticed
    assert not low <= int((np.abs(1.1 * draws) > q).sum()) <= high
