"""How columns are read from any eager data frame: numbers beside their missing codes, text."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dprct.errors import ColumnError, SchemaError
from dprct.missing import missing_numbers

COMPANION = "__missing"
"""Suffix of the int8 column that carries missing codes where NaN payloads cannot live."""

Frame = nw.DataFrame[Any]


def eager(data: object) -> Frame:
    """Return ``data`` behind narwhals' interface, refusing what is not an eager frame with rows.

    Raises
    ------
    SchemaError
        If it is no data frame, lazy, without rows, or has a name twice.
    """
    names = list(getattr(data, "columns", ()))
    if len(set(names)) < len(names):
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise SchemaError(f"columns named twice: {', '.join(twice)}; give every column its name")
    try:
        frame = nw.from_native(data, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise SchemaError(
            f"data is {type(data).__name__}; give a pandas or Polars data frame (collected)"
        ) from None
    if len(frame) == 0:
        raise SchemaError("data has no rows; give a table with at least one row")
    out: Frame = frame
    return out


def has_payloads(frame: Frame) -> bool:
    """Whether missing codes may live in NaN payloads: NumPy-backed pandas only."""
    return frame.implementation.is_pandas()


def numbers_of(frame: Frame, name: str) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return a column's numbers (n,) and the numbers of its missing codes (n,), -1 for none.

    Raises
    ------
    ColumnError
        If there is no such column.
    SchemaError
        If it does not hold numbers.
    """
    series = _series(frame, name)
    try:
        values = np.asarray(series.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise SchemaError(
            f"column {name!r} holds {series.dtype}, the schema says numbers; give codes and "
            "numbers (dprct.read_dta gives them), or a schema from this frame"
        ) from None
    if name + COMPANION in frame.columns:
        codes = np.asarray(frame[name + COMPANION].to_numpy(), dtype=np.int8)
        return values, np.where(np.isnan(values), np.maximum(codes, 0), -1).astype(np.int8)
    if has_payloads(frame):
        return values, missing_numbers(values)
    return values, np.where(np.isnan(values), 0, -1).astype(np.int8)


def text_of(frame: Frame, name: str) -> NDArray[np.object_]:
    """Return a text column (n,) of str (or bytes); a null is the empty text, as in Stata."""
    values = np.asarray(_series(frame, name).to_numpy(), dtype=object)
    kind = [isinstance(value, (str, bytes)) for value in values]
    out = np.where(kind, values, "")
    known = np.array([value is None or value != value for value in values], dtype=bool)  # noqa: PLR0124
    if not bool(np.all(np.asarray(kind) | known)):
        raise SchemaError(f"column {name!r} holds numbers, the schema says text; give text")
    return out


def _series(frame: Frame, name: str) -> nw.Series[Any]:
    if name not in frame.columns:
        raise ColumnError.unknown(name, frame.columns, "the data")
    return frame[name]
