"""Names of variables that Stata allows, and a file's columns under such names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from dprct.errors import SchemaError
from dprct.schema.expressions import under_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from dprct.schema.schema import Schema

Names = Literal["same", "stata"]
"""Whether columns keep their names, or get those that Stata allows where it lacks theirs."""

FORMER = "dprct_name"
"""Characteristic of a column that states the name it had in the file that was read."""

_LONGEST = 32
_NAME = re.compile(r"(?:[^\W\d]|[\udc80-\udcff])(?:\w|[\udc80-\udcff])*", re.UNICODE)
STRING_TYPE = re.compile(r"str([1-9]\d{0,3})", re.ASCII)
_RESERVED = frozenset({
    "_all", "_b", "_coef", "_cons", "_n", "_N", "_pi", "_pred", "_rc", "_se", "_skip",
    "byte", "double", "float", "if", "in", "int", "long", "strL", "using", "with",
})  # fmt: skip


def check_name(name: str) -> None:
    """Refuse a name of a variable that Stata does not allow."""
    if _is_allowed(name):
        return
    what = (
        "is a word that Stata reserves"
        if _is_reserved(name)
        else f"is not a Stata name; allowed: up to {_LONGEST} letters, digits and underscores, not "
        "beginning with a digit"
    )
    raise SchemaError(
        f"{name!r} {what}; rename the column, such as to {_like(name)!r}, or read the file with "
        "``names='stata'``, which renames all such columns and states it in the certificate"
    )


def _is_allowed(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and len(name) <= _LONGEST and not _is_reserved(name)


def _is_reserved(name: str) -> bool:
    return name in _RESERVED or STRING_TYPE.fullmatch(name) is not None


def _like(name: str) -> str:
    """A name like another, which Stata has."""
    made = re.sub(r"\W", "_", name.strip()) or "column"
    made = made if not made[0].isdigit() else f"_{made}"
    return f"{made}_" if _is_reserved(made) else made[:_LONGEST]


def stata_names(names: Iterable[str]) -> dict[str, str]:
    """Names that Stata lacks, each with the one that stands for it; no two are the same.

    Examples
    --------
    >>> stata_names(["inc.total", "inc_total", "age", "int"])
    {'inc.total': 'inc_total_2', 'int': 'int_'}
    """
    listed = list(names)
    taken = {name for name in listed if _is_allowed(name)}
    found: dict[str, str] = {}
    for name in listed:
        if not _is_allowed(name):
            found[name] = _unused(_like(name), taken)
            taken.add(found[name])
    return found


def _unused(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that makes it another than those taken."""
    made, count = name, 1
    while made in taken:
        count += 1
        end = f"_{count}"
        made = name[: _LONGEST - len(end)] + end
    return made


def under_stata_names(data: pd.DataFrame, schema: Schema) -> tuple[pd.DataFrame, Schema]:
    """Data and schema under names that Stata allows; the schema states the names of before.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Schema
    >>> frame = pd.DataFrame({"inc.total": [1.0], "age": [30.0]})
    >>> data, schema = under_stata_names(frame, Schema.from_frame(frame))
    >>> list(data), former_names(schema)
    (['inc_total', 'age'], {'inc.total': 'inc_total'})
    """
    return renamed(data, schema, stata_names(schema.names))


def renamed(
    data: pd.DataFrame, schema: Schema, names: Mapping[str, str]
) -> tuple[pd.DataFrame, Schema]:
    """Data and schema with other names for some columns, which the schema states."""
    return data.rename(columns=names), schema_under(schema, names)


def schema_under(schema: Schema, names: Mapping[str, str]) -> Schema:
    """Schema with other names for some of its columns, wherever its facts name these."""
    if not names:
        return schema
    file = schema.file
    sets = stata_names(file.value_labels)
    columns = [
        replace(
            column,
            name=names.get(column.name, column.name),
            value_label=sets.get(column.value_label, column.value_label),
            derived=None if column.derived is None else under_names(column.derived, names),
            made_of=None
            if column.made_of is None
            else tuple(names.get(name, name) for name in column.made_of),
        )
        for column in schema.columns
    ]
    unit = schema.unit
    return replace(
        schema,
        columns=tuple(columns),
        unit=unit if unit.id is None else replace(unit, id=names.get(unit.id, unit.id)),
        sample=under_names(schema.sample, names) if schema.sample else "",
        file=replace(
            file,
            sorted_by=tuple(names.get(name, name) for name in file.sorted_by),
            value_labels={sets.get(name, name): of for name, of in file.value_labels.items()},
            characteristics=(
                *(
                    (names.get(owner, owner), what, text)
                    for owner, what, text in file.characteristics
                ),
                *((new, FORMER, old) for old, new in names.items()),
            ),
        ),
    )


def former_names(schema: Schema) -> dict[str, str]:
    """Names in the file that was read, where a schema states them, with the present ones."""
    return {text: owner for owner, what, text in schema.file.characteristics if what == FORMER}
