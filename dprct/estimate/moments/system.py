"""Least squares from noisy second moments: the estimate, its law, and when there is none.

In cell g of the release, r = (h, z) has the moments P_g + N_g, and a regressor is a public linear
function of r: x = T_g r, for the constant, a released column, or either times a public number of
the cell, such as the indicator of its arm.  The outcome is w_g' r.  With the residual's direction
a_g = w_g - T_g' b, the normal equations are u(b) = sum T_g P_g a_g = 0, and with noise u has the
further covariance K(b) = sum T_g E[N a a' N] T_g'.

For the symmetric Gaussian N, E[N X N] = s2^2 / 2 (X' + tr(X) I), less s2^2 X_00 at the corner where
the number of rows, and so the corner of P_g, is exact.

Regressors are first brought to an orthonormal basis of their public rows T, so that no unit, no
order and no recoding of them changes an estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.gaussian_law import kappa, rounded_up
from dprct.lazy import linalg
from dprct.records import dataclass
from dprct.results.covariance import independent
from dprct.results.joint import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.noisy import NoisyMoments

    Array = NDArray[np.floating[Any]]

GATE = 0.1
"""Least squares is read where eta^2, the noise of the moments against themselves, is at most it."""

_DAMPINGS, _CLOSE = ((0.8, 40), (0.5, 200)), 1e-12
_DESCENTS, _SHORTEST, _SETTLED = 60, 1e-3, 1e-9


@dataclass(frozen=True)
class Regressor:
    """The constant (``column`` None) or a column, times a public number of each cell."""

    name: str  # as it is printed
    column: str | None = None
    by_cell: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class System:
    """The moments of a release as one regression sees them."""

    # Regressors that are not linear combinations of earlier ones by their public rows.
    names: tuple[str, ...]
    T: Array  # (G, k, d): regressors in the basis, as functions of r
    P: Array  # (G, d, d)
    s2: Array  # (G,)
    exact: Array  # (G,): where the number of rows is public
    rows: Array  # (G,)
    to_names: Array  # (k, k): coefficients in the basis, times this, are those of ``names``
    M: Array  # (k, k): sum of T P T'
    counted: float | None = None  # rows, where ``rows`` has sums of weights instead; None elsewhere

    @property
    def n(self) -> float:
        """Rows of all cells, or the sum of their weights."""
        return float(self.rows.sum())

    @property
    def nobs(self) -> float:
        """Rows of all cells."""
        return self.n if self.counted is None else self.counted

    @property
    def df_resid(self) -> float:
        """Rows less coefficients."""
        return self.nobs - len(self.M)

    @property
    def divisor(self) -> float:
        """By what squares of residuals are divided for their variance."""
        if self.counted is None:
            return self.n - len(self.M)
        return max(self.n, 1e-300) * (1 - len(self.M) / self.counted)

    def mean_of_products(self, B: Array) -> Array:
        """Return E[N_g B_g N_g] of every cell, (G, d, d), for symmetric B."""
        d = B.shape[-1]
        half = self.s2[:, None, None] ** 2 / 2
        traces = np.trace(B, axis1=1, axis2=2)[:, None, None]
        found: Array = half * (B + traces * np.eye(d))
        found[:, 0, 0] -= np.where(self.exact, self.s2**2 * B[:, 0, 0], 0)
        return found

    def inside(self, A: Array) -> Array:
        """Return T_g' A T_g of every cell."""
        found: Array = self.T.swapaxes(1, 2) @ A @ self.T
        return found

    def by_cell(self, X: Array) -> Array:
        """Return T_g X_g T_g' of every cell."""
        found: Array = self.T @ X @ self.T.swapaxes(1, 2)
        return found

    def noise_of_scores(self, a: Array) -> Array:
        """Return K, the covariance of the noise of u."""
        found: Array = self.by_cell(self.mean_of_products(a[:, :, None] * a[:, None, :])).sum(
            axis=0
        )
        return found

    def residual(self, w: Array, b: Array) -> Array:
        """Return a_g = w_g - T_g' b, (G, d)."""
        found: Array = w - b @ self.T
        return found


