from __future__ import annotations

import numpy as np
import pytest

from dprct.estimate.effects import NoisyVariance
from dprct.estimate.ipw.results import NormalEffect

KNOWN = NoisyVariance(0.04, 0.0, 0.1)


def test_with_a_known_variance_it_is_almost_the_normal_interval() -> None:
    effect = NormalEffect(1.0, 0.3, (KNOWN,))
    assert 1.96 < effect.half_width(0.05) / 0.13**0.5 < 2.02
    assert effect.noise_half_width(0.05) == pytest.approx(1.96 * 0.3, rel=1e-3)
    assert effect.standard_error((0.05,)) == pytest.approx(0.13**0.5, rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("scale", [0.001, 0.1, 2.0])
def test_the_interval_covers_with_a_noisy_variance(alpha: float, scale: float) -> None:
    rng = np.random.default_rng(1)
    errors = rng.normal(0, np.sqrt(0.04 + 0.09), 20_000)
    noisy = 0.04 + rng.laplace(0, scale, 20_000)
    covered = [
        abs(x) <= NormalEffect(0.0, 0.3, (NoisyVariance(v, scale, 0.1),)).half_width(alpha)
        for x, v in zip(errors, noisy, strict=True)
    ]
    spread = np.sqrt(alpha * (1 - alpha) / 20_000)
    assert np.mean(covered) > 1 - alpha - 6.2 * spread


@pytest.mark.parametrize("value", [0.1, 0.7, -1.2])
def test_p_values_invert_the_intervals(value: float) -> None:
    effect = NormalEffect(value, 0.3, (KNOWN,))
    p = effect.p_value((0.05,))
    assert effect.half_width(p) == pytest.approx(abs(value), rel=1e-6)


def test_p_values_stay_in_their_range() -> None:
    assert NormalEffect(0.0, 0.3, (KNOWN,)).p_value(()) == 1.0
    assert NormalEffect(50.0, 0.3, (KNOWN,)).p_value(()) == 1e-10
