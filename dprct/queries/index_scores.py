"""Scores and information of models of an index (logit and its like), at given coefficients.

A step of Newton's method asks for two sums over rows: e v, and w v v', where v are the regressors
of a row, within a public ball, and e and w are public functions of its outcome and of its index.
Coefficients may be functions of earlier releases: what one person can move the sums by is a public
constant, whatever they are.  All numbers are whole, links are tables of whole numbers, and rows are
added in memory, so that every engine has the same bits.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.encoding import prepared
from dprct.errors import ModelPicklingError, ParameterError
from dprct.lazy import narwhals as nw
from dprct.lazy import special
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.group_moments import (
    STEPS,
    MomentCells,
    Part,
    has_value,
    moved_in,
    rows_in_ball,
)
from dprct.queries.kinds import KIND
from dprct.queries.sums import compact
from dprct.records import dataclass
from dprct.schema.tables import check_rows, collected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.queries.group_moments import MomentsGrid
    from dprct.queries.kinds import Kinds
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table

    Whole = NDArray[np.int64]

Family = Literal["logit", "probit", "cloglog", "poisson"]

ONE = 1 << 20
"""A probability of 1, or the largest value of a count, in the steps of residuals."""

FINE = 1 << 12
"""Steps of the index in 1."""

SHIFT = 30
"""Coefficients are whole numbers of 2^-30 steps of the index for a step of a regressor."""

LONGEST = 1 << 42
"""The sizes of coefficients sum to this at most, so that an index is below 2^62."""

FARTHEST = {"logit": 16, "probit": 3, "cloglog": 16, "poisson": 16}
"""Size at which the index of a row is clipped; of a probit residuals grow with it."""

MOST_HAZARD = 3.0
"""At which exp of the index of a cloglog is clipped: a probability of .95."""

MOST_REGRESSORS = 1 << 8

WIDEST = 1 << 18
"""The longest that v of a legal row may be, so that products are exact in doubles."""

COARSER = 20
"""Bits that are rounded away of the sums of w v v', whose noise is far above them."""

MOST_CLUSTER = 16
"""How many times longer than a row's score that of a cluster may be."""

MOST_ROWS = 1 << 24
"""Rows of which every sum is below 2^63."""

_CACHED = 1 << 13
_THERE = "__there"


