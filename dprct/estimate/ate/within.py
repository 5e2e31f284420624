"""Effects within subgroups of the joint release: cells inside the groups of an experiment.

A subgroup is a column with levels.  A block of a public design is one already: its groups and their
sizes are public.  Any other column is private: every arm falls into cells, whose numbers of people
are released with the rest at no price, and the effects of everybody are of all cells together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.experiment import Experiment, blocks_of
from dprct.estimate.moments.groups import check_subgroups, spelled
from dprct.schema.columns import check_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.assignment.groups import Design
    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.experiment import BlockRule
    from dprct.schema import Schema


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
