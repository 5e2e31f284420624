from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl

from dprct.encoding import Edges, EqualBins, EqualBinsOfPoints, Points, Rule

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
