"""Columns to public codes and back.

What a code means is a function of the schema alone.  Encoding is total: whatever a row holds gets
a code (numbers are clipped, the rest goes to the nearest level), so that nothing a strict method
does after the constructor depends on the data.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dprct.errors import SchemaError
from dprct.lazy import narwhals as nw
from dprct.missing import MISSING_CODES, tagged
from dprct.records import dataclass
from dprct.schema.columns import check_own, clipped, clipped_if_beyond, divided, stored
from dprct.schema.facts import resolves
from dprct.schema.tables import (
    COMPANION,
    AnyTable,
    Table,
    has_payloads,
    missing_code,
    names_of,
    numbers_of,
    schema_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema


# Which code a number has, as expressions that every data frame engine computes alike.
#
# Each rule is a function of public facts, takes a handful of passes over a column however many
# codes there are, and uses nothing but operations that IEEE 754 rounds in one way, so that all
# engines agree to the bit (of division, see :func:`divided`).


@dataclass(frozen=True)
class Points:
    """The nearest of evenly spaced points: ceil((x - low) per_unit - 1/2), then clipped.

    Halfway between two points is nearer to the lower one.
    """

    low: float
    per_unit: float
    size: int

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (float, whole) of a number within the bounds."""
        return ((x - self.low) * self.per_unit - 0.5).ceil().clip(0, self.size - 1)


