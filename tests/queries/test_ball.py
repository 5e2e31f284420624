"""Sums within a ball: what one record can move them by, searched; and that nothing leaves it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.privacy.aggregates import _open
from dprct.queries import Part
from dprct.queries.ball import STEPS, MomentCells, MomentsGrid, Scaled, _move, moment_sums
from dprct.schema import Column
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
X = [Column(f"x{j}", bounds=(-8.0, 8.0), **NEVER) for j in range(3)]
T = Column("t", "byte", levels=(0.0, 1.0), **NEVER)
G = Column("g", "byte", levels=(1.0, 2.0, 3.0), **NEVER)


def grid(constant: int, *, radius: float = 2.0, count: bool = True) -> MomentsGrid:
    """Three columns of which each alone may fill the ball."""
    columns = tuple(Scaled(c.name, (Part(c),), (-8.0, 8.0), 0.0, STEPS / radius) for c in X)
    return MomentsGrid(columns, constant, count)


def frame(rows: Any) -> Any:
    found = pl.DataFrame(np.asarray(rows, float), schema=["t", "x0", "x1", "x2"])
    return table(found.with_columns(g=pl.lit(1.0)))


def sums(rows: Any, of: MomentsGrid, cells: MomentCells) -> Any:
    return np.array(_open(moment_sums(frame(rows), of, cells, "replace-one")), dtype=object)


CELLS = MomentCells(treatment=("t",), values=((0.0,), (1.0,)))


@pytest.mark.parametrize("constant", [1, STEPS // 3, STEPS // 2, STEPS])
@pytest.mark.parametrize("other_group", [False, True])
def test_no_neighbour_moves_the_sums_further_and_some_as_far(
    constant: int, other_group: bool
) -> None:
    of = grid(constant)
    rng = np.random.default_rng(constant + other_group)
    base = [[0, 0.3, -1, 2], [1, 5, 5, 5]]
    largest = 0
    for one in range(60):
        first = rng.normal(size=3) * 10.0 ** rng.integers(-2, 3)
        if one % 3 == 0:  # of fixed length 2: then h^2 = -k's is where the bound is met
            first *= 2 / np.linalg.norm(first)
            across = rng.normal(size=3)
            across -= across @ first * first / 4
            cosine = -min(1.0, (constant / STEPS) ** 2)
            second = cosine * first + np.sqrt(1 - cosine**2) * 2 * across / np.linalg.norm(across)
        else:
            second = rng.normal(size=3) * 10.0 ** rng.integers(-2, 3)
        moved = sums([*base, [0, *first]], of, CELLS) - sums(
            [*base, [float(other_group), *second]], of, CELLS
        )
        distance = sum(int(cell) ** 2 for cell in moved)
        assert distance <= of.l2_squared
        assert max(abs(int(cell)) for cell in moved) <= of.l_inf
        assert sum(abs(int(cell)) for cell in moved) <= of.l1
        largest = max(largest, distance)
    assert Fraction(largest, of.l2_squared) > Fraction(99, 100) ** 2


def test_every_corner_of_bounds_stays_in_the_ball() -> None:
    columns = (
        Scaled("t", (Part(T),), (0.0, 1.0), 0.5, STEPS / 4.0, exempt=True),
        Scaled("g2", (Part(G, level=1),), (0.0, 1.0), 0.0, STEPS / 3.0, exempt=True),
        Scaled("g3", (Part(G, level=2),), (0.0, 1.0), 0.0, STEPS / 2.0, exempt=True),
        Scaled("x0", (Part(X[0]),), (-8.0, 8.0), 1.0, STEPS / 2.0),
        Scaled("x1:t", (Part(X[1]), Part(T)), (-8.0, 8.0), 0.0, STEPS / 2.0),
    )
    of = MomentsGrid(columns, STEPS)
    # of the two levels of g a row has one: the longer one counts, not the sum
    assert of.reserved == (STEPS // 8) ** 2 + (STEPS // 2) ** 2
    for t, g, a, b in product([0, 1], [1, 2, 3], [-8, 1, 8, np.nan, np.inf], [-8, 0, -np.inf]):
        rows = pl.DataFrame({"t": [t], "g": [g], "x0": [a], "x1": [b]}).cast(pl.Float64)
        matrix = _open(moment_sums(table(rows), of, MomentCells(), "replace-one"))
        diagonal = [0, *matrix][:: len(columns) + 2][1:]
        assert sum(diagonal) <= STEPS**2
        assert sum(diagonal[3:]) <= of.room


def test_the_guard_holds_for_perfect_squares_and_a_small_ball() -> None:
    for room in (4, 9, 16, 25, 1000, STEPS**2):
        steps = np.array([[3 * j, 4 * j] for j in range(1, 4000)], np.int64)
        _move(steps, np.zeros(2, bool), room)
        assert ((steps**2).sum(1) <= room).all()


def test_a_row_within_the_ball_is_as_it_was() -> None:
    of = replace(grid(STEPS), columns=grid(STEPS, radius=30.0).columns)
    assert of.moves_nobody
    x = np.array([1.5, -2.25, 8.0])
    (found,) = [sums([[1, *x]], of, MomentCells())]
    k = np.floor(x * STEPS / 30.0 + 0.5)
    expected = np.outer([STEPS, *k], [STEPS, *k]).ravel()
    assert found.tolist() == expected.astype(int).tolist()


def test_rows_beyond_one_chunk_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 2, 500), rng.normal(size=(500, 3))])
    at_once = sums(rows, grid(77), CELLS)
    monkeypatch.setattr("dprct.queries.ball._CHUNK", 64)
    assert (sums(rows, grid(77), CELLS) == at_once).all()


def test_matrices_come_back_as_twice_the_sums() -> None:
    for count in (True, False):
        of = grid(5, count=count)
        whole = np.arange(16).reshape(4, 4)
        back = of.matrix(np.array(of.vector(whole)), rows=0)
        assert back.tolist() == (whole + whole.T).tolist()


def test_what_a_grid_refuses() -> None:
    with pytest.raises(ParameterError, match="constant=0"):
        grid(0)
    with pytest.raises(ParameterError, match="no room"):
        MomentsGrid((Scaled("t", (Part(T),), (0.0, 1.0), 0.0, STEPS * 2.0, exempt=True),), 1)
    with pytest.raises(ParameterError, match="count=True"):
        moment_sums(frame([[0, 1, 1, 1]]), grid(1, count=False), CELLS, "replace-one")
    with pytest.raises(ParameterError, match="add-remove"):
        moment_sums(frame([[0, 1, 1, 1]]), grid(1), CELLS, "add-remove")
    with pytest.raises(SchemaError, match="'w' has no bounds"):
        Part(Column("w", **NEVER))
