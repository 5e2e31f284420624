"""The numbers to plan a release of moments with, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

from dprct.estimate.moments.groups import names_of
from dprct.estimate.moments.index_models import OF_MODEL
from dprct.estimate.moments.layout import GUESS, VIF
from dprct.estimate.moments.one_step import TOTALS, TYPICAL_ICC, declared_icc, together
from dprct.estimate.moments.release import SCORES, count_noise, gaussian_of
from dprct.estimate.moments.robust_errors import SHARE
from dprct.estimate.moments.slopes import gram_told_above
from dprct.estimate.moments.system import GATE
from dprct.estimate.moments.variables import (
    INTERCEPT,
    key_of,
    less_means,
    main_part,
    name_within,
    regressors_of,
    unit_effects,
)
from dprct.formula import parse
from dprct.queries.group_moments import Part
from dprct.queries.sums import GRID
from dprct.results.plan import RATIO, PlannedNumber, errors_of_estimate, units_of
from dprct.schema.columns import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dprct.assignment.groups import Design
    from dprct.estimate.moments.bound_step import Chosen
    from dprct.estimate.moments.declared import Declared
    from dprct.estimate.moments.layout import Layout, Place
    from dprct.estimate.moments.one_step import Planned, StepAllocation
    from dprct.estimate.moments.release import MomentsFacts
    from dprct.privacy.mechanisms import Allocation, AnalyticGaussian

OFFERED = 0.02
"""Share of mu squared at which a plan names the price of the shares of rows outside the ball."""

_MOST_OUTCOMES = 12

_LONG = 5.0
"""Seconds of a fit from which a plan names its time and memory."""

WIDTHS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 30)
"""Of narrower bounds that a plan may propose, in declared standard deviations."""

WORTH = 0.9
"""It proposes them where errors, against what is kept of an effect, become this part or less."""


def planned_release(facts: MomentsFacts, allocation: Allocation) -> Iterator[PlannedNumber]:
    """Released numbers and their noise."""
    layout, groups = facts.layout, facts.grouping.groups
    mechanism = gaussian_of(allocation)
    yield PlannedNumber("n", facts.n, "rows")
    yield PlannedNumber("columns", len(layout.places), why=_some(layout.names))
    yield PlannedNumber("groups", len(groups), why=_some(names_of(groups, facts.schema)))
    yield PlannedNumber("released", mechanism.size, "numbers", mechanism.describe())
    yield from _planned_time(facts, allocation)
    yield from _planned_radius(layout)
    for place in layout.places:
        own = "half its range" if place.variable.two_valued else "a quarter of its range"
        why = f"of {place.name}: {'sd' if place.declared else own}"
        yield PlannedNumber("scales", place.scale, why=why)
    scores = sum(name.startswith(SCORES.partition("{")[0]) for name in allocation.parts)
    if scores:
        kind = "HC1" if layout.grid.rows == 1 else "CR1"
        yield PlannedNumber("scores", scores, why=f"regressions, for {kind} errors")
        yield PlannedNumber("scores", float(SHARE), why="share of mu squared")
    if (weight := layout.grid.weight) is not None:
        why = (
            f"the most of {weight.column.name}; errors below are those of rows that all weigh so "
            "much: noise against sampling grows with the largest weight over the mean one"
        )
        yield PlannedNumber("weights", weight.bounds[1], why=why)
    if not layout.grid.projects_nobody:
        yield from _planned_clipped(facts, mechanism)
    lacking = [column.name for column in facts.grouping.cells.lacking]
    if lacking:
        why = (
            f"cells of one, for {_some(lacking)}; a regression leaves out who has no value of its "
            "columns, and has root 2 times the noise for each of these that it does not name"
        )
        yield PlannedNumber("missing, private", 2 ** len(lacking), why=why)
    if layout.grid.count:
        sd, what = count_noise(layout, mechanism.noise_sd), "rows of a cell"
        if weight is not None:
            sd, what = sd * weight.bounds[1], "weights of a cell"
        yield PlannedNumber(what, sd, why="noise sd")
        if weight is None:
            yield PlannedNumber(what, times_at_an_end(layout, mechanism.noise_sd), why=AT_AN_END)


def planned_steps(facts: MomentsFacts, allocation: StepAllocation) -> Iterator[PlannedNumber]:
    """Division of the budget and expected errors of declared regressions."""
    shares: dict[str, Fraction] = {}
    for name, share in allocation.shares.items():
        kind = "models of an index" if OF_MODEL in name else name
        shares[kind] = shares.get(kind, Fraction(0)) + share
    for name, share in shares.items():
        if share:
            yield PlannedNumber("shares of mu squared", float(share), why=name)
    bounds = facts.steps.bound
    if facts.steps.kinds is not None and len(bounds) > 1:
        why = (
            f"of {len(bounds)} regressions, whose effects share the budget as so many do: of those "
            "that nobody can be in two of, such as levels of a column, one counts"
        )
        yield PlannedNumber("regressions that count", together(bounds, both=False) ** 2, why=why)
    planned = zip(facts.steps.bound, facts.declared, allocation.planned, strict=True)
    for bound, one, errors in planned:
        kind = f"{one.cov_type}, {one.clustered}" if one.groups else one.cov_type
        said = f"by one step, {one.estimand}, {kind}"
        yield PlannedNumber("served", why=said, regression=one.title)
        if bound.chosen is not None:
            yield from _planned_members(one, bound.chosen, errors)
        if bound.step.covariates and errors.kept > 0:
            why = f"which the released fit keeps, of {GUESS:g} that covariates are taken to have"
            yield PlannedNumber("R_squared", errors.kept, why=why, regression=one.title)
        elif bound.step.covariates:
            why = "covariates do not pay at this n and budget, and are left out of the fit"
            yield PlannedNumber("R_squared", 0.0, why=why, regression=one.title)
        for family in facts.steps.families:
            if bound is facts.steps.bound[family.members[0]]:
                why = f"covariances of {len(family.members)} regressions, released with squares"
                yield PlannedNumber(
                    f"joint, {family.name}", len(family.pairs), why=why, regression=one.title
                )
        unit = units_of(bound.step.outcome)
        each = (one.terms, errors.error, errors.alone, errors.noise, errors.unadjusted)
        for name, error, alone, noise, unadjusted in zip(*each, strict=True):
            of = {"regression": one.title, "term": name}
            yield from errors_of_estimate(error, alone, noise, unit=unit, **of)
            why = "without privacy and covariates"
            what = "coefficient_per_unit" if name in bound.amounts else "difference_in_means"
            yield PlannedNumber(what, unadjusted, unit, why, **of)
    why = (
        "times that without privacy, at most, if the error without privacy is half of what is "
        f"planned, because covariates explain more than the planned R squared of {GUESS:g}"
    )
    dearer = [
        _of_half(*each, one.kept)
        for one in allocation.planned
        for each in zip(one.error, one.unadjusted, one.alone, strict=True)
    ]
    yield PlannedNumber("error, better fit", max(dearer), why=why)


def _of_half(error: float, unadjusted: float, alone: float, kept: float) -> float:
    """Error over that without privacy, where the latter is half of what is planned."""
    sampling = unadjusted**2 * (1 - max(kept, 0.0))
    return math.sqrt(max(4 * error**2 - 3 * sampling, 0.0)) / alone


def doubtful_steps(facts: MomentsFacts, allocation: StepAllocation) -> Iterator[str]:
    """Warn of what is planned to be lost in noise: people, errors of two ways, covariates."""
    for one, bound in zip(facts.declared, facts.steps.bound, strict=True):
        if bound.step.products:
            gram, noise = facts.steps.gram(bound), gaussian_of(allocation, TOTALS).noise_sd / GRID
            if gram_told_above(bound, facts.layout, gram, noise) >= 1:
                yield (
                    f"{one.title}: it may not be estimated, since the covariates that treatment is "
                    "multiplied by vary by less than eight times the planned noise of their "
                    "moments; raise epsilon, or declare narrower bounds of them"
                    + (", or leave the weights out" if one.weights else "")
                )
    for one, errors in zip(facts.declared, allocation.planned, strict=True):
        if not errors.enough:
            yield (
                f"{one.title} is likely not estimated at this n and budget: an arm, or an arm of a "
                "block, is planned to have fewer people who count than 5 times the noise of their "
                "number; spend more, declare fewer regressions, or leave out blocks or weights"
            )
        if errors.doubt > 1:
            yield (
                f"{one.title}: the noise of its variance, clustered in two ways, is planned to be "
                f"{errors.doubt:.2g} times that variance: intervals will be too wide, and the "
                "variance may be drawn at 0 or below; raise epsilon, or cluster in one way"
            )


def guessed_icc(facts: MomentsFacts, design: Design | None) -> Iterator[PlannedNumber]:
    """What people of a cluster are taken to have in common, where a design does not declare it."""
    bounds = [one for one in facts.steps.bound if one.clusters]
    if not getattr(design, "cluster_columns", ()):
        return
    names = [one.step.outcome for one in bounds if one.step.unit not in one.step.clusters]
    names += [one.outcome for one in facts.models if one.groups]
    guessed = [name for name in dict.fromkeys(names) if declared_icc(design, name) is None]
    if guessed:
        why = (
            f"a guess, of {_some(guessed)}: planned errors and clips follow from it; declare "
            "``icc=`` of the design if other studies say what it is"
        )
        yield PlannedNumber("icc", TYPICAL_ICC, why=why)


def _planned_members(one: Declared, chosen: Chosen, errors: Planned) -> Iterator[PlannedNumber]:
    """What a plan takes for granted of people whom private columns choose or weigh."""
    if not chosen.everybody:
        why = "of people whom private columns are taken to choose"
        yield PlannedNumber("share", chosen.share, why=why, regression=one.title)
    if chosen.loads[0] < 1:
        why = f"mean of {one.weights} over its largest, as declared: noise grows with its inverse"
        yield PlannedNumber("weights", chosen.loads[0], why=why, regression=one.title)
    if not errors.enough:
        why = "so few that it will probably not be estimated: less than 5 times the noise in an arm"
        yield PlannedNumber("people", chosen.share * one.nobs, why=why, regression=one.title)


def declared_errors(
    facts: MomentsFacts, allocation: Allocation
) -> dict[str, Callable[[Place], float]]:
    """Planned error of declared regressions over that without privacy, by outcome and its bounds.

    The noise of a coefficient grows with half the width of the bounds, and with the clip of the fit
    where covariates are used; the rest of the error stays.
    """
    found: dict[str, Callable[[Place], float]] = {}
    planned = getattr(allocation, "planned", ())
    clips = getattr(allocation, "clips", ())
    for bound, clip, errors in zip(facts.steps.bound, clips, planned, strict=True):
        place = next(p for p in facts.layout.places if p.name == bound.step.outcome)
        fit = _half(place) * clip.most / GRID
        found.setdefault(place.name, partial(_declared_error, errors, _half(place) + fit, fit))
    return found


def _declared_error(errors: Planned, reach: float, fit: float, place: Place) -> float:
    other = float(errors.noise[0]) * (_half(place) + fit) / reach
    rest = max(0.0, float(errors.error[0]) ** 2 - float(errors.noise[0]) ** 2)
    return math.sqrt(rest + other**2) / float(errors.alone[0])


def _half(place: Place) -> float:
    low, high = place.variable.bounds
    return (high - low) / 2


def _planned_clipped(facts: MomentsFacts, mechanism: AnalyticGaussian) -> Iterator[PlannedNumber]:
    """Price of the shares of rows outside the ball, and their noise."""
    grid, rows = facts.layout.grid, max(1, sum(facts.grouping.totals))
    if grid.clipped:
        share = 2 * (grid.clipped * grid.rows) ** 2 / grid.l2_squared
        noise = mechanism.noise_sd / (grid.clipped * rows)
    else:
        share = OFFERED
        noise = mechanism.noise_sd * grid.rows / (rows * math.sqrt(grid.l2_squared * share / 2))
    what, groups = "rows outside the ball", len(facts.grouping.groups)
    released = "are released" if grid.clipped else "are not released"
    offered = "" if grid.clipped else f"; ``clipped={OFFERED:g}`` releases them"
    why = f"share of mu squared: shares of rows {released}{offered}"
    yield PlannedNumber(what, share, why=why)
    why = f"noise sd of each of {groups} groups of equal size"
    yield PlannedNumber(what, noise * groups, why=why)
    yield PlannedNumber(what, 1 / math.sqrt(1 - share), why="times the other noise")


def planned_bounds(
    places: Sequence[Place], error: Callable[[Place], float]
) -> Iterator[PlannedNumber]:
    """Part of an effect that the bounds of each outcome keep, and bounds that are better.

    ``error`` is the planned one over that without privacy, of an effect on an outcome in a place.
    """
    for place in places:
        if not place.exempt or place.variable.of_two or place.variable.within is not None:
            continue
        low, high = place.variable.bounds
        of, unit = {"outcome": place.name, "term": "bounds"}, units_of(place.name)
        yield PlannedNumber("lower", low, unit, **of)
        yield PlannedNumber("upper", high, unit, **of)
        laws = (
            f"normal law of sd {place.scale:.4g} about their middle",
            "exponential law from the lower bound on", "lognormal law",
        )  # fmt: skip
        for law, kept in zip(laws, parts_kept(low, high, place.scale), strict=True):
            yield PlannedNumber("part_kept_of_an_effect", kept, why=law, **of)
        yield from _narrower(place, error, of)


def _narrower(
    place: Place, error: Callable[[Place], float], of: Mapping[str, str]
) -> Iterator[PlannedNumber]:
    """Bounds of which effects are told better, if there are some.

    What is least at them is the error over the part of an effect that they keep, which is the
    smallest of the three laws: the smallest effect that is found, in units of the unclipped one.
    """
    low, high = place.variable.bounds
    if not place.declared or len(place.variable.parts) > 1:
        return
    place = replace(place, weight=1.0)  # which the layout of other bounds chooses
    now = error(place)
    measured = {high - low: now / min(parts_kept(low, high, place.scale))}
    errors = {high - low: now}
    for width in (times * place.scale for times in WIDTHS if times * place.scale < high - low):
        errors[width] = error(narrowed(place, width))
        measured[width] = errors[width] / min(parts_kept(0.0, width, place.scale))
    best = min(measured, key=lambda width: measured[width])
    if measured[best] > WORTH * measured[high - low]:
        return
    kept = ", ".join(f"{part:.3f}" for part in parts_kept(0.0, best, place.scale))
    unit = units_of(place.name)
    why = f"apart, {best / place.scale:.3g} sd, where the values are by public knowledge"
    yield PlannedNumber("better_bounds", best, unit, f"{why}: they would keep {kept}", **of)
    yield PlannedNumber("error_at_these", now, why="times that without privacy", **of)
    yield PlannedNumber("error_at_better_bounds", errors[best], **of)


def narrowed(place: Place, width: float) -> Place:
    """Return an outcome clipped at bounds so far apart, about the middle of its own."""
    low, high = place.variable.bounds
    ends = low / 2 + high / 2 - width / 2, low / 2 + high / 2 + width / 2
    own = place.variable.parts[0].column.built_from
    column = Column(place.name, bounds=ends, missing=(), built_from=own)
    return replace(place, variable=replace(place.variable, parts=(Part(column),)))


def effect_error(layout: Layout, sigma: float, name: str, groups: int, n: int) -> float:
    """Return the error of a difference in means over that without privacy, of groups of one size.

    Of means of n / G rows, noise has the variance s1^2 (G / n)^2 and sampling w^2 G / n.
    """
    (weight,) = (place.weight for place in layout.places if place.name == name)
    s1, _ = layout.noise(sigma)
    return math.sqrt(1 + (s1 / weight) ** 2 * groups / n)


def parts_kept(low: float, high: float, sd: float) -> tuple[float, float, float]:
    """Return d E[clip(Y)] / d E[Y] of laws with a standard deviation, from public numbers.

    Normal about the middle, where the effect shifts all values; exponential, and lognormal with
    the standard deviation 1 of its logarithm, from the lower bound on, where it multiplies them.

    Examples
    --------
    >>> [round(part, 3) for part in parts_kept(-2.0, 2.0, 1.0)]
    [0.954, 0.908, 0.876]
    """
    width = (high - low) / sd
    normal = 2 * NormalDist().cdf(width / 2) - 1
    exponential = 1 - (1 + width) * math.exp(-width)
    # exp(Z) has the standard deviation (e^2 - e)^.5; E[exp(Z); Z < b] = e^.5 Phi(b - 1)
    last = math.log(width * math.sqrt(math.e**2 - math.e))
    return normal, exponential, NormalDist().cdf(last - 1)


def _some(names: Sequence[str], most: int = 8) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    # a group that lacks a column has a comma in its name
    return ("; " if any(", " in name for name in names) else ", ").join(names[:most]) + rest


def _planned_time(facts: MomentsFacts, allocation: Allocation) -> Iterator[PlannedNumber]:
    """Roughly what a fit takes where this is much, by the numbers that are drawn."""
    k = len(facts.layout.places)
    drawn = sum(gaussian_of(allocation, part).size for part in allocation.parts)
    # measured: 30 us and 500 bytes a number; without a design, the errors take inversions
    seconds = 3e-5 * drawn + (0.0 if facts.steps.bound else 1e-7 * k**3)
    if seconds > _LONG:
        why = (
            f"of one processor for a fit, and {drawn * 5e-7:.2g} GB, roughly: {k:,} columns are "
            f"{drawn:,} numbers; a factor of fewer levels, or one whose levels are blocks of the "
            "design, takes less"
        )
        yield PlannedNumber("time", float(f"{seconds:.1g}"), "seconds", why)


def _planned_radius(layout: Layout) -> Iterator[PlannedNumber]:
    free = [place for place in layout.places if not place.exempt]
    if not free or layout.grid.projects_nobody:
        why = (
            "room for the bounds of every column, which projects no row"
            if free
            else "every column is clipped at its own bounds"
        )
        yield PlannedNumber("radius", layout.radius, why=why)
        return
    typical = math.sqrt(layout.grid.rows * len(free))
    what = "unit" if layout.grid.rows > 1 else "row"
    yield PlannedNumber("radius", layout.radius)
    covariates = "1 covariate" if len(free) == 1 else f"{len(free)} covariates"
    why = (
        f"for {covariates}, {layout.shrunk_radius / typical:.3g} times a typical "
        f"{what}'s: {what}s further out are projected to it; outcomes and columns of two values "
        "are clipped at their own bounds"
    )
    yield PlannedNumber("radius", layout.shrunk_radius, why=why)


def planned_effects(facts: MomentsFacts, sigma: float) -> Iterator[PlannedNumber]:
    """Errors of the difference of each arm and the first, of every outcome.

    ``sigma`` is the standard deviation of one draw, in steps squared.
    """
    s1, _ = facts.layout.noise(sigma)
    arms = facts.grouping.arms
    if not arms or facts.layout.grid.weight is not None:
        return  # of weighted rows no differences in means are read
    share = facts.n / len(arms)
    known = {column.name for column in facts.grouping.cells.lacking}
    sizes = {
        arm: sum(group.rows or 0 for group in facts.grouping.groups if group.arm == arm) or share
        for arm in arms
    }
    explained = [one for one in facts.layout.places if one.exempt and len(one.variable.parts) == 1]
    for place, arm in product(explained[:_MOST_OUTCOMES], arms[1:]):
        named = len(known & set(place.variable.columns))
        cells = max(1, len(facts.grouping.groups) // len(arms)) // 2**named
        noise = s1 * math.sqrt(cells * (1 / sizes[arm] ** 2 + 1 / sizes[arms[0]] ** 2))
        noise *= place.scale / place.weight
        sampling = place.scale * math.sqrt(1 / sizes[arm] + 1 / sizes[arms[0]])
        why = f"sd {place.scale:.4g}" + ", arms of equal size" * facts.layout.grid.count
        yield from errors_of_estimate(
            math.hypot(noise, sampling), sampling, noise, why=why, outcome=place.name, term=arm
        )


def planned_means(facts: MomentsFacts, sigma: float) -> Iterator[PlannedNumber]:
    """Errors of means over those without privacy, for a release of which nothing is declared."""
    groups = len(facts.grouping.groups)
    for place in facts.layout.places[:_MOST_OUTCOMES]:
        ratio = effect_error(facts.layout, sigma, place.name, groups, facts.n)
        yield PlannedNumber(RATIO, ratio, outcome=place.name, term="mean")


AT_AN_END = "times the noise of means at the middle of their bounds have those at an end"


def times_at_an_end(layout: Layout, sigma: float) -> float:
    """Noise of means at an end of their bounds over that at the middle.

    A mean is a noisy sum about the middle over a noisy number: at m in units of z the latter adds
    m times its own noise.
    """
    s1, _ = layout.noise(sigma)
    far = max((p.reach for p in layout.places if p.exempt and not p.variable.within), default=0.0)
    return math.hypot(1, far * count_noise(layout, sigma) / s1)


def errors_of(formula: str, facts: MomentsFacts, sigma: float) -> tuple[dict[str, float], float]:
    """Return the planned error of each coefficient over that without privacy, and eta^2.

    Notes
    -----
    Of a column with variance v in units of z, an outcome with weight w, a guess f of R squared and
    variance inflation c: error over OLS is ``(1 + c s2^2 (1 + w^2 f) / (2 n (1 - f) v w^2))^.5``.
    """
    layout, n = facts.layout, facts.n
    _, s2 = layout.noise(sigma)
    places = {place.variable.key: place for place in layout.places}
    bare, unit = unit_effects(parse(formula, structural=True), facts.schema.unit.repeated_id)
    parsed = main_part(bare)
    regressors = less_means(regressors_of(parsed, facts.schema), unit)
    # whoever has no value of a column of the regression is in a cell that it leaves out
    known = {column.name for column in facts.grouping.cells.lacking}
    named = len(known & set(parsed.regressor_names)) + (set(parsed.outcome_names) <= known)
    cells = len(facts.grouping.groups) // 2**named
    explained = {name_within(name, unit) for name in parsed.outcome_names}
    group_columns = (*facts.grouping.treatment, *facts.grouping.subgroups)
    found, eta = dict[str, float](), 0.0
    weights = [place.weight for place in layout.places if place.variable.name in explained]
    if not weights:
        return {}, 0.0
    w = min(weights)
    for regressor in regressors:
        atoms = regressor.without(group_columns)
        if regressor.name == INTERCEPT:
            continue
        # two arms of n / A rows each: noise s1^2 (A / n)^2, s1^2 = s2^2 / 2 h^2, sampling A / n
        spread = layout.h if not atoms else places[key_of(atoms)].weight
        inflation = VIF if atoms else 1.0
        noise = inflation * cells * s2**2 / (2 * n * spread**2)
        eta += (inflation / (n * spread**2)) ** 2 * cells * s2**2 / 2
        found[regressor.name] = math.sqrt(1 + noise * (1 + w**2 * GUESS) / ((1 - GUESS) * w**2))
    return found, eta


def planned_regression(
    formula: str, facts: MomentsFacts, sigma: float
) -> tuple[list[PlannedNumber], str]:
    """Rows of :func:`errors_of` a regression, and a warning where the gate is near."""
    errors, eta = errors_of(formula, facts, sigma)
    why = f"at R squared {GUESS:g} and variance inflation {VIF:g}"
    found = [
        PlannedNumber(RATIO, ratio, why=why, regression=formula, term=name)
        for name, ratio in errors.items()
    ]
    if not found or eta <= GATE:
        return found, ""
    return found, (
        f"{formula!r} is likely not estimated at this n and budget (eta^2 {eta:.2g} above "
        f"{GATE:g}); spend more, release fewer columns, or declare sd or narrower bounds"
    )
