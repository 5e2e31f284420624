"""From synthetic columns to a whole file: what becomes of every column of the schema.

Nothing here is private: the input is released or public.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dprct.derive import evaluate, parents
from dprct.encode import encoding
from dprct.errors import ColumnError, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, Column, text_width
from dprct.schema.legal import stored
from dprct.schema.schema import Schema

_KEY_LETTERS = string.digits + string.ascii_lowercase
_LONG_KEY = 12


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
        elif column.fate == "key" and _key_space(column) < rows:
            raise SchemaError(
                f"column {column.name!r}: type {column.type} cannot hold {rows} distinct keys; "
                "withhold or drop it"
            )


def assembled(
    schema: Schema,
    modelled: Mapping[str, NDArray[Any]],
    public: Mapping[str, NDArray[Any]],
    rows: int,
    rng: np.random.Generator,
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
    """
    known: dict[str, NDArray[Any]] = {}
    for column in schema.columns:
        if column.derived is None and column.fate != "drop":
            known[column.name] = _filled(column, modelled, public, rows, rng)
    for column in _in_order(schema):
        known[column.name] = _derived(column, known)
    frame = pd.DataFrame({c.name: known[c.name] for c in schema.columns if c.fate != "drop"})
    return sorted_rows(frame, released_schema(schema))


def released_schema(schema: Schema) -> Schema:
    """Return the schema of the protected file: no dropped column, a sort order that holds."""
    kept = [column.name for column in schema.columns if column.fate != "drop"]
    order: list[str] = []
    for name in schema.file.sorted_by:
        if name not in kept:
            break
        order.append(name)
    columns = tuple(c for c in schema.columns if c.name in kept)
    return replace(
        schema,
        columns=columns,
        file=replace(schema.file, sorted_by=tuple(order)),
        source=None,
        seal_of=schema.seal_of,
    )


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
    return pd.DataFrame(
        {name: frame[name].to_numpy()[order] for name in frame.columns}, columns=frame.columns
    )


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
            return _keys(column, rows, rng)
    if column.is_text:
        return np.full(rows, "", dtype=object)
    return tagged(np.zeros(rows))


def _filler_encoding(column: Column) -> Any:
    """One bin over a continuous domain: filler is uniform, whatever bins are declared."""
    return encoding(replace(column, bins=None), default_bins=1)


def _filler(column: Column, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    found = _filler_encoding(column)
    return np.asarray(found.decode(rng.integers(0, found.size, rows), rng))


def _key_space(column: Column) -> int:
    if column.is_text:
        return len(_KEY_LETTERS) ** (text_width(column.type) or _LONG_KEY)
    if column.type in INTEGER_LIMITS:
        return INTEGER_LIMITS[column.type][1]
    return 1 << (24 if column.type == "float" else 53)


def _keys(column: Column, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return distinct keys that say nothing: a random order of 1 to rows."""
    numbers = rng.permutation(rows) + 1
    if not column.is_text:
        return numbers.astype(np.float64)
    width = text_width(column.type) or _LONG_KEY
    if 10**width > rows:
        return np.array([str(k).zfill(width) for k in numbers], dtype=object)
    return np.array([_in_letters(int(k) - 1, width) for k in numbers], dtype=object)


def _in_letters(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, len(_KEY_LETTERS))
        digits = _KEY_LETTERS[digit] + digits
    return digits


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
    """Evaluate on released values, then make legal: what the type cannot hold is missing."""
    assert column.derived is not None
    numeric = {name: np.asarray(known[name], np.float64) for name in parents(column.derived)}
    value = evaluate(column.derived, numeric)
    if column.is_integer:
        value = np.where(np.isnan(value), value, np.rint(value))
    low, high = INTEGER_LIMITS.get(column.type) or (
        -FLOAT_LIMITS[column.type],
        FLOAT_LIMITS[column.type],
    )
    legal = ~np.isnan(value) & (value >= low) & (value <= high)
    return np.where(legal, stored(column, np.where(legal, value, 0.0)), tagged(0))
