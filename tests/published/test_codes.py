"""Codes that the data define: which columns are binned, where the edges are, what comes back."""

from __future__ import annotations

from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.published.histogram import bins_of, coded, equal_edges
from dprct.schema import Column

RNG = np.random.default_rng(5)


def coded_column(values, column, eta=4, most=4.0):
    frame = nw.from_native(pd.DataFrame({column.name: values}), eager_only=True)
    return coded(frame, column, eta, most)


def test_edges_are_the_formula_of_the_paper_with_its_missing_factor():
    low, high, eta = -3.7, 12.25, 97
    exact = [(k * Fraction(high) + (eta - k) * Fraction(low)) / eta for k in range(eta + 1)]
    edges = equal_edges(low, high, eta)
    np.testing.assert_allclose(edges, [float(edge) for edge in exact], rtol=1e-14)
    assert (edges[0], edges[-1]) == (low, high)
    printed = [(high + (eta - k) * low) / eta for k in range(eta + 1)]
    assert not np.allclose(edges, printed)


def test_huge_values_do_not_overflow():
    assert np.isfinite(equal_edges(-1e307, 1e308, 97)).all()


def test_bins_are_closed_on_the_left_and_the_last_one_on_both_sides():
    edges = equal_edges(0.0, 4.0, 4)
    assert bins_of(np.array([0, 0.99, 1, 1.01, 3, 4.0]), edges).tolist() == [0, 0, 1, 1, 3, 3]


def test_a_column_is_binned_above_that_many_distinct_values_only():
    few, _ = coded_column([1.0, 2, 3, 4, 4], Column("x"), eta=4, most=4.0)
    many, codes = coded_column([1.0, 2, 3, 4, 5], Column("x"), eta=4, most=4.0)
    assert not few.binned
    assert few.levels.tolist() == [1, 2, 3, 4]
    assert many.edges.tolist() == [1, 2, 3, 4, 5]
    assert codes.tolist() == [0, 1, 2, 3, 3]


def test_missing_codes_are_levels_and_not_distinct_values():
    values = np.array([1.0, 2, 3, 4, np.nan, np.nan, np.nan])
    values[5:] = tagged([1, 26])
    coding, codes = coded_column(values, Column("x"), most=4.0)
    assert not coding.binned
    assert codes.tolist() == [0, 1, 2, 3, 4, 5, 6]
    back = coding.decode(codes, RNG)
    assert missing_numbers(back).tolist() == [-1, -1, -1, -1, 0, 1, 26]
    assert back[:4].tolist() == [1, 2, 3, 4]


def test_what_the_schema_declares_goes_before():
    values = np.arange(20.0)
    as_levels = Column("x", levels=tuple(range(20)))
    assert not coded_column(values, as_levels)[0].binned
    two, _ = coded_column(values, Column("x", bins=2))
    assert two.edges.tolist() == [0, 9.5, 19]
    inner, _ = coded_column(values, Column("x", bins=(-5.0, 10.0, 30.0)))
    assert inner.edges.tolist() == [0, 10, 19]
    assert not coded_column([1.0, 2.0, 1.0], Column("x", bins=2))[0].binned


def test_text_is_taken_as_it_is():
    values = np.array(["north", "south", "", "north", b"\xff"], dtype=object)
    coding, codes = coded_column(values, Column("x", "str9"))
    assert coding.decode(codes, RNG).tolist() == ["north", "south", "", "north", b"\xff"]


@pytest.mark.parametrize(
    ("column", "step"),
    [
        (Column("x", "int"), 1.0),
        (Column("x", "double", decimals=1), 0.1),
        (Column("x", "double", integer=True), 1.0),
    ],
)
def test_columns_of_whole_numbers_or_decimals_stay_so(column, step):
    coding, codes = coded_column(np.arange(0.0, 50.0), column)
    back = coding.decode(np.tile(codes, 40), RNG)
    np.testing.assert_allclose(back / step, np.rint(back / step), atol=1e-9)
    assert (back.min(), back.max()) == (0, 49)


def test_floats_are_storable():
    coding, codes = coded_column(np.arange(0.0, 1.0, 0.125), Column("x", "float"))
    back = coding.decode(codes, RNG)
    assert (back == back.astype(np.float32)).all()


def test_values_are_uniform_within_their_bin():
    coding, _ = coded_column(np.linspace(0, 8, 9), Column("x"))
    drawn = coding.decode(np.full(20_000, 2), np.random.default_rng(1))
    assert drawn.min() >= 4
    assert drawn.max() <= 6
    # a Kolmogorov distance above 0.024 has probability 2e-10 at n = 20,000
    ranks = np.sort((drawn - 4) / 2)
    assert np.abs(ranks - np.arange(20_000) / 20_000).max() < 0.024
    assert np.abs(ranks**1.2 - np.arange(20_000) / 20_000).max() > 0.024


@pytest.mark.parametrize(
    ("values", "column", "what"),
    [
        ([417.25] * 3, Column("x"), "is constant"),
        ([np.nan] * 3, Column("x"), "missing in every row"),
        (tagged([0, 1, 2]), Column("x"), "missing in every row"),
        (["secret"] * 3, Column("x", "str9"), "is constant"),
    ],
)
def test_columns_without_a_histogram_are_refused_by_name(values, column, what):
    with pytest.raises(SchemaError, match=f"column 'x' .*{what}") as caught:
        coded_column(values, column)
    assert "417" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_number_beside_missing_is_no_constant():
    coding, _ = coded_column([1.0, np.nan], Column("x"))
    assert len(coding.levels) == 1
