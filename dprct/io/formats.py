"""Which reader and writer a file goes to, by its extension."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from dprct import disk
from dprct.arguments import check_choice, checked
from dprct.disk import path_of
from dprct.errors import FileError, ParameterError
from dprct.io.stata.names import Names, under_stata_names
from dprct.progress import saying

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema.schema import Schema


READABLE = (
    ".dta",
    ".sav",
    ".zsav",
    ".por",
    ".sas7bdat",
    ".xpt",
    ".rds",
    ".rda",
    ".rdata",
    ".csv",
    ".parquet",
)
"""Extensions that :func:`read` knows."""

WRITABLE = (".dta", ".rds", ".csv", ".parquet")
"""Extensions that :func:`write` knows."""

PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst")
"""Extensions of files that hold others."""


@checked
def read(path: str | os.PathLike[str], names: Names = "same") -> tuple[pd.DataFrame, Schema]:
    r"""Read a data file in the format given by its extension.

    Parameters
    ----------
    path : path
        .dta, .sav, .zsav, .por, .sas7bdat, .xpt, .rds, .rda, .RData, .csv or .parquet.
    names : {"same", "stata"}
        With ``"stata"``, names that Stata lacks, such as ``inc.total`` or ``int``, are replaced by
        such as ``inc_total`` and ``int_``.  A protected file and its certificate state which.

    Returns
    -------
    data : pandas.DataFrame
        Text columns are ``object``. All others are float64 codes and numbers, whose NaNs carry the
        missing codes (:mod:`dprct.missing`).
    schema : Schema
        All other facts of the file; marked as one whose data were read.

    Raises
    ------
    FileError
        If the file is missing, or cannot be read in the format of its extension.
    StataFormatError
        If a .dta file breaks the rules of its release.
    ParameterError
        For an unknown extension.
    MissingDependencyError
        If the package that reads files of this format is not installed.

    Warns
    -----
    DprctWarning
        If something that the file holds is lost.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "trial.csv"
    >>> _ = path.write_text("got,village\n1,north\n.a,south\n")
    >>> data, schema = read(path)
    >>> [(column.name, column.type) for column in schema.columns]
    [('got', 'double'), ('village', 'strL')]
    >>> _ = path.write_text("inc.total\n1\n")
    >>> list(read(path, names="stata")[0])
    ['inc_total']
    """
    source = path_of(path)
    check_choice("names", names, get_args(Names))
    reader = _reader(_extension(source, READABLE, "read"))
    if source.is_dir():
        raise FileError(f"{str(source)!r} is a folder; name a file")
    try:
        disk.check_ordinary(source)
    except OSError as error:
        raise FileError(
            f"{str(source)!r} cannot be read ({error.strerror}); check the path"
        ) from None
    with saying(f"reading {source.name!r}"):
        data, schema = reader(source)
    return under_stata_names(data, schema) if names == "stata" else (data, schema)


@checked
def write(data: pd.DataFrame, schema: Schema, path: str | os.PathLike[str]) -> None:
    r"""Write a data file, by its extension; the file appears complete or not at all.

    Warns
    -----
    DprctWarning
        If the format cannot keep facts that the schema has, such as labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> path = Path(tempfile.mkdtemp()) / "trial.csv"
    >>> write(pd.DataFrame({"got": [1.0, 0.0]}), Schema((Column("got"),)), path)
    >>> path.read_text()
    'got\n1\n0\n'
    """
    target = path_of(path)
    _writer(_extension(target, WRITABLE, "written"))(data, schema, target)


def _extension(path: Path, allowed: tuple[str, ...], deed: str) -> str:
    extension = path.suffix.lower()
    if extension not in allowed:
        got = f"the extension {extension!r}" if extension else "no extension"
        packed = "; unpack it first" if deed == "read" and extension in PACKED else ""
        raise ParameterError(
            f"{path.name!r} has {got}; files that can be {deed} are {', '.join(allowed)}{packed}"
        )
    return extension


def _reader(extension: str) -> Callable[[Path], tuple[pd.DataFrame, Schema]]:
    if extension == ".dta":
        from dprct.io.stata import read_dta

        return read_dta
    if extension in (".rds", ".rda", ".rdata"):
        from dprct.io.r_files import read_rdata

        return read_rdata
    if extension in (".csv", ".parquet"):
        from dprct.io import text as tabular

        return tabular.read_csv if extension == ".csv" else tabular.read_parquet
    from dprct.io.spss_sas import read_foreign

    return read_foreign


def _writer(extension: str) -> Callable[[pd.DataFrame, Schema, Path], None]:
    if extension == ".dta":
        from dprct.io.stata import write_dta

        return write_dta
    if extension == ".rds":
        from dprct.rbridge.files import write_r_file

        return write_r_file
    from dprct.io import text as tabular

    return tabular.write_csv if extension == ".csv" else tabular.write_parquet


def is_file(rule: str | os.PathLike[str]) -> bool:
    """Whether an index is the path of a data file rather than a formula.

    Examples
    --------
    >>> is_file("pilot.csv"), is_file("2 + 1.5*age")
    (True, False)
    """
    return isinstance(rule, os.PathLike) or Path(rule).suffix.lower() in (*READABLE, ".tab", ".tsv")
