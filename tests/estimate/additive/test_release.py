"""The release of counts and sums; its sensitivity is tested with the query."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dprct.estimate.additive.release import (
    AdditiveSums,
    Cells,
    layout_of,
    mechanism_of,
    noise_of,
    released_sums,
)
from dprct.model import revived, saved
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace
from dprct.privacy.noise import source
from dprct.queries.additive import Block

BLOCKS = (Block((), (), counts=False), Block((0,), (2,)), Block((1,), (4,)))
PURE, GAUSSIAN = Budget.asked(1), Budget.asked(1, 1e-6)


def draws(budget: Budget, times: int, clip: float = 2.0) -> list[AdditiveSums]:
    rng = np.random.default_rng(1)
    n = 400
    codes = [rng.integers(0, 2, n).astype(np.int32), rng.integers(0, 4, n).astype(np.int32)]
    target = rng.uniform(-1, 2, n)
    layout, noise = layout_of(BLOCKS, clip, budget), source(2)
    mechanism = mechanism_of(layout, budget)
    return [released_sums(codes, target, layout, mechanism, noise) for _ in range(times)]


def declared(clip: float, budget: Budget) -> tuple[float, float]:
    layout = layout_of(BLOCKS, clip, budget)
    return noise_of(layout, mechanism_of(layout, budget))


@pytest.mark.parametrize(
    ("budget", "kind"), [(PURE, DiscreteLaplace), (GAUSSIAN, AnalyticGaussian)]
)
def test_the_mechanism_is_calibrated_to_the_layout(budget, kind):
    layout = layout_of(BLOCKS, 2.0, budget)
    mechanism = mechanism_of(layout, budget)
    assert isinstance(mechanism, kind)
    assert mechanism.budget == budget
    covered = mechanism.l1 if kind is DiscreteLaplace else mechanism.l2_squared
    assert covered == (layout.l1 if kind is DiscreteLaplace else layout.l2_squared)


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_the_declared_noise_is_the_noise(budget):
    """Noise that is 10% off is rejected; false alarms are below 1e-9 (6 standard errors)."""
    found = draws(budget, 3000)
    sd_sum, sd_count = declared(2.0, budget)
    sums = np.array([one.cells[1].sums for one in found])
    counts = np.array([one.cells[2].counts for one in found])
    means = np.array([one.mean for one in found])
    # 12,000 or 6,000 Laplace or normal draws: relative error of the sd below 0.015
    assert sums.std(axis=0).mean() == pytest.approx(sd_sum, rel=0.09)
    assert counts.std(axis=0).mean() == pytest.approx(sd_count, rel=0.09)
    assert means.std() == pytest.approx(found[0].mean_noise.sd, rel=0.12)
    assert found[0].laplace == (budget == PURE)


def test_noise_is_proportional_to_the_clip():
    (one, many) = (declared(clip, GAUSSIAN) for clip in (1.0, 30.0))
    assert many[0] == pytest.approx(30 * one[0])
    assert many[1] == one[1]


def test_a_count_is_worth_a_sum_under_gaussian_noise_and_a_quarter_of_it_under_laplace():
    """In L2 counts are free; in L1 they are paid for, and so told less exactly."""
    for budget, less in ((GAUSSIAN, 1), (PURE, 4)):
        sd_sum, sd_count = declared(2.0, budget)
        assert sd_count * 2.0 == pytest.approx(less * sd_sum)


def test_moments_come_back_where_there_is_hardly_noise():
    (found,) = draws(Budget.asked(20, 1e-2), 1)
    assert found.mean == pytest.approx(0.5, abs=0.15)
    assert found.variance == pytest.approx(9 / 12, rel=0.2)
    assert found.mass == 400


def sums_of(counts, sums, **facts):
    cells = (
        Cells(BLOCKS[0], None, np.array([sum(sums)])),
        Cells(BLOCKS[1], np.array(counts), np.array(sums)),
    )
    return AdditiveSums(cells, 10.0, 100, 2.0, 1.0, 0.5, False, **facts)


def test_absurd_noise_is_kept_within_public_limits():
    found = sums_of([-50.0, 1e9], [1e12, 1e12])
    assert found.mean == 2.0
    assert 0 < found.variance <= 4
    assert found.largest_variance <= 4
    assert sums_of([-50.0, -60.0], [0.0, 1.0], weighted=True).mass == 1.0


def test_the_average_weighs_blocks_by_their_noise():
    """Everybody has variance 1, two cells 2: weights 2/3 and 1/3."""
    cells = (
        Cells(BLOCKS[0], None, np.array([30.0])),
        Cells(BLOCKS[1], np.array([50.0, 50.0]), np.array([0.0, 0.0])),
    )
    found = AdditiveSums(cells, 0.0, 100, 2.0, 1.0, 0.5, False)
    assert found.mean == pytest.approx(0.2)
    assert found.mean_noise.variance == pytest.approx((2 / 3) * 1e-4)


def test_arms_are_taken_apart():
    arm = Block((2, 0), (2, 2))
    head = Cells(Block((2,), (2,)), np.array([30.0, 70.0]), np.array([3.0, 14.0]))
    cells = Cells(arm, np.array([10.0, 20, 30, 40]), np.array([1.0, 2, 6, 8]))
    both = AdditiveSums((head, cells), 10.0, 100, 2.0, 1.0, 0.5, False)
    treated = both.of_arm(1)
    assert treated.mass == pytest.approx(70)
    assert treated.mean == pytest.approx(0.2)
    assert treated.second == pytest.approx(7)
    found = treated.cells_of((0,))
    assert found is not None
    assert found.sums.tolist() == [6, 8]


def test_sums_are_saved_and_come_back():
    (one,) = draws(PURE, 1)
    again = revived(json.loads(json.dumps(saved(one))), (AdditiveSums, Cells, Block))
    assert again.cells[0].block == BLOCKS[0]
    assert again.cells[0].counts is None
    assert again.cells[2].sums.tolist() == one.cells[2].sums.tolist()
    assert (again.mean, again.variance, again.laplace) == (one.mean, one.variance, True)
