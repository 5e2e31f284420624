"""Columns of text of a fixed width (``str#``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError
from dprct.io.stata.fields import packed_text
from dprct.schema.facts import Column, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.io.stata.layout import Layout

_MOST_REMEMBERED = 65_536


class Decoded(dict[bytes, str | bytes]):
    """Cells of one column as text, decoded once per distinct cell.

    Parameters
    ----------
    layout : Layout

    Notes
    -----
    Text that is invalid in the encoding stays bytes.  The memory is emptied when it is full, so
    that a column of distinct texts does not keep them all twice.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.encoding = layout.encoding

    def __missing__(self, cell: bytes) -> str | bytes:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        content = cell.split(b"\0", 1)[0]
        text = self[cell] = decoded(content, self.encoding)
        return text


def decoded(content: bytes, encoding: str) -> str | bytes:
    r"""Return bytes as text, or as they are where the encoding does not know them.

    Examples
    --------
    >>> decoded(b"caf\xe9", "utf-8"), decoded(b"caf\xe9", "cp1252")
    (b'caf\xe9', 'café')
    """
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content


class _Packed(dict[Any, bytes]):
    """Texts of one column as bytes, checked once per distinct text."""

    def __init__(self, column: Column, layout: Layout) -> None:
        super().__init__()
        self.column, self.layout = column, layout
        self.width = text_width(column.type) or 0

    def __missing__(self, text: object) -> bytes:
        packed = self[text] = packed_cell(text, self.width, self.column, self.layout)
        return packed


def packed_cell(text: object, most: int, column: Column, layout: Layout) -> bytes:
    """Return one cell of text as bytes, or refuse it without showing it."""
    if isinstance(text, bytes):
        if b"\0" in text:
            raise SchemaError(
                f"column {column.name!r} ({column.type}) holds bytes with a NUL, which ends a "
                "text in Stata; declare the column strL"
            )
        if len(text) <= most:
            return text
    elif not isinstance(text, str):
        raise SchemaError(
            f"column {column.name!r} ({column.type}) holds something that is not text; "
            "Stata has no missing text, give '' instead"
        )
    else:
        packed = packed_text(text, max(most, 4 * len(text)), layout, f"column {column.name!r}")
        if len(packed) <= most:
            return packed
    raise SchemaError(
        f"column {column.name!r} ({column.type}) holds text of more than {most:,} bytes; "
        "shorten it or declare a wider type"
    )


def packed_strings(cells: Sequence[object], column: Column, layout: Layout) -> NDArray[np.bytes_]:
    """Return texts as fields of the column's width.

    Parameters
    ----------
    cells : sequence of str or bytes, length n
    column : Column
    layout : Layout

    Returns
    -------
    ndarray of ``S#``, shape (n,)

    Raises
    ------
    SchemaError
        If a text is too long, not encodable, or no text at all.
    """
    packed = _Packed(column, layout)
    try:
        fields = list(map(packed.__getitem__, cells))
    except TypeError:
        fields = [packed_cell(cell, packed.width, column, layout) for cell in cells]
    return np.array(fields, f"S{packed.width}")
