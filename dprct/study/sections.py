"""Sections of a study file: TOML tables that become frozen values, unknown keys refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from dprct.errors import StudyError

_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "true or false"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "float | None": ((int, float), "a number"),
    "str": ((str,), "text in quotes"),
    "str | None": ((str,), "text in quotes"),
    "Method": ((str,), "text in quotes"),
    "int | None": ((int,), "a whole number"),
    "tuple[str, ...]": ((list,), "a list of texts"),
    "Covariates": ((list, Mapping), "a list of terms, or a table of lists"),
    "Families": ((str, Mapping), "'all', 'outcome', 'arm', or a table of lists"),
    "Sizes": ((Mapping,), "a table of whole numbers"),
    "Arms | None": ((list, Mapping), "a list of columns, or a table of lists"),
    "Names | None": ((str, list), "a column in quotes, or a list of columns"),
    "Numbers | None": ((int, float, list), "a number, or a list of numbers"),
    "Texts | None": ((Mapping,), "a table of texts"),
    "Parts | None": ((Mapping,), "a table of tables"),
    "ByOutcome | None": ((Mapping,), "a table of numbers"),
    "Indexes | None": ((str, Mapping), "a formula in quotes, or a table of them"),
    "Pairs | None": ((list, Mapping), "two numbers in brackets, or a table of such"),
    "Level | None": ((str, int, float), "text in quotes, or a number"),
    "Policies | None": ((str, int, float, Mapping), "text in quotes, a number, or a table of them"),
}
"""What a field's annotation allows, and how a message says it."""

_ITEMS: dict[str, tuple[type, ...]] = {
    "Sizes": (int,),
    "Numbers | None": (int, float),
    "Texts | None": (str,),
    "Parts | None": (Mapping,),
    "ByOutcome | None": (int, float),
    "Policies | None": (str, int, float),
    "Indexes | None": (str,),
    "Pairs | None": (int, float, list),
}
"""What stands in a list or table; text in lists and lists of text in tables, if not said here."""


_LISTED: dict[str, tuple[type, ...]] = {"Arms | None": (str, int, float)}
"""What stands in a list of a key that may be a table too."""


def section(kind: type[Any], table: object, where: str) -> Any:
    """Return the dataclass that a TOML table spells, refusing unknown keys and wrong types."""
    if not isinstance(table, Mapping):
        raise StudyError(f"{where} must be a table; write its keys below {where}")
    known = {f.name: f for f in fields(kind)}
    check_keys(table, tuple(known), where)
    for name, f in known.items():
        if name not in table and f.default is MISSING and f.default_factory is MISSING:
            raise StudyError(f"{where} lacks {name}; write {name} = ...")
    values = {}
    for name, value in table.items():
        allowed, words = _TYPES[str(known[name].type)]
        fits = isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
        if fits and isinstance(value, (list, Mapping)):
            annotation = str(known[name].type)
            items = _LISTED if isinstance(value, list) else {}
            fits, value = _frozen(value, items.get(annotation, _ITEMS.get(annotation)))
        if not fits:
            raise StudyError(f"{where} {name} = {value!r}; give {words}")
        values[name] = value
    return kind(**values)


def _frozen(value: Any, items: tuple[type, ...] | None) -> tuple[bool, Any]:
    """Return whether a list or table holds what it may, and its tuples."""
    if isinstance(value, list):
        return _all_are(value, items or (str,)), tuple(value)
    if items is not None:
        return _all_are(value.values(), items), dict(value)
    lists = [item for item in value.values() if isinstance(item, list)]
    fits = len(lists) == len(value) and all(isinstance(x, str) for item in lists for x in item)
    return fits, {name: tuple(item) for name, item in value.items()} if fits else value


def _all_are(values: Iterable[object], kinds: tuple[type, ...]) -> bool:
    return all(isinstance(item, kinds) and not isinstance(item, bool) for item in values)


_FOLLOWS = {
    "neighbors": "which data sets are neighbours follows from [release] method (calibrated: "
    "replace-one-design-public, because its file shows who is in which arm; any other: "
    "replace-one), and of a ledger from [budget] relation; remove it",
}
"""Keys that people look for, and where what they say comes from."""


def check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Refuse a key that is not known, with the closest one as a hint."""
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(known)}"
            raise StudyError(f"unknown key {key!r} in {where}; {_FOLLOWS.get(str(key), hint)}")
