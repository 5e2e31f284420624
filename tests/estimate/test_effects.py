from __future__ import annotations

import numpy as np
import pytest

from dprct.estimate.effects import ALPHAS, NoisyEffect, NoisyVariance, normal_quantile
from dprct.estimate.noise_law import correction, quantile


def effect(value: float, variance: float = 0.5) -> NoisyEffect:
    return NoisyEffect(value, (1.0,), (NoisyVariance(variance, 1.6, 1.6),))


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
def test_the_interval_uses_the_correction_of_its_level(alpha: float) -> None:
    raised = 0.5 + correction(1.6, alpha) * 1.6
    assert effect(0).half_width(alpha) == pytest.approx(quantile(alpha, raised, (1.0,)))
    assert effect(0, -100.0).half_width(alpha) == pytest.approx(-np.log(alpha))


def test_the_standard_error_serves_every_declared_level() -> None:
    one = effect(0)
    assert one.standard_error([0.05]) == pytest.approx(one.half_width(0.05) / 1.959964)
    both = one.standard_error([0.05, 0.01])
    assert both == pytest.approx(one.half_width(0.01) / 2.575829)
    assert both > one.standard_error([0.05])


@pytest.mark.parametrize("alpha", [a for a in ALPHAS if 1e-5 < a < 0.6])
def test_the_p_value_inverts_the_interval(alpha: float) -> None:
    edge = effect(0).half_width(alpha)
    assert effect(0.999 * edge).p_value([]) >= alpha
    assert effect(-1.1 * edge).p_value([]) < alpha * 1.0001


def test_p_values_fall_with_the_effect_and_stop_at_the_smallest_level() -> None:
    values = [effect(value).p_value([0.05]) for value in np.linspace(0, 40, 81)]
    assert (np.diff(values) <= 0).all()
    assert values[0] == 1.0
    assert values[-1] == ALPHAS[0]


def test_the_normal_quantile() -> None:
    assert normal_quantile(0.05) == pytest.approx(1.959963985, abs=1e-8)
