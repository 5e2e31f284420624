"""Files and schemas: what R's ``read_dta``, ``schema`` and ``declare`` ask for."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given
from dprct.errors import ParameterError, SchemaError
from dprct.io import stata
from dprct.io.compare import compare as compared
from dprct.lazy import pandas as pd
from dprct.rbridge.api.options import options_for, whole_numbers
from dprct.rbridge.convert import Record, Table, schema_record
from dprct.rbridge.registry import export
from dprct.schema.columns import Unit, date_kind, shown
from dprct.schema.schema import Schema, declared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.io.compare import Comparison
    from dprct.schema import Column

_WHOLE = ("bins", "decimals")
_VALUES = ("bounds", "levels")
_DAY_ZERO = dt.date(1960, 1, 1)
_DAY_IN_MS = 86_400_000


@export("read_dta")
def read_dta(path: str, schema: Schema | None = None) -> Table:
    """Return a .dta file as a data frame with its schema."""
    data, found = stata.read_dta(path, schema)
    return Table(data, found, attach=True)


@export("write_dta")
def write_dta(data: Table, path: str, version: float | None = None) -> None:
    """Write a data frame as a .dta file."""
    stata.write_dta(data.data, data.schema, path, whole_numbers(version))


@export("schema_read")
def schema_read(path: str) -> Record:
    """Return the schema of a .dta file's header, or of a TOML file."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".dta", ".toml"):
        raise ParameterError(f"{Path(path).name!r} is not a .dta or .toml file; give one of these")
    found = Schema.from_dta(path) if suffix == ".dta" else Schema.load(path)
    return schema_record(found)


@export("schema_of_frame")
def schema_of_frame(data: Table) -> Record:
    """Schema by the columns' types."""
    return schema_record(data.schema)


@export("schema_seal")
def schema_seal(schema: Schema, by: str = "") -> Record:
    """Return the schema dated and hashed."""
    return schema_record(schema.seal(by))


@export("schema_facts")
def schema_facts(schema: Schema) -> pd.DataFrame:
    """Return the declared facts, a row for each column."""
    return schema.to_frame()


@export("schema_save")
def schema_save(schema: Schema, path: str) -> None:
    """Write the schema as TOML."""
    schema.save(path)


@export("schema_declare")
def schema_declare(
    schema: Schema,
    facts: Mapping[str, Any] | None = None,
    dataset_id: str | None = None,
    unit: Mapping[str, Any] | None = None,
    confirm_header: bool = False,
    rest: Any = None,
) -> Record:
    """Return the schema with the facts of its columns."""
    # not by keyword: a column may be called unit
    new = schema.with_columns(
        [
            _said(declared(schema.column(name), _fact(dict(fact), schema, name)), schema, fact)
            for name, fact in (facts or {}).items()
        ]
    )
    who = None if unit is None else Unit(**options_for(Unit, unit))
    new = new.declare(dataset_id=dataset_id, unit=who, confirm_header=confirm_header)
    return schema_record(new if rest is None else new.declare_rest(rest))


def _said(column: Column, schema: Schema, fact: Mapping[str, Any]) -> Column:
    """Return a factor as confirmed, of which R declared every label: it says no more than these."""
    labels = [shown(words) for words in schema.labels_of(column.name).values()]
    given = fact.get("levels")
    named = isinstance(given, list) and bool(labels) and sorted(map(str, given)) == sorted(labels)
    alone = named and not column.label and not column.format and column.type == "long"
    return replace(column, confirmed=True) if alone else column


def _fact(fact: dict[str, Any], schema: Schema, name: str) -> dict[str, Any]:
    """Return one column's facts in Python's types: R has vectors where these are lists."""
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fact.items()}
    _check_order(plain.get("bounds"), name)
    plain |= {k: _in_file(plain[k], schema, name) for k in _VALUES if k in plain}
    for name in _WHOLE:
        if name in plain:
            plain[name] = whole_numbers(plain[name])
    if "levels" in plain and not isinstance(plain["levels"], list):
        plain["levels"] = [plain["levels"]]
    return plain


def _check_order(bounds: Any, name: str) -> None:
    """Refuse reversed dates as they were written: in the file they are numbers."""
    dates = isinstance(bounds, list) and all(isinstance(one, dt.date) for one in bounds)
    if dates and len(bounds) == 2 and bounds[0] >= bounds[1]:
        raise SchemaError(
            f"column {name!r}: bounds {bounds[0]} and {bounds[1]} are reversed or empty; give the "
            "earlier date first"
        )


def _in_file(values: Any, schema: Schema, name: str) -> Any:
    """Return values as the file has them: days for dates, codes for the labels of a factor."""
    if isinstance(values, list):
        return [_in_file(value, schema, name) for value in values]
    column = schema.column(name)
    if isinstance(values, dict) and values.keys() == {"time"}:
        return _of_times(values["time"], column)
    if isinstance(values, bool) and not column.is_text:
        return int(values)
    if isinstance(values, dt.date) and not column.is_text:
        days = (values - _DAY_ZERO).days
        return days * _DAY_IN_MS if date_kind(column.format) == "c" else days
    if not isinstance(values, str) or column.is_text:
        return values
    codes = {shown(words): code for code, words in schema.labels_of(name).items()}
    if values not in codes:
        raise SchemaError(
            f"column {name!r} has no label {given(values)}; "
            + (f"its labels are {', '.join(codes)}" if codes else "it holds numbers: give these")
        )
    return codes[values]


def _of_times(times: Any, column: Column) -> list[float]:
    """Return times, in milliseconds since 1960, as a column has them."""
    kind = None if column.is_text else date_kind(column.format)
    if kind not in ("c", "d"):
        raise SchemaError(f"column {column.name!r} holds no times; give its numbers")
    each = np.atleast_1d(np.asarray(times, np.float64))
    found: list[float] = (each if kind == "c" else each // _DAY_IN_MS).tolist()
    return found


@export("compare")
def compare(a: Any, b: Any, certificate: str | None = None) -> Record:
    """Every difference between two files or data frames."""
    found: Comparison = compared(source(a), source(b), certificate)
    columns = ["facet", "column", "detail", "permitted", "reason"]
    rows = [[getattr(d, name) for name in columns] for d in found.differences]
    return Record(
        ("dprct_comparison",),
        {
            "identical": not found,
            "differences": pd.DataFrame(rows, columns=columns),
            "text": str(found),
        },
    )


def source(given: Any) -> Any:
    """Return a path, or a data frame of R's as the pair that the package compares."""
    return (given.data, given.schema) if isinstance(given, Table) else given