@dataclass(frozen=True)
class EqualBins:
    """Equal bins (a_{k-1}, a_k] of a continuous column, a_k = low + k (high - low) / bins.

    A guess from one division, put right by comparing with the two edges around it: the code is
    exactly that of comparing with every edge, at the cost of two.
    """

    low: float
    high: float
    bins: int

    def edge(self, k: Any) -> Any:
        """Return a_k, in the same operations for a number as for an expression."""
        scaled = k * (self.high - self.low)
        if not isinstance(scaled, (int, float, np.ndarray)) and isinstance(scaled, nw.Expr):
            return divided(scaled, float(self.bins)) + self.low
        return scaled / self.bins + self.low

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (float, whole) of a number within the bounds."""
        per_width = self.bins / (self.high - self.low)
        guess = (((x - self.low) * per_width).ceil() - 1).clip(0, self.bins - 1)
        above = (x > self.edge(guess + 1)).cast(nw.Float64)
        below = (x <= self.edge(guess)).cast(nw.Float64)
        code: nw.Expr = (guess + above - below).clip(0, self.bins - 1)
        return code


@dataclass(frozen=True)
class EqualBinsOfPoints:
    """Equal bins of evenly spaced points: of point i, (slope i + start - 1) // width, in integers.

    The integers are those of the exact (point - low) bins / (high - low) over one denominator.
    """

    points: Points
    slope: int
    start: int
    width: int
    bins: int

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (int64) of a number within the bounds."""
        point = self.points.code(x).cast(nw.Int64)
        return ((point * self.slope + (self.start - 1)) // self.width).clip(0, self.bins - 1)


@dataclass(frozen=True)
class Edges:
    """The number of edges below x: bins by their edges, or levels by the middles between them."""

    edges: tuple[float, ...]

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (int64) of a number within the bounds."""
        # the infinite edge makes a column of zeros of a single bin, not a lone literal
        above = [(x > edge).cast(nw.Int64) for edge in (*self.edges, math.inf)]
        code: nw.Expr = nw.sum_horizontal(*above)
        return code


Rule = Points | EqualBins | EqualBinsOfPoints | Edges


# Columns of 0 and 1 of which a row has at most one: dummies of arms, one code underneath.
#
# Coded one by one, the dummies of k arms have 2^k combinations, most of them impossible, and noise
# would put people into several arms at once.  Coded together they have k + 1.


@dataclass(frozen=True)
class ExclusiveEncoding:
    """The codes 0 (none of the columns is 1) to k (the last one is).

    Examples
    --------
    >>> from dprct.schema import Column
    >>> arms = ("cash", "therapy")
    >>> facts = {"levels": (0.0, 1.0), "missing": (), "exclusive": "arm"}
    >>> coded = ExclusiveEncoding("arm", tuple(Column(name, "byte", **facts) for name in arms))
    >>> coded.describe(), coded.size
    ('arm: 3 groups (cash, therapy, neither)', 3)
    """

    group: str  # name of the group, as ``exclusive`` declares it
    columns: tuple[Column, ...]  # the k columns

    def __post_init__(self) -> None:
        for column in self.columns:
            check_own(column)

    @property
    def name(self) -> str:
        """Name of the code: the first column's."""
        return self.columns[0].name

    @property
    def size(self) -> int:
        """Number of codes, k + 1."""
        return len(self.columns) + 1

    def describe(self) -> str:
        """Meaning of the codes, for a plan."""
        names = ", ".join(column.name for column in self.columns)
        return f"{self.group}: {self.size} groups ({names}, neither)"

    def expression(self) -> nw.Expr:
        """Return the code (int64); total: of several 1s, which are refused before, the last."""
        code = nw.lit(0)
        for k, column in enumerate(self.columns, 1):
            code = nw.when(clipped(column.name, 0.0, 1.0) > 0.5).then(nw.lit(k)).otherwise(code)
        return code.cast(nw.Int64).alias(self.name)

    def decoded(
        self, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """Return the k columns (n,) of codes (n,)."""
        del rng  # nothing is left to chance
        return {
            column.name: (codes == k).astype(np.float64) for k, column in enumerate(self.columns, 1)
        }


def exclusive_groups(columns: Iterable[Column]) -> dict[str, tuple[Column, ...]]:
    """Return the declared groups, by name, of columns that are modelled together."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        if column.exclusive is not None:
            _check(column)
            groups.setdefault(column.exclusive, []).append(column)
    return {name: tuple(members) for name, members in groups.items()}


def _check(column: Column) -> None:
    if column.is_text or set(column.levels or ()) != {0.0, 1.0} or column.missing != ():
        raise SchemaError(
            f"column {column.name!r} is in the exclusive group {column.exclusive!r}; such a column "
            "needs levels [0, 1] and ``missing='never'``"
        )


_ROWS = 1 << 15

MOST_LEVELS = 1 << 16
"""More levels of one column than this are refused; declare bins."""

_MOST_INTEGER = 1 << 62


@dataclass(frozen=True)
class Encoding:
    """The public codes 0, ..., size - 1 of one column.

    Notes
    -----
    After the regular codes comes one code for every declared missing code.
    """

    column: Column
    # For every regular code its admissible values: one number or text of a level, or the smallest
    # and largest admissible number of a bin.
    cells: tuple[tuple[Any, ...], ...]
    rule: Rule | None = None  # which code a number has; None for text
    # Grid of the admissible numbers within a bin (one for whole numbers), None where continuous.
    step: Fraction | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The one column."""
        return (self.column,)

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing codes that are levels."""
        return self.column.missing or ()

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.cells) + len(self.missing)

    def describe(self) -> str:
        """Meaning of the codes, for a plan."""
        kind = "bins" if len(self.cells[0]) == 2 else "levels"
        missing = f" + {len(self.missing)} missing" if self.missing else ""
        return f"{self.name}: {len(self.cells)} {kind}{missing}"

    def expression(self) -> nw.Expr:
        """Return the code (int64) as an expression of a frame that :func:`prepared` returned."""
        code = self._text_code() if self.rule is None else self.rule.code(self.known())
        for k, missing in enumerate(self.missing):
            is_it = nw.col(self.name + COMPANION) == MISSING_CODES.index(missing)
            code = nw.when(is_it).then(nw.lit(len(self.cells) + k)).otherwise(code)
        return code.cast(nw.Int64).alias(self.name)

    def decoded(
        self, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Return the column (n,) by name; see :meth:`decode`."""
        return {self.name: self.decode(codes, rng)}

    def decode(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return admissible values (n,) for codes (n,): uniform over those of a bin."""
        regular = np.minimum(codes, len(self.cells) - 1)
        if self.column.is_text:
            texts = np.array([cell[0] for cell in self.cells], dtype=object)
            return texts[regular]
        low, high = (np.array([cell[i] for cell in self.cells])[regular] for i in (0, -1))
        values = low if len(self.cells[0]) == 1 else self._within(low, high, rng)
        values = stored(self.column, values)
        beyond = codes >= len(self.cells)
        if beyond.any():
            numbers = np.array([MISSING_CODES.index(code) for code in self.missing])
            values[beyond] = tagged(numbers[codes[beyond] - len(self.cells)])
        return values

    def known(self) -> nw.Expr:
        """Return the number within the bounds; what is missing or no number is at the lower."""
        return clipped(self.name, *self.limits)

    def within(self) -> nw.Expr:
        """Return the same number, at less cost to an engine."""
        return clipped_if_beyond(self.name, *self.limits)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number that has a code."""
        low, high = stored(self.column, np.array([self.cells[0][0], self.cells[-1][-1]])).tolist()
        return low, high

    def _text_code(self) -> nw.Expr:
        codes = {cell[0]: k for k, cell in enumerate(self.cells)}
        text = nw.col(self.name)
        known = text.replace_strict(
            list(codes), list(codes.values()), default=0, return_dtype=nw.Int64
        )
        return nw.when(text.is_null()).then(nw.lit(codes.get("", 0))).otherwise(known)

    def _within(
        self, low: NDArray[np.float64], high: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        if self.step is None:
            drawn = stored(self.column, high - (high - low) * rng.random(len(high)))
            return np.clip(drawn, low, high)
        per_unit = float(1 / self.step)
        first, last = (np.rint(x * per_unit).astype(np.int64) for x in (low, high))
        return np.asarray(rng.integers(first, last + 1) / per_unit, dtype=np.float64)


Coded = Encoding | ExclusiveEncoding


def encodings(
    schema: Schema,
    names: Iterable[str],
    default_bins: int | None = None,
    point_bins: int | None = None,
) -> tuple[Coded, ...]:
    """Return the encodings of columns, from the schema alone; of an exclusive group, one.

    ``default_bins`` equal bins are those of a column that declares none (docs/methods.md, section
    1); ``point_bins`` the same of whole numbers or decimals where ``default_bins`` is not given.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("age", "byte", bounds=(15, 80), bins=5, missing=(".",)),))
    >>> encodings(schema, ["age"])[0].describe()
    'age: 5 bins + 1 missing'
    """
    columns = [schema.column(name) for name in names]
    groups = exclusive_groups(columns)
    found: list[Coded] = []
    for column in columns:
        if column.exclusive is None:
            found.append(encoding(column, default_bins, point_bins))
        elif column == groups[column.exclusive][0]:
            found.append(ExclusiveEncoding(column.exclusive, groups[column.exclusive]))
    return tuple(found)


def prepared_for(frame: AnyTable, codes: Iterable[Coded]) -> AnyTable:
    """Return a frame from which the expressions of encodings can be computed."""
    columns = [column for code in codes for column in code.columns]
    return prepared(frame, [c for c in columns if c.is_text or c.missing != ()])


def decoded(
    codes: Sequence[Coded], rows: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return the columns (n,) by name that rows of codes (n, p) stand for."""
    found: dict[str, NDArray[Any]] = {}
    for j, code in enumerate(codes):
        for start in range(0, max(len(rows), 1), _ROWS):  # so that little but the columns is held
            part = slice(start, start + _ROWS)
            for name, values in code.decoded(rows[part, j], rng).items():
                found.setdefault(name, np.empty(len(rows), values.dtype))[part] = values
    return found


def encoding(
    column: Column, default_bins: int | None = None, point_bins: int | None = None
) -> Encoding:
    """Return the encoding of one column; see :func:`encodings`."""
    if column.missing is None and not column.is_text:
        raise SchemaError(
            f"column {column.name!r} has no declared missing policy; declare "
            "``missing='never'``, or ``missing=['.']`` to make missing a level"
        )
    check_own(column)
    if column.levels is not None:
        return _of_levels(column, column.levels if column.is_text else tuple(sorted(column.levels)))
    if column.is_text or column.bounds is None:
        raise SchemaError(
            f"column {column.name!r} has neither bounds nor levels; declare "
            + ("its levels" if column.is_text else "``bounds=(low, high)`` or ``levels=[...]``")
            + " from public knowledge, never from the data"
        )
    if column.step is not None and default_bins is None:
        default_bins = point_bins
    return _of_bounds(column, column.bounds, default_bins)


def prepared(frame: AnyTable, columns: Iterable[Column]) -> AnyTable:
    """Return a frame in which every numeric column has its missing codes next to it (-1 for none).

    NaN payloads are read here, with a NumPy view; engines bring the companion column themselves.
    """
    once = {column.name: column for column in columns}
    beside = [_preparation(frame, column) for column in once.values()]
    return cast("AnyTable", frame.with_columns(*beside)) if beside else frame


def _preparation(frame: Table, column: Column) -> nw.Expr | nw.Series[Any]:
    name = column.name
    if column.is_text:
        # an Enum refuses to be compared with levels that it does not have
        is_enum = isinstance(schema_of(frame)[name], nw.Enum)
        return nw.col(name).cast(nw.String) if is_enum else nw.col(name)
    beside = name + COMPANION in names_of(frame)
    if isinstance(frame, nw.DataFrame) and has_payloads(frame) and not beside:
        _, codes = numbers_of(frame, name)
        return nw.new_series(name + COMPANION, codes, nw.Int8, backend=frame.implementation)
    return missing_code(frame, name)


def _of_levels(column: Column, levels: tuple[Any, ...]) -> Encoding:
    _check_size(column, len(levels))
    cells = tuple((level,) for level in levels)
    if column.is_text:
        return Encoding(column, cells)
    step = _even_step(levels)
    if step is None or not resolves(column.type, max(map(abs, levels)), step):
        return Encoding(column, cells, Edges(_middles(column, levels)))
    return Encoding(column, cells, Points(levels[0], float(1 / step), len(levels)))


def _even_step(levels: tuple[float, ...]) -> Fraction | None:
    exact = [_exact(level) for level in levels]
    steps = {b - a for a, b in itertools.pairwise(exact)}
    return steps.pop() if len(steps) == 1 else None


def _middles(column: Column, levels: tuple[float, ...]) -> tuple[float, ...]:
    """Return the middle between each level and the next, below the next however close they are."""
    x = stored(column, np.array(levels))
    middles = np.minimum(x[:-1] / 2 + x[1:] / 2, np.nextafter(x[1:], -np.inf))
    return tuple(middles.tolist())


def _of_bounds(column: Column, bounds: tuple[float, float], default_bins: int | None) -> Encoding:
    step = column.step
    if step is None:
        bins = column.bins or default_bins
        if bins is None:
            raise SchemaError(
                f"column {column.name!r} is continuous; declare bins (a number of equal bins "
                "within its bounds, or a list of inner edges)"
            )
        return _of_bins(column, bounds, bins)
    first, last = math.ceil(_exact(bounds[0]) / step), math.floor(_exact(bounds[1]) / step)
    points = last - first + 1
    bins = column.bins
    if bins is None and points > (default_bins or MOST_LEVELS):
        bins = default_bins
    if bins is not None:
        return _of_bins_of_points(column, bounds, bins, step)
    _check_size(column, points)
    levels = [float(k * step) for k in range(first, last + 1)]
    rule = Points(levels[0], float(1 / step), points)
    return Encoding(column, tuple((level,) for level in levels), rule)


def _exact(number: float) -> Fraction:
    """Return the decimal that a person wrote."""
    return Fraction(repr(float(number)))


def _of_bins(
    column: Column, bounds: tuple[float, float], bins: int | tuple[float, ...]
) -> Encoding:
    """Bins are (a_{k-1}, a_k], the first closed (dp_rct.txt, Algorithm 1)."""
    low, high = bounds
    if isinstance(bins, tuple):
        _check_size(column, len(bins) + 1)
        inner, rule = list(bins), Edges(bins)  # type: tuple[list[float], Rule]
    else:
        _check_size(column, bins)
        rule = EqualBins(low, high, bins)
        inner = [rule.edge(k) for k in range(1, bins)]
    # the numbers that the type can hold, above the lower edge and not above the upper
    edges = np.array([low, *inner, high])
    _check_bins(column, bool(np.isfinite([*edges, len(edges) / (high - low)]).all()))
    nearest = stored(column, edges)
    after = stored(column, np.nextafter(nearest, np.inf, dtype=_dtype(column)))
    before = stored(column, np.nextafter(nearest, -np.inf, dtype=_dtype(column)))
    firsts = np.where(nearest > edges, nearest, after)[:-1]
    lasts = np.where(nearest <= edges, nearest, before)[1:]
    firsts[0], lasts[-1] = nearest[0], nearest[-1]
    _check_bins(column, bool((firsts <= lasts).all()))
    return Encoding(column, tuple(zip(firsts.tolist(), lasts.tolist(), strict=True)), rule)


def _of_bins_of_points(
    column: Column,
    bounds: tuple[float, float],
    bins: int | tuple[float, ...],
    step: Fraction,
) -> Encoding:
    low, high = (_exact(bound) for bound in bounds)
    if isinstance(bins, tuple):
        inner = [_exact(edge) for edge in bins]
    else:
        _check_size(column, bins)
        inner = [low + (high - low) * k / bins for k in range(1, bins)]
    _check_size(column, len(inner) + 1)
    lasts = [math.floor(edge / step) for edge in (*inner, high)]
    firsts = [math.ceil(low / step), *(last + 1 for last in lasts[:-1])]
    _check_bins(column, all(a <= b for a, b in zip(firsts, lasts, strict=True)))
    cells = tuple((float(a * step), float(b * step)) for a, b in zip(firsts, lasts, strict=True))
    between = tuple(float((last + Fraction(1, 2)) * step) for last in lasts[:-1])
    rule: Rule = Edges(between)
    if isinstance(bins, int):
        rule = _equal_bins_of_points(low, high, bins, step, (firsts[0], lasts[-1])) or rule
    return Encoding(column, cells, rule, step)


def _equal_bins_of_points(
    low: Fraction, high: Fraction, bins: int, step: Fraction, ends: tuple[int, int]
) -> EqualBinsOfPoints | None:
    """Return the rule in integers, or None if they would pass 2^62."""
    per_point, at_zero = step * bins / (high - low), -low * bins / (high - low)
    width = math.lcm(per_point.denominator, at_zero.denominator)
    slope = int(per_point * width)
    start = int((ends[0] * per_point + at_zero) * width)
    size = ends[1] - ends[0] + 1
    if max(slope * size + start, width) >= _MOST_INTEGER:
        return None
    points = Points(float(ends[0] * step), float(1 / step), size)
    return EqualBinsOfPoints(points, slope, start, width, bins)


def _dtype(column: Column) -> type[np.floating[Any]]:
    return np.float32 if column.type == "float" else np.float64


def _check_size(column: Column, size: int) -> None:
    if size > MOST_LEVELS:
        raise SchemaError(
            f"column {column.name!r} has more than {MOST_LEVELS} levels or bins; declare fewer bins"
        )


def _check_bins(column: Column, all_hold_values: bool) -> None:
    if not all_hold_values:
        raise SchemaError(
            f"column {column.name!r}: a bin holds no admissible value; declare fewer or wider bins"
        )
