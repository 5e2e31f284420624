"""What a plan expects: how sure the sign of an effect will be."""

from __future__ import annotations

import pytest
from scipy.stats import norm

from dprct.estimate.effects import NoisyVariance
from dprct.estimate.ipw.results import Declared, NormalEffect, planned_errors


def test_a_plan_says_how_sure_the_sign_is() -> None:
    """By hand for normal errors: half a 90% interval is wrong one time in twenty."""
    effect = NormalEffect(0.0, 0.5, (NoisyVariance(0.01, 1e-4, 0.1),))
    of = {"outcome": "y", "term": "t"}
    numbers = planned_errors(effect, Declared(4.0), 100, (0.05,), of)
    found = {one.quantity: one.value for one in numbers}
    sd = effect.half_width(0.05) / norm.isf(0.025)
    assert found["wrong_sign_at"] == pytest.approx(norm.isf(0.05) * sd)
    assert found["wrong_sign"] == pytest.approx(norm.sf(2.0 / sd))
    assert found["std_error_without_privacy"] == pytest.approx(2.0 / 5)
