"""Declared regressions by one step: sums of weighted residuals, their totals and their squares.

The residual of a row is its clipped outcome less a fit that is a function of earlier releases and
of the row's own covariates.  Public weights of least squares turn sums of residuals into the
coefficients of treatment; squares give their errors.  All numbers are whole, and what one person
can move them by is a public constant, whatever the fit and the centres are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dprct.encoding import prepared
from dprct.errors import ModelPicklingError, ParameterError
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.group_moments import FARTHEST
from dprct.queries.kinds import KIND
from dprct.queries.sums import EXACT, GRID, compact
from dprct.records import dataclass
from dprct.schema.tables import collected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.queries.group_moments import Part, Scaled
    from dprct.queries.kinds import Kinds
    from dprct.queries.sums import Combinations
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table

    Whole = NDArray[np.int64]
    Array = NDArray[np.float64]
    Read = dict[str, tuple[nw.Expr, IntoDType]]
    Numbers = NDArray[Any]
    """Python's whole numbers, as an array of objects."""

MOST_ROWS = 1 << 28
"""Rows of which sums of residuals, and of halves of their squares, are below 2^53."""

FINEST = 1 << 52
"""The longest vector of weights of a cell, in whole numbers."""

LARGEST_FIT = GRID
"""Half steps of a fit at most: as much as the outcome's own reach."""

_CELL = "__place"


ALONE = -1
"""In the place of a feature: the coefficient of treatment itself."""


