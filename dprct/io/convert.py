"""Files larger than memory: between .dta and .parquet piece by piece, the schema next to them."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dprct import disk
from dprct.disk import atomic_write
from dprct.errors import FileError, ParameterError, SchemaError, marked, reword
from dprct.io.stata.columns import mark_missing
from dprct.io.stata.files import (
    check_fits,
    differences,
    framing,
    layout_of,
    opened,
    pack_columns,
    pieces,
    read_header,
    write_rows,
)
from dprct.io.stata.layout import Decoded, Header, parsed_header
from dprct.io.stata.strls import RawText, Strls, StrlWriter
from dprct.io.text import arrow_of
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.schema.schema import Schema
from dprct.schema.tables import COMPANION

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from dprct.io.stata.layout import Cursor
    from dprct.schema.columns import Column

    Progress = Callable[[int, int], None]
    Piece = dict[str, NDArray[Any]]


def schema_beside(path: str | os.PathLike[str]) -> Path:
    """Place of the schema of a .parquet file.

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

    The schema is written (or read) next to the .parquet file, as ``big.schema.toml``.  One that is
    there already and agrees with the .dta file stays, with what was declared in it.  ``progress``
    is called with rows done and rows in all; ``overwrite`` replaces a file that exists, and a
    schema that says something else.

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
            "(``overwrite=True``)"
        )
    if pair == (".dta", ".parquet"):
        return to_parquet(one, other, schema_beside(other), said, overwrite=overwrite)
    return to_dta(one, other, schema_beside(one), said)


ROWS = 1 << 16
"""Most rows of a piece, and of a row group."""

_ROWS = 1 << 16
_ROWS_OF_LONG_TEXT = 1 << 13  # a repeated text takes little of a .parquet file, but not of memory
_BATCH_BYTES = 1 << 26
_BUFFER = 1 << 20  # of a column that is being read, as a row group may be the whole file


def to_dta(source: Path, target: Path, beside: Path, progress: Progress) -> Schema:
    """Write a .parquet file as .dta."""
    arrow, parquet = arrow_of("reading .parquet")
    with disk.opened(source) if source.is_file() else _missing(source) as file:
        try:
            rows = parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        except (arrow.ArrowException, OSError):
            raise FileError(
                f"{source.name!r} is not a parquet file that can be read; check how it was made"
            ) from None
        with rows, _about(source):
            return _converted(rows, _schema(source, beside), source, target, progress)


def _converted(rows: Any, schema: Schema, source: Path, target: Path, progress: Progress) -> Schema:
    total = rows.metadata.num_rows
    layout = layout_of(schema)
    check_fits(schema, layout, total)
    _check_columns(rows.schema_arrow, schema)
    with atomic_write(target) as file, _spool(target) as spool:
        strls = StrlWriter(layout, schema.file.byteorder, spool)
        around = framing(schema, layout, total, 0)
        file.write(around.before)
        _write_rows(file, _batches(rows, schema, source), schema, strls, progress, total)
        file.write(around.between)
        strls.copy_to(file)
        file.write(around.after)
        if strls.size:  # the map in the header says where the strLs end, which is known now
            file.seek(0)
            file.write(framing(schema, layout, total, strls.size).before)
    return replace(schema, file=replace(schema.file, rows=total))


def _write_rows(
    file: IO[bytes],
    batches: Iterator[Any],
    schema: Schema,
    strls: StrlWriter,
    progress: Progress,
    total: int,
) -> None:
    types, done = [column.type for column in schema.columns], 0
    for batch in batches:
        cells = {c.name: _stata_cells(batch, c) for c in schema.columns}
        piece = pd.DataFrame({n: pd.Series(x, dtype=x.dtype, copy=False) for n, x in cells.items()})
        write_rows(
            file,
            pack_columns(piece, schema.columns, strls.layout, strls),
            types,
            schema.file.byteorder,
        )
        done += len(piece)
        progress(done, total)


