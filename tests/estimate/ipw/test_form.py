from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprct.defaults import PROPENSITY_NOISE_MOST
from dprct.errors import ParameterError
from dprct.estimate.ipw.release import WEIGHTS, Form, parts_of
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace, split
from dprct.queries.propensity import least_penalty
from dprct.queries.sums import GRID
from dprct.queries.weighting import Scheme

BUDGET = Budget(1, 1e-6)


def made(**changes: Any) -> Form:
    facts: dict[str, Any] = {
        "n1": 500, "n2": 400, "d": 5, "scheme": Scheme("ate", 0.1), "hajek": False,
        "relation": "replace-one", "noise": "laplace", "errors": "total", "lam": None,
        "balance": (), "overlap": False,
    } | changes  # fmt: skip
    parts = parts_of(
        hajek=facts["hajek"],
        count=facts["scheme"].estimand != "ate" and facts["relation"] == "replace-one",
        total=facts["errors"] == "total",
        balance=bool(facts["balance"]),
        overlap=facts["overlap"],
    )
    return Form(**facts, shares=split(None, parts))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hajek": True},
        {"hajek": True, "noise": "gaussian"},
        {"noise": "gaussian"},
        {"scheme": Scheme("att", 0.1)},
        {"errors": "conditional"},
        {"balance": ("age", "educ"), "overlap": True},
    ],
    ids=str,
)
def test_the_parts_on_the_second_rows_add_up_to_the_budget(changes: dict[str, Any]) -> None:
    allocation = made(**changes).allocation(BUDGET)
    second = [part for name, part in allocation.parts.items() if name != WEIGHTS]
    spent = sum((part.budget for part in second), Budget(0))
    assert spent.epsilon == BUDGET.epsilon
    assert spent.delta <= BUDGET.delta
    assert allocation[WEIGHTS].budget == BUDGET
    assert allocation.cost().budget == BUDGET


def test_the_effect_is_calibrated_to_its_sensitivity() -> None:
    allocation = made().allocation(BUDGET)
    effect, gradient = allocation.parts["effect"], allocation.parts["gradient"]
    assert isinstance(effect, DiscreteLaplace)
    assert isinstance(gradient, DiscreteLaplace)
    assert (effect.l1, effect.epsilon) == (GRID, Fraction(12, 20))
    assert (gradient.l1, gradient.epsilon) == (GRID + 3, Fraction(4, 20))
    weights = allocation[WEIGHTS]
    assert isinstance(weights, AnalyticGaussian)
    assert weights.l2_squared == allocation.grid.l2**2


def test_masses_cost_what_a_change_of_arm_moves() -> None:
    def mass(**changes: Any) -> int:
        return made(**changes).allocation(BUDGET).parts["mass"].l1  # type: ignore[union-attr]

    assert mass(hajek=True) == 2 * GRID
    assert mass(hajek=True, relation="replace-one-design-public") == GRID
    assert mass(scheme=Scheme("att", 0.1)) == 1


def test_laplace_noise_of_the_effect_is_less() -> None:
    laplace = made().allocation(BUDGET).parts["effect"].noise_sd
    gaussian = made(noise="gaussian").allocation(BUDGET).parts["effect"].noise_sd
    assert gaussian > 2 * laplace


def test_the_penalty_is_a_public_default_and_can_be_given() -> None:
    own, default = made(lam=0.3).allocation(BUDGET), made().allocation(BUDGET)
    assert own.lam == 0.3
    assert own.weight_sd < default.weight_sd
    assert made().allocation(Budget(4, 1e-6)).lam < default.lam
    assert default.weight_spread > default.weight_sd**2


def test_the_default_penalty_keeps_the_noise_of_weights_small_and_is_never_refused() -> None:
    for n1, d in ((50, 3), (373, 26), (5000, 6)):
        assert made(n1=n1, d=d).allocation(BUDGET).weight_sd < PROPENSITY_NOISE_MOST * 1.01
    large = made(n1=5_000_000, n2=5_000_000, d=21)
    assert large.allocation(Budget(8, 1e-8)).lam == pytest.approx(least_penalty(5_000_000, 21))


def test_the_hajek_form_is_the_default_where_denominators_are_far_from_their_noise() -> None:
    def hajek(epsilon: float, treated: float = 0.5, **changes: Any) -> bool:
        return made(**changes).default(Budget(epsilon, 1e-6), treated).hajek

    # mass: a third of epsilon, scale 2 / .1, ten scales, twice: 1200 / epsilon
    assert (hajek(1, n2=1199), hajek(1, n2=1200)) == (False, True)
    assert (hajek(2, n2=599), hajek(2, n2=600)) == (False, True)
    assert not hajek(1, n2=2000, scheme=Scheme("att", 0.1))
    assert hajek(1, n2=2400, scheme=Scheme("att", 0.1))
    # and with a declared share, where few are treated only for the effect on the others
    assert not hajek(1, 0.2, n2=2400, scheme=Scheme("att", 0.1))
    assert hajek(1, 0.2, n2=1500, scheme=Scheme("atc", 0.1))
    form = made(n2=4000).default(BUDGET)
    assert set(form.shares) == {"effect", "mass", "variance", "gradient"}
    assert sum(form.shares.values()) == 1


def test_a_budget_without_delta_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta above 0"):
        made().allocation(Budget(1))


def test_shares_are_checked() -> None:
    parts = {"effect": 3, "variance": 1}
    assert split({"variance": 0.1, "effect": 0.9}, parts) == {
        "effect": Fraction(9, 10),
        "variance": Fraction(1, 10),
    }
    for wrong in ({"effect": 1}, {"effect": 1, "variance": 0}, {"effect": 0.5, "variance": 0.4}):
        with pytest.raises(ParameterError, match="shares"):
            split(wrong, parts)
