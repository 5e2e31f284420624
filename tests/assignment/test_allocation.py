"""How many units each group gets, and which: rules that always hold, and laws of the draws.

Statistical tests reject at 1e-9 each; every one is shown to reject a plausible wrong law.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from dprct.assignment.groups import (
    counted,
    fair_counts,
    independent,
    narrow,
    spread,
    uneven,
    whole_and_rest,
)

ALPHA = 1e-9
COPIES = 100_000

BLOCKS = [
    (1, (0.2, 0.3, 0.5)),
    (3, (0.5, 0.5)),
    (5, (0.1, 0.2, 0.3, 0.4)),
    (7, (0.05, 0.25, 0.7)),
    (10, (1 / 3, 1 / 3, 1 / 3)),
]


def copies(size, shares, number=COPIES):
    return np.full(number, size), np.repeat([shares], number, axis=0)


def has_means(counts, size, shares):
    """Whether mean counts are shares times size; each count is one of two neighbours."""
    whole, rest = whole_and_rest(np.array([size]), np.array([shares]))
    extra = (counts - whole).mean(axis=0) - rest[0]
    spread_ = np.sqrt(rest[0] * (1 - rest[0]) / len(counts))
    limit = norm.isf(ALPHA / 2 / len(shares))
    return bool((np.abs(extra) <= limit * spread_ + 1e-12).all())


@given(
    st.lists(st.integers(0, 200), min_size=1, max_size=8),
    st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(sum),
    st.integers(0, 2**32),
)
def test_counts_are_shares_rounded_down_or_up(sizes, weights, seed):
    shares = np.repeat([np.array(weights) / sum(weights)], len(sizes), axis=0)
    counts = fair_counts(np.array(sizes), shares, np.random.default_rng(seed))
    for size, row in zip(sizes, counts.tolist(), strict=True):
        assert sum(row) == size
        for weight, count in zip(weights, row, strict=True):
            low, remainder = divmod(size * weight, sum(weights))
            assert low <= count <= low + (remainder > 0)
    assert not uneven(counts, np.array(sizes), shares).any()


@pytest.mark.parametrize("size", [100, 1000, 10**6])
def test_whole_shares_are_met_whatever_floating_point_makes_of_them(size):
    shares = np.array([0.29, 0.57, 0.14])
    counts = fair_counts(np.array([size]), shares[None], np.random.default_rng(1))
    assert counts.tolist() == [[size * 29 // 100, size * 57 // 100, size * 14 // 100]]


@pytest.mark.parametrize(("size", "shares"), BLOCKS)
def test_everybodys_probability_is_the_share(size, shares):
    counts = fair_counts(*copies(size, shares), np.random.default_rng(2))
    assert has_means(counts, size, shares)


@pytest.mark.parametrize(("size", "shares"), [BLOCKS[0], BLOCKS[2], BLOCKS[3]])
def test_unfair_remainders_would_be_noticed(size, shares):
    rng = np.random.default_rng(3)
    whole, rest = whole_and_rest(*copies(size, shares))
    left = int(size - whole[0].sum())
    to_the_largest = whole.copy()
    np.add.at(to_the_largest.T, np.argsort(-rest[0])[:left], 1)
    assert not has_means(to_the_largest, size, shares)
    blind = rng.random(rest.shape).argsort(axis=1) < left
    assert not has_means(whole + blind, size, shares)


def test_blocks_round_independently_of_each_other():
    first, second = (
        fair_counts(*copies(3, (0.5, 0.5), 2 * COPIES), np.random.default_rng(4))[:, 0]
        .reshape(-1, 2)
        .T
    )
    together = ((first == 2) & (second == 2)).mean()
    assert abs(together - 0.25) < norm.isf(ALPHA / 2) * np.sqrt(0.25 * 0.75 / COPIES)


def test_any_two_groups_with_a_fraction_can_round_up_together():
    counts = fair_counts(*copies(2, (0.25,) * 4), np.random.default_rng(5))
    pairs = {tuple(np.flatnonzero(row)) for row in counts}
    assert pairs == {(i, j) for j in range(4) for i in range(j)}


def arrangements(codes, size):
    """Chi-square of the arrangements of two in four, all equally likely."""
    patterns = codes.reshape(-1, size) @ (1 << np.arange(size))
    seen = np.bincount(patterns, minlength=1 << size)[[3, 5, 6, 9, 10, 12]]
    expected = len(patterns) / 6
    assert seen.sum() == len(patterns)
    return float(((seen - expected) ** 2 / expected).sum())


def test_all_arrangements_within_a_block_are_equally_likely():
    blocks = np.repeat(np.arange(COPIES), 4)
    counts = np.full((COPIES, 2), 2)
    codes = spread(blocks, counts, np.random.default_rng(6))
    assert arrangements(codes, 4) < chi2.isf(ALPHA, 5)
    # one block in fifty that is not shuffled is noticed
    codes.reshape(-1, 4)[::50] = [0, 0, 1, 1]
    assert arrangements(codes, 4) > chi2.isf(ALPHA, 5)


def test_units_of_a_block_need_not_stand_together():
    rng = np.random.default_rng(7)
    blocks = rng.integers(0, 50, 5000)
    sizes = np.bincount(blocks, minlength=50)
    counts = fair_counts(sizes, np.full((50, 3), 1 / 3), rng)
    codes = spread(blocks, counts, rng)
    assert counted(blocks, codes, (50, 3)).tolist() == counts.tolist()


def test_more_blocks_than_sixteen_bits_hold():
    number = (1 << 16) + 1
    blocks = np.arange(number)
    counts = np.zeros((number, 2), np.int64)
    counts[blocks, blocks % 2] = 1
    assert narrow(blocks, number) is blocks
    assert (spread(blocks, counts, np.random.default_rng(8)) == blocks % 2).all()


def test_independent_draws_have_their_probabilities():
    shares = np.array([0.2, 0.5, 0.3])
    codes = independent(np.repeat([shares], COPIES, axis=0), np.random.default_rng(9))
    seen, expected = np.bincount(codes, minlength=3), COPIES * shares
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(ALPHA, 2)
    wrong = COPIES * np.array([0.21, 0.49, 0.3])
    assert ((seen - wrong) ** 2 / wrong).sum() > chi2.isf(ALPHA, 2)


def test_a_group_of_share_zero_gets_nobody():
    class Highest:
        def random(self, shape):
            return np.full(shape, np.nextafter(1.0, 0.0))

    shares = np.repeat([[0.1] * 10 + [0.0]], 3, axis=0)
    assert independent(shares, Highest()).tolist() == [9, 9, 9]


def test_a_count_beyond_the_neighbours_of_its_share_is_uneven():
    shares = np.full((2, 2), 0.5)
    sizes = np.array([4, 5])
    assert uneven(np.array([[2, 2], [3, 2]]), sizes, shares).tolist() == [False, False]
    assert uneven(np.array([[3, 1], [3, 2]]), sizes, shares).tolist() == [True, True]
    thirds = np.array([[1 / 3, 1 / 3, 1 / 3]])
    assert uneven(np.array([[1, 2, 4]]), np.array([7]), thirds).tolist() == [True, False, True]


def test_a_whole_share_has_no_neighbour_below_whatever_floating_point_makes_of_it():
    shares = np.array([[0.29, 0.71]])  # 0.29 times 100 is below 29 in doubles
    assert uneven(np.array([[28, 72]]), np.array([100]), shares).tolist() == [True, True]
    assert uneven(np.array([[29, 71]]), np.array([100]), shares).tolist() == [False, False]
