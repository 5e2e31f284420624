"""A schema as an object of R's: its facts as TOML, so that a saved one can be made again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomlkit

from dprct.rbridge.convert.records import Record
from dprct.rbridge.registry import revives
from dprct.schema.toml import from_document, to_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.schema import Schema

CLASS = "dprct_schema"


def schema_record(schema: Schema) -> Record:
    """Return the record by which R holds a schema.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> record = schema_record(Schema((Column("got", "byte"),)))
    >>> record.fields["columns"]
    ['got']
    >>> schema_again({"toml": record.fields["toml"]}) == record.live
    True
    """
    return Record(
        (CLASS,),
        {
            "columns": schema.names,
            "unit_id": schema.unit.id,
            "text": str(schema),
            "toml": tomlkit.dumps(to_document(schema)),
        },
        live=schema,
    )


@revives(CLASS)
def schema_again(saved: Mapping[str, Any]) -> Schema:
    """Return the schema of a record that another session saved."""
    return from_document(tomlkit.parse(saved["toml"]).unwrap())
