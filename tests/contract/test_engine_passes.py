"""How often a fit goes through a table that stays in its engine: twice, and says what it says."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl
import pytest

from dprct import Marginals, MVHistogram, PrivateATE, PrivateMoments, Simple
from dprct.encoding import encodings
from dprct.privacy.aggregates import _open
from dprct.queries import counts, group_moments, sums, together
from dprct.schema import Column, Schema
from dprct.schema.tables import (
    COMPANION,
    Counting,
    _legal,
    _rules,
    collected,
    counted_once,
    schema_of,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

LAZY = ["Polars, lazy", "DuckDB", "Spark"]
TWO = ["y", "x"]


def policy(schema: Schema, value: Any) -> Schema:
    """The schema, in which a missing outcome counts as that."""
    return schema.declare(y={"missing_policy": value})


MODELS: dict[str, Callable[[Any, Schema], Any]] = {
    "effects, who has a value being public": lambda data, schema: PrivateATE(
        data, policy(schema, "public"), outcome=TWO, assignment=Simple("t")
    ),
    "effects, who has a value being private": lambda data, schema: PrivateATE(
        data, policy(schema, "private"), outcome=TWO, assignment=Simple("t")
    ),
    "effects, treatment being private": lambda data, schema: PrivateATE(
        data, policy(schema, "public"), outcome=TWO, assignment=Simple("t"),
        neighbors="replace-one",
    ),
    "effects, jointly": lambda data, schema: PrivateATE(
        data, policy(schema, 0.5), outcome=TWO, assignment=Simple("t")
    ),
    "moments of public groups": lambda data, schema: PrivateMoments(
        data, policy(schema, "public"), columns=TWO, assignment=Simple("t"),
        neighbors="replace-one-design-public",
    ),
    "moments of private cells": lambda data, schema: PrivateMoments(
        data, policy(schema, 0.5), columns=TWO, assignment=Simple("t")
    ),
    "histogram": lambda data, schema: MVHistogram(
        data, schema.select(["x", "g"]), columns=["x", "g"]
    ),
    "histogram of each column": lambda data, schema: Marginals(
        data, schema.select(["x", "g"]), columns=["x", "g"]
    ),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What engines were asked for: one entry for each query that was run."""
    found: list[str] = []
    collect = nw.LazyFrame.collect

    def counting(self: Any, *args: Any, **options: Any) -> Any:
        found.append(self.implementation.value)
        return collect(self, *args, **options)

    monkeypatch.setattr(nw.LazyFrame, "collect", counting)
    return found


def delta_of(form: str) -> float:
    return 1e-6 if form.startswith("moments") or form.endswith("jointly") else 0


def said(form: str, model: Any) -> Any:
    """Return what a fit of a seed releases."""
    if form.startswith("moments"):
        return model.fit(4, delta_of(form), rng=3).drawn.sums.tolist()
    if form.startswith("histogram"):
        return model.fit(30, rng=3).protected.sort_values(["x", "g"]).to_numpy().tolist()
    found = model.fit(4, delta_of(form), rng=3)
    return [*found.params, *found.bse]


@pytest.mark.parametrize("form", MODELS)
@pytest.mark.parametrize("engine", LAZY, indirect=True)
def test_a_fit_goes_through_the_table_twice(
    people: Any, engines: ModuleType, asked: list[str], form: str
) -> None:
    model = MODELS[form](people, engines.SCHEMA)
    assert len(asked) == 1
    released = said(form, model)
    assert len(asked) == 2
    model.plan(4, delta_of(form))
    assert len(asked) == 2
    assert released == in_memory(form, engines)


@functools.cache
def in_memory(form: str, engines: ModuleType) -> Any:
    return said(form, MODELS[form](engines.rows(), engines.SCHEMA))