def _missing(source: Path) -> Any:
    what = "is a folder; name a file" if source.is_dir() else "does not exist; check the path"
    raise FileError(f"{str(source)!r} {what}")


@contextlib.contextmanager
def _about(source: Path) -> Iterator[None]:
    """Begin refusals of the schema with the file."""
    try:
        yield
    except SchemaError as error:
        reword(error, f"{source.name!r}: {marked(error)}")
        raise error from None


def _schema(source: Path, beside: Path) -> Schema:
    if not beside.exists():
        raise FileError(
            f"{source.name!r} has no schema next to it ({beside.name!r}), and a .dta file needs "
            f"one; write it with ``Schema.from_frame(polars.scan_parquet({source.name!r}))``"
            f".save({beside.name!r})"
        )
    return Schema.load(beside)


def _spool(target: Path) -> IO[bytes]:
    """Open a file for long texts on the disk of the target, which ends with this process.

    It has mode 0600 and, where the system can do it, never a name.
    """
    return tempfile.TemporaryFile(dir=target.resolve().parent, prefix=".", suffix=".part")


def _check_columns(found: Any, schema: Schema) -> None:
    """Refuse a file that the schema does not describe, or a type that no storage type holds."""
    twice = [name for name, count in Counter(found.names).items() if count > 1]
    if twice:
        raise SchemaError(f"two columns are called {twice[0]!r}; give each its own name")
    absent = [name for name in schema.names if name not in found.names]
    if absent:
        raise SchemaError(
            f"column {absent[0]!r} of the schema is not in the .parquet file; give both together"
        )
    companions = {c.name + COMPANION for c in schema.columns if not c.is_text}
    surplus = [name for name in found.names if name not in {*schema.names, *companions}]
    if surplus:
        raise SchemaError(
            f"column {surplus[0]!r} is not in the schema next to the file; add it there, or drop it"
        )
    for column in schema.columns:
        _check_kind(found.field(column.name).type, column)
        if column.name + COMPANION in found.names and not column.is_text:
            _check_companion(found.field(column.name + COMPANION).type, column)


def _check_kind(kind: Any, column: Column) -> None:
    from pyarrow import types as are

    text = kind.value_type if are.is_dictionary(kind) else kind
    if are.is_null(kind):
        return
    if column.is_text:
        if not any(f(text) for f in (are.is_string, are.is_large_string, are.is_string_view)):
            raise SchemaError(
                f"column {column.name!r} is {kind} in the .parquet file and {column.type} in the "
                "schema; cast it to text in the engine"
            )
    elif not any(f(kind) for f in (are.is_integer, are.is_floating, are.is_boolean)):
        raise SchemaError(
            f"column {column.name!r} is {kind} in the .parquet file and {column.type} in the "
            "schema; cast it to a number in the engine (a date to days, a time to milliseconds "
            "since 1960)"
        )


def _check_companion(kind: Any, column: Column) -> None:
    from pyarrow import types as are

    if not are.is_integer(kind):
        raise SchemaError(
            f"column {column.name + COMPANION!r} is {kind}; it holds the missing codes of "
            f"{column.name!r} as int8, -1 to {len(MISSING_CODES) - 1}"
        )


