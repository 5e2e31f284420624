"""Data frames without a header: their types as a schema, and their values as codes.

Types come from the dtypes alone, never from a look at the values.
"""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ColumnError, DprctWarning, ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.schema.columns import Code, Column, FileFacts, date_kind, shown
from dprct.schema.schema import Schema
from dprct.schema.tables import check_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narwhals.typing import IntoFrame
    from numpy.typing import NDArray

    Series = nw.Series[Any]


STORAGE: Mapping[str, str] = MappingProxyType(
    {
        "Boolean": "byte",
        "Int8": "int",
        "UInt8": "int",
        "Int16": "long",
        "UInt16": "long",
        "Int32": "double",
        "UInt32": "double",
        "Int64": "double",
        "UInt64": "double",
        "Int128": "double",
        "UInt128": "double",
        "Float32": "float",
        "Float64": "double",
        "Decimal": "double",
        "String": "strL",
        "Object": "strL",
        "Binary": "strL",
        "Categorical": "strL",
        "Date": "double",
        "Datetime": "double",
    }
)
"""The smallest storage type that holds every value of a dtype, as Stata's limits are narrower
than a machine integer's of the same width; there is nothing larger than double."""

_FORMATS = {"Date": "%td", "Datetime": "%tc"}
_DAY_MS = 86_400_000
_STATA_EPOCH_MS = 3_653 * _DAY_MS  # 1 January 1960 to 1 January 1970
_EXACT = 2**53
_WIDE = ("Int64", "Int128", "UInt64", "UInt128")


def schema_of_frame(frame: IntoFrame) -> Schema:
    """Types of the columns of any data frame that narwhals understands, and nothing else of it.

    Examples
    --------
    >>> frame = pd.DataFrame({"got": [True], "age": [31.0], "village": ["a"]})
    >>> [(column.name, column.type) for column in schema_of_frame(frame).columns]
    [('got', 'byte'), ('age', 'double'), ('village', 'strL')]
    """
    table = _narwhal(frame)
    dtypes = table.collect_schema()
    _check_names(dtypes)
    rows = len(table) if isinstance(table, nw.DataFrame) else None
    if rows == 0:
        raise SchemaError("the data frame has no rows; give one with at least one row")
    sets = {name: _categories(table, name, dtype) for name, dtype in dtypes.items()}
    labels: dict[str, Mapping[Code, str]] = {
        name: MappingProxyType({k: str(text) for k, text in enumerate(found, start=1)})
        for name, found in sets.items()
        if found is not None
    }
    return Schema(
        tuple(_column(name, dtype, labelled=name in labels) for name, dtype in dtypes.items()),
        file=FileFacts(value_labels=MappingProxyType(labels), rows=rows),
        opened=True,
    )


def table_of_frame(frame: IntoFrame) -> tuple[pd.DataFrame, Schema]:
    """A data frame in memory as codes and numbers with its schema, as a file reader returns them.

    Examples
    --------
    >>> data, schema = table_of_frame(pd.DataFrame({"arm": pd.Categorical(["b", "a"])}))
    >>> data["arm"].tolist(), dict(schema.labels_of("arm"))
    ([2.0, 1.0], {1: 'a', 2: 'b'})
    """
    schema = schema_of_frame(frame)
    table = _narwhal(frame)
    if not isinstance(table, nw.DataFrame):
        raise ParameterError("a lazy data frame has no values yet; collect it first")
    cells = {c.name: _values(table[c.name], schema, c) for c in schema.columns}
    # without its dtype named, pandas would turn an object array of text into its own text type
    return pd.DataFrame({n: pd.Series(x, dtype=x.dtype) for n, x in cells.items()}), schema


def _narwhal(frame: IntoFrame) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    try:
        return nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        raise SchemaError("the data frame has a column name twice; rename the columns") from None
    except TypeError:
        raise ParameterError(
            f"got ``{type(frame).__name__}``; give "
            "``a data frame (pandas, Polars, Arrow or DuckDB)``"
        ) from None


def _check_names(names: Mapping[str, object]) -> None:
    if not names:
        raise SchemaError("the data frame has no columns; give one with at least one column")
    odd = sum(not isinstance(name, str) for name in names)
    if odd:
        raise SchemaError(f"{odd} column names are not text; rename them to text")


def _column(name: str, dtype: nw.dtypes.DType, *, labelled: bool) -> Column:
    if labelled:
        return Column(name, "long", value_label=name)
    kind = type(dtype).__name__
    if kind not in STORAGE:
        raise SchemaError(
            f"column {name!r} is of dtype {kind}; allowed: numbers, booleans, text, categories, "
            "dates and date-times; convert or drop it"
        )
    return Column(name, STORAGE[kind], format=_FORMATS.get(kind, ""))


def _categories(
    table: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str, dtype: nw.dtypes.DType
) -> tuple[object, ...] | None:
    """Return the categories that the dtype itself declares.

    The categories of a Polars Categorical or an Arrow dictionary live with the values instead.
    """
    if isinstance(dtype, nw.Enum):
        return tuple(dtype.categories)
    native = table.to_native()
    kind = native[name].dtype if isinstance(native, pd.DataFrame) else None
    return tuple(kind.categories) if isinstance(kind, pd.CategoricalDtype) else None


def _values(series: Series, schema: Schema, column: Column) -> NDArray[Any]:
    if column.value_label:
        return _codes(series, schema, column)
    if column.is_text:
        return _text(series, column.name)
    if column.format:
        return _stata_time(series, days=column.format == "%td")
    return _numbers(series, column.name)


