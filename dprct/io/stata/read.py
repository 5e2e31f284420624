"""Reading .dta files: everything the header says, and the data."""

from __future__ import annotations

import contextlib
import operator
import os
import struct
import warnings
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dprct import disk
from dprct.arguments import checked
from dprct.errors import (
    ColumnError,
    DprctError,
    DprctWarning,
    ParameterError,
    SchemaError,
    StataFormatError,
)
from dprct.io.atomic import file_error, path_of
from dprct.io.stata import header as head
from dprct.io.stata.columns import LabelSets, read_label_sets
from dprct.io.stata.layout import Cursor, default_format
from dprct.io.stata.rows import read_frame
from dprct.schema.columns import INTEGER_LIMITS, Column, FileFacts
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd


_COLUMN_FACTS = ("type", "label", "value_label")
_FILE_FACTS = ("release", "label", "sorted_by", "value_labels", "characteristics")


@checked
def read_dta(
    path: str | os.PathLike[str],
    schema: Schema | None = None,
    *,
    columns: Iterable[str] | None = None,
    rows: int | range | tuple[int, int] | None = None,
) -> tuple[pd.DataFrame, Schema]:
    """Read a Stata file: its data, and everything else that it says.

    Parameters
    ----------
    path : path
        A .dta file of release 102 to 105, 108, 110, 111, 113 to 115 or 117 to 119, in either
        byte order.
    schema : Schema, optional
        Public facts that were fixed before; the header of the file must agree with them.
    columns : iterable of str, optional
        Read these alone, in the order of the file; no memory is asked for the others.
    rows : int, (first, stop) or range, optional
        Read the first rows alone, or those from ``first`` (counted from 0) up to ``stop``, which
        may lie beyond the last, as in a slice.

    Returns
    -------
    data : pandas.DataFrame
        Text columns are object: str, or bytes where the text is undecodable or the strL binary.
        All others are float64 of codes and numbers, whose NaNs carry the missing codes
        (:mod:`dprct.missing`).
    schema : Schema
        What the file says, or the schema that was given, whose seal stays.

    Raises
    ------
    FileError
        If there is no such file, or it may not be read.
    StataFormatError
        If the file is not a .dta file, or damaged.
    SchemaError
        If the header differs from the given schema.
    ColumnError, ParameterError
        If ``columns`` or ``rows`` are not in the file.

    Examples
    --------
    >>> data, schema = read_dta("study.dta")  # doctest: +SKIP
    """
    with opened(path) as cursor:
        header = head.read(cursor)
        found = _schema(header, MappingProxyType({}), path)
        wanted, window = _part(found, columns, rows, header.rows)
        data = read_frame(cursor, header, wanted, window)
        if header.layout.tagged and cursor.at != header.labels_at:
            cursor.fail("the map points elsewhere than to the value labels", "map")
        labels = read_label_sets(cursor, header.layout)
        found = replace(found, file=replace(found.file, value_labels=labels))
    if not header.layout.has_codes:
        _say_wide(data, found.columns, header.layout.release)
    if schema is not None:
        _check_agreement(found, schema, path)
        found = replace(schema, source=Path(path))
    if columns is not None or rows is not None:
        found = found.select(wanted)
        found = replace(found, file=replace(found.file, rows=len(window)))
    return data, found.as_opened()


def _part(
    found: Schema,
    columns: Iterable[str] | None,
    rows: int | range | tuple[int, int] | None,
    total: int,
) -> tuple[list[str], range]:
    """Return the names and the rows to be read, refusing what the file does not have."""
    if isinstance(columns, str):
        raise ParameterError(f"columns={columns!r} is text; give a list, such as [{columns!r}]")
    names = found.names
    asked = names if columns is None else list(columns)
    known, kept = set(names), set[str]()
    for name in asked:
        if not isinstance(name, str) or name not in known:
            raise ColumnError.unknown(name, names)
        if name in kept:
            raise ParameterError(f"columns= names {name!r} twice; name each column once")
        kept.add(name)
    if not asked and names:
        raise ParameterError("columns= is empty; name at least one column")
    first, stop = (0, total) if rows is None else _ends(rows)
    if first > total:
        raise ParameterError(f"rows= begins at {first:,} and the file has {total:,} rows; lower it")
    return [name for name in names if name in kept], range(first, min(stop, total))


