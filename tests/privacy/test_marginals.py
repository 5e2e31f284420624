"""One-way histograms: joint sensitivity by enumeration, noise on every level, fallbacks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import OneWayHistograms, OneWayRelease, draw_independent_rows
from dprct.privacy.noise import source

RADICES = (2, 3, 4)


def tables(rows):
    return [np.bincount(column, minlength=r) for column, r in zip(rows.T, RADICES, strict=True)]


@pytest.mark.parametrize(("relation", "moved"), [("replace-one", 6), ("add-remove", 3)])
def test_joint_sensitivity_by_enumeration(relation, moved):
    domain = list(itertools.product(*map(range, RADICES)))
    changes = []
    for before, after in itertools.product(domain, repeat=2):
        joint = np.concatenate(tables(np.array([after])))
        if relation == "replace-one":
            joint = joint - np.concatenate(tables(np.array([before])))
        changes.append(np.abs(joint))
    mechanism = OneWayHistograms(1, RADICES, relation=relation)
    assert max(change.sum() for change in changes) == mechanism.sensitivity == moved
    sealed = mechanism.aggregate(tables(np.array(domain)))
    assert sealed.l2_squared == max((change**2).sum() for change in changes)
    assert sealed.l_inf == max(change.max() for change in changes)


def test_scales():
    pure = OneWayHistograms(0.5, RADICES)
    assert pure.mechanism.scale == 2 * 3 / 0.5
    assert pure.cost().measure == "pure"
    gaussian = OneWayHistograms(1, RADICES, delta=1e-5)
    assert gaussian.cost().measure == "gdp"
    assert gaussian.budget == Budget(1, 1e-5)
    assert gaussian.mechanism.noise.sigma == pytest.approx(3.7306 * math.sqrt(6), rel=1e-3)
    assert "sensitivity 6" in pure.describe()


@pytest.mark.parametrize("delta", [0, 1e-5])
def test_release_has_a_count_for_every_level(delta):
    mechanism = OneWayHistograms(50, RADICES, delta=delta)
    counts = [np.array([10**6, 0]), np.array([0, 10**6, 0]), np.array([0, 0, 0, 10**6])]
    release = mechanism.release(mechanism.aggregate(counts), source())
    assert tuple(len(column) for column in release.counts) == RADICES
    for noisy, truth in zip(release.counts, counts, strict=True):
        assert noisy.dtype == np.int64
        assert np.abs(noisy - truth).max() < 100
    assert release.noise_sd > 0
    assert not release.simulation
    assert mechanism.release(mechanism.aggregate(counts), source(1)).simulation


@pytest.mark.parametrize(
    "counts", [[np.ones(2, int)], [np.ones(2, int), np.ones(3, int), np.ones(5, int)]]
)
def test_counts_of_other_levels_are_refused(counts):
    with pytest.raises(ParameterError, match="declared level"):
        OneWayHistograms(1, RADICES).aggregate(counts)


def test_an_aggregate_of_something_else_is_refused():
    other = IntegerVector([1, 2], l1=6, relation="replace-one")
    with pytest.raises(ParameterError, match="declared levels"):
        OneWayHistograms(1, RADICES).release(other, source())


@pytest.mark.parametrize("facts", [{"relation": "near"}, {"delta": 1}, {"delta": -0.1}])
def test_impossible_parameters_are_refused(facts):
    with pytest.raises(ParameterError):
        OneWayHistograms(1, RADICES, **facts)


def test_columns_are_drawn_independently_from_their_positive_parts():
    release = OneWayRelease((np.array([30, -50, 10]), np.array([1, 1])), 2.0, False)
    rows = draw_independent_rows(release, 20_000, np.random.default_rng(3))
    assert set(rows[:, 0].tolist()) == {0, 2}
    joint = np.bincount(rows[:, 0] * 2 + rows[:, 1], minlength=6) / 20_000
    expected = np.outer([0.75, 0, 0.25], [0.5, 0.5]).ravel()
    assert np.abs(joint - expected).max() < 7 * math.sqrt(0.25 / 20_000)


def test_a_column_without_a_positive_count_is_uniform():
    release = OneWayRelease((np.array([-1, 0, -7, -2]),), 2.0, False)
    rows = draw_independent_rows(release, 8000, np.random.default_rng(3))
    assert np.abs(np.bincount(rows[:, 0], minlength=4) - 2000).max() < 7 * math.sqrt(2000)
