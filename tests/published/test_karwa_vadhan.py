"""Algorithms 4 and 5: laws against noise on every bin, the promise per value, the edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dprct.errors import ParameterError
from dprct.published.karwa_vadhan import Bins, DPRange, DPVariance, NoisyMode, largest_laplace
from tests.statistical.auditing import lower_bound

ALPHA = 1e-9


def winning_law(counts, values, epsilon, threshold=None, middle=None):
    """Exact probabilities of the winner, by integrating f(z - p_j) times the other F(z - p_i)."""
    shares = np.asarray(counts) / values
    scale = 2 / (values * epsilon)
    if threshold is None:
        reach = 45 * scale
        z = np.linspace(shares.min() - reach, shares.max() + reach, 200_001)
        cdf = np.array([stats.laplace.cdf(z, p, scale) for p in shares])
        law = []
        for j, p in enumerate(shares):
            others = np.prod(np.delete(cdf, j, axis=0), axis=0)
            law.append(integrate.trapezoid(stats.laplace.pdf(z, p, scale) * others, z))
        return np.array(law)
    used = [j for j, c in enumerate(counts) if c]
    z = np.linspace(threshold, shares.max() + 45 * scale, 200_001)
    law = np.zeros(len(counts))
    for j in used:
        others = np.prod([stats.laplace.cdf(z, shares[i], scale) for i in used if i != j], axis=0)
        law[j] = integrate.trapezoid(stats.laplace.pdf(z, shares[j], scale) * others, z)
    law[middle] += 1 - law.sum()
    return law


def numbers_with(counts, bins):
    return np.repeat(np.arange(bins.first, bins.last + 1), counts)


def agrees(draws, bins, law):
    found = np.bincount(np.asarray(draws) - bins.first, minlength=bins.size)
    expected = law * len(draws)
    common = expected > 5
    rest = [found[~common].sum(), expected[~common].sum()]
    observed = np.append(found[common], rest[0])
    expect = np.append(expected[common], max(rest[1], 1e-9))
    if rest[1] < 5:
        observed, expect = observed[:-1], expect[:-1]
        assert rest[0] <= 60
    expect *= observed.sum() / expect.sum()
    return stats.chisquare(observed, expect).pvalue


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize(
    "counts",
    [
        [0, 0, 3, 6, 2, 0, 0],
        [9, 0, 0, 0, 0, 0, 2],
        [0, 0, 0, 0, 0, 0, 0],
        [2, 3, 1, 2, 1, 1, 1],
    ],
    ids=["inside", "ends", "nothing", "full"],
)
def test_the_law_is_that_of_noise_on_every_bin(counts, epsilon):
    """Alarms at 1e-9; a scale that is 20 % off is seen (next test)."""
    bins = Bins(-3, 3)
    mode = NoisyMode(bins, 11, Fraction(epsilon), Fraction(0), "every bin")
    rng = np.random.default_rng(5)
    numbers = numbers_with(counts, bins)
    draws = [mode.draw(numbers, rng) for _ in range(20_000)]
    assert agrees(draws, bins, winning_law(counts, 11, epsilon)) > ALPHA


def test_a_wrong_scale_is_seen():
    bins, counts = Bins(-3, 3), [0, 0, 3, 6, 2, 0, 0]
    mode = NoisyMode(bins, 11, Fraction(12, 10), Fraction(0), "every bin")
    rng = np.random.default_rng(5)
    draws = [mode.draw(numbers_with(counts, bins), rng) for _ in range(20_000)]
    assert agrees(draws, bins, winning_law(counts, 11, 1.0)) < ALPHA


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize(
    "counts",
    [[0, 0, 3, 6, 2, 0, 0], [9, 0, 0, 0, 0, 0, 2], [0, 1, 0, 0, 0, 0, 0], [0] * 7],
    ids=["inside", "ends", "one", "nothing"],
)
def test_as_printed_an_empty_bin_gets_nothing(counts, epsilon):
    """Algorithm 4, line 10, with c = 0: shares above 0 of occupied bins; else the middle."""
    bins = Bins(-3, 3)
    mode = NoisyMode(bins, 11, Fraction(epsilon), Fraction(0))
    rng = np.random.default_rng(5)
    draws = [mode.draw(numbers_with(counts, bins), rng) for _ in range(20_000)]
    occupied = {j - 3 for j, count in enumerate(counts) if count}
    assert set(draws) <= occupied | {0}
    if occupied:
        law = winning_law(counts, 11, epsilon, threshold=0.0, middle=3)
        assert agrees(draws, bins, law) > ALPHA
        assert agrees(draws, bins, winning_law(counts, 11, epsilon)) < ALPHA


def test_as_printed_the_law_is_that_of_the_printed_line():
    """The line itself, bin by bin, against the draws of the occupied bins alone."""
    counts, values, c = np.array([0, 4, 3, 2, 0]), 9, 0.0
    rng = np.random.default_rng(11)
    Z = rng.laplace(0.0, 2 / values, (200_000, 5))
    p = counts / values
    line_10 = np.where(p > np.maximum(0, c - Z), p + Z, 0.0)
    winners = np.where(line_10.max(axis=1) > 0, line_10.argmax(axis=1), 2)
    found = np.bincount(winners, minlength=5) / len(winners)
    law = winning_law(counts, values, 1.0, threshold=0.0, middle=2)
    assert np.abs(found - law).max() < 6 * math.sqrt(0.25 / len(winners))
    assert found[0] == found[4] == 0


def test_as_printed_nothing_is_promised_to_a_value():
    """A bin that one value has to itself wins with it, and never without it."""
    one = winning_law([0, 8, 0, 0, 1], 9, 1.0, threshold=0.0, middle=2)
    other = winning_law([0, 9, 0, 0, 0], 9, 1.0, threshold=0.0, middle=2)
    assert one[4] > 0.01
    assert other[4] == 0


def test_the_law_with_a_threshold():
    bins, counts, delta = Bins(-3, 3), [0, 1, 3, 6, 1, 0, 0], Fraction(2, 5)
    mode = NoisyMode(bins, 11, Fraction(1), delta)
    c = (2 * math.log(2 / 0.4) + 1) / 11
    assert mode.threshold == pytest.approx(c, rel=1e-14)
    rng = np.random.default_rng(6)
    draws = [mode.draw(numbers_with(counts, bins), rng) for _ in range(20_000)]
    assert agrees(draws, bins, winning_law(counts, 11, 1.0, c, middle=3)) > ALPHA


def test_a_threshold_only_if_bins_exceed_two_over_delta():
    assert NoisyMode(Bins(0, 9), 100, Fraction(1), Fraction(2, 10)).threshold is None
    assert NoisyMode(Bins(0, 10), 100, Fraction(1), Fraction(2, 10)).threshold is not None
    assert NoisyMode(Bins(0, 10**9), 100, Fraction(1), Fraction(0)).threshold is None


def test_the_largest_of_many_has_its_exact_law():
    rng = np.random.default_rng(7)
    for count in (1, 2, 7, 10**15):
        draws = np.array([largest_laplace(count, 2.0, rng) for _ in range(5_000)])
        # P(max <= x) = F(x)^count = exp(count log1p(-tail)), tail of the Laplace law
        law = np.exp(count * np.log1p(-stats.laplace.sf(draws, scale=2.0)))
        assert stats.kstest(law, "uniform").pvalue > ALPHA
        off = np.exp(count * np.log1p(-stats.laplace.sf(draws, scale=2.6)))
        assert stats.kstest(off, "uniform").pvalue < ALPHA


def test_empty_bins_are_equally_likely():
    bins, occupied = Bins(-2, 6), np.array([-2, 0, 1, 6])
    found = [bins.empty(place, occupied) for place in range(5)]
    assert found == [-1, 2, 3, 4, 5]
    assert [Bins(3, 5).empty(place, np.array([], np.int64)) for place in range(3)] == [3, 4, 5]


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_promise_per_value_holds_exactly(epsilon):
    """One value that moves changes the probability of no winner by more than e^epsilon."""
    values = 9
    worst = 0.0
    neighbours = [
        ([0, 4, 3, 2, 0], [0, 3, 4, 2, 0]),
        ([0, 9, 0, 0, 0], [0, 8, 0, 0, 1]),
        ([1, 8, 0, 0, 0], [0, 9, 0, 0, 0]),
        ([2, 2, 2, 2, 1], [2, 2, 2, 1, 2]),
    ]
    for one, other in neighbours:
        p, q = winning_law(one, values, epsilon), winning_law(other, values, epsilon)
        worst = max(worst, np.abs(np.log(p / q)).max())
    assert 0.4 * epsilon < worst <= epsilon * (1 + 1e-6)


@pytest.mark.long
def test_an_attack_on_one_value_stays_below_the_claim():
    """Alarms at 1e-9; the same attack on a range of epsilon = 3 finds more than 1."""
    x = np.concatenate([np.zeros(5), np.full(4, 2.0)])
    y = np.concatenate([np.zeros(4), np.full(5, 2.0)])

    def certified(epsilon, seed):
        rng = np.random.default_rng(seed)
        mechanism = DPRange(1.0, epsilon, v=3, noise_on="every bin")
        scores = [
            [-abs(mechanism.draw(s, rng)[0] + mechanism.half_width(9)) for _ in range(20_000)]
            for s in (x, y)
        ]
        return lower_bound(*scores, alpha=ALPHA).epsilon

    assert certified(1.0, 1) < 1.0
    assert certified(3.0, 2) > 1.0


def test_variance_bins_and_powers():
    mechanism = DPVariance(1)
    assert mechanism.bins == Bins(-17, 16)
    rng = np.random.default_rng(1)
    huge = DPVariance(10**6)
    # pairs at a distance of 2^j belong to (2^(j-1), 2^j]: sd = 2^(j+1), variance 4^(j+1)
    for j in (-10, 0, 7):
        x = np.tile([0.0, 2.0**j], 50)
        assert huge.draw(x, rng) == 4.0 ** (j + 1)
        assert huge.draw(x * (1 + 1e-12), rng) == 4.0 ** (j + 2)


def test_variance_of_a_normal_sample_is_bounded_within_a_constant():
    rng = np.random.default_rng(2)
    for sd in (0.01, 1.0, 300.0):
        found = DPVariance(5).draw(rng.normal(1e3, sd, 4000), rng)
        assert 1 <= found / sd**2 <= 64


def test_a_last_value_without_a_pair_is_left_out():
    x = np.array([0.0, 1.0] * 30 + [1e6])
    assert DPVariance(10**6).draw(x, np.random.default_rng(1)) == 4.0


def test_the_range_covers_a_normal_sample():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        x = rng.normal(-17, 0.4, 500)
        low, high = DPRange(0.4, 1).draw(x, rng)
        inside += low <= x.min() and x.max() <= high
    assert inside >= 195  # each misses with probability below 1e-3 by far


def test_range_arithmetic():
    low, high = DPRange(2.0, 10**6, v=7, alpha=0.1).draw(
        np.full(100, 5.1), np.random.default_rng(1)
    )
    half = 4 * 2 * math.sqrt(math.log(100 / 0.1))
    assert (low, high) == pytest.approx((6 - half, 6 + half))  # 5.1 is in (5, 7]: bin 3
    edge = DPRange(2.0, 10**6, v=7).draw(np.full(100, 5.0), np.random.default_rng(1))
    assert sum(edge) / 2 == pytest.approx(4.0)  # 5.0 is in (3, 5]: bin 2
    assert DPRange(2.0, 1, v=7).bins == Bins(-4, 4)


def test_values_outside_all_bins_count_nowhere():
    x = np.concatenate([np.full(90, 1e9), np.full(10, 3.0)])
    low, high = DPRange(1.0, 10**6).draw(x, np.random.default_rng(1))
    assert (low + high) / 2 == pytest.approx(3.0)


def test_bins_are_never_listed():
    rng = np.random.default_rng(4)
    low, high = DPRange(1e-15, 5).draw(rng.normal(3.0, 1e-15, 400), rng)
    assert low < 3 < high
    assert high - low < 1e-12
    # noise wins where the budget is tiny, and then all 10^17 bins are alike
    mechanism = DPRange(1e-15, 1e-6, noise_on="every bin")
    draws = [sum(mechanism.draw(np.full(9, 3.0), rng)) / 2 for _ in range(2_000)]
    assert stats.kstest(np.array(draws) / 100 + 0.5, "uniform").pvalue > ALPHA


def test_nothing_above_the_threshold_gives_the_middle():
    rng = np.random.default_rng(5)
    low, high = DPRange(1.0, 0.001, delta=0.5).draw(np.full(5, 30.0), rng)
    # the threshold is about 560; noise of scale 400 exceeds it in one of ten draws
    centres = {
        round(sum(DPRange(1.0, 0.001, delta=0.5).draw(np.full(5, 30.0), rng)) / 2)
        for _ in range(500)
    }
    assert centres == {0, 30}
    assert low < 0 < high


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: DPRange(0.0, 1), "sd=0"),
        (lambda: DPRange(math.nan, 1), "sd=nan"),
        (lambda: DPRange(1.0, 0), "epsilon"),
        (lambda: DPRange(1.0, 1, v=-1), "v=-1"),
        (lambda: DPRange(1.0, 1, alpha=1.5), "alpha=1.5"),
        (lambda: DPRange(1e-300, 1), "too many bins"),
        (lambda: DPVariance(1, sigma_min=2, sigma_max=1), "sigma_min=2"),
        (lambda: DPVariance(1, sigma_min=0), "sigma_min=0"),
        (lambda: DPVariance(-1), "epsilon"),
        (lambda: DPVariance(1, noise_on="all"), "noise_on='all'; allowed: occupied bins"),
        (lambda: DPRange(1.0, 1, noise_on="all"), "noise_on='all'; allowed: occupied bins"),
        (lambda: DPVariance(1).draw(np.ones(1), np.random.default_rng(1)), "pair"),
        (lambda: DPRange(1.0, 1).draw(np.ones(0), np.random.default_rng(1)), "no values"),
    ],
)
def test_refusals(call, names):
    with pytest.raises(ParameterError, match=names):
        call()


def test_constant_samples_have_no_distance():
    """All pairs are equal, so that no bin is occupied: the middle one, or with noise any bin."""
    rng = np.random.default_rng(8)
    noisy = DPVariance(1, noise_on="every bin")
    assert len({noisy.draw(np.ones(50), rng) for _ in range(2_000)}) == 34
    assert {DPVariance(1).draw(np.ones(50), rng) for _ in range(20)} == {4.0}
