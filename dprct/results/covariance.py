"""Covariances of least squares: one function each, of the fit and its design.

``classical`` to ``hc3`` and ``cr1`` are what Stata calls ``vce(ols)``, ``robust``, ``hc2``, ``hc3``
and ``cluster``; what they share is ``bread @ meat @ bread``, computed as the cross product of the
influences ``X @ bread`` so that a badly scaled regressor costs no digits.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import check_choice
from dprct.errors import ParameterError
from dprct.formula.design_matrix import INTERCEPT, columns_of, is_missing
from dprct.lazy import csgraph, linalg, sparse, sparse_linalg
from dprct.lazy import pandas as pd
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from narwhals.typing import IntoFrame

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask


Array = NDArray[np.float64]
Codes = NDArray[np.intp]

COLLINEAR = 1e-7
"""A column is omitted when this share of its length or less is not explained by earlier ones."""

_EXACT_FIT = 1e-10


@dataclass(frozen=True)
class LeastSquares:
    """A least-squares fit, with all that its covariances need besides the design."""

    beta: Array  # (k,)
    # (n,): residuals, times the root of the weight where there are analytic or sampling weights.
    resid: Array
    bread: Array  # (k, k): inverse of ``X' diag(copies) X``
    rank: int  # equal to k: collinear columns are omitted beforehand
    # (n,): how many identical observations a row stands for: frequency weights, else ones.
    copies: Array
    absorbed: int = 0  # parameters that absorbed fixed effects count as, besides ``rank``

    @property
    def nobs(self) -> float:
        """Number of observations, a row of frequency 3 counting as 3."""
        return float(self.copies.sum())

    @property
    def df_resid(self) -> float:
        """Observations less rank and absorbed parameters."""
        return self.nobs - self.rank - self.absorbed

    def inference(self, X: Array, cov_type: str, ways: Sequence[Codes]) -> tuple[Array, float]:
        """Covariance (k, k) and the degrees of freedom of tests, clustered in none to two ways.

        ``X`` (n, k) is times the root of the weight, like the residuals.
        """
        if not ways:
            return HETEROSKEDASTIC[cov_type](self, X), self.df_resid
        return clustered(self, X, ways), float(min(int(codes.max()) for codes in ways))


def classical(fit: LeastSquares, X: Array) -> Array:
    """Return ``s^2 (X'X)^-1`` with ``s^2 = SSR / (n - k)``; homoskedastic errors.

    ``X`` (n, k) is times the root of the weight, like the residuals; the covariance is (k, k).
    """
    return (fit.copies @ fit.resid**2) / fit.df_resid * fit.bread


def hc0(fit: LeastSquares, X: Array) -> Array:
    """Return White's covariance, ``meat = sum e_i^2 x_i x_i'``; see :func:`classical`."""
    parts = ((X[at], fit.resid[at] ** 2 * fit.copies[at]) for at in blocks(len(X)))
    return sandwich(fit.bread, parts)


def hc1(fit: LeastSquares, X: Array) -> Array:
    """Return White's covariance times ``n / (n - k)``, Stata's ``robust``."""
    return fit.nobs / fit.df_resid * hc0(fit, X)


def hc2(fit: LeastSquares, X: Array) -> Array:
    """Return the covariance with ``e_i^2 / (1 - h_i)``, unbiased under homoskedasticity."""
    return _weighed(fit, X, _remaining(fit, X, "HC2"))


def hc3(fit: LeastSquares, X: Array) -> Array:
    """Return the covariance with ``e_i^2 / (1 - h_i)^2``, near the jackknife."""
    return _weighed(fit, X, _remaining(fit, X, "HC3") ** 2)


def cr1(fit: LeastSquares, X: Array, groups: Codes) -> Array:
    """Cluster-robust covariance times ``G/(G-1) (n-1)/(n-k)``, Stata's ``cluster``."""
    n_groups = int(groups.max()) + 1
    scores = X @ fit.bread
    del X  # so that it can go where the caller holds it no more
    scores *= (fit.resid * fit.copies)[:, None]
    influence = group_sums(scores, groups)
    factor = n_groups / (n_groups - 1) * (fit.nobs - 1) / fit.df_resid
    return factor * influence.T @ influence


def clustered(fit: LeastSquares, X: Array, ways: Sequence[Codes]) -> Array:
    """Cluster-robust covariance of one way, or of two: ``V_a + V_b - V_ab``.

    Notes
    -----
    ``V_ab`` is that of the cells in which two clusters meet, and each of the three has a correction
    by its own number of clusters, as in R's ``sandwich::vcovCL``.

    References
    ----------
    Cameron, Gelbach and Miller (2011), Journal of Business & Economic Statistics 29, equation 2.11.
    """
    if len(ways) == 1:
        return cr1(fit, X, ways[0])
    one, other = ways
    cells = np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)[1].astype(np.intp)
    parts = [cr1(fit, X, groups) for groups in (one, other, cells)]
    cov = parts[0] + parts[1] - parts[2]
    variances = np.diag(cov)
    rounding = 1e-12 * sum(np.diag(part) for part in parts)
    if np.any(variances < -rounding):
        raise ParameterError(
            "the covariance clustered in two ways has a negative variance here, as it may with few "
            "clusters; cluster in one way, or ``absorb=`` the factor whose dummies are concerned"
        )
    # what is zero in exact arithmetic may be negative by rounding
    cov[np.diag_indices(len(cov))] = np.maximum(variances, 0)
    return cov


