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
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dprct import disk
from dprct.arguments import checked
from dprct.disk import atomic_write, file_error, path_of
from dprct.errors import (
    ColumnError,
    DprctError,
    DprctWarning,
    ParameterError,
    SchemaError,
    StataFormatError,
    marked,
    reword,
)
from dprct.io.stata.columns import (
    mark_missing,
    packed_numbers,
    packed_strings,
)
from dprct.io.stata.layout import (
    LAYOUTS,
    MAP_ENTRIES,
    NUMPY_TYPE,
    RELEASES,
    Cursor,
    Decoded,
    Header,
    Layout,
    default_format,
    packed_text,
    padded_text,
    parsed_header,
    row_dtype,
    type_code,
)
from dprct.io.stata.names import STRING_TYPE, check_name
from dprct.io.stata.strls import Strls, StrlWriter
from dprct.io.stata.value_labels import LabelSets, pack_label_sets, read_label_sets
from dprct.lazy import pandas as pd
from dprct.progress import saying
from dprct.schema.columns import Column, FileFacts
from dprct.schema.facts import INTEGER_LIMITS, STRING_WIDTH
from dprct.schema.schema import Schema
from dprct.schema.tables import NumPyTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dprct.io.stata.layout import ByteOrder


_CHUNK_BYTES = 2**20  # rows are transposed in pieces that stay in the processor's cache
_CHUNK_ROWS = 64

Columns = dict[str, NDArray[Any]]


def read_table(
    cursor: Cursor,
    header: Header,
    columns: Sequence[str] | None = None,
    rows: range | None = None,
) -> NumPyTable:
    """Read the data section and the strLs; the cursor stands at the first row.

    ``columns`` and ``rows`` (of step 1, within the file) leave out the others: no memory is asked
    for these.
    """
    names = None if columns is None else set(columns)
    wanted = [c for c in header.columns if names is None or c.name in names]
    found = _read_columns(cursor, header, wanted, range(header.rows) if rows is None else rows)
    if header.layout.tagged:
        cursor.expect("</data>", "data")
        strls = Strls(cursor, header.layout, header.byteorder)
        long = [c.name for c in wanted if c.type == "strL"]
        strls.settle(found[name] for name in long)
        found.update((name, strls.texts(found[name])) for name in long)
    for column in wanted:
        if not column.is_text:
            mark_missing(found[column.name], column, header.data_at, header.layout)
    count = header.rows if rows is None else len(rows)
    return NumPyTable(found, count, lambda: _frame(found, wanted, count))


def _read_columns(
    cursor: Cursor, header: Header, wanted: Sequence[Column], window: range
) -> Columns:
    """Return float64 numbers, decoded ``str#`` and raw strL cells, by column."""
    numeric = [c.name for c in wanted if not c.is_text]
    block = np.empty((len(numeric), len(window)), np.float64)
    by_name = dict(zip(numeric, block, strict=True))
    columns: Columns = {
        c.name: by_name[c.name]
        if not c.is_text
        else np.empty(len(window), np.uint64 if c.type == "strL" else object)
        for c in wanted
    }
    decoders = {c.name: Decoded(header.layout) for c in wanted if c.is_text}
    fields = {c.name: f"c{i}" for i, c in enumerate(header.columns)}
    for start, read in pieces(cursor, header):
        first, last = max(start, window.start), min(start + len(read), window.stop)
        rows = read[max(first - start, 0) : max(last - start, 0)]
        part = slice(first - window.start, first - window.start + len(rows))
        for column in wanted if len(rows) else ():
            cells: Any = rows[fields[column.name]]
            if column.is_text and column.type != "strL":
                cells = list(map(decoders[column.name].__getitem__, cells.tolist()))
            with np.errstate(invalid="ignore"):  # of a damaged file: a signalling NaN
                columns[column.name][part] = cells
    return columns


def pieces(
    cursor: Cursor, header: Header, step: int | None = None
) -> Iterator[tuple[int, NDArray[np.void]]]:
    """Yield the rows in pieces, each with the number of its first row (from 0)."""
    dtype = header.dtype
    step = step or rows_at_a_time(dtype)
    for start in range(0, header.rows, step):
        count = min(step, header.rows - start)
        yield start, np.frombuffer(cursor.take(count * dtype.itemsize, "data"), dtype)


