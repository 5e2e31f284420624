from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dprct.encoding import Edges, EqualBins, EqualBinsOfPoints, Points, encoding, prepared_for
from dprct.queries.counts import BinKey, Ceilings, Compared, _compared, bin_key
from dprct.schema import Column
from dprct.schema.schema import declared
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = math.inf
FAR = [-INF, -1e308, -1e17, -5e-324, -0.0, 0.0, 5e-324, 1e17, 1e308, INF]


def key_of(rule: Any) -> BinKey:
    key = bin_key(rule)
    assert key is not None
    return key


def codes(key: BinKey, values: Any) -> list[int]:
    with np.errstate(over="ignore", invalid="ignore"):
        return key.codes(key.key.of(np.asarray(values, np.float64))).tolist()


def edges_of(low: float, high: float, bins: int) -> NDArray[np.float64]:
    return np.array([k * (high - low) / bins + low for k in range(1, bins)])


def trying(rule: EqualBins, seed: int) -> list[float]:
    """Edges, their neighbours, what lies between, and what lies beyond all bounds."""
    edges = np.array([rule.low, *edges_of(rule.low, rule.high, rule.bins), rule.high])
    around = [edges]
    for way in (-INF, INF):
        near = edges
        for _ in range(3):
            near = np.nextafter(near, way)
            around.append(near)
    within = np.random.default_rng(seed).uniform(rule.low, rule.high, 200)
    return [*np.concatenate([*around, within]).tolist(), *FAR]


numbers = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.integers(-(10**6), 10**6).map(lambda k: k / 1000),
    st.floats(-1e12, 1e12),
    st.floats(-1e-300, 1e-300),
    st.floats(-1e300, 1e300),
    st.integers(-50, 50).map(lambda k: 1e9 + k / 7),
)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(numbers, numbers, st.integers(1, 120), st.integers(0, 2**32))
def test_a_key_counts_the_edges_below_in_exact_arithmetic(
    one: float, other: float, bins: int, seed: int
) -> None:
    low, high = min(one, other), max(one, other)
    edges = [low, *edges_of(low, high, bins), high]
    assume(low < high and np.isfinite([*edges, (bins + 1) / (high - low)]).all())
    assume(bool((np.diff(edges) > 0).all()))
    rule = EqualBins(low, high, bins)
    key = bin_key(rule)
    assume(key is not None)
    values = trying(rule, seed)
    exact = [Fraction(edge) for edge in edges[1:-1]]
    expected = [
        bisect_left(exact, Fraction(x)) if math.isfinite(x) else (bins - 1) * (x > 0)
        for x in values
    ]
    assert codes(key_of(rule), values) == expected


TYPICAL = [(0, 1), (0, 100), (-2, 2.1), (15, 80), (0, 1e6), (-1, 1), (0.1, 0.7), (1e6, 1e6 + 1)]


@pytest.mark.parametrize("bins", [2, 5, 10, 35, 100, 1000])
@pytest.mark.parametrize("bounds", TYPICAL)
def test_bins_that_people_declare_have_a_key(bounds: tuple[float, float], bins: int) -> None:
    low, high = map(float, bounds)
    key = key_of(EqualBins(low, high, bins))
    values = trying(EqualBins(low, high, bins), bins)
    edges = edges_of(low, high, bins).tolist()
    assert codes(key, values) == [bisect_left(edges, x) for x in values]


@pytest.mark.parametrize(("rule", "terms"), [
    (EqualBins(0.0, 1.0, 5), 1), (EqualBins(0.0, 100.0, 100), 1), (EqualBins(15.0, 80.0, 10), 1),
    (EqualBins(0.0, 1.0, 6), 2), (EqualBins(0.0, 1.0, 50), 3), (EqualBins(-2.0, 2.1, 7), 2),
    (EqualBins(0.0, 1.0, 65_536), 1), (EqualBins(0.0, 1.0, 1), 1),
])  # fmt: skip
def test_few_bins_cost_one_product_or_a_few(rule: EqualBins, terms: int) -> None:
    key = key_of(rule).key
    assert isinstance(key, Ceilings)
    assert len(key.terms) == terms
    within = key.of(np.linspace(rule.low, rule.high, 10_001))
    assert (np.diff(within) >= 0).all()
    assert len(set(within)) <= terms * rule.bins + 1  # nearly no groups besides the bins


def test_many_bins_are_compared_with_one_edge() -> None:
    rule = EqualBins(-2.0, 2.1, 100)
    key = key_of(rule)
    assert isinstance(key.key, Compared)
    assert key.at_edges.tolist() == list(range(1, 100))


def test_the_obvious_key_is_wrong_at_an_edge_and_so_is_verified() -> None:
    obvious = Ceilings(((0.0, 100.0),))
    edges = edges_of(0.0, 1.0, 100)
    above = np.nextafter(edges, 1.0)
    assert not (obvious.of(edges) < obvious.of(above)).all()
    assert obvious.of(np.array([0.55])) == 56
    assert codes(key_of(EqualBins(0.0, 1.0, 100)), [0.55, above[54]]) == [54, 55]


def test_where_no_key_is_exact_there_is_none() -> None:
    # so many edges so few doubles apart that no evenly rising function follows how they are rounded
    assert bin_key(EqualBins(1e9, 1e9 + 10, 5000)) is None
    assert bin_key(Edges((0.5,))) is None
    assert bin_key(None) is None


def test_what_is_missing_is_at_the_lower_bound() -> None:
    for rule in (EqualBins(-2.0, 2.1, 7), EqualBins(-1.0, 1.0, 100)):
        assert codes(key_of(rule), [np.nan, -INF, INF]) == [0, 0, rule.bins - 1]


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(
    st.integers(-1000, 1000), st.integers(2, 1000), st.integers(2, 40), st.integers(0, 3),
    st.sampled_from(["double", "float"]),
)  # fmt: skip
def test_points_have_the_code_of_their_rule(
    first: int, points: int, bins: int, decimals: int, storage: str
) -> None:
    assume(bins < points)
    low, high = first / 10**decimals, (first + points) / 10**decimals
    facts = {"bounds": (low, high), "decimals": decimals, "bins": bins, "missing": "never"}
    found = encoding(declared(Column("x", storage), facts))
    assert isinstance(found.rule, EqualBinsOfPoints)
    grid = np.arange(first, first + points + 1) / 10**decimals
    values = grid.astype(np.float32).astype(float) if storage == "float" else grid
    frame = prepared_for(eager(pd.DataFrame({"x": values})), [found])
    expected = frame.select(found.expression())["x"].to_list()
    assert codes(key_of(found.rule), values) == expected
    assert codes(key_of(found.rule), FAR[:3] + FAR[-3:]) == [0] * 3 + [bins - 1] * 3


def test_points_that_doubles_do_not_tell_apart_have_no_key() -> None:
    points = Points(0.0, 1.0, 2**55)
    assert bin_key(EqualBinsOfPoints(points, slope=1, start=0, width=2**54, bins=2)) is None


@pytest.mark.parametrize("k", range(1, 7))
def test_a_guess_that_is_wrong_at_one_edge_is_not_taken(k: int) -> None:
    """Whichever edge it is: the first, the last, or one between."""
    bins = EqualBins(-2.0, 2.1, 7)
    edges = np.asarray(bins.edge(np.arange(1.0, 7.0)), np.float64)
    assert _compared(bins, edges, np.nextafter(edges, np.inf)) is not None
    edges[k - 1] -= 1.0  # more than a bin: just above it the guess is two too low
    assert _compared(bins, edges, np.nextafter(edges, np.inf)) is None
