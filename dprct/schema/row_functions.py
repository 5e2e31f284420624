"""Functions of several columns of one row, and of dates, as Stata has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]


def _where(condition: Array, value: Array, other: Array | float = np.nan) -> Array:
    """Value where a condition holds, the other elsewhere; missing where that is not known."""
    chosen = np.where(condition != 0, value, other)
    return np.where(np.isnan(condition), np.nan, chosen)


def _across(combine: Callable[[Array, Array], Array], empty: float) -> Callable[..., Array]:
    """Return a function of several columns that passes over missing values, as Stata's egen."""

    def run(*columns: Array) -> Array:
        found = np.full(np.broadcast_shapes(*(x.shape for x in columns)), empty)
        for x in columns:
            both = np.where(np.isnan(found), x, combine(found, x))
            found = np.where(np.isnan(x), found, both)
        return found

    return run


_row_total = _across(np.add, 0.0)


def _row_present(*columns: Array) -> Array:
    return _row_total(*(np.where(np.isnan(x), 0.0, 1.0) for x in columns))


def _row_mean(*columns: Array) -> Array:
    return np.divide(_row_total(*columns), _row_present(*columns))


def _date_part(part: int) -> Callable[[Array], Array]:
    """Return the year, month or day of a date of Stata, which counts days since 1960."""

    def run(days: Array) -> Array:
        known = np.abs(days) < _MOST_DAYS
        whole = np.where(known, np.floor(days), 0.0).astype("timedelta64[D]")
        date = np.datetime64("1960-01-01", "D") + whole
        months = date.astype("datetime64[M]")
        values = (
            date.astype("datetime64[Y]").astype(np.int64) + 1970,
            months.astype(np.int64) % 12 + 1,
            (date - months.astype("datetime64[D]")).astype(np.int64) + 1,
        )
        return np.where(known, values[part].astype(np.float64), np.nan)

    return run


_MOST_DAYS = 2_900_000
ROW_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "where": _where,
    "rowmin": _across(np.minimum, np.nan),
    "rowmax": _across(np.maximum, np.nan),
    "rowtotal": _row_total,
    "rowmean": _row_mean,
    "rownonmiss": _row_present,
    "year": _date_part(0),
    "month": _date_part(1),
    "day": _date_part(2),
}
"""What the columns that a study makes have besides arithmetic: each value from its own row."""
