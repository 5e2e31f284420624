"""The paper's tables: what they print, as data, and which releases each is made of."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable


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


CONFIDENTIAL = "Confidential"
AVERAGES = (1, 3, 4)
REGRESSIONS = (11, 12)
DISTRIBUTIONS = (6, 13, 14, 15, 16, 17, 18)
TIMES = 7
STEPS = 8
"""The table of GenModel's steps, outcome by outcome."""
BASE = "MV Histogram"
"""The method whose time is the unit of the others."""

DEFINITION = 2
"""The table that only defines the models of Tables 3 and 4, and is shown as that."""

IMPLEMENTED = tuple(sorted((*AVERAGES, *REGRESSIONS, *DISTRIBUTIONS, TIMES, STEPS)))
LISTS = (5, 9, 10, 19)
"""Tables that list variables and parameters."""

EVERY = tuple(sorted((*IMPLEMENTED, DEFINITION, *LISTS)))

_GENMODEL = {"GenM-1": "1", "GenM-2": "2", "GenM-9": "9"}


class Asked(NamedTuple):
    """What one group of printed numbers is compared with: releases of a method, by name."""

    study: str
    model: str
    method: str
    epsilon: str


def study_of(table: int) -> str:
    """Return the data of a table.

    Examples
    --------
    >>> study_of(1), study_of(4), study_of(13)
    ('sim1', 'sim2', 'liberia')
    """
    if table in (1, 19):
        return "sim1"
    return "sim2" if table in (DEFINITION, 3, 4) else "liberia"


def asked(table: int, panel: str, row: str, method: str) -> Asked | None:
    """Return the releases behind a printed number, None for the confidential data.

    Parameters
    ----------
    table : int
    panel, row, method : str
        As in :func:`~papers.rct.printed.printed`.

    Examples
    --------
    >>> asked(1, "", "0.5", "Hybrid")
    Asked(study='sim1', model='Table 1', method='Hybrid', epsilon='0.5')
    >>> asked(17, "Subset", "fam_asb_lt", "GenM-9")
    Asked(study='liberia', model='Subset', method='GenModel', epsilon='9')
    """
    if method == CONFIDENTIAL:
        return None
    study = study_of(table)
    if table == TIMES:
        panel = panel or row
    if table == 1:
        return Asked(study, "Table 1", method, row)
    name = "GenModel" if method in _GENMODEL else method
    return Asked(study, row if study == "sim2" else panel, name, _GENMODEL.get(method, "1"))


def releases(table: int) -> list[Asked]:
    """Return all releases that a table is made of, each once."""
    if table in (*REGRESSIONS, TIMES, STEPS, DEFINITION, *LISTS):
        return []
    page = printed(table)
    rows = zip(page["panel"], page["row"], page["method"], strict=True)
    every = (asked(table, *row) for row in dict.fromkeys(rows))
    found = (one for one in every if one is not None)
    return list(dict.fromkeys(found))


def parse_tables(text: str) -> tuple[int, ...]:
    """Return the tables that a text such as ``"1,3,11-18"`` names.

    Raises
    ------
    ParameterError
        If it is no list of numbers, or names a table that is not regenerated.

    Examples
    --------
    >>> parse_tables("1, 13-15")
    (1, 13, 14, 15)
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal()):
            raise ParameterError(
                f"--tables {text!r} is no list of numbers; write it like 1,3,4,11-18"
            )
        found += range(int(first), int(last) + 1)
    return check_tables(found)


def check_tables(tables: Iterable[int]) -> tuple[int, ...]:
    """Return the tables in order, each once; refuse those that there are none of."""
    wanted = tuple(sorted(set(tables)))
    for number in wanted:
        if number not in EVERY:
            raise ParameterError(
                f"table {number} is none of the paper's that are here; there are {_listed(EVERY)}"
            )
    if not wanted:
        raise ParameterError(f"no table is asked for; there are {_listed(EVERY)}")
    return wanted


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
