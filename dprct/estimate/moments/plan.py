"""The errors to expect of a release of moments, in words, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from scipy import special

from dprct.estimate.moments.layout import GUESS, VIF
from dprct.estimate.moments.release import SCORES, count_noise, gaussian_of
from dprct.estimate.moments.robust_errors import SHARE
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
from dprct.schema.columns import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dprct.estimate.moments.layout import Layout, Place
    from dprct.estimate.moments.one_step import Planned, StepAllocation
    from dprct.estimate.moments.release import MomentsFacts
    from dprct.privacy.mechanisms import Allocation, AnalyticGaussian

OFFERED = 0.02
"""Share of mu squared at which a plan names the price of the shares of rows outside the ball."""

_MOST_OUTCOMES = 12

WIDTHS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 30)
"""Of narrower bounds that a plan may propose, in declared standard deviations."""

WORTH = 0.9
"""It proposes them where errors, against what is kept of an effect, become this part or less."""


def released_said(facts: MomentsFacts, allocation: Allocation) -> dict[str, str]:
    """Released numbers and their noise, in words."""
    layout, groups = facts.layout, facts.grouping.groups
    mechanism = gaussian_of(allocation)
    shown = {
        "n": f"{facts.n:,} rows",
        "columns": f"{len(layout.places)}: {_some(layout.names)}",
        "groups": f"{len(groups)}: {_some([group.name for group in groups])}",
        "released": f"{mechanism.size:,} numbers; {mechanism.describe()}",
        "radius": _radius_said(facts),
        "scales": _scales_said(facts),
    }
    scores = sum(name.startswith(SCORES.partition("{")[0]) for name in allocation.parts)
    if scores:
        shown["scores"] = (
            f"of {scores} regression{'s' * (scores > 1)}, for "
            f"{'HC1' if layout.grid.rows == 1 else 'CR1'} errors, with {float(SHARE):.0%} of "
            "mu squared"
        )
    if layout.grid.weight is not None:
        weight = layout.grid.weight
        shown["weights"] = (
            f"{weight.column.name}, {weight.bounds[1]:g} at most; errors below are those of rows "
            "that all weigh so much: noise against sampling grows with the largest weight over the "
            "mean one"
        )
    if not layout.grid.projects_nobody:
        shown["rows outside the ball"] = _clipped_said(facts, mechanism)
    lacking = [column.name for column in facts.grouping.cells.lacking]
    if lacking:
        shown["missing, private"] = (
            f"{_some(lacking)}: {2 ** len(lacking)} cells of one; a regression leaves out who has "
            "no value of its columns, and has root 2 times the noise for each of these that it "
            "does not name"
        )
    if layout.grid.count:
        sd = count_noise(layout, mechanism.noise_sd)
        if layout.grid.weight is None:
            shown["rows of a cell"] = f"noise sd {sd:.4g}{middle_said(layout, mechanism.noise_sd)}"
        else:
            sd *= layout.grid.weight.bounds[1]
            shown["weights of a cell"] = f"noise sd {sd:.4g} of their sum"
    return shown


def steps_said(facts: MomentsFacts, allocation: StepAllocation) -> dict[str, str]:
    """Division of the budget and expected errors of declared regressions, in words."""
    shares = allocation.shares
    found = {
        "shares of mu squared": ", ".join(f"{name} {float(s):.3g}" for name, s in shares.items())
    }
    planned = zip(facts.steps.bound, facts.declared, allocation.planned, strict=True)
    for bound, one, errors in planned:
        pays = ""
        if bound.step.covariates:
            pays = (
                f"; covariates are taken to have R squared {GUESS:g}, of which the released fit "
                f"keeps {max(errors.kept, 0):.2g}"
                if errors.kept > 0
                else "; covariates do not pay at this n and budget, and are left out of the fit"
            )
        lines = [
            f"{name} {error:.4g} (noise alone {noise:.4g}; without privacy {alone:.4g}, as a "
            f"difference in means {unadjusted:.4g})"
            for name, error, noise, alone, unadjusted in zip(
                one.terms, errors.error, errors.noise, errors.alone, errors.unadjusted, strict=True
            )
        ]
        kind = f"{one.cov_type}, {one.groups} clusters" if one.groups else one.cov_type
        found[one.title] = (
            f"by one step, {one.estimand}, {kind}: standard error {_some(lines, 6)}{pays}"
        )
    return found


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


def _clipped_said(facts: MomentsFacts, mechanism: AnalyticGaussian) -> str:
    """Return the price of the shares of rows outside the ball, and their noise."""
    grid, rows = facts.layout.grid, max(1, sum(facts.grouping.totals))
    if grid.clipped:
        share = 2 * (grid.clipped * grid.rows) ** 2 / grid.l2_squared
        noise = mechanism.noise_sd / (grid.clipped * rows)
    else:
        share = OFFERED
        noise = mechanism.noise_sd * grid.rows / (rows * math.sqrt(grid.l2_squared * share / 2))
    groups = len(facts.grouping.groups)
    price = (
        f"with noise sd {noise * groups:.4g} in each of {groups} groups of equal size, for "
        f"{share:.1%} of mu squared: other noise is {1 / math.sqrt(1 - share):.3g} times as large"
    )
    if grid.clipped:
        return f"their shares are released {price}"
    return f"their shares are not released; ``clipped={OFFERED:g}`` releases them {price}"


def _scales_said(facts: MomentsFacts) -> str:
    """Scale of each column and where it is from, in words."""
    said = []
    for place in facts.layout.places:
        source = "half its range" if place.variable.two_valued else "a quarter of its range"
        said.append(f"{place.name} {place.scale:.4g} ({'sd' if place.declared else source})")
    return _some(said, 12)


def kept_said(
    places: Sequence[Place], error: Callable[[Place], float] | None = None
) -> dict[str, str]:
    """Part of an effect that the bounds of each outcome keep, under three public laws.

    Parameters
    ----------
    error : callable, optional
        The planned error over that without privacy, of an effect on an outcome in this place; with
        it narrower bounds are proposed.
    """
    found: dict[str, list[str]] = {}
    for place in places:
        if not place.exempt or place.variable.of_two or place.variable.within is not None:
            continue
        low, high = place.variable.bounds
        normal, exponential, lognormal = parts_kept(low, high, place.scale)
        said = (
            f"{low:g} to {high:g}: of an effect they keep {normal:.3f} under a normal law of "
            f"standard deviation {place.scale:.4g} about their middle, {exponential:.3f} under an "
            f"exponential and {lognormal:.3f} under a lognormal law from the lower bound on"
        )
        said += "" if error is None else narrower_said(place, error)
        found.setdefault(said, []).append(place.name)
    return {f"bounds of {_some(names, 4)}": said for said, names in found.items()}


def narrower_said(place: Place, error: Callable[[Place], float]) -> str:
    """Return bounds of which effects are told better, in words; empty if there are none.

    What is least at them is the error over the part of an effect that they keep, which is the
    smallest of the three laws: the smallest effect that is found, in units of the unclipped one.
    """
    low, high = place.variable.bounds
    if not place.declared or len(place.variable.parts) > 1:
        return ""
    place = replace(place, weight=1.0)  # which the layout of other bounds chooses
    now = error(place)
    measured = {high - low: now / min(parts_kept(low, high, place.scale))}
    errors = {high - low: now}
    for width in (times * place.scale for times in WIDTHS if times * place.scale < high - low):
        errors[width] = error(narrowed(place, width))
        measured[width] = errors[width] / min(parts_kept(0.0, width, place.scale))
    best = min(measured, key=lambda width: measured[width])
    if measured[best] > WORTH * measured[high - low]:
        return ""
    kept = ", ".join(f"{part:.3f}" for part in parts_kept(0.0, best, place.scale))
    return (
        f"; bounds {best:.4g} apart ({best / place.scale:.3g} standard deviations), put where the "
        f"values are by public knowledge, would keep {kept}, with errors {errors[best]:.3g} times "
        f"those without privacy instead of {now:.3g}"
    )


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
    normal = 2 * float(special.ndtr(width / 2)) - 1
    exponential = 1 - (1 + width) * math.exp(-width)
    # exp(Z) has the standard deviation (e^2 - e)^.5; E[exp(Z); Z < b] = e^.5 Phi(b - 1)
    last = math.log(width * math.sqrt(math.e**2 - math.e))
    return normal, exponential, float(special.ndtr(last - 1))


def _some(names: object, most: int = 8) -> str:
    listed = list(names) if isinstance(names, (list, tuple)) else []
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


def _radius_said(facts: MomentsFacts) -> str:
    layout = facts.layout
    free = [place for place in layout.places if not place.exempt]
    if not free:
        return f"{layout.radius:.4g}: every column is clipped at its own bounds"
    if layout.grid.projects_nobody:
        return f"{layout.radius:.4g}: room for the bounds of every column, which projects no row"
    typical = math.sqrt(layout.grid.rows * len(free))
    what = "unit" if layout.grid.rows > 1 else "row"
    return (
        f"{layout.radius:.4g}, of which {layout.shrunk_radius:.4g} for {len(free)} covariates, "
        f"{layout.shrunk_radius / typical:.3g} times a typical {what}'s: {what}s further out are "
        "projected to it; outcomes and columns of two values are clipped at their own bounds"
    )


def effects_said(facts: MomentsFacts, sigma: float) -> dict[str, str]:
    """Return the noise of the difference of each arm and the first, of every outcome.

    ``sigma`` is the standard deviation of one draw, in steps squared.
    """
    s1, _ = facts.layout.noise(sigma)
    arms = facts.grouping.arms
    if not arms or facts.layout.grid.weight is not None:
        return {}  # of weighted rows no differences in means are read
    share = facts.n / len(arms)
    known = {column.name for column in facts.grouping.cells.lacking}
    sizes = {
        arm: sum(group.rows or 0 for group in facts.grouping.groups if group.arm == arm) or share
        for arm in arms
    }
    found = {}
    explained = [one for one in facts.layout.places if one.exempt and len(one.variable.parts) == 1]
    for place, arm in product(explained[:_MOST_OUTCOMES], arms[1:]):
        named = len(known & set(place.variable.columns))
        cells = max(1, len(facts.grouping.groups) // len(arms)) // 2**named
        noise = s1 * math.sqrt(cells * (1 / sizes[arm] ** 2 + 1 / sizes[arms[0]] ** 2))
        sampling = place.scale * math.sqrt(1 / sizes[arm] + 1 / sizes[arms[0]])
        found[f"effect of {arm} on {place.name}"] = (
            f"noise sd {noise * place.scale / place.weight:.4g}, sampling {sampling:.4g} if the "
            f"standard deviation is {place.scale:.4g}"
            + ("" if not facts.layout.grid.count else " and arms are of equal size")
        )
    return found


def middle_said(layout: Layout, sigma: float) -> str:
    """Noise that rows far from the middle add to means, in words.

    A mean is a noisy sum about the middle over a noisy number: at m in units of z the latter adds
    m times its own noise.
    """
    s1, _ = layout.noise(sigma)
    far = max((p.reach for p in layout.places if p.exempt and not p.variable.within), default=0.0)
    times = math.hypot(1, far * count_noise(layout, sigma) / s1)
    return (
        f"; means at an end of their bounds have {times:.3g} times the noise of those at the middle"
    )


def errors_of(
    formula: str,
    facts: MomentsFacts,
    sigma: float,
    *,
    outcomes: Sequence[str],
    group_columns: Sequence[str],
) -> tuple[dict[str, float], float]:
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
    explained = {name_within(name, unit) for name in parsed.outcome_names if name in outcomes}
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


def regression_said(
    formula: str,
    facts: MomentsFacts,
    sigma: float,
    *,
    outcomes: Sequence[str],
    group_columns: Sequence[str],
) -> tuple[dict[str, str], str]:
    """Return :func:`errors_of` a regression in words, and a warning where the gate is near."""
    errors, eta = errors_of(formula, facts, sigma, outcomes=outcomes, group_columns=group_columns)
    if not errors:
        return {}, ""
    said = _some([f"{name} {ratio:.3g}" for name, ratio in errors.items()], 12)
    found = {
        formula: f"error over that without privacy: {said} (at R squared {GUESS:g} and "
        f"variance inflation {VIF:g})"
    }
    if eta > GATE:
        return found, (
            f"{formula!r} is likely not estimated at this n and budget (eta^2 {eta:.2g} above "
            f"{GATE:g}); spend more, release fewer columns, or declare sd or narrower bounds"
        )
    return found, ""
