"""An effect with Gaussian noise, and an interval that allows for the noise of its variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.optimize import brentq
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.effects import NoisyVariance

MISSED = 0.1
"""Share of alpha that is kept for a variance that came out too small."""


@dataclass(frozen=True, slots=True)
class NormalEffect:
    """A released effect, tau + N(0, sd^2), and its released variances.

    Parameters
    ----------
    value : float
    sd : float
        Of the Gaussian noise.
    variances : tuple of NoisyVariance
        Of its sampling error, each with Laplace noise.

    Notes
    -----
    The interval of level 1 - alpha is value -+ z V^(1/2): V contains every variance raised by
    ``b_V log(1 / (2 beta))``, below which it stays with probability beta = alpha / 10 at most, and
    z is the quantile of alpha - beta.  It misses with probability at most beta + (alpha - beta).

    Examples
    --------
    >>> from dprct.estimate.effects import NoisyVariance
    >>> effect = NormalEffect(0.5, 0.1, (NoisyVariance(0.01, 1e-4, 0.1),))
    >>> effect.half_width(0.05) > 1.96 * (0.01 + 0.01) ** 0.5
    True
    """

    value: float
    sd: float
    variances: tuple[NoisyVariance, ...]

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the privacy noise."""
        return self.sd

    @property
    def scales(self) -> tuple[float, ...]:
        """Laplace draws in the effect: none."""
        return ()

    def variance(self, alpha: float) -> float:
        """Return the sampling variance that the interval of a level uses."""
        raised = max(0.0, -math.log(2 * MISSED * alpha))
        return math.fsum(part.raised(raised) for part in self.variances)

    def half_width(self, alpha: float) -> float:
        """Return q: the interval of level ``1 - alpha`` is value -+ q."""
        z = -float(ndtri((1 - MISSED) * alpha / 2))
        return z * math.sqrt(self.variance(alpha) + self.sd**2)

    def noise_half_width(self, alpha: float) -> float:
        """Return what the half width would be without sampling error."""
        return -float(ndtri(alpha / 2)) * self.sd

    def standard_error(self, levels: Sequence[float]) -> float:
        """Return the largest q / z over the levels at which z-intervals are to cover."""
        return max(self.half_width(alpha) / -float(ndtri(alpha / 2)) for alpha in levels)

    def p_value(self, alphas: Sequence[float]) -> float:
        """Return the largest level whose interval contains zero; not below 1e-10."""
        del alphas  # the width falls with the level without a break
        size = abs(self.value)
        low, high = 1e-10, 1 - 1e-12
        if not size > self.half_width(high):
            return 1.0
        if size >= self.half_width(low):
            return low
        return float(brentq(lambda alpha: self.half_width(alpha) - size, low, high))
