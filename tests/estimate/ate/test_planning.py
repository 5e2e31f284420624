from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.estimate.ate.plan import detectable, expected, facts_of, warnings_of
from dprct.estimate.ate.release import Outcome
from dprct.estimate.ate.results import arm_contrasts
from dprct.estimate.noise_law import cdf
from dprct.privacy.arms import Arms
from dprct.schema import Column

CODES = np.repeat([0, 1], [300, 100]).astype(np.int64)
OUTCOME = Outcome(Column("y", bounds=(0.0, 1.0)), Arms(CODES, ((300, 100),)), Fraction(1))
NAMES = ("control", "t")
ARM = arm_contrasts(NAMES)


def test_the_worst_case_is_what_the_bounds_allow() -> None:
    (worst,), (declared,) = (
        expected(OUTCOME, Fraction(1), None, ARM),
        expected(OUTCOME, Fraction(1), 0.1, ARM),
    )
    assert worst.variances[0].value == pytest.approx(0.25 * (1 / 300 + 1 / 100))
    assert declared.variances[0].value == pytest.approx(0.01 * (1 / 300 + 1 / 100))
    assert worst.scales[0] == pytest.approx(1 / 100 / 0.67)


def test_a_detectable_effect_is_found_in_eight_of_ten_experiments() -> None:
    (effect,) = expected(OUTCOME, Fraction(1), 0.3, ARM)
    beyond = detectable(effect, 0.05) - effect.half_width(0.05)
    assert cdf(beyond, effect.variances[0].value, effect.scales) == pytest.approx(0.8)


def test_a_plan_says_noise_sampling_and_what_other_budgets_give() -> None:
    lines = facts_of(OUTCOME, NAMES, ARM, Fraction(1), 0.3, (0.05,))
    assert "control 300, t 100" in lines["y"]
    for words in ("half epsilon", "double", "noise sd", "80% power", "equal at epsilon="):
        assert words in lines["y: t"]
    assert "with treatment private" in lines["y: price of hiding treatment"]


def test_what_cannot_be_found_is_said() -> None:
    assert not list(warnings_of(OUTCOME, ARM, Fraction(1), None, (0.05,)))
    (warning,) = warnings_of(OUTCOME, ARM, Fraction(1, 20), 0.1, (0.05,))
    assert "not usable at this n" in warning
