"""Bases and influences are those of least squares, whatever the conditioning."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.release.calibrated.residuals import Specification, factored, joined


def specification(experiment, *columns):
    W = np.column_stack([experiment.design(), *columns])
    return Specification.of(W, len(experiment.sigma), experiment.sigma)


def orthonormal(basis):
    Q = basis.vectors
    return abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 1e-13


@pytest.mark.parametrize("extra", ["", "near", "collinear"])
def test_the_influence_makes_effects_of_outcomes(trial, extra):
    experiment = trial(1, [120, 100, 80], 6)
    x = experiment.X[:, 0]
    columns = {
        "": [],
        "near": [x + 1e-6 * np.random.default_rng(1).normal(size=300)],
        "collinear": [x, np.full(300, 3.0)],
    }[extra]
    given = specification(experiment, *columns)
    basis, influence = factored(given)
    y = np.random.default_rng(2).normal(size=300)
    expected = np.linalg.lstsq(given.design, y, rcond=1e-12)[0][:2]
    np.testing.assert_allclose(influence.rows.T @ y, expected, rtol=1e-8)
    rank = given.design.shape[1] - (2 if extra == "collinear" else 0)
    assert influence.rank == basis.vectors.shape[1] == rank
    rows = np.linalg.pinv(given.design, rcond=1e-12)[:2]
    np.testing.assert_allclose(influence.bread, rows @ rows.T, rtol=1e-8)
    assert orthonormal(basis)


def test_what_is_left_is_orthogonal_to_all_designs(trial):
    experiment = trial(1, [120, 100, 80], 6)
    other = np.random.default_rng(3).normal(size=(300, 4))
    given = [
        specification(experiment),
        specification(experiment, other),
        specification(experiment, experiment.X[:, 0] + other[:, 0]),
    ]
    basis = joined([factored(one)[0] for one in given])
    e = basis.without(np.random.default_rng(4).normal(size=300))
    assert orthonormal(basis)
    assert basis.vectors.shape[1] == 13
    for one in given:
        assert abs(one.design.T @ e).max() < 1e-12


@pytest.mark.parametrize("column", ["arm", "both", "constant"])
def test_an_effect_that_does_not_exist_is_refused(trial, column):
    experiment = trial(1, [120, 100, 80], 2)
    T = experiment.treatments
    W = experiment.design()
    if column == "constant":
        W = np.column_stack([np.ones(300), W[:, 2:]])
        given = Specification.of(W, 1, np.eye(1))
    else:
        extra = T[:, 0] if column == "arm" else T.sum(1)
        given = specification(experiment, extra)
    with pytest.raises(ParameterError, match="does not exist"):
        factored(given)


def test_no_degree_of_freedom_is_refused(trial):
    experiment = trial(1, [5, 5], 8)
    with pytest.raises(ParameterError, match="degree of freedom"):
        factored(specification(experiment))
