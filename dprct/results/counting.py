"""How many parameters fixed effects count as: the rule is named, because software disagrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dprct.errors import ParameterError
from dprct.results.absorb import unit_dummies, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.results.covariance import Codes

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
            "give groups=, or use fe_df='areg'"
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
