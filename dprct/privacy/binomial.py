"""An exact binomial for the cells nobody is in: 1e15 trials, or 1e60, at irrational odds.

The probability that the noise of an empty cell reaches the threshold is
``alpha^t / (1 + alpha)`` with ``alpha = exp(-exponent)``.  No float carries it, and no float
binomial is right at 1e17 trials, so the distribution function is enclosed in integer intervals
and a uniform number is refined until it lies clear of every boundary.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import mpmath
from mpmath import libmp
from mpmath.ctx_iv import MPIntervalContext

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

_BLOCK_MEAN = 256
_FIRST_BITS = 128
_MOST_BITS = 1 << 16
_CONTEXT = mpmath.MPContext()
_CONTEXT.dps = 30


@dataclass(frozen=True, slots=True)
class Tail:
    """The event that discrete Laplace noise reaches a threshold.

    Parameters
    ----------
    exponent : Fraction
        ``P(Z = k)`` is proportional to ``alpha^|k|`` with ``alpha = exp(-exponent)``.
    threshold : int
        ``t``, at least 1.

    Notes
    -----
    ``P(Z >= t) = alpha^t / (1 + alpha)``, below one half; given the event, ``Z - (t - 1)`` is
    geometric on 1, 2, ... with success probability ``1 - alpha``, whatever ``t``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(Tail(Fraction(1, 2), 1).probability, 6)
    0.377541
    """

    exponent: Fraction
    threshold: int

    def __post_init__(self) -> None:
        if self.exponent <= 0 or self.threshold < 1:
            raise ParameterError("a tail needs exponent > 0 and threshold >= 1")

    @property
    def probability(self) -> float:
        """``alpha^t / (1 + alpha)`` to the nearest float; 0.0 below the smallest one."""
        rate = _CONTEXT.mpf(self.exponent.numerator) / self.exponent.denominator
        return float(_CONTEXT.exp(-rate * self.threshold) / (1 + _CONTEXT.exp(-rate)))

    def enclosure(self, context: Any) -> Any:
        """Return an interval of ``context`` that contains the probability."""
        rate = context.mpf(self.exponent.numerator) / context.mpf(self.exponent.denominator)
        return context.exp(-rate * self.threshold) / (1 + context.exp(-rate))


def interval_context(bits: int) -> Any:
    """Return an mpmath interval context of its own, so that nobody's precision changes."""
    context = MPIntervalContext()
    context.prec = bits
    return context


def exact_binomial(trials: int, tail: Tail, uniform_below: Callable[[int], int]) -> int:
    """Draw from Binomial(trials, alpha^t / (1 + alpha)), exactly.

    Parameters
    ----------
    trials : int
        At least 0; any size.
    tail : Tail
        The event that is counted.
    uniform_below : callable
        ``uniform_below(m)`` draws a uniform integer from ``range(m)``.

    Returns
    -------
    int

    Notes
    -----
    *Splitting.*  The trials are cut into blocks whose mean is about 256 at most; the number of
    successes is the sum over blocks, which are independent.  The cut depends on public numbers
    only.

    *Inversion.*  Within a block with N trials let F(k) be the distribution function and U
    uniform on [0, 1).  The smallest k with U < F(k) has the law wanted.  F is enclosed,
    ``lo(k) <= F(k) <= hi(k)``, by integers over 2^W: the first term ``(1-p)^N`` comes from
    interval arithmetic, each next one is the last times ``(N-k)/(k+1) * p/(1-p)``, rounded down
    in ``lo`` and up in ``hi``.  U is known to ``b`` random bits: it lies in
    ``[u, u+1) / 2^b``.  If ``(u+1)/2^b <= lo(k)`` and ``hi(k-1) <= u/2^b``, then k is the answer
    whatever the bits not yet drawn.  Otherwise more bits are drawn (the old ones are kept, so U
    stays uniform) and W grows.  Nothing is ever rounded away, so the law is exact; the first
    128 bits decide except with probability of about 1e-36.

    Examples
    --------
    >>> import secrets
    >>> from fractions import Fraction
    >>> exact_binomial(0, Tail(Fraction(1, 2), 3), secrets.randbelow)
    0
    """
    if trials < 0:
        raise ParameterError(f"trials={trials}; give 0 or more")
    block = _block_size(tail)
    whole, rest = divmod(trials, block)
    return sum(_invert(block, tail, uniform_below) for _ in range(whole)) + (
        _invert(rest, tail, uniform_below) if rest else 0
    )


