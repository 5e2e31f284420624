"""What a release of moments promises, will cost and can show, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.moments.layout import GUESS
from dprct.estimate.moments.release import count_noise, gaussian_of
from dprct.estimate.moments.scores import SHARE
from dprct.estimate.moments.variables import INTERCEPT, key_of, main_part, regressors_of
from dprct.formula import parse
from dprct.privacy.budget import Guarantee
from dprct.results.plan import Plan

if TYPE_CHECKING:
    from dprct.estimate.moments.model import MomentsFacts, MomentsSpec
    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import Allocation

VIF = 1.2
"""Variance inflation that a plan takes covariates to have."""

GATE = 0.1
"""eta^2 above which a regression is not estimated."""


def promise_of(spec: MomentsSpec, facts: MomentsFacts, budget: Budget) -> Guarantee:
    """Return the guarantee of a fit.

    Notes
    -----
    Under replace-one the text is a function of n, the schema and the options; under the relation
    with the design public, of the public columns too.
    """
    schema, unit = facts.schema, facts.schema.unit
    shown = [f"the number of rows, n = {facts.n}", unit.said]
    uncovered = ["participation of anybody"]
    design = spec.assignment
    if design is not None and not spec.hidden:
        columns = ", ".join(dict.fromkeys([*design.columns, *design.uses]))
        shown.append(
            f"columns {columns} of every row (treatment, blocks, clusters): arm sizes, and those "
            "of blocks and clusters"
        )
        uncovered = ["participation, treatment, blocks and clusters of anybody"]
    elif design is not None:
        shown.append("the arms and levels of the design: " + ", ".join(facts.grouping.arms))
    known = spec.present_public(schema)
    if known:
        shown.append("who has a value of " + ", ".join(known))
        uncovered.append(f"whether anybody's {', '.join(known)} is missing")
    shown.append("the declared bounds and levels of " + ", ".join(spec.columns))
    shown.append(
        "centres, scales, weights and radius of the release: functions of these, of sd=, centre=, "
        "radius= and formulas="
    )
    return Guarantee.of(
        budget,
        "replace-one" if spec.hidden else "replace-one-design-public",
        unit=unit.name,
        public_facts=tuple(shown),
        not_covered=tuple(uncovered),
    )


def plan_of(spec: MomentsSpec, facts: MomentsFacts, allocation: Allocation) -> Plan:
    """Return what a fit costs and the errors to expect."""
    layout, groups = facts.layout, facts.grouping.groups
    mechanism = gaussian_of(allocation)
    s1, s2 = layout.noise(mechanism.noise_sd)
    shown = {
        "n": f"{facts.n:,} rows",
        "columns": f"{len(layout.places)}: {_some(layout.names)}",
        "groups": f"{len(groups)}: {_some([group.name for group in groups])}",
        "released": f"{mechanism.size:,} numbers; {mechanism.describe()}",
        "radius": _radius_said(facts),
    }
    scores = len(allocation.parts) - 1
    if scores:
        shown["scores"] = (
            f"of {scores} regression{'s' * (scores > 1)}, for {spec.cov_type} errors, with "
            f"{float(SHARE):.0%} of mu squared"
        )
    if layout.grid.count:
        shown["rows of a cell"] = f"noise sd {count_noise(layout, mechanism.noise_sd):.4g}"
    warnings: list[str] = []
    shown |= _effects(facts, s1)
    for formula in spec.formulas:
        lines, problem = _regression(formula, spec, facts, s2)
        shown |= lines
        warnings += [problem] if problem else []
    moved = "" if layout.grid.moves_nobody else ", and rows far from the centres moved to the ball"
    consequences = (
        f"the estimands are those of columns clipped to their bounds{moved}",
        "every linear regression on released columns is free from now on",
    )
    return Plan(spec.method, allocation.budget, shown, consequences, tuple(warnings))


def _some(names: object, most: int = 8) -> str:
    listed = list(names) if isinstance(names, (list, tuple)) else []
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


def _radius_said(facts: MomentsFacts) -> str:
    layout = facts.layout
    if layout.grid.moves_nobody:
        return f"{layout.radius:.4g}: the box of the bounds, which moves nobody"
    free = [place for place in layout.places if not place.exempt]
    typical = math.sqrt(layout.grid.rows * math.fsum(place.weight**2 for place in free))
    if layout.grid.rows > 1:
        return (
            f"{layout.shrunk_radius:.4g} of {len(free)} columns and {layout.grid.rows} rows, "
            f"{layout.shrunk_radius / typical:.3g} times that many typical rows: units further out "
            "are moved to it"
        )
    return (
        f"{layout.shrunk_radius:.4g} of {len(free)} columns, {layout.shrunk_radius / typical:.3g} "
        "times a typical row: rows further out are moved to it"
    )


def _effects(facts: MomentsFacts, s1: float) -> dict[str, str]:
    """Return the noise of the difference of each arm and the first, for a typical column."""
    arms = facts.grouping.arms
    if not arms:
        return {}
    share = facts.n / len(arms)
    cells = max(1, len(facts.grouping.groups) // len(arms))
    sizes = {
        arm: sum(group.rows or 0 for group in facts.grouping.groups if group.arm == arm) or share
        for arm in arms
    }
    found = {}
    for arm in arms[1:]:
        noise = s1 * math.sqrt(cells * (1 / sizes[arm] ** 2 + 1 / sizes[arms[0]] ** 2))
        sampling = math.sqrt(1 / sizes[arm] + 1 / sizes[arms[0]])
        found[f"effect of {arm}"] = (
            f"noise sd {noise:.4g} of a column's scale ({_scale_said(facts)}), sampling "
            f"{sampling:.4g} where its sd is the scale"
            + ("" if not facts.layout.grid.count else ", if arms are of equal size")
        )
    return found


def _scale_said(facts: MomentsFacts) -> str:
    declared = [place for place in facts.layout.places if place.declared]
    return "sd" if len(declared) == len(facts.layout.places) else "sd, or half its bounds"


def _regression(
    formula: str, spec: MomentsSpec, facts: MomentsFacts, s2: float
) -> tuple[dict[str, str], str]:
    """Return the errors to expect of each coefficient over those without privacy, and a warning.

    Notes
    -----
    Of a column with variance v in units of z, an outcome with weight w, a guess f of R squared and
    variance inflation c: error over OLS is ``(1 + c s2^2 (1 + w^2 f) / (2 n (1 - f) v w^2))^.5``.
    """
    layout, n = facts.layout, facts.n
    cells = len(facts.grouping.groups)
    places = {place.variable.key: place for place in layout.places}
    parsed = main_part(parse(formula, structural=True))
    regressors = regressors_of(parsed, facts.schema)
    outcomes = [place for place in layout.places if place.variable.name in spec.outcomes]
    found, eta = {}, 0.0
    spreads = [p.spread for p in outcomes if p.variable.name in parsed.outcome_names]
    if not spreads:
        return {}, ""
    w = sorted(spreads)[0]
    lines = []
    for regressor in regressors:
        atoms = regressor.without(spec.group_columns)
        if regressor.name == INTERCEPT:
            continue
        # two arms of n / A rows each: noise s1^2 (A / n)^2, s1^2 = s2^2 / 2 h^2, sampling A / n
        spread = layout.h if not atoms else places[key_of(atoms)].spread
        inflation = VIF if atoms else 1.0
        noise = inflation * cells * s2**2 / (2 * n * spread**2)
        eta += (inflation / (n * spread**2)) ** 2 * cells * s2**2 / 2
        ratio = math.sqrt(1 + noise * (1 + w**2 * GUESS) / ((1 - GUESS) * w**2))
        lines.append(f"{regressor.name} {ratio:.3g}")
    found[formula] = (
        "error over that without privacy: " + _some(lines, 12) + f" (at R squared {GUESS:g} and "
        f"variance inflation {VIF:g})"
    )
    if eta > GATE:
        return found, (
            f"{formula!r} is likely not estimated at this n and budget (eta^2 {eta:.2g} above "
            f"{GATE:g}); spend more, release fewer columns, or declare sd= or narrower bounds"
        )
    return found, ""
