"""Any value that R may pass, and any that an export may return."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import BridgeError, ConversionError, ParameterError
from dprct.lazy import pandas as pd
from dprct.missing import tagged
from dprct.rbridge.attach import attach
from dprct.rbridge.convert.calls import call_r
from dprct.rbridge.convert.frames import Likeness, Table, table_from_r, table_to_r
from dprct.rbridge.convert.plain import (
    Matrix,
    array_to_r,
    matrix_to_r,
    plain_frame_to_r,
    series_to_r,
)
from dprct.rbridge.convert.records import Record, live, live_of
from dprct.rbridge.convert.schemas import schema_record
from dprct.rbridge.convert.text import texts_to_r, unpacked
from dprct.rbridge.convert.vectors import (
    INTEGER_NA,
    count,
    fields,
    flag,
    is_r_missing,
    kind_of,
    list_of,
    named_list,
    short_texts,
    texts,
    vector_of,
    view,
)
from dprct.rbridge.interrupts import shielded
from dprct.records import dataclass
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTIONS = ("closure", "builtin", "special")
_VECTORS = ("logical", "integer", "double", "character")
_EPOCH = dt.date(1970, 1, 1)
_EXACT = 2**53
_SEEDS = 2**31 - 1


@dataclass(frozen=True)
class RFunction:
    """A function of R's that Python can call, in the main thread."""

    sexp: Any = field(repr=False)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the value as Python's; an error in R is an :class:`RError`."""
        in_main_thread()
        with shielded():
            given = [to_r(x) for x in args]
            named = {name: to_r(x) for name, x in kwargs.items()}
            return from_r(call_r(self.sexp, *given, **named))


def in_main_thread() -> None:
    """Refuse another thread than the main one, for R has one only."""
    if threading.current_thread() is not threading.main_thread():
        raise BridgeError("a function of R can be called from Python's main thread only")


def from_r(sexp: Any) -> Any:
    """Return an R object as a value of Python's; the table is in :mod:`dprct.rbridge`."""
    kind = kind_of(sexp)
    if kind == "NULL":
        return None
    classes = texts(sexp.rclass)
    if kind == "list":
        return _list(sexp, classes)
    if "formula" in classes:
        raise ConversionError(
            "a formula is passed as text, which the R package writes; give it to a function of "
            "that package"
        )
    if kind in _FUNCTIONS:
        return RFunction(sexp)
    if kind in _VECTORS:
        return _vector(sexp, kind, classes)
    raise ConversionError(
        f"an object of type {kind} cannot be passed to Python; give a vector, a list, a data "
        "frame, a formula or a function"
    )


def named_from_r(named: Any) -> dict[str, Any]:
    """Return the elements of a named list, such as the arguments of a call."""
    out = {}
    for name, x in fields(named).items():
        out[name] = from_r(x)
        if out[name] is None and kind_of(x) != "NULL":
            raise ParameterError(f"{name} is NA; give a value, or leave it out")
    return out


