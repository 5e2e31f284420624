"""Every random draw of the package: exact ones from the system, or fast ones for simulation.

``source()`` is what a guarantee rests on: OpenDP's samplers on integers and the operating
system's random bytes.  ``source(rng)`` is NumPy's ordinary sampling from the caller's generator;
whatever is drawn from it is for simulation only.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import opendp.mod
from numpy.typing import NDArray
from opendp import domains, measurements, measures, metrics
from randomgen import ChaCha

from dprct.errors import ParameterError
from dprct.privacy.binomial import Tail, exact_binomial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


opendp.mod.enable_features("contrib")

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

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw how many of ``trials`` discrete Laplace draws fall into ``tail``."""

    def noisy_argmax(self, scores: Sequence[int], scale: float) -> int:
        """Draw index i with probability proportional to ``exp(scores[i] / scale)``."""

    def post_processing_rng(self) -> np.random.Generator:
        """Return a generator for what comes after the release; never for the release."""


def source(rng: object = None) -> NoiseSource:
    """Return the exact source, or an ordinary one for simulation if ``rng`` is given.

    Parameters
    ----------
    rng : None, int, SeedSequence, BitGenerator or Generator
        As in SPEC 7.  Anything but None makes the result a simulation.

    Returns
    -------
    NoiseSource

    Raises
    ------
    ParameterError
        If ``rng`` is of another type, or a negative seed.

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
            f"rng is {type(rng).__name__}; give None, or for simulation only "
            "a non-negative integer seed or a numpy Generator"
        ) from error


@dataclass(frozen=True, slots=True)
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

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw by exact inversion: :func:`dprct.privacy.binomial.exact_binomial`."""
        return exact_binomial(trials, tail, self.uniform_below)

    def noisy_argmax(self, scores: Sequence[int], scale: float) -> int:
        """Draw through OpenDP's noisy maximum with Gumbel noise, compared exactly."""
        return int(_noisy_max(_checked(scale))([int(score) for score in scores]))

    def post_processing_rng(self) -> np.random.Generator:
        """Return a generator on ChaCha with 256 bits from the operating system."""
        seed = np.random.SeedSequence(secrets.randbits(256), pool_size=8)
        return np.random.Generator(ChaCha(seed))


@dataclass(frozen=True, slots=True)
class Simulated:
    """Ordinary floating-point sampling from a caller's generator, for simulation only.

    Parameters
    ----------
    rng : numpy.random.Generator
    """

    rng: np.random.Generator = field(repr=False)

    @property
    def simulation(self) -> bool:
        """Always True."""
        return True

    def uniform_below(self, bound: int) -> int:
        """Draw a uniform integer from ``range(bound)``."""
        if bound < 1:
            raise ParameterError(f"bound={bound}; give 1 or more")
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

    def binomial(self, trials: int, tail: Tail) -> int:
        """Draw a binomial number, or its Poisson limit where floats cannot tell them apart."""
        p = tail.probability
        if trials < 2**31:
            return int(self.rng.binomial(trials, p))
        return int(self.rng.poisson(float(trials * Fraction(p))))

    def noisy_argmax(self, scores: Sequence[int], scale: float) -> int:
        """Draw the argmax after adding Gumbel noise."""
        top = max(scores)
        shifted = np.array([float(score - top) for score in scores])
        return int(np.argmax(shifted + self.rng.gumbel(0.0, _checked(scale), len(shifted))))

    def post_processing_rng(self) -> np.random.Generator:
        """Return the caller's generator itself."""
        return self.rng


def unsaturated(
    draws: NDArray[np.int64],
    tail: Callable[[int], Integers],
    low: int = int(_INT64.min),
    high: int = int(_INT64.max),
) -> Integers:
    """Continue discrete Laplace draws that were cut off at ``low`` or ``high``.

    Parameters
    ----------
    draws : array of int64
        Discrete Laplace draws, clipped to ``[low, high]``.
    tail : callable
        ``tail(m)`` draws m values of the noise conditioned on being at least 1.
    low, high : int
        Where the draws were clipped; ``low < 0 < high``.

    Returns
    -------
    array
        ``draws`` itself if nothing was cut off, else Python integers.

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


def laplace_loss(scale: float, sensitivity: int) -> Fraction:
    """Return the epsilon that OpenDP certifies for its discrete Laplace, as it rounds it (up).

    Examples
    --------
    >>> laplace_loss(2.0, 2)
    Fraction(1, 1)
    """
    return Fraction(_laplace(_checked(scale)).map(sensitivity))


def _checked(scale: float) -> float:
    if not SCALES[0] <= scale <= SCALES[1]:
        raise ParameterError(
            f"noise scale {scale:g} is outside [2^-40, 2^53] grid units; "
            "choose another epsilon or another grid"
        )
    return scale


@lru_cache(maxsize=32)
def _laplace(scale: float) -> Any:
    return measurements.make_laplace(_vectors(), metrics.l1_distance(T="i64"), scale)


@lru_cache(maxsize=32)
def _gaussian(scale: float) -> Any:
    return measurements.make_gaussian(_vectors(), metrics.l2_distance(T="f64"), scale)


@lru_cache(maxsize=32)
def _noisy_max(scale: float) -> Any:
    return measurements.make_noisy_max(
        _vectors(), metrics.linf_distance(T="i64"), measures.zero_concentrated_divergence(), scale
    )


def _vectors() -> Any:
    return domains.vector_domain(domains.atom_domain(T="i64"))


_PIECE = 1 << 16


def random_part(n: int, size: int, noise: NoiseSource) -> NDArray[np.bool_]:
    """Return which of n places are in the part (n,): every set of ``size`` is as likely.

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
