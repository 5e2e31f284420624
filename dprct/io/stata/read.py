"""Reading .dta files: everything the header says, and the data; oldest ones through others."""

from __future__ import annotations

import contextlib
import operator
import os
import struct
import warnings
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from dprct import disk
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
from dprct.io.stata.header import is_binary_header
from dprct.io.stata.layout import Cursor, default_format
from dprct.io.stata.rows import read_frame
from dprct.missing import tagged
from dprct.schema.facts import Code, Column, FileFacts
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


T = TypeVar("T")

_NEWEST = 112
_PYREADSTAT = (104, 105, 108, 110, 111)
_PANDAS = (102, 103)
_TYPES = {"int8": "byte", "int16": "int", "int32": "long", "float": "float", "double": "double"}
_NUMPY_TYPES = {"int8": "byte", "int16": "int", "int32": "long", "float32": "float"}
_LOST = {
    _PYREADSTAT: "notes, characteristics, the sort order and label sets that no column uses",
    _PANDAS: "storage types, display formats, label sets and the sort order",
}


def is_old(cursor: Cursor) -> bool:
    """Whether the file is of one of these releases; the cursor does not move."""
    start = cursor.file.read(3)
    cursor.rewind()
    return is_binary_header(start) and start[0] <= _NEWEST


def read_old(path: Path) -> tuple[pd.DataFrame, Schema]:
    """Read data and facts, with a warning about what is not kept.

    Raises
    ------
    StataFormatError
        If no package reads the release, or the file is damaged.
    """
    release = _release(path)
    if release in _PANDAS:
        return _referred(_read_with_pandas, path, release)
    if release in _PYREADSTAT:
        return _referred(_read_with_pyreadstat, path, release)
    raise _unreadable(release)


def read_old_header(path: Path) -> Schema:
    """Read the facts only, with the same warning."""
    release = _release(path)
    if release in _PYREADSTAT:
        return _referred(_header_with_pyreadstat, path, release)
    if release in _PANDAS:
        raise StataFormatError(
            f"the header of release {release} cannot be read without its data here; "
            "in Stata, save the data again, or read them with read_dta and write them"
        )
    raise _unreadable(release)


def _release(path: Path) -> int:
    with disk.opened(path) as file:
        return file.read(1)[0]


def _unreadable(release: int) -> StataFormatError:
    return StataFormatError(
        f"no package here reads release {release}; in Stata, save the data again "
        "(any release from 113 to 119)"
    )


def _referred(reader: Callable[[Path], T], path: Path, release: int) -> T:
    by, lost = next((by, lost) for by, lost in _LOST.items() if release in by)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = reader(path)
        except OSError:
            raise
        except Exception as error:
            raise StataFormatError(
                f"release {release} could not be read ({type(error).__name__}); "
                "copy the file again, or save it anew in Stata"
            ) from None
    warnings.warn(
        f"release {release} is read through {'pandas' if by is _PANDAS else 'pyreadstat'}, which "
        f"does not keep {lost}; it will be written as release 118",
        DprctWarning,
        stacklevel=5,
    )
    return found


def _read_with_pyreadstat(path: Path) -> tuple[pd.DataFrame, Schema]:
    import pyreadstat

    frame, meta = pyreadstat.read_dta(str(path), disable_datetime_conversion=True)
    schema = _schema_of(meta, path)
    return _plain(frame, schema.columns), schema


def _header_with_pyreadstat(path: Path) -> Schema:
    import pyreadstat

    _, meta = pyreadstat.read_dta(str(path), metadataonly=True)
    return _schema_of(meta, path)


def _schema_of(meta: Any, path: Path) -> Schema:
    """Return what pyreadstat's metadata say."""
    labels = dict(zip(meta.column_names, meta.column_labels, strict=True))
    columns = tuple(
        Column(
            name,
            _storage_type(meta, name),
            meta.original_variable_types[name] or default_format(_storage_type(meta, name)),
            labels[name] or "",
            meta.variable_to_label.get(name, ""),
        )
        for name in meta.column_names
    )
    sets = {name: _label_set(codes.items()) for name, codes in meta.value_labels.items()}
    facts = FileFacts(
        label=meta.file_label or "", value_labels=MappingProxyType(sets), rows=meta.number_rows
    )
    return Schema(columns, facts, source=path)


