"""expected.csv: the numbers of the declared tables on the protected file, and whether they hold."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import DprctError, FileError, StudyError
from dprct.study.declared_tables import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

HEADER = ("study", *PLACE, "value")
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""How far a recomputed number may be off: linear algebra differs between machines."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A number that is not what ``expected.csv`` says.

    Parameters
    ----------
    place : str
        Table, covariate set, outcome, arm and statistic.
    expected, found : float or None
        None where one side does not have the number.
    """

    place: str
    expected: float | None
    found: float | None

    def __str__(self) -> str:
        return f"{self.place}: expected {_said(self.expected)}, found {_said(self.found)}"


def written(study: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return ``expected.csv`` of a study (its dataset id) as text.

    Examples
    --------
    >>> entry = dict(table="t", covariates="", outcome="y", arm="a", statistic="estimate", value=.1)
    >>> print(written("liberia", [entry]).splitlines()[1])
    liberia,t,,y,a,estimate,0.1
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEADER)
    rows.writerows(
        [study, *(entry[key] for key in PLACE), repr(float(entry["value"]))] for entry in entries
    )
    return text.getvalue()


def mismatches(
    path: Path, study: str, entries: Iterable[Mapping[str, Any]]
) -> tuple[Mismatch, ...]:
    """Return the numbers that differ from ``expected.csv``, or are on one side only.

    Raises
    ------
    FileError
        If the file cannot be read.
    StudyError
        If it is no ``expected.csv``, or one of another study.
    """
    expected = _read(path, study)
    found = {tuple(str(entry[key]) for key in PLACE): float(entry["value"]) for entry in entries}
    return tuple(
        Mismatch(" / ".join(part for part in place if part), expected.get(place), found.get(place))
        for place in dict.fromkeys([*expected, *found])
        if not _same(expected.get(place), found.get(place))
    )


def belongs_to(path: Path, study: str) -> bool:
    """Whether a file is an ``expected.csv`` of this study, edited or not."""
    try:
        return all(row[0] == study for row in _rows(path))
    except DprctError:
        return False


def _rows(path: Path) -> list[list[str]]:
    """Return the rows below the header."""
    try:
        text = disk.content(path, disk.MOST_JSON).decode("utf-8-sig")  # a spreadsheet may mark it
    except (OSError, UnicodeDecodeError):
        raise FileError(f"cannot read {path.name!r}; give the expected.csv of this study") from None
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        rows = []
    if not rows or tuple(rows[0]) != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise StudyError(
            f"{path.name!r} is not an expected.csv: its columns must be {', '.join(HEADER)}; "
            "dprct protect writes it"
        )
    return rows[1:]


def _read(path: Path, study: str) -> dict[tuple[str, ...], float]:
    rows = _rows(path)
    others = {row[0] for row in rows} - {study}
    if others:
        raise StudyError(
            f"{path.name!r} is of study {sorted(others)[0]!r}, this study is {study!r}; "
            "give the expected.csv that was written with this study's protected file"
        )
    try:
        numbers = {tuple(row[1:-1]): float(row[-1]) for row in rows}
    except ValueError:
        raise StudyError(
            f"{path.name!r} has a value that is not a number: it was edited; take the file that "
            "dprct protect wrote"
        ) from None
    if len(numbers) < len(rows):
        raise StudyError(
            f"{path.name!r} has a number twice: it was edited; take the file that dprct protect "
            "wrote"
        )
    return numbers


def _same(expected: float | None, found: float | None) -> bool:
    if expected is None or found is None:
        return False
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _said(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.9g}"
