"""R data frames as codes and numbers with a schema, and back."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ConversionError, SchemaError, withheld
from dprct.lazy import pandas as pd
from dprct.missing import missing_numbers, tagged
from dprct.rbridge.attach import attach
from dprct.rbridge.convert.calls import call_r
from dprct.rbridge.convert.facts import Header, fact_to_r, header_of, schema_of, taken_columns
from dprct.rbridge.convert.text import texts_to_r, unpacked
from dprct.rbridge.convert.vectors import (
    count,
    doubles,
    fields,
    flag,
    kind_of,
    list_of,
    numbers,
    text,
    texts,
    view,
)
from dprct.records import dataclass
from dprct.schema.columns import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.missing import Recoding
    from dprct.schema import Schema


@dataclass(frozen=True)
class Likeness:
    """What R knows of a data frame and Stata does not; it holds no value of it."""

    attributes: Any  # class, storage and attributes of the frame and of each column
    # Which user-missing values became missing codes.
    recodings: Mapping[str, Recoding] = field(default_factory=dict)
    # Whether the frame that goes back is a release, which has the storage of the columns and no
    # attribute that may hold data.
    released: bool = False

    def of_release(self) -> Likeness:
        """Facts that a released file may have of it: see ``released_like`` of bridge.R."""
        return Likeness(self.attributes, released=True)


@dataclass(frozen=True)
class Table:
    """A data frame of R's: codes and numbers, with every fact about them."""

    data: pd.DataFrame  # as :func:`dprct.read` gives it
    schema: Schema
    # Set by R: what the frame is to look like when it goes back; without, as haven reads a .dta.
    like: Likeness | None = None
    attach: bool = False  # whether the data frame that goes to R carries the schema as an attribute


def table_from_r(frame: Any, known: Any) -> Table:
    """An R data frame as a table; ``known`` gives the schema that its attribute stands for.

    Warns
    -----
    DprctWarning
        If something is lost: time zones, labels of text, missing text.
    """
    taken = fields(call_r(attach().function("take_frame"), frame))
    names = [str(name) for name in texts(taken["names"])]
    rows = int(view(taken["rows"])[0])
    _check_shape(names, rows)
    columns = taken_columns(taken["columns"])
    for name, column in zip(names, columns, strict=True):
        _check_kind(name, text(column["error"]))
    headers = [header_of(name, column) for name, column in zip(names, columns, strict=True)]
    cells = {h.column.name: _values(h, c) for h, c in zip(headers, columns, strict=True)}
    data = pd.DataFrame({n: pd.Series(x, dtype=x.dtype, copy=False) for n, x in cells.items()})
    attached = None if kind_of(taken["schema"]) == "NULL" else known(taken["schema"])
    is_part = bool(view(taken["part"])[0])
    schema = schema_of(headers, attached, rows, text(taken["file_label"]), is_part=is_part)
    for name, column in zip(names, columns, strict=True):
        if bool(view(column["rounded"])[0]):
            _check_unused(schema, name)
    recodings = {h.column.name: h.recoding for h in headers if h.recoding.rules}
    return Table(data, schema, Likeness(taken["like"], recodings))


def table_to_r(table: Table, record: Any) -> Any:
    """A table as an R data frame whose attribute ``dprct_schema`` is ``record``, or R's NULL."""
    null = attach().ri.NULL
    names = [str(name) for name in table.data.columns]
    recodings = table.like.recodings if table.like is not None else {}
    known = [table.schema.column(name) for name in names]
    columns = [
        _vector(c.name, table.data[c.name], recodings.get(c.name), is_text=c.is_text) for c in known
    ]
    return call_r(
        attach().function("make_frame"),
        list_of(columns),
        texts_to_r(names, "a column name"),
        count(len(table.data)),
        list_of(fact_to_r(table.schema, column) for column in known),
        null if table.like is None else table.like.attributes,
        flag(table.like is not None and table.like.released),
        record,
        texts_to_r([shown(table.schema.file.label)], "the label"),
    )


def _check_shape(names: list[str], rows: int) -> None:
    if not names:
        raise SchemaError("the data frame has no columns; give one with at least one column")
    if rows == 0:
        raise SchemaError("the data frame has no rows; give one with at least one row")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"columns named twice: {', '.join(twice)}; rename them")


def _check_kind(name: str, problem: str) -> None:
    if problem:
        raise ConversionError(
            f"column {name!r} is {problem}; allowed: numbers, logicals, text, factors, dates, "
            "times and labelled vectors; convert or drop it",
            column=name,
        )


def _check_unused(schema: Schema, name: str) -> None:
    """Refuse whole numbers that no double holds, unless nothing is made of them."""
    unused = schema.column(name).fate in ("withheld", "drop")
    if not unused or name == schema.unit.id:
        raise ConversionError(
            f"column {name!r} is a vector of 64-bit integers beyond 2^53, which no double holds; "
            "make it text, as by as.character(), or declare its ``fate='withheld'``",
            column=name,
        )


def _values(header: Header, taken: dict[str, Any]) -> NDArray[Any]:
    if header.column.is_text:
        return _text(header.column.name, taken["text"])
    values = numbers(taken["data"])
    codes = header.recoding.codes(values)
    return (
        np.where(codes >= 0, tagged(np.maximum(codes, 0)), values) if (codes >= 0).any() else values
    )


def _text(name: str, packed: Any) -> NDArray[np.object_]:
    try:
        return unpacked(packed, missing="")
    except ConversionError as error:
        raise ConversionError(f"column {name!r}: {error}", column=name) from None


def _vector(name: str, column: pd.Series[Any], recoding: Recoding | None, *, is_text: bool) -> Any:
    if is_text:
        return texts_to_r(column.to_numpy(dtype=object), f"column {name!r}")
    said = f"column {name!r} holds text where its schema says {'numbers'!r}; convert it"
    with withheld(lambda _: ConversionError(said, column=name)):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if recoding is not None:
        letters = missing_numbers(values)
        back = np.array([np.nan, *(low for low, _ in recoding.rules)])
        known = (letters > 0) & (letters < len(back))
        values = np.where(known, back[np.where(known, letters, 0)], values)
    return doubles(values)
