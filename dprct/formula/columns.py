"""Columns of any data frame as pandas: what is missing, what is a category, and its levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.schema.table import asking, collected, names_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narwhals.typing import IntoFrame

    from dprct.schema import Schema

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Level = int | float | str
Levels = Literal["schema", "data"]


def columns_of(data: IntoFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return some columns of any data frame as pandas, or refuse the first that is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"a": [1], "b": [2]}), ["b"]).columns.tolist()
    ['b']
    """
    wanted = list(dict.fromkeys(names))
    if isinstance(data, pd.DataFrame):
        known = [str(name) for name in data.columns]
        _check_known(wanted, known)
        return data[wanted].reset_index(drop=True)
    import narwhals as nw

    try:
        frame = nw.from_native(data)
    except TypeError:
        raise ParameterError(
            f"data is {type(data).__name__}; give a data frame (pandas, Polars, ...)"
        ) from None
    _check_known(wanted, names_of(frame))
    few = collected(frame.select(wanted))
    with asking(frame, "columns of a formula"):
        return few.to_pandas()


def is_factor(column: pd.Series[Any]) -> bool:
    """Whether a column holds categories: text, or a categorical type.

    Examples
    --------
    >>> import pandas as pd
    >>> is_factor(pd.Series(["a", "b"])), is_factor(pd.Series([True, False]))
    (True, False)
    """
    return isinstance(column.dtype, pd.CategoricalDtype) or not (
        pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
    )


def is_missing(column: pd.Series[Any]) -> Mask:
    """Return which values are missing: NaN of any payload, None, and text of length 0.

    Examples
    --------
    >>> import pandas as pd
    >>> is_missing(pd.Series(["a", "", None])).tolist()
    [False, True, True]
    """
    missing = column.isna()
    if is_factor(column):
        missing = missing | (column.astype(object) == "") | (column.astype(object) == b"")
    return missing.to_numpy(dtype=bool)


def numbers_of(column: pd.Series[Any]) -> Array:
    """Return a numeric column as float64, its missing values as NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_of(pd.Series([1, None], dtype="Int64")).tolist()
    [1.0, nan]
    """
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def categories_of(
    name: str, column: pd.Series[Any], schema: Schema | None, levels: Levels
) -> pd.Categorical[Any]:
    """Return a column without missing values as codes of its levels, the base first.

    Parameters
    ----------
    name : str
    column : (n,) Series
    schema : Schema or None
    levels : {"data", "schema"}
        As in :func:`dprct.formula.design`.

    Raises
    ------
    SchemaError
        If a value is outside the declared levels, or ``levels="schema"`` and there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> list(categories_of("x", pd.Series([2.0, 1.0, 2.0]), None, "data").categories)
    [1, 2]
    """
    public, closed = _public_levels(name, schema)
    if levels == "schema" and not public:
        raise SchemaError(f"column {name!r} is a factor without levels; declare levels=[...]")
    codes, distinct = pd.factorize(column)
    keys = [_key(value) for value in distinct]
    new = set(keys) - set(public)
    if new and (closed or levels == "schema"):
        raise SchemaError(f"column {name!r} has values outside its levels; declare them all")
    order = public if levels == "schema" else [*public, *_data_order(column, new)]
    used = order if levels == "schema" else [key for key in order if key in set(keys)]
    place = {key: position for position, key in enumerate(used)}
    positions = np.array([place[key] for key in keys], np.intp)
    return pd.Categorical.from_codes(
        positions[codes].tolist() if len(keys) else [], categories=pd.Index(used, dtype=object)
    )


def _public_levels(name: str, schema: Schema | None) -> tuple[list[Level], bool]:
    """Return the levels that the schema knows, and whether no others are legal."""
    if schema is None or name not in schema.names:
        return [], False
    declared = schema.column(name).levels
    if declared is not None:
        return list(dict.fromkeys(_key(level) for level in declared)), True
    codes = [code for code in schema.labels_of(name) if not isinstance(code, str)]
    return [_key(code) for code in sorted(codes)], False


def _data_order(column: pd.Series[Any], found: set[Level]) -> list[Level]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [key for key in map(_key, column.cat.categories) if key in found]
    return sorted(found, key=lambda key: (isinstance(key, str), key))


def _key(value: Any) -> Level:
    """Return a level as whole number, number or text, so that 2.0 is named 2."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    try:
        number = value if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if isinstance(number, str) or not number.is_integer() else int(number)


def _check_known(wanted: list[str], known: list[str]) -> None:
    for name in wanted:
        if name not in known:
            raise ColumnError.unknown(name, known, "the data")
        if known.count(name) > 1:
            raise ColumnError(f"the data have {known.count(name)} columns {name!r}; rename one")
