"""Regressions of people whom private columns choose: exact, and as sensitive as proved."""

from __future__ import annotations

import itertools
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries import Part
from dprct.queries.kinds import Kinds
from dprct.queries.members import Members
from dprct.queries.one_step import (
    FINEST,
    PublicCells,
    Residual,
    ResidualRows,
    Score,
    Vector,
    most_together,
)
from dprct.queries.sums import GRID, Combinations
from dprct.schema import Column
from dprct.schema.conditions import meets
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
Y = Column("y", bounds=(-1.0, 3.0), **NEVER)
COLUMNS = {
    "female": Column("female", "byte", levels=(0.0, 1.0), missing=(".",)),
    "age": Column("age", bounds=(0.0, 99.0), missing=(".",)),
    "town": Column("town", "str4", levels=("a", "b", "c"), missing=()),
}
LEVELS = ("female == 1", "female == 0", "missing(female)")
MIXED = (
    "female == 1", "female == 1 and age >= 30 and age < 50", "age < 30 or missing(age)",
    "town == 'a' and (not female == 1)",
)  # fmt: skip


def frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    cell = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "y": rng.uniform(-2, 4, n), "cell": cell * 1.0, "village": (cell + 4) * 1.0,
            "female": rng.choice([0.0, 1.0, np.nan], n),
            "age": rng.choice([10.0, 30.0, 40.0, 50.0, np.nan], n),
            "town": rng.choice(["a", "b", "c", ""], n),
        }
    )  # fmt: skip


def cells_of(data: pd.DataFrame) -> PublicCells:
    return PublicCells(4, data["cell"].to_numpy(np.int64), data["village"].to_numpy(np.int64))


def kinds_of(conditions: tuple[str, ...]) -> Kinds:
    return Kinds.of(conditions, COLUMNS)


def score(
    rng: np.random.Generator, holds: Any, q: int = 1, *, twice: bool = True,
    clusters: bool = False, more: int = 0, longest: int = -1, loads: Any = None,
) -> Members:  # fmt: skip
    weights = rng.normal(size=(q, 4))
    weights[:, longest] *= 9 if longest >= 0 else 1
    whole = np.rint(weights / np.sqrt((weights**2).sum(axis=0)).max() * FINEST)
    others = rng.uniform(-1, 1, (more, 4))
    others /= np.abs(others).max(axis=1, keepdims=True) if more else 1
    return Members(
        GRID, whole.astype(np.int64).astype(object), np.zeros(4, np.int64), clusters, loads,
        holds=holds, twice=twice, more=np.rint(others * FINEST).astype(np.int64).astype(object),
        counts=np.ones(4, bool),
    )  # fmt: skip


def read(data: Any, cells: PublicCells, kinds: Kinds | None) -> ResidualRows:
    return ResidualRows.of(table(data), [Residual(Part(Y))], cells, (), kinds)


def plain_residuals(data: pd.DataFrame) -> Any:
    k = np.floor((data["y"].clip(-1, 3) + 1) / (4 / GRID) + 0.5).astype(int)
    return (2 * k - GRID).to_numpy()


@pytest.mark.parametrize("conditions", [LEVELS, MIXED])
def test_kinds_meet_the_conditions_that_their_rows_meet(conditions: tuple[str, ...]) -> None:
    data = frame(np.random.default_rng(1), 400)
    kinds = kinds_of(conditions)
    rows = read(data, cells_of(data), kinds)
    for text in conditions:
        one = score(np.random.default_rng(2), kinds.holds(text))
        columns = {n: data[n].to_numpy(object if n == "town" else float) for n in COLUMNS}
        np.testing.assert_array_equal(rows.chosen(one), meets(text, columns, len(data)))


def test_numbers_beyond_all_bounds_are_of_a_kind() -> None:
    kinds = Kinds.of(["age >= 30"], COLUMNS)
    data = pd.DataFrame({"y": 0.0, "age": [-1e300, 29.999, 30.0, 1e300, np.nan]})
    rows = read(data, PublicCells(1, np.zeros(5, np.int64)), kinds)
    one = score(np.random.default_rng(2), kinds.holds("age >= 30"))
    assert rows.chosen(one).tolist() == [False, False, True, True, False]


