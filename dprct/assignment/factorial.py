"""Factorial designs: several randomisations of the same rows, each with its own blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import checked, given, listed_names
from dprct.assignment.clusters import ClusterFacts, together
from dprct.assignment.groups import (
    CONTROL,
    Design,
    Groups,
    checked_names,
    indicators,
    level_text,
    levels,
    quoted,
)
from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dprct.assignment.groups import Codes, Level
    from dprct.formula.design_matrix import Array

Combination = tuple[int, ...]
"""The group of each factor, by its place among the factor's groups."""


@dataclass(frozen=True, init=False)
class Factorial(Design):
    """Factorial randomisation: every factor is randomised on its own, with its own blocks.

    Parameters
    ----------
    factors : sequence of Design
        The randomisations, for example ``Block("cash", block="cg_strata")``.
    arms : mapping, optional
        Needed if the file has one column per combination of factors: a mapping from arm to the arms
        of the factors that it combines.  The combination of no arms is the control group and needs
        no entry.  Without ``arms``, the file has the columns of the factors themselves.
    arm : str, optional
        Column that holds the combination of each row as a code; ``arms`` then maps its codes,
        including the control group's, which maps to ``[]``.

    Raises
    ------
    ParameterError
        If factors share a column, or ``arms`` does not name every combination exactly once.

    Notes
    -----
    The probability of a combination is the product of those of its factors.  If the blocks of one
    factor cross those of another, the sizes of combinations within blocks are random, but those of
    each factor's arms are not.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 9.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct import Block
    >>> design = Factorial(
    ...     [Block("cash", block="cg_strata"), Block("therapy", block="tp_strata_alt")],
    ...     arms={"cashassonly": ["cash"], "tpassonly": ["therapy"],
    ...           "tpcashass": ["cash", "therapy"]},
    ... )
    >>> frame = pd.DataFrame({"cg_strata": [1, 1, 2, 2], "tp_strata_alt": [1, 2, 1, 2]})
    >>> design.assign(frame, rng=1).columns.tolist()
    ['cashassonly', 'tpassonly', 'tpcashass']
    >>> design.probabilities(frame)["tpcashass"].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    factors: tuple[Design, ...]
    combinations: tuple[Combination, ...]
    groups: Groups = field(repr=False)

    @checked
    def __init__(
        self,
        factors: Sequence[Design],
        arms: Mapping[Any, str | Sequence[str]] | None = None,
        *,
        arm: str | None = None,
    ) -> None:
        found = _factors(factors)
        together([factor.cluster_facts for factor in found])
        places = list(product(*(range(len(factor.groups.names)) for factor in found)))
        if arms is None and arm is not None:
            raise ParameterError(
                f"``arm={arm!r}`` needs ``arms=``, from each of its codes to factor arms"
            )
        if arms is None:
            combinations, groups = places, _crossed(found, places)
        else:
            combinations, groups = _mapped(found, places, arms, arm)
        self._set(factors=found, combinations=tuple(combinations), groups=groups)

    @property
    def arms(self) -> tuple[Level, ...]:
        """The combinations by name, the control group last if it is in no column."""
        return self.groups.names

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that the draw depends on: blocks and clusters of all factors."""
        return tuple(dict.fromkeys(name for factor in self.factors for name in factor.uses))

    @property
    def cluster_facts(self) -> ClusterFacts:
        """What the factors declare of the clusters."""
        return together([factor.cluster_facts for factor in self.factors])

    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
        """Draw the combination of each row; (n,)."""
        drawn = [factor.draw(rows, rng) for factor in self.factors]
        return self._places()[tuple(drawn)]

    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each combination for each row; (n, G)."""
        return self._products([factor.propensities(rows) for factor in self.factors])

    def common(self, n: int) -> Array:
        """Return the declared probability of each combination, the same for each of n rows; (G,).

        Raises
        ------
        ParameterError
            If a factor declares none.
        """
        (found,) = self._products([factor.common(n)[None] for factor in self.factors])
        return np.asarray(found)

    def _products(self, chances: Sequence[Array]) -> Array:
        """Return the probability of each combination from those of the factors; (n, G)."""
        columns = [
            np.prod([chance[:, g] for chance, g in zip(chances, places, strict=True)], axis=0)
            for places in self.combinations
        ]
        return np.column_stack(columns)

    def broken_by(self, codes: Codes, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules of any factor that rows in combinations ``codes`` break."""
        of_factor = np.array(self.combinations)[codes]
        return [
            f"factor {quoted(factor.columns)}: {problem}"
            for factor, own in zip(self.factors, of_factor.T, strict=True)
            for problem in factor.broken_by(own, rows, attrition=attrition)
        ]

    def describe(self) -> str:
        """Say the design in one sentence."""
        said = [factor.describe().rstrip(".") for factor in self.factors]
        numbered = "; ".join(f"({place}) {text}" for place, text in enumerate(said, start=1))
        return (
            f"Factorial design of {len(said)} independent randomisations, recorded in "
            f"{quoted(self.columns)}: {numbered}."
        )

    def _places(self) -> Codes:
        """Return the array from the groups of the factors to the place of their combination."""
        table = np.empty([len(factor.groups.names) for factor in self.factors], np.int64)
        table[tuple(np.array(self.combinations).T)] = np.arange(len(self.combinations))
        return table


