"""Intervals of private IPW over simulated studies; docs/coverage_ipw.md has the wider grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from dprct import IPW

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE_ALARM = 1e-9


def missed(
    arrays: Callable[..., Any],
    runs: int,
    n: int,
    epsilon: float,
    wrong: bool = False,
    *,
    length: float = 1.0,
    **options: Any,
) -> int:
    """Return how many 95% intervals miss the effect of .2, each made ``length`` times as long."""
    rng = np.random.default_rng(n)
    count = 0
    for _ in range(runs):
        X, t, y = arrays(n, rng, wrong)
        model = IPW.from_arrays(
            X, t, y, bounds=(-1, 1), x_bounds=(-1, 1), **{"estimator": "ipw", **options}
        )
        low, high = model.fit(epsilon, 1e-6, rng=rng).conf_int().to_numpy()[0]
        count += not abs((low + high) / 2 - 0.2) <= (high - low) / 2 * length
    return count


def too_many(count: int, runs: int) -> bool:
    """Whether a coverage of 95% would miss so often once in 1e9."""
    return bool(stats.binom.sf(count - 1, runs, 0.05) < FALSE_ALARM)


@pytest.mark.long
def test_intervals_cover(arrays: Callable[..., Any]) -> None:
    assert not too_many(missed(arrays, 40, 2000, 1.0), 40)
    assert not too_many(missed(arrays, 20, 2000, 4.0, hajek=True), 20)


@pytest.mark.parametrize(("length", "too_short"), [(1.0, False), (0.5, True)])
def test_doubly_robust_intervals_cover_and_half_as_long_ones_would_not(
    arrays: Callable[..., Any], length: float, too_short: bool
) -> None:
    found = missed(arrays, 100, 5000, 2.0, estimator="aipw", length=length)
    assert too_many(found, 100) == too_short, found


def test_conditional_intervals_do_not_contain_the_weights(arrays: Callable[..., Any]) -> None:
    """Power: what the label warns of is found."""
    count = missed(arrays, 40, 2000, 4.0, errors="conditional", hajek=False, lam=0.001)
    assert too_many(count, 40)


@pytest.mark.audit
@pytest.mark.parametrize(
    "options", [{"hajek": False}, {"hajek": True}, {"noise": "gaussian"}], ids=str
)
def test_a_thousand_intervals_cover(arrays: Callable[..., Any], options: Any) -> None:
    assert not too_many(missed(arrays, 1000, 2000, 2.0, **options), 1000)
