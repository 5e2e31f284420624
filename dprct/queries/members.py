"""Declared regressions of people whom private columns choose: sums over members, and their number.

Membership is part of a person's row, and so may be the arm and the weight.  Sums of weighted
residuals alone are then off by the realised shares of arms among members, which are private too;
sums of residuals, of weights and of members correct for that.  All numbers are whole, and what one
person can move them by is a public constant, whatever the fit is.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.queries.one_step import (
    FINEST,
    OnGrid,
    Score,
    root_above,
    square_move,
    sums_by_cell,
    weighted_sums,
)
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.queries.one_step import Numbers, ResidualRows

TAU, TAU_WITHIN = 10, 4
"""Sums of residuals have a tenth of the square of the weighted sums, an eleventh of L^2.
Sums by block, whose errors add up, have a quarter."""


@dataclass(frozen=True, eq=False)
class Members(Score):
    """The coefficients of treatment in a regression of some people, chosen by private columns.

    Parameters
    ----------
    weights : (q, C) array of Python int
        As in a regression of everyone whose public columns count.

    Notes
    -----
    Let g = 1 for members and 0 for others, a_j the weights and v the load of a cell.  Released are
    S_j = sum g a_j r and R = w_R sum g v r, A_j = w_A sum g a_j, N = w_N sum g v, and E = w_E sum
    g e for each further function e.  A person stays in cell c, since arm, block and cluster are
    public.  If the person *stays a member*, only r moves, by at most 2 b, and the square of what S
    and R move by is 4 b^2 (|a_c|^2 + w_R^2 v_c^2), which is at most L^2 = 4 b^2 |a|^2 (1 + 1/10):
    |a| is the longest column, and w_R^2 = |a|^2 / 10.  If the person *joins or leaves*, S and R
    move by at most half as much, which is a quarter of L^2, and A, N and E by the person's own
    terms.  The weights of A, N and E are public, and chosen so that all moves together have the
    square L^2, or L^2 / 2 where a person may leave one regression and join another (``twice``).
    So numbers of members cost nothing.

    *Within blocks* R has one number for each block, with w_R^2 = |a|^2 / 4, and E has the members
    of each arm of each block.  A cell is in only one of these numbers, and a person keeps the
    cell, so that one number moves by what the sum of all would move by: L^2 = 4 b^2 |a|^2
    (1 + 1/4).

    *Private treatment.*  A person keeps only the place, and may go from arm c of it to arm d.  That
    moves S and R by x (a_c, w_R v) - y (a_d, w_R v), with |x| and |y| at most b.  The length is
    convex in x and in y, so it is largest where both are at an end of their range: its square is
    b^2 times the larger of |a_c - a_d|^2 and |a_c + a_d|^2 + 4 w_R^2 v^2.  A moves by
    w_A |a_c - a_d|, and N does not move: w_A is so small that all together have at most L^2.

    *Private weights.*  A row counts u = 0 to 2^20 instead of g, in units of 2^-20 of the largest
    weight.  For given r, all of S, R, A, N and E are linear in u.  What a person moves them by is
    therefore convex in the two values of u, and largest where each is 0 or 2^20: a change of weight
    moves no more than a change of residual, or than joining or leaving.

    *Squares.*  e = r - m_c, or e u / 2^20 rounded to a whole number, is clipped to C_c.  Its
    square, which is 0 for others, moves by at most C_c^2 whether a person joins, stays or leaves,
    and with one coefficient also where the arm changes.  With several coefficients, the numbers of
    a cell are e^2 times a public vector p_jl = a_jc a_lc, j <= l.  The vectors of two arms have sum
    p_jl p'_jl = ((a_c a_d)^2 + sum_j a_jc^2 a_jd^2) / 2, which is never negative, so that the
    square of what moves is at most the sum of both squares.

    *Classical errors.*  Only the sum of e^2 is released, over the members whose cells count, with
    one clip C for all cells.  What a person adds lies between 0 and C^2, and so moves by at most
    C^2 whether the person joins, stays or leaves.  The sum is multiplied by the inverse of sum g z
    z', which is a function of the release before.

    *Clusters.*  A cluster's sum of e over members moves by at most 2 b, as |m_c| <= b and both ends
    are rounded in the same way.  Where treatment is private, each coefficient's sum of a_c e over a
    cluster is clipped, and moves by the largest a_c e of all arms of the place less the smallest:
    0, which is the term of a person who is no member, lies between the two.  The weights in front
    of squares, and m, are functions of the release before.
    """

    # Whether regressions have different conditions, so that a person may leave one and join
    # another.
    twice: bool = False
    # (e, C) array of int: other functions of cells whose sums over members are needed, on the grid
    # of 2^52.
    more: Any = ()
    counts: Any = ()  # (C,): cells whose members count
    # K, the arms between which a person may change where treatment is private: cells are ordered by
    # public place, and by arm within a place.  1 where treatment is public.
    arms: int = 1
    # M of every cell, for squares of clusters where treatment is private.
    centre: Sequence[int] = ()
    within: bool = False  # whether R is that of each block

    @property
    def tau(self) -> int:
        """The square of the weighted sums over that of the sums of residuals."""
        return TAU_WITHIN if self.within else TAU

    @cached_property
    def longest(self) -> int:
        """|a|^2, the square of the longest column."""
        return max(map(int, _square(self.weights.astype(np.int64))))

    @property
    def _loads(self) -> Numbers:
        loads = GRID if self.loads is None else self.loads.astype(object)
        found: Numbers = loads * self.counts.astype(object)
        return found

    @cached_property
    def factors(self) -> tuple[int, int, int, int]:
        """W_R and w_N of a load of 2^20, w_A, and w_E."""
        tau, longest = self.tau, self.longest
        room = self.reach**2 * longest * (tau + 1) * (1 if self.twice else 3) // tau
        of_a, of_e = (5, 4) if self.within else (8, 1) if len(self.more) else (8, 0)
        of_more = max(map(int, _square(self.more))) if len(self.more) else 1
        of_r = math.isqrt(longest // tau)
        of_weights = room * of_a // 10 // longest
        of_n = room * (10 - of_a - of_e) // 10
        if self.arms > 1:
            of_weights = min(of_weights, self._between_arms(of_r))
            of_n = room * (10 - of_e) // 10 - of_weights * longest
        return (
            of_r,
            math.isqrt(of_n),
            math.isqrt(of_weights),
            math.isqrt(room * of_e // (10 * max(1, of_more))),
        )

    def _between_arms(self, of_r: int) -> int:
        """Return w_A^2 such that changing the arm moves no more than staying in it."""
        most = 4 * self.reach**2 * self.longest * (self.tau + 1) // self.tau
        parts = self._by_arm(np.vstack([self.weights, self._of_loads(of_r)]))
        return min(
            (
                max(0, most - self.reach**2 * both) // apart
                for one, other in combinations(parts, 2)
                for both, apart in zip(
                    np.maximum(_square(one + other), _square(one - other)),
                    _square((one - other)[:-1]), strict=True,
                )
                if apart
            ),
            default=most,
        )  # fmt: skip

    def _by_arm(self, numbers: Numbers) -> list[Numbers]:
        """Return the columns of each arm, place by place."""
        return [numbers[:, arm :: self.arms] for arm in range(self.arms)]

    def _of_loads(self, weight: int) -> Numbers:
        found: Numbers = np.array([[weight * int(v) // GRID for v in self._loads]], dtype=object)
        return found

    @property
    def of_residuals(self) -> Numbers:
        """What residuals are multiplied by: a of each coefficient, w_R v by block; (q + B, C)."""
        found: Numbers = self._of_loads(math.isqrt(self.longest // self.tau))
        if self.within:
            found = found * np.equal.outer(np.arange(1 + max(self.blocks)), self.blocks)
        return np.vstack([self.weights, found])

    @property
    def of_members(self) -> Numbers:
        """What members are multiplied by: w_A a, w_N v, w_E e; (q + 1 + e, C)."""
        return np.vstack([times * x.astype(object) for times, x in self._of_members])

    @property
    def _of_members(self) -> list[tuple[int, Numbers]]:
        """The same as numbers and what they are multiplied by."""
        _, n, a, e = self.factors
        found = [(a, self.weights.astype(np.int64)), (1, self._of_loads(n)), (e, self.more)]
        return found[: 2 + bool(len(self.more))]

    @property
    def scale(self) -> int:
        """What a row of the largest weight counts."""
        return 1 if self.weighing is None else GRID

    @cached_property
    def lengths(self) -> Numbers:
        """Squared length of the most that one person of each place moves all numbers; see above."""
        b, times = self.reach, 2 if self.twice else 1
        r = self._by_arm(self.of_residuals.astype(np.int64))
        of_r = [_square(one) for one in r]
        each = [(times, one) for one in of_r] + [
            (1, np.maximum(_square(one + other), _square(one - other)))
            for one, other in combinations(r, 2)
        ]
        of_g = [
            [weight**2 * _square(one) for one in self._changes(x)] for weight, x in self._of_members
        ]
        found = [4 * b**2 * one for one in of_r]
        for (of, both), g in zip(each, zip(*of_g, strict=True), strict=True):
            found.append(of * (b**2 * both + sum(g)))
        longest: Numbers = np.maximum.reduce(found) * self.scale**2
        return longest

    def _changes(self, x: Numbers) -> list[Numbers]:
        """What who has an arm of a place brings, and what who changes between two arms does."""
        each = self._by_arm(x)
        return each + [one - other for one, other in combinations(each, 2)]

    @property
    def effects(self) -> OnGrid:
        """All numbers; proof above."""
        moved = [(2 * self.reach, self._by_arm(self.of_residuals))]
        moved += [(weight, self._changes(x)) for weight, x in self._of_members]
        reach = [
            weight * self.scale * np.maximum.reduce([abs(one) for one in of]).astype(object)
            for weight, of in moved
        ]
        return OnGrid(np.vstack(reach), self.lengths, self.holds, self.twice)

    def effect_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """S, R, A, N and E, whole."""
        cells, size, v = rows.cells, self.weights.shape[1], rows.counted(self)
        total = sums_by_cell(rows.residuals(residual) * v, cells, size)
        number = sums_by_cell(v, cells, size)
        return weighted_sums(self.of_residuals, total) + weighted_sums(self.of_members, number)

    @property
    def totals(self) -> OnGrid:
        """None: the effects have the total of residuals."""
        return OnGrid(self._of_a_person(self.weights[:0])[:, :: self.arms])

    def total_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """No totals."""
        return []

    def squares(self, most: Sequence[int], *, joint: bool = True) -> OnGrid:
        """Return the squares, as far as anything may move them that has weights in these cells."""
        if self.counted is not None:
            moved = [[int(c) ** 2 * int(n) for c, n in zip(most, self.counted, strict=True)]]
            return OnGrid(np.array(moved, dtype=object), holds=self.holds)
        counts = np.logical_or.reduce(self._by_arm(self.counts[None]))[0]
        if self.clusters and self.arms > 1:
            each = zip(self._between(), most, strict=True)
            found = [[square_move(int(d), int(c)) for d in row] for row, c in each]
            return OfAnyWeights(np.array(found, dtype=object), holds=self.holds, counts=counts)
        if self.members is not None:
            counts = self._of_a_person(counts[None].astype(object))[0] > 0
        plain = Score(
            self.reach, self.weights, self.blocks, self.clusters, members=self.members
        ).squares(most, joint=joint)
        several = self.arms > 1 and self.size > 1
        return OfAnyWeights(plain.reach, holds=self.holds, counts=counts, times=1 + several)

    def _between(self) -> Numbers:
        """Largest less smallest a e of all arms, of each coefficient and place; (q, P)."""
        m = np.array([int(x) for x in self.centre or [0] * self.weights.shape[1]], dtype=object)
        b = self.reach * (1 if len(self.centre) else 2)
        ends = [part for end in (b, -b) for part in self._by_arm(self.weights * (end - m))]
        found: Numbers = np.maximum.reduce(ends) - np.minimum.reduce(ends)
        return found


def _square(vectors: Any) -> Numbers:
    """Squared length of every column; of machine numbers, within 2^54, by halves of 27 bits."""
    if vectors.dtype == object:
        return (vectors * vectors).sum(axis=0)  # type: ignore[no-any-return]
    high, low = vectors >> 27, vectors & (1 << 27) - 1
    found: Any = 0
    for at in range(0, len(vectors), 256):  # 2^8 numbers of 2^54 at most
        x, y = high[at : at + 256], low[at : at + 256]
        for one, shift in (((x * x), 54), ((x * y), 28), ((y * y), 0)):
            found = found + (one.sum(axis=0).astype(object) << shift)
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class OfPersons(Members):
    """The same where a person may have several rows, and joins or leaves with all of them.

    Notes
    -----
    A person is a member if all of that person's rows meet the condition.  Let u be the controls and
    f the functions of cells.  Released are S_j = sum g a_j r, R_k = w_R sum g v u_k r and
    E_l = w_E sum g f_l; the products of u and a that least squares needs are combinations of E.
    Which rows belong to whom, and their cells, are public and fixed.  Let x_c = (a_c, w_R v_c u_c),
    let n_c be the number of a person's rows in cell c, and let X = sum n_c |x_c| and
    Y = w_E sum n_c |f_c|.  If the person *stays a member*, each r moves by at most 2 b, and S and R
    together by at most 2 b X, by the triangle inequality.  If the person *joins or leaves*, S and R
    move by at most b X, and E by Y: the square of all is at most b^2 X^2 + Y^2.  w_R is so small
    that |w_R v u|^2 is at most 1/10 of the square of the longest |a|.  w_E is so small that
    w_E sum n_c |f_c| of every person is at most 3^.5 b, or b where a person may leave one
    regression and join another (``twice``), times the longest X: joining or leaving moves no more
    than staying may, and with ``twice`` no more than half of that, squared.  A person is a member
    only where all of that person's rows are, so the regressions that one kind of row may be in
    together are those that a person may be a member of together.

    *Squares.*  U_gj = sum a_jc e over the rows of members in a cluster, e = r - m_c.  As |m_c| is
    at most b, |e| is at most 2 b, and it moves by at most 2 b if the person stays: whether a
    person stays, joins or leaves, U_gj moves by at most d_j = 2 b sum n_c |a_jc|, and squares and
    products by what :class:`Score` states for several rows of a person.
    """

    # (K, C) array of Python int: u of every cell on the grid of 2^52, each column within it.
    controls: Any = ()

    @property
    def of_controls(self) -> int:
        """W_R: what u is multiplied by."""
        return math.isqrt(self.longest // TAU)

    @property
    def of_more(self) -> int:
        """W_E."""
        b, rows = self.reach, self._of_a_person(_lengths(self.more))
        most = max(map(int, self._of_a_person(_lengths(self.of_residuals))[0]))
        room = b * most if self.twice else math.isqrt(3 * (b * most) ** 2)
        return room // max(1, *map(int, rows[0]))

    @property
    def of_residuals(self) -> Numbers:
        """What residuals are multiplied by: a of each coefficient, w_R v u; (q + K, C)."""
        found = self.of_controls * self.controls * self._loads // (FINEST * GRID)
        return np.vstack([self.weights, found])

    @property
    def of_members(self) -> Numbers:
        """What members are multiplied by: w_E f; (E, C)."""
        found: Numbers = self.of_more * self.more.astype(object)
        return found

    @cached_property
    def lengths(self) -> Numbers:
        """Squared length of the most that a person of each pattern moves all numbers; see above."""
        b, times = self.reach, 2 if self.twice else 1
        X, Y = (self._of_a_person(_lengths(x))[0] for x in (self.of_residuals, self.of_members))
        longest: Numbers = np.maximum(4 * b**2 * X**2, times * (b**2 * X**2 + Y**2))
        return longest

    @property
    def effects(self) -> OnGrid:
        """All numbers; proof above."""
        r, g = (self._of_a_person(abs(x)) for x in (self.of_residuals, self.of_members))
        return OnGrid(np.vstack([2 * self.reach * r, g]), self.lengths, self.holds, self.twice)


def _lengths(vectors: Numbers) -> Numbers:
    """Return the length of every column, rounded up; (1, C)."""
    return np.array([[root_above(int(one)) for one in _square(vectors)]], dtype=object)


@dataclass(frozen=True, eq=False)
class OfAnyWeights(OnGrid):
    """Numbers whose weights are functions of earlier releases.

    Notes
    -----
    On the grid, the numbers move by at most 2^20 in the cell of the longest column, and by no more
    in the others.  This is claimed for every cell that counts, and is known before any draw.
    """

    counts: Any = ()  # (P,): cells, or places of several arms, that count
    # 2 where what one person moves has twice the square of the longest column of ``reach``.
    times: int = 1

    @property
    def _length(self) -> int:
        """What a single number moves by at most: no more than all together."""
        return math.isqrt(self.times * GRID**2 - 1) + 1

    @property
    def squared(self) -> Numbers:
        """Square of what one person moves all by together, on the grid; (P,)."""
        size = len(self.reach)
        most = min((self._length + math.isqrt(size - 1) + 1) ** 2, size * self._length**2)
        found: Numbers = most * self.counts.astype(object)
        return found

    @property
    def moves(self) -> Numbers:
        """By how much one person moves each number, on the grid; (m, P)."""
        found: Numbers = np.outer(np.full(len(self.reach), self._length), self.counts)
        return found
