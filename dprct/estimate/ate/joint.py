"""All outcomes and arms of an experiment in one Gaussian release: what a budget with delta buys.

The release is that of :class:`dprct.PrivateMoments`: first and second moments of the outcomes in
every arm, each row within one ball.  One budget pays for all outcomes, and noise grows with the
root of their number, where Laplace noise on each would grow with the number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.ate.clusters import design_effects
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.ate.results import TITLE
from dprct.estimate.contrasts import compared_words
from dprct.estimate.experiment import Experiment, blocks_of
from dprct.estimate.moments.effects import LEAST_ROWS, CellMeans, means_of
from dprct.estimate.moments.groups import Group, Grouping, cells_of, check_subgroups, spelled
from dprct.estimate.moments.layout import (
    layout_of,
    places_of,
    scales_of,
    weighted_alike,
    with_outcomes,
)
from dprct.estimate.moments.reading import PublicGroups, ReleasedGroups
from dprct.estimate.moments.release import (
    DrawnMoments,
    asked_moments,
    count_noise,
    drawn_moments,
    gaussian_of,
)
from dprct.estimate.moments.variables import Variable
from dprct.queries.clusters import Correlated
from dprct.queries.group_moments import MOST_ROWS, MomentCells, Part
from dprct.queries.sums import observed_together
from dprct.records import dataclass
from dprct.schema.columns import check_own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.experiment import BlockRule
    from dprct.estimate.moments.effects import Combined, EffectResults
    from dprct.estimate.moments.groups import Labels, Value
    from dprct.estimate.moments.layout import Layout, Place
    from dprct.model import BoundTable
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Guarantee, Relation
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column, Schema

    Array = NDArray[np.floating[Any]]

METHOD = "PrivateATE (one Gaussian release of all outcomes)"
"""What ledgers and certificates call a fit with a delta."""


def check_joint(
    outcomes: Sequence[AnyOutcome],
    budget_shares: object,
    clustered: bool,
    n: int,
    private: Sequence[Column] = (),
    subgroups: Sequence[str] = (),
) -> None:
    """Refuse what the joint release does not offer; options and public facts decide."""
    if budget_shares is not None:
        raise ParameterError(
            "``budget_shares=`` divides epsilon among outcomes, and with delta above 0 one release "
            "serves all of them; leave ``budget_shares=`` out, or delta"
        )
    if clustered:
        _check_clusters(outcomes, subgroups)
    hidden = [outcome for outcome in outcomes if isinstance(outcome, HiddenOutcome)]
    for outcome in outcomes:
        name = outcome.column.name
        if isinstance(outcome, CountedOutcome):
            raise ParameterError(
                f"``missing_policy='private'`` of {name!r} is not offered with delta above 0; give "
                "a number that stands for a missing value, use ``missing_policy='public'``, or "
                "leave delta out"
            )
        if private and outcome.among_observed:
            raise ParameterError(
                f"``missing_policy='public'`` for {name!r} is not offered with the private "
                f"subgroup {private[0].name!r}, because the number of its people with a value is "
                "private; give a number that stands for a missing value, or leave "
                "``subgroups=`` out"
            )
        if hidden and outcome.among_observed and len(outcomes) > 1:
            raise ParameterError(
                f"``missing_policy='public'`` of {name!r} is not offered with several outcomes "
                "where treatment is private and delta above 0; give a number that stands for a "
                "missing value, fit one outcome, or leave delta out"
            )
    if n > MOST_ROWS:
        raise ParameterError(
            f"the data have {n:,} rows; with delta above 0, at most {MOST_ROWS:,} are allowed"
        )


def _check_clusters(outcomes: Sequence[AnyOutcome], subgroups: Sequence[str]) -> None:
    """Refuse clusters whose errors the moments of people do not tell."""
    for outcome in outcomes:
        arms = outcome.arms if isinstance(outcome, Outcome) else None
        if arms is None or arms.unit != "person" or not isinstance(arms.rule, Correlated):
            raise ParameterError(
                "clusters were assigned, whose errors with delta above 0 come from the variance of "
                f"people; declare ``icc=`` of the design for {outcome.column.name!r}, an upper "
                "bound on the correlation within a cluster, with ``privacy_unit='person'``, leave "
                "delta out, or protect whole clusters by ``PrivateMoments`` with "
                "``cov_type='CR1'`` and the cluster as the schema's unit"
            )
    if subgroups:
        raise ParameterError(
            f"``subgroups={list(subgroups)}`` with assigned clusters: levels that share clusters "
            "depend on each other, and no declared fact says how much; leave one of them out"
        )


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
                "it apart; use ``blocks='weight'``, or leave it out of ``subgroups=``"
            )
        if name in known:
            continue
        check_own(schema.column(name))
        if weighted:
            raise ParameterError(
                f"{name!r} is private, as is the number of its people in each block, so that "
                "blocks cannot be weighted within it; use ``blocks='ignore'`` "
                "where shares are the same everywhere, or give blocks as subgroups"
            )


def private_names(subgroups: Sequence[str], design: Design, *, hidden: bool) -> tuple[str, ...]:
    """Return the subgroups whose columns are private: no blocks of a public design."""
    return tuple(name for name in subgroups if hidden or name not in design.uses)


def cluster_effects(outcomes: Sequence[AnyOutcome]) -> list[Array] | None:
    """Return the design effects (J,) of every block and arm; None without clusters."""
    first = outcomes[0]
    if isinstance(first, HiddenOutcome) or first.arms.clusters is None:
        return None
    each = [design_effects(o.arms) for o in outcomes if not isinstance(o, HiddenOutcome)]
    flat = [[one for row in of for one in row] for of in each]
    return [np.array(cell) for cell in zip(*flat, strict=True)]


def places(outcomes: Sequence[AnyOutcome]) -> tuple[Place, ...]:
    """Every outcome, clipped at its own bounds about their middle, with its scale.

    Where it is public whose value is missing, the centre stands for it, which adds nothing to any
    sum: divided by the public number of values, the sums are those of the others.
    """
    names = [outcome.column.name for outcome in outcomes]

    def of(fills: Mapping[str, float | None]) -> tuple[Place, ...]:
        variables = [
            Variable(o.column.name, (Part(o.column, fill=fills[o.column.name]),)) for o in outcomes
        ]
        return weighted_alike(with_outcomes(places_of(variables, *scales_of(variables)), names))

    fills: dict[str, float | None] = {o.column.name: o.fill for o in outcomes}
    for outcome, place in zip(outcomes, of(fills), strict=True):
        if outcome.among_observed:
            fills[outcome.column.name] = place.centre
    return of(fills)


def layout(outcomes: Sequence[AnyOutcome], *, cells: bool = False) -> Layout:
    """Where the noise goes: by bounds and declared scales alone.

    ``cells`` says that there are private subgroups, whose sizes are released.
    """
    hidden = any(isinstance(outcome, HiddenOutcome) for outcome in outcomes)
    return layout_of(places(outcomes), 0.0, "effects", count=hidden or cells)


def layout_with(place: Place, of: Layout) -> Layout:
    """Return a layout with one outcome in another place."""
    others = tuple(place if one.name == place.name else one for one in of.places)
    return layout_of(weighted_alike(others), 0.0, "effects", count=of.grid.count)


def groups(outcomes: Sequence[AnyOutcome]) -> int:
    """Public groups of the release, counted: arms, in every block that weighs."""
    first = outcomes[0]
    if isinstance(first, HiddenOutcome):
        return len(first.arms.shares)
    return sum(len(row) for row in first.arms.sizes)


def arms_in_blocks(facts: ATEFacts) -> tuple[tuple[str, ...], tuple[Group, ...]]:
    """Names of what tells public blocks apart, and every arm in every block.

    Names are the columns of blocks where these are subgroups, a number of the block elsewhere, and
    none where one block is all there is.
    """
    experiment = facts.comparison
    if not isinstance(experiment, Experiment):
        return (), tuple(map(Group, facts.arms))
    names: tuple[str, ...] = ("block",) if len(experiment.units.labels) > 1 else ()
    labels: list[Any] = list(range(len(experiment.units.labels)))
    if len(facts.private_subgroups) < len(facts.subgroups):
        names, labels = blocks_of(experiment.design, "weight"), list(experiment.units.labels)
    everybody = (o.arms.sizes for o in facts.outcomes
                 if isinstance(o, Outcome) and not o.among_observed)  # fmt: skip
    sizes = next(everybody, None) or experiment.counted().sizes
    found = []
    for label, row in zip(labels, sizes, strict=True):
        at: tuple[tuple[str, Value], ...] = tuple(
            (name, value if value is None or isinstance(value, str) else float(value))
            for name, value in zip(names, label if len(names) > 1 else (label,), strict=False)
        )
        found += [Group(a, at, rows=size) for a, size in zip(facts.arms, row, strict=True)]
    return names, tuple(found)


def groups_of(facts: ATEFacts) -> tuple[Group, ...]:
    """Every arm in every block, with its private cells."""
    _, known = arms_in_blocks(facts)
    levels = facts.private_subgroups
    if not levels:
        return known
    return tuple(c for g in known for c in cells_of(replace(g, rows=None), None, levels))


def known_levels(facts: ATEFacts) -> dict[str, list[Value]]:
    """Levels of every subgroup; none of blocks while the design is known, and no table."""
    weighted, _ = arms_in_blocks(facts)
    found: dict[str, list[Value]] = {}
    for name in facts.subgroups:
        every = dict.fromkeys(dict(group.values).get(name) for group in groups_of(facts))
        known: list[Value] = [level for level in every if level is not None]
        found[name] = sorted(known, key=spelled) if name in weighted else known
    return found


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


def grouping(facts: ATEFacts) -> Grouping:
    """Layout of the groups that rows are added in, each with its private cells."""
    first, levels, known = facts.outcomes[0], facts.private_subgroups, groups_of(facts)
    if isinstance(first, HiddenOutcome):
        cells = MomentCells(
            treatment=first.arms.columns, values=first.arms.values, levels=levels,
            present=first.arms.present,
        )  # fmt: skip
        return Grouping(
            known, cells, first.arms.columns, facts.subgroups, (first.arms.n,), facts.arms
        )
    everybody = facts.experiment.counted()
    sizes = tuple(size for row in everybody.sizes for size in row)
    cells = MomentCells(
        len(sizes), everybody.codes.astype(np.int64), everybody.combinations, levels=levels
    )
    columns = facts.comparison.design.columns
    return Grouping(known, cells, columns, facts.subgroups, sizes, facts.arms)


def together(table: BoundTable, facts: ATEFacts) -> NDArray[np.int64] | None:
    """Return how many rows have a value of two outcomes, where that is public; (G, J, J).

    None where everybody counts for every outcome.
    """
    if not any(o.among_observed for o in facts.outcomes) or not isinstance(
        facts.comparison, Experiment
    ):
        return None
    everybody = facts.comparison.counted()
    columns = [o.column if o.among_observed else None for o in facts.outcomes]
    size = sum(len(row) for row in everybody.sizes)
    return observed_together(table.frame, columns, everybody, size)


def with_pairs(facts: ATEFacts, table: BoundTable) -> ATEFacts:
    """Return the facts with who has a value of two outcomes, where that is public."""
    if facts.together is not None:
        return facts
    return replace(facts, together=together(table, facts))


def relation_of(facts: ATEFacts) -> Relation:
    """Return which tables are neighbours: treatment is public, or private with the outcomes."""
    hidden = isinstance(facts.outcomes[0], HiddenOutcome)
    return "replace-one" if hidden else "replace-one-design-public"


def sums_jointly(layout: Layout, facts: ATEFacts, table: BoundTable) -> IntegerVector:
    """Return the sums of all outcomes, sealed, from one pass of an engine."""
    return asked_moments(table, layout, grouping(facts), relation_of(facts), None)


def drawn_jointly(
    layout: Layout,
    facts: ATEFacts,
    table: BoundTable,
    allocation: Allocation,
    noise: NoiseSource,
    sums: IntegerVector | None = None,
) -> DrawnMoments:
    """Draw the release of all outcomes; the caller has charged it.

    ``sums`` are those of :func:`sums_jointly`, where they were asked for before.
    """
    return drawn_moments(
        table, layout, grouping(facts), relation_of(facts), allocation, noise, sums=sums
    )


def smallest_arm(layout: Layout, facts: ATEFacts, allocation: Allocation) -> tuple[float, float]:
    """Return how many people the smallest private arm has by the design, and the fewest read.

    An arm of fewer, by its released noisy number, is not estimated.
    """
    expected_sizes = sorted(_sizes(facts.outcomes[0]))
    noise = count_noise(layout, gaussian_of(allocation).noise_sd)
    return expected_sizes[0], LEAST_ROWS * noise


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ArmGroups(PublicGroups):
    """Arms in blocks, each with its private cells, as an experiment's effects are read off them."""

    asked: tuple[Contrast, ...]  # the effects that are reported
    labels: Mapping[str, Labels]  # public value labels of the subgroups
    weighted: tuple[str, ...]  # what tells public blocks apart
    # (G, J): people in every public group who have a value of each outcome; expected ones where
    # treatment is private.
    sizes: Array
    factors: list[Array] | None  # (J,): design effects of the clusters of every public group
    inner: int  # private cells of each

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Which effects are reported."""
        return self.asked

    @property
    def blocks(self) -> tuple[str, ...]:
        """What tells public blocks apart, each of which weighs as much as it has rows."""
        return self.weighted

    def _labels(self, name: str) -> Labels:
        return self.labels.get(name, {})

    def _rows(self, groups: list[int], outcomes: Sequence[str]) -> Sequence[float]:
        at = [self.outcomes.index(name) for name in outcomes]
        rows: list[float] = self.sizes[groups[0] // self.inner][at].tolist()
        return rows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleasedEffects(ArmGroups, ReleasedGroups):
    """The release of all outcomes of an experiment."""

    # (G, J, J): public numbers of people who have values of two outcomes, where not everybody has.
    counts: NDArray[np.int64] | None
    said: tuple[str, ...]  # sentences below the effects

    @property
    def _title(self) -> str:
        """First line of effects."""
        return TITLE

    def _means(self, groups: list[int]) -> CellMeans:
        counts = None if self.counts is None else self.counts[groups[0] // self.inner]
        return means_of(self._added(groups), counts)

    def _inflated(self, cell: CellMeans, groups: list[int]) -> CellMeans:
        if self.factors is None:
            return cell
        d = self.factors[groups[0] // self.inner]
        # about a mean that clusters move, squares sum to (n - d) / (n - 1) of what they should
        return cell.inflated(d * (cell.rows - 1) / (cell.rows - d))

    def _notes(self, outcomes: Sequence[str]) -> tuple[str, ...]:
        return self.said


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlannedEffects(ArmGroups):
    """Effects of size 0 as they are expected to be released, from public facts alone."""

    spreads: Array  # (J,): standard deviation of every outcome within an arm, in units of z
    # s1, s2: noise of the sums and squares of one cell.
    s1: float
    s2: float
    share: float = 1.0  # of the people of each arm who are meant

    def _means(self, groups: list[int]) -> CellMeans:
        n = np.maximum(self.share * self.sizes[groups[0] // self.inner], 2.0)
        root = math.sqrt(len(groups))
        return CellMeans(
            np.zeros(len(n)), np.diag(self.spreads**2 / n), np.diag((root * self.s1 / n) ** 2),
            root * self.s2 / (n * (n - 1)), n, usable=True,
        )  # fmt: skip

    def _inflated(self, cell: CellMeans, groups: list[int]) -> CellMeans:
        factors = self.factors
        return cell if factors is None else cell.inflated(factors[groups[0] // self.inner])

    def each(self, where: Mapping[str, Value] | None) -> tuple[Combined, ...]:
        """Effects among the people of a condition, outcomes first."""
        means = self._read(self.outcomes, where).means
        return means.contrasted(self.asked, len(self.outcomes)).each()


def _read_by(facts: ATEFacts, found: Layout) -> dict[str, Any]:
    """Facts that both released and planned effects are read by."""
    weighted, _ = arms_in_blocks(facts)
    return {
        "layout": found, "groups": groups_of(facts), "arms": facts.arms, "treatment": (),
        "subgroups": facts.subgroups, "outcomes": tuple(o.column.name for o in facts.outcomes),
        "labels": {name: facts.schema.public_labels(name) for name in facts.subgroups},
        "n": facts.n, "asked": facts.contrasts, "weighted": weighted, "inner": facts.inner,
        "sizes": np.array([_sizes(outcome) for outcome in facts.outcomes], np.float64).T,
        "factors": cluster_effects(facts.outcomes),
    }  # fmt: skip


def planned(
    facts: ATEFacts, found: Layout, sigma: float, where: Mapping[str, Value] | None = None
) -> tuple[Combined, ...]:
    """Effects of size 0 as they are expected to be released, outcomes first.

    ``sigma`` is the sd of the noise of one number.  Of people ``where`` a private subgroup has a
    level, it is not known how many they are: as many as of any other.
    """
    s1, s2 = found.noise(sigma)
    spreads = [
        place.weight / place.scale * spread_of(outcome)
        for outcome, place in zip(facts.outcomes, found.places, strict=True)
    ]
    groups = PlannedEffects(**_read_by(facts, found), spreads=np.array(spreads), s1=s1, s2=s2)
    for name in where or {}:
        if name not in groups.weighted:
            groups = replace(groups, share=1 / len(known_levels(facts)[name]))
    return groups.each(where)


def spread_of(outcome: AnyOutcome) -> float:
    """Spread of an outcome: its declared standard deviation, or half the width of its bounds."""
    sd = outcome.column.sd
    return float(outcome.width) / 2 if sd is None else sd


def _sizes(outcome: AnyOutcome) -> list[float]:
    if isinstance(outcome, HiddenOutcome):
        return [float(outcome.arms.n * share) for share in outcome.arms.shares]
    return [float(size) for row in outcome.arms.sizes for size in row]


def results(
    drawn: DrawnMoments,
    facts: ATEFacts,
    found: Layout,
    alphas: tuple[float, ...],
    guarantee: Guarantee,
    ledger: str,
) -> EffectResults:
    """Return the results object: post-processing of what was released."""
    released = ReleasedEffects(
        **_read_by(facts, found), totals=grouping(facts).totals, drawn=drawn,
        guarantee=guarantee, ledger=ledger, alphas=alphas, counts=facts.together,
        said=_notes(facts),
    )  # fmt: skip
    return released.effects()


def _notes(facts: ATEFacts) -> tuple[str, ...]:
    outcomes, notes = facts.outcomes, []
    compared = compared_words(facts.arms, facts.contrasts)
    for outcome in outcomes:
        bounds = outcome.column.bounds
        assert bounds is not None
        name = outcome.column.name
        index = facts.indexes.get(name)
        what = name if index is None else f"{name} less its index"
        among = ", among those with a value" if outcome.among_observed else ""
        filled = "" if outcome.fill is None else f", missing values being {outcome.fill:g}"
        notes.append(
            f"Estimand: {compared} in the mean of {what} clipped to "
            f"[{bounds[0]:g}, {bounds[1]:g}]{among}{filled}."
        )
        notes += [] if index is None else [f"Index of {name}: {index.said(name)}."]
    if any(isinstance(outcome, HiddenOutcome) for outcome in outcomes):
        notes.append(
            "Treatment is private: means are released sums over released numbers of people."
        )
    if cluster_effects(outcomes) is not None:
        told = [f"{float(o.arms.rule.icc):g} for {o.column.name}" for o in outcomes
                if isinstance(o, Outcome) and isinstance(o.arms.rule, Correlated)]  # fmt: skip
        notes.append(
            "Errors are those of people times the design effect of clusters, with the declared "
            f"correlation ({', '.join(told)}); between outcomes clusters are taken to correlate as "
            "people do."
        )
    if facts.subgroups:
        notes.append(f"Effects within levels of {', '.join(facts.subgroups)} were released, too.")
    notes += [f"{text[0].upper()}{text[1:]}." for text in facts.without_blocks]
    return (*notes, "Errors and intervals contain sampling and privacy noise.")