def _invert(
    trials: int, tail: Tail, uniform_below: Callable[[int], int], bits: int = _FIRST_BITS
) -> int:
    # U lies in [u, u + 1) / 2^bits; more bits only where these do not decide
    u = uniform_below(1 << bits)
    while (k := _distribution(trials, tail, bits).locate(u, bits)) is None:
        u = (u << bits) | uniform_below(1 << bits)
        bits *= 2
    return k


@dataclass(frozen=True, slots=True)
class _Distribution:
    """Enclosure of a distribution function: ``lower[k] <= 2^width F(k) <= upper[k]``."""

    width: int
    lower: list[int]
    upper: list[int]

    def locate(self, u: int, bits: int) -> int | None:
        """Return the k that ``[u, u+1) / 2^bits`` surely inverts to, if it is certain."""
        shift = self.width - bits
        # the first k with U <= lo(k) / 2^width, wherever U lies; right if U > hi(k - 1) / 2^width
        k = bisect_left(self.lower, (u + 1) << shift)
        if k == len(self.lower) or (k > 0 and self.upper[k - 1] > u << shift):
            return None
        return k


@lru_cache(maxsize=64)
def _block_size(tail: Tail) -> int:
    """Return the number of trials whose expected count is 256, or less."""
    if tail.exponent * tail.threshold > _MOST_BITS:  # 1 / p would not fit into memory
        return 1 << _MOST_BITS
    p = tail.enclosure(interval_context(64))
    reciprocal = libmp.to_int((1 / p)._mpi_[0], "f")
    return max(1, _BLOCK_MEAN * int(reciprocal))


@lru_cache(maxsize=8)
def _distribution(trials: int, tail: Tail, bits: int) -> _Distribution:
    """Enclose the distribution function of one block, until what is left is below 2^-bits."""
    width = bits + 4 * _BLOCK_MEAN  # (1-p)^N is at least 2^-(2 * 256), since p < 1/2
    scale = width + 2 * trials.bit_length()  # p / (1-p) may be as small as 1 / trials
    context = interval_context(scale + 64)
    p = tail.enclosure(context)
    # p / (1 - p) and the first term (1 - p)^N, as whole numbers below and above
    odds_low, odds_high = _fixed(p / (1 - p), scale)
    low, high = _fixed(context.exp(trials * context.log(1 - p)), width)
    lower, upper = [low], [high]
    one, k = 1 << width, 0
    # until the terms are past their mode and too small for a U of this many bits
    while k < trials and (high >> (width - bits - 16) or lower[-1] < one >> 1):
        # P(k + 1) = P(k) (N - k) / (k + 1) p / (1 - p); // rounds down, and -(-a // b) up
        ratio, over = trials - k, (k + 1) << scale
        low = low * ratio * odds_low // over
        high = -(-high * ratio * odds_high // over)
        lower.append(lower[-1] + low)
        upper.append(upper[-1] + high)
        k += 1
    if k == trials:  # all terms are in: the last sum is one
        lower[-1] = upper[-1] = one
    return _Distribution(width, lower, upper)


def _fixed(interval: Any, bits: int) -> tuple[int, int]:
    """Return integers that enclose ``2^bits`` times the interval."""
    low, high = interval._mpi_
    return (
        int(libmp.to_int(libmp.mpf_shift(low, bits), "f")),
        int(libmp.to_int(libmp.mpf_shift(high, bits), "c")),
    )
