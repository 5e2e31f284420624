"""What private effects promise, will cost and can show, from public facts alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dprct.estimate.ate import joint
from dprct.estimate.ate.clusters import clusters_said, words_of
from dprct.estimate.ate.joint import spread_of
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.experiment import Experiment, cluster_unit
from dprct.estimate.moments.plan import (
    AT_AN_END,
    effect_error,
    planned_bounds,
    times_at_an_end,
)
from dprct.estimate.moments.reading import within
from dprct.estimate.moments.release import count_noise, gaussian_of
from dprct.estimate.noise_law import noise_variance
from dprct.estimate.roots import root
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.privacy.budget import Budget, Guarantee
from dprct.privacy.mechanisms import AnalyticGaussian
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.queries.sums import Arms
from dprct.records import dataclass
from dprct.results.plan import (
    ESTIMAND,
    NOISE_SD,
    Contents,
    PlannedNumber,
    errors_of_estimate,
    notes,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.effects import NoisyEffect
    from dprct.estimate.moments.effects import Combined
    from dprct.estimate.moments.layout import Layout
    from dprct.privacy.mechanisms import Allocation


_POWER = 0.8


def expected(
    outcome: AnyOutcome, epsilon: Fraction, contrasts: Sequence[Contrast]
) -> tuple[NoisyEffect, ...]:
    """Return effects of size 0 as they are expected without delta, one per contrast of arms.

    ``epsilon`` is that of all outcomes together.  Where treatment is private, the standard
    deviation is taken about the middle of the bounds.
    """
    return outcome.expected(epsilon, spread_of(outcome) ** 2, contrasts)


@dataclass(frozen=True)
class PlannedEffect:
    """The errors to expect of one effect, of which plans, warnings and power tables are made."""

    outcome: str
    contrast: str
    # std_error, sampling, noise_sd: of sampling and noise together, and of each alone.
    std_error: float
    sampling: float
    noise_sd: float
    detectable: float  # the effect that is found with a power of 80%
    sd: float  # of the outcome within an arm: declared, or the most that the bounds allow

    @classmethod
    def of(
        cls, outcome: AnyOutcome, contrast: Contrast, effect: NoisyEffect | Combined,
        alphas: Sequence[float],
    ) -> PlannedEffect:  # fmt: skip
        """Effect under Laplace noise, or of the Gaussian release of all outcomes."""
        error, found = _error(effect, tuple(alphas)), effect.detectable(alphas[0], _POWER)
        name, sd = outcome.column.name, spread_of(outcome)
        return cls(name, contrast.name, error, effect.sampling, effect.noise_sd, found, sd)

    @property
    def usable(self) -> bool:
        """Whether an effect of one standard deviation is found."""
        return self.detectable <= self.sd

    def numbers(
        self,
        *,
        without: float | None = None,
        pure: float | None = None,
        epsilon: float | None = None,
    ) -> Iterator[PlannedNumber]:
        """Rows of a plan.

        ``without`` is the error of the difference in means without privacy, where it is not the
        sampling error, and ``pure`` the error at the same epsilon without delta.  ``epsilon`` is
        given where noise is inverse to it.
        """
        unit, of = units_of(self.outcome), {"outcome": self.outcome, "term": self.contrast}
        known = self.sampling if without is None else without
        yield from errors_of_estimate(self.std_error, known, self.noise_sd, **of)
        if pure is not None:
            yield PlannedNumber(WITHOUT_DELTA, pure, unit, "the same epsilon alone", **of)
        yield PlannedNumber("detectable_effect", self.detectable, unit, "with 80% power", **of)
        if epsilon is not None and known:
            equal = epsilon * self.noise_sd / known
            yield PlannedNumber("epsilon", equal, "", "where noise is as sampling error", **of)

    def warnings(self) -> Iterator[str]:
        """Warning that the effect cannot be found at this n and budget, where it cannot."""
        if not self.usable:
            yield (
                f"not usable at this n: only an effect of {self.contrast} on {self.outcome} above "
                "one standard deviation would be found; spend more, on fewer outcomes, or declare "
                "narrower bounds"
            )


WITHOUT_DELTA = "std_error_without_delta"
"""Expected standard error of the release that the same epsilon buys without a delta."""


def planned_outcome(
    outcome: AnyOutcome,
    names: Sequence[str],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    alphas: Sequence[float],
) -> tuple[list[PlannedNumber], list[str]]:
    """Numbers of a plan on one outcome, and its warnings."""
    name = outcome.column.name
    effects = [
        PlannedEffect.of(outcome, contrast, effect, alphas)
        for contrast, effect in zip(contrasts, expected(outcome, epsilon, contrasts), strict=True)
    ]
    hidden = isinstance(outcome, HiddenOutcome)
    public = _public_errors(outcome, contrasts, epsilon) if hidden else {}
    numbers = [*bounds_of(outcome, names)]
    of_all = outcome.size > 1
    share = float(epsilon if of_all else epsilon * outcome.share)
    why = f"for all {outcome.size} outcomes together" if of_all else f"of {float(epsilon):g}"
    numbers.append(PlannedNumber("epsilon", share, why=why, outcome=name))
    numbers.append(PlannedNumber("rho", outcome.rho(epsilon), outcome=name))
    for effect in effects:
        numbers += effect.numbers(without=public.get(effect.contrast), epsilon=float(epsilon))
    if isinstance(outcome, Outcome) and outcome.two_arms:
        part = outcome.split(epsilon)[-1]
        scale = float(outcome.width * outcome.arms.reach(0) / part)
        noise = math.sqrt(noise_variance(outcome.size)) * scale
        why = f"at epsilon={float(part):.3g}"
        why += "; a delta makes it as precise as the effect" * (outcome.arms.clusters is None)
        numbers.append(
            PlannedNumber(NOISE_SD, noise, units_of(name), why, outcome=name, term="control mean")
        )
    lines = {}
    if isinstance(outcome, Outcome) and outcome.arms.clusters is not None:
        lines[f"{name}: clusters"] = clusters_said(outcome.arms, outcome.split(epsilon))
    if isinstance(outcome, CountedOutcome):
        why = "values (as released), or an arm is not estimated; the above is if all have a value"
        least = float(outcome.fewest(epsilon))
        numbers.append(PlannedNumber("least", least, why=why, outcome=name, term="missing values"))
    numbers += notes(lines)
    numbers += price_of(outcome, contrasts, epsilon, alphas)
    return numbers, [text for effect in effects for text in effect.warnings()]


def bounds_of(outcome: AnyOutcome, names: Sequence[str]) -> Iterator[PlannedNumber]:
    """Bounds, standard deviation and arms of an outcome, as a plan has them."""
    name, bounds = outcome.column.name, outcome.column.bounds
    assert bounds is not None
    declared = outcome.column.sd is not None
    unit, why = units_of(name), "declared" if declared else "the most that the bounds allow"
    yield PlannedNumber("lower_bound", float(bounds[0]), unit, outcome=name)
    yield PlannedNumber("upper_bound", float(bounds[1]), unit, outcome=name)
    yield PlannedNumber("sd", spread_of(outcome), unit, why, outcome=name)
    if isinstance(outcome, HiddenOutcome):
        for arm, share in zip(names, outcome.arms.shares, strict=True):
            yield PlannedNumber("probability", float(share), why=f"of {arm}", outcome=name)
        return
    for a, arm in enumerate(names):
        size = sum(row[a] for row in outcome.arms.sizes)
        yield PlannedNumber("people", size, why=arm, outcome=name)


def _public_errors(
    outcome: AnyOutcome, contrasts: Sequence[Contrast], epsilon: Fraction
) -> dict[str, float]:
    """Errors of differences in means without privacy, by contrast, where treatment is private."""
    pair = _both(outcome)
    assert pair is not None
    effects = expected(pair[0], epsilon, contrasts)
    return {c.name: effect.sampling for c, effect in zip(contrasts, effects, strict=True)}


COLUMNS = (
    "std_err", "noise", "sampling", "detectable", "std_err_half", "std_err_double",
    "detectable_half", "detectable_double", "equal_epsilon", "sd", "usable",
)  # fmt: skip
"""Columns of :func:`power_table`."""


def power_table(
    facts: ATEFacts,
    effects: Callable[[Fraction], Sequence[NoisyEffect | Combined]],
    equal: Callable[[float], float],
    alphas: Sequence[float],
) -> pd.DataFrame:
    """What every effect can be expected to show; a function of public facts.

    ``effects`` gives them as expected at a multiple of epsilon, outcomes first; ``equal`` the
    epsilon at which noise is what it is, divided by a number.  Power is for the first of the test
    sizes.
    """
    wanted = list(product(facts.outcomes, facts.contrasts))
    at = [effects(times) for times in (Fraction(1), Fraction(1, 2), Fraction(2))]
    records = []
    for (outcome, contrast), *each in zip(wanted, *at, strict=True):
        now, half, double = (PlannedEffect.of(outcome, contrast, e, alphas) for e in each)
        records.append(
            (
                now.std_error, now.noise_sd, now.sampling, now.detectable, half.std_error,
                double.std_error, half.detectable, double.detectable,
                equal(now.noise_sd / now.sampling) if now.sampling else np.inf, now.sd, now.usable,
            )
        )  # fmt: skip
    index = pd.MultiIndex.from_tuples(
        [(outcome.column.name, contrast.name) for outcome, contrast in wanted],
        names=["outcome", "effect"],
    )
    return pd.DataFrame(records, index=index, columns=list(COLUMNS))


def alone(facts: ATEFacts, epsilon: Fraction) -> list[NoisyEffect]:
    """Effects as expected without delta, outcomes first."""
    return [e for o in facts.outcomes for e in expected(o, epsilon, facts.contrasts)]


def power_alone(facts: ATEFacts, epsilon: Fraction, alphas: Sequence[float]) -> pd.DataFrame:
    """Table of :func:`power_table` of fits without delta."""
    return power_table(
        facts, lambda times: alone(facts, epsilon * times), lambda x: float(epsilon) * x, alphas
    )


def price_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    alphas: Sequence[float],
) -> Iterator[PlannedNumber]:
    """Error of each contrast with treatment public and private, from public facts alone.

    Epsilon is that of all outcomes together.

    Notes
    -----
    Horvitz-Thompson is as precise as the second moment about the middle of the bounds is small: sd
    squared where the means are there, w^2 / 4 where all outcomes are at the bounds.
    """
    pair = _both(outcome)
    if pair is None:
        return
    name, half = outcome.column.name, float(outcome.width) / 2
    inner = spread_of(outcome)
    ways: dict[str, tuple[Outcome | HiddenOutcome, float]] = {
        "with treatment public": (pair[0], inner),
        "with treatment private, means at the middle of the bounds": (pair[1], inner),
        "with treatment private, all at the bounds": (pair[1], half),
    }
    for why, (one, spread) in ways.items():
        if inner == half and "middle" in why:
            continue  # there is no declared sd, so that all are at the bounds
        for contrast, effect in zip(
            contrasts, one.expected(epsilon, spread**2, contrasts), strict=True
        ):
            yield PlannedNumber(
                "price_of_hiding_treatment", _error(effect, tuple(alphas)), units_of(name),
                f"standard error {why}", outcome=name, term=contrast.name,
            )  # fmt: skip


def _both(outcome: AnyOutcome) -> tuple[Outcome, HiddenOutcome] | None:
    """Return the outcome under both relations, where both are offered."""
    column, share = outcome.column, outcome.share
    if isinstance(outcome, HiddenOutcome):
        sizes = tuple(max(1, round(outcome.arms.n * part)) for part in outcome.arms.shares)
        return Outcome(column, Arms(np.empty(0, np.int64), (sizes,)), share), outcome
    arms = outcome.arms
    if not isinstance(outcome, Outcome) or arms.clusters is not None or len(arms.sizes) > 1:
        return None
    n = sum(arms.sizes[0])
    parts = tuple(Fraction(size, n) for size in arms.sizes[0])
    return outcome, HiddenOutcome(column, PrivateArms((), (), parts, n), share)


def promise_of(budget: Budget, facts: ATEFacts, *, jointly: bool = False) -> Guarantee:
    """Return the guarantee of a fit: replace-one where treatment is private.

    Notes
    -----
    Everything that is checked, refused or computed from the table before a fit is in this list, but
    for rules that each row keeps or breaks alone, which the schema states.  Under replace-one the
    text is a function of n, the declared probabilities and the schema: no arm size is in it.
    Released numbers of values (``missing_policy="private"``) are no public fact.  ``jointly`` says
    that all outcomes are in one release, whose layout is public too.
    """
    outcomes, experiment, unit = facts.outcomes, facts.comparison, facts.schema.unit
    hidden = next((o for o in outcomes if isinstance(o, HiddenOutcome)), None)
    known = [outcome.column.name for outcome in outcomes if outcome.presence_public]
    shown, record = [f"the number of rows, n = {facts.n}"], unit.name
    clusters = None
    if isinstance(experiment, Experiment) and experiment.unit == "cluster":
        clusters = cluster_unit(experiment.design, experiment.largest)
        record = clusters.name
    if clusters is None or unit.id is not None:  # rows of each id are counted
        shown.append(unit.said)
    if hidden is None:
        shown.append(
            f"columns {', '.join(facts.design_columns)} of every row (treatment, blocks, "
            "clusters): arm sizes, and those of blocks and clusters"
        )
    else:
        shares = [
            f"{name} {share}"
            for name, share in zip(experiment.arms, hidden.arms.shares, strict=True)
        ]
        shown.append(f"the declared probabilities of the arms: {', '.join(shares)}")
    shown.append("the declared bounds of " + ", ".join(o.column.name for o in outcomes))
    rules = ((o.column.name, o.arms.rule) for o in outcomes if isinstance(o, Outcome))
    shown += [words_of(rule, name) for name, rule in rules if rule is not None]
    if facts.private_subgroups:
        names = ", ".join(column.name for column in facts.private_subgroups)
        shown.append(f"the declared levels of {names}")
    shown += [f"the index of {name}: {index.text}" for name, index in facts.indexes.items()]
    shown += ["who has a value of " + ", ".join(known)] if known else []
    if jointly:
        shown.append("centres, scales and weights of the release: functions of these and of sd")
    uncovered = ["participation of anybody"]
    if hidden is None:
        uncovered = ["participation, treatment, blocks and clusters of anybody"]
    uncovered += [f"whether anybody's {', '.join(known)} is missing"] if known else []
    return Guarantee.of(
        budget,
        "replace-one-design-public" if hidden is None else "replace-one",
        unit=record,
        public_facts=tuple(shown),
        not_covered=tuple(uncovered),
    )


def planned(facts: ATEFacts, budget: Budget, alphas: Sequence[float]) -> Contents:
    """Prices, noise and expected standard errors of effects at a budget."""
    hidden = any(isinstance(outcome, HiddenOutcome) for outcome in facts.outcomes)
    numbers = _heading(facts, "a centred Horvitz-Thompson mean" if hidden else "in means")
    numbers += notes(_noise_together(facts.outcomes[0].size))
    warnings: list[str] = []
    for outcome in facts.outcomes:
        found, warned = planned_outcome(
            outcome, facts.arms, facts.contrasts, budget.epsilon, alphas
        )
        numbers += found
        warnings += warned
    return _contents(facts, numbers, warnings)


def _noise_together(size: int) -> dict[str, str]:
    """What a plan says of noise that several outcomes have together."""
    if size == 1:
        return {}
    gain = size * math.sqrt(noise_variance(1) / noise_variance(size))
    return {
        "noise": f"uniform in cubes, over all {size} outcomes: {gain:.2f} times smaller than "
        "Laplace noise at a part of epsilon for each"
    }


def _heading(facts: ATEFacts, kind: str) -> list[PlannedNumber]:
    """Estimand, rows and arms."""
    clipped = [
        f"{outcome.column.name} clipped to [{low:.12g}, {high:.12g}]"
        for outcome in facts.outcomes
        if outcome.column.bounds is not None
        for low, high in [outcome.column.bounds]
    ]
    what = f"a difference {kind}" if kind.startswith(("in", "of")) else kind
    adjusted = " except by the public index" if facts.indexes else ""
    rest = f" and {len(clipped) - _MOST} more" if len(clipped) > _MOST else ""
    said = f"mean effect on {', '.join(clipped[:_MOST])}{rest}: {what}, not adjusted for covariates"
    return [
        *notes({ESTIMAND: said + adjusted}),
        PlannedNumber("n", facts.n, "rows"),
        *notes({"arms": ", ".join(facts.arms)}),
    ]


_MOST = 8
"""Outcomes that an estimand names."""


def _contents(
    facts: ATEFacts, numbers: Sequence[PlannedNumber], warnings: Sequence[str]
) -> Contents:
    indexes = {f"{name}: index": index.said(name) for name, index in facts.indexes.items()}
    return Contents((*numbers, *notes(indexes)), facts.without_blocks, tuple(warnings))


def planned_jointly(
    facts: ATEFacts,
    layout: Layout,
    allocation: Allocation,
    alphas: Sequence[float],
) -> Contents:
    """Price, noise and expected errors of the release of all outcomes together.

    Each effect is compared with what the same epsilon without delta would show; where that has no
    law, there is no comparison.
    """
    outcomes, contrasts, budget = facts.outcomes, facts.contrasts, allocation.budget
    mechanism = gaussian_of(allocation)
    sigma = mechanism.noise_sd
    effects = iter(joint.planned(facts, layout, sigma))
    hidden = isinstance(outcomes[0], HiddenOutcome)
    kind = "of released sums over released numbers of people" if hidden else "in means"
    law = f"once for all outcomes; {mechanism.describe()}"
    numbers = [
        *_heading(facts, kind), PlannedNumber("released", mechanism.size, "numbers", law),
    ]  # fmt: skip
    if layout.grid.count:
        what = "people in an arm" if facts.inner == 1 else "people in a cell"
        numbers.append(PlannedNumber(what, count_noise(layout, sigma), why="noise sd"))
        numbers.append(PlannedNumber(what, times_at_an_end(layout, sigma), why=AT_AN_END))
    warnings: list[str] = []
    better = 0
    for outcome in outcomes:
        numbers += bounds_of(outcome, facts.arms)
        for contrast, other in zip(
            contrasts, expected(outcome, budget.epsilon, contrasts), strict=True
        ):
            pure = _error(other, tuple(alphas))
            one = PlannedEffect.of(outcome, contrast, next(effects), alphas)
            better += one.std_error <= pure
            numbers += one.numbers(pure=pure)
            warnings += one.warnings()
    if (factors := joint.cluster_effects(outcomes)) is not None:
        listed = ", ".join(f"{factor:.3g}" for cell in factors for factor in cell.tolist())
        said = f"sampling variances of people times design effects {listed} (blocks and arms, then "
        said += "outcomes), from the declared correlations and the public sizes of clusters"
        numbers += notes({"clusters": said})
    numbers += planned_bounds(
        layout.places,
        lambda place: effect_error(
            joint.layout_with(place, layout), sigma, place.name, len(facts.arms) * facts.inner,
            facts.n,
        ),
    )  # fmt: skip
    numbers += _planned_within(facts, layout, sigma, alphas)
    said = _better(better, len(outcomes) * len(contrasts))
    if facts.subgroups:
        said += "; effects within subgroups there are with delta alone"
    numbers += notes({"better": said})
    return _contents(facts, numbers, warnings)


def joint_is_better(
    facts: ATEFacts, layout: Layout, allocation: Allocation, alphas: Sequence[float]
) -> bool:
    """Whether the release is as precise as epsilon alone for more than half of the effects."""
    here = joint.planned(facts, layout, gaussian_of(allocation).noise_sd)
    pure, levels = alone(facts, allocation.budget.epsilon), tuple(alphas)
    better = sum(_error(a, levels) <= _error(b, levels) for a, b in zip(here, pure, strict=True))
    return 2 * better > len(here)


def power_jointly(
    facts: ATEFacts, layout: Layout, allocation: Allocation, alphas: Sequence[float]
) -> pd.DataFrame:
    """Table of :func:`power_table` of the release that a delta buys, delta staying what it is.

    Where noise equals sampling error, mu is known, and epsilon is what it means at this delta.
    """
    budget, mechanism = allocation.budget, gaussian_of(allocation)
    mu = math.sqrt(mechanism.l2_squared) / mechanism.noise_sd

    def at(times: Fraction) -> Sequence[Combined]:
        asked = Budget(budget.epsilon * times, budget.delta)
        drawn = AnalyticGaussian(asked, mechanism.l2_squared, mechanism.size)
        return joint.planned(facts, layout, drawn.noise_sd)

    return power_table(facts, at, lambda x: epsilon_of(mu * x, float(budget.delta)), alphas)


def epsilon_of(mu: float, delta: float) -> float:
    """Return the epsilon of Gaussian noise with this mu at this delta, for plans.

    References
    ----------
    Balle and Wang (2018), Theorem 8; Dong, Roth and Su (2022), Corollary 2.13.

    Examples
    --------
    >>> round(epsilon_of(0.237, 1e-6), 2)
    1.0
    """

    def excess(epsilon: float) -> float:
        first = special.ndtr(mu / 2 - epsilon / mu)
        return float(first - np.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))) - delta

    if excess(0.0) <= 0:
        return 0.0
    # delta < Phi(mu / 2 - epsilon / mu)
    most = mu * (mu / 2 - float(special.ndtri(delta)))
    return root(excess, 0.0, most)


def _planned_within(
    facts: ATEFacts, layout: Layout, sigma: float, alphas: Sequence[float]
) -> Iterator[PlannedNumber]:
    """Errors to expect within subgroups.

    How many people have a level of a private subgroup is not known: as many as any other.
    """
    if facts.inner > 1:
        by = ", ".join(column.name for column in facts.private_subgroups)
        yield PlannedNumber("cells", facts.inner, why=f"of each arm, by {by}")
        why = "noise of the effects of everybody over what it would be without cells"
        yield PlannedNumber("cells", math.sqrt(facts.inner), why=why)
    wanted = [(o.column.name, c.name) for o in facts.outcomes for c in facts.contrasts]
    private = {column.name for column in facts.private_subgroups}
    for name, level in ((n, x) for n, of in joint.known_levels(facts).items() for x in of):
        found = joint.planned(facts, layout, sigma, {name: level})
        guessed = "if all levels are as frequent" if name in private else ""
        for (outcome, contrast), effect in zip(wanted, found, strict=True):
            yield from errors_of_estimate(
                effect.standard_error(alphas), effect.sampling, effect.noise_sd, why=guessed,
                outcome=within(outcome, name, level, facts.schema.public_labels(name)),
                term=contrast,
            )  # fmt: skip


@lru_cache(maxsize=1024)
def _error(effect: NoisyEffect | Combined, alphas: tuple[float, ...]) -> float:
    """Return the standard error of an effect; outcomes share the law of Laplace noise."""
    return effect.standard_error(alphas)


def _better(count: int, of: int) -> str:
    if count == of:
        return "this release, for all effects; without delta each of them would be less precise"
    if count == 0:
        return "leave delta out: without it all effects would be more precise"
    return f"this release for {count} of {of} effects, leaving delta out for the others"
