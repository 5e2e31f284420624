"""The wild bootstrap against refitting by hand, and against the law of step-down p-values."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.results.covariance import Weighting, fit_several
from dprct.results.multiple_testing import Resampled, step_down, variances, wild_draws

KINDS = ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]
ARMS = np.array([1, 2])


def example(rng, n=48, outcomes=2):
    arm = np.arange(n) % 3
    X = np.column_stack([np.ones(n), arm == 1, arm == 2, rng.normal(size=n)]).astype(float)
    noise = rng.normal(size=(n, outcomes)) + rng.normal(size=(n, 1))
    return X, noise * (1 + (arm == 2))[:, None]


def fitted(X, Y, kind, weights=None):
    groups = np.arange(len(X)) // 4 if kind == "cluster" else None
    return fit_several(X, Y, Weighting.of(weights, "aweight", len(X)), kind, groups)


@pytest.mark.parametrize("kind", KINDS)
def test_variances_are_those_of_the_covariance(kind):
    X, Y = example(np.random.default_rng(1))
    shared = fitted(X, Y, kind, weights=np.linspace(1, 2, len(X)))
    for j, fit in enumerate(shared.fits):
        both = np.column_stack([fit.resid, 3 * fit.resid])
        expected = np.diag(shared.cov(j))[ARMS]
        found = variances(shared, fit, both, ARMS)
        np.testing.assert_allclose(found, np.column_stack([expected, 9 * expected]), rtol=1e-10)


class Signs:
    """A generator that gives the signs it was made with."""

    def __init__(self, signs):
        self.signs = signs

    def integers(self, low, high, size):
        assert (low, high) == (0, 2)
        assert size == self.signs.shape
        return (self.signs > 0).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_is_a_fit_of_turned_residuals(kind):
    """Outcomes of different rows share the signs of the rows that they share."""
    rng = np.random.default_rng(2)
    X, Y = example(rng)
    units = np.arange(len(X)) // 4 if kind == "cluster" else np.arange(len(X))
    subset = np.arange(len(X)) < 36
    samples = [
        Resampled(fitted(X, Y, kind), np.ones(len(X), bool), ARMS),
        Resampled(fitted(X[subset], Y[subset, :1], kind), subset, ARMS),
    ]
    signs = rng.choice([-1.0, 1.0], size=(units.max() + 1, 100))
    found = wild_draws(samples, units, 100, Signs(signs))
    assert found.shape == (100, 6)
    for draw in (0, 57):
        turn = signs[units, draw]
        expected = []
        for sample in samples:
            for j in range(len(sample.fit.fits)):
                fit = sample.fit.fits[j]
                again = fitted(X[sample.rows], (fit.resid * turn[sample.rows])[:, None], kind)
                error = np.sqrt(np.diag(again.cov(0)))
                expected += list((again.fits[0].beta / error)[ARMS])
        np.testing.assert_allclose(found[draw], expected, rtol=1e-8)


def test_draws_are_the_same_however_many_are_held_at_once(monkeypatch):
    X, Y = example(np.random.default_rng(3))
    samples = [Resampled(fitted(X, Y, "HC1"), np.ones(len(X), bool), ARMS)]
    at_once = wild_draws(samples, np.arange(len(X)), 150, np.random.default_rng(9))
    monkeypatch.setattr("dprct.results.multiple_testing._CHUNK", 1)
    one_by_one = wild_draws(samples, np.arange(len(X)), 150, np.random.default_rng(9))
    assert at_once.shape == one_by_one.shape == (150, 4)
    # the order in which a generator is asked differs, the law does not
    assert abs(at_once.mean() - one_by_one.mean()) < 0.5


def family_wise_rate(adjusting, repetitions=800):
    """How often some of six true hypotheses is rejected at 10 %."""
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(repetitions):
        X, Y = example(rng, outcomes=3)
        shared = fitted(X, Y, "HC1")
        t = [
            (fit.beta / np.sqrt(np.diag(shared.cov(j))))[ARMS] for j, fit in enumerate(shared.fits)
        ]
        sample = Resampled(shared, np.ones(len(X), bool), ARMS)
        null = wild_draws([sample], np.arange(len(X)), 199, rng)
        wrong += adjusting(np.abs(np.concatenate(t)), np.abs(null)).min() <= 0.1
    return wrong / repetitions


# 6.1 standard errors of a rate of .1 over the repetitions: 1e-9 beyond
MARGIN = 6.1 * np.sqrt(0.1 * 0.9 / 800)


def test_the_family_wise_error_rate_is_kept_with_unequal_variances():
    assert abs(family_wise_rate(step_down) - 0.1) < MARGIN


def test_the_law_would_notice_p_values_that_are_not_adjusted():
    def alone(t, null):
        return (1 + (null >= t).sum(axis=0)) / (1 + len(null))

    assert family_wise_rate(alone) > 0.1 + MARGIN


@pytest.mark.parametrize("draws", [99, 1000.0, True, -1])
def test_too_few_draws_are_refused(draws):
    with pytest.raises(ParameterError, match="at least 100"):
        wild_draws([], np.arange(3), draws, np.random.default_rng(0))


def test_persons_behind_a_frequency_weight_cannot_be_told_apart():
    X, Y = example(np.random.default_rng(4))
    shared = fit_several(X, Y, Weighting.of(np.full(len(X), 2.0), "fweight", len(X)))
    sample = Resampled(shared, np.ones(len(X), bool), ARMS)
    with pytest.raises(ParameterError, match="one row per person"):
        wild_draws([sample], np.arange(len(X)), 100, np.random.default_rng(0))
