"""Sums over the rows that have a value, where who has one is confidential."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.privacy.aggregate import IntegerVector
from dprct.queries.arms import filled_steps, observed, sums_by_code
from dprct.queries.grid import GRID, Clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.arms import Arms
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame


def observed_sums(frame: Frame, column: Column, arms: Arms) -> IntegerVector:
    """Return, of every arm, the sum of y - mid over who has a value, and 2^20 times their number.

    Parameters
    ----------
    frame : narwhals frame, n rows
    column : Column
        With bounds (l, u), u - l = w, mid = (l + u) / 2.
    arms : Arms
        Without blocks: (1, A) sizes.

    Returns
    -------
    IntegerVector
        Sealed, (2A,): S_0, ..., S_A, 2^20 C_0, ..., 2^20 C_A, in half steps.  L1 sensitivity 2^21
        (w) under replace-one with the design public.

    Notes
    -----
    In half steps c = 2k - 2^20 is y - mid, |c| <= 2^20 = G.  A record is in one public arm and
    moves (S, C) of it

    - with a value before and after: by (at most 2 G, 0);
    - with a value before or after only: by (at most G, 1).

    So the L1 norm of (S, G C) moves by at most 2 G in both cases, and by exactly 2 G for y from l
    to u, and for u to missing.  Counting costs nothing beyond the sum: released apart, the sum
    alone has sensitivity 2 G, and the count's budget would come on top.
    """
    c, has = _centred(frame, column)
    count = len(arms.sizes[0])
    cells = np.where(has, arms.codes, -1) + 1
    # |c| <= 2^20 and n below 2^32: a double adds whole numbers below 2^53 without rounding
    sums = np.bincount(cells, weights=c, minlength=count + 1)[1:]
    counts = np.bincount(cells, minlength=count + 1)[1:]
    values = [int(s) for s in sums] + [GRID * int(m) for m in counts]
    return IntegerVector(
        np.array(values, dtype=object),
        l1=2 * GRID,
        l2_squared=4 * GRID**2,
        l_inf=2 * GRID,
        relation="replace-one-design-public",
        grid=Fraction(Clipped(column).step) / 2,
    )


def observed_squares(
    frame: Frame, column: Column, arms: Arms, centres: Sequence[int]
) -> IntegerVector:
    """Return, of every arm, the sum of (y - centre)^2 over who has a value.

    Parameters
    ----------
    frame, column, arms
        As for :func:`observed_sums`.
    centres : sequence of int, length A
        m_a in half steps from the middle of the bounds, between -2^20 and 2^20; public, or
        released before.

    Returns
    -------
    IntegerVector
        Sealed, (A,); arm a in units of ``square_reach(m_a) / 2^20`` squared half steps.  L1
        sensitivity 2^20 under replace-one with the design public.

    Notes
    -----
    Given the centres, one record contributes (c - m_a)^2 or nothing, a number in
    [0, (2^20 + |m_a|)^2], to one arm.  Each sum is divided by this sensitivity and rounded to a
    2^20th of it: x -> floor(x + 1/2) is monotone and commutes with adding integers.  Where the
    centres were released from the same rows, the two releases compose sequentially (adaptively).
    """
    c, has = _centred(frame, column)
    cells = np.where(has, arms.codes, -1)
    apart = np.abs(c - np.array([*centres, 0])[cells])
    _, squares = sums_by_code(apart, cells, len(centres))
    values = [
        math.floor(Fraction(total * GRID, square_reach(centre)) + Fraction(1, 2))
        for total, centre in zip(squares, centres, strict=True)
    ]
    return IntegerVector(
        np.array(values, dtype=object), l1=GRID, relation="replace-one-design-public"
    )


def square_reach(centre: int) -> int:
    """Return (2^20 + |m|)^2: by how much one record moves a sum of squares about m.

    Examples
    --------
    >>> square_reach(0) == 2**40, square_reach(-(2**20)) == 2**42
    (True, True)
    """
    return (GRID + abs(centre)) ** 2


def _centred(frame: Frame, column: Column) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return y - mid in half steps of every row, and which rows have a value; confidential."""
    return 2 * filled_steps(frame, column, None) - GRID, observed(frame, column)
