"""Several releases within one budget: what they cost together never exceeds it."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest

from dprct.errors import ParameterError
from dprct.estimate.synthetic import pricing
from dprct.estimate.synthetic.pricing import Noise, Part, priced
from dprct.privacy.budget import Budget
from dprct.privacy.composition import compose_mu, gdp_delta, tv_delta, zcdp_delta

PARTS = {
    "weights": Part(Fraction(1, 3), 5000, 1_000_000, 25),
    "prediction": Part(Fraction(1, 2), 3 * 2**20, 3 * 2**40, 3),
    "pre_fit": Part(Fraction(1, 6), 2**23, 2**43, 8),
}


def test_laplace_epsilons_add_up_to_the_budget() -> None:
    found = priced(Budget(0.7), "laplace", PARTS)
    assert sum(m.budget.epsilon for m in found.mechanisms.values()) == Fraction(7, 10)
    assert (found.measure, found.parameter) == ("pure", None)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 20.0, 50.0])
def test_gaussian_parts_compose_within_the_budget(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6)
    found = priced(budget, "gaussian", PARTS)
    draws = {name: m.noise for name, m in found.mechanisms.items()}
    assert compose_mu([d.mu for d in draws.values()]) <= found.parameter * (1 + Fraction(1, 10**14))
    assert gdp_delta(found.parameter, budget.epsilon) <= budget.delta
    slack = sum(d.slack for d in draws.values())
    assert gdp_delta(found.parameter, epsilon) + tv_delta(slack, epsilon) <= budget.delta
    # and spends nearly all of it, in the given proportions
    for name, part in PARTS.items():
        share = float(draws[name].mu / found.parameter) ** 2
        assert share == pytest.approx(float(part.share), rel=1e-6)
    for name, part in PARTS.items():
        needed = float(part.l2_squared) ** 0.5 / float(draws[name].mu)
        assert found.mechanisms[name].noise_sd >= needed


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 50.0])
def test_concentrated_parts_compose_within_the_budget(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6)
    found = priced(budget, "concentrated", PARTS)
    rhos = {name: m.rho for name, m in found.mechanisms.items()}
    assert sum(rhos.values()) <= found.parameter
    assert zcdp_delta(found.parameter, budget.epsilon) <= budget.delta
    for name, part in PARTS.items():
        assert float(rhos[name] / found.parameter) == pytest.approx(float(part.share), rel=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "concentrated"])
def test_one_part_has_everything(noise: str) -> None:
    part = {"prediction": Part(Fraction(1), 2**20, 2**40, 1)}
    several = priced(Budget(1, 1e-6), noise, PARTS)
    alone = priced(Budget(1, 1e-6), noise, part)
    ratio = several.mechanisms["prediction"].noise_sd / 3**0.5 * 0.5**0.5
    assert alone.mechanisms["prediction"].noise_sd == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("noise", "delta", "words"),
    [
        ("laplace", 1e-6, "buys nothing"),
        ("gaussian", 0, "needs delta > 0"),
        ("concentrated", 0, "needs delta > 0"),
        ("cauchy", 0, "allowed: laplace, gaussian, concentrated"),
    ],
)
def test_noise_that_a_budget_cannot_pay_is_refused(noise: str, delta: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        priced(Budget(1, delta), noise, PARTS)


def test_a_budget_beyond_the_grid_of_gaussian_draws_is_refused() -> None:
    with pytest.raises(ParameterError, match="use noise='concentrated'"):
        priced(Budget(200, 1e-6), "gaussian", PARTS)


@pytest.mark.parametrize("share", [Fraction(1, 2), 1 + Fraction(1, 10**12)])
@pytest.mark.parametrize("noise", get_args(Noise))
def test_shares_that_are_no_whole_are_refused(noise: Noise, share: Fraction) -> None:
    budget = Budget(1, 0 if noise == "laplace" else 1e-6)
    with pytest.raises(ParameterError, match="sum to one"):
        priced(budget, noise, {"a": Part(share, 1, 1, 1)})


@pytest.mark.parametrize("noise", ["gaussian", "concentrated"])
def test_parts_that_would_cost_a_little_more_than_the_whole_are_refused(
    noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conversions that erred upwards would be found before anything is charged."""
    monkeypatch.setattr(pricing, "_SHORT", 1 + Fraction(1, 100))
    with pytest.raises(ParameterError, match="cannot be divided exactly among its parts"):
        priced(Budget(1, 1e-6), noise, PARTS)


def test_a_part_without_epsilon_is_refused() -> None:
    parts = {"a": Part(Fraction(1, 10**6), 1, 1, 1), "b": Part(Fraction(999_999, 10**6), 1, 1, 1)}
    with pytest.raises(ParameterError, match="give a smaller delta"):
        priced(Budget(0.01, 0.4), "gaussian", parts)
