"""Coefficients from released moments go to least squares, and exist whatever the noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.defaults import moment_penalty
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, NoisyVector
from dprct.privacy.noise import source
from dprct.queries.covariates import features_of
from dprct.queries.ridge_moments import moments
from dprct.release.calibrated.covariates import coefficients
from dprct.schema import Column
from dprct.schema.tables import eager

COVARIATES = [
    Column("age", "byte", bounds=(18.0, 80.0), missing=(".",)),
    Column("income", bounds=(0.0, 5000.0), missing=()),
    Column("region", "str5", levels=("north", "south", "west")),
]
OUTCOMES = [
    Column("score", bounds=(-40.0, 40.0), missing=()),
    Column("share", bounds=(0.0, 1.0), missing=()),
]


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 81, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    region = rng.choice(["north", "south", "west"], n)
    data = pd.DataFrame({"age": age, "income": rng.uniform(0, 5000, n), "region": region})
    known = np.where(np.isnan(age), 49, age)
    score = 0.3 * (known - 49) - 2e-3 * (data.income - 2500) + 4 * (region == "south")
    data["score"] = score + rng.normal(0, 2, n)
    data["share"] = np.clip(0.5 + score / 100 + rng.normal(0, 0.05, n), 0, 1)
    return data


def least_squares(data):
    columns = {c.name: data[c.name].to_numpy() for c in COVARIATES}
    X = np.column_stack([f.values(columns) for f in features_of(COVARIATES)])
    W = np.column_stack([np.ones(len(data)), X])
    return np.linalg.lstsq(W, data[["score", "share"]].to_numpy(), rcond=None)[0][1:]


def released(data, epsilon, seed=1):
    sealed = moments(eager(data), COVARIATES, OUTCOMES)
    mechanism = AnalyticGaussian(Budget(epsilon, 1e-6), sealed.l2_squared, sealed.size)
    return coefficients(mechanism.release(sealed, source(seed)), COVARIATES, OUTCOMES, len(data))


def test_without_noise_they_are_least_squares_in_the_units_of_the_columns():
    data = people(2_000)
    sealed = moments(eager(data), COVARIATES, OUTCOMES)
    plain = NoisyVector(_open(sealed), sealed.grid, 0.0, sealed.relation, simulation=True)
    found = coefficients(plain, COVARIATES, OUTCOMES, len(data))
    np.testing.assert_allclose(found, least_squares(data), rtol=1e-3, atol=1e-6)
    assert found.shape == (5, 2)


def test_they_go_to_least_squares_as_epsilon_grows():
    data = people(40_000)
    expected = least_squares(data)
    spread = abs(expected).max(0)
    off = [
        np.mean([abs((released(data, eps, seed) - expected) / spread).max() for seed in range(3)])
        for eps in (0.3, 3, 30)
    ]
    assert off[0] > 3 * off[1] > 9 * off[2]
    assert off[2] < 0.01


def test_they_explain_the_outcome_at_a_usual_epsilon():
    data = people(20_000)
    columns = {c.name: data[c.name].to_numpy() for c in COVARIATES}
    X = np.column_stack([f.values(columns) for f in features_of(COVARIATES)])
    fitted = X @ released(data, 1)
    for j, name in enumerate(["score", "share"]):
        best = np.corrcoef(X @ least_squares(data)[:, j], data[name])[0, 1]
        assert np.corrcoef(fitted[:, j], data[name])[0, 1] > 0.98 * best


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2])
def test_noise_that_drowns_the_moments_shrinks_them(epsilon):
    """Ridge: fitted values stay of the order of the outcome, whatever was drawn."""
    data = people(100)
    columns = {c.name: data[c.name].to_numpy() for c in COVARIATES}
    X = np.column_stack([f.values(columns) for f in features_of(COVARIATES)])
    for seed in range(20):
        fitted = X @ released(data, epsilon, seed)
        assert np.isfinite(fitted).all()
        assert (abs(fitted - fitted.mean(0)) < [200, 2.5]).all()


def test_collinear_covariates_are_no_obstacle():
    data = people(500)
    twice = [COVARIATES[1], Column("again", bounds=(0.0, 5000.0), missing=())]
    data["again"] = data.income
    sealed = moments(eager(data), twice, OUTCOMES)
    mechanism = AnalyticGaussian(Budget(5, 1e-6), sealed.l2_squared, sealed.size)
    found = coefficients(mechanism.release(sealed, source(3)), twice, OUTCOMES, 500)
    assert np.isfinite(found).all()


def test_the_penalty_is_as_large_as_the_eigenvalues_of_the_noise():
    rng = np.random.default_rng(1)
    for d in (4, 20, 80):
        noise = np.triu(rng.normal(0, 3, (d, d)))
        edge = np.linalg.eigvalsh(noise + np.triu(noise, 1).T)[-1]
        assert 0.4 < edge / moment_penalty(3, d, 0) < 1.3
