"""The textbook mechanisms on numbers that the caller holds: Laplace, Gaussian, randomised response.

They promise what the caller says of the numbers: no schema, table or ledger is asked, and nothing
is charged.  The draws are exact.  Elsewhere in this package sensitivities are proved and paid for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dprct.arguments import checked, given
from dprct.errors import ParameterError, withheld
from dprct.privacy.aggregates import IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace, reachable_scale
from dprct.privacy.noise import source
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


_STEPS = 20
"""The grid is finer than the sensitivity by so many binary digits."""

_SEVERAL = 2**16

_LARGEST = 2**1000
"""Numbers and sensitivities end here, so that with noise they are still doubles."""


@checked
@dataclass(frozen=True)
class _OnNumbers(ABC):
    """Noise on numbers that the caller computed, of a sensitivity that the caller claims."""

    budget: Budget
    sensitivity: Fraction

    @abstractmethod
    def _mechanism(self, size: int) -> DiscreteLaplace | AnalyticGaussian:
        """Mechanism for so many numbers, on the grid."""

    @abstractmethod
    def _vector(self, units: list[int], grid: Fraction) -> IntegerVector:
        """Seal numbers in steps of the grid, with the sensitivity that they have there."""

    def noise_sd(self, size: int = 1) -> float:
        """Return the standard deviation of the noise on each of so many numbers."""
        return self._mechanism(_count(size)).noise_sd * float(_grid(self.sensitivity))

    @overload
    def draw(self, x: float, rng: object = None) -> float: ...
    @overload
    def draw(self, x: ArrayLike, rng: object = None) -> NDArray[np.float64]: ...
    def draw(self, x: Any, rng: object = None) -> Any:
        """Return the numbers with noise.

        Parameters
        ----------
        x : float or (d,) array-like
            Finite numbers that the sensitivity is of.
        rng : int, optional
            A seed: a simulation then, which promises nothing.

        Raises
        ------
        ParameterError
            If ``x`` is no finite number or vector of these.
        """
        grid = _grid(self.sensitivity)
        sealed = self._vector(_rounded(x, grid), grid)
        noisy = self._mechanism(sealed.size).release(sealed, source(rng)).values
        return float(noisy[0]) if np.ndim(x) == 0 else np.asarray(noisy, np.float64)


@checked
@dataclass(frozen=True, init=False)
class Laplace(_OnNumbers):
    """Laplace noise on numbers that the caller computed: pure privacy, if the sensitivity holds.

    Parameters
    ----------
    epsilon : number
        Above 0.
    sensitivity : number
        The L1 sensitivity of the numbers as they are given to :meth:`draw`: the largest sum of
        absolute differences between neighbours.  The caller's claim.

    Raises
    ------
    ParameterError
        If a number is outside its range, or no sampler reaches the noise.

    Notes
    -----
    Guarantee: epsilon for whatever relation the sensitivity holds under, **as stated by the
    caller**; nothing is charged.  The numbers are rounded to multiples of the largest power of two
    below ``sensitivity / 2^20``; each then moves by less than one step more, which is added to the
    sensitivity.  Noise is the discrete Laplace on this grid, drawn exactly: sampling Laplace noise
    in floating point breaks the guarantee (Mironov 2012).

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006), "Calibrating Noise to Sensitivity in Private Data
    Analysis"; Mironov (2012), "On Significance of the Least Significant Bits for Differential
    Privacy".

    Examples
    --------
    >>> mean = Laplace(epsilon=1, sensitivity=100 / 5000)  # of 5,000 incomes from 0 to 100
    >>> round(mean.noise_sd(), 4)
    0.0283
    >>> abs(mean.draw(41.5) - 41.5) < 1
    True
    """

    def __init__(self, epsilon: Fraction | float, sensitivity: Fraction | float) -> None:
        object.__setattr__(self, "budget", Budget.asked(epsilon))
        object.__setattr__(self, "sensitivity", _claimed(sensitivity))
        self._mechanism(1)

    def _mechanism(self, size: int) -> DiscreteLaplace:
        units = math.ceil(self.sensitivity / _grid(self.sensitivity)) + size
        return DiscreteLaplace(self.budget.epsilon, l1=units)

    def _vector(self, units: list[int], grid: Fraction) -> IntegerVector:
        l1 = self._mechanism(len(units)).l1
        return IntegerVector(units, l1=l1, relation="replace-one", grid=grid)


@checked
@dataclass(frozen=True, init=False)
class Gaussian(_OnNumbers):
    """Gaussian noise on numbers that the caller computed: (epsilon, delta), if sensitivity holds.

    Parameters
    ----------
    epsilon : number
        Above 0.
    delta : number
        Above 0.
    sensitivity : number
        The L2 sensitivity of the numbers as they are given to :meth:`draw`; the caller's claim.

    Raises
    ------
    ParameterError
        If a number is outside its range, or no sampler reaches the noise.

    Notes
    -----
    Guarantee: (epsilon, delta) for whatever relation the sensitivity holds under, **as stated by
    the caller**; nothing is charged.  The standard deviation is the smallest of the analytic
    Gaussian mechanism, at every epsilon, not the classical one, which is proved for epsilon below 1
    alone.  Rounding to the grid adds at most ``sqrt(d)`` steps of ``sensitivity / 2^20`` or less.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8;
    Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy".

    Examples
    --------
    >>> noise = Gaussian(epsilon=1, delta=1e-5, sensitivity=0.02)
    >>> round(noise.noise_sd(), 4)
    0.0746
    >>> noise.draw([1.0, 2.0], rng=1).shape
    (2,)
    """

    def __init__(
        self, epsilon: Fraction | float, delta: Fraction | float, sensitivity: Fraction | float
    ) -> None:
        object.__setattr__(self, "budget", Budget.asked(epsilon, delta))
        object.__setattr__(self, "sensitivity", _claimed(sensitivity))
        self._mechanism(1)

    def _mechanism(self, size: int) -> AnalyticGaussian:
        steps = math.ceil(self.sensitivity / _grid(self.sensitivity))
        return AnalyticGaussian(self.budget, (steps + math.isqrt(size - 1) + 1) ** 2, size)

    def _vector(self, units: list[int], grid: Fraction) -> IntegerVector:
        square = self._mechanism(len(units)).l2_squared
        return IntegerVector(
            units,
            l1=math.isqrt(int(square) * len(units)) + 1,
            l2_squared=square,
            l_inf=math.isqrt(int(square)),
            relation="replace-one",
            grid=grid,
        )


@checked
@dataclass(frozen=True, init=False)
class RandomizedResponse:
    """Randomised response: answers replaced by others with some probability (local privacy).

    Parameters
    ----------
    epsilon : number
        Above 0.
    levels : sequence of numbers or texts
        All answers that can be given, at least two, from public knowledge.

    Raises
    ------
    ParameterError
        If epsilon is not above 0, or levels are fewer than two, repeated or missing.

    Notes
    -----
    Guarantee: pure epsilon for each answer, whoever holds the others; for several answers of a
    person, epsilons add up.  Nothing is charged.  An answer is kept with probability
    ``e^eps / (e^eps + k - 1)`` and becomes each of the other k - 1 with ``1 / (e^eps + k - 1)``;
    drawn exactly, by proposing a level at random and taking one that is not the answer with
    probability ``e^-eps`` only.

    References
    ----------
    Warner (1965), "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias".

    Examples
    --------
    >>> asked = RandomizedResponse(epsilon=1, levels=[0, 1])
    >>> round(asked.kept, 3)
    0.731
    >>> told = asked.draw([1] * 300 + [0] * 700, rng=1)
    >>> [round(float(share), 2) for share in asked.shares(told)]
    [0.71, 0.29]
    """

    budget: Budget
    levels: tuple[Any, ...]

    def __init__(self, epsilon: Fraction | float, levels: Sequence[Any]) -> None:
        if isinstance(levels, str) or not np.iterable(levels):
            raise ParameterError(f"``levels={given(levels)}``; give a list, such as ``[0, 1]``")
        found = tuple(levels)
        missing = any(one is None or one != one for one in found)
        try:
            apart = len(set(found))
        except TypeError:  # lists, for example
            apart = 0
        if len(found) < 2 or apart < len(found) or missing:
            raise ParameterError("levels are fewer than two, repeated or missing; list each once")
        object.__setattr__(self, "budget", Budget.asked(epsilon))
        object.__setattr__(self, "levels", found)
        self._scale()

    def _scale(self) -> float:
        return reachable_scale(1 / self.budget.epsilon)

    @property
    def kept(self) -> float:
        """Probability that an answer is kept."""
        return 1 / (1 + (len(self.levels) - 1) * math.exp(-1 / self._scale()))

    def draw(self, answers: Sequence[Any], rng: object = None) -> list[Any]:
        """Randomised answers, one level each.

        Parameters
        ----------
        answers : (n,) sequence
            Of the levels.
        rng : int, optional
            A seed: a simulation then, which promises nothing.

        Raises
        ------
        ParameterError
            If an answer is none of the levels.
        """
        place = {level: k for k, level in enumerate(self.levels)}
        refusal = ParameterError(
            "an answer is none of the levels, or missing; list all that can be given, a missing "
            "answer as a level of its own"
        )
        with withheld(lambda _: refusal):
            true = np.array([place[one] for one in answers], np.int64)
        noise, scale, k = source(rng), self._scale(), len(self.levels)
        told = np.full(len(true), -1, np.int64)
        while (open_ := np.flatnonzero(told < 0)).size:
            some = open_[:_SEVERAL]
            proposed = np.array([noise.uniform_below(k) for _ in some], np.int64)
            taken = noise.geometric(scale, len(some)) >= 2  # with probability exp(-1 / scale)
            taken |= proposed == true[some]
            told[some[taken]] = proposed[taken]
        return [self.levels[one] for one in told.tolist()]

    def shares(self, told: Sequence[Any]) -> NDArray[np.float64]:
        """Return unbiased estimates of the shares of the levels (k,), which can be below 0.

        Raises
        ------
        ParameterError
            If there are no answers.
        """
        if not len(told):
            raise ParameterError("there are no answers; give at least one")
        seen = np.array([sum(one == level for one in told) for level in self.levels], np.float64)
        other = (1 - self.kept) / (len(self.levels) - 1)
        return (seen / len(told) - other) / (self.kept - other)


def _claimed(sensitivity: Fraction | float) -> Fraction:
    number = not isinstance(sensitivity, bool) and isinstance(sensitivity, (int, float, Fraction))
    if not number or not 0 < sensitivity <= _LARGEST or not float(sensitivity):
        raise ParameterError(
            f"``sensitivity={given(sensitivity)}``; give a finite number above 0: the most "
            "that one person can change the numbers"
        )
    return Fraction(sensitivity)


def _count(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ParameterError(f"``size={given(size)}``; give a whole number above 0")
    return size


def _grid(sensitivity: Fraction) -> Fraction:
    """Return the power of two that is ``2 ** _STEPS`` times below a sensitivity, or less."""
    exponent = math.floor(math.log2(sensitivity)) - _STEPS
    return Fraction(2) ** exponent


def _rounded(x: Any, grid: Fraction) -> list[int]:
    """Return numbers in whole steps of a grid, rounded once, from their exact values.

    A number that became a double first would be rounded twice, and above 2^53 neighbours that are
    1 apart would be 256 apart.
    """
    refusal = ParameterError("x is not numeric; give a number, or a vector of numbers")
    with withheld(lambda _: refusal):
        cells = np.atleast_1d(np.asarray(x, object))
        numbers = [_exact_number(cell) for cell in cells] if cells.ndim == 1 else []
    if not numbers or None in numbers:
        raise ParameterError(
            "x is empty, a table, or holds a value that is not a finite number; give a "
            "number, or a vector of numbers without missing values"
        )
    return [round(number / grid) for number in numbers if number is not None]


def _exact_number(value: Any) -> Fraction | None:
    """Return a number as a fraction; None if it is not finite, or no double with noise on it."""
    if isinstance(value, (np.integer, np.bool_)):
        found = Fraction(int(value))  # NumPy's own arithmetic would wrap
    elif isinstance(value, Rational):
        found = Fraction(value)
    elif not isinstance(value, (float, np.floating, Decimal)):
        raise TypeError(type(value).__name__)
    elif not math.isfinite(value):
        return None
    else:
        found = Fraction(*value.as_integer_ratio())
    return found if abs(found) <= _LARGEST else None
