"""From synthetic columns to a whole file: what becomes of every column of the schema.

Nothing here is private: the input is released or public.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.encoding import Encoding, encoding
from dprct.errors import ColumnError, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.release.keys import check_keys, fresh_keys, relabelled
from dprct.schema.columns import FLOAT_LIMITS, INTEGER_LIMITS, Code, Column, Unit
from dprct.schema.expressions import evaluate, parents
from dprct.schema.validate import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.schema.schema import Schema

_MOST_VALUES = 1 << 53


def check_fates(schema: Schema, rows: int) -> None:
    """Refuse a schema in which the fate of a column is open or cannot be carried out.

    Raises
    ------
    SchemaError
    """
    open_ones = [c.name for c in schema.columns if c.fate is None and c.derived is None]
    if open_ones:
        raise SchemaError(
            f"no fate declared for: {', '.join(open_ones)}; declare modelled, filler, withheld, "
            "key, public or drop for each (schema.declare_rest('withheld') for all)"
        )
    for column in schema.columns:
        if column.derived is not None:
            _check_parents(column, schema)
        elif column.fate == "filler":
            _filler_encoding(column)
    _check_groups(schema)
    check_keys(schema, rows)


def _check_groups(schema: Schema) -> None:
    """Refuse an exclusive group whose columns are filled apart: rows could be in several."""
    groups: dict[str, set[str | None]] = {}
    for column in schema.columns:
        if column.exclusive is not None and column.fate in ("modelled", "public", "filler"):
            groups.setdefault(column.exclusive, set()).add(column.fate)
    for group, fates in groups.items():
        if fates not in ({"modelled"}, {"public"}):
            raise SchemaError(
                f"the exclusive group {group!r} has columns that are filled apart "
                f"({', '.join(sorted(map(str, fates)))}); model all of them, or make all public"
            )


def assembled(
    schema: Schema,
    modelled: Mapping[str, NDArray[Any]],
    public: Mapping[str, NDArray[Any]],
    rows: int,
    rng: np.random.Generator,
    units: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """Return the protected table: every column of the schema by its fate, rows sorted.

    Parameters
    ----------
    schema : Schema
        Checked by :func:`check_fates`.
    modelled : mapping of str to array (rows,)
        Synthetic values of the modelled columns.
    public : mapping of str to array (rows,)
        Values of the columns that are public.
    rows : int
    rng : numpy.random.Generator
        For filler and keys, which are functions of public facts only.
    units : array (rows,) of int64, optional
        The unit of every row, where its key repeats (:func:`dprct.release.keys.unit_rows`).

    Notes
    -----
    Public columns and ``units`` are shuffled first, together: a file that lies in the order of a
    confidential column would otherwise tell it, row by row, of whoever the public columns name.
    """
    if public or units is not None:
        order = rng.permutation(rows)
        units = None if units is None else units[order]
        public = {name: values[order] for name, values in public.items()}
    known: dict[str, NDArray[Any]] = {}
    for column in schema.columns:
        if units is not None and column.name == schema.unit.id:
            known[column.name] = relabelled(column, units, rng)
        elif column.derived is None and column.fate != "drop":
            known[column.name] = _filled(column, modelled, public, rows, rng)
    for column in _in_order(schema):
        known[column.name] = _derived(column, known)
    frame = _frame({c.name: known[c.name] for c in schema.columns if c.fate != "drop"})
    return sorted_rows(frame, released_schema(schema))


def released_schema(schema: Schema) -> Schema:
    """Return the schema of the protected file: no dropped column, a sort order that holds."""
    kept = [column.name for column in schema.columns if column.fate != "drop"]
    order: list[str] = []
    for name in schema.file.sorted_by:
        if name not in kept:
            break
        order.append(name)
    return replace(
        schema,
        columns=tuple(_released_column(schema.column(name)) for name in kept),
        file=replace(
            schema.file, sorted_by=tuple(order), value_labels=_released_label_sets(schema)
        ),
        unit=_released_unit(schema),
        source=None,
    )


def _released_column(column: Column) -> Column:
    """Return the column with facts that hold for what its fate puts into it."""
    if column.fate == "key":
        return replace(column, bounds=None, levels=None, bins=None, decimals=None)
    if column.fate != "withheld" and column.derived is None:
        return column
    if column.is_text:
        levels = column.levels
        return replace(column, levels=levels if not levels or "" in levels else ("", *levels))
    missing = column.missing
    return replace(
        column, missing=missing if missing is None or "." in missing else (".", *missing)
    )


def _released_label_sets(schema: Schema) -> Mapping[str, Mapping[Code, str]]:
    """Return all label sets but those that only dropped columns use."""
    used = {c.value_label for c in schema.columns if c.fate != "drop"}
    gone = {c.value_label for c in schema.columns if c.fate == "drop"} - used
    return {name: labels for name, labels in schema.file.value_labels.items() if name not in gone}


def _released_unit(schema: Schema) -> Unit:
    """Return who one record is; an id identifies it no longer unless it is fresh or public."""
    unit = schema.unit
    fate = None if unit.id is None else schema.column(unit.id).fate
    return unit if fate in ("public", "key") else Unit(unit.name)


def sorted_rows(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return the rows in the order that the file's sort flag promises (missing last, . to .z)."""
    keys: list[NDArray[Any]] = []
    for name in schema.file.sorted_by:
        values = frame[name].to_numpy()
        if schema.column(name).is_text:
            as_bytes = [v if isinstance(v, bytes) else v.encode("utf-8", "surrogateescape")
                        for v in values]  # fmt: skip
            keys.append(np.unique(np.array(as_bytes, dtype=object), return_inverse=True)[1])
        else:
            keys += [missing_numbers(values), np.where(np.isnan(values), 0.0, values)]
    if not keys:
        return frame
    order = np.lexsort(keys[::-1])
    return _frame({name: frame[name].to_numpy()[order] for name in frame.columns})


