from __future__ import annotations

import numpy as np
import pytest

from dprct.published.ipw import logistic_weights, weighted_difference


def test_the_weighted_differences_are_the_textbook_ones() -> None:
    t = np.array([True, True, False, False])
    y, e = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.8, 0.4, 0.2])
    ate, reach = weighted_difference("ate", t, y, e)
    assert ate == pytest.approx((1 / 0.5 + 2 / 0.8 - 3 / 0.6 - 4 / 0.8) / 4)
    assert reach == pytest.approx(2 * 2 / 4)
    assert weighted_difference("att", t, y, e)[0] == pytest.approx((3 - 3 * 0.4 / 0.6 - 1) / 2)
    assert weighted_difference("atc", t, y, e)[0] == pytest.approx((1 + 2 * 0.25 - 7) / 2)


def test_an_empty_arm_is_no_error() -> None:
    y, e = np.ones(2), np.full(2, 0.5)
    assert weighted_difference("att", np.zeros(2, bool), y, e)[0] == -2


def test_the_penalty_spares_the_last_coordinate_if_asked() -> None:
    X, t = np.ones((10, 1)), np.arange(10) < 8
    free = logistic_weights(X, t, 5.0, free_last=True)
    assert free[0] == pytest.approx(np.log(4), abs=1e-4)
    assert 0 < logistic_weights(X, t, 5.0, free_last=False)[0] < 0.2
