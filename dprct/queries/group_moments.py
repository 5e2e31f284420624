"""Sums and cross products of the columns of every group, each row within one public ball.

The release of :class:`dprct.PrivateMoments` is these numbers with Gaussian noise; nothing else of
its rows is ever read.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add, mul
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import encoding, prepared
from dprct.errors import ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import EXACT, added, check_extent, compact, present
from dprct.records import dataclass
from dprct.schema.columns import as_is_within, check_own
from dprct.schema.tables import check_counts, check_rows, on_its_own, owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.queries.sums import Combinations
    from dprct.schema.columns import Column
    from dprct.schema.tables import Counted, Frame, Table

    Whole = NDArray[np.int64]
    Array = NDArray[np.float64]
    Numbers = NDArray[Any]
    Read = dict[str, tuple[nw.Expr, IntoDType]]

STEPS = 1 << 16
"""L: steps of the grid from the centre to the surface of the ball, whatever the number of columns.

A step is a 2^16th of the radius: its rounding is far below the noise, and adds nothing to the
sensitivity, which is that of the whole numbers.
"""

FARTHEST = 1 << 20
"""Steps at which a single value is clipped before its row is moved into the ball."""

MOST_ROWS = 1 << 30
"""Rows of which every sum of products, each at most 2^32, is below 2^63."""

MOST_COLUMNS = 1 << 13
"""Columns of which the squares of a row, each at most 2^40, sum to 2^53 at most."""

MOST_OF_A_UNIT = 1 << 22
"""Values of one unit, each at most 2^20 before it is moved: their squares sum to 2^62 at most."""

MOST_BEFORE = 1 << 38
"""Steps at which a value is clipped before the mean of its unit is taken away: with 2^22 rows of a
unit, whatever is added and multiplied for that is at most 2^62."""

_CHUNK = 1 << 18
"""Rows that are read at once; sums of their products are below 2^53, so that doubles add them."""

_CACHED = 1 << 13
"""Rows of a group that are computed at once: a processor's cache holds their columns."""

_CODE, _HAS = "__code ", "__has "

MOST_IN_ENGINE = 108
"""Columns whose sums, 5,994 of them, one query of an engine is asked for."""

_CELL, _SQUARE, _BY, _OUTSIDE = "__cell", "__q", "__f", "__outside"


@dataclass(frozen=True)
class Part:
    """A number of a row that is a function of one column: its value, or whether it is a level."""

    column: Column  # with bounds, or levels; for a level, with an encoding
    level: int | None = None  # the part is 1 where the column has this code of its encoding, else 0
    fill: float | None = None  # what stands for a missing value; the middle of the bounds if None
    # Whether a row without a value is at the centre of whatever the part is multiplied to: it is in
    # a group that regressions on the column leave out, and takes no room in the ball.
    gap: bool = False

    def __post_init__(self) -> None:
        check_own(self.column)
        if self.level is not None:
            return
        if self.column.is_text or not (self.column.bounds or self.column.levels):
            raise SchemaError(
                f"column {self.column.name!r} has no bounds; declare ``bounds=(low, high)`` from "
                "public knowledge, never from the data"
            )
        check_extent(self.column.name, *self.bounds)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        if self.level is not None:
            return 0.0, 1.0
        if self.column.bounds is not None:
            return float(self.column.bounds[0]), float(self.column.bounds[1])
        numbers = sorted(float(level) for level in self.column.levels or ())
        return numbers[0], numbers[-1]

    @property
    def filled(self) -> float:
        """What stands for a missing value."""
        low, high = self.bounds
        return low / 2 + high / 2 if self.fill is None else float(self.fill)

    @property
    def key(self) -> tuple[str, int]:
        """What the part is a function of: the column, and the level or -1."""
        return self.column.name, -1 if self.level is None else self.level

    def value(self) -> nw.Expr:
        """Return the double of each row, within the bounds, of a frame that is ``prepared``."""
        if self.level is not None:
            return (encoding(self.column).expression() == self.level).cast(nw.Float64)
        low, high = self.bounds
        fill = nw.lit(min(max(self.filled, low), high))
        x = nw.col(self.column.name).cast(nw.Float64).fill_null(self.filled)
        number = nw.when(x <= math.inf).then(nw.lit(high)).otherwise(fill)  # or NaN
        return as_is_within(x, low, high, nw.when(x < low).then(nw.lit(low)).otherwise(number))

    @property
    def read(self) -> Read:
        """What :meth:`of` takes of a frame that is ``prepared``, by name, and its type."""
        name = self.column.name
        found: Read = {name: (nw.col(name), nw.Float64)}
        if self.level is not None:
            found = {_CODE + name: (encoding(self.column).expression(), nw.Int64)}
        return found | ({_HAS + name: (has_value(self.column), nw.Int8)} if self.gap else {})

    def of(self, found: Mapping[str, NDArray[Any]]) -> Array:
        """Return :meth:`value` of rows in memory: the same numbers, since nothing is rounded."""
        name = self.column.name
        if self.level is not None:
            return np.asarray(found[_CODE + name] == self.level, np.float64)
        x: Array = np.clip(found[name], *self.bounds)
        gone = np.isnan(x)
        if gone.any():
            low, high = self.bounds
            x[gone] = min(max(self.filled, low), high)
        return x


