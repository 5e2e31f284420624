"""Starting points are orthogonal to the designs and already near their targets."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.release.calibrated.residuals import (
    Errors,
    Specification,
    arm_wise,
    factored,
    gaps,
    joined,
    largest,
    scaled,
    starts,
)


@pytest.fixture
def problem(trial):
    def make(sizes, p, covariate_sets=1, sigma=None):
        experiment = trial(1, sizes, p)
        sigma = experiment.sigma if sigma is None else sigma
        designs = [experiment.design(experiment.X[:, : p - j]) for j in range(covariate_sets)]
        given = [Specification.of(W, len(sizes) - 1, sigma) for W in designs]
        bases, influences = zip(*map(factored, given), strict=True)
        conditions = [
            Errors.of(s, i, 1.0, classical=False) for s, i in zip(given, influences, strict=True)
        ]
        noise = np.random.default_rng(1).normal(size=sum(sizes))
        return given, conditions, joined(bases), noise

    return make


def test_without_covariates_arms_alone_solve_the_problem(problem):
    """HC1 is then a function of the variance of each arm, as the targets are."""
    e = arm_wise(*problem([400, 300, 200, 100], 0))
    given, conditions, _, _ = problem([400, 300, 200, 100], 0)
    assert largest(gaps(conditions, e)) < 1e-12
    assert abs(given[0].design.T @ e).max() < 1e-11


@pytest.mark.parametrize("covariate_sets", [1, 2])
def test_with_covariates_they_come_near(problem, covariate_sets):
    given, conditions, basis, noise = problem([400, 300, 200, 100], 6, covariate_sets)
    e = arm_wise(given, conditions, basis, noise)
    plain = scaled(conditions, basis.without(noise))
    assert largest(gaps(conditions, e)) < 0.1
    assert largest(gaps(conditions, e)) < largest(gaps(conditions, plain))
    for one in given:
        assert abs(one.design.T @ e).max() < 1e-11


def test_an_arm_with_no_more_rows_than_controls_has_no_such_start(problem):
    assert arm_wise(*problem([100, 7, 50], 6)) is None
    assert arm_wise(*problem([100, 8, 50], 6)) is not None


def test_nor_have_targets_that_need_a_negative_variance(problem):
    """The covariance is the share of the control group, and cannot exceed a variance."""
    sigma = np.array([[1.0, 1.2], [1.2, 1.0]])
    assert arm_wise(*problem([100, 100, 100], 2, sigma=sigma)) is None


def test_two_arms_begin_with_projected_noise_and_more_arms_by_arm(problem):
    for sizes, arm_first in (([100, 80], False), ([100, 80, 60], True)):
        given, conditions, basis, noise = problem(sizes, 3)
        noise = basis.without(noise)
        first, second = starts(given, conditions, basis, noise.copy)
        by_arm = arm_wise(given, conditions, basis, noise)
        np.testing.assert_array_equal(first if arm_first else second, by_arm)