def _frame(columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return a frame of these columns; text stays ``object``, as ``read_dta`` gives it."""
    return pd.DataFrame({name: pd.Series(x, dtype=x.dtype) for name, x in columns.items()})


def _filled(
    column: Column,
    modelled: Mapping[str, NDArray[Any]],
    public: Mapping[str, NDArray[Any]],
    rows: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    match column.fate:
        case "modelled":
            return modelled[column.name]
        case "public":
            return public[column.name]
        case "filler":
            return _filler(column, rows, rng)
        case "key":
            return fresh_keys(column, rows, rng)
    if column.is_text:
        return np.full(rows, "", dtype=object)
    return tagged(np.zeros(rows))


def _filler_encoding(column: Column) -> Encoding:
    """One bin over a continuous domain: filler is uniform, whatever bins are declared.

    Nothing of the data enters, so it does not matter who a value was built from.
    """
    return encoding(replace(column, bins=None, built_from="own"), default_bins=1)


def _filler(column: Column, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return uniform draws: every legal number and missing code has the same chance."""
    found = _filler_encoding(column)
    regular = len(found.cells)
    low, high = found.cells[0][0], found.cells[-1][-1]
    if len(found.cells[0]) == 1:
        values = regular
    elif found.step is not None:
        values = min(round((high - low) / float(found.step)) + 1, _MOST_VALUES)
    else:
        return np.asarray(found.decode(np.zeros(rows, np.int64), rng))
    drawn = rng.integers(0, values + len(found.missing), rows)
    codes = np.where(drawn < values, np.minimum(drawn, regular - 1), drawn - values + regular)
    return np.asarray(found.decode(codes, rng))


def _check_parents(column: Column, schema: Schema) -> None:
    if column.is_text:
        raise SchemaError(f"column {column.name!r} is derived and text; only numbers are derived")
    assert column.derived is not None
    for name in sorted(parents(column.derived)):
        if name not in schema.names:
            raise ColumnError.unknown(name, schema.names)
        parent = schema.column(name)
        if parent.is_text or (parent.derived is None and parent.fate not in ("modelled", "public")):
            raise SchemaError(
                f"column {column.name!r} is derived from {name!r}, which is not a modelled or "
                "public number; derive it from such columns"
            )
    if not parents(column.derived):
        raise SchemaError(f"column {column.name!r}: derived={column.derived!r} names no column")
    _in_order(schema)


def _in_order(schema: Schema) -> list[Column]:
    """Return the derived columns, every parent before its children."""
    waiting = {c.name: c for c in schema.columns if c.derived is not None}
    order: list[Column] = []
    while waiting:
        ready = [c for c in waiting.values() if c.derived and not parents(c.derived) & set(waiting)]
        if not ready:
            raise SchemaError(f"derived columns form a circle: {', '.join(sorted(waiting))}")
        order += ready
        for column in ready:
            del waiting[column.name]
    return order


def _derived(column: Column, known: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Evaluate on released values, then make legal: what the column cannot hold is missing."""
    assert column.derived is not None
    numeric = {name: np.asarray(known[name], np.float64) for name in parents(column.derived)}
    value = evaluate(column.derived, numeric)
    defined = ~np.isnan(value)
    value = np.where(defined, value, 0.0)
    if column.is_integer or column.decimals is not None:
        value = np.round(value, 0 if column.is_integer else column.decimals or 0)
    low, high = INTEGER_LIMITS.get(column.type) or (
        -FLOAT_LIMITS[column.type],
        FLOAT_LIMITS[column.type],
    )
    legal = defined & (value >= low) & (value <= high)
    value = stored(column, np.where(legal, value, 0.0))
    if column.bounds is not None:
        first, last = stored(column, np.array(column.bounds))
        legal &= (value >= first) & (value <= last)
    if column.levels is not None:
        legal &= np.isin(value, stored(column, np.array(column.levels)))
    return np.where(legal, value, tagged(0))
