"""Sums over the rows that have a value, where who has one is confidential."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import GRID, Clipped, by_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.queries.sums import Arms, Sums
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table


def observed_sums(frame: Table | Sums, column: Column, arms: Arms) -> IntegerVector:
    """Return, of every arm, the sum of y - mid over who has a value, and 2^20 times their number.

    Parameters
    ----------
    column : Column
        With bounds (l, u), u - l = w, mid = (l + u) / 2.
    arms : Arms
        Without blocks: (1, A) sizes.

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
    parts = _centred(frame, column, arms)
    values = [total for _, total, _ in parts] + [GRID * n for n, _, _ in parts]
    return IntegerVector(
        np.array(values, dtype=object),
        l1=2 * GRID,
        l2_squared=4 * GRID**2,
        l_inf=2 * GRID,
        relation="replace-one-design-public",
        grid=Fraction(Clipped(column).step) / 2,
    )


def observed_squares(
    frame: Table | Sums, column: Column, arms: Arms, centres: Sequence[int]
) -> IntegerVector:
    """Of every arm, the sum of (y - centre)^2 over who has a value.

    Centres are m_a in half steps from the middle of the bounds, between -2^20 and 2^20; public, or
    released before.

    Notes
    -----
    Given the centres, one record contributes (c - m_a)^2 or nothing, a number in
    [0, (2^20 + |m_a|)^2], to one arm.  Each sum is divided by this sensitivity and rounded to a
    2^20th of it: x -> floor(x + 1/2) is monotone and commutes with adding integers.  Where the
    centres were released from the same rows, the two releases compose sequentially (adaptively).
    """
    values = [
        math.floor(Fraction(about * GRID, square_reach(centre)) + Fraction(1, 2))
        for about, centre in (
            (square - 2 * centre * total + n * centre**2, centre)
            for (n, total, square), centre in zip(
                _centred(frame, column, arms), centres, strict=True
            )
        )
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


def _centred(frame: Table | Sums, column: Column, arms: Arms) -> list[tuple[int, int, int]]:
    """Return, of every arm, who has a value: their number, the sums of c and of c^2; confidential.

    c = 2k - 2^20 is y - mid in half steps.
    """
    found = [(0, 0, 0)] * len(arms.sizes[0])
    for part in by_cell(frame, column, arms, with_value=True):
        n, s, q = found[part.cell]
        found[part.cell] = (n + part.n, s + part.s, q + part.q)
    return [(n, 2 * s - GRID * n, 4 * q - 4 * GRID * s + GRID**2 * n) for n, s, q in found]
