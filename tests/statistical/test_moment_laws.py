"""What is read off released moments has the law that its intervals state.

False alarms: 1e-9 per test.  Power: the laws of effects and of scores reject noise that is 10 %
smaller than stated; the coverage of slopes, a part of whose error is sampling, rejects 15 %.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dprct.estimate.contrasts import arm_contrasts
from dprct.estimate.moments.noisy import NoisyMoments
from dprct.estimate.moments.system import Regressor, fit, inverse_of, rows_of, system_of
from tests.estimate.moments.of_cells import means_of_cells

ALPHA = 1e-9
SEED = 20_261_122


def released(totals, cross, n, s1, s2, rng, *, private=False, shrunk=1.0):
    """Return moments whose noise is ``shrunk`` times what they state."""
    p = len(totals)
    h = s2 / (math.sqrt(2) * s1)
    noise = rng.normal(0, shrunk * s2, (p + 1, p + 1))
    noise = (noise + noise.T) / 2
    ones = np.ones(p)
    return NoisyMoments(
        tuple(f"c{j}" for j in range(p)),
        n + private * noise[0, 0] / h**2,
        not private,
        totals + noise[0, 1:] / h,
        cross + noise[1:, 1:],
        s1,
        s2,
        0 * ones,
        ones,
        ones,
    )


def effects_errors(shrunk, private):
    """Return errors of effects over their stated noise; the rows are fixed."""
    rng = np.random.default_rng([SEED, private])
    rows = [rng.normal(size=(n, 6)) + 0.3 for n in (400, 300)]
    truth = rows[1].mean(axis=0) - rows[0].mean(axis=0)
    found = []
    for _ in range(3_000):
        cells = [
            released(x.sum(0), x.T @ x, len(x), 6.0, 12.0, rng, private=private, shrunk=shrunk)
            for x in rows
        ]
        means, _ = means_of_cells(cells, cells[0].names)
        each = means.contrasted(arm_contrasts(("control", "t")), 6).each()
        found += [(one.value - t) / one.noise_sd for one, t in zip(each, truth, strict=True)]
    return np.array(found)


def test_the_noise_of_an_effect_is_normal_with_the_stated_variance():
    assert stats.kstest(effects_errors(1.0, False), "norm").pvalue > ALPHA


def test_noise_of_an_effect_that_is_too_small_is_caught():
    assert stats.kstest(effects_errors(0.9, False), "norm").pvalue < ALPHA


def test_the_noise_of_a_private_cell_is_that_of_the_delta_method():
    found = effects_errors(1.0, True)
    assert abs(found.mean()) < 6 / math.sqrt(len(found))
    # means of one cell share the noise of its count: the effective number is smaller, by at most 6
    assert abs(np.mean(found**2) - 1) < 6 * math.sqrt(2 / (len(found) / 6))
    assert abs(np.mean(effects_errors(0.9, True) ** 2) - 1) > 6 * math.sqrt(2 / (len(found) / 6))


def score_statistics(shrunk):
    """Return u'K^-1 u at the true coefficients, the rows being on the line exactly."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(60, 2))
    b = np.array([0.5, 1.0, -2.0, 0.7])
    t = np.arange(60) >= 25
    y = b[0] + b[1] * t + b[2] * x[:, 0] + b[3] * t * x[:, 1]
    z = np.column_stack([x, y])
    arm = (0.0, 1.0)
    regressors = [
        Regressor("Intercept"),
        Regressor("t", None, arm),
        Regressor("c0", "c0"),
        Regressor("t:c1", "c1", arm),
    ]
    found = []
    for _ in range(3_000):
        cells = [
            released(z[g].sum(0), z[g].T @ z[g], g.sum(), 2.0, 3.0, rng, private=p, shrunk=shrunk)
            for g, p in ((~t, False), (t, True))
        ]
        system = system_of(cells, regressors)
        basis = np.linalg.solve(system.to_names, b)
        a = system.residual(rows_of(cells, Regressor("y", "c2")), basis)
        u = np.einsum("gki,gij,gj->k", system.T, system.P, a)
        found.append(u @ np.linalg.solve(system.noise_of_scores(a), u))
    return np.array(found)


def test_the_scores_have_the_stated_noise():
    assert stats.kstest(score_statistics(1.0), stats.chi2(4).cdf).pvalue > ALPHA


def test_scores_with_too_little_noise_are_caught():
    assert stats.kstest(score_statistics(0.9), stats.chi2(4).cdf).pvalue < ALPHA


def missed_slopes(stated):
    """Return how many of 4 slopes miss, and of how many; noise of ``stated`` times what it is.

    Normal rows: their sums of squares are Wishart.  Most of the error is noise.
    """
    rng, p, n, s = np.random.default_rng(SEED), 4, 4_000, 150.0
    root = np.linalg.cholesky(0.5 + 0.5 * np.eye(p))
    b = np.array([0.8, -0.5, 0.3, 0.0])
    joint = np.vstack([np.column_stack([root, np.zeros(p)]), np.append(b @ root, 0.8)])
    sums = stats.wishart(n - 1, joint @ joint.T).rvs(2_500, random_state=rng)
    regressors = [Regressor("Intercept"), *(Regressor(f"c{j}", f"c{j}") for j in range(p))]
    missed = passed = 0
    for around in sums:
        mean = joint @ rng.normal(size=p + 1) / math.sqrt(n)
        cell = released(n * mean, around + n * np.outer(mean, mean), n, s, s, rng)
        cell = replace(cell, s1=stated * s, s2=stated * s)
        system = system_of([cell], regressors)
        inverse = inverse_of(system)
        passed += inverse.passes
        found = fit(system, inverse, rows_of([cell], Regressor("y", f"c{p}")))
        J = system.to_names
        t = (J @ found.b)[1:] - b
        missed += int((np.abs(t) > 1.959964 * np.sqrt(np.diag(J @ found.cov @ J.T))[1:]).sum())
    assert passed == len(sums)
    return missed, p * len(sums)


@pytest.mark.parametrize(("stated", "covers"), [(1.0, True), (0.85, False)])
def test_intervals_of_slopes_cover_and_those_with_too_little_noise_do_not(stated, covers):
    missed, of = missed_slopes(stated)
    # errors of the slopes of one draw are correlated: three quarters of the number is kept
    rejected = stats.binom.sf(missed * 3 // 4, of * 3 // 4, 0.05) < ALPHA
    assert rejected != covers
    if covers:
        assert missed / of > 0.03
