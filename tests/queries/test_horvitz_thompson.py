"""Horvitz-Thompson aggregates: exact values, and sensitivities by enumeration of neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries.horvitz_thompson import (
    PrivateArms,
    horvitz_thompson_difference,
    horvitz_thompson_sums,
)
from dprct.queries.sums import GRID
from dprct.schema import Column
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from dprct.privacy import IntegerVector

Y = Column("y", bounds=(-1.0, 3.0))
RECORDS = tuple(itertools.product((-1.0, 0.5, 3.0), (0.0, 1.0)))


def two(n: int, share: Fraction, present: str | None = None) -> PrivateArms:
    return PrivateArms(("t",), ((0.0,), (1.0,)), (1 - share, share), n, present)


def number(sealed: IntegerVector, at: int = 0) -> float:
    return float(int(_open(sealed)[at]) * sealed.grid)


def aggregates(rows: tuple[tuple[float, float], ...], arms: PrivateArms) -> list[Any]:
    y, t = zip(*rows, strict=True)
    frame = eager(pl.DataFrame({"y": y, "t": t}))
    found = horvitz_thompson_difference(frame, Y, arms)
    sums, squares = horvitz_thompson_sums(frame, Y, arms)
    parts = [found.difference, found.variance, found.control, sums, squares]
    assert all(part.relation == "replace-one" for part in parts)
    return [_open(part).astype(object) for part in parts]


@pytest.mark.long
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4)])
def test_no_neighbour_is_further_than_claimed_and_some_are_as_far(share: Fraction) -> None:
    arms = two(3, share)
    data = {rows: aggregates(rows, arms) for rows in itertools.product(RECORDS, repeat=3)}
    claimed = (GRID, GRID, GRID, 2 * GRID, GRID)
    most, switched = [0] * 5, [0] * 5
    for rows, here in data.items():
        for i, record in itertools.product(range(3), RECORDS):
            there = data[(*rows[:i], record, *rows[i + 1 :])]
            change = [int(np.abs(a - b).sum()) for a, b in zip(here, there, strict=True)]
            most = [max(a, b) for a, b in zip(most, change, strict=True)]
            if record[0] == rows[i][0]:
                switched = [max(a, b) for a, b in zip(switched, change, strict=True)]
    assert tuple(most) == claimed
    # a switch of the arm alone attains too, with equal shares
    reached = share == Fraction(1, 2)
    assert (switched[0] == GRID) == reached
    assert switched[3:] == [2 * GRID, GRID]


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_the_statistics_are_those_of_the_definition(as_frame: Any) -> None:
    rng = np.random.default_rng(4)
    y, t = rng.uniform(-1, 3, 300), (rng.random(300) < 0.2).astype(float)
    arms = two(300, Fraction(1, 5))
    frame = eager(as_frame({"y": y, "t": t}))
    found = horvitz_thompson_difference(frame, Y, arms)
    phi = (y - 1) * (t / 0.2 - (1 - t) / 0.8)
    assert number(found.difference) == pytest.approx(phi.mean(), abs=1e-5)
    assert number(found.variance) == pytest.approx(phi.var(ddof=1) / 300, rel=1e-4)
    assert number(found.control) == pytest.approx(((y - 1) * (1 - t)).mean() / 0.8, abs=1e-5)
    sums, squares = horvitz_thompson_sums(frame, Y, arms)
    for arm in (0, 1):
        own = y[t == arm] - 1
        assert number(sums, arm) == pytest.approx(own.sum(), abs=1e-3)
        assert number(squares, arm) == pytest.approx((own**2).sum(), rel=1e-5)


def test_the_middle_of_the_bounds_counts_for_nothing() -> None:
    frame = eager(pd.DataFrame({"y": [1.0, 1.0, 1.0], "t": [0.0, 1.0, 1.0]}))
    found = horvitz_thompson_difference(frame, Y, two(3, Fraction(1, 3)))
    assert [int(_open(part)[0]) for part in (found.difference, found.variance, found.control)] == [
        0,
        0,
        0,
    ]


def test_rows_that_do_not_count_and_rows_in_no_arm_move_nothing() -> None:
    nan = float("nan")
    frame = eager(pd.DataFrame({"y": [3.0, -1.0, nan, 3.0], "t": [1.0, 0.0, 1.0, nan]}))
    sums, _ = horvitz_thompson_sums(frame, Y, two(3, Fraction(1, 2), present="y"), fill=3.0)
    assert [number(sums, 0), number(sums, 1)] == [-2.0, 2.0]


def test_arms_are_told_by_text_and_by_several_columns() -> None:
    frame = eager(pd.DataFrame({"y": [3.0, -1.0, 3.0], "arm": ["a", "b", "a"]}))
    by_text = PrivateArms(("arm",), (("a",), ("b",)), (Fraction(1, 2),) * 2, 3)
    sums, _ = horvitz_thompson_sums(frame, Y, by_text)
    assert [number(sums, 0), number(sums, 1)] == [4.0, -2.0]
    frame = eager(pd.DataFrame({"y": [3.0, -1.0, 3.0], "t": [0.0, 1.0, 0], "s": [0.0, 0.0, 1.0]}))
    thirds = (Fraction(1, 3),) * 3
    three = PrivateArms(("t", "s"), ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), thirds, 3)
    sums, _ = horvitz_thompson_sums(frame, Y, three)
    assert [number(sums, a) for a in range(3)] == [2.0, -2.0, 2.0]
