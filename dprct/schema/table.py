"""How columns are read from any eager data frame: numbers beside their missing codes, text."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from dprct.errors import ColumnError, SchemaError
from dprct.missing import MISSING_CODES, missing_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    try:
        frame = nw.from_native(data, eager_only=True)  # type: ignore[call-overload]
    except DuplicateError:
        names = [str(name) for name in data.columns]  # type: ignore[attr-defined]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SchemaError(
            f"columns named twice: {', '.join(twice)}; give every column its name"
        ) from None
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
        If it does not hold numbers, or what is beside it is no missing codes.
    """
    series = _series(frame, name)
    if not _holds_numbers(series):
        raise SchemaError(
            f"column {name!r} holds {series.dtype}, the schema says numbers; give codes and "
            "numbers, as dprct.read and dprct.schema.frames.table_of_frame return them"
        )
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if name + COMPANION in frame.columns:
        codes = _companion_codes(frame[name + COMPANION])
        return values, np.where(np.isnan(values), np.maximum(codes, 0), -1).astype(np.int8)
    if has_payloads(frame):
        return values, missing_numbers(values)
    return values, np.where(np.isnan(values), 0, -1).astype(np.int8)


def text_of(frame: Frame, name: str) -> NDArray[np.object_]:
    """Return a text column (n,) of str (or bytes); a null is the empty text, as in Stata."""
    series = _series(frame, name)
    values = np.array(series.to_list(), dtype=object)
    values[series.is_null().to_numpy()] = ""
    if not all(isinstance(value, (str, bytes)) for value in values):
        raise SchemaError(f"column {name!r} holds {series.dtype}, the schema says text; give text")
    return values


def _holds_numbers(series: nw.Series[Any]) -> bool:
    """Whether these are numbers: what else NumPy would make numbers of, it is not asked."""
    dtype = series.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return True
    if not isinstance(dtype, nw.Object):
        return False
    return all(value is None or isinstance(value, numbers.Real) for value in series.to_list())


def _companion_codes(series: nw.Series[Any]) -> NDArray[Any]:
    """Return missing codes; an engine that cannot cast them would show them."""
    codes = series.fill_null(0).to_numpy() if series.dtype.is_numeric() else None
    if codes is None or not np.isin(codes, np.arange(-1, len(MISSING_CODES))).all():
        raise SchemaError(
            f"column {series.name!r} must hold missing codes, whole numbers from -1 (not missing) "
            f"to {len(MISSING_CODES) - 1} (.z); give these, or rename it"
        )
    return codes


def _series(frame: Frame, name: str) -> nw.Series[Any]:
    if name not in frame.columns:
        raise ColumnError.unknown(name, frame.columns, "the data")
    return frame[name]