@dataclass(frozen=True)
class Scaled:
    """A column of the release, or a product of columns, as whole steps about a public centre."""

    name: str
    parts: tuple[Part, ...]  # the column is their product, from the left
    bounds: tuple[float, float]  # (low, high): of the product; public
    centre: float
    per_unit: float  # m, the public double by which ``x - centre`` is multiplied
    # Clipped at its own bounds alone, never projected: the ball has room for all that it admits.
    exempt: bool = False
    # Whether the mean of all rows of its unit is taken away from each (fixed effects of units).
    within: bool = False

    def __post_init__(self) -> None:
        # what overflows makes a value at the centre no number, and others infinite: an error of the
        # fit would tell them apart
        ends = [(bound - self.centre) * self.per_unit for bound in self.bounds]
        if not 0 < self.per_unit < math.inf or not all(map(math.isfinite, ends)):
            raise ParameterError(
                f"{self.name!r} has steps that no double holds; give ``sd=``, ``centre=`` and "
                "bounds in another unit"
            )
        if self.within and any(part.gap for part in self.parts):
            raise ParameterError(f"{self.name!r} loses means of units, of which no row may lack")

    @property
    def farthest(self) -> int:
        """Steps at which a value is clipped; one that loses the mean of its unit, again after."""
        return MOST_BEFORE if self.within else FARTHEST

    @property
    def coded(self) -> list[Column]:
        """The columns that need an encoding."""
        return [part.column for part in self.parts if part.level is not None]

    @property
    def read(self) -> Read:
        """What :meth:`of` takes of a frame that is ``prepared``."""
        return {name: one for part in self.parts for name, one in part.read.items()}

    def whole(self) -> nw.Expr:
        """Steps k = floor((x - centre) m + 1/2) of each row, as doubles within -2^20 and 2^20.

        Clipping, subtraction, multiplication and addition are each rounded in the one way of
        IEEE 754, and there is no division: every engine has the same bits.  Each rises with x, so
        that k is clipped only where a bound is farther away.
        """
        value = reduce(mul, [part.value() for part in self.parts])
        if len(self.parts) > 1:
            value = value.clip(*self.bounds)
        steps = ((value - self.centre) * self.per_unit + 0.5).floor().cast(nw.Float64)
        gaps = {part.column.name: part.column for part in self.parts if part.gap}
        if gaps:
            here = reduce(lambda a, b: a & b, [has_value(column) for column in gaps.values()])
            steps = nw.when(here).then(steps).otherwise(nw.lit(0.0))
        return steps if self._is_near else steps.clip(-self.farthest, self.farthest)

    @property
    def _is_near(self) -> bool:
        """Whether no admissible value is clipped for being far from the centre."""
        ends = [(bound - self.centre) * self.per_unit + 0.5 for bound in self.bounds]
        return max(map(abs, ends)) < self.farthest

    def of(self, found: Mapping[str, NDArray[Any]]) -> Array:
        """Return :meth:`whole` of rows in memory, to the bit: the same operations in one order."""
        first, *others = self.parts
        k = first.of(found)
        for part in others:
            k *= part.of(found)
        if others:
            np.clip(k, *self.bounds, out=k)
        if self.centre:
            k -= self.centre
        k *= self.per_unit
        k += 0.5
        np.floor(k, out=k)
        for part in self.parts:
            if part.gap:
                k[found[_HAS + part.column.name] == 0] = 0.0
        return k if self._is_near else np.clip(k, -self.farthest, self.farthest, out=k)

    def steps_at(self, value: float) -> int:
        """Step k of one public number."""
        steps = (value - self.centre) * self.per_unit + 0.5
        return math.floor(min(max(steps, -self.farthest), self.farthest))

    @property
    def reach(self) -> int:
        """The largest size of k within the bounds: k rises with x.

        Of deviations from the mean of a unit, the largest root mean square in a unit: numbers of a
        range deviate by half of it at most, and rounding adds 1/2.
        """
        ends = [self.steps_at(bound) for bound in self.bounds]
        if self.within:
            return min((abs(ends[1] - ends[0]) + 1) // 2 + 1, FARTHEST)
        return max(map(abs, ends))


@dataclass(frozen=True)
class MomentsGrid:
    """What :func:`moment_sums` releases of a group, and how sensitive it is; public.

    Notes
    -----
    A record is a vector r = (h, k) of whole numbers with |k|^2 <= L^2, and adds A = r r' to the
    matrix of its group.  All (d + 1)^2 entries are in the vector, those off the diagonal twice;
    the corner h^2 only if ``count``.

    *Sensitivity.*  |A|_F = |r|^2 <= h^2 + L^2 = t.  A record that is replaced within its group
    moves the matrix by A - B with ``|A - B|_F^2 = |A|^2 + |B|^2 - 2 (r's)^2 <= 2 t^2``, and the
    corner does not move.  One that also goes to another group moves two matrices, by A and by B,
    which is ``|A|^2 + |B|^2 <= 2 t^2``, the corners among them: where groups are private, their
    counts are free.  D^2 = 2 (h^2 + L^2)^2 exactly, in whole numbers.  It is attained by k and s on
    the surface with k's = -h^2, and across groups by any two on the surface.

    *Several rows.*  The rows of a unit, one after another, are one vector of length L at most: the
    sum of their |k|^2 is.  They add A = sum r r', each to the matrix of its own group; the matrices
    of all groups are the blocks of one, positive semi-definite, whose Frobenius norm is at most its
    trace, sum |r|^2 <= M h^2 + L^2 = t.  Replaced, |A - B|_F^2 is at most
    ``2 t^2 - 2 tr(AB)``, and tr(AB) of two such matrices is not negative: D^2 = 2 (M h^2 + L^2)^2.
    It is attained by units of M equal rows, with k and s as above.  Who has how many rows is
    public: a unit is replaced by one with as many.

    *Clipped rows.*  With ``clipped`` the vector has one number more for each group: c T_g, T_g its
    rows that belong to units outside the ball.  Whether a unit is outside follows from its own
    rows, so that it adds a vector of whole numbers, none negative, of sum M at most, whose square
    is M^2 at most.  Replaced by another, T moves by a - b with ``|a - b|^2 <= |a|^2 + |b|^2``:
    D^2 = 2 (M h^2 + L^2)^2 + 2 (c M)^2.

    *Weights.*  A row within the ball becomes sqrt(a / W) (h, k), each number rounded to the nearest
    whole one: as a is within 0 and W, none grows, and all bounds above hold.  The corner, which
    must be released, is h^2 times the sum of a / W but for the rounding, and all others are sums of
    a / W times products.

    *Exempt columns.*  An outcome, or a column of two values, is never projected: its effect is
    that on the column clipped at its own bounds, which have a name.  E^2 below has room for them;
    of deviations from the mean of a unit of m rows, the squares sum to m (range / 2)^2 at most.

    *Means of units.*  A column that is ``within`` enters with its deviation from the mean of all m
    rows of the unit, floor((2 (m k - sum k) + m) / (2 m)) in whole numbers, clipped as any other
    is.  It is a function of the rows of its unit alone, and the ball is asked afterwards: nothing
    above changes.

    *The ball.*  That |k|^2 <= L^2 holds for every row is not left to floating point.  Columns that
    are exempt have room for their bounds, E^2 at most together (of the levels of one column, a row
    has one).  The others have S^2 = L^2 - E^2: where q = sum k_j^2 passes it, k_j becomes
    ``sign(k_j) floor(|k_j| ((S - 1) / sqrt(q)))``, and then, tested in whole numbers, 0 in all of
    them unless their squares sum to S^2 or less.  sqrt and the division are rounded in one way by
    IEEE 754, so that every engine has the same bits.
    """

    columns: tuple[Scaled, ...]
    constant: int  # h in steps, 1 to L
    # Whether the number of rows of a group is released too: where it is private.
    count: bool = False
    rows: int = 1  # M, the most rows that one unit has; the ball holds all of them together
    # C, by which the numbers of rows outside the ball are multiplied; 0 where they are not
    # released.
    clipped: int = 0
    # The weight a of a row, within 0 and the W of its bounds; every row has the same if None.
    weight: Part | None = None

    def __post_init__(self) -> None:
        if self.clipped < 0:
            raise ParameterError(f"``clipped={self.clipped}``: a factor of a count is at least 0")
        if self.weight is not None:
            low, high = self.weight.bounds
            if self.weight.level is not None or not 0 <= low < high:
                raise ParameterError("weights are numbers of public bounds, 0 or above")
            if not self.count:
                raise ParameterError("the sum of weights is released; give ``count=True``")
        if self.rows == 1 and any(column.within for column in self.columns):
            raise ParameterError("a unit of one row has no deviations from its mean")
        if not 1 <= self.constant <= STEPS:
            raise ParameterError(f"``constant={self.constant}`` is not within 1 and {STEPS} steps")
        if self.rows < 1:
            raise ParameterError(f"``rows={self.rows}``: a unit has at least one row")
        if self.width > MOST_COLUMNS:
            raise ParameterError(
                f"moments of {self.width:,} columns; at most {MOST_COLUMNS:,} are allowed"
            )
        if self.rows * self.width > MOST_OF_A_UNIT:
            raise ParameterError(
                f"one unit may have {self.rows} rows of {self.width} columns, and moments take at "
                f"most {MOST_OF_A_UNIT:,} values of a unit; release fewer columns"
            )
        if self.room < 0 or (self.room == 0 and any(not c.exempt for c in self.columns)):
            raise ParameterError("the ball has no room for columns that are never projected")

    @property
    def width(self) -> int:
        """D."""
        return len(self.columns)

    @property
    def reserved(self) -> int:
        """E^2, the most that the squares of exempt columns sum to."""
        levels: dict[str, list[Scaled]] = {}
        total = 0
        for column in self.columns:
            if not column.exempt:
                continue
            if len(column.parts) == 1 and column.parts[0].level is not None:
                levels.setdefault(column.parts[0].column.name, []).append(column)
            else:
                total += column.reach**2
        for group in levels.values():
            at_zero = [column.steps_at(0.0) ** 2 for column in group]
            changed = [c.steps_at(1.0) ** 2 - z for c, z in zip(group, at_zero, strict=True)]
            total += sum(at_zero) + max(0, *changed)
        return self.rows * total

    @property
    def room(self) -> int:
        """S^2, what is left for the others."""
        return STEPS**2 - self.reserved

    @property
    def projects_nobody(self) -> bool:
        """Whether every legal row is within the ball as it is."""
        return self.rows * sum(c.reach**2 for c in self.columns if not c.exempt) <= self.room

    @property
    def size(self) -> int:
        """Numbers that are released of one group; :meth:`numbers` has those of all."""
        return (self.width + 1) ** 2 - (not self.count)

    @property
    def l2_squared(self) -> int:
        """D^2, in squared units of the sums."""
        outside = self.clipped * self.rows
        return 2 * (self.rows * self.constant**2 + STEPS**2) ** 2 + 2 * outside**2

    @property
    def l_inf(self) -> int:
        """By how much one record moves any sum, at most."""
        root = math.isqrt(self.rows - 1) + 1  # rounded up: |sum k_j| <= sqrt(M) L
        sums = 2 * self.constant * STEPS * root
        return max(STEPS**2, sums, self.rows * self.constant**2, self.clipped * self.rows)

    @property
    def l1(self) -> int:
        """By how much one record moves all sums together: |A|_1 = |r|_1^2 <= (d + 1) |r|^2."""
        outside = 2 * self.clipped * self.rows
        return 2 * (self.width + 1) * (self.rows * self.constant**2 + STEPS**2) + outside

    def numbers(self, groups: int) -> int:
        """How many numbers are released of so many groups."""
        return groups * (self.size + (self.clipped > 0))

    @property
    def largest_product(self) -> int:
        """The largest size of k_j or of a product of two of them, of a row within the ball."""
        reach = max((c.reach for c in self.columns), default=0)
        return max(reach, min(reach, STEPS) ** 2)

    def vector(self, matrix: NDArray[Any]) -> list[int]:
        """Return the entries of a (d + 1, d + 1) matrix that are released, row by row."""
        cells = [int(cell) for cell in matrix.ravel()]
        return cells if self.count else cells[1:]

    def matrix(self, numbers: NDArray[Any], rows: int = 0) -> NDArray[Any]:
        """Return released numbers as a matrix of twice the sums, (i, j) and (j, i) added.

        ``rows`` is the public number of rows of the group, where it was not released.
        """
        cells = [int(number) for number in numbers]
        if not self.count:
            cells.insert(0, rows * self.constant**2)
        found = np.array(cells, dtype=object).reshape(self.width + 1, self.width + 1)
        doubled: NDArray[Any] = found + found.T
        return doubled


@dataclass(frozen=True, eq=False)
class MomentCells:
    """To which group each row belongs."""

    public: int = 1  # number of public groups
    # (n,) array of int, or (C,) array with ``combinations``: public group of each row (or
    # combination of public columns), -1 for none.
    codes: Whole | None = None
    combinations: Combinations | None = None  # where rows stay in an engine
    treatment: tuple[str, ...] = ()  # private columns of the treatment
    # Their values in each private arm; one arm without columns.
    values: tuple[tuple[float | str, ...], ...] = ((),)
    # Private columns whose codes make cells, the missing codes among them.
    levels: tuple[Column, ...] = ()
    # Rows without a value of this column are in no group, where that was declared public.
    present: str | None = None
    # Private columns of which a row has a value or none: each makes two cells of one.
    lacking: tuple[Column, ...] = ()

    @property
    def inner(self) -> int:
        """Private cells of one public group."""
        coded = math.prod(encoding(column).size for column in self.levels)
        return len(self.values) * (coded << len(self.lacking))

    @property
    def size(self) -> int:
        """Number of groups, of which ``inner`` are one public group."""
        return self.public * self.inner

    @property
    def divides(self) -> bool:
        """Whether rows have different private cells, or none."""
        inner = self.treatment or self.levels or self.lacking
        return bool(inner) or self.present is not None

    def cell(self) -> nw.Expr:
        """Return the private cell of a row, -1 for none, of a frame that is ``prepared``."""
        found = nw.lit(0, nw.Int64)
        if self.treatment:
            found = nw.lit(-1, nw.Int64)
            for place, values in enumerate(self.values):
                same = reduce(
                    lambda a, b: a & b,
                    [_equal(name, x) for name, x in zip(self.treatment, values, strict=True)],
                )
                found = nw.when(same).then(nw.lit(place, nw.Int64)).otherwise(found)
        for column in self.levels:
            coded = encoding(column)
            code = coded.expression().clip(0, coded.size - 1)
            found = nw.when(found >= 0).then(found * coded.size + code).otherwise(nw.lit(-1))
        for column in self.lacking:
            gone = nw.when(has_value(column)).then(nw.lit(0, nw.Int64)).otherwise(nw.lit(1))
            found = nw.when(found >= 0).then(found * 2 + gone).otherwise(nw.lit(-1))
        if self.present is not None:
            found = nw.when(present(self.present)).then(found).otherwise(nw.lit(-1))
        return found.cast(nw.Int64)


def has_value(column: Column) -> nw.Expr:
    """Whether each row has a value of a column; a missing text is null or empty."""
    if column.is_text:
        return ~nw.col(column.name).is_null() & (nw.col(column.name) != "")
    return present(column.name)


def _equal(name: str, value: float | str) -> nw.Expr:
    if isinstance(value, str):
        return (nw.col(name) == value).fill_null(False)
    x = nw.col(name).cast(nw.Float64)
    return (x == float(value)).fill_null(False)


def moment_sums(
    table: Table,
    grid: MomentsGrid,
    cells: MomentCells,
    relation: Relation,
    unit: str | None = None,
    counted: Counted | None = None,
) -> IntegerVector:
    """Add r r' over the rows of every group, exactly.

    The grid proves the sensitivity.  A row in no group counts nowhere; private cells need
    ``grid.count``.  ``unit`` says whose a row is, where ``grid.rows`` is above 1.  Other public
    counts than those at the door of an engine are refused.
    """
    if relation == "add-remove":
        raise ParameterError(
            "moments take the number of rows as public, which add-remove protects; use replace-one"
        )
    if grid.rows > 1 and (unit is None or isinstance(table, nw.LazyFrame)):
        raise ParameterError("several rows of a unit need its column, and rows that are in memory")
    if isinstance(table, nw.LazyFrame):
        if grid.weight is not None:
            raise ParameterError("weighted rows are added in memory; collect them first")
        check_in_engine(grid.width)
    if cells.inner > 1 and not grid.count:
        raise ParameterError(
            "the numbers of rows of private cells are released; give ``count=True``"
        )
    found, outside = (
        _in_engine(table, grid, cells, counted)
        if isinstance(table, nw.LazyFrame)
        else _in_memory(table, grid, cells, unit)
    )
    values = [number for matrix in found for number in grid.vector(matrix)]
    values += [number * grid.clipped for number in outside] if grid.clipped else []
    return IntegerVector(
        np.array(values, dtype=object), l1=grid.l1, l2_squared=grid.l2_squared, l_inf=grid.l_inf,
        relation=relation,
    )  # fmt: skip


def check_in_engine(width: int) -> None:
    """Refuse more columns than one query of an engine is asked for."""
    if width > MOST_IN_ENGINE:
        raise ParameterError(
            f"moments of {width} columns and products of a table in an engine; at most "
            f"{MOST_IN_ENGINE} are added in one query, and their sensitivity needs the same rows "
            "for all; ask for fewer, or collect the columns they need first"
        )


def _columns(grid: MomentsGrid, cells: MomentCells) -> list[Column]:
    """Return the columns that are coded, each once."""
    coded = [column for c in grid.columns for column in c.coded]
    texts = [column for column in cells.lacking if column.is_text]
    return list({column.name: column for column in (*coded, *cells.levels, *texts)}.values())


def _in_memory(
    table: Frame, grid: MomentsGrid, cells: MomentCells, unit: str | None
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return the matrix of every group, and how many of its rows were outside the ball."""
    total = np.zeros((cells.size, grid.width + 1, grid.width + 1), np.int64)
    clipped = np.zeros(cells.size, np.int64)
    for _, group, steps, outside in rows_in_ball(table, grid, cells, units_of(table, grid, unit)):
        clipped += np.bincount(group[outside & (group >= 0)], minlength=cells.size)
        for g, part in _by_group(group, steps, cells):
            total[g] += (part @ part.T).astype(np.int64)
    return list(total), clipped.tolist()


def _by_group(group: Whole, steps: Array, cells: MomentCells) -> Iterator[tuple[int, Array]]:
    """Yield the rows (d, m) of every group."""
    if cells.size == 1 and (group == 0).all():
        yield 0, steps
        return
    order = np.argsort(group, kind="stable")
    rows = steps[:, order]
    edges = np.searchsorted(group[order], np.arange(cells.size + 1))
    for g in range(cells.size):
        yield g, rows[:, edges[g] : edges[g + 1]]


def units_of(table: Frame, grid: MomentsGrid, unit: str | None) -> Whole | None:
    """Return whose each row is, as a code from 0 on; None where nobody has two rows."""
    if grid.rows == 1:
        return None
    assert unit is not None
    found = owners(table, unit).astype(np.int64)
    if (np.bincount(found, minlength=1) > grid.rows).any():  # the proof is of units of M rows
        raise ParameterError(f"a unit has more rows than {grid.rows}; declare a larger max_rows")
    return found


def rows_in_ball(
    table: Frame, grid: MomentsGrid, cells: MomentCells, units: Whole | None
) -> Iterator[tuple[int, Whole, Array, NDArray[np.bool_]]]:
    """Yield rows: the first one's place, their groups, r = (h, k), and whether they were moved.

    r is (d + 1, m).  What a row becomes is a function of the rows of its unit alone, and all of it
    whole numbers, which doubles hold.
    """
    for start, group, steps, outside in _inside(table, grid, cells, units):
        if grid.weight is not None:
            part = table[start : start + len(group)]
            weights = part.select(grid.weight.value().alias(_BY))[_BY].to_numpy()
            by = np.sqrt(weights / grid.weight.bounds[1])  # at most 1, so that no number grows
            steps = np.sign(steps) * np.floor(np.abs(steps) * by + 0.5)
        yield start, group, steps, outside


def _inside(
    table: Frame, grid: MomentsGrid, cells: MomentCells, units: Whole | None
) -> Iterator[tuple[int, Whole, Array, NDArray[np.bool_]]]:
    """Yield the rows as :func:`rows_in_ball`, each with the same weight."""
    free = 1 + np.flatnonzero([not column.exempt for column in grid.columns])
    if units is None:
        for start, group, steps in _rows(table, grid, cells):
            nobody = grid.projects_nobody
            moved = np.zeros(len(group), bool) if nobody else _move(steps, free, grid.room)
            yield start, group, steps, moved
        return
    rows = _less_means(table, grid, cells, units)
    # the square of a unit is that of all its rows, before they are moved and again after
    square = np.zeros(len(units), np.int64)  # no more units than rows
    for start, group, steps in rows():
        np.add.at(square, units[start : start + len(group)], _squares(steps, free))
    by, beyond = _by(square, grid.room), square > grid.room
    square[:] = 0
    for start, group, steps in rows():
        owner = units[start : start + len(group)]
        moved = _shortened(steps[free], by[owner])
        np.add.at(square, owner, (moved * moved).sum(0).astype(np.int64))
    inside = square <= grid.room
    for start, group, steps in rows():
        owner = units[start : start + len(group)]
        steps[free] = np.where(inside[owner], _shortened(steps[free], by[owner]), 0)
        yield start, group, steps, beyond[owner]


def _less_means(
    table: Frame, grid: MomentsGrid, cells: MomentCells, units: Whole
) -> Callable[[], Iterator[tuple[int, Whole, Array]]]:
    """Return :func:`_rows`, whose columns that are ``within`` lose the means of their units."""
    within = [j for j, column in enumerate(grid.columns, 1) if column.within]
    if not within:
        return lambda: _rows(table, grid, cells)
    count = np.bincount(units, minlength=1).astype(np.int64)
    total = np.zeros((len(count), len(within)), np.int64)
    for start, group, steps in _rows(table, grid, cells):
        np.add.at(total, units[start : start + len(group)], steps[within].T.astype(np.int64))

    def rows() -> Iterator[tuple[int, Whole, Array]]:
        for start, group, steps in _rows(table, grid, cells):
            owner = units[start : start + len(group)]
            m = count[owner]
            away = (2 * (m * steps[within].astype(np.int64) - total[owner].T) + m) // (2 * m)
            steps[within] = np.clip(away, -FARTHEST, FARTHEST)
            yield start, group, steps

    return rows


def _rows(
    table: Frame, grid: MomentsGrid, cells: MomentCells
) -> Iterator[tuple[int, Whole, Array]]:
    """Yield the rows as :func:`rows_in_ball`, not moved yet."""
    coded = prepared(table, _columns(grid, cells))
    read: Read = {_CELL: (cells.cell(), nw.Int64)} if cells.divides else {}
    for column in grid.columns:
        read |= column.read
    wanted = {name: expression for name, (expression, _) in read.items()}
    types = {name: dtype for name, (_, dtype) in read.items()}
    rows = min(_CHUNK, _CACHED * cells.size)
    for first in range(0, len(table), _CHUNK):
        found = compact(coded[first : first + _CHUNK], wanted, types)
        most = min(_CHUNK, len(table) - first)
        group = found.pop(_CELL) if cells.divides else np.zeros(most, np.int64)
        if cells.codes is not None:
            outer = cells.codes[first : first + _CHUNK]
            group = np.where((outer >= 0) & (group >= 0), outer * cells.inner + group, -1)
        for at in range(0, most, rows):
            some = {name: values[at : at + rows] for name, values in found.items()}
            here = group[at : at + rows]
            steps = np.empty((grid.width + 1, len(here)))
            steps[0] = grid.constant
            for j, column in enumerate(grid.columns, 1):
                steps[j] = column.of(some)
            yield first + at, here, steps


def _move(steps: Array, free: Whole, room: int) -> NDArray[np.bool_]:
    """Move the rows (d, m) that are outside into the ball, in place, and return which they are.

    ``free`` has the places of the columns that are moved.
    """
    square = _squares(steps, free)
    outside: NDArray[np.bool_] = square > room
    here = np.flatnonzero(outside)
    if len(here):
        by = _by(square[here], room)
        moved = np.array([np.trunc(steps[j].take(here) * by) for j in free])
        moved[:, np.einsum("ij,ij->j", moved, moved) > room] = 0.0
        for j, column in zip(free, moved, strict=True):
            steps[j, here] = column
    return outside


def _squares(steps: Array, free: Whole) -> Whole:
    """Squared lengths of rows (d, m), of some of the columns."""
    found, one = np.zeros(steps.shape[1]), np.empty(steps.shape[1])
    for j in free:
        found += np.multiply(steps[j], steps[j], out=one)
    return found.astype(np.int64)


def moved_in(free: Numbers, room: int) -> Numbers:
    """Return rows (n, d) of whole numbers, those whose squares sum to more than room moved in."""
    moved = _shortened(free.T, _by((free * free).sum(1), room))
    inside = (moved * moved).sum(0) <= room
    found: Numbers = np.where(inside, moved, 0).T.astype(free.dtype)
    return found


def _by(square: Numbers, room: int) -> Array:
    """Factors for rows of these squared lengths."""
    root = np.sqrt(np.maximum(square, 1).astype(float))
    return np.where(square > room, (math.isqrt(room) - 1) / root, 1.0)


def _shortened(free: Numbers, by: Array) -> Array:
    """Return columns (d, m) times the factors, rounded towards 0."""
    return np.trunc(free * by)


def _in_engine(
    table: nw.LazyFrame[Any], grid: MomentsGrid, cells: MomentCells, counted: Counted | None
) -> tuple[list[Any], list[int]]:
    """Result of :func:`_in_memory`, added by the engine, which keeps the rows."""
    d, free = grid.width, [j for j, c in enumerate(grid.columns) if not c.exempt]
    keys = list(cells.combinations.columns) if cells.combinations is not None else []
    by = [f"__g{i}" for i in range(len(keys))]
    rows = prepared(table, _columns(grid, cells)).select(
        *[nw.col(key).alias(name) for key, name in zip(keys, by, strict=True)],
        *([cells.cell().alias(_CELL)] if cells.divides else []),
        *[on_its_own(c.whole(), table).alias(f"k{j}") for j, c in enumerate(grid.columns)],
    )
    # by a constant, Polars takes the rows for sorted, and holds all of them
    if cells.divides:
        by.append(_CELL)
    shortened = bool(free) and not grid.projects_nobody
    if shortened:
        rows = _moved(rows, free, d, by, grid.room)
    # (0, j) is h times the sum of k_j, and the corner h^2 times the number of rows
    sums = {f"s{j}": nw.col(f"k{j}") for j in range(d)}
    sums |= {f"p{i}_{j}": nw.col(f"k{i}") * nw.col(f"k{j}") for i in range(d) for j in range(i, d)}
    if shortened and grid.clipped:
        sums[_OUTSIDE] = nw.col(_OUTSIDE)
    clipped = [0] * cells.size
    total = np.zeros((cells.size, d + 1, d + 1), dtype=object)
    doubles = counted is not None and counted.rows * grid.largest_product <= EXACT
    if not doubles:
        rows = rows.with_columns(*[nw.col(f"k{j}").cast(nw.Int64) for j in range(d)])
    answer = added(rows, sums, by, doubles=doubles)
    if counted is not None:
        _check_counts(answer, tuple(keys), counted)
    for row in answer:
        key, number = row[: len(by)], row[-1]
        cell = int(key.pop()) if cells.divides else 0
        group = _place(key, cells)
        if cell < 0 or group < 0:
            continue
        matrix = total[group * cells.inner + cell]
        matrix[0, 0] += number * grid.constant**2
        for name, value in zip(sums, row[len(by) : -1], strict=True):
            if name == _OUTSIDE:
                clipped[group * cells.inner + cell] += int(value)
                continue
            i, j = _entry(name)
            value = value * grid.constant if i == 0 else value
            matrix[i, j] += value
            if i != j:
                matrix[j, i] += value
    return list(total), clipped


def _moved(
    rows: nw.LazyFrame[Any], free: list[int], d: int, keys: list[str], room: int
) -> nw.LazyFrame[Any]:
    """Return the steps with the rows that are outside moved into the ball, as :func:`_move`."""
    held = [*keys, *[f"k{j}" for j in range(d) if j not in free], _OUTSIDE]
    # at most 108 squares of at most 2^40: a double holds their sum
    square = reduce(add, [nw.col(f"k{j}") * nw.col(f"k{j}") for j in free])
    rows = rows.with_columns(on_its_own(square, rows).alias(_SQUARE))
    # at least 1, so that no engine meets a division by zero in the branch that is not taken
    root = nw.max_horizontal(nw.col(_SQUARE), nw.lit(1.0)).sqrt()
    is_outside = nw.when(nw.col(_SQUARE) > float(room)).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    shrunk = nw.lit(float(math.isqrt(room) - 1)) / root
    rows = rows.with_columns(is_outside.alias(_OUTSIDE), shrunk.alias(_BY))
    # most rows are inside: what is computed of the others comes after ``then``
    outside = nw.when(nw.col(_OUTSIDE) > 0)
    moved = []
    for j in free:
        k = nw.col(f"k{j}")
        size = (k.abs() * nw.col(_BY)).floor().cast(nw.Float64)
        shorter = nw.when(k < 0).then(size * -1.0).otherwise(size)
        moved.append(on_its_own(outside.then(shorter).otherwise(k), rows).alias(f"k{j}"))
    rows = rows.select(*held, *moved)
    zero = nw.lit(0.0)
    rows = rows.with_columns(on_its_own(outside.then(square).otherwise(zero), rows).alias(_SQUARE))
    still = nw.when(nw.col(_SQUARE) > float(room))
    inside = [on_its_own(still.then(zero).otherwise(nw.col(f"k{j}")), rows) for j in free]
    return rows.select(*held, *[k.alias(f"k{j}") for j, k in zip(free, inside, strict=True)])


def _check_counts(answer: list[list[Any]], keys: tuple[str, ...], counted: Counted) -> None:
    """Refuse an answer of other rows than those at the door, by what of them is public."""
    found: dict[tuple[Any, ...], tuple[int, ...]] = {}
    for row in answer:
        key = tuple(row[: len(keys)]) if keys == counted.keys else ()
        found[key] = (found.get(key, (0,))[0] + row[-1],)
    if counted.present:
        check_rows(sum(number for (number,) in found.values()), counted.rows)
    else:
        check_counts(found, counted)


def _place(key: list[Any], cells: MomentCells) -> int:
    """Return the public group of a combination; -1 for one that was not there at the door."""
    if cells.combinations is None:
        return 0
    place = cells.combinations.places.get(tuple(key))
    if place is None:
        return -1
    return place if cells.codes is None else int(cells.codes[place])


def _entry(name: str) -> tuple[int, int]:
    """Return the place in the matrix of a sum of an engine."""
    if name[0] == "s":
        return 0, int(name[1:]) + 1
    i, j = name[1:].split("_")
    return int(i) + 1, int(j) + 1
