"""The risk of a wrong sign: bounds against simulated noise, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from dprct.errors import ParameterError
from dprct.published import SignRisk
from dprct.published.ipw import weighted_difference

FACTS = {
    "n1": 2000, "n2": 400, "covariates": 3, "lam": 0.1, "epsilon": 0.5, "delta": 1e-5,
    "radius": 1.0, "trim": 0.2,
}  # fmt: skip
DRAWS = 4000


def sample(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X /= np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]
    w = np.array([0.8, -0.5, 0.3])
    t = rng.random(n) < expit(X @ w)
    y = np.clip(0.2 * t + X[:, 0] * 0.5 + rng.normal(0, 0.3, n), -1, 1)
    return X, w, t, y


def partial_draws(estimand: str, risk: SignRisk, seed: int) -> tuple[float, np.ndarray]:
    X, w, t, y = sample(seed, risk.n2)
    rng = np.random.default_rng(seed + 1)

    def estimate(weights: np.ndarray) -> float:
        e = expit(X @ weights).clip(risk.trim, 1 - risk.trim)
        return weighted_difference(estimand, t, y, e)[0]

    noise = rng.normal(0, risk.weight_sd, (DRAWS, 3))
    return estimate(w), np.array([estimate(w + b) for b in noise])


@pytest.mark.parametrize("estimand", ["ate", "att", "atc"])
@pytest.mark.parametrize("n1", [20, 200])
def test_the_bounds_hold_for_simulated_noise(estimand: str, n1: int) -> None:
    """Six standard errors above a bound are no chance: 1e-9 each."""
    t = sample(5, FACTS["n2"])[2]
    risk = SignRisk(**FACTS | {"n1": n1}, estimand=estimand, treated_share=float(t.mean()))
    own, drawn = partial_draws(estimand, risk, 5)
    assert np.ptp(drawn) <= risk.width
    bias = float(np.sign(own) * (drawn.mean() - own))
    full = drawn + np.random.default_rng(9).normal(0, risk.effect_sd, DRAWS)
    wrong, both = np.sign(drawn) != np.sign(own), np.sign(full) != np.sign(own)
    for share, bound in (
        (wrong.mean(), risk.partial(own, bias)),
        ((wrong & both).mean(), risk.both(own, bias)),
        (both.mean(), risk.full(own, bias)),
        (wrong.mean(), risk.partial(own)),
        ((wrong & both).mean(), risk.both(own)),
        (both.mean(), risk.full(own)),
        ((abs(drawn - own) >= 0.1).mean(), risk.moved(0.1)),
    ):
        assert share <= bound + 6 * math.sqrt(max(bound, 1 / DRAWS) / DRAWS)


def test_small_noise_turns_no_sign_and_the_bound_says_so() -> None:
    risk = SignRisk(**FACTS | {"n1": 50_000})
    assert risk.partial(0.2) < 1e-6
    # Hoeffding's bound alone does not fall with n
    assert math.exp(-2 * (0.2 / risk.width) ** 2) > 0.9


def test_the_bound_holds_where_noise_moves_the_mean_past_zero() -> None:
    """At the ends of the odds noise moves an estimate in one direction: its mean changes sign."""
    a, b = 107, 293  # treated rows of outcome 1 at the largest weight, of -1 at the smallest
    n = a + b
    covariate = np.concatenate([np.arange(a) % 10, 10 + np.arange(b) % 30])
    log_odds, y = (np.repeat(ends, (a, b)) for ends in ((-math.log(4), math.log(4)), (1.0, -1.0)))
    treated = np.ones(n, dtype=bool)
    risk = SignRisk(**FACTS | {"n1": 20, "covariates": 40})
    noise = np.random.default_rng(11).normal(0, risk.weight_sd, (DRAWS, 40))[:, covariate]
    own = weighted_difference("ate", treated, y, expit(log_odds))[0]
    drawn = [
        weighted_difference("ate", treated, y, expit(log_odds + moved).clip(0.2, 0.8))[0]
        for moved in noise
    ]
    wrong = float((np.sign(drawn) != np.sign(own)).mean())
    assert wrong > 0.99 > risk.partial(own, bias=0.0)  # which it does not have
    assert wrong <= risk.partial(own)


def test_the_support_is_met() -> None:
    """Weights that drive all odds to their ends move outcomes of one sign by the whole width."""
    t = np.arange(100) < 30
    for estimand in ("ate", "att", "atc"):
        risk = SignRisk(**FACTS, estimand=estimand, treated_share=0.3)
        ends = [
            weighted_difference(estimand, t, np.ones(100), np.full(100, e))[0] for e in (0.2, 0.8)
        ]
        assert ends[0] - ends[1] == pytest.approx(risk.width)


def test_lemma_3_is_the_mean_over_the_noise() -> None:
    X, w, t, y = sample(6, 200)
    X /= np.linalg.norm(X, axis=1)[:, None]
    risk = SignRisk(**FACTS | {"n1": 300})
    u, y = X @ w, np.where(t, abs(y), -abs(y))
    own = weighted_difference("ate", t, y, expit(u))[0]
    crude = float(np.where(t, y, -y).mean())
    b = np.random.default_rng(7).normal(0, risk.weight_sd, (40_000, 3))
    odds = np.exp(np.where(t, -1, 1) * (u + b @ X.T))
    drawn = (np.where(t, y, -y) * (1 + odds)).mean(axis=1)
    se = drawn.std() / math.sqrt(len(drawn))
    assert drawn.mean() - own == pytest.approx(risk.bias(own - crude), abs=6 * se)
    assert abs(risk.bias(own - crude)) > 10 * se


def test_theorem_4_and_5_by_hand() -> None:
    risk = SignRisk(**FACTS | {"n1": 5})
    width = 1 / 0.2 - 1 / 0.8
    hoeffding = math.exp(-2 * (0.7 / width) ** 2)
    assert risk.width == pytest.approx(width)
    assert risk.partial(0.6, bias=0.1) == pytest.approx(hoeffding)
    sd = math.sqrt(2 * math.log(1.25e5)) / 0.5 * 2 / (400 * 0.2)
    assert risk.effect_sd == pytest.approx(sd)
    assert risk.both(0.6, bias=0.1) == pytest.approx(hoeffding * norm.cdf(5 / sd))


def test_rows_are_the_fewest() -> None:
    risk = SignRisk(**FACTS)
    n = risk.rows(0.3, at_most=0.1)
    n1 = round(n * 2000 / 2400)
    for more, holds in ((0, True), (-2, False)):
        found = SignRisk(**FACTS | {"n1": n1 + more, "n2": n - n1 + more}).full(0.3)
        assert (found <= 0.1) is holds
    assert risk.rows(0.3, at_most=0.01) > n
    with pytest.raises(ParameterError, match="ask for a larger effect"):
        risk.rows(1e-12)


def test_separate_budgets_move_the_weights_alone() -> None:
    one, other = SignRisk(**FACTS), SignRisk(**FACTS, weights_epsilon=0.25)
    assert other.weight_sd == pytest.approx(2 * one.weight_sd)
    assert other.effect_sd == one.effect_sd


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n1": 0}, "n1=0; give a number above 0"),
        ({"trim": 0.5}, "trim=0.5; give a number between 0 and 0.5"),
        ({"delta": 0}, "delta=0; give a number between 0 and 1"),
        ({"weights_epsilon": -1}, "weights_epsilon=-1"),
        ({"estimand": "late"}, "estimand="),
    ],
)
def test_mistakes_are_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        SignRisk(**FACTS | wrong)
    with pytest.raises(ParameterError, match="by=0"):
        SignRisk(**FACTS).moved(0)
    with pytest.raises(ParameterError, match="at_most=1"):
        SignRisk(**FACTS).rows(0.1, at_most=1)
