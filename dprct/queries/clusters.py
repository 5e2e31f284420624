"""How much the totals of clusters vary: exact, from what is declared of clusters, with its price.

Where clusters were assigned, the variance of an arm's mean is that of the totals of its clusters.
Totals about the middle of the outcome's bounds are the default, and dear: one person in a cluster
of m moves their variance as much as 2m - 1 people who are alone.  Two public facts make it cheaper.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.lazy import pandas as pd
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Totals = Sequence[tuple[int, int, int]]
    """Of each cluster: rows, sum of k and sum of k^2, k being steps from the lower bound."""

    Counts = Sequence[Sequence[int]]
    """By block and arm."""


@dataclass(frozen=True)
class Correlated:
    """A public upper bound on the correlation of two people of one cluster.

    Notes
    -----
    With n people in clusters of n_g, sigma^2 their variance and rho the correlation, the mean has
    the variance sigma^2 d / n, d = 1 + rho (sum n_g^2 / n - 1), and E s^2 is
    sigma^2 (n - d) / (n - 1).  So V = s^2 d (n - 1) / ((n - d) n) is unbiased at icc = rho, and
    conservative for rho below it, as d (n - 1) / (n - d) grows with d.  It is the variance of
    people who are alone times d (n - 1) / (n - d), a public number, and moves by that times what
    the latter moves by: (w / n)^2.
    """

    icc: Fraction  # from 0 to 1


@dataclass(frozen=True)
class MeansWithin:
    """Public bounds on the means of clusters.

    Notes
    -----
    T_g is the total of k - middle over cluster g, clipped to -+half n_g.  V = sum T_g^2 / n^2, no
    mean being subtracted, is on average the variance of the mean, if no total is clipped, plus
    sum (E T_g)^2 / n^2: never below it.  One of the m people of a cluster moves T by at most
    W = 2^20, and T + T' is at most 2 half m, so that T^2 moves by at most 2 half m W; T^2 lies in
    [0, (half m)^2] besides, which bounds it where a whole cluster is replaced.
    """

    # middle, half: of the bounds, in steps of the outcome's grid.
    middle: int
    half: int


ClusterRule = Correlated | MeansWithin


def design_effect(icc: Fraction, n: int, squares: int) -> Fraction:
    """Variance of a mean of n people over that of as many who are alone; ``squares`` = sum n_g^2.

    Examples
    --------
    >>> design_effect(Fraction(1, 10), 20, 2 * 10**2)
    Fraction(19, 10)
    """
    return 1 + icc * (Fraction(squares, n) - 1)


def inflation(
    rule: ClusterRule | None,
    largest: int,
    unit: Literal["person", "cluster"],
    sizes: Counts,
    squares: Counts,
    grid: int,
) -> Fraction:
    """Return the sensitivity of an arm's variance over (reach (u - l))^2; see ``Arms.reach``.

    Examples
    --------
    >>> inflation(None, 19, "person", [], [], 8)
    Fraction(37, 1)
    >>> inflation(MeansWithin(4, 1), 6, "person", [], [], 8)
    Fraction(9, 16)
    """
    if isinstance(rule, Correlated):
        if unit == "cluster":
            raise ValueError("a correlation of people says nothing of a whole cluster's reach")
        return max(
            factor_of(rule, n, s)
            for row, of_row in zip(sizes, squares, strict=True)
            for n, s in zip(row, of_row, strict=True)
        )
    if isinstance(rule, MeansWithin):
        half = Fraction(rule.half, grid)
        if unit == "cluster":  # the reach of a mean has the square of the largest cluster already
            return half**2
        return min(2 * half * largest, (half * largest) ** 2)
    return Fraction(2 * largest - 1 if unit == "person" else 1)


def factor_of(rule: Correlated, n: int, squares: int) -> Fraction:
    """Return d (n - 1) / (n - d): by how much clusters raise the variance of people alone."""
    effect = design_effect(rule.icc, n, squares)
    return effect * (n - 1) / (n - effect)


def variance_of_total(
    rule: ClusterRule | None, totals: Totals, n: int, squares: int, grid: int
) -> Fraction:
    """Return the variance of the sum of k over one arm of a block, in steps; confidential.

    Examples
    --------
    >>> variance_of_total(None, [(1, 8, 64), (1, 0, 0)], 2, 2, 8)
    Fraction(64, 1)
    """
    if isinstance(rule, Correlated):
        s, q = sum(t for _, t, _ in totals), sum(q for _, _, q in totals)
        return factor_of(rule, n, squares) * Fraction(n * q - s * s, n - 1)
    if isinstance(rule, MeansWithin):
        clipped = [_clipped(t - m * rule.middle, rule.half * m) for m, t, _ in totals]
        return Fraction(sum(t * t for t in clipped))
    about = [t - m * (grid // 2) for m, t, _ in totals]
    count, total = len(about), sum(about)
    return Fraction(count * sum(t * t for t in about) - total * total, count - 1)


def _clipped(total: int, most: int) -> int:
    return min(max(total, -most), most)


def clusters_of_cells(
    cells: NDArray[np.int64], member: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.int64]:
    """How many clusters with rows that count each block and arm has; (H, A).

    Examples
    --------
    >>> clusters_of_cells(np.array([0, 0, 1, -1]), np.array([5, 6, 7, 8]), (1, 2)).tolist()
    [[2, 1]]
    """
    count = shape[0] * shape[1]
    pairs = _pairs(cells, member, None, count)[0]
    return np.bincount(pairs % count, minlength=count).reshape(shape)


def squares_of_cells(
    cells: NDArray[np.int64],
    member: NDArray[np.int64],
    number: NDArray[np.integer] | None,
    shape: tuple[int, int],
) -> tuple[tuple[int, ...], ...]:
    """Return the sum of n_g^2 over the clusters of each block and arm; (H, A); public.

    ``number`` says how many rows each entry stands for; one if None.

    Examples
    --------
    >>> cells, member = np.array([0, 0, 1, -1]), np.array([5, 5, 7, 8])
    >>> squares_of_cells(cells, member, None, (1, 2))
    ((4, 1),)
    """
    count = shape[0] * shape[1]
    pairs, sizes = _pairs(cells, member, number, count)
    found = [0] * count
    for cell, n in zip((pairs % count).tolist(), sizes.tolist(), strict=True):
        found[cell] += int(n) ** 2
    return tuple(tuple(found[h * shape[1] : (h + 1) * shape[1]]) for h in range(shape[0]))


def _pairs(
    cells: NDArray[Any], member: NDArray[Any], number: NDArray[np.integer] | None, count: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return ``cluster * count + cell`` of the pairs that occur and count, and their rows."""
    here = cells >= 0
    pairs = member[here].astype(np.int64)
    pairs *= count
    pairs += cells[here]
    codes, known = pd.factorize(pairs)
    return known, np.bincount(codes, weights=None if number is None else number[here])
