"""Rows as a study makes them of those of its files: rounds, waves, and means of groups.

Of each step it is a unit's own rows alone that decide on what becomes of them, so that two
neighbouring tables stay neighbours; who the unit is, and how many rows it may have, are public:

- ``append`` puts the rows of a second file below those of the first.  A unit has its rows of both,
  and ``max_rows`` bounds their sum, as it bounds the rows of any table.
- ``reshape = "long"`` makes of each row one for each declared wave, under the same id.  A unit of
  r rows has r times as many as there are waves.
- ``reshape = "wide"`` makes of all rows of an id one: its first row gives what does not vary, and
  its first row of each declared wave what does.  Later ones are left out, and nothing says so.
- ``collapse`` makes of all rows of a group one.  The unit is then the group: whatever becomes of
  any of its rows moves this one row, which is replaced as a whole.  People are protected with it.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping  # noqa: TC003 - read for the keys of a section
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.dofile.memory import Restacked
from dprct.errors import ColumnError, FileError, StudyError
from dprct.io.stata import read_dta
from dprct.lazy import pandas as pd
from dprct.missing import missing_numbers, tagged
from dprct.records import dataclass
from dprct.schema.columns import Column
from dprct.schema.schema import Schema
from dprct.study.sections import Names  # noqa: TC001 - read for the keys of a section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.schema.columns import Unit

_WIDTH = {name: n for n, name in enumerate(("byte", "int", "long", "float", "double"))}


def _sum(values: Sequence[float]) -> float:
    """Return the sum, or the largest double where it is beyond: no value stops the program."""
    try:
        return math.fsum(values)
    except OverflowError:
        total, most = math.fsum(value / 2.0**40 for value in values) * 2.0**40, sys.float_info.max
        return max(-most, min(total, most))


STATISTICS: Mapping[str, Callable[[list[float]], float]] = {
    "mean": lambda values: _sum(values) / len(values),
    "sum": _sum,
    "count": len,
    "median": statistics.median,
    "max": max,
    "min": min,
}
"""Of the values of a group that are there; a sum and a count of none are 0."""
_OF_NONE = {"sum": 0.0, "count": 0.0}


@dataclass(frozen=True)
class Append:
    """A second confidential file about the same people, whose rows go below those of the data.

    Parameters
    ----------
    append : str
        The file, a .dta file next to the confidential one. What it lacks is missing in its rows,
        and what the data lack is missing in theirs. ``[unit] max_rows`` counts the rows of
        somebody in all files together.
    generate : str
        As in Stata: a column that is 0 in the rows of the data and 1 in those of this file.
    """

    append: str
    generate: str = ""

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"[[prepare]] append = {self.append!r}"

    @property
    def command(self) -> str:
        """It as Stata has it."""
        return f"append using {self.append.rpartition('/')[2]}"

    def check(self, unit: Unit) -> None:
        """Refuse a unit that does not hold somebody's rows of both files."""
        if unit.id is None:
            raise StudyError(
                f"{self.where}: somebody may have rows in both files; write [unit] id, and "
                "max_rows, the most that one has in all files together (1 if nobody is in two)"
            )

    def said(self, unit: Unit) -> str:
        """What becomes of the unit, in words."""
        rows = f"up to {unit.max_rows} rows" if unit.max_rows > 1 else "one row"
        return (
            f"a {unit.name} is known by {unit.id} and has {rows} in all files together, which are "
            "protected together"
        )

    def header(self, header: Schema, home: Path) -> Schema:
        """Return the header of the data with the rows of the file."""
        other = Schema.from_dta(home / self.append)
        known = {one.name: one for one in other.columns}
        first = tuple(self._both(one, known.get(one.name)) for one in header.columns)
        more = tuple(_lacking(one) for one in other.columns if one.name not in header.names)
        if self.generate:
            if self.generate in (*header.names, *known):
                raise StudyError(
                    f"{self.where}: the data have {self.generate!r} already; give another name"
                )
            which = Column(self.generate, "byte", levels=(0.0, 1.0), missing=(), integer=True)
            more += (replace(which, confirmed=True, built_from="own"),)
        rows = None
        if header.file.rows is not None and other.file.rows is not None:
            rows = header.file.rows + other.file.rows
        return _changed(header, (*first, *more), rows)

    def _both(self, one: Column, other: Column | None) -> Column:
        if other is None:
            return _lacking(one)
        return replace(one, type=_widest([one, other], self.where))

    def rows(self, data: pd.DataFrame, home: Path) -> pd.DataFrame:
        """Return the rows of the data and, below them, those of the file."""
        other, _ = read_dta(home / self.append)
        found = {}
        for name in (*data.columns, *(name for name in other.columns if name not in data.columns)):
            like = data[name] if name in data.columns else other[name]
            parts = [
                part[name].to_numpy() if name in part.columns else _nothing(like, len(part))
                for part in (data, other)
            ]
            found[name] = np.concatenate(parts)
        if self.generate:
            found[self.generate] = np.repeat([0.0, 1.0], [len(data), len(other)])
        return pd.DataFrame(found)


