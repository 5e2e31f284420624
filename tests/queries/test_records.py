from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

from dprct.errors import EngineError
from dprct.formula import parse
from dprct.privacy.aggregates import _open
from dprct.queries import propensity, weighting
from dprct.queries.propensity import (
    Held,
    PropensityGrid,
    Treated,
    covariates_of,
    propensity_weights,
)
from dprct.queries.weighting import Centre, CompactTable, Scheme, Weighted, read_once
from dprct.schema import Column
from dprct.schema.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

N = 3000
COLUMNS = {
    "age": Column("age", bounds=(20.0, 60.0), missing=()),
    "income": Column("income", bounds=(0.0, 10.0), missing=(".",)),
    "educ": Column("educ", "byte", levels=(1.0, 2.0, 3.0), missing=(".",)),
    "city": Column("city", "str5", levels=("north", "south", "west"), missing=()),
}
OUTCOME = Column("y", bounds=(10.0, 30.0), missing=())
TREATMENT = Column("t", "byte", levels=(0.0, 1.0), missing=())
DESIGN = covariates_of(parse("t ~ age*city + income + C(educ) + educ").terms, COLUMNS, {})


def data(n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "y": rng.uniform(10, 30, n),
            "t": rng.integers(0, 2, n),
            "age": rng.uniform(20, 60, n),
            "income": [[1.5, None, float("nan"), 9.0][k] for k in rng.integers(0, 4, n)],
            "educ": [[1.0, 2.0, 3.0, None][k] for k in rng.integers(0, 4, n)],
            "city": rng.choice(["north", "south", "west"], n),
        }
    )


def in_duckdb(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    return connection.sql("select * from rows order by hash(y)")


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "Polars": lambda frame: frame,
    "Polars, shuffled and lazy": lambda frame: frame.sample(
        fraction=1, shuffle=True, seed=1
    ).lazy(),
    "DuckDB": in_duckdb,
}


def read(given: Any, n: int = N, fill: float | None = None) -> CompactTable:
    return read_once(table(given), OUTCOME, fill, Treated(TREATMENT, 1.0), DESIGN, n)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_engines_have_the_same_rows_in_the_order_of_what_they_hold(engine: str) -> None:
    expected, found = read(data()), read(ENGINES[engine](data()))
    one, other = (rows.part(rows.order()) for rows in (expected, found))
    assert np.array_equal(one.steps, other.steps)
    assert np.array_equal(one.t, other.t)
    assert np.array_equal(one.Z.chunk(0, N), other.Z.chunk(0, N))


def test_a_row_takes_eight_bytes_a_number_one_a_level_and_five() -> None:
    rows = read(data())
    taken = {block.column.name: x.dtype.itemsize for block, x in rows.columns.items()}
    assert taken == {"age": 8, "city": 1, "income": 8, "educ": 8}  # educ is a number as well
    assert sorted(x.dtype.itemsize for x in rows.columns.values()) == [1, 1, 8, 8, 8]
    assert (rows.steps.itemsize, rows.treated.itemsize) == (4, 1)


def answers(rows: CompactTable, places: Any) -> list[Any]:
    part = rows.part(places)
    grid = PropensityGrid(len(places), DESIGN.size, 0.05)
    weighted = Weighted(part, np.linspace(-1, 1, DESIGN.size), 0.1, Scheme("ate", 0.1))
    (number,) = [b for b in DESIGN.blocks if b.column.name == "income"]
    found = [
        propensity_weights(part.Z, part.t, grid), weighted.difference(), weighted.arm_sums(),
        weighted.masses(), weighted.squares(Centre()), weighted.gradient_norm(Centre()),
        *weighted.balance(number), weighted.overlap(10),
    ]  # fmt: skip
    return [list(_open(sealed)) for sealed in found]


@pytest.mark.parametrize("work", [propensity.WORK, 0.0], ids=["accelerated", "Newton"])
def test_rows_made_anew_give_the_same_bits_as_rows_in_memory(
    work: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read(data(20_000), 20_000)
    places = np.arange(0, 20_000, 2) if work else np.arange(20_000)
    monkeypatch.setattr(propensity, "WORK", work)
    if work:  # thousands of steps are too many for a test of bits
        monkeypatch.setattr(propensity, "SHARE", 50.0)
    assert isinstance(rows.part(places).Z, Held)
    expected = answers(rows, places)
    monkeypatch.setattr(weighting, "HELD_MOST", 0)
    assert not isinstance(rows.part(places).Z, Held)
    assert answers(rows, places) == expected


def test_pieces_of_rows_made_anew_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, places = read(data()), np.arange(5, N)
    held = rows.part(places).Z
    monkeypatch.setattr(weighting, "HELD_MOST", 0)
    made = rows.part(places).Z
    assert len(made) == len(held) == N - 5
    assert np.array_equal(made.chunk(7, 4321), held.chunk(7, 4321))


def test_outcomes_are_total_and_on_their_grid() -> None:
    frame = data(6).with_columns(y=pl.Series([10.0, 20.0, 30.0, float("inf"), -float("inf"), None]))
    assert (read(frame, 6).steps / weighting.HALF - 1).tolist() == [-1, 0, 1, 1, -1, -1]
    assert read(frame, 6, fill=20.0).steps[-1] == weighting.HALF


def test_reading_leaves_the_table_as_it_was() -> None:
    frame = data().to_pandas()
    before = frame.copy()
    read(frame).part(np.arange(N))
    assert frame.equals(before)


def test_a_table_that_has_changed_is_refused() -> None:
    with pytest.raises(EngineError, match="another number"):
        read(data().lazy(), N + 1)
