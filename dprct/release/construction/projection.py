"""Orthonormal bases of designs, and the influence of each row on the effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.results.covariance import independent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.release.construction.specification import Array, Specification


_NOTHING = 1e-8
_ILL_CONDITIONED = 1e5


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How least squares makes effects of outcomes: tau^ = A'y.

    Parameters
    ----------
    rows : (n, K - 1) array
        The first columns of ``W (W'W)^-1``.
    bread : (K - 1, K - 1) array
        Their part of ``(W'W)^-1``.
    rank : int
        Rank of W, as which Stata and R count it.
    """

    rows: Array
    bread: Array
    rank: int


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """An orthonormal basis of the columns of one or several designs.

    Parameters
    ----------
    vectors : (n, r) array
    """

    vectors: Array

    def without(self, v: Array) -> Array:
        """Return the part of ``v``, (n,) or (n, m), that is orthogonal to the designs."""
        return self.about_without(self.about_without(v))  # removes the rounding of the first

    def about_without(self, v: Array) -> Array:
        """Return it up to rounding that is small beside ``v``, in half the time."""
        return v - self.vectors @ (self.vectors.T @ v)


def factored(specification: Specification) -> tuple[Basis, Influence]:
    """Return a basis of a design, the controls first, and the influence on its effects.

    Raises
    ------
    ParameterError
        If a treatment is a combination of other columns, or no degree of freedom is left.

    Notes
    -----
    With ``[1, X, T] = Q R`` and Q_T, R_TT the parts of the last K - 1 columns, the treatments that
    the controls do not explain are ``Q_T R_TT``, so that (Frisch, Waugh and Lovell)
    ``A = Q_T R_TT^-T`` and its part of ``(W'W)^-1`` is ``A'A``.
    """
    vectors, triangle, kept, lengths = _orthonormal(
        np.column_stack([specification.controls, specification.treatments])
    )
    effects = specification.effects
    if not kept[-effects:].all():
        raise ParameterError(
            "a treatment is constant or a combination of the other columns, so that its effect "
            "does not exist; draw another assignment or leave covariates out"
        )
    if len(vectors) <= vectors.shape[1]:
        raise ParameterError(
            f"{len(vectors)} rows leave no degree of freedom beside {vectors.shape[1]} "
            "coefficients; leave covariates out"
        )
    inverse = np.linalg.inv(triangle[-effects:, -effects:])
    rows = vectors[:, -effects:] @ (inverse / lengths[-effects:, None]).T
    return Basis(vectors), Influence(rows, rows.T @ rows, vectors.shape[1])


def joined(bases: Sequence[Basis]) -> Basis:
    """Return a basis of the columns of all designs together."""
    if len(bases) == 1:
        return bases[0]
    vectors = bases[0].vectors
    for basis in bases[1:]:
        rest = Basis(vectors).without(basis.vectors)
        rest = rest[:, np.linalg.norm(rest, axis=0) > _NOTHING]
        if rest.size:
            vectors = np.column_stack([vectors, _orthonormal(rest)[0]])
    return Basis(vectors)


def _orthonormal(columns: Array) -> tuple[Array, Array, NDArray[np.bool_], Array]:
    """Return Q, R of the independent columns, which those are, and the lengths of all.

    The columns are scaled to length one before they are factored.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    scaled = columns / np.where(lengths > 0, lengths, 1)
    kept = np.ones(scaled.shape[1], bool)
    found = _cholesky_twice(scaled)
    if found is None:
        kept = independent(scaled)
        scaled = scaled[:, kept]
        found = _cholesky_twice(scaled)
    vectors, triangle = np.linalg.qr(scaled) if found is None else found
    return vectors, triangle, kept, lengths


def _cholesky_twice(columns: Array) -> tuple[Array, Array] | None:
    """Return Q, R in a third of the time of Householder's method, or None if ill-conditioned.

    Q of one Cholesky factorisation is orthonormal up to the squared condition number, so that a
    second one makes it so to the last digits (Yamamoto et al. 2015, "Roundoff error analysis of
    the CholeskyQR2 algorithm").
    """
    triangle = np.eye(columns.shape[1])
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(columns.T @ columns).T
        except np.linalg.LinAlgError:
            return None
        if np.linalg.cond(factor) > _ILL_CONDITIONED:
            return None
        columns, triangle = columns @ np.linalg.inv(factor), factor @ triangle
    return columns, triangle
