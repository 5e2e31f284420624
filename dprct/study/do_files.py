"""Do-files of a study: which regressions they run, on which columns, with which errors."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from dprct import disk
from dprct.dofile import Reading, read_files
from dprct.errors import FileError
from dprct.io.stata.names import former_names
from dprct.records import dataclass
from dprct.schema.conditions import Values, values_of
from dprct.schema.expressions import possible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.dofile.memory import Merges
    from dprct.schema.schema import Schema

_MOST_FILES = 2_000
_OURS = b"* Written by dprct p"
"""How ``valid.do`` and ``profile.do`` begin, of a protected file and of a package."""


def read_do(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    schema: Schema | None = None,
    *,
    treatments: Sequence[str] | None = None,
    dataset: str | None = None,
    others: Mapping[str, Sequence[str]] | None = None,
    merges: Merges | None = None,
    former: Mapping[str, str] | None = None,
) -> Reading:
    """List the estimations that do-files run, without running anything.

    Do-files are in the order in which they are run, or in folders.  With the header of the data,
    ranges, wildcards and abbreviations are written out, and names that it lacks are reported;
    it is that of ``dataset``, by default of every file that the do-files do not make themselves.
    ``treatments`` are by default the columns whose role is that in the schema; ``others`` has the
    columns of other data files that the do-files use, by name, and ``merges`` those that
    the study merges as the do-files do.  Columns of a .csv file have in do-files the names that
    ``import delimited`` and ``insheet`` give them; ``former`` are those that they have in the file,
    by default as the header states them.

    Notes
    -----
    Nothing is executed, and no file is opened but these do-files and those that they run with
    ``do``, ``run`` or ``include`` and that lie in the same folder.  The data are not opened.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "main.do").write_text('''
    ... use survey, clear
    ... * Table 2
    ... foreach y in income hours {
    ...     reg `y' treat age if round == 2, cluster(village)
    ... }
    ... ''')
    >>> for row in read_do(folder / "main.do", treatments=["treat"]):
    ...     print(row.line, row.command, row.outcome, row.regressors, row.treatments, row.cluster)
    5 regress income ('treat', 'age') ('treat',) ('village',)
    5 regress hours ('treat', 'age') ('treat',) ('village',)
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    columns = None if schema is None else [column.name for column in schema.columns]
    if treatments is None:
        roles = schema.columns if schema is not None else ()
        treatments = [column.name for column in roles if column.role == "treatment"]
    files = [file for path in given for file in _files(Path(path))]
    if former is None and schema is not None:
        former = {new: old for old, new in former_names(schema).items()}
    return read_files(
        files, columns, dataset, treatments, others=others, merges=merges, former=former
    )


def _files(path: Path) -> list[tuple[Path, Path]]:
    """Return do-files with the folder that bounds what they may open."""
    if path.is_file():
        return [(path, path.parent)]
    if not path.is_dir():
        raise FileError(
            f"{path.name!r} is not a file or folder; give do-files, or a folder of them"
        )
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() == ".do")
    if not found:
        raise FileError(f"the folder {path.name!r} holds no file that ends in .do")
    there = (file for file in found[:_MOST_FILES] if file.is_file())
    return [(file, path) for file in there if not disk.begins_with(file, _OURS)]


def stem(name: str) -> str:
    """Return the name of a data file as do-files take it: without folder and ending.

    Examples
    --------
    >>> stem("data/farms.dta"), stem("farms")
    ('farms', 'farms')
    """
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".dta")


@dataclass(frozen=True)
class MergedFile:
    """A confidential file of which the released one was merged; its columns go together."""

    columns: frozenset[str]
    whole: bool = True  # whether it has no other people than the released file


@dataclass(frozen=True)
class Others:
    """What is known of other data files of a study's folder."""

    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)  # their columns, by name
    # Those that were merged into the study's data.
    parts: Mapping[str, MergedFile] = field(default_factory=dict)
    key: str | None = None  # the column by which they were
    # Columns that the study makes of those of its data, by their expressions.
    derived: Mapping[str, str] = field(default_factory=dict)
    # Files of public facts that the study merges as do-files do.
    merges: Merges = field(default_factory=dict)
    # What is declared of the values of columns.
    values: Mapping[str, Values] = field(default_factory=dict)
    unit: str = ""  # the column that says whose a row is, where somebody has several
    # The text file that was released, and the names of columns in it.
    text_file: str = ""
    former: Mapping[str, str] = field(default_factory=dict)


def known_values(schema: Schema, *, numbers: bool = False) -> dict[str, Values]:
    """What is declared of the values of columns: of the rows and of a protected file alike.

    What a file does not show is left out, and what is computed of other columns may be missing
    there; where ``numbers`` alone are released, it is of the rows.  Of a column that says who is in
    the sample, these are the levels that its rows can have.
    """
    found = {}
    for column in schema.columns:
        levels = [level for level in column.levels or () if not isinstance(level, str)]
        public = column.fate == "public" and not column.is_text
        if schema.sample and public and (inside := possible(schema.sample, column.name, levels)):
            found[column.name] = Values(inside)
        elif numbers or column.fate in ("public", "modelled", "filler"):
            known = values_of(column)
            found |= {} if known is None else {column.name: known}
    return found
