"""Epsilon and delta as exact numbers, so that ten tenths are one."""

from __future__ import annotations

import math
import numbers
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.arguments import checked
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

Real = int | float | Decimal | Fraction

_MOST_BITS = 4000
"""Of the denominator of a number that is written down."""


def exact(value: object, name: str) -> Fraction:
    """Return the decimal number that ``value`` spells, exactly (0.1 is one tenth).

    Raises
    ------
    ParameterError
        If ``value`` is not a finite number.

    Examples
    --------
    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        such = (
            "0, or a number far below 1/n" if name == "delta" else "a positive number such as 1.0"
        )
        raise ParameterError(f"{name} is {type(value).__name__}; give {such}")
    if isinstance(value, (Fraction, Decimal, numbers.Integral)):
        if isinstance(value, Decimal) and not value.is_finite():
            raise ParameterError(f"{name}={value} is not finite; give a finite number")
        number = Fraction(int(value) if isinstance(value, numbers.Integral) else value)
        if abs(number) > sys.float_info.max:
            raise ParameterError(f"{name} is above {sys.float_info.max:g}; give a smaller number")
        return number
    if not math.isfinite(float(value)):
        raise ParameterError(f"{name}={float(value)} is not finite; give a finite number")
    return Fraction(repr(float(value)))


def spelled(value: Fraction) -> str:
    """Return a fraction as text that ``Fraction`` reads back exactly, a decimal where it is one.

    Examples
    --------
    >>> spelled(Fraction(1, 10)), spelled(Fraction(1, 3))
    ('0.1', '1/3')
    """
    as_float = float(value)
    if Fraction(repr(as_float)) == value:
        return repr(as_float)
    if value.denominator.bit_length() > _MOST_BITS:
        raise ParameterError("a number has over a thousand digits; give one that is shorter")
    return str(value)


@checked
@dataclass(frozen=True, slots=True)
class Budget:
    """A privacy budget (epsilon, delta) in exact arithmetic.

    Parameters
    ----------
    epsilon : number
        At least 0.  A float is read as the decimal that it prints.
    delta : number, default 0
        In [0, 1); 0 is pure differential privacy.

    Raises
    ------
    ParameterError
        If a number is negative, not finite, not a number, or ``delta`` is 1 or more.

    Examples
    --------
    >>> sum([Budget(0.1)] * 10, Budget(0)) == Budget(1)
    True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        eps, dlt = exact(epsilon, "epsilon"), exact(delta, "delta")
        if eps < 0:
            raise ParameterError(f"epsilon={float(eps):g} is negative; give epsilon > 0")
        if not 0 <= dlt < 1:
            raise ParameterError(
                f"delta={float(dlt):g} is outside [0, 1); give 0 for pure privacy, or far below 1/n"
            )
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)

    @classmethod
    def asked(cls, epsilon: Real, delta: Real = 0) -> Budget:
        """Return the budget that a user wants to spend, for which epsilon must be above 0."""
        budget = cls(epsilon, delta)
        if budget.epsilon == 0:
            raise ParameterError("epsilon=0 allows no release at all; give epsilon > 0")
        return budget

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.epsilon + other.epsilon, self.delta + other.delta)

    def fits(self, total: Budget) -> bool:
        """Whether this budget is covered by ``total`` in both epsilon and delta."""
        return self.epsilon <= total.epsilon and self.delta <= total.delta

    def split(self, shares: Sequence[Real]) -> tuple[Budget, ...]:
        """Divide the budget by ``shares``, which must sum to one exactly.

        Examples
        --------
        >>> [str(part) for part in Budget(1).split([0.67, 0.28, 0.05])]
        ['epsilon=0.67', 'epsilon=0.28', 'epsilon=0.05']
        """
        parts = [exact(share, "share") for share in shares]
        if any(part <= 0 for part in parts) or sum(parts) != 1:
            raise ParameterError("shares of a budget must be positive and sum to one exactly")
        return tuple(Budget(self.epsilon * part, self.delta * part) for part in parts)

    def __str__(self) -> str:
        text = f"epsilon={float(self.epsilon):g}"
        return text + (f", delta={float(self.delta):g}" if self.delta else "")