@dataclass(frozen=True)
class Reshape:
    """Waves of the same people, from columns to rows or from rows to columns.

    Parameters
    ----------
    reshape : {"long", "wide"}
        As in Stata. Long: a row for each row and wave, ``y`` of ``y1`` and ``y2``. Wide: a row for
        each id, ``y1`` and ``y2`` of ``y``; of several rows of an id and wave the first is taken,
        in the order of the file, and what does not vary is that of the first row of the id.
    columns : tuple of str
        Those that vary by wave, without the wave's number: ``["y"]``.
    id : str
        The column that says who a row is about, that of ``[unit] id``. Where the data of a long
        one have no such column, it numbers their rows; not where a file is appended.
    wave : str
        The column of the wave's number.
    waves : tuple of float
        The numbers of all waves, which are public; rows of others are left out.
    """

    reshape: Literal["long", "wide"]
    columns: tuple[str, ...]
    id: str
    wave: str
    waves: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.columns or not self.waves or len({*self.waves}) < len(self.waves):
            raise StudyError(
                f"{self.where}: name the columns that vary, and each wave once: "
                'columns = ["y"], waves = [1, 2]'
            )

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"[[prepare]] reshape = {self.reshape!r}"

    @property
    def command(self) -> str:
        """It as Stata has it."""
        return f"reshape {self.reshape} {' '.join(self.columns)}, i({self.id}) j({self.wave})"

    def of_wave(self, name: str, wave: float) -> str:
        """Name of a column of a wave."""
        return f"{name}{wave:g}"

    @property
    def varying(self) -> dict[str, str]:
        """The column of each wave, with the one of all waves."""
        return {self.of_wave(name, wave): name for name in self.columns for wave in self.waves}

    def check(self, unit: Unit) -> None:
        """Refuse a unit that does not hold somebody's rows of all waves."""
        waves = len(self.waves)
        if unit.id != self.id:
            raise StudyError(f'{self.where}: the rows of one {self.id!r} are protected together; '
                             f'write [unit] id = "{self.id}"')  # fmt: skip
        if self.reshape == "long" and unit.max_rows < waves:
            raise StudyError(
                f"{self.where} makes {waves} rows of each; write max_rows = {waves} in [unit], or "
                "as many times that as somebody has rows in the file"
            )

    def said(self, unit: Unit) -> str:
        """What becomes of the unit, in words."""
        waves = " ".join(f"{wave:g}" for wave in self.waves)
        if self.reshape == "long":
            return (
                f"each row becomes {len(self.waves)} of the same {unit.name}, of waves {waves}; up "
                f"to {unit.max_rows} rows of a {unit.name} are protected together"
            )
        return (
            f"all rows of a {unit.name} become one, of waves {waves}, with the first row of each; "
            f"this one row is that {unit.name}"
        )

    def check_numbers(self, header: Schema, others: Iterable[object]) -> None:
        """Refuse to number the rows of several files, in which somebody would have two numbers."""
        several = any(isinstance(one, Append) for one in others)
        if several and self.reshape == "long" and self.id not in header.names:
            raise StudyError(
                f"{self.where} would number the rows, because the data have no {self.id!r}, and "
                "somebody who is in two files would be protected as two; add the column to both"
            )

    def header(self, header: Schema, home: Path) -> Schema:
        """Return the header after the rows were reshaped."""
        return self._long(header) if self.reshape == "long" else self._wide(header)

    def _long(self, header: Schema) -> Schema:
        found = {name: [n for n in header.names if self.varying.get(n) == name]
                 for name in self.columns}  # fmt: skip
        for name, there in found.items():
            if not there:
                raise StudyError(
                    f"{self.where}: the data have no column of {name!r} and a wave, such as "
                    f"{self.of_wave(name, self.waves[0])!r}"
                )
            other = [n for n in header.names if n not in there and n.startswith(name)
                     and n.removeprefix(name).isdecimal()]  # fmt: skip
            if other:
                raise StudyError(
                    f"{self.where}: the data have {other[0]!r}, too, which Stata takes for a wave; "
                    "add it to waves, or rename it"
                )
        made = [self.wave, *self.columns]
        if taken := [name for name in made if name in header.names]:
            raise StudyError(f"{self.where} makes {taken[0]!r}, which the data have already")
        kept = [one for one in header.columns if one.name not in self.varying]
        if self.id not in header.names:
            own = Column(self.id, "double", integer=True, missing=(), built_from="own")
            kept.insert(0, replace(own, confirmed=True))
        levels = tuple(map(float, self.waves))
        wave = Column(self.wave, "double", levels=levels, missing=(), built_from="own")
        kept.append(replace(wave, integer=all(x.is_integer() for x in levels), confirmed=True))
        for name, there in found.items():
            parts = [header.column(one) for one in there]
            one = replace(parts[0], name=name, type=_widest(parts, self.where))
            kept.append(one if len(there) == len(self.waves) else _lacking(one))
        rows = header.file.rows
        return _changed(header, kept, None if rows is None else rows * len(self.waves))

    def _wide(self, header: Schema) -> Schema:
        for name in (self.id, self.wave, *self.columns):
            if name not in header.names:
                known = ColumnError.unknown(name, header.names, "the data")
                raise StudyError(f"{self.where}: {known}")
        if header.column(self.wave).is_text:
            raise StudyError(f"{self.where}: {self.wave!r} is text; give waves as numbers")
        if taken := [name for name in self.varying if name in header.names]:
            raise StudyError(f"{self.where} makes {taken[0]!r}, which the data have already")
        kept = [one for one in header.columns if one.name not in (self.wave, *self.columns)]
        kept += [_lacking(replace(header.column(name), name=wide))
                 for wide, name in self.varying.items()]  # fmt: skip
        return _changed(header, kept, None)

    def rows(self, data: pd.DataFrame, home: Path) -> pd.DataFrame:
        """Return the reshaped rows."""
        return self._rows_long(data) if self.reshape == "long" else self._rows_wide(data)

    def _rows_long(self, data: pd.DataFrame) -> pd.DataFrame:
        w, n = len(self.waves), len(data)
        found = {} if self.id in data.columns else {self.id: np.repeat(np.arange(1.0, n + 1), w)}
        kept = [name for name in data.columns if name not in self.varying]
        found |= {name: np.repeat(data[name].to_numpy(), w) for name in kept}
        found[self.wave] = np.tile(np.array(self.waves, np.float64), n)
        for name in self.columns:
            wide = [self.of_wave(name, wave) for wave in self.waves]
            like = next(data[one] for one in wide if one in data.columns)
            parts = [data[one].to_numpy() if one in data.columns else _nothing(like, n)
                     for one in wide]  # fmt: skip
            found[name] = np.stack(parts, axis=1).reshape(-1)
        return pd.DataFrame(found)

    def _rows_wide(self, data: pd.DataFrame) -> pd.DataFrame:
        whose = _whose(data[self.id])
        size = int(whose.max()) + 1 if len(whose) else 0
        last_to_first = np.arange(len(data))[::-1]
        first = np.zeros(size, np.intp)
        first[whose[last_to_first]] = last_to_first  # of equal places the last written one stays
        found = {
            name: data[name].to_numpy()[first]
            for name in data.columns
            if name not in (self.wave, *self.columns)
        }
        number = data[self.wave].to_numpy(np.float64)
        at = {}
        for wave in self.waves:
            place = np.full(size, -1, np.intp)
            here = last_to_first[number[last_to_first] == wave]
            place[whose[here]] = here
            at[wave] = place
        for name in self.columns:
            for wave in self.waves:
                values = np.append(data[name].to_numpy(), _nothing(data[name], 1))
                found[self.of_wave(name, wave)] = values[at[wave]]
        return pd.DataFrame(found)


