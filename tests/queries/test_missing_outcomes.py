"""Sums over who has a value: exact, and their joint sensitivity by enumeration of neighbours."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries.missing_outcomes import observed_squares, observed_sums, square_reach
from dprct.queries.sums import GRID, Arms
from dprct.schema import Column
from dprct.schema.tables import eager

NAN = float("nan")
Y = Column("y", bounds=(-1.0, 3.0))
ARMS = Arms(np.array([0, 0, 1, 1]), ((2, 2),))
VALUES = (-1.0, 0.5, 3.0, NAN)


def largest(query: Any) -> dict[str, int]:
    """By how much a record moves the query, by whether its value is missing before or after."""
    rows = list(itertools.product(VALUES, repeat=4))
    found = {str(y): _open(query(eager(pl.DataFrame({"y": y})))) for y in rows}
    most = {"values": 0, "missing": 0}
    for y in rows:
        for i, value in itertools.product(range(4), VALUES):
            there = found[str((*y[:i], value, *y[i + 1 :]))]
            kind = "missing" if (y[i] != y[i]) != (value != value) else "values"
            most[kind] = max(most[kind], int(np.abs(found[str(y)] - there).sum()))
    return most


def test_a_sum_and_its_count_move_by_what_the_sum_alone_does() -> None:
    found = largest(lambda frame: observed_sums(frame, Y, ARMS))
    assert found == {"values": 2 * GRID, "missing": 2 * GRID}


@pytest.mark.long
@pytest.mark.parametrize("centres", [(0, 0), (GRID, -GRID), (-3, GRID // 3)])
def test_squares_about_any_centre_move_by_at_most_their_reach(centres: tuple[int, ...]) -> None:
    found = largest(lambda frame: observed_squares(frame, Y, ARMS, centres))
    assert found["missing"] == GRID
    assert found["values"] <= GRID


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_the_sums_are_those_of_who_has_a_value(as_frame: Any) -> None:
    rng = np.random.default_rng(2)
    y = np.where(rng.random(400) < 0.3, np.nan, rng.uniform(-1, 3, 400))
    arms = Arms(np.repeat([0, 1], [250, 150]), ((250, 150),))
    frame = eager(as_frame({"y": y}))
    sums = observed_sums(frame, Y, arms)
    squares = observed_squares(frame, Y, arms, (1000, -GRID // 2))
    for arm, centre in ((0, 1000 * 2 / GRID), (1, -1.0)):
        own = y[(arms.codes == arm) & ~np.isnan(y)] - 1
        assert float(_open(sums)[arm] * sums.grid) == pytest.approx(own.sum(), abs=1e-3)
        assert _open(sums)[2 + arm] == GRID * len(own)
        reach = square_reach(round(centre * GRID / 2)) * float(sums.grid) ** 2 / GRID
        assert _open(squares)[arm] * reach == pytest.approx(((own - centre) ** 2).sum(), rel=1e-4)
