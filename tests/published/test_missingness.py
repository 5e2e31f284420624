"""Missing outcomes: shares per arm and per code, kept on average and to one row."""

from __future__ import annotations

import numpy as np

from dprct.missing import missing_numbers
from dprct.published.outcomes import arms_of, made_missing, missingness

ARMS = [(0.0,)] * 40 + [(1.0,)] * 60
CODES = np.array([0] * 4 + [2] * 6 + [-1] * 30 + [-1] * 45 + [0] * 15, np.int8)


def test_shares_of_every_arm():
    found = missingness(ARMS, CODES)
    assert found.shares == {(0.0,): {0: 0.1, 2: 0.15}, (1.0,): {0: 0.25}}


def test_every_arm_gets_its_own_share():
    found = missingness(ARMS, CODES)
    arms = [(1.0,)] * 200 + [(0.0,)] * 100
    codes = found.codes(arms, np.random.default_rng(1))
    assert np.bincount(codes[:200] + 1).tolist() == [150, 50]
    assert np.bincount(codes[200:] + 1).tolist() == [75, 10, 0, 15]


def test_shares_that_are_no_whole_rows_are_right_on_average():
    """Mean of 4,000 roundings of 2.5 rows: sd 0.008; alarms at 6 sd."""
    found = missingness(ARMS, CODES)
    rng = np.random.default_rng(2)
    missing = [(found.codes([(1.0,)] * 10, rng) >= 0).sum() for _ in range(4_000)]
    assert set(missing) == {2, 3}
    assert abs(np.mean(missing) - 2.5) < 6 * 0.5 / 4_000**0.5


def test_which_rows_is_random():
    found = missingness(ARMS, CODES)
    rng = np.random.default_rng(3)
    per_row = np.mean([found.codes([(1.0,)] * 8, rng) >= 0 for _ in range(4_000)], axis=0)
    assert np.abs(per_row - 0.25).max() < 6 * (0.25 * 0.75 / 4_000) ** 0.5


def test_an_arm_that_nobody_was_in_has_no_missing_outcome():
    codes = missingness(ARMS, CODES).codes([(2.0,)] * 50, np.random.default_rng(4))
    assert (codes == -1).all()


def test_codes_become_missing_values():
    made = made_missing(np.array([1.0, 2.0, 3.0]), np.array([-1, 0, 26], np.int8))
    assert made[0] == 1.0
    assert missing_numbers(made).tolist() == [-1, 0, 26]


def test_arms_may_be_text():
    found = arms_of({"arm": np.array(["a", "b"], object), "wave": np.array([1.0, 2.0])})
    assert found == [("a", 1.0), ("b", 2.0)]
