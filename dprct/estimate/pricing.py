"""What it costs to hide treatment: expected errors of both relations beside each other."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.estimate.horvitz import HiddenOutcome
from dprct.estimate.mechanism import Outcome
from dprct.privacy.arms import Arms
from dprct.queries import HiddenArms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.effects import NoisyEffect


def price_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    levels: Sequence[float],
) -> str:
    """Compare the standard errors with treatment public and private, from public facts alone.

    Parameters
    ----------
    outcome : Outcome, HiddenOutcome or CountedOutcome
    contrasts : sequence of Contrast
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Declared standard deviation within an arm; half the width of the bounds if None.
    levels : sequence of float

    Returns
    -------
    str
        Empty where one of the two is not offered: clusters, weighted blocks, private missingness.

    Notes
    -----
    Horvitz-Thompson is as precise as the second moment about the middle of the bounds is small: sd
    squared where the means are there, w^2 / 4 where all outcomes are at the bounds.
    """
    pair = _both(outcome)
    if pair is None:
        return ""
    public, private = pair
    half = float(outcome.width) / 2
    inner = half if sd is None else sd
    here = public.expected(epsilon, inner**2, contrasts)
    best = private.expected(epsilon, inner**2, contrasts)
    worst = private.expected(epsilon, half**2, contrasts)
    return "; ".join(
        f"{contrast.name}: std err {_error(a, levels)} with treatment public, "
        f"{_range(_error(b, levels), _error(c, levels))} with treatment private"
        for contrast, a, b, c in zip(contrasts, here, best, worst, strict=True)
    )


def _both(outcome: AnyOutcome) -> tuple[Outcome, HiddenOutcome] | None:
    """Return the outcome under both relations, where both are offered."""
    column, share = outcome.column, outcome.share
    if isinstance(outcome, HiddenOutcome):
        sizes = tuple(max(1, round(outcome.arms.n * part)) for part in outcome.arms.shares)
        return Outcome(column, Arms(np.empty(0, np.int64), (sizes,)), share), outcome
    arms = outcome.arms
    if not isinstance(outcome, Outcome) or arms.clusters is not None or len(arms.sizes) > 1:
        return None
    n = sum(arms.sizes[0])
    parts = tuple(Fraction(size, n) for size in arms.sizes[0])
    return outcome, HiddenOutcome(column, HiddenArms((), (), parts, n), share)


def _error(effect: NoisyEffect, levels: Sequence[float]) -> str:
    return f"{effect.standard_error(levels):.4g}"


def _range(low: str, high: str) -> str:
    if low == high:
        return low
    return f"{low} (means at the middle of the bounds) to {high} (all at the bounds)"
