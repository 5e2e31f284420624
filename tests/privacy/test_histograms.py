"""Histograms: public thresholds, what is released, and rows drawn from it."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.privacy import (
    Budget,
    CellCounts,
    HistogramRelease,
    SparseHistogram,
    StabilityHistogram,
    draw_rows,
    source,
)
from dprct.privacy.histograms import OneWayHistograms, weighted_indices


def counts_of(codes, counts, radices, relation="replace-one"):
    return CellCounts(codes, counts, radices=radices, relation=relation)


def spurious_rows(cells: int, t: int, epsilon: float, s: int) -> float:
    """The left side of the threshold's condition, from its logarithm."""
    rate = epsilon / s
    log_rows = math.log(cells) - rate * t - math.log1p(math.exp(-rate))
    return math.exp(log_rows + math.log(t - 1 - 1 / math.expm1(-rate)))


@pytest.mark.parametrize("cells", [1, 2, 378, 10**4, 10**9, 10**15, 10**60])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 60.0])
@pytest.mark.parametrize(("relation", "s"), [("replace-one", 2), ("add-remove", 1)])
def test_threshold_is_the_smallest_that_keeps_noise_rows_below_a_twentieth(
    cells, epsilon, relation, s
):
    mechanism = SparseHistogram(epsilon, cells, 1000, relation)
    t = mechanism.threshold
    assert spurious_rows(cells, t, epsilon, s) <= 50 * (1 + 1e-9)
    assert t == 1 or spurious_rows(cells, t - 1, epsilon, s) > 50 * (1 - 1e-9)
    assert mechanism.expected_spurious_rows == pytest.approx(
        spurious_rows(cells, t, epsilon, s), rel=1e-9
    )


def test_thresholds_are_about_what_the_plan_says():
    # (2 / eps) ln K, less what n / 20 spurious rows allow
    assert SparseHistogram(1, 10**9, 1000).threshold == 41
    assert SparseHistogram(1, 10**15, 1000).threshold == 69


def test_the_exponent_that_is_drawn_never_exceeds_the_one_that_is_charged():
    for epsilon in (0.7, 1, 0.1, 3.3):
        mechanism = SparseHistogram(epsilon, 10**6, 500)
        assert 2 * mechanism.tail.exponent <= mechanism.budget.epsilon
        assert float(2 * mechanism.tail.exponent) == pytest.approx(epsilon, rel=1e-14)


def test_prices():
    assert SparseHistogram(0.1, 10, 10).cost().measure == "pure"
    assert SparseHistogram(0.1, 10, 10).budget == Budget(0.1)
    stability = StabilityHistogram(1, 1e-6, 10)
    assert stability.cost().measure == "approximate"
    assert stability.budget == Budget(1, 1e-6)
    assert "41 or more" in SparseHistogram(1, 10**9, 1000).describe()
    assert "28 or more" in stability.describe()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-9, 1e-30])
@pytest.mark.parametrize(("relation", "s"), [("replace-one", 2), ("add-remove", 1)])
def test_stability_threshold_is_the_closed_form(epsilon, delta, relation, s):
    mechanism = StabilityHistogram(epsilon, delta, 10**20, relation)
    alpha = math.exp(-epsilon / s)
    closed = 1 + math.ceil(s / epsilon * math.log(1 / (delta * (1 + alpha))))
    assert mechanism.threshold == max(1, closed)
    attained = alpha ** (mechanism.threshold - 1) / (1 + alpha)
    assert mechanism.delta_attained == pytest.approx(attained, rel=1e-12)
    assert Fraction(mechanism.delta_attained) <= mechanism.delta + Fraction(1, 10**40)


@pytest.mark.parametrize(
    "mechanism",
    [SparseHistogram(1, 10**30, 1000), StabilityHistogram(1, 1e-6, 10**30)],
    ids=lambda m: type(m).__name__,
)
def test_release_over_more_cells_than_int64_counts(mechanism):
    codes = np.random.default_rng(0).integers(0, 1000, (40, 10))
    secret = counts_of(codes, np.full(40, 500), [1000] * 10)
    release = mechanism.release(secret, source())
    assert release.codes.shape == (len(release.counts), 10)
    assert {tuple(code) for code in codes.tolist()} <= {tuple(c) for c in release.codes.tolist()}
    assert release.counts.dtype == release.codes.dtype == np.int64
    assert release.counts.min() >= release.threshold == mechanism.threshold
    assert not release.simulation
    assert pickle.loads(pickle.dumps(release)).counts.tolist() == release.counts.tolist()


def test_released_cells_are_in_the_order_of_their_index():
    mechanism = SparseHistogram(1, 60, 100_000)
    secret = counts_of([[4, 2, 3], [0, 1, 0], [2, 0, 1]], [30, 40, 50], [5, 3, 4])
    for _ in range(20):
        codes = mechanism.release(secret, source()).codes.tolist()
        assert codes == sorted(codes)
        assert len({tuple(code) for code in codes}) == len(codes)
        assert len(codes) > 3  # about half of the 57 empty cells pass t = 1