def rows_at_a_time(dtype: np.dtype[np.void]) -> int:
    """How many rows are read or written together."""
    return max(_CHUNK_ROWS, _CHUNK_BYTES // max(dtype.itemsize, 1))


def _frame(columns: Columns, wanted: Sequence[Column], count: int) -> pd.DataFrame:
    """Return the columns as a frame of few blocks, whose numbers are copied at most once."""
    index = pd.RangeIndex(count)
    names = _column_index(list(columns))
    numeric = [c.name for c in wanted if not c.is_text]
    if columns and len(numeric) == len(columns):
        block = columns[numeric[0]].base
        assert block is not None
        return pd.DataFrame(block.T, index=index, columns=names, copy=False)
    series = {
        number: pd.Series(column, index=index, dtype=column.dtype, copy=False)
        for number, column in enumerate(columns.values())
    }
    frame = pd.DataFrame(series, index=index)
    frame.columns = names
    return frame


def _column_index(names: Sequence[str]) -> pd.Index[Any]:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:  # surrogate escapes, which an Arrow-backed index cannot hold
        return pd.Index(names, dtype=object)
    return pd.Index(names) if names else pd.Index([], dtype=object)


def pack_columns(
    data: pd.DataFrame, columns: Sequence[Column], layout: Layout, strls: StrlWriter
) -> list[NDArray[Any]]:
    """Every column as its type holds it; nothing is rounded, cut or guessed."""
    packed = [
        _packed(data[column.name], number, column, layout, strls)
        for number, column in enumerate(columns, 1)
    ]
    strls.end_piece(len(data))
    return packed


def _packed(
    values: pd.Series[Any], number: int, column: Column, layout: Layout, strls: StrlWriter
) -> NDArray[Any]:
    if not column.is_text:
        return packed_numbers(_as_numbers(values, column), column, layout)
    if isinstance(values.dtype, pd.CategoricalDtype):
        raise _wrong_dtype(column, values, "text")
    cells = values.to_numpy(dtype=object).tolist()
    if column.type == "strL":
        return strls.cells(cells, number, column)
    return packed_strings(cells, column, layout)


def _as_numbers(values: pd.Series[Any], column: Column) -> NDArray[Any]:
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8:
        return values.to_numpy()
    if (
        isinstance(dtype, pd.api.extensions.ExtensionDtype)
        and getattr(dtype, "kind", "O") in "biuf"
    ):
        if not values.isna().any():
            return values.to_numpy(dtype=dtype.type)
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    raise _wrong_dtype(column, values, "numbers")


def _wrong_dtype(column: Column, values: pd.Series[Any], wanted: str) -> SchemaError:
    return SchemaError(
        f"column {column.name!r} ({column.type}) is {values.dtype} in the data and must be "
        f"{wanted}; write the codes, not a view of them"
    )


def write_rows(
    file: IO[bytes], packed: Sequence[NDArray[Any]], types: Sequence[str], byteorder: ByteOrder
) -> None:
    """Write packed columns as rows."""
    dtype = row_dtype(types, byteorder)
    rows = len(packed[0]) if packed else 0
    step = rows_at_a_time(dtype)
    buffer = np.zeros(min(step, rows), dtype)
    for start in range(0, rows, step):
        part = buffer[: min(step, rows - start)]
        for i, column in enumerate(packed):
            part[f"c{i}"] = column[start : start + len(part)]
        file.write(part.data)


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
    """Read a Stata file: its data, and everything in its header and labels.

    Parameters
    ----------
    path : path
        A .dta file of release 102 to 105, 108, 110, 111, 113 to 115 or 117 to 119, in either
        byte order.
    schema : Schema, optional
        Public facts that were declared before.  The header of the file must agree with them.
    columns : iterable of str, optional
        Columns to read, in the order of the file.  The others take no memory.
    rows : int, (first, stop) or range, optional
        Rows to read: the first so many, or those from ``first`` (counted from 0) up to, but
        without, ``stop``, which may lie beyond the last row.

    Returns
    -------
    data : pandas.DataFrame
        Text columns are object: str, or bytes where the text is undecodable or the strL binary.
        All others are float64 of codes and numbers, whose NaNs carry the missing codes
        (:mod:`dprct.missing`).
    schema : Schema
        The schema of the file, or the one that was given, with its seal.

    Raises
    ------
    FileError
        If the file does not exist or cannot be opened.
    StataFormatError
        If the file is not a .dta file, or is damaged.
    SchemaError
        If the header differs from the given schema.
    ColumnError, ParameterError
        If ``columns`` or ``rows`` are not in the file.

    Examples
    --------
    >>> data, schema = read_dta("study.dta")  # doctest: +SKIP
    """
    table, found = table_of_dta(path, schema, columns=columns, rows=rows)
    return table.native, found


def table_of_dta(
    path: str | os.PathLike[str],
    schema: Schema | None = None,
    *,
    columns: Iterable[str] | None = None,
    rows: int | range | tuple[int, int] | None = None,
) -> tuple[NumPyTable, Schema]:
    """Read the same without pandas."""
    with opened(path) as cursor, saying(f"reading {Path(path).name!r}"):
        header = parsed_header(cursor)
        found = _schema(header, MappingProxyType({}), path)
        wanted, window = _part(found, columns, rows, header.rows)
        data = read_table(cursor, header, wanted, window)
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
        raise ParameterError(
            f"``columns={columns!r}`` is text; give a list, such as ``[{columns!r}]``"
        )
    names = found.names
    asked = names if columns is None else list(columns)
    known, kept = set(names), set[str]()
    for name in asked:
        if not isinstance(name, str) or name not in known:
            raise ColumnError.unknown(name, names)
        if name in kept:
            raise ParameterError(f"``columns=`` names {name!r} twice; name each column once")
        kept.add(name)
    if not asked and names:
        raise ParameterError("``columns=`` is empty; name at least one column")
    first, stop = (0, total) if rows is None else _ends(rows)
    if first > total:
        raise ParameterError(
            f"``rows=`` begins at {first:,} and the file has {total:,} rows; lower it"
        )
    return [name for name in names if name in kept], range(first, min(stop, total))


def _ends(rows: int | range | tuple[int, int]) -> tuple[int, int]:
    if isinstance(rows, range):
        ends = [rows.start, rows.stop] if rows.step == 1 else []
    else:
        ends = list(rows) if isinstance(rows, (tuple, list)) else [0, rows]
    whole = all(hasattr(end, "__index__") and not isinstance(end, (bool, type)) for end in ends)
    if len(ends) != 2 or not whole or not 0 <= ends[0] <= ends[1]:
        raise ParameterError(
            f"``rows={rows!r}``; allowed: a number of rows, (first, stop) counted from 0, or a "
            "range of step 1"
        )
    return operator.index(ends[0]), operator.index(ends[1])


def _say_wide(data: NumPyTable, columns: Iterable[Column], release: int) -> None:
    """Warn of whole numbers that were numbers before 113 and are missing codes since."""
    wide = []
    for column in columns:
        if column.name in data.arrays and column.type in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[column.type]
            x = data.arrays[column.name]
            if bool(((x < low) | (x > high)).any()):
                wide.append(f"{column.name} ({column.type})")
    if wide:
        warnings.warn(
            f"{', '.join(wide[:8])}: holds numbers that release {release} has in this type and "
            "releases from 113 on do not; declare a wider type before you write such a release",
            DprctWarning,
            stacklevel=5,
        )


@checked
def read_header(path: str | os.PathLike[str]) -> Schema:
    """Read everything that a Stata file says, except its data.

    Parameters
    ----------
    path : path
        As for :func:`read_dta`.

    Examples
    --------
    >>> schema = read_header("study.dta")  # doctest: +SKIP
    """
    with opened(path) as cursor:
        header = parsed_header(cursor)
        cursor.jump(header.labels_at, "map")
        return _schema(header, read_label_sets(cursor, header.layout), path)


def _schema(header: Header, labels: LabelSets, path: str | os.PathLike[str]) -> Schema:
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
            f"{os.fspath(path)!r} is damaged (``{type(error).__name__}`` while it was read); "
            "copy or download it again"
        ) from None