@pytest.mark.parametrize(
    "form", ["effects, who has a value being public", "moments of public groups"]
)
def test_more_rows_than_doubles_add_exactly_are_added_as_int64(
    engines: ModuleType, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    kinds: list[Any] = []
    for room in (together, sums):
        monkeypatch.setattr(room, "answered", _noting(room.answered, kinds))
    lazy = engines.ENGINES["DuckDB"](engines.rows())
    as_doubles = said(form, MODELS[form](lazy, engines.SCHEMA))
    for room in (together, group_moments):
        monkeypatch.setattr(room, "EXACT", 899 << 20)  # 900 rows of steps of up to 2^20
    assert said(form, MODELS[form](lazy, engines.SCHEMA)) == as_doubles
    assert kinds == [nw.Float64, nw.Int64]


def _noting(answered: Callable[..., Any], kinds: list[Any]) -> Callable[..., Any]:
    def noted(frame: Any, sums: Any, by: Any, kind: Any = None) -> Any:
        kinds.append(kind or nw.Float64)  # steps are doubles
        return answered(frame, sums, by, kind)

    return noted


@pytest.mark.parametrize(("most", "passes"), [(1, 3), (3 * 35, 2), (3 * 35 * 2, 1)])
def test_columns_share_a_pass_while_their_cells_are_few(
    engines: ModuleType, asked: list[str], monkeypatch: pytest.MonkeyPatch, most: int, passes: int
) -> None:
    codes = encodings(engines.SCHEMA, ["g", "x", "t"])
    expected = _open(counts.one_way_counts(table(engines.rows()), codes)).tolist()
    monkeypatch.setattr(counts, "MOST_GROUPS", most)
    lazy = table(engines.ENGINES["DuckDB"](engines.rows()))
    del asked[:]
    assert _open(counts.one_way_counts(lazy, codes)).tolist() == expected
    assert len(asked) == passes


@pytest.mark.parametrize("t", ["legal", "missing", "illegal"])
@pytest.mark.parametrize("whole", [True, False])
def test_levels_counted_one_by_one_are_the_groups(
    engines: ModuleType, asked: list[str], t: str, whole: bool
) -> None:
    """Polars counts the rows of a few levels without grouping, and groups where that is not all."""
    odd = {"legal": 1, "missing": None, "illegal": 7}[t]
    kind = pl.Int16 if whole else pl.Float64
    here = pl.when(pl.int_range(pl.len()) < 3).then(odd).otherwise(pl.col("t")).cast(kind)
    rows = engines.rows().with_columns(here.alias("t"))
    column = dataclasses.replace(engines.SCHEMA.column("t"), levels=(0, 1, 2, 3), missing=(".",))
    counting = Counting({"t": nw.col("t")}, ("y",))
    found = []
    for engine in ("Polars, lazy", "DuckDB"):
        held: Any = table(engines.ENGINES[engine](rows))
        del asked[:]
        found.append(counted_once(Schema((column,)), held, ["t"], counting))
        assert len(asked) == (2 if engine != "DuckDB" and t != "legal" else 1)
    assert found[0] == found[1]
    keys = [key for (key,) in found[0].groups if key is not None]
    assert {type(key) for key in keys} == {int if whole else float}
    assert set(keys) == {0, 1}
    assert found[0].legal == (t != "illegal")


@pytest.mark.parametrize("engine", LAZY, indirect=True)
def test_a_value_that_was_not_there_at_the_door_is_clipped(
    engine: Callable[[Any], Any], engines: ModuleType, asked: list[str]
) -> None:
    """A pass that does not clip is thrown away, whatever its rows hold now."""
    legal = table(engine(engines.rows()))
    counted, by = engines.counted_in(legal, by_arm=True), {"t": nw.col("t")}
    wanted = [sums.Asked(engines.X), sums.Asked(engines.Y, 0.5)]
    wild: list[tuple[str, Any]] = [
        ("x", -1e30), ("x", float("nan")), ("x", None), ("y", float("inf")), ("y", 2.2),
    ]  # fmt: skip
    passes = 2
    if legal.implementation.is_pyspark():  # clips at once, and plans for a second
        wild, passes = wild[:1], 1
    for name, value in wild:
        here = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(value)).otherwise(pl.col(name))
        changed = engines.rows().with_columns(here.alias(name))
        held = table(engine(changed))
        del asked[:]
        found = together.summed(held, by, wanted, counted).groups
        assert len(asked) == passes, (name, value)
        clipped = together.summed(table(changed), by, wanted).groups
        for one in wanted:
            assert sorted(found[one]) == sorted(clipped[one]), (name, value)


