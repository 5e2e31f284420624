"""Writing .dta files: the release that was read, and nothing coerced."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from dprct.arguments import checked
from dprct.errors import SchemaError
from dprct.io.atomic import atomic_write
from dprct.io.stata.columns import pack_label_sets
from dprct.io.stata.header import MAP_ENTRIES, row_dtype
from dprct.io.stata.layout import (
    LAYOUTS,
    NUMPY_TYPE,
    RELEASES,
    Layout,
    default_format,
    packed_text,
    padded_text,
    type_code,
)
from dprct.io.stata.rows import pack_columns, write_rows
from dprct.io.stata.strl import StrlWriter
from dprct.schema.columns import STRING_WIDTH, Column
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


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
            f"{name!r} is not a Stata name; allowed: up to {_NAME_CHARACTERS} letters, digits and "
            "underscores, not beginning with a digit; rename the column"
        )
    if name in _RESERVED or _STRING_TYPE.fullmatch(name):
        raise SchemaError(f"{name!r} is a word that Stata reserves; rename the column")


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
            f"schema is {type(schema).__name__}; write_dta takes the data, their schema and a path"
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
        raise SchemaError(f"version={version!r}; allowed: {allowed}")
    return LAYOUTS[version]


class Framing(NamedTuple):
    """What stands before the rows, between the rows and the strLs, and after these."""

    before: bytes
    between: bytes
    after: bytes


def framing(schema: Schema, layout: Layout, rows: int, strls: int) -> Framing:
    """Return what stands around so many rows and bytes of strLs; its lengths depend on neither."""
    return (_tagged if layout.tagged else _binary)(schema, layout, rows, strls)


def _check_names(data: pd.DataFrame, schema: Schema) -> None:
    if not isinstance(data, pd.DataFrame):
        raise SchemaError(f"data is {type(data).__name__}; give a pandas DataFrame")
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
    """Return what stands around the rows in releases 117 and later."""
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
    label = packed_text(file.label, _label_bytes(layout), layout, "the dataset label")
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
    """Return what stands around the rows in releases before 117."""
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
            f"release {layout.release} holds no timestamp; write version=105 or later"
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
            f"release {layout.release} holds no notes and characteristics; write version=105 or "
            "later, or drop them"
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


def _label_bytes(layout: Layout) -> int:
    return _LABEL[layout.encoding == "utf-8"]
