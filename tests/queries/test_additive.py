from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.encoding import encodings
from dprct.privacy.aggregates import _open
from dprct.queries.additive import (
    HALF_STEPS,
    AdditiveLayout,
    Block,
    CodedRows,
    EngineCodes,
    EngineRows,
    additive_sums,
    doubly_robust,
    feature_codes,
    residual_ratio,
)
from dprct.queries.counts import Digit
from dprct.schema import Column, Schema
from dprct.schema.tables import eager, table

R = 3.0
BOTH = (Block((0,), (2,)), Block((1,), (3,)))
EVERYBODY = Block((), (), counts=False)
TARGETS = (-R, R, 0.0, 1e-7, -0.3, 2.9, np.nan, np.inf, -np.inf, 1e300, 5e-324)
"""What the row that moves is worth, legal or not."""

LAYOUTS = {
    "one feature": AdditiveLayout(BOTH[:1], R),
    "two features and everybody": AdditiveLayout((EVERYBODY, *BOTH), R),
    "a pair": AdditiveLayout((EVERYBODY, *BOTH, Block((0, 1), (2, 3))), R),
    "counts of a pair": AdditiveLayout((*BOTH, Block((0, 1), (2, 3), sums=False)), R),
    "counts alone": AdditiveLayout(tuple(replace(b, sums=False) for b in BOTH), R),
    "cheap counts": AdditiveLayout((EVERYBODY, *BOTH), R, count_units=HALF_STEPS // 4),
    "weighted": AdditiveLayout(BOTH, R, weighted=True),
    "weighted, cheap": AdditiveLayout(BOTH, R, weighted=True, count_units=HALF_STEPS // 4),
}


def tables(weighted: bool) -> Any:
    """Codes, target and weight of row 0; five others stay."""
    weights = (0.0, 0.5, 1.0, 1e-7, np.nan) if weighted else (1.0,)
    targets = TARGETS[:6] if weighted else TARGETS
    for a, b, y, q in itertools.product((0, 1), (0, 1, 2), targets, weights):
        codes = [np.array([a, 0, 1, 1, 0, 0], np.int32), np.array([b, 2, 1, 0, 2, 2], np.int32)]
        target = np.array([y, 1.0, -2.0, 0.1, R, -R])
        yield codes, target, np.array([q, 0.2, 1, 0, 0.7, 1])


def opened(layout: AdditiveLayout, codes: Any, target: Any, weights: Any) -> Any:
    sealed = additive_sums(codes, target, layout, weights if layout.weighted else None)
    assert (sealed.l1, sealed.l2_squared) == (layout.l1, layout.l2_squared)
    assert sealed.size == layout.size
    assert sealed.relation == "replace-one"
    return [int(x) for x in _open(sealed)]


def opened_in_engine(layout: AdditiveLayout, codes: Any, target: Any, weights: Any) -> Any:
    frame = pl.DataFrame({"a": codes[0], "b": codes[1], "x": target, "w": weights}).lazy()
    keys = Digit("a", np.arange(2)), Digit("b", np.arange(3))
    there = EngineCodes(nw.from_native(frame), keys, len(target))
    weighted = nw.col("w") if layout.weighted else None
    sealed = additive_sums(there, nw.col("x"), layout, weighted)
    assert (sealed.l1, sealed.l2_squared) == (layout.l1, layout.l2_squared)
    return [int(x) for x in _open(sealed)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_neighbours_are_as_far_apart_in_an_engine(name: str) -> None:
    """Sensitivities are of these numbers: they are the same, for every neighbour."""
    layout = LAYOUTS[name]
    for one in tuple(tables(layout.weighted))[::7]:
        assert opened_in_engine(layout, *one) == opened(layout, *one)


def test_a_null_in_an_engine_is_worth_0_and_its_row_counts() -> None:
    """As NaN in memory: no row is left out."""
    codes = [np.array([1, 0], np.int32), np.array([2, 2], np.int32)]
    weights = np.ones(2)
    for layout in (LAYOUTS["a pair"], LAYOUTS["weighted"]):
        expected = opened(layout, codes, np.array([np.nan, 1.0]), weights)
        target = pl.Series([None, 1.0], dtype=pl.Float64)
        assert opened_in_engine(layout, codes, target, weights) == expected


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_neighbour_is_further_than_claimed(name: str) -> None:
    layout = LAYOUTS[name]
    found = np.array([opened(layout, *t) for t in tables(layout.weighted)], dtype=object)
    apart = [(found[i + 1 :] - found[i]) for i in range(len(found) - 1)]
    l1 = max(int(np.abs(rows).sum(axis=1).max()) for rows in apart)
    l2 = max(int((rows**2).sum(axis=1).max()) for rows in apart)
    assert l1 <= layout.l1
    assert l2 <= layout.l2_squared
    # the second moment is bounded apart from the rest, and so are counts of a pair
    slack = HALF_STEPS**2 + 2 * HALF_STEPS**2 * (name == "counts of a pair")
    assert l2 >= layout.l2_squared - slack
    assert l2 >= 0.6 * layout.l2_squared
    assert l2 == layout.l2_squared or name != "counts alone"


def test_counts_are_free_in_l2() -> None:
    with_counts = AdditiveLayout(BOTH, R)
    alone = AdditiveLayout(tuple(Block(b.features, b.shape, counts=False) for b in BOTH), R)
    assert with_counts.l2_squared == alone.l2_squared == 9 * HALF_STEPS**2
    assert with_counts.l1 == 2 * alone.l1 - HALF_STEPS


def test_the_numbers_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, 2, 500).astype(np.int32), rng.integers(0, 3, 500).astype(np.int32)]
    target = rng.normal(0, 2, 500)
    layout = LAYOUTS["a pair"]
    found = np.array(opened(layout, codes, target, None), dtype=np.float64)
    step = float(layout.step)
    clipped = np.clip(target, -R, R)
    assert found[0] * step == pytest.approx(clipped.sum(), abs=500 * step)
    assert (found[1:3] / HALF_STEPS).tolist() == np.bincount(codes[0]).tolist()
    sums = [clipped[codes[0] == a].sum() for a in (0, 1)]
    assert found[3:5] * step == pytest.approx(sums, abs=500 * step)
    cell = codes[0] * 3 + codes[1]
    assert (found[11:17] / HALF_STEPS).tolist() == np.bincount(cell, minlength=6).tolist()
    assert found[-1] * step * R == pytest.approx((clipped**2).sum(), abs=500 * step * R)


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(4)
    codes, target = [rng.integers(0, 2, 1000).astype(np.int32)], rng.normal(0, 3, 1000)
    order = rng.permutation(1000)
    layout = LAYOUTS["one feature"]
    assert opened(layout, codes, target, None) == opened(
        layout, [codes[0][order]], target[order], None
    )


def test_the_grid_is_exact() -> None:
    assert AdditiveLayout(BOTH, 0.1).step == Fraction(0.1) / HALF_STEPS


def test_codes_are_total_and_in_range() -> None:
    x = Column("x", bounds=(0.0, 1.0), missing=(".",), bins=4)
    g = Column("g", "str1", levels=("a", "b"), missing=())
    codes = encodings(Schema((x, g)), ["x", "g"])
    frame = eager(
        pd.DataFrame({"x": [0.1, np.nan, 1e300, -np.inf, 0.9], "g": ["b", "a", None, "zz", "b"]})
    )
    first, second = feature_codes(frame, codes)
    assert first.tolist() == [0, 4, 3, 0, 3]
    assert second.tolist() == [1, 0, 0, 0, 1]


Y = Column("y", bounds=(-0.3, 0.7), missing=(".",))
T = Column("t", "byte", levels=(0.0, 1.0), missing=())
FEATURES = (
    Column("x", bounds=(0.0, 1.0), missing=(".",), bins=7),
    Column("g", "str1", levels=("a", "b"), missing=()),
)
ANY = st.one_of(
    st.none(),
    st.floats(allow_nan=True),
    st.floats(-0.4, 1.1),
    st.sampled_from([0.0, 1.0, -0.3, 0.7]),
)
ANY_ROWS = st.lists(
    st.tuples(ANY, ANY, ANY, st.sampled_from([None, "a", "b", "z", ""])), min_size=1, max_size=30
)


def of_engine(frame: Any, engine: str, treatment: Any, features: Any, e: float, clip: float) -> Any:
    """The sums of a plain outcome, a DR-learner and an R-learner, where the rows are."""
    blocks = (Block((), ()), Block((0,), (8,)), Block((1,), (2,)), Block((1, 0, 2), (2, 8, 2)))
    plain = AdditiveLayout((*blocks, Block((0, 1), (8, 2), sums=False)), clip)
    weighted = AdditiveLayout(blocks, clip, weighted=True, count_units=HALF_STEPS // 4)
    read = (features, Y, 0.25, treatment)
    rows: Any
    if engine == "memory":
        rows = CodedRows.of(eager(frame), *read).with_arm()
    else:
        native = frame.lazy() if engine == "Polars" else duckdb.from_arrow(frame.to_arrow())
        there: Any = table(native)
        rows = EngineRows.of(there, len(frame), *read).with_arm()
    ratio, squares = residual_ratio(rows, 0.2, e)
    sealed = (
        additive_sums(rows.codes, rows.outcome - 0.2, plain),
        additive_sums(rows.codes, doubly_robust(rows, 0.2, 0.2, e), plain),
        additive_sums(rows.codes, ratio * squares, weighted, squares),
    )
    return [_open(one).tolist() for one in sealed]


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    ANY_ROWS,
    st.floats(1e-6, 1 - 1e-6),
    st.floats(1e-3, 1e3),
    st.sampled_from(["Polars"] * 3 + ["DuckDB"]),
)
def test_an_engine_adds_the_same_numbers_whatever_rows_hold(
    rows: Any, e: float, clip: float, engine: str
) -> None:
    types = {"y": pl.Float64, "t": pl.Float64, "x": pl.Float64, "g": pl.String}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    treatment, *features = encodings(Schema((T, *FEATURES)), ["t", "x", "g"])
    asked = (treatment, features, e, clip)
    assert of_engine(frame, engine, *asked) == of_engine(frame, "memory", *asked)
