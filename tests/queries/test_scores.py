"""Scores within a ball: what one unit can move their sum by, searched, whatever is asked of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from dprct.errors import ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import STEPS, MomentCells, MomentsGrid, Part, Scaled, moment_sums
from dprct.queries.scores import FINEST, SCORE_SQUARED, ScoreMap, score_sums
from dprct.schema import Column
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
X = [Column(f"x{j}", bounds=(-8.0, 8.0), **NEVER) for j in range(3)]
CELLS = MomentCells(treatment=("t",), values=((0.0,), (1.0,)))


def grid(rows: int, constant: int = STEPS // 2) -> MomentsGrid:
    columns = tuple(Scaled(c.name, (Part(c),), (-8.0, 8.0), 0.0, STEPS / 2.0) for c in X)
    return MomentsGrid(columns, constant, count=True, rows=rows)


def frame(rows: Any, unit: Any) -> Any:
    found = pl.DataFrame(np.asarray(rows, float), schema=["t", "x0", "x1", "x2"])
    return found.with_columns(unit=pl.Series(np.asarray(unit, float)))


def asked(rng: np.random.Generator, per_unit: float) -> ScoreMap:
    """Two regressors in two groups; what earlier releases may have been."""
    residual = rng.integers(-1000, 1000, (2, 4)).astype(np.int64)
    return ScoreMap(residual, rng.integers(-1000, 1000, (2, 2, 4)).astype(np.int64), per_unit)


def sums(data: Any, of: ScoreMap, rows: int) -> Any:
    found = score_sums(table(data), grid(rows), CELLS, of, "replace-one", "unit")
    return np.array(_open(found), dtype=object)


@pytest.mark.long
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("per_unit", [1e-6, 1e200])
def test_no_unit_moves_the_scores_further_and_some_as_far(rows: int, per_unit: float) -> None:
    rng = np.random.default_rng(rows)
    base = [[0, 0.3, -1, 2], [1, 5, 5, 5]]
    largest = 0
    for _ in range(25):
        of = asked(rng, per_unit)
        units = [rng.normal(size=(rows, 4)) * 10.0 ** rng.integers(-1, 2) for _ in range(2)]
        for unit in units:
            unit[:, 0] = rng.integers(0, 2, rows)
        one, other = (sums(frame([*base, *unit], [1, 2, *[3] * rows]), of, rows) for unit in units)
        distance = sum(int(cell) ** 2 for cell in one - other)
        assert distance <= SCORE_SQUARED
        assert max(abs(int(cell)) for cell in one - other) <= STEPS**2
        assert sum(abs(int(cell)) for cell in one - other) <= 2 * 2 * STEPS**2
        largest = max(largest, distance)
    if per_unit > 1:  # every score is on the surface, and some are nearly at right angles
        assert Fraction(largest, SCORE_SQUARED) > Fraction(9, 10)


@pytest.mark.long
@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("constant", [1, STEPS])
def test_rows_of_one_unit_move_moments_no_further_than_proved(rows: int, constant: int) -> None:
    """Met where all rows of a unit are the same, and another unit's are in the other group."""
    of, rng, largest = grid(rows, constant), np.random.default_rng(constant), 0

    def moments(unit: Any) -> Any:
        data = frame([[0, 1, 1, 1], *unit], [1, *[2] * rows])
        found = moment_sums(table(data), of, CELLS, "replace-one", "unit")
        return np.array(_open(found), dtype=object)

    for trial in range(12):
        units = [rng.normal(size=(rows, 4)) * 10.0 ** rng.integers(-1, 3) for _ in range(2)]
        for place, unit in enumerate(units):
            unit[:, 0] = rng.integers(0, 2, rows) if trial % 2 else place
            if not trial % 2:
                unit[:, 1:] = 20 * unit[0, 1:] / np.linalg.norm(unit[0, 1:])
        distance = sum(int(cell) ** 2 for cell in moments(units[0]) - moments(units[1]))
        assert distance <= of.l2_squared
        largest = max(largest, distance)
    assert Fraction(largest, of.l2_squared) > Fraction(99, 100)


