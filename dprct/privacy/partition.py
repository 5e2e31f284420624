"""A part of the rows, uniform among all parts of its size, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.noise import NoiseSource

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