def test_an_empty_table_can_be_released():
    mechanism = SparseHistogram(1, 15, 1000)
    nobody = counts_of(np.empty((0, 2)), [], [5, 3])
    assert mechanism.release(nobody, source()).codes.shape[1] == 2
    kept = StabilityHistogram(1, 1e-6, 15).release(nobody, source())
    assert kept.codes.shape == (0, 2)


def test_a_full_table_has_no_empty_cell_to_add():
    secret = counts_of([[0], [1]], [10**6, 10**6], [2])
    release = SparseHistogram(1, 2, 10**6).release(secret, source())
    assert release.codes.tolist() == [[0], [1]]


def test_a_seed_marks_the_release_and_repeats_it():
    mechanism = SparseHistogram(1, 10**6, 1000)
    secret = counts_of([[0, 0], [7, 9]], [50, 60], [1000, 1000])
    first, second = (mechanism.release(secret, source(5)) for _ in range(2))
    assert first.simulation
    assert first.counts.tolist() == second.counts.tolist()


@pytest.mark.parametrize(
    "secret",
    [
        counts_of([[0]], [1], [7]),
        counts_of([[0]], [1], [6], "add-remove"),
        "counts",
    ],
    ids=["domain", "relation", "kind"],
)
@pytest.mark.parametrize("mechanism", [SparseHistogram(1, 6, 10), StabilityHistogram(1, 0.1, 6)])
def test_counts_that_were_not_described_are_refused(mechanism, secret):
    with pytest.raises(ParameterError):
        mechanism.release(secret, source())


@pytest.mark.parametrize(
    "make",
    [
        lambda: SparseHistogram(0, 10, 10),
        lambda: SparseHistogram(1, 0, 10),
        lambda: SparseHistogram(1, 10.0, 10),
        lambda: SparseHistogram(1, 10, 0),
        lambda: SparseHistogram(1, 10, 10, "neighbour"),
        lambda: StabilityHistogram(1, 0, 10),
        lambda: StabilityHistogram(1, 1, 10),
        lambda: StabilityHistogram(float("nan"), 0.1, 10),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_rows_come_from_the_released_cells_only():
    release = HistogramRelease(np.array([[0, 1], [3, 2]]), np.array([5, 15]), (4, 3), 5, False)
    rows = draw_rows(release, 10_000, np.random.default_rng(1))
    assert rows.shape == (10_000, 2)
    first = (rows == [0, 1]).all(axis=1)
    assert (first | (rows == [3, 2]).all(axis=1)).all()
    assert abs(first.mean() - 0.25) < 6.5 * math.sqrt(0.25 * 0.75 / 10_000)  # 1e-10


def test_nothing_kept_gives_uniform_rows_over_the_domain():
    nothing = HistogramRelease(np.empty((0, 2), np.int64), np.empty(0, np.int64), (4, 3), 5, False)
    rows = draw_rows(nothing, 12_000, np.random.default_rng(1))
    tally = np.bincount(rows[:, 0] * 3 + rows[:, 1], minlength=12)
    assert np.abs(tally - 1000).max() < 7 * math.sqrt(1000)


def test_weights_are_integers_and_zero_is_never_drawn():
    drawn = weighted_indices(np.array([0, 10**17, 0, 1]), 1000, np.random.default_rng(2))
    assert set(drawn.tolist()) == {1}
    assert weighted_indices(np.array([3]), 0, np.random.default_rng(2)).tolist() == []


@pytest.mark.parametrize("scale", [1, 10**15])
def test_rows_are_spread_as_evenly_as_whole_numbers_allow(scale):
    """Systematic: n w / W rounded up or down, unbiased; independent draws miss by sqrt(n w / W)."""
    weights = np.array([7, 1, 0, 30, 5, 14]) * scale
    rng = np.random.default_rng(3)
    counts = np.array(
        [np.bincount(weighted_indices(weights, 100, rng), minlength=6) for _ in range(4000)]
    )
    expected = 100 * weights / weights.sum()
    assert (np.abs(counts - expected) < 1).all()
    # a mean of 4,000 fractions in [0, 1) has sd below .5 / sqrt(4000); 6.5 sd: alpha < 1e-9 for six
    assert np.abs(counts.mean(axis=0) - expected).max() < 6.5 * 0.5 / np.sqrt(4000)


def test_rows_come_in_random_order():
    drawn = weighted_indices(np.array([50, 50]), 100, np.random.default_rng(4))
    assert drawn.tolist() != sorted(drawn.tolist())


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_noise_of_a_count_has_the_variance_of_its_law(relation):
    for made in (
        SparseHistogram(0.7, 10, 100, relation),
        StabilityHistogram(0.7, 1e-6, 10, relation),
        OneWayHistograms(0.7, [4], relation=relation),
    ):
        scale = getattr(made, "scale", None) or made.mechanism.scale
        k = np.arange(-400, 401)
        law = np.exp(-np.abs(k) / scale)
        assert made.noise_sd == pytest.approx(math.sqrt((law * k**2).sum() / law.sum()))
