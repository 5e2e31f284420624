from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dprct.estimate.effects import NoisyEffect
from dprct.estimate.ipw.release import Released
from dprct.estimate.ipw.results import (
    NoisySteepness,
    NormalEffect,
    effect_of,
    ladder,
    steepness_correction,
)
from dprct.estimate.noise_law import correction, quantile

FOUND = Released(
    weights=np.array([1.0, 0.5]), weight_sd=0.3, weight_spread=0.1, shortfall=0.0, theta=0.2,
    noises=(0.01, 0.0), gaussian=0, variance=1e-4, variance_scale=1e-5, steepness=0.2,
    steepness_scale=0.01, masses=(), balance={}, overlap=None, n2=500,
)  # fmt: skip


def test_everything_is_in_units_of_the_outcome() -> None:
    one, ten = effect_of(FOUND, 1.0), effect_of(FOUND, 10.0)
    assert isinstance(one, NoisyEffect)
    assert one.value == 0.2
    assert one.scales == (0.01,)
    assert [v.value for v in one.variances] == pytest.approx([1e-4, 0.2])
    assert one.variances[1].at(0.05) == pytest.approx(0.1 * (0.2 + 0.945 * 0.01) ** 2, rel=1e-3)
    assert ten.half_width(0.05) == pytest.approx(10 * one.half_width(0.05))


def test_the_weights_widen_the_interval() -> None:
    without = effect_of(replace(FOUND, steepness=0.0, steepness_scale=0.0), 1.0)
    assert effect_of(FOUND, 1.0).half_width(0.05) > 3 * without.half_width(0.05)


def test_the_penalty_widens_the_interval_by_what_it_took() -> None:
    (_, part) = effect_of(replace(FOUND, shortfall=2.0), 1.0).variances
    (_, without) = effect_of(FOUND, 1.0).variances
    assert part.at(0.05) - without.at(0.05) == pytest.approx((2.0 * 0.2) ** 2)


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_an_interval_of_variance_and_squared_bias_covers(alpha: float) -> None:
    bias = np.linspace(0, 20, 2001)
    half = stats.norm.isf(alpha / 2) * np.hypot(1, bias)
    covered = stats.norm.cdf(half - bias) - stats.norm.cdf(-half - bias)
    assert covered.min() > 1 - alpha - 0.006


def test_gaussian_noise_is_told_from_that_of_denominators() -> None:
    found: Any = effect_of(replace(FOUND, noises=(0.01, 0.02), gaussian=1), 1.0)
    assert isinstance(found, NormalEffect)
    assert found.sd == pytest.approx(np.sqrt(0.01**2 + 2 * 0.02**2))


def test_the_ladder_rounds_up_to_where_the_correction_is_not_smaller() -> None:
    for rho in (1e-5, 0.01, 0.3, 7.0, 9e3, 1e9):
        step = ladder(rho)
        assert step >= min(rho, 1e4)
        assert step <= max(2 * rho, 2.0**-10)
    assert correction(ladder(0.3)) >= correction(0.3)


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_error_of_the_weights_is_covered_whatever_its_size(alpha: float) -> None:
    """On its own, N (0, N^2) with N + Laplace(1) released; false alarm 1e-9, power by less a."""
    rng = np.random.default_rng(1)
    runs, z = 400_000, stats.norm.isf(alpha / 2)
    spread = np.sqrt(alpha * (1 - alpha) / runs)
    least = []
    for size in (0.01, 0.5, 1.0, 2.0, 3.0, 5.0, 20.0, 300.0):
        errors, noisy = rng.normal(0, size, runs), size + rng.laplace(0, 1, runs)
        raised = np.maximum(noisy, 0) + steepness_correction(alpha)
        assert np.mean(abs(errors) <= z * raised) > 1 - alpha - 6.2 * spread
        less = np.maximum(noisy, 0) + 0.9 * steepness_correction(alpha)
        least.append(np.mean(abs(errors) <= z * less))
    assert min(least) < 1 - alpha - 6.2 * spread


@pytest.mark.long
def test_the_sampling_and_the_weights_are_covered_together() -> None:
    """Worst over a grid of both variances and both noises, at 95 %."""
    rng, runs = np.random.default_rng(2), 40_000
    for v, scale, norm, b in itertools.product((0.01, 1.0), (0.01, 1.0), (0.1, 2.0), (0.1, 1.0)):
        error = rng.normal(0, np.sqrt(v + norm**2), runs) + rng.laplace(0, 1, runs)
        sampling = np.maximum(v + rng.laplace(0, scale, runs) + correction(scale, 0.05) * scale, 0)
        steep = NoisySteepness(1.0, b, 1.0)
        a = (np.sqrt(steep.at(0.05)) - 1) / b
        weights = (np.maximum(norm + rng.laplace(0, b, runs), 0) + a * b) ** 2
        covered = np.mean(abs(error) <= quantile(0.05, sampling + weights, (1.0,)))
        assert covered > 0.95 - 6.2 * np.sqrt(0.05 * 0.95 / runs)
