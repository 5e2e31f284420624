"""From noisy cells to shapes: polynomials in the bin, each coefficient shrunk to zero by its noise.

Everything here is post-processing of released numbers and public facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.defaults import SHAPE_DEGREE, SHRINKAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FEWEST = 0.1
"""A cell's count is taken to be at least this share of an equal share of all records."""


def usable_counts(counts: Array, mass: float) -> Array:
    """Return noisy counts (K,) that can be divided by: at least a tenth of an equal share."""
    return np.maximum(counts, _FEWEST * mass / len(counts))


def cell_variance(
    counts: Array, means: Array, noise: tuple[float, float], variance: float
) -> Array:
    """Return the variance (K,) of the mean of every cell: noise of sum and count, and sampling.

    Parameters
    ----------
    counts, means : (K,) array
    noise : (sd of a sum, sd of a count)
    variance : float
        Of the target within a cell.
    """
    sd_sum, sd_count = noise
    found: Array = (sd_sum**2 + (means * sd_count) ** 2 + counts * variance) / counts**2
    return found


def shrunk(z: Array, variance: Array) -> Array:
    """Return coefficients shrunk to zero: z (1 - 2 v / z^2), and 0 where that changes the sign.

    Examples
    --------
    >>> shrunk(np.array([4.0, 1.0]), np.array([1.0, 1.0]))
    array([3.5, 0. ])
    """
    most = SHRINKAGE * variance
    # a square below the most that noise takes off it leaves nothing, without a division by zero
    return z * (1 - most / np.maximum(z**2, most + np.finfo(np.float64).tiny))


def smooth_shape(means: Array, variance: Array, weights: Array, ordered: int) -> Array:
    """Return the shape (K,) of one feature, of weighted mean zero.

    Parameters
    ----------
    means : (K,) array
        Means of the cells less the mean of all.
    variance : (K,) array
        Of each of them.
    weights : (K,) array
        Shares of the cells, of sum one.
    ordered : int
        The first so many levels follow a polynomial; each of the others is shrunk by itself.

    Notes
    -----
    With W the weights and B the powers of the number of the bin, orthonormal under W, the
    coefficients are B'W h, of variance diag(B'W V W B); each is multiplied with the positive part
    of 1 - 2 v / z^2 (James and Stein's rule, one coefficient at a time).

    Examples
    --------
    >>> flat = smooth_shape(np.array([0.1, -0.1]), np.ones(2), np.full(2, 0.5), 2)
    >>> flat.tolist()
    [0.0, 0.0]
    """
    found = shrunk(means - weights @ means, variance)
    if ordered > 1:
        inside = slice(0, ordered)
        powers = np.vander(np.linspace(-1, 1, ordered), min(SHAPE_DEGREE + 1, ordered))
        found[inside] = _projected(
            powers[:, ::-1], means[inside], variance[inside], weights[inside]
        )
    shape: Array = found - weights @ found
    return shape


def smooth_interaction(
    means: Array,
    variance: Array,
    weights: Array,
    ordered: tuple[bool, bool],
    shape: tuple[int, int],
) -> Array:
    """Return the interaction (K1 K2,) of two features.

    Parameters
    ----------
    means : (K1 K2,) array
        Means of the cells less the mean of all and the two main effects.
    variance, weights : (K1 K2,) array
    ordered : (bool, bool)
        Whether all levels of each are in an order: then products of their first two powers are
        used, else every cell by itself.
    shape : (K1, K2)
    """
    if not all(ordered):
        return shrunk(means, variance)
    grids = [np.vander(np.linspace(-1, 1, size), min(3, size))[:, ::-1][:, 1:] for size in shape]
    products = np.einsum("ia,jb->ijab", *grids).reshape(len(means), -1)
    return _projected(products, means, variance, weights)


def _projected(basis: Array, means: Array, variance: Array, weights: Array) -> Array:
    """Return the shrunk projection of the means on the columns of a basis, under the weights."""
    root = np.sqrt(weights)
    q, _ = np.linalg.qr(basis * root[:, None])
    z = shrunk(q.T @ (root * means), (q**2).T @ (weights * variance))
    return np.asarray(q @ z / root, np.float64)
