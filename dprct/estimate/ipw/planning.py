"""What a private IPW will cost, how noisy it will be, and what it promises: public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.estimate.ipw.recipe import Prices, Recipe
    from dprct.privacy.budget import Budget
    from dprct.schema.facts import Unit

_FEWEST_KEPT = 0.5
"""Share of the slopes below which the penalty is warned of."""

_OUTCOME_SD = 0.5
"""Of an outcome, in units of half the width of its bounds: bounds two sd from the middle."""


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
    kept = slope_kept(recipe, prices)
    facts = {
        "estimand": f"{scheme.estimand.upper()} of {words['outcome']}; {words['treated']}",
        "form": form_of(recipe, prices),
        "rows": f"{recipe.n1:,} for the propensity weights, {recipe.n2:,} others for the effect",
        "penalty": f"lambda {prices.lam:.4g}; it leaves about {kept:.0%} of the slopes of log odds "
        "(less, where bounds of covariates are wider than two sd from the middle)",
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
        part = weights_sd(recipe, prices, radius)
        facts["error of the weights"] = f"at least about {part:.4g}, the noise of its own release"
    facts["expected standard error"] = f"about {expected_error(recipe, prices, radius):.4g} or more"
    return facts


def form_of(recipe: Recipe, prices: Prices) -> str:
    """Return which form is released, and when it is not."""
    if not recipe.hajek:
        return "plain: weighted sums over a number of rows, of outcomes about the middle of bounds"
    floor = recipe.mass_floor(prices.weights.budget)
    return (
        f"Hajek: weighted means; not estimated unless both released sums of weights exceed "
        f"{floor:,.0f} (about {recipe.expected_mass:,.0f} are expected)"
    )


def slope_kept(recipe: Recipe, prices: Prices) -> float:
    """Return what share of the slopes of the log odds the penalty leaves, about.

    Notes
    -----
    h / (h + lam) with the curvature h = 1 / (32 K) of a covariate whose sd is a quarter of the
    width of its bounds, z_j = x_j / sqrt(2 K), where about half are treated: E z_j^2 e(1 - e) is
    1/(2K) 1/4 1/4.  Wider bounds leave less.
    """
    curvature = 1 / (32 * max(recipe.d - 1, 1))
    return curvature / (curvature + prices.lam)


def weights_sd(recipe: Recipe, prices: Prices, radius: float) -> float:
    """Return the least error that weights will seem to add: that of the gradient's own release."""
    step = recipe.scheme.odds_most * radius / recipe.n2 / (1 << 19)
    sd = prices.parts["gradient"].noise_sd * step
    return sd * math.sqrt(recipe.d * prices.weight_spread)


def expected_error(recipe: Recipe, prices: Prices, radius: float) -> float:
    """Return about the least standard error to expect: of noise, sampling and weights.

    Notes
    -----
    Sampling: outcomes with a sd of a quarter of the width of their bounds, and all weights 2.
    """
    weights = weights_sd(recipe, prices, radius) if recipe.errors == "total" else 0.0
    sampling = 2 * radius * _OUTCOME_SD / math.sqrt(recipe.n2)
    return math.hypot(effect_sd(recipe, prices, radius), sampling, weights)


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
    if math.exp(-(prices.weight_sd**2) / 2) < 1 / recipe.scheme.odds_most:
        yield (
            "the noise of the propensity weights takes de-biased odds below the trimming: what is "
            "weighted by is mostly noise; spend more, raise lam, or use more rows"
        )
    if slope_kept(recipe, prices) < _FEWEST_KEPT:
        yield (
            f"the penalty leaves about {slope_kept(recipe, prices):.0%} of the slopes of the log "
            "odds: most of the confounding stays in the effect; spend more, use more rows, or name "
            "fewer covariates"
        )
    if expected_error(recipe, prices, radius) > radius * _OUTCOME_SD:
        yield (
            f"not usable with {recipe.n1 + recipe.n2:,} rows: the expected standard error is above "
            "one sd of an outcome (a quarter of the width of its bounds); spend more, use more "
            "rows, trim more, or declare narrower bounds"
        )


def guarantee_of(
    budget: Budget, recipe: Recipe, lam: float, words: Mapping[str, str], unit: Unit
) -> Guarantee:
    """Return what a fit promises.

    Parameters
    ----------
    budget : Budget
    recipe : Recipe
    lam : float
    words : mapping from {"columns", "outcome", "treatment", "treated"} to str
    unit : Unit
    """
    public = recipe.relation == "replace-one-design-public"
    facts = [
        f"the number of rows, n = {recipe.n1 + recipe.n2}",
        unit.said,
        f"the declared bounds and levels of {words['columns']}",
        f"the penalty {lam:.6g}, trimming at {recipe.scheme.trim:g}, and how many rows each part "
        f"has ({recipe.n1} and {recipe.n2})",
        words["treated"],
    ]
    hidden = ["participation of anybody"]
    if public:
        facts.append(f"column {words['treatment']}: who is treated, and how many")
        hidden = ["participation and treatment of anybody"]
    return Guarantee.of(
        budget,
        recipe.relation,
        unit=unit.name,
        public_facts=tuple(facts),
        not_covered=tuple(hidden),
    )
