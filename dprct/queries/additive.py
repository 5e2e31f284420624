"""Counts of coded features and sums of a clipped target in their cells: one joint aggregate."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dprct.encoding import Coded, prepared_for
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.counts import ROWS, Digit, grouped, row_keys
from dprct.queries.sums import (
    EXACT,
    GRID,
    MOST_GROUPS,
    Array,
    Clipped,
    Numbers,
    at_most,
    compact,
    nearest,
    over,
    smallest_integer,
    steps_of,
    whole_steps_of,
    within,
)
from dprct.queries.weighting import canonical_order
from dprct.records import dataclass
from dprct.schema.tables import check_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.queries.counts import Key
    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame, Table

    Sums = dict[str, NDArray[np.int64]]

    Codes = NDArray[np.signedinteger[Any]]


# Whole numbers added in the cells of crossed codes, in an engine that keeps the rows.


@dataclass(frozen=True, eq=False)
class EngineCodes:
    """What tells the codes of features in a table that stays in its engine; confidential."""

    frame: nw.LazyFrame[Any]  # with columns of the keys, and those that targets are made of
    keys: tuple[Key, ...]
    n: int  # rows, as the constructor counted them

    def beside(self, **numbers: nw.Expr) -> EngineCodes:
        """Return the codes with further columns, which expressions then name instead of repeating.

        Operations of :mod:`dprct.queries.sums` write down what they are given up to twice, so
        that a long formula in one expression grows beyond what an engine can parse.
        """
        named = [expression.alias(name) for name, expression in numbers.items()]
        return EngineCodes(self.frame.with_columns(*named), self.keys, self.n)


def engine_sums(
    codes: EngineCodes,
    blocks: Sequence[Block],
    sums: Mapping[str, nw.Expr],
    once: Mapping[str, nw.Expr],
) -> tuple[list[Sums], dict[str, int]]:
    """Add whole numbers cell by cell; nothing but sums leaves the engine.

    ``sums`` are of columns of ``codes.frame``; ``once`` is made of these and added over all rows.
    Each is a whole number of at most 2^20, as a double.  Returned are the (K,) sums of every block,
    the number of rows as :data:`ROWS` among them, and the totals.  Another number of rows than the
    constructor counted is refused.

    Notes
    -----
    How many passes there are is a function of the blocks' sizes alone.  Whole numbers do not depend
    on the order in which they are added, nor on whether that is by the cells of one block or by
    finer ones first.
    """
    found: list[Sums] = [{} for _ in blocks]
    totals: dict[str, int] = {}
    for number, (sizes, places) in enumerate(shared(blocks)):
        joint, more = _joint(codes, sizes, sums, {} if number else once)
        totals |= more
        for place in places:
            kept = blocks[place].features
            found[place] = {name: _margin(cells, [*sizes], kept) for name, cells in joint.items()}
    return found, totals


def shared(blocks: Sequence[Block]) -> list[tuple[dict[int, int], list[int]]]:
    """Return the passes: features with their numbers of levels, and the places of the blocks.

    Examples
    --------
    >>> from dprct.queries.additive import Block
    >>> [places for _, places in shared([Block((j,), (100,)) for j in range(5)])]
    [[0, 1], [2, 3], [4]]
    """
    found: list[tuple[dict[int, int], list[int]]] = []
    for place, block in enumerate(blocks):
        own = dict(zip(block.features, block.shape, strict=True))
        for sizes, places in found:
            if math.prod((sizes | own).values()) <= MOST_GROUPS:
                sizes |= own  # in place: the pass grows
                places.append(place)
                break
        else:
            found.append((own, [place]))
    return found


def _joint(
    codes: EngineCodes,
    sizes: Mapping[int, int],
    sums: Mapping[str, nw.Expr],
    once: Mapping[str, nw.Expr],
) -> tuple[Sums, dict[str, int]]:
    """Return the sums in the cells of all features of a pass, and the totals; one pass."""
    kind = nw.Float64 if codes.n * GRID <= EXACT else nw.Int64
    rows = codes.frame.with_columns(*[e.alias(name) for name, e in sums.items()])
    named = {**{name: nw.col(name) for name in sums}, **once}
    digits, values = grouped(
        rows, [codes.keys[place] for place in sizes], {n: e.cast(kind) for n, e in named.items()}
    )
    check_rows(int(values[ROWS].sum()), codes.n)
    shape = tuple(sizes.values())
    at = np.ravel_multi_index(tuple(digits.T), shape) if shape else np.zeros(len(digits), np.int64)
    joint = {}
    for name in (*sums, ROWS):
        cells = np.zeros(math.prod(shape), np.int64)
        np.add.at(cells, at, values[name])
        joint[name] = cells.reshape(shape)
    return joint, {name: int(values[name].sum()) for name in once}


def _margin(
    cells: NDArray[np.int64], features: Sequence[int], kept: Sequence[int]
) -> NDArray[np.int64]:
    """Return the sums over the features that a block does not cross, in its own order; (K,)."""
    over = tuple(axis for axis, feature in enumerate(features) if feature not in kept)
    left = [feature for feature in features if feature in kept]
    found = cells.sum(axis=over)
    return np.asarray(np.transpose(found, [left.index(feature) for feature in kept]).ravel())


HALF_STEPS = GRID // 2
"""M: steps of the target's grid from 0 to the clip R."""


