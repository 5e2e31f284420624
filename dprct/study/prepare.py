"""Rows as a study prepares them: public facts merged by their key, and rows as restack.py has them.

What is added to a row is a function of the row's own key and of a public file.  Two neighbouring
tables thus differ in an added column only in the rows of the replaced person, as in every other
column, and not even there if the keys are public: no sensitivity changes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct import disk
from dprct.dofile.memory import Merged, Restacked
from dprct.errors import ColumnError, DprctError, FileError, StudyError, marked
from dprct.io import read
from dprct.missing import missing_numbers, tagged
from dprct.records import dataclass
from dprct.study.restack import Append, Collapse, Reshape
from dprct.study.sections import Names, section

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from dprct.dofile.memory import Merges
    from dprct.schema.columns import Column, Unit
    from dprct.schema.schema import Schema

MERGED_BY = "file merged by the study: "
_MOST_LEVELS = 20
ROWS_BY = "rows prepared by the study, step "
_INSTEAD = {
    "joinby": "it repeats rows: merge a file with one row for each key",
    "expand": "it repeats rows: declare weights",
}
"""What a study does not do, and what to do instead."""
_REPEATS = ("1:m", "m:m")


@dataclass(frozen=True)
class Preparation:
    """A file of public facts that is merged into the data by its key.

    Parameters
    ----------
    merge : str
        The file, in the folder of the study file or below it. All of it is public.
    on : str or tuple of str
        The columns of its key: it has one row for each of their values.
    kind : {"m:1", "1:1"}
        As in Stata: many rows of the data, or one, for each row of the file.
    columns : tuple of str
        Those that are taken; all of them if not given.
    complete : bool
        Whether it is public that every row of the data finds its key in the file. It follows where
        the levels of the key are declared.
    """

    merge: str
    on: Names
    kind: Literal["m:1", "1:1"] = "m:1"
    columns: tuple[str, ...] = ()
    complete: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.on,) if isinstance(self.on, str) else self.on

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"[[prepare]] merge = {self.merge!r}"


@dataclass(frozen=True, eq=False)
class PublicFile:
    """A file of public facts, with what follows of its columns."""

    part: Preparation
    path: Path
    sha256: str
    data: pd.DataFrame
    keys: tuple[Column, ...]
    columns: tuple[Column, ...]  # what is added to the data
    rows: Mapping[tuple[Any, ...], int]  # the row of each key

    def holds(self, keys: Sequence[Column]) -> bool:
        """Whether by public facts every row of the data finds its key in the file."""
        if self.part.complete:
            return True
        if len(keys) != 1 or keys[0].missing != () or not keys[0].levels:
            return False
        return all((level,) in self.rows for level in keys[0].levels)

    def added_to(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return rows with the columns of the file; a key that it lacks leaves them missing."""
        keys = zip(*(data[name].tolist() for name in self.part.keys), strict=True)
        place = np.array([self.rows.get(key, -1) for key in keys], dtype=np.int64)
        added = {one.name: _taken(self.data[one.name], place) for one in self.columns}
        return data.assign(**added)


def _taken(values: pd.Series[Any], place: np.ndarray[Any, Any]) -> Any:
    """Return the values of a public column at some rows; missing at -1."""
    gone = "" if values.dtype == object else tagged([0])[0]
    return np.append(values.to_numpy(), [gone])[place]


Step = Preparation | Append | Reshape | Collapse
STEPS: Mapping[str, type[Any]] = {"append": Append, "reshape": Reshape, "collapse": Collapse}


