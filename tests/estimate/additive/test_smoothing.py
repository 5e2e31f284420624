from __future__ import annotations

import numpy as np
import pytest

from dprct.estimate.additive.fitted import (
    cell_variance,
    shrunk,
    smooth_interaction,
    smooth_shape,
    usable_counts,
)

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
