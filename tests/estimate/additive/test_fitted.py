"""What intervals cover, simulated: privacy noise and people; and how noisy cells become shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dprct.estimate.additive.fitted import (
    AdditiveFit,
    cell_variance,
    half_width,
    shrunk,
    smooth_interaction,
    smooth_shape,
    usable_counts,
)
from dprct.estimate.additive.release import layout_of, mechanism_of, released_sums
from dprct.estimate.additive.terms import terms_of
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source

ROUNDS, N = 200, 600


@pytest.fixture
def terms(schema):
    return terms_of(schema, ["x", "town"], bins=4, pairs=[("x", "town")])


def simulated(terms, budget, part, rounds):
    """Return hits of the average, of a level of x, and their half widths; E psi = x + (Praha)."""
    rng, noise = np.random.default_rng(5), source(6)
    layout = layout_of(terms.blocks(), 3.0, budget)
    mechanism = mechanism_of(layout, budget)
    hits, halves = [], []
    for _ in range(rounds):
        x, town = rng.integers(0, 4, N).astype(np.int32), rng.integers(0, 3, N).astype(np.int32)
        psi = np.clip((x - 1.5) / 2 + (town == 1) + rng.normal(0, 0.8, N), -3, 3)
        sums = released_sums([x, town], psi, layout, mechanism, noise)
        fit = AdditiveFit(terms, sums)
        half = half_width(fit.average_noise(part), 0.05)
        truth = (1 / 3, 1 / 4 + 1 / 3) if part == "all" else (psi.mean(), psi[x == 2].mean())
        row = fit.levels("x", 0.05, part).iloc[2]
        hits.append((abs(fit.average - truth[0]) <= half, row["low"] <= truth[1] <= row["high"]))
        halves.append(half)
    return np.array(hits).sum(axis=0), np.mean(halves)


@pytest.mark.long
@pytest.mark.parametrize("part", ["all", "noise"])
@pytest.mark.parametrize(
    ("budget", "rounds"),
    [
        pytest.param(Budget.asked(3), 40, marks=pytest.mark.audit),  # quantiles of Laplace sums
        (Budget.asked(3, 1e-5), ROUNDS),
    ],
)
def test_intervals_cover(terms, budget, rounds, part):
    """At least 95% of times, up to chance of 1e-9."""
    hits, half = simulated(terms, budget, part, rounds)
    assert all(stats.binom.cdf(h, rounds, 0.945) > 1e-9 for h in hits), hits
    assert half < 1


def test_an_interval_half_as_long_would_be_noticed(terms):
    hits, _ = simulated(terms, Budget.asked(3, 1e-5), "noise", ROUNDS)
    half_as_long = stats.norm.cdf(1.96 * 0.5) * 2 - 1
    assert stats.binom.cdf(round(half_as_long * ROUNDS), ROUNDS, 0.945) < 1e-9
    assert hits[0] > half_as_long * ROUNDS


def one_fit(terms, budget=None, n=20_000):
    rng = np.random.default_rng(7)
    x, town = rng.integers(0, 4, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int32)
    psi = (x - 1.5) / 2 + (town == 1) + ((x == 3) & (town == 0)) + rng.normal(0, 0.5, n)
    budget = budget or Budget.asked(20, 1e-2)
    layout = layout_of(terms.blocks(), 3.0, budget)
    sums = released_sums([x, town], psi, layout, mechanism_of(layout, budget), source(8))
    return AdditiveFit(terms, sums, centre=10.0)


def test_shapes_and_interactions_are_found(terms):
    fit = one_fit(terms)
    grid = np.meshgrid(np.arange(4), np.arange(3), indexing="ij")
    x, town = (g.ravel().astype(np.int32) for g in grid)
    truth = 10 + (x - 1.5) / 2 + (town == 1) + ((x == 3) & (town == 0))
    assert fit.at([x, town]) == pytest.approx(truth, abs=0.15)
    assert fit.average == pytest.approx(10 + 1 / 3 + 1 / 12, abs=0.05)


def test_joint_bands_are_wider_and_hold_the_pointwise_ones(terms):
    fit = one_fit(terms)
    each, joint = fit.levels("x", 0.05), fit.levels("x", 0.05, joint=True)
    assert (joint["low"] < each["low"]).all()
    assert (joint["high"] > each["high"]).all()


def test_a_cell_that_is_all_noise_has_the_widest_interval(terms):
    fit = one_fit(terms, Budget.asked(0.05, 1e-3), n=200)
    table = fit.levels("x", 0.05)
    assert table["low"].tolist() == [7.0] * 4
    assert table["high"].tolist() == [13.0] * 4


def test_groups_are_not_smoothed(terms):
    table = one_fit(terms).levels("town")
    assert table["level"].tolist() == ["Łódź", "Praha", "Wien"]
    assert table["raw"].to_numpy() == pytest.approx([10.25, 11, 10], abs=0.05)


K = 8
EVEN = np.full(K, 1 / K)
AT = np.linspace(-1, 1, K)


def test_coefficients_are_shrunk_by_their_noise_and_never_past_zero():
    z = np.array([10.0, -10.0, 1.0, 0.0, 0.0])
    v = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    assert shrunk(z, v) == pytest.approx([9.8, -9.8, 0, 0, 0])
    assert shrunk(np.array([1e-200]), np.array([1e3])).tolist() == [0.0]


def test_a_cubic_without_noise_is_kept():
    cubic = 1 + 2 * AT - AT**2 + 0.5 * AT**3
    shape = smooth_shape(cubic, np.full(K, 1e-12), EVEN, K)
    assert shape == pytest.approx(cubic - cubic.mean(), abs=1e-6)


def test_more_than_a_cubic_is_smoothed_away():
    wiggle = np.tile([1.0, -1.0], K // 2)
    assert (smooth_shape(wiggle, np.full(K, 1e-12), EVEN, K) ** 2).mean() < 0.25


def test_noise_alone_is_shrunk_to_the_constant():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (500, K))
    found = np.array([smooth_shape(row, np.ones(K), EVEN, K) for row in noise])
    assert (found**2).mean() < 0.2 * (noise**2).mean()


def test_shapes_have_mean_zero_under_their_weights():
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(K))
    for ordered in (0, 5, K):
        shape = smooth_shape(rng.normal(0, 9, K), np.full(K, 0.1), weights, ordered)
        assert weights @ shape == pytest.approx(0, abs=1e-9)


def test_levels_without_order_are_shrunk_one_by_one():
    means = np.array([10.0, 0.5, -10.5])
    shape = smooth_shape(means, np.ones(3), np.full(3, 1 / 3), 0)
    assert shape == pytest.approx(
        np.array([9.8, 0, -10.5 + 2 / 10.5]) - (9.8 - 10.5 + 2 / 10.5) / 3
    )


def test_a_product_is_found_and_main_effects_are_not_repeated():
    grid = np.outer(AT, AT).ravel()
    tiny, even = np.full(K * K, 1e-12), np.full(K * K, 1 / K**2)
    found = smooth_interaction(grid, tiny, even, (True, True), (K, K))
    assert found == pytest.approx(grid, abs=1e-6)
    cells = smooth_interaction(
        np.array([5.0, 0.1]), np.ones(2), np.full(2, 0.5), (False, True), (1, 2)
    )
    assert cells == pytest.approx([4.6, 0.0])


def test_empty_cells_count_as_a_tenth_of_their_share():
    assert usable_counts(np.array([-5.0, 0.0, 60.0]), 60).tolist() == [2, 2, 60]


def test_the_variance_of_a_cell_has_noise_of_sum_and_count_and_sampling():
    found = cell_variance(np.array([10.0]), np.array([3.0]), (2.0, 0.5), 4.0)
    assert found == pytest.approx((4 + 9 * 0.25 + 40) / 100)
