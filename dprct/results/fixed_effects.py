"""The fixed effects that a regression names: read, matched to its rows, taken out, described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, lsmr

from dprct.errors import ParameterError
from dprct.formula.design_matrix import INTERCEPT, columns_of, is_missing
from dprct.results.covariance import COLLINEAR, Array, Codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narwhals.typing import IntoFrame

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Array, Codes

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


@dataclass(frozen=True, slots=True)
class Absorbed:
    """Fixed effects of a fit, as the results print them.

    Parameters
    ----------
    names : tuple of str
    levels : tuple of int
        Levels that occur, by factor.
    nested : tuple of bool
        Whether every level lies within one cluster.
    rule : {"areg", "reghdfe", "fixest", "xtreg"}
    parameters : int
        How many parameters they count as, the constant among them.
    rank : int
        How many of their levels are no combination of others.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    nested: tuple[bool, ...]
    rule: FeRule
    parameters: int
    rank: int

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
    """Return the rule, or refuse one that is unknown or has no such standard errors.

    Parameters
    ----------
    rule, cov_type : str
    factors : int
        How many factors are absorbed.

    Raises
    ------
    ParameterError
    """
    if rule not in get_args(FeRule):
        raise ParameterError(f"fe_df={rule!r}; allowed: {', '.join(get_args(FeRule))}")
    if cov_type in ("HC2", "HC3"):
        raise ParameterError(
            f"cov_type={cov_type!r} needs the leverage of every row, which absorbed effects hide; "
            "write the factors as C(x) in the formula, or use HC1"
        )
    if rule == "xtreg" and factors > 1:
        raise ParameterError(f"fe_df='xtreg' is for one factor, absorb names {factors}; use areg")
    if rule == "xtreg" and cov_type not in ("nonrobust", "cluster"):
        raise ParameterError(
            f"fe_df='xtreg' has no {cov_type}: its robust errors are clustered by the panel; "
            "give cluster=, or use fe_df='areg'"
        )
    return cast("FeRule", rule)


def is_nested(codes: Codes, groups: Codes | None) -> bool:
    """Return whether every level lies within one cluster.

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
    """Return how many parameters the fixed effects count as, the constant among them.

    Parameters
    ----------
    factors : sequence of (n,) array of int
        In the order in which they were named.
    groups : (n,) array of int or None
        Clusters.
    rule : {"areg", "reghdfe", "fixest", "xtreg"}

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
            "fe_df='xtreg' needs panels that are nested in the clusters; use fe_df='areg'"
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
            f"fe_df='areg' counts the rank of {sum(sizes):,} dummies of {len(factors)} factors, "
            "which is too much work; use fe_df='reghdfe'"
        )
    ones = np.ones(len(factors[0]))
    first, *rest = sorted((unit_dummies(c, ones) for c in factors), key=width, reverse=True)
    others = sparse.hstack(rest).tocsr()
    cross = first.T @ others
    gram = (others.T @ others - cross.T @ cross).toarray()
    return sizes[-1] + int(np.linalg.matrix_rank(gram, tol=1e-9, hermitian=True))


def components(first: Codes, second: Codes) -> int:
    """Return how many groups two factors fall into if a row connects its two levels.

    Examples
    --------
    >>> components(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    2
    """
    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    edges = sparse.coo_matrix((np.ones(len(first)), (first, size + second)), (nodes, nodes))
    return int(connected_components(edges, directed=False)[0])


def pairwise_rank(free: Sequence[Codes], *, nested: bool = False) -> int:
    """Return the levels less those that are redundant with an earlier factor.

    Parameters
    ----------
    free : sequence of (n,) array of int
    nested : bool
        Whether there are other factors, nested in clusters, that bring the constant.

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


@dataclass(frozen=True, slots=True, eq=False)
class FixedEffects:
    """Factors to absorb, of all rows that were given.

    Parameters
    ----------
    names : tuple of str
        Columns; none where nothing is absorbed.
    codes : tuple of (N,) array of int
        Levels, -1 where missing.
    rule : {"areg", "reghdfe", "fixest", "xtreg"}
    """

    names: tuple[str, ...]
    codes: tuple[Codes, ...]
    rule: FeRule

    @classmethod
    def read(
        cls, absorb: str | Sequence[str], rule: str, cov_type: str, data: IntoFrame
    ) -> FixedEffects:
        """Return the factors that ``absorb`` names.

        Raises
        ------
        ColumnError
            If a column does not exist.
        ParameterError
            If the rule is unknown, or does not go with ``cov_type`` or so many factors.

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
        """Return what the results print.

        Parameters
        ----------
        factors : sequence of (n,) array of int
            From :meth:`of`.
        groups : (n,) array of int or None
        """
        return Absorbed(
            names=self.names,
            levels=tuple(int(codes.max()) + 1 for codes in factors),
            nested=tuple(is_nested(codes, groups) for codes in factors),
            rule=self.rule,
            parameters=counted(factors, groups, self.rule),
            rank=dummy_rank(factors) if self.rule == "areg" else pairwise_rank(factors),
        )


def taken_out(frame: Design, factors: Sequence[Codes], total: Array) -> Design:
    """Return the design that the fixed effects leave, without the intercept.

    Parameters
    ----------
    frame : Design
    factors : sequence of (n,) array of int
    total : (n,) array
        Root of the weight of each row.

    Raises
    ------
    ParameterError
        If no regressor varies within the levels.
    """
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
