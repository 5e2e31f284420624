"""The law of the noise of a path, or of its mean: Laplace draws and a normal part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dprct.errors import ParameterError
from dprct.schema.columns import given

_REACH, _TERMS, _STEPS = 60.0, 20_000, 60
_RAREST = 1e-6


@dataclass(frozen=True, slots=True)
class PathNoise:
    """A sum of independent Laplace draws and a normal one.

    Parameters
    ----------
    laplace : tuple of (scale, count)
        ``count`` draws of each scale.
    variance : float
        Of the normal part.

    Examples
    --------
    >>> round(PathNoise(((1.0, 1),)).half_width(0.05), 3)
    2.996
    >>> round(PathNoise((), 1.0).half_width(0.05), 3)
    1.96
    """

    laplace: tuple[tuple[float, int], ...] = ()
    variance: float = 0.0

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance + sum(2 * b * b * m for b, m in self.laplace))

    def __add__(self, other: PathNoise) -> PathNoise:
        return PathNoise(self.laplace + other.laplace, self.variance + other.variance)

    def mean_of(self, count: int) -> PathNoise:
        """Return the law of the mean of ``count`` independent draws."""
        laplace = tuple((b / count, m * count) for b, m in self.laplace)
        return PathNoise(laplace, self.variance / count)

    def times(self, factor: float) -> PathNoise:
        """Return the law of ``factor`` times the noise."""
        laplace = tuple((b * abs(factor), m) for b, m in self.laplace)
        return PathNoise(laplace, self.variance * factor**2)

    def half_width(self, alpha: float) -> float:
        """Return q with P(|noise| > q) = alpha.

        Parameters
        ----------
        alpha : float
            From 1e-6, below which the numbers are not certain, to 1.

        Raises
        ------
        ParameterError
            If alpha is outside that.
        """
        check_alpha(alpha)
        return self.sd * _standard_half_width(self._standardised(), float(alpha))

    def _standardised(self) -> PathNoise:
        sd = self.sd or 1.0
        # digits beyond these do not show, and the law is kept for all budgets that share it
        laplace = tuple((round(b / sd, 12), m) for b, m in self.laplace)
        return PathNoise(laplace, round(self.variance / sd**2, 12))


def check_alpha(alpha: object) -> None:
    """Refuse what is no share of misses from 1e-6 to 1.

    Raises
    ------
    ParameterError
    """
    if not isinstance(alpha, (int, float)) or not _RAREST <= alpha < 1:
        raise ParameterError(f"alpha={given(alpha)}; give a number from {_RAREST:g} to 1, as 0.05")


@lru_cache(maxsize=512)
def _standard_half_width(noise: PathNoise, alpha: float) -> float:
    """Return the half width for noise of standard deviation one.

    The characteristic function is ``exp(-v t^2 / 2) prod (1 + b^2 t^2)^-m``; its Fourier series on
    +-60 standard deviations is the distribution function.
    """
    if not noise.laplace and not noise.variance:
        return 0.0
    k = np.arange(1, _TERMS + 1)
    t = math.pi * k / _REACH
    log_phi = -noise.variance * t * t / 2
    for b, count in noise.laplace:
        log_phi -= count * np.log1p((b * t) ** 2)
    weights = 2 / (math.pi * k) * np.exp(log_phi)
    low, high = 0.0, _REACH / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inside = middle / _REACH + float(weights @ np.sin(t * middle))
        low, high = (middle, high) if 1 - inside > alpha else (low, middle)
    return high
