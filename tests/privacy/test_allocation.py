from __future__ import annotations

from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.privacy import (
    Accountant,
    Allocation,
    AnalyticGaussian,
    Budget,
    DiscreteGaussian,
    DiscreteLaplace,
    gdp_epsilon,
    gdp_mu,
    per_row,
    split,
)
from dprct.privacy.composition import root

WHOLE = Budget(1, 1e-6)


def laplace(epsilon: object) -> DiscreteLaplace:
    return DiscreteLaplace(epsilon, l1=1 << 20)  # type: ignore[arg-type]


def gaussian(budget: Budget) -> AnalyticGaussian:
    return AnalyticGaussian(budget, 1 << 40, 1)


def test_parts_on_the_same_rows_add_up() -> None:
    found = Allocation(
        budget=WHOLE, parts={"a": laplace(0.5), "b": gaussian(Budget(0.5, 1e-6))}
    ).cost()
    one, other = laplace(0.5).cost(), gaussian(Budget(0.5, 1e-6)).cost()
    assert (found.budget, found.measure) == (WHOLE, "approximate")
    rho = one.concentrated(), other.concentrated()
    assert found.concentrated() == rho[0] + rho[1]  # type: ignore[operator]
    squares = one.squared_mu(), other.squared_mu()
    assert found.squared_mu() == tuple(a + b for a, b in zip(*squares, strict=True))  # type: ignore[misc]


def test_disjoint_parts_cost_the_larger_one_in_every_measure() -> None:
    weights, rest = gaussian(WHOLE), laplace(1)
    found = Allocation(
        budget=WHOLE, parts={"weights": weights, "rest": rest}, disjoint=(("weights",), ("rest",))
    ).cost()
    assert found.budget == WHOLE
    each = [weights.cost().concentrated(), rest.cost().concentrated()]
    assert found.concentrated() == max(each)  # type: ignore[type-var]
    squares = [weights.cost().squared_mu(), rest.cost().squared_mu()]
    assert found.squared_mu() == (
        max(s[0] for s in squares if s),
        max(s[1] for s in squares if s),
    )


def test_a_single_part_is_charged_as_the_mechanism_that_it_is() -> None:
    assert (
        Allocation(budget=WHOLE, parts={"sums": gaussian(WHOLE)}).cost() == gaussian(WHOLE).cost()
    )
    assert Allocation(budget=Budget(1), parts={"sums": laplace(1)}).cost() == laplace(1).cost()


@pytest.mark.parametrize("rows", [2, 5])
def test_several_rows_of_a_unit_cost_group_privacy(rows: int) -> None:
    own = per_row(WHOLE, rows)
    found = Allocation(budget=WHOLE, parts={"sums": gaussian(own)}, rows=rows).cost()
    alone = gaussian(own).cost()
    assert found.budget == WHOLE
    assert found.concentrated() == alone.concentrated() * rows**2  # type: ignore[operator]
    mu, slack = alone.squared_mu() or (0, 0)
    assert found.squared_mu() == (mu * rows**2, slack)


def test_mechanisms_that_claim_more_than_the_budget_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"claim epsilon=1\.1"):
        Allocation(budget=Budget(1), parts={"a": laplace(0.6), "b": laplace(0.5)})
    with pytest.raises(ParameterError, match="claim epsilon=1 for a row"):
        Allocation(budget=Budget(1), parts={"a": laplace(1)}, rows=2)
    with pytest.raises(ParameterError, match="exactly one set"):
        Allocation(budget=Budget(2), parts={"a": laplace(1)}, disjoint=(("a",), ("a",)))
    with pytest.raises(ParameterError, match="exactly one set"):
        Allocation(budget=Budget(2), parts={"a": laplace(1), "b": laplace(1)}, disjoint=(("a",),))


