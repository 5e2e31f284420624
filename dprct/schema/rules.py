"""The rules of a column, each once: for arrays in memory and for expressions of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.missing import MISSING_CODES
from dprct.schema.columns import Column, Unit, number_limits, stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

Rule = tuple[str, Any]
"""What is wrong, in words, and where."""

WHOLE = 2.0**53
"""From here on a double does not tell a whole number from the next."""

BEYOND = (
    "a whole number of 2^53 or more, which a double does not tell from the next (give doubles, or "
    "an id as text)"
)
"""Of a column of exact numbers: those are read as doubles."""


class Arrays:
    """What rules are made of, in NumPy."""

    @staticmethod
    def known(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether there is a value."""
        return _one_if_all(~np.isnan(x))

    @staticmethod
    def finite(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value is finite."""
        return _one_if_all(np.isfinite(x))

    @staticmethod
    def small(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return np.asarray(np.abs(x) < WHOLE)

    @staticmethod
    def floor(x: NDArray[Any]) -> NDArray[Any]:
        """Round down to a whole number."""
        return np.asarray(np.floor(x))

    @staticmethod
    def single(x: NDArray[Any]) -> NDArray[Any]:
        """Round to 24 bits, as storage type float does."""
        return x.astype(np.float32).astype(np.float64)

    @staticmethod
    def either(where: NDArray[np.bool_], x: NDArray[Any], other: Any) -> NDArray[Any]:
        """Return ``x`` where it holds, else the other."""
        return x if where.all() else np.where(where, x, other)

    @staticmethod
    def among(x: NDArray[Any], values: Sequence[Any]) -> NDArray[np.bool_]:
        """Whether a value is one of these; objects are compared as they are."""
        if x.dtype != np.object_:
            return np.isin(x, values)
        known = set(values)
        return np.array([value in known for value in x], np.bool_)

    @staticmethod
    def several(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Whether more than one of the masks holds."""
        return np.asarray(np.sum(masks, axis=0) > 1)


def _one_if_all(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return one True in the place of a mask that holds everywhere, which saves passes over it."""
    return np.asarray(True) if mask.all() else mask


class Expressions:
    """What rules are made of, in an engine."""

    @staticmethod
    def known(x: nw.Expr) -> nw.Expr:
        """Whether there is a value."""
        return ~(x.is_null() | x.is_nan())

    @staticmethod
    def finite(x: nw.Expr) -> nw.Expr:
        """Whether a value is finite."""
        return Expressions.known(x) & x.is_finite()

    @staticmethod
    def small(x: nw.Expr) -> nw.Expr:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return x.abs() < WHOLE

    @staticmethod
    def floor(x: nw.Expr) -> nw.Expr:
        """Round down to a whole number."""
        return x.floor().cast(nw.Float64)

    @staticmethod
    def single(x: nw.Expr) -> nw.Expr:
        """Round to 24 bits, as storage type float does."""
        return x.cast(nw.Float32).cast(nw.Float64)

    @staticmethod
    def either(where: nw.Expr, x: nw.Expr, other: Any) -> nw.Expr:
        """Return ``x`` where it holds, else the other."""
        return (
            nw.when(where).then(x).otherwise(other if isinstance(other, nw.Expr) else nw.lit(other))
        )

    @staticmethod
    def among(x: nw.Expr, values: Sequence[Any]) -> nw.Expr:
        """Whether a value is one of these."""
        return x.is_in(list(values))

    @staticmethod
    def several(masks: Sequence[nw.Expr]) -> nw.Expr:
        """Whether more than one of the masks holds."""
        ones = [nw.when(mask).then(nw.lit(1)).otherwise(nw.lit(0)) for mask in masks]
        return nw.sum_horizontal(*ones) > 1


Spelling = type[Any]
"""Arrays or Expressions."""


def missing_rules(column: Column, codes: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the missing codes of a column may not be, and where they are; -1 is not a code."""
    if column.missing is not None:
        legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
        allowed = ", ".join(column.missing) or "none"
        words = f"a missing code that is not declared (declared: {allowed})"
        yield words, ~on.among(codes, legal)


def number_rules(column: Column, x: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the numbers of a column may not be, and where they are."""
    finite = on.finite(x)
    yield "an infinite value", on.known(x) & ~finite
    low, high = number_limits(column.type)
    beyond = (x < low) | (x > high)
    yield f"a value that type {column.type} cannot hold", finite & beyond
    held = finite & ~beyond
    # what no rounding is to see, because an engine might refuse to round it, is 0 here
    safe = on.either(held, x, 0.0)
    if column.type == "float":
        yield "a value that type float cannot hold exactly", held & (on.single(safe) != safe)
    if column.is_integer:
        yield "a value that is not whole", held & on.small(x) & (on.floor(safe) != safe)
    if column.decimals:
        words = f"a value with more than {column.decimals} decimals"
        yield words, finite & ~(held & _has_decimals(column, safe, on))
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        yield "a value outside the bounds", finite & ((x < least) | (x > most))
    if column.levels is not None:
        levels = stored(column, np.array(column.levels)).tolist()
        yield "a value outside the declared levels", finite & ~on.among(x, levels)


def _has_decimals(column: Column, x: Any, on: Spelling) -> Any:
    power = 10.0 ** (column.decimals or 0)
    scaled = x * power
    whole = on.either(on.small(scaled), on.floor(scaled + 0.5), scaled)
    back = whole / (whole * 0.0 + power)  # by a column: Polars rounds twice by a number
    return (on.single(back) if column.type == "float" else back) == x


def text_rules(column: Column, text: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the texts of a column may not be, and where they are."""
    if column.levels is not None:
        yield "a text outside the declared levels", ~on.among(text, column.levels)


def exclusive_rules(
    groups: Iterable[Sequence[str]], ones: Mapping[str, Any], on: Spelling
) -> Iterator[Rule]:
    """Yield the exclusive groups, and where a row has several; ``ones``: where a column is 1."""
    for members in groups:
        words = f"{', '.join(members)}: a row with several of what is declared exclusive"
        yield words, on.several([ones[name] for name in members])


def unit_rules(unit: Unit, *, missing: bool, crowded: bool) -> Iterator[str]:
    """Yield what is wrong with the ids: one is missing, or has more rows than were declared."""
    if missing:
        yield "an id that is missing"
    if crowded and unit.max_rows == 1:
        yield f"a {unit.name} with several rows; declare max_rows to protect all of them"
    elif crowded:
        yield f"a {unit.name} with more rows than ``max_rows={unit.max_rows}``"


def is_short(column: Column) -> bool:
    """Whether the type of a column holds no whole number that a double would round."""
    return number_limits(column.type)[1] < WHOLE
