"""What a plan expects: how sure the sign of an effect will be."""

from __future__ import annotations

from scipy.stats import norm

from dprct.estimate.effects import NoisyVariance
from dprct.estimate.ipw.results import Declared, NormalEffect, signs_of


def test_a_plan_says_how_sure_the_sign_is() -> None:
    """By hand for normal errors: half a 90% interval is wrong one time in twenty."""
    effect = NormalEffect(0.0, 0.5, (NoisyVariance(0.01, 1e-4, 0.1),))
    said = signs_of(effect, Declared(4.0))
    sd = effect.half_width(0.05) / norm.isf(0.025)
    assert f"1 time in 20 for an effect of {norm.isf(0.05) * sd:.4g}" in said
    assert f"{norm.sf(2.0 / sd):.1%} of the time for one sd" in said
