"""What fixed effects leave of a column: a projection, whatever the factors and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.results import covariance as absorb
from dprct.results.covariance import within, without_singletons


def factors_of(rng, n, sizes):
    return [np.unique(rng.integers(0, size, n), return_inverse=True)[1] for size in sizes]


def by_dummies(columns, factors, total):
    dummies = np.column_stack([codes[:, None] == np.unique(codes) for codes in factors])
    scaled = dummies * total[:, None]
    y = columns * total[:, None]
    return (y - scaled @ np.linalg.lstsq(scaled, y, rcond=None)[0]) / total[:, None]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(2, 12), min_size=1, max_size=3))
def test_it_is_the_residual_on_the_dummies(seed, sizes):
    rng = np.random.default_rng(seed)
    n = 60
    factors = factors_of(rng, n, sizes)
    total = np.sqrt(rng.uniform(0.1, 4, n))
    columns = rng.normal(size=(n, 2)) * [1, 1e4]
    left = within(columns, factors, total)
    np.testing.assert_allclose(
        left / [1, 1e4], by_dummies(columns, factors, total) / [1, 1e4], atol=1e-10
    )
    for codes in factors:
        sums = np.bincount(codes, left[:, 0] * total**2)
        np.testing.assert_allclose(sums, 0, atol=1e-10)
    np.testing.assert_allclose(within(left, factors, total)[:, 0], left[:, 0], atol=1e-10)


def test_a_column_made_of_effects_leaves_exactly_nothing():
    rng = np.random.default_rng(1)
    one, two = factors_of(rng, 200, [9, 7])
    column = 1e6 + rng.normal(size=9)[one] + 1e3 * rng.normal(size=7)[two]
    left = within(np.column_stack([column, np.ones(200)]), [one, two], np.ones(200))
    assert (left == 0).all()


def test_a_long_chain_of_levels_converges():
    """Each level meets the next in one row: the hardest case for alternating projections."""
    a = np.repeat(np.arange(150), 2)[1:-1]
    b = np.repeat(np.arange(149), 2)
    column = np.random.default_rng(2).normal(size=(298, 1))
    left = within(column, [a, b], np.ones(298))
    np.testing.assert_allclose(left, by_dummies(column, [a, b], np.ones(298)), atol=1e-9)


def test_too_few_steps_are_an_error_and_no_wrong_number(monkeypatch):
    monkeypatch.setattr(absorb, "_MOST_STEPS", 2)
    rng = np.random.default_rng(3)
    with pytest.raises(ParameterError, match="too few rows"):
        within(rng.normal(size=(300, 1)), factors_of(rng, 300, [40, 30]), np.ones(300))


def test_singletons_go_until_none_is_left():
    chain = np.array([0, 1, 1, 2, 2])
    other = np.array([0, 0, 1, 1, 2])
    assert not without_singletons([chain, other], np.ones(5, bool)).any()
    pairs = np.array([0, 0, 1, 1, 1])
    keep = np.array([True, True, True, True, False])
    assert without_singletons([pairs], keep).tolist() == keep.tolist()