def rows_of(cells: Sequence[NoisyMoments], regressor: Regressor) -> Array:
    """Return the row of a regressor in every cell, (G, d)."""
    by_cell = np.ones(len(cells)) if regressor.by_cell is None else np.array(regressor.by_cell)
    found: Array = by_cell[:, None] * np.array([cell.row(regressor.column) for cell in cells])
    return found


def system_of(
    cells: Sequence[NoisyMoments], regressors: Sequence[Regressor], counted: float | None = None
) -> System:
    """Return the moments in an orthonormal basis of the regressors' public rows.

    ``counted`` is the number of rows where cells have sums of weights.
    """
    d = len(cells[0].names) + 1
    stacked = np.array([rows_of(cells, one) for one in regressors])  # (k, G, d)
    present = np.array([not cell.n_is_public or cell.n > 0 for cell in cells])
    flat = (stacked * present[:, None]).reshape(len(regressors), -1).T
    lengths = np.sqrt((flat**2).sum(axis=0))
    if not lengths.all():
        empty = regressors[int(np.flatnonzero(lengths == 0)[0])].name
        raise ParameterError(f"regressor {empty!r} is 0 in every cell that has rows; leave it out")
    kept = independent(flat / lengths)
    Q, R = np.linalg.qr(flat[:, kept] / lengths[kept])
    to_names = np.linalg.inv(R) / lengths[kept][:, None]
    T = Q.T.reshape(-1, len(cells), d).swapaxes(0, 1)
    P = np.array([cell.matrix for cell in cells])
    names = [one.name for one in regressors]
    return System(
        names=tuple(name for name, keep in zip(names, kept, strict=True) if keep),
        T=T,
        P=P,
        s2=np.array([cell.s2 for cell in cells]),
        exact=np.array([cell.n_is_public for cell in cells]),
        rows=np.array([cell.n for cell in cells]),
        to_names=to_names,
        M=(T @ P @ T.swapaxes(1, 2)).sum(axis=0),
        counted=counted,
    )


@dataclass(frozen=True, eq=False)
class Inverse:
    """A, the de-biased inverse of the regressors' moments, and how far it can be trusted."""

    A: Array  # (k, k): positive definite
    bread: Array  # (k, k): M + F(A), the inverse of ``A``
    F: Array  # (G, d, d): E[N T' A T N] of every cell
    eta2: float  # sum over cells of s2^2 / 2 tr((T' A T)^2)
    settled: bool  # whether the iteration came to its fixed point

    @property
    def passes(self) -> bool:
        """Whether least squares is read at all: a rule on released numbers."""
        return self.settled and self.eta2 <= GATE


