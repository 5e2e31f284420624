"""What a synthetic control will cost and how noisy it can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.synthetic.path_tables import RECORD
from dprct.privacy.guarantee import Guarantee
from dprct.queries.grid import GRID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dprct.estimate.synthetic.draws import Recipe
    from dprct.estimate.synthetic.pricing import Priced
    from dprct.privacy.budget import Budget
    from dprct.queries.donors import Scale


def weight_sd(recipe: Recipe, prices: Priced) -> float:
    """Return the noise of each ridge weight, one standard deviation."""
    return prices.mechanisms["weights"].noise_sd * float(recipe.grid.grid)


def path_sd(scale: Scale, prices: Priced, name: str = "prediction") -> float:
    """Return the noise of one period per unit of the largest weight, in units of the outcome."""
    return prices.mechanisms[name].noise_sd * float(scale.width * scale.step / GRID)


def facts_of(recipe: Recipe, scale: Scale, prices: Priced, chosen: str) -> dict[str, str]:
    """Return the lines of a plan."""
    n, K = recipe.n, recipe.T - recipe.T0
    path = path_sd(scale, prices)
    facts = {
        "one record": RECORD,
        "panel": f"{n:,} donors, {recipe.T0:,} periods before treatment and {K:,} after",
        "bound": f"{scale.low:g} to {scale.high:g}; what is outside counts as the nearest bound",
        "weights": chosen,
        "budget": ", ".join(f"{name} {float(share):.3g}" for name, share in recipe.shares.items()),
    }
    if recipe.rule == "ridge":
        sd = weight_sd(recipe, prices)
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
    if "mean" in recipe.shares:
        ways = _mean_ways(recipe, scale, prices).items()
        words = ", ".join(f"{sd:.4g} {way}" for way, sd in ways)
        facts["noise of the mean"] = f"sd {words}, if weights are equal"
    if recipe.y_norm is None:
        facts["noise of the treated unit"] = f"sd {path:.4g} a period, in the effect as well"
    if recipe.placebos:
        facts |= _placebo_facts(recipe, scale, prices)
    return facts


def _mean_ways(recipe: Recipe, scale: Scale, prices: Priced) -> dict[str, float]:
    """Return the noise of the mean, for equal weights, by what it is computed from."""
    root_K, shares = math.sqrt(recipe.T - recipe.T0), recipe.shares
    mean = path_sd(scale, prices, "mean") / recipe.n
    path = path_sd(scale, prices) / recipe.n / root_K
    spent = float(shares["prediction"] / (shares["prediction"] + shares["mean"]))
    return {
        "by itself": mean,
        "from the path": path,
        "from both": 1 / math.hypot(1 / mean, 1 / path),
        "from a path with the whole share": path * spent,
    }


def consequences_of(recipe: Recipe) -> Iterator[str]:
    """Yield what a plan's reader should know beside its numbers."""
    if recipe.rule == "ridge":
        yield (
            "the noise of the weights makes them differ from the best ones, by an amount that the "
            "band of the path does not show"
        )
    yield "what else uses the series before treatment is paid for (pre_fit, placebos)"
    if recipe.y_norm is not None:
        yield "the treated unit is not protected: its series counts as public"


def guarantee_of(
    budget: Budget,
    recipe: Recipe,
    prices: Priced,
    scale: Scale,
    words: tuple[str, str, str],
) -> Guarantee:
    """Return what a fit promises; ``words`` are the unit, the outcome and the treated unit."""
    unit, outcome, treated = words
    facts = [
        f"who the {recipe.n} donors are (one record is {RECORD})",
        f"the periods, {recipe.T0} of them before treatment",
        "that every unit of the table has one row in every period",
        f"the bounds {scale.low:g} to {scale.high:g} of {outcome}",
        f"the rule for weights ({recipe.rule})",
    ]
    if recipe.rule == "ridge":
        facts.append(f"the penalty lam = {recipe.lam:g}")
    hidden: tuple[str, ...] = ("that a unit is among the donors",)
    if recipe.y_norm is None:
        facts.append(f"that {treated!r} was treated (its series is protected as a donor's is)")
    else:
        facts.append(f"the series of the treated unit {treated!r}")
        hidden = (f"the treated unit {treated!r}, whose series is public", *hidden)
    return Guarantee(
        prices.measure,
        "replace-one",
        budget,
        unit=unit,
        public_facts=tuple(facts),
        not_covered=hidden,
        parameter=prices.parameter,
    )


def _placebo_facts(recipe: Recipe, scale: Scale, prices: Priced) -> dict[str, str]:
    count, share = len(recipe.placebos), float(recipe.shares["placebos"])
    own = path_sd(scale, prices, f"placebo {recipe.placebos[0]}: prediction")
    return {
        "price of placebos": f"{share:.3g} of the budget for {count} runs, {share / count:.3g} "
        "each",
        "noise of a placebo": f"sd {own:.4g} a period at least: its own series is confidential",
    }


def warnings_of(recipe: Recipe, scale: Scale, prices: Priced) -> Iterator[str]:
    """Yield what is likely to disappoint."""
    half_width = float(scale.width * scale.step) / 2
    least = path_sd(scale, prices) / recipe.n
    if recipe.y_norm is None:
        least = path_sd(scale, prices)
    if least > half_width / 4:
        yield (
            "not usable: the noise of a period is above an eighth of the width of the bounds; "
            "spend more, use more donors or fewer periods after treatment, or declare narrower "
            "bounds"
        )
    if recipe.rule == "ridge" and recipe.n * weight_sd(recipe, prices) ** 2 > 1:
        yield (
            "the noise of the ridge weights is longer than any weights: what is used will be about "
            "equal weights, for which weights='uniform' has all the budget"
        )
    ways = _mean_ways(recipe, scale, prices) if "mean" in recipe.shares else None
    if ways and ways["from both"] >= ways["from a path with the whole share"] * (1 - 1e-9):
        yield (
            "mean_effect=True costs the mean effect more than it gains with these shares and so "
            "few periods after treatment; leave it out"
        )
    if recipe.placebos and path_sd(
        scale, prices, f"placebo {recipe.placebos[0]}: prediction"
    ) > 2 * path_sd(scale, prices):
        yield "placebos are much noisier than the treated unit, so that their spread is no test"
