"""A model whose facts of columns and of the design are given fact by fact."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct import Factorial, Schema
from dprct.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_COLUMNS = {"sd": "sd", "centre": "centre", "missing": "missing_policy"}
_OF_DESIGNS = {
    "icc": "icc",
    "largest_cluster": "largest",
    "cluster_mean_bounds": "cluster_mean_bounds",
}


def declaring(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return a model after what is true of columns and of the design was declared with these.

    ``sd={"y": 1}`` becomes a fact of column y, ``missing=0`` one of every outcome, and ``icc=.1``
    one of the ``assignment``; the method gets the other options.
    """
    kind = getattr(method, "__self__", method)
    known = inspect.signature(kind).parameters
    facts = {f: options.pop(f) for f in _OF_COLUMNS if f in options and f not in known}
    of_design = {
        new: options.pop(old)
        for old, new in _OF_DESIGNS.items()
        if old in options and old not in known
    }
    if of_design and options.get("assignment") is not None:
        options["assignment"] = with_clusters(options["assignment"], **of_design)
    clip = options.pop("clip") if "clip" in options and "clip" not in known else ()
    found = list(args)
    at = next((i for i, one in enumerate(found) if isinstance(one, Schema)), None)
    schema = options.get("schema") if at is None else found[at]
    if isinstance(schema, Schema):
        for fact, value in facts.items():
            schema = with_fact(schema, _OF_COLUMNS[fact], value, options)
        for name in [clip] if isinstance(clip, str) else clip:
            schema = schema.declare(**{name: {"clip": True}})
        if at is None:
            options["schema"] = schema
        else:
            found[at] = schema
    return method(*found, **options)


def with_clusters(design: Any, **facts: Any) -> Any:
    """Return a design with facts of its clusters, where it has some."""
    if isinstance(design, Factorial):
        return design
    return replace(design, **{name: value for name, value in facts.items() if value is not None})


def with_fact(schema: Schema, fact: str, value: Any, options: Mapping[str, Any]) -> Schema:
    """Return a schema with a fact of the columns that a mapping names, or of the outcomes."""
    if value is None:
        return schema
    if isinstance(value, Mapping):
        return schema.declare(**{name: {fact: one} for name, one in value.items()})
    for column in schema.columns:
        if column.missing != () and not (column.is_text and isinstance(value, (int, float))):
            try:
                schema = schema.declare(**{column.name: {fact: value}})
            except SchemaError:
                if column.name in options.get("outcome", ()):
                    raise
    return schema
