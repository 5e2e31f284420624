"""Tables of TOML, and rows of JSON, that become frozen values: wrong keys and types are refused.

What a key takes is read from the annotations of the dataclass that the table becomes: a method's
specification and its section of a study file cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from types import MappingProxyType
from typing import Any, TypeVar

from dprct.annotations import STUDY_FILE, WRONG, Kinds, kinds_of_fields, spelled_in_toml
from dprct.errors import instead_of

KEY = "key"
"""In the metadata of a field: what it is called in a study file, in Python and in R."""

Made = TypeVar("Made")
_NONE: Mapping[str, Any] = MappingProxyType({})


def made_of(
    kind: type[Any],
    table: object,
    where: str,
    error: type[Exception],
    *,
    given: Mapping[str, Any] = _NONE,
    elsewhere: Mapping[str, str] = _NONE,
) -> Any:
    """Return the dataclass that a TOML table spells, refusing unknown keys and wrong types.

    Messages call the table ``where``.  Fields that are ``given`` by other parts of the file are no
    keys here; keys that stand ``elsewhere`` have their hint.
    """
    if not isinstance(table, Mapping):
        raise error(f"{where} must be a table; write its keys below {where}")
    known = {name: key for name, key in keys_of(kind).items() if key[0].name not in given}
    check_keys(table, tuple(known), where, error, elsewhere)
    for name, (f, _) in known.items():
        if name not in table and is_required(f):
            raise error(f"{where} lacks {name}; write {name} = ...")
    values = {
        known[name][0].name: value_of(table[name], known[name][1], f"{where} {name}", error)
        for name in table
    }
    return kind(**given, **values)


def keys_of(kind: type[Any]) -> Mapping[str, tuple[Field[Any], Kinds]]:
    """Return the fields of a dataclass that TOML can spell, each with the kinds that it takes.

    A field whose metadata name a key is spelled so: its own name is taken by an attribute.
    """
    kinds = kinds_of_fields(kind)
    found = {f.metadata.get(KEY, f.name): (f, spelled_in_toml(kinds[f.name])) for f in fields(kind)}
    return {name: key for name, key in found.items() if key[1]}


def is_required(key: Field[Any]) -> bool:
    """Whether a field has no default."""
    return key.default is MISSING and key.default_factory is MISSING


def value_of(value: object, kinds: Kinds, place: str, error: type[Exception]) -> Any:
    """Return a value of TOML as a field keeps it: lists as tuples."""
    found = STUDY_FILE.read(value, kinds)
    if found is WRONG:
        if isinstance(value, Mapping) and [kind.name for kind in kinds] == ["Mapping"]:
            for name, one in value.items():
                value_of(one, spelled_in_toml(kinds[0].items[1]), f"{place} {name}", error)
        raise error(f"{place} = ``{value!r}``; {STUDY_FILE.asks(kinds)}")
    return found


def check_keys(
    table: Mapping[str, Any],
    known: tuple[str, ...],
    where: str,
    error: type[Exception],
    elsewhere: Mapping[str, str] = _NONE,
) -> None:
    """Refuse a key that is not known; say where it belongs, or which known one is closest."""
    for key in table:
        if key not in known:
            hint = elsewhere.get(str(key)) or instead_of(key, known)
            raise error(f"unknown key {key!r} in {where}; {hint}")


def row_of(made: Any) -> list[Any]:
    """Return the values of a dataclass in their order, as JSON keeps them.

    Examples
    --------
    >>> from dprct.schema.columns import Unit
    >>> row_of(Unit("household", "hhid", 3)), of_row(Unit, ["household", "hhid", 3]).max_rows
    (['household', 'hhid', 3], 3)
    """
    return [getattr(made, f.name) for f in fields(made)]


def of_row(kind: type[Made], row: Iterable[Any]) -> Made:
    """Return the dataclass whose row :func:`row_of` wrote; values that are dataclasses come made.

    Raises
    ------
    ValueError, TypeError
        If it is no row of this dataclass.
    """
    kinds = kinds_of_fields(kind)
    found = {name: STUDY_FILE.read(x, kinds[name]) for name, x in zip(kinds, row, strict=True)}
    if any(value is WRONG for value in found.values()):
        raise TypeError(kind)
    return kind(**found)
