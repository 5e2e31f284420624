from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dprct.estimate.effects import NoisyEffect
from dprct.estimate.ipw.release import Released
from dprct.estimate.ipw.results import NormalEffect, effect_of, ladder
from dprct.estimate.noise_law import correction

FOUND = Released(
    weights=np.array([1.0, 0.5]), weight_sd=0.3, weight_spread=0.1, theta=0.2,
    noises=(0.01, 0.0), gaussian=0, variance=1e-4, variance_scale=1e-5, slope=0.04, masses=(),
    balance={}, overlap=None, n2=500,
)  # fmt: skip


def test_everything_is_in_units_of_the_outcome() -> None:
    one, ten = effect_of(FOUND, 1.0), effect_of(FOUND, 10.0)
    assert isinstance(one, NoisyEffect)
    assert one.value == 0.2
    assert one.scales == (0.01,)
    assert [v.value for v in one.variances] == pytest.approx([1e-4, 0.004])
    assert ten.half_width(0.05) == pytest.approx(10 * one.half_width(0.05))


def test_the_weights_widen_the_interval() -> None:
    without = effect_of(replace(FOUND, slope=0.0), 1.0)
    assert effect_of(FOUND, 1.0).half_width(0.05) > 3 * without.half_width(0.05)


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
