"""The declared facts of columns in words, and as a table."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from dprct.schema.columns import date_kind, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from dprct.schema.columns import Column

_DAY_ZERO = dt.datetime(1960, 1, 1)
MOST_LEVELS = 5
"""From which number of levels on only their number is written."""


def facts_in_words(column: Column) -> str:
    """What is declared of a column, in a line; empty where nothing is.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> facts_in_words(Column("y", role="outcome", bounds=(0, 10), bins=5, missing=()))
    'outcome, 0 to 10, 5 bins, never missing'
    >>> facts_in_words(Column("arm", levels=(0, 1), missing=(".a",), missing_policy="public"))
    'levels 0, 1, missing .a (public)'
    """
    return ", ".join(_words(column))


def _end(column: Column, end: float) -> str:
    """A bound as people write it: that of days or times as a date."""
    kind = date_kind(column.format)
    if kind == "d":
        return (_DAY_ZERO + dt.timedelta(days=end)).date().isoformat()
    if kind == "c":
        return (_DAY_ZERO + dt.timedelta(milliseconds=end)).isoformat(sep=" ")
    return f"{end:g}"


def _words(column: Column) -> Iterator[str]:
    if column.role is not None:
        yield column.role
    if column.bounds is not None:
        clipped = ", clipped" * column.clip
        low, high = (_end(column, end) for end in column.bounds)
        yield f"{low} to {high}{clipped}"
    if column.levels is not None:
        few = len(column.levels) <= MOST_LEVELS
        yield f"levels {_listed(column.levels)}" if few else f"{len(column.levels)} levels"
    if column.bins is not None:
        bins = column.bins
        yield f"{bins} bins" if isinstance(bins, int) else f"bins at {_listed(bins)}"
    if column.decimals is not None:
        yield f"{column.decimals} decimals"
    for name, value in (
        ("sd", column.sd),
        ("sd within", column.sd_within),
        ("mean", column.centre),
    ):
        if value is not None:
            yield f"{name} about {value:g}"
    if column.missing is not None:
        yield _missing(column)
    for words, parts in (
        ("one of", column.exclusive), ("made of", column.made_of), ("=", column.derived),
        ("built from", column.built_from),
    ):  # fmt: skip
        if parts is not None:
            yield f"{words} {parts if isinstance(parts, str) else ', '.join(parts)}"


def _missing(column: Column) -> str:
    codes = f"missing {_listed(column.missing or ())}" if column.missing else "never missing"
    policy = column.missing_policy
    return codes if policy is None else f"{codes} ({policy})"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(v if isinstance(v, str) else f"{float(v):g}" for v in values)


def facts_table(columns: Iterable[Column]) -> pd.DataFrame:
    """The declared facts, a row for each column; lists are texts, and NaN or None is nothing."""
    import pandas as pd

    rows = [
        {
            "name": c.name, "type": c.type, "label": shown(c.label), "role": c.role, "fate": c.fate,
            "low": None if c.bounds is None else float(c.bounds[0]),
            "high": None if c.bounds is None else float(c.bounds[1]),
            "levels": None if c.levels is None else _listed(c.levels),
            "missing": None if c.missing is None else _listed(c.missing),
            "missing_policy": None if c.missing_policy is None else str(c.missing_policy),
            "bins": None if c.bins is None else _bins(c.bins),
            "sd": c.sd, "centre": c.centre, "clip": c.clip,
        }
        for c in columns
    ]  # fmt: skip
    numbers = dict.fromkeys(("low", "high", "sd", "centre"), "float64")
    return pd.DataFrame(rows, columns=list(_NAMES)).astype(numbers)


_NAMES = (
    "name", "type", "label", "role", "fate", "low", "high", "levels", "missing", "missing_policy",
    "bins", "sd", "centre", "clip",
)  # fmt: skip


def _bins(bins: int | tuple[float, ...]) -> str:
    return str(bins) if isinstance(bins, int) else _listed(bins)
