"""Irrational numbers as exact decimals, rounded to the side that is asked for.

Values are computed with 50 digits or more, moved by a relative margin of 1e-20, which is far above
mpmath's error, and then rounded outwards to at least 15 significant digits.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import mpmath

from dprct.errors import ParameterError
from dprct.privacy.budget import Real, exact

if TYPE_CHECKING:
    from collections.abc import Callable

Side = Literal["up", "down"]

MARGIN = Fraction(1, 10**20)
TINIEST = Fraction(1, 10**300)
CONTEXT = mpmath.MPContext()
# mpmath keeps the working precision in its context: two threads must not share it at once.
LOCK = threading.RLock()

_DIGITS = 15


def boundary(holds: Callable[[Fraction], bool], what: str) -> tuple[Fraction, Fraction]:
    """Return close numbers (fails, holds) around the point from which on ``holds`` is true."""
    high = 1.0
    while not holds(exact(high, what)):
        high *= 2
        if high > 1e150:
            raise ParameterError(f"{what} is too extreme to convert; give a moderate one")
    low = high / 2
    while holds(exact(low, what)):
        high, low = low, low / 2
        if low < 1e-150:
            raise ParameterError(f"{what} is too extreme to convert; give a moderate one")
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if holds(exact(middle, what)):
            high = middle
        else:
            low = middle
    return exact(low, what), exact(high, what)


def probability(value: Any) -> Fraction:
    """Return min(1, value) rounded up, and never below the tiniest number."""
    if value >= 1:
        return Fraction(1)
    if value < mp(TINIEST) / 2:  # a fraction of as many digits would take minutes
        return TINIEST
    return max(rounded_off(value, "up"), TINIEST)


def rounded_off(value: Any, side: Side) -> Fraction:
    """Round a positive number outwards to 15 significant digits, within the current precision."""
    if value == 0:
        return Fraction(0)
    shift = _DIGITS - 1 - int(CONTEXT.floor(CONTEXT.log10(value)))
    scaled = value * CONTEXT.mpf(10) ** shift
    if side == "up":
        whole = int(CONTEXT.ceil(scaled * (1 + mp(MARGIN))))
    else:
        whole = int(CONTEXT.floor(scaled * (1 - mp(MARGIN))))
    return Fraction(whole) / Fraction(10) ** shift


def root(square: Fraction, rounded: Side = "up") -> Fraction:
    """Return the square root, exact where it is rational, else rounded up or down.

    Examples
    --------
    >>> root(Fraction(9, 4))
    Fraction(3, 2)
    """
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top**2 == square.numerator and bottom**2 == square.denominator:
        return Fraction(top, bottom)
    with LOCK, CONTEXT.workdps(50):
        return rounded_off(CONTEXT.sqrt(mp(square)), rounded)


def mp(value: Fraction) -> Any:
    """Return ``value`` at the current working precision."""
    return CONTEXT.mpf(value.numerator) / value.denominator


def magnitude(value: Fraction) -> int:
    """Return the number of decimal digits between ``value`` and one."""
    if not value:
        return 0
    return (abs(value.numerator.bit_length() - value.denominator.bit_length()) + 4) // 3


def positive(value: Real, name: str) -> Fraction:
    """Return ``value`` exactly; ParameterError unless it is above 0."""
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name}={float(number):g}; give a number above 0")
    return number


def at_least_zero(value: Real, name: str) -> Fraction:
    """Return ``value`` exactly; ParameterError if it is negative."""
    number = exact(value, name)
    if number < 0:
        raise ParameterError(f"{name}={float(number):g} is negative; give 0 or more")
    return number


def open_probability(delta: Real) -> Fraction:
    """Return ``delta`` exactly; ParameterError unless it is in (0, 1)."""
    number = exact(delta, "delta")
    if not 0 < number < 1:
        raise ParameterError(f"delta={float(number):g}; this conversion needs delta in (0, 1)")
    return number
