"""Counts of coded columns."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import Coded, Encoding, EqualBins, EqualBinsOfPoints, Rule, prepared_for
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES
from dprct.privacy.aggregates import CellCounts, IntegerVector
from dprct.queries.sums import EXACT, MOST_GROUPS
from dprct.records import dataclass
from dprct.schema.tables import COMPANION, asking, check_rows, collected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.schema.tables import Frame, Table

    Numbers = NDArray[np.float64]

    Integers = NDArray[np.int64]

    Expressions = dict[str, nw.Expr]


# What rows are grouped by so that only the groups, not the rows, need the codes of their bins.
#
# A key is a non-decreasing function K of a number whose values tell apart what equal bins do: for
# every inner edge a_k, K at the smallest number above a_k exceeds K(a_k).  Then x > a_k if and only
# if K(x) > K(a_k), so that the code of x is the number of inner edges whose key is below K(x)::
#
#     x > a_k   =>  x is at least that smallest number, whose key is above K(a_k), and so is K(x)
#     x <= a_k  =>  K(x) <= K(a_k)
#
# The condition is verified edge by edge, in the arithmetic of the engines, when a key is made;
# edges are public, so is the key.  What passes the verification is exact; nothing else is used.

_MOST_TERMS = 3
"""A fourth term costs as much per row as comparing with an edge."""

_MANY_EDGES = 1 << 10
"""More edges than these are tried with one term only, to keep the search short."""

_TOO_LOW = 2**-30
"""By how much of itself a guess is made too small: more than most edges are rounded by."""

_STEPS_AWAY = 6
"""How many doubles around a factor are tried."""


@dataclass(frozen=True)
class Ceilings:
    """The sum of ceil((x - origin) factor) over terms with factor > 0.

    Non-decreasing, because every IEEE 754 operation in it is.
    """

    terms: tuple[tuple[float, float], ...]

    def of(self, x: Any) -> Any:
        """Return the key, in the same operations for an array as for an expression."""
        first, *others = [
            _ceiling((x - origin if origin else x) * factor) for origin, factor in self.terms
        ]
        return sum(others, start=first)


@dataclass(frozen=True)
class Compared:
    """A guess of the bin (one being the first) that is right or one too low, and a comparison.

    Where g = ceil((x - low) factor) is at most k at a_k and at least k just above it, a number in
    (a_{k-1}, a_k] has g = k - 1 or k: and x > a_g exactly if g = k - 1.  So K is k.
    """

    bins: EqualBins
    factor: float

    def guess(self, x: Any) -> Any:
        """Return g."""
        return _ceiling((x - self.bins.low) * self.factor)

    def of(self, x: Any) -> Any:
        """Return the key, in the same operations for an array as for an expression."""
        guess = self.guess(x)
        above = x > self.bins.edge(guess)
        if isinstance(above, nw.Expr):  # at infinity the edge is NaN, which pandas may make null
            return guess + above.fill_null(False).cast(nw.Float64)
        return guess + above


@dataclass(frozen=True, eq=False)
class BinKey:
    """A key and its values at the inner edges.

    Examples
    --------
    >>> key = bin_key(EqualBins(0.0, 1.0, 5))
    >>> key.codes(key.key.of(np.array([0.0, 0.2, 0.21, 7.0, np.nan]))).tolist()
    [0, 0, 1, 4, 0]
    """

    key: Ceilings | Compared
    at_edges: Numbers  # array of shape (bins - 1,): not decreasing

    def of(self, x: nw.Expr) -> nw.Expr:
        """Return the key (float, whole) of a number; null or NaN where there is none."""
        found: nw.Expr = self.key.of(x)
        return found

    def codes(self, keys: Numbers) -> NDArray[np.int64]:
        """Return the codes (m,) of keys (m,); zero, as at the lower bound, where there is none."""
        known = np.where(np.isnan(keys), -np.inf, keys)
        return np.searchsorted(self.at_edges, known, side="left").astype(np.int64)


@lru_cache(maxsize=256)
def bin_key(rule: Rule | None) -> BinKey | None:
    """A key for the bins of a rule, or None where no cheap one is exact.

    It is exact for equal bins of a continuous column; of evenly spaced points for the points, and
    for any other number the code is that of a point next to it.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # beyond all bounds lies infinity
        if isinstance(rule, EqualBins):
            return _of_bins(rule)
        if isinstance(rule, EqualBinsOfPoints):
            return _of_points(rule)
    return None


