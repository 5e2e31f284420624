"""Effects within subgroups of the joint release: cells inside the groups of an experiment.

A subgroup is a column with levels.  A block of a public design is one already: its groups and their
sizes are public.  Any other column is private: every arm falls into cells, whose numbers of people
are released with the rest at no price, and the effects of everybody are of all cells together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given
from dprct.encoding import encoding
from dprct.errors import ParameterError
from dprct.estimate.experiment import Experiment, blocks_of
from dprct.estimate.moments.effects import CellMeans, Combinations
from dprct.estimate.moments.groups import check_subgroups
from dprct.schema.columns import check_own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.experiment import BlockRule
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.schema import Schema

    Shares = Sequence[Sequence[float]]
    """Of every outcome, what each block weighs."""


@dataclass(frozen=True, eq=False, repr=False)
class Stratum:
    """The means of all arms within every level of one subgroup.

    Parameters
    ----------
    means : Combinations
        Levels first, then outcomes, then arms.
    units : (G, J) array
        Units of every outcome per unit of its z, in every cell.
    """

    levels: tuple[str, ...]
    means: Combinations
    units: NDArray[np.floating[Any]]


def check_within(
    subgroups: Sequence[str],
    schema: Schema,
    design: Design,
    blocks: BlockRule,
    outcomes: Sequence[str],
    *,
    hidden: bool,
) -> None:
    """Refuse subgroups that are none, or do not go with the blocks of the design."""
    check_subgroups(subgroups, schema, design)
    known = () if hidden else design.uses
    weighted = () if hidden else blocks_of(design, blocks)
    for name in subgroups:
        if name in outcomes:
            raise ParameterError(f"{name!r} is an outcome and a subgroup; leave one of them out")
        if name in known and (name not in weighted or not isinstance(blocks, str)):
            raise ParameterError(
                f"{name!r} is a part of the design, and ``blocks={given(blocks)}`` does not keep "
                "it apart; say ``blocks='weight'``, or leave it out of ``subgroups=``"
            )
        if name in known:
            continue
        check_own(schema.column(name))
        if weighted:
            raise ParameterError(
                f"{name!r} is private, so that it is not known how many of its people are in "
                "each block, and blocks cannot be weighted within it; say ``blocks='ignore'`` "
                "where shares are the same everywhere, or give blocks as subgroups"
            )


def private_names(subgroups: Sequence[str], design: Design, *, hidden: bool) -> tuple[str, ...]:
    """Return the subgroups whose columns are private: no blocks of a public design."""
    return tuple(name for name in subgroups if hidden or name not in design.uses)


def arm_means(
    outcomes: Sequence[AnyOutcome], found: Layout, cells: Sequence[CellMeans], shares: Shares
) -> Combinations:
    """Return the mean of every outcome in every arm, outcomes first, of the means of groups.

    ``cells`` are all arms of the first block, then those of the next.
    """
    q, count = len(outcomes), len(cells)
    arms = count // len(shares[0])
    weights = np.zeros((q, arms, count, q))
    offsets = np.zeros((q, arms))
    for j, (place, of) in enumerate(zip(found.places, shares, strict=True)):
        for block, share in enumerate(of):
            for a in range(arms):
                weights[j, a, block * arms + a, j] = share * place.scale / place.weight
        offsets[j] = place.centre
    m = q * arms
    return Combinations(
        tuple(cells), weights.reshape(m, count, q), offsets.ravel(), np.zeros((m, m))
    )


def stacked(found: Sequence[Combinations]) -> Combinations:
    """Return combinations of different cells below each other."""
    cells = tuple(cell for one in found for cell in one.cells)
    m, q = sum(len(one.weights) for one in found), found[0].weights.shape[2]
    weights, row, column = np.zeros((m, len(cells), q)), 0, 0
    for one in found:
        k, g = one.weights.shape[:2]
        weights[row : row + k, column : column + g] = one.weights
        row, column = row + k, column + g
    offsets = np.concatenate([one.offsets for one in found])
    return Combinations(cells, weights, offsets, np.zeros((m, m)))


def pooled(released: Sequence[NoisyMoments], rows: Sequence[int | None]) -> list[NoisyMoments]:
    """Return the moments of every group, its private cells added up."""
    inner = len(released) // len(rows)
    if inner == 1:
        return list(released)
    return [
        released[at * inner].pooled(*released[at * inner + 1 : (at + 1) * inner], rows=number)
        for at, number in enumerate(rows)
    ]


def places_of_levels(facts: ATEFacts, name: str) -> dict[str, list[int]]:
    """Return the private cells of each level of a private subgroup; not those of missing codes."""
    columns = facts.private_subgroups
    sizes = [encoding(column).size for column in columns]
    at = [column.name for column in columns].index(name)
    code = np.unravel_index(np.arange(facts.inner), sizes)[at]
    return {
        spelled(cell[0]): np.flatnonzero(code == k).tolist()
        for k, cell in enumerate(encoding(columns[at]).cells)
    }


def blocks_of_levels(facts: ATEFacts, name: str) -> dict[str, list[int]]:
    """Return the public blocks in which a column of blocks has each of its levels.

    None while the design is known, and no table: then it is not known which blocks there are.
    """
    experiment = facts.comparison
    if not isinstance(experiment, Experiment):
        return {}
    columns = blocks_of(experiment.design, "weight")
    found: dict[str, list[int]] = {}
    for block, label in enumerate(experiment.units.labels):
        values: Any = label if len(columns) > 1 else (label,)
        value = values[columns.index(name)]
        if value is not None:
            found.setdefault(spelled(value), []).append(block)
    return dict(sorted(found.items()))


def spelled(level: Any) -> str:
    """Return a level as it is named."""
    return level if isinstance(level, str) else f"{float(level):g}"


def strata_of(
    facts: ATEFacts,
    found: Layout,
    released: Sequence[NoisyMoments],
    whole: Sequence[CellMeans],
    shares: Shares,
    means: Callable[[NoisyMoments], CellMeans],
) -> dict[str, Stratum]:
    """Return the means of all arms within the levels of every subgroup.

    Parameters
    ----------
    released : sequence of NoisyMoments
        Of all private cells of every group.
    whole : sequence of CellMeans
        Of the groups, each with all its cells.
    means : callable
        From moments to means.
    """
    private = {column.name for column in facts.private_subgroups}
    unit = np.array([place.scale / place.weight for place in found.places])
    arms, strata = len(facts.arms), {}
    for name in facts.subgroups:
        parts, levels = [], places_of_levels if name in private else blocks_of_levels
        known = levels(facts, name)
        for at in known.values():
            if name in private:
                cells = [
                    means(_together([released[a * facts.inner + g] for g in at]))
                    for a in range(arms)
                ]
                of: Shares = [[1.0]] * len(facts.outcomes)
            else:
                cells = [whole[block * arms + a] for block in at for a in range(arms)]
                of = [[one[b] / sum(one[k] for k in at) for b in at] for one in shares]
            parts.append(arm_means(facts.outcomes, found, cells, of))
        every = stacked(parts)
        strata[name] = Stratum(tuple(known), every, np.tile(unit, (len(every.cells), 1)))
    return strata


def _together(cells: Sequence[NoisyMoments]) -> NoisyMoments:
    return cells[0].pooled(*cells[1:]) if len(cells) > 1 else cells[0]


def condition(outcome: str, subgroup: str, level: str) -> str:
    """Return the name of an outcome within a level."""
    return f"{outcome} if {subgroup}={level}"


def known_levels(facts: ATEFacts) -> dict[str, dict[str, tuple[int, float, list[int] | None]]]:
    """Return of every level: cells of an arm, the share of its people as guessed, and blocks."""
    private = {column.name for column in facts.private_subgroups}
    found: dict[str, dict[str, tuple[int, float, list[int] | None]]] = {}
    for name in facts.subgroups:
        if name in private:
            levels = places_of_levels(facts, name)
            found[name] = {level: (len(at), 1 / len(levels), None) for level, at in levels.items()}
        else:
            levels = blocks_of_levels(facts, name)
            found[name] = {level: (1, 1.0, at) for level, at in levels.items()}
    return found
