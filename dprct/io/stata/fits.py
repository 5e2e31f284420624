"""What a release can hold, checked before a byte is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dprct.errors import SchemaError
from dprct.io.stata.layout import NUMPY_TYPE, Layout
from dprct.schema.facts import STRING_WIDTH, Column

if TYPE_CHECKING:
    from dprct.schema.schema import Schema

_NAME_CHARACTERS = 32
_NAME = re.compile(r"(?:[^\W\d]|[\udc80-\udcff])(?:\w|[\udc80-\udcff])*", re.UNICODE)
_STRING_TYPE = re.compile(r"str([1-9]\d{0,3})", re.ASCII)
_RESERVED = frozenset({
    "_all", "_b", "_coef", "_cons", "_n", "_N", "_pi", "_pred", "_rc", "_se", "_skip",
    "byte", "double", "float", "if", "in", "int", "long", "strL", "using", "with",
})  # fmt: skip


def check_fits(schema: Schema, layout: Layout, rows: int) -> None:
    """Refuse facts that the release cannot hold.

    Raises
    ------
    SchemaError
        For too many variables or rows, a type or name that is not Stata's or not of this
        release, or a sort order by a column that does not exist.
    """
    release, k = layout.release, len(schema.columns)
    if k > layout.most_columns:
        mend = "drop some" if release == 119 else "write version=119 or drop some"
        raise SchemaError(f"{k:,} columns; release {release} holds {layout.most_columns:,}; {mend}")
    if rows > layout.most_rows:
        raise SchemaError(f"{rows:,} rows; release {release} holds {layout.most_rows:,}")
    if rows and not k:
        raise SchemaError("the data have rows but no columns; give at least one column")
    for column in schema.columns:
        _check_type(column, layout)
        _check_name(column.name)
    _check_sort_order(schema)


def _check_type(column: Column, layout: Layout) -> None:
    storage, match = column.type, _STRING_TYPE.fullmatch(column.type)
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
            f"(str1 to str{layout.widest}); write version=117 or later"
        )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _NAME_CHARACTERS:
        raise SchemaError(
            f"{name!r} is no Stata name; allowed: up to {_NAME_CHARACTERS} letters, digits and "
            "underscores, not beginning with a digit; rename the column"
        )
    if name in _RESERVED or _STRING_TYPE.fullmatch(name):
        raise SchemaError(f"{name!r} is a word that Stata reserves; rename the column")


def _check_sort_order(schema: Schema) -> None:
    by = schema.file.sorted_by
    unknown = [name for name in by if name not in set(schema.names)]
    if unknown:
        raise SchemaError(
            f"the sort order names {unknown[0]!r}, which is no column; shorten sorted_by"
        )
    if len(set(by)) < len(by):
        raise SchemaError("the sort order names a column twice; keep the first")
