"""What a synthetic control will cost and how noisy it can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.synthetic_control.allocation import placebo_name
from dprct.estimate.synthetic_control.panel import RECORD
from dprct.privacy.budget import Guarantee

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.estimate.synthetic_control.allocation import ControlAllocation, Form


def facts_of(allocation: ControlAllocation, predictors: Sequence[str] = ()) -> dict[str, str]:
    """Return the lines of a plan; ``predictors`` are in words."""
    form, scale = allocation.form, allocation.scale
    n, K, path = form.n, form.T - form.T0, allocation.path_sd()
    facts = {
        "one record": RECORD,
        "panel": f"{n:,} donors, {form.T0:,} periods before treatment and {K:,} after",
        "bound": f"{scale.low:g} to {scale.high:g}; what is outside counts as the nearest bound",
        "weights": allocation.chosen,
        "budget": ", ".join(f"{name} {float(share):.3g}" for name, share in form.shares.items()),
    }
    if predictors and form.rule == "ridge":
        facts["predictors"] = ", ".join(predictors)
    elif predictors:
        facts["predictors"] = "not used: equal weights match nothing"
    if form.rule == "ridge":
        sd = allocation.weight_sd
        facts["noise of weights"] = (
            f"sd {sd:.3g} on each, {sd * math.sqrt(n):.3g} in length over all (equal weights have "
            f"length {1 / math.sqrt(n):.3g}, one donor alone 1)"
        )
        facts["noise of the path"] = (
            f"sd {path / n:.4g} a period if the released weights are equal, {path:.4g} if they are "
            "on one donor"
        )
    else:
        facts["noise of the path"] = f"sd {path / n:.4g} a period"
    facts["noise of the mean"] = f"the above over {math.sqrt(K):.3g}"
    if form.pre_fit:
        before = allocation.path_sd("pre_fit") / n
        facts["noise before treatment"] = f"sd {before:.4g} a period, if weights are equal"
    if "mean" in form.shares:
        ways = _mean_ways(allocation).items()
        words = ", ".join(f"{sd:.4g} {way}" for way, sd in ways)
        facts["noise of the mean"] = f"sd {words}, if weights are equal"
    if form.y_norm is None:
        facts["noise of the treated unit"] = f"sd {path:.4g} a period, in the effect as well"
    if form.placebos:
        facts |= _placebo_facts(allocation)
    return facts


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


def consequences_of(form: Form) -> Iterator[str]:
    """Yield what a reader of the plan should know besides its numbers."""
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


def _placebo_facts(allocation: ControlAllocation) -> dict[str, str]:
    form = allocation.form
    count, share = len(form.placebos), float(form.shares["placebos"])
    own = allocation.path_sd(placebo_name(form.placebos[0], "prediction"))
    return {
        "price of placebos": f"{share:.3g} of the budget for {count} runs, {share / count:.3g} "
        "each",
        "noise of a placebo": f"sd {own:.4g} a period at least: its own series is confidential",
    }


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
        yield "placebos are much noisier than the treated unit, so that their spread is no test"
