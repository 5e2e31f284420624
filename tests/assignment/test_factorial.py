"""Factorial designs, and Liberia's among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.assignment import Block, Complete, Factorial, Simple
from dprct.errors import ParameterError

LIBERIA = Factorial(
    [Block("cash", block="cg_strata"), Block("therapy", block="tp_strata_alt")],
    arms={"cashassonly": "cash", "tpassonly": "therapy", "tpcashass": ["cash", "therapy"]},
)


def strata(n=600):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"cg_strata": rng.integers(1, 21, n), "tp_strata_alt": rng.integers(1, 56, n)}
    )


def factor(assigned, *arms):
    return assigned[list(arms)].sum(axis=1)


def test_each_factor_is_balanced_within_its_own_blocks():
    rows = strata()
    assigned = LIBERIA.assign(rows, 2)
    for arm, block in (("cashassonly", "cg_strata"), ("tpassonly", "tp_strata_alt")):
        share = factor(assigned, arm, "tpcashass").groupby(rows[block]).agg(["sum", "size"])
        assert ((share["sum"] - share["size"] / 2).abs() <= 0.5).all()
    assert not LIBERIA.check(rows.join(assigned))


def test_swapped_blocks_would_be_noticed():
    rows = strata()
    swapped = rows.rename(columns={"cg_strata": "tp_strata_alt", "tp_strata_alt": "cg_strata"})
    problems = list(LIBERIA.check(rows.join(LIBERIA.assign(swapped, 3))))
    assert [problem.split(":")[0] for problem in problems] == ["factor 'cash'", "factor 'therapy'"]
    assert "'tp_strata_alt'" in problems[1]


def test_the_real_experiment_lost_people_after_its_assignment(shared):
    data, _ = dprct.read_dta(shared / "data" / "liberia" / "liberia_round5.dta")
    found = LIBERIA.check(data)
    assert len(found) == 2
    with pytest.raises(ParameterError, match="attrition=True"):
        found.require()
    LIBERIA.check(data, attrition=True).require()
    assert LIBERIA.probabilities(data).eq(0.25).all(axis=None)


def test_factors_are_independent():
    rows = pd.DataFrame(index=range(100_000))
    both = Factorial([Simple("x", shares=0.3), Simple("y", shares=0.4)]).assign(rows, 4)
    # six standard errors of a share of 0.12
    assert abs(both.prod(axis=1).mean() - 0.12) < 6.2 * np.sqrt(0.12 * 0.88 / 1e5)


def test_without_arms_the_file_holds_the_factors_own_columns():
    design = Factorial([Complete(["low", "high"]), Complete([0, 1], arm="info")])
    assert design.columns == ("low", "high", "info")
    assert design.arms == (
        "low+info=0",
        "low+info=1",
        "high+info=0",
        "high+info=1",
        "info=0",
        "info=1",
    )
    rows = pd.DataFrame(index=range(60))
    assert design.assign(rows, 1).sum().to_dict() == {"low": 20, "high": 20, "info": 30}


def test_one_column_may_hold_the_combinations():
    design = Factorial(
        [Complete("x"), Complete("y")], arms={0: [], 1: "x", 2: "y", 3: ["x", "y"]}, arm="treat"
    )
    assigned = design.assign(pd.DataFrame(index=range(40)), 1)["treat"]
    assert assigned.isin([1, 3]).sum() == 20
    assert assigned.isin([2, 3]).sum() == 20
    assert set(assigned) <= {0.0, 1.0, 2.0, 3.0}


def test_the_control_group_may_have_a_column():
    design = Factorial(
        [Complete("x"), Complete("y")],
        arms={"none": [], "only_x": "x", "only_y": "y", "both": ["x", "y"]},
    )
    assigned = design.assign(pd.DataFrame(index=range(40)), 1)
    assert (assigned.sum(axis=1) == 1).all()
    assert design.arms == ("none", "only_x", "only_y", "both")


def test_three_factors_of_unequal_shares_multiply():
    design = Factorial(
        [Complete(name, shares=s) for name, s in zip("xyz", (0.5, 0.2, 0.1), strict=True)]
    )
    chances = design.probabilities(pd.DataFrame(index=[0]))
    assert chances["x+y+z"].item() == pytest.approx(0.01)
    assert chances["control"].item() == pytest.approx(0.36)


X, Y = Complete("x"), Complete("y")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Factorial([X]), "1 of them; give two designs"),
        (lambda: Factorial(X), "factors= is Complete; give a list"),
        (
            lambda: Factorial([X, "y"]),
            "factors= is list, holding Complete and str; give a list of a design",
        ),
        (lambda: Factorial([X, X]), "one of them twice"),
        (lambda: Factorial([X, Y], arm="t"), "needs arms="),
        (lambda: Factorial([X, Y], arms=["a", "b"]), "arms= is list, holding str; give a dict"),
        (lambda: Factorial([X, Y], arms={"a": "x", "b": "y"}), "2 of the 4 combinations"),
        (lambda: Factorial([X, Y], arms={"a": "x", "b": "x", "c": "y"}), "the same combination"),
        (lambda: Factorial([X, Y], arms={"a": "x", "b": "z"}), "'z', which no factor has"),
        (
            lambda: Factorial([X, Y], arms={0: [], 1: "x", 2: "y"}, arm="t"),
            "3 of the 4 combinations",
        ),
        (
            lambda: Factorial([Complete(["x", "z"]), Y], arms={"a": ["x", "z"]}),
            "2 arms of the factor",
        ),
        (
            lambda: Factorial([Complete(["x", "z"], control_share=0), Y], arms={"a": "y"}),
            "0 arms of the factor",
        ),
        (
            lambda: Factorial([Complete([0, 1], arm="u"), Complete([0, 1], arm="v")], arms={}),
            "ambiguous",
        ),
    ],
)
def test_what_is_no_factorial_is_refused(make, says):
    with pytest.raises(ParameterError, match=says):
        make()
