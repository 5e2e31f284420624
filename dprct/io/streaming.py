"""Files larger than memory: between .dta and .parquet piece by piece, the schema beside them."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import FileError, ParameterError, SchemaError
from dprct.io.atomic import atomic_write
from dprct.io.stata import header as head
from dprct.io.stata.fits import check_fits
from dprct.io.stata.numbers import mark_missing
from dprct.io.stata.read import opened, read_header
from dprct.io.stata.rows import pack_columns, pieces, write_rows
from dprct.io.stata.strings import Decoded
from dprct.io.stata.strl import StrlWriter
from dprct.io.stata.write import framing, layout_of
from dprct.io.tabular import arrow_of
from dprct.missing import missing_numbers, tagged
from dprct.schema.schema import Schema
from dprct.schema.table import COMPANION

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from dprct.schema.facts import Column

    Progress = Callable[[int, int], None]

_GROUP = 1 << 16
_DTYPES = {"byte": "int8", "int": "int16", "long": "int32", "float": "float32"}


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
) -> Schema:
    """Turn a .dta file into a .parquet file or back, in memory that does not grow with its rows.

    Parameters
    ----------
    source, target : path
        One .dta, of release 113 and later, the other .parquet; the schema is written (or read)
        beside the .parquet file, as ``big.schema.toml``.
    progress : callable, optional
        Is called with rows done and rows in all.

    Returns
    -------
    Schema

    Raises
    ------
    ParameterError
        If the extensions are no such pair.
    SchemaError
        If a column is strL, or the name of a companion of missing codes is taken.
    FileError, StataFormatError
        If a file cannot be read or written.

    Notes
    -----
    Every number has its missing codes in ``<name>__missing`` (-1 none, 0 ``.``, 1 to 26 ``.a`` to
    ``.z``), which is where engines look for them.  strL are refused: their texts lie after the
    rows, in any order, and would all have to be held.

    Examples
    --------
    >>> convert("big.dta", "big.parquet")  # doctest: +SKIP
    """
    one, other = Path(source), Path(target)
    said = progress or (lambda _done, _all: None)
    pair = one.suffix.lower(), other.suffix.lower()
    if pair == (".dta", ".parquet"):
        return _to_parquet(one, other, said)
    if pair == (".parquet", ".dta"):
        return _to_dta(one, other, said)
    raise ParameterError(
        f"cannot convert {one.name!r} to {other.name!r}; one is a .dta, the other a .parquet file"
    )


def read_pieces(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a .dta file without strL, at most ``rows`` at a time.

    Raises
    ------
    FileError, StataFormatError, SchemaError
        As :func:`convert`.
    """
    with opened(path) as cursor:
        header = head.read(cursor)
        _check_no_strls(header.columns)
        decoders = {c.name: Decoded(header.layout) for c in header.columns if c.is_text}
        for _, part in pieces(cursor, header, rows):
            yield pd.DataFrame(
                {
                    column.name: _cells(part[f"c{i}"], column, decoders, header.data_at)
                    for i, column in enumerate(header.columns)
                }
            )


def _cells(raw: Any, column: Column, decoders: dict[str, Decoded], at: int) -> Any:
    if column.is_text:
        texts = np.empty(len(raw), object)
        texts[:] = list(map(decoders[column.name].__getitem__, raw.tolist()))
        return texts
    numbers = raw.astype(np.float64)
    mark_missing(numbers, column, at)
    return numbers


def _to_parquet(source: Path, target: Path, progress: Progress) -> Schema:
    arrow, parquet = arrow_of("writing .parquet")
    schema = read_header(source)
    total = schema.file.rows or 0
    _check_no_strls(schema.columns)
    taken = {c.name + COMPANION for c in schema.columns if not c.is_text} & set(schema.names)
    if taken:
        raise SchemaError(
            f"column {min(taken)!r} has the name that missing codes need in a .parquet file; "
            "rename it"
        )
    fields = [field for column in schema.columns for field in _fields(column, arrow)]
    layout, done = arrow.schema(fields), 0
    with atomic_write(target) as file, parquet.ParquetWriter(file, layout) as writer:
        for piece in read_pieces(source, _GROUP):
            arrays = [a for column in schema.columns for a in _arrays(piece, column, arrow)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=layout))
            done += len(piece)
            progress(done, total)
    schema.save(schema_beside(target))
    return schema


