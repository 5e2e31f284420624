"""A reader's regression returns the effects and errors that were put in, in every package."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from dprct.errors import ParameterError
from dprct.release.calibrated.residuals import Specification, residuals
from dprct.results.ols import ols

RSCRIPT = Path(__file__).resolve().parents[2] / "reference" / "construction_r.R"

DESIGNS = {
    "two arms": ([150, 150], 8, 0),
    "unequal": ([800, 200], 8, 0),
    "no covariates": ([210, 90], 0, 0),
    "ten treated": ([990, 10], 5, 0),
    "two treated": ([198, 2], 3, 0),
    "two controls": ([2, 198], 3, 0),
    "many blocks": ([474, 473], 30, 101),
    "arms below two in blocks": ([120, 120], 2, 80),
    "three arms": ([600, 360, 240], 8, 0),
    "four arms": ([237, 236, 237, 237], 6, 0),
    "four arms, many blocks": ([237, 236, 237, 237], 75, 55),
    "four arms, more covariates than an arm has rows": ([237, 236, 237, 237], 250, 0),
    "five arms, no covariates": ([400, 150, 150, 150, 150], 0, 0),
    "five arms, tiny ones": ([400, 2, 3, 5, 10], 4, 0),
}


def noise(n, seed=7):
    return np.random.default_rng(seed).normal(size=n)


def outcome(W, e):
    return W @ np.linspace(1.3, -0.4, W.shape[1]) + e


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize("name", DESIGNS)
def test_statsmodels_returns_what_was_put_in(trial, off, name):
    experiment = trial(3, *DESIGNS[name])
    W, effects = experiment.design(), len(experiment.sigma)
    found = residuals([Specification.of(W, effects, experiment.sigma)], noise(len(W)))
    y = outcome(W, found.values)
    robust, plain = sm.OLS(y, W).fit(cov_type="HC1"), sm.OLS(y, W).fit()
    assert found.exact == (True,)
    np.testing.assert_allclose(
        robust.params[:effects], np.linspace(1.3, -0.4, W.shape[1])[:effects], atol=1e-10
    )
    assert off(robust.cov_params()[:effects, :effects], experiment.sigma) < 1e-12
    np.testing.assert_allclose(found.ratios[0], 1, atol=1e-12)
    if effects == 1:
        np.testing.assert_allclose(plain.bse[0], np.sqrt(experiment.sigma[0, 0]), rtol=1e-12)
        assert found.classical[0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["unequal", "arms below two in blocks", "four arms, many blocks"])
def test_so_do_the_formulas_of_stata(trial, stata, off, name):
    experiment = trial(4, *DESIGNS[name])
    W, effects = experiment.design(), len(experiment.sigma)
    groups = np.random.default_rng(1).integers(0, 40, len(W)) * 3 + 5
    given_ = [
        Specification.of(W, effects, experiment.sigma),
        Specification.of(W, effects, experiment.sigma, groups),
    ]
    found = residuals(given_, noise(len(W)))
    y = outcome(W, found.values)
    for codes in (None, groups):
        b, cov, _ = stata(y, W, effects, codes)
        assert off(cov, experiment.sigma) < 1e-12
        np.testing.assert_allclose(b, np.linspace(1.3, -0.4, W.shape[1])[:effects], atol=1e-10)


@pytest.mark.parametrize(("clusters", "arms"), [(6, 2), (40, 2), (30, 3)])
def test_clusters_that_were_assigned_together(stata, off, clusters, arms):
    g = np.repeat(np.arange(clusters), 20)
    T = ((g % arms)[:, None] == np.arange(1, arms)).astype(float)
    W = np.column_stack([T, np.ones(len(g)), np.random.default_rng(2).normal(size=(len(g), 4))])
    sigma = 0.02 + np.diag(np.linspace(0.03, 0.05, arms - 1))
    found = residuals([Specification.of(W, arms - 1, sigma, g)], noise(len(g)))
    y = outcome(W, found.values)
    assert found.exact == (True,)
    assert off(stata(y, W, arms - 1, g)[1], sigma) < 1e-12
    fit = sm.OLS(y, W).fit(cov_type="cluster", cov_kwds={"groups": g})
    assert off(fit.cov_params()[: arms - 1, : arms - 1], sigma) < 1e-12


def test_our_own_ols_reads_the_interval_with_clusters_less_one_degrees_of_freedom(trial):
    experiment = trial(5, [300, 200], 2)
    W, groups = experiment.design(), np.arange(500) % 25
    found = residuals([Specification.of(W, 1, np.array([[0.09]]), groups)], noise(500))
    data = pd.DataFrame(W[:, [0, 2, 3]], columns=["t", "a", "b"]).assign(
        y=2 * W[:, 0] + found.values, g=groups
    )
    fit = ols("y ~ t + a + b", data, cluster="g")
    low, high = fit.conf_int().loc["t"]
    assert (high - low) / 2 == pytest.approx(0.3 * student.ppf(0.975, 24), rel=1e-11)
    assert (high + low) / 2 == pytest.approx(2, abs=1e-10)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_returns_what_was_put_in(trial, tmp_path):
    targets = {}
    for name, sizes, p, clustered in [
        ("two", [300, 100], 4, False),
        ("four", [100, 90, 80, 70], 3, False),
        ("clusters", [200, 200], 2, True),
    ]:
        experiment = trial(6, sizes, p)
        W, effects = experiment.design(), len(sizes) - 1
        g = np.arange(len(W)) % 30
        sigma = experiment.sigma
        e = residuals(
            [Specification.of(W, effects, sigma, g if clustered else None)], noise(len(W))
        )
        table = pd.DataFrame(W, columns=[f"x{j}" for j in range(W.shape[1])])
        table.assign(y=outcome(W, e.values), g=g).to_csv(tmp_path / f"{name}.csv", index=False)
        targets[name] = (np.sqrt(np.diag(sigma)), effects, clustered, W.shape[1])
    files = [str(tmp_path / f"{name}.csv") for name in targets]
    run = subprocess.run(
        ["Rscript", "--vanilla", str(RSCRIPT), *files], capture_output=True, text=True, check=False
    )
    if "there is no package called" in run.stderr:
        pytest.skip("R lacks sandwich or jsonlite")
    found = json.loads(run.stdout)
    for name, (errors, effects, clustered, k) in targets.items():
        said = found[name]
        np.testing.assert_allclose(
            said["coef"][:effects], np.linspace(1.3, -0.4, k)[:effects], atol=1e-10
        )
        kind = "cluster" if clustered else "HC1"
        np.testing.assert_allclose(said[kind][:effects], errors, rtol=1e-11)
        if effects == 1 and not clustered:
            np.testing.assert_allclose(said["classical"][:1], errors, rtol=1e-11)


def test_several_covariate_sets_on_one_outcome(trial, stata, off):
    experiment = trial(8, [400, 300, 300], 10)
    groups = np.arange(1000) % 50
    X = experiment.X
    other = np.random.default_rng(9).normal(size=(1000, 4))
    specifications = [
        Specification.of(experiment.design(X), 2, experiment.sigma),
        Specification.of(experiment.design(X[:, :4]), 2, experiment.sigma),
        Specification.of(experiment.design(np.column_stack([other, X[:, 0]])), 2, experiment.sigma),
        Specification.of(experiment.design(X[:, :4]), 2, 2 * experiment.sigma, groups),
    ]
    found = residuals(specifications, noise(1000))
    assert found.exact == (True,) * 4
    for s in specifications:
        b, cov, _ = stata(s.design[:, 0] + found.values, s.design, 2, s.groups)
        assert off(cov, s.covariance) < 1e-12
        np.testing.assert_allclose(b, [1, 0], atol=1e-12)


def test_the_first_classical_error_is_met_and_the_others_are_told(trial, stata):
    experiment = trial(8, [600, 400], 10)
    X, sigma = experiment.X, experiment.sigma
    specifications = [Specification.of(experiment.design(x), 1, sigma) for x in (X, X[:, :6])]
    found = residuals(specifications, noise(1000))
    assert found.exact == (True, True)
    for s, ratio in zip(specifications, found.classical, strict=True):
        _, cov, _ = stata(found.values, s.design, 1, robust=False)
        assert ratio == pytest.approx(np.sqrt(cov[0, 0] / sigma[0, 0]), rel=1e-12)
    assert found.classical[0] == pytest.approx(1, abs=1e-12)
    assert found.classical[1] != pytest.approx(1, abs=1e-6)


def test_robust_errors_go_before_the_classical_where_both_cannot_be_met(trial):
    """Equal arms without covariates: HC1 is a function of e'e alone, and so is the other."""
    experiment = trial(8, [500, 500], 10)
    found = residuals(
        [
            Specification.of(experiment.design(X), 1, experiment.sigma)
            for X in (experiment.X, experiment.X[:, :0])
        ],
        noise(1000),
    )
    assert found.exact == (True, True)
    assert found.classical[0] != pytest.approx(1, abs=1e-6)


