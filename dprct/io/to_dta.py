"""From .parquet to .dta in pieces of bounded size, by the schema beside it."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import FileError, SchemaError
from dprct.io.atomic import atomic_write
from dprct.io.stata.fits import check_fits
from dprct.io.stata.rows import pack_columns, write_rows
from dprct.io.stata.strl_writer import StrlWriter
from dprct.io.stata.write import framing, layout_of
from dprct.io.tabular import arrow_of
from dprct.missing import MISSING_CODES, tagged
from dprct.schema.schema import Schema
from dprct.schema.table import COMPANION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.io.streaming import Progress
    from dprct.schema.facts import Column

_ROWS = 1 << 16
_ROWS_OF_LONG_TEXT = 1 << 13  # a repeated text takes little of a .parquet file, but not of memory
_BATCH_BYTES = 1 << 26
_BUFFER = 1 << 20  # of a column that is being read, as a row group may be the whole file


def to_dta(source: Path, target: Path, beside: Path, progress: Progress) -> Schema:
    """Write a .parquet file as .dta.

    Raises
    ------
    SchemaError, FileError
        As :func:`dprct.io.streaming.convert`.
    """
    arrow, parquet = arrow_of("reading .parquet")
    with source.open("rb") if source.is_file() else _missing(source) as file:
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
        cells = {c.name: _cells(batch, c) for c in schema.columns}
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
        error.args = (f"{source.name!r}: {error.args[0]}", *error.args[1:])
        raise error from None


def _schema(source: Path, beside: Path) -> Schema:
    if not beside.exists():
        raise FileError(
            f"{source.name!r} has no schema beside it ({beside.name!r}), and a .dta file needs "
            f"one; write it with Schema.from_frame(polars.scan_parquet({source.name!r}))"
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
            f"column {surplus[0]!r} is not in the schema beside the file; add it there, or drop it"
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


def _cells(batch: Any, column: Column) -> NDArray[Any]:
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
            f"column {name!r} holds something else than the missing codes of {column.name!r}, "
            f"-1 to {len(MISSING_CODES) - 1}; mend it, or drop it"
        )
    known: NDArray[np.int64] = np.maximum(codes, 0).astype(np.int64)
    return known