def _batches(rows: Any, schema: Schema, source: Path) -> Iterator[Any]:
    """Yield rows in pieces of bounded size; a row group may be larger than memory."""
    names = [
        name
        for column in schema.columns
        for name in (column.name, column.name + COMPANION)
        if name in rows.schema_arrow.names
    ]
    long = any(column.type == "strL" for column in schema.columns)
    most = min(_ROWS, _ROWS_OF_LONG_TEXT) if long else _ROWS
    for number in range(rows.num_row_groups):
        group = rows.metadata.row_group(number)
        width = max(1, group.total_byte_size // max(group.num_rows, 1))
        step = max(1, min(most, _BATCH_BYTES // width))
        found = rows.iter_batches(step, row_groups=[number], columns=names, use_threads=False)
        while (batch := _next(found, source)) is not None:
            yield batch


def _next(batches: Iterator[Any], source: Path) -> Any:
    """Return the next batch; what the library says of a damaged file could be a value."""
    import pyarrow

    try:
        return next(batches, None)
    except (pyarrow.ArrowException, OSError):
        raise FileError(
            f"{source.name!r} cannot be read to its end; copy it again, or check how it was made"
        ) from None


def _stata_cells(batch: Any, column: Column) -> NDArray[Any]:
    values = batch.column(column.name)
    if column.is_text:
        return np.array([*values.cast("string").fill_null("").to_pylist(), None], object)[:-1]
    import pyarrow

    try:
        numbers: NDArray[np.float64] = (
            values.cast("double").fill_null(np.nan).to_numpy(zero_copy_only=False).copy()
        )
    except pyarrow.ArrowInvalid:
        raise SchemaError(
            f"column {column.name!r} holds whole numbers beyond 2**53, which a {column.type} "
            "cannot hold; store it as text"
        ) from None
    gone = np.isnan(numbers)
    numbers[gone] = tagged(_codes(batch, column)[gone])
    return numbers


def _codes(batch: Any, column: Column) -> NDArray[np.int64]:
    """Return the number of the missing code of each row, 0 where none is said."""
    name = column.name + COMPANION
    if name not in batch.schema.names:
        return np.zeros(len(batch), np.int64)
    codes = batch.column(name).fill_null(0).to_numpy(zero_copy_only=False)
    if np.any((codes < -1) | (codes >= len(MISSING_CODES))):
        raise SchemaError(
            f"column {name!r} holds something other than the missing codes of {column.name!r}, "
            f"-1 to {len(MISSING_CODES) - 1}; correct it, or drop it"
        )
    known: NDArray[np.int64] = np.maximum(codes, 0).astype(np.int64)
    return known


_TEXT_BYTES = 1 << 26
_DTYPES = {"byte": "int8", "int": "int16", "long": "int32", "float": "float32"}


def to_parquet(
    source: Path, target: Path, beside: Path, progress: Progress, *, overwrite: bool
) -> Schema:
    """Write a .dta file as .parquet, with its schema next to it."""
    arrow, parquet = arrow_of("writing .parquet")
    found = read_header(source)
    _check_companions(found, source.name)
    declared = _declared(found, source, beside, overwrite=overwrite)
    fields = [field for column in found.columns for field in _fields(column, arrow)]
    layout, done, total = arrow.schema(fields), 0, found.file.rows or 0
    with atomic_write(target) as file:
        with parquet.ParquetWriter(file, layout) as writer:
            for piece in read_pieces(source, ROWS):
                arrays = [
                    array
                    for column in found.columns
                    for array in _arrays(piece[column.name], column, source.name, arrow)
                ]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=layout))
                done += len(arrays[0])
                progress(done, total)
        if declared is None:
            found.save(beside)
    return declared or found


def read_pieces(path: Path, rows: int) -> Iterator[Piece]:
    """Yield the rows of a .dta file as columns, at most ``rows`` at a time.

    Columns are as :func:`dprct.io.stata.read_dta` reads them; rows are fewer where strLs have more
    than 64 MiB together.
    """
    with opened(path) as cursor:
        header = parsed_header(cursor)
        strls = _strls(cursor, header) if header.layout.tagged else None
        long = [f"c{i}" for i, c in enumerate(header.columns) if c.type == "strL"]
        decoders = {c.name: Decoded(header.layout) for c in header.columns if c.is_text}
        for _, read in pieces(cursor, header, rows):
            for part in _portions(read, strls, long) if strls and long else [read]:
                yield {
                    column.name: _cells(part[f"c{i}"], column, decoders, strls, header)
                    for i, column in enumerate(header.columns)
                }


def _strls(cursor: Cursor, header: Header) -> Strls:
    """Place of the strLs, which lie after the rows."""
    end = header.data_at + header.rows * header.dtype.itemsize
    with cursor.visit(end, "data"):
        cursor.expect("</data>", "data")
        strls = Strls(cursor, header.layout, header.byteorder)
        if cursor.at != header.labels_at:
            cursor.fail("the map points elsewhere than to the value labels", "map")
    if header.layout.release == 119:
        long = [f"c{i}" for i, c in enumerate(header.columns) if c.type == "strL"]
        with cursor.visit(header.data_at, "data"):
            strls.settle(
                part[name].astype(np.uint64)
                for _, part in pieces(cursor, header, ROWS)
                for name in long
            )
    return strls


def _portions(read: NDArray[np.void], strls: Strls, long: list[str]) -> Iterator[NDArray[np.void]]:
    """Cut rows where their strLs would have too many bytes; a row stays whole."""
    ends = sum(strls.sizes(read[name].astype(np.uint64)) for name in long)
    ends = np.cumsum(ends)
    start = 0
    while start < len(read):
        most = _TEXT_BYTES + (ends[start - 1] if start else 0)
        stop = max(start + 1, int(np.searchsorted(ends, most, "right")))
        yield read[start:stop]
        start = stop


def _cells(
    raw: Any,
    column: Column,
    decoders: dict[str, Decoded],
    strls: Strls | None,
    header: Header,
) -> NDArray[Any]:
    if column.type == "strL" and strls is not None:
        return strls.texts(raw.astype(np.uint64))
    if column.is_text:
        texts = np.empty(len(raw), object)
        texts[:] = list(map(decoders[column.name].__getitem__, raw.tolist()))
        return texts
    numbers: NDArray[np.float64] = raw.astype(np.float64)
    mark_missing(numbers, column, header.data_at, header.layout)
    return numbers


def _check_companions(found: Schema, file: str) -> None:
    taken = {c.name + COMPANION for c in found.columns if not c.is_text} & set(found.names)
    if taken:
        raise SchemaError(
            f"column {min(taken)!r} of {file!r} has the name that missing codes need in a "
            ".parquet file; rename it"
        )


def _declared(found: Schema, source: Path, beside: Path, *, overwrite: bool) -> Schema | None:
    """Return the schema that is there already, or None where one is to be written."""
    if not beside.exists():
        return None
    declared = Schema.load(beside)
    differs = differences(found, declared)
    if differs and not overwrite:
        raise SchemaError(
            f"{str(beside)!r} exists and differs from {source.name!r} in {'; '.join(differs)}; "
            "choose another name, or replace it with --force (``overwrite=True``)"
        )
    return None if differs else declared


def _fields(column: Column, arrow: Any) -> list[Any]:
    if column.is_text:
        return [arrow.field(column.name, arrow.string())]
    kind = arrow.from_numpy_dtype(np.dtype(_DTYPES.get(column.type, "float64")))
    return [arrow.field(column.name, kind), arrow.field(column.name + COMPANION, arrow.int8())]


def _arrays(cells: NDArray[Any], column: Column, file: str, arrow: Any) -> list[Any]:
    if column.is_text:
        _check_text(cells, column, file)
        return [arrow.array(cells, arrow.string())]
    codes = missing_numbers(cells)
    plain = np.where(codes < 0, cells, 0.0).astype(_DTYPES.get(column.type, "float64"))
    return [arrow.array(plain, mask=codes >= 0), arrow.array(codes, arrow.int8())]


def _check_text(cells: NDArray[Any], column: Column, file: str) -> None:
    odd = [cell for cell in cells if not isinstance(cell, str)]
    if not odd:
        return
    binary = column.type == "strL" and any(not isinstance(cell, RawText) for cell in odd)
    what, mend = (
        ("binary objects", "drop it in Stata")
        if binary
        else ("text in no known encoding", "correct it in Stata (unicode translate)")
    )
    raise SchemaError(
        f"column {column.name!r} of {file!r} holds {what}, which .parquet cannot hold; {mend}, or "
        "read the file with ``dprct.read``"
    )