def test_sets_that_differ_by_too_few_covariates_are_slightly_too_large(trial, stata):
    """Two effects, one more covariate: one combination of effects is the same in both."""
    experiment = trial(8, [400, 300, 300], 1)
    specifications = [
        Specification.of(experiment.design(X), 2, experiment.sigma)
        for X in (experiment.X, experiment.X[:, :0])
    ]
    found = residuals(specifications, noise(1000))
    assert not any(found.exact)
    for s, ratio in zip(specifications, found.ratios, strict=True):
        _, cov, _ = stata(found.values, s.design, 2)
        np.testing.assert_allclose(np.sqrt(np.diag(cov) / np.diag(s.covariance)), ratio, rtol=1e-12)
        assert (ratio >= 1 - 1e-12).all()
        assert (ratio < 1.01).all()


@pytest.mark.parametrize("p", [0, 3, 30])
@pytest.mark.parametrize(
    ("sigma", "most"),
    [
        ([[1.0, 1.2], [1.2, 1.0]], 1.2),  # not positive definite
        ([[1.0, 1.0], [1.0, 1.0]], 1.05),  # singular
        ([[1.0, -1.5], [-1.5, 1.0]], 2.0),
        ([[1.0, 0.0], [0.0, 0.0]], np.inf),
    ],
)
def test_an_impossible_covariance_is_never_undershot_and_said(trial, stata, p, sigma, most):
    experiment, sigma = trial(2, [150, 130, 120], p), np.array(sigma)
    W = experiment.design()
    found = residuals([Specification.of(W, 2, sigma)], noise(len(W)))
    reached = np.sqrt(np.diag(stata(found.values, W, 2)[1]))
    assert found.exact == (False,)
    assert (reached >= np.sqrt(np.diag(sigma)) * (1 - 1e-12)).all()
    assert (found.ratios[0] <= most).all()
    positive = np.diag(sigma) > 0
    np.testing.assert_allclose(
        found.ratios[0][positive], (reached / np.sqrt(np.diag(sigma) + ~positive))[positive]
    )


