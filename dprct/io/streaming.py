"""Files larger than memory: between .dta and .parquet piece by piece, the schema beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dprct.errors import FileError, ParameterError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from dprct.schema.schema import Schema

    Progress = Callable[[int, int], None]


def schema_beside(path: str | os.PathLike[str]) -> Path:
    """Return where the schema of a .parquet file lies.

    Examples
    --------
    >>> schema_beside("big.parquet").name
    'big.schema.toml'
    """
    return Path(path).with_suffix(".schema.toml")


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Schema:
    """Turn a .dta file into a .parquet file or back, in memory that does not grow with its rows.

    Parameters
    ----------
    source, target : path
        One .dta, of release 113 and later, the other .parquet; the schema is written (or read)
        beside the .parquet file, as ``big.schema.toml``.  A schema that is there already and
        agrees with the .dta file stays, with what was declared in it.
    progress : callable, optional
        Is called with rows done and rows in all.
    overwrite : bool
        Replace a file that exists, and a schema that says something else.

    Returns
    -------
    Schema
        That beside the .parquet file.

    Raises
    ------
    ParameterError
        If the extensions are no such pair.
    SchemaError
        If a column cannot be held by the other format, the name of a companion of missing codes
        is taken, or the schema beside a file does not describe it.
    FileError, StataFormatError
        If a file exists, or cannot be read or written; nothing half written is left.

    Notes
    -----
    Every number has its missing codes in ``<name>__missing`` (-1 none, 0 ``.``, 1 to 26 ``.a`` to
    ``.z``), which is where engines look for them.

    strL lie after the rows of a .dta file.  Reading keeps 21 bytes of each (where it is); writing
    keeps 24 bytes of each distinct text (a digest) and the texts in a temporary file of the
    target's folder, which only its owner can read and which has no name there where the system
    allows that.

    Examples
    --------
    >>> convert("big.dta", "big.parquet")  # doctest: +SKIP
    """
    one, other = Path(source), Path(target)
    said = progress or (lambda _done, _all: None)
    pair = one.suffix.lower(), other.suffix.lower()
    if pair not in ((".dta", ".parquet"), (".parquet", ".dta")):
        raise ParameterError(
            f"cannot convert {one.name!r} to {other.name!r}; one is a .dta, the other a .parquet "
            "file"
        )
    if one.exists() and other.exists() and one.samefile(other):
        raise FileError(
            f"{one.name!r} and {other.name!r} are the same file; name another one to be written"
        )
    if other.is_file() and not overwrite:
        raise FileError(
            f"{str(other)!r} exists; choose another name, or replace it with --force "
            "(overwrite=True)"
        )
    if pair == (".dta", ".parquet"):
        from dprct.io.to_parquet import to_parquet

        return to_parquet(one, other, schema_beside(other), said, overwrite=overwrite)
    from dprct.io.to_dta import to_dta

    return to_dta(one, other, schema_beside(one), said)
