"""How tables of any engine are taken in, and how columns of those in memory are read.

A method whose queries are expressions takes a :func:`table`: in memory (pandas, Polars), or in an
engine (Polars lazily, DuckDB, PySpark) that keeps the rows.  To make a method accept one:

1. at the door, ``frame = table(data)`` instead of ``eager(data)``, ``n = row_count(frame)`` instead
   of ``len(frame)``, ``names_of(frame)`` instead of ``frame.columns``; ``validate`` takes either;
2. in queries, expressions over ``encoding.prepared(frame, columns)``, then :func:`collected` once
   an aggregate (a ``group_by`` or a ``select`` of sums) has made the table small; sums of int64
   come back as Python integers from ``queries.sums``, exact in every engine;
3. who is in which arm: ``queries.arms.by_cell`` (it knows arms in memory and in an engine).

A method that needs all rows at once stays with :func:`eager`, which refuses an engine's table and
says what to do.  :class:`dprct.SyntheticControl` does: panels are small.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from dprct.errors import (
    ColumnError,
    DprctError,
    EngineError,
    MissingDependencyError,
    SchemaError,
    withheld,
)
from dprct.missing import MISSING_CODES, missing_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


COMPANION = "__missing"
"""Suffix of the int8 column that carries missing codes where NaN payloads cannot live."""

WHOLE = 2.0**53
"""From here on a double does not tell a whole number from the next."""

Frame = nw.DataFrame[Any]
Table = nw.DataFrame[Any] | nw.LazyFrame[Any]
AnyTable = TypeVar("AnyTable", bound=Table)

_EXACT = nw.Int64, nw.UInt64, nw.Int128, nw.UInt128, nw.Decimal
_STREAMED: dict[str, Any] = {"engine": "streaming"}
_ENGINES = "pandas, Polars (eager or lazy), DuckDB or PySpark"


def table(data: object) -> Table:
    """Return ``data`` behind narwhals' interface: in memory, or left in its engine.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), a DuckDB relation, or a PySpark DataFrame.

    Raises
    ------
    SchemaError
        If it is not a table, has no rows, has a name twice, or, in an engine that does not tell
        capitals from small letters, has two names that differ in these alone.
    EngineError, MissingDependencyError
        If it is a stream, the engine fails, or a package is missing that brings its answers here.

    Examples
    --------
    >>> import pandas as pd
    >>> row_count(table(pd.DataFrame({"y": [1.0, 2.0]})))
    2
    """
    try:
        found = nw.from_native(data)  # type: ignore[call-overload]
    except (DuplicateError, TypeError):
        return eager(data)  # whose refusals say what is wrong
    if not isinstance(found, nw.LazyFrame):
        return eager(data)
    if getattr(found.to_native(), "isStreaming", False):
        raise EngineError(
            "data is a stream, which has no last row and so no sums; write it to a table, and give "
            "that"
        )
    _check_names(found)
    if row_count(found) == 0:
        raise SchemaError("data has no rows; give a table with at least one row")
    return found


def collected(frame: Table) -> Frame:
    """Return an aggregate in memory, whichever engine made it.

    Raises
    ------
    EngineError
        If the engine failed; its own message is withheld, because it may show data.
    MissingDependencyError
        If a package is missing that brings its answer here.
    """
    if not isinstance(frame, nw.LazyFrame):
        return frame
    with asking(frame, "an aggregate"):
        # Polars: in pieces, so that a scan larger than memory passes through
        streamed = frame.implementation.is_polars()
        return frame.collect(**_STREAMED) if streamed else frame.collect()


def asking(frame: Table, wanted: str) -> withheld:
    """Withhold what an engine says when it fails, because it may show data.

    Parameters
    ----------
    frame : narwhals frame
        Of the engine that is asked.
    wanted : str
        What it is asked for, in words.

    Returns
    -------
    withheld
        To ask the engine within.  It raises EngineError if the engine fails, and
        MissingDependencyError if a package is missing that brings its answer here.
    """
    engine = frame.implementation

    def refusal(kind: type[BaseException]) -> DprctError:
        if issubclass(kind, ImportError):
            extra = "spark" if engine.is_pyspark() else "engines"
            return MissingDependencyError.extra("pyarrow", extra, f"an answer of {engine.value}")
        return EngineError(
            f"{engine.value} ended with {kind.__name__} while it was asked for {wanted} "
            "(its message may show data and is withheld); read the table with the engine alone to "
            "see it"
        )

    return withheld(refusal)


def names_of(frame: Table) -> list[str]:
    """Return the names of the columns; of an engine's table, without reading rows."""
    return list(schema_of(frame))