def _of_bins(rule: EqualBins) -> BinKey | None:
    edges = np.asarray(rule.edge(np.arange(1.0, rule.bins)), np.float64)
    above = np.nextafter(edges, np.inf)  # the smallest numbers of the next bins
    key: Ceilings | Compared | None = _ceilings(rule, edges, above)
    key = key or _compared(rule, edges, above)
    return None if key is None else BinKey(key, key.of(edges))


def _compared(rule: EqualBins, edges: Numbers, above: Numbers) -> Compared | None:
    """Return a guess that errs on the lower side alone, if one does."""
    # the factor is made a little too small, so that rounding never lifts a guess above the bin
    found = Compared(rule, rule.bins / (rule.high - rule.low) * (1 - _TOO_LOW))
    k = np.arange(1, rule.bins)
    right = (found.guess(edges) <= k) & (found.guess(above) >= k)
    return found if right.all() else None


def _of_points(rule: EqualBinsOfPoints) -> BinKey | None:
    """Cut half an integer above slope i + start = k width, where no point is."""
    points = rule.points
    factor = rule.slope / rule.width * points.per_unit
    origin = points.low - (rule.start - 0.5) / rule.slope / points.per_unit
    if not (np.isfinite(origin) and 0 < factor < np.inf):
        return None
    # the last point of every bin but the last: slope i + start <= k width
    last = np.array([(k * rule.width - rule.start) // rule.slope for k in range(1, rule.bins)])
    below, above = (points.low + i / points.per_unit for i in (last, last + 1))
    key = Ceilings(((origin, factor),))
    at_edges = key.of(below)
    return BinKey(key, at_edges) if (at_edges < key.of(above)).all() else None


def _ceilings(rule: EqualBins, edges: Numbers, above: Numbers) -> Ceilings | None:
    """Return the fewest terms of which each edge has one that rises right above it."""
    # a sum of ceilings does not fall; it rises at an edge if one of its terms does
    terms, rises = [], []
    for term in _candidates(rule, edges):
        alone = Ceilings((term,))
        rise = alone.of(edges) < alone.of(above)
        if rise.all():
            return alone
        terms.append(term)
        rises.append(rise)
    if len(edges) > _MANY_EDGES:
        return None
    found = _cover(np.array(rises))
    return None if found is None else Ceilings(tuple(terms[i] for i in found))


def _cover(rises: NDArray[np.bool_]) -> list[int] | None:
    """Return the fewest rows that are true somewhere in each column: greedily from every start."""
    best: list[int] | None = None
    for start in range(len(rises)):
        chosen, left = [start], ~rises[start]
        while left.any() and len(chosen) < _MOST_TERMS:
            # the term that rises at most of the edges that are left
            chosen.append(int((rises & left).sum(axis=1).argmax()))
            left = left & ~rises[chosen[-1]]
        if not left.any() and (best is None or len(chosen) < len(best)):
            best = chosen
    return best


def _candidates(rule: EqualBins, edges: Numbers) -> Iterator[tuple[float, float]]:
    """Return terms that nearly cut at the edges: bounds, the edges next to zero, and zero itself.

    From the bounds of one sign, and on either side of zero from there, a difference keeps
    neighbouring doubles apart.
    """
    all_edges = np.array([rule.low, *edges, rule.high])
    middle = int(np.searchsorted(all_edges, 0.0))
    near_zero = all_edges[max(middle - 1, 0) : middle + 1]
    exact = list(dict.fromkeys([rule.low, 0.0, *near_zero.tolist(), rule.high]))
    unit = float(np.spacing(np.abs(all_edges[[0, -1]]).max()))
    # origins next to these, too: where the edge itself was rounded, one of them may fit
    origins = [*exact, *(c + d for c in exact for d in (-unit, unit))]
    factors = _around(rule.bins / (rule.high - rule.low))
    for origin in origins:
        for factor in factors:
            if np.isfinite(origin) and 0 < factor < np.inf:
                yield origin, factor


def _around(number: float) -> list[float]:
    """Return the doubles next to a number, the nearest first."""
    found, up, down = [number], number, number
    for _ in range(_STEPS_AWAY):
        up, down = float(np.nextafter(up, np.inf)), float(np.nextafter(down, -np.inf))
        found += [down, up]
    return found


def _ceiling(x: Any) -> Any:
    """Return ceil(x), as a double also where an engine makes whole numbers of it."""
    return x.ceil().cast(nw.Float64) if isinstance(x, nw.Expr) else np.ceil(x)


_MOST_INTEGER = 1 << 62


def cell_counts(
    frame: Table,
    encodings: Sequence[Coded],
    relation: Relation = "replace-one",
    n: int | None = None,
) -> CellCounts:
    """Count the rows in every occupied cell of the public domain.

    ``n`` are the rows at the door, which are public; another number now is refused.
    """
    radices = [encoding.size for encoding in encodings]
    digits, rows = _merged(*_counted(frame, encodings), radices)
    if n is not None:
        check_rows(int(rows.sum()), n)
    return CellCounts(digits, rows, radices=radices, relation=relation)


def one_way_counts(
    frame: Table,
    encodings: Sequence[Coded],
    relation: Relation = "replace-one",
    n: int | None = None,
) -> IntegerVector:
    """Count the rows at every level of every column, one column after the other.

    ``n`` is the public number of rows at the door; another number now is refused.
    """
    counts = [margin for some in _together(frame, encodings) for margin in _margins(frame, some)]
    if n is not None:
        for column in counts:
            check_rows(int(column.sum()), n)
    moved = len(encodings) * (1 if relation == "add-remove" else 2)
    return IntegerVector(
        np.concatenate(counts),
        l1=moved,
        l2_squared=moved,
        l_inf=1,
        relation=relation,
    )


def _together(frame: Table, encodings: Sequence[Coded]) -> Iterator[list[Coded]]:
    """Yield columns that share a pass: in an engine, while their cells are few."""
    shared: list[Coded] = []
    for encoding in encodings:
        cells = math.prod(one.size for one in (*shared, encoding))
        if shared and (cells > MOST_GROUPS or not isinstance(frame, nw.LazyFrame)):
            yield shared
            shared = []
        shared.append(encoding)
    if shared:
        yield shared


def _margins(frame: Table, encodings: Sequence[Coded]) -> list[Integers]:
    """Return the rows at every level of columns that share a pass."""
    digits, rows = _counted(frame, encodings)
    found = [np.zeros(encoding.size, np.int64) for encoding in encodings]
    for margin, codes in zip(found, digits.T, strict=True):
        np.add.at(margin, codes, rows)
    return found


def _merged(digits: Integers, rows: Integers, radices: Sequence[int]) -> tuple[Integers, Integers]:
    """Add up rows of equal codes, and sort: engines group in any order, a seed means the same."""
    words = _words(digits, radices)
    order = np.lexsort(words[::-1])
    is_first = np.ones(len(digits), bool)
    is_first[1:] = np.any([np.diff(word[order]) != 0 for word in words], axis=0)
    starts = np.flatnonzero(is_first)
    return digits[order[starts]], np.add.reduceat(rows[order], starts)


def _words(digits: Integers, radices: Sequence[int]) -> list[Integers]:
    """Return the same order in few columns: sorting one takes a fifth of sorting five."""
    words, room = [digits[:, 0]], _MOST_INTEGER // radices[0]
    for digit, radix in zip(digits.T[1:], radices[1:], strict=True):
        if radix <= room:
            words[-1], room = words[-1] * radix + digit, room // radix
        else:
            words, room = [*words, digit], _MOST_INTEGER // radix
    return words


def _counted(frame: Table, encodings: Sequence[Coded]) -> tuple[Integers, Integers]:
    """Return codes (m, p) and how many rows have them (m,); the same codes may come again."""
    keys, columns = row_keys(encodings)
    codes, found = grouped(prepared_for(frame, encodings).select(**columns), keys)
    return codes, found[ROWS]


# Rows in groups that tell their codes at the least cost, of which only the groups are encoded.
#
# A group is what a row holds where a code is one admissible value; elsewhere a small whole number,
# such as the key of a bin.  The numbers of all columns are digits of one: to group by one number
# costs an engine less than to group by several.  Of legal rows groups are about as few as codes, by
# the schema; encoding each row costs an engine more than counting it.

ROWS = "rows"
"""Name of the number of rows among the sums of a group."""

_WORD = "__word"


@dataclass(frozen=True, eq=False)
class Digit:
    """A column of whole doubles from 0, each of which has one code."""

    name: str
    codes: Integers  # (size,): the code of every number


@dataclass(frozen=True)
class Value:
    """A column by whose values rows are grouped, and that of their missing codes if need be."""

    encoding: Encoding  # of these columns

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        name = self.encoding.name
        return [name, name + COMPANION] if self.encoding.missing else [name]


Key = Digit | Value


def row_keys(encodings: Sequence[Coded]) -> tuple[list[Key], Expressions]:
    """Return the keys of encodings, and the columns that they need as expressions of a table."""
    keys: list[Key] = []
    columns: Expressions = {}
    for j, encoding in enumerate(encodings):
        name = f"__code{j}"
        if isinstance(encoding, Encoding) and len(encoding.cells[0]) == 1:
            # under a name of its own, which no column of the table has
            own = replace(encoding, column=replace(encoding.column, name=name))
            keys.append(value := Value(own))
            held = (nw.col(encoding.name), nw.col(encoding.name + COMPANION))
            columns |= dict(zip(value.names, held, strict=False))
        else:
            number, codes = _digit(encoding)
            keys.append(Digit(name, codes))
            columns[name] = number.cast(nw.Float64)
    return keys, columns


def _digit(encoding: Coded) -> tuple[nw.Expr, Integers]:
    """Return a whole number of each row as an expression, and the code of every number."""
    key = bin_key(encoding.rule) if isinstance(encoding, Encoding) else None
    if key is None or not isinstance(encoding, Encoding):
        return encoding.expression(), np.arange(encoding.size)
    x, (low, high) = encoding.within(), encoding.limits
    first, last = (int(k) for k in key.key.of(np.array([low, high])))
    number = key.of(x) - first if first else key.of(x)
    codes = key.codes(np.arange(first, last + 1.0))
    for k, code in enumerate(encoding.missing):
        is_it = nw.col(encoding.name + COMPANION) == MISSING_CODES.index(code)
        number = nw.when(is_it).then(nw.lit(float(len(codes) + k))).otherwise(number)
    beyond = np.arange(len(encoding.cells), encoding.size)
    return number, np.concatenate([codes, beyond])


def grouped(
    rows: Table, keys: Sequence[Key], sums: Mapping[str, nw.Expr] | None = None
) -> tuple[Integers, dict[str, Integers]]:
    """Return codes (m, p) of groups of rows, and sums (m,) in each; codes may come again.

    ``sums`` are expressions of whole numbers; how many rows each group has is returned with them,
    as :data:`ROWS`.
    """
    words = _words_of([key for key in keys if isinstance(key, Digit)])
    values = [key for key in keys if isinstance(key, Value)]
    by = {f"{_WORD}{k}": _number(word) for k, word in enumerate(words)}
    by |= {name: nw.col(name) for value in values for name in value.names}
    wanted, sums = [nw.len().alias(ROWS)], sums or {}
    wanted += [nw.col(name).sum() for name in sums]
    with warnings.catch_warnings(), asking(rows, "sums"):  # some fail when a query is made, not run
        # pandas warns of how it puts more than a hundred columns of keys together
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        named = rows.select(**by, **sums)
        groups = named.group_by(*by).agg(*wanted) if by else named.select(*wanted)
        answers = [value.encoding.expression() for value in values]
        asked = [f"{_WORD}{k}" for k in range(len(words))]
        few = collected(groups.select(*asked, *answers, *sums, ROWS))
    codes = {value.encoding.name: _integers(few, value.encoding.name) for value in values}
    for name, word in zip(asked, words, strict=True):
        found = np.unravel_index(_integers(few, name), [len(digit.codes) for digit in word])
        codes |= {d.name: d.codes[k] for d, k in zip(word, found, strict=True)}
    columns = [codes[key.name if isinstance(key, Digit) else key.encoding.name] for key in keys]
    table = np.column_stack(columns) if columns else np.empty((len(few), 0), np.int64)
    return table, {name: _integers(few, name) for name in (*sums, ROWS)}


def _words_of(digits: Sequence[Digit]) -> list[list[Digit]]:
    """Return digits that make up one number each, up to 2^53."""
    words: list[list[Digit]] = []
    for digit in digits:
        if not words or math.prod(len(d.codes) for d in (*words[-1], digit)) > EXACT:
            words.append([])
        words[-1].append(digit)
    return words


def _number(word: Sequence[Digit]) -> nw.Expr:
    first, *others = word
    number = nw.col(first.name)
    for digit in others:
        number = number * float(len(digit.codes)) + nw.col(digit.name)
    return number.cast(nw.Int64)  # which engines group by at less cost than by doubles


def _integers(frame: Frame, name: str) -> Integers:
    return np.asarray(frame[name].to_numpy()).astype(np.int64)
