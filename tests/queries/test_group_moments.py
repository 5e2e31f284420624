"""Sums within a ball: what one record can move them by, searched; and that nothing leaves it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import (
    STEPS,
    MomentCells,
    MomentsGrid,
    Part,
    Scaled,
    _move,
    moment_sums,
)
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


@pytest.mark.parametrize("per_unit", [0.0, -1.0, np.inf, np.nan, 1e308])
def test_steps_that_no_double_holds_are_refused_in_every_layout(per_unit: float) -> None:
    """A fit could end in an error that tells a value at the centre from any other."""
    with pytest.raises(ParameterError, match="has steps that no double holds"):
        Scaled("x0", (Part(X[0]),), (-8.0, 8.0), 0.0, per_unit)


CELLS = MomentCells(treatment=("t",), values=((0.0,), (1.0,)))


@pytest.mark.long
@pytest.mark.parametrize("constant", [1, STEPS // 3, STEPS // 2, STEPS])
@pytest.mark.parametrize("other_group", [False, True])
def test_no_neighbour_moves_the_sums_further_and_some_as_far(
    constant: int, other_group: bool
) -> None:
    of = grid(constant)
    rng = np.random.default_rng(constant + other_group)
    base = [[0, 0.3, -1, 2], [1, 5, 5, 5]]
    largest = 0
    for one in range(30):
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


def test_the_number_of_moved_rows_is_exact_and_moves_as_far_as_is_said() -> None:
    of = replace(grid(STEPS // 2), clipped=STEPS**2 // 4)
    rows = [[0, 9, 0, 0], [1, 1, 1, 1], [1, 2, 2, 0], [5, 8, 8, 8], [0, 0, -2.5, 0]]
    found = sums(rows, of, CELLS)
    assert len(found) == of.numbers(2)
    # the fourth is in no group, and the second within the ball of radius 2
    assert found[-2:].tolist() == [2 * of.clipped, of.clipped]
    without = sums(rows, grid(STEPS // 2), CELLS)
    assert found[:-2].tolist() == without.tolist()
    # one outside in a group, and one outside in another
    moved = found - sums([[1, 0, 9, 0], *rows[1:]], of, CELLS)
    distance = sum(int(cell) ** 2 for cell in moved)
    assert 0.999 < distance / of.l2_squared <= 1
    assert sum(abs(int(cell)) for cell in moved) <= of.l1
    assert max(abs(int(cell)) for cell in moved) <= of.l_inf
    assert of.l2_squared - grid(STEPS // 2).l2_squared == 2 * of.clipped**2


def test_all_rows_of_a_unit_that_is_outside_are_moved() -> None:
    of = replace(grid(STEPS // 2), rows=2, clipped=3)
    rows = frame([[0, 1.9, 0, 0], [0, 0.1, 0, 0], [1, 1.9, 0, 0], [0, 1.9, 0, 0]])
    rows = rows.with_columns(unit=nw.Series.from_iterable("unit", [4, 5, 5, 4], backend="polars"))
    found = _open(moment_sums(rows, of, CELLS, "replace-one", "unit"))
    assert found[-2:].tolist() == [2 * of.clipped, 0]
    assert of.l2_squared == 2 * (2 * of.constant**2 + STEPS**2) ** 2 + 2 * 6**2


def units(rows: Any, of: list[int]) -> Any:
    return frame(rows).with_columns(unit=nw.Series.from_iterable("unit", of, backend="polars"))


def less_means(constant: int, rows: int) -> MomentsGrid:
    """The second and third column lose the means of their units."""
    first, *others = grid(constant, radius=12.0).columns
    return MomentsGrid(
        (first, *(replace(one, within=True) for one in others)), constant, True, rows
    )


def test_means_of_units_are_taken_away_in_whole_numbers() -> None:
    """Deviations are those of exact fractions, rounded to the nearest step, halves up."""
    of, rng = less_means(STEPS // 2, 5), np.random.default_rng(6)
    owner = [*range(40), *rng.integers(0, 12, 60).tolist()]
    owner = [one for place, one in enumerate(owner) if owner[:place].count(one) < 5]
    rows = np.column_stack([np.zeros(len(owner)), rng.uniform(-1.5, 1.5, (len(owner), 3))])
    found = _open(moment_sums(units(rows, owner), of, MomentCells(), "replace-one", "unit"))
    steps = [[round_half_up(Fraction(float(x)) * STEPS / 12) for x in row[1:]] for row in rows]
    for j in (1, 2):
        means = {
            one: Fraction(sum(k[j] for k, o in zip(steps, owner, strict=True) if o == one))
            / owner.count(one)
            for one in owner
        }
        for k, one in zip(steps, owner, strict=True):
            k[j] = round_half_up(k[j] - means[one])
    r = np.array([[of.constant, *k] for k in steps], dtype=object)
    assert [int(cell) for cell in found] == (r.T @ r).ravel().tolist()


def round_half_up(number: Fraction) -> int:
    return (2 * number.numerator + number.denominator) // (2 * number.denominator)


@pytest.mark.long
@pytest.mark.parametrize("constant", [1, STEPS // 4, STEPS])
def test_no_unit_moves_sums_without_its_means_further_and_some_as_far(constant: int) -> None:
    of, rng = less_means(constant, 2), np.random.default_rng(constant)
    rest = [[0, 1, 2, 3], [1, 0.5, 0, 1]]
    largest = 0
    for one in range(60):
        pair = []
        for sign in (1, -1):
            both = rng.normal(size=(2, 4)) * 10.0 ** rng.integers(-2, 3)
            if one % 2:  # two rows that differ as much as the bounds let them, in turn
                far = 12 / np.sqrt(2)
                both = np.zeros((2, 4))
                both[:, 2 + (sign > 0)] = -far, far
                both[:, 2:] = both[:, 2:].clip(-8, 8)
            both[:, 0] = one % 3 > 0, one % 5 > 0  # of either group
            pair.append(units([*rest, *both], [1, 2, 3, 3]))
        moved = [
            np.array(_open(moment_sums(rows, of, CELLS, "replace-one", "unit")), dtype=object)
            for rows in pair
        ]
        away = [int(cell) for cell in moved[0] - moved[1]]
        assert sum(cell**2 for cell in away) <= of.l2_squared
        assert max(map(abs, away)) <= of.l_inf
        assert sum(map(abs, away)) <= of.l1
        largest = max(largest, sum(cell**2 for cell in away))
    assert constant > 1 or largest > 0.7 * of.l2_squared


def test_what_cannot_lose_the_mean_of_its_unit_is_refused() -> None:
    of = less_means(STEPS, 2)
    with pytest.raises(ParameterError, match="row has no deviations"):
        replace(of, rows=1)
    # a number of a range deviates from a mean by half of it, in the root mean square of a unit
    assert of.columns[1].reach == of.columns[0].reach + 1
    # far from 0 and on a fine scale, nothing overflows
    wide = Column("x0", bounds=(-8e9, 8e9), **NEVER)
    fine = Scaled("x0", (Part(wide),), (-8e9, 8e9), 0.0, 1e3, within=True)
    big = MomentsGrid((fine,), STEPS, True, 2)
    rows = units([[0, 8e9, 0, 0], [0, 8e9, 0, 0], [0, -8e9, 0, 0], [0, 8e9, 0, 0]], [1, 1, 2, 2])
    found = _open(moment_sums(rows, big, MomentCells(), "replace-one", "unit"))
    assert found[-1] <= 2 * STEPS**2
    assert found[1] == found[2] == 0


def test_a_weight_makes_no_row_longer_and_the_sums_weighted() -> None:
    part = Part(Column("t", bounds=(0.0, 4.0), **NEVER))
    of = replace(grid(STEPS // 2, radius=30.0), weight=part)
    rng = np.random.default_rng(8)
    rows = np.column_stack([rng.uniform(0, 4, 40), rng.normal(size=(40, 3)) * 3])
    rows[:2, 0] = 0.0, 9.0  # of no weight, and clipped to the largest
    (found,) = [np.reshape(sums(rows, of, MomentCells()), (4, 4)).astype(float)]
    r = np.column_stack([np.full(40, of.constant), rows[:, 1:] * STEPS / 30])
    expected = (r * (rows[:, :1].clip(0, 4) / 4)).T @ r
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e6)
    # of any weight a row has at most the length that it had, to the last bit
    for weight in (0.0, 1e-9, 0.5, 3.999999999, 4.0):
        one = sums([[weight, 8.0, -8.0, 8.0]], replace(of, columns=grid(1).columns), MomentCells())
        assert np.reshape(one, (4, 4)).trace() <= of.constant**2 + STEPS**2
        assert np.square(one.astype(float)).sum() <= of.l2_squared / 2
    with pytest.raises(ParameterError, match="count=True"):
        replace(of, count=False)
    with pytest.raises(ParameterError, match="0 or above"):
        replace(of, weight=Part(Column("t", bounds=(-1.0, 4.0), **NEVER)))


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
        steps = np.array([[3.0 * j, 4.0 * j] for j in range(1, 4000)]).T
        _move(steps, np.arange(2), room)
        assert ((steps**2).sum(0) <= room).all()


def test_a_row_within_the_ball_is_as_it_was() -> None:
    of = replace(grid(STEPS), columns=grid(STEPS, radius=30.0).columns)
    assert of.projects_nobody
    x = np.array([1.5, -2.25, 8.0])
    (found,) = [sums([[1, *x]], of, MomentCells())]
    k = np.floor(x * STEPS / 30.0 + 0.5)
    expected = np.outer([STEPS, *k], [STEPS, *k]).ravel()
    assert found.tolist() == expected.astype(int).tolist()


def test_rows_beyond_one_chunk_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 2, 500), rng.normal(size=(500, 3))])
    at_once = sums(rows, grid(77), CELLS)
    monkeypatch.setattr("dprct.queries.group_moments._CHUNK", 64)
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
    with pytest.raises(ParameterError, match="clipped=-1"):
        replace(grid(1), clipped=-1)
    with pytest.raises(ParameterError, match="no room"):
        MomentsGrid((Scaled("t", (Part(T),), (0.0, 1.0), 0.0, STEPS * 2.0, exempt=True),), 1)
    with pytest.raises(ParameterError, match="count=True"):
        moment_sums(frame([[0, 1, 1, 1]]), grid(1, count=False), CELLS, "replace-one")
    with pytest.raises(ParameterError, match="add-remove"):
        moment_sums(frame([[0, 1, 1, 1]]), grid(1), CELLS, "add-remove")
    with pytest.raises(SchemaError, match="'w' has no bounds"):
        Part(Column("w", **NEVER))
