"""Released moments made from rows or from the normal law, for the tests of their inference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dprct.estimate.moments.noisy import NoisyMoments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def symmetric_noise(rng: np.random.Generator, size: int, s2: float) -> np.ndarray:
    """Return symmetric noise: sd s2 on the diagonal, s2 / sqrt 2 off it."""
    full = rng.normal(0, s2, (size, size))
    return (full + full.T) / 2


def from_rows(
    x: np.ndarray,
    names: Sequence[str],
    s1: float = 0.0,
    s2: float = 0.0,
    rng: np.random.Generator | None = None,
    *,
    private: bool = False,
    **facts: Any,
) -> NoisyMoments:
    """Return the moments of rows, with noise of the stated law where s1 and s2 are above 0."""
    p = x.shape[1]
    centre = np.asarray(facts.get("centre", np.zeros(p)), float)
    scale = np.asarray(facts.get("scale", np.ones(p)), float)
    weight = np.asarray(facts.get("weight", np.ones(p)), float)
    z = weight * (x - centre) / scale
    n, totals, cross = float(len(x)), z.sum(axis=0), z.T @ z
    if s2:
        assert rng is not None
        h = s2 / (math.sqrt(2) * s1)
        noise = symmetric_noise(rng, p + 1, s2)
        n += noise[0, 0] / h**2 if private else 0.0
        totals = totals + noise[0, 1:] / h
        cross = cross + noise[1:, 1:]
    return NoisyMoments(tuple(names), n, not private, totals, cross, s1, s2, centre, scale, weight)


def scales(
    radius: float, constant: float, epsilon: float, delta: float = 1e-6
) -> tuple[float, float]:
    """Return s1 and s2 of a release: R, h and mu of (epsilon, delta)."""

    def beyond(mu: float) -> float:
        upper = norm.cdf(mu / 2 - epsilon / mu)
        return float(upper - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta)

    mu = brentq(beyond, 1e-6, 50)
    total = radius**2 + constant**2
    return total / (mu * constant), math.sqrt(2) * total / mu


@pytest.fixture(name="from_rows")
def from_rows_fixture() -> Callable[..., NoisyMoments]:
    return from_rows


@pytest.fixture(name="scales")
def scales_fixture() -> Callable[..., tuple[float, float]]:
    return scales
