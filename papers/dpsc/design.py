"""The design of the paper's experiments (its Section 8.1): lines with random slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AFTER = 3
"""Periods after treatment."""

NOISE_VARIANCE = 0.1
"""Of the outcomes before they are cut off, which makes it smaller."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated panel, divided by the public bound B = 5 T + 1.

    Parameters
    ----------
    donors : (n, T) array
    target : (T,) array
    signals : (n, T) array
        The donors' lines.
    signal : (T,) array
        The treated unit's line, which is to be predicted.
    slopes : (n,) array
    slope : float
        Of the treated unit.
    bound : float
        B, for the paper's formulas hold for numbers between -1 and 1 only.
    """

    donors: Array
    target: Array
    signals: Array
    signal: Array
    slopes: Array
    slope: float
    bound: float

    @property
    def true_weights(self) -> Array:
        """The shortest f with ``M_post' f = m_post``, (n,)."""
        return np.asarray(self.slope * self.slopes / (self.slopes @ self.slopes))


def simulated(n: int, T0: int, rng: np.random.Generator) -> Simulated:
    """Draw a panel of n donors with T0 periods before treatment.

    Examples
    --------
    >>> panel = simulated(10, 20, np.random.default_rng(1))
    >>> panel.donors.shape, bool(abs(panel.donors).max() <= 1)
    ((10, 23), True)
    """
    T = T0 + AFTER
    slopes = _cut_normal(4.0, 1.0, 1.0, (n + 1,), rng)
    lines = np.outer(slopes, np.arange(1.0, T + 1))
    data = lines + _cut_normal(0.0, NOISE_VARIANCE**0.5, 1.0, lines.shape, rng)
    bound = 5.0 * T + 1
    lines, data = lines / bound, data / bound
    return Simulated(data[1:], data[0], lines[1:], lines[0], slopes[1:], float(slopes[0]), bound)


def _cut_normal(
    mean: float, sd: float, reach: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Array:
    """Draw normal numbers that are within ``reach`` of their mean."""
    low = float(ndtr(-reach / sd))
    return np.asarray(mean + sd * ndtri(low + (1 - 2 * low) * rng.random(shape)))
