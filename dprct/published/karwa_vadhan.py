"""Variance and range of a normal sample through noisy histograms (dp_rct.txt, Algorithms 4, 5).

Both find the fullest bin of a histogram whose shares are noisy.  As printed, a bin that holds no
value cannot win.  Karwa and Vadhan give such bins noise, too, which is an option here; they are
never listed, because the largest noise of all empty bins is drawn at once.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import check_choice, checked, number_between, numbers_given
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.records import dataclass

if TYPE_CHECKING:
    from fractions import Fraction

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
NoiseOn = Literal["occupied bins", "every bin"]
"""Which bins get noise: those that hold a value, as printed, or all, as the privacy needs."""

SIGMA_BOUNDS = (2.0**-15, 2.0**15)
"""Bounds on the standard deviation of the sample (Table 19)."""

_MOST_BINS = 1 << 61
_DENSE = 4096


@dataclass(frozen=True)
class Bins:
    """The numbers of consecutive bins, of which most are empty.

    Examples
    --------
    >>> Bins(-2, 2).size, Bins(-2, 2).middle
    (5, 0)
    """

    # first, last: both included.
    first: int
    last: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    @property
    def middle(self) -> int:
        """The bin in the middle, where nothing is known."""
        return (self.first + self.last) // 2

    def occupied(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Return the bins that occur among ``numbers``, increasing, and how often each does.

        Numbers outside the bins are left out.
        """
        if len(numbers) == 0:
            return numbers, numbers
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _DENSE:
            counts = np.bincount(numbers - low)
            found = np.flatnonzero(counts)
            counts, found = counts[found], found + low
        else:
            found, counts = np.unique(numbers, return_counts=True)
        inside = (found >= self.first) & (found <= self.last)
        return found[inside], counts[inside].astype(np.int64)

    def empty(self, place: int, occupied: Integers) -> int:
        """Return the empty bin with ``place`` empty ones before it.

        Examples
        --------
        >>> [Bins(-1, 4).empty(place, np.array([0, 3])) for place in range(4)]
        [-1, 1, 2, 4]
        """
        free_before = occupied - self.first - np.arange(len(occupied))
        return self.first + place + int(np.searchsorted(free_before, place, side="right"))


@dataclass(frozen=True)
class NoisyMode:
    """The fullest bin of N values after Laplace noise on the shares.

    Notes
    -----
    The printed line is ``p~_j = (p_j + Z_j) 1{p_j > max(0, c - Z_j)}`` (dp_rct.txt, Algorithm 4,
    line 10, and Algorithm 5, line 9).  It gives an empty bin nothing, also where c = 0, and so
    does the authors' code.  This is ``noise_on="occupied bins"``.  Unless c > 0 it promises
    nothing, not even to one value: a bin that one value has to itself can win, and without that
    value it cannot.

    With noise on every bin, which is Karwa and Vadhan's histogram, one value that changes moves two
    shares by 1/N, so the shares have L1 sensitivity 2/N and the winner is (epsilon,
    delta)-private **with respect to one of the N values**.  Of E empty bins the largest noise has
    distribution function F^E, F that of the Laplace law; it is drawn by inversion, and which empty
    bin it belongs to is uniform: the law is that of noise on every bin.

    Where every ``p~_j`` is 0 these lines leave the outcome open; it is the middle bin here,
    whatever the data (the authors' code takes the lowest bin, far from everything).
    """

    bins: Bins
    values: int  # N
    epsilon: Fraction  # the noise has scale ``2 / (N epsilon)``
    # Where it is so large that ``bins.size > 2 / delta``, a share wins only above ``c = (2
    # log(2/delta) + epsilon) / (N epsilon)``, and empty bins cannot win.
    delta: Fraction
    # Where there is no such threshold: whether an empty bin can win.
    noise_on: NoiseOn = "occupied bins"

    @property
    def scale(self) -> float:
        """Of the noise on a share."""
        return 2 / (self.values * float(self.epsilon))

    @property
    def threshold(self) -> float | None:
        """c, where it is above 0; else None."""
        if not self.delta or self.bins.size <= 2 / self.delta:
            return None
        epsilon = float(self.epsilon)
        return (2 * math.log(2 / float(self.delta)) + epsilon) / (self.values * epsilon)

    def draw(self, numbers: Integers, rng: np.random.Generator) -> int:
        """The winning bin, given the bin of every value.

        Values in no bin are left out, or have a bin outside ``bins``.
        """
        occupied, counts = self.bins.occupied(numbers)
        shares = counts / self.values + rng.laplace(0.0, self.scale, len(counts))
        best = int(np.argmax(shares)) if len(shares) else -1
        top = shares[best] if len(shares) else -math.inf
        if self.threshold is not None or self.noise_on == "occupied bins":
            return int(occupied[best]) if top > (self.threshold or 0.0) else self.bins.middle
        empty = self.bins.size - len(occupied)
        if empty and largest_laplace(empty, self.scale, rng) > top:
            return self.bins.empty(int(rng.integers(empty)), occupied)
        return int(occupied[best])


