"""Least squares from released moments: exactly itself without noise, honest with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from dprct.errors import ParameterError
from dprct.estimate.moments.regression import regression_of
from dprct.estimate.moments.system import (
    Regressor,
)
from dprct.privacy.budget import Guarantee
from tests.estimate.moments.of_cells import selected

NONE = Guarantee.none("these are made-up rows")
CONSTANT = Regressor("Intercept")
ABC = [CONSTANT, *(Regressor(name, name) for name in "abc")]
UNITS = {"centre": [0.0, 5.0, 2000.0, 200.0], "scale": [1.0, 2.0, 3.0, 4.0]}


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)) + np.array([0, 5, 2000.0])
    y = x @ [1, 2, 0.1] + rng.normal(size=150) * 3
    return np.column_stack([x, y])


def ols_of(cell, regressors, outcome="y", **how):
    return regression_of([cell], outcome, regressors, guarantee=NONE, **how)


def test_without_noise_it_is_least_squares(table, from_rows):
    found = ols_of(from_rows(table, "abcy", **UNITS), ABC)
    other = sm.OLS(table[:, 3], sm.add_constant(table[:, :3])).fit()
    np.testing.assert_allclose(found.params, other.params, rtol=1e-9)
    np.testing.assert_allclose(found.bse, other.bse, rtol=1e-9)
    np.testing.assert_allclose(found.pvalues, other.pvalues, rtol=1e-6)
    np.testing.assert_allclose(found.conf_int(0.1), other.conf_int(0.1), rtol=1e-9)
    np.testing.assert_allclose(found.cov_params(), other.cov_params(), rtol=1e-8, atol=1e-12)
    assert found.rsquared == pytest.approx(other.rsquared)
    assert found.rmse == pytest.approx(math.sqrt(other.mse_resid))
    assert (found.df_resid, found.nobs) == (146, 150)
    joint = other.f_test("x1 = x2, x3 = 0")
    test = found.wald_test(["a = b", " c = 0"])
    assert (test.statistic, test.pvalue) == (
        pytest.approx(joint.fvalue),
        pytest.approx(joint.pvalue),
    )


def test_subsets_of_columns_are_regressions_of_their_own(table, from_rows):
    cell = from_rows(table, "abcy", **UNITS)
    found = ols_of(cell, [CONSTANT, Regressor("y", "y"), Regressor("c", "c")], "a")
    other = sm.OLS(table[:, 0], sm.add_constant(table[:, [3, 2]])).fit()
    np.testing.assert_allclose(found.params, other.params, rtol=1e-8)
    through_zero = ols_of(cell, [Regressor("a", "a"), Regressor("b", "b")])
    plain = sm.OLS(table[:, 3], table[:, :2]).fit()
    np.testing.assert_allclose(through_zero.params, plain.params, rtol=1e-9)
    np.testing.assert_allclose(through_zero.bse, plain.bse, rtol=1e-9)


def test_without_noise_cells_give_arms_and_interactions(table, from_rows):
    t = np.arange(150) % 3 == 0
    cells = [from_rows(table[~t], "abcy", **UNITS), from_rows(table[t], "abcy", **UNITS)]
    arm = (0.0, 1.0)
    regressors = [
        CONSTANT,
        Regressor("t", None, arm),
        Regressor("a", "a"),
        Regressor("t:a", "a", arm),
    ]
    found = regression_of(cells, "y", regressors, guarantee=NONE)
    X = np.column_stack([np.ones(150), t, table[:, 0], t * table[:, 0]])
    other = sm.OLS(table[:, 3], X).fit()
    np.testing.assert_allclose(found.params, other.params, rtol=1e-9)
    np.testing.assert_allclose(found.bse, other.bse, rtol=1e-9)

    apart = regression_of(cells, "y", regressors, guarantee=NONE, by_cell=True)
    e, bread = other.resid, np.linalg.inv(X.T @ X)
    of_cell = [(e[g] ** 2).mean() * 150 / 146 * X[g].T @ X[g] for g in (~t, t)]
    expected = bread @ sum(of_cell) @ bread
    np.testing.assert_allclose(apart.cov_params(), expected, rtol=1e-8, atol=1e-12)


def test_scores_give_the_robust_covariance(table, from_rows):
    X = sm.add_constant(table[:, :3])
    other = sm.OLS(table[:, 3], X).fit(cov_type="HC0")
    scores = X * other.resid[:, None]
    found = ols_of(from_rows(table, "abcy", **UNITS), ABC, meat=scores.T @ scores)
    np.testing.assert_allclose(found.bse, other.bse, rtol=1e-7)


def noisy(table, from_rows, seed=0, s=2.0, **units):
    h = 1.0
    return from_rows(table, "abcy", s / math.sqrt(2) / h, s, np.random.default_rng(seed), **units)


def test_units_change_nothing(table, from_rows):
    units = {"centre": [0.0, 5.0, 2000.0, 200.0], "scale": [3.0, 3.0, 3.0, 12.0]}
    found = ols_of(noisy(table, from_rows, **units), ABC)
    k = np.array([10.0, 0.1, 2.0, 7.0])
    shift = np.array([3.0, 0.0, -1999.0, 5.0])
    other_units = {"centre": units["centre"] * k + shift, "scale": units["scale"] * k}
    other = ols_of(noisy(table * k + shift, from_rows, **other_units), ABC)
    np.testing.assert_allclose(other.params[1:] * k[:3], found.params[1:] * k[3], rtol=1e-7)
    np.testing.assert_allclose(
        other.conf_int().to_numpy()[1:] * k[:3, None],
        found.conf_int().to_numpy()[1:] * k[3],
        rtol=1e-4,
    )
    assert other.eta2 == pytest.approx(found.eta2)


def test_order_and_recoding_change_nothing(table, from_rows):
    units = {"centre": [0.0, 5.0, 2000.0, 200.0], "scale": [3.0, 3.0, 3.0, 12.0]}
    cell = noisy(table, from_rows, **units)
    found = ols_of(cell, ABC)
    turned = ols_of(selected(cell, "ycba"), [ABC[3], ABC[0], ABC[1], ABC[2]])
    np.testing.assert_allclose(turned.params[found.params.index], found.params, rtol=1e-8)
    np.testing.assert_allclose(
        turned.conf_int().loc[found.params.index], found.conf_int(), rtol=1e-4
    )

    cells = [noisy(table[:75], from_rows, 1, **units), noisy(table[75:], from_rows, 2, **units)]
    t, c = Regressor("t", None, (0.0, 1.0)), Regressor("c", None, (1.0, 0.0))
    one = regression_of(cells, "y", [CONSTANT, t, ABC[1]], guarantee=NONE)
    two = regression_of(cells, "y", [c, t, ABC[1]], guarantee=NONE)
    other = two.lincom("t - c")
    assert other.params.iloc[0] == pytest.approx(one.params["t"])
    np.testing.assert_allclose(other.conf_int().iloc[0], one.conf_int().loc["t"], rtol=1e-4)
    assert two.wald_test("t = c").pvalue == pytest.approx(one.pvalues["t"], rel=1e-4)


def test_cells_alike_are_as_if_pooled(table, from_rows):
    cells = [noisy(table[i::3], from_rows, i, **UNITS) for i in range(3)]
    apart = regression_of(cells, "y", ABC, guarantee=NONE)
    pooled = ols_of(cells[0].pooled(*cells[1:]), ABC)
    np.testing.assert_allclose(apart.params, pooled.params, rtol=1e-8)
    np.testing.assert_allclose(apart.bse, pooled.bse, rtol=1e-8)
    np.testing.assert_allclose(apart.conf_int(), pooled.conf_int(), rtol=1e-4)


def test_noise_beyond_the_gate_is_not_estimated(table, from_rows):
    found = ols_of(noisy(table, from_rows, s=200.0, **UNITS), ABC)
    assert found.params.isna().all()
    assert not found.estimated.any()
    assert np.isinf(found.conf_int()).all().all()
    assert found.pvalues.isna().all()
    assert "Not estimated" in found.summary()
    assert np.isnan(found.wald_test("a = 0").pvalue)
    assert found.lincom("a - b").params.isna().all()


def test_what_is_collinear_by_public_facts_is_omitted(table, from_rows):
    cells = [noisy(table[:75], from_rows, **UNITS), noisy(table[75:], from_rows, **UNITS)]
    both = [CONSTANT, Regressor("t", None, (0, 1)), Regressor("c", None, (1, 0)), ABC[1]]
    found = regression_of(cells, "y", both, guarantee=NONE)
    assert found.omitted == ("c",)
    assert list(found.params.index) == ["Intercept", "t", "a"]


def test_impossible_regressions_are_refused(table, from_rows):
    cell = from_rows(table[:4], "abcy")
    with pytest.raises(ParameterError, match="use fewer regressors"):
        ols_of(cell, ABC)
    with pytest.raises(ParameterError, match="0 in every cell"):
        ols_of(from_rows(table, "abcy"), [CONSTANT, Regressor("t", None, (0.0,))])
    with pytest.raises(ParameterError, match="takes one combination"):
        ols_of(from_rows(table, "abcy"), ABC).lincom("a = b = 0")


def test_it_is_drawn(table, from_rows):
    pytest.importorskip("matplotlib")
    found = ols_of(noisy(table, from_rows, s=0.5, **UNITS), ABC)
    assert len(found.plot().get_yticklabels()) == found.estimated.sum()
    assert "eta2" in found.glance()
