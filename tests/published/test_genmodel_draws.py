"""Direct draws against the regressions that they replace, and the arithmetic of what follows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.published.allocation import CoefficientShare, OutcomeShare
from dprct.published.genmodel import (
    Proxies,
    ReleasedDesign,
    Settings,
    noisy_mean,
    private_variance,
    proxies,
    sanitised,
)

ALPHA = 1e-9
HUGE = Fraction(10**9)


@pytest.fixture(scope="module")
def design():
    rng = np.random.default_rng(1)
    n = 60
    x = rng.normal(size=(n, 3)) * [1, 20, 0.1]
    return np.column_stack([np.ones(n), np.arange(n) % 2, x])


def regressions(W, beta, sigma, B, rng):
    """Algorithm 3, lines 12 to 14, as printed but for the square: B regressions."""
    n = len(W)
    outcomes = W @ beta + sigma * rng.standard_normal((B, n))
    coefficients = np.linalg.lstsq(W, outcomes.T, rcond=None)[0]
    residuals = outcomes.T - W @ coefficients
    return coefficients, (residuals**2).sum(axis=0) / n


def standardised(beta_b, xi, W, beta, sigma):
    n, k = W.shape
    sds = sigma * np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    return (beta_b - beta[:, None]) / sds[:, None], stats.chi2.cdf(xi * n / sigma**2, n - k)


@pytest.mark.parametrize("how", ["direct", "regressions"])
def test_both_have_the_joint_law(design, how):
    """Marginal laws (KS at 1e-9), covariance and independence (6 errors); 40,000 proxies."""
    W, beta, sigma, B = design, np.array([1.0, 5.0, -2.0, 0.3, 40.0]), 1.7, 40_000
    rng = np.random.default_rng(2 if how == "direct" else 3)
    if how == "direct":
        drawn = proxies(ReleasedDesign.of(W), beta, sigma**2, B, rng)
        beta_b, xi = drawn.beta, drawn.xi
    else:
        beta_b, xi = regressions(W, beta, sigma, B, rng)
    z, u = standardised(beta_b, xi, W, beta, sigma)
    for row in z:
        assert stats.kstest(row, "norm").pvalue > ALPHA
        assert stats.kstest(row * 1.1, "norm").pvalue < ALPHA
    assert stats.kstest(u, "uniform").pvalue > ALPHA
    Q = np.linalg.inv(W.T @ W)
    root = np.sqrt(np.diag(Q))
    found, right = np.cov(z), Q / np.outer(root, root)
    assert np.abs(found - right).max() < 6 * math.sqrt(2 / B)
    against = np.vstack([z, z**2])
    correlations = [np.corrcoef(row, xi)[0, 1] for row in against]
    assert np.abs(correlations).max() < 6 / math.sqrt(B)


def test_two_samples_agree(design):
    """The same as two samples of each other; a residual law with n degrees is told apart."""
    beta, B = np.array([1.0, 5.0, -2.0, 0.3, 40.0]), 20_000
    direct = proxies(ReleasedDesign.of(design), beta, 4.0, B, np.random.default_rng(4))
    coefficients, xi = regressions(design, beta, 2.0, B, np.random.default_rng(5))
    for one, other in zip([*direct.beta, direct.xi], [*coefficients, xi], strict=True):
        assert stats.ks_2samp(one, other).pvalue > ALPHA
    printed = 4.0 * np.random.default_rng(6).chisquare(60, B) / 60
    assert stats.ks_2samp(printed, xi).pvalue < ALPHA


def test_aliased_columns_of_released_rows_are_left_out(design):
    """Their fitted values are kept: as if every proxy were regressed on what remains."""
    W = np.column_stack([design, design[:, 1] + design[:, 2], np.zeros(60)])
    released = ReleasedDesign.of(W)
    assert released.kept.tolist() == [True] * 5 + [False] * 2
    beta = np.array([1.0, 5, -2, 0.3, 40, 2, 7])
    np.testing.assert_allclose(design @ released.projected(beta), W @ beta, atol=1e-9)
    assert released.df_resid == 55
    np.testing.assert_allclose(
        released.root @ released.root.T, np.linalg.inv(design.T @ design), rtol=1e-8
    )
    np.testing.assert_allclose(released.diagonal, np.diag(np.linalg.inv(design.T @ design)))


def test_too_few_released_rows():
    with pytest.raises(ParameterError, match="3 complete rows for 3 coefficients"):
        ReleasedDesign.of(np.eye(3))


def test_noisy_means_are_clipped_means_with_noise_of_width_over_b():
    """Residual of 2,000 means is Laplace with the stated sd; alarms at 1e-9."""
    rng = np.random.default_rng(7)
    x = rng.normal(3, 1, 500)
    share = CoefficientShare(Fraction(50), Fraction(1, 2))
    found = np.array([noisy_mean(x, 1.0, share, Settings(), rng, "t") for _ in range(2_000)])
    width = 8 * math.sqrt(math.log(500 / 0.05))
    scale = width / (500 * 0.5)
    np.testing.assert_allclose(found[:, 1], math.sqrt(2) * scale)
    assert stats.kstest((found[:, 0] - x.mean()) / scale, "laplace").pvalue > ALPHA
    assert stats.kstest((found[:, 0] - x.mean()) / scale * 1.6, "laplace").pvalue < ALPHA


def test_means_are_clipped():
    x = np.full(1_000, 2.0)
    x[0] = 1e12
    share = CoefficientShare(HUGE, HUGE)
    mean, _ = noisy_mean(x, 1.0, share, Settings(), np.random.default_rng(8), "t")
    half = 4 * math.sqrt(math.log(1_000 / 0.05))
    assert mean == pytest.approx((999 * 2 + (2 + half)) / 1_000, abs=1e-5)


def test_private_variance_without_noise_is_the_mean():
    rng = np.random.default_rng(9)
    xi = 4 * rng.chisquare(900, 5_000) / 1_000
    assert private_variance(xi, HUGE, Settings(), rng) == pytest.approx(xi.mean(), rel=1e-5)


def given(design, settings, epsilon, seed=10, sigma2=4.0):
    released = ReleasedDesign.of(design)
    names = [f"b{j}" for j in range(5)]
    share = CoefficientShare(epsilon, epsilon)
    shares = OutcomeShare(epsilon, dict.fromkeys(names, share))
    rng = np.random.default_rng(seed)
    drawn = proxies(released, np.array([1.0, 5, -2, 0.3, 40]), sigma2, settings.B, rng)
    return released, drawn, sanitised(released, drawn, sigma2, shares, names, settings, rng)


def test_variants_of_the_residual_variance(design):
    _, drawn, private = given(design, Settings(), HUGE)
    assert private.sigma2 == pytest.approx(
        4 * 55 / 60, rel=0.02
    )  # low by (n - k) / n, as published
    assert private.spread == pytest.approx(private.sigma2 * 60 / 55)
    np.testing.assert_allclose(private.beta, drawn.beta.mean(axis=1), atol=1e-4)
    _, _, last = given(design, Settings(sigma="confidential"), HUGE)
    assert last.sigma2 == 4.0
    assert last.spread == pytest.approx(private.spread)
    _, _, early = given(design, Settings(sigma="confidential", confidential_from="line 17"), HUGE)
    assert (early.sigma2, early.spread) == (4.0, 4.0)


def test_the_floor_of_the_variance_is_said_and_nothing_is_drawn_again(design):
    settings = Settings(B=4, sigma_min=0.5)
    below = [given(design, settings, Fraction(1, 50), seed)[2] for seed in range(60)]
    at_floor = [found for found in below if found.at_floor]
    assert 10 < len(at_floor) < 60
    assert all(found.sigma2 == 0.25 > found.sigma2_raw for found in at_floor)
    assert all(found.sigma2 == found.sigma2_raw > 0.25 for found in below if not found.at_floor)
    assert min(found.sigma2_raw for found in below) < 0


def test_proxies_hold_what_b_regressions_hold(design):
    drawn = proxies(ReleasedDesign.of(design), np.zeros(5), 1.0, 7, np.random.default_rng(1))
    assert isinstance(drawn, Proxies)
    assert drawn.beta.shape == (5, 7)
    assert drawn.xi.shape == (7,)
