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

_FEW_LEVELS = 16
"""Up to so many levels are compared one by one, which is cheaper than looking them up in a list."""

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


def legal_number(column: Column, x: nw.Expr, codes: nw.Expr | None, *, exact: bool) -> nw.Expr:
    """Return whether a number breaks no rule of a column that stays in an engine; else null or not.

    Parameters
    ----------
    column : Column
    x : expression of doubles
    codes : expression or None
        Number of the missing code of each row, where the table has such; else null and NaN are ".".
    exact : bool
        Whether the numbers were of a type of which doubles do not hold all.

    Notes
    -----
    The same as that no rule of :func:`number_rules`, of :func:`missing_rules` and, of ``exact``
    numbers, :data:`BEYOND` is broken, which ``tests/contract`` holds against each other.  It costs
    an engine a fraction of these: the narrowest limits stand for all, and a level is looked at
    here, once.
    """
    absent = ~Expressions.known(x)
    held = _legal_value(column, x, exact=exact)
    if codes is not None:
        wrong = [broken for _, broken in missing_rules(column, codes, Expressions)]
        return held | (absent & ~wrong[0] if wrong else absent)
    may_lack = column.missing is None or MISSING_CODES[0] in column.missing
    return held | absent if may_lack else held


def _legal_value(column: Column, x: nw.Expr, *, exact: bool) -> nw.Expr:
    """Return whether there is a number, and a legal one."""
    if column.levels is not None:
        return _one_of(_legal_levels(column, exact=exact), x)
    low, high = number_limits(column.type)
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        low, high = max(low, least), min(high, most)
    within = _within(x, low, high)
    safe = Expressions.either(within, x, 0.0)
    if column.type == "float":
        within = within & (Expressions.single(safe) == safe)
    if column.is_integer:
        # Spark's floor ends in int64; beyond 2^53 every double is whole
        few = safe if max(-low, high) < WHOLE else Expressions.either(x.abs() < WHOLE, safe, 0.0)
        within = within & (Expressions.floor(few) == few)
    if column.decimals:
        within = within & _has_decimals(column, safe, Expressions)
    if exact and max(-low, high) >= WHOLE:
        within = within & (x.abs() < WHOLE)
    return within


def _legal_levels(column: Column, *, exact: bool) -> list[float]:
    """Return the levels that break no other rule, in order."""
    values = stored(column, np.array(column.levels, np.float64))
    wrong = exact & (np.abs(values) >= WHOLE)
    with np.errstate(all="ignore"):
        for _, breaks in number_rules(column, values, Arrays):
            wrong = wrong | breaks
    return sorted(set(values[~wrong].tolist()))


def _one_of(levels: list[float], x: nw.Expr) -> nw.Expr:
    """Return whether a number is one of these, as engines find out at the least cost."""
    first = levels[0] if levels else 0.5
    if first % 1 == 0 and abs(first) < WHOLE and levels == [first + k for k in range(len(levels))]:
        within = _within(x, first, levels[-1])
        safe = Expressions.either(within, x, 0.0)
        return within & (Expressions.floor(safe) == safe)
    if len(levels) > _FEW_LEVELS:
        return x.is_in(levels)
    found = nw.lit(False)
    for level in levels:
        found = nw.when(x == level).then(nw.lit(True)).otherwise(found)
    return found


def _within(x: nw.Expr, low: float, high: float) -> nw.Expr:
    """Return whether a number is between two; no engine takes a NaN for at most a number."""
    return (x >= low) & (x <= high)


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


def exclusive_groups(columns: Iterable[Column]) -> list[list[str]]:
    """Return the names of the columns of each exclusive group."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        if column.exclusive is not None and not column.is_text:
            groups.setdefault(column.exclusive, []).append(column.name)
    return list(groups.values())


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
