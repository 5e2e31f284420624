"""Each operation gives the same bits on arrays and on the columns of every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dprct.queries.sums import at_most, nearest, over, within
from dprct.schema.tables import collected, table

if TYPE_CHECKING:
    from collections.abc import Callable

_RNG = np.random.default_rng(7)
X = np.concatenate(
    [
        [0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, 0.5, -0.5, 1.5, 2.5, np.nextafter(0.5, 0)],
        _RNG.normal(size=3000) * 10.0 ** _RNG.integers(-12, 12, 3000),
    ]
)
Y = _RNG.choice([0.3, -0.7, 7.1, 1e-12], len(X))
ODD = np.concatenate([[np.nan, np.inf, -np.inf], X])

CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "over a number": (lambda x: over(x, 0.3), (X,)),
    "over a column": (over, (X, Y)),
    "within": (lambda x: within(x, -1.1, 0.7), (ODD,)),
    "at most": (at_most, (X, np.abs(Y))),
    "nearest": (nearest, (X[np.abs(X) < 1e15],)),
    "one after another": (
        lambda x, y: nearest(over(within(over(x, y), -3.0, 3.0), 3.0) * 2.0**19), (X, Y),
    ),
}  # fmt: skip
ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars": lambda frame: frame.lazy(),
    "DuckDB": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_an_engine_returns_the_bits_of_numpy(engine: str, case: str) -> None:
    function, columns = CASES[case]
    expected = function(*columns)
    names = [f"x{j}" for j in range(len(columns))]
    data = pl.DataFrame(
        {"at": np.arange(len(columns[0])), **dict(zip(names, columns, strict=True))}
    )
    frame = table(ENGINES[engine](data))
    found = collected(frame.select("at", found=function(*map(nw.col, names))).sort("at"))["found"]
    # one zero: the sign of none is ever used
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert np.isfinite(expected).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_null_is_0_as_a_nan_is(engine: str) -> None:
    """Engines' own least and greatest leave nulls out, which would make a bound of them."""
    frame = table(ENGINES[engine](pl.DataFrame({"x": [None, 0.5, float("nan")]})))
    found = collected(frame.select(found=within(nw.col("x"), -1.0, 1.0)))["found"]
    assert sorted(found.to_list()) == [0.0, 0.0, 0.5]


def test_an_overflow_is_infinite_and_no_warning() -> None:
    assert over(np.array([1e300]), 1e-300).tolist() == [np.inf]
