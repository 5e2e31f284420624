"""Orthonormal bases of designs, and the influence of each row on the effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.results.covariance import independent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.release.construction.specification import Array, Specification


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
        for _ in range(2):  # the second pass removes the rounding of the first
            v = v - self.vectors @ (self.vectors.T @ v)
        return v


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
        found, _, _, _ = _orthonormal(rest[:, np.linalg.norm(rest, axis=0) > _NOTHING])
        vectors = np.column_stack([vectors, found])
    return Basis(vectors)


_NOTHING = 1e-8


def _orthonormal(columns: Array) -> tuple[Array, Array, np.ndarray, Array]:
    """Return Q, R of the independent columns, which those are, and the lengths of all.

    The columns are scaled to length one before they are factored.
    """
    lengths = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(lengths > 0, lengths, 1)
    vectors, triangle = np.linalg.qr(scaled)
    kept = independent(triangle)
    if not kept.all():
        vectors, triangle = np.linalg.qr(scaled[:, kept])
    return vectors, triangle, kept, lengths