@dataclass(frozen=True)
class Collapse:
    """One row for each group of rows, such as the means of each village; the group is protected.

    Parameters
    ----------
    collapse : mapping of str to str
        What is computed, by the name that it gets: ``{y = "mean", most = "max y"}``. Of ``mean
        sum count median max min``; without a column it is of that of the same name.
    by : str or tuple of str
        The columns of the groups, which are public. That of ``[unit] id`` is one of them: all
        people of a group are protected together, as the one row that they become.
    """

    collapse: Mapping[str, str]
    by: Names

    def __post_init__(self) -> None:
        if not self.collapse or not self.keys:
            raise StudyError(
                f'{self.where} computes nothing; write collapse = {{y = "mean"}}, by = "village"'
            )
        for name, (how, old) in self.asked.items():
            if how not in STATISTICS or not (name.isidentifier() and old.isidentifier()):
                raise StudyError(
                    f"{self.where}: {name} = {self.collapse[name]!r}; give one of "
                    f'{" ".join(STATISTICS)}, and a column if it has another name: "mean income"'
                )

    @property
    def asked(self) -> dict[str, tuple[str, str]]:
        """What is computed of which column, by the name that it gets."""
        split = {name: text.strip().partition(" ") for name, text in self.collapse.items()}
        return {name: (how, old.strip() or name) for name, (how, _, old) in split.items()}

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the groups."""
        return (self.by,) if isinstance(self.by, str) else self.by

    @property
    def where(self) -> str:
        """What messages call it."""
        return "[[prepare]] collapse"

    @property
    def parts(self) -> tuple[str, ...]:
        """What is computed, each as ``statistic new=old``."""
        return tuple(f"{how} {name}={old}" for name, (how, old) in self.asked.items())

    @property
    def command(self) -> str:
        """It as Stata has it."""
        listed = " ".join(f"({how}) {name}={old}" for name, (how, old) in self.asked.items())
        return f"collapse {listed}, by({' '.join(self.keys)})"

    def check(self, unit: Unit) -> None:
        """Refuse a unit that is not the group."""
        if unit.name == "person" or unit.id not in self.keys:
            raise StudyError(
                f"{self.where}: each person in a group moves its mean, so that the group is "
                f'protected as a whole; write [unit] name = "{self.keys[0]}", id = '
                f'"{self.keys[0]}"; or regress on rows, with errors clustered by it'
            )

    def said(self, unit: Unit) -> str:
        """What becomes of the unit, in words."""
        return (
            f"all rows of a {unit.name} become its own row, and a {unit.name} is protected as a "
            f"whole, with all of its people; a person with rows in k of them is protected k times "
            "as weakly"
        )

    def header(self, header: Schema, home: Path) -> Schema:
        """Return the header after the rows were collapsed."""
        for name in (*self.keys, *(old for _, old in self.asked.values())):
            if name not in header.names:
                known = ColumnError.unknown(name, header.names, "the data")
                raise StudyError(f"{self.where}: {known}")
        kept = [header.column(name) for name in self.keys]
        for name, (how, old) in self.asked.items():
            before = header.column(old)
            if before.is_text and how != "count":
                raise StudyError(f"{self.where}: {old!r} is text; it has no {how}")
            made = Column(name, "double", label=f"({how}) {old}", confirmed=True)
            if how == "count":
                made = replace(made, missing=(), integer=True)
            elif how in ("max", "min"):
                made = replace(made, bounds=before.bounds, integer=before.is_integer)
            kept.append(made)
        return _changed(header, kept, None)

    def rows(self, data: pd.DataFrame, home: Path) -> pd.DataFrame:
        """Return a row for each group, each computed from its own rows alone."""
        whose = _whose(data[self.keys[0]])
        for name in self.keys[1:]:
            whose = _whose(pd.Series(whose * (len(data) + 1) + _whose(data[name])))
        order = np.argsort(whose, kind="stable")
        last = np.flatnonzero(np.diff(whose[order], append=-1))
        groups = np.split(order, last + 1)[:-1]
        found = {name: data[name].to_numpy()[[group[0] for group in groups]] for name in self.keys}
        for name, (how, old) in self.asked.items():
            values = data[old].to_numpy()
            there = values != "" if values.dtype == object else missing_numbers(values) < 0
            found[name] = np.array(
                [_computed(how, values[group][there[group]]) for group in groups]
            )
        return pd.DataFrame(found)


def _whose(ids: pd.Series[Any]) -> NDArray[np.intp]:
    """Return whose each row is, numbered as they come; what is missing is one more."""
    return pd.factorize(ids, use_na_sentinel=False)[0]


def _computed(how: str, values: NDArray[Any]) -> float:
    if not len(values):
        return _OF_NONE.get(how, float(tagged([0])[0]))
    return float(STATISTICS[how](values.tolist()))


def _nothing(like: pd.Series[Any], n: int) -> NDArray[Any]:
    """Return missing values of a kind."""
    text = like.dtype == object
    return np.full(n, "" if text else tagged([0])[0], object if text else np.float64)


def _lacking(column: Column) -> Column:
    """Return a column that is missing in some rows, because a file or a wave lacks it."""
    if column.is_text:
        levels = column.levels and tuple(dict.fromkeys((*column.levels, "")))
        return replace(column, levels=levels)
    return replace(column, missing=tuple(dict.fromkeys((*(column.missing or ()), "."))))


def _widest(columns: Sequence[Column], where: str) -> str:
    """Return the storage type that holds the values of all columns."""
    if len({one.is_text for one in columns}) > 1:
        raise StudyError(
            f"{where}: {columns[0].name!r} is text in one place and numbers in the other; make "
            "both the same"
        )
    types = [one.type for one in columns]
    if columns[0].is_text:
        if "strL" in types:
            return "strL"
        return max(types, key=lambda name: int(name.removeprefix("str")))
    widest = max(types, key=_WIDTH.__getitem__)
    return "double" if {"float", "long"} <= {*types} else widest


def _changed(header: Schema, columns: Iterable[Column], rows: int | None) -> Schema:
    columns = tuple(columns)
    names = {"_dta", *(one.name for one in columns)}
    about = tuple(one for one in header.file.characteristics if one[0] in names)
    file = replace(header.file, rows=rows, sorted_by=(), characteristics=about)
    return replace(header, columns=columns, file=file)


def restacked(step: Append | Reshape | Collapse, columns: Sequence[str] | None) -> Restacked:
    """Return a step as do-files are read with it; ``columns`` are those after it."""
    names = None if columns is None else tuple(columns)
    if isinstance(step, Append):
        return Restacked("append", step.append.rpartition("/")[2], columns=names)
    if isinstance(step, Reshape):
        how = f"reshape {step.reshape}"
        return Restacked(how, step.id, step.columns, step.wave, step.waves, names)
    return Restacked("collapse", " ".join(step.keys), step.parts, columns=names)


def appended_path(step: Append, home: Path, data: Path) -> Path:
    """Return the place of a second confidential file, which is next to the first."""
    path = home / step.append
    if path.is_symlink() or path.resolve().parent != data.resolve().parent:
        raise FileError(
            f"{step.where} is a link, or lies in another folder than the data; the ledger lies "
            "next to the data: put the file itself there"
        )
    if path.resolve() == data.resolve():
        raise StudyError(f"{step.where} is the file of the data itself; name that of another round")
    if path.suffix.lower() != ".dta":
        raise FileError(f"{step.where} is not a .dta file; convert it first (dprct convert)")
    return path
