"""How tables of any engine are taken in, and how columns of those in memory are read.

A method whose queries are expressions takes a :func:`table`: in memory (pandas, Polars), or in an
engine (Polars lazily, DuckDB, PySpark) that keeps the rows.  To make a method accept one:

1. in the constructor, ``model.bound``: one pass (:func:`counted_once`) counts rows, rows that
   break the schema, and combinations of public columns; ``names_of(frame)`` instead of
   ``frame.columns``;
2. in queries, expressions over ``encoding.prepared(frame, columns)``, then :func:`collected` once
   an aggregate (a ``group_by`` or a ``select`` of sums) has made the table small; sums of int64
   come back as Python integers from ``queries.sums``, exact in every engine;
3. who is in which arm: ``queries.sums.by_cell`` (it knows arms in memory and in an engine).

A method that needs all rows at once stays with :func:`eager`, which refuses an engine's table and
says what to do.  :class:`dprct.SyntheticControl` does: panels are small.
"""

from __future__ import annotations

import numbers
from dataclasses import field
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np

from dprct.errors import (
    ColumnError,
    DprctError,
    EngineError,
    MissingDependencyError,
    SchemaError,
    withheld,
)
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES, missing_numbers
from dprct.records import dataclass
from dprct.schema.columns import (
    BEYOND,
    WHOLE,
    Arrays,
    Expressions,
    exclusive_groups,
    exclusive_rules,
    is_short,
    legal_number,
    missing_rules,
    number_rules,
    text_rules,
    unit_rules,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.schema.columns import Column, Rule
    from dprct.schema.schema import Schema

    Lazy = nw.LazyFrame[Any]


COMPANION = "__missing"
"""Suffix of the int8 column that carries missing codes where NaN payloads cannot live."""

Frame: TypeAlias = "nw.DataFrame[Any]"
Table: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"
AnyTable = TypeVar("AnyTable", bound="Table")
AnyHeld = TypeVar("AnyHeld", bound="Table | NumPyTable")


class NumPyTable:
    """A table that was read from a file, as NumPy arrays; pandas is loaded for its frame alone.

    A plan looks at the rows to refuse what the schema rules out, and often needs no more of them.

    Parameters
    ----------
    arrays : mapping from name to array (n,)
        float64 numbers, whose NaNs carry the missing codes, and objects (str or bytes) of text.
    rows : int
    framed : callable, optional
        Makes the same table a frame of pandas.  By default, of the arrays themselves.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        rows: int,
        framed: Callable[[], pd.DataFrame] | None = None,
    ) -> None:
        self.arrays, self._rows, self._framed = arrays, rows, framed

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """Numbers of a column (n,); None where it has none, or is not there."""
        found = self.arrays.get(name)
        return found if found is not None and found.dtype == np.float64 else None

    @cached_property
    def native(self) -> pd.DataFrame:
        """The frame of pandas; its text is ``object``."""
        if self._framed is not None:
            return self._framed()
        return pd.DataFrame(
            {
                name: x if x.dtype == np.float64 else pd.Series(x, dtype=x.dtype, copy=False)
                for name, x in self.arrays.items()
            },
            copy=False,
        )

    def head(self, rows: int) -> NumPyTable:
        """Return the first rows."""
        arrays = {name: array[:rows] for name, array in self.arrays.items()}
        return NumPyTable(arrays, min(rows, self._rows))

    def under(self, names: Mapping[str, str]) -> NumPyTable:
        """Return the table with other names for some columns."""
        arrays = {names.get(name, name): array for name, array in self.arrays.items()}
        return NumPyTable(arrays, self._rows, lambda: self.native.rename(columns=names))

    @cached_property
    def frame(self) -> Frame:
        """The same behind narwhals' interface."""
        return eager(self.native)

    def clipped(self, columns: Iterable[Column]) -> NumPyTable:
        """Return the table with values of these columns at the nearest bound."""
        moved = {c.name: _clipped(c, y) for c in columns if (y := self.numbers(c.name)) is not None}
        if not moved:
            return self

        def framed() -> pd.DataFrame:
            found = self.native.copy(deep=False)
            for name, y in moved.items():
                found[name] = y
            return found

        return NumPyTable({**self.arrays, **moved}, self._rows, framed)


_STREAMED: dict[str, Any] = {"engine": "streaming"}
_ENGINES = "pandas, Polars (eager or lazy), DuckDB or PySpark"


def table(data: object) -> Table:
    """Return ``data`` behind narwhals' interface: in memory, or left in its engine.

    Examples
    --------
    >>> import pandas as pd
    >>> row_count(table(pd.DataFrame({"y": [1.0, 2.0]})))
    2
    """
    found = opened(data)
    if isinstance(found, nw.LazyFrame):
        _check_filled(row_count(found))
    return found.frame if isinstance(found, NumPyTable) else found


def opened(data: object) -> Table | NumPyTable:
    """Return ``data`` as :func:`table` does, without asking an engine whether it has rows."""
    if isinstance(data, NumPyTable):
        _check_filled(len(data))
        return data
    try:
        found = nw.from_native(data)  # type: ignore[call-overload]
    except (nw.exceptions.DuplicateError, TypeError):
        return eager(data)  # whose refusals say what is wrong
    if not isinstance(found, nw.LazyFrame):
        return eager(data)
    if getattr(found.to_native(), "isStreaming", False):
        raise EngineError(
            "data is a stream, which has no last row and so no sums; write it to a table, and give "
            "that"
        )
    _check_names(found)
    return found


def _check_filled(rows: int) -> None:
    if rows == 0:
        raise SchemaError("data has no rows; give a table with at least one row")


def collected(frame: Table) -> Frame:
    """Return an aggregate in memory, whichever engine made it."""
    if not isinstance(frame, nw.LazyFrame):
        return frame
    with asking(frame, "an aggregate"):
        # Polars: in pieces, so that a scan larger than memory passes through
        streamed = frame.implementation.is_polars()
        return frame.collect(**_STREAMED) if streamed else frame.collect()


def asking(frame: Table, wanted: str) -> withheld:
    """Withhold what an engine says when it fails, because it may show data.

    ``wanted`` is what it is asked for, in words.
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


def on_its_own(whole: nw.Expr, frame: Table) -> nw.Expr:
    """The same whole doubles, none null and at most 2^51; of Spark, as a method of their own.

    Spark writes the expressions of a query into one method of Java, which Java interprets, and does
    not compile, from 8,000 bytes on: about twenty columns.  What occurs twice gets its own method.
    """
    if not frame.implementation.is_spark_like():
        return whole
    known = whole.fill_null(0.0)  # Spark takes a floor for nullable, and writes thrice as much
    return (known + known) - known


def names_of(frame: Table | NumPyTable) -> list[str]:
    """Return the names of the columns; of an engine's table, without reading rows."""
    if isinstance(frame, NumPyTable):
        return list(frame.arrays)
    return list(schema_of(frame))


def schema_of(frame: Table) -> dict[str, nw.dtypes.DType]:
    """Return the dtype of each column."""
    with asking(frame, "names and types of columns"):
        return dict(frame.collect_schema())


def in_engine(frame: Table | NumPyTable) -> TypeGuard[Lazy]:
    """Whether the rows stay in an engine."""
    return not isinstance(frame, NumPyTable) and isinstance(frame, nw.LazyFrame)


def row_count(frame: Table | NumPyTable) -> int:
    """Return the number of rows; one pass in an engine."""
    if isinstance(frame, NumPyTable) or not isinstance(frame, nw.LazyFrame):
        return len(frame)
    with asking(frame, "the number of rows"):
        counted = frame.select(nw.len().alias("rows"))
    return int(collected(counted)["rows"][0])


def check_there(frame: Table, n: int) -> None:
    """Refuse a table that is gone or was changed since the constructor; nothing is charged yet."""
    check_rows(row_count(frame), n)


def check_rows(found: int, n: int) -> None:
    """Refuse a number of rows that is not the one that the constructor counted."""
    if found != n:
        raise EngineError(
            f"the table had {n:,} rows when the model was made and has another number now; store "
            "it first, so that every pass reads the same rows"
        )


def check_counts(found: Mapping[tuple[Any, ...], Sequence[int]], counted: Counted) -> None:
    """Refuse a pass that met other public counts than the pass at the door.

    Numbers are as in :attr:`Counted.groups`, or of all rows together, under the empty tuple.
    """
    check_rows(sum(sizes[0] for sizes in found.values()), counted.rows)
    expected = counted.groups
    if set(found) == {()}:
        columns = zip(*expected.values(), strict=True)
        expected = {(): tuple(map(sum, columns))}
    if {key: tuple(sizes) for key, sizes in found.items()} != expected:
        raise EngineError(
            "the public columns of the table have different counts now than when the "
            "model was made; store it first, so that every pass reads the same rows"
        )


def missing_code(frame: Table, name: str) -> nw.Expr:
    """Return the number of the missing code (int8), -1 for none, named as the companion is."""
    value = nw.col(name).cast(nw.Float64)
    absent = value.is_null() | value.is_nan()
    code = nw.lit(0, nw.Int8)
    if name + COMPANION in names_of(frame):
        given = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
        # the constructor refused other values; here a cast must not fail, whatever stands there
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
    check_once(names)
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise SchemaError(
                f"columns {other!r} and {name!r} differ in capitals alone, which the engine does "
                "not tell apart; rename one"
            )


def check_once(names: Sequence[str]) -> None:
    """Refuse names of which one stands twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"columns named twice: {', '.join(twice)}; give every column its name")


def eager(data: object) -> Frame:
    """Return ``data`` behind narwhals' interface, refusing what is not an eager frame with rows."""
    try:
        frame = nw.from_native(data, eager_only=True)  # type: ignore[call-overload]
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in data.columns]  # type: ignore[attr-defined]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SchemaError(
            f"columns named twice: {', '.join(twice)}; give every column its name"
        ) from None
    except TypeError:
        raise SchemaError(
            f"data is ``{type(data).__name__}``; give ``a pandas or Polars data frame "
            f"(collected; where the documentation says so, {_ENGINES})``"
        ) from None
    _check_filled(len(frame))
    out: Frame = frame
    return out