@dataclass(frozen=True, eq=False)
class Link:
    """Public tables of a family: residual and weight of a row as functions of its index.

    Notes
    -----
    With the index at step i of ``FINE``: a logit has e = y - p and w = p (1 - p), a probit
    e = (y - p) d / (p (1 - p)) and w = d^2 / (p (1 - p)), d the normal density, a cloglog the same
    with p = 1 - exp(-u) and d = u exp(-u), u = exp clipped at 3, a Poisson
    e = (y - m) / U and w = m / U, m = exp clipped at U.  Each is rounded to 2^-20 once, in a table.
    """

    family: Family
    largest: float = 1.0  # U, the upper bound of a count; 1 of 0/1 outcomes

    @property
    def tables(self) -> tuple[Whole, Whole, Whole]:
        """E of an outcome of 0, what an outcome of 1 (or U) adds to it, and w, by index."""
        return _tables(self.family, self.largest)

    @property
    def residual(self) -> int:
        """The largest size of e."""
        low, more, _ = self.tables
        return int(max(np.abs(low).max(), np.abs(low + more).max()))

    @property
    def weight(self) -> int:
        """The largest w; none is below 0."""
        return int(self.tables[2].max())

    @property
    def unit(self) -> float:
        """What a step of e and of w is, in units of the outcome."""
        return self.largest / ONE

    def weights(self, index: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """W at public values of the index."""
        weight = self.tables[2]
        most = len(weight) // 2
        at = np.clip(np.rint(index * FINE), -most, most).astype(np.int64) + most
        found: NDArray[np.floating[Any]] = weight[at] * self.unit
        return found


@lru_cache(maxsize=16)
def _tables(family: Family, largest: float) -> tuple[Whole, Whole, Whole]:
    most = FARTHEST[family] * FINE
    index = np.arange(-most, most + 1) / FINE
    if family == "poisson":
        mean = _whole(np.minimum(np.exp(index) / largest, 1.0))
        return -mean, np.full(len(index), ONE), mean
    if family == "logit":
        mean = _whole(special.expit(index))
        return -mean, np.full(len(index), ONE), _whole(special.expit(index) * special.expit(-index))
    if family == "cloglog":
        u = np.minimum(np.exp(index), MOST_HAZARD)
        low = -_whole(u)
        return low, _whole(u / np.expm1(u)) - low, _whole(u * u / np.expm1(u))
    p, q, d = special.ndtr(index), special.ndtr(-index), np.exp(-(index**2) / 2)
    d /= math.sqrt(2 * math.pi)
    low = -_whole(d / q)
    return low, _whole(d / p) - low, _whole(d * d / (p * q))


def _whole(values: Any) -> Whole:
    found: Whole = np.floor(np.asarray(values) * ONE + 0.5).astype(np.int64)
    return found


@dataclass(frozen=True, eq=False)
class IndexMap:
    """The regressors of a row as public functions of it, and what one person moves sums by.

    Notes
    -----
    *Scores.*  A row adds e v, of length E B at most, where E is the largest |e| of the tables.
    Replaced by another it moves the sum by 2 E B at most, whatever the coefficients and the group
    of both are.  Where an index may jump it is attained, by rows next to each other with e = E and
    e' = -E.

    *Some rows.*  Of a row that a condition leaves out e and w are 0, within the bounds of others.
    A row of weight u in [0, 1] has e u, rounded, of size u E + 1/2 at most, and never above E, and
    w u, rounded, within 0 and W.  The sum of e v has m numbers beside it, of rows that count and of
    their weights, a of each, with m a^2 <= 3 E^2 B^2.  Without weights who stays moves by 2 E B and
    no number, and who joins or leaves by (E^2 B^2 + a^2)^.5, which is no more.  With weights u and
    u' the square of what moves is ((u + u') E + 1)^2 B^2 + a^2 (u - u')^2 at most, and a^2 more
    where one of the rows is left out, whose u is 0.  That is convex in both, and (2 E + 1)^2 B^2 or
    less at every corner: numbers cost nothing.

    *Information.*  A row adds the matrix w v v' of all k^2 entries, positive semi-definite, of
    Frobenius norm w |v|^2 at most W B^2.  Replaced it moves the sum by A - B with
    ``|A - B|^2 = |A|^2 + |B|^2 - 2 tr(AB) <= 2 (W B^2)^2``, as tr(AB) of two such matrices is not
    below 0.  The sums are rounded to multiples of 2^20: each rounded number is off by half at
    most, so that two of them differ by less than their exact difference and 1, and k^2 of them
    together by less than k more.

    *Squares.*  As of :class:`~dprct.queries.scores.ScoreMap` for rows; for clusters see
    :meth:`square_sensitivity`.
    """

    link: Link
    outcome: int  # its place among the columns of the grid
    # Of each regressor the place of its column; -1 where it is a function of groups alone.
    columns: tuple[int, ...]
    # offsets, loads: (G, k), in group g regressor j is ``offsets[g, j] + loads[g, j]`` times its
    # column, in whole steps.
    offsets: Whole
    loads: Whole
    counts: NDArray[np.bool_]  # (G,): groups whose rows count
    square: int  # B^2, which |v|^2 of no row in the ball passes
    # Which of these a condition selects, and their weights; None where all count alike.
    some: Some | None = None

    @classmethod
    def within(
        cls, grid: MomentsGrid, link: Link, outcome: int, columns: Sequence[int],
        offsets: Whole, loads: Whole, counts: NDArray[np.bool_],
    ) -> IndexMap:  # fmt: skip
        """Regressors of the rows that a grid has in its ball, whose lengths follow from it.

        Notes
        -----
        In a group |v|^2 is the sum of squared offsets, and of m_c k_c^2 over columns, m_c the
        squared loads of column c together.  Of columns that are projected, k^2 sum to the room of
        the ball and to the squares of their ends at most, and the largest m_c bounds all; others
        are bounded by their own ends, the levels of one column together, of which a row has one.
        """
        squares = []
        for offset, load in zip(offsets, loads, strict=True):
            loaded: dict[int, int] = {}
            for column, by in zip(columns, load.tolist(), strict=True):
                if column >= 0 and by:
                    loaded[column] = loaded.get(column, 0) + by * by
            squares.append(int((offset.astype(object) ** 2).sum()) + _reached(grid, loaded))
        return cls(link, outcome, tuple(columns), offsets, loads, counts, max(squares))

    def __post_init__(self) -> None:
        groups, k = self.offsets.shape
        mixed = any(self.offsets[:, j].any() for j, at in enumerate(self.columns) if at >= 0)
        if mixed:
            raise ParameterError("a regressor is a function of groups, or a column times a number")
        shapes = self.loads.shape == (groups, k) and self.counts.shape == (groups,)
        if not shapes or len(self.columns) != k or not 1 <= k <= MOST_REGRESSORS:
            raise ParameterError(
                f"a model of an index has 1 to {MOST_REGRESSORS} regressors in every group"
            )
        if not 0 < self.square <= WIDEST**2:
            raise ParameterError(
                "the regressors of this model are too long together for exact sums; use fewer "
                "products of treatment and covariates"
            )

    @property
    def size(self) -> int:
        """K."""
        return len(self.columns)

    @property
    def numbers(self) -> int:
        """How many numbers are beside the sum of e v: rows that count, and their weights."""
        return 0 if self.some is None else 1 + (self.some.weight is not None)

    @property
    def score_squared(self) -> int:
        """Square of what one person moves the sum of e v by, and the numbers beside it."""
        twice = 2 * self.link.residual + (self.numbers > 1)
        return twice**2 * self.square

    @property
    def each(self) -> int:
        """What a row of the largest weight adds to each number beside the sum of e v."""
        whole = math.isqrt(3 * self.link.residual**2 * self.square // max(self.numbers, 1))
        return whole >> 20 << 20

    @property
    def information_squared(self) -> int:
        """Square of what one person moves the rounded sums of w v v' by."""
        exact = 2 * (self.link.weight * self.square) ** 2
        root = math.isqrt(exact >> 2 * COARSER) + 1
        return (root + self.size) ** 2

    @staticmethod
    def square_sensitivity(cluster: Sequence[int], size: int) -> int:
        """Square of what one person moves the sum of u u' of scores or of clusters by.

        ``cluster`` is C of S = C L, the length of a cluster's score at most; 0 for scores of rows.

        Notes
        -----
        A row's score is moved into a ball of L = 2^16 steps, and adds g g':
        ``|gg' - ff'|^2 <= 2 L^4``.  A cluster's, u, is the sum of its rows' moved into a ball of S.
        One person moves the sum by 2 L.  Clipping every entry, and projection onto a ball, move no
        two points apart; what is done differs from the projection onto the ball of S - 1 by
        rounding towards 0, which is k^.5 at most, or by 1, so that u moves by
        d = 2 L + 2 k^.5 + 3 at most.  ``|uu' - tt'| <= |u - t| (|u| + |t|) <= 2 S d``, and it is
        no more than 2^.5 S^2 either.  In two ways the number is the sum of one, and of the other,
        less that of both, of which one person moves each, and all by their sum at most.
        """
        if not cluster:
            return 2 * STEPS**4
        moved = 2 * STEPS + 2 * (math.isqrt(size) + 1) + 3
        each = [min(2 * (c * STEPS) ** 4, (2 * c * STEPS * moved) ** 2) for c in cluster]
        return each[0] if len(each) == 1 else sum(math.isqrt(one) + 1 for one in each) ** 2


@dataclass(frozen=True, eq=False)
class Some:
    """Rows that a condition selects, and their weights; public."""

    kinds: Kinds  # what the condition tells apart
    holds: NDArray[np.bool_]  # (J,): kinds of people that count
    # Its weights, in units of its upper bound; who has none, or one below 0, has weight 0.
    weight: Column | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the columns."""
        own = () if self.weight is None else (self.weight.name,)
        return (*(one.column.name for one in self.kinds.asked), *own)

    def of(self, frame: Any) -> Whole:
        """Weight of every row of a frame in memory, a whole number of 2^-20; 2^20 without."""
        weight, read = self.weight, dict(self.kinds.read)
        if weight is not None:
            read |= Part(weight).read | {_THERE: (has_value(weight), nw.Int8)}
        found = compact(
            prepared(frame, [*self.kinds.coded, *([] if weight is None else [weight])]),
            {name: one for name, (one, _) in read.items()},
            {name: dtype for name, (_, dtype) in read.items()},
        )
        counts = self.holds[found[KIND]]
        if weight is None:
            return np.where(counts, ONE, 0)
        part = Part(weight)
        share = np.clip(part.of(found) / part.bounds[1], 0.0, 1.0)
        units = np.floor(share * ONE + 0.5).astype(np.int64)
        return np.where(counts & (found[_THERE] == 1), units, 0)


class IndexRows:
    """Regressors and outcomes of all rows that count; confidential.

    Notes
    -----
    It is made of one pass over the table and lives as long as a draw.  It is not pickled.
    """

    __slots__ = ("_clusters", "_map", "_outcomes", "_regressors", "_relation", "_weights")

    def __init__(
        self, of: IndexMap, regressors: NDArray[np.int32], outcomes: NDArray[np.int32],
        relation: Relation, clusters: Sequence[Whole] = (), weights: Whole | None = None,
    ) -> None:  # fmt: skip
        self._map, self._regressors, self._outcomes = of, regressors, outcomes
        self._relation, self._clusters, self._weights = relation, clusters, weights

    @classmethod
    def of(
        cls, table: Table, grid: MomentsGrid, cells: MomentCells, asked: IndexMap,
        relation: Relation, n: int, clusters: Sequence[Whole] = (),
    ) -> IndexRows:  # fmt: skip
        """Read the rows, whose number is public, of any engine; total.

        Clusters, which are public, are of rows in memory.
        """
        if relation == "add-remove":
            raise ParameterError("scores follow moments, which take the number of rows as public")
        if grid.rows > 1 or grid.weight is not None:
            raise ParameterError("scores of an index are of rows of one weight, one of each unit")
        if n > MOST_ROWS:
            raise ParameterError(
                f"the data have {n:,} rows; models of an index allow at most {MOST_ROWS:,}"
            )
        frame, cells = _held(table, grid, cells, () if asked.some is None else asked.some.read)
        check_rows(len(frame), n)
        by_row = None if asked.some is None else asked.some.of(frame)
        found, outcomes, whose, weights = list[Any](), list[Any](), list[Any](), list[Any]()
        for start, group, steps, _ in rows_in_ball(frame, grid, cells, None):
            rows = slice(start, start + len(group))
            counts = (group >= 0) & asked.counts[np.maximum(group, 0)]
            if by_row is not None:
                counts &= by_row[rows] > 0
            here = np.flatnonzero(counts)
            by = group[here]
            k = steps[1:, here].astype(np.int64)
            v = asked.offsets[by]
            for j, column in enumerate(asked.columns):
                if column >= 0:
                    v[:, j] += asked.loads[by, j] * k[column]
            found.append(v.astype(np.int32))
            outcomes.append(_outcome(grid, asked, k[asked.outcome]))
            whose.append(here + start)
            if by_row is not None:
                weights.append(by_row[rows][here])
        empty = np.zeros((0, asked.size), np.int32), np.zeros(0, np.int32)
        return cls(
            asked, np.concatenate([empty[0], *found]), np.concatenate([empty[1], *outcomes]),
            relation, [codes[np.concatenate([empty[1], *whose])] for codes in clusters],
            np.concatenate([empty[1], *weights]) if by_row is not None else None,
        )  # fmt: skip

    def __reduce_ex__(self, protocol: object) -> Any:
        """Refuse to leave the process."""
        raise ModelPicklingError("regressors of confidential rows cannot be pickled or copied")

    def scores(self, coefficients: Sequence[int]) -> IntegerVector:
        """Sum of e v at these coefficients, sealed: k numbers, and those beside it."""
        total = np.zeros(self._map.size, dtype=object)
        for v, e, _ in self._at(coefficients):
            # below 2^38 each, of 2^13 rows: doubles add them exactly
            total += (e.astype(float) @ v).astype(np.int64).astype(object)
        beside = list[int]()
        if self._weights is not None:
            each, u = self._map.each, int(self._weights.sum(dtype=np.int64))
            beside = [each * len(self._weights), (each >> 20) * u][: self._map.numbers]
        return self._vector([*total, *beside], self._map.score_squared)

    def information(self, coefficients: Sequence[int]) -> IntegerVector:
        """Sums of w v v' at these coefficients in multiples of 2^20, sealed: k^2 numbers."""
        k = self._map.size
        total = np.zeros((k, k), dtype=object)
        for v, _, w in self._at(coefficients):
            # w v is below 2^39, and taken in two parts: of 2^12 rows doubles add their products
            high, low = np.divmod(w[:, None] * v.astype(np.int64), 1 << 20)
            for part, by in ((high, 1 << 20), (low, 1)):
                sums = _products(v, part.astype(float))
                total += sums.astype(object) * by
        rounded = (total + (1 << COARSER - 1)) // (1 << COARSER)
        return self._vector(rounded.ravel(), self._map.information_squared)

    def squares(
        self, coefficients: Sequence[int], directions: Whole, per_unit: float,
        cluster: Sequence[int] = (),
    ) -> IntegerVector:  # fmt: skip
        """Sum of g g' of rows, or of clusters of them, sealed: k^2 numbers.

        g is e ``directions`` v ``per_unit`` in whole steps, moved into a ball of 2^16 steps;
        directions are (k, k), up to 2^30.  ``cluster`` is as of
        :meth:`IndexMap.square_sensitivity`.
        """
        k = self._map.size
        if directions.shape != (k, k) or (np.abs(directions) > 1 << 30).any():
            raise ParameterError(f"directions of scores are ({k}, {k}) whole numbers up to 2^30")
        if len(cluster) != len(self._clusters) or any(not 0 < c <= MOST_CLUSTER for c in cluster):
            raise ParameterError(f"scores of clusters are 1 to {MOST_CLUSTER} times those of rows")
        scores = np.zeros((len(self._outcomes), k), np.int64)
        at = 0
        for v, e, _ in self._at(coefficients):
            turned = (v.astype(np.int64) @ directions.T).astype(float)
            g = np.clip(e.astype(float)[:, None] * turned * per_unit, -_FAR, _FAR)
            scores[at : at + len(v)] = moved_in(np.floor(g + 0.5).astype(np.int64), STEPS**2)
            at += len(v)
        if not cluster:
            total = _summed(scores)
        for way, (codes, c) in enumerate(zip(self._clusters, cluster, strict=True)):
            known, place = np.unique(codes, return_inverse=True)
            whole = np.zeros((len(known), k), np.int64)
            np.add.at(whole, place, scores)
            whole = moved_in(np.clip(whole, -int(_FAR), int(_FAR)), (c * STEPS) ** 2)
            total = _summed(whole) if not way else total + (1 - 2 * (way > 1)) * _summed(whole)
        return self._vector(total.ravel(), self._map.square_sensitivity(cluster, k))

    def _vector(self, values: Any, square: int) -> IntegerVector:
        """Numbers that move by whole ones, none by more than all, and all by k^.5 of that in L1."""
        numbers = np.array([int(one) for one in values], dtype=object)
        return IntegerVector(
            numbers, l1=math.isqrt(len(numbers) * square) + 1, l2_squared=square,
            l_inf=math.isqrt(square), relation=self._relation,
        )  # fmt: skip

    def _at(self, coefficients: Sequence[int]) -> Any:
        """Yield v, e and w of some rows after others."""
        if len(coefficients) != self._map.size or sum(map(abs, coefficients)) > LONGEST:
            raise ParameterError("the coefficients of a model of an index are too long or too few")
        slopes = np.array([int(one) for one in coefficients], np.int64)
        low, more, weight = self._map.link.tables
        most = len(low) // 2
        for start in range(0, len(self._outcomes), _CACHED):
            v = self._regressors[start : start + _CACHED]
            index = (v.astype(np.int64) @ slopes + (1 << SHIFT - 1)) >> SHIFT
            place = np.clip(index, -most, most) + most
            y = self._outcomes[start : start + _CACHED].astype(np.int64)
            # y is 0 or 2^20 but for counts, whose table adds 2^20 everywhere
            e, w = low[place] + (more[place] * y >> 20), weight[place]
            if self._map.numbers > 1 and self._weights is not None:
                u = self._weights[start : start + _CACHED]
                e, w = ((x * u + (ONE >> 1)) >> 20 for x in (e, w))
            yield v.astype(float), e, w


def _reached(grid: MomentsGrid, loaded: Mapping[int, int]) -> int:
    """The most that sums of squared steps of columns are, each times a number of its own."""
    free = {c: m for c, m in loaded.items() if not grid.columns[c].exempt}
    ends = sum(grid.columns[c].reach ** 2 for c in free)
    total = max(free.values(), default=0) * min(grid.room, ends)
    levels: dict[str, list[tuple[int, int]]] = {}
    for c, m in loaded.items():
        column = grid.columns[c]
        if column.exempt and len(column.parts) == 1 and column.parts[0].level is not None:
            ends_of = m * column.steps_at(0.0) ** 2, m * column.steps_at(1.0) ** 2
            levels.setdefault(column.parts[0].column.name, []).append(ends_of)
        elif column.exempt:
            total += m * column.reach**2
    for pairs in levels.values():
        total += sum(zero for zero, _ in pairs) + max(0, *(one - zero for zero, one in pairs))
    return total


def ways_of(clusters: Sequence[Whole]) -> tuple[Whole, ...]:
    """Public clusters of rows by one column, or by each of two and by both together."""
    if len(clusters) < 2:
        return tuple(clusters)
    one, other = clusters
    both = np.unique(one * (1 + other.max(initial=0)) + other, return_inverse=True)[1]
    return one, other, both.astype(np.int64)


_FAR = float(1 << 24)


def _summed(scores: Whole) -> NDArray[np.object_]:
    """Sum of u u' of whole numbers."""
    total = np.zeros((scores.shape[1],) * 2, dtype=object)
    for start in range(0, len(scores), _CACHED):
        part = scores[start : start + _CACHED].astype(float)
        total += _products(part, part).astype(object)
    return total


def _products(a: Any, b: Any) -> Whole:
    """Return a' b of whole numbers, in pieces of which doubles are exact."""
    total = np.zeros((a.shape[1], b.shape[1]), np.int64)
    for start in range(0, len(a), 1 << 12):
        here = slice(start, start + (1 << 12))
        total += (a[here].T @ b[here]).astype(np.int64)
    return total


def _outcome(grid: MomentsGrid, asked: IndexMap, steps: Whole) -> NDArray[np.int32]:
    """Outcome of rows in 2^-20 of its largest value: 0 or 2^20, but for counts."""
    column = grid.columns[asked.outcome]
    y = (steps / column.per_unit + column.centre) / asked.link.largest
    if asked.link.family != "poisson":
        y = np.where(y > 0.5, 1.0, 0.0)
    return np.clip(np.floor(np.asarray(y, float) * ONE + 0.5), 0, ONE).astype(np.int32)


def _held(
    table: Table, grid: MomentsGrid, cells: MomentCells, more: Sequence[str] = ()
) -> tuple[Any, MomentCells]:
    """Return the columns that are needed in memory, and the public group of every row."""
    if not isinstance(table, nw.LazyFrame):
        return table, cells
    names = [*more, *(part.column.name for column in grid.columns for part in column.parts)]
    names += [*cells.treatment, *(one.name for one in (*cells.levels, *cells.lacking))]
    names += [] if cells.present is None else [cells.present]
    keys = [] if cells.combinations is None else list(cells.combinations.columns)
    by = [f"__g{i}" for i in range(len(keys))]
    rows = collected(table.select(
        *[nw.col(name) for name in dict.fromkeys(names)],
        *[nw.col(key).alias(name) for key, name in zip(keys, by, strict=True)],
    ))  # fmt: skip
    codes = cells.codes
    if cells.combinations is not None:
        there = zip(*[rows[name].to_list() for name in by], strict=True)
        places = [cells.combinations.places.get(_key(one), -1) for one in there]
        at = np.array(places, np.int64)
        codes = at if codes is None else np.where(at >= 0, codes[at], -1)
    return rows, MomentCells(
        cells.public, codes, None, cells.treatment, cells.values, cells.levels, cells.present,
        cells.lacking,
    )  # fmt: skip


def _key(found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if x is None or x != x else x for x in found)