def test_too_many_kinds_are_refused() -> None:
    conditions = [f"age == {k} and female == {k}" for k in range(60)]
    with pytest.raises(ParameterError, match="kinds of people apart"):
        Kinds.of(conditions, COLUMNS)


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("loads", [None, np.array([GRID, GRID // 3, 7, GRID])])
def test_effects_and_squares_are_exact(clusters: bool, loads: Any) -> None:
    rng = np.random.default_rng(3)
    data, kinds = frame(rng, 300), kinds_of(MIXED)
    if loads is not None and clusters:
        return
    r, cell = plain_residuals(data), data["cell"].to_numpy(int)
    rows = read(data, cells_of(data), kinds)
    for at, text in enumerate(MIXED):
        one = score(rng, kinds.holds(text), 2, clusters=clusters, more=at % 2, loads=loads)
        g = rows.chosen(one)
        whole = [
            sum(int(row[c]) * int(x) for c, x in zip(cell[g], values[g], strict=True))
            for part, values in ((one.of_residuals, r), (one.of_members, np.ones_like(r)))
            for row in part
        ]
        assert list(_open(rows.effects([0], [one]))) == one.effects.rounded(whole)
        most, centre = [GRID // 2 * (c + 1) for c in range(4)], [5, -1000, 0, 70000]
        e = r - np.array(centre)[cell]
        found = [0] * len(one.pairs)
        member = data["village"].to_numpy() if clusters else np.arange(len(data))
        for i in np.unique(member[g]):
            here = g & (member == i)
            (c,) = set(cell[here])
            total = int(np.clip(e[here].sum(), -most[c], most[c]))
            for place, (j, k) in enumerate(one.pairs):
                found[place] += int(one.weights[j, c]) * int(one.weights[k, c]) * total**2
        squares = _open(rows.squares([0], [one], [centre], [most], [True]))
        assert list(squares) == one.squares(most).rounded(found)


@pytest.mark.parametrize("kind", ["polars", "lazy", "duckdb"])
def test_every_engine_has_the_same_numbers(kind: str) -> None:
    rng = np.random.default_rng(4)
    data, kinds = frame(rng, 300), kinds_of(MIXED)
    scores = [score(rng, kinds.holds(text)) for text in MIXED]
    which = [0] * len(scores)
    wanted = _open(read(data, cells_of(data), kinds).effects(which, scores))
    cells = cells_of(data)
    other: Any = pl.from_pandas(data)
    if kind != "polars":
        keys = data[["cell", "village"]].drop_duplicates().reset_index(drop=True)
        places = {tuple(map(float, key)): at for at, key in enumerate(keys.to_numpy())}
        few = cells_of(keys)
        cells = PublicCells(4, few.codes, few.clusters, Combinations(("cell", "village"), places))
        other = other.lazy()
    if kind == "duckdb":
        other = duckdb.connect().from_arrow(pl.from_pandas(data).to_arrow())
    assert list(_open(read(other, cells, kinds).effects(which, scores))) == list(wanted)


PEOPLE = [
    (y, female, age, town)
    for y in (-1.0, 3.0)
    for female in (0.0, 1.0, np.nan)
    for age in (10.0, 40.0, np.nan)
    for town in ("a", "b")
]


@pytest.mark.long
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize(
    ("conditions", "reached"),
    [(LEVELS[:1], (0.97, 0.97)), (LEVELS, (0.97, 0.97)), (MIXED, (0.8, 0.6))],
)
def test_no_person_moves_a_vector_further_and_some_as_far(
    clusters: bool, conditions: tuple[str, ...], reached: tuple[float, float]
) -> None:
    """A person's outcome and private columns change; arm, block and cluster are public."""
    rng = np.random.default_rng(5)
    kinds, largest = kinds_of(conditions), np.zeros(2)
    people = pd.DataFrame(PEOPLE, columns=["y", "female", "age", "town"])
    told = read(people, PublicCells(1, np.zeros(len(people), np.int64)), kinds)
    for turn in range(8):
        # the first row is a person who may be any of these; one or two others stay as they are
        others = rng.integers(0, len(people), 2 if clusters else 1)
        cell = rng.integers(0, 4, 1 + len(others))
        cell = np.full_like(cell, cell[0]) if clusters else cell
        here, one_village = int(cell[0]), np.zeros(len(cell), np.int64)
        loads = None if turn % 3 else np.array([GRID, GRID // 3, 7, GRID])
        scores: list[Score] = [
            score(rng, kinds.holds(text), 1 + turn % 2, twice=len(conditions) > 1,
                  clusters=clusters, more=turn % 2, longest=here, loads=loads)
            for text in conditions
        ]  # fmt: skip
        if turn % 4 == 3:  # a regression of everybody beside them
            scores.append(Score(GRID, scores[0].weights, scores[0].blocks, clusters))
        c = int(rng.choice([GRID // 8, 2 * GRID, 9 * GRID] if clusters else [GRID // 8, 2 * GRID]))
        most = [[c] * 4 for _ in scores]
        centres = [[int(rng.choice([0, GRID, -GRID]))] * 4 for _ in scores]
        vectors = [
            Vector(tuple(s.effects for s in scores)),
            Vector(tuple(s.squares(c) for s, c in zip(scores, most, strict=True))),
        ]
        found, which = [], [0] * len(scores)
        for person in range(len(people)):
            at = [person, *others]
            rows = ResidualRows(
                [told.residuals(0)[at].astype(np.int32)], cell, one_village, (), told.kinds[at]
            )
            found.append([
                np.array(_open(sums), dtype=object) for sums in (
                    rows.effects(which, scores),
                    rows.squares(which, scores, centres, most, [True] * len(scores)),
                )
            ])  # fmt: skip
        for one, other in itertools.combinations(found, 2):
            for at, vector in enumerate(vectors):
                moved = one[at] - other[at]
                l1, l2_squared, most_of_one = vector.sensitivities
                square = int((moved * moved).sum())
                assert square <= l2_squared
                assert int(abs(moved).sum()) <= l1
                assert int(max(abs(moved))) <= most_of_one
                largest[at] = max(largest[at], (square / l2_squared) ** 0.5)
    assert (largest > reached).all(), largest


def test_levels_of_a_partition_cost_as_one() -> None:
    rng, kinds = np.random.default_rng(6), kinds_of(LEVELS)
    weights = score(rng, kinds.holds(LEVELS[0])).weights
    every = [
        Members(GRID, weights, np.zeros(4, np.int64), holds=kinds.holds(text), twice=True,
                more=np.zeros((0, 4), object), counts=np.ones(4, bool))
        for text in LEVELS
    ]  # fmt: skip
    one = Vector((every[0].effects,)).sensitivities[1]
    assert Vector(tuple(x.effects for x in every)).sensitivities[1] == one
    most = [GRID] * 4
    single = Vector((every[0].squares(most),)).sensitivities[1]
    assert Vector(tuple(x.squares(most) for x in every)).sensitivities[1] == 2 * single


def test_of_more_kinds_than_pairs_can_be_looked_at_everything_may_move() -> None:
    holds = [np.array([k >> at & 1 for k in range(128)], bool) for at in range(7)]
    moved = [np.array([1, 2])] * 7
    assert most_together(moved, holds, both=True) == 14
    assert most_together(moved, holds, both=False) == 14
