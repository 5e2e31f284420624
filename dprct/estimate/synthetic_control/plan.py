"""What a synthetic control will cost and how noisy it can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.synthetic_control.allocation import placebo_name
from dprct.estimate.synthetic_control.panel import RECORD
from dprct.privacy.budget import Guarantee
from dprct.results.plan import ERROR, ESTIMAND, PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.estimate.synthetic_control.allocation import ControlAllocation, Form


def planned_numbers(
    allocation: ControlAllocation, estimand: str, predictors: Sequence[str] = ()
) -> Iterator[PlannedNumber]:
    """Panel, weights and noise, as a plan has them."""
    form, scale = allocation.form, allocation.scale
    n, K, path = form.n, form.T - form.T0, allocation.path_sd()
    least = path if form.y_norm is None else path / n
    why = "a period at least, of the noise alone: no other error is in the band"
    yield from notes({ESTIMAND: estimand})
    yield PlannedNumber(ERROR, least, why=why)
    yield PlannedNumber(ERROR, 0.0, why="without privacy")
    yield from notes({"one record": RECORD})
    yield PlannedNumber("panel", n, "donors")
    yield PlannedNumber("panel", form.T0, "periods before treatment")
    yield PlannedNumber("panel", K, "periods after")
    yield PlannedNumber("bounds", scale.low)
    yield PlannedNumber("bounds", scale.high, why="what is outside counts as the nearest bound")
    yield from notes({"weights": allocation.chosen})
    for name, share in form.shares.items():
        yield PlannedNumber("budget", float(share), why=name)
    if predictors:
        unused = "not used: equal weights match nothing"
        yield from notes({"predictors": ", ".join(predictors) if form.rule == "ridge" else unused})
    of_path, equal = "noise of the path", "sd of a period, if the released weights are equal"
    if form.rule == "ridge":
        sd = allocation.weight_sd
        whole = f"in length over all: equal weights have {1 / math.sqrt(n):.3g}, one donor alone 1"
        yield PlannedNumber("noise of weights", sd, why="sd of each")
        yield PlannedNumber("noise of weights", sd * math.sqrt(n), why=whole)
        yield PlannedNumber(of_path, path / n, why=equal)
        yield PlannedNumber(of_path, path, why="if they are on one donor")
    else:
        yield PlannedNumber(of_path, path / n, why="sd of a period")
    if form.pre_fit:
        before = allocation.path_sd("pre_fit") / n
        yield PlannedNumber("noise before treatment", before, why=equal)
    of_mean = "noise of the mean"
    if "mean" in form.shares:
        for way, sd in _mean_ways(allocation).items():
            yield PlannedNumber(of_mean, sd, why=f"{way}, if weights are equal")
    else:
        why = "sd, if weights are equal"
        yield PlannedNumber(of_mean, path / n / math.sqrt(K), why=why)
    if form.y_norm is None:
        why = "sd of a period, in the effect as well"
        yield PlannedNumber("noise of the treated unit", path, why=why)
    if form.placebos:
        count, whole_share = len(form.placebos), float(form.shares["placebos"])
        own = allocation.path_sd(placebo_name(form.placebos[0], "prediction"))
        yield PlannedNumber("placebos", count, "runs")
        yield PlannedNumber("placebos", whole_share / count, why="share of the budget of each")
        why = "sd of a period at least: its own series is confidential"
        yield PlannedNumber("noise of a placebo", own, why=why)


def _mean_ways(allocation: ControlAllocation) -> dict[str, float]:
    """Return the noise of the mean, for equal weights, by what it is computed from."""
    form = allocation.form
    root_K, shares = math.sqrt(form.T - form.T0), form.shares
    mean = allocation.path_sd("mean") / form.n
    path = allocation.path_sd() / form.n / root_K
    spent = float(shares["prediction"] / (shares["prediction"] + shares["mean"]))
    return {
        "by itself": mean,
        "from the path": path,
        "from both": 1 / math.hypot(1 / mean, 1 / path),
        "from a path with the whole share": path * spent,
    }


def consequences_of(form: Form, *, changes: bool = False) -> Iterator[str]:
    """Yield what a reader of the plan should know besides its numbers."""
    if not changes:
        yield (
            "levels are compared: released weights are near equal ones, so that the distance of "
            "the treated unit from the mean of donors stays in the effect, whatever the budget; "
            "``changes=`` compares changes from each unit's own mean before treatment"
        )
    if form.rule == "ridge":
        yield (
            "the noise of the weights makes them differ from the best ones, by an amount that the "
            "band of the path does not show"
        )
    yield "what else uses the series before treatment is paid for (pre_fit, placebos)"
    if form.y_norm is not None:
        yield "the treated unit is not protected: its series counts as public"


def guarantee_of(
    allocation: ControlAllocation, words: tuple[str, str, str], predictors: Sequence[str] = ()
) -> Guarantee:
    """Guarantee of a fit; ``words`` are the unit, the outcome and the treated unit."""
    unit, outcome, treated = words
    form, scale, cost = allocation.form, allocation.scale, allocation.cost()
    facts = [
        f"who the {form.n} donors are (one record is {RECORD})",
        f"the periods, {form.T0} of them before treatment",
        "that every unit of the table has one row in every period",
        f"the bounds {scale.low:g} to {scale.high:g} of {outcome}",
        *scale.levels_said,
        f"the rule for weights ({form.rule})",
    ]
    if form.rule == "ridge":
        facts.append(f"the penalty lam = {form.lam:g}")
    if predictors:  # equal weights too: whether they are used may have been decided with these
        facts.append(
            f"the predictors, with their bounds and weights: {', '.join(predictors)} (a donor's "
            "own are protected with its series)"
        )
    series = "series and predictors" if predictors else "series"
    not_covered: tuple[str, ...] = ("that a unit is among the donors",)
    if form.y_norm is None:
        facts.append(f"that {treated!r} was treated (its series is protected as a donor's is)")
    else:
        facts.append(f"the {series} of the treated unit {treated!r}")
        verb = "are" if predictors else "is"
        not_covered = (f"the treated unit {treated!r}, whose {series} {verb} public", *not_covered)
    return Guarantee(
        cost.measure,
        "replace-one",
        cost.budget,
        unit=unit,
        public_facts=tuple(facts),
        not_covered=not_covered,
        parameter=cost.parameter,
    )


def warnings_of(allocation: ControlAllocation) -> Iterator[str]:
    """Yield what is likely to disappoint."""
    form, scale, path = allocation.form, allocation.scale, allocation.path_sd()
    half_width = float(scale.width * scale.step) / 2
    least = path if form.y_norm is None else path / form.n
    if least > half_width / 4:
        yield (
            "not usable: the noise of a period is above an eighth of the width of the bounds; "
            "spend more, use more donors or fewer periods after treatment, or declare narrower "
            "bounds"
        )
    if form.rule == "ridge" and form.n * allocation.weight_sd**2 > 1:
        yield (
            "the noise of the ridge weights is longer than any weights: what is used will be about "
            "equal weights, for which ``donor_weights='uniform'`` has all the budget"
        )
    ways = _mean_ways(allocation) if "mean" in form.shares else None
    if ways and ways["from both"] >= ways["from a path with the whole share"] * (1 - 1e-9):
        yield (
            "``mean_effect=True`` costs the mean effect more than it gains with these shares and "
            "so few periods after treatment; leave it out"
        )
    placebo = placebo_name(form.placebos[0], "prediction") if form.placebos else None
    if placebo is not None and allocation.path_sd(placebo) > 2 * path:
        yield "placebos are much noisier than the treated unit, so that their spread is not a test"
