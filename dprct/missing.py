"""Stata's 27 missing codes, carried by an ordinary double; what other systems' become.

``.`` is a plain NaN; ``.a`` to ``.z`` put their letter into bits 32 to 39 of the payload, where
R's haven puts its tagged missing values.  The payload lives in NumPy memory only: Polars, DuckDB,
parquet and pandas' grouping merge or destroy it, so it is read with a NumPy view, here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

MISSING_CODES: tuple[str, ...] = (".", *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"))
"""The missing codes in Stata's order; the index of a code is its number (0 to 26)."""

_NA_REAL = np.uint64(0x7FF8_0000_0000_07A2)
_TAG_SHIFT = np.uint64(32)
_TAG_MASK = np.uint64(0xFF)
_BEFORE_A = 96


def code_number(code: str) -> int:
    """Return the number of a missing code, 0 for ``"."`` to 26 for ``".z"``.

    Examples
    --------
    >>> code_number(".b")
    2
    """
    if code not in MISSING_CODES:
        raise ParameterError(f"missing code {code!r}; allowed: '.' and '.a' to '.z'")
    return MISSING_CODES.index(code)


def tagged(numbers: ArrayLike) -> NDArray[np.float64]:
    """Return NaNs that carry the missing codes ``numbers`` (0 is ``.``, 26 is ``.z``).

    Examples
    --------
    >>> missing_numbers(tagged([0, 1, 26])).tolist()
    [0, 1, 26]
    """
    k = np.asarray(numbers, np.uint64)
    tag = np.where(k > 0, k + np.uint64(_BEFORE_A), np.uint64(0)) << _TAG_SHIFT
    out: NDArray[np.float64] = (_NA_REAL | tag).view(np.float64)
    return out


def missing_numbers(values: ArrayLike) -> NDArray[np.int8]:
    """Return -1 where ``values`` is a number, else the number of its missing code.

    A NaN that carries no letter is ``.`` (0).

    Examples
    --------
    >>> missing_numbers([1.5, float("nan")]).tolist()
    [-1, 0]
    """
    x = np.ascontiguousarray(values, np.float64)
    tag = ((x.view(np.uint64) >> _TAG_SHIFT) & _TAG_MASK).astype(np.int16) - _BEFORE_A
    letter = np.where((tag >= 1) & (tag <= 26), tag, 0)
    return np.where(np.isnan(x), letter, -1).astype(np.int8)


_MOST = len(MISSING_CODES) - 1
"""Letters."""


@dataclass(frozen=True)
class Recoding:
    """Which values become which missing code."""

    # (low, high): the k-th interval, both ends included, becomes the k-th letter; the first that
    # fits counts.
    rules: tuple[tuple[float, float], ...] = ()
    merged: bool = False  # whether a code stands for several values

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
    """Recoding of a column's user-missing values; it depends on the header only.

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
