"""Which releases each table is made of."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from dprct.errors import ParameterError
from papers.rct.printed import printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONFIDENTIAL = "Confidential"
AVERAGES = (1, 3, 4)
REGRESSIONS = (11, 12)
DISTRIBUTIONS = (6, 13, 14, 15, 16, 17, 18)
TIMES = 7
STEPS = 8
"""The table of GenModel's steps, outcome by outcome."""
BASE = "MV Histogram"
"""The method whose time is the unit of the others."""

IMPLEMENTED = tuple(sorted((*AVERAGES, *REGRESSIONS, *DISTRIBUTIONS, TIMES, STEPS)))

WITHOUT: Mapping[int, str] = MappingProxyType(
    {
        2: "which only defines the models of Tables 3 and 4",
        5: "which only lists variables",
        9: "which only lists variables",
        10: "which only lists variables",
        19: "which only lists parameters",
    }
)
"""Tables that are not regenerated, and why not."""

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
    if table == 1:
        return "sim1"
    return "sim2" if table in (3, 4) else "liberia"


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
    if table in (*REGRESSIONS, TIMES, STEPS):
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
    """Return the tables in order, each once; refuse those that are not regenerated."""
    wanted = tuple(sorted(set(tables)))
    for number in wanted:
        if number not in IMPLEMENTED:
            raise ParameterError(
                f"table {number}{_why_not(number)} is not regenerated; there are "
                f"{_listed(IMPLEMENTED)}"
            )
    if not wanted:
        raise ParameterError(f"no table is asked for; there are {_listed(IMPLEMENTED)}")
    return wanted


def _why_not(number: int) -> str:
    return f", {WITHOUT[number]}," if number in WITHOUT else ""


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
