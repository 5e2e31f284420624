"""The quadratic forms are the covariances that a regression reports."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.release.calibrated.residuals import Errors, Specification, factored


@pytest.fixture
def conditions(trial):
    def make(groups=None, sizes=(90, 60, 50), classical=False, unit=1.0):
        experiment = trial(1, list(sizes), 4)
        effects = len(experiment.sigma)
        given = Specification.of(experiment.design(), effects, experiment.sigma, groups)
        basis, influence = factored(given)
        e = basis.without(np.random.default_rng(1).normal(size=len(experiment.arm)))
        return given, Errors.of(given, influence, unit, classical=classical), e

    return make


@pytest.mark.parametrize("groups", [None, np.arange(200) // 7 * 11 - 4])
def test_forms_are_the_covariance_of_the_regression(conditions, stata, groups):
    given, errors, e = conditions(groups)
    _, cov, _ = stata(e, given.design, 2, groups)
    np.testing.assert_allclose(errors.reached(e), cov, rtol=1e-10)
    np.testing.assert_allclose(errors.forms(e), cov[np.triu_indices(2)], rtol=1e-10)


@pytest.mark.parametrize("groups", [None, np.arange(200) // 7])
def test_slopes_are_half_the_gradient(conditions, groups):
    _, errors, e = conditions(groups)
    v = np.random.default_rng(2).normal(size=200)
    step = 1e-4
    change = errors.forms(e + step * v) - errors.forms(e - step * v)
    np.testing.assert_allclose(
        change / (2 * step), 2 * errors.slopes(e)(slice(None)) @ v, rtol=1e-6
    )


def test_the_classical_condition_is_that_of_the_classical_error(conditions, stata):
    given, errors, e = conditions(sizes=(120, 80), classical=True)
    _, cov, _ = stata(e, given.design, 1, robust=False)
    ratio = np.sqrt(cov[0, 0] / given.covariance[0, 0])
    met = e / ratio
    assert errors.forms(met)[-1] == pytest.approx(errors.targets[-1], rel=1e-12)
    assert errors.classical_ratio(e) == pytest.approx(ratio, rel=1e-12)
    assert len(errors.robust().targets) == len(errors.targets) - 1


def test_the_shortfall_brings_the_smallest_error_to_its_target(conditions):
    _, errors, e = conditions()
    grown = e * errors.shortfall(e)
    ratios = np.sqrt(np.diag(errors.reached(grown)) / np.diag(errors.covariance))
    assert min(ratios) == pytest.approx(1, rel=1e-12)
    assert max(ratios) > 1


def test_inflation_leaves_covariances(conditions):
    _, errors, _ = conditions()
    more = errors.inflated(0.1)
    np.testing.assert_allclose(np.diag(more.covariance), 1.1 * np.diag(errors.covariance))
    assert more.covariance[0, 1] == errors.covariance[0, 1]
    assert more.smallest_eigenvalue > errors.smallest_eigenvalue > 0
