"""What the paper printed, as data."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")


@cache
def _every_table() -> pd.DataFrame:
    file = resources.files(__package__).joinpath("printed.csv")
    with file.open(encoding="utf-8") as lines:
        frame = pd.read_csv(lines, comment="#", dtype=str, keep_default_na=False)
    found = frame["printed"].str.extract(r"(-?\d+(?:\.(?P<after>\d+))?)")
    frame["value"] = found[0].astype(float)
    frame["decimals"] = found["after"].fillna("").str.len().astype(int)
    # some pages drop zeros at the end: 0 and -0.4 stand for 0.00 and -0.40
    frame["decimals"] = frame.groupby("table")["decimals"].transform("max")
    return frame.astype({"table": int})


def printed(table: int) -> pd.DataFrame:
    """Return the printed numbers of a table, one per row.

    Parameters
    ----------
    table : int

    Returns
    -------
    DataFrame
        ``panel``, ``row``, ``method``, ``arm`` and ``measure`` name a number; ``printed`` is its
        text, with brackets and stars, ``value`` the number, ``decimals`` how many of them the
        page has.

    References
    ----------
    "Assessing Utility of Differential Privacy for RCTs", Tables 1, 3, 4, 6 to 8, 11 to 18.

    Examples
    --------
    >>> first = printed(1).iloc[0]
    >>> first["row"], first["method"], first["measure"], first["printed"]
    ('5000', 'MV Histogram', 'tau', '5.21')
    """
    every = _every_table()
    return every[every["table"] == table].drop(columns="table").reset_index(drop=True)


def records(numbers: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a comparison as mappings."""
    names = [str(name) for name in numbers.columns]
    return [dict(zip(names, row, strict=True)) for row in numbers.itertuples(index=False)]


def tables() -> tuple[int, ...]:
    """Return the numbers of the tables whose printed values are here."""
    return tuple(int(number) for number in sorted(set(_every_table()["table"])))


def as_printed(value: float, decimals: int) -> str:
    """Return a number with as many decimals as the page has; minus zero is zero.

    Examples
    --------
    >>> as_printed(-0.001, 2), as_printed(1.2345, 3)
    ('0.00', '1.234')
    """
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


def number_in(text: str) -> str:
    """Return the number of a printed cell without brackets and stars.

    Examples
    --------
    >>> number_in("[0.097]*")
    '0.097'
    """
    found = _NUMBER.search(text)
    return "" if found is None else found[0]