def _codes(series: Series, schema: Schema, column: Column) -> NDArray[np.float64]:
    texts = pd.Series(series.to_list(), dtype=object)
    native = series.to_native()
    if isinstance(native, pd.Series):
        found = np.asarray(native.cat.codes, np.float64)
    else:
        labels = list(schema.labels_of(column.name).values())
        found = pd.Index(labels).get_indexer(pd.Index(texts)).astype(np.float64)
    return np.where(found < 0, np.nan, found + 1)


def _text(series: Series, name: str) -> NDArray[np.object_]:
    cells = np.array([*series.to_list(), ""], dtype=object)[:-1]
    cells[pd.isna(cells)] = ""
    if not all(isinstance(cell, (str, bytes)) for cell in cells):
        raise SchemaError(
            f"column {name!r} holds objects that are neither text nor bytes; "
            "give it a dtype of numbers, dates or text"
        )
    return cells


def _stata_time(series: Series, *, days: bool) -> NDArray[np.float64]:
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone:
        warnings.warn(
            f"column {series.name!r} has a time zone, which Stata does not have; its times "
            "are in UTC",
            DprctWarning,
            stacklevel=2,
        )
    stamps = series.cast(nw.Datetime("us")) if days else series
    microseconds = stamps.dt.timestamp("us")  # of 9999 they are beyond what Arrow casts to a double
    parts = (microseconds // 1000, microseconds % 1000)
    whole, rest = (part.cast(nw.Float64).to_numpy() for part in parts)
    out: NDArray[np.float64] = whole + rest / 1000 + _STATA_EPOCH_MS
    return out / _DAY_MS if days else out


def _numbers(series: Series, name: str) -> NDArray[np.float64]:
    if not _is_exact(series):
        raise SchemaError(
            f"column {name!r} holds whole numbers beyond 2**53, which no double keeps; "
            "give it as text"
        )
    native = series.to_native()
    if isinstance(native, pd.Series) and native.dtype == np.float64:
        return native.to_numpy(copy=True)
    return np.array(series.cast(nw.Float64).to_numpy(), np.float64)


def _is_exact(series: Series) -> bool:
    kind = type(series.dtype).__name__
    known = series.drop_nulls()
    if kind not in _WIDE or not len(known):
        return True
    return bool(known.min() >= -_EXACT and known.max() <= _EXACT)


# The data as a person reads them: labels for codes, dates for day counts.  A view, never input.

_EPOCH = np.datetime64("1960-01-01", "D")
_MONTHS_PER = {"m": 1, "q": 3, "h": 6}
_MOST_MILLISECONDS = 1e17  # beyond, no calendar has a name for the instant
_MOST_PERIODS = 1e8


def decode(schema: Schema, data: pd.DataFrame) -> pd.DataFrame:
    """Codes and numbers as a frame with categories for labelled codes and dates for dates.

    Notes
    -----
    ``%tC`` (with leap seconds) and business calendars stay numbers: what they mean is not in the
    file.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, FileFacts, Schema
    >>> file = FileFacts(value_labels={"yesno": {0: "no", 1: "yes"}})
    >>> schema = Schema((Column("got", "byte", value_label="yesno"),), file)
    >>> decode(schema, pd.DataFrame({"got": [1.0, 0.0]}))["got"].tolist()
    ['yes', 'no']
    """
    for name in schema.names:
        if name not in data.columns:
            raise ColumnError.unknown(name, data.columns, "the data")
    if not data.columns.is_unique:
        check_once([str(name) for name in data.columns])
    return pd.DataFrame(
        {column.name: _decoded(schema, column, data[column.name]) for column in schema.columns},
        index=data.index,
    )


def _decoded(schema: Schema, column: Column, values: pd.Series[Any]) -> pd.Series[Any]:
    if column.is_text:
        return values
    coded = schema.labels_of(column.name).items()
    labels = {float(code): shown(text) for code, text in coded if isinstance(code, int)}
    if labels:
        return _decoded_categories(values, labels)
    kind = date_kind(column.format)
    return values if kind is None else pd.Series(_instants(values.to_numpy(), kind), values.index)


def _decoded_categories(values: pd.Series[Any], labels: Mapping[float, str]) -> pd.Series[Any]:
    found: list[float] = np.unique(values.dropna().to_numpy()).tolist()
    codes = sorted({*map(float, labels), *found})
    texts = [labels.get(c, _as_text(c)) for c in codes]
    if len(set(texts)) < len(texts):
        texts = [f"{text} ({_as_text(code)})" for text, code in zip(texts, codes, strict=True)]
    positions = np.searchsorted(codes, values.to_numpy())
    positions = np.where(values.isna(), -1, positions)
    kind = pd.CategoricalDtype(texts, ordered=True)
    return pd.Series(pd.Categorical.from_codes(positions, dtype=kind), values.index)


def _as_text(code: float) -> str:
    return str(int(code)) if code.is_integer() else repr(code)


def _instants(values: Any, kind: str) -> Any:
    x = np.asarray(values, np.float64)
    known = np.abs(x) < (_MOST_MILLISECONDS if kind == "c" else _MOST_PERIODS)
    whole = np.floor(np.where(known, x, 0)).astype(np.int64)
    if kind == "d":
        out = (_EPOCH + whole).astype("datetime64[ms]")
    elif kind == "c":
        out = _EPOCH.astype("datetime64[ms]") + whole
    elif kind == "w":
        years = (_EPOCH.astype("datetime64[Y]") + whole // 52).astype("datetime64[D]")
        out = (years + 7 * (whole % 52)).astype("datetime64[ms]")
    elif kind == "y":
        out = (np.datetime64("0000", "Y") + whole).astype("datetime64[ms]")
    else:
        out = (_EPOCH.astype("datetime64[M]") + whole * _MONTHS_PER[kind]).astype("datetime64[ms]")
    return np.where(known, out, np.datetime64("NaT", "ms"))
