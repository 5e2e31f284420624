"""How effects vary with covariates, by one step: sums of residuals times covariates.

A regression with products of treatment and a private covariate needs, besides the sums of weighted
residuals, those of weighted residuals times the covariate.  All numbers are whole, and what one
person can move them by is a public constant, whatever the fit, the centres and the slopes are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.queries.one_step import ALONE, OnGrid, Score, square_move, sums_by_cell, weighted_sums
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.queries.one_step import Numbers, ResidualRows, Whole

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slopes(Score):
    """The coefficients of treatment and of its products with covariates in one regression.

    Parameters
    ----------
    weights : (K, C) array of Python int
        T less its projection on public columns, times the public weight of a row, of each treatment
        and cell, on the grid of 2^52; 0 where rows do not count.

    Notes
    -----
    *Effects.*  S_kj = sum t_k u_j r and S_k = 2^20 sum t_k r, and A_kj = w_k sum t_k u_j, w_k the
    largest whole number within b / J_k^.5, J_k the covariates that treatment k is multiplied by.
    With A the level of residuals, which is known later, is taken out of S.  A person of cell c
    keeps t_kc, and (r, u) becomes (r', u').  What all numbers of treatment k move by has the square
    t_k^2 [2^40 (r - r')^2 + sum_j (u_j r - u'_j r')^2 + w^2 sum_j (u_j - u'_j)^2], which is convex
    in each of r, r', u_j and u'_j, so that it is largest at ends of their ranges.  If r' = -r, the
    first is 4 b^2 2^40 and each j adds 4 b^2 2^40 (u'_j = u_j) or 4 w^2 2^40, which is no more;
    if r' = r, the first is 0 and each j adds 4 (b^2 + w^2) 2^40 at most, together
    4 b^2 2^40 (J + 1) at most.  So L^2 = 4 b^2 2^40 sum_k t_kc^2 (1 + J_k): the A are free.

    *Private members and weights.*  A row counts v = 0 or 1, or 0 to 2^20 in units of 2^-20 of the
    largest weight, and S, A and the sums of products are of v times as much.  Then A_k = w sum v
    t_k is released as well, for shares of arms among members are private, and the total of
    residuals is one number.  All are linear in v for given r and u, so that a person moves
    them most where v before and v after are both 0 or 1.  Who counts in both tables moves no more
    than before.  Who counts in one moves those of treatment k by t_k^2 2^40 (1 + J_k) (b^2 + w^2)
    at most, half of what is claimed, as w <= b: disjoint rows together cost as much as one set.

    *Squares.*  Of each row q = (q_1, ..., q_Q), each rounded and clipped to [-2^20, 2^20], whatever
    it was computed from.  Released are sum q_j q_l of all j <= l.  With u = q / 2^20 and v another
    row, the sum over j <= l of (u_j u_l - v_j v_l)^2 is half of
    sum_j (u_j^2 - v_j^2)^2 + |u|^4 + |v|^4 - 2 (u'v)^2.  Without the last term it is convex in the
    squares u_j^2 and v_j^2, so that it is largest where all are 0 or 1: with p ones in u, k in v
    and o in both, half of p + k - 2 o + p^2 + k^2, and o >= p + k - Q: Q^2 at most.  L = Q 2^40.

    *Squares of clusters.*  Of each row q is clipped to [-D_j, D_j], summed over the actual rows of
    a cluster and clipped again to [-2^20, 2^20].  One person moves the sum of j by 2 D_j at most,
    its square by f(2 D_j), a product by 2^20 (2 D_j + 2 D_l) at most.
    """

    # The treatment of each coefficient, and which covariate it is multiplied by: ``ALONE`` first,
    # one of each treatment.
    terms: tuple[tuple[int, int], ...] = ()
    # Where the covariates are among those that were read.  Their values u are whole, within -2^20
    # and 2^20.
    features: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Q."""
        return len(self.terms)

    @property
    def hides(self) -> bool:
        """Whether it is private who counts, or how much."""
        return self.holds is not None or self.weighing is not None

    @property
    def scale(self) -> int:
        """What a row of the largest private weight counts."""
        return 1 if self.weighing is None else GRID

    @property
    def levels_of(self) -> Sequence[tuple[int, int]]:
        """The terms of which A is released."""
        return self.terms if self.hides else [(k, j) for k, j in self.terms if j != ALONE]

    @property
    def of_treatment(self) -> list[int]:
        """J_k: by how many covariates each treatment is multiplied."""
        return [
            sum(k == one and j != ALONE for k, j in self.terms) for one in range(len(self.weights))
        ]

    def weight(self, k: int) -> int:
        """W of a treatment that is multiplied by covariates."""
        return math.isqrt(self.reach**2 // max(1, self.of_treatment[k]))

    @property
    def lengths(self) -> Numbers:
        """By how much one person moves all numbers of the effects together, squared; (C,)."""
        several = np.array([1 + j for j in self.of_treatment], dtype=object)
        found: Numbers = 4 * self.reach**2 * GRID**2 * (self.weights**2 * several[:, None]).sum(0)
        return found * self.scale**2

    @property
    def effects(self) -> OnGrid:
        """The coefficients, and what takes the level of residuals out of them."""
        size = abs(self.weights)
        rows = [2 * self.reach * GRID * size[k] for k, _ in self.terms]
        rows += [2 * self.weight(k) * GRID * size[k] for k, _ in self.levels_of]
        reach = np.array(rows, dtype=object) * self.scale
        return OnGrid(reach, self.lengths, self.holds, twice=self.hides)

    @property
    def totals(self) -> OnGrid:
        """The totals of residuals by block; of members, of all of them."""
        found = Score(self.reach, self.weights, self.blocks, loads=self.loads).totals
        if not self.hides:
            return found
        return OnGrid(found.reach.sum(axis=0)[None] * self.scale, holds=self.holds)

    def total_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """Totals of residuals, whole."""
        if not self.hides:
            return Score.total_sums(self, rows, residual)
        sums = sums_by_cell(rows.residuals(residual) * rows.counted(self), rows.cells, self.places)
        return [sum(self.load(c) * x for c, x in enumerate(sums) if self.blocks[c] >= 0)]

    @property
    def places(self) -> int:
        """C."""
        return len(self.weights.T)

    def effect_sums(self, rows: ResidualRows, residual: int) -> list[int]:
        """S and A, as whole numbers."""
        r, v = rows.residuals(residual), rows.counted(self)
        by_u = [GRID if j == ALONE else rows.feature(self.features[j]) for _, j in self.terms]
        factors = dict(zip(self.terms, by_u, strict=True))

        def weighted(term: tuple[int, int], values: Whole) -> int:
            sums = sums_by_cell(factors[term] * values * v, rows.cells, self.places)
            return weighted_sums(self.weights[[term[0]]], sums)[0]

        found = [weighted(term, r) for term in self.terms]
        one = np.ones_like(r)
        return found + [self.weight(term[0]) * weighted(term, one) for term in self.levels_of]

    def squares(self, most: Sequence[int], *, joint: bool = True) -> OnGrid:
        """The squares of rows or clusters; ``most`` has D of every coefficient."""
        assert joint
        d = [2 * min(int(one), GRID) for one in most]
        moved = [
            (square_move(d[j], GRID) if self.clusters else GRID**2)
            if j == k
            else min(2 * GRID**2, GRID * (d[j] + d[k]))
            for j, k in self.pairs
        ]
        counts = np.array([any(column) for column in self.weights.T], bool).astype(object)
        whole = min(self.size**2 * GRID**4, sum(one * one for one in moved))
        reach = np.outer(np.array(moved, dtype=object), counts)
        return OnGrid(reach, whole * counts, self.holds)

    def square_sums(
        self, rows: ResidualRows, residual: int, centre: Any, most: Sequence[int], joint: bool
    ) -> list[int]:
        """Sums of q_j q_l, as whole numbers; ``centre`` is an :class:`Influence`."""
        assert joint
        r, cells = rows.residuals(residual), rows.cells
        counts = np.array([any(column) for column in self.weights.T], bool)
        here = (cells >= 0) & counts[cells] & rows.chosen(self)
        u = [rows.feature(one)[here] / GRID for one in self.features]
        v = rows.counted(self)[here] / self.scale
        q = centre.of(r[here].astype(np.float64), u, cells[here], most, v)
        if self.clusters:
            groups = np.unique(rows.clusters(self)[here], return_inverse=True)[1]
            q = [np.clip(np.bincount(groups, one).astype(np.int64), -GRID, GRID) for one in q]
        found = []
        for j, k in self.pairs:
            product = q[j] * q[k]
            found.append(GRID * int((product >> 20).sum()) + int((product & (GRID - 1)).sum()))
        return found


@dataclass(frozen=True, eq=False)
class Influence:
    """What a row contributes to the error of each coefficient, as a function of released values.

    Notes
    -----
    q_p = w (t_k u_j (r - level) - u_j sum_p' slope_pp' u_j'), with u = 1 for the treatment itself.
    It is computed row by row, with no sum over rows, so that every engine has the same bits.
    """

    terms: tuple[tuple[int, int], ...]
    rest: Array  # (K, C): T less its projection, of every cell
    own: Array  # (C,): public weight of a row, at most 1
    level: Array  # (Q, C): what is taken from residuals
    slope: Array  # (Q, Q): what is taken away for each product of two covariates
    scale: Array  # (Q,): by which it is multiplied before it is rounded

    def of(
        self, r: Array, u: Sequence[Array], cells: Whole, most: Sequence[int], v: Any = 1.0
    ) -> list[NDArray[np.int64]]:
        """Whole numbers of every row, clipped; ``v`` is what a row counts, 0 to 1."""
        found = []
        values = [1.0 if j == ALONE else u[j] for _, j in self.terms]
        for p, (k, _) in enumerate(self.terms):
            away: Any = 0.0
            for other, value in enumerate(values):
                away = away + self.slope[p, other] * value
            q = values[p] * (self.rest[k][cells] * (r - self.level[p][cells]) - away)
            whole = np.rint(np.nan_to_num(q * (self.scale[p] * self.own[cells]) * v))
            found.append(np.clip(whole, -int(most[p]), int(most[p])).astype(np.int64))
        return found
