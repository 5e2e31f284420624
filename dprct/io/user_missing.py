"""User-missing values of SPSS as Stata's missing codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.missing import MISSING_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

_MOST = len(MISSING_CODES) - 1


@dataclass(frozen=True, slots=True)
class Recoding:
    """Which values become which missing code.

    Parameters
    ----------
    rules : tuple of (low, high)
        The k-th interval, both ends included, becomes the k-th letter; the first that fits counts.
    merged : bool
        Whether a code stands for several values.
    """

    rules: tuple[tuple[float, float], ...] = ()
    merged: bool = False

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return the numbers of the missing codes of ``values`` (n,); -1 where none applies."""
        out = np.full(len(values), -1, np.int8)
        for number, (low, high) in enumerate(self.rules, start=1):
            out[(out < 0) & (values >= low) & (values <= high)] = number
        return out

    def __str__(self) -> str:
        return "; ".join(
            f"{MISSING_CODES[number]} = {low:g}" + (f" to {high:g}" if high > low else "")
            for number, (low, high) in enumerate(self.rules, start=1)
        )


def recoding_of(ranges: Iterable[Mapping[str, Any]], labels: Mapping[Any, str]) -> Recoding:
    """Return the recoding of a column's user-missing values; it depends on the header only.

    Parameters
    ----------
    ranges : iterable of {"lo": float, "hi": float}
        The declared user-missing values; a single value has both ends equal.
    labels : mapping of float to str
        The value labels of the column.

    Returns
    -------
    Recoding
        Single values and the labelled values of an interval get a letter each, in ascending
        order; then each interval gets one for all its other values.  Values beyond the 26th
        letter share it.

    Examples
    --------
    >>> str(recoding_of([{"lo": -99.0, "hi": -90.0}, {"lo": 98.0, "hi": 98.0}], {-97.0: "refused"}))
    '.a = -97; .b = 98; .c = -99 to -90'
    """
    ends = sorted((float(r["lo"]), float(r["hi"])) for r in ranges)
    intervals = [(low, high) for low, high in ends if low < high]
    single = {low for low, high in ends if low == high}
    numbers = [float(value) for value in labels if not isinstance(value, str)]
    single |= {x for x in numbers for low, high in intervals if low <= x <= high}
    rules = [*((x, x) for x in sorted(single)), *intervals]
    if len(rules) > _MOST:
        tail = rules[_MOST - 1 :]
        rules = [*rules[: _MOST - 1], (min(low for low, _ in tail), max(h for _, h in tail))]
    return Recoding(tuple(rules), merged=bool(intervals) or len(single) > _MOST)
