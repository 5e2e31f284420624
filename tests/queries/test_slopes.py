"""Products of treatment and covariates: sums that are exact, and as sensitive as proved."""

from __future__ import annotations

import itertools
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.queries.group_moments import Part
from dprct.queries.kinds import Kinds
from dprct.queries.one_step import (
    ALONE,
    FINEST,
    Feature,
    Gram,
    PublicCells,
    Residual,
    ResidualRows,
    Vector,
)
from dprct.queries.slopes import Influence, Slopes
from dprct.queries.sums import GRID
from dprct.schema import Column
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
Y = Column("y", bounds=(-1.0, 3.0), **NEVER)
X = Column("x", bounds=(-2.0, 6.0), **NEVER)
F = Column("f", "byte", levels=(0.0, 1.0), **NEVER)
AGE = Feature((Part(X),), (-2.0, 6.0))
FEMALE = Feature((Part(F),), (0.0, 1.0), True)
TERMS = ((0, ALONE), (1, ALONE), (0, 0), (0, 1), (1, 1))


def score(rng: Any, clusters: bool = False, terms: Any = TERMS, reach: int = GRID) -> Slopes:
    found = rng.normal(size=(2, 3))
    found /= np.sqrt((found**2).sum(axis=0)).max()
    whole = np.rint(found * FINEST).astype(np.int64).astype(object)
    return Slopes(reach, whole, np.array([0, 0, 1]), clusters, terms=terms, features=(0, 1))


def frame(rng: Any, n: int) -> pd.DataFrame:
    return pd.DataFrame({
        "y": rng.uniform(-1, 3, n), "x": rng.uniform(-2, 6, n), "f": rng.integers(0, 2, n) * 1.0,
        "cell": rng.integers(0, 3, n), "g": rng.integers(0, 6, n),
    })  # fmt: skip


def read(data: Any, of: pd.DataFrame) -> ResidualRows:
    cells = PublicCells(3, of["cell"].to_numpy(np.int64), of["g"].to_numpy(np.int64))
    return ResidualRows.of(table(data), [Residual(Part(Y))], cells, [AGE, FEMALE])


def influence(rng: Any, terms: Any = TERMS, own: Any = (1.0, 1.0, 1.0)) -> Influence:
    q = len(terms)
    return Influence(
        terms, rng.normal(size=(2, 3)), np.array(own), rng.normal(size=(q, 3)) * GRID,
        rng.normal(size=(q, q)) * GRID / 4, np.full(q, 0.7),
    )  # fmt: skip


def test_sums_are_those_of_the_rows_in_memory_and_in_an_engine() -> None:
    rng = np.random.default_rng(1)
    data = frame(rng, 60)
    one, law = score(rng), influence(rng, own=(1.0, 0.3, 0.8))
    r = np.floor((data["y"] + 1) * GRID / 4 + 0.5).to_numpy() * 2 - GRID
    u = [np.floor((data["x"] + 2) / (8 / GRID) + 0.5).to_numpy() * 2 - GRID,
         data["f"].to_numpy() * 2 * GRID - GRID]  # fmt: skip
    t = one.weights[:, data["cell"]]
    by = [np.full(60, GRID) if j == ALONE else u[j] for _, j in TERMS]
    wanted = [sum(int(a) * int(x) * int(y) for a, x, y in zip(t[k], b, r, strict=True))
              for (k, _), b in zip(TERMS, by, strict=True)]  # fmt: skip
    wanted += [one.weight(k) * sum(int(a) * int(x) for a, x in zip(t[k], u[j], strict=True))
               for k, j in one.levels_of]  # fmt: skip
    gram = Gram((0, 1), (False, True), np.array([GRID, 0, 7]))
    v = gram.loads[data["cell"]].astype(object)
    x, f = ([int(one) for one in row] for row in u)
    of_u = [int(sum(v * a)) for a in (GRID * np.array([x, f], object)).tolist()]
    of_u += [int(sum(v * np.array(x, object) * b)) for b in (x, f)]
    found = []
    for rows in (read(data, data), read(pl.from_pandas(data), data)):
        assert one.effect_sums(rows, 0) == wanted
        assert sorted(gram.sums(rows)) == sorted(of_u)
        assert len(gram.entries) == 4
        found.append(one.square_sums(rows, 0, law, [GRID] * 5, True))
    assert found[0] == found[1]
    q = law.of(r, [x / GRID for x in u], data["cell"].to_numpy(), [GRID] * 5)
    assert found[0] == [int((q[j] * q[k]).sum()) for j in range(5) for k in range(j, 5)]
    assert max(abs(x).max() for x in q) == GRID


