"""The schema as a TOML file that a person can read and edit; comments survive saving."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from dprct.errors import FileError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema.declare import declared
from dprct.schema.facts import Code, Column, FileFacts, Unit, check_storage_type
from dprct.schema.schema import Schema, Seal

VERSION = 1
_HEADER_FACTS = ("type", "value_label")
_TOP = ("version", "dataset_id", "unit", "seal", "file", "columns", "value_labels",
        "characteristics")  # fmt: skip


def load(path: str | Path) -> Schema:
    """Return the schema that a TOML file describes.

    A seal in the file stands only if the facts are still those that were sealed.

    Raises
    ------
    FileError
        If the file cannot be read.
    SchemaError
        If it is not TOML, has an unknown key, or a fact is malformed.
    """
    return from_document(read_toml(path, SchemaError))


def save(schema: Schema, path: str | Path) -> None:
    """Write a schema as TOML; an existing file keeps its comments and order."""
    from dprct.io.atomic import atomic_write

    path = Path(path)
    document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    merge(document, to_document(schema))
    with atomic_write(path, mode="wb") as file:
        file.write(tomlkit.dumps(document).encode("utf-8"))


def read_toml(path: str | Path, error: type[Exception]) -> dict[str, Any]:
    """Return the contents of a TOML file, or raise ``error`` with the line that is not TOML."""
    try:
        return tomlkit.parse(Path(path).read_text("utf-8")).unwrap()
    except OSError as problem:
        raise FileError(f"cannot read {str(path)!r}: {problem.strerror}; give a TOML file") from None
    except (TOMLKitError, UnicodeDecodeError) as problem:
        raise error(f"{str(path)!r} is not TOML: {problem}; mend that line") from None


def merge(document: Any, facts: Mapping[str, Any]) -> None:
    """Put ``facts`` into a TOML document in place, so that comments and order stay."""
    for key in [key for key in document if key not in facts]:
        del document[key]
    for key, value in facts.items():
        if isinstance(value, Mapping) and isinstance(document.get(key), Mapping):
            merge(document[key], value)
        elif key not in document or document[key] != value:
            document[key] = value


def to_document(schema: Schema) -> dict[str, Any]:
    """Return every public fact of a schema as TOML-ready values."""
    file = schema.file
    document: dict[str, Any] = {"version": VERSION}
    if schema.dataset_id is not None:
        document["dataset_id"] = schema.dataset_id
    document["unit"] = present({
        "name": schema.unit.name, "id": schema.unit.id, "max_rows": schema.unit.max_rows,
    })  # fmt: skip
    if schema.seal_of is not None:
        seal = schema.seal_of
        document["seal"] = {
            "at": seal.at, "sha256": seal.sha256, "before_opening": seal.before_opening,
        }  # fmt: skip
    document["file"] = present({
        "release": file.release, "byteorder": file.byteorder, "label": _written(file.label),
        "timestamp": file.timestamp, "sorted_by": list(file.sorted_by), "rows": file.rows,
    })  # fmt: skip
    document["columns"] = {column.name: column_facts(column) for column in schema.columns}
    document["value_labels"] = {
        name: {str(code): _written(text) for code, text in labels.items()}
        for name, labels in file.value_labels.items()
    }
    document["characteristics"] = [
        {"owner": owner, "name": name, "text": _written(text)}
        for owner, name, text in file.characteristics
    ]
    return document


def column_facts(column: Column) -> dict[str, Any]:
    """Return what is known of a column, without what is default, as TOML-ready values."""
    facts: dict[str, Any] = {"type": column.type}
    for fact in fields(column):
        value = getattr(column, fact.name)
        if fact.name in ("name", "type") or value == fact.default:
            continue
        if fact.name == "missing" and value == ():
            value = "never"
        facts[fact.name] = [_short(x) for x in value] if isinstance(value, tuple) else value
        if fact.name in ("label", "format"):
            facts[fact.name] = _written(value)
    return facts


def present(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are there (TOML has no null)."""
    return {key: value for key, value in facts.items() if value is not None}


def from_document(document: Mapping[str, Any]) -> Schema:
    """Return the schema that :func:`to_document` described."""
    _check_keys(document, _TOP, "the schema file")
    if document.get("version") != VERSION:
        raise SchemaError(
            f"schema version {document.get('version')!r}; this release reads version = {VERSION}"
        )
    labels = document.get("value_labels", {})
    facts = document.get("file", {})
    _check_keys(facts, tuple(f.name for f in fields(FileFacts)), "[file]")
    file = FileFacts(
        **{key: facts[key] for key in ("release", "byteorder", "timestamp", "rows") if key in facts},
        label=_read(facts.get("label", "")),
        sorted_by=tuple(facts.get("sorted_by", ())),
        value_labels={
            name: {_code(code): _read(text) for code, text in entries.items()}
            for name, entries in labels.items()
        },
        characteristics=tuple(
            (entry["owner"], entry["name"], _read(entry["text"]))
            for entry in document.get("characteristics", ())
        ),
    )
    seal = document.get("seal")
    schema = Schema(
        columns=tuple(column_from(n, f) for n, f in document.get("columns", {}).items()),
        file=file,
        dataset_id=document.get("dataset_id"),
        unit=unit_from(document.get("unit", {})),
        seal_of=None if seal is None else Seal(**seal),
    )
    return schema if seal is None or seal["sha256"] == schema.digest() else schema.unsealed()


def unit_from(facts: Mapping[str, Any]) -> Unit:
    """Return the unit that a ``[unit]`` table describes."""
    _check_keys(facts, tuple(f.name for f in fields(Unit)), "[unit]")
    return Unit(**facts)


def column_from(name: str, facts: Mapping[str, Any]) -> Column:
    """Return the column that a ``[columns.NAME]`` table of a schema file describes."""
    header = {key: facts[key] for key in _HEADER_FACTS if key in facts}
    check_storage_type(header.get("type", "double"), name)
    rest = {
        key: _read(value) if key in ("label", "format") else value
        for key, value in facts.items()
        if key not in _HEADER_FACTS
    }
    return declared(Column(name, **header), rest)


def _check_keys(table: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    unknown = [key for key in table if key not in allowed]
    if unknown:
        raise SchemaError(f"unknown key {unknown[0]!r} in {where}; allowed: {', '.join(allowed)}")


def _code(text: str) -> Code:
    if text in MISSING_CODES:
        return text
    try:
        return int(text)
    except ValueError:
        raise SchemaError(f"label code {text!r} is neither a whole number nor .a to .z") from None


def _short(value: Any) -> Any:
    """Return a whole float as an int, as a person would write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _written(text: str) -> str | dict[str, str]:
    """Return text as TOML can hold it: bytes that are no UTF-8 become base64."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"base64": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")}
    return text


def _read(value: str | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value
    return base64.b64decode(value["base64"]).decode("utf-8", "surrogatepass")

