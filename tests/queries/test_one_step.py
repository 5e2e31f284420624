"""Residuals of declared regressions: exact on every engine, and as sensitive as proved."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ModelPicklingError, ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import Part, Scaled
from dprct.queries.one_step import (
    FINEST,
    Cross,
    Fit,
    OnGrid,
    PublicCells,
    Residual,
    ResidualRows,
    Score,
    Vector,
    product_move,
    square_move,
)
from dprct.queries.sums import GRID, Combinations
from dprct.schema import Column
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
Y = Column("y", bounds=(-1.0, 3.0), **NEVER)
X = Column("x", bounds=(-8.0, 8.0), **NEVER)


def fit(most: int = GRID // 4, slope: int = 3000) -> Fit:
    return Fit((Scaled("x", (Part(X),), X.bounds, 0.0, 4096.0),), (slope,), 12345, 7, most)


def frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    cell = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "y": rng.uniform(-2, 4, n), "x": rng.normal(size=n) * 4, "arm": (cell % 2) * 1.0,
            "block": (cell // 2) * 1.0, "village": rng.integers(0, 5, n) * 4.0 + cell,
        }
    )  # fmt: skip


def weights(rng: np.random.Generator, q: int, cells: int = 4) -> Any:
    found = rng.normal(size=(q, cells))
    found /= np.sqrt((found**2).sum(axis=0)).max()
    return np.rint(found * FINEST).astype(np.int64).astype(object)


@pytest.mark.parametrize("unit", [3, 1 << 60, (1 << 74) + 12345, 10**40 + 7])
def test_moves_are_what_whole_numbers_are_divided_to(unit: int) -> None:
    k = np.array([[1, 2, 77, 2**19 + 1, GRID - 1, GRID]], dtype=object)
    reach = np.hstack([k * unit // GRID + off for off in (-1, 0, 1)] + [k * 0 + unit])
    reach = np.clip(reach, 0, unit)
    one = OnGrid(reach)
    assert one.unit == unit
    assert (one.moves == -((-reach * GRID) // unit)).all()
    assert OnGrid(np.vstack([reach, reach])).unit == math.isqrt(2 * unit**2 - 1) + 1


def cells_of(data: pd.DataFrame) -> PublicCells:
    codes = (data["arm"] + 2 * data["block"]).to_numpy().astype(np.int64)
    return PublicCells(4, codes, data["village"].to_numpy().astype(np.int64))


def residuals_of(data: pd.DataFrame, half: Fit | None) -> Any:
    """Return the residuals by plain arithmetic, in half steps."""
    k = np.floor((data["y"].clip(-1, 3) + 1) / (4 / GRID) + 0.5).astype(int)
    if half is None:
        return 2 * k - GRID
    steps = np.floor(data["x"].clip(-8, 8) * 4096 + 0.5)
    f = np.floor((steps * half.slopes[0] - half.level) / 2**half.shift)
    return 2 * k - GRID - f.clip(-half.most, half.most).astype(int)


def test_residuals_are_what_they_are_said_to_be() -> None:
    data = frame(np.random.default_rng(1), 300)
    for half in (None, fit()):
        rows = ResidualRows.of(table(data), [Residual(Part(Y), half)], cells_of(data))
        wanted = residuals_of(data, half)
        sums = [int(wanted[cells_of(data).codes == c].sum()) for c in range(4)]
        assert rows.sums(0, 4) == sums
        assert abs(wanted).max() <= Residual(Part(Y), half).reach
    with pytest.raises(ModelPicklingError):
        pickle.dumps(rows)


def numbers(data: pd.DataFrame, score: Score, centre: Any, most: Any, *, joint: bool = True) -> Any:
    """Return everything that is released of one regression, opened."""
    rows = ResidualRows.of(table(data), [Residual(Part(Y), fit())], cells_of(data))
    return [
        _open(rows.effects([0], [score])), _open(rows.totals([0], [score])),
        _open(rows.squares([0], [score], [centre], [most], [joint])),
    ]  # fmt: skip


LOADS = np.array([GRID, 7, GRID // 3, 0])


@pytest.mark.parametrize("loads", [None, LOADS])
@pytest.mark.parametrize("clusters", [False, True])
def test_effects_totals_and_squares_are_exact(clusters: bool, loads: Any) -> None:
    rng = np.random.default_rng(2)
    data, q = frame(rng, 200), 2
    score = Score(GRID + GRID // 4, weights(rng, q), np.array([0, 0, 1, 1]), clusters, loads)
    most = [GRID // 3 * (c + 1) for c in range(4)]
    centre = [-5, 1000, 70000, -90000]
    effects, totals, squares = numbers(data, score, centre, most)
    r, cell = residuals_of(data, fit()).to_numpy(), cells_of(data).codes
    plain = [sum(int(score.weights[j, c]) * int(x) for c, x in zip(cell, r, strict=True))
             for j in range(q)]  # fmt: skip
    assert list(effects) == score.effects.rounded(plain)
    load = np.ones(4, np.int64) if loads is None else loads
    blocks = [int((load[cell] * r)[score.blocks[cell] == b].sum()) for b in range(2)]
    assert list(totals) == score.totals.rounded(blocks)
    e = r - np.array(centre)[cell]
    found = [0] * len(score.pairs)
    village = data["village"].to_numpy() if clusters else np.arange(len(data))
    for g in np.unique(village):
        (c,) = set(cell[village == g])
        total = int(np.clip(e[village == g].sum(), -most[c], most[c]))
        for at, (j, k) in enumerate(score.pairs):
            found[at] += int(score.weights[j, c]) * int(score.weights[k, c]) * total**2
    assert list(squares) == score.squares(most).rounded(found)


@pytest.mark.parametrize("kind", ["polars", "lazy", "duckdb"])
def test_every_engine_has_the_same_numbers(kind: str) -> None:
    rng = np.random.default_rng(3)
    data = frame(rng, 400)
    score = Score(GRID + GRID // 4, weights(rng, 2), np.array([0, 0, 1, 1]), True)
    most, centre = [GRID] * 4, [0, 5, 10, -20]
    wanted = numbers(data, score, centre, most)
    cells = cells_of(data)
    if kind == "polars":
        other: Any = pl.from_pandas(data)
    else:
        keys = data[["arm", "block", "village"]].drop_duplicates().reset_index(drop=True)
        places = {tuple(map(float, key)): at for at, key in enumerate(keys.to_numpy())}
        where = Combinations(("arm", "block", "village"), places)
        few = cells_of(keys)
        cells = PublicCells(4, few.codes, few.clusters, where)
        shuffled = data.sample(frac=1, random_state=1)
        other = pl.from_pandas(shuffled).lazy()
        if kind == "duckdb":
            other = duckdb.connect().from_df(shuffled)
    rows = ResidualRows.of(table(other), [Residual(Part(Y), fit())], cells)
    again = [rows.effects([0], [score]), rows.totals([0], [score]),
             rows.squares([0], [score], [centre], [most], [True])]  # fmt: skip
    for one, found in zip(wanted, again, strict=True):
        assert list(one) == list(_open(found))


ENDS = [(-1.0, -8.0), (-1.0, 8.0), (3.0, -8.0), (3.0, 8.0), (1.0, 0.0)]
"""Outcome and covariate of a person: what may be, and where sensitivities are reached."""


@pytest.mark.long
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("several", [1, 3])
def test_no_person_moves_a_vector_further_and_some_as_far(clusters: bool, several: int) -> None:
    """A person's outcome and covariates change; arm, block and cluster are public."""
    rng = np.random.default_rng(4 + several)
    largest = np.zeros(3)
    for turn in range(40):
        n = int(rng.integers(1, 6)) if clusters else 2
        data = frame(rng, n + 1)
        data.loc[:, "y"] = rng.choice([-1.0, 3.0], n + 1)
        # in each of the regressions the weights of the person's cell are the longest, sometimes
        loads = np.where(turn % 3, rng.permutation(LOADS), GRID)
        scores = [Score(GRID + GRID // 4, weights(rng, 1 + k % 2), np.array([0, 0, 1, 1]), clusters,
                        loads if turn % 2 else None)
                  for k in range(several)]  # fmt: skip
        if turn % 2:
            here = int(cells_of(data).codes[0])
            for score in scores:
                score.weights[:, here] = 0
                score.weights[0, here] = FINEST
        most = [[int(rng.choice([GRID // 8, GRID, 9 * GRID]))] * 4 for _ in scores]
        if clusters:
            data.loc[:, ["arm", "block", "village"]] = data.loc[
                0, ["arm", "block", "village"]
            ].tolist()
        centres = [[int(rng.choice([0, GRID, -GRID])) for _ in range(4)] for _ in scores]
        which = [0] * several
        vectors = [
            Vector(tuple(s.effects for s in scores)), Vector(tuple(s.totals for s in scores)),
            Vector(tuple(s.squares(c) for s, c in zip(scores, most, strict=True))),
        ]  # fmt: skip
        found = []
        for y, x in ENDS:
            data.loc[0, ["y", "x"]] = [y, x]
            rows = ResidualRows.of(
                table(data), [Residual(Part(Y), fit(slope=60000))], cells_of(data)
            )
            found.append([
                np.array(_open(sums), dtype=object) for sums in (
                    rows.effects(which, scores), rows.totals(which, scores),
                    rows.squares(which, scores, centres, most, [True] * several),
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
    assert (largest[:2] > 0.99).all()
    assert largest[2] > (0.95 if several == 1 else 0.8)


@pytest.mark.long
def test_treatment_that_varies_within_clusters_has_squares_alone() -> None:
    rng = np.random.default_rng(9)
    largest = 0.0
    for _ in range(60):
        data = frame(rng, 5)
        data["village"] = 1.0
        score = Score(GRID + GRID // 4, weights(rng, 2), np.array([0, 0, 1, 1]), True)
        most = [int(rng.choice([1, 3, 9])) * FINEST * GRID // 2 for _ in range(2)]
        found = []
        for y, x in ENDS:
            data.loc[0, ["y", "x"]] = [y, x]
            found.append(
                np.array(numbers(data, score, [0] * 4, most, joint=False)[2], dtype=object)
            )
        _, l2_squared, _ = Vector((score.squares(most, joint=False),)).sensitivities
        for one, other in itertools.combinations(found, 2):
            square = int(((one - other) ** 2).sum())
            assert square <= l2_squared
            largest = max(largest, (square / l2_squared) ** 0.5)
    assert largest > 0.8
    if len(set(cells_of(data).codes.tolist())) > 1:
        with pytest.raises(ParameterError, match="no joint squares"):
            numbers(data, score, [0] * 4, [GRID] * 4)


@pytest.mark.parametrize("d", [1, 5, 10, 11, 30])
def test_squares_of_clipped_sums_move_as_said(d: int) -> None:
    most = 10
    ends = [(x, y) for x in range(-40, 41) for y in range(-40, 41) if abs(x - y) <= d]
    clip = lambda x: min(max(x, -most), most)  # noqa: E731
    assert max(abs(clip(x) ** 2 - clip(y) ** 2) for x, y in ends) == square_move(d, most)


@pytest.mark.parametrize("d", [0, 1, 5, 6, 9, 12, 40])
@pytest.mark.parametrize("other", [1, 7, 9, 30])
def test_products_of_clipped_sums_move_as_said(d: int, other: int) -> None:
    most, most_of_other = 6, 8
    ends = [x * s for x, s in itertools.product(range(most + 1), (-1, 1))]
    moved = [(x, y) for x in ends for y in ends if abs(x - y) <= d]
    ends = [x * s for x, s in itertools.product(range(most_of_other + 1), (-1, 1))]
    beside = [(x, y) for x in ends for y in ends if abs(x - y) <= other]
    largest = max(abs(a * u - b * v) for a, b in moved for u, v in beside)
    assert largest == product_move(d, most, other, most_of_other)


@pytest.mark.parametrize("rows", [1, 3])
def test_classical_errors_are_one_number_that_a_person_moves_as_said(rows: int) -> None:
    """All rows of a person change; a cell without weights counts, another does not."""
    rng = np.random.default_rng(11)
    largest, cell = 0.0, np.array([0, 1, 1, 3, 3, 2, 0])
    members = None if rows == 1 else np.array([[0, 0, 1, 1], [1, 2, 1, 2]])
    counted = np.array([True, True, False, True])
    score = Score(GRID + GRID // 4, weights(rng, 2), np.array([0, 0, -1, 1]), members=members,
                  counted=counted)  # fmt: skip
    score.weights[:, 1] = 0
    for _ in range(12):
        data = frame(rng, 7).assign(arm=cell % 2 * 1.0, block=cell // 2 * 1.0)
        most = [int(rng.choice([GRID // 8, GRID])) if here else 0 for here in counted]
        centre = [0, GRID // 2, 0, -GRID]
        found = []
        for y, x in ENDS:
            data.loc[: rows - 1, ["y", "x"]] = [y, x]
            (squares,) = numbers(data, score, centre, most)[2]
            e = residuals_of(data, fit()).to_numpy() - np.array(centre)[cell]
            plain = int((np.clip(e, -np.array(most)[cell], np.array(most)[cell]) ** 2).sum())
            assert [squares] == score.squares(most).rounded([plain])
            found.append(squares)
        _, l2_squared, _ = Vector((score.squares(most),)).sensitivities
        moved = (max(found) - min(found)) ** 2
        assert moved <= l2_squared
        largest = max(largest, (moved / l2_squared) ** 0.5)
    assert largest > 0.9


@pytest.mark.parametrize("clusters", [False, True])
def test_squares_and_products_of_two_regressions_move_together_as_said(clusters: bool) -> None:
    """One person's two outcomes change; both regressions have the same weights."""
    rng = np.random.default_rng(12)
    two, largest = Column("late", bounds=(0.0, 1.0), **NEVER), 0.0
    for _ in range(30):
        data = frame(rng, int(rng.integers(2, 6)))
        data["y"] = rng.choice([-1.0, 3.0], len(data))
        data["late"] = rng.choice([0.0, 1.0], len(data))
        if clusters:
            data["village"] = data["arm"] = data["block"] = 0.0
        same = weights(rng, 2)
        blocks = np.array([0, 0, 1, 1])
        scores = [Score(GRID + h, same, blocks, clusters) for h in (GRID // 4, 0)]
        most = [[int(rng.choice([GRID // 8, GRID, 9 * GRID]))] * 4 for _ in scores]
        centres = [[int(rng.choice([0, GRID, -GRID]))] * 4 for _ in scores]
        parts = [s.squares(c) for s, c in zip(scores, most, strict=True)]
        vector = Vector((*parts, Cross(0, 1).moves(scores, most)))
        found = []
        for (y, x), z in itertools.product(ENDS, (0.0, 1.0)):
            data.loc[0, ["y", "x", "late"]] = [y, x, z]
            residuals = [Residual(Part(Y), fit(slope=60000)), Residual(Part(two))]
            rows = ResidualRows.of(table(data), residuals, cells_of(data))
            sums = rows.squares([0, 1], scores, centres, most, [True] * 2, [Cross(0, 1)])
            found.append(np.array(_open(sums), dtype=object))
        l1, l2_squared, most_of_one = vector.sensitivities
        for one, other in itertools.combinations(found, 2):
            moved = one - other
            assert int((moved * moved).sum()) <= l2_squared
            assert int(abs(moved).sum()) <= l1
            assert int(max(abs(moved))) <= most_of_one
            largest = max(largest, (int((moved * moved).sum()) / l2_squared) ** 0.5)
    assert largest > 0.6


@pytest.mark.parametrize("clusters", [False, True])
def test_products_of_regressions_on_other_rows_are_exact_and_move_as_said(clusters: bool) -> None:
    """Cells 0 and 1 count in the first, 1 and 2 in the second; the person is in any of them."""
    rng = np.random.default_rng(13)
    two, largest = Column("late", bounds=(0.0, 1.0), **NEVER), dict.fromkeys((0, 1, 2), 0.0)
    for turn in range(36):
        data = frame(rng, 6)
        codes = np.array([turn % 3, *rng.integers(0, 4, 5)])
        data["arm"], data["block"] = codes % 2 * 1.0, codes // 2 * 1.0
        data["village"] = 0.0
        data["y"] = rng.choice([-1.0, 3.0], len(data))
        data["late"] = rng.choice([0.0, 1.0], len(data))
        a, b = weights(rng, 2, 1), weights(rng, 1, 1)
        own = [np.repeat(a, 4, 1) * [1, 1, 0, 0], np.repeat(b, 4, 1) * [0, 1, 1, 0]]
        scores = [Score(GRID, w, np.array([0, 0, 1, 1]), clusters) for w in own]
        most = [[int(rng.choice([GRID // 8, GRID, 9 * GRID]))] * 4 for _ in scores]
        centres = [[int(rng.choice([0, GRID, -GRID]))] * 4 for _ in scores]
        part = Cross(0, 1).moves(scores, most)
        residuals, found = [Residual(Part(Y)), Residual(Part(two))], []
        for y, z in itertools.product((-1.0, 3.0), (0.0, 1.0)):
            data.loc[0, ["y", "late"]] = [y, z]
            rows = ResidualRows.of(table(data), residuals, cells_of(data))
            sums = rows.squares([0, 1], scores, centres, most, [True] * 2, [Cross(0, 1)])
            found.append(np.array(_open(sums), dtype=object)[4:])
            e = [
                residuals_of(data, None).to_numpy() - centres[0][0],
                (2 * GRID * data["late"].to_numpy() - GRID).astype(int) - centres[1][0],
            ]
            inside = [np.isin(codes, (0, 1)), np.isin(codes, (1, 2))]
            clip = lambda x, c: np.clip(x, -c, c).astype(object)  # noqa: E731
            if clusters:
                ends = [clip((x * i).sum(), c[0]) for x, i, c in zip(e, inside, most, strict=True)]
                total = int(ends[0]) * int(ends[1])
            else:
                ends = [clip(x, c[0]) * i for x, i, c in zip(e, inside, most, strict=True)]
                total = int((ends[0] * ends[1]).sum())
            wanted = [int(a[j, 0]) * int(b[0, 0]) * total for j in range(2)]
            assert list(found[-1]) == part.rounded(wanted)
        _, l2_squared, _ = Vector((part,)).sensitivities
        here = int(sum(int(x) ** 2 for x in part.moves[:, turn % 3]))
        for one, other in itertools.combinations(found, 2):
            square = int(((one - other) ** 2).sum())
            assert square <= here <= l2_squared
            if here:
                largest[turn % 3] = max(largest[turn % 3], (square / here) ** 0.5)
    assert largest[1] > (0.7 if clusters else 0.95)
    assert min(largest[0], largest[2]) > 0.45 if clusters else largest[0] == largest[2] == 0


def test_fits_that_doubles_would_round_are_refused() -> None:
    with pytest.raises(ParameterError, match="too long"):
        fit(slope=1 << 33)
    with pytest.raises(ParameterError, match="half of the outcome"):
        fit(most=2 * GRID)


@pytest.mark.parametrize("clusters", ["persons", "villages"])
def test_all_rows_of_a_person_move_a_vector_as_said_and_some_as_far(clusters: str) -> None:
    """Two persons of one pattern have three rows each, and a third has two; all values change."""
    rng, largest = np.random.default_rng(21), np.zeros(3)
    person = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    codes = np.array([0, 0, 1, 0, 0, 1, 2, 3])
    members = np.array([[0, 0, 1, 1], [2, 1, 1, 1]])
    for turn in range(16):
        cluster = person if clusters == "persons" else np.zeros(8, np.int64)
        cells = PublicCells(4, codes, cluster.astype(np.int64))
        score = Score(
            GRID + GRID // 4, weights(rng, 1 + turn % 2), np.array([0, 1, 0, 1]), True,
            LOADS if turn % 3 == 0 else None, members,
        )  # fmt: skip
        if turn % 4 == 0:  # alike, so that a product moves as far as both do
            score.weights[:] = score.weights[:1]
        reach = score.effects.reach.max(axis=1)
        most = [int(rng.choice([1, 2, 5])) * int(d) // 4 for d in reach]
        centre = [int(rng.choice([0, GRID, -GRID])) for _ in range(4)]
        data = pd.DataFrame({"y": rng.choice([-1.0, 3.0], 8), "x": rng.choice([-8.0, 8.0], 8)})
        ends, found = [(-1.0, -8.0), (-1.0, 8.0), (3.0, -8.0), (3.0, 8.0)], []
        here = person == (turn % 2) * 2
        size = int(here.sum())
        drawn = [[ends[k] for k in rng.integers(0, 4, size)] for _ in range(4)]
        for values in (*([end] * size for end in ends), *drawn):
            data.loc[here, ["y", "x"]] = values
            rows = ResidualRows.of(table(data), [Residual(Part(Y), fit(slope=60000))], cells)
            found.append([
                np.array(_open(sums), dtype=object) for sums in (
                    rows.effects([0], [score]), rows.totals([0], [score]),
                    rows.squares([0], [score], [centre], [most], [True]),
                )
            ])  # fmt: skip
        vectors = [Vector((part,)) for part in
                   (score.effects, score.totals, score.squares(most))]  # fmt: skip
        for one, other in itertools.combinations(found, 2):
            for at, vector in enumerate(vectors):
                moved = one[at] - other[at]
                l1, l2_squared, most_of_one = vector.sensitivities
                square = int((moved * moved).sum())
                assert square <= l2_squared
                assert int(abs(moved).sum()) <= l1
                assert int(max(abs(moved))) <= most_of_one
                largest[at] = max(largest[at], (square / l2_squared) ** 0.5)
    assert (largest[:2] > 0.99).all()
    assert largest[2] > 0.9


def test_squares_of_persons_are_those_of_their_sums() -> None:
    rng = np.random.default_rng(22)
    data, person = frame(rng, 60), np.repeat(np.arange(20), 3)
    codes = np.tile([0, 1, 2], 20)
    cells = PublicCells(3, codes, person)
    score = Score(GRID, weights(rng, 2, 3), np.zeros(3, np.int64), True, None,
                  np.array([[0, 0, 0], [1, 1, 1]]))  # fmt: skip
    rows = ResidualRows.of(table(data), [Residual(Part(Y))], cells)
    most = [FINEST * GRID // 2, FINEST * GRID]
    sums = rows.squares([0], [score], [[5, -7, 9]], [most], [True])
    e = residuals_of(data, None).to_numpy() - np.array([5, -7, 9])[codes]
    U = [[min(max(sum(int(score.weights[j, c]) * int(x) for c, x in
              zip(codes[person == g], e[person == g], strict=True)), -most[j]), most[j])
          for g in range(20)] for j in range(2)]  # fmt: skip
    wanted = [sum(a * b for a, b in zip(U[j], U[k], strict=True)) for j, k in score.pairs]
    assert list(_open(sums)) == score.squares(most).rounded(wanted)
