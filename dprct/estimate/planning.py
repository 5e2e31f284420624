"""What private effects will cost and how precise they can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.counted import CountedOutcome
from dprct.estimate.horvitz import HiddenOutcome
from dprct.estimate.pricing import price_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.effects import NoisyEffect

_POWER = 0.8


def expected(
    outcome: AnyOutcome, epsilon: Fraction, sd: float | None, contrasts: Sequence[Contrast]
) -> tuple[NoisyEffect, ...]:
    """Return effects of size 0 as they are expected to be released, one per contrast of arms.

    Parameters
    ----------
    outcome : Outcome
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Of the outcome within an arm; half the width of the bounds, the worst case, if None.  Where
        treatment is private, about the middle of the bounds.
    contrasts : sequence of Contrast
    """
    return outcome.expected(epsilon, _sd(outcome, sd) ** 2, contrasts)


def detectable(effect: NoisyEffect, alpha: float) -> float:
    """Return the effect that a test of size alpha finds with a power of 80%."""
    from dprct.estimate.normal_laplace import quantile

    missed = 2 * (1 - _POWER)
    spread = math.fsum(part.value for part in effect.variances)
    return effect.half_width(alpha) + float(quantile(missed, spread, effect.scales))


def facts_of(
    outcome: AnyOutcome,
    names: Sequence[str],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    levels: Sequence[float],
) -> dict[str, str]:
    """Return the lines of a plan for one outcome."""
    name, bounds = outcome.column.name, outcome.column.bounds
    assert bounds is not None
    spread = "the most that the bounds allow" if sd is None else "declared"
    found = {
        name: f"bounds {bounds[0]:g} to {bounds[1]:g}, " + _arms(outcome, names),
        f"{name}: budget": f"epsilon={float(epsilon * outcome.share):g} of {float(epsilon):g}, "
        f"rho={outcome.rho(epsilon):.3g}; sd {_sd(outcome, sd):.4g} ({spread})",
    }
    for contrast, now, half, double in zip(
        contrasts,
        *(expected(outcome, share, sd, contrasts) for share in (epsilon, epsilon / 2, epsilon * 2)),
        strict=True,
    ):
        sampling = math.sqrt(math.fsum(part.value for part in now.variances))
        equal = float(epsilon) * now.noise_sd / sampling if sampling else math.inf
        found[f"{name}: {contrast.name}"] = (
            f"std err {now.standard_error(levels):.4g} (half epsilon "
            f"{half.standard_error(levels):.4g}, double {double.standard_error(levels):.4g}); "
            f"noise sd {now.noise_sd:.4g} against sampling {sampling:.4g}, equal at "
            f"epsilon={equal:.3g}; effect found with 80% power {detectable(now, levels[0]):.4g}"
        )
    if isinstance(outcome, CountedOutcome):
        found[f"{name}: missing values"] = (
            f"the above is if all have a value; an arm with fewer than "
            f"{float(outcome.fewest(epsilon)):.4g} values (as released) is not estimated"
        )
    price = price_of(outcome, contrasts, epsilon, sd, levels)
    return found | ({f"{name}: price of hiding treatment": price} if price else {})


def warnings_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    levels: Sequence[float],
) -> Iterator[str]:
    """Yield which effects cannot be found at this n and epsilon."""
    for contrast, effect in zip(contrasts, expected(outcome, epsilon, sd, contrasts), strict=True):
        if detectable(effect, levels[0]) > _sd(outcome, sd):
            yield (
                f"not usable at this n: only an effect of {contrast.name} on "
                f"{outcome.column.name} above one standard deviation would be found; "
                "spend more, on fewer outcomes, or declare "
                "narrower bounds"
            )


def _sd(outcome: AnyOutcome, sd: float | None) -> float:
    return float(outcome.width) / 2 if sd is None else sd


def _arms(outcome: AnyOutcome, names: Sequence[str]) -> str:
    """Return what is public of the arms: their sizes, or the probabilities of being in them."""
    if isinstance(outcome, HiddenOutcome):
        shares = zip(names, outcome.arms.shares, strict=True)
        return ", ".join(f"{arm} with probability {float(share):.4g}" for arm, share in shares)
    sizes = [sum(row[a] for row in outcome.arms.sizes) for a in range(len(names))]
    return ", ".join(f"{arm} {size:,}" for arm, size in zip(names, sizes, strict=True))
