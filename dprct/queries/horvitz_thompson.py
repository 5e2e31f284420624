"""Horvitz-Thompson sums where treatment is confidential too."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import (
    GRID,
    Asked,
    Clipped,
    DifferenceAggregates,
    Sums,
    present,
    rounded,
    square_sums,
    steps_of,
)
from dprct.records import dataclass

_ARM = "__arm"

if TYPE_CHECKING:
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table


@dataclass(frozen=True, eq=False)
class PrivateArms:
    """Arms whose members are confidential: their values in the file, and public probabilities."""

    columns: tuple[str, ...]  # the treatment columns
    # (A, C): values of ``columns`` in each arm, the control arm first.
    values: tuple[tuple[float | str, ...], ...]
    # (A,): probability with which everybody was put into each arm: public, above 0.
    shares: tuple[Fraction, ...]
    n: int  # rows that count; public, at least 2
    # Rows without a value of this column do not count, where that was declared public.
    present: str | None = None


def horvitz_thompson_difference(
    frame: Table | Sums, column: Column, arms: PrivateArms, fill: float | None = None
) -> DifferenceAggregates:
    """Compare two arms by centred Horvitz-Thompson: mean of phi, its variance, control mean.

    Parameters
    ----------
    column : Column
        With bounds (l, u), u - l = w, mid = (l + u) / 2.
    arms : PrivateArms
        Two arms, of probabilities pi_0 and pi_1.
    fill : float or None
        Missing values are this constant.

    Notes
    -----
    phi_i = (y_i - mid) h(arm_i), h = 1 / pi_1 or -1 / pi_0, and 0 for a row in no arm.  As
    |y_i - mid| <= w / 2, every phi lies in [-R/2, R/2], R = w / min(pi_0, pi_1), **whatever the
    arm**: a record that changes its outcome, its arm or both moves one phi by at most R.  Hence

    - the mean of phi moves by at most D = R / n; reached by y from l to u in the rarer arm, and,
      where pi is one half, also by a switch of the arm alone;
    - V = s_phi^2 / n moves by at most D^2: s^2 = SS_- / (n - 1) + (phi - mean_-)^2 / n, where
      SS_- and mean_- are of the others and (phi - mean_-)^2 lies in [0, R^2];
    - the control mean, (1/n) sum of (y_i - mid) / pi_0 over controls, moves by at most
      w / (n pi_0).

    With y on its grid, 2k - 2^20 is y - mid in half steps: an integer, and so mid is exact.  The
    three are rationals of integers, divided by their sensitivity and rounded to a 2^20th of it:
    x -> floor(x + 1/2) is monotone and commutes with adding integers.

    References
    ----------
    Horvitz and Thompson (1952), A Generalization of Sampling Without Replacement.
    docs/methods.md, section 4.
    """
    (s0, q0), (s1, q1) = _centred_sums(frame, column, arms, fill)
    h0, h1 = (1 / share for share in arms.shares)
    n, most = arms.n, max(h0, h1)
    total, squares = h1 * s1 - h0 * s0, h1**2 * q1 + h0**2 * q0
    spread = (squares - total**2 / n) / (n - 1)
    width = Fraction(Clipped(column).step) * GRID
    reach = width * most / n
    # in half steps R is 2 GRID max(h), so that what follows is a 2^20th of the sensitivity
    return DifferenceAggregates(
        rounded([total / (2 * most)], reach / GRID, "replace-one"),
        rounded([spread * n / (4 * GRID * most**2)], reach**2 / GRID, "replace-one"),
        rounded([Fraction(s0, 2)], width * h0 / n / GRID, "replace-one"),
    )


def horvitz_thompson_sums(
    frame: Table | Sums, column: Column, arms: PrivateArms, fill: float | None = None
) -> tuple[IntegerVector, IntegerVector]:
    """Return the sums of y - mid and of (y - mid)^2 in every arm; (A,) both, sealed.

    Notes
    -----
    In half steps |y - mid| <= 2^20 = G.  A record that stays in its arm moves one sum by at most
    2 G and one sum of squares by at most G^2.  One that changes arm moves two coordinates, the sums
    by at most G each, the squares, which lie in [0, G^2], by at most G^2 each.  So the L1 norm of
    the change is at most 2 G and 2 G^2; both are reached by a switch of arm at a bound.  Squares
    are rounded to units of 2 G, x -> floor(x + 1/2) as above: each moves by at most G / 2.
    """
    found = _centred_sums(frame, column, arms, fill)
    half = Fraction(Clipped(column).step) / 2
    sums = np.array([s for s, _ in found], dtype=object)
    squares = [Fraction(q, 2 * GRID) for _, q in found]
    return (
        IntegerVector(sums, l1=2 * GRID, relation="replace-one", grid=half),
        rounded(squares, half**2 * 2 * GRID, "replace-one"),
    )


def _centred_sums(
    frame: Table | Sums, column: Column, arms: PrivateArms, fill: float | None
) -> list[tuple[int, int]]:
    """Return the sums of c and c^2 in every arm, c = 2k - 2^20; confidential."""
    if isinstance(frame, Sums):
        added = frame.of(Asked(column, fill, arms.present))
    else:
        rows = frame.filter(present(arms.present)) if arms.present else frame
        coded = rows.select(column.name, arm_of(arms).alias(_ARM))
        added = square_sums(coded, steps_of(column, fill), (_ARM,))
    found = [(0, 0)] * len(arms.shares)
    for arm, m, s, q in added:
        if arm >= 0:
            found[arm] = (2 * s - GRID * m, 4 * q - 4 * GRID * s + GRID**2 * m)
    return found


def arm_of(arms: PrivateArms) -> nw.Expr:
    """Return the arm of a row, -1 for one that is in none, as an expression; total."""
    code = nw.lit(-1)
    for a, values in enumerate(arms.values):
        equal = [_equal(name, value) for name, value in zip(arms.columns, values, strict=True)]
        inside = nw.all_horizontal(*equal, ignore_nulls=True)
        code = nw.when(inside).then(nw.lit(a)).otherwise(code)
    return code.cast(nw.Int64)


def _equal(name: str, value: float | str) -> nw.Expr:
    column = nw.col(name)
    same = column == value if isinstance(value, str) else column.cast(nw.Float64) == value
    return same.fill_null(value=False)
