"""What a private IPW will cost, how noisy it will be, and what it promises: public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.estimate.ipw.recipe import Prices, Recipe
    from dprct.privacy.budget import Budget

_NOISY_INDEX = 1.0


def facts_of(
    recipe: Recipe, prices: Prices, radius: float, words: Mapping[str, str]
) -> dict[str, str]:
    """Return the lines of a plan.

    Parameters
    ----------
    recipe : Recipe
    prices : Prices
    radius : float
        R, half the width of the bounds of the outcome.
    words : mapping from {"treated", "outcome"} to str
    """
    scheme = recipe.scheme
    facts = {
        "estimand": f"{scheme.estimand.upper()} of {words['outcome']}; {words['treated']}",
        "rows": f"{recipe.n1:,} for the propensity weights, {recipe.n2:,} others for the effect",
        "penalty": f"lambda {prices.lam:.4g}",
        "propensity weights": f"{recipe.d} with noise sd {prices.weight_sd:.3g} each (the index of "
        "a row moves by at most that, one sd)",
        "trimming": f"propensities within [{scheme.trim:g}, {1 - scheme.trim:g}]",
        "budget": "all of it for the weights; of the same on the other rows: "
        + ", ".join(f"{name} {float(share):.3g}" for name, share in recipe.shares.items()),
        "noise of the effect": f"sd {effect_sd(recipe, prices, radius):.4g}"
        + ("" if scheme.estimand == "ate" else " if half of the rows are treated"),
        "sampling error": f"at most {sampling_most(recipe, radius):.4g} (every weight the largest)",
    }
    if recipe.errors == "total":
        sd = prices.parts["gradient"].noise_sd / (1 << 19) * scheme.odds_most * radius / recipe.n2
        part = sd * math.sqrt(recipe.d * prices.weight_spread)
        facts["error of the weights"] = f"at least about {part:.4g}, the noise of its own release"
    return facts


def effect_sd(recipe: Recipe, prices: Prices, radius: float) -> float:
    """Return the noise of the effect, one sd, without that of denominators."""
    scheme = recipe.scheme
    steps = prices.parts["effect"].noise_sd / (1 << 19) * radius / recipe.n2
    if recipe.hajek:
        means = (
            2 if scheme.estimand != "ate" else 1
        )  # weights of an arm add up to n2, or half of it
        return steps * means * math.hypot(scheme.treated_most, scheme.control_most)
    return steps * scheme.most * (1 if scheme.estimand == "ate" else 2)


def sampling_most(recipe: Recipe, radius: float) -> float:
    """Return the largest sampling error of the effect that bounds and trimming allow."""
    return radius * recipe.scheme.most / math.sqrt(recipe.n2)


def warnings_of(recipe: Recipe, prices: Prices, radius: float) -> Iterator[str]:
    """Yield what is likely to disappoint."""
    if prices.weight_sd > _NOISY_INDEX:
        yield (
            "the noise of the propensity weights is as large as a person's log odds can usually "
            "differ: what is weighted by is mostly noise; spend more, raise lam, or use more rows"
        )
    if effect_sd(recipe, prices, radius) > radius / 4:
        yield (
            "not usable: the noise of the effect is above an eighth of the width of the bounds; "
            "spend more, use more rows, trim more, or declare narrower bounds"
        )


def guarantee_of(
    budget: Budget, recipe: Recipe, lam: float, words: Mapping[str, str], unit: str
) -> Guarantee:
    """Return what a fit promises.

    Parameters
    ----------
    budget : Budget
    recipe : Recipe
    lam : float
    words : mapping from {"columns", "outcome", "treatment", "treated"} to str
    unit : str
    """
    public = recipe.relation == "replace-one-design-public"
    facts = [
        f"the number of rows, n = {recipe.n1 + recipe.n2}",
        f"the declared bounds and levels of {words['columns']}",
        f"the penalty {lam:.6g}, trimming at {recipe.scheme.trim:g}, and how many rows each part "
        f"has ({recipe.n1} and {recipe.n2})",
        words["treated"],
    ]
    hidden = ["participation of anybody"]
    if public:
        facts.append(f"column {words['treatment']}: who is treated")
        hidden = ["participation and treatment of anybody"]
    return Guarantee.of(
        budget, recipe.relation, unit=unit, public_facts=tuple(facts), not_covered=tuple(hidden)
    )
