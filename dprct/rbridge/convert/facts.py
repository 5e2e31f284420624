"""What R says of a column as the schema's facts, and the schema's facts as R says them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import DprctWarning
from dprct.missing import MISSING_CODES, Recoding, code_number, missing_numbers, recoding_of, tagged
from dprct.rbridge.convert.text import texts_to_r
from dprct.rbridge.convert.vectors import (
    fields,
    kind_of,
    named_list,
    numbers,
    short_texts,
    text,
    texts,
    vector_of,
    view,
)
from dprct.records import dataclass
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.columns import Code, date_kind, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TYPES = {"logical": "byte", "factor": "long", "character": "strL"}
_FORMATS = {"date": ("d", "%td"), "time": ("c", "%tc")}
_WHOLE = ("integer", "integer64")
_DECLARED = ("bounds", "levels", "decimals", "bins", "missing", "sd", "sd_within", "centre",
             "clip", "missing_policy", "role", "fate", "derived", "made_of")  # fmt: skip


@dataclass(frozen=True)
class Header:
    """What R says of one column, without its values.

    Parameters
    ----------
    labels : mapping of code to text
        Value labels, in R's order.
    recoding : Recoding
        Which user-missing values became which missing codes.
    """

    column: Column
    labels: Mapping[Code, str]
    recoding: Recoding

    def stands_in(self, schema: Schema) -> bool:
        """Whether a schema's facts are about this column as it is now.

        A label that is merely gone, as after many functions of base R, contradicts nothing.
        """
        if self.column.name not in schema.names:
            return False
        known = schema.column(self.column.name)
        labels = {code: shown(words) for code, words in schema.labels_of(known.name).items()}
        return (
            known.is_text == self.column.is_text
            and self.column.label in ("", shown(known.label))
            and _calendar(known) == _calendar(self.column)
            and (bool(_calendar(known)) or not self.labels or labels == dict(self.labels))
        )


def header_of(name: str, taken: Mapping[str, Any]) -> Header:
    """Return the facts of one column that ``take_column`` of bridge.R took.

    Warns
    -----
    DprctWarning
        If R knows something of the column that Stata has no place for.
    """
    kind = text(taken["kind"])
    recoding = _recoding(taken)
    labels = _labels(name, taken, recoding)
    if kind == "time" and text(taken["zone"]) not in ("", "UTC", "GMT"):
        _warn(f"column {name!r} has a time zone, which Stata does not have; its times are in UTC")
    column = Column(
        name,
        _TYPES.get(kind, "double"),
        format=_format(kind, text(taken["format"])),
        label=text(taken["label"]),
        value_label=name if labels else "",
        integer=kind in _WHOLE,
    )
    return Header(column, labels, recoding)


def schema_of(
    headers: Sequence[Header],
    known: Schema | None,
    rows: int,
    label: str,
    *,
    is_part: bool = False,
) -> Schema:
    """Schema of a data frame.

    The facts of the known one stand for every column that is still the one it describes.  With
    ``is_part``, R sent the columns of one call only, and facts about the others stay as they are.
    """
    if known is None:
        known = Schema((), FileFacts(label=label))
    standing = {h.column.name for h in headers if h.stands_in(known)}
    sent = [h.column.name for h in headers]
    if standing == set(sent) and (is_part or sent == known.names):
        same = known.file.rows == rows
        return (known if same else replace(known, file=replace(known.file, rows=rows))).as_opened()
    sets = dict(known.file.value_labels)
    for header in headers:
        if header.column.name in known.names and header.column.name not in standing:
            _warn_of_lost_facts(header, known)
    columns = [
        known.column(h.column.name) if h.column.name in standing else _with_set(h, sets)
        for h in headers
    ]
    if is_part:
        columns += [column for column in known.columns if column.name not in sent]
    file = replace(known.file, value_labels=MappingProxyType(sets), rows=rows)
    return replace(known, columns=tuple(columns), file=file).unsealed().as_opened()


def fact_to_r(schema: Schema, column: Column) -> Any:
    """Facts that ``make_frame`` of bridge.R needs to dress a column as haven does."""
    labels = schema.labels_of(column.name)
    codes = [tagged(code_number(code))[()] if isinstance(code, str) else np.float64(code)
             for code in labels] if not column.is_text else []  # fmt: skip
    return named_list(
        {
            "date": short_texts([_calendar(column)]),
            "label": texts_to_r([shown(column.label)], "a label"),
            "format": short_texts([column.format]),
            "label_values": vector_of(np.array(codes, np.float64), "double"),
            "label_texts": texts_to_r([shown(words) for words in labels.values()], "a label"),
        }
    )


def _calendar(column: Column) -> str:
    """Return d or c for the dates and times that R has a class for, else nothing."""
    kind = None if column.is_text else date_kind(column.format)
    return kind if kind in ("d", "c") else ""


def _format(kind: str, given: str) -> str:
    calendar = date_kind(given) if given.startswith("%") else None
    if kind in _FORMATS:
        needed, default = _FORMATS[kind]
        return given if calendar == needed else default
    # a number with the format of a date has lost its class, and with it Stata's day zero
    return given if given.startswith("%") and calendar not in ("d", "c") else ""


def _recoding(taken: Mapping[str, Any]) -> Recoding:
    if "na_values" not in taken:
        return Recoding()
    return recoding_of([{"lo": x, "hi": x} for x in numbers(taken["na_values"])], {})


def _labels(name: str, taken: Mapping[str, Any], recoding: Recoding) -> Mapping[Code, str]:
    if "labelled" in taken and bool(view(taken["labelled"])[0]):
        _warn(f"column {name!r} is labelled text; Stata labels numbers only, so it is plain text")
    if "label_values" not in taken or kind_of(taken["label_values"]) == "NULL":
        return {}
    values = numbers(taken["label_values"])
    letters, recoded = missing_numbers(values), recoding.codes(values)
    out: dict[Code, str] = {}
    for x, letter, code, words in zip(
        values, letters, recoded, texts(taken["label_texts"]), strict=True
    ):
        if words is None:
            continue  # addNA(): the missing level
        if letter >= 0 or code >= 0:
            out[MISSING_CODES[max(letter, code)]] = words
        elif x == int(x):
            out[int(x)] = words
        else:
            _warn(f"column {name!r} labels numbers that are not whole, which Stata cannot")
    return out


def _warn_of_lost_facts(header: Header, known: Schema) -> None:
    """Say that a column is no longer the one whose facts were declared, where any were."""
    name = header.column.name
    column = known.column(name)
    usual = Column(name, column.type)
    lost = [fact for fact in _DECLARED if getattr(column, fact) != getattr(usual, fact)]
    if lost:
        _warn(
            f"column {name!r} is no longer as its schema describes it (its label, value labels or "
            f"type changed), so that what was declared of it is left out: {', '.join(lost)}; "
            "declare it again"
        )


def _with_set(header: Header, sets: dict[str, Mapping[Code, str]]) -> Column:
    """Return a column whose label set is in ``sets``, under a name that is free."""
    if not header.labels:
        return header.column
    name, number = header.column.name, 1
    while name in sets and dict(sets[name]) != dict(header.labels):
        name, number = f"{header.column.name}_{number}", number + 1
    sets[name] = MappingProxyType(dict(header.labels))
    return replace(header.column, value_label=name)


def _warn(message: str) -> None:
    warnings.warn(message, DprctWarning, stacklevel=2)


def taken_columns(columns: Any) -> list[dict[str, Any]]:
    """Result of ``take_column`` for each column."""
    return [fields(column) for column in columns]
