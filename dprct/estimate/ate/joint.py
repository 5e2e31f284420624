"""All outcomes and arms of an experiment in one Gaussian release: what a budget with delta buys.

The release is that of :class:`dprct.PrivateMoments`: first and second moments of the outcomes in
every arm, each row within one ball.  One budget pays for all outcomes, and noise grows with the
root of their number, where Laplace noise on each would grow with the number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.ate.clusters import design_effects
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.ate.results import TITLE, compared_words, parse_contrast
from dprct.estimate.ate.within import (
    arm_means,
    condition,
    pooled,
    strata_of,
)
from dprct.estimate.experiment import Experiment
from dprct.estimate.moments.effects import (
    LEAST_ROWS,
    CellMeans,
    Combinations,
    EffectResults,
    means_of,
    tabulated,
)
from dprct.estimate.moments.groups import Group, Grouping, cells_of
from dprct.estimate.moments.layout import (
    layout_of,
    places_of,
    weighted_alike,
    with_outcomes,
)
from dprct.estimate.moments.release import (
    DrawnMoments,
    asked_moments,
    count_noise,
    drawn_moments,
    gaussian_of,
    moments_of,
)
from dprct.estimate.moments.variables import Variable
from dprct.queries import observed_together
from dprct.queries.clusters import Correlated
from dprct.queries.group_moments import MOST_ROWS, MomentCells, Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.ate.within import Stratum
    from dprct.estimate.effects import Contrast
    from dprct.estimate.moments.effects import Combined
    from dprct.estimate.moments.layout import Layout, Place
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.model import BoundTable
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Guarantee, Relation
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column

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
                "a number that stands for a missing value, say ``missing_policy='public'``, or "
                "leave delta out"
            )
        if private and outcome.among_observed:
            raise ParameterError(
                f"``missing_policy='public'`` for {name!r} does not go with the private subgroup "
                f"{private[0].name!r}, in which it is not known how many have a value; give a "
                "number that stands for a missing value, or leave ``subgroups=`` out"
            )
        if hidden and outcome.among_observed and len(outcomes) > 1:
            raise ParameterError(
                f"``missing_policy='public'`` of {name!r} goes with one outcome where treatment "
                "is private and delta above 0; give a number that stands for a missing value, fit "
                "one outcome, or leave delta out"
            )
    if n > MOST_ROWS:
        raise ParameterError(f"{n:,} rows; with delta above 0 at most {MOST_ROWS:,} are added")


def _check_clusters(outcomes: Sequence[AnyOutcome], subgroups: Sequence[str]) -> None:
    """Refuse clusters whose errors the moments of people do not tell."""
    for outcome in outcomes:
        arms = outcome.arms if isinstance(outcome, Outcome) else None
        if arms is None or arms.unit != "person" or not isinstance(arms.rule, Correlated):
            raise ParameterError(
                "clusters were assigned, whose errors with delta above 0 come from the variance of "
                f"people; declare ``icc=`` of the design for {outcome.column.name!r}, an upper "
                "bound on the correlation within a cluster, with ``privacy_unit='person'``, or "
                "leave delta out"
            )
    if subgroups:
        raise ParameterError(
            f"``subgroups={list(subgroups)}`` with assigned clusters: levels that share clusters "
            "depend on each other, by as much as no declared fact says; leave one of them out"
        )


def as_clustered(cell: CellMeans, effects: Array) -> CellMeans:
    """Return means of people in clusters: their sampling covariance times the design effects.

    ``effects`` (J,) are those of the columns.  Between two columns it is the root of the product:
    what clusters share of two outcomes is taken to correlate as the outcomes of people do.
    """
    root = np.sqrt(effects)
    sampling = cell.sampling * np.outer(root, root)
    return replace(cell, sampling=sampling, spread=cell.spread * effects)


def cluster_effects(outcomes: Sequence[AnyOutcome]) -> list[Array] | None:
    """Return the design effects (J,) of every block and arm; None without clusters."""
    first = outcomes[0]
    if isinstance(first, HiddenOutcome) or first.arms.clusters is None:
        return None
    each = [design_effects(o.arms) for o in outcomes if not isinstance(o, HiddenOutcome)]
    flat = [[one for row in of for one in row] for of in each]
    return [np.array(cell) for cell in zip(*flat, strict=True)]


def places(outcomes: Sequence[AnyOutcome], sd: Mapping[str, float]) -> tuple[Place, ...]:
    """Return every outcome, clipped at its own bounds about their middle, with its scale.

    Where it is public whose value is missing, the centre stands for it, which adds nothing to any
    sum: divided by the public number of values, the sums are those of the others.
    """
    names = [outcome.column.name for outcome in outcomes]

    def of(fills: Mapping[str, float | None]) -> tuple[Place, ...]:
        variables = [
            Variable(o.column.name, (Part(o.column, fill=fills[o.column.name]),)) for o in outcomes
        ]
        return weighted_alike(with_outcomes(places_of(variables, sd, {}), names))

    fills: dict[str, float | None] = {o.column.name: o.fill for o in outcomes}
    for outcome, place in zip(outcomes, of(fills), strict=True):
        if outcome.among_observed:
            fills[outcome.column.name] = place.centre
    return of(fills)


def layout(
    outcomes: Sequence[AnyOutcome], sd: Mapping[str, float], *, cells: bool = False
) -> Layout:
    """Return where the noise goes: by bounds and declared scales alone.

    ``cells`` says that there are private subgroups, whose sizes are released.
    """
    hidden = any(isinstance(outcome, HiddenOutcome) for outcome in outcomes)
    return layout_of(places(outcomes, sd), 0.0, "effects", count=hidden or cells)


def layout_with(place: Place, of: Layout) -> Layout:
    """Return a layout with one outcome in another place."""
    others = tuple(place if one.name == place.name else one for one in of.places)
    return layout_of(weighted_alike(others), 0.0, "effects", count=of.grid.count)


def groups(outcomes: Sequence[AnyOutcome]) -> int:
    """Return the number of groups of the release: arms, in every block that weighs."""
    first = outcomes[0]
    if isinstance(first, HiddenOutcome):
        return len(first.arms.shares)
    return sum(len(row) for row in first.arms.sizes)


def grouping(facts: ATEFacts) -> Grouping:
    """Return the groups that rows are added in."""
    first, arms, levels = facts.outcomes[0], facts.arms, facts.private_subgroups
    if isinstance(first, HiddenOutcome):
        cells = MomentCells(
            treatment=first.arms.columns, values=first.arms.values, levels=levels,
            present=first.arms.present,
        )  # fmt: skip
        known = tuple(cell for arm in arms for cell in cells_of(Group(arm), None, levels))
        return Grouping(known, cells, first.arms.columns, facts.subgroups, (first.arms.n,), arms)
    assert isinstance(facts.comparison, Experiment)
    everybody = facts.comparison.counted()
    sizes = tuple(size for row in everybody.sizes for size in row)
    known = tuple(
        cell
        for arm, size in zip(arms * len(everybody.sizes), sizes, strict=True)
        for cell in cells_of(Group(arm, rows=None if levels else size), None, levels)
    )
    cells = MomentCells(len(sizes), everybody.codes, everybody.combinations, levels=levels)
    columns = facts.comparison.design.columns
    return Grouping(known, cells, columns, facts.subgroups, sizes, arms)


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


def cell_means(moments: NoisyMoments, counts: NDArray[np.int64] | None) -> CellMeans:
    """Return the means of a group, each over the rows that have a value, and their covariance.

    ``counts`` (J, J) are numbers of rows that have two values.  With n_j, n_l and n_jl of them,
    Cov(mean_j, mean_l) = n_jl s_jl / (n_j n_l), where s_jl is the covariance among those that have
    both, about the means of all that have one.
    """
    if counts is None:
        return means_of(moments)
    both = counts.astype(np.float64)
    n = np.diag(both)
    mean = moments.totals / n
    around = moments.cross - both * np.outer(mean, mean) + np.diag(moments.s1**2 / n)
    # n_jl s_jl, of which n_jl - 1 products are free
    spread = np.where(both > 1, around * both / np.maximum(both - 1, 1), 0.0)
    return CellMeans(
        mean, spread / np.outer(n, n), np.diag((moments.s1 / n) ** 2),
        moments.s2 / (n * (n - 1)), n, usable=True,
    )  # fmt: skip


def shares_of(outcomes: Sequence[AnyOutcome]) -> list[list[float]]:
    """Return what each block weighs, of every outcome."""
    return [
        [1.0] if isinstance(outcome, HiddenOutcome) else [float(w) for w in outcome.arms.weights]
        for outcome in outcomes
    ]


def contrasted(means: Combinations, contrasts: Sequence[Contrast], q: int) -> Combinations:
    """Return the contrasts of the arms of each of q outcomes, outcomes first."""
    one = np.array([[float(w) for w in contrast.weights] for contrast in contrasts])
    return means.transformed(np.kron(np.eye(q), one))


def expected(
    outcomes: Sequence[AnyOutcome],
    found: Layout,
    sigma: float,
    sds: Mapping[str, float],
    contrasts: Sequence[Contrast],
    *,
    cells: int = 1,
    share: float = 1.0,
    blocks: Sequence[int] | None = None,
) -> tuple[Combined, ...]:
    """Return effects of size 0 as they are expected to be released, from public facts alone.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise of one number.
    sds : mapping from outcome to number
        Of the outcome within an arm; half the width of the bounds, the worst case, if undeclared.
    cells : int
        Private cells of each arm that are added up.
    share : float
        Of the people of each arm who are in them.
    blocks : sequence of int, optional
        Among the people in these blocks alone.
    """
    s1, s2 = (math.sqrt(cells) * s for s in found.noise(sigma))
    spreads = np.array(
        [
            place.weight / place.scale * spread_of(outcome, sds)
            for outcome, place in zip(outcomes, found.places, strict=True)
        ]
    )
    sizes = share * np.array([_sizes(outcome) for outcome in outcomes], np.float64).T  # (G, J)
    shares = shares_of(outcomes)
    if blocks is not None:
        arms = len(sizes) // len(shares[0])
        sizes = sizes[[block * arms + a for block in blocks for a in range(arms)]]
        shares = [[one[b] / sum(one[k] for k in blocks) for b in blocks] for one in shares]
    means = [
        CellMeans(
            np.zeros(len(n)), np.diag(spreads**2 / n), np.diag((s1 / n) ** 2), s2 / (n * (n - 1)),
            n, usable=True,
        )
        for n in np.maximum(sizes, 2.0)
    ]  # fmt: skip
    if (effects := cluster_effects(outcomes)) is not None:
        means = [as_clustered(*pair) for pair in zip(means, effects, strict=True)]
    return contrasted(arm_means(outcomes, found, means, shares), contrasts, len(outcomes)).each()


def spread_of(outcome: AnyOutcome, sds: Mapping[str, float]) -> float:
    """Return the declared standard deviation of an outcome, or half the width of its bounds."""
    return sds.get(outcome.column.name, float(outcome.width) / 2)


def _sizes(outcome: AnyOutcome) -> list[float]:
    if isinstance(outcome, HiddenOutcome):
        return [float(outcome.arms.n * share) for share in outcome.arms.shares]
    return [float(size) for row in outcome.arms.sizes for size in row]


def standard_error(effect: Combined, alphas: Sequence[float]) -> float:
    """Return the largest half width over its normal quantile: ``-+ z se`` covers at all levels."""
    if not math.isfinite(effect.value):
        return math.nan
    return max(effect.half_width(alpha) / -float(special.ndtri(alpha / 2)) for alpha in alphas)


def detectable(effect: Combined, alpha: float, power: float) -> float:
    """Return the effect that a test of size alpha finds with this power."""
    spread = math.sqrt(float(effect.parts.sum()) + effect.noise)
    return effect.half_width(alpha) + float(special.ndtri(power)) * spread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JointATEResults(EffectResults):
    """Private effects on all outcomes from one Gaussian release, with their joint covariance.

    Parameters
    ----------
    effects : tuple of Combined, length k
        In the order of ``params``.
    alphas : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    control : (q,) DataFrame
        For each outcome, the ``mean`` of the control group (clipped), the standard deviation of its
        ``noise``, and the released standard deviation ``sd`` of the group, NaN where noise hides
        it.
    ledger : str
        Where the budget was charged.
    arms : tuple of str, length A
        The control group first.
    outcomes : tuple of str, length q
    means : Combinations
        The means of all arms, outcomes first, that contrasts are made of.

    Notes
    -----
    ``bse`` is the largest half width divided by z over the declared alphas; :meth:`conf_int`
    computes each level itself.  Between outcomes the covariance is that of sampling error and
    noise together, so that :meth:`wald_test`, :meth:`simultaneous` and :meth:`adjusted_pvalues`
    hold across outcomes.
    """

    alphas: tuple[float, ...]
    ledger: str = ""
    arms: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    means: Combinations
    contrasts: tuple[Contrast, ...] = ()
    strata: Mapping[str, Stratum] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The control group, and the effects within every subgroup."""
        within = {f"effects by {name}": self.by(name).tidy() for name in self.strata}
        return {"control": self.control, **within}

    def by(self, subgroup: str) -> JointATEResults:
        """Return the effects within every level of a subgroup; free, for they were released too.

        Parameters
        ----------
        subgroup : str
            One of ``subgroups`` of the model.

        Returns
        -------
        JointATEResults
            Outcomes are named ``"y if female=1"``.  The covariance is joint over the levels, whose
            people differ, so that ``lincom`` and ``wald_test`` compare subgroups.

        Raises
        ------
        ParameterError
            If it is no subgroup of this release.
        """
        if not isinstance(subgroup, str) or subgroup not in self.strata:
            raise ParameterError(
                f"``{given(subgroup)}`` is no subgroup of this release; it has "
                f"{', '.join(self.strata) or 'none'}"
            )
        found = self.strata[subgroup]
        names = tuple(
            condition(name, subgroup, level) for level in found.levels for name in self.outcomes
        )
        labels, facets = _named(names, self.contrasts)
        made = tabulated(
            contrasted(found.means, self.contrasts, len(names)), labels, facets, like=self,
            units=found.units, control=_control(found.means, names, len(self.arms)),
            title=f"{self.title}: by {subgroup}",
        )  # fmt: skip
        assert isinstance(made, JointATEResults)
        return _at_levels(replace(made, outcomes=names, means=found.means, strata={}))

    def contrast(self, contrast: str | Mapping[str, float]) -> JointATEResults:
        """Compare arms with each other; free, for it uses what was released already.

        Parameters
        ----------
        contrast : str or mapping from arm to weight
            ``"a - b"``, ``"0.5*a + 0.5*b - control"`` or ``{"a": 1, "b": -1}``; of sum zero.

        Returns
        -------
        JointATEResults
            With one effect per outcome, under the same guarantee.

        Raises
        ------
        ParameterError
            If it is not a contrast of the arms.
        """
        wanted = parse_contrast(contrast, self.arms)
        notes = (f"Effect: the contrast {wanted.name} of arm means.", *self.notes)
        combinations = contrasted(self.means, (wanted,), len(self.outcomes))
        names, facets = _named(self.outcomes, (wanted,))
        found = tabulated(
            combinations, names, facets, like=self, notes=notes,
            title=f"{self.title}: {wanted.name}",
        )  # fmt: skip
        assert isinstance(found, JointATEResults)
        return _at_levels(found)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        valid = ", ".join(f"{100 * (1 - alpha):g}%" for alpha in self.alphas)
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", f"valid at {valid}"),
            ("Inference", "normal, Gaussian noise"),
        )


