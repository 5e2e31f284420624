"""From a formula and rows to an outcome and a design matrix, with every row accounted for."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import check_choice
from dprct.errors import ColumnError, FormulaError, ParameterError, SchemaError
from dprct.formula.syntax import Factor, Formula, parse
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.schema.tables import NumPyTable, asking, collected, names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narwhals.typing import IntoFrame

    from dprct.schema import Schema


# Columns of any data frame as pandas: what is missing, what is a category, and its levels.

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Level = int | float | str
Levels = Literal["schema", "data"]


@overload
def columns_of(data: NumPyTable, names: Iterable[str]) -> NumPyTable: ...
@overload
def columns_of(data: IntoFrame, names: Iterable[str]) -> pd.DataFrame: ...
def columns_of(data: IntoFrame | NumPyTable, names: Iterable[str]) -> pd.DataFrame | NumPyTable:
    """Return some columns of any data frame as pandas, or refuse the first that is not there.

    A table of arrays stays one.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"a": [1], "b": [2]}), ["b"]).columns.tolist()
    ['b']
    """
    wanted = list(dict.fromkeys(names))
    if isinstance(data, NumPyTable):
        check_known(wanted, list(data.arrays))
        return data
    if isinstance(data, pd.DataFrame):
        known = [str(name) for name in data.columns]
        check_known(wanted, known)
        return data[wanted].reset_index(drop=True)
    import narwhals as nw

    try:
        frame = nw.from_native(data)
    except TypeError:
        raise ParameterError(
            f"data is ``{type(data).__name__}``; give ``a data frame (pandas, Polars, ...)``"
        ) from None
    check_known(wanted, names_of(frame))
    few = collected(frame.select(wanted))
    with asking(frame, "columns of a formula"):
        return few.to_pandas()


def is_factor(column: pd.Series[Any] | NDArray[Any]) -> bool:
    """Whether a column holds categories: text, or a categorical type.

    Examples
    --------
    >>> import pandas as pd
    >>> is_factor(pd.Series(["a", "b"])), is_factor(pd.Series([True, False]))
    (True, False)
    """
    if isinstance(column, np.ndarray):  # of a table that was read from a file
        return column.dtype == object
    return isinstance(column.dtype, pd.CategoricalDtype) or not (
        pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
    )


def is_missing(column: pd.Series[Any] | NDArray[Any]) -> Mask:
    """Mask of missing values: NaN of any payload, None, and text of length 0.

    Examples
    --------
    >>> import pandas as pd
    >>> is_missing(pd.Series(["a", "", None])).tolist()
    [False, True, True]
    """
    if isinstance(column, np.ndarray):
        text = column.dtype == object
        gone: Mask = (column == "") | (column == b"") if text else np.isnan(column)
        return gone
    missing = column.isna()
    if is_factor(column):
        missing = missing | (column.astype(object) == "") | (column.astype(object) == b"")
    return missing.to_numpy(dtype=bool)


def numbers_of(column: pd.Series[Any] | NDArray[Any]) -> Array:
    """Return a numeric column as float64, its missing values as NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_of(pd.Series([1, None], dtype="Int64")).tolist()
    [1.0, nan]
    """
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def categories_of(
    name: str, column: pd.Series[Any], schema: Schema | None, levels: Levels
) -> pd.Categorical[Any]:
    """A column without missing values as codes of its levels, the base first.

    Examples
    --------
    >>> import pandas as pd
    >>> list(categories_of("x", pd.Series([2.0, 1.0, 2.0]), None, "data").categories)
    [1, 2]
    """
    public, closed = _public_levels(name, schema)
    if levels == "schema" and not public:
        raise SchemaError(f"column {name!r} is a factor without levels; declare ``levels=[...]``")
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


def check_known(wanted: Sequence[str], known: list[str]) -> None:
    """Refuse the first column that is not there, or is there twice."""
    for name in wanted:
        if name not in known:
            raise ColumnError.unknown(name, known, "the data")
        if known.count(name) > 1:
            raise ColumnError(f"the data have {known.count(name)} columns {name!r}; rename one")


INTERCEPT = "Intercept"

_ROWS = 1 << 17
"""Rows whose columns are made at once."""


@dataclass(frozen=True)
class Design:
    """Outcomes and regressors of the complete rows."""

    y: Array  # (n, q): one column per outcome; q is 0 for a one-sided formula
    X: Array  # (n, k)
    # Names of the columns of ``X``: ``Intercept``, ``x``, ``C(x)[T.2]``, ``a:b``.
    columns: tuple[str, ...]
    outcomes: tuple[str, ...]  # names of the columns of ``y``
    terms: tuple[str, ...]  # the term of the formula to which each column of ``X`` belongs
    used: Mask  # (N,): which of the rows that were given are in ``y`` and ``X``
    # Levels of the factors among the regressors, the base first.
    levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)


def design(
    formula: str | Formula,
    data: IntoFrame | NumPyTable,
    schema: Schema | None = None,
    *,
    levels: Levels = "data",
    keep: Mask | None = None,
    known: Mapping[str, Sequence[Level]] | None = None,
) -> Design:
    """Return the design matrix of a formula.

    With ``levels="data"`` a factor has the levels that occur in the rows used, as Stata and R do
    (not for private fits); with ``"schema"`` exactly the declared levels, else the labelled codes,
    so that the columns are a function of public facts.  ``keep`` says which of the N rows may be
    used at all, ``known`` which levels factors have, the base first, as of an earlier fit.

    Notes
    -----
    Rows with a missing value in any column used are left out (``.a`` to ``.z``, None and empty
    text are missing).  The first level of a factor is the base.  Text and categorical columns are
    factors with or without ``C()``; a comparison is 0 or 1, and missing where a side is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [1.0, 2, 3, 4], "x": [1, 2, 3, 3], "z": [5, None, 6, 7]})
    >>> found = design("y ~ C(x) + z", rows)
    >>> found.columns
    ('Intercept', 'C(x)[T.3]', 'z')
    >>> found.used.tolist()
    [True, False, True, True]
    """
    check_choice("levels", levels, get_args(Levels))
    if levels == "schema" and schema is None:
        raise SchemaError("``levels='schema'`` needs a schema; give one that declares the levels")
    parsed = formula if isinstance(formula, Formula) else parse(formula, functions=levels == "data")
    frame = columns_of(data, parsed.names)
    values = _values_of(parsed, frame)
    used = _complete(values, len(frame))
    if keep is not None:
        used = used & keep
    if not used.all():
        values = {label: column[used] for label, column in values.items()}
    factors = {
        label: _regressor(factor, values[label], schema, levels, known or {})
        for label, factor in _right_factors(parsed).items()
    }
    y = [_outcome(factor, values[factor.label]) for factor in parsed.outcomes]
    X, columns, terms = _matrix(parsed, factors, int(used.sum()))
    return Design(
        y=np.column_stack(y) if y else np.empty((len(X), 0)),
        X=X,
        columns=columns,
        outcomes=tuple(factor.label for factor in parsed.outcomes),
        terms=terms,
        used=used,
        levels={
            factor.names[0]: tuple(coded.categories)
            for label, factor in _right_factors(parsed).items()
            if not isinstance(coded := factors[label], np.ndarray)
        },
    )


def complete_cases(formula: Formula, data: IntoFrame) -> Mask:
    """Mask of rows that have a value in every column of the formula.

    Examples
    --------
    >>> import pandas as pd
    >>> complete_cases(parse("y ~ x"), pd.DataFrame({"y": [1, None], "x": [2, 3]})).tolist()
    [True, False]
    """
    frame = columns_of(data, formula.names)
    return _complete(_values_of(formula, frame), len(frame))


def _right_factors(parsed: Formula) -> dict[str, Factor]:
    return {factor.label: factor for term in parsed.terms for factor in term}


def _values_of(parsed: Formula, frame: pd.DataFrame | NumPyTable) -> dict[str, Any]:
    factors = _right_factors(parsed) | {factor.label: factor for factor in parsed.outcomes}
    return {label: _series(factor, frame) for label, factor in factors.items()}


def _series(factor: Factor, frame: pd.DataFrame | NumPyTable) -> Any:
    held = isinstance(frame, NumPyTable)
    for name in factor.names:
        if not held and pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
            raise FormulaError(f"column {name!r} holds dates; turn them into numbers or text first")
        if factor.kind == "expression" and is_factor(frame[name]):
            raise FormulaError(f"{factor.label} computes with {name!r}, which holds text")
    if factor.expression is None:
        return frame[factor.names[0]]
    found = factor.expression({name: numbers_of(frame[name]) for name in factor.names})
    return np.asarray(found) if held else pd.Series(found)


def _complete(values: Mapping[str, pd.Series[Any]], rows: int) -> Mask:
    complete = np.ones(rows, bool)
    for column in values.values():
        complete &= ~is_missing(column)
    return complete


def _outcome(factor: Factor, column: pd.Series[Any]) -> Array:
    if is_factor(column):
        raise FormulaError(f"the outcome {factor.label!r} holds text or categories, not numbers")
    return numbers_of(column)


def _regressor(
    factor: Factor,
    column: pd.Series[Any],
    schema: Schema | None,
    levels: Levels,
    known: Mapping[str, Sequence[Level]],
) -> Array | pd.Categorical[Any]:
    if factor.kind == "expression" or (factor.kind == "name" and not is_factor(column)):
        return numbers_of(column)
    if factor.names[0] in known:
        order = list(known[factor.names[0]])
        codes = [order.index(_key(value)) for value in column]
        return pd.Categorical.from_codes(codes, categories=pd.Index(order, dtype=object))
    return categories_of(factor.names[0], column, schema, levels)


def _of_numbers(
    parsed: Formula, factors: Mapping[str, Any], rows: int
) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    products = products_of_numbers(parsed)
    X = np.ones((rows, len(products)))
    for column, term in zip(X.T, products.values(), strict=True):
        for factor in term:
            column *= factors[factor.label]
    return X, (*products,), (*products,)


def products_of_numbers(parsed: Formula) -> dict[str, Sequence[Factor]]:
    """Columns of a formula without categories, in the order of formulaic: short ones come first.

    Examples
    --------
    >>> [*products_of_numbers(parse("y ~ a*b + c"))]
    ['Intercept', 'a', 'b', 'c', 'a:b']
    """
    terms = [*([()] if parsed.intercept else []), *sorted(parsed.terms, key=len)]
    if not terms:
        raise FormulaError(f"{parsed.text!r} has neither a regressor nor an intercept; name one")
    return {":".join(factor.label for factor in term) or INTERCEPT: term for term in terms}


def _matrix(
    parsed: Formula, factors: Mapping[str, Array | pd.Categorical[Any]], rows: int
) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Let formulaic code the factors; it sees finished columns and looks names up, no more.

    Of numbers alone there is nothing to code, and formulaic is not imported.
    """
    if all(isinstance(factor, np.ndarray) for factor in factors.values()):
        return _of_numbers(parsed, factors, rows)
    from formulaic import Formula as Coded
    from formulaic.materializers import PandasMaterializer
    from formulaic.parser.types import Factor as Lookup
    from formulaic.parser.types import Term as Product

    products = [
        Product([Lookup(factor.label, eval_method="lookup") for factor in term])
        for term in parsed.terms
    ]
    if parsed.intercept:
        products.insert(0, Product([Lookup("1", eval_method="literal")]))
    frame = pd.DataFrame(dict(factors), index=pd.RangeIndex(rows), copy=False)

    def coded(at: slice) -> Any:
        some = frame.iloc[at]
        made = PandasMaterializer(some, context={})
        found = made.get_model_matrix(Coded(products), na_action="ignore", output="numpy")
        # its functions refer to each other, and would hold all columns for long
        vars(made).clear()
        for name in list(some):
            del some[name]
        return found

    first = coded(slice(_ROWS))
    spec = first.model_spec
    X = np.asarray(first, np.float64).reshape(min(rows, _ROWS), len(spec.column_names))
    if rows > _ROWS:  # some at a time, so that there are no other columns of all rows
        X, some = np.empty((rows, len(spec.column_names))), X
        X[:_ROWS] = some
        for start in range(_ROWS, rows, _ROWS):
            X[start : start + _ROWS] = coded(slice(start, start + _ROWS))
    terms = {
        index: INTERCEPT if str(term) == "1" else ":".join(str(f) for f in term.factors)
        for term, indices in spec.term_indices.items()
        for index in indices
    }
    return X, tuple(spec.column_names), tuple(terms[i] for i in range(X.shape[1]))