HETEROSKEDASTIC = MappingProxyType(
    {"nonrobust": classical, "HC0": hc0, "HC1": hc1, "HC2": hc2, "HC3": hc3}
)
"""The covariances that need no groups, by the ``cov_type`` that asks for them."""

Covariance = Callable[[LeastSquares, Array], Array]


_ROWS = 1 << 15


def blocks(n: int) -> Iterator[slice]:
    """Yield the rows, some at a time, so that fewer arrays of all rows are needed."""
    for start in range(0, n, _ROWS):
        yield slice(start, min(start + _ROWS, n))


_MANY = 1 << 17


def give_back(rows: int) -> None:
    """Give memory that was let go back to the machine, where there are many rows.

    The C library keeps freed columns among others for later ones, and has no room there for
    a larger matrix.
    """
    if rows >= _MANY and sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # not every C library has it


def triangle_of(parts: Iterable[Array]) -> Array:
    """Return R of the QR decomposition of a matrix that is given some rows at a time."""
    rows = iter(parts)
    found = cast("Array", np.linalg.qr(next(rows), mode="r"))
    for part in rows:
        found = cast("Array", np.linalg.qr(np.vstack([found, part]), mode="r"))
    return found


def column_lengths(X: Array, total: Array) -> Array:
    """Return the lengths of the columns of ``X`` times ``total``, (k,); one for those of zeros."""
    squares = (total[rows] ** 2 @ X[rows] ** 2 for rows in blocks(len(X)))
    lengths: Array = np.sqrt(sum(squares, np.zeros(X.shape[1])))
    return np.where(lengths == 0, 1, lengths)


def leverage(fit: LeastSquares, X: Array) -> Array:
    """Return the diagonal of the hat matrix, ``h_i = x_i' (X'X)^-1 x_i``; (n,) array."""
    found = np.empty(len(X))
    for rows in blocks(len(X)):
        found[rows] = np.einsum("ij,ij->i", X[rows] @ fit.bread, X[rows])
    return found


def group_sums(scores: Array, groups: Codes) -> Array:
    """Return the sum of ``scores`` (n, k) within each of the groups 0 to G - 1; (G, k) array."""
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    found = np.empty((len(ends), scores.shape[1]))
    cuts = np.searchsorted(ends, np.arange(_ROWS, len(scores), _ROWS))
    for some in np.split(np.arange(len(ends)), np.unique(cuts)):  # of whole groups
        if len(some):
            first = ends[some[0] - 1] if some[0] else 0
            rows = order[first : ends[some[-1]]]
            starts = np.append(first, ends[some[:-1]]) - first
            found[some] = np.add.reduceat(scores[rows], starts, axis=0)
    return found


def independent(X: Array) -> NDArray[np.bool_]:
    """Columns that are not linear combinations of earlier ones, as R and Stata keep."""
    lengths = np.sqrt((X**2).sum(axis=0))
    scaled = X / np.where(lengths > 0, lengths, 1)
    # Dependencies among the columns of X are those among the columns of its triangular factor.
    triangle = cast("Array", np.linalg.qr(scaled, mode="r"))
    if len(X) >= X.shape[1] and np.all(np.abs(np.diag(triangle)) > COLLINEAR):
        return np.ones(X.shape[1], bool)
    basis = np.zeros((len(triangle), 0))
    kept = np.zeros(X.shape[1], bool)
    for j, column in enumerate(triangle.T):
        rest = column
        for _ in range(2):  # the second pass removes the rounding of the first
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > COLLINEAR:
            basis = np.column_stack([basis, rest / length])
            kept[j] = True
    return kept


