"""Sums by group: exact, whatever the order, the partitions and the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import narwhals as nw
import numpy as np
import polars as pl

from dprct.queries import together
from dprct.queries.sums import GRID, Arms, Asked, Combinations, added, by_cell, square_sums
from dprct.schema import Column
from dprct.schema.tables import Counted, eager, table

if TYPE_CHECKING:
    import pytest

Y = Column("y", bounds=(0.0, 1.0), missing=(".",))


def test_squares_pass_2_to_63_without_wrapping() -> None:
    n = 9_000_000  # a plain sum of k^2 wraps at 8.4e6 rows
    frame = table(pl.LazyFrame({"y": pl.repeat(1.0, n, eager=True)}))
    ((count, s, q),) = square_sums(frame, nw.lit(GRID) + 0 * nw.col("y").cast(nw.Int64), ())
    assert (count, s, q) == (n, n * GRID, n * GRID**2)
    assert q > 2**63


def test_groups_are_added_as_python_adds_them() -> None:
    rng = np.random.default_rng(1)
    data = pl.DataFrame({"g": ["a", None, "b", "a"] * 5, "x": rng.integers(0, 100, 20)})
    expected = {
        group: (int(sum(x)), len(x))
        for group in ("a", "b", None)
        for x in [[v for g, v in data.rows() if g == group]]
    }
    for frame in (data, data.lazy(), duckdb.from_arrow(data.to_arrow()), data.to_pandas()):
        found = added(table(frame), {"s": nw.col("x")}, ["g"])
        assert {g: (s, n) for g, s, n in found} == expected


def test_cells_are_found_again_by_their_combination() -> None:
    data = pl.DataFrame({"y": [0.0, 1.0, 0.5, None], "t": [0, 1, 1, None]})
    codes = np.array([0, 1, -1])
    where = Combinations(("t",), {(0,): 0, (1,): 1, (None,): 2})
    arms = Arms(codes, ((1, 2),), combinations=where)
    in_memory = Arms(np.array([0, 1, 1, -1]), ((1, 2),))
    found = by_cell(table(data.lazy()), Y, arms, 0.0)
    counted = [part for part in found if part.cell >= 0]
    expected = by_cell(eager(data), Y, in_memory, 0.0)
    key = lambda part: part.cell  # noqa: E731
    assert sorted(counted, key=key) == sorted(expected, key=key)
    assert sum(part.n for part in by_cell(eager(data), Y, in_memory, with_value=True)) == 3


def test_squares_of_many_rows_are_added_in_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    few = together._FEW
    assert (few - 1) * max(together._MIDDLE, GRID - together._MIDDLE) ** 2 < 2**63 <= few * GRID**2
    rng = np.random.default_rng(2)
    data = pl.DataFrame({"y": [*rng.uniform(size=50), 0.0, 1.0], "t": [0, 1] * 26})
    counted = Counted(52, legal=True, keys=("t",), groups={(0,): (26,), (1,): (26,)})
    asked = Asked(Column("y", bounds=(0.0, 1.0), missing=()))

    def found() -> list[tuple[tuple[object, ...], int, int, int]]:
        sums = together.summed(table(data.lazy()), {"t": nw.col("t")}, [asked], counted)
        return sorted(sums.groups[asked])

    in_one = found()
    monkeypatch.setattr(together, "_FEW", 0)
    assert in_one == found()
