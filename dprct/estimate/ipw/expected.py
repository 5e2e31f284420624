"""What a private IPW is likely to be told, and so how wide its interval: public facts only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from dprct.errors import ParameterError
from dprct.estimate.ipw.release import Released, divisor_of, gaussian_draws, slope_kept
from dprct.estimate.ipw.results import effect_of
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF, Centre

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dprct.estimate.effects import NoisyEffect
    from dprct.estimate.ipw.release import IPWAllocation
    from dprct.estimate.ipw.results import NormalEffect

OUTCOME_SD = 0.5
"""Of an outcome, in units of half the width of its bounds: bounds two sd from the middle."""

TREATED_SHARE = 0.5
"""Of the rows, where none is declared."""

FEWEST_KEPT = 0.5
"""Share of the slopes below which the penalty is warned of."""

_FROM_MIDDLE = 0.5
"""Distance of a mean from the middle of the bounds, in units of half their width."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a study knows from elsewhere of its outcome and its treatment.

    Parameters
    ----------
    radius : float
        R, half the width of the bounds of the outcome.
    sd : float or None
        Of the outcome within an arm.
    share : float or None
        Of the rows that are treated.
    """

    radius: float
    sd: float | None = None
    share: float | None = None

    @property
    def spread(self) -> float:
        """The sd that plans with: the declared one, or a quarter of the width of the bounds."""
        return self.radius * OUTCOME_SD if self.sd is None else self.sd

    @property
    def treated(self) -> float:
        """The share that plans with."""
        return TREATED_SHARE if self.share is None else self.share


def expected_effect(allocation: IPWAllocation, declared: Declared) -> NoisyEffect | NormalEffect:
    """Return an effect whose released numbers are what they are expected to be.

    Notes
    -----
    *Sampling*: sd^2 / (n2 p (1 - p)) with the share p of treated, and in the plain form, which is
    about the middle of the bounds, a mean half way to a bound adds its square.  *Weights*: the norm
    of the derivative is that of an outcome of which covariates explain all: z_j = x_j / sqrt(2 K)
    with an sd of half of a range, in both arms.  *Noise*: that of every part at its scale, means
    half way to a bound.  None of these is a bound, and all are public.
    """
    form, scheme = allocation.form, allocation.form.scheme
    spread, share = declared.spread / declared.radius, declared.treated
    mass = form.mass_of(declared.treated)
    # noise in the estimate: of sums over their divisors, and of the divisors themselves
    noises: tuple[float, ...]
    if form.hajek:
        divisor, size = float(form.n2), mass
        most = (scheme.treated_most, scheme.control_most)
        sums = [_size(allocation, "effect") / HALF * one / size for one in most]
        counts = [_size(allocation, "mass") / GRID * one / size * _FROM_MIDDLE for one in most]
        noises = (*sums, *counts)
        scale = form.n2 / size
        centre = Centre(_FROM_MIDDLE, _FROM_MIDDLE, 0.0, 0.0, scale, scale)
        second = spread**2
    else:
        divisor = mass if scheme.estimand != "ate" else float(form.n2)
        noises = (_size(allocation, "effect") / HALF * scheme.most / divisor, 0.0)
        centre = Centre()
        second = spread**2 + _FROM_MIDDLE**2
    # what errors are told (log odds with an sd of 1/2), each with the scale of its noise
    steepness = scale_of = 0.0
    index = math.sqrt(8 * max(form.d - 1, 1))
    if form.errors == "total":
        steepness = math.sqrt(second) / index
        scale_of = _size(allocation, "gradient") / HALF * centre.slope(scheme) / divisor
    found = Released(
        weights=np.zeros(form.d),
        shortfall=allocation.shortfall_of(index / 2 * slope_kept(allocation)),
        weight_sd=allocation.weight_sd,
        weight_spread=allocation.weight_spread,
        theta=0.0,
        noises=noises,
        gaussian=gaussian_draws(form),
        variance=second / (form.n2 * share * (1 - share)),
        variance_scale=_size(allocation, "variance") / GRID * (centre.reach(scheme) / divisor) ** 2,
        steepness=steepness,
        steepness_scale=scale_of,
        masses=(),
        balance={},
        overlap=None,
        n2=form.n2,
    )
    return effect_of(found, declared.radius)


def signs_of(effect: NoisyEffect | NormalEffect, declared: Declared) -> str:
    """Return how likely effects have the wrong sign, with errors as they are expected to be.

    Notes
    -----
    The estimate is taken to be normal with the sd of which a 95% interval has 1.96 on either side;
    an effect as large as half a 90% interval then has the wrong sign one time in twenty.  A bound
    that assumes nothing of the kind is :class:`dprct.published.SignRisk`, for the published form.
    """
    sd = effect.half_width(0.05) / -float(ndtri(0.025))
    wrong = float(ndtr(-declared.spread / sd))
    return (
        f"expected 1 time in 20 for an effect of {-float(ndtri(0.05)) * sd:.4g}, and "
        f"{wrong:.1%} of the time for one sd of the outcome"
    )


def _size(allocation: IPWAllocation, name: str) -> float:
    """Return the Laplace scale, or the sd, of the noise of a part, in its steps."""
    mechanism = allocation[name]
    return mechanism.scale if isinstance(mechanism, DiscreteLaplace) else mechanism.noise_sd


def check_estimable(allocation: IPWAllocation, declared: Declared) -> None:
    """Refuse, before a charge, what the declared share of treated says will not be estimated.

    Raises
    ------
    ParameterError
    """
    form = allocation.form
    if declared.share is None or not (form.hajek or form.counts_arm):
        return
    least, mass = divisor_of(allocation), form.mass_of(declared.share)
    if mass < least:
        raise ParameterError(
            f"``treated_share={declared.share:g}`` of {form.n2:,} rows leaves a sum of weights of "
            f"{mass:,.0f}, and below {least:,.0f} no effect is estimated; spend more, use more "
            "rows, or ask for ``estimand='ate'`` with ``hajek=False``"
        )


def warnings_of(allocation: IPWAllocation, declared: Declared, kept: float) -> Iterator[str]:
    """Yield what is likely to disappoint.

    Parameters
    ----------
    allocation : IPWAllocation
    declared : Declared
    kept : float
        Share of the slopes of the log odds that the penalty leaves.
    """
    form = allocation.form
    if math.exp(-(allocation.weight_sd**2) / 2) < 1 / form.scheme.odds_most:
        yield (
            "the noise of the propensity weights takes de-biased odds below the trimming: what is "
            "weighted by is mostly noise; spend more, raise lam, or use more rows"
        )
    if kept < FEWEST_KEPT:
        yield (
            f"the penalty leaves about {kept:.0%} of the slopes of the log odds: most of the "
            "confounding stays in the effect; spend more, use more rows, or name fewer covariates"
        )
    if form.errors == "conditional" and not form.hajek:
        yield (
            "``errors='conditional'`` with the plain form: intervals leave out the largest part "
            "of the error, and 95% intervals covered 62 to 75% of the time; ask for "
            "``errors='total'`` or ``hajek=True``"
        )
    half = expected_effect(allocation, declared).half_width(0.05)
    if half > declared.spread:
        known = declared.sd is not None
        sd = "is declared" if known else "is taken for it, a quarter of the width of the bounds"
        yield (
            f"not usable with {form.n1 + form.n2:,} rows: 95% intervals of about +-{half:.3g} are "
            f"expected, more than one sd of the outcome ({declared.spread:.3g} {sd}); spend more, "
            "use more rows, trim more, or declare narrower bounds" + " or the sd" * (not known)
        )
    if declared.share is None and (form.counts_arm or (form.hajek and form.one_arm)):
        yield (
            "no treated_share is declared: half of the rows are taken to be treated, and if few "
            "are, the budget is spent and nothing estimated; declare their share if it is public"
        )
