"""The errors that a regression reports, as quadratic forms of its residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.release.construction.projection import Influence
    from dprct.release.construction.specification import Array, Specification


@dataclass(frozen=True, eq=False)
class Errors:
    """The conditions ``e' D_c e = g_c`` of one specification.

    Parameters
    ----------
    influence : Influence
    covariance : (K - 1, K - 1) array
        Target of the effects.
    groups : (n,) array of int, or None
        Codes from 0 for CR1; None for HC1.
    classical : bool
        The classical error of a single effect must equal its target too.

    Notes
    -----
    For effects j <= l, ``D_jl = n/(n-k) diag(A_ij A_il)`` (HC1), or
    ``G/(G-1) (n-1)/(n-k) sum_g a_gj a_gl'`` with a_g the influences of the rows of cluster g
    (CR1).  The classical error is right where ``e'e = s^2 (n - k)``, s^2 being the target variance
    over its part of ``(W'W)^-1`` (ALGORITHMS.md, section 4).  No n x n matrix is ever formed.
    """

    influence: Influence
    covariance: Array
    groups: NDArray[np.int64] | None
    classical: bool

    @classmethod
    def of(
        cls, specification: Specification, influence: Influence, unit: float, *, classical: bool
    ) -> Errors:
        """Return the conditions of a specification, for residuals in units of ``unit``."""
        groups = specification.groups
        codes = None if groups is None else _codes(groups)
        return cls(influence, specification.covariance / unit**2, codes, classical)

    def inflated(self, share: float) -> Errors:
        """Return conditions whose variances are larger by a share, and covariances as they are."""
        more = np.diag(np.diag(self.covariance) * share)
        return replace(self, covariance=self.covariance + more)

    def robust(self) -> Errors:
        """Return the conditions without the classical error."""
        return replace(self, classical=False)

    @property
    def smallest_eigenvalue(self) -> float:
        """Of the target as correlations; not above zero where no residuals can have it."""
        errors = np.sqrt(np.diag(self.covariance))
        return float(np.linalg.eigvalsh(self.covariance / np.outer(errors, errors))[0])

    @cached_property
    def targets(self) -> Array:
        """g_c, (m,)."""
        first, second = self._pairs
        norm = [self.covariance[0, 0] / self.influence.bread[0, 0]] if self.classical else []
        return np.array([*self.covariance[first, second], *norm])

    @cached_property
    def scales(self) -> Array:
        """What counts as one in a condition, (m,): the product of the two target errors."""
        first, second = self._pairs
        errors = np.sqrt(np.diag(self.covariance))
        norm = [self.covariance[0, 0] / self.influence.bread[0, 0]] if self.classical else []
        return np.array([*(errors[first] * errors[second]), *norm])

    def images(self, e: Array) -> Array:
        """Return ``D_c e`` for every c, (m, n)."""
        found = self._diagonal * e if self.groups is None else self._clustered(e)
        return np.vstack([found, e / self._left]) if self.classical else found

    def reached(self, e: Array) -> Array:
        """Return the covariance of the effects that residuals e lead to, (K - 1, K - 1)."""
        scores = self.influence.rows * e[:, None]
        if self.groups is not None:
            scores = self._summed(scores)
        return self._factor * scores.T @ scores

    def shortfall(self, e: Array) -> float:
        """Return the factor by which e is to grow so that no reported error is below target."""
        found = self.images(e) @ e
        variances = np.flatnonzero(np.append(self._pairs[0] == self._pairs[1], self.classical))
        variances = variances[variances < len(found)]
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.sqrt(self.targets[variances] / found[variances])
        return float(np.linalg.norm(np.where(self.targets[variances] > 0, needed, 0.0), np.inf))

    def classical_ratio(self, e: Array) -> float:
        """Return the classical error of the first effect over its target."""
        return float(
            np.sqrt(e @ e / self._left * self.influence.bread[0, 0] / self.covariance[0, 0])
        )

    @property
    def _left(self) -> int:
        """Degrees of freedom, n - k."""
        return len(self.influence.rows) - self.influence.rank

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(self.influence.rows.shape[1])

    @cached_property
    def _factor(self) -> float:
        n = len(self.influence.rows)
        if self.groups is None:
            return n / self._left
        count = len(np.bincount(self.groups))
        return count / (count - 1) * (n - 1) / self._left

    @cached_property
    def _diagonal(self) -> Array:
        first, second = self._pairs
        columns = self.influence.rows.T
        return self._factor * columns[first] * columns[second]

    def _clustered(self, e: Array) -> Array:
        first, second = self._pairs
        rows = self.influence.rows
        sums = self._summed(rows * e[:, None])[self.groups]
        return (
            self._factor
            / 2
            * (rows[:, first] * sums[:, second] + rows[:, second] * sums[:, first]).T
        )

    def _summed(self, scores: Array) -> Array:
        """Return the sums (G, m) of scores (n, m) by cluster."""
        assert self.groups is not None
        return np.column_stack([np.bincount(self.groups, weights=s) for s in scores.T])


def _codes(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return clusters as codes 0 to G - 1 in order of appearance."""
    known = {label: code for code, label in enumerate(dict.fromkeys(groups.tolist()))}
    return np.array([known[label] for label in groups.tolist()], np.int64)
