from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

from dprct.encoding import encodings
from dprct.queries.additive import CodedRows, CompactRows, EngineRows
from dprct.queries.counts import ROWS as N
from dprct.queries.counts import grouped
from dprct.schema import Column, Schema
from dprct.schema.tables import collected, eager, table

if TYPE_CHECKING:
    from collections.abc import Callable

Y = Column("y", bounds=(0.0, 0.7), missing=(".",))
T = Column("t", "byte", levels=(0.0, 1.0), missing=())
X = Column("x", bounds=(0.0, 1.0), missing=(".",), bins=200)
G = Column("g", "str2", levels=("", "a"), missing=())
TREATED, *CODES = encodings(Schema((T, X, G)), ["t", "x", "g"])
READ: Any = (CODES, Y, 0.2, TREATED)
ROWS = pl.DataFrame(
    {
        "y": [0.1, None, float("nan"), float("inf"), 0.7, 1e300, -5.0, 0.3],
        "t": [0.0, 1.0, 1e300, None, 1.0, 0.0, -1.0, 1.0],
        "x": [0.2, 0.9, float("-inf"), None, 1e300, 0.6, 0.2, 0.2],
        "g": ["a", None, "b", "", "a", "a", "a", "a"],
    }
)
ENGINES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: ROWS.to_pandas(),
    "Polars": lambda: ROWS,
    "Polars, lazy": lambda: ROWS.lazy(),
    "DuckDB": lambda: duckdb.from_arrow(ROWS.to_arrow()),
}


def tuples(rows: CodedRows) -> list[tuple[float, ...]]:
    columns = [*rows.codes, rows.outcome, rows.treated]
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_whatever_a_row_holds_is_the_same_code_in_every_engine(engine: str) -> None:
    frame = table(ENGINES[engine]())
    rows = CompactRows.of(frame, *READ)
    assert [codes.dtype for codes in rows.codes] == [np.int16, np.int8]
    assert (rows.steps.dtype, rows.treated.dtype) == (np.int32, np.int8)
    expected = CodedRows.of(eager(ROWS), *READ)
    assert tuples(rows.rows(None)) == tuples(expected)
    assert np.isfinite(expected.outcome).all()
    assert expected.treated.tolist() == [0, 1, 1, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("engine", ["Polars, lazy", "DuckDB"])
def test_rows_that_stay_are_those_in_memory(engine: str) -> None:
    frame: Any = table(ENGINES[engine]())
    there = EngineRows.of(frame, len(ROWS), *READ).with_arm()
    assert there.rows(None) is there
    expected = CodedRows.of(eager(ROWS), *READ).with_arm()
    numbers = collected(there.codes.frame.select(y=there.outcome, treated=there.treated)).rows()
    pairs = zip(expected.outcome.tolist(), expected.treated.tolist(), strict=True)
    assert sorted(numbers) == sorted(pairs)
    codes, sums = grouped(there.codes.frame, there.codes.keys)
    found = [row for row, n in zip(codes.tolist(), sums[N].tolist(), strict=True)
             for _ in range(n)]  # fmt: skip
    assert sorted(found) == sorted(np.column_stack(expected.codes).tolist())


def test_some_rows_by_their_places() -> None:
    rows, places = CompactRows.of(eager(ROWS), *READ), np.array([7, 0])
    part, same = rows.rows(places), rows.rows(None).rows(places)
    assert tuples(part) == tuples(same)
    assert part.outcome.tolist() == same.outcome.tolist()


def test_an_order_of_their_own_for_simulations() -> None:
    shuffled = ROWS.sample(fraction=1, shuffle=True, seed=1)
    one, other = (
        CompactRows.of(eager(frame), *READ).in_canonical_order().rows(None)
        for frame in (ROWS, shuffled)
    )
    assert one.outcome.tolist() == other.outcome.tolist()
    assert tuples(one) == tuples(CodedRows.of(eager(ROWS), *READ))