@dataclass(frozen=True)
class Fit:
    """What covariates of a row predict, as whole half steps of the outcome.

    Notes
    -----
    f = clip(floor((sum slopes k - level) / 2^shift), -H, H).  The sums of sizes are below 2^53, so
    that doubles add them exactly in any order, as they do multiples of 2^-shift: the same bits on
    every engine.  Slopes and level may be functions of earlier releases, never of rows.
    """

    columns: tuple[Scaled, ...]  # covariates in whole steps k, 2^20 of them at most
    slopes: tuple[int, ...]  # of a step, in 2^-shift half steps
    level: int  # what is taken away from the sum
    shift: int
    most: int  # H: the fit is clipped to [-H, H]; public

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.slopes):
            raise ParameterError("a fit needs one slope for each of its columns")
        if sum(map(abs, self.slopes)) * FARTHEST + abs(self.level) >= EXACT:
            raise ParameterError("the slopes of a fit are too long for exact sums")
        if not 0 <= self.most <= LARGEST_FIT or not 0 <= self.shift <= 1000:
            raise ParameterError("a fit is clipped to half of the outcome's range at most")

    @property
    def scaled(self) -> list[float]:
        """Slopes in half steps, and what is added to their sum."""
        return [one * 2.0**-self.shift for one in (*self.slopes, -self.level)]

    def of(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f of rows of which the sums of these are given; (m,), in place."""
        return np.floor(total, out=total).clip(-self.most, self.most, out=total)


@dataclass(frozen=True)
class Residual:
    """The residual of a row: y less the middle of its bounds less the fit, in whole half steps.

    Notes
    -----
    y is k = floor((y - l) 2^20 / (u - l) + 1/2) steps, 0 to 2^20, so that 2 k - 2^20 is its
    distance from the middle in half steps, and |r| is at most b = 2^20 + H for every legal row.
    """

    outcome: Part  # clipped at its public bounds (l, u); a half step is (u - l) / 2^21
    fit: Fit | None = None

    @property
    def reach(self) -> int:
        """B."""
        return GRID + (0 if self.fit is None else self.fit.most)

    @property
    def half_step(self) -> float:
        """One half step in units of the outcome."""
        low, high = self.outcome.bounds
        return (high - low) / GRID / 2

    @property
    def coded(self) -> list[Column]:
        """The columns that need an encoding."""
        parts = [
            self.outcome,
            *(p for c in (self.fit.columns if self.fit else ()) for p in c.parts),
        ]
        return [part.column for part in parts if part.level is not None]

    @property
    def read(self) -> Read:
        """What :meth:`centred` takes of the outcome."""
        return self.outcome.read

    def centred(self, found: Mapping[str, NDArray[Any]]) -> Array:
        """Return 2 k - 2^20 of each row as a double."""
        return _halves(self.outcome.of(found), self.outcome.bounds)


def _halves(x: Array, bounds: tuple[float, float]) -> Array:
    """Return 2 k - 2^20 of numbers within bounds, k = floor((x - l) 2^20 / (u - l) + 1/2)."""
    low, high = bounds
    if low:
        x -= low
    x /= (high - low) / GRID
    x += 0.5
    np.floor(x, out=x)
    x *= 2.0
    x -= float(GRID)
    return x


@dataclass(frozen=True, eq=False)
class PublicCells:
    """Where each row is, by public columns alone: arm, block, who has a value if that is public."""

    size: int  # C
    # (n,) array of int, or (G,) with ``combinations``: cell of each row, or of each combination of
    # public columns.
    codes: Whole
    # (K, n) or (K, G) array of int: clusters of each row by each of K columns, or by one.
    clusters: Whole | None = None
    combinations: Combinations | None = None  # where rows stay in an engine
    # (J,): the arm of each kind of people where treatment is private, -1 for none: ``codes`` are
    # then places, and the cells of a place are its arms, one after another.
    arms: Whole | None = None
    # (n,): whose each row is, where a person may have several.
    owner: Whole | None = None

    @property
    def relation(self) -> Relation:
        """Which tables are neighbours."""
        return "replace-one-design-public" if self.arms is None else "replace-one"

    def of(self, codes: Whole, kinds: NDArray[np.int32] | None) -> Whole:
        """Return the cells of rows by their places and kinds."""
        if self.arms is None or kinds is None:
            return codes
        arm, several = self.arms[kinds], max(self.arms.tolist()) + 1
        found: Whole = np.where((codes >= 0) & (arm >= 0), codes * several + arm, -1)
        return found


def root_above(square: int) -> int:
    """Smallest whole number whose square is not below another."""
    root = math.isqrt(square)
    return root + (root * root < square)


@dataclass(frozen=True, eq=False)
class OnGrid:
    """Whole numbers divided by what one person can move them by, on a grid of 2^20.

    Notes
    -----
    With W the length of the longest column of ``reach`` (rounded up), a number v becomes
    floor(v 2^20 / W + 1/2) on the grid.  x -> floor(x + 1/2) is monotone and commutes with adding
    whole numbers, so that where v moves by at most D, its value on the grid moves by at most
    ceil(D 2^20 / W).  A person's cell is public: the Euclidean norm of all moves together is at
    most the largest, over cells, of the root of the sum of their squares.  If m numbers move by D
    together, their values on the grid move by less than D 2^20 / W + m^.5, because each is off by
    less than 1.  ``twice`` holds on the grid too if m^.5 becomes (2 m)^.5, as
    2 (D / 2^.5 + m^.5)^2 is (D + (2 m)^.5)^2.
    """

    # (m, C) array of Python int: by how much one person of a cell moves each of m numbers at most.
    reach: Numbers
    # (C,) array of Python int: the square of what one person of a cell moves all of them by
    # together, where that is less than the sum of their squares.
    lengths: Numbers | None = None
    # (J,): kinds of people that count, where private columns choose them.
    holds: NDArray[np.bool_] | None = None
    # Whether ``lengths`` is at least twice what entering or leaving moves, squared.
    twice: bool = False

    @property
    def unit(self) -> int:
        """W: 2^20 of the grid, the smallest whole number that no column is longer than."""
        lengths = self.lengths
        if lengths is None:
            near = (self.reach.astype(float) ** 2).sum(axis=0)
            # sums of floats are off by less than 2^-30 for up to 2^20 numbers
            longest = self.reach[:, near >= max(near.tolist()) * (1 - 2.0**-30)]
            lengths = (longest * longest).sum(axis=0)
        return max(1, root_above(max(map(int, lengths))))

    @property
    def squared(self) -> Numbers:
        """Square of what one person of each cell moves all by together, on the grid; (C,)."""
        moves = self.moves
        found: Numbers = (moves * moves).sum(axis=0).astype(object)
        if self.lengths is None:
            return found
        more, unit = root_above(len(moves) * (2 if self.twice else 1)), self.unit
        whole = [(-(-root_above(int(one)) * GRID // unit) + more) ** 2 for one in self.lengths]
        if self.twice:
            return np.array(whole, dtype=object)
        return np.array([min(a, b) for a, b in zip(whole, found, strict=True)], dtype=object)

    @property
    def moves(self) -> Numbers:
        """By how much one person of each cell moves each number, on the grid; (m, C) of int.

        Floats are off by less than 2^-50 of a number: those that near a whole number are divided
        as whole numbers.
        """
        unit = self.unit
        near = self.reach.astype(float) * (GRID / unit)
        found = np.ceil(near).astype(np.int64)
        close = (abs(near - np.rint(near)) <= near * 2.0**-40) & (near > 0)
        found[close] = -((-self.reach[close] * GRID) // unit)
        return found

    def rounded(self, values: Sequence[int]) -> list[int]:
        """Return the numbers on the grid."""
        unit = self.unit
        return [(2 * int(value) * GRID + unit) // (2 * unit) for value in values]


MOST_PATTERNS = 64
"""With up to so many kinds of people, all pairs are compared; with more, the bound is the sum."""


def most_together(
    moved: Sequence[NDArray[Any]], holds: Sequence[NDArray[np.bool_] | None], *, both: bool
) -> Any:
    """Most that one person moves several regressions together, given what moves each; (C,) each.

    A person of a cell is of one kind, and may change to another; ``holds`` has the kinds (J,) that
    count in a regression, None where all do.  With ``both``, the person moves the regressions of
    both kinds, each by all of it; otherwise only those of the kind with the larger sum.

    Examples
    --------
    >>> women = np.array([True, False])
    >>> parts = [np.array([4]), np.array([3]), np.array([2])]
    >>> int(most_together(parts, [women, ~women, None], both=False))
    6
    >>> int(most_together(parts, [women, ~women, None], both=True))
    9
    """
    always = sum(
        (m for m, of in zip(moved, holds, strict=True) if of is None), np.zeros_like(moved[0])
    )
    chosen = [k for k, of in enumerate(holds) if of is not None]
    if not chosen:
        return max(always)
    kinds = np.unique(np.array([holds[k] for k in chosen]).T, axis=0)
    if both and len(kinds) > MOST_PATTERNS:
        kinds = np.ones((1, len(chosen)), bool)
    elif both:
        pairs = (kinds[:, None, :] | kinds[None, :, :]).reshape(-1, len(chosen))
        kinds = np.unique(pairs, axis=0)
    return max(
        max(
            always + sum((moved[k] for k, use in zip(chosen, kind, strict=True) if use), 0 * always)
        )
        for kind in kinds
    )


@dataclass(frozen=True, eq=False)
class Vector:
    """One vector of several regressions, and how sensitive it is.

    Notes
    -----
    Of regressions whose people private columns choose, a person who goes from some to others moves
    what was left and what was joined.  Where ``twice`` holds, these together move by at most
    half of the sum of both, and so by no more than those of one kind: levels of a partition cost as
    one.  Otherwise both count.
    """

    parts: tuple[OnGrid, ...]  # of each regression; all have the same cells

    @property
    def size(self) -> int:
        """Numbers of the vector."""
        return sum(len(part.reach) for part in self.parts)

    @property
    def sensitivities(self) -> tuple[int, int, int]:
        """L1, the square of L2, and the largest of one number."""
        holds, moves = [part.holds for part in self.parts], [part.moves for part in self.parts]
        both = not all(part.twice for part in self.parts if part.holds is not None)
        l2 = int(most_together([part.squared for part in self.parts], holds, both=both))
        l1 = int(most_together([each.sum(axis=0) for each in moves], holds, both=True))
        most = max(max(map(max, each.tolist())) for each in moves if each.size)
        return max(1, l1), max(1, l2), max(1, most)

    def sealed(
        self, values: Sequence[Sequence[int]], relation: Relation = "replace-one-design-public"
    ) -> IntegerVector:
        """Numbers of the parts, sealed."""
        numbers = [k for p, v in zip(self.parts, values, strict=True) for k in p.rounded(v)]
        l1, l2_squared, l_inf = self.sensitivities
        return IntegerVector(
            np.array(numbers, dtype=object), l1=l1, l2_squared=l2_squared, l_inf=l_inf,
            relation=relation,
        )  # fmt: skip


@dataclass(frozen=True)
class Feature:
    """A covariate, or a product of covariates, as whole half steps about its bounds' middle."""

    parts: tuple[Part, ...]
    bounds: tuple[float, float]  # (low, high): of the product; public
    flat: bool = False  # whether its admissible values are the two ends alone

    @property
    def coded(self) -> list[Column]:
        """The columns that need an encoding."""
        return [part.column for part in self.parts if part.level is not None]

    @property
    def read(self) -> Read:
        """What :meth:`of` takes of a frame that is ``prepared``."""
        return {name: one for part in self.parts for name, one in part.read.items()}

    def of(self, found: Mapping[str, NDArray[Any]]) -> Array:
        """Whole number u of each row, within -2^20 and 2^20."""
        x = reduce(mul, [part.of(found) for part in self.parts])
        u = _halves(np.clip(x, *self.bounds, out=x), self.bounds)
        return np.clip(u, -float(GRID), float(GRID), out=u)


@dataclass(frozen=True, eq=False)
class Gram:
    """The means and products of covariates over the rows that count.

    Notes
    -----
    2^20 sum v u_j, which one person moves by v 2^41 at most; sum v u_j u_l, by v 2^41;
    sum v u_j^2, by v 2^40.  Where it is private who counts, or how much, each row counts as much,
    and 2^40 sum v is the first of them, which one person moves by v 2^40.
    """

    features: tuple[int, ...]  # where they are among those that were read
    flat: tuple[bool, ...]  # which have two values alone, the ends: of these squares are public
    # (C,): public weight v of a row of each cell: 1 or, where weights differ, up to 2^20; 0 where
    # rows do not count.
    loads: Whole
    holds: NDArray[np.bool_] | None = None
    weighing: int | None = None

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Which products are released; of a covariate and 1, ``ALONE`` first."""
        each = range(len(self.features))
        hides = self.holds is not None or self.weighing is not None
        return (
            [(ALONE, ALONE)] * hides
            + [(ALONE, j) for j in each]
            + [(j, k) for j in each for k in each if j < k or (j == k and not self.flat[j])]
        )

    def at(self, j: int, k: int) -> tuple[Any, Any]:
        """Where an entry is in the matrix of 1 and covariates.

        The first of members is that of 1, and of the squares of what has two values.
        """
        if j == k == ALONE:
            ends = [0, *(1 + place for place, flat in enumerate(self.flat) if flat)]
            return ends, ends
        return j + 1, k + 1

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is a function of."""
        of_members = b"" if self.holds is None else self.holds.tobytes()
        return self.features, self.flat, self.loads.tobytes(), of_members, self.weighing

    @property
    def on_grid(self) -> OnGrid:
        """The numbers, and what moves them."""
        moved = [GRID**2 * (1 if j == k else 2) for j, k in self.entries]
        scale = 1 if self.weighing is None else GRID
        reach = np.outer(np.array(moved, dtype=object), self.loads.astype(object) * scale)
        return OnGrid(reach, holds=self.holds)

    def sums(self, rows: ResidualRows) -> list[int]:
        """The numbers, whole."""
        u: list[Any] = [*(rows.feature(one) for one in self.features), GRID]
        v = rows.counted(self)
        products = (u[k] * u[j] * v for j, k in self.entries)
        return [
            weighted_sums(self.loads[None], sums_by_cell(one, rows.cells, len(self.loads)))[0]
            for one in products
        ]


@dataclass(frozen=True, eq=False)
class Score:
    """The coefficients of treatment in one regression, as public functions of residuals.

    Notes
    -----
    *Several rows of a person.*  Which rows belong to whom, and their cells, are public and fixed.
    The residual of each row moves by at most 2 b, so that S_j moves by at most
    2 b sum_c n_c |a_jc| over the cells of the pattern, and the total of a block by 2 b times the
    loads of the person's rows in it.  All rows of a person are in one cluster.  For each
    coefficient, U_gj = sum of a_jc e over the rows of a cluster moves by at most
    d_j = 2 b sum_c n_c |a_jc|, and is clipped to C_j: its square moves by :func:`square_move`, and
    a product of two by :func:`product_move`, both of d and C.

    *Effects.*  S = sum a_i r_i, q numbers.  A person stays in cell c, since arm, block and cluster
    are public, and moves r by at most 2 b: S_j moves by at most 2 b |a_jc|.

    *Totals* of residuals by block, which centre the squares, move by at most 2 b in the one block
    of the cell, times its load, which is public.

    *Squares of rows.*  e = r - m_c is clipped to C_c, whatever m is, and its square moves by at
    most C_c^2.  The numbers sum a_jc a_lc e^2 for all j <= l are released: those of one cell are a
    public vector times sum e^2, and move together by |a_jc a_lc| C_c^2.

    *Classical errors.*  Only sum e^2 is released, over the rows that count, whatever weights their
    cells have: the covariance of the coefficients is a public matrix times it.  Each row of a
    person moves it by at most C_c^2.

    *Squares of clusters.*  E_g is the sum of e over the actual rows of a cluster, clipped to C_c.
    One person moves it by at most d = 2 b.  The squares of two numbers within [-C, C] that are d
    apart differ by at most f(d) = d (2 C - d) if d <= C, else C^2: (x - y)(x + y) is largest at
    x = C and y = C - d, or at y = 0 where that is below 0.  Here all rows of a cluster that
    count have the same weights; otherwise U_gj = sum_c a_jc E_gc is clipped to ``most[j]``, its
    square moves by f(2 b |a_jc|), and only the squares of the q coefficients are released.  Which
    cluster a person is in is public.

    *Two ways.*  Q_j = Q_1j + Q_2j - Q_12j is released, from the clusters of the first way, of the
    second and of both together; the sums of each are clipped at a bound of their own.  A person is
    in one cluster of each, and moves the three by at most f_1, f_2 and f_12, so that Q_j moves by
    at most their sum: it is one number, whose noise is smaller than that of three.
    """

    reach: int  # b of the residuals
    # (q, C) array of Python int: a of each coefficient and cell, on the grid of 2^52 that is the
    # longest column; 0 where rows do not count.
    weights: Numbers
    blocks: Whole  # (C,): in which total of residuals a cell counts, -1 for none
    clusters: bool = False  # whether errors are those of clusters
    # (C,): public weight of a row of each cell in the totals, 0 to 2^20; 1 everywhere if None.
    loads: Whole | None = None
    # (2, C): where a person may have several rows, all of which may change: of each cell the public
    # pattern of the persons who are in it, in order, and how many of their rows are.  Numbers then
    # move by pattern, not by cell.
    members: Whole | None = None
    # (J,): kinds of people that count, where private columns choose them; all if None.
    holds: NDArray[np.bool_] | None = None
    # (C,): cells whose rows count, where errors are classical; None where they are not.
    counted: NDArray[np.bool_] | None = None
    by: int = 0  # which clusters of :class:`PublicCells` its errors have
    weighing: int | None = None  # which covariate is the weight of a row, where that is private
    # Where errors are clustered in two ways: which clusters are those of the first, of the second,
    # and of both together.
    ways: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Q."""
        return len(self.weights)

    @property
    def effects(self) -> OnGrid:
        """The coefficients."""
        return OnGrid(2 * self.reach * self._of_a_person(abs(self.weights)))

    def _of_a_person(self, by_cell: Numbers) -> Numbers:
        """What all rows of one person add up to, of each pattern; of one row, of each cell."""
        if self.members is None:
            return by_cell
        pattern, rows = self.members
        found = np.zeros((len(by_cell), int(pattern[-1]) + 1), dtype=object)
        for cell, (one, times) in enumerate(zip(pattern.tolist(), rows.tolist(), strict=True)):
            found[:, one] += by_cell[:, cell] * times
        return found

    @property
    def totals(self) -> OnGrid:
        """The totals of residuals by block."""
        found = np.zeros((int(self.blocks.max()) + 1, len(self.blocks)), dtype=object)
        for cell in np.flatnonzero(self.blocks >= 0):
            found[self.blocks[cell], cell] = 2 * self.reach * self.load(int(cell))
        return OnGrid(self._of_a_person(found))

    def load(self, cell: int) -> int:
        """Return the weight of a row of a cell in the totals."""
        return 1 if self.loads is None else int(self.loads[cell])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The coefficients whose products are released with joint errors."""
        return [(j, k) for j in range(self.size) for k in range(j, self.size)]

    @property
    def counting(self) -> NDArray[np.bool_]:
        """Which cells count; (C,)."""
        if self.counted is not None:
            return self.counted
        return np.array([any(column) for column in self.weights.T], bool)

    @property
    def alike(self) -> Whole:
        """The first cell that has the weights of each cell; (C,)."""
        first: dict[tuple[int, ...], int] = {}
        columns = [tuple(map(int, column)) for column in self.weights.T]
        return np.array([first.setdefault(c, at) for at, c in enumerate(columns)], np.int64)

    def effect_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """Sum of a r of every coefficient, whole."""
        return weighted_sums(self.weights, rows.sums(residual, self.weights.shape[1]))

    def total_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """Totals of residuals by block, whole."""
        found = [0] * (int(self.blocks.max()) + 1)
        of_cells = zip(self.blocks, rows.sums(residual, len(self.blocks)), strict=True)
        for cell, (block, total) in enumerate(of_cells):
            if block >= 0:
                found[block] += self.load(cell) * total
        return found

    def square_sums(
        self, rows: ResidualRows, residual: int, centre: Any, most: Sequence[int], joint: bool
    ) -> list[int]:
        """Squares, whole; ``centre`` has m_c of every cell, ``most`` is as :meth:`squares` has it.

        A regression with products of treatment and covariates has its own.
        """
        return rows.squared(residual, self, centre, most, joint)

    def squares(self, most: Sequence[int], *, joint: bool = True) -> OnGrid:
        """Return the squares of residuals or clusters that are clipped to ``most``.

        ``most`` has one number for each cell; without ``joint``, for each coefficient, of two ways
        those of the first, of the second and of both.
        """
        if self.ways:
            each = [one.squares(clips, joint=False).reach for one, clips in self.of_ways(most)]
            return OnGrid(sum(each[1:], each[0]))
        if self.counted is not None:
            return OnGrid(self._of_a_person(np.array([[int(c) ** 2 for c in most]], dtype=object)))
        if self.members is not None:
            return self._squares_of_persons(most)
        if joint:
            moved = [
                square_move(2 * self.reach, c) if self.clusters else c * c for c in map(int, most)
            ]
            sizes = abs(self.weights)
            of = sizes * np.array(moved, dtype=object)
            return OnGrid(np.array([of[j] * sizes[k] for j, k in self.pairs], dtype=object))
        d = 2 * self.reach * abs(self.weights)
        found = [[square_move(int(x), int(c)) for x in row] for row, c in zip(d, most, strict=True)]
        return OnGrid(np.array(found, dtype=object))

    def of_ways(self, most: Sequence[int]) -> list[tuple[Score, Sequence[int]]]:
        """Return what each of two ways is by itself, and both together, with its clips."""
        return [
            (replace(self, by=by, ways=()), most[at * self.size : (at + 1) * self.size])
            for at, by in enumerate(self.ways)
        ]

    def _squares_of_persons(self, most: Sequence[int]) -> OnGrid:
        d, c = self.effects.reach, list(map(int, most))
        found = [
            [square_move(int(x), c[j]) for x in d[j]]
            if j == k
            else [product_move(int(x), c[j], int(y), c[k]) for x, y in zip(d[j], d[k], strict=True)]
            for j, k in self.pairs
        ]
        return OnGrid(np.array(found, dtype=object))


def square_move(d: int, most: int) -> int:
    """Amount by which the square of a number within [-most, most] moves if that moves by d.

    Examples
    --------
    >>> square_move(2, 10), square_move(30, 10)
    (36, 100)
    """
    return d * (2 * most - d) if d <= most else most * most


def product_move(d: int, most: int, other: int, most_of_other: int) -> int:
    """Return by how much a product of two numbers moves, within [-most, most] and its like.

    The numbers move by d and ``other`` at most.  In units of their bounds, s and t, the product
    moves by s + t - s t where both are at most 1, met at both ends of the same sign; else by the
    larger of s and t, met where only that one moves, and by 2 at most.

    Examples
    --------
    >>> product_move(2, 10, 2, 10), product_move(30, 10, 1, 10), product_move(15, 10, 12, 10)
    (36, 200, 150)
    """
    d, other = min(d, 2 * most), min(other, 2 * most_of_other)
    if d <= most and other <= most_of_other:
        return d * most_of_other + other * most - d * other
    return max(d * most_of_other, other * most)


@dataclass(frozen=True, eq=False)
class Cross:
    """The products of the residuals of two regressions.

    Notes
    -----
    Released are sum a_jc a'_lc e e' of all j and l, of j <= l where both have the same weights a
    and a'.  e and e' are the residuals of the two of a row that counts in both, or their sums over
    a cluster, each clipped as in its own squares.  Together with the squares of both they are the
    covariance of all coefficients of the two.

    *Cells that count in both.*  A person moves e and e' there, by 2 b and 2 b', and their product
    by :func:`product_move`; the numbers of a cell are a public vector times it.  Of clusters the
    same holds, for all rows of a cluster that count in a regression have the weights of the cell.

    *Cells that count in one of them.*  A row has no product.  A cluster may have: E_g moves by
    2 b or 2 C_c at most, whichever is less, and E'_g is not moved, so that a'_g E'_g is at most
    the largest |a'_lc'| C'_c' of all cells.
    """

    # first, second: places of the two among the regressions of a release.
    first: int
    second: int

    def entries(self, scores: Sequence[Score]) -> list[tuple[int, int]]:
        """Return which coefficients of the two the numbers are of."""
        one, other = scores[self.first], scores[self.second]
        if np.array_equal(one.weights, other.weights):
            return one.pairs
        return [(j, k) for j in range(one.size) for k in range(other.size)]

    def moves(self, scores: Sequence[Score], most: Sequence[Sequence[int]]) -> OnGrid:
        """Return what one person moves the products by."""
        one, other = scores[self.first], scores[self.second]
        clips = [np.array(list(map(int, most[at])), object) for at in (self.first, self.second)]
        sizes = [abs(one.weights), abs(other.weights)]
        both = np.array([
            product_move(2 * one.reach, c, 2 * other.reach, k)
            for c, k in zip(*clips, strict=True)
        ], dtype=object)  # fmt: skip
        found = [sizes[0][j] * sizes[1][k] * both for j, k in self.entries(scores)]
        if one.clusters:
            alone = [a * (~b.any(axis=0)) * np.minimum(2 * score.reach, 2 * c)
                     for a, b, score, c in zip(sizes, sizes[::-1], (one, other), clips,
                                               strict=True)]  # fmt: skip
            whole = [(a * c).max(axis=1) for a, c in zip(sizes, clips, strict=True)]
            found = [
                numbers + alone[0][j] * whole[1][k] + alone[1][k] * whole[0][j]
                for numbers, (j, k) in zip(found, self.entries(scores), strict=True)
            ]
        return OnGrid(np.array(found, dtype=object))


_Clipped: TypeAlias = tuple[int, Score, "Sequence[int]", "Sequence[int]"]
"""A regression for its squares: residual, score, centre of every cell, and clip of every cell."""

_Table: TypeAlias = "tuple[_Clipped, Whole, Whole]"


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some rows in the order of their cells; those in no cell, at place 0, come first.

    ``cells`` are the places that occur among ``rows``, each ``counts`` times, from ``starts`` on.
    """

    rows: Any  # their places: a slice where they are in that order already
    cells: Whole
    counts: Whole
    starts: Whole

    @classmethod
    def of(cls, cells: Whole, start: int) -> _Piece:
        """Return the rows from a place on."""
        place = cells[start : start + _SORTED] + 1
        rows: Any = slice(start, start + len(place))
        if (np.diff(place) < 0).any():
            rows = _order(cells, start)
            place = cells[rows] + 1
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        return cls(rows, place[starts], np.diff(starts, append=len(place)), starts)

    def spread(self, table: Whole) -> Whole:
        """Return the number of its place for each row."""
        found: Whole = table[self.cells].repeat(self.counts)
        return found

    def added(self, values: NDArray[Any]) -> Whole:
        """Return the sum of the rows of each cell that occurs."""
        found: Whole = np.add.reduceat(values, self.starts, dtype=np.int64)
        return found

    def ends(self) -> list[tuple[int, int, int]]:
        """Return the place of each cell that occurs, and its first and last row here."""
        last = self.starts + self.counts
        return list(zip(self.cells.tolist(), self.starts.tolist(), last.tolist(), strict=True))


def _order(cells: Whole, start: int) -> Whole:
    """Return some rows from a place on, in the order of their cells."""
    found: Whole = start + np.argsort(cells[start : start + _SORTED], kind="stable")
    return found


class ResidualRows:
    """The residuals of all rows, and where each row is; confidential.

    Notes
    -----
    It is made of one pass over the table and lives as long as a draw.  It is not pickled.
    """

    __slots__ = (
        "_cells", "_clusters", "_counting", "_features", "_groups", "_kinds", "_ordered",
        "_owner", "_relation", "_sums", "_values",
    )  # fmt: skip

    def __init__(
        self, values: list[NDArray[np.int32]], cells: Whole, clusters: Whole | None,
        features: Sequence[NDArray[np.int32]] = (), kinds: NDArray[np.int32] | None = None,
        relation: Relation = "replace-one-design-public", owner: Whole | None = None,
    ):  # fmt: skip
        self._relation, self._owner = relation, owner
        self._values, self._cells = values, cells
        self._clusters = None if clusters is None else np.atleast_2d(clusters)
        self._features, self._kinds = features, kinds
        self._sums: dict[int, list[int]] = {}
        self._ordered: list[_Piece] | None = None
        self._groups: dict[tuple[int, int, bytes], tuple[Whole, Whole, Whole]] = {}
        self._counting: dict[bytes, Any] = {}

    @classmethod
    def of(
        cls, frame: Table, residuals: Sequence[Residual], cells: PublicCells,
        features: Sequence[Feature] = (), kinds: Kinds | None = None,
    ) -> ResidualRows:  # fmt: skip
        """Read the rows of any engine, once; total."""
        listed: list[Residual | Feature | Kinds | Scaled] = [*residuals, *features]
        listed += [] if kinds is None else [kinds]
        coded = {column.name: column for one in listed for column in one.coded}
        table = prepared(frame, list(coded.values()))
        fits = [one.fit if one.fit is not None and one.fit.most else None for one in residuals]
        columns = list(dict.fromkeys(column for fit in fits if fit for column in fit.columns))
        listed += columns
        read = {name: asked for one in listed for name, asked in one.read.items()}
        found, places = _read(table, read, cells.combinations)
        at = cells.codes if places is None else np.where(places >= 0, cells.codes[places], -1)
        clusters = cells.clusters
        if places is not None and clusters is not None:
            clusters = clusters[..., places]
        slopes = np.zeros((len(fits), len(columns) + 1))
        for fit, row in zip(fits, slopes, strict=True):
            if fit is not None:
                row[[*(columns.index(one) for one in fit.columns), -1]] = fit.scaled
        distinct = {one.outcome: one for one in residuals}
        kind = found.pop(KIND, None)
        at = cells.of(at, kind)
        # numbers of two bytes are sorted by their digits, several times as fast
        small: Any = at.astype(np.int16) if cells.size < 1 << 15 else at
        starts = range(0, len(at), _SORTED)
        rows = np.concatenate([*(_order(small, start) for start in starts), np.arange(0)])
        values, u = (np.empty((len(ones), len(at)), np.int32) for ones in (residuals, features))
        for start in range(0, len(at), _CACHED):
            here = slice(start, start + _CACHED)
            some = {name: x[rows[here]] for name, x in found.items()}
            # whole multiples of 2^-shift, columns of other fits times 0: exact in any order
            steps = np.ones((len(columns) + 1, len(rows[here])))
            for j, one in enumerate(columns):
                steps[j] = one.of(some)
            totals = slopes @ steps
            centred = {outcome: one.centred(some) for outcome, one in distinct.items()}
            for of_fit, residual, fit, total in zip(values, residuals, fits, totals, strict=True):
                r, f = centred[residual.outcome], 0.0 if fit is None else fit.of(total)
                np.subtract(r, f, out=of_fit[here], casting="unsafe")
            for of_feature, feature in zip(u, features, strict=True):
                of_feature[here] = feature.of(some)
        kind, owner = (None if one is None else one[rows] for one in (kind, cells.owner))
        clusters = None if clusters is None else clusters[..., rows]
        return cls(list(values), at[rows], clusters, list(u), kind, cells.relation, owner)

    def __reduce_ex__(self, protocol: object) -> Any:
        """Refuse to leave the process."""
        raise ModelPicklingError("residuals of confidential rows cannot be pickled or copied")

    @property
    def cells(self) -> Whole:
        """Cell of every row, -1 for none."""
        return self._cells

    def clusters(self, score: Score) -> Whole:
        """Cluster of every row in the errors of a regression."""
        assert self._clusters is not None
        found: Whole = self._clusters[score.by]
        return found

    def residuals(self, residual: int) -> Whole:
        """Residual of every row."""
        return self._values[residual].astype(np.int64)

    def feature(self, feature: int) -> Whole:
        """Covariate of every row that treatment is multiplied by."""
        return self._features[feature].astype(np.int64)

    def weight(self, feature: int, rows: Any = slice(None)) -> Whole:
        """Weight of some rows, a whole number of 2^-20 of the largest."""
        found: Whole = (self._features[feature][rows].astype(np.int64) + GRID) >> 1
        return found

    def sums(self, residual: int, size: int) -> list[int]:
        """Return the sum of residuals of every cell."""
        if residual not in self._sums:
            by = np.zeros(size + 1, np.int64)  # those who are in no cell are at place 0
            for piece in self._pieces():
                by[piece.cells] += piece.added(self._values[residual][piece.rows])
            self._sums[residual] = by[1:].tolist()
        return self._sums[residual]

    def effects(self, residuals: Sequence[int], scores: Sequence[Score]) -> IntegerVector:
        """Return sum a r of every regression, sealed."""
        parts = Vector(tuple(one.effects for one in scores))
        return parts.sealed(
            [one.effect_sums(self, k) for k, one in zip(residuals, scores, strict=True)],
            self._relation,
        )

    def totals(
        self, residuals: Sequence[int], scores: Sequence[Score], grams: Sequence[Gram] = ()
    ) -> IntegerVector:
        """Totals of residuals by block of every regression, and products of covariates, sealed."""
        values = [one.total_sums(self, k) for k, one in zip(residuals, scores, strict=True)]
        values += [one.sums(self) for one in grams]
        parts = (*(one.totals for one in scores), *(one.on_grid for one in grams))
        return Vector(parts).sealed(values, self._relation)

    def squares(
        self,
        residuals: Sequence[int],
        scores: Sequence[Score],
        centres: Sequence[Any],
        most: Sequence[Sequence[int]],
        joint: Sequence[bool],
        crosses: Sequence[Cross] = (),
    ) -> IntegerVector:
        """Return the squares of every regression, sealed, and products of two of them after these.

        ``centres`` has m_c of every cell, ``most`` what :meth:`Score.squares` takes.
        """
        asked = list(zip(residuals, scores, centres, most, joint, strict=True))
        values = [
            score.square_sums(self, k, centre, c, both) for k, score, centre, c, both in asked
        ]
        parts = [score.squares(c, joint=both) for _, score, _, c, both in asked]
        for cross in crosses:
            two = asked[cross.first][:4], asked[cross.second][:4]
            values.append(self._products(*two, cross.entries(scores)))
            parts.append(cross.moves(scores, most))
        return Vector(tuple(parts)).sealed(values, self._relation)

    def _products(
        self, one: _Clipped, other: _Clipped, entries: Sequence[tuple[int, int]]
    ) -> list[int]:
        """Return the sums of products of the clipped residuals, or sums of clusters, of two."""
        clusters = one[1].clusters
        sums = self._of_clusters(one, other) if clusters else self._of_rows(one, other)
        a, b = one[1].weights, other[1].weights
        return [
            sum(int(a[j, c]) * int(b[k, d]) * total for c, d, total in sums) for j, k in entries
        ]

    def _of_rows(self, one: _Clipped, other: _Clipped) -> list[tuple[int, int, int]]:
        """Return the cells that count in two regressions, and the sum of products of each."""
        size = one[1].weights.shape[1]
        tables = [_tables(two) for two in ((one,) if one is other else (one, other))]
        by = np.zeros(size + 1, object)  # a product is 2^44 at most, and there are 2^15 in a piece
        plain = one is other and one[1].holds is None and one[1].weighing is None
        for piece in self._pieces():
            if plain and len(piece.cells) <= _FEW_CELLS:
                for cell, total in self._added(tables[0], piece):
                    by[cell] += total
                continue
            e = [self._clipped(table, piece) for table in tables]
            by[piece.cells] += piece.added(np.multiply(e[0], e[-1], out=e[0]))
        return [(c, c, total) for c, total in enumerate(by[1:].tolist()) if total]

    def _added(self, table: _Table, piece: _Piece) -> Iterator[tuple[int, int]]:
        """Yield the sums of squares that :meth:`_clipped` and a product have, cell by cell."""
        (residual, *_), centre, most = table
        r = self._values[residual][piece.rows]
        for cell, start, end in piece.ends():
            clip = int(most[cell])
            if clip:
                e = np.subtract(r[start:end], centre[cell], dtype=np.int64)
                e = e.clip(-clip, clip, out=e)
                if clip * clip * len(e) <= EXACT:
                    e = e.astype(np.float64)
                yield cell, int(e @ e)

    def _clipped(self, table: _Table, piece: _Piece) -> Whole:
        """Return e of the rows of a piece, clipped; 0 where they do not count."""
        (residual, score, *_), centre, most = table
        e = self._values[residual][piece.rows] - piece.spread(centre)
        e, clip = self._weighed(score, e, piece.rows), piece.spread(most)
        np.clip(e, -clip, clip, out=e)
        if score.holds is not None:
            e *= score.holds[self.kinds[piece.rows]]
        return e

    def _pieces(self) -> list[_Piece]:
        """Return the rows, piece by piece, each in the order of their cells."""
        if self._ordered is None:
            starts = range(0, len(self._cells), _SORTED)
            self._ordered = [_Piece.of(self._cells, start) for start in starts]
        return self._ordered

    def _of_clusters(self, *two: _Clipped) -> list[tuple[int, int, int]]:
        """Return the cells of clusters in two regressions, and the sum of products of each pair."""
        if two[0] is two[1] and max(map(int, two[0][3])) < 1 << 31:
            _, cell, e = self._cluster_sums(two[0])
            totals = sums_by_cell(e * e, cell, two[0][1].weights.shape[1])
            return [(c, c, total) for c, total in enumerate(totals) if total]
        found, sums = [], dict[tuple[int, int], int]()
        for one_of in two:
            each = (x.tolist() for x in self._cluster_sums(one_of))
            found.append({g: (c, x) for g, c, x in zip(*each, strict=True)})
        one, other = found
        for g, (c, x) in one.items():
            if g in other:
                d, y = other[g]
                sums[c, d] = sums.get((c, d), 0) + x * y
        return [(c, d, total) for (c, d), total in sums.items()]

    def _cluster_sums(self, of: _Clipped) -> tuple[Whole, Whole, Whole]:
        """Return the clusters that count, the cell of each, and its sum of e, clipped."""
        residual, score, centre, most = of
        clusters, cell, by = self._places(score)
        middle, away = np.array(centre, np.int64), np.zeros(len(cell), np.int64)
        if score.weighing is None and (middle == middle[score.alike])[score.counting].all():
            e = self._values[residual][self._inside(score)]
            away = np.bincount(by, minlength=len(cell)) * middle[cell]
        else:
            e = self._residuals(residual, score, centre)
        e = np.bincount(by, e, minlength=len(cell)).astype(np.int64) - away
        clip = np.array(most, np.int64)[cell]
        return clusters, cell, np.clip(e, -clip, clip)

    def _inside(self, score: Score) -> Any:
        """Return which rows count in a regression."""
        counts = score.counting
        key = counts.tobytes() + (b"" if score.holds is None else score.holds.tobytes())
        if key not in self._counting:
            here = (self._cells >= 0) & counts[self._cells]
            here &= self.chosen(score)
            self._counting[key] = slice(None) if here.all() else here
        return self._counting[key]

    def chosen(self, score: Score | Gram) -> Any:
        """Return which rows the private columns of a regression choose.

        Of persons who may have several, those all of whose rows meet the condition.
        """
        if score.holds is None:
            return True
        found = score.holds[self.kinds]
        return (
            found if self._owner is None else (np.bincount(self._owner, ~found) == 0)[self._owner]
        )

    def counted(self, score: Score | Gram) -> Whole:
        """Return what each row counts by private columns: 0 or 1, or its weight."""
        found = np.ones(len(self._cells), np.int64)
        if score.weighing is not None:
            found = self.weight(score.weighing)
        counted: Whole = found * self.chosen(score)
        return counted

    @property
    def kinds(self) -> NDArray[np.int32]:
        """Kind of every row."""
        assert self._kinds is not None
        return self._kinds

    def _residuals(self, residual: int, score: Score, centre: Sequence[int]) -> Whole:
        """Return e of the rows that count."""
        inside = self._inside(score)
        cell = self._cells[inside]
        middle = np.array(centre, np.int64)[cell]
        e: Whole = self._values[residual][inside].astype(np.int64) - middle
        return self._weighed(score, e, inside)

    def _weighed(self, score: Score, e: Whole, rows: Any) -> Whole:
        """Return e of some rows, times their weights where these are private."""
        if score.weighing is None:
            return e
        found: Whole = (e * self.weight(score.weighing, rows) + (GRID >> 1)) >> 20
        return found

    def _places(self, score: Score) -> tuple[Whole, Whole, Whole]:
        """Return the clusters that count, the cell of each, and the place of every row's."""
        of, at, place = self._grouped(score)
        if len(set(of.tolist())) < len(of):
            raise ParameterError("clusters whose rows have other weights have no joint squares")
        return of, at, place

    def _grouped(self, score: Score) -> tuple[Whole, Whole, Whole]:
        """Return the pairs of a cluster and weights that count, and the place of every row's."""
        inside, alike, size = self._inside(score), score.alike, score.weights.shape[1]
        key = score.by, id(inside), alike.tobytes()  # what is inside is kept as long as this
        if key not in self._groups:
            places = self.clusters(score)[inside] * size + alike[self._cells[inside]]
            pairs, place = np.unique(places, return_inverse=True)
            self._groups[key] = *np.divmod(pairs, size), place
        return self._groups[key]

    def squared(
        self, residual: int, score: Score, centre: Sequence[int], most: Sequence[int], both: bool
    ) -> list[int]:
        """Squares of residuals or clusters of one regression, whole."""
        if score.ways:
            parts = [
                self.squared(residual, way, centre, c, False) for way, c in score.of_ways(most)
            ]
            return [one + other - less for one, other, less in zip(*parts, strict=True)]
        one = residual, score, centre, most
        if score.counted is not None:
            return [sum(total for _, _, total in self._of_rows(one, one))]
        if score.members is None and (both or not score.clusters):
            return self._products(one, one, score.pairs)
        of, at, place = self._grouped(score)
        e = self._residuals(residual, score, centre)
        sums = np.bincount(place, e, minlength=len(of)).astype(np.int64)
        found = [dict[int, int]() for _ in range(score.size)]
        for g, c, total in zip(of.tolist(), at.tolist(), sums.tolist(), strict=True):
            for j, sums_of in enumerate(found):
                sums_of[g] = sums_of.get(g, 0) + int(score.weights[j, c]) * total
        clipped = [
            {g: min(max(u, -int(c)), int(c)) for g, u in one.items()}
            for one, c in zip(found, most, strict=True)
        ]
        each = [(j, j) for j in range(score.size)] if score.members is None else score.pairs
        return [sum(u * clipped[k][g] for g, u in clipped[j].items()) for j, k in each]


def _tables(two: _Clipped) -> _Table:
    """Return a regression for its squares, and centre and clip at place 1 + cell, 0 of no cell."""
    _, score, centre, most = two
    clip = np.where(score.counting, np.array(most, np.int64), 0)
    return two, np.array([0, *centre], np.int64), np.array([0, *clip.tolist()], np.int64)


_CACHED = 1 << 13
"""Rows of which residuals are computed at a time: a processor's cache holds their columns."""

_SORTED = 1 << 15
"""Rows that are put in the order of their cells: products below 2^38 of them are added exactly by
doubles."""

_FEW_CELLS = 64
"""Of such rows, whose residuals are centred and clipped cell by cell."""


def _read(
    table: Any, wanted: Read, where: Combinations | None
) -> tuple[dict[str, NDArray[Any]], Whole | None]:
    """Return columns of every row in one pass, and, of an engine, its public combination."""
    types = {name: dtype for name, (_, dtype) in wanted.items()}
    chosen = {name: expression for name, (expression, _) in wanted.items()}
    if where is None:
        return compact(table, chosen, types), None
    keys = [nw.col(name).alias(f"{_CELL}{i}") for i, name in enumerate(where.columns)]
    rows = collected(
        table.select(*keys, *[e.cast(types[name]).alias(name) for name, e in chosen.items()])
    )
    columns = [rows[f"{_CELL}{i}"].to_list() for i in range(len(keys))]
    there = zip(*columns, strict=True) if keys else [()] * len(rows)
    # who was not there at the door is in no cell, and no error
    places = np.array([where.places.get(_found(key), -1) for key in there], np.int64)
    return {name: rows[name].to_numpy() for name in wanted}, places


def _found(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if x is None or x != x else x for x in key)


def sums_by_cell(values: Whole, cells: Whole, size: int) -> list[int]:
    """Sums of whole numbers below 2^62 by cell; doubles add numbers below 2^53."""
    here = cells >= 0
    inside, some, low = cells[here], values[here], GRID - 1
    limbs = some >> 40, (some >> 20) & low, some & low
    parts = [np.bincount(inside, limb, minlength=size) for limb in limbs]
    return [(int(a) << 40) + (int(b) << 20) + int(c) for a, b, c in zip(*parts, strict=True)]


def weighted_sums(weights: Numbers, sums: Sequence[int]) -> list[int]:
    """Return the sums over cells of weights times whole numbers, exactly; one for each row."""
    return [sum(int(a) * s for a, s in zip(row, sums, strict=True)) for row in weights]
