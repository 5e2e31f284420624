"""What an additive model will cost and how noisy it can be, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dprct.estimate.additive.release import mechanism_of, noise_of

if TYPE_CHECKING:
    from dprct.estimate.additive.terms import Terms
    from dprct.privacy.budget import Budget
    from dprct.queries import AdditiveLayout

_POOR = 0.25


def noise_facts(terms: Terms, layout: AdditiveLayout, budget: Budget, n: int) -> dict[str, str]:
    """Return the lines of a plan about noise, in the unit of the target."""
    sd_sum, sd_count = noise_of(layout, budget)
    average = sd_sum / math.sqrt(sum(1 / b.size for b in layout.blocks if b.sums)) / n
    bins = max(terms.encodings[j].size for j in range(terms.features))
    law = "Gaussian" if budget.delta else "Laplace"
    return {
        "features": "; ".join(encoding.describe() for encoding in terms.encodings),
        "clip": f"R = {layout.clip:g}: beyond it the target is clipped, and noise is proportional "
        "to it",
        "released": f"{layout.size:,} numbers jointly, with {law} noise",
        "noise": mechanism_of(layout, budget).describe(),
        "noise of the average": f"sd {average:.4g}",
        "noise of a level": f"sd {sd_sum * bins / n:.4g} where it has 1 in {bins} of {n:,} rows "
        f"(before smoothing), and sd {sd_count:.3g} on its count",
    }


def noise_warnings(terms: Terms, layout: AdditiveLayout, budget: Budget, n: int) -> tuple[str, ...]:
    """Return what is likely to disappoint."""
    sd_sum, _ = noise_of(layout, budget)
    bins = max(terms.encodings[j].size for j in range(terms.features))
    if sd_sum * bins / n <= _POOR * layout.clip:
        return ()
    return (
        "the noise of a level is above a quarter of the clip: shapes will be shrunk to the "
        "average; use fewer features, fewer bins, a smaller public clip, or a larger epsilon",
    )