def has_payloads(frame: Table) -> bool:
    """Whether missing codes may live in NaN payloads: NumPy-backed pandas only."""
    return frame.implementation.is_pandas()


def numbers_of(
    frame: Frame | NumPyTable, name: str
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return a column's numbers (n,) and the numbers of its missing codes (n,), -1 for none."""
    if isinstance(frame, NumPyTable):
        held = frame.numbers(name)
        if held is not None and name + COMPANION not in frame.arrays:
            return held, missing_numbers(held)
        frame = frame.frame
    values = _doubles(frame, name)
    if _has(frame, name + COMPANION):
        codes = _companion_codes(frame[name + COMPANION])
        return values, np.where(np.isnan(values), np.maximum(codes, 0), -1).astype(np.int8)
    if has_payloads(frame):
        return values, missing_numbers(values)
    return values, np.where(np.isnan(values), 0, -1).astype(np.int8)


def _doubles(frame: Frame, name: str) -> NDArray[np.float64]:
    """Return a column's numbers as doubles (n,); a view where pandas holds them so."""
    if frame.implementation.is_pandas() and _has(frame, name):
        held = frame.to_native()[name]
        if isinstance(held.dtype, np.dtype) and held.dtype == np.float64:
            return np.asarray(held.to_numpy())
    series = _series(frame, name)
    if not _holds_numbers(series):
        raise SchemaError(
            f"column {name!r} holds {series.dtype}, the schema says numbers; give codes and "
            "numbers, as ``dprct.read`` and ``dprct.schema.frames.table_of_frame`` return them"
        )
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def whole_beyond(series: nw.Series[Any]) -> bool:
    """Whether exact numbers reach 2^53, where a double no longer tells each from the next."""
    if isinstance(series.dtype, nw.Object):
        whole = (int(x) for x in series.to_list() if isinstance(x, numbers.Integral))
        return any(abs(x) >= WHOLE for x in whole)
    return is_exact(series.dtype) and bool((series.cast(nw.Float64).abs() >= WHOLE).any())


def is_exact(dtype: nw.dtypes.DType) -> bool:
    """Whether a type holds whole numbers that a double rounds."""
    return isinstance(dtype, (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128, nw.Decimal))


def text_of(frame: Frame | NumPyTable, name: str) -> NDArray[np.object_]:
    """Return a text column (n,) of str (or bytes); a null is the empty text, as in Stata."""
    if isinstance(frame, NumPyTable):
        if name in frame.arrays and frame.numbers(name) is None:
            return frame.arrays[name].copy()
        frame = frame.frame
    series = _series(frame, name)
    values = np.array(series.to_list(), dtype=object)
    values[series.is_null().to_numpy()] = ""
    if not all(isinstance(value, (str, bytes)) for value in values):
        raise SchemaError(f"column {name!r} holds {series.dtype}, the schema says text; give text")
    return values


def owners(frame: Frame | NumPyTable, name: str) -> NDArray[np.intp]:
    """Return whose each row (n,) is by an id, as a code from 0 on; what is missing is one more.

    Texts are told apart as Python tells them: NumPy's own drop a NUL at their end, bytes that no
    encoding reads are ids too, and NumPy would show them in its refusal.
    """
    if _has_numbers(frame, name):
        return np.unique(numbers_of(frame, name)[0], return_inverse=True)[1].astype(np.intp)
    known: dict[object, int] = {}
    found = [known.setdefault(text, len(known)) for text in text_of(frame, name)]
    return np.array(found, np.intp)


def _has_numbers(frame: Frame | NumPyTable, name: str) -> bool:
    if isinstance(frame, NumPyTable):
        if name in frame.arrays:
            return frame.numbers(name) is not None
        frame = frame.frame
    return _holds_numbers(_series(frame, name))


def _holds_numbers(series: nw.Series[Any]) -> bool:
    """Whether these are numbers: what else NumPy would make numbers of, it is not asked."""
    dtype = series.dtype
    if isinstance(dtype, nw.Decimal) and series.implementation.is_pandas():
        return False  # Arrow's own conversion to doubles does not round to the nearest
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return True
    if not (isinstance(dtype, nw.Object) and series.implementation.is_pandas()):
        return False  # Polars casts no objects
    return all(value is None or isinstance(value, numbers.Real) for value in series.to_list())


def _companion_codes(series: nw.Series[Any]) -> NDArray[Any]:
    """Return missing codes; an engine that cannot cast them would show them."""
    codes = series.fill_null(0).to_numpy() if series.dtype.is_numeric() else None
    if codes is None or not np.isin(codes, np.arange(-1, len(MISSING_CODES))).all():
        raise _no_codes(series.name)
    return codes


def _series(frame: Frame, name: str) -> nw.Series[Any]:
    if not _has(frame, name):
        raise ColumnError.unknown(name, frame.columns, "the data")
    return frame[name]


def _has(frame: Frame, name: str) -> bool:
    """Whether there is such a column; pandas would list all names for every question."""
    if frame.implementation.is_pandas():
        return name in frame.to_native().columns
    return name in frame.columns


def clipped_as_declared(schema: Schema, frame: AnyHeld) -> AnyHeld:
    """Return the table with values at the nearest bound where a column declares ``clip``.

    Notes
    -----
    Row by row and by public constants, so that one record still changes one record.  Missing stays
    missing, with its code.  A column that is not there, or holds no numbers, is left to the checks.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("y", bounds=(0, 2), clip=True),))
    >>> frame = eager(pd.DataFrame({"y": [3.0, -5.0, np.nan]}))
    >>> clipped_as_declared(schema, frame)["y"].to_list()
    [2.0, 0.0, nan]
    """
    there = {column.name: column for column in schema.columns if column.clip}
    there = {name: there[name] for name in names_of(frame) if name in there} if there else {}
    if not there:
        return frame
    if isinstance(frame, NumPyTable):
        return cast("AnyHeld", frame.clipped(there.values()))
    if isinstance(frame, nw.LazyFrame):
        dtypes = schema_of(frame)
        moved: list[Any] = [
            _clipped_in_engine(column).alias(name)
            for name, column in there.items()
            if dtypes[name].is_numeric() and not set(name) & set(".`")
        ]
    else:
        moved = [
            _clipped_in_memory(column, frame)
            for name, column in there.items()
            if _holds_numbers(frame[name])
        ]
    found: Any = frame.with_columns(*moved) if moved else frame
    return cast("AnyHeld", found)


def _clipped(column: Column, y: NDArray[np.float64]) -> NDArray[np.float64]:
    assert column.bounds is not None
    return np.where(np.isnan(y), y, np.clip(y, *column.bounds))


def _clipped_in_memory(column: Column, frame: Frame) -> nw.Series[Any]:
    moved = _clipped(column, numbers_of(frame, column.name)[0])
    return nw.new_series(column.name, moved, nw.Float64, backend=frame.implementation)


def _clipped_in_engine(column: Column) -> nw.Expr:
    """Return the same; engines take a NaN for larger than every number, or for null."""
    assert column.bounds is not None
    low, high = column.bounds
    x = nw.col(column.name).cast(nw.Float64)
    below = nw.when((x < low) & ~x.is_nan()).then(nw.lit(low)).otherwise(x)
    return nw.when((x > high) & ~x.is_nan()).then(nw.lit(high)).otherwise(below)


_MOST_SHOWN = 12
_NOT_CODES = "not missing codes"


def validate(schema: Schema, data: Any, columns: Iterable[str] | None = None) -> None:
    """Refuse data that do not fit the schema.

    Without ``columns`` all are checked, and the data may have no others.  Of a table in an engine,
    rules are counted there.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte", levels=(0.0, 1.0), missing=()),))
    >>> validate(schema, pd.DataFrame({"got": [0.0, 1.0]}))
    """
    frame = opened(data)
    names = schema.names if columns is None else list(columns)
    if columns is None:
        _check_companions(schema, names)
        _check_columns(schema, frame)
    check_legal(schema, clipped_as_declared(schema, frame), names)


def check_legal(
    schema: Schema, frame: Table | NumPyTable, names: Sequence[str], counted: Counted | None = None
) -> None:
    """Refuse rows that do not fit the schema, by column and rule.

    ``counted`` is what an engine's one pass over the table found.

    Notes
    -----
    An engine is asked in one pass whether any row breaks any rule, and only a refusal takes
    another one, for its words.
    """
    _check_companions(schema, names)
    if in_engine(frame):
        counted = counted or counted_once(schema, frame, names)
        _check_filled(counted.rows)
        if counted.legal and not _crowded_in_engine(schema, frame):
            schema.note_opening(names, refused=False)
            return
    broken = _broken(schema, names, frame)
    if broken or not in_engine(frame):
        # before anybody is told: who widens a bound until it passes has read the data
        schema.note_opening(names, refused=bool(broken))
    if broken:
        more = f"; and {len(broken) - _MOST_SHOWN} more" if len(broken) > _MOST_SHOWN else ""
        raise SchemaError(
            "the data do not fit the schema: "
            + "; ".join(broken[:_MOST_SHOWN])
            + more
            + "; correct the data, or declare all that is possible (never what the data hold)"
        )
    if in_engine(frame):
        raise EngineError(
            "the table had a row that does not fit in one pass and has none in the next; store it "
            "first, so that every pass reads the same rows"
        )


@dataclass(frozen=True)
class Counting:
    """What is public of a table and is counted while it is validated."""

    # Public columns whose combinations are counted.
    keys: Mapping[str, nw.Expr] = field(default_factory=dict)
    present: tuple[str, ...] = ()  # numeric columns of which it is public who has a value


@dataclass(frozen=True)
class Counted:
    """What one pass over a table in an engine found."""

    rows: int
    legal: bool  # whether no row breaks a rule; of units with several rows, that is asked apart
    # keys, present: of a :class:`Counting`.
    keys: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    # Of every combination that occurs, rows and then how many have a value of each column.
    groups: Mapping[tuple[Any, ...], tuple[int, ...]] = field(default_factory=dict, repr=False)

    def having(self, name: str) -> int:
        """How many rows have a value of one of ``present``."""
        place = 1 + self.present.index(name)
        return sum(sizes[place] for sizes in self.groups.values())


_BROKEN, _EACH = "__broken", "__rows"


def counted_once(
    schema: Schema, frame: Lazy, names: Sequence[str], counting: Counting | None = None
) -> Counted:
    """Count rows, rows that break the schema and public combinations: one pass of an engine."""
    counting = counting or Counting()
    columns = list(map(schema.column, names))
    ones = {column.name: nw.col(column.name).cast(nw.Float64) == 1 for column in columns}
    groups = exclusive_rules(exclusive_groups(columns), ones, Expressions)
    dtypes = schema_of(frame)
    legal = [held for column in columns for held in _legal(column, dtypes, frame)]
    legal += [~broken for _, broken in groups]
    legal += [] if schema.unit.id is None else [~_id_of(schema)[1]]
    # null is not legal: of what may be missing, that it is missing is asked
    if frame.implementation.is_spark_like() and legal:
        each = [nw.when(one).then(nw.lit(0.0)).otherwise(nw.lit(1.0)) for one in legal]
        held = reduce(add, [on_its_own(broken, frame) for broken in each]) == 0.0
    else:
        held = nw.all_horizontal(*legal, ignore_nulls=False) if legal else nw.lit(True)
    by = [f"__key{k}" for k in range(len(counting.keys))]
    has = [f"__has{k}" for k in range(len(counting.present))]
    with asking(frame, "rows that break a rule"):
        rows = frame.select(
            *[key.alias(name) for name, key in zip(by, counting.keys.values(), strict=True)],
            *[
                Expressions.known(nw.col(name).cast(nw.Float64)).cast(nw.Int64).alias(flag)
                for name, flag in zip(counting.present, has, strict=True)
            ],
            nw.when(held).then(nw.lit(0)).otherwise(nw.lit(1)).alias(_BROKEN),
        )
        answers = _by_level(schema, rows, counting, has)
        if answers is None:
            # a row that breaks a rule may hold anything: it makes no combination of its own
            kept = [nw.when(nw.col(_BROKEN) == 0).then(nw.col(name)).alias(name) for name in by]
            rows = rows.select(*kept, *has, _BROKEN)
            wanted = [nw.len().alias(_EACH), *[nw.col(name).sum() for name in (*has, _BROKEN)]]
            asked = rows.group_by(*by).agg(*wanted) if by else rows.select(*wanted)
            answers = collected(asked).select(*by, _EACH, *has, _BROKEN).rows()
    found: dict[tuple[Any, ...], tuple[int, ...]] = {}
    illegal = total = 0
    for row in answers:
        key = tuple(None if value is None or value != value else value for value in row[: len(by)])
        sizes = [int(number or 0) for number in row[len(by) :]]
        illegal, total = illegal + sizes[-1], total + sizes[0]
        before = found.get(key, (0,) * (len(sizes) - 1))
        found[key] = tuple(a + b for a, b in zip(before, sizes[:-1], strict=True))
    if not total:
        found = {}
    return Counted(total, not illegal, tuple(counting.keys), counting.present, found)


_FEW_LEVELS = 4
"""Up to so many levels Polars counts faster one by one than in groups."""


def _by_level(
    schema: Schema, rows: Lazy, counting: Counting, has: Sequence[str]
) -> list[tuple[Any, ...]] | None:
    """Answer of the pass that groups rows by one column of few levels, without grouping.

    None elsewhere, and where a row has no level or breaks a rule: groups tell which.
    """
    name = next(iter(counting.keys), "")
    if not rows.implementation.is_polars() or len(counting.keys) != 1 or name not in schema.names:
        return None
    levels, kind = schema.column(name).levels or (), schema_of(rows)["__key0"]
    if not 0 < len(levels) <= _FEW_LEVELS or not (kind.is_integer() or kind == nw.Float64):
        return None
    exact = int if kind.is_integer() else float
    here = [nw.when(nw.col("__key0") == v).then(nw.lit(1)).otherwise(nw.lit(0)) for v in levels]
    sums = {f"{k}_{j}": one * nw.col(flag) if flag else one
            for k, one in enumerate(here) for j, flag in enumerate(("", *has))}  # fmt: skip
    wanted = [nw.len().alias(_EACH), nw.col(_BROKEN).sum()]
    wanted += [e.sum().alias(part) for part, e in sums.items()]
    ((rows_in_all, broken, *found),) = collected(rows.select(*wanted)).rows()
    each = 1 + len(has)
    sizes = [found[k * each : (k + 1) * each] for k in range(len(levels))]
    if broken or sum(size[0] for size in sizes) != rows_in_all:
        return None
    return [(exact(v), *size, 0) for v, size in zip(levels, sizes, strict=True) if size[0]]


def broken_rules(column: Column, frame: Frame | NumPyTable) -> list[str]:
    """Return the rules of ``column`` that its data in memory break, in words."""
    if column.is_text:
        rules = text_rules(column, text_of(frame, column.name), Arrays)
        return [words for words, breaks in rules if breaks.any()]
    values, codes = numbers_of(frame, column.name)
    found = [words for words, breaks in missing_rules(column, codes, Arrays) if breaks.any()]
    # what was read from a file are doubles
    if not isinstance(frame, NumPyTable) and not is_short(column):
        found += [BEYOND] if whole_beyond(frame[column.name]) else []
    with np.errstate(all="ignore"):
        rules = number_rules(column, values[codes < 0], Arrays)
        return found + [words for words, breaks in rules if breaks.any()]


# What is asked of the table, in memory or in an engine.


def _broken(schema: Schema, names: Sequence[str], frame: Table | NumPyTable) -> list[str]:
    """Every broken rule, with the names of its columns."""
    groups = exclusive_groups(map(schema.column, names))
    if not isinstance(frame, NumPyTable) and isinstance(frame, nw.LazyFrame):
        found, between = _broken_in_engine(list(map(schema.column, names)), groups, frame)
        units = _ids_in_engine(schema, frame)
    else:
        found = {name: broken_rules(schema.column(name), frame) for name in names}
        ones = {name: numbers_of(frame, name)[0] == 1 for group in groups for name in group}
        rules = exclusive_rules(groups, ones, Arrays)
        between = [words for words, breaks in rules if breaks.any()]
        units = _ids_in_memory(schema, frame)
    return [
        *(f"{name}: {rule}" for name, rules in found.items() for rule in rules),
        *between,
        *(f"{schema.unit.id}: {rule}" for rule in units),
    ]


def _check_columns(schema: Schema, frame: Table | NumPyTable) -> None:
    names, there = schema.names, names_of(frame)
    for name in names:
        if name not in there:
            raise ColumnError.unknown(name, there, "the data")
    known = {*names, *(name + COMPANION for name in names)}
    extra = [str(name) for name in there if name not in known]
    if extra:
        raise ColumnError.unknown(extra[0], names)


def _check_companions(schema: Schema, names: Iterable[str]) -> None:
    known = set(schema.names)
    for name in names:
        if name + COMPANION in known:
            raise SchemaError(
                f"column {name + COMPANION!r} has the name under which the missing codes of "
                f"{name!r} are stored; if it holds them, leave it out of the schema "
                "(Schema.select), else rename it"
            )


def _ids_in_memory(schema: Schema, frame: Frame | NumPyTable) -> list[str]:
    unit = schema.unit
    if unit.id is None:
        return []
    if schema.column(unit.id).is_text:
        gone = text_of(frame, unit.id) == ""
    else:
        gone = numbers_of(frame, unit.id)[1] >= 0
    missing, counts = bool(gone.any()), np.bincount(owners(frame, unit.id)[~gone], minlength=1)
    crowded = bool((counts > unit.max_rows).any())
    return list(unit_rules(unit, missing=missing, crowded=crowded))


def _ids_in_engine(schema: Schema, frame: Lazy) -> list[str]:
    """Faults of the ids, in words."""
    unit = schema.unit
    if unit.id is None:
        return []
    missing = _counts(frame, [_id_of(schema)[1]])[0] > 0
    return list(unit_rules(unit, missing=missing, crowded=_crowded_in_engine(schema, frame)))


def _id_of(schema: Schema) -> tuple[nw.Expr, nw.Expr]:
    """Return the id of a row, and whether it is missing."""
    assert schema.unit.id is not None
    column = schema.column(schema.unit.id)
    if column.is_text:
        text = nw.col(column.name).cast(nw.String)
        return text, text.is_null() | (text == "")
    number = nw.col(column.name).cast(nw.Float64)
    return number, number.is_null() | number.is_nan()


def _crowded_in_engine(schema: Schema, frame: Lazy) -> bool:
    """Whether an id has more rows than a unit may have; a pass that groups the rows by id."""
    if schema.unit.id is None:
        return False
    key, gone = _id_of(schema)
    with asking(frame, "rows of an id"):
        rows = frame.select(key.alias("__id"), gone.alias("__gone"))
        sizes = rows.filter(~nw.col("__gone")).group_by("__id").agg(nw.len().alias("__rows"))
    return _counts(sizes, [nw.col("__rows") > schema.unit.max_rows])[0] > 0


def _broken_in_engine(
    columns: Sequence[Column], groups: Iterable[Sequence[str]], frame: Lazy
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the rules that the data break: of each column, and between columns, in words."""
    dtypes = schema_of(frame)
    rules = [(column.name, rule) for column in columns for rule in _rules(column, dtypes, frame)]
    ones = {column.name: nw.col(column.name).cast(nw.Float64) == 1 for column in columns}
    rules += [("", rule) for rule in exclusive_rules(groups, ones, Expressions)]
    counts = _counts(frame, [broken for _, (_, broken) in rules])
    found: dict[str, list[str]] = {column.name: [] for column in columns}
    between: list[str] = []
    for (name, (words, _)), count in zip(rules, counts, strict=True):
        if count and words == _NOT_CODES:
            raise _no_codes(name + COMPANION)
        if count:
            (found[name] if name else between).append(words)
    return found, between


def _legal(column: Column, dtypes: Mapping[str, nw.dtypes.DType], frame: Lazy) -> Iterator[nw.Expr]:
    """Yield what holds where a column that stays in an engine breaks none of its :func:`_rules`."""
    name = column.name
    if column.is_text:
        yield from (~broken for _, broken in _rules(column, dtypes, frame))
        return
    _check_type(column, dtypes, frame)
    codes = None
    if name + COMPANION in dtypes:
        codes = missing_code(frame, name)
        yield ~_companion_rule(name, dtypes[name + COMPANION])[1]
    exact = is_exact(dtypes[name]) and not is_short(column)
    yield legal_number(column, nw.col(name).cast(nw.Float64), codes, exact=exact)


def _check_type(column: Column, dtypes: Mapping[str, nw.dtypes.DType], frame: Lazy) -> None:
    """Refuse a type that the schema denies, and a name that an engine cannot tell."""
    name = column.name
    if name not in dtypes:
        raise ColumnError.unknown(name, list(dtypes), "the data")
    if frame.implementation.is_pyspark() and set(name) & set(".`"):
        raise SchemaError(
            f"column {name!r}: Spark takes a dot or a backtick for the syntax of a nested column; "
            "rename it there and in the schema"
        )
    dtype = dtypes[name]
    if column.is_text and not isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        raise SchemaError(f"column {name!r} holds {dtype}, the schema says text; give text")
    if not column.is_text and not (dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
        raise SchemaError(
            f"column {name!r} holds {dtype}, the schema says numbers; give codes and numbers (a "
            "time as a number of units since a day that the schema names)"
        )


def _rules(column: Column, dtypes: Mapping[str, nw.dtypes.DType], frame: Lazy) -> Iterator[Rule]:
    """Yield the rules of a column that stays in an engine; refuse a type that the schema denies."""
    _check_type(column, dtypes, frame)
    name = column.name
    if column.is_text:
        yield from text_rules(column, nw.col(name).cast(nw.String).fill_null(""), Expressions)
        return
    if name + COMPANION in dtypes:
        yield _companion_rule(name, dtypes[name + COMPANION])
    yield from missing_rules(column, missing_code(frame, name), Expressions)
    x = nw.col(name).cast(nw.Float64)
    if is_exact(dtypes[name]) and not is_short(column):
        yield BEYOND, x.abs() >= WHOLE
    yield from number_rules(column, x, Expressions)


def _companion_rule(name: str, dtype: nw.dtypes.DType) -> Rule:
    if not dtype.is_numeric():
        raise _no_codes(name + COMPANION)
    codes = nw.col(name + COMPANION).fill_null(0).cast(nw.Float64)
    return _NOT_CODES, ~codes.is_in([float(code) for code in range(-1, len(MISSING_CODES))])


def _no_codes(name: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} must hold missing codes, whole numbers from -1 (not missing) "
        f"to {len(MISSING_CODES) - 1} (.z); give these, or rename it"
    )


def _counts(frame: Lazy, rules: Sequence[nw.Expr]) -> list[int]:
    """How many rows break each rule, in one pass."""
    if not rules:
        return []
    names = [f"__r{k}" for k in range(len(rules))]
    # null counts as legal: what is missing is named by its own rule
    flags = [
        nw.when(rule).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64).alias(name)
        for rule, name in zip(rules, names, strict=True)
    ]
    with asking(frame, "rows that break a rule"):
        counted = frame.select(*flags).select(*[nw.col(name).sum() for name in names])
    return [int(number or 0) for number in collected(counted).select(*names).row(0)]
