"""Differences between two schemas: everything but the rows."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from dprct.io.compare.comparison import Difference
from dprct.io.facets import DATASET
from dprct.schema.facts import Code, Column, FileFacts, text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dprct.schema.schema import Schema

_NOTE = re.compile(r"note\d+")
_MOST = 8
_LONGEST = 60


def fact_differences(a: Schema, b: Schema) -> list[Difference]:
    """Return in which facts two schemas differ, in any order.

    Declared facts (bounds, levels, roles, ...) are no facts of a file and are not compared.
    """
    common = [name for name in a.names if name in set(b.names)]
    pairs = [(a.column(name), b.column(name)) for name in common]
    return [
        *_variables(a, b),
        *chain.from_iterable(_of_column(one, two) for one, two in pairs),
        *_sharing(a, b, common),
        *_label_sets(a, b),
        *_of_file(a.file, b.file),
        *_characteristics(a.file, b.file),
    ]


def _variables(a: Schema, b: Schema) -> Iterator[Difference]:
    in_a, in_b = set(a.names), set(b.names)
    for name in a.names:
        if name not in in_b:
            yield Difference("variables", name, "only in the first")
    for name in b.names:
        if name not in in_a:
            yield Difference("variables", name, "only in the second")
    if [n for n in a.names if n in in_b] != [n for n in b.names if n in in_a]:
        yield Difference("order", None, "the variables come in another order")


def _of_column(a: Column, b: Column) -> Iterator[Difference]:
    if _kind(a.type) != _kind(b.type):
        yield Difference("type", a.name, f"{a.type} in the first, {b.type} in the second")
    elif a.type != b.type:
        widths = (text_width(a.type), text_width(b.type))
        yield Difference("width", a.name, "{} in the first, {} in the second".format(*widths))
    facets: tuple[tuple[str, Callable[[Column], str]], ...] = (
        ("format", lambda column: column.format),
        ("label", lambda column: column.label),
        ("value-label", lambda column: column.value_label),
    )
    for facet, fact in facets:
        if fact(a) != fact(b):
            yield Difference(facet, a.name, _both(fact(a), fact(b)))


def _kind(storage: str) -> str:
    return "str#" if storage.startswith("str") and storage != "strL" else storage


def _sharing(a: Schema, b: Schema, common: list[str]) -> Iterator[Difference]:
    groups_a, groups_b = _groups(a, common), _groups(b, common)
    for name in common:
        lost, new = groups_a[name] - groups_b[name], groups_b[name] - groups_a[name]
        if lost:
            detail = f"shares its label set with {_listed(lost)} in the first only"
            yield Difference("sharing", name, detail)
        if new:
            detail = f"shares its label set with {_listed(new)} in the second only"
            yield Difference("sharing", name, detail)


def _groups(schema: Schema, names: list[str]) -> dict[str, frozenset[str]]:
    """Return for each column the others to which the same label set is attached."""
    attached: dict[str, set[str]] = {}
    for name in names:
        attached.setdefault(schema.column(name).value_label, set()).add(name)
    attached[""] = set()
    return {name: frozenset(attached[schema.column(name).value_label] - {name}) for name in names}


def _label_sets(a: Schema, b: Schema) -> Iterator[Difference]:
    sets_a, sets_b = a.file.value_labels, b.file.value_labels
    for name in sets_a:
        if name not in sets_b:
            yield Difference("label-set", name, f"only in the first{_unattached(a, name)}")
        elif detail := _of_set(sets_a[name], sets_b[name]):
            yield Difference("label-set", name, detail)
    for name in sets_b:
        if name not in sets_a:
            yield Difference("label-set", name, f"only in the second{_unattached(b, name)}")
    if [n for n in sets_a if n in sets_b] != [n for n in sets_b if n in sets_a]:
        yield Difference("label-set", None, "the label sets come in another order")


def _of_set(a: Mapping[Code, str], b: Mapping[Code, str]) -> str:
    """Return in words in which codes two label sets differ; their order says nothing."""
    found = {
        "labelled in the first only": [code for code in a if code not in b],
        "labelled in the second only": [code for code in b if code not in a],
        "labelled otherwise": [code for code in a if code in b and a[code] != b[code]],
    }
    return "; ".join(f"{_listed(codes)} {what}" for what, codes in found.items() if codes)


def _unattached(schema: Schema, label_set: str) -> str:
    used = any(column.value_label == label_set for column in schema.columns)
    return "" if used else ", attached to no variable"


def _of_file(a: FileFacts, b: FileFacts) -> Iterator[Difference]:
    orders = {"<": "little-endian", ">": "big-endian"}
    facets = (
        ("dataset-label", a.label, b.label),
        ("sort", " ".join(a.sorted_by), " ".join(b.sorted_by)),
        ("release", str(a.release), str(b.release)),
        ("byteorder", orders[a.byteorder], orders[b.byteorder]),
        ("timestamp", a.timestamp, b.timestamp),
    )
    for facet, one, two in facets:
        if one != two:
            yield Difference(facet, None, _both(one, two))


def _characteristics(a: FileFacts, b: FileFacts) -> Iterator[Difference]:
    """Differences by owner; texts may quote the data and are not shown."""
    texts_a, texts_b = _by_name(a), _by_name(b)
    names = list(dict.fromkeys([*texts_a, *texts_b]))
    differ = [key for key in names if texts_a.get(key) != texts_b.get(key)]
    owners: dict[tuple[str, str], list[str]] = {}
    for owner, name in differ:
        facet = "notes" if _NOTE.fullmatch(name) else "characteristics"
        owners.setdefault((facet, owner), []).append(name)
    for (facet, owner), found in owners.items():
        yield Difference(facet, owner, f"{_listed(found)} {_presence(owner, found, a, b)}")
    if not differ and a.characteristics != b.characteristics:
        yield Difference("characteristics", DATASET, "they come in another order")


def _presence(owner: str, names: list[str], a: FileFacts, b: FileFacts) -> str:
    in_a = any((owner, name) in _by_name(a) for name in names)
    in_b = any((owner, name) in _by_name(b) for name in names)
    return "differ" if in_a and in_b else f"only in the {'first' if in_a else 'second'}"


def _by_name(file: FileFacts) -> dict[tuple[str, str], list[str]]:
    texts: dict[tuple[str, str], list[str]] = {}
    for owner, name, text in file.characteristics:
        texts.setdefault((owner, name), []).append(text)
    return texts


def _both(a: str, b: str) -> str:
    return f"{_shown(a)} in the first, {_shown(b)} in the second"


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    printable = cut.encode("utf-8", "backslashreplace").decode("utf-8")
    return repr(printable) if text else "none"


def _listed(names: frozenset[str] | list[str] | list[Code]) -> str:
    texts = [str(name) for name in names]
    texts = sorted(texts) if isinstance(names, frozenset) else texts
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more
