"""Every random draw of the package: exact ones from the system, or fast ones for simulation.

``source()`` is what a guarantee rests on: OpenDP's samplers on integers and the operating
system's random bytes.  ``source(rng)`` is NumPy's ordinary sampling from the caller's generator;
whatever is drawn from it is for simulation only.
"""

from __future__ import annotations

import copy
import math
import secrets
from bisect import bisect_left
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.lazy import precise
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable


_BLOCK_MEAN = 256
_FIRST_BITS = 128
_MOST_BITS = 1 << 16
_CONTEXT = precise(30)


@dataclass(frozen=True)
class Tail:
    """The event that discrete Laplace noise reaches a threshold.

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

    # ``P(Z = k)`` is proportional to ``alpha^|k|`` with ``alpha = exp(-exponent)``.
    exponent: Fraction
    threshold: int  # ``t``, at least 1

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
    from mpmath.ctx_iv import MPIntervalContext

    context = MPIntervalContext()
    context.prec = bits
    return context


def exact_binomial(trials: int, tail: Tail, uniform_below: Callable[[int], int]) -> int:
    """Draw from Binomial(trials, alpha^t / (1 + alpha)), exactly.

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
        raise ParameterError(f"``trials={trials}``; give 0 or more")
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


@dataclass(frozen=True)
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
    reciprocal, _ = _fixed(1 / p, 0)
    return max(1, _BLOCK_MEAN * reciprocal)


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
    from mpmath import libmp

    low, high = interval._mpi_
    return (
        int(libmp.to_int(libmp.mpf_shift(low, bits), "f")),
        int(libmp.to_int(libmp.mpf_shift(high, bits), "c")),
    )


Integers = NDArray[Any]
"""int64, or object (Python integers) in the rare case that int64 is too narrow."""

_INT64 = np.iinfo(np.int64)
SCALES = (2.0**-40, 2.0**53)
"""The smallest and the largest scale that samplers take, in steps of the grid."""

_TABLE_SCALE = 16.0


