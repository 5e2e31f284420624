"""Declared regressions of people whom private columns choose: sums over members, and their number.

Who is a member is part of a person's row.  Sums of weighted residuals alone are then off by the
realised shares of arms among members, which are private too: sums of residuals, of weights and of
members beside them take that out.  All numbers are whole, and what one person can move them by is
a public constant, whatever the fit is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.queries.one_step import OnGrid, Score
from dprct.queries.sums import GRID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.queries.one_step import Numbers, ResidualRows

TAU = 10
"""Sums of residuals have a tenth of the square that the weighted ones have: of L^2 an eleventh."""


@dataclass(frozen=True, slots=True, eq=False)
class Members(Score):
    """The coefficients of treatment in a regression of some people, chosen by private columns.

    Parameters
    ----------
    weights : (q, C) array of Python int
        As in a regression of everybody whose public columns count.
    twice : bool
        Whether other regressions have other conditions, so that a person may leave one and join
        another.
    more : (e, C) array of Python int
        Other functions of cells whose sums over members are needed, on the grid of 2^52.
    counts : (C,) array of bool
        Cells whose members count.

    Notes
    -----
    With g = 1 of members and 0 of others, a the weights and v the load of a cell: released are
    S_j = sum g a_j r and R = w_R sum g v r, A_j = w_A sum g a_j, N = w_N sum g v, and E = w_E sum
    g e of each further function.  A person keeps the cell c, since arm, block and cluster are
    public.  *Who stays a member* moves r by 2 b at most and nothing else: the square of what
    S and R move by is 4 b^2 (|a_c|^2 + w_R^2 v_c^2), at most L^2 = 4 b^2 |a|^2 (1 + 1/10), with
    |a| the longest column and w_R^2 = |a|^2 / 10.  *Who comes or goes* moves S and R by half of
    that at most, a quarter of L^2, and A, N and E by what they are: these weights are public, and
    chosen so that it is L^2 together, or L^2 / 2 where a person may leave one regression and join
    another (``twice``).  So numbers of members cost nothing.

    *Squares.*  e = r - m_c is clipped to C_c, and its square, 0 of others, moves by C_c^2 at most
    whether a person comes, stays or goes.  A cluster's sum of e over members moves by 2 b at most,
    as |m_c| <= b.  The weights in front of them are functions of the release before.
    """

    twice: bool = False
    more: Any = ()
    counts: Any = ()

    @property
    def longest(self) -> int:
        """|a|^2, the square of the longest column."""
        return max(int((column * column).sum()) for column in self.weights.T)

    @property
    def _loads(self) -> Numbers:
        loads = GRID if self.loads is None else self.loads.astype(object)
        found: Numbers = loads * self.counts.astype(object)
        return found

    @property
    def factors(self) -> tuple[int, int, int, int]:
        """W_R and w_N of a load of 2^20, w_A, and w_E."""
        room = self.reach**2 * self.longest * (TAU + 1) * (1 if self.twice else 3) // TAU
        of_a, of_e = (8, 1) if len(self.more) else (8, 0)
        of_n = 10 - of_a - of_e
        return (
            math.isqrt(self.longest // TAU),
            math.isqrt(room * of_n // 10),
            math.isqrt(room * of_a // 10 // self.longest),
            math.isqrt(room * of_e // (10 * max(1, len(self.more)))) >> 52,
        )

    @property
    def of_residuals(self) -> Numbers:
        """What residuals are multiplied by: a of each coefficient, w_R v; (q + 1, C)."""
        w = self.factors[0]
        found: Numbers = np.vstack([self.weights, [[w * int(v) // GRID for v in self._loads]]])
        return found

    @property
    def of_members(self) -> Numbers:
        """What members are multiplied by: w_A a, w_N v, w_E e; (q + 1 + e, C)."""
        _, n, a, e = self.factors
        loads = [[n * int(v) // GRID for v in self._loads]]
        parts = [a * self.weights, loads, *([e * self.more] if len(self.more) else [])]
        found: Numbers = np.vstack(parts)
        return found

    @property
    def effects(self) -> OnGrid:
        """All numbers; proof above."""
        r, g = self.of_residuals, self.of_members
        with_r, without = (r * r).sum(axis=0), (g * g).sum(axis=0)
        stays, goes = 4 * self.reach**2 * with_r, self.reach**2 * with_r + without
        lengths = np.maximum(stays, (2 if self.twice else 1) * goes)
        reach = np.vstack([2 * self.reach * abs(r), abs(g)])
        return OnGrid(reach, lengths, self.holds, self.twice)

    def effect_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """S, R, A, N and E, whole."""
        cells, size = rows.cells, self.weights.shape[1]
        here = (cells >= 0) & rows.chosen(self)
        r = np.bincount(cells[here], rows.residuals(residual)[here], minlength=size)
        g = np.bincount(cells[here], minlength=size)
        return [
            sum(int(a) * int(x) for a, x in zip(row, sums, strict=True))
            for part, sums in ((self.of_residuals, r), (self.of_members, g))
            for row in part
        ]

    @property
    def totals(self) -> OnGrid:
        """None: the effects have the total of residuals."""
        return OnGrid(np.zeros((0, self.weights.shape[1]), dtype=object))

    def total_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """No totals."""
        return []

    def squares(self, most: Sequence[int], *, joint: bool = True) -> OnGrid:
        """Return the squares, as far as anything may move them that has weights in these cells."""
        plain = Score(self.reach, self.weights, self.blocks, self.clusters).squares(
            most, joint=joint
        )
        return OfAnyWeights(plain.reach, holds=self.holds, counts=self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class OfAnyWeights(OnGrid):
    """Numbers whose weights are functions of earlier releases.

    Parameters
    ----------
    counts : (C,) array of bool
        Cells that count.

    Notes
    -----
    What they are on the grid moves by 2^20 at most in the cell of the longest column, and in the
    others by no more: that is claimed of every cell that counts, and is known before any draw.
    """

    counts: Any = ()

    @property
    def squared(self) -> Numbers:
        """Square of what one person moves all by together, on the grid; (C,)."""
        size = len(self.reach)
        most = min((GRID + math.isqrt(size - 1) + 1) ** 2, size * GRID**2)
        found: Numbers = most * self.counts.astype(object)
        return found

    @property
    def moves(self) -> Numbers:
        """By how much one person moves each number, on the grid; (m, C)."""
        found: Numbers = np.outer(
            np.full(len(self.reach), GRID, dtype=object), self.counts.astype(object)
        )
        return found