def _at_levels(found: JointATEResults) -> JointATEResults:
    """Return the result with standard errors that are valid at its levels."""
    cov = found.cov.copy()
    values = cov.to_numpy(copy=True)
    np.fill_diagonal(values, [standard_error(e, found.alphas) ** 2 for e in found.effects])
    return replace(found, cov=pd.DataFrame(values, index=cov.index, columns=cov.columns))


def _named(
    outcomes: Sequence[str], contrasts: Sequence[Contrast]
) -> tuple[list[str], tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]]:
    """Return the names of effects, outcomes first, and the panels in which they are drawn."""
    each, k = tuple(c.name for c in contrasts), len(contrasts)
    names = [f"{y}: {c}" if len(outcomes) > 1 else c for y in outcomes for c in each]
    return names, tuple((y, each, tuple(range(i * k, (i + 1) * k))) for i, y in enumerate(outcomes))


def results(
    drawn: DrawnMoments,
    facts: ATEFacts,
    found: Layout,
    alphas: tuple[float, ...],
    guarantee: Guarantee,
    ledger: str,
) -> JointATEResults:
    """Return the results object: post-processing of what was released."""
    outcomes, arms, contrasts = facts.outcomes, facts.arms, facts.contrasts
    names = tuple(outcome.column.name for outcome in outcomes)
    made_of = grouping(facts)
    released = [
        moments_of(found, sums, drawn.sigma, group.rows)
        for sums, group in zip(drawn.sums, made_of.groups, strict=True)
    ]
    rows = made_of.totals if isinstance(facts.comparison, Experiment) else [None] * len(arms)
    whole = pooled(released, rows)
    counts = [None] * len(whole) if facts.together is None else list(facts.together)
    cells = [cell_means(one, number) for one, number in zip(whole, counts, strict=True)]
    if (effects := cluster_effects(outcomes)) is not None:
        cells = [
            # about a mean that clusters move, squares sum to (n - d) / (n - 1) of what they should
            as_clustered(cell, d * (cell.rows - 1) / (cell.rows - d))
            for cell, d in zip(cells, effects, strict=True)
        ]
    shares = shares_of(outcomes)
    means = arm_means(outcomes, found, cells, shares)
    labels, facets = _named(names, contrasts)
    table = tabulated(
        contrasted(means, contrasts, len(names)),
        labels,
        facets,
        df_inference=math.inf,
        df_resid=math.inf,
        nobs=facts.n,
        cov_type="private",
        guarantee=guarantee,
        outcome=", ".join(names),
        formula=f"{' + '.join(names)} ~ {' + '.join(arms[1:])}",
        title=TITLE,
        notes=(),
        units=np.array([one.scale / one.weight for one in whole]),
        columns=names,
        control=_control(means, names, len(arms)),
    )
    held = {part.name: getattr(table, part.name) for part in fields(EffectResults)}
    held["notes"] = (*_notes(outcomes, facts, found), *table.notes)
    made = JointATEResults(
        **held, alphas=alphas, ledger=ledger, arms=arms, outcomes=names, means=means,
        contrasts=contrasts, strata=strata_of(facts, found, released, cells, shares, means_of),
    )  # fmt: skip
    return _at_levels(made)


def _control(means: Combinations, outcomes: Sequence[str], arms: int) -> pd.DataFrame:
    """Return mean, noise and standard deviation of the control group."""
    every = means.each()
    first = [every[j * arms] for j in range(len(outcomes))]
    spread = []
    for one in first:
        # of several blocks the variance of one person is not that of the mean
        total = float((one.parts * (one.df + 1)).sum()) if len(one.parts) == 1 else math.nan
        spread.append(math.sqrt(total) if total > 0 else math.nan)
    return pd.DataFrame(
        {"mean": [o.value for o in first], "noise": [o.noise_sd for o in first], "sd": spread},
        index=pd.Index(list(outcomes), dtype=object),
    )


def _notes(outcomes: Sequence[AnyOutcome], facts: ATEFacts, found: Layout) -> tuple[str, ...]:
    compared, notes = compared_words(facts.arms, facts.contrasts), []
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
        notes.append(f"Effects within levels of {', '.join(facts.subgroups)}: see by().")
    notes += [f"{text[0].upper()}{text[1:]}." for text in facts.without_blocks]
    return (*notes, "Errors and intervals contain sampling and privacy noise.")
