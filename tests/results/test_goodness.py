"""How well a regression fits, against its definitions."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.results.covariance import LeastSquares, Weighting, least_squares
from dprct.results.ols import fit_as_a_whole, wald


@pytest.fixture
def fitted():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=50)
    weighting = Weighting.of(None, "aweight", 50)
    (fit,), _ = least_squares(X, y[:, None], weighting)
    return fit, y, weighting


def test_r_squared_and_root_mse_are_their_definitions(fitted):
    fit, y, weighting = fitted
    assert isinstance(fit, LeastSquares)
    cov = fit.bread * (fit.resid @ fit.resid / 47)
    whole = fit_as_a_whole(fit, y, weighting, cov, 47, intercept=True)
    share = 1 - fit.resid @ fit.resid / ((y - y.mean()) @ (y - y.mean()))
    assert whole["rsquared"] == pytest.approx(share)
    assert whole["rmse"] == pytest.approx(np.sqrt(fit.resid @ fit.resid / 47))
    # with classical errors F is the comparison of the two residual sums
    assert whole["fvalue"] == pytest.approx(share / (1 - share) * 47 / 2)


def test_a_test_that_does_not_exist_is_nan():
    assert np.isnan(wald(np.ones(2), np.ones((2, 2)), 10))
    assert np.isnan(wald(np.ones(3), np.eye(3), 2))
    assert np.isnan(wald(np.empty(0), np.empty((0, 0)), 2))
    assert wald(np.array([2.0]), np.array([[4.0]]), 5) == 1.0
