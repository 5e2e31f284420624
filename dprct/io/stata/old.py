"""Releases 102 to 112, of the years before 2003, read through other packages."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from dprct.errors import DprctWarning, StataFormatError
from dprct.io.stata.header import is_binary_header
from dprct.io.stata.layout import default_format
from dprct.missing import tagged
from dprct.schema.facts import Code, Column, FileFacts
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from dprct.io.stata.cursor import Cursor

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


def read(path: Path) -> tuple[pd.DataFrame, Schema]:
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


def read_header(path: Path) -> Schema:
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
    with path.open("rb") as file:
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
