"""Whether data are legal in a schema: the check at the door, on the custodian's side.

Every rule is stated once, in :func:`number_rules`, :func:`text_rules` and their like, for values
that may be NumPy arrays or expressions of an engine.  In memory the rules are read off the arrays,
because missing codes may live in the payloads of NaN there.  In an engine, one pass over the table
counts the rows that break each rule, and the counts do not leave this module.  Messages name
columns and rules; they show neither a value nor a count of the data.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.errors import ColumnError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema.columns import Column, Unit, number_limits, stored
from dprct.schema.tables import (
    COMPANION,
    WHOLE,
    Frame,
    Table,
    asking,
    collected,
    is_exact,
    missing_code,
    names_of,
    numbers_of,
    schema_of,
    table,
    text_of,
    whole_beyond,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.schema.schema import Schema

    Lazy = nw.LazyFrame[Any]
    Rule = tuple[str, Any]

_MOST_SHOWN = 12
_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_NOT_CODES = "not missing codes"


def validate(schema: Schema, data: Any, columns: Iterable[str] | None = None) -> None:
    """Refuse data that are not legal in the schema.

    Parameters
    ----------
    schema : Schema
    data : data frame
        pandas, Polars, DuckDB or PySpark; of one in an engine, rules are counted there.
    columns : iterable of str, optional
        Check these columns only; all by default, and then the data may have no others.

    Raises
    ------
    SchemaError
        Naming every column and the rule it breaks.
    ColumnError
        If a column is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte", levels=(0.0, 1.0), missing=()),))
    >>> validate(schema, pd.DataFrame({"got": [0.0, 1.0]}))
    """
    frame = table(data)
    names = schema.names if columns is None else list(columns)
    _check_companions(schema, names)
    if columns is None:
        _check_columns(schema, frame)
    broken = _broken(schema, names, frame)
    if broken:
        more = f"; and {len(broken) - _MOST_SHOWN} more" if len(broken) > _MOST_SHOWN else ""
        raise SchemaError(
            "the data are not legal in the schema: "
            + "; ".join(broken[:_MOST_SHOWN])
            + more
            + "; mend the data, or declare all that is possible (never what the data hold)"
        )


def broken_rules(column: Column, frame: Frame) -> list[str]:
    """Return the rules of ``column`` that its data in memory break, in words."""
    if column.is_text:
        rules = text_rules(column, text_of(frame, column.name), Arrays)
        return [words for words, breaks in rules if breaks.any()]
    values, codes = numbers_of(frame, column.name)
    found = [words for words, breaks in missing_rules(column, codes, Arrays) if breaks.any()]
    if not is_short(column) and whole_beyond(frame[column.name]):
        found.append(BEYOND)
    with np.errstate(all="ignore"):
        rules = number_rules(column, values[codes < 0], Arrays)
        return found + [words for words, breaks in rules if breaks.any()]


# Each rule, once.  ``on`` spells it for arrays or for expressions.

BEYOND = (
    "a whole number of 2^53 or more, which a double does not tell from the next (give doubles, or "
    "an id as text)"
)
"""Of a column of exact numbers: those are read as doubles."""


class Arrays:
    """What rules are made of, in NumPy."""

    @staticmethod
    def known(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether there is a value."""
        return _one_if_all(~np.isnan(x))

    @staticmethod
    def finite(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value is finite."""
        return _one_if_all(np.isfinite(x))

    @staticmethod
    def small(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return np.asarray(np.abs(x) < WHOLE)

    @staticmethod
    def floor(x: NDArray[Any]) -> NDArray[Any]:
        """Round down to a whole number."""
        return np.asarray(np.floor(x))

    @staticmethod
    def single(x: NDArray[Any]) -> NDArray[Any]:
        """Round to 24 bits, as storage type float does."""
        return x.astype(np.float32).astype(np.float64)

    @staticmethod
    def either(where: NDArray[np.bool_], x: NDArray[Any], other: Any) -> NDArray[Any]:
        """Return ``x`` where it holds, else the other."""
        return x if where.all() else np.where(where, x, other)

    @staticmethod
    def among(x: NDArray[Any], values: Sequence[Any]) -> NDArray[np.bool_]:
        """Whether a value is one of these; objects are compared as they are."""
        if x.dtype != np.object_:
            return np.isin(x, values)
        known = set(values)
        return np.array([value in known for value in x], np.bool_)

    @staticmethod
    def several(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Whether more than one of the masks holds."""
        return np.asarray(np.sum(masks, axis=0) > 1)


def _one_if_all(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return one True in the place of a mask that holds everywhere, which saves passes over it."""
    return np.asarray(True) if mask.all() else mask


class Expressions:
    """What rules are made of, in an engine."""

    @staticmethod
    def known(x: nw.Expr) -> nw.Expr:
        """Whether there is a value."""
        return ~(x.is_null() | x.is_nan())

    @staticmethod
    def finite(x: nw.Expr) -> nw.Expr:
        """Whether a value is finite."""
        return Expressions.known(x) & x.is_finite()

    @staticmethod
    def small(x: nw.Expr) -> nw.Expr:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return x.abs() < WHOLE

    @staticmethod
    def floor(x: nw.Expr) -> nw.Expr:
        """Round down to a whole number."""
        return x.floor().cast(nw.Float64)

    @staticmethod
    def single(x: nw.Expr) -> nw.Expr:
        """Round to 24 bits, as storage type float does."""
        return x.cast(nw.Float32).cast(nw.Float64)

    @staticmethod
    def either(where: nw.Expr, x: nw.Expr, other: Any) -> nw.Expr:
        """Return ``x`` where it holds, else the other."""
        return (
            nw.when(where).then(x).otherwise(other if isinstance(other, nw.Expr) else nw.lit(other))
        )

    @staticmethod
    def among(x: nw.Expr, values: Sequence[Any]) -> nw.Expr:
        """Whether a value is one of these."""
        return x.is_in(list(values))

    @staticmethod
    def several(masks: Sequence[nw.Expr]) -> nw.Expr:
        """Whether more than one of the masks holds."""
        ones = [nw.when(mask).then(nw.lit(1)).otherwise(nw.lit(0)) for mask in masks]
        return nw.sum_horizontal(*ones) > 1


Spelling = type[Any]
"""Arrays or Expressions."""


def missing_rules(column: Column, codes: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the missing codes of a column may not be, and where they are; -1 is not a code."""
    if column.missing is not None:
        legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
        allowed = ", ".join(column.missing) or "none"
        words = f"a missing code that is not declared (declared: {allowed})"
        yield words, ~on.among(codes, legal)


def number_rules(column: Column, x: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the numbers of a column may not be, and where they are."""
    finite = on.finite(x)
    yield "an infinite value", on.known(x) & ~finite
    low, high = number_limits(column.type)
    beyond = (x < low) | (x > high)
    yield f"a value that type {column.type} cannot hold", finite & beyond
    held = finite & ~beyond
    # what no rounding is to see, because an engine might refuse to round it, is 0 here
    safe = on.either(held, x, 0.0)
    if column.type == "float":
        yield "a value that type float cannot hold exactly", held & (on.single(safe) != safe)
    if column.is_integer:
        yield "a value that is not whole", held & on.small(x) & (on.floor(safe) != safe)
    if column.decimals:
        words = f"a value with more than {column.decimals} decimals"
        yield words, finite & ~(held & _has_decimals(column, safe, on))
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        yield "a value outside the bounds", finite & ((x < least) | (x > most))
    if column.levels is not None:
        levels = stored(column, np.array(column.levels)).tolist()
        yield "a value outside the declared levels", finite & ~on.among(x, levels)


def _has_decimals(column: Column, x: Any, on: Spelling) -> Any:
    power = 10.0 ** (column.decimals or 0)
    scaled = x * power
    whole = on.either(on.small(scaled), on.floor(scaled + 0.5), scaled)
    back = whole / (whole * 0.0 + power)  # by a column: Polars rounds twice by a number
    return (on.single(back) if column.type == "float" else back) == x


def text_rules(column: Column, text: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the texts of a column may not be, and where they are."""
    if column.levels is not None:
        yield "a text outside the declared levels", ~on.among(text, column.levels)


def exclusive_rules(
    groups: Iterable[Sequence[str]], ones: Mapping[str, Any], on: Spelling
) -> Iterator[Rule]:
    """Yield the exclusive groups, and where a row has several; ``ones``: where a column is 1."""
    for members in groups:
        words = f"{', '.join(members)}: a row with several of what is declared exclusive"
        yield words, on.several([ones[name] for name in members])


def unit_rules(unit: Unit, *, missing: bool, crowded: bool) -> Iterator[str]:
    """Yield what is wrong with the ids: one is missing, or has more rows than were declared."""
    if missing:
        yield "an id that is missing"
    if crowded and unit.max_rows == 1:
        yield f"a {unit.name} with several rows; declare max_rows to protect all of them"
    elif crowded:
        yield f"a {unit.name} with more rows than max_rows={unit.max_rows}"


def is_short(column: Column) -> bool:
    """Whether the type of a column holds no whole number that a double would round."""
    return number_limits(column.type)[1] < WHOLE


# What is asked of the table, in memory or in an engine.


def _broken(schema: Schema, names: Sequence[str], frame: Table) -> list[str]:
    """Return every broken rule, with the names of its columns."""
    groups = _exclusive(schema, names)
    if isinstance(frame, nw.LazyFrame):
        found, between = _broken_in_engine(list(map(schema.column, names)), groups, frame)
        units = _ids_in_engine(schema, frame)
    else:
        found = {name: broken_rules(schema.column(name), frame) for name in names}
        ones = {name: numbers_of(frame, name)[0] == 1 for group in groups for name in group}
        rules = exclusive_rules(groups, ones, Arrays)
        between = [words for words, breaks in rules if breaks.any()]
        units = _ids_in_memory(schema, frame)
    return [
        *(f"{name}: {rule}" for name, rules in found.items() for rule in rules),
        *between,
        *(f"{schema.unit.id}: {rule}" for rule in units),
    ]


def _check_columns(schema: Schema, frame: Table) -> None:
    names, there = schema.names, names_of(frame)
    for name in names:
        if name not in there:
            raise ColumnError.unknown(name, there, "the data")
    known = {*names, *(name + COMPANION for name in names)}
    extra = [str(name) for name in there if name not in known]
    if extra:
        raise ColumnError.unknown(extra[0], names)


def _check_companions(schema: Schema, names: Iterable[str]) -> None:
    known = set(schema.names)
    for name in names:
        if name + COMPANION in known:
            raise SchemaError(
                f"column {name + COMPANION!r} has the name under which the missing codes of "
                f"{name!r} travel; if it holds them, leave it out of the schema (Schema.select), "
                "else rename it"
            )


def _exclusive(schema: Schema, names: Iterable[str]) -> list[list[str]]:
    """Return the columns of each exclusive group."""
    groups: dict[str, list[str]] = {}
    for column in map(schema.column, names):
        if column.exclusive is not None and not column.is_text:
            groups.setdefault(column.exclusive, []).append(column.name)
    return list(groups.values())


def _ids_in_memory(schema: Schema, frame: Frame) -> list[str]:
    unit = schema.unit
    if unit.id is None:
        return []
    if schema.column(unit.id).is_text:
        text = text_of(frame, unit.id)
        missing = bool((text == "").any())
        # bytes that no encoding reads are ids too, and NumPy would show them in its refusal
        counts = np.array(list(Counter(text.tolist()).values()), np.int64)
    else:
        values, codes = numbers_of(frame, unit.id)
        missing = bool((codes >= 0).any())
        _, counts = np.unique(values[codes < 0], return_counts=True)
    crowded = bool((counts > unit.max_rows).any())
    return list(unit_rules(unit, missing=missing, crowded=crowded))


def _ids_in_engine(schema: Schema, frame: Lazy) -> list[str]:
    """Ask by one pass that groups the rows by id."""
    unit = schema.unit
    if unit.id is None:
        return []
    column = schema.column(unit.id)
    key = nw.col(unit.id).cast(nw.String) if column.is_text else nw.col(unit.id).cast(nw.Float64)
    gone = key.is_null() | (key == "" if column.is_text else key.is_nan())
    rows = frame.select(key.alias("__id"), gone.alias("__gone"))
    missing = _counts(rows, [nw.col("__gone")])[0] > 0
    sizes = rows.filter(~nw.col("__gone")).group_by("__id").agg(nw.len().alias("__rows"))
    crowded = _counts(sizes, [nw.col("__rows") > unit.max_rows])[0] > 0
    return list(unit_rules(unit, missing=missing, crowded=crowded))


def _broken_in_engine(
    columns: Sequence[Column], groups: Iterable[Sequence[str]], frame: Lazy
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the rules that the data break: of each column, and between columns, in words."""
    dtypes = schema_of(frame)
    rules = [(column.name, rule) for column in columns for rule in _rules(column, dtypes, frame)]
    ones = {column.name: nw.col(column.name).cast(nw.Float64) == 1 for column in columns}
    rules += [("", rule) for rule in exclusive_rules(groups, ones, Expressions)]
    counts = _counts(frame, [broken for _, (_, broken) in rules])
    found: dict[str, list[str]] = {column.name: [] for column in columns}
    between: list[str] = []
    for (name, (words, _)), count in zip(rules, counts, strict=True):
        if count and words == _NOT_CODES:
            raise _no_codes(name)
        if count:
            (found[name] if name else between).append(words)
    return found, between


def _rules(column: Column, dtypes: Mapping[str, nw.dtypes.DType], frame: Lazy) -> Iterator[Rule]:
    """Yield the rules of a column that stays in an engine; refuse a type that the schema denies."""
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
        yield from text_rules(column, nw.col(name).cast(nw.String).fill_null(""), Expressions)
        return
    if not (dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
        raise SchemaError(
            f"column {name!r} holds {dtype}, the schema says numbers; give codes and numbers (a "
            "time as a number of units since a day that the schema names)"
        )
    if name + COMPANION in dtypes:
        yield _companion_rule(name, dtypes[name + COMPANION])
    yield from missing_rules(column, missing_code(frame, name), Expressions)
    x = nw.col(name).cast(nw.Float64)
    if is_exact(dtype) and not is_short(column):
        yield BEYOND, x.abs() >= WHOLE
    yield from number_rules(column, x, Expressions)


def _companion_rule(name: str, dtype: nw.dtypes.DType) -> Rule:
    if not dtype.is_numeric():
        raise _no_codes(name)
    codes = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
    return _NOT_CODES, ~codes.is_in([float(code) for code in range(-1, len(MISSING_CODES))])


def _no_codes(name: str) -> SchemaError:
    return SchemaError(
        f"column {name + COMPANION!r} must hold missing codes, whole numbers from -1 (not missing) "
        f"to {len(MISSING_CODES) - 1} (.z); give these, or rename it"
    )


def _counts(frame: Lazy, rules: Sequence[nw.Expr]) -> list[int]:
    """Return how many rows break each rule, in one pass."""
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
