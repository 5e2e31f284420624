"""Regressions of people whom private columns choose: exact, and as sensitive as proved."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import Part
from dprct.queries.kinds import Kinds
from dprct.queries.members import Members, OfPersons, _square
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


def test_squares_of_machine_numbers_are_exact() -> None:
    numbers = np.random.default_rng(5).integers(-(1 << 54), 1 << 54, (700, 5), endpoint=True)
    numbers[:, 0] = -(1 << 54)
    whole = numbers.astype(object)
    assert (_square(numbers) == (whole * whole).sum(axis=0)).all()


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
        order = np.argsort(data["cell"], kind="stable")  # rows are put in that of their cells
        np.testing.assert_array_equal(rows.chosen(one), meets(text, columns, len(data))[order])


def test_numbers_beyond_all_bounds_are_of_a_kind() -> None:
    kinds = Kinds.of(["age >= 30"], COLUMNS)
    data = pd.DataFrame({"y": 0.0, "age": [-1e300, 29.999, 30.0, 1e300, np.nan]})
    rows = read(data, PublicCells(1, np.zeros(5, np.int64)), kinds)
    one = score(np.random.default_rng(2), kinds.holds("age >= 30"))
    assert rows.chosen(one).tolist() == [False, False, True, True, False]


def test_too_many_kinds_are_refused() -> None:
    conditions = [f"age == {k} and female == {k}" for k in range(60)]
    with pytest.raises(ParameterError, match="kinds of people, at most"):
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
        g = rows.chosen(one)[np.argsort(np.argsort(cell, kind="stable"))]
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
    asked = [name for name in COLUMNS if any(name in text for text in conditions)]
    people = people.drop_duplicates(["y", *asked], ignore_index=True)
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


@pytest.mark.parametrize(("q", "loaded"), [(1, False), (2, False), (1, True)])
def test_no_person_moves_the_numbers_of_a_block_further(q: int, loaded: bool) -> None:
    rng, kinds, largest = np.random.default_rng(6), kinds_of(LEVELS[:1]), 0.0
    people = pd.DataFrame(PEOPLE, columns=["y", "female", "age", "town"])
    told = read(people, PublicCells(1, np.zeros(len(people), np.int64)), kinds)
    loads = np.array([GRID, GRID // 3, 7, GRID]) if loaded else None
    arms = np.diag(np.full(4, GRID) if loads is None else loads).astype(object)
    for here in range(4):
        one = replace(
            score(rng, kinds.holds(LEVELS[0]), q, twice=False, longest=here, loads=loads),
            blocks=np.array([0, 0, 1, 1]), more=arms * (FINEST // GRID), within=True,
        )  # fmt: skip
        assert len(one.of_residuals) == q + 2
        assert len(one.of_members) == q + 1 + 4
        _, l2_squared, most_of_one = Vector((one.effects,)).sensitivities
        found = []
        for person in range(len(people)):
            r = told.residuals(0)[[person, 3]].astype(np.int32)
            rows = ResidualRows([r], np.array([here, 1]), None, (), told.kinds[[person, 3]])
            found.append(np.array(_open(rows.effects([0], [one])), dtype=object))
        for x, y in itertools.combinations(found, 2):
            assert int(((x - y) ** 2).sum()) <= l2_squared
            assert int(max(abs(x - y))) <= most_of_one
            largest = max(largest, (int(((x - y) ** 2).sum()) / l2_squared) ** 0.5)
    assert largest > 0.99


@pytest.mark.parametrize(
    ("conditions", "reached"), [(LEVELS[:1], 0.99), (LEVELS, 0.99), (MIXED, 0.6)]
)
def test_classical_errors_of_members_are_one_number_that_a_person_moves_as_said(
    conditions: tuple[str, ...], reached: float
) -> None:
    """Who stays, comes, goes, or leaves one regression and joins another; a cell does not count."""
    rng, kinds, largest = np.random.default_rng(7), kinds_of(conditions), 0.0
    people = pd.DataFrame(PEOPLE, columns=["y", "female", "age", "town"])
    told = read(people, PublicCells(1, np.zeros(len(people), np.int64)), kinds)
    counted = np.array([True, True, False, True])
    for c in (GRID // 8, GRID, GRID // 8, 2 * GRID):
        cell = rng.permutation(4)[:3]
        others = rng.integers(0, len(people), 2)
        scores = [
            replace(score(rng, kinds.holds(text)), counted=counted, counts=counted)
            for text in conditions
        ]
        most, centre = [[c] * 4 for _ in scores], [[int(rng.choice([0, GRID]))] * 4] * len(scores)
        vector, found = Vector(tuple(s.squares([c] * 4) for s in scores)), []
        for person in range(len(people)):
            at = [person, *others]
            r = told.residuals(0)[at]
            rows = ResidualRows([r.astype(np.int32)], cell, None, (), told.kinds[at])
            which, joint = [0] * len(scores), [True] * len(scores)
            squares = _open(rows.squares(which, scores, centre, most, joint))
            clipped = np.clip(r - centre[0][0], -c, c) ** 2 * counted[cell]
            plain = [int(clipped[rows.chosen(one)].sum()) for one in scores]
            assert list(squares) == [x for s, v in zip(scores, plain, strict=True)
                                     for x in s.squares([c] * 4).rounded([v])]  # fmt: skip
            found.append(np.array(squares, dtype=object))
        _, l2_squared, most_of_one = vector.sensitivities
        for one, other in itertools.combinations(found, 2):
            square = int(((one - other) ** 2).sum())
            assert square <= l2_squared
            assert int(max(abs(one - other))) <= most_of_one
            largest = max(largest, (square / l2_squared) ** 0.5)
    assert largest > reached


# Cells 0 to 2 are those of persons of two rows and one, 3 and 4 of one row each, 5 of three.
PATTERNS = np.array([[0, 0, 1, 1, 2], [2, 1, 1, 1, 3]])
ROWS_OF = ([0, 0, 1], [2, 3], [4, 4, 4])


def of_persons(
    rng: np.random.Generator, holds: Any, q: int, *, twice: bool, longest: int, loads: Any = None
) -> OfPersons:
    """A score whose controls and functions of patterns are any, of patterns of unequal weights."""
    size = PATTERNS.shape[1]
    a, u = rng.normal(size=(q, size)), rng.normal(size=(2, size))
    a[:, PATTERNS[0] == longest] *= 5
    rows = np.bincount(PATTERNS[0], PATTERNS[1])[PATTERNS[0]]
    f = rng.uniform(-1, 1, (3, 3))[:, PATTERNS[0]] / rows
    a, u = (x / np.sqrt((x**2).sum(axis=0)).max() for x in (a, u))
    whole, controls, more = (np.rint(x * FINEST).astype(np.int64).astype(object) for x in (a, u, f))
    return OfPersons(
        GRID, whole, np.zeros(size, np.int64), True, loads, PATTERNS, holds=holds, twice=twice,
        more=more, counts=np.ones(size, bool), controls=controls,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("conditions", [LEVELS[:1], LEVELS[:2]])
def test_no_person_moves_a_vector_further_with_all_rows(
    conditions: tuple[str, ...], q: int
) -> None:
    """Outcomes and membership of all rows change; who has rows of two kinds is of none."""
    rng, kinds, largest = np.random.default_rng(8), kinds_of(conditions), np.zeros(2)
    loads = np.array([GRID, GRID // 3, 7, GRID, GRID // 2])
    for turn, (pattern, cell) in enumerate([*enumerate(ROWS_OF)] * 2):
        n = len(cell)
        values = [*itertools.product((-1.0, 3.0), (0.0, 1.0), repeat=n)]
        values = values if n < 3 else [x for x in values if len({*x[1::2]}) == 1] + values[::7]
        people = pd.DataFrame({
            "y": [y for one in values for y in one[::2]],
            "female": [g for one in values for g in one[1::2]],
        })  # fmt: skip
        told = read(people, PublicCells(1, np.zeros(len(people), np.int64)), kinds)
        scores = [
            of_persons(rng, kinds.holds(text), q, twice=len(conditions) > 1, longest=pattern,
                       loads=loads if turn > 2 else None)
            for text in conditions
        ]  # fmt: skip
        most = [[int(rng.choice([1, 9])) * GRID * FINEST] * q for _ in scores]
        centres = [[int(rng.choice([0, GRID, -GRID]))] * 5 for _ in scores]
        vectors = [
            Vector(tuple(s.effects for s in scores)),
            Vector(tuple(s.squares(c) for s, c in zip(scores, most, strict=True))),
        ]
        found, which = [], [0] * len(scores)
        for at in range(len(values)):
            own = slice(at * n, (at + 1) * n)
            rows = ResidualRows(
                [told.residuals(0)[own].astype(np.int32)], np.array(cell), np.zeros(n, np.int64),
                (), told.kinds[own], owner=np.zeros(n, np.int64),
            )  # fmt: skip
            assert all(len({*rows.chosen(s).tolist()}) == 1 for s in scores)
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
    assert (largest > (0.85, 0.6)).all(), largest


def secret(
    arms: Any, *, weighing: bool = False, clusters: bool = False, twice: bool = False,
    holds: Any = None, centre: Any = (), loads: Any = None,
) -> Members:  # fmt: skip
    """A score of private treatment: columns of ``arms`` are the weights of one place after another.

    As of shares p and 1 - p they are -1 / (1 - p) and 1 / p.
    """
    a = np.array(arms, float)
    a = a[None] if a.ndim == 1 else a
    whole = np.rint(a / np.sqrt((a**2).sum(axis=0)).max() * FINEST).astype(np.int64)
    size = a.shape[1]
    return Members(
        GRID, whole.astype(object), np.zeros(size, np.int64), clusters, loads, holds=holds,
        twice=twice, more=np.zeros((0, size), object), counts=np.ones(size, bool),
        arms=2 if size in (2, 4) else 3, weighing=0 if weighing else None, centre=centre,
    )  # fmt: skip


def of_share(p: float) -> list[float]:
    return [-1 / (1 - p), 1 / p]


SECRETS: list[tuple[list[Any], bool]] = [
    (of_share(0.5), False), (of_share(0.3), False), (of_share(0.05), True),
    (of_share(0.5) + of_share(0.2), True),  # two places
    ([[-3.0, 1.5, 1.5], [0.0, -3.0, 3.0]], False),  # three arms
]  # fmt: skip


@pytest.mark.parametrize("weighing", [False, True])
@pytest.mark.parametrize("clusters", [False, True])
def test_sums_of_private_arms_and_weights_are_exact(weighing: bool, clusters: bool) -> None:
    rng = np.random.default_rng(8)
    r = rng.integers(-GRID, GRID + 1, 200).astype(np.int32)
    u = rng.integers(0, GRID + 1, 200)
    cell, village = rng.integers(0, 4, 200), np.arange(200) // 5
    centre = [5, -1000, 0, 70000]
    one = secret(of_share(0.5) + of_share(0.2), weighing=weighing, clusters=clusters, centre=centre)
    rows = ResidualRows([r], cell, village, [(2 * u - GRID).astype(np.int32)], None, "replace-one")
    g = u if weighing else np.ones(200, int)
    whole = [
        sum(int(row[c]) * int(x) * int(v) for c, x, v in zip(cell, values, g, strict=True))
        for part, values in ((one.of_residuals, r), (one.of_members, np.ones_like(r)))
        for row in part
    ]
    assert list(_open(rows.effects([0], [one]))) == one.effects.rounded(whole)
    e = [int(x) - centre[c] for x, c in zip(r, cell, strict=True)]
    if weighing:
        e = [(x * int(v) + GRID // 2) // GRID for x, v in zip(e, u, strict=True)]
    a, most = one.weights[0], [GRID * FINEST // 2] if clusters else [GRID // 2] * 4
    found = 0
    if clusters:
        for v in np.unique(village):
            total = sum(int(a[cell[i]]) * e[i] for i in np.flatnonzero(village == v))
            found += min(max(total, -most[0]), most[0]) ** 2
    else:
        clipped = [min(max(x, -most[0]), most[0]) for x in e]
        found = sum(int(a[c]) ** 2 * x**2 for c, x in zip(cell, clipped, strict=True))
    sealed = rows.squares([0], [one], [centre], [most], [not clusters])
    assert sealed.relation == "replace-one"
    assert list(_open(sealed)) == one.squares(most, joint=not clusters).rounded([found])


def moved_by_one(one: Members, weighing: bool, clusters: bool, rng: Any) -> Any:
    """The largest moves of effects and squares over their claims, of all pairs of one person."""
    places, b, size = one.weights.shape[1] // one.arms, one.reach, one.weights.shape[1]
    others, of_others, c = np.zeros(0, int), np.zeros(0, int), GRID
    if clusters:
        # others whose sum and the person's largest together are at the clip, or a clip below all
        m = [int(x) for x in one.centre] or [0] * size
        ends = [[int(a) * (end - x) for a, x in zip(one.weights[0], m, strict=True)]
                for end in (b, -b)]  # fmt: skip
        others = rng.integers(0, size, int(rng.integers(0, 3)))
        of_others = np.array([b if ends[0][o] > 0 else -b for o in others], int)
        c = max(map(max, ends)) + sum(max(ends[0][o], ends[1][o]) for o in others)
        c = c if len(others) else c // 4
    most = [c] * (one.size if clusters else size)
    vectors = [Vector((one.effects,)), Vector((one.squares(most, joint=not clusters),))]
    largest = np.zeros(2)
    for place in range(places):
        found = []
        weights = (0, GRID // 3, GRID) if weighing else (GRID,)
        for arm, r, u in itertools.product(range(-1, one.arms), (-b, 0, b), weights):
            cell = [place * one.arms + arm if arm >= 0 else -1, *others]
            rows = ResidualRows(
                [np.array([r, *of_others], np.int32)], np.array(cell), np.zeros(len(cell), int),
                [np.array([2 * u - GRID] + [GRID] * len(others), np.int32)],
            )  # fmt: skip
            centre = list(one.centre) or [0] * one.weights.shape[1]
            found.append([np.array(_open(sums), dtype=object) for sums in (
                rows.effects([0], [one]),
                rows.squares([0], [one], [centre], [most], [not clusters]),
            )])  # fmt: skip
        for x, y in itertools.combinations(found, 2):
            for at, vector in enumerate(vectors):
                move = x[at] - y[at]
                l1, l2_squared, most_of_one = vector.sensitivities
                assert int((move * move).sum()) <= l2_squared
                assert int(abs(move).sum()) <= l1
                assert int(max(abs(move))) <= most_of_one
                largest[at] = max(largest[at], (int((move * move).sum()) / l2_squared) ** 0.5)
    return largest


@pytest.mark.parametrize("weighing", [False, True])
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize(("arms", "loaded"), SECRETS)
def test_no_person_moves_private_arms_and_weights_further(
    arms: Any, loaded: bool, weighing: bool, clusters: bool
) -> None:
    """A person's outcome, arm, weight and membership change; the place and cluster are public."""
    rng = np.random.default_rng(9)
    size = np.array(arms).shape[-1]
    loads = None
    if loaded:
        loads = np.full(size, GRID)
        loads[size // 2 :] = GRID // 3 if size == 4 else GRID
    largest = np.zeros(2)
    for turn in range(3 if clusters else 1):
        level = (0.3, -1.0, 0.8)[turn]
        one = secret(
            arms, weighing=weighing, clusters=clusters, twice=False, loads=loads,
            centre=[round(level * GRID)] * size,
        )  # fmt: skip
        largest = np.maximum(largest, moved_by_one(one, weighing, clusters, rng))
    assert (largest > (0.6 if size == 3 else 0.97)).all(), largest


def test_a_person_may_change_the_level_and_the_arm_at_once() -> None:
    one = secret(of_share(0.3), twice=True)
    numbers = np.vstack([one.of_residuals, one.of_members])
    goes = max(
        one.reach**2 * int((numbers[:2, c] ** 2).sum()) + int((numbers[2:, c] ** 2).sum())
        for c in range(2)
    )
    assert 2 * goes <= int(one.effects.lengths[0])
    assert 2 * goes > 0.99 * int(one.effects.lengths[0])


def test_a_clip_of_clusters_by_public_arms_would_be_too_little() -> None:
    """f(2 b a) of public treatment is less than what a person whose arm changes moves."""
    level = round(0.3 * GRID)
    one = secret(of_share(0.5), clusters=True, centre=[level, level])
    moved = moved_by_one(one, False, True, np.random.default_rng(2))
    assert moved[1] <= 1
    assert int(one._between()[0, 0]) > 1.25 * 2 * one.reach * FINEST


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
