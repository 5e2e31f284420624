"""Several releases within one budget: what they cost together never exceeds it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.estimate.synthetic_control import allocation as allocating
from dprct.estimate.synthetic_control.allocation import (
    COMPOSED,
    Form,
    Noise,
    ReleasePart,
    mechanisms_of,
    placebo_name,
)
from dprct.estimate.synthetic_control.model import SyntheticControl, shares_of
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.privacy.composition import gdp_delta, gdp_mu, tv_delta, zcdp_delta, zcdp_rho
from dprct.privacy.mechanisms import Allocation
from dprct.queries.donors import Donors, Scale, series_units, weighted_series
from dprct.queries.sums import GRID

PARTS = {
    "donor_weights": ReleasePart(Fraction(1, 3), 5000, 1_000_000, 25),
    "prediction": ReleasePart(Fraction(1, 2), 3 * 2**20, 3 * 2**40, 3),
    "pre_fit": ReleasePart(Fraction(1, 6), 2**23, 2**43, 8),
}


ONE = Scale(-1.0, 1.0)


def whole(budget: Budget, noise: Any, parts: Any = PARTS) -> Allocation:
    found = mechanisms_of(budget, noise, parts)
    return Allocation(budget=budget, parts=found, composition=COMPOSED[noise])


def form(rule: Any = "ridge", **changes: Any) -> Form:
    facts: dict[str, Any] = {"pre_fit": True, "placebos": (1, 2), "y_norm": 1.5} | changes
    shares = shares_of(
        None, rule, pre_fit=facts["pre_fit"], placebos=bool(facts["placebos"]), auto=False
    )
    return Form(n=5, T=9, T0=6, rule=rule, lam=120.0, shares=shares, **facts)


@pytest.mark.parametrize("rule", ["ridge", "uniform"])
@pytest.mark.parametrize("y_norm", [1.5, None])
def test_parts_are_a_whole(rule: str, y_norm: float | None) -> None:
    parts = form(rule, y_norm=y_norm).parts()
    assert sum(part.share for part in parts.values()) == 1
    own = ["donor_weights"] * (rule == "ridge") + ["prediction", "pre_fit"]
    assert set(parts) == {*own, *(placebo_name(j, name) for j in (1, 2) for name in own)}
    placebos = sum(part.share for name, part in parts.items() if name.startswith("placebo"))
    assert placebos == Fraction(1, 2)


def test_sensitivities_are_those_of_the_queries() -> None:
    parts = form().parts()
    assert (parts["prediction"].l1, parts["prediction"].size) == (3 * GRID, 3)
    assert (parts["pre_fit"].l1, parts["pre_fit"].l2_squared) == (6 * GRID, 6 * GRID**2)
    # a placebo's own series has noise too, one donor less is left, and any target is possible
    assert parts["placebo 1: prediction"].size == 6
    assert parts["placebo 1: donor_weights"].size == 4
    assert form().placebo_grid.y_norm is None
    assert form(y_norm=None).parts()["prediction"].size == 6


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda g: sum(g) > 1e-6),
    st.lists(st.floats(-1, 1), min_size=12, max_size=12),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.integers(0, 2),
)
def test_the_cost_of_a_path_is_the_same_whatever_weights_were_released(
    weights: list[float], cells: list[float], moved: list[float], donor: int
) -> None:
    """In steps of its grid one donor moves the path by no more than its mechanism covers."""
    g = np.array(weights) / sum(weights)
    first = np.array(cells).reshape(3, 4)
    second = first.copy()
    second[donor] = moved
    bought = form(placebos=()).allocation(Budget(1), "laplace", ONE, "")
    sums = [
        _open(weighted_series(Donors(ONE.steps(X), ONE, 1), g, slice(1, 4)))
        for X in (first, second)
    ]
    l1 = sum(abs(int(a) - int(b)) for a, b in zip(*sums, strict=True))
    assert l1 <= bought["prediction"].l1
    own, _ = series_units(ONE, g)
    law = bought.law("prediction", own)
    assert law.sd == pytest.approx(bought.path_sd() * g.max(), rel=1e-5)
    assert bought.cost().budget == Budget(1)


def test_a_fit_has_its_mechanisms_before_it_draws() -> None:
    """The mechanisms that were charged are the ones that draw, whatever the weights are."""
    rng = np.random.default_rng(1)
    for X in (np.zeros((4, 8)), rng.uniform(-1, 1, (4, 8))):
        model = SyntheticControl.from_arrays(X, np.ones(8), 5, 1.0, pre_fit=True, placebos="all")
        bought = model._allocated(Budget(2))
        cost, parts = bought.cost(), dict(bought.parts)
        model.fit(2, rng=3)
        assert model._allocated(Budget(2)) is bought
        assert (bought.cost(), dict(bought.parts)) == (cost, parts)


def test_laplace_epsilons_add_up_to_the_budget() -> None:
    found = whole(Budget(0.7), "laplace")
    assert sum(m.budget.epsilon for m in found.parts.values()) == Fraction(7, 10)
    assert (found.cost().measure, found.cost().parameter) == ("pure", None)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 20.0, 50.0])
def test_gaussian_parts_compose_within_the_budget(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6)
    found = whole(budget, "gaussian")
    draws: Any = {name: m.noise for name, m in found.parts.items()}
    cost, total = found.cost(), gdp_mu(budget.epsilon, budget.delta)
    assert (cost.measure, cost.budget) == ("gdp", budget)
    assert cost.squared_mu() == (
        sum(d.mu**2 for d in draws.values()), sum(d.slack for d in draws.values())
    )  # fmt: skip
    assert cost.parameter**2 >= cost.squared_mu()[0]
    extra = tv_delta(cost.slack, budget.epsilon)
    assert gdp_delta(cost.parameter, budget.epsilon) + extra <= budget.delta
    # and spends nearly all of it, in the given proportions
    assert float(cost.parameter / total) == pytest.approx(1, abs=1e-3)
    for name, part in PARTS.items():
        share = float(draws[name].mu / cost.parameter) ** 2
        assert share == pytest.approx(float(part.share), rel=1e-6)
        needed = float(part.l2_squared) ** 0.5 / float(draws[name].mu)
        assert found.parts[name].noise_sd >= needed
    assert cost.concentrated() == sum(m.rho for m in found.parts.values())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 50.0])
def test_concentrated_parts_compose_within_the_budget(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6)
    found = whole(budget, "concentrated")
    rhos: Any = {name: m.rho for name, m in found.parts.items()}
    cost = found.cost()
    assert (cost.measure, cost.budget) == ("zcdp", budget)
    assert cost.parameter == sum(rhos.values()) <= zcdp_rho(budget.epsilon, budget.delta)
    assert zcdp_delta(cost.parameter, budget.epsilon) <= budget.delta
    assert cost.squared_mu() is None
    for name, part in PARTS.items():
        assert float(rhos[name] / cost.parameter) == pytest.approx(float(part.share), rel=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "concentrated"])
def test_one_part_has_everything(noise: str) -> None:
    part = {"prediction": ReleasePart(Fraction(1), 2**20, 2**40, 1)}
    several = mechanisms_of(Budget(1, 1e-6), noise, PARTS)
    alone = mechanisms_of(Budget(1, 1e-6), noise, part)
    ratio = several["prediction"].noise_sd / 3**0.5 * 0.5**0.5
    assert alone["prediction"].noise_sd == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("noise", "delta", "words"),
    [
        ("laplace", 1e-6, "gains nothing"),
        ("gaussian", 0, "needs delta > 0"),
        ("concentrated", 0, "needs delta > 0"),
    ],
)
def test_noise_that_a_budget_cannot_pay_is_refused(noise: str, delta: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        whole(Budget(1, delta), noise)


def test_a_budget_beyond_the_grid_of_gaussian_draws_is_refused() -> None:
    with pytest.raises(ParameterError, match="use noise='concentrated'"):
        whole(Budget(200, 1e-6), "gaussian")


@pytest.mark.parametrize("share", [Fraction(1, 2), 1 + Fraction(1, 10**12)])
@pytest.mark.parametrize("noise", get_args(Noise))
def test_shares_that_are_no_whole_are_refused(noise: Noise, share: Fraction) -> None:
    budget = Budget(1, 0 if noise == "laplace" else 1e-6)
    with pytest.raises(ParameterError, match="sum to one"):
        whole(budget, noise, {"a": ReleasePart(share, 1, 1, 1)})


@pytest.mark.parametrize("noise", ["gaussian", "concentrated"])
def test_parts_that_would_cost_a_little_more_than_the_whole_are_refused(
    noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conversions that erred upwards would be found before anything is charged."""
    monkeypatch.setattr(allocating, "_SHORT", 1 + Fraction(1, 100))
    with pytest.raises(ParameterError, match="gives a delta"):
        whole(Budget(1, 1e-6), noise)


def test_a_part_without_epsilon_is_refused() -> None:
    parts = {
        "a": ReleasePart(Fraction(1, 10**6), 1, 1, 1),
        "b": ReleasePart(Fraction(999_999, 10**6), 1, 1, 1),
    }
    with pytest.raises(ParameterError, match="give a smaller delta"):
        whole(Budget(0.01, 0.4), "gaussian", parts)
