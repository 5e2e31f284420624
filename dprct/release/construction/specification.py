"""What a reader may run on a released file, and what the residuals achieve for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError

Array = NDArray[np.float64]

_ASYMMETRY = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """One regression that a reader may run on the released file.

    Parameters
    ----------
    design : (n, k) array
        ``W = [T, 1, X]``: treatments first, then an intercept and covariates in any order.  The
        covariates may be collinear among themselves; no treatment may be a combination of the
        other columns.
    effects : int
        K - 1, how many of the first columns are treatments.
    covariance : (K - 1, K - 1) array
        Target covariance of the effects, in squared units of the outcome; symmetric.
    groups : (n,) array of int, or None
        Cluster of each row, for errors clustered by it (CR1); None for heteroskedasticity-robust
        errors (HC1).

    Raises
    ------
    ParameterError
        If shapes contradict each other or a number is not finite.

    Examples
    --------
    >>> arm = np.array([0.0, 0, 0, 1, 1, 1])
    >>> W = np.column_stack([arm, np.ones(6)])
    >>> Specification(W, 1, np.array([[0.04]])).errors.tolist()
    [0.2]
    """

    design: Array
    effects: int
    covariance: Array
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        self._check_design()
        self._check_covariance()
        if self.groups is not None and (
            self.groups.shape != (len(self.design),) or len(set(self.groups.tolist())) < 2
        ):
            raise ParameterError("groups must hold the cluster of each row, at least two clusters")

    @property
    def errors(self) -> Array:
        """Target standard errors of the effects, (K - 1,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def treatments(self) -> Array:
        """The columns T, (n, K - 1)."""
        return self.design[:, : self.effects]

    @property
    def controls(self) -> Array:
        """The columns [1, X], (n, k - K + 1)."""
        return self.design[:, self.effects :]

    def _check_design(self) -> None:
        if self.design.ndim != 2 or not 1 <= self.effects < self.design.shape[1]:
            raise ParameterError(
                f"effects={self.effects} does not fit a design of shape {self.design.shape}; give "
                "the treatments first and an intercept after them"
            )
        if not np.isfinite(self.design).all():
            raise ParameterError("the design has missing or infinite values; complete it first")

    def _check_covariance(self) -> None:
        sigma = self.covariance
        if sigma.shape != (self.effects, self.effects) or not np.isfinite(sigma).all():
            raise ParameterError(
                f"the covariance of {self.effects} effects has shape {sigma.shape} or missing "
                "values; give finite numbers, one row per effect"
            )
        largest = float(np.linalg.norm(sigma, np.inf))
        if np.any(np.diag(sigma) < 0) or np.any(abs(sigma - sigma.T) > _ASYMMETRY * largest):
            raise ParameterError("the target covariance must be symmetric with variances from 0 up")


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Residuals for a released outcome, and how well they meet their targets.

    Parameters
    ----------
    values : (n,) array
        e, orthogonal to every design, in the unit of the outcome.
    exact : tuple of bool
        Per specification: the whole covariance of the effects is met to 1e-12, relative to the
        product of the two errors (HC1, or CR1 where there are groups).
    ratios : tuple of (K - 1,) array
        Per specification: achieved error (HC1 or CR1) over target error; 1 up to 1e-12 where
        exact, else at least 1.
    classical : tuple of float or None
        Per specification: achieved classical error over target error where there is one effect
        and no groups, else None.  1 for the first such specification, unless that contradicts the
        robust errors; not controlled for the others, because e'e sets all of them.
    """

    values: Array
    exact: tuple[bool, ...]
    ratios: tuple[Array, ...]
    classical: tuple[float | None, ...]
