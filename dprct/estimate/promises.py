"""What a private effect promises, and which public facts the promise rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.estimate.horvitz import HiddenOutcome
from dprct.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.experiment import Comparison
    from dprct.estimate.index import Index
    from dprct.privacy.budget import Budget
    from dprct.schema.facts import Unit


def promise_of(
    budget: Budget,
    outcomes: Sequence[AnyOutcome],
    experiment: Comparison,
    *,
    unit: Unit,
    n: int,
    design_columns: Sequence[str],
    indexes: Mapping[str, Index] | None = None,
) -> Guarantee:
    """Return the guarantee of a fit: replace-one where treatment is private.

    Parameters
    ----------
    budget : Budget
    outcomes : sequence of Outcome, HiddenOutcome or CountedOutcome
    experiment : Comparison
    unit : Unit
        What one row is.
    n : int
    design_columns : sequence of str
        Treatment, blocks and clusters.
    indexes : mapping from outcome to Index, optional

    Notes
    -----
    Everything that the door checks, refuses or computes from the table is in this list, but for
    rules that each row keeps or breaks alone, which the schema states.  Under replace-one the text
    is a function of n, the declared probabilities and the schema: no arm size is in it.  Released
    numbers of values (``missing="private"``) are no public fact.
    """
    hidden = next((o for o in outcomes if isinstance(o, HiddenOutcome)), None)
    known = [outcome.column.name for outcome in outcomes if outcome.presence_public]
    facts, record = [f"the number of rows, n = {n}"], unit.name
    if experiment.cluster_unit is not None:
        record = experiment.cluster_unit.name
    if experiment.cluster_unit is None or unit.id is not None:  # the door counts rows of each id
        facts.append(unit.said)
    if hidden is None:
        facts.append(
            f"columns {', '.join(design_columns)} of every row (treatment, blocks, clusters): arm "
            "sizes, and those of blocks and clusters"
        )
    else:
        shares = [
            f"{name} {share}"
            for name, share in zip(experiment.arms, hidden.arms.shares, strict=True)
        ]
        facts.append(f"the declared probabilities of the arms: {', '.join(shares)}")
    facts.append("the declared bounds of " + ", ".join(o.column.name for o in outcomes))
    facts += [f"the index of {name}: {index.text}" for name, index in (indexes or {}).items()]
    facts += ["who has a value of " + ", ".join(known)] if known else []
    uncovered = ["participation of anybody"]
    if hidden is None:
        uncovered = ["participation, treatment, blocks and clusters of anybody"]
    uncovered += [f"whether anybody's {', '.join(known)} is missing"] if known else []
    return Guarantee.of(
        budget,
        "replace-one-design-public" if hidden is None else "replace-one",
        unit=record,
        public_facts=tuple(facts),
        not_covered=tuple(uncovered),
    )
