"""The schema as a TOML file that a person can read and edit; comments survive saving."""

from __future__ import annotations

import base64
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table, Whitespace

from dprct import disk
from dprct.annotations import kinds_of
from dprct.errors import ParameterError, SchemaError, marked
from dprct.missing import MISSING_CODES
from dprct.schema.columns import Code, Column, FileFacts, Unit, shown
from dprct.schema.facts import check_storage_type
from dprct.schema.keys import check_keys, made_of, value_of
from dprct.schema.schema import Schema, declared
from dprct.schema.seal import Seal

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
_HEADER_FACTS = ("type", "value_label")
_FILE = ("release", "byteorder", "label", "timestamp", "sorted_by", "rows")
_TEXT, _SETS = kinds_of("str"), kinds_of("Mapping[str, Mapping[str, str]]")
_TOP = ("version", "dataset_id", "opened", "unit", "seal", "file", "columns", "value_labels",
        "characteristics")  # fmt: skip


def load(path: str | Path) -> Schema:
    """Return the schema that a TOML file describes.

    A seal in the file stands only if the facts are still those that were sealed.
    """
    return from_document(disk.read_toml(path, SchemaError))


def text_for(schema: Schema, path: Path) -> bytes:
    """Return a schema as TOML, with the comments of the file that is there, if there is one."""
    document = _parsed(path, SchemaError) if path.exists() else tomlkit.document()
    facts = to_document(schema)
    _forget_sets_in_another_order(document, facts)
    merge(document, facts)
    return tomlkit.dumps(document).encode("utf-8")


def merged(path: Path, facts: Mapping[str, Any], error: type[Exception]) -> bytes:
    """TOML file at ``path`` with ``facts`` in the place of what it says; comments stay."""
    document = _parsed(path, error)
    merge(document, facts)
    return tomlkit.dumps(document).encode("utf-8")


def _forget_sets_in_another_order(document: Any, facts: Mapping[str, Any]) -> None:
    """Take value labels out of a document whose codes :func:`merge` would leave in their old order.

    The order of codes is a fact of a Stata file; these sets are then written again.
    """
    old, new = document.get("value_labels"), facts.get("value_labels", {})
    if not isinstance(old, MutableMapping):
        return
    for name in [name for name in old if name in new and isinstance(old[name], Mapping)]:
        kept = [code for code in old[name] if code in new[name]]
        if kept + [code for code in new[name] if code not in kept] != list(new[name]):
            del old[name]


def _parsed(path: str | Path, error: type[Exception]) -> tomlkit.TOMLDocument:
    """Return a TOML file with its comments; what Python's parser refuses never gets that far."""
    text = disk.toml_text(path, error)
    disk.toml_document(text, path, error)
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, ValueError) as problem:
        raise error(f"{str(path)!r} is not TOML: {problem}; correct that line") from None


def merge(document: Any, facts: Mapping[str, Any]) -> None:
    """Put ``facts`` into a TOML document in place and in their order; comments stay."""
    for key in [key for key in document if key not in facts]:
        del document[key]
    is_new = any(key not in document for key in facts)
    below = _comments_below(document) if is_new and isinstance(document, Table) else []
    for key, value in facts.items():
        if isinstance(value, Mapping) and isinstance(document.get(key), Mapping):
            merge(document[key], value)
        elif key not in document or not _same(document[key], value):
            document[key] = value
    if below:
        document.value.body.extend(below)
    tables = [key for key, value in facts.items() if isinstance(value, Mapping)]
    if tables != [key for key in document if key in tables]:
        items = {key: document.item(key) for key in tables}
        for key in tables:
            document.remove(key)
        for key in tables:
            document.append(key, items[key])


def _comments_below(table: Table) -> list[Any]:
    r"""Remove the comments after a blank line at the end of a table: they are about what follows.

    Examples
    --------
    >>> document = tomlkit.parse("[y]\n# fate = 1\n\n# Tables of the paper\n")
    >>> merge(document, {"y": {"role": "outcome"}})
    >>> print(tomlkit.dumps(document))
    [y]
    # fate = 1
    role = "outcome"
    <BLANKLINE>
    # Tables of the paper
    <BLANKLINE>
    """
    body = table.value.body
    named = [place for place, (key, _) in enumerate(body) if key is not None]
    start = named[-1] + 1 if named else 0
    blank = (place for place in range(start, len(body)) if isinstance(body[place][1], Whitespace))
    cut = next(blank, len(body))
    below = body[cut:]
    del body[cut:]
    return below


def _same(old: object, new: object) -> bool:
    """Whether a fact is as it was; true is not 1 here, and a nested fact is compared as a whole."""
    plain = old.unwrap() if hasattr(old, "unwrap") else old
    return plain == new and isinstance(plain, bool) == isinstance(new, bool)


def to_document(schema: Schema) -> dict[str, Any]:
    """Every public fact of a schema as TOML-ready values."""
    file = schema.file
    document: dict[str, Any] = {"version": VERSION, "dataset_id": schema.dataset_id}
    if schema.opened:  # else what was read, saved and loaded would count as sealed before
        document["opened"] = True
    document["unit"] = asdict(schema.unit)
    if schema.seal_of is not None:
        said = asdict(schema.seal_of)
        document["seal"] = {k: v for k, v in said.items() if v or k == "before_opening"}
    document["file"] = {name: getattr(file, name) for name in _FILE}
    document["columns"] = {column.name: column_facts(column) for column in schema.columns}
    document["value_labels"] = {
        name: {str(code): text for code, text in labels.items()}
        for name, labels in file.value_labels.items()
    }
    document["characteristics"] = [
        {"owner": owner, "name": name, "text": text} for owner, name, text in file.characteristics
    ]
    written: dict[str, Any] = _written(document)
    return written


