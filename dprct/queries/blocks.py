"""Whole numbers added in the cells of crossed codes, in an engine that keeps the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.queries.passes import added

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.queries.additive import Block

    Sums = dict[str, NDArray[np.int64]]

ROWS = "rows"
"""Name of the number of rows among the sums of a cell."""

MOST_GROUPS = 1 << 14
"""Blocks share a pass over the table while all their features cross in at most so many cells.

A pass over the rows costs an engine more than thousands of groups: five features of 8 levels are
2 passes and not 5.
"""

_CELL = "__cell"


@dataclass(frozen=True, slots=True, eq=False)
class EngineCodes:
    """Codes of features as columns of a table that stays in its engine; confidential.

    Parameters
    ----------
    frame : lazy narwhals frame, n rows
        With these columns, and those that targets are made of.
    names : tuple of str
        Columns of codes, of type int64.
    n : int
        Rows, as counted at the door.
    """

    frame: nw.LazyFrame[Any]
    names: tuple[str, ...]
    n: int

    def beside(self, **numbers: nw.Expr) -> EngineCodes:
        """Return the codes with further columns, which expressions then name instead of repeating.

        Operations of :mod:`dprct.queries.arithmetic` write down what they are given up to twice, so
        that a long formula in one expression grows beyond what an engine can parse.
        """
        named = [expression.alias(name) for name, expression in numbers.items()]
        return EngineCodes(self.frame.with_columns(*named), self.names, self.n)


def engine_sums(
    codes: EngineCodes,
    blocks: Sequence[Block],
    sums: Mapping[str, nw.Expr],
    once: Mapping[str, nw.Expr],
) -> tuple[list[Sums], dict[str, int]]:
    """Add whole numbers cell by cell; nothing but sums leaves the engine.

    Parameters
    ----------
    codes : EngineCodes
    blocks : sequence of Block, at least one
    sums : mapping from name to expression of int64
        Of the columns of ``codes.frame``.
    once : mapping from name to expression of int64, of the columns ``sums``
        Added over all rows.

    Returns
    -------
    sums : list of dict from name to (K,) array of int64
        Of every block, the number of rows as :data:`ROWS` among them.
    totals : dict from name to int

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
    by = [_CELL] if sizes else []
    cell = [_cell(codes, sizes).alias(_CELL)] if sizes else []
    rows = codes.frame.select(*cell, *[e.cast(nw.Int64).alias(n) for n, e in sums.items()])
    names = [*sums, *once]
    groups = added(rows, {**{name: nw.col(name) for name in sums}, **once}, by)
    shape = tuple(sizes.values())
    table = np.array(groups, np.int64).reshape(len(groups), len(by) + len(names) + 1)
    at = table[:, 0] if sizes else np.zeros(len(table), np.int64)
    values = dict(zip([*names, ROWS], table[:, len(by) :].T, strict=True))
    joint = {}
    for name in (*sums, ROWS):
        cells = np.zeros(math.prod(shape), np.int64)
        np.add.at(cells, at, values[name])
        joint[name] = cells.reshape(shape)
    return joint, {name: int(values[name].sum()) for name in once}


def _cell(codes: EngineCodes, sizes: Mapping[int, int]) -> nw.Expr:
    first, *rest = sizes
    cell = nw.col(codes.names[first]).cast(nw.Int64)
    for place in rest:
        cell = cell * sizes[place] + nw.col(codes.names[place]).cast(nw.Int64)
    return cell


def _margin(
    cells: NDArray[np.int64], features: Sequence[int], kept: Sequence[int]
) -> NDArray[np.int64]:
    """Return the sums over the features that a block does not cross, in its own order; (K,)."""
    over = tuple(axis for axis, feature in enumerate(features) if feature not in kept)
    left = [feature for feature in features if feature in kept]
    found = cells.sum(axis=over)
    return np.asarray(np.transpose(found, [left.index(feature) for feature in kept]).ravel())
