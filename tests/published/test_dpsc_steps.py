"""The steps of DPSC: parameters as printed, and the law of the noise that its proof is about."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dprct.privacy.ridge_sensitivity import ridge_l2
from dprct.published.dpsc_steps import (
    Objective,
    l2_laplace,
    minimiser,
    objective_of,
    output_scale,
    published_path,
)

ALPHA = 1e-9


def test_the_published_scale_covers_what_is_proved() -> None:
    """Sqrt(2) at lam = T0 against 17 (n = 10) and 42 (n = 100) as printed."""
    for n, printed in [(10, 17), (100, 42)]:
        assert output_scale(n, 10, 10.0, 1.0) == pytest.approx(printed, abs=0.6)
    for n in (1, 5, 100):
        for T0 in (2, 10, 300):
            for lam in (0.01, 1.0, T0, 50 * T0):
                assert ridge_l2(math.sqrt(T0), T0, lam) <= output_scale(n, T0, lam, 1.0)


def radii(size: int, scale: float, draw=l2_laplace) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([np.linalg.norm(draw(size, scale, rng)) for _ in range(40_000)])


def test_the_radius_is_gamma() -> None:
    assert stats.kstest(radii(5, 2.0) / 2.0, stats.gamma(5).cdf).pvalue > ALPHA
    # 10% less noise, or the exponential radius of public implementations, is rejected
    assert stats.kstest(radii(5, 1.8) / 2.0, stats.gamma(5).cdf).pvalue < ALPHA
    exponential = np.random.default_rng(2).exponential(5.0, 40_000)
    assert stats.kstest(exponential, stats.gamma(5).cdf).pvalue < ALPHA


def test_the_direction_is_uniform() -> None:
    rng = np.random.default_rng(3)
    draws = np.array([l2_laplace(3, 1.0, rng) for _ in range(40_000)])
    first = draws[:, 0] / np.linalg.norm(draws, axis=1)
    assert stats.kstest(first, stats.uniform(-1, 2).cdf).pvalue > ALPHA  # Archimedes


def test_objective_in_both_branches() -> None:
    """By hand for n = T0 = lam = 10: c = (1 + sqrt(145)) 10."""
    c = (1 + math.sqrt(145)) * 10
    limit = math.log((1 + c / 10) ** 2)
    above = objective_of(10, 10, 10.0, 25.0)
    assert (above.extra, above.eps0) == (0.0, pytest.approx(25 - limit))
    assert above.scale == pytest.approx(40 * math.sqrt(18) / (25 - limit))
    below = objective_of(10, 10, 10.0, 1.0)
    assert below.eps0 == 0.5
    assert below.extra == pytest.approx(c / (math.exp(0.25) - 1) - 10)
    normal = objective_of(10, 10, 10.0, 1.0, 1e-6)
    assert normal.scale == pytest.approx(
        40 * math.sqrt(18) * math.sqrt(2 * math.log(2e6) + 0.5) / 0.5
    )
    # with a small c the other branch of the minimum is taken
    small = objective_of(10, 10, 10.0, 25.0, c=1.0)
    assert small.scale == pytest.approx((math.sqrt(10) + 40) / small.eps0)


def test_the_minimiser_has_no_gradient() -> None:
    rng = np.random.default_rng(4)
    X, y, b = rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=4)
    f = minimiser(X, y, 3.0, b)
    assert 2 * X @ (X.T @ f - y) + 3.0 * f + b == pytest.approx(np.zeros(4), abs=1e-10)
    # without noise it is the strict form's solution: lam/2 on the diagonal
    assert minimiser(X, y, 3.0) == pytest.approx(np.linalg.solve(X @ X.T + 1.5 * np.eye(4), X @ y))


def test_a_path_is_that_of_the_noisy_donors() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-1, 1, (4, 9)), rng.uniform(-1, 1, 6)
    quiet = 1e-12
    for scale in (quiet, Objective(1.0, 3.0, quiet)):
        extra = scale.extra if isinstance(scale, Objective) else 0.0
        f, path = published_path(X, y, 8.0, scale, 1e12, rng, normal=True)
        assert f == pytest.approx(minimiser(X[:, :6], y, 8.0 + extra))
        assert path == pytest.approx(X[:, 6:].T @ f)
    _, noisy = published_path(X, y, 8.0, quiet, 1.0, rng)
    assert np.abs(noisy - X[:, 6:].T @ minimiser(X[:, :6], y, 8.0)).max() > 1e-3
