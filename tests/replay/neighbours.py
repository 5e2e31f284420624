"""Pairs of legal tables that differ in one unit, and agree in whatever the guarantee calls public.

Tables are made of corners: all at one bound, all different, everything missing, two rows.  The
changed unit takes corners too, because that is where sensitivities are reached.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct import Budget, Column, Schema, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Choose = Callable[[Sequence[Any]], Any]

NARROW, SIGNED, WIDE, HUGE = (0.0, 1.0), (-3.0, 5.0), (-1e6, 1e6), (-1e99, 1e99)
BOUNDS = (NARROW, SIGNED, WIDE, HUGE)
EPSILONS = (1.0, 0.5, 3.0, 0.01, 50.0, 1e-6)
LARGE = (8.0, 12.0)
"""Budgets that buy scores of some thousand rows."""
DELTAS = (1e-4, 0.05, 1e-9)
"""The first is what the first pair of a case has: all rows at a bound, one at the other."""
MOST = 64
"""Levels that ids, blocks of two and clusters can have."""

PRIVATE_ARMS = ("alternate", "one", "none")
"""Half of the rows are treated, one is, nobody is: nothing is refused by what is private."""

NEVER: dict[str, Any] = {"missing": ()}


def _levels(*values: float, storage: str = "byte") -> dict[str, Any]:
    return {"type": storage, "levels": tuple(map(float, values)), **NEVER}


FIELDS: dict[str, Column] = {
    "y": Column("y", bounds=NARROW, **NEVER),
    "y1": Column("y1", bounds=NARROW, **NEVER),
    "y2": Column("y2", bounds=(0.0, 10.0), **NEVER),
    "w": Column("w", bounds=(-1.0, 1.0), **NEVER),
    "v": Column("v", bounds=(0.0, 8.0), decimals=2, **NEVER),
    "x": Column("x", **_levels(0, 1, 2)),
    "g": Column("g", "str4", levels=("a", "b"), **NEVER),
    "t": Column("t", **_levels(0, 1)),
    "t2": Column("t2", **_levels(0, 1)),
    "took": Column("took", **_levels(0, 1)),
    "arm": Column("arm", **_levels(0, 1, 2)),
    "block": Column("block", **_levels(1, 2)),
    "pair": Column("pair", **_levels(*range(MOST))),
    "cluster": Column("cluster", **_levels(*range(MOST))),
    "pid": Column("pid", "int", **NEVER),
    "year": Column("year", "int", **NEVER),
}
"""Columns that cases are made of; ``v`` is free to be public, ``pid`` names persons."""


@dataclass(frozen=True, repr=False)
class Case:
    """A way to bind a method to a table, and who is protected in that table.

    Parameters
    ----------
    name : str
    make : callable
        From table and schema to a model.
    private : tuple of str
        Columns of which the guarantee protects the values.
    public : tuple of str
        Columns that no neighbour changes.
    may_miss : mapping from column to "public" or "private"
        Whether who has a value is public; other columns miss nothing.
    rows : int
        Of one person; more than one need ``pid``.
    deltas : tuple of float
        0 is pure.
    sizes : tuple of int
        Numbers of rows, even.
    facts : mapping from column to facts
    arms : tuple of str
        How rows are divided; a case whose treatment is private has :data:`PRIVATE_ARMS` or more.
    grown : bool
        Whether half of the pairs are many rows, spread, with a large budget: what is asked for only
        where earlier releases leave something to ask for is nothing in the others.
    spread : float
        Where above 0, values are spread over this part of their bounds, about the middle, but for
        those of the person who is replaced: so that regressions have residuals, and where they are
        close together one score is as large as any.
    least : float
        Part of its claimed sensitivity that every release must pass in some pair.
    panel : bool
        The table is a panel of donors, of which one has another series.
    """

    name: str
    make: Any
    private: tuple[str, ...]
    public: tuple[str, ...] = ()
    may_miss: Mapping[str, str] = field(default_factory=dict)
    rows: int = 1
    deltas: tuple[float, ...] = (0.0,)
    sizes: tuple[int, ...] = (40, 16, 8)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    bounds: tuple[tuple[float, float], ...] = BOUNDS
    epsilons: tuple[float, ...] = EPSILONS
    arms: tuple[str, ...] = ("alternate", "halves")
    grown: bool = False
    spread: float = 0.0
    least: float = 0.0
    panel: bool = False
    treated_private: bool = False

    def __repr__(self) -> str:
        return self.name

    def schema(self, bounds: tuple[float, float]) -> Schema:
        """Return the public facts, with these bounds of the outcome."""
        names = ("region", "year", *self.private) if self.panel else (*self.private, *self.public)
        columns = []
        for name in names:
            column = PANEL[name] if name in PANEL else FIELDS[name]
            if name == "y":
                column = replace(column, bounds=bounds)
            if name in self.may_miss:
                column = replace(column, missing=(".", ".a"))
            columns.append(replace(column, **self.facts.get(name, {})))
        schema = Schema(tuple(columns), dataset_id="study")
        if self.rows > 1:
            return schema.declare(unit=Unit("person", id="pid", max_rows=self.rows))
        return schema


DESIGN = ("t", "t2", "arm", "block", "pair", "cluster", "pid", "year")
"""Columns that follow from the place of a row and the arms of a pair."""

PANEL = {"region": Column("region", "byte", **NEVER), "year": Column("year", "int", **NEVER)}
PERIODS = 6


@dataclass(frozen=True)
class Pair:
    """Two tables, their schema, and a budget."""

    case: Case
    schema: Schema
    one: pd.DataFrame
    other: pd.DataFrame
    budget: Budget

    def make(self, table: Any) -> Any:
        """Return the model of the case on a table."""
        return self.case.make(table, self.schema)


def turns(case: Case) -> list[tuple[str, bool]]:
    """Return in which ways pairs of a case are made, in the order in which they are to come."""
    return [(arms, grown) for grown in (False, True)[: 1 + case.grown] for arms in case.arms]


def pairs(case: Case) -> Iterator[Pair]:
    """Yield pairs of neighbours of a case, each of its turns after the other, without end.

    They are the same in every run.  The first is the simplest: all rows at a bound.
    """
    rng = np.random.default_rng([*case.name.encode()])
    choose = _first
    for arms, grown in itertools.cycle(turns(case)):
        large = {"spread": 1.0, "sizes": (8000,), "epsilons": LARGE, "deltas": DELTAS[:1]}
        yield _pair(choose, replace(case, **large) if grown else case, arms)
        choose = partial(_any, rng)


def searched(case: Case, examples: int) -> Iterator[Pair]:
    """Yield so many pairs of a case, and then, in turn, one of rows that are spread and another.

    Where all rows are at bounds, whether a regression has residuals, so that its scores move, is
    up to the noise; where rows are spread it has, and one score is as large as any.
    """
    drawn = pairs(case)
    yield from itertools.islice(drawn, examples)
    spread = {"spread": 0.2, "epsilons": LARGE, "grown": False}
    clear = pairs(replace(case, **spread))
    while True:
        yield next(clear)
        yield next(drawn)


def _first(options: Sequence[Any]) -> Any:
    return options[0]


def _any(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def _pair(choose: Choose, case: Case, arms: str) -> Pair:
    bounds = choose(case.bounds)
    schema, size = case.schema(bounds), choose(case.sizes)
    tables = (
        _panel(choose, case, schema, size)
        if case.panel
        else _rows(choose, case, schema, size, arms)
    )
    delta = choose(case.deltas)
    return Pair(case, schema, *tables, Budget(choose(case.epsilons), delta))


def _rows(
    choose: Choose, case: Case, schema: Schema, n: int, arms: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    columns: dict[str, Any] = {}
    for name in (*case.private, *case.public):
        if name in DESIGN:
            columns[name] = _design(name, n, arms, case)
        else:
            column, may_miss = schema.column(name), name in case.may_miss
            columns[name] = (
                _spread(column, n, case.spread)
                if case.spread
                else _values(choose, column, n, may_miss)
            )
    one = pd.DataFrame(columns)
    place = choose(range(n // case.rows))
    if case.spread:
        for name in (name for name in case.private if name not in DESIGN):
            corners = _corners(schema.column(name))
            for row in range(case.rows * place, case.rows * (place + 1)):
                one.loc[row, name] = choose(corners)
    other = one.copy()
    for row in range(case.rows * place, case.rows * (place + 1)):
        for name in case.private:
            if name == "pid":
                other.loc[row, name] = float(n // case.rows + 1 + place % MOST)  # another, as often
                continue
            if case.may_miss.get(name) == "public" and pd.isna(one.loc[row, name]):
                continue
            options = _corners(schema.column(name))
            if case.may_miss.get(name) == "private" and not pd.isna(one.loc[row, name]):
                options = [np.nan, *options]
            # where both are drawn from corners, half of the pairs would not differ in a column
            moved = [value for value in options if value != one.loc[row, name]]
            other.loc[row, name] = choose(moved)
    _keep_exclusive(schema, other)
    return one, other


def _keep_exclusive(schema: Schema, table: pd.DataFrame) -> None:
    """Leave of several exclusive columns the first that is 1, so that the row stays legal."""
    groups = {column.exclusive for column in schema.columns if column.exclusive}
    for group in groups:
        names = [column.name for column in schema.columns if column.exclusive == group]
        for later, name in enumerate(names[1:], 1):
            table.loc[table[names[:later]].any(axis=1), name] = 0.0


def _design(name: str, n: int, arms: str, case: Case) -> Any:
    row = np.arange(n)
    if name == "pid":
        return 1.0 + row // case.rows
    if name in ("pair", "cluster"):
        return (row // 2).astype(float)
    if name == "year":
        return (row % 12).astype(float)
    if name == "block":
        return 1.0 + (row // 4) % 2
    if "cluster" in case.public:  # all of a cluster are in one arm
        return ((row // 2) % 2 == (name == "t2")).astype(float)
    if "pair" in case.public and name == "t" and arms == "halves":  # all of a pair in one arm
        return (row >= n // 4 * 2).astype(float)
    order = row if arms == "alternate" else (row * 2) // n
    if name == "arm":
        return (row % 3).astype(float)
    if arms == "one":
        return (row == n - 1).astype(float) * (name == "t")
    if arms == "none":
        return np.zeros(n)
    if arms == "cross":
        return ((row if name == "t" else row // 2) % 2).astype(float)
    if arms == "three":
        return (row % 3 == (1 if name == "t" else 2)).astype(float)
    return (order % 2).astype(float)


def _corners(column: Column) -> list[Any]:
    if column.levels is not None:
        return list(column.levels)
    assert column.bounds is not None
    low, high = column.bounds
    if column.clip:
        return [2 * low - high, 2 * high - low, low]
    return [low, high, 0.0 if low <= 0 <= high else low]


def _values(choose: Choose, column: Column, n: int, may_miss: bool) -> Any:
    corners = _corners(column)
    kind = choose(["low", "high", "turns", *(["holes", "missing"] * may_miss)])
    values = [corners[i % len(corners)] for i in range(n)]
    if kind in ("low", "high"):
        values = [corners[kind == "high"]] * n
    if kind == "missing":
        values = [np.nan] * n
    if kind == "holes":
        values = [np.nan if i % 3 == 0 else value for i, value in enumerate(values)]
    return pd.Series(values, dtype=object) if column.is_text else np.array(values, float)


def _spread(column: Column, n: int, part: float) -> Any:
    """Return values about the middle of the bounds, or all levels, as often as each other."""
    turn = np.random.default_rng([*column.name.encode()]).permutation(n) / n
    if column.levels is not None:
        levels = [column.levels[int(len(column.levels) * one)] for one in turn]
        return pd.Series(levels, dtype=object) if column.is_text else np.array(levels, float)
    assert column.bounds is not None
    low, high = column.bounds
    values = low + (high - low) * (0.5 + part * (turn - 0.5))
    return values if column.decimals is None else values.round(column.decimals)


def _panel(choose: Choose, case: Case, schema: Schema, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw a panel of ``n`` donors and, the last, a treated region."""
    corners = _corners(schema.column("y"))[:2]
    series = np.empty((n + 1, PERIODS))
    kind = choose(["low", "high", "turns", "steps"])
    for region in range(n + 1):
        for year in range(PERIODS):
            turn = {"low": 0, "high": 1, "turns": year % 2, "steps": (region + year) % 2}[kind]
            series[region, year] = corners[turn]
    moved = series.copy()
    changed = choose(range(n + case.treated_private))
    moved[changed] = [choose(corners) for _ in range(PERIODS)]
    if (moved == series).all():
        moved[changed] = [sum(corners) - value for value in series[changed]]
    one, other = _long(series), _long(moved)
    if len(case.private) > 1 and choose((False, True)):
        other["y"] = one["y"]  # then the predictors alone tell the two apart
    for name in case.private[1:]:
        ends = _corners(schema.column(name))[:2]
        one[name] = other[name] = [ends[kind != "low"]] * len(one)
        changes = [ends[kind == "low"], *([np.nan] if name in case.may_miss else [])]
        other.loc[other["region"] == changed, name] = choose(changes)
    return one, other


def _long(series: Any) -> pd.DataFrame:
    regions, years = series.shape
    return pd.DataFrame(
        {
            "region": np.repeat(np.arange(float(regions)), years),
            "year": np.tile(2000.0 + np.arange(years), regions),
            "y": series.ravel(),
        }
    )
