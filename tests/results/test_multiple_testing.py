"""Adjusted p-values against R's multtest, against enumeration, and against their law."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dprct.errors import ColumnError, ParameterError
from dprct.results.multiple_testing import bonferroni, families_of, holm, step_down

R = json.loads(
    (Path(__file__).parents[1] / "reference" / "step_down_r.json").read_text(encoding="utf-8")
)
P = [0.01, 0.04, 0.03, 0.005, 0.9]
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_bonferroni_and_holm_are_those_of_r():
    np.testing.assert_allclose(bonferroni(P), R["bonferroni"])
    np.testing.assert_allclose(holm(P), R["holm"])


def test_sizes_of_families():
    np.testing.assert_allclose(bonferroni([0.01, 0.2], size=9), [0.09, 1])
    np.testing.assert_allclose(holm([0.02, 0.01], size=21), [0.4, 0.21])
    for adjust in (bonferroni, holm):
        with pytest.raises(ParameterError, match="at least 2"):
            adjust([0.1, 0.2], size=1)
        with pytest.raises(ParameterError, match="between 0 and 1"):
            adjust([0.1, 1.2])


@given(p_values)
def test_holm_lies_between_the_p_value_and_bonferroni_and_keeps_the_order(p):
    adjusted = holm(p)
    assert (adjusted <= bonferroni(p)).all()
    assert (adjusted >= np.array(p)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@given(p_values, p_values)
def test_holm_with_some_elsewhere_is_never_below_holm_with_all(here, elsewhere):
    size = len(here) + len(elsewhere)
    assert (holm(here, size) >= holm([*here, *elsewhere])[: len(here)] - 1e-15).all()


def every_assignment():
    """The t statistics of all ways to choose the four who were treated; (126, 5) array."""
    outcomes = np.array(R["outcomes"])
    treated = int(sum(R["arm"]))
    people = range(outcomes.shape[1])
    rows = []
    for chosen in combinations(people, treated):
        inside = np.isin(list(people), chosen)
        found = stats.ttest_ind(outcomes[:, inside], outcomes[:, ~inside], axis=1)
        rows.append(found.statistic)
    return np.abs(rows)


def test_max_t_by_enumeration_is_that_of_multtest():
    observed = np.abs(R["max_t"]["statistic"])
    adjusted = step_down(observed, every_assignment(), complete=True)
    np.testing.assert_allclose(adjusted, R["max_t"]["adjusted"], rtol=1e-12)


def test_min_p_by_enumeration_is_that_of_multtest():
    statistics = every_assignment()
    reached = statistics[None, :, :] >= statistics[:, None, :] * (1 - 1e-10)
    p = reached.mean(axis=1)
    observed = R["min_p"]["raw"]
    adjusted = step_down(-np.array(observed), -p, complete=True)
    np.testing.assert_allclose(adjusted, R["min_p"]["adjusted"], rtol=1e-12)


def test_random_draws_count_the_observed_one():
    assert step_down([3.0], [[1.0], [2.0], [4.0]]).tolist() == [0.5]
    assert step_down([3.0], [[1.0], [2.0], [2.5]]).tolist() == [0.25]


def test_the_order_of_hypotheses_is_no_matter():
    rng = np.random.default_rng(3)
    observed, null = np.abs(rng.normal(size=6)) * 2, np.abs(rng.normal(size=(500, 6)))
    turn = rng.permutation(6)
    np.testing.assert_array_equal(
        step_down(observed, null)[turn], step_down(observed[turn], null[:, turn])
    )


def test_the_step_down_is_never_above_the_single_step():
    rng = np.random.default_rng(4)
    observed, null = np.abs(rng.normal(size=6)) * 2, np.abs(rng.normal(size=(500, 6)))
    single = (1 + (null.max(axis=1)[:, None] >= observed).sum(axis=0)) / 501
    adjusted = step_down(observed, null)
    assert (adjusted <= single).all()
    assert (adjusted < single).any()
    assert adjusted.max() <= 1


# 6.1 standard errors of a rate of .1, of the repetitions and of the draws together: 1e-9 beyond
MARGIN = 6.1 * np.sqrt(0.1 * 0.9 * (1 / 2000 + 1 / 999))


def rejections(correlation, shift, repetitions=2000):
    """Share of families with a true hypothesis rejected at 10 %; two of five are false."""
    rng = np.random.default_rng(11)
    m, level = 5, 0.1
    root = np.linalg.cholesky((1 - correlation) * np.eye(m) + correlation)
    null = np.abs(rng.normal(size=(999, m)) @ root.T)
    wrong = power = 0
    for _ in range(repetitions):
        t = rng.normal(size=m) @ root.T
        t[:2] += shift
        adjusted = step_down(np.abs(t), null)
        wrong += (adjusted[2:] <= level).any() if shift else (adjusted <= level).any()
        power += (adjusted[:2] <= level).sum() / 2
    return wrong / repetitions, power / repetitions


@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("shift", [0.0, 6.0])
def test_the_family_wise_error_rate_is_kept(correlation, shift):
    rate, power = rejections(correlation, shift)
    assert rate < 0.1 + MARGIN
    if shift == 0:
        assert rate > 0.1 - MARGIN
    else:
        assert power > 0.99


def test_an_unadjusted_test_would_be_noticed():
    """What the bound above rejects: the largest of five unadjusted tests, at .41."""
    largest_of_five = 1 - 0.9**5
    assert largest_of_five > 0.1 + MARGIN


def test_statistics_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="one row per draw"):
        step_down([1.0, 2.0], [[1.0]])
    with pytest.raises(ParameterError, match="there are no draws"):
        step_down([1.0], np.empty((0, 1)))
    with pytest.raises(ParameterError, match="NaN"):
        step_down([np.nan], [[1.0]])


def test_groupings():
    by = {
        kind: [(f.name, len(f.members)) for f in families_of(kind, ["y", "z"], ["a", "b", "c"])]
        for kind in ("all", "outcome", "arm")
    }
    assert by == {
        "all": [("all", 6)],
        "outcome": [("y", 3), ("z", 3)],
        "arm": [("a", 2), ("b", 2), ("c", 2)],
    }
    index, parts = families_of({"index": ["y"], "parts": ["z"]}, ["y", "z"], ["a"], {"index": 9})
    assert (index.size, parts.size) == (9, 1)
    assert index.members == (("y", "a"),)


@pytest.mark.parametrize(
    ("grouping", "sizes", "error", "says"),
    [
        ("outcomes", None, ParameterError, "allowed: all, outcome, arm"),
        ({"one": ["y"]}, None, ParameterError, "'z' is in no family"),
        ({"one": ["y", "z"], "two": ["z"]}, None, ParameterError, "'z' is in two families"),
        ({"one": ["y", "z", "zz"]}, None, ColumnError, "'zz'"),
        ({"one": "y"}, None, ParameterError, "give a list"),
        ("all", {"every": 9}, ParameterError, "'every', which is not a family; allowed: all"),
        ("all", {"all": 1}, ParameterError, "family 'all' is 1; .* at least 2"),
        ("all", {"all": 2.5}, ParameterError, "at least 2"),
    ],
)
def test_families_that_are_no_partition(grouping, sizes, error, says):
    with pytest.raises(error, match=says):
        families_of(grouping, ["y", "z"], ["a"], sizes)
