from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.estimate.noise_law import PathNoise, quantile


@pytest.mark.parametrize("alpha", [1e-5, 0.01, 0.05, 0.3])
def test_known_laws(alpha: float) -> None:
    assert PathNoise(((2.5, 1),)).half_width(alpha) == pytest.approx(
        -2.5 * math.log(alpha), rel=1e-4
    )
    normal = stats.norm.isf(alpha / 2)
    assert PathNoise((), 9.0).half_width(alpha) == pytest.approx(3 * normal, rel=1e-6)
    for variance, scales in [(1.0, (0.5,)), (0.0, (1.0, 3.0)), (2.0, (1.0, 0.2))]:
        law = PathNoise(tuple((b, 1) for b in scales), variance)
        wanted = float(quantile(alpha, variance, scales))
        assert law.half_width(alpha) == pytest.approx(wanted, rel=1e-4)


def test_a_mean_of_many_draws() -> None:
    law = (PathNoise(((3.0, 1),)) + PathNoise(((1.0, 1),))).mean_of(5)
    assert law.sd == pytest.approx(math.sqrt((2 * 9 + 2) / 5))
    rng = np.random.default_rng(1)
    draws = rng.laplace(0, 3, (400_000, 5)).mean(1) + rng.laplace(0, 1, (400_000, 5)).mean(1)
    outside = np.mean(np.abs(draws) > law.half_width(0.05))
    # z of 6 is wrong once in 5e8; a law 10% too narrow is off by z of 50
    assert abs(outside - 0.05) < 6 * math.sqrt(0.05 * 0.95 / 400_000)


def test_no_noise_has_no_width() -> None:
    assert PathNoise().half_width(0.05) == 0
    assert PathNoise().sd == 0


@pytest.mark.parametrize("alpha", [0, 1, -1, 1e-7, "x", None])
def test_a_level_that_is_none_is_refused(alpha) -> None:
    with pytest.raises(ParameterError, match="give a number from 1e-06 to 1"):
        PathNoise(((1.0, 1),)).half_width(alpha)


def test_a_multiple_has_its_law() -> None:
    law = PathNoise(((1.0, 2),), 3.0)
    assert law.times(-0.5).sd == pytest.approx(law.sd / 2)
    assert law.times(-0.5).half_width(0.1) == pytest.approx(law.half_width(0.1) / 2)
