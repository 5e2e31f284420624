"""Designs of experiments, and Stata's covariances written down once more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Trial:
    """Groups of n rows (0 for control), covariates (n, p), a target covariance of the effects."""

    arm: np.ndarray
    X: np.ndarray
    sigma: np.ndarray

    @property
    def treatments(self):
        return (self.arm[:, None] == np.arange(1, len(self.sigma) + 1)).astype(float)

    def design(self, X=None):
        X = self.X if X is None else X
        return np.column_stack([self.treatments, np.ones(len(self.arm)), X])


def drawn_trial(seed, sizes, p, dummies=0):
    """Return a trial with arm sizes (control first), p covariates and block dummies."""
    rng = np.random.default_rng(seed)
    n, sizes = sum(sizes), np.array(sizes)
    arm = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(n, p))
    X[:, 1::3] = rng.exponential(size=X[:, 1::3].shape)
    X[:, 2::3] = rng.random(X[:, 2::3].shape) < 0.3
    if dummies:
        X = np.column_stack([X, rng.integers(0, dummies + 1, n)[:, None] == np.arange(dummies)])
    variance = rng.uniform(0.5, 3, len(sizes)) / sizes
    return Trial(arm, X, variance[0] + np.diag(variance[1:]))


def stata(y, W, effects, groups=None, robust=True):
    """Return coefficients, their covariance and n - k, in Stata's formulas.

    ``regress, vce(robust)``: n/(n-k) V sum e^2 x x' V with V = (X'X)^-1;
    ``vce(cluster g)``: G/(G-1) (n-1)/(n-k) V sum_g (sum e x)(sum e x)' V; ``vce(ols)``: s^2 V.
    """
    scale = np.sqrt((W**2).sum(0))
    scale[scale == 0] = 1
    X = W / scale
    n, k = len(X), np.linalg.matrix_rank(X, tol=1e-7)
    V = np.linalg.pinv(X.T @ X, rcond=1e-13, hermitian=True)
    b = np.linalg.lstsq(X, y, rcond=1e-9)[0]
    e = y - X @ b
    if not robust:
        cov = (e @ e) / (n - k) * V
    elif groups is None:
        cov = n / (n - k) * V @ (X.T * e**2) @ X @ V
    else:
        sums = np.array([(X * e[:, None])[groups == g].sum(0) for g in sorted(set(groups))])
        G = len(sums)
        cov = G / (G - 1) * (n - 1) / (n - k) * V @ sums.T @ sums @ V
    cov = cov / np.outer(scale, scale)
    return (b / scale)[:effects], cov[:effects, :effects], n - k


@pytest.fixture(scope="session")
def trial():
    return drawn_trial


@pytest.fixture(scope="session", name="stata")
def stata_fixture():
    return stata


@pytest.fixture(scope="session")
def off():
    """How far a covariance is from its target, relative to the products of errors."""

    def distance(found, target):
        error = np.sqrt(np.diag(target))
        return abs((found - target) / np.outer(error, error)).max()

    return distance


def _same(experiment, rng):
    return experiment.X[:, 0] * 2 + 1 if experiment.X.shape[1] else np.ones(len(experiment.arm))


ODD = {
    "constant": lambda x, rng: np.full(len(x.arm), 5.0),
    "zero": lambda x, rng: np.zeros(len(x.arm)),
    "collinear": _same,
    "large": lambda x, rng: 1e9 * rng.normal(size=len(x.arm)),
    "far from zero": lambda x, rng: 2000 + rng.normal(size=len(x.arm)),
    "one row": lambda x, rng: (np.arange(len(x.arm)) == 0).astype(float),
    "rare": lambda x, rng: (rng.random(len(x.arm)) < 0.02).astype(float),
    "heavy": lambda x, rng: rng.standard_cauchy(len(x.arm)),
    "interaction": lambda x, rng: (x.arm == 1) * rng.normal(size=len(x.arm)),
}


@pytest.fixture(scope="session")
def odd():
    """Columns that make a design hard, as functions of a trial and a generator."""
    return ODD
