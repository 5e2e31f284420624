"""The laws that the auditor adds up agree with the probabilities that they are logarithms of."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dprct import Budget
from dprct.privacy.aggregates import CellCounts, IntegerTable, IntegerVector
from dprct.privacy.composition import gdp_delta
from dprct.privacy.histograms import SparseHistogram, StabilityHistogram
from dprct.privacy.mechanisms import (
    AnalyticGaussian,
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
)
from dprct.privacy.noise import source

from .losses import Loss, _above, _seen, gaussian_delta, loss_of
from .recording import Finding, drawing, install

RELATION = "replace-one"


def vector(*values: int, far: int = 4) -> IntegerVector:
    return IntegerVector(
        np.array(values), l1=far, l2_squared=far**2, l_inf=far, relation=RELATION
    )  # fmt: skip


def cells(**counts: int) -> CellCounts:
    codes = [[int(name[1:])] for name in counts]
    return CellCounts(codes, list(counts.values()), radices=[6], relation=RELATION)


def table(*rows: tuple[int, ...]) -> IntegerTable:
    return IntegerTable([vector(*row) for row in rows], reach=4)


MECHANISMS = {
    "cubes": (CubeNoise(1, 4, 2), table((3, -2), (0, 5)), table((1, 0), (1, 3))),
    "Laplace": (DiscreteLaplace(1, l1=4), vector(3, -2), vector(1, 0)),
    "Gaussian": (AnalyticGaussian(Budget(1, 1e-6), 16, 2), vector(3, -2), vector(1, 0)),
    "zCDP": (DiscreteGaussian(Budget(1, 1e-6), 16), vector(3, -2), vector(1, 0)),
    "all cells": (SparseHistogram(1, 6, 9), cells(c0=5, c2=4), cells(c0=4, c2=4, c3=1)),
    "occupied cells": (StabilityHistogram(1, 1e-3, 6), cells(c0=25, c2=4), cells(c0=24, c2=5)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_transcript_is_forced_on_the_neighbour(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = install(monkeypatch)
    mechanism, one, other = MECHANISMS[name]
    for here, there in ((one, other), (other, one)) * 20:
        transcript = recorder.begin()
        drawn = mechanism.release(here, source())
        forced = recorder.begin(transcript)
        again = mechanism.release(there, source())
        if isinstance(drawn, tuple):
            pairs = zip(drawn, again, strict=True)
            assert all(one.units.tolist() == other.units.tolist() for one, other in pairs)
        elif hasattr(drawn, "units"):
            assert drawn.units.tolist() == again.units.tolist()
        else:
            assert drawn is again or drawn == again
        assert 0 < loss_of(transcript, forced).share(mechanism.budget) <= 1


def test_every_class_that_draws_has_a_law() -> None:
    drawn = {type(mechanism) for mechanism, _, _ in MECHANISMS.values()}
    assert set(drawing()) == drawn


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.5])
@pytest.mark.parametrize("count", [0, 3, 12])
def test_a_cell_is_released_as_something_or_not_at_all(count: int, scale: float) -> None:
    threshold = 5
    shown = math.fsum(math.exp(_seen(k, count, threshold, scale)) for k in range(threshold, 2000))
    assert shown + math.exp(_seen(None, count, threshold, scale)) == pytest.approx(1, abs=1e-12)
    assert shown == pytest.approx(math.exp(_above(threshold - count, scale)), rel=1e-9)


def test_the_loss_of_laplace_noise_is_the_ratio_of_its_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = install(monkeypatch)
    mechanism, one, other = MECHANISMS["Laplace"]
    transcript = recorder.begin()
    units = mechanism.release(one, source()).units
    forced = recorder.begin(transcript)
    mechanism.release(other, source())
    a = math.exp(-1 / mechanism.scale)
    likely = [
        math.prod(
            (1 - a) / (1 + a) * a ** abs(int(u) - v) for u, v in zip(units, true, strict=True)
        )
        for true in ((3, -2), (1, 0))
    ]
    lost = loss_of(transcript, forced)
    assert lost.loss == pytest.approx(math.log(likely[0] / likely[1]), rel=1e-12)
    assert lost.reach == 4 / mechanism.scale


def test_the_loss_of_cubes_is_the_ratio_of_their_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = install(monkeypatch)
    mechanism, one, other = MECHANISMS["cubes"]
    transcript = recorder.begin()
    units = np.array([row.units for row in mechanism.release(one, source())], int)
    forced = recorder.begin(transcript)
    mechanism.release(other, source())
    far = [np.abs(units - true).max(axis=0).sum() for true in ([[3, -2], [0, 5]], [[1, 0], [1, 3]])]
    lost = loss_of(transcript, forced)
    assert lost.loss == pytest.approx((far[1] - far[0]) / mechanism.scale, rel=1e-12)
    assert lost.reach == (2 + 2) / mechanism.scale


@pytest.mark.parametrize("square", [Fraction(1, 100), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0])
def test_delta_of_two_normals_is_that_of_the_package(square: Fraction, epsilon: float) -> None:
    mu = Fraction(math.sqrt(square))
    found = float(gdp_delta(mu, Fraction(epsilon)))
    assert gaussian_delta(epsilon, mu**2) == pytest.approx(found, rel=1e-9)


def test_a_budget_is_used_up_and_passed() -> None:
    pure, approximate = Budget(1), Budget(1, 1e-6)
    assert Loss(0.2, 1.0).share(pure) == pytest.approx(1)
    assert Loss(0.2, 1.001).share(pure) > 1
    assert Loss(1.001, 0.2).share(pure) > 1
    assert Loss(hidden=-1e-9).share(pure) == math.inf
    assert Loss(squares=Fraction(1, 9)).share(approximate) > 1
    assert Loss(squares=Fraction(1, 25)).share(approximate) < 1
    assert Loss(0.0, 0.9, Fraction(1, 25)).share(approximate) > 1


def test_a_lone_row_that_moves_costs_delta_once() -> None:
    """It leaves a cell of its own for another: both are hidden but with probability delta."""
    hidden = math.log1p(-1e-6)
    both = Loss(0.0, 0.0, hidden=hidden, hidden_there=hidden)
    assert both.delta(1e-9) == pytest.approx(1e-6, rel=1e-9)
    arrived = Loss(0.0, 0.0, hidden_there=hidden)
    assert arrived.delta(1e-9) == pytest.approx(1e-6 - 1e-9, rel=1e-4)
    assert arrived.delta(0.1) == 0


def test_a_draw_that_covers_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = install(monkeypatch)
    recorder.begin()
    for draw in (
        lambda: source().discrete_laplace(1.0, 1),
        lambda: source().discrete_gaussian(1.0, 1),
        lambda: source().uniform_below(2),
    ):
        with pytest.raises(Finding, match="outside a mechanism"):
            draw()


def test_noise_from_another_source_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch).begin()
    mechanism, one, _ = MECHANISMS["Laplace"]
    with pytest.raises(Finding, match="draws from Simulated"):
        mechanism.release(one, source(1))