class NoiseSource(Protocol):
    """What mechanisms draw from.

    Attributes
    ----------
    simulation : bool
        True where a seed was given: no guarantee rests on these draws.
    """

    @property
    def simulation(self) -> bool:
        """Whether a caller's generator is behind the draws."""

    def uniform_below(self, bound: int) -> int:
        """Draw a uniform integer from ``range(bound)``; ``bound`` may be of any size."""

    def uniform_bytes(self, size: int) -> NDArray[np.uint8]:
        """Draw ``size`` independent uniform integers from 0 to 255."""

    def discrete_laplace(self, scale: float, size: int) -> Integers:
        """Draw integers k with probability proportional to ``exp(-|k| / scale)``."""

    def discrete_gaussian(self, scale: float, size: int) -> Integers:
        """Draw integers k with probability proportional to ``exp(-k^2 / (2 scale^2))``."""

    def geometric(self, scale: float, size: int) -> Integers:
        """Draw from discrete Laplace noise conditioned on being at least 1."""

    def cubes(self, scale: float, size: int, count: int) -> Integers:
        """Draw (count, size) integers, rows with probability ``exp(-max |x_j| / scale)``."""

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw how many of ``trials`` discrete Laplace draws fall into ``tail``."""

    def post_processing_rng(self) -> np.random.Generator:
        """Return a generator for steps after the release; never for the release itself."""


def source(rng: object = None) -> NoiseSource:
    """Return the exact source, or an ordinary one for simulation if ``rng`` is given.

    Parameters
    ----------
    rng : None, int, SeedSequence, BitGenerator or Generator
        What numpy makes a generator of.  Anything but None makes the result a simulation.

    Examples
    --------
    >>> source().simulation, source(7).simulation
    (False, True)
    """
    if rng is None:
        return Secure()
    try:
        return Simulated(np.random.default_rng(rng))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"rng is ``{type(rng).__name__}``; give ``None``, or for simulation only "
            "a non-negative integer seed or a ``numpy.random.Generator``"
        ) from error


@dataclass(frozen=True)
class Secure:
    """Exact draws from the operating system's randomness.

    Notes
    -----
    OpenDP takes the scale as a double and treats it as the rational number that the double is;
    it samples with integer arithmetic (Canonne, Kamath and Steinke 2020, Algorithms 1 to 3).
    The law drawn is therefore known exactly: ``alpha = exp(-1 / Fraction(scale))``.

    Noise is drawn on a vector of zeros and added by the mechanism.  OpenDP saturates at the ends
    of int64; where that happens a discrete Laplace draw is continued from there, which its lack
    of memory makes exact (:func:`unsaturated`).  For the discrete Gaussian the event has
    probability below ``exp(-2^18)`` at the largest scale allowed.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy.
    """

    @property
    def simulation(self) -> bool:
        """Always False."""
        return False

    def uniform_below(self, bound: int) -> int:
        """Draw a uniform integer from ``range(bound)`` by integer rejection."""
        return secrets.randbelow(bound)

    def uniform_bytes(self, size: int) -> NDArray[np.uint8]:
        """Draw bytes of the operating system."""
        return np.frombuffer(secrets.token_bytes(size), dtype=np.uint8)

    def discrete_laplace(self, scale: float, size: int) -> Integers:
        """Draw from OpenDP's discrete Laplace.

        Examples
        --------
        >>> Secure().discrete_laplace(2.0, 3).shape
        (3,)
        """
        draws = np.array(_laplace(_checked(scale))([0] * size), np.int64)
        return unsaturated(draws, lambda count: self.geometric(scale, count))

    def discrete_gaussian(self, scale: float, size: int) -> Integers:
        """Draw from OpenDP's discrete Gaussian."""
        return np.array(_gaussian(_checked(scale))([0] * size), np.int64)

    def geometric(self, scale: float, size: int) -> Integers:
        """Draw Z given Z >= 1, where Z is discrete Laplace.

        Notes
        -----
        By symmetry this is |Z| given Z != 0, which half of the draws or so satisfy unless
        ``scale`` is small.  Then Z' is drawn at ``m * scale`` for a power of two m, exact in
        doubles: ``|Z'| - 1`` given ``Z' != 0`` is geometric from 0 with ratio ``alpha^(1/m)``,
        and its quotient by m is at least k exactly if it is at least km: ratio ``alpha``.
        """
        widen = 2 ** max(0, math.ceil(-math.log2(_checked(scale))))
        kept: Integers = np.empty(0, np.int64)
        while len(kept) < size:
            draws = self.discrete_laplace(scale * widen, 2 * (size - len(kept)) + 8)
            kept = np.concatenate([kept, np.abs(draws[draws != 0])])
        found: Integers = 1 + (kept[:size] - 1) // widen
        return found

    def cubes(self, scale: float, size: int, count: int) -> Integers:
        """Draw exactly: :func:`in_cubes`."""
        return in_cubes(scale, size, count, self)

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw by exact inversion: :func:`dprct.privacy.noise.exact_binomial`."""
        return exact_binomial(trials, tail, self.uniform_below)

    def post_processing_rng(self) -> np.random.Generator:
        """Return a generator on ChaCha with 256 bits from the operating system."""
        from randomgen import ChaCha

        seed = np.random.SeedSequence(secrets.randbits(256), pool_size=8)
        return np.random.Generator(ChaCha(seed))


@dataclass(frozen=True)
class Simulated:
    """Ordinary floating-point sampling from a caller's generator, for simulation only."""

    rng: np.random.Generator = field(repr=False)

    @property
    def simulation(self) -> bool:
        """Always True."""
        return True

    def uniform_below(self, bound: int) -> int:
        """Draw a uniform integer from ``range(bound)``."""
        if bound < 1:
            raise ParameterError(f"``bound={bound}``; give 1 or more")
        if bound <= _INT64.max:
            return int(self.rng.integers(bound))
        bits = (bound - 1).bit_length()
        excess = -bits % 8
        while True:
            draw = int.from_bytes(self.rng.bytes((bits + excess) // 8), "little") >> excess
            if draw < bound:
                return draw

    def uniform_bytes(self, size: int) -> NDArray[np.uint8]:
        """Draw bytes of the caller's generator."""
        return self.rng.integers(0, 256, size, dtype=np.uint8)

    def discrete_laplace(self, scale: float, size: int) -> Integers:
        """Draw the difference of two geometric numbers."""
        return self.geometric(scale, size) - self.geometric(scale, size)

    def discrete_gaussian(self, scale: float, size: int) -> Integers:
        """Draw from the table of probabilities, or a rounded normal where that is as good."""
        if _checked(scale) > _TABLE_SCALE:
            spread = math.sqrt(scale**2 - 1 / 12)  # rounding adds 1/12 to the variance
            return np.rint(self.rng.normal(0.0, spread, size)).astype(np.int64)
        reach = math.ceil(12 * scale) + 1
        support = np.arange(-reach, reach + 1)
        weights = np.exp(-((support / scale) ** 2) / 2)
        return self.rng.choice(support, size, p=weights / weights.sum()).astype(np.int64)

    def geometric(self, scale: float, size: int) -> Integers:
        """Draw geometric numbers on 1, 2, ..."""
        return self.rng.geometric(-math.expm1(-1.0 / _checked(scale)), size).astype(np.int64)

    def cubes(self, scale: float, size: int, count: int) -> Integers:
        """Draw as the exact source does, from ordinary geometric and uniform numbers."""
        return in_cubes(scale, size, count, self)

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw a binomial number, or its Poisson limit where floats cannot tell them apart."""
        p = tail.probability
        if trials < 2**31:
            return int(self.rng.binomial(trials, p))
        return int(self.rng.poisson(float(trials * Fraction(p))))

    def post_processing_rng(self) -> np.random.Generator:
        """Return the caller's generator itself."""
        return self.rng


def repeatedly(
    draw: Callable[[np.random.Generator], NDArray[np.float64]], rng: np.random.Generator
) -> Callable[[], NDArray[np.float64]]:
    """Return a function that draws the same at every call, for who would have to keep the draw.

    Examples
    --------
    >>> drawn = repeatedly(lambda rng: rng.standard_normal(2), np.random.default_rng(1))
    >>> drawn().tolist() == drawn().tolist()
    True
    """
    before, first = copy.deepcopy(rng), [rng]
    return lambda: draw(first.pop() if first else copy.deepcopy(before))


def in_cubes(scale: float, size: int, count: int, noise: NoiseSource) -> Integers:
    """Vectors x (count, size) of integers with P(x) proportional to ``exp(-max_j |x_j| / scale)``.

    The law is exact for the rational number that ``scale`` is; ``size`` is J.

    Notes
    -----
    With a = exp(-1 / scale), draw t with probability proportional to (2t + 1)^J a^t, then every
    coordinate uniformly from -t, ..., t.  A point x comes from every t >= m = max |x_j|, so that
    P(x) is proportional to sum_{t >= m} a^t, which is a^m / (1 - a).

    t is a sum of J + 1 independent geometric numbers from 0 of ratio a, whose law is proportional
    to a^t (t + 1) ... (t + J), accepted with the rational probability
    prod_i (t + 1/2) / (t + i) <= 1; it is near 1 where the scale is far above J.

    References
    ----------
    Hardt and Talwar (2010), "On the Geometry of Differential Privacy" (the continuous law); Awan
    and Slavkovic (2021), "Structure and Sensitivity in Differential Privacy: Comparing K-Norm
    Mechanisms".

    Examples
    --------
    >>> in_cubes(4.0, 3, 2, source()).shape
    (2, 3)
    """
    found: list[list[int]] = []
    while len(found) < count:
        degrees = noise.geometric(scale, (size + 1) * (count - len(found))).reshape(-1, size + 1)
        for each in degrees:
            t = sum(map(int, each)) - (size + 1)
            whole = math.prod(2 * (t + i) for i in range(1, size + 1))
            if noise.uniform_below(whole) < (2 * t + 1) ** size:
                found.append([noise.uniform_below(2 * t + 1) - t for _ in range(size)])
    return np.array(found, object)  # may be beyond int64


def unsaturated(
    draws: NDArray[np.int64],
    tail: Callable[[int], Integers],
    low: int = int(_INT64.min),
    high: int = int(_INT64.max),
) -> Integers:
    """Continue discrete Laplace draws that were clipped to ``[low, high]``; ``low < 0 < high``.

    ``tail(m)`` draws m values of the noise conditioned on being at least 1.  Returned are ``draws``
    themselves if nothing was cut off, else Python integers.

    Notes
    -----
    Given ``Z >= h`` with ``h >= 1``, ``Z - h`` is geometric from 0, whatever ``h``.
    """
    over, under = draws == high, draws == low
    if not (over.any() or under.any()):
        return draws
    out = draws.astype(object)
    out[over] += tail(int(over.sum())) - 1
    out[under] -= tail(int(under.sum())) - 1
    return out


def double_at_least(value: Fraction) -> float:
    """Return the smallest double that is not below ``value``.

    Examples
    --------
    >>> Fraction(double_at_least(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def laplace_loss(scale: float, sensitivity: int) -> Fraction:
    """Return the epsilon of discrete Laplace noise, rounded up to a double.

    Notes
    -----
    ``sensitivity / scale``, since ``P(Z = k) / P(Z = k + d)`` is at most ``exp(|d| / scale)``; the
    law is exact for the double that ``scale`` is.  OpenDP certifies the same for its mechanism, and
    is loaded when noise is drawn.

    Examples
    --------
    >>> laplace_loss(2.0, 2)
    Fraction(1, 1)
    """
    return Fraction(double_at_least(Fraction(sensitivity) / Fraction(_checked(scale))))


def _checked(scale: float) -> float:
    if not SCALES[0] <= scale <= SCALES[1]:
        raise ParameterError(
            f"noise scale {scale:g} is outside [2^-40, 2^53] grid units; "
            "choose another epsilon or another grid"
        )
    return scale


@lru_cache(maxsize=32)
def _laplace(scale: float) -> Any:
    from opendp import measurements, metrics

    return measurements.make_laplace(_vectors(), metrics.l1_distance(T="i64"), scale)


@lru_cache(maxsize=32)
def _gaussian(scale: float) -> Any:
    from opendp import measurements, metrics

    return measurements.make_gaussian(_vectors(), metrics.l2_distance(T="f64"), scale)


def _vectors() -> Any:
    from opendp import domains, mod

    mod.enable_features("contrib")
    return domains.vector_domain(domains.atom_domain(T="i64"))


# A part of the rows, uniform among all parts of its size, exactly.

_PIECE = 1 << 16


def random_part(n: int, size: int, noise: NoiseSource) -> NDArray[np.bool_]:
    """Members of a part of n places (n,): every set of ``size`` is as likely.

    Parameters
    ----------
    n : int
        Places.
    size : int
        How many are in the part, 0 to n.
    noise : NoiseSource
        Whose bytes decide: the operating system's, or in simulation the caller's generator's.

    Notes
    -----
    Every place gets an endless number of independent uniform digits, base 256; the part holds those
    with the smallest numbers, which are all different with probability one.  Numbers are
    exchangeable, hence all sets of one size equally likely.  Digits are drawn as far as they are
    needed: first one for everybody, then one more for those who are tied where the part ends.

    Examples
    --------
    >>> from dprct.privacy.noise import source
    >>> int(random_part(10, 4, source()).sum())
    4
    """
    inside = np.zeros(n, bool)
    tied, wanted = np.arange(n), size
    while 0 < wanted < len(tied):
        digits = noise.uniform_bytes(len(tied))
        below = np.cumsum(_counts(digits))
        last = int(np.searchsorted(below, wanted))
        inside[tied[digits < last]] = True
        wanted -= int(below[last - 1]) if last else 0
        tied = tied[digits == last]
    inside[tied[:wanted]] = True  # all of them, or none
    return inside


def _counts(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the digits, some at a time: each takes eight bytes while it is counted."""
    found = np.zeros(256, np.int64)
    for start in range(0, len(digits), _PIECE):
        found += np.bincount(digits[start : start + _PIECE], minlength=256)
    return found
