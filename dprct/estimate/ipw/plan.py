"""What a private IPW will cost and how noisy it will be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.estimate.ipw.release import Form, IPWAllocation

_FEWEST_KEPT = 0.5
"""Share of the slopes below which the penalty is warned of."""

_OUTCOME_SD = 0.5
"""Of an outcome, in units of half the width of its bounds: bounds two sd from the middle."""


def facts_of(allocation: IPWAllocation, radius: float, words: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of a plan.

    Parameters
    ----------
    allocation : IPWAllocation
    radius : float
        R, half the width of the bounds of the outcome.
    words : mapping from {"treated", "outcome"} to str
    """
    form = allocation.form
    scheme, kept = form.scheme, slope_kept(allocation)
    facts = {
        "estimand": f"{scheme.estimand.upper()} of {words['outcome']}; {words['treated']}",
        "form": form_of(allocation),
        "rows": f"{form.n1:,} for the propensity weights, {form.n2:,} others for the effect",
        "penalty": f"lambda {allocation.lam:.4g}; it leaves about {kept:.0%} of the slopes of log "
        "odds (less, where bounds of covariates are wider than two sd from the middle)",
        "propensity weights": f"{form.d} with noise sd {allocation.weight_sd:.3g} each (the index "
        "of a row moves by at most that, one sd)",
        "trimming": f"propensities within [{scheme.trim:g}, {1 - scheme.trim:g}]",
        "budget": "all of it for the weights; of the same on the other rows: "
        + ", ".join(f"{name} {float(share):.3g}" for name, share in form.shares.items()),
        "noise of the effect": f"sd {effect_sd(allocation, radius):.4g}"
        + ("" if scheme.estimand == "ate" else " if half of the rows are treated"),
        "sampling error": f"at most {sampling_most(form, radius):.4g} (every weight the largest)",
    }
    if form.errors == "total":
        part = weights_sd(allocation, radius)
        facts["error of the weights"] = f"at least about {part:.4g}, the noise of its own release"
    facts["expected standard error"] = f"about {expected_error(allocation, radius):.4g} or more"
    return facts


def form_of(allocation: IPWAllocation) -> str:
    """Return which form is released, and when it is not."""
    if not allocation.form.hajek:
        return "plain: weighted sums over a number of rows, of outcomes about the middle of bounds"
    floor = allocation.form.mass_floor(allocation.budget)
    return (
        f"Hajek: weighted means; not estimated unless both released sums of weights exceed "
        f"{floor:,.0f} (about {allocation.form.expected_mass:,.0f} are expected)"
    )


def slope_kept(allocation: IPWAllocation) -> float:
    """Return what share of the slopes of the log odds the penalty leaves, about.

    Notes
    -----
    h / (h + lam) with the curvature h = 1 / (32 K) of a covariate whose sd is a quarter of the
    width of its bounds, z_j = x_j / sqrt(2 K), where about half are treated: E z_j^2 e(1 - e) is
    1/(2K) 1/4 1/4.  Wider bounds leave less.
    """
    curvature = 1 / (32 * max(allocation.form.d - 1, 1))
    return curvature / (curvature + allocation.lam)


def weights_sd(allocation: IPWAllocation, radius: float) -> float:
    """Return the least error that weights will seem to add: that of the gradient's own release."""
    step = allocation.form.scheme.odds_most * radius / allocation.form.n2 / (1 << 19)
    sd = allocation["gradient"].noise_sd * step
    return sd * math.sqrt(allocation.form.d * allocation.weight_spread)


def expected_error(allocation: IPWAllocation, radius: float) -> float:
    """Return about the least standard error to expect: of noise, sampling and weights.

    Notes
    -----
    Sampling: outcomes with a sd of a quarter of the width of their bounds, and all weights 2.
    """
    weights = weights_sd(allocation, radius) if allocation.form.errors == "total" else 0.0
    sampling = 2 * radius * _OUTCOME_SD / math.sqrt(allocation.form.n2)
    return math.hypot(effect_sd(allocation, radius), sampling, weights)


def effect_sd(allocation: IPWAllocation, radius: float) -> float:
    """Return the noise of the effect, one sd, without that of denominators."""
    scheme = allocation.form.scheme
    steps = allocation["effect"].noise_sd / (1 << 19) * radius / allocation.form.n2
    if allocation.form.hajek:
        means = (
            2 if scheme.estimand != "ate" else 1
        )  # weights of an arm add up to n2, or half of it
        return steps * means * math.hypot(scheme.treated_most, scheme.control_most)
    return steps * scheme.most * (1 if scheme.estimand == "ate" else 2)


def sampling_most(form: Form, radius: float) -> float:
    """Return the largest sampling error of the effect that bounds and trimming allow."""
    return radius * form.scheme.most / math.sqrt(form.n2)


def warnings_of(allocation: IPWAllocation, radius: float) -> Iterator[str]:
    """Yield what is likely to disappoint."""
    if math.exp(-(allocation.weight_sd**2) / 2) < 1 / allocation.form.scheme.odds_most:
        yield (
            "the noise of the propensity weights takes de-biased odds below the trimming: what is "
            "weighted by is mostly noise; spend more, raise lam, or use more rows"
        )
    if slope_kept(allocation) < _FEWEST_KEPT:
        yield (
            f"the penalty leaves about {slope_kept(allocation):.0%} of the slopes of the log "
            "odds: most of the confounding stays in the effect; spend more, use more rows, or name "
            "fewer covariates"
        )
    if expected_error(allocation, radius) > radius * _OUTCOME_SD:
        yield (
            f"not usable with {allocation.form.n1 + allocation.form.n2:,} rows: the expected "
            "standard error is above one sd of an outcome (a quarter of the width of its bounds); "
            "spend more, use more rows, trim more, or declare narrower bounds"
        )
