"""Whether data are legal in a schema: the check at the door, on the custodian's side.

Messages name columns and rules; they show neither a value nor a count of the data.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.errors import ColumnError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema.engine_rules import (
    BEYOND,
    broken_in_engine,
    is_short,
    unit_rules_in_engine,
)
from dprct.schema.facts import Column, number_limits
from dprct.schema.rounding import stored
from dprct.schema.table import (
    COMPANION,
    Frame,
    Table,
    names_of,
    numbers_of,
    table,
    text_of,
    whole_beyond,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.schema.schema import Schema

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