def test_what_is_not_proved_is_not_booked() -> None:
    """A discrete Gaussian has a rho and no mu; pure epsilon above 100 has a rho and no mu."""
    concentrated = Allocation(
        budget=WHOLE, parts={"a": DiscreteGaussian(Budget(0.5, 1e-6), 1), "b": laplace(0.5)}
    ).cost()
    assert concentrated.concentrated() is not None
    assert concentrated.squared_mu() is None
    assert laplace(101).cost().squared_mu() is None
    book = Accountant(2, 1e-5, composition="gdp")
    with pytest.raises(ParameterError, match="proved mu"):
        book.charge(concentrated, method="X", relation="replace-one")
    assert book.ledger == ()


@pytest.mark.long
@settings(max_examples=25)  # the other accountant takes seconds where many parts are small
@given(st.lists(st.floats(0.05, 3), min_size=1, max_size=6))
def test_gaussian_composition_is_that_of_dp_accounting(epsilons: list[float]) -> None:
    """Never below the privacy-loss accountant of the same Gaussians, and at most 2 % above it."""
    budgets = [Budget(round(epsilon, 3), 1e-7) for epsilon in epsilons]
    whole = Budget(sum(b.epsilon for b in budgets), sum(b.delta for b in budgets))
    parts = {str(i): gaussian(b) for i, b in enumerate(budgets)}
    found = Allocation(budget=whole, parts=parts).cost()
    mu = found.squared_mu() if len(parts) > 1 else parts["0"].cost().squared_mu()
    assert mu is not None
    ours = float(gdp_epsilon(root(mu[0]), Fraction(1, 10**6)))
    accountant = pld.PLDAccountant()
    for mechanism in parts.values():
        multiplier = mechanism.noise.sigma / (1 << 20)
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    theirs = accountant.get_epsilon(1e-6)
    assert theirs * 0.98 - 1e-3 <= ours <= theirs * 1.02 + 1e-3


def test_shares_are_checked() -> None:
    parts = {"effect": 3, "variance": 1}
    asked = {"variance": 0.1, "effect": 0.9}
    assert split(asked, parts) == {"effect": Fraction(9, 10), "variance": Fraction(1, 10)}
    for wrong in ({"effect": 1}, {"effect": 1, "variance": 0}, {"effect": 0.5, "variance": 0.4}):
        with pytest.raises(ParameterError, match="budget_shares"):
            split(wrong, parts)
    with pytest.raises(ParameterError, match="give a mapping"):
        split(0.5, parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_whole_may_be_converted_from_the_sum_of_its_parts(rows: int) -> None:
    """Two Gaussians of half the mu squared: their epsilons add up to more than the claim."""
    total = gdp_mu(WHOLE.epsilon, WHOLE.delta * Fraction(99, 100)) / rows
    half = Budget(gdp_epsilon(root(total**2 / 2, "down"), Fraction(1, 10**6)), WHOLE.delta)
    parts = {"a": gaussian(half), "b": gaussian(half)}
    assert 2 * half.epsilon * rows > WHOLE.epsilon
    with pytest.raises(ParameterError, match="claim epsilon"):
        Allocation(budget=WHOLE, parts=parts, rows=rows)
    found = Allocation(budget=WHOLE, parts=parts, rows=rows, composition="gdp").cost()
    square, slack = gaussian(half).cost().squared_mu()  # type: ignore[misc]
    assert (found.measure, found.budget) == ("gdp", WHOLE)
    assert found.squared_mu() == (2 * square * rows**2, 2 * slack)
    assert found.concentrated() == 2 * gaussian(half).rho * rows**2
    more = {**parts, "c": gaussian(half)}
    with pytest.raises(ParameterError, match="gives a delta"):
        Allocation(budget=WHOLE, parts=more, rows=rows, composition="gdp")
    rhos = {"a": DiscreteGaussian(half, 1), "b": DiscreteGaussian(half, 1)}
    with pytest.raises(ParameterError, match="every mechanism"):
        Allocation(budget=Budget(9, 1e-4), parts=rhos, rows=rows, composition="gdp")
    found = Allocation(budget=Budget(9, 1e-4), parts=rhos, rows=rows, composition="zcdp").cost()
    assert (found.measure, found.parameter) == ("zcdp", 2 * rhos["a"].rho * rows**2)
    assert found.squared_mu() is None
