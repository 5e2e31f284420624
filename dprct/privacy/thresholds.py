"""Below which noisy count a histogram's cell is dropped: functions of public numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import mpmath

from dprct.privacy.binomial import interval_context

if TYPE_CHECKING:
    from collections.abc import Callable

SPURIOUS_SHARE = Fraction(1, 20)
"""Rows that the noise of empty cells may add up to, as a share of n."""

_CONTEXT = mpmath.MPContext()
_CONTEXT.dps = 60
_FAR = 1 << 16


@lru_cache(maxsize=256)
def pure_threshold(cells: int, n: int, exponent: Fraction) -> int:
    """Return the smallest t >= 1 at which empty cells add n / 20 rows or fewer, in expectation.

    Parameters
    ----------
    cells : int
        K, the number of cells of the public domain; any size.
    n : int
        Public number of rows.
    exponent : Fraction
        ``-log alpha`` of the discrete Laplace noise.

    Examples
    --------
    >>> pure_threshold(10**9, 1000, Fraction(1, 2))
    41
    """
    allowed = n * SPURIOUS_SHARE
    return _smallest(
        lambda t: bool(spurious_rows(cells, exponent, t) * allowed.denominator <= allowed.numerator)
    )


def spurious_rows(cells: int, exponent: Fraction, threshold: int) -> Any:
    """Return the expected released count of ``cells`` empty cells, an mpmath number.

    Notes
    -----
    ``K alpha^t / (1 + alpha) (t - 1 + 1 / (1 - alpha))``; it falls with t, since the ratio of
    neighbouring values is at most ``alpha (2 - alpha) < 1``.

    Examples
    --------
    >>> round(float(spurious_rows(10**9, Fraction(1, 2), 41)), 1)
    33.1
    """
    rate = _CONTEXT.mpf(exponent.numerator) / exponent.denominator
    mean_count = threshold - 1 - 1 / _CONTEXT.expm1(-rate)
    return cells * _CONTEXT.exp(-rate * threshold) / (1 + _CONTEXT.exp(-rate)) * mean_count


@lru_cache(maxsize=256)
def stability_threshold(delta: Fraction, exponent: Fraction) -> int:
    """Return the smallest t >= 1 at which a lone row is seen with probability ``delta`` at most.

    Examples
    --------
    >>> stability_threshold(Fraction(1, 10**6), Fraction(1, 2))
    28
    """
    return _smallest(lambda t: lone_cell_seen(exponent, t) <= delta)


def lone_cell_seen(exponent: Fraction, threshold: int) -> Fraction:
    """Return ``alpha^(t-1) / (1 + alpha)``, rounded up at 40 digits (or to 2^-65536).

    The probability that a cell with one row reaches the threshold ``t``.

    Examples
    --------
    >>> round(float(lone_cell_seen(Fraction(1, 2), 4)), 6)
    0.138889
    """
    if exponent * (threshold - 1) > _FAR:  # the exact power would not fit into memory
        return Fraction(1, 1 << _FAR)
    context = interval_context(160)
    rate = context.mpf(exponent.numerator) / context.mpf(exponent.denominator)
    seen = context.exp(-rate * (threshold - 1)) / (1 + context.exp(-rate))
    _, mantissa, power, _ = seen._mpi_[1]
    upper: Fraction = Fraction(int(mantissa)) * Fraction(2) ** int(power)
    return upper


def _smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest t >= 1 at which a condition holds that then holds for good."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
