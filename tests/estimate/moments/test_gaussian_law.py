"""How much a noisy variance is raised: the printed table, and coverage in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.moments.gaussian_law import ALPHAS, kappa, p_value, rounded_up, worst_miss


def test_a_p_value_inverts_the_intervals():
    from scipy import special

    def tail(t):
        return float(2 * special.ndtr(-t))

    assert p_value(2.0, lambda _: 1.0, tail) == pytest.approx(tail(2.0))
    assert p_value(0.0, lambda _: 1.0, tail) == 1
    assert p_value(50.0, lambda _: 1.0, tail) == ALPHAS[0]
    assert p_value(1.0, lambda _: 0.0, tail) == ALPHAS[0]
    found = p_value(2.5, lambda alpha: 1 + kappa(1.0, alpha), tail)
    # its 95 % interval excludes zero, its 97 % interval does not
    assert tail(2.5 / (1 + kappa(1.0, 0.05)) ** 0.5) <= found < 0.05
    assert found <= tail(2.5 / (1 + kappa(1.0, 0.03)) ** 0.5)


def test_ratios_are_rounded_up_and_refused_beyond_sense():
    for ratio in (1e-5, 0.3, 7.0):
        assert ratio <= rounded_up(ratio) <= max(1e-3, 1.0101 * ratio)
    assert rounded_up(0.0) == kappa(0.0) == 0
    with pytest.raises(ParameterError, match="lower epsilon"):
        kappa(2e4)
    with pytest.raises(ParameterError, match="alpha"):
        kappa(1.0, 1.5)


@pytest.mark.parametrize(
    ("alpha", "table"),
    [
        (0.05, {0.06: 0.061, 0.12: 0.109, 0.25: 0.190, 0.5: 0.297, 1: 0.432, 2: 0.586, 8: 0.901}),
        (0.01, {0.06: 0.097, 0.12: 0.174, 0.25: 0.304, 0.5: 0.479, 1: 0.700, 2: 0.947, 8: 1.422}),
        (0.001, {0.12: 0.272, 0.5: 0.749, 1: 1.084}),
    ],
)
def test_kappa_is_that_of_the_printed_table(alpha, table):
    for ratio, printed in table.items():
        assert kappa(ratio, alpha) == pytest.approx(printed, abs=6e-4)
        assert worst_miss(ratio, kappa(ratio, alpha), alpha) <= alpha * (1 + 1e-9)
        assert worst_miss(ratio, 0.99 * kappa(ratio, alpha), alpha) > alpha


@pytest.mark.long
def test_kappa_covers_where_simulation_says_so():
    rng, ratio = np.random.default_rng(3), 4.0
    for variance in (0.0, 1.0, 3.0, 10.0):
        error = rng.normal(0, np.sqrt(1 + variance), 400_000)
        seen = variance + ratio * rng.normal(size=400_000)
        for raise_by, least in ((kappa(ratio), True), (0.0, False)):
            half = 1.96 * np.sqrt(np.maximum(0, seen + raise_by * ratio) + 1)
            covered = (np.abs(error) <= half).mean()
            if least:
                assert covered > 0.95 - 5 * np.sqrt(0.05 * 0.95 / 4e5)
            elif variance == 3.0:
                assert covered < 0.90