@dataclass(frozen=True)
class Block:
    """Cells into each of which every record falls once: the crossing of some features."""

    features: tuple[int, ...]  # places of the crossed features; none for everybody in one cell
    shape: tuple[int, ...]  # their numbers of levels
    # counts, sums: what is counted in every cell: (weights of) records, and the target.
    counts: bool = True
    sums: bool = True

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    def cell(self, codes: Sequence[Codes], n: int) -> NDArray[np.int64]:
        """Return the cell (n,) of every record."""
        found = np.zeros(n, np.int64)
        for place, size in zip(self.features, self.shape, strict=True):
            found = found * size + codes[place]
        return found


@dataclass(frozen=True)
class AdditiveLayout:
    """What is asked for jointly, with what one record can move at most.

    Notes
    -----
    Coordinates, block by block: c times the counts, then sums of k; at the end the sum of
    floor(k^2 / M).  Here k is the target in steps of R / M, a whole number with |k| <= M = 2^19.

    **Sensitivity under replace-one** (units of the grid).  A record with k = a in cell u becomes
    one with k = b in cell v; blocks move independently, so that bounds add (L2 squared, and L1).

    - Counts and sums, u = v: the count stays, the sum moves by |a - b| <= 2 M: 4 M^2; L1 2 M.
    - u != v: two counts move by c, two sums by |a| and |b|: 2 c^2 + a^2 + b^2 <= 2 c^2 + 2 M^2,
      which is at most 4 M^2 as c <= M: **the counts are free in L2**; L1 2 c + 2 M.
    - With weights q in 0, ..., c every k is clipped to |k| <= q M / c, so that (q, k) lies in the
      triangle of (0, 0), (c, M) and (c, -M), of diameter max(2 M, sqrt(c^2 + M^2)) = 2 M and L1
      diameter 2 M or c + M: u = v costs no more than without weights, and so does u != v.
    - Sums alone, in one cell or several: at most 4 M^2; L1 2 M.  Counts alone: 2 c^2; L1 2 c.
    - floor(k^2 / M) lies in 0, ..., M: M^2; L1 M.

    With c = M, b blocks that have sums and j of counts alone that is (4 b + 2 j + 1) M^2: in units
    of the target, L2 sensitivity 2 R sqrt(b + j/2 + 1/4).  Both cases are reached by one record, so
    that the L2 bound is tight but for the second moment.  A model of d features has
    b = d + subgroups + pairs + 1, where the last block is everybody.

    Examples
    --------
    >>> layout = AdditiveLayout((Block((0,), (8,)),), clip=4.0)
    >>> layout.l2_squared / HALF_STEPS**2, layout.size
    (5.0, 17)
    """

    blocks: tuple[Block, ...]
    clip: float  # R above 0: the target is clipped to [-R, R]; public
    weighted: bool = False  # records bring a weight in [0, 1] instead of counting as 1
    # C, a power of two from 1 to M: how many units of the grid one count is worth.
    count_units: int = HALF_STEPS

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1 + sum(block.size * (block.counts + block.sums) for block in self.blocks)

    @property
    def step(self) -> Fraction:
        """What one unit is worth in the unit of the target."""
        return Fraction(self.clip) / HALF_STEPS

    @property
    def l2_squared(self) -> int:
        """Square of the L2 sensitivity under replace-one."""
        return HALF_STEPS**2 + sum(self._l2_squared(block) for block in self.blocks)

    @property
    def l1(self) -> int:
        """L1 sensitivity under replace-one."""
        c, m = self.count_units, HALF_STEPS
        return m + sum(2 * c * block.counts + 2 * m * block.sums for block in self.blocks)

    def _l2_squared(self, block: Block) -> int:
        return 2 * self.count_units**2 if not block.sums else 4 * HALF_STEPS**2


