"""Fits of outcomes against statsmodels, draws against the laws of their families."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from dprct.errors import ParameterError
from dprct.published.outcomes import OutcomeFit, families_of, fits

ALPHA = 1e-9


@pytest.fixture
def design():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    return np.column_stack([np.ones(300), x[:, 0], 1e6 * x[:, 1], x[:, 0] - 2])


def test_gaussian_is_least_squares_without_aliased_columns(design):
    rng = np.random.default_rng(2)
    y = design[:, :3] @ [1, 2, 3e-6] + rng.normal(size=300)
    z = y**2
    z[:30] = np.nan
    one, two = fits(design, {"y": y, "z": z}, {"y": "gaussian", "z": "gaussian"})
    assert one.kept.tolist() == [True, True, True, False]
    for found, values in ((one, y), (two, z)):
        rows = np.isfinite(values)
        right = sm.OLS(values[rows], design[rows][:, :3]).fit()
        np.testing.assert_allclose(found.beta, right.params, rtol=1e-9)
        assert found.sigma2 == pytest.approx(right.mse_resid, rel=1e-10)  # RSS / (n - k)
        assert (found.nobs, found.df_resid) == (rows.sum(), right.df_resid)


@pytest.mark.parametrize(
    ("family", "kind"), [("binomial", sm.families.Binomial()), ("poisson", sm.families.Poisson())]
)
def test_generalised_fits_are_those_of_statsmodels(design, family, kind):
    rng = np.random.default_rng(3)
    eta = design[:, :3] @ [0.2, 0.5, -3e-7]
    y = (
        rng.poisson(np.exp(eta))
        if family == "poisson"
        else rng.random(300) < 1 / (1 + np.exp(-eta))
    )
    y = np.asarray(y, float)
    [found] = fits(design, {"y": y}, {"y": family})
    right = sm.GLM(y, design[:, :3] * [1, 1, 1e-6], family=kind).fit(tol=1e-12)
    np.testing.assert_allclose(found.beta, right.params * [1, 1, 1e-6], rtol=1e-6)
    assert found.sigma2 == 1


def test_draws_have_the_law_of_their_family():
    """Alarms at 1e-9; a mean that is a tenth off is seen."""
    rng = np.random.default_rng(4)
    ones = np.ones((40_000, 1))
    kept, beta = np.array([True]), np.array([0.4])
    normal = OutcomeFit("y", "gaussian", kept, beta, 2.25, 10).draw(ones, rng)
    assert stats.kstest(normal, "norm", (0.4, 1.5)).pvalue > ALPHA
    assert stats.kstest(normal, "norm", (0.4, 1.65)).pvalue < ALPHA
    binary = OutcomeFit("y", "binomial", kept, beta, 1.0, 10).draw(ones, rng)
    assert set(binary.tolist()) == {0.0, 1.0}
    p = 1 / (1 + np.exp(-0.4))
    assert stats.binomtest(int(binary.sum()), 40_000, p).pvalue > ALPHA
    assert stats.binomtest(int(binary.sum()), 40_000, p * 0.9).pvalue < ALPHA
    counts = OutcomeFit("y", "poisson", kept, beta, 1.0, 10).draw(ones, rng)
    found = np.bincount(counts.astype(int), minlength=8)[:8]
    law = stats.poisson(np.exp(0.4)).pmf(np.arange(8))
    expected = law / law.sum() * found.sum()
    assert stats.chisquare(found, expected).pvalue > ALPHA


def test_huge_means_stay_finite():
    fit = OutcomeFit("y", "poisson", np.array([True]), np.array([1e4]), 1.0, 10)
    assert np.isfinite(fit.draw(np.ones((3, 1)), np.random.default_rng(1))).all()


@pytest.mark.parametrize(
    ("y", "family", "says"),
    [
        (np.full(300, np.nan), "gaussian", "missing in every row"),
        (np.r_[np.arange(3.0), np.full(297, np.nan)], "gaussian", "3 complete rows for 3"),
        (np.arange(300.0), "binomial", "other than 0 and 1"),
        (np.arange(300.0) / 2, "poisson", "not counts"),
        (-np.arange(300.0), "poisson", "not counts"),
    ],
)
def test_refusals(design, y, family, says):
    with pytest.raises(ParameterError, match=f"'y'.*{says}"):
        fits(design, {"y": y}, {"y": family})


def test_separation_is_refused_by_name(design):
    complete = (design[:, 1] > 0).astype(float)
    rng = np.random.default_rng(5)
    quasi = (rng.random(300) < 0.5).astype(float)
    level = np.zeros(300)
    level[:40] = 1
    quasi[:40] = 1  # all of a level have the outcome
    with pytest.raises(ParameterError, match=r"'died' is separated.*binomial"):
        fits(design, {"died": complete}, {"died": "binomial"})
    with pytest.raises(ParameterError, match="'died' is separated"):
        fits(np.column_stack([np.ones(300), level]), {"died": quasi}, {"died": "binomial"})
    none = np.where(level > 0, 0.0, 2.0)
    with pytest.raises(ParameterError, match=r"'visits' is separated.*poisson"):
        fits(np.column_stack([np.ones(300), level]), {"visits": none}, {"visits": "poisson"})


def test_families_by_name():
    assert families_of(["a", "b"], None) == {"a": "gaussian", "b": "gaussian"}
    with pytest.raises(ParameterError, match="'c', which is not an outcome"):
        families_of(["a"], {"c": "poisson"})
    with pytest.raises(ParameterError, match="'gamma'; allowed: gaussian, binomial, poisson"):
        families_of(["a"], {"a": "gamma"})
