"""Newton's steps converge quadratically, stay orthogonal, and say where they ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dprct.release.calibrated.residuals import (
    TOLERANCE,
    Errors,
    Specification,
    factored,
    gaps,
    largest,
    newton,
    scaled,
)


@pytest.fixture
def problem(trial):
    def make(sizes, p, sigma=None):
        experiment = trial(1, sizes, p)
        effects = len(sizes) - 1
        sigma = experiment.sigma if sigma is None else sigma
        given = Specification.of(experiment.design(), effects, sigma)
        basis, influence = factored(given)
        conditions = [Errors.of(given, influence, 1.0, classical=effects == 1)]
        noise = np.random.default_rng(1).normal(size=sum(sizes))
        return given, basis, conditions, scaled(conditions, basis.without(noise))

    return make


@pytest.mark.parametrize("sizes", [[700, 300], [990, 10], [400, 300, 200, 100]])
def test_the_conditions_are_met_within_few_steps(problem, monkeypatch, sizes):
    monkeypatch.setattr("dprct.release.calibrated.residuals._MOST_STEPS", 7)
    given, basis, conditions, start = problem(sizes, 8)
    e = newton(conditions, basis, start.copy())
    assert largest(gaps(conditions, start)) > 1e-3
    assert largest(gaps(conditions, e)) < TOLERANCE
    assert abs(given.design.T @ e).max() < 1e-11


def test_what_cannot_be_met_ends_nearer_than_it_began(problem):
    sigma = np.array([[1.0, -1.5], [-1.5, 1.0]])
    _, basis, conditions, start = problem([100, 100, 100], 5, sigma)
    e = newton(conditions, basis, start.copy())
    assert np.isfinite(e).all()
    assert TOLERANCE < largest(gaps(conditions, e)) < largest(gaps(conditions, start))


def test_a_gap_of_nothing_from_nothing_is_none(problem):
    _, _, conditions, start = problem([50, 50, 50], 2)
    found = gaps([replace(conditions[0], covariance=np.diag([1.0, 0.0]))], 0 * start)
    assert found.tolist() == [-1, 0, 0]