def changes(rng: Any, grouped: bool) -> Any:
    """Rows of which one is replaced within its cell by another legal one, ends first."""
    data = frame(rng, 5)
    if grouped:
        data["g"] = 0
    ends = list(itertools.product((-1.0, 3.0), (-2.0, 6.0), (0.0, 1.0)))
    for one, other in itertools.product(ends, ends):
        first, second = data.copy(), data.copy()
        first.loc[0, ["y", "x", "f"]], second.loc[0, ["y", "x", "f"]] = one, other
        yield first, second


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("terms", [TERMS, ((0, ALONE), (1, ALONE), (0, 0))])
def test_no_pair_of_neighbours_moves_them_by_more_and_some_by_as_much(
    clusters: bool, terms: Any
) -> None:
    rng = np.random.default_rng(4)
    one = score(rng, clusters, terms)
    law = influence(rng, terms)
    most = [GRID // 3 if clusters else GRID] * len(terms)
    gram = Gram((0, 1), (False, True), np.array([GRID, 5, GRID // 3]))
    parts = (one.effects, one.squares(most), gram.on_grid)
    largest = np.zeros(3)
    for first, second in changes(rng, clusters):
        moved = []
        for data in (first, second):
            rows = read(data, data)
            moved.append((
                one.effect_sums(rows, 0), one.square_sums(rows, 0, law, most, True),
                gram.sums(rows),
            ))  # fmt: skip
        cell = int(first.loc[0, "cell"])
        for i, (part, a, b) in enumerate(zip(parts, *moved, strict=True)):
            d = [abs(x - y) for x, y in zip(a, b, strict=True)]
            limits = [int(x) for x in part.reach[:, cell]]
            assert all(x <= y for x, y in zip(d, limits, strict=True))
            whole = sum(x * x for x in part.reach[:, cell])
            limit = whole if part.lengths is None else min(whole, int(part.lengths[cell]))
            square = sum(x * x for x in d)
            assert square <= limit
            largest[i] = max(largest[i], square / limit)
            grid = [x - y for x, y in zip(part.rounded(a), part.rounded(b), strict=True)]
            assert sum(x * x for x in grid) <= part.squared[cell]
    assert largest[0] > 0.999999  # the bound of the effects is attained
    assert largest[1] > 0.05
    assert largest[2] > 0.6  # of a heavy cell and of a light one


MEMBER = Column("m", "byte", levels=(0.0, 1.0), **NEVER)
WEIGHT = Feature((Part(Column("v", bounds=(0.0, 4.0), **NEVER)),), (0.0, 4.0))


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("weighing", [None, 2])
def test_who_comes_or_goes_or_has_another_weight_moves_them_no_further(
    clusters: bool, weighing: int | None
) -> None:
    rng, kinds = np.random.default_rng(6), Kinds.of(("m == 1",), {"m": MEMBER})
    data = frame(rng, 6).assign(m=1.0, v=rng.uniform(0, 4, 6), g=0, cell=1)
    holds, loads = kinds.holds("m == 1"), np.array([GRID, GRID // 3, 5])
    one = replace(score(rng, clusters), holds=holds, weighing=weighing, loads=loads)
    gram = Gram((0, 1), (False, True), loads, holds, weighing)
    law, most = influence(rng), [GRID // 3 if clusters else GRID] * 5
    parts = (one.effects, one.totals, gram.on_grid, one.squares(most))
    people = list(itertools.product((-1.0, 3.0), (-2.0, 6.0), (0.0, 1.0), (0.0, 1.0), (0.0, 4.0)))
    found = []
    for person in people:
        some = data.copy()
        some.loc[0, ["y", "x", "f", "m", "v"]] = person
        cells = PublicCells(3, some["cell"].to_numpy(np.int64), some["g"].to_numpy(np.int64))
        rows = ResidualRows.of(
            table(some), [Residual(Part(Y))], cells, [AGE, FEMALE, WEIGHT], kinds
        )
        v = [int(x) for x in rows.counted(one)]
        r, x = rows.residuals(0).tolist(), rows.feature(0).tolist()
        sums = (
            one.effect_sums(rows, 0), one.total_sums(rows, 0), gram.sums(rows),
            one.square_sums(rows, 0, law, most, True),
        )  # fmt: skip
        assert sums[1] == [int(loads[1]) * sum(map(mul, v, r))]
        assert sums[2][0] == int(loads[1]) * GRID**2 * sum(v)
        assert sums[2][1] == int(loads[1]) * GRID * sum(map(mul, v, x))
        t, w = [int(a) for a in one.weights[:, 1]], one.weight(0)
        assert sums[0][2] == t[0] * sum(a * b * c for a, b, c in zip(v, r, x, strict=True))
        assert sums[0][5] == w * t[0] * GRID * sum(v)
        found.append([np.array(values, object) for values in sums])
    largest = np.zeros(4)
    for (k, a), (j, b) in itertools.combinations(enumerate(found), 2):
        for at, part in enumerate(parts):
            d = a[at] - b[at]
            limit = int(sum(part.reach[:, 1] ** 2))
            limit = limit if part.lengths is None else min(limit, int(part.lengths[1]))
            goes = at == 0 and people[k][3] != people[j][3]
            assert int(sum(d * d)) * (1 + goes) <= limit
            assert (abs(d) <= part.reach[:, 1]).all()
            largest[at] = max(largest[at], int(sum(d * d)) / max(limit, 1))
    assert largest[0] > 0.999
    assert largest[1] > 0.999
    assert largest[2] > 0.5


def test_levels_of_residuals_are_free_and_the_whole_is_shorter_than_its_parts() -> None:
    one = score(np.random.default_rng(2))
    part = one.effects
    assert part.lengths is not None
    apart = (part.reach**2).sum(axis=0)
    assert all(int(a) < int(b) for a, b in zip(part.lengths, apart, strict=True))
    alone = 4 * one.reach**2 * GRID**2 * (one.weights**2 * np.array([[3], [2]])).sum(axis=0)
    assert part.lengths.tolist() == alone.tolist()
    assert Vector((part,)).sensitivities[1] <= (GRID + 4) ** 2


def test_squares_of_any_rows_move_by_no_more_than_their_number() -> None:
    rng = np.random.default_rng(3)
    for q in (1, 2, 3, 5):
        upper = np.triu_indices(q)
        u, v = rng.choice([-1.0, 0.0, 1.0], (2, 4000, q))
        u[::2], v[::2] = rng.uniform(-1, 1, (2, 2000, q))
        moved = (u[:, upper[0]] * u[:, upper[1]] - v[:, upper[0]] * v[:, upper[1]]) ** 2
        assert moved.sum(axis=1).max() <= q * q + 1e-9
