"""Every default that costs privacy or shapes noise: public functions of n and the schema."""

from __future__ import annotations

import math
from fractions import Fraction

from dprct.errors import ParameterError

SPURIOUS_SHARE = Fraction(1, 20)
"""Share of n that the expected rows in empty cells may reach; it sets a histogram's threshold."""

FEWEST_SURVIVORS = 5
"""A histogram that can keep fewer combinations than this (n / t) must be confirmed."""

TWO_ARM_SHARES = (Fraction(67, 100), Fraction(28, 100), Fraction(5, 100))
"""Shares of epsilon for an effect, its variance and the control mean (ALGORITHMS.md, section 4)."""

MANY_ARM_SHARES = (Fraction(7, 10), Fraction(3, 10))
"""Shares of epsilon for arm means and for their variances."""

VALID_LEVELS = (0.05,)
"""Sizes of tests at which a standard error times z is an interval that covers."""


def bins_by_zeta(n: int, zeta: float) -> int:
    """Return eta = ceil(n^zeta), the bins of a continuous column (dp_rct.txt, Algorithm 1).

    Raises
    ------
    ParameterError
        If ``zeta`` is not between 0 and 1.

    Examples
    --------
    >>> bins_by_zeta(947, 2 / 3)
    97
    """
    if isinstance(zeta, bool) or not isinstance(zeta, (int, float)) or not 0 < zeta < 1:
        raise ParameterError(f"zeta={zeta!r}; give a number between 0 and 1, such as 2/3")
    return math.ceil(math.pow(n, zeta))