def _fields(column: Column, arrow: Any) -> list[Any]:
    if column.is_text:
        return [arrow.field(column.name, arrow.string())]
    kind = arrow.from_numpy_dtype(np.dtype(_DTYPES.get(column.type, "float64")))
    return [arrow.field(column.name, kind), arrow.field(column.name + COMPANION, arrow.int8())]


def _arrays(piece: pd.DataFrame, column: Column, arrow: Any) -> list[Any]:
    cells = piece[column.name].to_numpy()
    if column.is_text:
        if not all(isinstance(cell, str) for cell in cells):
            raise SchemaError(
                f"column {column.name!r} holds text in no known encoding, which .parquet cannot "
                "hold; mend it in Stata (unicode translate)"
            )
        return [arrow.array(cells, arrow.string())]
    codes = missing_numbers(cells)
    plain = np.where(codes < 0, cells, 0.0).astype(_DTYPES.get(column.type, "float64"))
    return [arrow.array(plain, mask=codes >= 0), arrow.array(codes, arrow.int8())]


def _to_dta(source: Path, target: Path, progress: Progress) -> Schema:
    _, parquet = arrow_of("reading .parquet")
    beside = schema_beside(source)
    if not beside.exists():
        raise FileError(
            f"{source.name!r} has no schema beside it ({beside.name!r}), and a .dta file needs "
            "one; convert a .dta file first, or write it with Schema.save"
        )
    schema = Schema.load(beside)
    _check_no_strls(schema.columns)
    try:
        rows = parquet.ParquetFile(source)
    except Exception:
        raise FileError(
            f"{source.name!r} is not a parquet file that can be read; check how it was made"
        ) from None
    with rows:
        total = rows.metadata.num_rows
        with atomic_write(target) as file:
            _write_dta(file, rows, schema, total, progress)
    return schema


def _write_dta(file: IO[bytes], rows: Any, schema: Schema, total: int, progress: Progress) -> None:
    layout = layout_of(schema)
    check_fits(schema, layout, total)
    strls = StrlWriter(layout, schema.file.byteorder)
    before, after = framing(schema, layout, total, strls)
    types, done = [column.type for column in schema.columns], 0
    file.write(before)
    for batch in rows.iter_batches(_GROUP):
        piece = pd.DataFrame({c.name: _column(batch, c) for c in schema.columns})
        packed = pack_columns(piece, schema.columns, layout, strls)
        write_rows(file, packed, types, schema.file.byteorder)
        done += len(piece)
        progress(done, total)
    file.write(after)


def _column(batch: Any, column: Column) -> Any:
    names = batch.schema.names
    if column.name not in names:
        raise SchemaError(
            f"column {column.name!r} of the schema is not in the .parquet file; give both together"
        )
    values = batch.column(column.name)
    if column.is_text:
        return np.array([*values.fill_null("").to_pylist(), None], object)[:-1]
    numbers = values.cast("double").fill_null(np.nan).to_numpy(zero_copy_only=False).copy()
    gone = np.isnan(numbers)
    codes = np.zeros(len(numbers), np.int8)
    if column.name + COMPANION in names:
        beside = batch.column(column.name + COMPANION).fill_null(0)
        codes = np.maximum(beside.to_numpy(zero_copy_only=False), 0).astype(np.int8)
    numbers[gone] = tagged(codes[gone])
    return numbers


def _check_no_strls(columns: tuple[Column, ...]) -> None:
    long = [column.name for column in columns if column.type == "strL"]
    if long:
        raise SchemaError(
            f"column {long[0]!r} is strL, whose texts a .dta file keeps apart from its rows and "
            "which cannot be streamed; drop it in Stata, or read the file with dprct.read"
        )
