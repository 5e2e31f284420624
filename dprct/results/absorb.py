"""Fixed effects taken out of a regression: what they leave of outcome and regressors.

By the theorem of Frisch, Waugh and Lovell the slopes of a regression with dummies are those of
the residuals of outcome and regressors on the dummies alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsmr

from dprct.errors import ParameterError
from dprct.results.covariance import COLLINEAR, Array, Codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.formula.design_matrix import Mask

_TOLERANCE = 1e-14
_MOST_STEPS = 10_000
_ROUNDING = 1e-13


def without_singletons(factors: Sequence[Codes], keep: Mask) -> Mask:
    """Return the rows that are alone in no level, dropping until there is none left.

    Parameters
    ----------
    factors : sequence of (N,) array of int
    keep : (N,) array of bool

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])
    >>> without_singletons([a, b], np.ones(5, bool)).tolist()
    [True, True, False, False, False]
    """
    keep = keep.copy()
    while True:
        alone = np.zeros(len(keep), bool)
        for codes in factors:
            alone |= np.bincount(codes[keep], minlength=int(codes.max()) + 1)[codes] == 1
        if not (alone & keep).any():
            return keep
        keep &= ~alone


def within(columns: Array, factors: Sequence[Codes], total: Array) -> Array:
    """Return what the fixed effects leave of each column: its residual on all dummies.

    Parameters
    ----------
    columns : (n, k) array
    factors : sequence of (n,) array of int
        Codes 0 to L - 1, each occurring.
    total : (n,) array
        Square root of the weight of each row, above 0.

    Returns
    -------
    (n, k) array
        A column of which next to nothing is left is exactly zero.

    Notes
    -----
    One factor is exact: group means.  With several, the largest is taken out exactly and the
    others by LSMR on dummies scaled to length one, to a relative tolerance of 1e-14.

    References
    ----------
    Fong and Saunders (2011), "LSMR: An Iterative Algorithm for Sparse Least-Squares Problems".

    Examples
    --------
    >>> within(np.array([[1.0], [3.0], [5.0]]), [np.array([0, 0, 1])], np.ones(3)).ravel().tolist()
    [-1.0, 1.0, 0.0]
    """
    scaled = columns * total[:, None]
    dummies = sorted((unit_dummies(codes, total) for codes in factors), key=width, reverse=True)
    first, rest = dummies[0], dummies[1:]
    left = _less_means(first, scaled)
    if rest:
        left = np.column_stack([_solved(first, rest, column) for column in left.T])
    centred = scaled - total[:, None] * (total @ scaled / (total @ total))
    varied, whole = np.linalg.norm(centred, axis=0), np.linalg.norm(scaled, axis=0)
    gone = np.linalg.norm(left, axis=0) <= np.maximum(COLLINEAR * varied, _ROUNDING * whole)
    return np.where(gone, 0.0, left / total[:, None])


def unit_dummies(codes: Codes, total: Array) -> Any:
    """Return the dummies of a factor times ``total``, each of length one; (n, L) sparse.

    Examples
    --------
    >>> unit_dummies(np.array([0, 0, 1]), np.ones(3)).toarray().round(3).tolist()
    [[0.707, 0.0], [0.707, 0.0], [0.0, 1.0]]
    """
    size = int(codes.max()) + 1
    lengths = np.sqrt(np.bincount(codes, total**2, size))
    rows = np.arange(len(codes))
    return sparse.csr_matrix((total / lengths[codes], (rows, codes)), (len(codes), size))


def width(dummies: Any) -> int:
    """Return the number of levels."""
    return int(dummies.shape[1])


def _less_means(dummies: Any, columns: Array) -> Array:
    """Return the residual on one factor; the second pass removes the rounding of the first."""
    for _ in range(2):
        columns = columns - dummies @ (dummies.T @ columns)
    return columns


def _solved(first: Any, rest: Sequence[Any], column: Array) -> Array:
    """Return the residual of one column, free of the first factor, on the others as well."""
    others = sparse.hstack(rest).tocsr()
    operator = LinearOperator(
        others.shape,
        matvec=lambda b: _less_means(first, others @ b.ravel()),
        rmatvec=lambda r: others.T @ _less_means(first, r.ravel()),
        dtype=np.float64,
    )
    for _ in range(2):
        found = lsmr(
            operator, column, atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, maxiter=_MOST_STEPS
        )
        if found[1] == 7:
            raise ParameterError(
                "the absorbed factors are connected by too few rows to be separated; "
                "absorb fewer, or write one of them as C(x)"
            )
        column = _less_means(first, column - others @ found[0])
    return column