def sandwich(bread: Array, parts: Iterable[tuple[Array, Array]]) -> Array:
    """Return ``bread X' diag(s) X bread`` of X (n, k) and s (n,), given some rows at a time."""
    found = np.zeros(bread.shape)
    for X, squares in parts:
        influence = X @ bread
        found += influence.T @ (influence * squares[:, None])
    return found


def _weighed(fit: LeastSquares, X: Array, over: Array) -> Array:
    """Sandwich around the squares of the residuals over numbers (n,)."""
    parts = ((X[at], fit.resid[at] ** 2 / over[at] * fit.copies[at]) for at in blocks(len(X)))
    return sandwich(fit.bread, parts)


def _remaining(fit: LeastSquares, X: Array, name: str) -> Array:
    """Return ``1 - h``, or refuse a row that the fit meets exactly, whatever its outcome."""
    remaining = 1 - leverage(fit, X)
    if np.any(remaining < _EXACT_FIT):
        raise ParameterError(
            f"{name} is not defined: a row is fitted exactly, such as the only member of a "
            "category; use ``cov_type='HC1'`` or drop the regressor"
        )
    return remaining


WeightsType = Literal["aweight", "fweight", "pweight"]


@dataclass(frozen=True)
class Weighting:
    """Weights of the rows used, as the two roles they can play."""

    root: Array  # (n,): square root of the weight by which outcome and regressors are multiplied
    copies: Array  # (n,): how many identical observations a row stands for

    @property
    def total(self) -> Array:
        """The root of the weight of each row, copies included; (n,)."""
        return self.root if self.copies is self.root else self.root * np.sqrt(self.copies)

    def times(self, X: Array) -> Array:
        """Return ``X`` (n, k) times the root of the weight."""
        return X if (self.root == 1).all() else X * self.root[:, None]

    @classmethod
    def of(cls, weights: Array | None, weights_type: WeightsType, rows: int) -> Weighting:
        """The roles that checked, positive weights of a type play.

        Examples
        --------
        >>> Weighting.of(np.array([1.0, 3.0]), "aweight", 2).root.tolist()
        [0.7071067811865476, 1.224744871391589]
        >>> Weighting.of(np.array([1.0, 3.0]), "fweight", 2).copies.tolist()
        [1.0, 3.0]
        """
        ones = np.broadcast_to(np.float64(1), rows)  # takes no memory
        if weights is None:
            return cls(ones, ones)
        if weights_type == "fweight":
            return cls(ones, weights)
        return cls(np.sqrt(weights * (rows / weights.sum())), ones)


def check_weights_type(weights_type: str, cov_type: str, *, given: bool) -> None:
    """Refuse a type that is unknown, or that has no standard errors of the kind asked for."""
    if weights_type == "iweight":
        raise ParameterError(
            "``weights_type='iweight'`` has no sampling meaning, so its standard errors have none; "
            "allowed: aweight, fweight, pweight"
        )
    check_choice("weights_type", weights_type, get_args(WeightsType))
    if given and weights_type == "pweight" and cov_type == "nonrobust":
        raise ParameterError(
            "sampling weights (pweight) need a robust covariance; use ``cov_type='HC1'`` "
            "or ``cluster=``"
        )


