from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.encoding import Edges, EqualBins, EqualBinsOfPoints, Points, Rule, clipped, divided
from dprct.schema.tables import collected, table

NAN, INF = float("nan"), float("inf")


def codes(rule: Rule, values: Any) -> list[int]:
    frames = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values})]
    found = [
        nw.from_native(f).select(rule.code(nw.col("x")).cast(nw.Int64))["x"].to_list()
        for f in frames
    ]
    assert found[0] == found[1]
    return list(found[0])


def test_points_round_to_the_nearest_and_halves_down() -> None:
    rule = Points(low=1.0, per_unit=2.0, size=4)
    assert codes(rule, [1.0, 1.25, 1.26, 1.5, 2.5]) == [0, 0, 1, 1, 3]


def test_edges_are_counted_below() -> None:
    assert codes(Edges((0.0, 2.0)), [-1.0, 0.0, 0.5, 2.0, 3.0]) == [0, 0, 1, 1, 2]
    assert codes(Edges(()), [-1.0, 5.0]) == [0, 0]


def test_a_wrong_guess_is_put_right() -> None:
    # 0.55 * 100 is above 55 in doubles, and the guess one bin too high
    assert math.ceil(0.55 * 100) == 56
    assert codes(EqualBins(0.0, 1.0, 100), [0.55, math.nextafter(0.55, 1.0)]) == [54, 55]


def test_equal_bins_of_points_are_cut_in_integers() -> None:
    # points 0, 0.1, ..., 1 in three bins: the edges are 1/3 and 2/3
    rule = EqualBinsOfPoints(Points(0.0, 10.0, 11), slope=3, start=0, width=10, bins=3)
    expected = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert codes(rule, [k / 10 for k in range(11)]) == expected


@pytest.mark.parametrize("kind", ["numpy", "nullable", "polars"])
def test_clipping_puts_what_is_missing_at_the_lower_bound(kind: str) -> None:
    values = [NAN, -INF, INF, 0.5, -3.0, 3.0]
    frame: Any = pd.DataFrame({"x": np.array(values)})
    if kind == "nullable":
        frame = pd.DataFrame({"x": pd.array([None, *values[1:]], dtype="Float64")})
    elif kind == "polars":
        frame = pl.DataFrame({"x": [None, *values[1:]]})
    out = nw.from_native(frame).select(clipped("x", -1.0, 1.0))["x"].to_list()
    assert out == [-1.0, -1.0, 1.0, 0.5, -1.0, 1.0]


@pytest.mark.parametrize("n", [1, 3, 1003])
def test_engines_divide_to_the_last_bit(n: int) -> None:
    x = np.random.default_rng(n).uniform(0, 100, n)
    x[0] = 38.5
    frames = [pd.DataFrame({"x": x}), pl.DataFrame({"x": x}), pl.LazyFrame({"x": x})]
    for by in (35.0, 3.5, 0.1234):
        for frame in frames:
            found = collected(table(frame).select(divided(nw.col("x"), by)))["x"].to_numpy()
            assert (found == x / by).all()


def test_polars_alone_divides_by_a_number_otherwise() -> None:
    x = np.random.default_rng(1).uniform(0, 100, 1000)  # why divided() is there
    assert (pl.DataFrame({"x": x}).select(pl.col("x") / 35.0)["x"].to_numpy() != x / 35.0).any()
