"""Frames, series and matrices of results: numbers with names, without a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ConversionError
from dprct.lazy import pandas as pd
from dprct.rbridge.attach import attach
from dprct.rbridge.convert.calls import call_r
from dprct.rbridge.convert.text import texts_to_r
from dprct.rbridge.convert.vectors import (
    INTEGER_NA,
    count,
    doubles,
    flag,
    list_of,
    short_texts,
    vector_of,
)
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LARGEST_INTEGER = 2**31 - 1


@dataclass(frozen=True)
class Matrix:
    """A matrix of R's with names, such as a covariance matrix.

    Examples
    --------
    >>> Matrix.of(pd.DataFrame([[2.0]], ["t"], ["t"])).rows
    ['t']
    """

    values: NDArray[np.float64]  # (n, k)
    # rows, columns: names.
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Matrix:
        """Return a frame of numbers as a matrix with its row and column names."""
        values = frame.to_numpy(dtype=np.float64)
        return cls(values, [str(x) for x in frame.index], [str(x) for x in frame.columns])


def matrix_to_r(matrix: Matrix) -> Any:
    """Return an R matrix with names."""
    values = np.asarray(matrix.values, np.float64)
    null = attach().ri.NULL
    return attach().function("plain_matrix")(
        vector_of(values.ravel(order="F"), "double"),
        vector_of(np.array(values.shape), "integer"),
        null if matrix.rows is None else texts_to_r(matrix.rows),
        null if matrix.columns is None else texts_to_r(matrix.columns),
    )


def array_to_r(values: NDArray[Any]) -> Any:
    """Return an array of one or two dimensions; NaN stays NaN."""
    if values.ndim == 2 and values.dtype.kind in "fiub":
        return matrix_to_r(Matrix(values.astype(np.float64)))
    if values.ndim != 1:
        raise ConversionError(f"an array of {values.ndim} dimensions has no form in R")
    if values.dtype.kind == "f":
        return vector_of(values.astype(np.float64), "double")
    return column_to_r(pd.Series(values), "an array")


def series_to_r(series: pd.Series[Any]) -> Any:
    """Return a series as a named vector; NaN is NA."""
    names = texts_to_r([str(name) for name in series.index])
    return attach().function("with_names")(column_to_r(series, "a series"), names)


def plain_frame_to_r(frame: pd.DataFrame) -> Any:
    """Return a frame of results as a data frame; text in the index becomes row names."""
    numbered = isinstance(frame.index, pd.RangeIndex) or frame.index.has_duplicates
    names = [_name(label) for label in frame.columns]
    columns = [column_to_r(frame.iloc[:, k], f"column {n!r}") for k, n in enumerate(names)]
    return call_r(
        attach().function("plain_frame"),
        list_of(columns),
        texts_to_r(names),
        count(len(frame)),
        attach().ri.NULL if numbered else texts_to_r([_name(x) for x in frame.index]),
    )


def _name(label: object) -> str:
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def column_to_r(series: pd.Series[Any], what: str) -> Any:
    """Return one column by its dtype; what pandas calls missing is NA."""
    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _factor(series)
    if pd.api.types.is_bool_dtype(kind):
        return _words(series, "logical")
    if pd.api.types.is_integer_dtype(kind) and _fits(series):
        return _words(series, "integer")
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        return doubles(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_datetime64_any_dtype(kind):
        return _time(series)
    if pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind):
        return _objects(series, what)
    raise ConversionError(f"{what} is of type {kind}, which R does not have; convert it")


def _objects(series: pd.Series[Any], what: str) -> Any:
    cells = [None if x is None or x is pd.NA else x for x in series.to_numpy(dtype=object)]
    if any(isinstance(x, (bool, int, float, np.number)) for x in cells) and not any(
        isinstance(x, (str, bytes)) for x in cells
    ):
        found = pd.Series(pd.array(cells))
        if found.dtype != object:
            return column_to_r(found, what)
    return texts_to_r(cells, what)


def _factor(series: pd.Series[Any]) -> Any:
    codes = series.cat.codes.to_numpy().astype(np.int64)
    levels = [str(level) for level in series.cat.categories]
    return attach().function("plain_factor")(
        vector_of(np.where(codes < 0, INTEGER_NA, codes + 1), "integer"),
        texts_to_r(levels),
        flag(bool(series.cat.ordered)),
    )


def _fits(series: pd.Series[Any]) -> bool:
    known = series.dropna()
    return known.empty or bool(known.min() >= -_LARGEST_INTEGER and known.max() <= _LARGEST_INTEGER)


def _words(series: pd.Series[Any], kind: str) -> Any:
    missing = series.isna().to_numpy()
    known = series.fillna(False) if kind == "logical" else series.fillna(0)
    return vector_of(np.where(missing, INTEGER_NA, known.to_numpy(dtype=np.int64)), kind)


def _time(series: pd.Series[Any]) -> Any:
    utc = pd.to_datetime(series, utc=True).dt.tz_localize(None).to_numpy("datetime64[us]")
    seconds = np.where(np.isnat(utc), np.nan, utc.astype(np.int64) / 1e6)
    session = attach()
    vector = session.base("class<-")(doubles(seconds), short_texts(["POSIXct", "POSIXt"]))
    return session.base("attr<-")(vector, "tzone", short_texts(["UTC"]))
