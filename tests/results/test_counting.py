"""How many parameters fixed effects count as: ranks by brute force, rules by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.results import covariance as counting
from dprct.results.covariance import (
    Absorbed,
    components,
    counted,
    dummy_rank,
    is_nested,
    pairwise_rank,
)


def levels(rng, n, size):
    return np.unique(rng.integers(0, size, n), return_inverse=True)[1]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(2, 15), min_size=1, max_size=4))
def test_the_rank_is_that_of_the_dummies(seed, sizes):
    rng = np.random.default_rng(seed)
    factors = [levels(rng, 30, size) for size in sizes]
    dummies = np.column_stack([codes[:, None] == np.unique(codes) for codes in factors])
    exact = np.linalg.matrix_rank(dummies.astype(float))
    assert dummy_rank(factors) == exact
    assert counted(factors, None, "areg") == exact
    assert pairwise_rank(factors) >= exact
    if len(factors) < 3:
        assert counted(factors, None, "reghdfe") == exact


def test_components_of_two_factors():
    assert components(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 1
    assert components(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])) == 2


def test_nested():
    villages = np.array([0, 0, 1, 2])
    assert is_nested(villages, np.array([0, 0, 0, 1]))
    assert not is_nested(villages, np.array([0, 1, 0, 1]))
    assert not is_nested(villages, None)


TWO = [np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])]


@pytest.mark.parametrize(
    ("rule", "factors", "groups", "parameters"),
    [
        ("areg", TWO, TWO[0], 4),
        ("reghdfe", TWO, None, 4),
        ("reghdfe", TWO, TWO[0], 2),  # the constant, and one of two levels
        ("reghdfe", TWO[:1], TWO[0], 1),
        ("fixest", TWO, None, 4),
        ("fixest", TWO, TWO[0], 2),
        ("fixest", TWO[:1], TWO[0], 1),
        ("xtreg", TWO[:1], None, 3),
        ("xtreg", TWO[:1], TWO[0], 1),
    ],
)
def test_the_rules_by_hand(rule, factors, groups, parameters):
    assert counted(factors, groups, rule) == parameters


def test_fixest_does_not_look_for_components():
    apart = [np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])]
    assert counted(apart, None, "reghdfe") == 4
    assert counted(apart, None, "fixest") == 5


def test_a_rank_that_is_too_much_work_is_refused(monkeypatch):
    monkeypatch.setattr(counting, "_MOST_COLUMNS", 3)
    with pytest.raises(ParameterError, match="use fe_df='reghdfe'"):
        counted([*TWO, TWO[1]], None, "areg")


def test_facts_and_note_name_the_rule():
    one = Absorbed(("village",), (1200,), (False,), "areg", 1200, 1200)
    assert one.facts() == (
        ("Absorbed", "village (1,200)"),
        ("Counted as by", "areg: 1,200 parameters"),
    )
    assert "counted as areg does" in one.note()
