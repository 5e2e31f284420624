"""Errors clustered in two ways: exact, and as sensitive as proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import Part
from dprct.queries.one_step import FINEST, PublicCells, Residual, ResidualRows, Score, Vector
from dprct.queries.sums import GRID
from dprct.schema import Column
from dprct.schema.tables import table

Y = Column("y", bounds=(-1.0, 3.0), missing=())
CENTRE = [0, 5, -900, 70_000]


def frame(seed: int, n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "y": rng.uniform(-1, 3, n), "cell": rng.integers(0, 4, n),
        "village": rng.integers(0, 6, n), "year": rng.integers(0, 4, n),
    })  # fmt: skip


def score_of(seed: int, q: int) -> Score:
    found = np.random.default_rng(seed).normal(size=(q, 4))
    found /= np.sqrt((found**2).sum(axis=0)).max()
    weights = np.rint(found * FINEST).astype(np.int64).astype(object)
    return Score(GRID, weights, np.array([0, 0, 1, 1]), clusters=True, ways=(0, 1, 2))


def squares(data: pd.DataFrame, score: Score, most: list[int]) -> Any:
    both = pd.factorize(data["village"] * 10 + data["year"])[0]
    clusters = np.array([data["village"], data["year"], both], np.int64)
    cells = PublicCells(4, data["cell"].to_numpy(np.int64), clusters)
    rows = ResidualRows.of(table(data), [Residual(Part(Y))], cells)
    return np.array(_open(rows.squares([0], [score], [CENTRE], [most], [False])), object)


@pytest.mark.parametrize("q", [1, 2])
def test_squares_of_two_ways_are_exact(q: int) -> None:
    data, score = frame(1), score_of(2, q)
    most = [int(x) * FINEST * GRID // 8 for x in range(4, 4 + 3 * q)]
    k = np.floor((data["y"] + 1) / (4 / GRID) + 0.5).astype(int)
    e = (2 * k - GRID - np.array(CENTRE)[data["cell"]]).tolist()
    wanted = []
    for j in range(q):
        u = pd.Series(
            [int(score.weights[j, c]) * x for c, x in zip(data["cell"], e, strict=True)],
            dtype=object,
        )
        parts = []
        for at, by in enumerate((["village"], ["year"], ["village", "year"])):
            c = most[at * q + j]
            sums = u.groupby([data[name] for name in by]).sum()
            parts.append(sum(min(max(x, -c), c) ** 2 for x in sums))
        wanted.append(parts[0] + parts[1] - parts[2])
    assert list(squares(data, score, most)) == score.squares(most, joint=False).rounded(wanted)


def moved(data: pd.DataFrame, score: Score, most: list[int]) -> float:
    """Return how far somebody moves who goes from bound to bound, over what is claimed."""
    found = [squares(data.assign(y=[y, *data["y"][1:]]), score, most) for y in (-1.0, 3.0)]
    _, l2_squared, most_of_one = Vector((score.squares(most, joint=False),)).sensitivities
    apart = found[1] - found[0]
    assert max(abs(apart)) <= most_of_one
    return float((int((apart * apart).sum()) / l2_squared) ** 0.5)


def test_a_person_moves_the_squares_of_two_ways_as_said_and_somebody_as_far() -> None:
    """Both clusters of a person go up to their clips, those of both together leave theirs."""
    score = Score(GRID, np.array([[FINEST, FINEST // 2, 0, 7]], object), np.array([0, 0, 1, 1]),
                  clusters=True, ways=(0, 1, 2))  # fmt: skip
    near = [(0, 0, -1.0)] * 3  # the first and two who share both clusters
    others = [(0, 1 + at % 3, 3.0) for at in range(6)] + [(1 + at % 3, 0, 3.0) for at in range(6)]
    data = pd.DataFrame([*near, *others], columns=["village", "year", "y"]).assign(cell=0)
    unit = GRID * FINEST
    found = moved(data, score, [5 * unit, 5 * unit, 3 * unit])
    assert 0.999 < found <= 1


@pytest.mark.parametrize("seed", range(6))
def test_nobody_moves_the_squares_of_two_ways_further(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, data = score_of(seed, 1 + seed % 2), frame(seed, 12)
    data["y"] = rng.choice([-1.0, 3.0], len(data))
    data["village"], data["year"] = rng.integers(0, 2, (2, len(data)))
    most = [int(x) * FINEST * GRID // 2 for x in rng.integers(1, 9, 3 * score.size)]
    assert moved(data, score, most) <= 1