def prepare_from(document: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the ``[[prepare]]`` sections of a parsed study file.

    Examples
    --------
    >>> prepare_from({"prepare": [{"merge": "villages.dta", "on": "village"}]})[0].keys
    ('village',)
    """
    parts = document.get("prepare", [])
    if not isinstance(parts, list):
        raise StudyError(
            "files to merge and steps of rows are written as [[prepare]], one section for each"
        )
    return tuple(_step(part, f"[[prepare]] number {k}") for k, part in enumerate(parts, 1))


def _step(part: object, where: str) -> Step:
    """Return a step; what repeats rows of people is refused by name."""
    if not isinstance(part, Mapping):
        return section(Preparation, part, where)  # type: ignore[no-any-return]
    for name, instead in _INSTEAD.items():
        if name in part:
            raise StudyError(f"[[prepare]] {name} is not carried out by a study: {instead}")
    if part.get("kind") in _REPEATS:
        raise StudyError(
            f'[[prepare]] kind = "{part["kind"]}" repeats rows of people; merge a file with one '
            'row for each key, kind = "m:1"'
        )
    return section(kind_of_step(part), part, where)  # type: ignore[no-any-return]


def kind_of_step(part: Mapping[str, Any]) -> type[Any]:
    """Return what a ``[[prepare]]`` section becomes, by the key that it begins with."""
    return next((kind for name, kind in STEPS.items() if name in part), Preparation)


def public_files(
    home: Path, parts: Sequence[Preparation], data: Path, unit: Unit
) -> tuple[PublicFile, ...]:
    """Return the files of a study's ``[[prepare]]`` sections; ``home`` is the study's folder."""
    for part in parts:
        if (home / part.merge).resolve() == data.resolve():
            raise StudyError(f"{part.where} is the confidential file; name a file of public facts")
        if unit.name == "person" and (part.kind == "1:1" or unit.id in part.keys):
            raise StudyError(
                f"{part.where}: a file with a row for each person is confidential; merge it "
                "beforehand, and name it in [package] merge"
            )
    return tuple(_public_file(home, part) for part in parts)


def _public_file(home: Path, part: Preparation) -> PublicFile:
    path, where = home / part.merge, part.where
    if path.is_symlink() or not path.resolve().is_relative_to(home.resolve()):
        raise FileError(f"{where} is a link, or lies outside the folder of the study file; put "
                        "the file itself there")  # fmt: skip
    if not part.keys:
        raise StudyError(f"{where}: on is empty; name the columns of its key")
    try:
        stat = path.stat() if path.is_file() else None
        return _read(path, part, None if stat is None else (stat.st_mtime_ns, stat.st_size))
    except DprctError as error:
        raise type(error)(f"{where}: {marked(error)}") from None


@functools.lru_cache(maxsize=32)
def _read(path: Path, part: Preparation, _: tuple[int, int] | None) -> PublicFile:
    data, schema = read(path)
    for asked, names in (("on", part.keys), ("columns", part.columns)):
        if len({*names}) < len(names):
            raise StudyError(f"{asked} names a column twice; name each once")
    for name in (*part.keys, *part.columns):
        if name not in schema.names:
            raise ColumnError(str(ColumnError.unknown(name, tuple(schema.names), path.name)))
    if not len(data):
        raise FileError(f"{path.name!r} has names but no rows; give a file with data")
    for name in part.keys:
        if data[name].isna().any():
            raise StudyError(
                f"column {name!r} of its key is missing in some row; leave that row out: a row of "
                "the data without a key matches none"
            )
    rows: dict[tuple[Any, ...], int] = {}
    for at, key in enumerate(zip(*(data[name].tolist() for name in part.keys), strict=True)):
        if rows.setdefault(key, at) != at:
            raise StudyError("its key repeats; give a file with one row for each key, or more of "
                             "its columns in on")  # fmt: skip
    taken = part.columns or tuple(name for name in schema.names if name not in part.keys)
    columns = tuple(_with_facts(schema.column(name), data[name]) for name in taken)
    keys = tuple(schema.column(name) for name in part.keys)
    return PublicFile(part, path, disk.sha256(path), data, keys, columns, rows)


def _with_facts(column: Column, values: pd.Series[Any]) -> Column:
    """Return a column of a public file with what its values say: they are all public."""
    column = replace(column, confirmed=True, built_from="own", value_label="")
    if column.is_text:
        return replace(column, levels=tuple(dict.fromkeys(values.tolist())), missing=())
    numbers = values.to_numpy(np.float64)
    there = sorted({float(x) for x in numbers[missing_numbers(numbers) < 0].tolist()})
    codes = (".",) if len(numbers[missing_numbers(numbers) >= 0]) else ()
    if not there:
        return replace(column, missing=codes)
    whole = all(x.is_integer() for x in there)
    if whole and len(there) <= _MOST_LEVELS:
        return replace(column, levels=tuple(there), integer=True, missing=codes)
    bounds = (there[0], there[-1])
    return replace(column, bounds=bounds, integer=whole or column.integer, missing=codes)


def with_added(
    header: Schema, files: Sequence[PublicFile], declare: Mapping[str, Column]
) -> Schema:
    """Return a header, whose columns are declared as in ``declare``, with those that files add."""
    for file in files:
        for key in file.keys:
            if key.name not in declare:
                known = ColumnError.unknown(key.name, tuple(declare), "the data")
                raise StudyError(f"{file.part.where}: on: {known}")
            if declare[key.name].is_text != key.is_text:
                raise StudyError(
                    f"{file.part.where}: {key.name!r} is text in one of the files and numbers in "
                    "the other; make both the same"
                )
        if twice := [one.name for one in file.columns if one.name in declare]:
            raise StudyError(
                f"{file.part.where}: the data have {twice[0]!r} already; name the columns to "
                "be added: columns = [...]"
            )
        complete = file.holds([declare[name] for name in file.part.keys])
        added = [_as_added(one, complete=complete) for one in file.columns]
        declare = {**declare, **{one.name: one for one in added}}
        header = replace(header, columns=(*header.columns, *added))
    return header


def _as_added(column: Column, *, complete: bool) -> Column:
    """Return a column of a file as the data have it, where a key may not be in the file."""
    if complete:
        return column
    if column.is_text:
        levels = tuple(dict.fromkeys((*(column.levels or ()), "")))
        return replace(column, levels=levels)
    return replace(column, missing=(".",))


def fate_problems(files: Sequence[PublicFile], schema: Schema) -> list[str]:
    """Refusals of added columns that are public although their key is not."""
    return [
        f"{file.part.where}: column {one.name!r} has fate 'public', and its key {key!r} has not, "
        f"so that it would reveal the key; give it another fate, or make {key!r} public"
        for file in files
        for one in file.columns
        if schema.column(one.name).fate == "public"
        for key in file.part.keys
        if schema.column(key).fate not in ("public", "key")
    ]


def merges_of(files: Sequence[PublicFile], schema: Schema) -> dict[str, Merged]:
    """Return the files that a study merges, by name, as do-files are read with them.

    Keys that the rows have no more, because they were collapsed since, are taken as complete.
    """
    known = {column.name: column for column in schema.columns}
    return {
        file.path.name: Merged(
            file.part.keys,
            tuple(one.name for one in file.columns),
            file.holds([known[name] for name in file.part.keys if name in known]),
        )
        for file in files
    }


def merged_facts(
    files: Sequence[PublicFile], steps: Sequence[Step], schema: Schema
) -> dict[str, str]:
    """Return what plan and certificate say of the files that are merged, and of other steps."""
    merges, unit = merges_of(files, schema), schema.unit
    return {
        f"{MERGED_BY}{file.path.name}": (
            f"{file.part.kind} by {' '.join(file.part.keys)}"
            f"{_COMPLETE if merges[file.path.name].complete else ''}, for "
            f"{', '.join(one.name for one in file.columns)}; all of it is taken as public "
            f"(sha256 {file.sha256})"
        )
        for file in files
    } | {
        f"{ROWS_BY}{k}": f"{step.command}; {step.said(unit)}"
        for k, step in enumerate(steps, 1)
        if not isinstance(step, Preparation)
    }


_COMPLETE = " (each is in it)"
_FACT = re.compile(
    rf"(?:m:1|1:1) by (?P<keys>[^,(]+?)(?P<all>{re.escape(_COMPLETE)})?, for (?P<columns>[^;]*); "
)
_ROWS = re.compile(
    r"(?:append using (?P<file>[^;]*)"
    r"|(?P<how>reshape (?:long|wide)) (?P<parts>[^,]*), i\((?P<id>\w+)\) j\((?P<wave>\w+)\)"
    r"|collapse (?P<made>[^,]*), by\((?P<by>[^)]*)\)); (?:.* of waves (?P<waves>[-\d. ]*)[;,])?"
)


def merges_in(facts: Mapping[str, str]) -> Merges:
    """Return what a certificate says was merged, by the file's name, and done to rows, in order.

    Steps of rows have their numbers among all steps, and merges, in their order, the others.

    Examples
    --------
    >>> merges_in({"file merged by the study: a.dta": "m:1 by v w, for road; all of it ..."})
    {'a.dta': Merged(keys=('v', 'w'), columns=('road',), complete=False)}
    >>> said = "reshape long y z, i(id) j(t); each row becomes 2 of the same, of waves 1 2; up to"
    >>> [*merges_in({"rows prepared by the study, step 1": said}).values()][0][:5]
    ('reshape long', 'id', ('y', 'z'), 't', (1.0, 2.0))
    """
    found: dict[str, Merged | Restacked] = {}
    rows = {name: said for name, text in facts.items()
            if name.startswith(ROWS_BY) and (said := _ROWS.match(text))}  # fmt: skip
    for name, text in facts.items():
        said = _FACT.match(text) if name.startswith(MERGED_BY) else None
        if said is not None:
            while (step := f"{ROWS_BY}{len(found) + 1}") in rows:
                found[step] = _restacked_in(rows.pop(step))
            keys, columns = said["keys"].split(), said["columns"].split(", ")
            found[name.removeprefix(MERGED_BY)] = Merged(
                tuple(keys), tuple(columns), said["all"] is not None
            )
    return {**found, **{name: _restacked_in(said) for name, said in rows.items()}}


def _restacked_in(said: re.Match[str]) -> Restacked:
    if said["file"]:
        return Restacked("append", said["file"])
    if said["how"]:
        waves = tuple(map(float, (said["waves"] or "").split()))
        return Restacked(said["how"], said["id"], tuple(said["parts"].split()), said["wave"], waves)
    parts = re.findall(r"\((\w+)\) (\S+)", said["made"])
    return Restacked("collapse", said["by"], tuple(f"{how} {one}" for how, one in parts))