HOSTILE = [
    None, float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 0.1, 0.25,
    0.1 + 0.2, 5e-324, 100.0, 101.0, -127.0, -128.0, 32740.0, 32741.0, 2147483620.0, 2147483621.0,
    float(2**53 - 1), float(2**53), float(2**53 + 2), -float(2**53), 1.7e38, 1.8e38, 8.9e307, 9e307,
    0.10000000149011612, 1 - 2**-53, 1 + 2**-52,
]  # fmt: skip
COLUMNS = [
    Column("x"), Column("x", missing=()), Column("x", missing=(".",)), Column("x", missing=(".a",)),
    Column("x", bounds=(0.0, 1.0), missing=()), Column("x", bounds=(0.1, 0.3), missing=(".", ".b")),
    Column("x", "float", missing=()), Column("x", "float", bounds=(0.1, 2.0), missing=(".",)),
    Column("x", "byte"), Column("x", "int", missing=(".a",)), Column("x", "long", missing=()),
    Column("x", "byte", levels=(0.0, 1.0), missing=()), Column("x", levels=(-1.0, 0.5, 0.25)),
    Column("x", levels=tuple(j / 4 for j in range(20)), missing=(".",)),
    Column("x", levels=(2.0, 3.0, 0.0, 1.0), bounds=(0.0, 3.0)),
    Column("x", "float", levels=(0.1, 3.0), missing=()),
    Column("x", decimals=1), Column("x", "float", decimals=1, bounds=(-1.0, 100.0), missing=()),
    Column("x", decimals=0, bounds=(-1e9, 1e15), missing=(".",)),
    Column("x", integer=True), Column("x", levels=(1.7e38,), missing=()),
]  # fmt: skip


def _hostile() -> list[pl.DataFrame]:
    codes = [-1, 0, 1, 2, 26, 27, None]
    with_codes = [(x, code) for x in (0.5, 7.0, None) for code in codes]
    tables = [
        pl.DataFrame({"x": HOSTILE}),
        pl.DataFrame({"x": [0, 1, 2, 3, -128, 2**53 - 1, 2**53, -(2**53), 2**60, None]}),
        pl.DataFrame(with_codes, schema=["x", "x" + COMPANION], orient="row"),
    ]
    return [rows.with_row_index("i").cast({"i": pl.Int64}) for rows in tables]


@functools.cache
def _unbroken() -> list[list[tuple[int, ...]]]:
    """Return of each row of each table its place, and which columns it breaks no rule of."""
    found = []
    for rows in _hostile():
        asked = table(rows.lazy())
        dtypes, wanted = schema_of(asked), [nw.col("i")]
        for j, column in enumerate(COLUMNS):
            rules = [rule for _, rule in _rules(column, dtypes, asked)]
            broken = nw.any_horizontal(*rules, ignore_nulls=True)
            wanted.append(nw.when(broken).then(nw.lit(0)).otherwise(nw.lit(1)).alias(f"l{j}"))
        found.append(sorted(collected(asked.select(*wanted)).rows()))
    return found


@pytest.mark.parametrize("engine", LAZY, indirect=True)
def test_the_short_question_at_the_door_is_the_rules(engine: Callable[[Any], Any]) -> None:
    for rows, unbroken in zip(_hostile(), _unbroken(), strict=True):
        asked = table(engine(rows))
        spark = asked.implementation.is_pyspark()
        # Spark plans a long expression for seconds: of its own are NaN, rounding and casts
        few = [5, 6, 8, 12, 19] if spark else range(len(COLUMNS))
        dtypes, wanted = schema_of(asked), [nw.col("i")]
        for j in few:
            legal = nw.all_horizontal(*_legal(COLUMNS[j], dtypes, asked), ignore_nulls=False)
            wanted.append(nw.when(legal).then(nw.lit(1)).otherwise(nw.lit(0)).alias(f"l{j}"))
        expected = [(row[0], *(row[1 + j] for j in few)) for row in unbroken]
        assert sorted(collected(asked.select(*wanted)).rows()) == expected
        if spark:
            break
    for column, kept in zip(COLUMNS[1:], list(zip(*_unbroken()[0], strict=True))[2:], strict=True):
        assert 0 < sum(kept) < len(HOSTILE), column
