"""Whether data that stay in an engine are legal: every rule a count of the rows that break it.

The rules and their words are those of :mod:`dprct.schema.legal`, as expressions, so that one pass
over the table checks all columns; the counts do not leave this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.errors import ColumnError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema.facts import Column, number_limits
from dprct.schema.rounding import stored
from dprct.schema.table import (
    COMPANION,
    WHOLE,
    asking,
    collected,
    is_exact,
    missing_code,
    schema_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dprct.schema.schema import Schema

    Lazy = nw.LazyFrame[Any]
    Rule = tuple[str, nw.Expr]

BEYOND = (
    "a whole number of 2^53 or more, which a double does not tell from the next (give doubles, or "
    "an id as text)"
)
"""Of a column of exact numbers: those are read as doubles."""

_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_NOT_CODES = "not missing codes"


def broken_in_engine(
    columns: Iterable[Column], exclusive: Iterable[Sequence[str]], frame: Lazy
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the rules that the data break: of each column, and between columns, in words.

    Parameters
    ----------
    columns : iterable of Column
        To be checked.
    exclusive : iterable of sequences of str
        Names of the columns of each exclusive group.
    frame : lazy narwhals frame

    Raises
    ------
    ColumnError
        If a column is not there.
    SchemaError
        If a column has another type than the schema says, or a companion holds no missing codes.
    """
    dtypes = schema_of(frame)
    wanted = list(columns)
    rules = [(column.name, rule) for column in wanted for rule in _rules(column, dtypes, frame)]
    rules += [("", rule) for rule in _overlaps(exclusive)]
    counts = _counts(frame, [broken for _, (_, broken) in rules])
    found: dict[str, list[str]] = {column.name: [] for column in wanted}
    between: list[str] = []
    for (name, (words, _)), count in zip(rules, counts, strict=True):
        if count and words == _NOT_CODES:
            raise _no_codes(name)
        if count:
            (found[name] if name else between).append(words)
    return found, between


def _no_codes(name: str) -> SchemaError:
    return SchemaError(
        f"column {name + COMPANION!r} must hold missing codes, whole numbers from -1 (not missing) "
        f"to {len(MISSING_CODES) - 1} (.z); give these, or rename it"
    )


def unit_rules_in_engine(schema: Schema, frame: Lazy) -> Iterator[str]:
    """Yield what is wrong with the ids of units; one pass that groups the rows by id."""
    unit = schema.unit
    if unit.id is None:
        return
    column = schema.column(unit.id)
    key = nw.col(unit.id).cast(nw.String) if column.is_text else nw.col(unit.id).cast(nw.Float64)
    gone = key.is_null() | (key == "" if column.is_text else key.is_nan())
    rows = frame.select(key.alias("__id"), gone.alias("__gone"))
    if _counts(rows, [nw.col("__gone")])[0]:
        yield "an id that is missing"
    sizes = rows.filter(~nw.col("__gone")).group_by("__id").agg(nw.len().alias("__rows"))
    if _counts(sizes, [nw.col("__rows") > unit.max_rows])[0]:
        if unit.max_rows == 1:
            yield f"a {unit.name} with several rows; declare max_rows to protect all of them"
        else:
            yield f"a {unit.name} with more rows than max_rows={unit.max_rows}"


def _counts(frame: Lazy, rules: Sequence[nw.Expr]) -> list[int]:
    if not rules:
        return []
    names = [f"__r{k}" for k in range(len(rules))]
    # null counts as legal: what is missing is named by its own rule
    flags = [
        nw.when(rule).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64).alias(name)
        for rule, name in zip(rules, names, strict=True)
    ]
    with asking(frame, "rows that break a rule"):
        counted = frame.select(*flags).select(*[nw.col(name).sum() for name in names])
    sums = collected(counted)
    return [int(number or 0) for number in sums.select(*names).row(0)]