def test_an_arm_of_one_row_makes_the_others_bear_its_error(trial, stata):
    W, sigma = trial(2, [200, 1, 50], 0).design(), 0.01 + np.diag([1, 0.2])
    found = residuals([Specification.of(W, 2, sigma)], noise(len(W)))
    assert found.exact == (False,)
    assert found.ratios[0][0] >= 1 - 1e-12
    assert found.ratios[0][1] > np.sqrt(1.01 / 0.21)
    reached = np.sqrt(np.diag(stata(found.values, W, 2)[1]))
    np.testing.assert_allclose(reached / np.sqrt(np.diag(sigma)), found.ratios[0], rtol=1e-10)


def test_targets_of_zero_give_zero(trial):
    W = trial(2, [20, 20, 20], 2).design()
    found = residuals([Specification.of(W, 2, np.zeros((2, 2)))], noise(60))
    assert not found.values.any()
    assert found.exact == (True,)


@pytest.mark.parametrize("unit", [1e-60, 1e-9, 1e9, 1e60])
def test_the_unit_of_the_outcome_does_not_matter(trial, stata, off, unit):
    experiment = trial(2, [70, 60, 50], 4)
    W, sigma = experiment.design(), experiment.sigma * unit**2
    found = residuals([Specification.of(W, 2, sigma)], noise(180))
    assert found.exact == (True,)
    assert off(stata(found.values, W, 2)[1], sigma) < 1e-12


