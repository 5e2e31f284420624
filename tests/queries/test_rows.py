from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.queries.sums import compact, smallest_integer
from dprct.schema.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = pl.DataFrame(
    {"x": [0.5, None, float("nan"), 3.0, -1.0] * 40, "place": np.arange(200, dtype=float)}
)
ENGINES: dict[str, Callable[[], Any]] = {
    "pandas": ROWS.to_pandas,
    "Polars": lambda: ROWS,
    "Polars, lazy": ROWS.lazy,
    "DuckDB": lambda: duckdb.from_arrow(ROWS.to_arrow()),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_come_in_the_types_asked_for_and_stand_beside_each_other(engine: str) -> None:
    x = nw.col("x")
    absent = x.is_null() | x.is_nan()
    found = compact(
        table(ENGINES[engine]()),
        {
            "place": nw.col("place"),
            "code": nw.when(absent).then(nw.lit(7.0)).otherwise(x.floor()),
            "known": ~absent,
        },
        {"place": nw.Int32, "code": nw.Int8, "known": nw.Int8},
    )
    assert {k: str(v.dtype) for k, v in found.items()} == {
        "place": "int32", "code": "int8", "known": "int8",
    }  # fmt: skip
    assert sorted(found["place"].tolist()) == list(range(200))
    expected = np.array([0, 7, 7, 3, -1])[found["place"] % 5]
    np.testing.assert_array_equal(found["code"], expected)
    np.testing.assert_array_equal(found["known"], expected != 7)


def test_a_pandas_index_of_its_own_changes_nothing() -> None:
    frame = table(pd.DataFrame({"x": [1.0, 2.0]}, index=[5, 5]))
    assert compact(frame, {"x": nw.col("x")}, {"x": nw.Int16})["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(1, nw.Int8), (128, nw.Int8), (129, nw.Int16), (32768, nw.Int16), (32769, nw.Int32),
     (2**31 + 1, nw.Int64)],
)  # fmt: skip
def test_codes_fit_their_type_exactly(size: int, dtype: Any) -> None:
    assert smallest_integer(size) is dtype