@dataclass(frozen=True)
class _Saved(Mapping[str, Any]):
    """The elements of a record that another session saved, each converted when it is asked for."""

    elements: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return from_r(self.elements[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.elements)

    def __len__(self) -> int:
        return len(self.elements)


def _list(sexp: Any, classes: list[str | None]) -> Any:
    if "data.frame" in classes:
        return table_from_r(sexp, from_r)
    names = texts(sexp.names)
    found = live_of(sexp, classes, lambda: _Saved(fields(sexp)))
    if found is not None:
        return found
    if "POSIXlt" in classes:
        raise ConversionError("a time cannot be passed by itself; give it as text")
    if not names:
        return [from_r(x) for x in sexp]
    if len(set(names)) < len(names) or "" in names:
        raise ConversionError("a list has some names missing or twice; name all or none")
    return named_from_r(sexp)


def _vector(sexp: Any, kind: str, classes: list[str | None]) -> Any:
    shape = attach().base("dim")(sexp)
    if kind_of(shape) != "NULL":
        return _matrix(sexp, kind, tuple(view(shape).tolist()))
    if "POSIXct" in classes or "difftime" in classes:
        raise ConversionError("a time cannot be passed by itself; give it as text")
    values = _elements(sexp, kind, classes)
    names = texts(sexp.names)
    if names:
        return dict(zip(names, (_scalar(x) for x in values), strict=True))
    if len(values) == 1 and "AsIs" not in classes:
        return _scalar(values[0])
    return values


def _elements(sexp: Any, kind: str, classes: list[str | None]) -> Any:
    """Return the elements: numbers as an array, anything else as a list with None for NA."""
    session = attach()
    if "factor" in classes:
        sexp, kind = session.base("as.character")(sexp), "character"
    if "integer64" in classes:
        return view(session.function("from_integer64")(sexp)).copy()
    if kind == "character":
        return unpacked(call_r(session.function("pack_text"), sexp)).tolist()
    values = view(sexp).copy()
    if "Date" in classes:
        none = np.isnan(values) | (values == INTEGER_NA)
        return [None if no else _EPOCH + dt.timedelta(days=float(x))
                for x, no in zip(values, none, strict=True)]  # fmt: skip
    missing = values == INTEGER_NA if kind != "double" else np.zeros(len(values), bool)
    if kind == "logical":
        if missing.any():
            return [None if m else bool(x) for x, m in zip(values, missing, strict=True)]
        return values.astype(bool)
    if not missing.any():
        return values.astype(np.int64) if kind == "integer" else values
    if len(values) == 1:
        return [None]
    return np.where(missing, tagged(0), values)


def _scalar(value: Any) -> Any:
    if isinstance(value, np.floating) and is_r_missing(np.array([value], np.float64))[0]:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _matrix(sexp: Any, kind: str, shape: tuple[int, ...]) -> Any:
    if kind == "character":
        raise ConversionError("a matrix of text cannot be passed; give a data frame")
    values = view(sexp).copy()
    if kind != "double" and (values == INTEGER_NA).any():
        values = np.where(values == INTEGER_NA, np.nan, values)
    return (values.astype(bool) if kind == "logical" else values).reshape(shape, order="F")


def to_r(value: Any) -> Any:
    """Return a value of Python's as an R object; the table is in :mod:`dprct.rbridge`."""
    simple = _simple(value)
    if simple is not None:
        return simple
    if isinstance(value, Record):
        return _record(value)
    if isinstance(value, Table):
        return table_to_r(
            value, to_r(schema_record(value.schema)) if value.attach else attach().ri.NULL
        )
    if isinstance(value, Schema):
        return _record(schema_record(value))
    if isinstance(value, RFunction):
        return value.sexp
    if isinstance(value, Matrix):
        return matrix_to_r(value)
    if isinstance(value, pd.DataFrame):
        return plain_frame_to_r(value)
    if isinstance(value, pd.Series):
        return series_to_r(value)
    if isinstance(value, np.ndarray):
        return array_to_r(value)
    if isinstance(value, Mapping):
        return named_list({str(name): to_r(x) for name, x in value.items()})
    if isinstance(value, (list, tuple)):
        return _sequence(value)
    if type(value).__module__.startswith("rpy2."):
        return value
    raise ConversionError(f"a ``{type(value).__name__}`` has no form in R; return a Record")


def _simple(value: Any) -> Any:
    """Return a lone value as a vector of length 1; None where it is no such value."""
    if value is None:
        return attach().ri.NULL
    if isinstance(value, Enum):
        return to_r(value.value)
    if isinstance(value, (bool, np.bool_)):
        return flag(bool(value))
    if isinstance(value, str):
        return texts_to_r([str(value)])
    if isinstance(value, PathLike):
        return texts_to_r([fspath(value)])
    if isinstance(value, Integral):
        return _whole(int(value))
    if isinstance(value, (Real, Decimal, Fraction)):
        return vector_of(np.array([float(value)]), "double")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        days = vector_of(np.array([float((value - _EPOCH).days)]), "double")
        return attach().base("class<-")(days, short_texts(["Date"]))
    return None


def _whole(value: int) -> Any:
    if abs(value) <= -INTEGER_NA - 1:
        return vector_of(np.array([value]), "integer")
    if abs(value) > _EXACT:
        raise ConversionError("a whole number beyond 2**53 has no exact form in R; give text")
    return vector_of(np.array([float(value)]), "double")


def _sequence(values: list[Any] | tuple[Any, ...]) -> Any:
    """Return a vector where all elements are of one kind, else a list."""
    known = [x for x in values if x is not None]
    if known and all(isinstance(x, str) for x in known):
        return texts_to_r([None if x is None else str(x) for x in values])
    if known and all(isinstance(x, (bool, np.bool_)) for x in known):
        cells = [INTEGER_NA if x is None else int(x) for x in values]
        return vector_of(np.array(cells), "logical")
    if len(known) == len(values) and all(_is_number(x) for x in known) and known:
        if all(isinstance(x, Integral) and abs(int(x)) < -INTEGER_NA for x in known):
            return vector_of(np.array([int(x) for x in known]), "integer")
        return vector_of(np.array([float(x) for x in known]), "double")
    return list_of([to_r(x) for x in values])


def _is_number(value: object) -> bool:
    return isinstance(value, (Real, Decimal, Fraction)) and not isinstance(value, (bool, np.bool_))


def _record(record: Record) -> Any:
    session = attach()
    return session.function("record")(
        named_list({name: to_r(x) for name, x in record.fields.items()}),
        short_texts(record.classes),
        session.ri.NULL if record.live is None else live.keep(record.live),
    )


@dataclass(frozen=True)
class RProcedure:
    """A procedure for :class:`dprct.Custom` that asks a function of R's.

    Notes
    -----
    R's random numbers are seeded from the generator for the time of the call, and afterwards go on
    as if nothing had been drawn: a seed in Python makes the assignment reproducible.

    Length and arms of what comes back are checked by :class:`dprct.Custom`.  The rows that it
    hands over are synthetic or public.
    """

    # ``function(data)``: gets a data frame of the synthetic rows, returns the treatment of each
    # row, as a vector, or as a data frame or list of the treatment columns.
    function: RFunction
    schema: Schema  # facts of the columns that the function looks at
    like: Likeness | None = None  # what the data frame looks like in R

    def __call__(self, rows: pd.DataFrame, rng: np.random.Generator) -> Any:
        """Return the treatment columns that R assigns to ``rows``."""
        in_main_thread()
        session = attach()
        with shielded():
            table = Table(rows.reset_index(drop=True), self.schema, self.like)
            answer = call_r(
                session.function("run_seeded"),
                self.function.sexp,
                list_of([table_to_r(table, session.ri.NULL)]),
                count(int(rng.integers(_SEEDS))),
            )
            found = from_r(answer)
        return found.data if isinstance(found, Table) else found