def _factors(factors: Sequence[Design]) -> tuple[Design, ...]:
    found = tuple(factors) if not isinstance(factors, Design) else (factors,)
    wrong = [factor for factor in found if not isinstance(factor, Design)]
    if wrong or len(found) < 2:
        got = f"``{given(wrong[0])}``" if wrong else f"{len(found)} of them"
        raise ParameterError(
            f"``factors=`` has {got}; give two designs or more, such as ``Block(...)``"
        )
    names = [name for factor in found for name in factor.columns]
    if len(set(names)) < len(names):
        raise ParameterError(
            f"factors have arms {quoted(names)}, one of them twice; name each once"
        )
    return found


def _crossed(factors: tuple[Design, ...], places: list[Combination]) -> Groups:
    """Return combinations that are recorded in the factors' own columns."""
    names = []
    values = []
    for combination in places:
        groups = [(factor.groups, g) for factor, g in zip(factors, combination, strict=True)]
        values.append(tuple(value for own, g in groups for value in own.values[g]))
        said = [_said(own, g) for own, g in groups if own.names[g] != CONTROL]
        names.append("+".join(said) or CONTROL)
    columns = tuple(name for factor in factors for name in factor.columns)
    overlap = f"arms {quoted(columns)} overlap within a factor: at most one of its arms is 1"
    return Groups(tuple(names), columns, tuple(values), overlap)


def _said(groups: Groups, place: int) -> str:
    name = groups.names[place]
    if len(groups.columns) == 1 and groups.columns[0] not in groups.names:
        return f"{groups.columns[0]}={level_text(name)}"
    return str(name)


def _mapped(
    factors: tuple[Design, ...],
    places: list[Combination],
    arms: Mapping[Any, str | Sequence[str]],
    arm: str | None,
) -> tuple[list[Combination], Groups]:
    """Return combinations, and the columns of their own that the file records them in."""
    if not isinstance(arms, Mapping):
        raise ParameterError(f"``arms=`` is ``{given(arms)}``; map each arm to arms of the factors")
    _check_distinct(factors)
    found = [_combination(factors, name, parts) for name, parts in arms.items()]
    if len(set(found)) < len(found):
        raise ParameterError("two arms are the same combination of factors; map each to its own")
    missing = [place for place in places if place not in set(found)]
    rest = missing == [_nothing(factors)] and arm is None
    if missing and not rest:
        raise ParameterError(
            f"``arms=`` has {len(found)} of the {len(places)} combinations of the factors' groups; "
            "name them all (the one without any arm is the control group)"
        )
    if arm is not None:
        return found, levels(arm, list(arms))
    return [*found, *missing], indicators(checked_names(arms, "arms"), control=rest)


def _combination(
    factors: tuple[Design, ...], name: object, parts: str | Sequence[str]
) -> Combination:
    wanted = listed_names(parts, f"arms[{given(name)}]")
    places = []
    for factor, nothing in zip(factors, _nothing(factors), strict=True):
        names = factor.groups.names
        of_factor = [names.index(part) for part in wanted if part in names]
        if len(of_factor) > 1 or (not of_factor and nothing < 0):
            raise ParameterError(
                f"arm ``{given(name)}`` has {len(of_factor)} arms of the factor with "
                f"{quoted(names)}; give one, or none where the factor has a control group"
            )
        places.append(of_factor[0] if of_factor else nothing)
    known = {arm for factor in factors for arm in factor.groups.names}
    for part in wanted:
        if part not in known:
            raise ParameterError(
                f"arm ``{given(name)}`` is mapped to ``{given(part)}``, which no factor has; "
                f"they have {quoted(sorted(known - {CONTROL}, key=str))}"
            )
    return tuple(places)


def _check_distinct(factors: tuple[Design, ...]) -> None:
    """Refuse factors whose arms have a name in common: a mapping could mean either."""
    names = [name for factor in factors for name in factor.groups.names if name != CONTROL]
    if len(set(names)) < len(names):
        raise ParameterError(
            "two factors have an arm of the same name, so that ``arms=`` is ambiguous; give the "
            "factors arms of their own names, with a 0/1 column each"
        )


def _nothing(factors: tuple[Design, ...]) -> Combination:
    """Return the control group of each factor, -1 where it has none."""
    return tuple(
        factor.groups.names.index(CONTROL) if CONTROL in factor.groups.names else -1
        for factor in factors
    )
