"""The data section: rows of a file on one side, columns of a frame on the other."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dprct.errors import SchemaError
from dprct.io.stata.columns import Decoded, mark_missing, packed_numbers, packed_strings
from dprct.io.stata.header import Header, row_dtype
from dprct.io.stata.strl import Strls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.io.stata.layout import ByteOrder, Cursor, Layout
    from dprct.io.stata.strl import StrlWriter
    from dprct.schema.columns import Column

_CHUNK_BYTES = 2**20  # rows are transposed in pieces that stay in the processor's cache
_CHUNK_ROWS = 64

Columns = dict[str, NDArray[Any]]


def read_frame(
    cursor: Cursor,
    header: Header,
    columns: Sequence[str] | None = None,
    rows: range | None = None,
) -> pd.DataFrame:
    """Read the data section and the strLs; the cursor stands at the first row.

    ``columns`` and ``rows`` (of step 1, within the file) leave out the others: no memory is asked
    for these.

    Returns
    -------
    pandas.DataFrame
        float64 for numbers, with missing codes in NaN payloads; object for text.
    """
    wanted = [c for c in header.columns if columns is None or c.name in columns]
    found = _read_columns(cursor, header, wanted, range(header.rows) if rows is None else rows)
    if header.layout.tagged:
        cursor.expect("</data>", "data")
        strls = Strls(cursor, header.layout, header.byteorder)
        long = [c.name for c in wanted if c.type == "strL"]
        strls.settle(found[name] for name in long)
        found.update((name, strls.texts(found[name])) for name in long)
    for column in wanted:
        if not column.is_text:
            mark_missing(found[column.name], column, header.data_at)
    return _frame(found, wanted, header.rows if rows is None else len(rows))


def _read_columns(
    cursor: Cursor, header: Header, wanted: Sequence[Column], window: range
) -> Columns:
    """Return float64 numbers, decoded ``str#`` and raw strL cells, by column."""
    numeric = [c.name for c in wanted if not c.is_text]
    block = np.empty((len(numeric), len(window)), np.float64)
    by_name = dict(zip(numeric, block, strict=True))
    columns: Columns = {
        c.name: by_name[c.name] if not c.is_text else _empty_text(c, len(window)) for c in wanted
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
            columns[column.name][part] = cells
    return columns


def _empty_text(column: Column, rows: int) -> NDArray[Any]:
    return np.empty(rows, np.uint64 if column.type == "strL" else object)


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
    """Return how many rows are read or written together."""
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
    """Return every column as its type holds it; nothing is rounded, cut or guessed.

    Raises
    ------
    SchemaError
        If a value does not fit; the message names column, type and rule.
    """
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
        return packed_numbers(_as_numbers(values, column), column)
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