@checked
@dataclass(frozen=True, init=False)
class DPVariance:
    """Karwa and Vadhan's private variance of a normal sample (dp_rct.txt, Algorithm 4).

    Parameters
    ----------
    epsilon : number
        Above 0.
    delta : number, default 0
    sigma_min, sigma_max : float
        Bounds on the standard deviation, public.
    noise_on : {"occupied bins", "every bin"}
        As printed, an empty bin gets no noise and cannot win.  With noise on every bin it can,
        which is what privacy needs.

    Raises
    ------
    ParameterError

    Notes
    -----
    The distances of ``floor(n/2)`` disjoint pairs fall into bins ``(2^j, 2^(j+1)]``, j from
    ``floor(log2 sigma_min) - 2`` to ``ceil(log2 sigma_max) + 1``; of the winner l the standard
    deviation is ``2^(l+2)`` and the variance ``2^(2l+4)``.  In print it is ``2^(2l+2)``, which
    squares too late.  The result bounds the variance from above, up to a constant.

    With ``noise_on="every bin"`` the result is private with respect to one value of the sample
    (replace-one), up to floating-point sampling.  As printed it is not, unless delta is so large
    that there is a threshold (line 5).

    References
    ----------
    Karwa and Vadhan (2017), Finite sample differentially private confidence intervals,
    Algorithm 2.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> DPVariance(epsilon=1).draw(rng.normal(0, 3, 2000), rng)
    64.0
    """

    budget: Budget
    sigma_min: float
    sigma_max: float
    noise_on: NoiseOn

    def __init__(
        self,
        epsilon: Fraction | float,
        delta: Fraction | float = 0,
        sigma_min: float = SIGMA_BOUNDS[0],
        sigma_max: float = SIGMA_BOUNDS[1],
        noise_on: NoiseOn = "occupied bins",
    ) -> None:
        check_choice("noise_on", noise_on, get_args(NoiseOn))
        if not 0 < sigma_min < sigma_max < math.inf:
            raise ParameterError(
                f"``sigma_min={sigma_min}``, ``sigma_max={sigma_max}``; give finite numbers "
                "0 < sigma_min < sigma_max"
            )
        object.__setattr__(self, "budget", _asked(epsilon, delta))
        object.__setattr__(self, "sigma_min", float(sigma_min))
        object.__setattr__(self, "sigma_max", float(sigma_max))
        object.__setattr__(self, "noise_on", noise_on)

    @property
    def bins(self) -> Bins:
        """The exponents j of the bins."""
        first = math.floor(math.log2(self.sigma_min)) - 2
        return Bins(first, math.ceil(math.log2(self.sigma_max)) + 1)

    def mode(self, values: int) -> NoisyMode:
        """Return the histogram of so many values (their pairs)."""
        if values < 2:
            raise ParameterError(f"{values} values have no pair; give at least two")
        budget = self.budget
        return NoisyMode(self.bins, values // 2, budget.epsilon, budget.delta, self.noise_on)

    def draw(self, x: Array, rng: np.random.Generator) -> float:
        """Return the private variance of ``x`` (n,), a power of 4.

        Raises
        ------
        ParameterError
            If there is not a pair.
        """
        x = numbers_given(x, "x").ravel()
        mode = self.mode(len(x))
        pairs = np.abs(x[1::2][: mode.values] - x[: 2 * mode.values : 2])
        exponent = mode.draw(_below_powers(pairs[pairs > 0]), rng)
        return math.ldexp(1.0, 2 * exponent + 4)


@checked
@dataclass(frozen=True, init=False)
class DPRange:
    """Karwa and Vadhan's private range of a normal sample (dp_rct.txt, Algorithm 5).

    Parameters
    ----------
    sd : float
        Standard deviation of a value, known or private already; above 0.
    epsilon : number
        Above 0.
    delta : number, default 0
    v : float, default 50
        Bound on the absolute mean, public.
    alpha : float, default 0.05
        Probability that some value is outside, were the sample normal.
    noise_on : {"occupied bins", "every bin"}
        As for :class:`DPVariance`.

    Raises
    ------
    ParameterError
        If a number is outside its range, or there are more than 2^61 bins.

    Notes
    -----
    Bins ``sd (j - 1/2, j + 1/2]``, ``|j| <= r = ceil(v / sd)``; of the winner l the range is
    ``sd l -+ 4 sd sqrt(log(n / alpha))``.  What is private is said at :class:`DPVariance`.

    References
    ----------
    Karwa and Vadhan (2017), Algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> low, high = DPRange(2.0, epsilon=1).draw(rng.normal(20, 2, 1000), rng)
    >>> round((low + high) / 2), round(high - low, 1)
    (20, 50.4)
    """

    sd: float
    budget: Budget
    v: float
    alpha: float
    noise_on: NoiseOn

    def __init__(
        self,
        sd: float,
        epsilon: Fraction | float,
        delta: Fraction | float = 0,
        v: float = 50.0,
        alpha: float = 0.05,
        noise_on: NoiseOn = "occupied bins",
    ) -> None:
        check_choice("noise_on", noise_on, get_args(NoiseOn))
        for name, value in (("sd", sd), ("v", v)):
            number_between(name, value)
        number_between("alpha", alpha, 0, 1, ", such as 0.05")
        if 2 * v / sd >= _MOST_BINS:
            raise ParameterError(
                f"sd is below v / 2^60, so the range has too many bins; give a v below {v:g} or a "
                "larger sd (sigma_min)"
            )
        object.__setattr__(self, "sd", float(sd))
        object.__setattr__(self, "budget", _asked(epsilon, delta))
        object.__setattr__(self, "v", float(v))
        object.__setattr__(self, "alpha", float(alpha))
        object.__setattr__(self, "noise_on", noise_on)

    @property
    def bins(self) -> Bins:
        """The numbers j of the bins."""
        r = math.ceil(self.v / self.sd)
        return Bins(-r, r)

    def half_width(self, values: int) -> float:
        """Return ``4 sd sqrt(log(n / alpha))`` for n values."""
        if values < 1:
            raise ParameterError("there are no values to find the range of; give at least one")
        return 4 * self.sd * math.sqrt(math.log(values / self.alpha))

    def mode(self, values: int) -> NoisyMode:
        """Return the histogram of so many values."""
        budget = self.budget
        return NoisyMode(self.bins, values, budget.epsilon, budget.delta, self.noise_on)

    def draw(self, x: Array, rng: np.random.Generator) -> tuple[float, float]:
        """Return the lower and the upper end of the private range of ``x`` (n,)."""
        x = numbers_given(x, "x").ravel()
        half = self.half_width(len(x))
        limit = float(_MOST_BINS)
        numbers = np.clip(np.ceil(x / self.sd - 0.5), -limit, limit).astype(np.int64)
        centre = self.sd * self.mode(len(x)).draw(numbers, rng)
        return centre - half, centre + half


def largest_laplace(count: int, scale: float, rng: np.random.Generator) -> float:
    """Draw the largest of ``count`` independent Laplace draws, by inversion.

    Notes
    -----
    The distribution function of the maximum is ``F^count``, so the draw is the quantile of F at
    ``U^(1/count)``: with tail ``q = 1 - U^(1/count)`` it is ``-scale log(2 q)`` for ``q <= 1/2``,
    which loses no digits however large ``count`` is.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> 30 < largest_laplace(10**15, 1.0, rng) < 60
    True
    """
    log_share = -rng.standard_exponential() / count
    tail = -math.expm1(log_share)
    if tail <= 0.5:
        return -scale * math.log(2 * tail)
    return scale * (math.log(2) + log_share)


@lru_cache(maxsize=256, typed=True)
def _asked(epsilon: Fraction | float, delta: Fraction | float) -> Budget:
    """Return a budget; exact arithmetic takes longer than a draw, and shares repeat."""
    return Budget.asked(epsilon, delta)


def _below_powers(distances: Array) -> Integers:
    """Return j with ``2^j < d <= 2^(j+1)`` of every distance above 0, exactly."""
    mantissa, exponent = np.frexp(distances)
    return exponent.astype(np.int64) - np.where(mantissa == 0.5, 2, 1)
