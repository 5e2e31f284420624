"""Write the JSON schemas of our documents from the classes that read them; a test compares.

Usage: python scripts/json_schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.annotations import LISTS, Kind, parts_of
from dprct.certificate.certificate import CertificateContent
from dprct.estimate.moments.content import MomentsContent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.annotations import Kinds

TOP = Path(__file__).resolve().parents[1] / "dprct"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null"}


def schema(kinds: Kinds) -> dict[str, Any]:
    """Schema of a value of one of these kinds, as JSON keeps it.

    Examples
    --------
    >>> schema(kinds_of("float | None"))
    {'type': ['number', 'null']}
    """
    found: dict[str, Any] = {}
    choices = [choice for kind in kinds for choice in kind.choices]
    if choices:
        choices += [None] * any(kind.name == "None" for kind in kinds)
        said = {"const": choices[0]} if len(choices) == 1 else {"enum": choices}
        return {**said, **{name: of for kind in kinds for name, of in kind.rules}}
    names = []
    for kind in kinds:
        name, rest = of_kind(kind)
        names.append(name)
        found |= rest | dict(kind.rules)
    return {"type": names[0] if len(names) == 1 else names, **found}


def of_kind(kind: Kind) -> tuple[str, dict[str, Any]]:
    """Type of a kind in JSON, and what else its schema says."""
    if kind.made is not None:
        return "object", of_parts(kind.made)
    if kind.name == "Mapping":
        return "object", {"additionalProperties": schema(kind.items[1])}
    if kind.name not in LISTS:
        return TYPES[kind.name], {}
    if not kind.is_fixed:
        return "array", {"items": schema(kind.items[0])}
    each, length = [schema(item) for item in kind.items], len(kind.items)
    alike = {"items": each[0]} if all(one == each[0] for one in each) else {"prefixItems": each}
    return "array", {**alike, "minItems": length, "maxItems": length}


def of_parts(made: type[Any]) -> dict[str, Any]:
    """What the schema of a document or of a part with parts says."""
    return {
        "additionalProperties": False,
        "required": [name for name, _, needed in parts_of(made) if needed],
        "properties": {name: schema(kinds) for name, kinds, _ in parts_of(made)},
    }


def written(title: str, made: type[Any], rules: Mapping[str, Any]) -> str:
    """Text of the schema of a document."""
    whole = {"$schema": DRAFT, "title": title, "type": "object", **of_parts(made), **rules}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _if(there: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Rule that a part is there exactly where something holds."""
    return {
        "if": {"properties": there},
        "then": {"required": [name]},
        "else": {"properties": {name: False}},
    }


OF_MOMENTS = {"allOf": [_if({"layout": {"required": ["clipped"]}}, "clipped")]}
"""What goes together in a document of moments, which no class says."""


def files() -> Mapping[Path, str]:
    """All schemas by their places."""
    return {
        TOP / "certificate" / "certificate.schema.json": written(
            "dprct certificate, version 1", CertificateContent, {}
        ),
        TOP / "estimate" / "moments" / "moments.schema.json": written(
            "dprct released moments, version 7", MomentsContent, OF_MOMENTS
        ),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
