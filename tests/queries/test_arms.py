"""Arm means and variances: exact values, and sensitivities by enumeration of all neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries.sums import GRID, Arms, arm_aggregates, difference_aggregates, observed
from dprct.schema import Column
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from dprct.privacy import IntegerVector

Y = Column("y", bounds=(-1.0, 3.0))
VALUES = (-1.0, 1.0, 3.0)


def two(n1: int, n0: int) -> Arms:
    return Arms(np.repeat([1, 0], [n1, n0]), ((n0, n1),))


DESIGNS = {
    "balanced": two(2, 2),
    "unbalanced": two(2, 3),
    "blocked": Arms(
        np.array([0, 0, 1, 1, 2, 2, 3, 3]), ((2, 2), (2, 2)), (Fraction(1, 2), Fraction(1, 2))
    ),
    "clusters, person": Arms(
        np.array([0, 0, 0, 1, 1, 1]), ((3, 3),), clusters=np.array([0, 0, 1, 2, 2, 3]), largest=2
    ),
}


def values_of(arms: Arms, y: tuple[float, ...]) -> np.ndarray[Any, Any]:
    frame = eager(pl.DataFrame({"y": y}))
    found = difference_aggregates(frame, Y, arms)
    parts = [found.difference, found.variance, found.control, *arm_aggregates(frame, Y, arms)]
    assert all(part.l1 == GRID for part in parts)
    return np.concatenate([_open(part).astype(object) for part in parts])


def moved(arms: Arms) -> np.ndarray[Any, Any]:
    """The largest change of (difference, V, control) and the largest L1 of (means, variances)."""
    rows, values = len(arms.codes), VALUES if len(arms.codes) < 6 else VALUES[::2]
    data = {y: values_of(arms, y) for y in itertools.product(values, repeat=rows)}
    most = np.zeros(5, dtype=object)
    for y, here in data.items():
        for i, value in itertools.product(range(rows), values):
            there = data[(*y[:i], value, *y[i + 1 :])]
            change = np.abs(there - here)
            most = np.maximum(most, [*change[:3], change[3:5].sum(), change[5:].sum()])
    return most


@pytest.mark.long
@pytest.mark.parametrize("design", [n for n in DESIGNS if n != "blocked"])
def test_no_neighbour_is_further_than_claimed_and_some_are_as_far(design: str) -> None:
    most = moved(DESIGNS[design])
    assert (most <= GRID).all()
    tight = most == GRID
    # a person in a cluster: the bound on the variance is of a mean at the other bound
    assert tight.all() if "clusters" not in design else tight[[0, 2, 3]].all()


@pytest.mark.long
def test_a_blocked_neighbour_is_not_further_than_claimed() -> None:
    arms = DESIGNS["blocked"]
    rng = np.random.default_rng(3)
    most = np.zeros(5, dtype=object)
    for y in (np.full(8, -1.0), np.full(8, 3.0), *rng.choice(VALUES, (8, 8))):
        here = values_of(arms, tuple(y))
        for i, value in itertools.product(range(8), VALUES):
            change = np.abs(values_of(arms, (*y[:i], value, *y[i + 1 :])) - here)
            most = np.maximum(most, [*change[:3], change[3:5].sum(), change[5:].sum()])
    assert (most == GRID).all()


def test_a_whole_cluster_moves_no_more_than_claimed_and_can_move_as_much() -> None:
    arms = Arms(
        np.array([0, 0, 0, 0, 1, 1, 1, 1]),
        ((4, 4),),
        clusters=np.array([0, 0, 1, 1, 2, 2, 3, 3]),
        largest=2,
        unit="cluster",
    )
    most = np.zeros(3, dtype=object)
    for half in itertools.product((-1.0, 3.0), repeat=4):
        y = half * 2
        here = values_of(arms, y)[:3]
        for pair in itertools.product((-1.0, 3.0), repeat=2):
            most = np.maximum(most, np.abs(values_of(arms, (*pair, *y[2:]))[:3] - here))
    assert (most == GRID).all()


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_the_statistics_are_means_and_sample_variances(as_frame: Any) -> None:
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.repeat([0, 1, 2, 3, -1], [20, 30, 25, 15, 10]))
    y = rng.uniform(-1, 3, 100)
    weights = (Fraction(50, 90), Fraction(40, 90))
    arms = Arms(codes, ((20, 30), (25, 15)), weights)
    frame = eager(as_frame({"y": y}))
    found = difference_aggregates(frame, Y, arms)
    cells = [y[codes == c] for c in range(4)]
    w = [float(x) for x in weights]
    effect = w[0] * (cells[1].mean() - cells[0].mean()) + w[1] * (cells[3].mean() - cells[2].mean())
    v = sum(w[c // 2] ** 2 * x.var(ddof=1) / len(x) for c, x in enumerate(cells))
    assert number(found.difference) == pytest.approx(effect, abs=1e-5)
    assert number(found.variance) == pytest.approx(v, rel=1e-4)
    control = w[0] * cells[0].mean() + w[1] * cells[2].mean()
    assert number(found.control) - 1 == pytest.approx(control, abs=1e-5)


def number(sealed: IntegerVector) -> float:
    return float(int(_open(sealed)[0]) * sealed.grid)


def test_cluster_variances_are_those_of_totals() -> None:
    rng = np.random.default_rng(6)
    cluster = rng.integers(0, 30, 200)
    codes = (cluster % 2).astype(np.int64)
    y = rng.uniform(-1, 3, 200)
    n = np.bincount(codes)
    arms = Arms(codes, ((int(n[0]), int(n[1])),), clusters=cluster, largest=20)
    found = difference_aggregates(eager(pd.DataFrame({"y": y})), Y, arms)
    v = 0.0
    for arm in (0, 1):
        totals = pd.Series(y - 1)[codes == arm].groupby(cluster[codes == arm]).sum()
        v += len(totals) * totals.var(ddof=1) / n[arm] ** 2
    assert number(found.variance) == pytest.approx(v, rel=1e-4)


def test_a_declared_constant_takes_the_place_of_what_is_missing() -> None:
    y = [-1.0, float("nan"), float("nan"), 3.0, 3.0, 1.0]
    frame, arms = eager(pd.DataFrame({"y": y})), two(3, 3)
    assert observed(frame, Y).tolist() == [True, False, False, True, True, True]
    full = eager(pd.DataFrame({"y": np.nan_to_num(y, nan=2.0)}))
    filled = difference_aggregates(frame, Y, arms, fill=2.0)
    assert number(filled.difference) == number(difference_aggregates(full, Y, arms).difference)
    assert number(filled.difference) != number(difference_aggregates(frame, Y, arms).difference)


def test_sums_of_squares_are_exact_beyond_the_integers_of_a_double() -> None:
    n = 20_000  # n 2^40 is above 2^53
    rng = np.random.default_rng(7)
    y = rng.uniform(-1, 3, n)
    codes = np.repeat([0, 1], n // 2).astype(np.int64)
    frame = eager(pl.DataFrame({"y": y}))
    found = arm_aggregates(frame, Y, Arms(codes, ((n // 2, n // 2),)))
    k = [int(v) for v in np.floor((y + 1) / (4 / GRID) + 0.5)]
    for arm, half in ((0, k[: n // 2]), (1, k[n // 2 :])):
        m, s, q = len(half), sum(half), sum(v * v for v in half)
        assert _open(found[0])[arm] == s
        exact = Fraction(m * q - s * s, (m - 1) * GRID)
        assert _open(found[1])[arm] == (exact + Fraction(1, 2)).__floor__()


BLOCKED_CLUSTERS = {
    "codes": np.repeat([0, 1, 2, 3], 4).astype(np.int64),
    "sizes": ((4, 4), (4, 4)),
    "weights": (Fraction(3, 4), Fraction(1, 4)),
    "clusters": np.arange(16) // 2,
    "largest": 2,
}


@pytest.mark.long
@pytest.mark.parametrize("unit", ["person", "cluster"])
def test_blocked_clusters_move_as_much_as_claimed_and_no_more(unit: Any) -> None:
    """One record, a person or a whole cluster, is set to every corner of the bounds."""
    arms = Arms(unit=unit, **BLOCKED_CLUSTERS)  # type: ignore[arg-type]
    record = (0,) if unit == "person" else (0, 1)
    starts = [np.full(16, -1.0), np.full(16, 3.0)]
    # the others of the heaviest cell at one end, the record's cluster at the other
    starts.append(np.where(np.arange(16) < 2, 3.0, -1.0))
    starts += list(np.random.default_rng(8).choice((-1.0, 3.0), (3, 16)))
    most = np.zeros(5, dtype=object)
    for start in starts:
        here = values_of(arms, tuple(start))
        for first in range(0, 16, 2):
            rows = [first + r for r in record]
            for corner in itertools.product((-1.0, 3.0), repeat=len(rows)):
                y = start.copy()
                y[rows] = corner
                change = np.abs(values_of(arms, tuple(y)) - here)
                most = np.maximum(most, [*change[:3], change[3:5].sum(), change[5:].sum()])
    assert (most == GRID).all()


def test_blocked_cluster_statistics_are_weighted_by_block() -> None:
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    block, arm = (np.arange(40) // 20)[cluster], (np.arange(40) % 2)[cluster]
    codes = np.where(rng.random(len(cluster)) < 0.9, 2 * block + arm, -1).astype(np.int64)
    y = rng.uniform(-1, 3, len(cluster))
    n = np.bincount(codes[codes >= 0], minlength=4)
    weights = (Fraction(1, 3), Fraction(2, 3))
    sizes = ((int(n[0]), int(n[1])), (int(n[2]), int(n[3])))
    arms = Arms(codes, sizes, weights, cluster, 5)
    found = difference_aggregates(eager(pd.DataFrame({"y": y})), Y, arms)
    effect = v = 0.0
    for cell, count in enumerate(n):
        rows, w = codes == cell, float(weights[cell // 2])
        totals = pd.Series(y[rows] - 1).groupby(cluster[rows]).sum()
        effect += (1 if cell % 2 else -1) * w * y[rows].mean()
        v += w**2 * len(totals) * totals.var() / count**2
    assert number(found.difference) == pytest.approx(effect, abs=1e-5)
    assert number(found.variance) == pytest.approx(v, rel=1e-4)
