"""The auditor finds what is wrong and keeps quiet about what is right.

Draws are seeded, so each of these tests has one outcome; the error rates in the comments say what
a fresh seed would do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import beta

from dprct.errors import ParameterError
from dprct.privacy.composition import gdp_delta
from tests.statistical.auditing import _limits, lower_bound, lower_mu

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWS = 100_000


def discrete_laplace(
    rng: np.random.Generator, epsilon: float, size: int = DRAWS
) -> NDArray[np.int64]:
    p = 1 - math.exp(-epsilon)
    return rng.geometric(p, size) - rng.geometric(p, size)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_tight_noise_is_certified_to_most_of_it_and_never_above(epsilon: float) -> None:
    rng = np.random.default_rng(20)
    audit = lower_bound(discrete_laplace(rng, epsilon), discrete_laplace(rng, epsilon) + 1)
    assert 0.85 * epsilon < audit.epsilon <= epsilon
    assert not audit.refutes(epsilon)


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_noise_a_tenth_too_small_is_caught(epsilon: float) -> None:
    # at epsilon = 1 the bound is 1.056 with standard deviation .008: 7 of them above the claim
    rng = np.random.default_rng(21)
    real = epsilon / 0.9
    audit = lower_bound(discrete_laplace(rng, real), discrete_laplace(rng, real) + 1)
    assert audit.refutes(epsilon)
    assert audit.epsilon <= real


def test_false_alarms_are_rarer_than_alpha() -> None:
    # at alpha = .2, 400 audits of a tight mechanism: 80 false alarms would be the most allowed on
    # average, 120 are 5 standard deviations more
    rng = np.random.default_rng(22)
    alarms = sum(
        lower_bound(
            discrete_laplace(rng, 1, 2_000), discrete_laplace(rng, 1, 2_000) + 1, alpha=0.2
        ).refutes(1)
        for _ in range(400)
    )
    assert 0 < alarms < 120


def test_the_direction_does_not_matter() -> None:
    rng = np.random.default_rng(23)
    first, second = discrete_laplace(rng, 2), discrete_laplace(rng, 2) + 1
    forth, back = lower_bound(first, second), lower_bound(second, first)
    assert forth.epsilon == pytest.approx(back.epsilon, rel=0.02)
    one_sided = lower_bound(np.minimum(first, 0), np.minimum(second, 0))
    assert 1.6 < one_sided.epsilon <= 2
    assert not one_sided.event.at_least


def test_gaussian_noise_is_judged_at_its_delta() -> None:
    rng = np.random.default_rng(24)
    mu, epsilon = 1.0, 1.0
    delta = float(gdp_delta(mu, epsilon))
    first, second = rng.normal(0, 1, DRAWS), rng.normal(mu, 1, DRAWS)
    assert 0.8 * epsilon < lower_bound(first, second, delta=delta).epsilon <= epsilon
    small = lower_bound(first * 0.8, second * 0.8 + 0.2, delta=delta)
    assert small.refutes(epsilon)


def test_the_low_bits_of_floating_point_laplace_noise_give_it_away() -> None:
    # outputs in (0, 1/4) that are no multiple of 2^-54 cannot come from 1 + noise
    rng = np.random.default_rng(25)

    def low_bits(centre: float) -> NDArray[np.float64]:
        out = centre + rng.laplace(0, 1, 2 * DRAWS)
        return ((out > 0) & (out < 0.25) & (np.mod(out * 2.0**54, 1.0) != 0)).astype(float)

    audit = lower_bound(low_bits(0.0), low_bits(1.0))
    assert audit.refutes(3)  # where epsilon = 1 is claimed


def test_identical_laws_certify_nothing() -> None:
    rng = np.random.default_rng(26)
    assert lower_bound(rng.normal(size=DRAWS), rng.normal(size=DRAWS)).epsilon == 0
    constant = np.zeros(1000)
    assert lower_bound(constant, constant).epsilon == 0


def test_infinite_scores_are_scores() -> None:
    audit = lower_bound(np.full(10_000, np.inf), np.full(10_000, -np.inf))
    assert audit.epsilon > 5


@pytest.mark.parametrize(("k", "n"), [(0, 50), (1, 50), (25, 50), (50, 50)])
def test_limits_are_those_of_clopper_and_pearson(k: int, n: int) -> None:
    low, high = _limits(k, n, k, n, 0.02)
    assert low == pytest.approx(beta.ppf(0.01, k, n - k + 1) if k else 0, abs=1e-12)
    assert high == pytest.approx(beta.ppf(0.99, k + 1, n - k) if k < n else 1, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"draws": np.zeros(99)}, "at least 100"),
        ({"neighbour_draws": np.zeros((100, 2))}, "one score per draw"),
        ({"draws": np.full(100, np.nan)}, "NaN"),
        ({"delta": 1.0}, "delta"),
        ({"alpha": 0.0}, "alpha"),
        ({"thresholds": 0}, "threshold"),
    ],
)
def test_what_cannot_be_audited_is_refused(arguments: dict[str, object], words: str) -> None:
    facts = {"draws": np.zeros(100), "neighbour_draws": np.zeros(100), **arguments}
    with pytest.raises(ParameterError, match=words):
        lower_bound(**facts)  # type: ignore[arg-type]


def test_the_result_reads_as_a_sentence() -> None:
    rng = np.random.default_rng(27)
    text = str(lower_bound(discrete_laplace(rng, 1), discrete_laplace(rng, 1) + 1))
    assert text.startswith("epsilon >= 0.9")
    assert "50000 draws" in text


@pytest.mark.parametrize("mu", [0.25, 1, 3])
def test_mu_is_certified_to_most_of_it_and_never_above(mu: float) -> None:
    rng = np.random.default_rng(40)
    audit = lower_mu(rng.normal(size=DRAWS), rng.normal(mu, 1, DRAWS))
    assert max(0.9 * mu - 0.05, 0.5 * mu) < audit.epsilon <= mu
    assert "mu >=" in str(audit)
    other = lower_mu(rng.normal(mu, 1, DRAWS), rng.normal(size=DRAWS))  # in the other direction too
    assert max(0.9 * mu - 0.05, 0.5 * mu) < other.epsilon <= mu


def test_gaussian_noise_a_tenth_too_small_is_caught() -> None:
    # mu = 3 / .9: the bound is 3.25 with standard deviation .01
    rng = np.random.default_rng(41)
    audit = lower_mu(rng.normal(size=DRAWS), rng.normal(3 / 0.9, 1, DRAWS))
    assert audit.refutes(3)
    assert not audit.refutes(3 / 0.9)


def test_what_shows_nothing_certifies_nothing() -> None:
    same = np.zeros(1000)
    assert lower_mu(same, same).epsilon == 0
