"""From .dta to .parquet in pieces of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError
from dprct.io.atomic import atomic_write
from dprct.io.stata import header as head
from dprct.io.stata.numbers import mark_missing
from dprct.io.stata.read import differences, opened, read_header
from dprct.io.stata.rows import pieces
from dprct.io.stata.strings import Decoded
from dprct.io.stata.strl import RawText, Strls
from dprct.io.tabular import arrow_of
from dprct.missing import missing_numbers
from dprct.schema.schema import Schema
from dprct.schema.table import COMPANION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.io.stata.cursor import Cursor
    from dprct.io.streaming import Progress
    from dprct.schema.facts import Column

    Piece = dict[str, NDArray[Any]]

ROWS = 1 << 16
"""Most rows of a piece, and of a row group."""

_TEXT_BYTES = 1 << 26
_DTYPES = {"byte": "int8", "int": "int16", "long": "int32", "float": "float32"}


def to_parquet(
    source: Path, target: Path, beside: Path, progress: Progress, *, overwrite: bool
) -> Schema:
    """Write a .dta file as .parquet, and its schema beside that.

    Raises
    ------
    SchemaError, FileError, StataFormatError
        As :func:`dprct.io.streaming.convert`.
    """
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

    Parameters
    ----------
    path : Path
    rows : int
        Fewer where strLs have more than 64 MiB together.

    Yields
    ------
    dict of name to ndarray
        float64 with missing codes in NaN payloads, and object for text, as
        :func:`dprct.io.stata.read_dta` reads them.

    Raises
    ------
    FileError, StataFormatError
        As :func:`dprct.io.stata.read_dta`.
    """
    with opened(path) as cursor:
        header = head.read(cursor)
        strls = _strls(cursor, header) if header.layout.tagged else None
        long = [f"c{i}" for i, c in enumerate(header.columns) if c.type == "strL"]
        decoders = {c.name: Decoded(header.layout) for c in header.columns if c.is_text}
        for _, read in pieces(cursor, header, rows):
            for part in _portions(read, strls, long) if strls and long else [read]:
                yield {
                    column.name: _cells(part[f"c{i}"], column, decoders, strls, header.data_at)
                    for i, column in enumerate(header.columns)
                }


def _strls(cursor: Cursor, header: head.Header) -> Strls:
    """Return where the strLs are, which lie after the rows."""
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
    raw: Any, column: Column, decoders: dict[str, Decoded], strls: Strls | None, at: int
) -> NDArray[Any]:
    if column.type == "strL" and strls is not None:
        return strls.texts(raw.astype(np.uint64))
    if column.is_text:
        texts = np.empty(len(raw), object)
        texts[:] = list(map(decoders[column.name].__getitem__, raw.tolist()))
        return texts
    numbers: NDArray[np.float64] = raw.astype(np.float64)
    mark_missing(numbers, column, at)
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
            "choose another name, or replace it with --force (overwrite=True)"
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
        else ("text in no known encoding", "mend it in Stata (unicode translate)")
    )
    raise SchemaError(
        f"column {column.name!r} of {file!r} holds {what}, which .parquet cannot hold; {mend}, or "
        "read the file with dprct.read"
    )
