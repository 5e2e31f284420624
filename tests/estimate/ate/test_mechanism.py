from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from dprct.errors import ParameterError
from dprct.estimate.ate.release import (
    Outcome,
    check_drawn,
)
from dprct.privacy.noise import source
from dprct.queries.sums import Arms
from dprct.schema import Column
from dprct.schema.tables import eager
from tests.estimate.ate.of_outcome import drawn

Y = Column("y", bounds=(2.0, 6.0))


def outcome(*sizes: int, **options: Any) -> Outcome:
    codes = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    return Outcome(Y, Arms(codes, (sizes,), **options), Fraction(1, 2))


def test_the_parts_spend_exactly_the_share() -> None:
    for given in (outcome(4, 4), outcome(4, 4, 4)):
        assert sum(given.split(Fraction(1, 3))) == Fraction(1, 6)


def test_rho_is_the_public_ratio_of_scales() -> None:
    assert outcome(4, 4).rho(Fraction(2)) == pytest.approx(0.67**2 / 0.28)
    clustered = outcome(4, 4, clusters=np.arange(8) // 2, largest=2)
    of_effect, of_variance, of_control = clustered.split(Fraction(2))
    assert clustered.rho(Fraction(2)) == pytest.approx(float(3 * of_effect**2 / of_variance))
    assert of_effect + of_variance + of_control == 1
    assert of_control == Fraction(5, 100)


@pytest.mark.parametrize(
    ("epsilon", "words"), [(Fraction(10**5), "lower"), (Fraction(1, 10**12), "raise")]
)
def test_what_cannot_be_drawn_is_refused_before_it_is_charged(
    epsilon: Fraction, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        check_drawn(outcome(4, 4), epsilon)
    check_drawn(outcome(4, 4), Fraction(1))


@pytest.mark.parametrize("sizes", [(40, 10), (40, 10, 20)])
def test_scales_are_sensitivity_over_epsilon(sizes: tuple[int, ...]) -> None:
    given, epsilon = outcome(*sizes), Fraction(2)
    frame = eager(pl.DataFrame({"y": np.full(sum(sizes), 3.0)}))
    found = drawn(given, frame, epsilon, source(1))
    of_effect, of_variance = (float(part) for part in given.split(epsilon)[:2])
    first = found.effects[0]
    expected = [4 / 10 / of_effect] + ([4 / 40 / of_effect] if len(sizes) > 2 else [])
    assert first.scales == pytest.approx(expected)
    assert first.variances[0].scale == pytest.approx((4 / 10) ** 2 / of_variance)
    assert first.variances[0].rho == pytest.approx(first.variances[0].scale / first.scales[0] ** 2)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(40, 10), (40, 10, 20)])
def test_the_noise_has_the_scales_that_are_claimed(sizes: tuple[int, ...]) -> None:
    given, noise = outcome(*sizes), source(2)
    frame = eager(pl.DataFrame({"y": np.full(sum(sizes), 3.0)}))
    draws = [drawn(given, frame, Fraction(2), noise) for _ in range(1_500)]
    first = draws[0].effects[0]
    values = np.array([d.effects[0].value for d in draws])
    variances = np.array([d.effects[0].variances[0].value for d in draws])
    # mean |Laplace(b)| = b with sd b; 6.11 standard errors, and 10% off is refused less than half
    assert np.abs(variances).mean() == pytest.approx(
        first.variances[0].scale, rel=6.11 / np.sqrt(1_500)
    )
    assert values.std() == pytest.approx(first.noise_sd, rel=6.11 * np.sqrt(5 / 4 / 1_500))
    assert np.mean([d.control for d in draws]) == pytest.approx(
        3.0, abs=6.11 * np.sqrt(2 / 1_500) * draws[0].control_scale
    )
