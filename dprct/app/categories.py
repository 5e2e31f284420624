"""Covariates whose values name groups and are no amounts: their dummies in the regressions.

A region coded 1 to 5 is proposed as ``C(region)``.  What a person chose otherwise stands in the
formula, and is read from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dprct.schema.columns import shown
from dprct.study.draft import implied as suggested

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

_TWO = 2  # values, of which a number says as much as a dummy
_FEW = 6  # values without labels that are taken for groups
_EXAMPLES = 2
_FORMULAS = (
    ("release", "formula"), ("moments", "formulas"), ("calibrated", "specifications"),
    ("calibrated", "formulas"),
)  # fmt: skip


def proposed(facts: Mapping[str, Any], header: Schema, column: Column) -> str:
    """Why a column is taken for groups; empty if for amounts.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> text = Column("city", "str9")
    >>> proposed({}, Schema((text,)), text)
    'its values are words'
    """
    if column.is_text:
        return "its values are words"
    codes, _ = suggested(header, column)
    levels = facts.get("levels", [])
    if "bounds" in facts:
        return ""
    if len(codes) > _TWO:
        labels = header.labels_of(column.name)
        examples = ", ".join(f"{code} {shown(labels[code])}" for code in codes[:_EXAMPLES])
        return f"its numbers are codes ({examples} and so on)"
    if isinstance(levels, list) and _TWO < len(levels) <= _FEW:
        return "you listed its few possible values"
    return ""


def chosen(document: Mapping[str, Any], header: Schema) -> dict[str, bool]:
    """Covariates that formulas have as categories, or as numbers, against what is proposed."""
    return {
        name: is_factor
        for name, is_factor in _entered(document).items()
        if name in header.names and is_factor is not _is_proposed(document, header, name)
    }


def factors(
    document: Mapping[str, Any], header: Schema, said: Mapping[str, bool]
) -> frozenset[str]:
    """Covariates that are proposed as categories, but for what a person ``said`` otherwise."""
    return frozenset(
        name
        for name in _covariates(document)
        if name in header.names and said.get(name, _is_proposed(document, header, name))
    )


def recast(document: Mapping[str, Any], header: Schema, name: str) -> dict[str, Any] | None:
    """How a covariate enters the regressions, and what a button does to have it otherwise."""
    entered, why = _entered(document), proposed(_facts(document, name), header, header.column(name))
    if name not in entered or header.column(name).is_text:
        return None
    if entered[name]:
        return {
            "words": f"{name} enters as categories, C({name})"
            + (f", because {why}" if why else "")
            + ": each value has a coefficient of its own, against the first.",
            "button": f"Take {name} as a number",
            "changes": [*_changes(document, f"C({name})", name)],
        }
    levels = _facts(document, name).get("levels", [])
    if not why and not (isinstance(levels, list) and len(levels) > _TWO):
        return None
    return {
        "words": f"{name} enters as a number, with one coefficient"
        + (f", although {why}." if why else ": a step is taken to do the same at every value."),
        "button": f"Take {name} as categories",
        "changes": [*_changes(document, name, f"C({name})")],
    }


def _facts(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get("columns", {}).get(name, {})
    return found if isinstance(found, dict) else {}


def _covariates(document: Mapping[str, Any]) -> Iterator[str]:
    for name in document.get("columns", {}):
        if _facts(document, name).get("role") == "covariate":
            yield name


def _is_proposed(document: Mapping[str, Any], header: Schema, name: str) -> bool:
    return bool(proposed(_facts(document, name), header, header.column(name)))


def _entered(document: Mapping[str, Any]) -> dict[str, bool]:
    """Covariates of the formulas, and whether as categories."""
    right = " ".join(text.partition("~")[2] or text for _, text in _texts(document))
    found = {}
    for name in _covariates(document):
        is_factor = f"C({name})" in right
        if is_factor or re.search(_alone(name), right):
            found[name] = is_factor
    return found


def _alone(name: str) -> str:
    return rf"(?<![\w(]){re.escape(name)}(?![\w(])"


def _texts(document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    for section, key in _FORMULAS:
        table = document.get(section, {})
        value = table.get(key, []) if isinstance(table, dict) else []
        for text in [value] if isinstance(value, str) else value:
            if isinstance(text, str):
                yield (section, key), text


def _changes(document: Mapping[str, Any], old: str, new: str) -> Iterator[dict[str, Any]]:
    form = re.escape(old) if "(" in old else _alone(old)
    made: dict[tuple[str, str], list[str]] = {}
    for at, text in _texts(document):
        made.setdefault(at, []).append(re.sub(form, new, text))
    for at, texts in made.items():
        listed = texts[0] if at[1] == "formula" else ", ".join(f'"{text}"' for text in texts)
        yield {"at": [*at], "typed": listed}
