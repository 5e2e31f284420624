"""Roots of functions of one number; ``scipy.optimize`` takes longer to import than to find them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_RELATIVE, _MOST = 2.0**-50, 100


def root(of: Callable[[float], float], low: float, high: float, tolerance: float = 2e-12) -> float:
    """Return where a function that changes its sign between two ends is zero.

    References
    ----------
    Brent (1973), Algorithms for Minimization without Derivatives, chapter 4.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    last, x, other = low, high, 0.0  # the root lies between x, the best so far, and other
    f_last, f, f_other = of(last), of(x), 0.0
    if not f_last or not f:
        return x if f_last else last
    if not f_last * f < 0:
        raise ValueError("the function has the same sign at both ends, or no value")
    step = before = 0.0
    for _ in range(_MOST):
        if f and f_last * f < 0:
            other, f_other = last, f_last
            step = before = x - last
        if abs(f_other) < abs(f):
            last, x, other = x, other, x
            f_last, f, f_other = f, f_other, f
        close, half = (tolerance + _RELATIVE * abs(x)) / 2, (other - x) / 2
        if not f or abs(half) < close:
            return x
        nearer = abs(f) < abs(f_last) and abs(before) > close
        tried = _step((x, f), (last, f_last), (other, f_other)) if nearer else math.inf
        if 2 * abs(tried) < min(abs(before), 3 * abs(half) - close):
            before, step = step, tried
        else:
            before = step = half
        last, f_last = x, f
        x += step if abs(step) > close else math.copysign(close, half)
        f = of(x)
    raise ValueError("no root was found in 100 steps")


Point = tuple[float, float]


def _step(here: Point, last: Point, other: Point) -> float:
    """Step to the zero of a line through two points, or of the inverse quadratic through three."""
    (x, f), (x_last, f_last), (x_other, f_other) = here, last, other
    if x_last == x_other:
        return -f * (x - x_last) / (f - f_last)
    near, far = (f_last - f) / (x_last - x), (f_other - f) / (x_other - x)
    beneath = far * near * (f_other - f_last)
    return -f * (f_other * far - f_last * near) / beneath if beneath else math.inf