def column_facts(column: Column) -> dict[str, Any]:
    """Known facts of a column, without what is default, as TOML-ready values."""
    facts: dict[str, Any] = {"type": column.type}
    for fact in fields(column):
        value = getattr(column, fact.name)
        if fact.name in ("name", "type") or value == fact.default:
            continue
        if fact.name == "missing" and value == ():
            value = "never"
        facts[fact.name] = [_short(x) for x in value] if isinstance(value, tuple) else value
    return facts


def from_document(document: Mapping[str, Any]) -> Schema:
    """Return the schema that :func:`to_document` described."""
    document = _read(document)
    check_keys(document, _TOP, "the schema file", SchemaError)
    if "version" not in document:
        raise SchemaError(f"the line version = {VERSION} is missing; write it at the top")
    if document["version"] != VERSION:
        raise SchemaError(
            f"schema version {document['version']!r}; this release reads version = {VERSION}"
        )
    columns = _table(document, "columns")
    parts: dict[str, Any] = {
        "columns": tuple(column_from(name, _table(columns, name)) for name in columns),
        "file": _file_from(document),
        "unit": unit_from(_table(document, "unit")),
        "seal_of": made_of(Seal, document["seal"], "[seal]", SchemaError)
        if "seal" in document
        else None,
    }
    own = {name: document[name] for name in ("dataset_id", "opened") if name in document}
    schema: Schema = made_of(Schema, own, "schema:", SchemaError, given=parts)
    seal = schema.seal_of
    return schema if seal is None or seal.sha256 == schema.digest() else schema.unsealed()


def unit_from(facts: Mapping[str, Any]) -> Unit:
    """Return the unit that a ``[unit]`` table describes."""
    try:
        unit: Unit = made_of(Unit, facts, "[unit]", SchemaError)
    except ParameterError as error:
        raise SchemaError(f"[unit]: {marked(error)}") from None
    return unit


def column_from(name: str, facts: Mapping[str, Any]) -> Column:
    """Return the column that a ``[columns.NAME]`` table of a schema file describes."""
    storage = facts.get("type", "double")
    check_storage_type(storage, name)
    said = facts.get("value_label", "")
    value_label = value_of(said, _TEXT, f"[columns.{name}] value_label", SchemaError)
    rest = {key: value for key, value in facts.items() if key not in _HEADER_FACTS}
    return declared(Column(name, storage, value_label=value_label), rest)


def _file_from(document: Mapping[str, Any]) -> FileFacts:
    sets = _table(document, "value_labels")
    given = {
        "value_labels": {
            name: {_code(code): text for code, text in labels.items()}
            for name, labels in value_of(sets, _SETS, "[value_labels]", SchemaError).items()
        },
        "characteristics": tuple(map(_characteristic, _list(document.get("characteristics", [])))),
    }
    file: FileFacts = made_of(
        FileFacts, _table(document, "file"), "[file]", SchemaError, given=given
    )
    return file


def _characteristic(entry: object) -> tuple[str, str, str]:
    keys = ("owner", "name", "text")
    if not isinstance(entry, Mapping) or set(entry) != set(keys):
        raise SchemaError(f"an entry of characteristics has to have {', '.join(keys)}; correct it")
    owner, name, text = (
        value_of(entry[key], _TEXT, f"[[characteristics]] {key}", SchemaError) for key in keys
    )
    return owner, name, text


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, Mapping):
        raise SchemaError(f"{key} is ``{type(table).__name__}``; give a table, [{key}]")
    return table


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(
            f"characteristics is ``{type(value).__name__}``; give [[characteristics]]"
        )
    return value


def _code(text: str) -> Code:
    if text in MISSING_CODES:
        return text
    try:
        return int(text)
    except ValueError:
        raise SchemaError(f"label code {text!r} is neither a whole number nor .a to .z") from None


def _short(value: Any) -> Any:
    """Return a whole float as an int, as a person would write it, where every reader takes it."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def _written(fact: Any) -> Any:
    """Return a fact as TOML can hold it.

    Text with bytes that are no UTF-8 becomes base64, and what is not there is left out, as TOML
    has no null.
    """
    if isinstance(fact, Mapping):
        return {_key(key): _written(value) for key, value in fact.items() if value is not None}
    if isinstance(fact, (list, tuple)):
        return [_written(value) for value in fact]
    if not isinstance(fact, str) or _is_unicode(fact):
        return fact
    return {"base64": base64.b64encode(fact.encode("utf-8", "surrogatepass")).decode("ascii")}


def _key(name: str) -> str:
    if not _is_unicode(name):
        raise SchemaError(
            f"the name {shown(name)!r} has bytes that are not text, which TOML cannot hold; rename"
        )
    return name


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _read(fact: Any) -> Any:
    """Facts from what :func:`_written` wrote."""
    if isinstance(fact, list):
        return [_read(value) for value in fact]
    if not isinstance(fact, Mapping):
        return fact
    if list(fact) == ["base64"] and isinstance(fact["base64"], str):
        try:
            return base64.b64decode(fact["base64"], validate=True).decode("utf-8", "surrogatepass")
        except ValueError:
            raise SchemaError("a base64 text is damaged; write the text instead") from None
    return {key: _read(value) for key, value in fact.items()}