def check_weights(weights: Array, weights_type: str, name: str) -> None:
    """Refuse weights that are missing, infinite, negative, all zero, or not whole counts."""
    if np.isnan(weights).any():
        raise ParameterError(
            f"{name} are missing in rows that are otherwise complete; fill or drop"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError(f"{name} are negative or infinite in some row; give weights from 0 up")
    if not (weights > 0).any():
        raise ParameterError(f"{name} are zero in every complete row; give some above 0")
    if weights_type == "fweight" and (weights != np.round(weights)).any():
        raise ParameterError(
            f"{name} are not whole numbers, as frequencies are; use ``weights_type='aweight'`` or "
            "'pweight'"
        )


@dataclass(frozen=True)
class SharedFit:
    """Fits that share their rows and regressors."""

    X: Array  # (n, k): regressors that are kept, times the root of the weight
    kept: Mask  # (K,): which of the regressors given are no linear combinations of earlier ones
    fits: tuple[LeastSquares, ...]  # one per outcome
    groups: Codes | None  # (n,): clusters, coded from 0
    cov_type: str  # a key of ``HETEROSKEDASTIC``, or ``"cluster"``

    @property
    def df(self) -> float:
        """Degrees of freedom of inference: rows less rank, with clusters their number less one."""
        return self.fits[0].df_resid if self.groups is None else float(self.groups.max())

    def cov(self, outcome: int) -> Array:
        """Return the covariance of the coefficients of one outcome, (k, k)."""
        ways = [] if self.groups is None else [self.groups]
        return self.fits[outcome].inference(self.X, self.cov_type, ways)[0]


def fit_several(
    X: Array, Y: Array, weighting: Weighting, cov_type: str = "HC1", groups: Codes | None = None
) -> SharedFit:
    """Fit every column of ``Y`` on ``X``, and keep what their covariances need.

    Examples
    --------
    >>> from dprct.results.covariance import Weighting
    >>> X = np.column_stack([np.ones(4), [0.0, 0, 1, 1]])
    >>> Y = np.column_stack([[1.0, 2, 3, 5], [0.0, 1, 1, 1]])
    >>> both = fit_several(X, Y, Weighting.of(None, "aweight", 4))
    >>> [fit.beta.round(12).tolist() for fit in both.fits]
    [[1.5, 2.5], [0.5, 0.5]]
    """
    fits, kept = least_squares(X, Y, weighting)
    rank = int(kept.sum())
    if weighting.copies.sum() <= rank:
        raise ParameterError(
            f"{weighting.copies.sum():g} observations for {rank} coefficients leave nothing to "
            "estimate errors from; use fewer covariates"
        )
    return SharedFit(weighting.times(X if kept.all() else X[:, kept]), kept, fits, groups, cov_type)


def least_squares(
    X: Array, Y: Array, weighting: Weighting
) -> tuple[tuple[LeastSquares, ...], Mask]:
    """Fit every column of ``Y`` on ``X``, whose columns are brought to the same length.

    Columns that are linear combinations of earlier ones are not kept, and fits are of the others.

    Notes
    -----
    The triangular factor of ``[X Y]`` has the least squares of its n rows in as many rows as it
    has columns, and unlike ``X'X`` no larger condition number.

    Examples
    --------
    >>> weighting = Weighting.of(None, "aweight", 4)
    >>> (fit,), kept = least_squares(np.ones((4, 2)), np.arange(4.0)[:, None], weighting)
    >>> fit.beta.round(12).tolist(), kept.tolist()
    ([1.5], [True, False])
    """
    total = weighting.total
    k = X.shape[1]
    lengths = column_lengths(X, total)
    triangle = triangle_of(
        np.column_stack([X[rows] / lengths, Y[rows]]) * total[rows, None] for rows in blocks(len(X))
    )
    kept = independent(triangle[:, :k])
    if not kept.any():
        raise ParameterError("every regressor is zero in the rows used; choose others")
    turned, root = np.linalg.qr(triangle[:, :k][:, kept])
    inverse = linalg.solve_triangular(root, np.eye(len(root))) / lengths[kept][:, None]
    betas = inverse @ (turned.T @ triangle[:, k:])
    X = X if kept.all() else X[:, kept]
    residuals = X @ betas
    np.subtract(Y, residuals, out=residuals)
    residuals *= weighting.root[:, None]
    bread = inverse @ inverse.T
    fits = tuple(
        LeastSquares(beta, resid, bread, len(beta), weighting.copies)
        for beta, resid in zip(betas.T, residuals.T, strict=True)
    )
    return fits, kept


_TOLERANCE = 1e-14
_MOST_STEPS = 10_000
_ROUNDING = 1e-13


def without_singletons(factors: Sequence[Codes], keep: Mask) -> Mask:
    """The rows that are alone in no level, dropping until there is none left.

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
    """Residual of each column on all dummies of the fixed effects.

    ``factors`` have codes 0 to L - 1, each occurring; ``total`` is the root of the weight of each
    row, above 0.  A column of which next to nothing is left is exactly zero.

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
    operator = sparse_linalg.LinearOperator(
        others.shape,
        matvec=lambda b: _less_means(first, others @ b.ravel()),
        rmatvec=lambda r: others.T @ _less_means(first, r.ravel()),
        dtype=np.float64,
    )
    for _ in range(2):
        found = sparse_linalg.lsmr(
            operator, column, atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, maxiter=_MOST_STEPS
        )
        if found[1] == 7:
            raise ParameterError(
                "the absorbed factors are connected by too few rows to be separated; "
                "absorb fewer, or write one of them as C(x)"
            )
        column = _less_means(first, column - others @ found[0])
    return column


FeRule = Literal["areg", "reghdfe", "fixest", "xtreg"]

RULES: dict[FeRule, str] = {
    "areg": "every level is a parameter, nested in clusters or not, as with dummies",
    "reghdfe": "effects nested in clusters count as one parameter, others as their levels; rows "
    "alone in a level are dropped",
    "fixest": "effects nested in clusters are not counted, others as their levels less one each",
    "xtreg": "with clusters the effects, nested in them, count as one parameter",
}
"""The counting rules by the name of the command that made them known."""

_MOST_COLUMNS = 4_000


@dataclass(frozen=True)
class Absorbed:
    """Fixed effects of a fit, as the results print them."""

    names: tuple[str, ...]
    levels: tuple[int, ...]  # levels that occur, by factor
    nested: tuple[bool, ...]  # whether every level lies within one cluster
    rule: FeRule
    parameters: int  # how many parameters they count as, the constant among them
    rank: int  # how many of their levels are no combination of others

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above a table, as (name, value)."""
        shown = [
            f"{name} ({levels:,}{', nested in clusters' if inside else ''})"
            for name, levels, inside in zip(self.names, self.levels, self.nested, strict=True)
        ]
        counted = f"{self.rule}: {self.parameters:,} parameter{'s' * (self.parameters != 1)}"
        return (("Absorbed", ", ".join(shown)), ("Counted as by", counted))

    def note(self) -> str:
        """Return the rule in a sentence."""
        return f"Fixed effects are counted as {self.rule} does: {RULES[self.rule]}."


def check_rule(rule: str, cov_type: str, factors: int) -> FeRule:
    """The rule, or a refusal of one that is unknown or has no such standard errors."""
    check_choice("fe_df", rule, get_args(FeRule))
    if cov_type in ("HC2", "HC3"):
        raise ParameterError(
            f"``cov_type={cov_type!r}`` needs the leverage of every row, which absorbed effects "
            "hide; write the factors as C(x) in the formula, or use HC1"
        )
    if rule == "xtreg" and factors > 1:
        raise ParameterError(
            f"``fe_df='xtreg'`` is for one factor, absorb names {factors}; use areg"
        )
    if rule == "xtreg" and cov_type not in ("nonrobust", "cluster"):
        raise ParameterError(
            f"``fe_df='xtreg'`` has no {cov_type}: its robust errors are clustered by the panel; "
            "give ``cluster=``, or use ``fe_df='areg'``"
        )
    return cast("FeRule", rule)


def is_nested(codes: Codes, groups: Codes | None) -> bool:
    """Whether every level lies within one cluster.

    Examples
    --------
    >>> is_nested(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]))
    True
    """
    if groups is None:
        return False
    pairs = np.unique(np.column_stack([codes, groups]), axis=0)
    return bool(len(pairs) == codes.max() + 1)


def counted(factors: Sequence[Codes], groups: Codes | None, rule: FeRule) -> int:
    """How many parameters the fixed effects count as, the constant among them.

    Notes
    -----
    ``areg``: the rank of all dummies.  ``reghdfe``: nested factors are not counted; of every
    other but the first, as many levels are redundant as it has connected components with an
    earlier one (exact for two factors); where a factor is nested, one parameter for the constant.
    ``fixest``: nested ones are not counted, of the others one level each; one for the constant.
    ``xtreg``: the levels; with clusters, which must contain the panels, one.
    """
    sizes = [int(codes.max()) + 1 for codes in factors]
    nested = [is_nested(codes, groups) for codes in factors]
    free = [codes for codes, inside in zip(factors, nested, strict=True) if not inside]
    match rule:
        case "areg":
            return dummy_rank(factors)
        case "fixest":
            return 1 + sum(int(codes.max()) for codes in free)
        case "reghdfe":
            return pairwise_rank(free, nested=any(nested))
    if groups is None:
        return sizes[0]
    if not nested[0]:
        raise ParameterError(
            "``fe_df='xtreg'`` needs panels that are nested in the clusters; use ``fe_df='areg'``"
        )
    return 1


def dummy_rank(factors: Sequence[Codes]) -> int:
    """Return the rank of the dummies of all factors together.

    Examples
    --------
    >>> dummy_rank([np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])])
    4
    """
    sizes = sorted(int(codes.max()) + 1 for codes in factors)
    if len(factors) == 1:
        return sizes[0]
    if len(factors) == 2:
        return sum(sizes) - components(*factors)
    if sum(sizes[:-1]) > _MOST_COLUMNS:
        raise ParameterError(
            f"``fe_df='areg'`` counts the rank of {sum(sizes):,} dummies of {len(factors)} "
            "factors, which is too much work; use ``fe_df='reghdfe'``"
        )
    ones = np.ones(len(factors[0]))
    first, *rest = sorted((unit_dummies(c, ones) for c in factors), key=width, reverse=True)
    others = sparse.hstack(rest).tocsr()
    cross = first.T @ others
    gram = (others.T @ others - cross.T @ cross).toarray()
    return sizes[-1] + int(np.linalg.matrix_rank(gram, tol=1e-9, hermitian=True))


def components(first: Codes, second: Codes) -> int:
    """How many groups two factors fall into if a row connects its two levels.

    Examples
    --------
    >>> components(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    2
    """
    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    edges = sparse.coo_matrix((np.ones(len(first)), (first, size + second)), (nodes, nodes))
    return int(csgraph.connected_components(edges, directed=False)[0])


def pairwise_rank(free: Sequence[Codes], *, nested: bool = False) -> int:
    """The levels less those that are redundant with an earlier factor.

    ``nested`` says that other factors, nested in clusters, bring the constant.

    Examples
    --------
    >>> pairwise_rank([np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2])])
    3
    """
    parameters = int(nested)
    for j, codes in enumerate(free):
        redundant = max((components(other, codes) for other in free[:j]), default=int(nested))
        parameters += int(codes.max()) + 1 - redundant
    return parameters


@dataclass(frozen=True, eq=False)
class FixedEffects:
    """Factors to absorb, of all rows that were given."""

    names: tuple[str, ...]  # columns; none where nothing is absorbed
    codes: tuple[Codes, ...]  # (N,): levels, -1 where missing
    rule: FeRule

    @classmethod
    def read(
        cls, absorb: str | Sequence[str], rule: str, cov_type: str, data: IntoFrame
    ) -> FixedEffects:
        """Return the factors that ``absorb`` names.

        Examples
        --------
        >>> rows = pd.DataFrame({"v": ["a", "b", "", "a"]})
        >>> FixedEffects.read("v", "areg", "HC1", rows).codes[0].tolist()
        [0, 1, -1, 0]
        """
        names = tuple(dict.fromkeys([absorb] if isinstance(absorb, str) else absorb))
        if not names:
            return cls((), (), check_rule(rule, "nonrobust", 1))
        frame = columns_of(data, names)
        codes = tuple(_codes(frame[name]) for name in names)
        return cls(names, codes, check_rule(rule, cov_type, len(names)))

    def present(self, rows: Mask) -> Mask:
        """Return those of the rows (N,) in which no factor is missing."""
        for codes in self.codes:
            rows = rows & (codes >= 0)
        return rows

    def usable(self, keep: Mask) -> Mask:
        """Return the rows to be used: under ``reghdfe`` none is alone in a level."""
        return without_singletons(self.codes, keep) if self.rule == "reghdfe" else keep

    def of(self, keep: Mask) -> tuple[Codes, ...]:
        """Return the levels of the rows kept, coded from 0, each occurring."""
        return tuple(
            np.unique(codes[keep], return_inverse=True)[1].astype(np.intp) for codes in self.codes
        )

    def described(self, factors: Sequence[Codes], groups: Codes | None) -> Absorbed:
        """Description that the results print."""
        return Absorbed(
            names=self.names,
            levels=tuple(int(codes.max()) + 1 for codes in factors),
            nested=tuple(is_nested(codes, groups) for codes in factors),
            rule=self.rule,
            parameters=counted(factors, groups, self.rule),
            rank=dummy_rank(factors) if self.rule == "areg" else pairwise_rank(factors),
        )


def taken_out(frame: Design, factors: Sequence[Codes], total: Array) -> Design:
    """The design, times the roots of weights, that the effects leave; it has no intercept."""
    slopes = [j for j, name in enumerate(frame.columns) if name != INTERCEPT]
    left = within(np.column_stack([frame.y, frame.X[:, slopes]]), factors, total)
    if not left[:, 1:].any():
        raise ParameterError(
            "no regressor varies within the levels of the absorbed factors; "
            "absorb fewer of them, or choose other regressors"
        )
    return replace(
        frame,
        y=left[:, :1],
        X=left[:, 1:],
        columns=tuple(frame.columns[j] for j in slopes),
        terms=tuple(frame.terms[j] for j in slopes),
    )


def _codes(column: pd.Series[Any]) -> Codes:
    codes, _ = pd.factorize(column)
    return np.where(is_missing(column), -1, codes).astype(np.intp)
