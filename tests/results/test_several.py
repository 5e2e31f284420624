"""Several outcomes at once are the same as one after the other, by statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from dprct.errors import ParameterError
from dprct.results.covariance import Weighting, fit_several


def example(n=60):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 3))
    X = np.column_stack([np.ones(n), x, x[:, 0] - 2 * x[:, 1], 1e6 + x[:, 2] * 1e4, np.zeros(n)])
    return X, rng.normal(size=(n, 2)) + x[:, :2]


@pytest.mark.parametrize("weights_type", ["none", "aweight", "fweight"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"])
def test_each_outcome_is_fitted_as_alone(weights_type, cov_type):
    X, Y = example()
    given = np.arange(len(X)) % 4 + 1.0
    kind = "aweight" if weights_type == "none" else weights_type
    weighting = Weighting.of(None if weights_type == "none" else given, kind, len(X))
    groups = np.arange(len(X)) % 7 if cov_type == "cluster" else None
    shared = fit_several(X, Y, weighting, cov_type, groups)
    assert shared.kept.tolist() == [True] * 4 + [False] * 3
    for j in range(2):
        total = weighting.root * np.sqrt(weighting.copies)
        alone = OLS(Y[:, j] * total, X[:, :4] * total[:, None]).fit(method="pinv")
        resid = (Y[:, j] - X[:, :4] @ alone.params) * weighting.root
        np.testing.assert_allclose(shared.fits[j].beta, alone.params, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(shared.fits[j].resid, resid, atol=1e-9)
        bread = alone.normalized_cov_params
        np.testing.assert_allclose(shared.fits[j].bread, bread, rtol=1e-6, atol=1e-12)
        assert shared.cov(j).shape == (4, 4)
    assert shared.df == (6 if cov_type == "cluster" else shared.fits[0].df_resid)


def test_more_coefficients_than_rows_are_refused():
    X = np.vander(np.arange(4.0), 4)
    with pytest.raises(ParameterError, match="4 observations for 4 coefficients"):
        fit_several(X, np.ones((4, 1)), Weighting.of(None, "aweight", 4))
