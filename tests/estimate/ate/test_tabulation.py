from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.estimate.ate.results import Contrast, arm_contrasts, tabulated
from dprct.estimate.effects import NoisyMean, NoisyVariance, combined

MEANS = tuple(
    NoisyMean(value, b, NoisyVariance(v, b * b, 1.0))
    for value, b, v in ((1.0, 0.1, 0.04), (2.0, 0.2, 0.05), (4.0, 0.3, 0.06))
)


def test_contrasts_covary_by_the_arms_that_they_share() -> None:
    thirds = Contrast("b - a", (Fraction(0), Fraction(-1), Fraction(1)))
    contrasts = (*arm_contrasts(("control", "a", "b")), thirds)
    effects = [[combined(MEANS, contrast.weights) for contrast in contrasts]]
    found = tabulated(["y"], effects, [MEANS], contrasts, (0.05,))
    assert found["params"].to_dict() == pytest.approx({"a": 1, "b": 3, "b - a": 2})
    spread = [mean.variance.at(0.05) + 2 * mean.scale**2 for mean in MEANS]
    assert found["cov"].loc["a", "b"] == pytest.approx(spread[0])
    assert found["cov"].loc["a", "b - a"] == pytest.approx(-spread[1])
    assert found["cov"].loc["b", "b - a"] == pytest.approx(spread[2])
    assert found["bse_noise"]["b - a"] == pytest.approx(np.sqrt(2 * (0.04 + 0.09)))


def test_outcomes_are_named_where_there_are_several() -> None:
    contrasts = arm_contrasts(("control", "a", "b"))[:1]
    effects = [[combined(MEANS, contrasts[0].weights)]] * 2
    found = tabulated(["y", "z"], effects, [MEANS, ()], contrasts, (0.05,))
    assert list(found["params"].index) == ["y: a", "z: a"]
    assert np.isnan(found["cov"].iloc[0, 1])