def _named(error: StataFormatError, path: str | os.PathLike[str]) -> StataFormatError:
    reword(error, f"{os.fspath(path)!r}: {marked(error)}")
    return error


def _check_agreement(found: Schema, declared: Schema, path: str | os.PathLike[str]) -> None:
    """Refuse a file whose header says something else than the schema; name what differs."""
    differs = differences(found, declared)
    if differs:
        raise SchemaError(
            f"the header of {os.fspath(path)!r} differs from the schema in {'; '.join(differs)}; "
            "read the header again with Schema.from_dta and declare the facts again"
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


def check_fits(schema: Schema, layout: Layout, rows: int) -> None:
    """Refuse facts that the release cannot hold."""
    release, k = layout.release, len(schema.columns)
    if k > layout.most_columns:
        mend = "drop some" if release == 119 else "write ``version=119`` or drop some"
        raise SchemaError(f"{k:,} columns; release {release} holds {layout.most_columns:,}; {mend}")
    if rows > layout.most_rows:
        raise SchemaError(f"{rows:,} rows; release {release} holds {layout.most_rows:,}")
    if rows and not k:
        raise SchemaError("the data have rows but no columns; give at least one column")
    for column in schema.columns:
        _check_type(column, layout)
        check_name(column.name)
    _check_sort_order(schema)


def check_header(schema: Schema, rows: int) -> None:
    """Refuse a schema of which a file of so many rows could not be written, whatever they hold."""
    layout = layout_of(schema)
    check_fits(schema, layout, rows)
    framing(schema, layout, rows, 0)


def _check_type(column: Column, layout: Layout) -> None:
    storage, match = column.type, STRING_TYPE.fullmatch(column.type)
    if storage in NUMPY_TYPE:
        return
    if storage != "strL" and not (match and int(match[1]) <= STRING_WIDTH):
        raise SchemaError(
            f"column {column.name!r} has type {storage!r}; allowed: {', '.join(NUMPY_TYPE)}, "
            f"str1 to str{STRING_WIDTH}, strL"
        )
    if not layout.tagged and (match is None or int(match[1]) > layout.widest):
        raise SchemaError(
            f"column {column.name!r} is {storage}, which release {layout.release} does not have "
            f"(str1 to str{layout.widest}); write ``version=117`` or later"
        )


def _check_sort_order(schema: Schema) -> None:
    by, names = schema.file.sorted_by, set(schema.names)
    unknown = [name for name in by if name not in names]
    if unknown:
        raise SchemaError(
            f"the sort order names {unknown[0]!r}, which is not a column; shorten sorted_by"
        )
    if len(set(by)) < len(by):
        raise SchemaError("the sort order names a column twice; keep the first")


_TIMESTAMP = 17
_LABEL = {True: 320, False: 80}  # most bytes of the dataset label, by whether text is UTF-8
_LONGEST_CHARACTERISTIC = 67_784


@checked
def write_dta(
    data: pd.DataFrame,
    schema: Schema,
    path: str | os.PathLike[str],
    version: int | None = None,
) -> None:
    """Write data, with the labels, formats and other facts of the schema, as a Stata file.

    Parameters
    ----------
    data : pandas.DataFrame
        Columns as :func:`read_dta` returns them, with the names and order of the schema.
    schema : Schema
        Types, formats, labels and other facts of the file.
    path : path
        Written whole or not at all; an existing file is replaced.
    version : {102, 103, 104, 105, 108, 110, 111, 113, 114, 115, 117, 118, 119}, optional
        Release of the format.  By default, that of the file that was read, else 118, or 119 for
        more than 32,767 variables.  Releases before 113 have no missing code but ``.``.

    Raises
    ------
    SchemaError
        If a value does not fit its type, or a fact does not fit the release.  Nothing is rounded,
        cut or converted.
    FileError
        If the file cannot be written.  No partial file is left then.

    Notes
    -----
    The timestamp is taken from the schema, so that equal input gives equal files.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> file = os.path.join(tempfile.mkdtemp(), "ages.dta")
    >>> write_dta(pd.DataFrame({"age": [31.0, 47.0]}), Schema((Column("age", "byte"),)), file)
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema is ``{type(schema).__name__}``; write_dta takes the data, their "
            "schema and a path"
        )
    layout = layout_of(schema, version)
    _check_names(data, schema)
    check_fits(schema, layout, len(data))
    strls = StrlWriter(layout, schema.file.byteorder)
    packed = pack_columns(data, schema.columns, layout, strls)
    types = [column.type for column in schema.columns]
    around = framing(schema, layout, len(data), strls.size)
    with atomic_write(path) as file:
        file.write(around.before)
        write_rows(file, packed, types, schema.file.byteorder)
        file.write(around.between)
        strls.copy_to(file)
        file.write(around.after)


def layout_of(schema: Schema, version: int | None = None) -> Layout:
    """Return the layout of a release: the one asked for, or else the one that was read."""
    if version is None:
        release = schema.file.release if schema.file.release in RELEASES else 118
        wide = release == 118 and len(schema.columns) > LAYOUTS[118].most_columns
        return LAYOUTS[119 if wide else release]
    if version not in RELEASES:
        allowed = ", ".join(map(str, RELEASES))
        raise SchemaError(f"``version={version!r}``; allowed: {allowed}")
    return LAYOUTS[version]


class Framing(NamedTuple):
    """What stands before the rows, between the rows and the strLs, and after these."""

    before: bytes
    between: bytes
    after: bytes


def framing(schema: Schema, layout: Layout, rows: int, strls: int) -> Framing:
    """Frame of so many rows and bytes of strLs; its lengths depend on neither."""
    return (_tagged if layout.tagged else _binary)(schema, layout, rows, strls)


def _check_names(data: pd.DataFrame, schema: Schema) -> None:
    if not isinstance(data, pd.DataFrame):
        raise SchemaError(f"data is ``{type(data).__name__}``; give ``a pandas DataFrame``")
    names = list(data.columns)
    if names == schema.names:
        return
    given, known = set(names), set(schema.names)
    absent = [str(name) for name in schema.names if name not in given]
    surplus = [str(name) for name in names if name not in known]
    what = "; ".join(
        f"{word}: {', '.join(listed[:8])}"
        for word, listed in (("missing in the data", absent), ("not in the schema", surplus))
        if listed
    )
    raise SchemaError(
        f"the columns of the data are not those of the schema ({what or 'order or number'}); "
        "select them with data[schema.names]"
    )


def _tagged(schema: Schema, layout: Layout, rows: int, strls: int) -> Framing:
    """Frame of the rows in releases 117 and later."""
    order, file = schema.file.byteorder, schema.file
    start = _tagged_start(schema, layout, rows)
    types, *blocks = _descriptors(schema, layout)
    sections = [
        b"<variable_types>" + types + b"</variable_types>",
        *(
            f"<{tag}>".encode() + block + f"</{tag}>".encode()
            for tag, block in zip(
                ("varnames", "sortlist", "formats", "value_label_names", "variable_labels"),
                blocks,
                strict=True,
            )
        ),
        b"<characteristics>" + _characteristics(schema, layout) + b"</characteristics>",
    ]
    width = row_dtype([column.type for column in schema.columns], order).itemsize
    data = len(b"<data></data>") + rows * width
    labels = pack_label_sets(file.value_labels, layout, order)
    long = len(b"<strls></strls>") + strls
    map_length = len(b"<map></map>") + 8 * MAP_ENTRIES
    lengths = [map_length, *map(len, sections), data, long, len(labels), len(b"</stata_dta>")]
    places = [0, len(start)]
    for length in lengths:
        places.append(places[-1] + length)
    table = b"<map>" + struct.pack(f"{order}{MAP_ENTRIES}Q", *places) + b"</map>"
    return Framing(
        start + table + b"".join(sections) + b"<data>",
        b"</data><strls>",
        b"</strls>" + labels + b"</stata_dta>",
    )


def _tagged_start(schema: Schema, layout: Layout, rows: int) -> bytes:
    order, file = schema.file.byteorder, schema.file
    label = packed_text(file.label, _LABEL[layout.encoding == "utf-8"], layout, "the dataset label")
    timestamp = packed_text(file.timestamp, _TIMESTAMP, layout, "the timestamp")
    parts = [
        b"<stata_dta><header><release>%d</release>" % layout.release,
        b"<byteorder>" + (b"LSF" if order == "<" else b"MSF") + b"</byteorder>",
        b"<K>" + struct.pack(order + layout.columns, len(schema.columns)) + b"</K>",
        b"<N>" + struct.pack(order + layout.rows, rows) + b"</N>",
        b"<label>" + struct.pack(order + layout.label_length, len(label)) + label + b"</label>",
        b"<timestamp>" + bytes([len(timestamp)]) + timestamp + b"</timestamp></header>",
    ]
    return b"".join(parts)


def _binary(schema: Schema, layout: Layout, rows: int, _: int) -> Framing:
    """Frame of the rows in releases before 117."""
    order, file = schema.file.byteorder, schema.file
    before = [
        bytes([layout.release, 2 if order == "<" else 1, 1, 0]),
        struct.pack(order + layout.columns + layout.rows, len(schema.columns), rows),
        padded_text(file.label, layout.label, layout, "the dataset label"),
        _binary_timestamp(file.timestamp, layout),
        *_descriptors(schema, layout),
        _characteristics(schema, layout),
        bytes(struct.calcsize("<B" + layout.expansion)) if layout.expansion else b"",
    ]
    return Framing(b"".join(before), b"", pack_label_sets(file.value_labels, layout, order))


def _binary_timestamp(text: str, layout: Layout) -> bytes:
    if layout.timestamp:
        return padded_text(text, layout.timestamp, layout, "the timestamp")
    if text:
        raise SchemaError(
            f"release {layout.release} holds no timestamp; write ``version=105`` or later"
        )
    return b""


def _descriptors(schema: Schema, layout: Layout) -> list[bytes]:
    """Return types, names, sort list, formats, names of label sets and labels, in this order."""
    columns, order = schema.columns, schema.file.byteorder
    codes = [type_code(column.type, layout) for column in columns]
    place = {column.name: number for number, column in enumerate(columns, 1)}
    sort = [place[name] for name in schema.file.sorted_by]
    sort += [0] * (len(columns) + 1 - len(sort))
    return [
        struct.pack(f"{order}{len(codes)}{'H' if layout.tagged else 'B'}", *codes),
        _fields("name", ((c.name, c.name) for c in columns), layout.name, layout),
        struct.pack(f"{order}{len(sort)}{layout.sort}", *sort),
        _fields(
            "format",
            ((c.name, c.format or default_format(c.type)) for c in columns),
            layout.format,
            layout,
        ),
        _fields("value label", ((c.name, c.value_label) for c in columns), layout.name, layout),
        _fields("label", ((c.name, c.label) for c in columns), layout.label, layout),
    ]


def _fields(fact: str, texts: Iterable[tuple[str, str]], width: int, layout: Layout) -> bytes:
    return b"".join(
        padded_text(text, width, layout, f"the {fact} of column {name!r}") for name, text in texts
    )


def _characteristics(schema: Schema, layout: Layout) -> bytes:
    """Return characteristics, each in the frame of its release, without the list's end."""
    packed: list[bytes] = []
    if not layout.expansion and schema.file.characteristics:
        raise SchemaError(
            f"release {layout.release} holds no notes and characteristics; write ``version=105`` "
            "or later, or drop them"
        )
    most = _LONGEST_CHARACTERISTIC if layout.expansion == "I" else 65_534 - 2 * layout.name
    for owner, name, text in schema.file.characteristics:
        what = f"the characteristic {owner}[{name}]"
        body = (
            padded_text(owner, layout.name, layout, f"the owner of {what}")
            + padded_text(name, layout.name, layout, f"the name of {what}")
            + packed_text(text, most, layout, what)
            + b"\0"
        )
        length = struct.pack(schema.file.byteorder + layout.expansion, len(body))
        packed.append(
            b"<ch>" + length + body + b"</ch>" if layout.tagged else b"\1" + length + body
        )
    return b"".join(packed)
