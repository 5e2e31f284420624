"""What private effects promise, will cost and can show, from public facts alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.ate import joint
from dprct.estimate.ate.clusters import clusters_said, words_of
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.experiment import Experiment, cluster_unit
from dprct.estimate.moments.plan import effect_error, kept_said, middle_said
from dprct.estimate.moments.reading import within
from dprct.estimate.moments.release import count_noise, gaussian_of
from dprct.estimate.moments.variables import clipped_words
from dprct.estimate.noise_law import quantile
from dprct.privacy.budget import Budget, Guarantee
from dprct.privacy.mechanisms import AnalyticGaussian
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.queries.sums import Arms
from dprct.results.plan import Plan, PlannedNumber

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.effects import NoisyEffect
    from dprct.estimate.moments.effects import Combined
    from dprct.estimate.moments.layout import Layout
    from dprct.privacy.mechanisms import Allocation


_POWER = 0.8


def expected(
    outcome: AnyOutcome, epsilon: Fraction, sd: float | None, contrasts: Sequence[Contrast]
) -> tuple[NoisyEffect, ...]:
    """Return effects of size 0 as they are expected to be released, one per contrast of arms.

    Parameters
    ----------
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Of the outcome within an arm; half the width of the bounds, the worst case, if None.  Where
        treatment is private, about the middle of the bounds.
    """
    return outcome.expected(epsilon, _sd(outcome, sd) ** 2, contrasts)


def detectable(effect: NoisyEffect, alpha: float) -> float:
    """Return the effect that a test of size alpha finds with a power of 80%."""
    missed = 2 * (1 - _POWER)
    spread = math.fsum(part.value for part in effect.variances)
    return effect.half_width(alpha) + float(quantile(missed, spread, effect.scales))


def facts_of(
    outcome: AnyOutcome,
    names: Sequence[str],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> dict[str, str]:
    """Return the lines of a plan for one outcome."""
    name, bounds = outcome.column.name, outcome.column.bounds
    assert bounds is not None
    spread = "the most that the bounds allow" if sd is None else "declared"
    found = {
        name: f"bounds {bounds[0]:g} to {bounds[1]:g}, " + _arms(outcome, names),
        f"{name}: budget": f"epsilon={float(epsilon * outcome.share):g} of {float(epsilon):g}, "
        f"rho={outcome.rho(epsilon):.3g}; sd {_sd(outcome, sd):.4g} ({spread})",
    }
    for contrast, now, half, double in zip(
        contrasts,
        *(expected(outcome, share, sd, contrasts) for share in (epsilon, epsilon / 2, epsilon * 2)),
        strict=True,
    ):
        sampling = math.sqrt(math.fsum(part.value for part in now.variances))
        equal = float(epsilon) * now.noise_sd / sampling if sampling else math.inf
        found[f"{name}: {contrast.name}"] = (
            f"std err {now.standard_error(alphas):.4g} (half epsilon "
            f"{half.standard_error(alphas):.4g}, double {double.standard_error(alphas):.4g}); "
            f"noise sd {now.noise_sd:.4g} against sampling {sampling:.4g}, equal at "
            f"epsilon={equal:.3g}; effect found with 80% power {detectable(now, alphas[0]):.4g}"
        )
    if isinstance(outcome, Outcome) and outcome.two_arms:
        own = outcome.split(epsilon)[-1]
        scale = float(outcome.width * outcome.arms.reach(0) / own)
        found[f"{name}: control mean"] = (
            f"noise sd {math.sqrt(2) * scale:.4g}, at epsilon={float(own):.3g}"
            + "; a delta makes it as precise as the effect" * (outcome.arms.clusters is None)
        )
    if isinstance(outcome, Outcome) and outcome.arms.clusters is not None:
        found[f"{name}: clusters"] = clusters_said(outcome.arms, outcome.split(epsilon))
    if isinstance(outcome, CountedOutcome):
        found[f"{name}: missing values"] = (
            f"the above is if all have a value; an arm with fewer than "
            f"{float(outcome.fewest(epsilon)):.4g} values (as released) is not estimated"
        )
    price = price_of(outcome, contrasts, epsilon, sd, alphas)
    return found | ({f"{name}: price of hiding treatment": price} if price else {})


def numbers_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> Iterator[PlannedNumber]:
    """Yield the expected errors of the effects on one outcome, for the table of a plan."""
    for contrast, effect in zip(contrasts, expected(outcome, epsilon, sd, contrasts), strict=True):
        yield PlannedNumber(
            kind="coefficient",
            part=f"{outcome.column.name}: {contrast.name}",
            noise_sd=effect.noise_sd,
            std_error=effect.standard_error(alphas),
        )


def warnings_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> Iterator[str]:
    """Yield which effects cannot be found at this n and epsilon."""
    for contrast, effect in zip(contrasts, expected(outcome, epsilon, sd, contrasts), strict=True):
        if detectable(effect, alphas[0]) > _sd(outcome, sd):
            yield (
                f"not usable at this n: only an effect of {contrast.name} on "
                f"{outcome.column.name} above one standard deviation would be found; "
                "spend more, on fewer outcomes, or declare "
                "narrower bounds"
            )


def _sd(outcome: AnyOutcome, sd: float | None) -> float:
    return float(outcome.width) / 2 if sd is None else sd


def _arms(outcome: AnyOutcome, names: Sequence[str]) -> str:
    """Return what is public of the arms: their sizes, or the probabilities of being in them."""
    if isinstance(outcome, HiddenOutcome):
        shares = zip(names, outcome.arms.shares, strict=True)
        return ", ".join(f"{arm} with probability {float(share):.4g}" for arm, share in shares)
    sizes = [sum(row[a] for row in outcome.arms.sizes) for a in range(len(names))]
    return ", ".join(f"{arm} {size:,}" for arm, size in zip(names, sizes, strict=True))


COLUMNS = (
    "std_err", "noise", "sampling", "detectable", "std_err_half", "std_err_double",
    "detectable_half", "detectable_double", "equal_epsilon", "sd", "usable",
)  # fmt: skip
"""Columns of :func:`power_table`."""


def power_table(
    outcomes: Sequence[AnyOutcome],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> pd.DataFrame:
    """Return what every effect can be expected to show; a function of public facts.

    Parameters
    ----------
    epsilon : Fraction
        Of all outcomes together.
    sds : mapping from outcome to number
        Declared standard deviations; half the width of the bounds where there is none.
    alphas : sequence of float
        Sizes of tests at which errors are to be valid; power is for the first.
    """
    records, index = [], []
    for outcome in outcomes:
        name = outcome.column.name
        sd = sds.get(name)
        at = [expected(outcome, e, sd, contrasts) for e in (epsilon, epsilon / 2, epsilon * 2)]
        spread = float(outcome.width) / 2 if sd is None else sd
        for contrast, now, half, double in zip(contrasts, *at, strict=True):
            records.append(_record(float(epsilon), spread, alphas, now, half, double))
            index.append((name, contrast.name))
    names = pd.MultiIndex.from_tuples(index, names=["outcome", "effect"])
    return pd.DataFrame(records, index=names, columns=list(COLUMNS))


def _record(
    epsilon: float,
    sd: float,
    alphas: Sequence[float],
    now: NoisyEffect,
    half: NoisyEffect,
    double: NoisyEffect,
) -> tuple[float | bool, ...]:
    sampling = math.sqrt(math.fsum(part.value for part in now.variances))
    found = detectable(now, alphas[0])
    return (
        now.standard_error(alphas),
        now.noise_sd,
        sampling,
        found,
        half.standard_error(alphas),
        double.standard_error(alphas),
        detectable(half, alphas[0]),
        detectable(double, alphas[0]),
        epsilon * now.noise_sd / sampling if sampling else np.inf,
        sd,
        found <= sd,
    )


def price_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> str:
    """Compare the standard errors with treatment public and private, from public facts alone.

    Parameters
    ----------
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Declared standard deviation within an arm; half the width of the bounds if None.

    Notes
    -----
    Horvitz-Thompson is as precise as the second moment about the middle of the bounds is small: sd
    squared where the means are there, w^2 / 4 where all outcomes are at the bounds.
    """
    pair = _both(outcome)
    if pair is None:
        return ""
    public, private = pair
    half = float(outcome.width) / 2
    inner = half if sd is None else sd
    here = public.expected(epsilon, inner**2, contrasts)
    best = private.expected(epsilon, inner**2, contrasts)
    worst = private.expected(epsilon, half**2, contrasts)
    return "; ".join(
        f"{contrast.name}: std err {_error(a, alphas)} with treatment public, "
        f"{_range(_error(b, alphas), _error(c, alphas))} with treatment private"
        for contrast, a, b, c in zip(contrasts, here, best, worst, strict=True)
    )


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


def _error(effect: NoisyEffect, alphas: Sequence[float]) -> str:
    return f"{effect.standard_error(alphas):.4g}"


def _range(low: str, high: str) -> str:
    if low == high:
        return low
    return f"{low} (means at the middle of the bounds) to {high} (all at the bounds)"


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


def plan_of(
    method: str,
    facts: ATEFacts,
    budget: Budget,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> Plan:
    """Return prices, noise and expected standard errors of effects at a budget."""
    names, epsilon = facts.arms, budget.epsilon
    shown = {"n": f"{facts.n:,} rows", "arms": ", ".join(names)}
    warnings: list[str] = []
    numbers: list[PlannedNumber] = []
    for outcome in facts.outcomes:
        sd = sds.get(outcome.column.name)
        shown |= facts_of(outcome, names, facts.contrasts, epsilon, sd, alphas)
        warnings += warnings_of(outcome, facts.contrasts, epsilon, sd, alphas)
        numbers += numbers_of(outcome, facts.contrasts, epsilon, sd, alphas)
    shown |= {f"{name}: index": index.said(name) for name, index in facts.indexes.items()}
    hidden = any(isinstance(outcome, HiddenOutcome) for outcome in facts.outcomes)
    kind = "a centred Horvitz-Thompson mean" if hidden else "a difference in means"
    consequences = (
        f"the estimate is {kind}, not adjusted for covariates"
        + (" except by the public index" if facts.indexes else ""),
        "the estimand is the effect on the outcome clipped to its bounds",
        *facts.without_blocks,
    )
    return Plan(method, budget, shown, consequences, tuple(warnings), numbers=tuple(numbers))


def joint_plan(
    facts: ATEFacts,
    layout: Layout,
    allocation: Allocation,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> Plan:
    """Return price, noise and expected errors of the release of all outcomes together.

    Each effect is compared with what the same epsilon without delta would show; where that has no
    law, there is no comparison.
    """
    outcomes, contrasts, budget = facts.outcomes, facts.contrasts, allocation.budget
    mechanism = gaussian_of(allocation)
    effects = joint.planned(facts, layout, mechanism.noise_sd)
    k = len(contrasts)
    shown = {
        "n": f"{facts.n:,} rows",
        "arms": ", ".join(facts.arms),
        "released": f"{mechanism.size:,} numbers, once for all outcomes; {mechanism.describe()}",
    }
    if layout.grid.count:
        rows = count_noise(layout, mechanism.noise_sd)
        what = "people in an arm" if facts.inner == 1 else "people in a cell"
        shown[what] = f"released with noise sd {rows:.4g}{middle_said(layout, mechanism.noise_sd)}"
    warnings: list[str] = []
    numbers: list[PlannedNumber] = []
    better = 0
    for place, outcome in enumerate(outcomes):
        name, bounds, sd = outcome.column.name, outcome.column.bounds, sds.get(outcome.column.name)
        assert bounds is not None
        declared = "declared" if sd is not None else "the most that the bounds allow"
        shown[name] = (
            f"bounds {bounds[0]:g} to {bounds[1]:g}, sd "
            f"{joint.spread_of(outcome):.4g} ({declared}); {_arms(outcome, facts.arms)}"
        )
        alone = expected(outcome, budget.epsilon, sd, contrasts)
        here = effects[place * k : (place + 1) * k]
        for contrast, effect, other in zip(contrasts, here, alone, strict=True):
            error = effect.standard_error(alphas)
            pure = _alone(other, tuple(alphas))
            better += error <= pure
            found = effect.detectable(alphas[0], _POWER)
            shown[f"{name}: {contrast.name}"] = (
                f"std err {error:.4g} (the same epsilon without delta {pure:.4g}); noise sd "
                f"{effect.noise_sd:.4g} against sampling {effect.sampling:.4g}"
                f"; effect found with 80% power {found:.4g}"
            )
            if found > joint.spread_of(outcome):
                warnings.append(
                    f"not usable at this n: only an effect of {contrast.name} on {name} above one "
                    "standard deviation would be found; spend more, or declare narrower bounds"
                )
            numbers.append(
                PlannedNumber(
                    kind="coefficient", part=f"{name}: {contrast.name}", noise_sd=effect.noise_sd,
                    std_error=error,
                )
            )  # fmt: skip
    if (factors := joint.cluster_effects(outcomes)) is not None:
        listed = ", ".join(f"{factor:.3g}" for cell in factors for factor in cell.tolist())
        shown["clusters"] = (
            f"sampling variances of people times design effects {listed} (blocks and arms, then "
            "outcomes), from the declared correlations and the public sizes of clusters"
        )
    shown |= kept_said(
        layout.places,
        lambda place: effect_error(
            joint.layout_with(place, layout), mechanism.noise_sd, place.name,
            len(facts.arms) * facts.inner, facts.n,
        ),
    )  # fmt: skip
    shown |= _within_said(facts, layout, mechanism.noise_sd, sds, alphas, numbers)
    shown["better"] = _better(better, len(effects))
    if facts.subgroups:
        shown["better"] += "; effects within subgroups there are with delta alone"
    shown |= {f"{name}: index": index.said(name) for name, index in facts.indexes.items()}
    hidden = isinstance(outcomes[0], HiddenOutcome)
    kind = "of released sums over released numbers of people" if hidden else "in means"
    clipped = clipped_words(place.variable for place in layout.places)
    consequences = (
        f"the estimate is a difference {kind}, not adjusted for covariates"
        + (" except by the public index" if facts.indexes else ""),
        f"the estimand is the effect on {clipped or 'outcomes of two values'}",
        *facts.without_blocks,
    )
    return Plan(joint.METHOD, budget, shown, consequences, tuple(warnings), numbers=tuple(numbers))


def joint_is_better(
    facts: ATEFacts,
    layout: Layout,
    allocation: Allocation,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> bool:
    """Whether the release is as precise as epsilon alone for more than half of the effects."""
    outcomes, contrasts, budget = facts.outcomes, facts.contrasts, allocation.budget
    sigma = gaussian_of(allocation).noise_sd
    here = joint.planned(facts, layout, sigma)
    alone = [
        effect
        for outcome in outcomes
        for effect in expected(outcome, budget.epsilon, sds.get(outcome.column.name), contrasts)
    ]
    levels = tuple(alphas)
    better = sum(
        a.standard_error(alphas) <= _alone(b, levels) for a, b in zip(here, alone, strict=True)
    )
    return 2 * better > len(here)


def joint_power_table(
    facts: ATEFacts,
    layout: Layout,
    allocation: Allocation,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> pd.DataFrame:
    """Return :func:`power_table` of the release that a delta buys, delta being the same throughout.

    Where noise equals sampling error, mu is known, and epsilon is what it means at this delta.
    """
    outcomes, contrasts, budget = facts.outcomes, facts.contrasts, allocation.budget
    mechanism = gaussian_of(allocation)

    def at(times: Fraction) -> list[Combined]:
        asked = Budget(budget.epsilon * times, budget.delta)
        drawn = AnalyticGaussian(asked, mechanism.l2_squared, mechanism.size)
        return list(joint.planned(facts, layout, drawn.noise_sd))

    mu = math.sqrt(mechanism.l2_squared) / mechanism.noise_sd
    records, index = [], []
    names = [(o, c) for o in outcomes for c in contrasts]
    each = zip(names, at(Fraction(1)), at(Fraction(1, 2)), at(Fraction(2)), strict=True)
    for (outcome, contrast), now, half, double in each:
        sampling = now.sampling
        found = now.detectable(alphas[0], _POWER)
        spread = joint.spread_of(outcome)
        equal = np.inf
        if sampling:
            equal = epsilon_of(mu * now.noise_sd / sampling, float(budget.delta))
        records.append(
            (
                now.standard_error(alphas), now.noise_sd, sampling, found,
                half.standard_error(alphas), double.standard_error(alphas),
                half.detectable(alphas[0], _POWER),
                double.detectable(alphas[0], _POWER), equal, spread, found <= spread,
            )
        )  # fmt: skip
        index.append((outcome.column.name, contrast.name))
    labels = pd.MultiIndex.from_tuples(index, names=["outcome", "effect"])
    return pd.DataFrame(records, index=labels, columns=list(COLUMNS))


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
    from scipy import optimize

    def excess(epsilon: float) -> float:
        first = special.ndtr(mu / 2 - epsilon / mu)
        return float(first - np.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))) - delta

    if excess(0.0) <= 0:
        return 0.0
    # delta < Phi(mu / 2 - epsilon / mu)
    most = mu * (mu / 2 - float(special.ndtri(delta)))
    return float(optimize.brentq(excess, 0.0, most))


def _within_said(
    facts: ATEFacts,
    layout: Layout,
    sigma: float,
    sds: Mapping[str, float],
    alphas: Sequence[float],
    numbers: list[PlannedNumber],
) -> dict[str, str]:
    """Return what is expected within subgroups; ``numbers`` gets theirs, too.

    How many people have a level of a private subgroup is not known: as many as any other.
    """
    shown: dict[str, str] = {}
    if facts.inner > 1:
        shown["cells"] = (
            f"{facts.inner} of each arm, by {', '.join(c.name for c in facts.private_subgroups)}; "
            f"the effects of everybody have {math.sqrt(facts.inner):.3g} times the noise that they "
            "would have without them"
        )
    wanted = [(o.column.name, c.name) for o in facts.outcomes for c in facts.contrasts]
    private = {column.name for column in facts.private_subgroups}
    for name, level in ((n, x) for n, of in joint.known_levels(facts).items() for x in of):
        found = joint.planned(facts, layout, sigma, {name: level})
        guessed = ", if all levels are as frequent" if name in private else ""
        for (outcome, contrast), effect in zip(wanted, found, strict=True):
            part = f"{within(outcome, name, level)}: {contrast}"
            error = effect.standard_error(alphas)
            shown[part] = f"std err {error:.4g}, noise sd {effect.noise_sd:.4g}{guessed}"
            numbers.append(
                PlannedNumber(
                    kind="coefficient", part=part, noise_sd=effect.noise_sd, std_error=error
                )
            )
    return shown


@lru_cache(maxsize=1024)
def _alone(effect: NoisyEffect, alphas: tuple[float, ...]) -> float:
    """Return the standard error of an effect under Laplace noise; outcomes share the law."""
    return effect.standard_error(alphas)


def _better(count: int, of: int) -> str:
    if count == of:
        return "this release, for all effects; without delta each of them would be less precise"
    if count == 0:
        return "leave delta out: without it all effects would be more precise"
    return f"this release for {count} of {of} effects, leaving delta out for the others"


def sds_of(outcomes: Iterable[AnyOutcome]) -> dict[str, float]:
    """Scales of outcomes, where they are declared."""
    columns = [outcome.column for outcome in outcomes]
    return {column.name: column.sd for column in columns if column.sd is not None}


def check_outcomes(what: str, mapping: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse an option whose keys are no outcomes."""
    for name in mapping:
        if name not in names:
            raise ParameterError(
                f"``{what}=`` names ``{given(name)}``, which is not an outcome of this fit; it has "
                f"{', '.join(names)}"
            )
