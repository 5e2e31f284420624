"""Cells of a table with more cells than a machine integer counts: mixed-radix arithmetic.

A cell is a row of digits, one per column; its index is the number that the digits spell, most
significant column first.  Indices are Python integers wherever the number of cells needs them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.privacy.noise import NoiseSource

IntArray = NDArray[np.int64]

_INT64_CELLS = 2**62


def checked_radices(radices: Sequence[int]) -> tuple[int, ...]:
    """Return the level counts as a tuple of Python integers.

    Raises
    ------
    ParameterError
        If there is no column, or a column has no level.
    """
    out = tuple(int(radix) for radix in radices)
    if not out or min(out) < 1 or max(out) >= 2**31:
        raise ParameterError(
            "radices must name at least one column, each with 1 to 2^31 - 1 levels; "
            "declare the levels of every modelled column"
        )
    return out


def cell_count(radices: Sequence[int]) -> int:
    """Return K, the number of cells, exactly.

    Examples
    --------
    >>> cell_count([1000] * 10) == 10**30
    True
    """
    return math.prod(int(radix) for radix in radices)


def cell_indices(codes: IntArray, radices: Sequence[int]) -> NDArray[Any]:
    """Return the index of each row of digits.

    Parameters
    ----------
    codes : array of int64, shape (q, p)
        Digits; column j lies in ``range(radices[j])``.
    radices : sequence of int, length p

    Returns
    -------
    array, shape (q,)
        int64 where K allows it, else Python integers.

    Examples
    --------
    >>> cell_indices(np.array([[1, 2], [0, 5]]), [2, 10]).tolist()
    [12, 5]
    """
    kind = _index_type(radices)
    strides = [math.prod(radices[j + 1 :]) for j in range(len(radices))]
    out: NDArray[Any] = codes.astype(kind) @ np.array(strides, kind)
    return out


def cell_digits(indices: Iterable[int], radices: Sequence[int]) -> IntArray:
    """Return the digits of each index: the inverse of :func:`cell_indices`.

    Examples
    --------
    >>> cell_digits([12, 5], [2, 10]).tolist()
    [[1, 2], [0, 5]]
    """
    rest: NDArray[Any] = np.array(list(indices), _index_type(radices))
    digits = np.empty((len(rest), len(radices)), np.int64)
    for column in reversed(range(len(radices))):
        digits[:, column] = rest % radices[column]
        rest = rest // radices[column]
    return digits


def distinct_empty_cells(
    cells: int, size: int, occupied: Iterable[int], source: NoiseSource
) -> list[int]:
    """Draw ``size`` distinct cells uniformly from those that are not occupied.

    Parameters
    ----------
    cells : int
        K; cells are ``range(cells)``.
    size : int
        How many to draw; at most the number of empty cells.
    occupied : iterable of int
        Distinct indices that cannot be drawn.
    source : NoiseSource

    Returns
    -------
    list of int
        In the order of drawing: every ordered selection is equally likely.

    Notes
    -----
    A uniform index is drawn until it is neither occupied nor taken, which makes each new cell
    uniform over what is left.  Where less than half of the cells would be left the empty cells
    are listed and the front of the list is shuffled (Fisher and Yates): the same law, and the
    list is at most twice as long as what was asked for.
    """
    taken = set(occupied)
    if size > cells - len(taken):
        raise ParameterError(
            f"size={size} is more than the number of empty cells; draw at most that many"
        )
    if 2 * (len(taken) + size) >= cells:
        return _shuffled_front([i for i in range(cells) if i not in taken], size, source)
    drawn: list[int] = []
    while len(drawn) < size:
        index = source.uniform_below(cells)
        if index not in taken:
            taken.add(index)
            drawn.append(index)
    return drawn


def _shuffled_front(pool: list[int], size: int, source: NoiseSource) -> list[int]:
    for i in range(size):
        j = i + source.uniform_below(len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:size]


def _index_type(radices: Sequence[int]) -> type:
    return np.int64 if cell_count(radices) < _INT64_CELLS else object