def feature_codes(frame: Frame, encodings: Sequence[Coded]) -> list[Codes]:
    """Return the code (n,) of every row for every feature; confidential, total."""
    table = prepared_for(frame, encodings)
    return [
        np.asarray(table.select(e.expression())[e.name].to_numpy(), np.int32) for e in encodings
    ]


def additive_sums(
    codes: Sequence[Codes] | EngineCodes,
    target: Numbers,
    layout: AdditiveLayout,
    weights: Numbers | None = None,
) -> IntegerVector:
    """Count cells and sum the clipped target in them, jointly.

    ``target`` is a function of each record and of public or released numbers; NaN counts as 0.
    ``weights`` are clipped to [0, 1], where ``layout.weighted``.

    Notes
    -----
    Sums are below 2^53 for n below 1.7e10, so that doubles add the whole numbers exactly, and an
    engine's int64 does not wrap.
    """
    parts: list[NDArray[np.int64]]
    if isinstance(target, nw.Expr):
        assert isinstance(codes, EngineCodes)
        parts, squares = _sums_in_engine(codes, target, layout, weights)
    else:
        assert not isinstance(codes, EngineCodes)
        k, q = _steps(target, layout, weights)
        parts = [_block_sums(block, codes, k, q, layout.count_units) for block in layout.blocks]
        squares = int((k.astype(np.int64) ** 2 // HALF_STEPS).sum())
    return IntegerVector(
        np.concatenate([*parts, [squares]]).astype(np.int64),
        l1=layout.l1,
        l2_squared=layout.l2_squared,
        l_inf=2 * HALF_STEPS,
        relation="replace-one",
        grid=layout.step,
    )


def _steps(
    target: Numbers, layout: AdditiveLayout, weights: Numbers | None
) -> tuple[Numbers, Numbers | None]:
    """Steps k, whole numbers from -M to M, and q, from 0 to c, if there are weights.

    |x| <= R gives |x / R| <= 1 after rounding too, which is monotone.
    """
    k = nearest(over(within(target, -layout.clip, layout.clip), layout.clip) * HALF_STEPS)
    if weights is None:
        return k, None
    q = nearest(within(weights, 0.0, 1.0) * layout.count_units)
    return at_most(k, q * (HALF_STEPS // layout.count_units)), q


def _block_sums(
    block: Block, codes: Sequence[Codes], k: Array, q: Array | None, count_units: int
) -> NDArray[np.int64]:
    cell = block.cell(codes, len(k))
    found: list[NDArray[Any]] = []
    if block.counts and q is None:
        found.append(count_units * np.bincount(cell, minlength=block.size))
    elif block.counts:
        found.append(np.bincount(cell, weights=q, minlength=block.size))
    if block.sums:
        found.append(np.bincount(cell, weights=k, minlength=block.size))
    return np.concatenate(found).astype(np.int64)


def _sums_in_engine(
    codes: EngineCodes, target: nw.Expr, layout: AdditiveLayout, weights: nw.Expr | None
) -> tuple[list[NDArray[np.int64]], int]:
    """Sums of every block as of :func:`_block_sums`, and the second moment."""
    if weights is not None:
        codes, weights = codes.beside(__w=weights), nw.col("__w")
    k, q = _steps(nw.col("__x"), layout, weights)
    codes, sums = codes.beside(__x=target), {"__k": k} if q is None else {"__k": k, "__q": q}
    # of doubles, exact up to 2^53; dividing by a power of two is, too
    squares = {"__kk": (nw.col("__k") * nw.col("__k") * (1 / HALF_STEPS)).floor()}
    found, totals = engine_sums(codes, layout.blocks, sums, squares)
    parts = []
    for block, cells in zip(layout.blocks, found, strict=True):
        counts = layout.count_units * cells[ROWS] if q is None else cells["__q"]
        parts.append(np.concatenate([counts] * block.counts + [cells["__k"]] * block.sums))
    return parts, totals["__kk"]


_STEPS, _TREATED = "__steps", "__treated"


# The confidential rows of a fit as codes and numbers: in memory, in few bytes, or in an engine.


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows in memory: codes of features, treatment, outcome."""

    codes: list[Codes]  # (n,)
    outcome: Array  # (n,): clipped to its bounds, on its grid
    treated: Array  # (n,): 0 or 1; zeros where there is no treatment

    @classmethod
    def of(
        cls,
        frame: Frame,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> CodedRows:
        """Read the rows; every value maps to something, so that nothing is ever refused here."""
        return CompactRows.of(frame, encodings, outcome, fill, treatment).rows(None)

    def rows(self, places: NDArray[np.int64] | None) -> CodedRows:
        """Return some of the rows, by their places; all of them for None."""
        if places is None:
            return self
        return CodedRows(
            [codes[places] for codes in self.codes], self.outcome[places], self.treated[places]
        )

    def with_arm(self) -> CodedRows:
        """Return the rows with treatment as a further feature, the last."""
        arm = self.treated.astype(np.int8)
        return CodedRows([*self.codes, arm], self.outcome, self.treated)


@dataclass(frozen=True, eq=False)
class CompactRows:
    """Rows in memory, in as few bytes as they need: a fit with parts unpacks one part at a time."""

    codes: list[Codes]  # (n,): of the smallest type
    steps: NDArray[np.int32]  # (n,): the outcome's steps on its grid
    treated: NDArray[np.int8]  # (n,): 0 or 1
    grid: Clipped  # of the outcome

    @classmethod
    def of(
        cls,
        frame: Table,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> CompactRows:
        """Read the rows of any engine, once; total."""
        every = _expressions(encodings, outcome, fill, treatment)
        types = {f"c{j}": smallest_integer(e.size) for j, e in enumerate(encodings)}
        types |= {_STEPS: nw.Int32, _TREATED: nw.Int8}
        table = prepared_for(frame, [*encodings, *([treatment] if treatment else [])])
        found = compact(table, every, types)
        codes = [found[f"c{j}"] for j in range(len(encodings))]
        return cls(codes, found[_STEPS], found[_TREATED], Clipped(outcome))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.steps)

    def rows(self, places: NDArray[np.int64] | None) -> CodedRows:
        """Return some of the rows, by their places; all of them for None."""
        codes, steps, treated = self.codes, self.steps, self.treated
        if places is not None:
            codes, steps, treated = [c[places] for c in codes], steps[places], treated[places]
        y = _outcome(self.grid, steps.astype(np.float64))
        return CodedRows(codes, y, treated.astype(np.float64))

    def in_canonical_order(self) -> CompactRows:
        """Return the rows in an order that is the same in every engine; for simulation only."""
        order = canonical_order([*self.codes, self.steps, self.treated])
        codes = [codes[order] for codes in self.codes]
        return CompactRows(codes, self.steps[order], self.treated[order], self.grid)


@dataclass(frozen=True, eq=False)
class EngineRows:
    """Rows that stay in their engine: what :class:`CodedRows` holds, as expressions."""

    codes: EngineCodes
    outcome: nw.Expr
    treated: nw.Expr

    @classmethod
    def of(
        cls,
        frame: nw.LazyFrame[Any],
        n: int,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> EngineRows:
        """Say how rows are read; nothing is read."""
        table = prepared_for(frame, [*encodings, *([treatment] if treatment else [])])
        keys, columns = row_keys(encodings)
        steps, treated = whole_steps_of(outcome, fill), _arm(treatment).cast(nw.Float64)
        rows = table.select(**columns, **{_STEPS: steps, _TREATED: treated})
        y = _outcome(Clipped(outcome), nw.col(_STEPS))
        return cls(EngineCodes(rows, tuple(keys), n), y, nw.col(_TREATED))

    def rows(self, places: NDArray[np.int64] | None) -> EngineRows:
        """Return all rows; which row is where, an engine does not know."""
        assert places is None
        return self

    def with_arm(self) -> EngineRows:
        """Return the rows with treatment as a further feature, the last."""
        arm = Digit(_TREATED, np.arange(2))
        codes = EngineCodes(self.codes.frame, (*self.codes.keys, arm), self.codes.n)
        return EngineRows(codes, self.outcome, self.treated)


def _expressions(
    encodings: Sequence[Coded], outcome: Column, fill: float | None, treatment: Coded | None
) -> dict[str, nw.Expr]:
    """Return the codes, steps of the outcome and treatment of a prepared table; total."""
    codes = {f"c{j}": e.expression() for j, e in enumerate(encodings)}
    return {**codes, _STEPS: steps_of(outcome, fill), _TREATED: _arm(treatment)}


def _arm(treatment: Coded | None) -> nw.Expr:
    return nw.lit(0) if treatment is None else treatment.expression() == 1


def _outcome(grid: Clipped, steps: Any) -> Any:
    """Return steps, doubles, as values: in an engine the same two operations."""
    assert grid.column.bounds is not None
    return steps * grid.step + float(grid.column.bounds[0])


# What a second stage regresses: per record, functions of it and of public or released numbers.
#
# Nothing here is an aggregate: arrays, or expressions of a table in its engine, stay inside ``fit``
# and go from here to :func:`dprct.queries.additive.additive_sums`, which clips them, whatever they
# hold.  Each formula is written once for both.

Held = TypeVar("Held", Array, "nw.Expr", covariant=True)


class Observed(Protocol[Held]):
    """Rows with an outcome and a treatment of 0 or 1, as doubles."""

    @property
    def outcome(self) -> Held:
        """Clipped outcomes."""

    @property
    def treated(self) -> Held:
        """0 or 1."""


def doubly_robust(
    rows: Observed[Numbers], control: Numbers | float, treated: Numbers | float, e: Numbers | float
) -> Numbers:
    """Return psi = mu1 - mu0 + T (y - mu1) / e - (1 - T)(y - mu0) / (1 - e); (n,).

    ``control`` and ``treated`` are mu0 and mu1 at the rows: released, or a public constant such as
    the middle of the bounds.  The propensity e is public, or released and trimmed.

    Notes
    -----
    With the true e its expectation given x is the effect at x, whatever mu0 and mu1 are.

    References
    ----------
    docs/methods.md, section 8.
    """
    t, y = rows.treated, rows.outcome
    first: Numbers = over(t * (y - treated), e)
    second: Numbers = over((1 - t) * (y - control), 1 - e)
    return (treated - control) + first - second


def residual_ratio(
    rows: Observed[Numbers], mean: Numbers | float, e: Numbers | float
) -> tuple[Numbers, Numbers]:
    """(y - m) / (T - e) and its weight (T - e)^2 in the R-learner's criterion; (n,) each.

    m is the expected outcome given x, treated or not; e is in (0, 1).

    Notes
    -----
    Minimising sum ((y - m) - (T - e) tau)^2 over a constant tau in a cell gives the weighted mean
    of the ratios.  The weights depend on the data, so that their sums need noise, too.

    References
    ----------
    Nie and Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects".
    """
    rest: Numbers = rows.treated - e
    return over(rows.outcome - mean, rest), rest * rest
