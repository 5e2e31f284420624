from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.composition import (
    RULES,
    SLACK_SHARE,
    Charge,
    gdp_delta,
    gdp_mu,
    pure_mu,
    tv_delta,
    zcdp_delta,
    zcdp_rho,
)

TOTAL = Budget(1, 1e-6)


def zcdp(epsilon: float, delta: float = 1e-6) -> Charge:
    return Charge(Budget(epsilon, delta), "zcdp", zcdp_rho(epsilon, delta))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Budget(1), "none"), "cannot be charged"),
        ((Budget(0), "pure"), "epsilon=0"),
        ((Budget(1, 1e-6), "pure"), "delta=0"),
        ((Budget(1, 1e-6), "zcdp"), "needs its parameter"),
        ((Budget(1), "pure", Fraction(1)), "takes no parameter"),
        ((Budget(1, 1e-6), "zcdp", Fraction(1)), "above the one claimed"),
        ((Budget(1, 1e-6), "gdp", Fraction(1)), "above the one claimed"),
        ((Budget(1, 1e-6), "zcdp", zcdp_rho(1, 1e-6), Fraction(1, 10**9)), "slack"),
        ((Budget(1, 1e-6), "gdp", gdp_mu(1, 1e-6), Fraction(1, 10**6)), "above the one claimed"),
        ((Budget(1, 1e-6), "gdp", gdp_mu(1, 1e-7), Fraction(-1)), "slack"),
    ],
)
def test_a_charge_that_does_not_prove_its_claim_is_refused(arguments, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Charge(*arguments)


@pytest.mark.parametrize(
    "proved",
    [
        {"rho": Fraction(-1, 2)},
        {"rho": Fraction(0)},
        {"gaussian": (Fraction(-1), Fraction(0))},
        {"gaussian": (Fraction(1), Fraction(-1))},
    ],
)
def test_what_is_proved_beside_the_claim_gives_nothing_back(proved: Any) -> None:
    with pytest.raises(ParameterError, match="rho= and gaussian= of a charge"):
        Charge(Budget(1), "pure", **proved)


def test_slack_is_part_of_the_claim() -> None:
    mu = gdp_mu(1, Fraction(999, 10**9))
    slack = Fraction(1, 10**9) / tv_delta(1, 1)
    assert Charge(Budget(1, 1e-6), "gdp", mu, slack).slack == slack


def test_sequential_adds_the_claims() -> None:
    rule = RULES["sequential"]
    assert rule.cost(zcdp(0.5)) == (Fraction(1, 2), Fraction(1, 10**6))
    assert rule.spent((Fraction(1, 2), Fraction(0)), TOTAL) == Budget(0.5)
    assert rule.room((Fraction(2), Fraction(0)), TOTAL) == Budget(0, 1e-6)


def test_zcdp_counts_every_kind_in_rho() -> None:
    rule = RULES["zcdp"]
    assert rule.cost(zcdp(1))[0] == zcdp_rho(1, 1e-6)
    assert rule.cost(Charge(Budget(0.2), "pure"))[0] == Fraction(1, 50)
    mu = gdp_mu(1, 1e-6)
    assert rule.cost(Charge(TOTAL, "gdp", mu))[0] == mu**2 / 2


def test_gdp_counts_every_kind_in_mu() -> None:
    rule = RULES["gdp"]
    assert rule.cost(Charge(Budget(0.1), "pure"))[0] == pure_mu(0.1) ** 2
    mu = gdp_mu(1, 1e-6)
    assert rule.cost(Charge(TOTAL, "gdp", mu)) == (mu**2, 0)


@pytest.mark.parametrize(
    ("composition", "charge"),
    [
        ("zcdp", Charge(Budget(0.1, 1e-9), "approximate")),
        ("gdp", Charge(Budget(0.1, 1e-9), "approximate")),
        ("gdp", zcdp(0.1)),
        ("zcdp", Charge(TOTAL, "gdp", gdp_mu(1, 5e-7), Fraction(1, 10**12))),
    ],
)
def test_what_has_no_proof_under_a_rule_is_refused(composition, charge: Charge) -> None:
    with pytest.raises(ParameterError, match="without one: fit with delta=0"):
        RULES[composition].cost(charge)


@pytest.mark.parametrize("total", [TOTAL, Budget(0.1, 1e-9), Budget(8, 1e-3)])
def test_a_full_account_keeps_the_total(total: Budget) -> None:
    rho = RULES["zcdp"].capacity(total)[0]
    assert zcdp_delta(rho, total.epsilon) <= total.delta
    assert RULES["zcdp"].spent((rho, Fraction(0)), total).epsilon <= total.epsilon * (
        1 + Fraction(1, 10**9)
    )
    mu2, slack = RULES["gdp"].capacity(total)
    mu = gdp_mu(total.epsilon, total.delta * (1 - SLACK_SHARE))
    assert mu**2 == mu2
    whole = gdp_delta(mu, total.epsilon) + tv_delta(slack, total.epsilon)
    assert whole <= total.delta


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
@pytest.mark.parametrize("used", [Fraction(0), Fraction(1, 3), Fraction(99, 100)])
def test_a_charge_of_what_is_left_fits_what_is_left(composition, used: Fraction) -> None:
    rule = RULES[composition]
    capacity = rule.capacity(TOTAL)[0]
    room = rule.room((capacity * used, Fraction(0)), TOTAL)
    if composition == "zcdp":
        charge = Charge(room, "zcdp", zcdp_rho(room.epsilon, room.delta))
    else:
        charge = Charge(room, "gdp", gdp_mu(room.epsilon, room.delta))
    total = rule.cost(charge)[0] + capacity * used
    assert total <= capacity
    assert total > capacity * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_nothing_left_is_budget_zero(composition) -> None:
    rule = RULES[composition]
    assert rule.room(rule.capacity(TOTAL), TOTAL) == Budget(0)
