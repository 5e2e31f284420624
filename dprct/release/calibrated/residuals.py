"""Residuals that give a regression the errors that were released: all post-processing."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.results.covariance import blocks, give_back, independent, triangle_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Array = NDArray[np.float64]
Columns = Array | NDArray[np.bool_]

_ASYMMETRY = 1e-10


@dataclass(frozen=True, eq=False)
class Specification:
    """One regression that a reader may run on the released file.

    Examples
    --------
    >>> arm = np.array([0.0, 0, 0, 1, 1, 1])
    >>> W = np.column_stack([arm, np.ones(6)])
    >>> Specification.of(W, 1, np.array([[0.04]])).errors.tolist()
    [0.2]
    """

    treatments: Columns  # (n, K - 1): T, none a combination of other columns
    # (n, k - K + 1): an intercept and covariates in any order, which may be collinear; None where
    # they were factored and let go.
    controls: Columns | None
    # (K - 1, K - 1): target covariance of the effects, in squared units of the outcome; symmetric.
    covariance: Array
    # (n,): cluster of each row, for errors clustered by it (CR1); None for
    # heteroskedasticity-robust errors (HC1).
    groups: NDArray[np.int64] | None = None
    # (n,): residuals of other outcomes, and the covariance of the one effect with theirs.
    shared: tuple[tuple[Array, float], ...] = ()

    @classmethod
    def of(
        cls,
        design: Array,
        effects: int,
        covariance: Array,
        groups: NDArray[np.int64] | None = None,
    ) -> Specification:
        """Return the regression on ``W = [T, 1, X]``, (n, k), the treatments first."""
        if design.ndim != 2 or not 1 <= effects < design.shape[1]:
            raise ParameterError(
                f"``effects={effects}`` does not fit a design of shape {design.shape}; "
                "give the treatments first and an intercept after them"
            )
        return cls(design[:, :effects], design[:, effects:], covariance, groups)

    def __post_init__(self) -> None:
        if not all(map(_is_finite, (self.treatments, self.controls))):
            raise ParameterError("the design has missing or infinite values; complete it first")
        self._check_covariance()
        if self.groups is not None and (
            self.groups.shape != (len(self.treatments),) or (self.groups == self.groups[:1]).all()
        ):
            raise ParameterError("groups must hold the cluster of each row, at least two clusters")

    @property
    def effects(self) -> int:
        """K - 1, how many treatments there are."""
        return int(self.treatments.shape[1])

    @property
    def errors(self) -> Array:
        """Target standard errors of the effects, (K - 1,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def design(self) -> Array:
        """A copy of W, (n, k)."""
        assert self.controls is not None
        return np.column_stack([self.treatments, self.controls]).astype(np.float64, copy=False)

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


def _is_finite(columns: Columns | None) -> bool:
    """Whether all of some columns is, without a mask of all rows."""
    if columns is None:
        return True
    return all(bool(np.isfinite(columns[rows]).all()) for rows in blocks(len(columns)))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals for a released outcome, and how well they meet their targets."""

    values: Array  # (n,): e, orthogonal to every design, in the unit of the outcome
    # Per specification: the whole covariance of the effects is met to 1e-12, relative to the
    # product of the two errors (HC1, or CR1 where there are groups).
    exact: tuple[bool, ...]
    # (K - 1,): per specification: achieved error (HC1 or CR1) over target error; 1 up to 1e-12
    # where exact, else at least 1.
    ratios: tuple[Array, ...]
    # Per specification: achieved classical error over target error where there is one effect and no
    # groups, else None.  1 for the first such specification, unless that contradicts the robust
    # errors; not controlled for the others, because e'e sets all of them.
    classical: tuple[float | None, ...]
    shared: bool = True  # whether all covariances with effects on other outcomes are met, too


_NOTHING = 1e-8
_ILL_CONDITIONED = 1e5


@dataclass(frozen=True, eq=False)
class Influence:
    """How least squares makes effects of outcomes: tau^ = A'y.

    A (n, K - 1), ``vectors @ turn``, are the first columns of ``W (W'W)^-1``, ``bread``
    (K - 1, K - 1) their part of ``(W'W)^-1``, and ``rank`` is that of W, as which Stata and R count
    it.
    """

    vectors: Array
    turn: Array
    rank: int

    @property
    def bread(self) -> Array:
        """A'A."""
        found: Array = self.turn.T @ self.turn
        return found

    @property
    def rows(self) -> Array:
        """All of A."""
        return self.at(slice(None))

    def apart(self, basis: Basis) -> Influence:
        """Return the same, without what its vectors were cut from, but where a basis has it."""
        if np.may_share_memory(self.vectors, basis.vectors):
            return self
        return replace(self, vectors=self.vectors.copy())

    def at(self, rows: slice) -> Array:
        """Return some rows of A."""
        found: Array = self.vectors[rows] @ self.turn
        return found


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis of the columns of one or several designs."""

    vectors: Array  # (n, r)

    def without(self, v: Array) -> Array:
        """Return the part of ``v``, (n,) or (n, m), that is orthogonal to the designs."""
        return self.take_out_of(np.array(v))

    def take_out_of(self, v: Array) -> Array:
        """Change ``v`` into that part."""
        for _ in range(2):  # the second removes the rounding of the first
            explained = self.vectors.T @ v
            for rows in blocks(len(v)):
                v[rows] -= self.vectors[rows] @ explained
        return v


def factored(specification: Specification) -> tuple[Basis, Influence]:
    """Return a basis of a design, the controls first, and the influence on its effects.

    Notes
    -----
    With ``[1, X, T] = Q R`` and Q_T, R_TT the parts of the last K - 1 columns, the treatments that
    the controls do not explain are ``Q_T R_TT``, so that (Frisch, Waugh and Lovell)
    ``A = Q_T R_TT^-T`` and its part of ``(W'W)^-1`` is ``A'A``.
    """
    effects = specification.effects
    assert specification.controls is not None
    give_back(len(specification.treatments))
    columns = np.column_stack([specification.controls, specification.treatments])
    vectors, triangle, kept, lengths = _orthonormal(columns.astype(np.float64, copy=False))
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
    turn = (inverse / lengths[-effects:, None]).T
    return Basis(vectors), Influence(vectors[:, -effects:], turn, vectors.shape[1])


def spanned(columns: Array) -> Basis:
    """Return a basis of columns, (n, m), some of which may be combinations of others."""
    return Basis(_orthonormal(columns.copy())[0])


def joined(bases: Sequence[Basis]) -> Basis:
    """Return a basis of the columns of all designs together."""
    if len(bases) == 1:
        return bases[0]
    vectors = bases[0].vectors
    for basis in bases[1:]:
        rest = Basis(vectors).without(basis.vectors)
        rest = rest[:, np.einsum("ij,ij->j", rest, rest) > _NOTHING**2]
        if rest.size:
            vectors = np.column_stack([vectors, _orthonormal(rest)[0]])
    return Basis(vectors)


def _orthonormal(columns: Array) -> tuple[Array, Array, NDArray[np.bool_], Array]:
    """Return Q, R of the independent columns, which those are, and the lengths of all.

    The columns are scaled to length one before they are factored; they are overwritten.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > 0, lengths, 1)
    kept = np.ones(columns.shape[1], bool)
    triangle = _cholesky_twice(columns)
    if triangle is None:
        kept = independent(columns)
        columns = columns[:, kept]
        triangle = _cholesky_twice(columns)
    if triangle is None:
        columns, triangle = np.linalg.qr(columns)
    return columns, triangle, kept, lengths


def _cholesky_twice(columns: Array) -> Array | None:
    """Turn columns into Q and return R, in a third of the time of Householder's method.

    None where they are ill-conditioned, and left as they are.  Q of one Cholesky factorisation is
    orthonormal up to the squared condition number, so that a second one makes it so to the last
    digits (Yamamoto et al. 2015, "Roundoff error analysis of the CholeskyQR2 algorithm").
    """
    triangle = np.eye(columns.shape[1])
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(columns.T @ columns).T
        except np.linalg.LinAlgError:
            return None
        if np.linalg.cond(factor) > _ILL_CONDITIONED:  # of the first alone
            return None
        inverse = np.linalg.inv(factor)
        for rows in blocks(len(columns)):
            columns[rows] = columns[rows] @ inverse
        triangle = factor @ triangle
    return triangle


@dataclass(frozen=True, eq=False)
class Errors:
    """The conditions ``e' D_c e = g_c`` of one specification.

    Notes
    -----
    For effects j <= l, ``D_jl = n/(n-k) diag(A_ij A_il)`` (HC1), or
    ``G/(G-1) (n-1)/(n-k) sum_g a_gj a_gl'`` with a_g the influences of the rows of cluster g
    (CR1).  The classical error is right where ``e'e = s^2 (n - k)``, s^2 being the target variance
    over its part of ``(W'W)^-1`` (docs/methods.md, section 5).  No n x n matrix is ever formed.
    """

    influence: Influence
    covariance: Array  # (K - 1, K - 1): target of the effects
    groups: NDArray[np.int64] | None  # (n,): codes from 0 for CR1; None for HC1
    classical: bool  # the classical error of a single effect must equal its target too
    # (n,): residuals d of other outcomes, and the covariance g of the two effects: ``e' D d = g``.
    shared: tuple[tuple[Array, float], ...] = ()

    @classmethod
    def of(
        cls, specification: Specification, influence: Influence, unit: float, *, classical: bool
    ) -> Errors:
        """Return the conditions of a specification, for residuals in units of ``unit``."""
        groups = specification.groups
        codes = None if groups is None else _codes(groups)
        shared = tuple((d, g / unit) for d, g in specification.shared)
        return cls(influence, specification.covariance / unit**2, codes, classical, shared)

    def inflated(self, share: float) -> Errors:
        """Return conditions whose variances are larger by a share, and covariances as they are."""
        more = np.diag(np.diag(self.covariance) * share)
        return replace(self, covariance=self.covariance + more)

    def robust(self) -> Errors:
        """Return the conditions without the classical error."""
        return replace(self, classical=False)

    def alone(self) -> Errors:
        """Return the conditions without other outcomes."""
        return replace(self, shared=())

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
        return np.array([*self.covariance[first, second], *norm, *(g for _, g in self.shared)])

    @cached_property
    def scales(self) -> Array:
        """What counts as one in a condition, (m,): the product of the two target errors."""
        first, second = self._pairs
        errors = np.sqrt(np.diag(self.covariance))
        norm = [self.covariance[0, 0] / self.influence.bread[0, 0]] if self.classical else []
        others = [errors[0] * np.sqrt(self.reached(d)[0, 0]) for d, _ in self.shared]
        return np.array([*(errors[first] * errors[second]), *norm, *others])

    def forms(self, e: Array) -> Array:
        """Return ``e' D_c e`` for every c, (m,)."""
        norm = [e @ e / self._left] if self.classical else []
        others = [self._factor * self._products(d, e)[0, 0] for d, _ in self.shared]
        return np.array([*self.reached(e)[self._pairs], *norm, *others])

    def slopes(self, e: Array) -> Callable[[slice], Array]:
        """Return a function of rows to half the gradient of every condition there, (m, rows)."""
        of_e, *of_others = (self._image(v) for v in (e, *(d for d, _ in self.shared)))

        def found(rows: slice) -> Array:
            norm = [e[rows] / self._left] if self.classical else []
            others = [image(rows)[0] / 2 for image in of_others]  # e' D d is linear in e
            return np.vstack([of_e(rows), *norm, *others])

        return found

    def reached(self, e: Array) -> Array:
        """Return the covariance of the effects that residuals e lead to, (K - 1, K - 1)."""
        return self._factor * self._products(e, e)

    def shortfall(self, e: Array) -> float:
        """Return the factor by which e is to grow so that no reported error is below target."""
        found = self.forms(e)
        variances = np.flatnonzero(np.append(self._pairs[0] == self._pairs[1], self.classical))
        variances = variances[variances < len(found)]
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.sqrt(self.targets[variances] / found[variances])
        return largest(np.where(self.targets[variances] > 0, needed, 0.0))

    def classical_ratio(self, e: Array) -> float:
        """Return the classical error of the first effect over its target."""
        return float(
            np.sqrt(e @ e / self._left * self.influence.bread[0, 0] / self.covariance[0, 0])
        )

    def _products(self, d: Array, e: Array) -> Array:
        """Return the sums of products of the scores of two residuals, (K - 1, K - 1)."""
        if self.groups is not None:
            of_d = self._summed(d)
            found: Array = of_d.T @ (of_d if d is e else self._summed(e))
            return found
        total = np.zeros(self.influence.turn.shape)
        for rows in blocks(len(e)):
            A = self.influence.at(rows)
            total += (A * d[rows, None]).T @ (A * e[rows, None])
        return total

    def _image(self, e: Array) -> Callable[[slice], Array]:
        """Return a function of rows to ``D_jl e`` there, for all j <= l; (m, rows)."""
        first, second = self._pairs
        sums = None if self.groups is None else self._summed(e)

        def found(rows: slice) -> Array:
            A = self.influence.at(rows).T
            if sums is None or self.groups is None:
                return self._factor * A[first] * A[second] * e[rows]
            S = sums[self.groups[rows]].T
            return self._factor / 2 * (A[first] * S[second] + A[second] * S[first])

        return found

    @property
    def _left(self) -> int:
        """Degrees of freedom, n - k."""
        return len(self.influence.vectors) - self.influence.rank

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(len(self.covariance))

    @cached_property
    def _factor(self) -> float:
        n = len(self.influence.vectors)
        if self.groups is None:
            return n / self._left
        count = len(np.bincount(self.groups))
        return count / (count - 1) * (n - 1) / self._left

    def _summed(self, e: Array) -> Array:
        """Return the sums (G, K - 1) of the scores of e by cluster."""
        assert self.groups is not None
        scores = self.influence.rows.T
        scores *= e
        return np.column_stack([np.bincount(self.groups, weights=s) for s in scores])


def _codes(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return clusters as codes 0 to G - 1 in order of appearance."""
    return np.asarray(pd.factorize(groups)[0], np.int64)


TOLERANCE = 1e-12
"""Largest relative gap at which a condition counts as met."""

_GOAL = 1e-15
_MOST_STEPS = 60
_MOST_HALVINGS = 12
_PROGRESS = 1 - 1e-5
_LONGEST = 0.5
_SINGULAR = 1e-10


def gaps(conditions: Sequence[Errors], e: Array) -> Array:
    """Return ``(e' D_c e - g_c) / scale_c`` of all conditions, (m,); 0 / 0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        every = [(c.forms(e) - c.targets) / c.scales for c in conditions]
    found: Array = np.concatenate([np.zeros(0), *every])
    found[np.isnan(found)] = 0.0
    return found


def largest(found: Array) -> float:
    """Return the largest gap in absolute value."""
    return float(np.abs(found).max(initial=0.0))


def newton(conditions: Sequence[Errors], basis: Basis, e: Array) -> Array:
    """Move residuals within the space orthogonal to the designs until the conditions are met.

    ``e`` (n,) is orthogonal to the basis and not zero; it is changed into those with the smallest
    gaps that were found, and returned.  :func:`gaps` says how small.

    Notes
    -----
    With ``P_c = (I - P_W) D_c e``, ``e <- e + sum_c lam_c P_c`` where
    ``2 P_c'P_d lam_d = -(e' D_c e - g_c)``: the shortest step that solves the linearised
    conditions, found from the triangle R of P, made of some rows at a time, which is half as
    ill-conditioned as P'P.  A step is at most half as long as e and is halved until the gaps
    decrease.
    """
    found: Array | None = gaps(conditions, e)
    for _ in range(_MOST_STEPS):
        if found is None or largest(found) <= _GOAL:
            break
        found = _descended(conditions, e, _step(conditions, basis, e, found), found)
    return basis.take_out_of(e)


def _step(conditions: Sequence[Errors], basis: Basis, e: Array, found: Array) -> Array:
    every = [c.slopes(e) for c in conditions]

    def slopes(rows: slice) -> Array:
        """Of all conditions over their scales, a column each; (rows, m)."""
        parts = zip(conditions, every, strict=True)
        return np.vstack([slope(rows) / c.scales[:, None] for c, slope in parts]).T

    inside = np.zeros((basis.vectors.shape[1], len(found)))
    for rows in blocks(len(e)):
        inside += basis.vectors[rows].T @ slopes(rows)

    def outside(rows: slice) -> Array:
        return slopes(rows) - basis.vectors[rows] @ inside

    triangle = triangle_of(outside(rows) for rows in blocks(len(e)))
    along = np.linalg.lstsq(triangle.T, -found / 2, rcond=_SINGULAR)[0]
    length = float(np.linalg.norm(along))
    limit = _LONGEST * float(np.linalg.norm(e))
    weights = np.linalg.lstsq(triangle, along, rcond=_SINGULAR)[0]
    weights *= min(1.0, limit / length) if length > 0 else 1.0
    step = np.empty_like(e)
    for rows in blocks(len(e)):
        step[rows] = outside(rows) @ weights
    return step


def _descended(conditions: Sequence[Errors], e: Array, step: Array, found: Array) -> Array | None:
    """Move e by the first of step, step / 2, ... that leaves smaller gaps, which are returned."""
    e += step
    for _ in range(_MOST_HALVINGS):
        left = gaps(conditions, e)
        if np.linalg.norm(left) < _PROGRESS * np.linalg.norm(found):
            return left
        step /= 2
        e -= step
    e -= step
    return None


_THIN = 1e-6


def starts(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Callable[[], Array],
) -> Iterator[Array]:
    """Yield starting points, the best first, made when they are asked for.

    ``noise`` returns e0 (n,), standard normal, orthogonal to the designs.

    Notes
    -----
    With two arms the projected noise comes first: it is as homoskedastic as the classical error
    says.  With more, noise with a variance of its own in every arm comes first.
    """
    two_arms = all(s.effects == 1 for s in specifications)
    if two_arms:
        yield scaled(conditions, noise())
    by_arm = arm_wise(specifications, conditions, basis, noise())
    if by_arm is not None:
        yield by_arm
    if not two_arms:
        yield scaled(conditions, noise())


def scaled(conditions: Sequence[Errors], e: Array) -> Array:
    """Change e by the factor that makes its variances right on average."""
    ratios = np.concatenate([np.diag(c.reached(e)) / np.diag(c.covariance) for c in conditions])
    mean = float(ratios.mean())
    e /= np.sqrt(mean) if mean > 0 else 1.0
    return e


def arm_wise(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Array,
) -> Array | None:
    """Return noise ``e_a = sigma_a (I - P_Za) e0`` in each arm a, or None where there is none.

    Notes
    -----
    With Z the controls of all specifications (which hold the intercept), each e_a is orthogonal to
    Z and to the treatments, which are constant within the arm, whatever sigma_a is.  The sigma_a^2
    solve a linear system: the variances of the effects, the mean of their covariances and, for one
    effect, the classical variance.  It needs more rows than controls in each arm, and a positive
    solution.
    """
    arms, count = _arms(specifications)
    parts = np.zeros((count, len(noise)))
    for arm in range(count):
        rows = arms == arm
        z = _controls(specifications, basis, rows)
        if len(z) <= z.shape[1]:
            return None
        parts[arm, rows] = (
            noise[rows] - z @ np.linalg.lstsq(z.T @ z, z.T @ noise[rows], rcond=None)[0]
        )
    system, targets = _system(conditions, parts)
    squares = np.linalg.lstsq(system, targets, rcond=None)[0]
    if not np.all(squares > _THIN * squares.mean()):
        return None
    return basis.take_out_of(np.sqrt(squares) @ parts)


def _arms(specifications: Sequence[Specification]) -> tuple[NDArray[Any], int]:
    """Return the arm of each row (rows treated alike in all specifications), and how many.

    They are in the order of their treatments.
    """
    found: NDArray[Any] = np.zeros(len(specifications[0].treatments), np.int8)
    count = 1
    for column in (column for s in specifications for column in s.treatments.T):
        codes, values = pd.factorize(column, sort=True)
        codes += found.astype(np.intp) * len(values)
        there = np.bincount(codes) > 0
        count = int(there.sum())
        found = (np.cumsum(there) - 1).astype(np.min_scalar_type(-count))[codes]
    return found, count


def _controls(
    specifications: Sequence[Specification], basis: Basis, rows: NDArray[np.bool_]
) -> Array:
    """Return columns that span the controls of all designs in some rows."""
    if len(specifications) == 1:  # the basis has the controls first
        return basis.vectors[:, : -specifications[0].effects][rows]
    return np.column_stack([basis.vectors[rows], *(s.treatments[rows] for s in specifications)])


def _system(conditions: Sequence[Errors], parts: Array) -> tuple[Array, Array]:
    rows, targets = [], []
    for condition in conditions:
        values = np.array([condition.forms(part) for part in parts]).T
        values, goals = values / condition.scales[:, None], condition.targets / condition.scales
        first, second = np.triu_indices(condition.covariance.shape[0])
        apart = np.flatnonzero(first != second)
        alone = np.setdiff1d(np.arange(len(goals)), apart)
        rows.append(values[alone])
        targets.append(goals[alone])
        if len(apart):
            rows.append(values[apart].mean(axis=0, keepdims=True))
            targets.append(goals[apart].mean(keepdims=True))
    return np.vstack(rows), np.concatenate(targets)


_MORE = (0.0, 0.05, 0.25, 1.0)
_INDEFINITE = 1e-9
_ROUNDING = 1e-20
_LEAST_EIGENVALUE = 1e-3


def residuals(
    specifications: Iterable[Specification],
    start: Array | Callable[[], Array],
    *,
    classical: bool = True,
    without: Array | None = None,
) -> Residuals:
    """Residuals e, orthogonal to ``without``, with which ``y = W b + e`` has the errors asked for.

    They start from standard normal noise, by which residuals of two files differ; no guarantee
    rests on it.  A function that returns the same noise whenever it is called saves a copy.  The
    controls of each specification are held only until it is factored.

    Notes
    -----
    Post-processing of released values and fresh noise: free.  Where no residuals with a target are
    found, the classical error is given up first; then variances are inflated (together) until some
    are found or the target is positive definite; failing that, the closest e is scaled so that
    every error is at least its target.  ``exact`` is then False and ``ratios`` say by how much.

    Some targets exclude each other.  If two specifications differ by fewer covariates than there
    are effects, a combination of effects is the same function of the outcome in both, so that its
    HC1 variances differ by their factors n / (n - k) whatever e is: errors are then too large by
    about that.  An arm of one row adds nothing to HC1, so that the control group must bear all.

    References
    ----------
    docs/methods.md, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from dprct.release.calibrated.residuals import Specification, residuals
    >>> rng = np.random.default_rng(1)
    >>> treated = np.repeat([0.0, 1.0], [60, 40])
    >>> W = np.column_stack([treated, np.ones(100), rng.normal(size=(100, 3))])
    >>> found = residuals([Specification.of(W, 1, np.array([[0.3**2]]))], rng.normal(size=100))
    >>> found.exact, bool(abs(W.T @ found.values).max() < 1e-12)
    ((True,), True)
    """
    found = [(*factored(s), replace(s, controls=None)) for s in specifications]
    if not found:
        raise ParameterError(
            "no specification is given; give the formula of a regression that readers may run"
        )
    bases, influences, known = zip(*found, strict=True)
    again: Callable[[], Array] = start if callable(start) else start.copy
    made = [again()]
    _check(known, made[0])
    unit = max(error for s in known for error in s.errors.tolist())
    if unit == 0:
        return _nothing(known)
    # first, so that treatments stay last
    first = () if without is None else (spanned(without),)
    basis = joined([*first, *bases])
    # of the other bases, the columns of the effects alone
    influences = tuple(one.apart(basis) for one in influences)
    del found, bases
    give_back(len(basis.vectors))
    _check_room(basis)
    conditions = _conditions(known, influences, unit, classical=classical)
    basis.take_out_of(made[0])
    _check_movable(conditions, made[0])

    def noise() -> Array:
        return made.pop() if made else basis.take_out_of(again())

    e, exact = _solved(known, conditions, basis, noise)
    ratios = tuple(
        _ratio(np.sqrt(np.diag(c.reached(e))), np.sqrt(np.diag(c.covariance))) for c in conditions
    )
    shared = largest(gaps([c.robust() for c in conditions if c.shared], e)) <= TOLERANCE
    alike = _classical(known, conditions, e)
    e *= unit
    return Residuals(e, exact, ratios, alike, shared)


def _classical(
    specifications: Sequence[Specification], conditions: Sequence[Errors], e: Array
) -> tuple[float | None, ...]:
    """Return the ratios of classical errors to their targets, where a reader may ask for one."""
    return tuple(
        c.classical_ratio(e) if s.effects == 1 and s.groups is None else None
        for s, c in zip(specifications, conditions, strict=True)
    )


def _check(specifications: Sequence[Specification], start: Array) -> None:
    lengths = {len(s.treatments) for s in specifications}
    if lengths != {len(start)} or start.ndim != 1:
        raise ParameterError(
            f"designs have {', '.join(map(str, sorted(lengths)))} rows and start has shape "
            f"{start.shape}; all must be of one file"
        )
    if not np.isfinite(start).all() or not start.any():
        raise ParameterError("start must be finite noise; draw standard normal numbers")


def _check_room(basis: Basis) -> None:
    rows, columns = basis.vectors.shape
    if columns >= rows:
        raise ParameterError(
            f"{rows} rows leave no residuals beside {columns} columns of all specifications "
            "together; declare fewer covariate sets"
        )


def _check_movable(conditions: Sequence[Errors], e: Array) -> None:
    """Refuse an error that is zero for noise, up to rounding, and hence for all residuals."""
    for condition in conditions:
        usual = np.diag(condition.influence.bread) * (e @ e) / len(e)
        if np.any(np.diag(condition.reached(e)) < _ROUNDING * usual):
            raise ParameterError(
                "the error of an effect is zero whatever the outcome, as where all rows or "
                "clusters that it compares are fitted exactly; leave covariates out"
            )


def _nothing(specifications: Sequence[Specification]) -> Residuals:
    """Return residuals of zero, for targets of zero."""
    exact = tuple(True for _ in specifications)
    ratios = tuple(np.ones(s.effects) for s in specifications)
    classical = tuple(1.0 if s.effects == 1 and s.groups is None else None for s in specifications)
    return Residuals(np.zeros(len(specifications[0].treatments)), exact, ratios, classical)


def _conditions(
    specifications: Sequence[Specification],
    influences: Sequence[Influence],
    unit: float,
    *,
    classical: bool,
) -> list[Errors]:
    """Return the conditions, in units of the largest error.

    The classical errors of two specifications contradict each other, both being set by e'e.
    """
    alone = [i for i, s in enumerate(specifications) if s.effects == 1 and s.groups is None]
    return [
        Errors.of(s, influence, unit, classical=classical and alone[:1] == [i])
        for i, (s, influence) in enumerate(zip(specifications, influences, strict=True))
    ]


def _solved(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Callable[[], Array],
) -> tuple[Array, tuple[bool, ...]]:
    """Return residuals, and which specifications they meet exactly."""
    alone = [c.alone() for c in conditions]
    tried: list[Array] = []
    for wanted in _attempts(conditions):
        for first in starts(specifications, [c.alone() for c in wanted], basis, noise):
            e = newton(wanted, basis, first)
            if largest(gaps(wanted, e)) <= TOLERANCE:
                return e, tuple(_meets(c, e) for c in conditions)
            tried = [_closest(alone, [*tried, _grown(alone, e)])]
    e = _closest(alone, [_grown(alone, noise()), *tried])
    return e, tuple(_meets(c, e) for c in conditions)


def _closest(conditions: Sequence[Errors], tried: Sequence[Array]) -> Array:
    """Return the first of the residuals with the smallest gap."""
    return min(tried, key=lambda e: largest(gaps(conditions, e)))


def _attempts(conditions: Sequence[Errors]) -> Iterator[list[Errors]]:
    """Yield what is asked of residuals, one after the other until some exist."""
    if any(np.any(np.diag(c.covariance) == 0) for c in conditions):
        return
    for inflation in _inflations(conditions):
        asked = [c.inflated(inflation) for c in conditions]
        for some in (
            (asked, [c.alone() for c in asked]) if any(c.shared for c in asked) else (asked,)
        ):
            yield some
            if any(c.classical for c in some):
                yield [c.robust() for c in some]


def _grown(conditions: Sequence[Errors], e: Array) -> Array:
    """Return e times the factor that brings every error to its target or above."""
    return e * max(c.shortfall(e) for c in conditions)


def _inflations(conditions: Sequence[Errors]) -> list[float]:
    """Shares by which variances are inflated, one after the other until residuals exist."""
    lowest = min(c.smallest_eigenvalue for c in conditions)
    needed = max(0.0, _LEAST_EIGENVALUE - lowest) if lowest < _INDEFINITE else 0.0
    several = any(c.covariance.size > 1 for c in conditions)
    return [needed + more for more in (_MORE if several else _MORE[:1])]


def _meets(condition: Errors, e: Array) -> bool:
    return largest(gaps([condition.robust().alone()], e)) <= TOLERANCE


def _ratio(reached: Array, target: Array) -> Array:
    """Return reached / target; infinite where only the target is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((target == 0) & (reached == 0), 1.0, reached / target)
