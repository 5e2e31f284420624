"""Mechanisms: described and priced before they draw; refuse what they were not made for."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import CellCounts, IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import OneWayHistograms, SparseHistogram, StabilityHistogram
from dprct.privacy.mechanisms import (
    MAX_SIZE,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
)
from dprct.privacy.noise import source

ADDITIVE = [
    DiscreteLaplace(1, l1=4),
    DiscreteGaussian(Budget(1, 1e-6), l2_squared=4),
    AnalyticGaussian(Budget(1, 1e-6), l2_squared=4, size=3),
]
EVERY = [*ADDITIVE, Exponential(1, l_inf=2)]


def vector(**facts):
    given = {"l1": 4, "l2_squared": 4, "l_inf": 2, "relation": "replace-one", **facts}
    return IntegerVector([10**6, 0, -5], **given)


class Silent:
    """A source whose noise is zero, and a record of the scales that were asked for."""

    simulation = False

    def __init__(self):
        self.scales = []

    def discrete_laplace(self, scale, size):
        self.scales.append(scale)
        return np.zeros(size, np.int64)

    discrete_gaussian = discrete_laplace

    def noisy_argmax(self, scores, scale):
        self.scales.append(scale)
        return int(np.argmax(scores))


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: type(m).__name__)
def test_a_mechanism_is_a_frozen_value_with_a_price(mechanism):
    assert mechanism == dataclasses.replace(mechanism)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, Fraction(2))
    assert mechanism.cost().budget == mechanism.budget
    assert str(mechanism.budget) in mechanism.describe()


def test_the_measure_that_is_charged():
    measures = [mechanism.cost().measure for mechanism in EVERY]
    assert measures == ["pure", "zcdp", "gdp", "pure"]


@pytest.mark.parametrize("mechanism", ADDITIVE, ids=lambda m: type(m).__name__)
def test_without_noise_the_aggregate_comes_back_in_its_units(mechanism):
    silent = Silent()
    released = mechanism.release(vector(grid=Fraction(1, 8)), silent)
    assert released.units.tolist() == [10**6, 0, -5]
    assert released.values.tolist() == [125_000.0, 0.0, -0.625]
    assert released.noise_sd == pytest.approx(mechanism.noise_sd / 8)
    assert released.relation == "replace-one"
    assert len(silent.scales) == 1


def test_the_scale_that_is_drawn_is_the_scale_that_is_described():
    silent = Silent()
    for mechanism in EVERY:
        mechanism.release(vector(), silent)
    _, gaussian, analytic, exponential = EVERY
    assert silent.scales == [4.0, gaussian.scale, analytic.noise.scale, exponential.scale]
    assert exponential.scale == 4.0
    assert Fraction(gaussian.scale) ** 2 * 2 * gaussian.rho >= 4


def test_the_exponential_mechanism_returns_an_index():
    assert Exponential(1, l_inf=2).release(vector(), Silent()) == 0


@pytest.mark.parametrize("mechanism", ADDITIVE, ids=lambda m: type(m).__name__)
def test_a_seed_marks_the_release(mechanism):
    assert mechanism.release(vector(), source(1)).simulation
    assert not mechanism.release(vector(), source()).simulation


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: type(m).__name__)
def test_an_aggregate_that_is_more_sensitive_is_refused_before_a_draw(mechanism):
    silent = Silent()
    with pytest.raises(ParameterError, match="make the mechanism for the aggregate's sensitivity"):
        mechanism.release(vector(l1=5, l2_squared=9, l_inf=3), silent)
    assert silent.scales == []


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: type(m).__name__)
def test_another_kind_of_aggregate_is_refused(mechanism):
    cells = CellCounts([[0]], [1], radices=[2], relation="replace-one")
    with pytest.raises(ParameterError, match="IntegerVector"):
        mechanism.release(cells, Silent())


def test_a_gaussian_charge_holds_what_its_draws_differ_from_a_normal() -> None:
    """An accountant that adds mus must add the distances of discrete draws as well."""
    mechanism = AnalyticGaussian(Budget(1, 1e-6), l2_squared=4, size=3)
    charge = mechanism.cost()
    assert charge.parameter == mechanism.noise.mu
    assert charge.slack == mechanism.noise.slack > 0


def test_another_size_than_described_is_refused():
    mechanism = AnalyticGaussian(Budget(1, 1e-6), l2_squared=4, size=2)
    with pytest.raises(ParameterError, match="3 coordinates"):
        mechanism.release(vector(), Silent())


@pytest.mark.parametrize("size", [0, MAX_SIZE + 1])
def test_absurd_sizes_are_refused(size):
    with pytest.raises(ParameterError, match="size="):
        AnalyticGaussian(Budget(1, 1e-6), l2_squared=1, size=size)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DiscreteLaplace(0, l1=1),
        lambda: DiscreteLaplace(-1, l1=1),
        lambda: DiscreteLaplace(float("nan"), l1=1),
        lambda: DiscreteLaplace("1", l1=1),
        lambda: DiscreteLaplace(1, l1=0),
        lambda: DiscreteLaplace(1, l1=1.5),
        lambda: DiscreteGaussian(Budget(1, 1e-6), l2_squared=0),
        lambda: Exponential(1, l_inf=0),
        lambda: Exponential(float("inf"), l_inf=1),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_gaussian_noise_needs_a_delta():
    for make in (
        lambda: DiscreteGaussian(Budget(1), l2_squared=1),
        lambda: AnalyticGaussian(Budget(1), l2_squared=1, size=1),
    ):
        with pytest.raises(ParameterError, match="delta > 0"):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DiscreteLaplace(1e-12, l1=2**20),
        lambda: DiscreteLaplace(1e20, l1=1),
        lambda: DiscreteGaussian(Budget(1e-9, 1e-300), l2_squared=2**40),
        lambda: AnalyticGaussian(Budget(1e-12, 1e-15), l2_squared=2**40, size=1),
        lambda: Exponential(1e-300, l_inf=2**20),
        lambda: SparseHistogram(1e-20, cells=10, n=10),
        lambda: StabilityHistogram(1e-20, 1e-6, cells=10),
        lambda: OneWayHistograms(1e-20, radices=[2, 3]),
    ],
)
def test_a_mechanism_with_a_scale_that_no_sampler_reaches_is_not_made(make):
    with pytest.raises(ParameterError, match="which no sampler reaches; give a"):
        make()


def test_values_beyond_int64_are_added_exactly():
    huge = IntegerVector([2**80], l1=1, relation="replace-one")
    for mechanism in (DiscreteLaplace(1, l1=1), AnalyticGaussian(Budget(1, 1e-6), 1, 1)):
        assert abs(mechanism.release(huge, source()).units[0] - 2**80) < 1000
    with pytest.raises(ParameterError, match="fit into int64"):
        Exponential(1, l_inf=1).release(huge, source())


def test_a_refined_draw_is_rounded_to_whole_units_halves_upwards():
    mechanism = AnalyticGaussian(Budget(1, 1e-6), l2_squared=4, size=3)
    unit = 2**mechanism.noise.refinement

    class Scripted(Silent):
        def discrete_gaussian(self, scale, size):
            return np.array([unit // 2, unit // 2 - 1, -unit // 2 - 1])

    assert mechanism.noise.refinement > 0
    released = mechanism.release(IntegerVector([0, 0, 0], l1=2, relation="replace-one"), Scripted())
    assert released.units.tolist() == [1, 0, -1]


def test_standard_deviation_of_discrete_laplace_from_its_probabilities():
    mechanism = DiscreteLaplace(0.8, l1=3)
    k = np.arange(-400, 401)
    mass = np.exp(-np.abs(k) / mechanism.scale)
    assert mechanism.noise_sd == pytest.approx(math.sqrt((mass * k**2).sum() / mass.sum()))
