"""Thresholds: monotone in every public number, and the smallest that keep their promise."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dprct.privacy.histograms import (
    SPURIOUS_SHARE,
    lone_cell_seen,
    pure_threshold,
    spurious_rows,
    stability_threshold,
)

EXPONENTS = [Fraction(1, 1000), Fraction(1, 2), Fraction(7)]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_spurious_rows_fall_with_the_threshold(exponent):
    rows = [spurious_rows(10**9, exponent, t) for t in range(1, 60)]
    assert all(later < earlier for earlier, later in itertools.pairwise(rows))


def test_spurious_rows_are_the_expected_tail_sum():
    alpha, t = 0.5, 3  # exponent log 2 is not rational; use a close fraction
    exponent = Fraction(693147180559945309, 10**18)
    terms = [k * (1 - alpha) / (1 + alpha) * alpha**k for k in range(t, 200)]
    assert float(spurious_rows(100, exponent, t)) == pytest.approx(100 * sum(terms), rel=1e-12)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_pure_threshold_is_monotone_and_smallest(exponent):
    last = 1
    for cells in (1, 10, 10**6, 10**12, 10**40):
        t = pure_threshold(cells, 1000, exponent)
        assert t >= last
        assert spurious_rows(cells, exponent, t) <= 1000 * SPURIOUS_SHARE
        assert t == 1 or spurious_rows(cells, exponent, t - 1) > 1000 * SPURIOUS_SHARE
        last = t
    assert pure_threshold(10**6, 10**5, exponent) <= pure_threshold(10**6, 100, exponent)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("delta", [Fraction(9, 10), Fraction(1, 100), Fraction(1, 10**12)])
def test_stability_threshold_is_smallest(exponent, delta):
    t = stability_threshold(delta, exponent)
    assert lone_cell_seen(exponent, t) <= delta
    assert t == 1 or lone_cell_seen(exponent, t - 1) > delta


def test_a_budget_beyond_reason_needs_no_memory():
    assert lone_cell_seen(Fraction(10**12), 2) == Fraction(1, 2**65536)
    assert stability_threshold(Fraction(1, 10**300), Fraction(10**12)) == 2
