"""Whether data are legal in a schema: the check at the door, on the custodian's side.

Messages name columns and rules; they show neither a value nor a count of the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema.columns import Column, given, number_limits, stored
from dprct.schema.schema import Schema
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
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    Lazy = nw.LazyFrame[Any]

    Rule = tuple[str, nw.Expr]


def listed_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return one name, of a column or another thing of the schema, or several as a tuple.

    Raises
    ------
    ParameterError
        If they are no text, or a column of data rather than its name.

    Examples
    --------
    >>> listed_names("earn", "outcome"), listed_names(["earn", "works"], "outcome")
    (('earn',), ('earn', 'works'))
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, Iterable) and not (isinstance(names, Mapping) or is_data(names)):
        found = tuple(names)
        if all(isinstance(name, str) for name in found):
            return found
    raise ParameterError(
        f"{parameter}= is {type(names).__name__}; give names, as text or a list of texts"
    )


def one_name(name: object, parameter: str) -> str:
    """Return the name of one column.

    Raises
    ------
    ParameterError
        If it is no text, such as the column itself.

    Examples
    --------
    >>> one_name("earn", "outcome")
    'earn'
    """
    if isinstance(name, str):
        return name
    raise ParameterError(f"{parameter}={given(name)}; give the name of one column")


def check_choice(parameter: str, value: object, allowed: Collection[str]) -> None:
    """Refuse what is none of the allowed words.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> check_choice("legal", "strict", ("calibrated", "strict"))
    """
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{parameter}={given(value)}; allowed: {', '.join(allowed)}")


def check_schema(schema: object) -> None:
    """Refuse what is no schema.

    Raises
    ------
    SchemaError

    Examples
    --------
    >>> check_schema(Schema(()))
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema is {type(schema).__name__}; give a dprct.Schema, such as dprct.read returns "
            "beside the data"
        )


def is_data(value: object) -> bool:
    """Whether this is a column or a table of some library; a pandas Index holds names.

    Examples
    --------
    >>> is_data(np.array([1.5])), is_data(["earn", "works"])
    (True, False)
    """
    return (
        isinstance(value, np.ndarray)
        or nw.dependencies.is_into_series(value)
        or nw.dependencies.is_into_dataframe(value)
    )


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
    rules += [("", rule) for rule in _overlaps_in_engine(exclusive)]
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
    yield from _missing_rules_in_engine(column, frame)
    if is_exact(dtype) and not is_short(column):
        yield BEYOND, nw.col(name).cast(nw.Float64).abs() >= WHOLE
    yield from _number_rules_in_engine(column)


def is_short(column: Column) -> bool:
    """Whether the type of a column holds no whole number that a double would round."""
    return number_limits(column.type)[1] < WHOLE


def _companion_rules(name: str, dtype: nw.dtypes.DType) -> Iterator[Rule]:
    if not dtype.is_numeric():
        raise _no_codes(name)
    codes = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
    yield _NOT_CODES, ~codes.is_in([float(code) for code in range(-1, len(MISSING_CODES))])


def _missing_rules_in_engine(column: Column, frame: Lazy) -> Iterator[Rule]:
    if column.missing is not None:
        legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
        allowed = ", ".join(column.missing) or "none"
        words = f"a missing code that is not declared (declared: {allowed})"
        yield words, ~missing_code(frame, column.name).is_in(legal)


def _number_rules_in_engine(column: Column) -> Iterator[Rule]:
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
            finite & ~(held & _has_decimals_in_engine(column, safe)),
        )
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        yield "a value outside the bounds", finite & ((x < least) | (x > most))
    if column.levels is not None:
        levels = stored(column, np.array(column.levels)).tolist()
        yield "a value outside the declared levels", finite & ~x.is_in(levels)


def _has_decimals_in_engine(column: Column, x: nw.Expr) -> nw.Expr:
    power = 10.0 ** (column.decimals or 0)
    scaled = x * power
    small = scaled.abs() < WHOLE  # beyond, every double is whole
    whole = nw.when(small).then((scaled + 0.5).floor().cast(nw.Float64)).otherwise(scaled)
    back = whole / (whole * 0.0 + power)  # by a column: Polars rounds twice by a number
    if column.type == "float":
        back = back.cast(nw.Float32).cast(nw.Float64)
    return back == x


def _overlaps_in_engine(groups: Iterable[Sequence[str]]) -> Iterator[Rule]:
    for members in groups:
        ones = [
            nw.when(nw.col(name).cast(nw.Float64) == 1).then(nw.lit(1)).otherwise(nw.lit(0))
            for name in members
        ]
        several = nw.sum_horizontal(*ones) > 1
        yield f"{', '.join(members)}: a row with several of what is declared exclusive", several