def test_the_same_noise_gives_the_same_residuals_and_other_noise_others(trial):
    experiment = trial(2, [70, 60, 50], 4)
    given_ = [Specification.of(experiment.design(), 2, experiment.sigma)]
    first, again, other = (residuals(given_, noise(180, seed)).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.5


def test_residuals_are_no_outliers(trial):
    """Two arms of the same spread: what is added to the noise is small, so it stays normal."""
    experiment = trial(2, [500, 500], 8)
    e = residuals([Specification.of(experiment.design(), 1, experiment.sigma)], noise(1000)).values
    assert np.mean(e**4) / np.mean(e**2) ** 2 == pytest.approx(3, abs=0.5)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_adversarial_designs(trial, stata, odd, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    arms = data.draw(st.integers(2, 5))
    sizes = [data.draw(st.integers(2, 60)) for _ in range(arms - 1)]
    sizes = [data.draw(st.integers(40, 300)), *sizes]
    experiment = trial(seed, sizes, data.draw(st.integers(0, 12)))
    extra = data.draw(st.lists(st.sampled_from(sorted(odd)), max_size=4, unique=True))
    rng = np.random.default_rng(seed)
    columns = [odd[name](experiment, rng) for name in extra]
    W = np.column_stack([experiment.design(), *columns])
    effects = arms - 1
    groups = rng.integers(0, 30, len(W)) if data.draw(st.booleans()) else None
    try:
        found = residuals(
            [Specification.of(W, effects, experiment.sigma, groups)], noise(len(W), seed)
        )
    except ParameterError:
        rest = np.linalg.matrix_rank(W[:, effects:] / abs(W).max(0).clip(1)[effects:], tol=1e-9)
        assert rest + effects > np.linalg.matrix_rank(W / abs(W).max(0).clip(1), tol=1e-9)
        reject()
    b, cov, _ = stata(3 * W[:, 0] + found.values, W, effects, groups)
    np.testing.assert_allclose(b, [3, *[0] * (effects - 1)], atol=1e-8)
    ratio = np.sqrt(np.diag(cov) / np.diag(experiment.sigma))
    np.testing.assert_allclose(ratio, found.ratios[0], rtol=1e-8)
    assert (found.ratios[0] >= 1 - 1e-12).all()


@pytest.mark.audit
@pytest.mark.parametrize(("arms", "p", "dummies"), [(2, 5, 124), (5, 3, 123), (3, 0, 0)])
def test_a_hundred_thousand_rows(trial, off, arms, p, dummies):
    experiment = trial(1, [100_000 - 15_000 * (arms - 1), *[15_000] * (arms - 1)], p, dummies)
    W, effects = experiment.design(), arms - 1
    found = residuals([Specification.of(W, effects, experiment.sigma)], noise(len(W)))
    fit = sm.OLS(outcome(W, found.values), W).fit(cov_type="HC1")
    assert found.exact == (True,)
    assert off(fit.cov_params()[:effects, :effects], experiment.sigma) < 1e-12
    np.testing.assert_allclose(
        fit.params[:effects], np.linspace(1.3, -0.4, W.shape[1])[:effects], atol=1e-10
    )


# refusals


def test_no_specification_is_refused():
    with pytest.raises(ParameterError, match="no specification"):
        residuals([], noise(10))


@pytest.mark.parametrize("start", [np.ones(9), np.ones((10, 1)), np.full(10, np.nan), np.zeros(10)])
def test_a_start_that_is_no_noise_is_refused(trial, start):
    W = trial(1, [5, 5], 0).design()
    with pytest.raises(ParameterError, match="start"):
        residuals([Specification.of(W, 1, np.eye(1))], start)


def test_designs_of_two_files_are_refused(trial):
    one, two = (trial(1, [5, m], 0).design() for m in (5, 6))
    with pytest.raises(ParameterError, match="10, 11 rows"):
        residuals([Specification.of(W, 1, np.eye(1)) for W in (one, two)], noise(10))


def test_specifications_that_leave_no_residuals_together_are_refused(trial):
    experiment, rng = trial(1, [10, 10], 0), np.random.default_rng(1)
    designs = [experiment.design(rng.normal(size=(20, 10))) for _ in range(2)]
    with pytest.raises(ParameterError, match="20 rows leave no residuals"):
        residuals([Specification.of(W, 1, np.eye(1)) for W in designs], noise(20))


def test_an_effect_between_rows_that_are_fitted_exactly_is_refused():
    """One treated row and a dummy for its pair: the effect is the difference of the two."""
    W = np.column_stack([np.eye(20)[0], np.ones(20), np.eye(20)[0] + np.eye(20)[1]])
    with pytest.raises(ParameterError, match="zero whatever the outcome"):
        residuals([Specification.of(W, 1, np.eye(1))], noise(20))


def test_an_effect_between_two_clusters_is_refused():
    """Residuals sum to zero within both, so that CR1 is zero."""
    g = np.repeat([0, 1], 10)
    W = np.column_stack([g, np.ones(20)]).astype(float)
    with pytest.raises(ParameterError, match="zero whatever the outcome"):
        residuals([Specification.of(W, 1, np.eye(1), g)], noise(20))