def _rules(column: Column, dtypes: Mapping[str, nw.dtypes.DType], frame: Lazy) -> Iterator[Rule]:
    name = column.name
    if name not in dtypes:
        raise ColumnError.unknown(name, list(dtypes), "the data")
    if frame.implementation.is_pyspark() and set(name) & set(".`"):
        raise SchemaError(
            f"column {name!r}: Spark takes a dot or a backtick for the syntax of a nested column; "
            "rename it there and in the schema"
        )
    dtype = dtypes[name]
    if column.is_text:
        if not isinstance(dtype, _TEXTS):
            raise SchemaError(f"column {name!r} holds {dtype}, the schema says text; give text")
        if column.levels is not None:
            text = nw.col(name).cast(nw.String).fill_null("")
            yield "a text outside the declared levels", ~text.is_in([str(x) for x in column.levels])
        return
    if not (dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
        raise SchemaError(
            f"column {name!r} holds {dtype}, the schema says numbers; give codes and numbers (a "
            "time as a number of units since a day that the schema names)"
        )
    if name + COMPANION in dtypes:
        yield from _companion_rules(name, dtypes[name + COMPANION])
    yield from _missing_rules(column, frame)
    if is_exact(dtype) and not is_short(column):
        yield BEYOND, nw.col(name).cast(nw.Float64).abs() >= WHOLE
    yield from _number_rules(column)


def is_short(column: Column) -> bool:
    """Whether the type of a column holds no whole number that a double would round."""
    return number_limits(column.type)[1] < WHOLE


def _companion_rules(name: str, dtype: nw.dtypes.DType) -> Iterator[Rule]:
    if not dtype.is_numeric():
        raise _no_codes(name)
    codes = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
    yield _NOT_CODES, ~codes.is_in([float(code) for code in range(-1, len(MISSING_CODES))])


def _missing_rules(column: Column, frame: Lazy) -> Iterator[Rule]:
    if column.missing is not None:
        legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
        allowed = ", ".join(column.missing) or "none"
        words = f"a missing code that is not declared (declared: {allowed})"
        yield words, ~missing_code(frame, column.name).is_in(legal)


def _number_rules(column: Column) -> Iterator[Rule]:
    x = nw.col(column.name).cast(nw.Float64)
    known = ~(x.is_null() | x.is_nan())
    finite = known & x.is_finite()
    yield "an infinite value", known & ~x.is_finite()
    low, high = number_limits(column.type)
    held = finite & (x >= low) & (x <= high)
    yield f"a value that type {column.type} cannot hold", finite & ((x < low) | (x > high))
    # what no rounding is to see, because an engine might refuse to round it, is 0 here
    safe = nw.when(held).then(x).otherwise(nw.lit(0.0))
    if column.type == "float":
        exact = safe.cast(nw.Float32).cast(nw.Float64)
        yield "a value that type float cannot hold exactly", held & (exact != safe)
    if column.is_integer:
        small = held & (x.abs() < WHOLE)
        yield "a value that is not whole", small & (safe.floor() != safe)
    if column.decimals:
        yield (
            f"a value with more than {column.decimals} decimals",
            finite & ~(held & _has_decimals(column, safe)),
        )
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        yield "a value outside the bounds", finite & ((x < least) | (x > most))
    if column.levels is not None:
        levels = stored(column, np.array(column.levels)).tolist()
        yield "a value outside the declared levels", finite & ~x.is_in(levels)


def _has_decimals(column: Column, x: nw.Expr) -> nw.Expr:
    power = 10.0 ** (column.decimals or 0)
    scaled = x * power
    small = scaled.abs() < WHOLE  # beyond, every double is whole
    whole = nw.when(small).then((scaled + 0.5).floor().cast(nw.Float64)).otherwise(scaled)
    back = whole / (whole * 0.0 + power)  # by a column: Polars rounds twice by a number
    if column.type == "float":
        back = back.cast(nw.Float32).cast(nw.Float64)
    return back == x


def _overlaps(groups: Iterable[Sequence[str]]) -> Iterator[Rule]:
    for members in groups:
        ones = [
            nw.when(nw.col(name).cast(nw.Float64) == 1).then(nw.lit(1)).otherwise(nw.lit(0))
            for name in members
        ]
        several = nw.sum_horizontal(*ones) > 1
        yield f"{', '.join(members)}: a row with several of what is declared exclusive", several