__all__ = ["broken_rules", "stored", "validate"]

_MOST_SHOWN = 12


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


def _broken(schema: Schema, names: Sequence[str], frame: Table) -> list[str]:
    """Return every broken rule, with the names of its columns."""
    groups = _exclusive(schema, names)
    if isinstance(frame, nw.LazyFrame):
        found, between = broken_in_engine(map(schema.column, names), groups, frame)
        units = list(unit_rules_in_engine(schema, frame))
    else:
        found = {name: broken_rules(schema.column(name), frame) for name in names}
        between, units = list(_overlaps(groups, frame)), list(_unit_rules(schema, frame))
    return [
        *(f"{name}: {rule}" for name, rules in found.items() for rule in rules),
        *between,
        *(f"{schema.unit.id}: {rule}" for rule in units),
    ]


def broken_rules(column: Column, frame: Frame) -> list[str]:
    """Return the rules of ``column`` that its data break, in words."""
    if column.is_text:
        return list(_text_rules(column, text_of(frame, column.name)))
    values, codes = numbers_of(frame, column.name)
    rules = list(_missing_rules(column, codes))
    if not is_short(column) and whole_beyond(frame[column.name]):
        rules.append(BEYOND)
    return rules + list(_number_rules(column, values[codes < 0]))


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


def _missing_rules(column: Column, codes: NDArray[np.int8]) -> Iterator[str]:
    if column.missing is None:
        return
    legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
    if not np.isin(codes, legal).all():
        allowed = ", ".join(column.missing) or "none"
        yield f"a missing code that is not declared (declared: {allowed})"


def _number_rules(column: Column, x: NDArray[np.float64]) -> Iterator[str]:
    if not np.isfinite(x).all():
        yield "an infinite value"
        x = x[np.isfinite(x)]
    low, high = number_limits(column.type)
    if ((x < low) | (x > high)).any():
        yield f"a value that type {column.type} cannot hold"
    elif column.type == "float" and (x != x.astype(np.float32)).any():
        yield "a value that type float cannot hold exactly"
    if column.is_integer and (x != np.floor(x)).any():
        yield "a value that is not whole"
    if column.decimals and not _has_decimals(column, x).all():
        yield f"a value with more than {column.decimals} decimals"
    if column.bounds is not None:
        low_bound, high_bound = stored(column, np.array(column.bounds))
        if ((x < low_bound) | (x > high_bound)).any():
            yield "a value outside the bounds"
    if column.levels is not None and not np.isin(x, stored(column, np.array(column.levels))).all():
        yield "a value outside the declared levels"


def _has_decimals(column: Column, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    assert column.decimals is not None
    with np.errstate(over="ignore"):
        rounded = stored(column, np.round(x, column.decimals))
    return np.equal(rounded, x)


def _text_rules(column: Column, text: NDArray[np.object_]) -> Iterator[str]:
    levels = None if column.levels is None else set(column.levels)
    if levels is not None and not all(value in levels for value in text):
        yield "a text outside the declared levels"


def _exclusive(schema: Schema, names: Iterable[str]) -> list[list[str]]:
    """Return the columns of each exclusive group."""
    groups: dict[str, list[str]] = {}
    for column in map(schema.column, names):
        if column.exclusive is not None and not column.is_text:
            groups.setdefault(column.exclusive, []).append(column.name)
    return list(groups.values())


def _overlaps(groups: Iterable[Sequence[str]], frame: Frame) -> Iterator[str]:
    """Yield the exclusive groups of which a row has several."""
    for members in groups:
        several = np.sum([numbers_of(frame, name)[0] == 1 for name in members], axis=0)
        if (several > 1).any():
            yield f"{', '.join(members)}: a row with several of what is declared exclusive"


def _unit_rules(schema: Schema, frame: Frame) -> Iterator[str]:
    unit = schema.unit
    if unit.id is None:
        return
    column = schema.column(unit.id)
    if column.is_text:
        text = text_of(frame, unit.id)
        if (text == "").any():
            yield "an id that is missing"
        # bytes that no encoding reads are ids too, and NumPy would show them in its refusal
        counts = np.array(list(Counter(text.tolist()).values()), np.int64)
    else:
        values, codes = numbers_of(frame, unit.id)
        if (codes >= 0).any():
            yield "an id that is missing"
        _, counts = np.unique(values[codes < 0], return_counts=True)
    if counts.size and counts.max() > unit.max_rows:
        if unit.max_rows == 1:
            yield f"a {unit.name} with several rows; declare max_rows to protect all of them"
        else:
            yield f"a {unit.name} with more rows than max_rows={unit.max_rows}"
