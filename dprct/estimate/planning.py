"""What private effects will cost and how precise they can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance, combined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.mechanism import Outcome

_POWER = 0.8


def expected(
    outcome: Outcome, epsilon: Fraction, sd: float | None, contrasts: Sequence[Contrast]
) -> tuple[NoisyEffect, ...]:
    """Return effects of size 0 as they are expected to be released, one per contrast of arms.

    Parameters
    ----------
    outcome : Outcome
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Of the outcome within an arm; half the width of the bounds, the worst case, if None.
    contrasts : sequence of Contrast
    """
    width = float(outcome.width)
    sampling = [(width / 2 if sd is None else sd) ** 2 * part for part in _inverse_sizes(outcome)]
    of_effect, of_variance = outcome.split(epsilon)[:2]
    reaches, rho = outcome.reaches(), outcome.rho(epsilon)
    scales = [float(reach / of_effect) for reach in reaches]
    noise = [float(reach**2 * outcome.arms.inflation / of_variance) for reach in reaches]
    if outcome.two_arms:
        return (NoisyEffect(0.0, (scales[0],), (NoisyVariance(sum(sampling), noise[0], rho),)),)
    means = [
        NoisyMean(0.0, scale, NoisyVariance(v, b, rho))
        for scale, v, b in zip(scales, sampling, noise, strict=True)
    ]
    return tuple(combined(means, contrast.weights) for contrast in contrasts)


def detectable(effect: NoisyEffect, alpha: float) -> float:
    """Return the effect that a test of size alpha finds with a power of 80%."""
    from dprct.estimate.normal_laplace import quantile

    missed = 2 * (1 - _POWER)
    spread = math.fsum(part.value for part in effect.variances)
    return effect.half_width(alpha) + float(quantile(missed, spread, effect.scales))


def facts_of(
    outcome: Outcome,
    names: Sequence[str],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    levels: Sequence[float],
) -> dict[str, str]:
    """Return the lines of a plan for one outcome."""
    name, bounds = outcome.column.name, outcome.column.bounds
    assert bounds is not None
    sizes = [sum(row[a] for row in outcome.arms.sizes) for a in range(len(names))]
    spread = "the most that the bounds allow" if sd is None else "declared"
    found = {
        name: f"bounds {bounds[0]:g} to {bounds[1]:g}, "
        + ", ".join(f"{arm} {size:,}" for arm, size in zip(names, sizes, strict=True)),
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
    if outcome.two_arms and outcome.arms.clusters is None:
        found[f"{name}: price of hiding treatment"] = _price(outcome, sizes, epsilon)
    return found


def warnings_of(
    outcome: Outcome,
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


def _sd(outcome: Outcome, sd: float | None) -> float:
    return float(outcome.width) / 2 if sd is None else sd


def _price(outcome: Outcome, sizes: Sequence[int], epsilon: Fraction) -> str:
    """Compare the noise under R1-T with that of Horvitz-Thompson under R1, all else equal."""
    fewest = sorted(sizes)[0]
    of_effect = outcome.split(epsilon)[0]
    here = math.sqrt(2) * float(outcome.reaches()[0] / of_effect)
    there = math.sqrt(2) * float(outcome.width / (fewest * of_effect))
    return (
        f"noise sd {here:.4g} with treatment public, {there:.4g} with treatment private (noise "
        "alone: its sampling error is larger, and this version does not estimate it)"
    )


def _inverse_sizes(outcome: Outcome) -> list[float]:
    """Return sum_h w_h^2 / n_ha for each arm; times the largest cluster, at worst."""
    arms = outcome.arms
    return [
        arms.largest
        * sum(float(w) ** 2 / row[a] for w, row in zip(arms.weights, arms.sizes, strict=True))
        for a in range(len(arms.sizes[0]))
    ]