def schema_of(frame: Table) -> dict[str, nw.dtypes.DType]:
    """Return the dtype of each column.

    Raises
    ------
    EngineError
        If a file that was to be scanned is not there, or the engine fails otherwise.
    """
    with asking(frame, "names and types of columns"):
        return dict(frame.collect_schema())


def row_count(frame: Table) -> int:
    """Return the number of rows; one pass in an engine."""
    if not isinstance(frame, nw.LazyFrame):
        return len(frame)
    with asking(frame, "the number of rows"):
        counted = frame.select(nw.len().alias("rows"))
    return int(collected(counted)["rows"][0])


def check_there(frame: Table, n: int) -> None:
    """Refuse a table that is gone or changed since the door, before it costs anything; one pass.

    Parameters
    ----------
    frame : narwhals frame
    n : int
        Rows that it had at the door; public.

    Raises
    ------
    EngineError
        If its file is gone, its connection is closed, or it has another number of rows.
    """
    check_rows(row_count(frame), n)


def check_rows(found: int, n: int) -> None:
    """Refuse a number of rows that is not the one at the door.

    Raises
    ------
    EngineError
    """
    if found != n:
        raise EngineError(
            f"the table had {n:,} rows when the model was made and has another number now; store "
            "it first, so that every pass reads the same rows"
        )


def missing_code(frame: Table, name: str) -> nw.Expr:
    """Return the number of the missing code (int8), -1 for none, named as the companion is."""
    value = nw.col(name).cast(nw.Float64)
    absent = value.is_null() | value.is_nan()
    code = nw.lit(0, nw.Int8)
    if name + COMPANION in names_of(frame):
        given = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
        # what is not a code is refused at the door; here it is to be cast without an error
        is_code = (given >= 0) & (given < len(MISSING_CODES))
        code = nw.when(is_code).then(given).otherwise(nw.lit(0.0)).cast(nw.Int8)
    code = nw.when(absent).then(code).otherwise(nw.lit(-1, nw.Int8))
    return code.cast(nw.Int8).alias(name + COMPANION)


def _check_names(frame: nw.LazyFrame[Any]) -> None:
    """Refuse what an engine would resolve by taking one of two columns."""
    names = names_of(frame)
    if frame.implementation.is_polars():
        return
    with asking(frame, "names of columns"):
        names = list(frame.to_native().columns)  # each as often as it is there
    _check_once(names)
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise SchemaError(
                f"columns {other!r} and {name!r} differ in capitals alone, which the engine does "
                "not tell apart; rename one"
            )


def _check_once(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"columns named twice: {', '.join(twice)}; give every column its name")


def eager(data: object) -> Frame:
    """Return ``data`` behind narwhals' interface, refusing what is not an eager frame with rows.

    Raises
    ------
    SchemaError
        If it is not a data frame, lazy, without rows, or has a name twice.
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
            f"data is {type(data).__name__}; give a pandas or Polars data frame (collected; where "
            f"the documentation says so, {_ENGINES})"
        ) from None
    if len(frame) == 0:
        raise SchemaError("data has no rows; give a table with at least one row")
    out: Frame = frame
    return out


def has_payloads(frame: Table) -> bool:
    """Whether missing codes may live in NaN payloads: NumPy-backed pandas only."""
    return frame.implementation.is_pandas()


def numbers_of(frame: Frame, name: str) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return a column's numbers (n,) and the numbers of its missing codes (n,), -1 for none.

    Raises
    ------
    ColumnError
        If there is no such column.
    SchemaError
        If it does not hold numbers, or the column next to it does not hold missing codes.
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


def whole_beyond(series: nw.Series[Any]) -> bool:
    """Whether exact numbers reach 2^53, where a double no longer tells each from the next."""
    if isinstance(series.dtype, nw.Object):
        whole = (int(x) for x in series.to_list() if isinstance(x, numbers.Integral))
        return any(abs(x) >= WHOLE for x in whole)
    return is_exact(series.dtype) and bool((series.cast(nw.Float64).abs() >= WHOLE).any())


def is_exact(dtype: nw.dtypes.DType) -> bool:
    """Whether a type holds whole numbers that a double rounds."""
    return isinstance(dtype, _EXACT)


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
    if isinstance(dtype, nw.Decimal) and series.implementation.is_pandas():
        return False  # Arrow's own conversion to doubles does not round to the nearest
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
