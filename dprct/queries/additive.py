"""Counts of coded features and sums of a clipped target in their cells: one joint aggregate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.encode import Coded, prepared_for
from dprct.privacy.aggregate import IntegerVector
from dprct.queries.arithmetic import at_most, nearest, over, within
from dprct.queries.blocks import ROWS, EngineCodes, engine_sums
from dprct.queries.grid import GRID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.queries.arithmetic import Array, Numbers
    from dprct.schema.table import Frame

    Codes = NDArray[np.signedinteger[Any]]

HALF_STEPS = GRID // 2
"""M: steps of the target's grid from 0 to the clip R."""


@dataclass(frozen=True, slots=True)
class Block:
    """Cells into each of which every record falls once: the crossing of some features.

    Parameters
    ----------
    features : tuple of int
        Places of the crossed features; none for everybody in one cell.
    shape : tuple of int
        Their numbers of levels.
    counts, sums : bool
        What is counted in every cell: (weights of) records, and the target.
    """

    features: tuple[int, ...]
    shape: tuple[int, ...]
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


@dataclass(frozen=True, slots=True)
class AdditiveLayout:
    """What is asked for jointly, with what one record can move at most.

    Parameters
    ----------
    blocks : tuple of Block
    clip : float
        R above 0: the target is clipped to [-R, R]; public.
    weighted : bool
        Records bring a weight in [0, 1] instead of counting as 1.
    count_units : int
        c, a power of two from 1 to M: how many units of the grid one count is worth.

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
    clip: float
    weighted: bool = False
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

    Parameters
    ----------
    codes : sequence of (n,) int arrays, or EngineCodes
        Of the features that the blocks cross.
    target : (n,) array, or expression of the columns beside the codes
        A function of each record and of public or released numbers; what is no number counts as 0.
    layout : AdditiveLayout
    weights : as target, optional
        In [0, 1], clipped to it, where ``layout.weighted``.

    Returns
    -------
    IntegerVector
        Sealed; sensitivities of ``layout``, proved there, under replace-one.

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
    """Return k, whole numbers from -M to M, and q, from 0 to c, if there are weights.

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
    """Return what :func:`_block_sums` returns of every block, and the second moment."""
    if weights is not None:
        codes, weights = codes.beside(__w=weights), nw.col("__w")
    k, q = _steps(nw.col("__x"), layout, weights)
    codes, sums = codes.beside(__x=target), {"__k": k} if q is None else {"__k": k, "__q": q}
    squares = {"__kk": nw.col("__k") * nw.col("__k") // HALF_STEPS}
    found, totals = engine_sums(codes, layout.blocks, sums, squares)
    parts = []
    for block, cells in zip(layout.blocks, found, strict=True):
        counts = layout.count_units * cells[ROWS] if q is None else cells["__q"]
        parts.append(np.concatenate([counts] * block.counts + [cells["__k"]] * block.sums))
    return parts, totals["__kk"]
