"""Every default that costs privacy or shapes noise: public functions of n and the schema."""

from __future__ import annotations

import math
from fractions import Fraction

SPURIOUS_SHARE = Fraction(1, 20)
"""Share of n that the expected rows in empty cells may reach; it sets a histogram's threshold."""

FEWEST_SURVIVORS = 5
"""A histogram that can keep fewer combinations than this (n / t) must be confirmed."""


def bins_by_zeta(n: int, zeta: float) -> int:
    """Return eta = ceil(n^zeta), the bins of a continuous column (dp_rct.txt, Algorithm 1).

    Examples
    --------
    >>> bins_by_zeta(947, 2 / 3)
    97
    """
    return math.ceil(n**zeta)
