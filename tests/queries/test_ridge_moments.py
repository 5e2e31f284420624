"""Second moments: exact, and their joint sensitivity by enumeration of neighbours."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.covariates import HALF
from dprct.queries.ridge_moments import MomentsLayout, moments
from dprct.queries.sums import GRID
from dprct.schema import Column
from dprct.schema.tables import eager

NAN, INF = float("nan"), float("inf")


def columns(p: int, q: int) -> tuple[list[Column], list[Column]]:
    made = [Column(f"x{j}", bounds=(-1.0, 1.0), missing=()) for j in range(p)]
    return made, [Column(f"y{j}", bounds=(0.0, 8.0), missing=()) for j in range(q)]


def table(n: int, p: int, q: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = {f"x{j}": rng.uniform(-1.2, 1.2, n) for j in range(p)}
    return pd.DataFrame({**x, **{f"y{j}": rng.uniform(-1, 9, n) for j in range(q)}})


def by_hand(data: pd.DataFrame, p: int, q: int) -> list[int]:
    """The moments in Python integers."""

    def whole(value: float, low: float, high: float) -> int:
        step = (high - low) / GRID
        inside = low + (high - low) / 2 if math.isnan(value) else min(max(value, low), high)
        return (math.floor((inside - low) / step + 0.5) + 8) // 16 - HALF

    weight = max(1, round(math.sqrt((p + 1) / q)))
    squares = [[0] * (p + 1) for _ in range(p + 1)]
    cross = [[0] * q for _ in range(p + 1)]
    for row in data.to_numpy().tolist():
        z = [HALF, *[whole(v, -1, 1) for v in row[:p]]]
        u = [whole(v, 0, 8) for v in row[p:]]
        for i in range(p + 1):
            for j in range(i, p + 1):
                squares[i][j] += z[i] * z[j]
            for j in range(q):
                cross[i][j] += weight * z[i] * u[j]
    upper = [squares[i][j] for i in range(p + 1) for j in range(i, p + 1)]
    return [*upper[1:], *(v for row in cross for v in row)]


@pytest.mark.parametrize(("p", "q"), [(1, 1), (3, 2), (2, 5), (6, 1)])
def test_moments_are_those_of_python_integers(p: int, q: int) -> None:
    data = table(300, p, q)
    data.iloc[0, 0] = data.iloc[1, p] = NAN
    data.iloc[2, 0], data.iloc[3, p] = INF, -INF
    expected = by_hand(data, p, q)
    rows = pl.DataFrame({name: data[name].to_numpy() for name in data})
    backwards = data.iloc[::-1]
    for frame in (data, rows, backwards):
        found = moments(eager(frame), *columns(p, q))
        assert _open(found).tolist() == expected
        assert found.size == MomentsLayout.of(*columns(p, q)).size == len(expected)


def test_a_million_rows_at_a_corner_do_not_overflow() -> None:
    n = 1_000_000
    data = pd.DataFrame({"x0": np.full(n, -1.0), "y0": np.full(n, 8.0)})
    found = _open(moments(eager(data), *columns(1, 1))).tolist()
    m = n * HALF**2
    assert found == [-m, m, m, -m]


# sensitivity


def contribution(record: tuple[float, ...], p: int, q: int) -> np.ndarray:
    names = [*[f"x{j}" for j in range(p)], *[f"y{j}" for j in range(q)]]
    # Polars reads one row at a fraction of the price of pandas
    data = pl.DataFrame({name: [float(x)] for name, x in zip(names, record, strict=True)})
    return np.array(_open(moments(eager(data), *columns(p, q))), dtype=object)


def largest(records: Any, p: int, q: int) -> tuple[int, int, int]:
    """The largest L1, squared L2 and Linf change when one record is replaced by another."""
    made = np.array([contribution(record, p, q) / HALF for record in records], dtype=object)
    made = (made / HALF).astype(float)  # exact: multiples of 2^-30
    most = [0.0, 0.0, 0.0]
    for one in made:
        moved = abs(made - one)
        change = [moved.sum(1), (moved**2).sum(1), moved]
        most = [max(a, b.max()) for a, b in zip(most, change, strict=True)]
    return tuple(most)  # type: ignore[return-value]


def claims(p: int, q: int) -> tuple[float, float, float]:
    claimed = MomentsLayout.of(*columns(p, q))
    units = (HALF**2, HALF**4, HALF**2)
    found = (claimed.l1, claimed.l2_squared, claimed.l_inf)
    return tuple(float(a / b) for a, b in zip(found, units, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize(("p", "q"), [(2, 1), (3, 1), (3, 2), (1, 3)])
def test_the_sensitivity_is_attained_at_corners(p: int, q: int) -> None:
    corners = itertools.product(*[(-1.0, 1.0)] * p, *[(0.0, 8.0)] * q)
    l1, l2_squared, l_inf = largest(corners, p, q)
    assert l2_squared == claims(p, q)[1]
    assert l_inf == claims(p, q)[2]
    assert l1 <= claims(p, q)[0]


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_it_is_never_exceeded_by_anything_a_row_can_hold(p: int, q: int) -> None:
    inside = (NAN, -1.0, INF) if p + q > 2 else (NAN, -1.0, -0.4, 0.7, 1.0, INF)
    outcomes = (NAN, -INF, 8.0)
    found = largest(itertools.product(*[inside] * p, *[outcomes] * q), p, q)
    assert all(a <= b for a, b in zip(found, claims(p, q), strict=True))
    assert found[1] > 0.8 * claims(p, q)[1]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nor_by_random_records_of_any_size(data: Any) -> None:
    """The bound of the notes, in numbers: records in a cube, moments as in the layout."""
    p, q = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    layout = MomentsLayout.of(*columns(p, q))
    d, rng = p + 1, np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    z, w, u, v = (
        np.clip(np.sign(x) * abs(x) ** shape, -1, 1)
        for x in (rng.uniform(-1, 1, size) for size in (d, d, q, q))
    )
    z[0] = w[0] = 1
    upper = np.triu_indices(d)
    change = (np.outer(z, z) - np.outer(w, w))[upper]
    cross = layout.weight * (np.outer(z, u) - np.outer(w, v))
    assert (change**2).sum() + (cross**2).sum() <= layout.l2_squared / HALF**4 + 1e-9


def test_it_is_smaller_than_that_of_vectors_in_a_ball() -> None:
    """3/sqrt(2) per squared norm of a record (ALGORITHMS.md, section 4) against 2."""
    for p, q in itertools.product(range(1, 60), (1, 4)):
        layout = MomentsLayout.of(*columns(p, q))
        d, b = layout.width, layout.weight**2 * q  # squared norms of a record's two parts
        ball = 2 * (d + b / 2) ** 2 if b <= 2 * d else 4 * b * d
        assert layout.l2_squared / HALF**4 <= ball
        if b == d:
            assert ball == pytest.approx((3 / math.sqrt(2) * d) ** 2)
            assert layout.l2_squared / HALF**4 == (2 * d) ** 2


def test_the_aggregate_carries_the_claims_of_the_layout() -> None:
    found = moments(eager(table(5, 3, 2)), *columns(3, 2), "replace-one-design-public")
    layout = MomentsLayout.of(*columns(3, 2))
    assert (found.l1, found.l2_squared, found.l_inf) == (
        layout.l1,
        layout.l2_squared,
        layout.l_inf,
    )
    assert found.relation == "replace-one-design-public"


def test_matrices_undo_the_layout() -> None:
    p, q = 3, 2
    data = table(50, p, q)
    layout = MomentsLayout.of(*columns(p, q))
    squares, cross = layout.matrices(_open(moments(eager(data), *columns(p, q))), 50)
    x = np.clip(data.to_numpy(), [-1] * p + [0] * q, [1] * p + [8] * q)
    z = np.column_stack([np.ones(50), x[:, :p]])
    np.testing.assert_allclose(squares, z.T @ z, atol=5e-3)
    np.testing.assert_allclose(cross, z.T @ (x[:, p:] / 4 - 1), atol=5e-3)


# refusals


def test_add_remove_is_refused() -> None:
    with pytest.raises(ParameterError, match="number of rows"):
        moments(eager(table(5, 1, 1)), *columns(1, 1), "add-remove")


@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 0)])
def test_nothing_to_regress_is_refused(p: int, q: int) -> None:
    with pytest.raises(ParameterError, match="at least one"):
        MomentsLayout.of(*columns(p, q))