def _ends(rows: int | range | tuple[int, int]) -> tuple[int, int]:
    if isinstance(rows, range):
        ends = [rows.start, rows.stop] if rows.step == 1 else []
    else:
        ends = list(rows) if isinstance(rows, (tuple, list)) else [0, rows]
    whole = all(hasattr(end, "__index__") and not isinstance(end, (bool, type)) for end in ends)
    if len(ends) != 2 or not whole or not 0 <= ends[0] <= ends[1]:
        raise ParameterError(
            f"rows={rows!r}; allowed: a number of rows, (first, stop) counted from 0, or a range "
            "of step 1"
        )
    return operator.index(ends[0]), operator.index(ends[1])


def _say_wide(data: pd.DataFrame, columns: Iterable[Column], release: int) -> None:
    """Warn of whole numbers that were numbers before 113 and are missing codes since."""
    there = set(data.columns)
    wide = []
    for column in columns:
        if column.name in there and column.type in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[column.type]
            x = data[column.name].to_numpy()
            if bool(((x < low) | (x > high)).any()):
                wide.append(f"{column.name} ({column.type})")
    if wide:
        warnings.warn(
            f"{', '.join(wide[:8])}: holds numbers that release {release} has in this type and "
            "releases from 113 on do not; declare a wider type before you write such a release",
            DprctWarning,
            stacklevel=4,
        )


@checked
def read_header(path: str | os.PathLike[str]) -> Schema:
    """Read everything that a Stata file says, except its data.

    Parameters
    ----------
    path : path
        As for :func:`read_dta`.

    Returns
    -------
    Schema
        Not opened: the bytes of the data section and of long text are never read.

    Raises
    ------
    FileError, StataFormatError
        As for :func:`read_dta`.

    Examples
    --------
    >>> schema = read_header("study.dta")  # doctest: +SKIP
    """
    with opened(path) as cursor:
        header = head.read(cursor)
        cursor.jump(header.labels_at, "map")
        return _schema(header, read_label_sets(cursor, header.layout), path)


def _schema(header: head.Header, labels: LabelSets, path: str | os.PathLike[str]) -> Schema:
    facts = FileFacts(
        release=header.layout.release,
        byteorder=header.byteorder,
        label=header.label,
        timestamp=header.timestamp,
        sorted_by=header.sorted_by,
        value_labels=labels,
        characteristics=header.characteristics,
        rows=header.rows,
    )
    return Schema(header.columns, facts, source=Path(path))


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Cursor]:
    """Open a file; whatever goes wrong with it or in it becomes one sentence."""
    try:
        with disk.opened(path_of(path)) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise StataFormatError("the file is empty; copy or download it again")
            yield Cursor(file, size)
    except StataFormatError as error:
        raise _named(error, path) from None
    except DprctError:
        raise
    except OSError as error:
        raise file_error(error, path, "read") from None
    except (ValueError, struct.error, MemoryError, OverflowError, LookupError) as error:
        raise StataFormatError(
            f"{os.fspath(path)!r} is damaged ({type(error).__name__} while it was read); "
            "copy or download it again"
        ) from None


def _named(error: StataFormatError, path: str | os.PathLike[str]) -> StataFormatError:
    error.args = (f"{os.fspath(path)!r}: {error.args[0]}", *error.args[1:])
    return error


def _check_agreement(found: Schema, declared: Schema, path: str | os.PathLike[str]) -> None:
    """Refuse a file whose header says something else than the schema; name what differs."""
    differs = differences(found, declared)
    if differs:
        raise SchemaError(
            f"the header of {os.fspath(path)!r} differs from the schema in {'; '.join(differs)}; "
            "read the header again with Schema.from_dta and declare the facts anew"
        )


def differences(found: Schema, declared: Schema) -> list[str]:
    """Return the facts of a file in which its header differs from a schema, in words."""
    if found.names != declared.names:
        other = sorted(set(found.names) ^ set(declared.names))
        return [f"the columns ({', '.join(other[:8])})" if other else "the order of the columns"]
    pairs = list(zip(found.columns, declared.columns, strict=True))
    differs = {
        fact: [a.name for a, b in pairs if getattr(a, fact) != getattr(b, fact)]
        for fact in _COLUMN_FACTS
    }
    differs["format"] = [
        a.name for a, b in pairs if a.format != (b.format or default_format(b.type))
    ]
    lines = [
        f"the {fact.replace('_', ' ')} of {', '.join(names[:8])}"
        for fact, names in differs.items()
        if names
    ]
    facts = [*_FILE_FACTS, *(["rows"] if declared.file.rows is not None else [])]
    return lines + [
        f"the {fact.replace('_', ' ')} of the file"
        for fact in facts
        if getattr(found.file, fact) != getattr(declared.file, fact)
    ]