def inverse_of(system: System) -> Inverse:
    """Return A with A = (M + F(A))^-1, F(A) = sum T E[N T' A T N] T'.

    (M + N)^-1 has the mean M^-1 + M^-1 E[N M^-1 N] M^-1 to second order; adding F takes it away.
    The iteration starts where M is positive: eigenvalues below the size of the noise, s2 sqrt(k),
    are raised to it.  Its derivative is negative and, where the gate passes, at least -1/2: damped
    to 4/5 an error shrinks to a fifth in every step.  Where that does not settle, half steps do or
    there is no fixed point.
    """
    k = len(system.M)
    size = math.sqrt(float((system.s2**2).sum()) / len(system.s2))
    w, U = np.linalg.eigh(system.M)
    floor = max(size * math.sqrt(k), 1e-14 * float(np.abs(w[[0, -1]]).sum()), 1e-300)
    start = (U / np.maximum(w, floor)) @ U.T
    settled = size == 0 and bool(w[0] > floor)
    A, F, bread = start, np.zeros_like(system.P), system.M
    for damping, most in () if settled else _DAMPINGS:
        A = start
        for _ in range(most):
            F = system.mean_of_products(system.inside(A))
            bread = system.M + system.by_cell(F).sum(axis=0)
            try:
                step = damping * (np.linalg.inv(bread) - A)
            except np.linalg.LinAlgError:
                break
            A = A + (step + step.T) / 2
            settled = bool(np.abs(step).sum() <= _CLOSE * np.abs(A).sum())
            if settled or not np.isfinite(A).all():
                break
        if settled:
            break
    # far from any fixed point A may lose its sign; such a system is not read
    settled = settled and bool(np.isfinite(A).all()) and bool(np.linalg.eigvalsh(A)[0] > 0)
    if settled and size > 0:
        F = system.mean_of_products(system.inside(A))
        bread = np.linalg.inv(A)
    if not settled:  # A is then a start and no more
        A = start
    inside = system.inside(A)
    eta2 = float((system.s2**2 / 2 * np.einsum("gij,gji->g", inside, inside)).sum())
    return Inverse(A, (bread + bread.T) / 2, F, eta2, settled)


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares of one outcome, in the basis."""

    system: System
    inverse: Inverse
    w: Array  # (G, d): the outcome
    b: Array  # (k,)
    noise: Array  # (k, k): covariance of ``b`` that is privacy noise
    sampling: Array  # (k, k)
    # Of all cells together, without noise; it may be below zero as released.
    residual_variance: float
    by_cell: bool  # whether residuals have a variance of their own in every cell
    # What is subtracted from a linear combination, where that is all that is asked.
    shift: float = 0.0
    # The sampling covariance over that of equal weights, by trace: of weighted rows.
    inflation: float = 1.0

    @property
    def cov(self) -> Array:
        """Covariance of ``b``."""
        return self.noise + self.sampling


def coefficients(system: System, inverse: Inverse, w: Array) -> Array:
    """Return b = A (sum T P w + sum T E[N T' A T N] w).

    The second sum is 0 where the outcome is no function of the regressors' part of r; it makes an
    outcome that is a regressor have the coefficient 1, and shifts of an outcome exact.
    """
    moments = np.einsum("gki,gij,gj->k", system.T, system.P + inverse.F, w)
    found: Array = inverse.A @ moments
    return found


def fit(
    system: System,
    inverse: Inverse,
    w: Array,
    *,
    by_cell: bool = False,
    meat: Array | None = None,
    kap: float | None = None,
) -> Fit:
    """Return least squares with the two parts of its covariance, A (K + S) A.

    S is the residual variance times M + F(A); or, by cell, the sum of such products; or ``meat``,
    a released sum of products of scores in the units of ``system.names``.
    """
    b = coefficients(system, inverse, w)
    a = system.residual(w, b)
    noise, sampling, variance = errors(system, inverse, a, system.divisor, by_cell, kap)
    inflation = 1.0
    if meat is not None:
        J = system.to_names  # scores in the basis are J' times those of the names
        sampling = inverse.A @ positive(J.T @ meat @ J) @ inverse.A
        if system.counted is not None and variance > 0:
            inflation = float(np.trace(sampling @ inverse.bread)) / (variance * len(b))
    return Fit(system, inverse, w, b, noise, sampling, variance, by_cell, inflation=inflation)


def errors(
    system: System, inverse: Inverse, a: Array, df: float, by_cell: bool, kap: float | None = None
) -> tuple[Array, Array, float]:
    """Return noise and sampling covariance of A u with residuals a'r, and their variance.

    Fitting noise makes residuals look smaller by tr(A K), which is given back.  Their variance is
    raised by ``kap`` of its own noise: kappa at 95 %, the largest over coefficients, if not given.
    """
    A, K = inverse.A, system.noise_of_scores(a)
    noise = A @ K @ A
    squares = np.einsum("gi,gij,gj->g", a, system.P, a)
    overfit = float(np.trace(A @ K))
    whole = (float(squares.sum()) + overfit) / df
    lengths = (a**2).sum(axis=1)
    variances: Array
    if by_cell:
        share = np.where(system.rows > 0, system.rows, math.inf) * df / system.n
        variances = (squares + overfit * system.rows / system.n) / share
        spreads = system.s2 * lengths / share
        parts: Array = A @ system.by_cell(system.P + inverse.F) @ A
    else:
        variances = np.full(1, whole)
        spreads = np.array([math.sqrt(float(((system.s2 * lengths) ** 2).sum())) / df])
        parts = A[None]
    raised = np.maximum(variances + _raise(system, parts, spreads, noise, kap), 0)
    sampling = positive((raised[:, None, None] * parts).sum(axis=0))
    return noise, sampling, whole


def _raise(system: System, parts: Array, spreads: Array, noise: Array, kap: float | None) -> Array:
    """Addition to residual variances, (1,) or (G,): kappa times their noise."""
    if not spreads.any():
        return np.zeros(len(spreads))
    J = system.to_names
    each = spreads[:, None] * np.maximum(np.einsum("ik,gkl,il->gi", J, parts, J), 0)
    om = np.sqrt((each**2).sum(axis=0))
    if not om.any():  # released moments that are noise alone have parts of no sign
        return np.zeros(len(spreads))
    ratio = om / np.einsum("ik,kl,il->i", J, noise, J)
    worst = int(np.argsort(ratio)[-1])
    if kap is None:
        kap = kappa(rounded_up(float(ratio[worst])), 0.05)
    # parts of several cells are raised so that together they are raised by kappa om
    raised: Array = kap * om[worst] / each[:, worst].sum() * spreads
    return raised


def profile(found: Fit, L: Array, values: Array) -> float:
    """Return the least of u(b)' C(b)^-1 u(b) over the b with L b = values: chi-square(len(L)).

    C is the covariance of u at b: noise and residual variance at b itself, so that the test does
    not rest on the estimate (Anderson and Rubin 1949).  Gauss-Newton steps use the derivative of u
    less its part along u (Kleibergen 2005), which makes their direction that of the gradient.
    """
    system, A = found.system, found.inverse.A
    T, s2 = system.T, system.s2
    back = A @ L.T
    start = found.b - back @ np.linalg.solve(L @ back, L @ found.b - values)
    free = linalg.null_space(L)
    blocks = found.inverse.bread[None]
    if found.by_cell:
        blocks = np.array([positive(one) for one in system.by_cell(system.P + found.inverse.F)])

    def at(b: Array) -> tuple[float, Array, Array, Any]:
        a = system.residual(found.w, b)
        scores = np.einsum("gij,gj->gi", system.P, a)
        u = np.einsum("gki,gi->k", T, scores)
        squares = np.maximum((a * scores).sum(axis=1), 0)
        if found.by_cell:
            variances = squares / np.maximum(system.rows, 1)
        else:
            total = max(float((a * scores).sum()), 0.0)
            variances = np.array([found.inflation * total / system.n])
        C = system.noise_of_scores(a) + (variances[:, None, None] * blocks).sum(axis=0)
        C = C + 1e-14 * np.trace(C) * np.eye(len(C))
        factor = linalg.cho_factor(C, check_finite=False)
        return float(u @ linalg.cho_solve(factor, u, check_finite=False)), a, u, factor

    try:
        q, a, u, factor = at(start)
    except linalg.LinAlgError:  # no residual and no noise: every other value is impossible
        return math.inf if np.abs(L @ found.b - values).sum() > 0 else 0.0
    b = start
    for _ in range(_DESCENTS if free.shape[1] else 0):
        y = linalg.cho_solve(factor, u, check_finite=False)
        t = y @ T  # (G, d)
        toward = np.einsum("gki,gi->gk", T, a)
        half = s2**2 / 2
        D = system.M - (
            np.einsum("g,gk,gi,gli->kl", half, toward, t, T)
            + np.einsum("g,gkm,gm,gl->kl", half, T, t, toward)
        )
        corner = np.where(system.exact, s2**2 * a[:, 0] * t[:, 0], 0)
        D = D + np.einsum("g,gk,gl->kl", corner, T[:, :, 0], T[:, :, 0])
        left = (D @ free).T
        weighted = linalg.cho_solve(factor, system.M @ free, check_finite=False)
        step = free @ np.linalg.lstsq(left @ weighted, left @ y, rcond=1e-12)[0]
        length = 1.0
        new = at(b + step)
        while new[0] > q and length > _SHORTEST:
            length /= 2
            new = at(b + length * step)
        if new[0] > q:
            break
        gain = q - new[0]
        b, (q, a, u, factor) = b + length * step, new
        if gain < _SETTLED * max(q, 1e-4):
            break
    return q
