"""The numbers of a randomisation: how many units each group gets, and which ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dprct.formula.design_matrix import Array, Mask

Codes = NDArray[np.int64]

_ROUNDING = 1e-12
"""A share times a size this close (relative to the size) below a whole number is that number."""


def fair_counts(sizes: Codes, shares: Array, rng: np.random.Generator) -> Codes:
    """Draw how many units of each block go to each group.

    Parameters
    ----------
    sizes : (B,) array of int
        Units per block.
    shares : (B, K) array
        Share of each group in each block; rows sum to one.
    rng : numpy.random.Generator

    Returns
    -------
    (B, K) array of int
        Rows sum to ``sizes``.

    Notes
    -----
    Each group gets its share of the block, rounded down; the units that remain go to different
    groups, drawn by systematic sampling from the fractional parts with the groups in random order
    (Madow 1949).  A group is drawn with probability equal to its fractional part, so that every
    count is its share rounded down or up, and has the share as its mean exactly.  Blocks are
    independent.

    References
    ----------
    Madow (1949), On the Theory of Systematic Sampling, II.

    Examples
    --------
    >>> halves = np.full((2, 2), 0.5)
    >>> fair_counts(np.array([4, 10]), halves, np.random.default_rng(1)).tolist()
    [[2, 2], [5, 5]]
    """
    counts, rest = whole_and_rest(sizes, shares)
    left = sizes - counts.sum(axis=1)
    order = rng.random(shares.shape).argsort(axis=1)
    ends = np.take_along_axis(rest, order, axis=1).cumsum(axis=1)
    total = ends[:, -1:]
    # sums of fractions are whole up to rounding: the last end is the number of units left, exactly
    scaled = ends * np.divide(left[:, None], total, out=np.zeros_like(total), where=total > 0)
    ends = np.where(ends == total, left[:, None], scaled)
    passed = np.floor(ends + rng.random((len(sizes), 1))).astype(np.int64)
    extra = np.empty_like(counts)
    np.put_along_axis(extra, order, np.diff(passed, axis=1, prepend=0), axis=1)
    return counts + extra


def whole_and_rest(sizes: Codes, shares: Array) -> tuple[Codes, Array]:
    """Return the whole part and the fraction of each group's share of each block; (B, K) both.

    Examples
    --------
    >>> whole, rest = whole_and_rest(np.array([100]), np.array([[0.29, 0.705, 0.005]]))
    >>> whole.tolist(), rest.round(9).tolist()
    ([[29, 70, 0]], [[0.0, 0.5, 0.5]])
    """
    expected = sizes[:, None] * shares
    whole = np.floor(expected + _ROUNDING * sizes[:, None])
    return whole.astype(np.int64), np.maximum(expected - whole, 0.0)


def spread(blocks: Codes, counts: Codes, rng: np.random.Generator) -> Codes:
    """Assign units at random, given how many of each block go to each group.

    Parameters
    ----------
    blocks : (U,) array of int
        Block of each unit, 0 to B - 1.
    counts : (B, K) array of int
        As of :func:`fair_counts`.
    rng : numpy.random.Generator

    Returns
    -------
    (U,) array of int
        Group of each unit, 0 to K - 1; within a block all arrangements are equally likely.

    Examples
    --------
    >>> spread(np.zeros(3, int), np.array([[0, 3]]), np.random.default_rng(1)).tolist()
    [1, 1, 1]
    """
    groups = np.tile(np.arange(counts.shape[1]), len(counts))
    order = rng.permutation(len(blocks))
    order = order[np.argsort(narrow(blocks, len(counts))[order], kind="stable")]
    codes = np.empty(len(blocks), np.int64)
    codes[order] = np.repeat(groups, counts.ravel())
    return codes


def narrow(codes: Codes, number: int) -> NDArray[Any]:
    """Return codes in 16 bits where they fit: NumPy sorts those in linear time.

    Examples
    --------
    >>> narrow(np.arange(3), 3).dtype.name
    'uint16'
    """
    return codes.astype(np.uint16) if number <= 1 << 16 else codes


def independent(shares: Array, rng: np.random.Generator) -> Codes:
    """Draw the group of each unit on its own.

    Parameters
    ----------
    shares : (U, K) or (1, K) array broadcast to units by the caller
        Probability of each group; rows sum to one.

    Returns
    -------
    (U,) array of int

    Examples
    --------
    >>> independent(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(1)).tolist()
    [1, 0]
    """
    ends = shares.cumsum(axis=1)[:, :-1]
    # a group of share zero at the end must not catch what rounding leaves of the others
    reached = np.isclose(ends, 1.0, rtol=0.0, atol=_ROUNDING)
    draws: Codes = ((rng.random((len(shares), 1)) >= ends) & ~reached).sum(axis=1)
    return draws


def counted(
    blocks: Codes, codes: Codes, shape: tuple[int, int], weights: Codes | None = None
) -> Codes:
    """Return how many units of each block are in each group; (B, K).

    ``weights`` say how many units each entry stands for, one if not given.

    Examples
    --------
    >>> counted(np.array([0, 1, 1]), np.array([0, 1, 1]), (2, 2)).tolist()
    [[1, 0], [0, 2]]
    """
    places = blocks * shape[1] + codes
    found = np.bincount(places, weights=weights, minlength=shape[0] * shape[1])
    return found.astype(np.int64).reshape(shape)


def uneven(counts: Codes, sizes: Codes, shares: Array) -> Mask:
    """Return which groups have a count that is not their share rounded down or up; (K,).

    Examples
    --------
    >>> uneven(np.array([[3, 0]]), np.array([3]), np.array([[0.5, 0.5]])).tolist()
    [True, True]
    """
    whole, rest = whole_and_rest(sizes, shares)
    highest = whole + (rest > _ROUNDING * sizes[:, None])
    outside: Mask = (counts < whole) | (counts > highest)
    found: Mask = np.logical_or.reduce(outside, axis=0)
    return found