@pytest.mark.long
def test_the_rows_of_a_unit_fit_in_the_ball_together_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(9)
    rows = np.column_stack([rng.integers(0, 2, 300), 4 * rng.normal(size=(300, 3))])
    data = frame(rows, np.repeat(np.arange(100), 3)).to_pandas()
    of, found = asked(rng, 1e-6), grid(3)
    at_once = _open(moment_sums(table(data), found, CELLS, "replace-one", "unit"))
    scores = sums(data, of, 3)
    mixed = data.sample(frac=1, random_state=1).reset_index(drop=True)
    monkeypatch.setattr("dprct.queries.group_moments._CHUNK", 31)
    monkeypatch.setattr("dprct.queries.scores._CHUNK", 31)
    again = _open(moment_sums(table(mixed), found, CELLS, "replace-one", "unit"))
    assert list(again) == list(at_once)
    assert sums(mixed, of, 3).tolist() == scores.tolist()
    named = mixed.assign(unit=mixed["unit"].map(lambda x: f"u{x:g}"))
    assert sums(named, of, 3).tolist() == scores.tolist()
    for unit in range(6):  # one unit alone: the diagonal of all columns is its square
        alone = _open(
            moment_sums(table(data[data["unit"] == unit]), found, CELLS, "replace-one", "unit")
        )
        matrices = np.array(alone, dtype=object).reshape(2, 4, 4)
        assert sum(int(matrices[g, j, j]) for g in range(2) for j in (1, 2, 3)) <= STEPS**2


def test_scores_are_sums_of_products_of_the_rows() -> None:
    """Against Python's whole numbers, where no score is near the surface."""
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.integers(0, 2, 40), rng.uniform(-0.4, 0.4, (40, 3))])
    unit, of = np.repeat(np.arange(20), 2), asked(rng, 2.0**-36)
    total = np.zeros((2, 2), dtype=object)
    for u in range(20):
        g = [0, 0]
        for row in rows[unit == u]:
            r = [STEPS // 2, *(int(np.floor(x * STEPS / 2.0 + 0.5)) for x in row[1:])]
            t = int(row[0])
            e = sum(int(a) * k for a, k in zip(of.residual[t], r, strict=True))
            for i in range(2):
                x = sum(int(a) * k for a, k in zip(of.regressors[t, i], r, strict=True))
                g[i] += (e * x + (1 << 35)) // (1 << 36)
        assert g[0] ** 2 + g[1] ** 2 < STEPS**2
        total += np.outer(np.array(g, dtype=object), np.array(g, dtype=object))
    assert sums(frame(rows, unit), of, 2).tolist() == total.ravel().tolist()


def test_what_scores_refuse() -> None:
    data = frame([[0, 1, 1, 1], [1, 1, 1, 1]], [1, 2])
    of = asked(np.random.default_rng(1), 1.0)
    with pytest.raises(ParameterError, match="take the number of rows as public"):
        score_sums(table(data), grid(1), CELLS, of, "add-remove")
    with pytest.raises(ParameterError, match="in memory"):
        score_sums(table(data.lazy()), grid(1), CELLS, of, "replace-one")
    with pytest.raises(ParameterError, match="several rows"):
        moment_sums(table(data), grid(2), CELLS, "replace-one")
    with pytest.raises(ParameterError, match="at least one row"):
        grid(0)
    with pytest.raises(ParameterError, match="release fewer columns"):
        grid(1 << 21)
    crowded = frame([[0, 1, 1, 1]] * 3, [1, 1, 1])
    with pytest.raises(ParameterError, match="more rows than 2"):
        moment_sums(table(crowded), grid(2), CELLS, "replace-one", "unit")
    with pytest.raises(ParameterError, match="whole"):
        ScoreMap(of.residual * 0 + 2 * FINEST, of.regressors, 1.0)
    with pytest.raises(ParameterError, match="one residual"):
        ScoreMap(of.residual[:1], of.regressors, 1.0)
    with pytest.raises(ParameterError, match="finite"):
        ScoreMap(of.residual, of.regressors, float("inf"))