def _storage_type(meta: Any, name: str) -> str:
    kind = meta.readstat_variable_types[name]
    # ReadStat counts the NUL that ends a text
    return _TYPES.get(kind) or f"str{max(1, meta.variable_storage_width[name] - 1)}"


def _label_set(codes: Iterable[tuple[Any, str]]) -> MappingProxyType[Code, str]:
    return MappingProxyType({int(code): text for code, text in codes})


def _read_with_pandas(path: Path) -> tuple[pd.DataFrame, Schema]:
    frame = pd.read_stata(path, convert_categoricals=False, convert_dates=False)
    with pd.read_stata(path, iterator=True) as reader:
        labels, label = reader.variable_labels(), reader.data_label
    columns = []
    for name, values in frame.items():
        storage = _NUMPY_TYPES.get(str(values.dtype), "double")
        if not pd.api.types.is_numeric_dtype(values.dtype):
            storage = f"str{max(1, *(len(text) for text in values))}"
        columns.append(
            Column(str(name), storage, default_format(storage), labels.get(str(name), ""))
        )
    facts = FileFacts(label=label, rows=len(frame))
    return _plain(frame, columns), Schema(tuple(columns), facts, source=path)


def _plain(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Return object columns of text and float64 columns of numbers whose only code is ``.``."""
    plain = {}
    for column in columns:
        values = frame[column.name]
        if column.is_text:
            plain[column.name] = pd.Series(values.to_numpy(object), dtype=object)
        else:
            x = values.to_numpy(np.float64, copy=True)
            x[np.isnan(x)] = tagged(0)
            plain[column.name] = pd.Series(x)
    return pd.DataFrame(plain)


_COLUMN_FACTS = ("type", "label", "value_label")
_FILE_FACTS = ("release", "label", "sorted_by", "value_labels", "characteristics")


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
        A .dta file of release 113 to 115 or 117 to 119, in either byte order.  Releases 102 to
        111 are read through other packages, with a warning about what that cannot keep.
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
        if is_old(cursor):
            data, found = read_old(Path(path))
            wanted, window = _part(found, columns, rows, len(data))
            if columns is not None or rows is not None:
                data = data[wanted].iloc[window.start : window.stop].reset_index(drop=True)
        else:
            header = head.read(cursor)
            found = _schema(header, MappingProxyType({}), path)
            wanted, window = _part(found, columns, rows, header.rows)
            data = read_frame(cursor, header, wanted, window)
            if header.layout.tagged and cursor.at != header.labels_at:
                cursor.fail("the map points elsewhere than to the value labels", "map")
            labels = read_label_sets(cursor, header.layout)
            found = replace(found, file=replace(found.file, value_labels=labels))
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
    asked = found.names if columns is None else list(columns)
    for number, name in enumerate(asked):
        if name not in found.names:
            raise ColumnError.unknown(str(name), found.names)
        if name in asked[:number]:
            raise ParameterError(f"columns= names {name!r} twice; name each column once")
    if not asked and found.names:
        raise ParameterError("columns= is empty; name at least one column")
    first, stop = (0, total) if rows is None else _ends(rows)
    if first > total:
        raise ParameterError(f"rows= begins at {first:,} and the file has {total:,} rows; lower it")
    kept = set(asked)
    return [name for name in found.names if name in kept], range(first, min(stop, total))


def _ends(rows: int | range | tuple[int, int]) -> tuple[int, int]:
    if isinstance(rows, range):
        ends = [rows.start, rows.stop] if rows.step == 1 else []
    else:
        ends = list(rows) if isinstance(rows, (tuple, list)) else [0, rows]
    whole = all(hasattr(end, "__index__") and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not whole or not 0 <= ends[0] <= ends[1]:
        raise ParameterError(
            f"rows={rows!r}; allowed: a number of rows, (first, stop) counted from 0, or a range "
            "of step 1"
        )
    return operator.index(ends[0]), operator.index(ends[1])


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
        if is_old(cursor):
            return read_old_header(Path(path))
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
