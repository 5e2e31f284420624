"""The paper's budget rules (Table 19): shares as printed, sums exact."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprct.errors import BudgetError, ParameterError
from dprct.privacy.budget import Budget
from dprct.published import Allocation
from dprct.published.allocation import CoefficientShare

ONE = {"y": ["Intercept", "t", *(f"x{k}" for k in range(8))]}


def test_section_4_is_table_19():
    found = Allocation.section4().divide(Budget(1), ["y"], ["t"], ONE)
    y = found.outcomes["y"]
    half = Fraction(1, 2)
    assert found.covariates == Budget(half)
    assert y.epsilon == half
    assert y.variance == half / 30
    assert y.coefficients["t"].range_ == y.coefficients["t"].noise == 3 * half / 20
    for name in ONE["y"]:
        if name != "t":
            assert y.coefficients[name].noise == 3 * half / (10 * 9)  # p counts the intercept


def test_section_4_in_percent_of_the_whole():
    """The text of section 4.2: 50, 5, 15 percent, and the rest."""
    found = Allocation.section4().divide(Budget(1), ["y"], ["t"], ONE)
    y = found.outcomes["y"]
    t = y.coefficients["t"]
    rest = sum((c.range_ + c.noise for n, c in y.coefficients.items() if n != "t"), Fraction(0))
    shares = [found.covariates.epsilon, 3 * y.variance, t.range_ + t.noise, rest]
    assert shares == [Fraction(50, 100), Fraction(5, 100), Fraction(15, 100), Fraction(30, 100)]


@pytest.mark.parametrize(("epsilon", "x"), [(1, 0.5), (2, 1), (9, 1)])
def test_section_5_is_table_19(epsilon, x):
    outcomes = [f"y{k}" for k in range(8)]
    arms = ["tp", "cash", "both"]
    names = {y: ["Intercept", *arms, *(f"x{k}" for k in range(7))] for y in outcomes}
    found = Allocation.section5(x).divide(Budget(epsilon), outcomes, arms, names)
    own = (Fraction(epsilon) - Fraction(x)) / 8
    assert found.covariates == Budget(x)
    for share in found.outcomes.values():
        assert share.epsilon == own
        assert 3 * share.variance == own / 10
        for arm in arms:  # a tenth each: Table 19 with t = 3
            assert share.coefficients[arm].noise == 3 * own / (20 * 3)
        assert share.coefficients["x1"].noise == 3 * own / (10 * 8)
    assert found.total == Budget(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1, 1 / 3, 0.7, 5000])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_the_ledger_is_the_sum_exactly(epsilon, count):
    outcomes = [f"y{k}" for k in range(count)]
    names = {y: ["Intercept", "t", *(f"x{j}" for j in range(k + 1))]
             for k, y in enumerate(outcomes)}  # fmt: skip
    budget = Budget(epsilon, 1e-6)
    for rule in (Allocation.section4(), Allocation.section5(epsilon / 7)):
        found = rule.divide(budget, outcomes, ["t"], names)
        entries = list(found.entries())
        assert sum((part for _, part in entries), Budget(0)) == budget == found.total
        assert len({what for what, _ in entries}) == len(entries)
        assert found.covariates.delta == budget.delta


def test_what_is_not_needed_is_not_paid_for():
    rule = Allocation.section4()
    without_x = rule.divide(Budget(1), ["y"], ["t"], ONE, covariates=False)
    assert without_x.covariates == Budget(0)
    assert without_x.total == Budget(1)
    without_variance = rule.divide(Budget(1), ["y"], ["t"], ONE, variance=False)
    assert without_variance.outcomes["y"].variance == 0
    assert without_variance.total == Budget(1)
    assert not any("variance" in what for what, _ in without_variance.entries())
    alone = rule.divide(Budget(1), ["y"], ["t"], {"y": ["t"]})
    assert alone.total == Budget(1)
    no_effect = rule.divide(Budget(1), ["y"], ["t"], {"y": ["Intercept"]})
    assert no_effect.total == Budget(1)


def test_an_allocation_of_ones_own():
    rule = Allocation(covariates=0.2, variance=0.05, treatments=0.15)
    y = rule.divide(Budget(1), ["y"], ["t"], ONE).outcomes["y"]
    assert 3 * y.variance == Fraction(4, 5) / 20
    assert y.coefficients["t"].range_ + y.coefficients["t"].noise == Fraction(4, 5) * Fraction(
        3, 20
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"covariates": 1}, "covariates=1"),
        ({"variance": 0}, "variance=0"),
        ({"treatments": -0.1}, "treatments=-0.1"),
        ({"epsilon_x": 0}, "epsilon_x"),
    ],
)
def test_shares_outside_their_range(options, names):
    with pytest.raises(ParameterError, match=names):
        Allocation(**options)


def test_nothing_left_for_outcomes():
    with pytest.raises(BudgetError, match="epsilon_x=1 leaves nothing"):
        Allocation.section5(1).divide(Budget(1), ["y"], ["t"], ONE)


def test_too_many_treatments():
    arms = [f"t{k}" for k in range(9)]
    with pytest.raises(ParameterError, match="9 treatments"):
        Allocation.section5(0.5).divide(Budget(1), ["y"], arms, {"y": ["Intercept", *arms]})


NAMES = {"y": ["Intercept", "t", "x"]}


def test_coefficients_may_have_shares_of_their_own() -> None:
    rule = Allocation(own={"t": 0.25, "x": Fraction(1, 4)})
    parts = rule.divide(Budget(2), ["y"], ["t"], NAMES)
    y = parts.outcomes["y"]
    assert y.coefficients["t"] == CoefficientShare(Fraction(1, 8), Fraction(1, 8))
    assert y.coefficients["x"] == y.coefficients["t"]
    # what the variance and these leave: .4 of 1, for the intercept alone
    assert y.coefficients["Intercept"].noise == Fraction(1, 5)
    assert parts.total == Budget(2)
    for own, words in (
        ({"z": 0.1}, "'z', which is not a coefficient"),
        ({"t": 0.5, "x": 0.45}, "leave nothing for the other coefficients"),
        ({"t": 0.5, "x": 0.4}, "leave nothing for the other coefficients"),
        ({"t": 0.3, "x": 0.3, "Intercept": 0.2}, "or something for none"),
    ):
        with pytest.raises(ParameterError, match=words):
            Allocation(own=own).divide(Budget(2), ["y"], ["t"], NAMES)
    with pytest.raises(ParameterError, match="own= gives 't' 1; give a share"):
        Allocation(own={"t": 1})


def test_histograms_share_a_part_of_delta() -> None:
    budget = Budget(1, Fraction(1, 1000))
    parts = Allocation(histograms=Fraction(1, 2)).divide(budget, ["y"], ["t"], NAMES)
    y = parts.outcomes["y"]
    # two of the variance, one of each of three coefficients
    assert y.delta == y.coefficients["x"].delta == Fraction(1, 10_000)
    assert parts.covariates.delta == Fraction(1, 2000)
    assert parts.total == budget
    assert sum(one.delta for _, one in parts.entries()) == budget.delta
    assert sum(one.epsilon for _, one in parts.entries()) == budget.epsilon
    without = Allocation(histograms=Fraction(1, 2)).divide(
        budget, ["y"], ["t"], NAMES, variance=False
    )
    assert without.outcomes["y"].delta == 0
    assert without.total == budget
    with pytest.raises(ParameterError, match="histograms=1; give a share of delta"):
        Allocation(histograms=1)
