"""Columns to public codes and back.

What a code means is a function of the schema alone.  Encoding is total: whatever a row holds gets
a code (numbers are clipped, the rest goes to the nearest level), so that nothing a strict method
does after the door depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dprct.errors import SchemaError
from dprct.missing import MISSING_CODES, tagged
from dprct.schema.facts import Column
from dprct.schema.legal import stored
from dprct.schema.schema import Schema
from dprct.schema.table import COMPANION, Frame, has_payloads, numbers_of

MOST_LEVELS = 1 << 16
"""More levels of one column than this are refused; declare bins."""


@dataclass(frozen=True)
class Encoding:
    """The public codes 0, ..., size - 1 of one column.

    Parameters
    ----------
    column : Column
    cells : tuple of tuple
        For every regular code its legal values: one number or text of a level, or ``(low, high)``
        of a bin.
    edges : tuple of float
        A number has the code ``sum(x > edge)`` (a run of whole levels is counted off at once);
        empty for text.
    step : Fraction or None
        Grid of the legal numbers within a bin (one for whole numbers), None where continuous.

    Notes
    -----
    After the regular codes comes one code for every declared missing code.
    """

    column: Column
    cells: tuple[tuple[Any, ...], ...]
    edges: tuple[float, ...] = ()
    step: Fraction | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing codes that are levels."""
        return self.column.missing or ()

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.cells) + len(self.missing)

    def describe(self) -> str:
        """Return what the codes are, for a plan."""
        kind = "bins" if len(self.cells[0]) == 2 else "levels"
        missing = f" + {len(self.missing)} missing" if self.missing else ""
        return f"{self.name}: {len(self.cells)} {kind}{missing}"

    def expression(self) -> nw.Expr:
        """Return the code (int64) as an expression of a frame that :func:`prepared` returned."""
        code = self._text_code() if self.column.is_text else self._number_code()
        for k, missing in enumerate(self.missing):
            is_it = nw.col(self.name + COMPANION) == MISSING_CODES.index(missing)
            code = nw.when(is_it).then(nw.lit(len(self.cells) + k)).otherwise(code)
        return code.cast(nw.Int64).alias(self.name)

    def decode(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return legal values (n,) for codes (n,): uniform over the legal values of a bin."""
        regular = np.minimum(codes, len(self.cells) - 1)
        if self.column.is_text:
            texts = np.array([cell[0] for cell in self.cells], dtype=object)
            return texts[regular]
        if len(self.cells[0]) == 1:
            values = np.array([cell[0] for cell in self.cells], dtype=np.float64)[regular]
        else:
            values = self._within_bins(regular, rng)
        values = stored(self.column, values)
        beyond = codes >= len(self.cells)
        if beyond.any():
            numbers = np.array([MISSING_CODES.index(code) for code in self.missing])
            values[beyond] = tagged(numbers[codes[beyond] - len(self.cells)])
        return values

    def _number_code(self) -> nw.Expr:
        x = nw.col(self.name).cast(nw.Float64)
        low, high = self.cells[0][0], self.cells[-1][-1]
        if self.edges and high - low == len(self.edges) and len(self.cells[0]) == 1:
            known = nw.when((x >= low) & ~x.is_nan()).then(x).otherwise(nw.lit(low))
            return (known.clip(low, high) - low + 0.5).floor()
        code = nw.lit(0).cast(nw.Int64)
        for edge in self.edges:
            code = code + (x > edge).cast(nw.Int64)
        return code

    def _text_code(self) -> nw.Expr:
        code = nw.lit(0).cast(nw.Int64)
        for k, (text,) in enumerate(self.cells[1:], 1):
            code = nw.when(nw.col(self.name) == text).then(nw.lit(k)).otherwise(code)
        return code

    def _within_bins(
        self, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        low, high = (np.array([cell[i] for cell in self.cells])[codes] for i in (0, 1))
        if self.step is None:
            return np.asarray(high - (high - low) * rng.random(len(codes)), dtype=np.float64)
        per_unit = float(1 / self.step)
        first, last = np.rint(low * per_unit), np.rint(high * per_unit)
        return np.asarray(rng.integers(first.astype(np.int64), last.astype(np.int64) + 1), float) / (
            per_unit
        )


def encodings(
    schema: Schema, names: Iterable[str], default_bins: int | None = None
) -> tuple[Encoding, ...]:
    """Return the encodings of columns, from the schema alone.

    Parameters
    ----------
    schema : Schema
    names : iterable of str
    default_bins : int, optional
        Number of equal bins of a column that declares none (ALGORITHMS.md, section 1: eta).

    Raises
    ------
    SchemaError
        If a column lacks bounds or levels, or its missing policy is not declared.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> schema = Schema((Column("age", "byte", bounds=(15, 80), bins=5, missing=(".",)),))
    >>> encodings(schema, ["age"])[0].describe()
    'age: 5 bins + 1 missing'
    """
    return tuple(encoding(schema.column(name), default_bins) for name in names)


def encoding(column: Column, default_bins: int | None = None) -> Encoding:
    """Return the encoding of one column; see :func:`encodings`."""
    if column.missing is None and not column.is_text:
        raise SchemaError(
            f"column {column.name!r} has no declared missing policy; declare missing='never', or "
            "missing=['.'] to make missing a level"
        )
    _check_own(column)
    if column.levels is not None:
        return _of_levels(column, column.levels)
    if column.is_text or column.bounds is None:
        raise SchemaError(
            f"column {column.name!r} has neither bounds nor levels; declare "
            + ("its levels" if column.is_text else "bounds=(low, high) or levels=[...]")
            + " from public knowledge, never from the data"
        )
    return _of_bounds(column, column.bounds, default_bins)


def _check_own(column: Column) -> None:
    if column.built_from == "cohort" and not column.constants_public:
        raise SchemaError(
            f"column {column.name!r} is built from other people's values (cohort), so one person "
            "can move every row; rebuild it from public constants, or declare constants_public"
        )
    if column.built_from is None and column.looks_constructed:
        raise SchemaError(
            f"column {column.name!r} is named or labelled like a standardised, winsorised or "
            "imputed one; declare built_from='own' (its own record and public constants only) "
            "or 'cohort'"
        )


def prepared(frame: Frame, columns: Iterable[Column]) -> Frame:
    """Return a frame in which every numeric column has its missing codes beside it (-1 for none).

    NaN payloads are read here, with a NumPy view; engines bring the companion column themselves.
    """
    extra = []
    for column in columns:
        name = column.name + COMPANION
        if column.is_text:
            continue
        if has_payloads(frame) and name not in frame.columns:
            _, codes = numbers_of(frame, column.name)
            extra.append(nw.new_series(name, codes, nw.Int8, backend=frame.implementation))
        else:
            extra.append(_companion(frame, column.name))
    return frame.with_columns(*extra) if extra else frame


def _companion(frame: Frame, name: str) -> nw.Expr:
    value = nw.col(name).cast(nw.Float64)
    absent = value.is_null() | value.is_nan()
    known = nw.col(name + COMPANION).cast(nw.Int8) if name + COMPANION in frame.columns else nw.lit(0)
    return nw.when(absent).then(known).otherwise(nw.lit(-1)).alias(name + COMPANION)


def _of_levels(column: Column, levels: tuple[Any, ...]) -> Encoding:
    _check_size(column, len(levels))
    cells = tuple((level,) for level in levels)
    if column.is_text:
        return Encoding(column, cells)
    return Encoding(column, cells, _midpoints(levels))


def _midpoints(levels: tuple[float, ...]) -> tuple[float, ...]:
    return tuple((a + b) / 2 for a, b in zip(levels, levels[1:], strict=False))


def _of_bounds(
    column: Column, bounds: tuple[float, float], default_bins: int | None
) -> Encoding:
    step = _step(column)
    points = None if step is None else _points(bounds, step)
    bins = column.bins
    if bins is None and (points is None or len(points) > (default_bins or MOST_LEVELS)):
        bins = default_bins
    if bins is None:
        if step is None or points is None:
            raise SchemaError(
                f"column {column.name!r} is continuous; declare bins (a number of equal bins "
                "within its bounds, or a list of inner edges)"
            )
        return _of_levels(column, tuple(float(k * step) for k in points))
    return _of_bins(column, _edges(bounds, bins), step)


def _edges(bounds: tuple[float, float], bins: int | tuple[float, ...]) -> list[Fraction]:
    low, high = (Fraction(repr(bound)) for bound in bounds)
    if isinstance(bins, tuple):
        return [low, *(Fraction(repr(edge)) for edge in bins), high]
    return [low + (high - low) * k / bins for k in range(bins + 1)]


def _of_bins(column: Column, edges: list[Fraction], step: Fraction | None) -> Encoding:
    """Bins are (a_{k-1}, a_k], the first closed (dp_rct.txt, Algorithm 1)."""
    _check_size(column, len(edges) - 1)
    if step is None:
        floats = [float(edge) for edge in edges]
        return Encoding(
            column, tuple(zip(floats, floats[1:], strict=False)), tuple(floats[1:-1])
        )
    lasts = [math.floor(edge / step) for edge in edges[1:]]
    firsts = [math.ceil(edges[0] / step), *(last + 1 for last in lasts[:-1])]
    if any(a > b for a, b in zip(firsts, lasts, strict=True)):
        raise SchemaError(
            f"column {column.name!r}: a bin holds no legal value; declare fewer or wider bins"
        )
    cells = tuple(
        (float(a * step), float(b * step)) for a, b in zip(firsts, lasts, strict=True)
    )
    between = tuple(float((last + Fraction(1, 2)) * step) for last in lasts[:-1])
    return Encoding(column, cells, between, step)


def _step(column: Column) -> Fraction | None:
    if column.is_integer:
        return Fraction(1)
    return None if column.decimals is None else Fraction(1, 10**column.decimals)


def _points(bounds: tuple[float, float], step: Fraction) -> range:
    low, high = (Fraction(repr(bound)) for bound in bounds)
    return range(math.ceil(low / step), math.floor(high / step) + 1)


def _check_size(column: Column, size: int) -> None:
    if size > MOST_LEVELS:
        raise SchemaError(
            f"column {column.name!r} has more than {MOST_LEVELS} levels; declare bins"
        )
