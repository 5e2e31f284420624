"""The comparison of two files, facet by facet, and which differences a certificate permits."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dprct import disk
from dprct.arguments import checked
from dprct.errors import FileError, ParameterError, SchemaError, kind_of
from dprct.io.stata.names import former_names, renamed
from dprct.lazy import pandas as pd
from dprct.missing import missing_numbers
from dprct.records import dataclass
from dprct.schema.columns import DATASET, Code, Column, FileFacts
from dprct.schema.facts import text_width
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Source: TypeAlias = str | os.PathLike[str] | tuple[pd.DataFrame, Schema]


FACETS: Mapping[str, str] = MappingProxyType(
    {
        "rows": "number of rows",
        "variables": "a variable that only one of the files has",
        "name": "name of a variable, where the second file states the one of before",
        "order": "order of the variables that both files have",
        "type": "storage type of a variable",
        "width": "width of a fixed-width text variable, in bytes",
        "format": "display format of a variable",
        "label": "label of a variable",
        "value-label": "name of the label set that is attached to a variable",
        "label-set": "a label set by name and code, attached or not (the column is the set's name)",
        "sharing": "which variables share one label set",
        "dataset-label": "label of the data set",
        "sort": "variables by which the rows are said to be sorted, and whether they are",
        "characteristics": "characteristics, other than notes (the column is their owner)",
        "notes": "notes (the column is their owner, _dta for the data set)",
        "release": "release of the .dta format",
        "byteorder": "byte order of the file",
        "timestamp": "date and time written into the file",
        "values": "values and missing codes of a variable, row by row and bit by bit",
    }
)
"""Facet to one line that says what it is, in the order in which differences are listed."""


@dataclass(frozen=True)
class Difference:
    """One facet in which two files differ.

    Parameters
    ----------
    facet : str
        A key of :data:`dprct.io.compare.FACETS`.
    column : str or None
        The variable; the name of a label set for ``label-set``; the owner for ``notes`` and
        ``characteristics``; None for the file as a whole.
    detail : str
        What differs, in words and counts.
    permitted : bool
        Whether a certificate lists the difference.
    reason : str
        The certificate's reason; empty where the difference is not permitted.

    Examples
    --------
    >>> print(Difference("values", "age", "12 of 40 rows differ"))
    values of age: 12 of 40 rows differ
    """

    facet: str
    column: str | None
    detail: str
    permitted: bool = False
    reason: str = ""

    def __str__(self) -> str:
        where = f"{self.facet} of {self.column}" if self.column is not None else self.facet
        why = f" [permitted: {self.reason}]" if self.permitted else ""
        return f"{where}: {self.detail}{why}"


@dataclass(frozen=True)
class Comparison:
    """Every difference between two files; true when there is any, false when there is none.

    Parameters
    ----------
    differences : tuple of Difference
        In the order of :data:`dprct.io.compare.FACETS`.
    names : (str, str)
        How the two files are called in the text.

    Examples
    --------
    >>> bool(Comparison(()))
    False
    >>> print(Comparison((Difference("rows", None, "40 in one, 41 in the other"),)))
    the first and the second differ in 1 way that no certificate permits
      rows: 40 in one, 41 in the other
    """

    differences: tuple[Difference, ...]
    names: tuple[str, str] = ("the first", "the second")

    def __bool__(self) -> bool:
        return bool(self.differences)

    @property
    def unexpected(self) -> tuple[Difference, ...]:
        """The differences that no certificate permits."""
        return tuple(d for d in self.differences if not d.permitted)

    @property
    def permitted(self) -> tuple[Difference, ...]:
        """The differences that a certificate permits."""
        return tuple(d for d in self.differences if d.permitted)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready values."""
        return {
            "files": list(self.names),
            "identical": not self.differences,
            "unexpected": [asdict(d) for d in self.unexpected],
            "permitted": [asdict(d) for d in self.permitted],
        }

    def __str__(self) -> str:
        both = " and ".join(self.names)
        if not self.differences:
            return f"{both} are identical"
        return "\n".join(
            [
                *_block(f"{both} differ in {{}} that no certificate permits", self.unexpected),
                *_block(f"{both} differ in {{}} that the certificate permits", self.permitted),
            ]
        )


def _block(heading: str, differences: tuple[Difference, ...]) -> list[str]:
    if not differences:
        return []
    count = f"{len(differences)} way{'s' if len(differences) > 1 else ''}"
    return [heading.format(count), *(f"  {difference}" for difference in differences)]


def in_order(differences: list[Difference]) -> tuple[Difference, ...]:
    """Return differences in the order of the facets, otherwise as found."""
    rank = {facet: place for place, facet in enumerate(FACETS)}
    return tuple(sorted(differences, key=lambda difference: rank[difference.facet]))


Texts = dict[tuple[str, str], list[str]]

_NOTE = re.compile(r"note\d+")
_MOST = 8
_LONGEST = 60


def fact_differences(a: Schema, b: Schema) -> list[Difference]:
    """Facts in which two schemas differ, in any order.

    Declared facts (bounds, levels, roles, ...) are no facts of a file and are not compared.
    """
    common = _common(a, b)
    pairs = [(a.column(name), b.column(name)) for name in common]
    return [
        *_variables(a, b),
        *chain.from_iterable(_of_column(one, two) for one, two in pairs),
        *_sharing(a, b, common),
        *_label_sets(a, b),
        *_of_file(a.file, b.file),
        *_characteristics(a.file, b.file),
    ]


def _common(a: Schema, b: Schema) -> list[str]:
    there = set(b.names)
    return [name for name in a.names if name in there]


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
    """Differences in which columns share a set, in time that is linear in the columns.

    Columns with the same set in the first and the same in the second have lost and won the same.
    """
    sets = {name: (a.column(name).value_label, b.column(name).value_label) for name in common}
    together = Counter(sets.values())
    ordered = sorted(common)
    for side, which in enumerate(("first", "second")):
        members: dict[str, list[str]] = {}
        for name in ordered:
            members.setdefault(sets[name][side], []).append(name)
        members[""] = []
        shown: dict[tuple[str, str], list[str]] = {}
        for name in common:
            pair = sets[name]
            here, there = pair[side], pair[1 - side]
            if pair not in shown:  # enough of them, as one may be the column itself
                apart = (n for n in members[here] if not there or sets[n] != pair)
                shown[pair] = list(islice(apart, _MOST + 1))
            others = [n for n in shown[pair] if n != name]
            count = len(members[here]) - (together[pair] if there else 1)
            if others:
                detail = f"shares its label set with {_named(others, count)} in the {which} only"
                yield Difference("sharing", name, detail)


def _label_sets(a: Schema, b: Schema) -> Iterator[Difference]:
    sets_a, sets_b = a.file.value_labels, b.file.value_labels
    used_a, used_b = ({column.value_label for column in schema.columns} for schema in (a, b))
    for name in sets_a:
        if name not in sets_b:
            yield Difference("label-set", name, f"only in the first{_unattached(name, used_a)}")
        elif detail := _of_set(sets_a[name], sets_b[name]):
            yield Difference("label-set", name, detail)
    for name in sets_b:
        if name not in sets_a:
            yield Difference("label-set", name, f"only in the second{_unattached(name, used_b)}")
    if [n for n in sets_a if n in sets_b] != [n for n in sets_b if n in sets_a]:
        yield Difference("label-set", None, "the label sets come in another order")


def _of_set(a: Mapping[Code, str], b: Mapping[Code, str]) -> str:
    """Codes in which two label sets differ, in words; their order says nothing."""
    found = {
        "labelled in the first only": [code for code in a if code not in b],
        "labelled in the second only": [code for code in b if code not in a],
        "labelled otherwise": [code for code in a if code in b and a[code] != b[code]],
    }
    return "; ".join(f"{_listed(codes)} {what}" for what, codes in found.items() if codes)


def _unattached(label_set: str, used: set[str]) -> str:
    return "" if label_set in used else ", attached to no variable"


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
        yield Difference(
            facet, owner, f"{_listed(found)} {_presence(owner, found, texts_a, texts_b)}"
        )
    if not differ and a.characteristics != b.characteristics:
        yield Difference("characteristics", DATASET, "they come in another order")


def _presence(owner: str, names: list[str], a: Texts, b: Texts) -> str:
    in_a = any((owner, name) in a for name in names)
    in_b = any((owner, name) in b for name in names)
    return "differ" if in_a and in_b else f"only in the {'first' if in_a else 'second'}"


def _by_name(file: FileFacts) -> Texts:
    texts: Texts = {}
    for owner, name, text in file.characteristics:
        texts.setdefault((owner, name), []).append(text)
    return texts


def _both(a: str, b: str) -> str:
    return f"{_shown(a)} in the first, {_shown(b)} in the second"


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    printable = cut.encode("utf-8", "backslashreplace").decode("utf-8")
    return repr(printable) if text else "none"


def _listed(names: list[str] | list[Code]) -> str:
    return _named([str(name) for name in names[:_MOST]], len(names))


def _named(some: list[str], count: int) -> str:
    more = f" and {count - _MOST} more" if count > _MOST else ""
    return ", ".join(some[:_MOST]) + more


Permits = Mapping[tuple[str, str | None], str]


def certificate_beside(path: Path) -> Path | None:
    """Return the certificate that lies next to a file, where there is one.

    Examples
    --------
    >>> certificate_beside(Path("nowhere.dta")) is None
    True
    """
    beside = path.with_name(f"{path.stem}.certificate.json")
    return beside if beside.is_file() else None


def permits_of(certificate: str | Path | Mapping[str, Any]) -> Permits:
    """Differences that a certificate in JSON, or its content, lists, with their reasons.

    A column of None permits the facet everywhere.

    Examples
    --------
    >>> permits_of({"differences": [{"facet": "notes", "column": None, "reason": "dropped"}]})
    {('notes', None): 'dropped'}
    """
    content = certificate if isinstance(certificate, Mapping) else _json(Path(certificate))
    listed = content.get("differences") if isinstance(content, Mapping) else None
    if not isinstance(listed, (list, tuple)):
        raise ParameterError(
            'the certificate has no list "differences"; give the .certificate.json of a release'
        )
    return dict(_permit(entry) for entry in listed)


def permitted(difference: Difference, permits: Permits) -> Difference:
    """Return the difference with the certificate's word on it: its column first, then the file.

    Where values may differ, how many of them do is not said: the count would come from the
    confidential file without noise, and a certified comparison is shown around.
    """
    for key in ((difference.facet, difference.column), (difference.facet, None)):
        if key in permits:
            detail = "differ" if difference.facet == "values" else difference.detail
            return replace(difference, detail=detail, permitted=True, reason=permits[key])
    return difference


def _permit(entry: Any) -> tuple[tuple[str, str | None], str]:
    facet = entry.get("facet") if isinstance(entry, Mapping) else entry
    if not isinstance(facet, str) or facet not in FACETS or facet is entry:
        raise ParameterError(
            f"the certificate permits the facet {facet!r}; allowed: {', '.join(FACETS)}"
        )
    column = entry.get("column")
    if not (column is None or isinstance(column, str)):
        raise ParameterError(
            f"the certificate permits {facet!r} of {column!r}; "
            "a column is a name, or null for the whole file"
        )
    return (facet, column), str(entry.get("reason", ""))


def _json(path: Path) -> Any:
    try:
        return json.loads(disk.content(path, disk.MOST_JSON))
    except OSError as error:
        raise FileError(
            f"the certificate {path.name!r} cannot be read ({error.strerror}); check the path"
        ) from None
    except (ValueError, RecursionError):  # neither UTF-8 nor JSON
        raise FileError(
            f"the certificate {path.name!r} is not JSON; give the .certificate.json of a release"
        ) from None


@dataclass(frozen=True)
class Differing:
    """How many rows of a column differ."""

    rows: int  # rows that differ in any way
    # Those of them that differ in which missing code they are, or in whether they are missing.
    codes: int


def value_differences(
    a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]
) -> Iterator[Difference]:
    """Yield in which columns two tables differ row by row, and whether their sort order holds.

    Only columns of both are compared.
    """
    (data_a, schema_a), (data_b, schema_b) = a, b
    n, m = len(data_a), len(data_b)
    if n != m:
        yield Difference("rows", None, f"{n} in the first, {m} in the second")
    for name in _common(schema_a, schema_b):
        text = schema_a.column(name).is_text
        if n != m:
            detail = "not compared, as the numbers of rows differ"
        elif text != schema_b.column(name).is_text:
            detail = "not compared, as one is text and the other a number"
        else:
            detail = _counted(_differing(data_a[name], data_b[name], text=text), n)
        if detail:
            yield Difference("values", name, detail)
    yield from _false_order(a, b)


def _counted(found: Differing, n: int) -> str:
    if not found.rows:
        return ""
    codes = f", {found.codes} of them in missing codes" if found.codes else ""
    return f"{found.rows} of {n} rows differ{codes}"


def _differing(a: pd.Series[Any], b: pd.Series[Any], *, text: bool) -> Differing:
    if text:
        return Differing(int(np.count_nonzero(_cells(a) != _cells(b))), 0)
    return differing_numbers(_floats(a), _floats(b))


def differing_numbers(a: NDArray[np.float64], b: NDArray[np.float64]) -> Differing:
    """Count in how many rows two columns of numbers differ, bit by bit.

    NaNs of the same missing code are equal.

    Examples
    --------
    >>> from dprct.missing import tagged
    >>> differing_numbers(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    Differing(rows=1, codes=0)
    >>> differing_numbers(tagged([0, 1]), tagged([0, 2]))
    Differing(rows=1, codes=1)
    """
    rows = np.flatnonzero(a.view(np.uint64) != b.view(np.uint64))
    codes_a, codes_b = missing_numbers(a[rows]), missing_numbers(b[rows])
    codes = int(np.count_nonzero(codes_a != codes_b))
    numbers = int(np.count_nonzero((codes_a < 0) & (codes_b < 0)))
    return Differing(rows=codes + numbers, codes=codes)


def _floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(column.to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise SchemaError(
            f"column {column.name!r} does not hold numbers as its schema says; "
            "give the data as ``dprct.read`` returns them"
        ) from None


def _cells(column: pd.Series[Any]) -> NDArray[np.object_]:
    cells = column.to_numpy(object)
    absent = pd.isna(cells)
    if absent.any():  # a missing text is an empty one, as in Stata
        cells = cells.copy()
        cells[absent] = ""
    return cells


def _false_order(
    a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]
) -> Iterator[Difference]:
    holds_a, holds_b = rows_are_sorted(*a), rows_are_sorted(*b)
    if holds_a != holds_b:
        which = "second" if holds_a else "first"
        yield Difference(
            "sort", None, f"the rows of the {which} are not sorted by the variables it names"
        )


def rows_are_sorted(data: pd.DataFrame, schema: Schema) -> bool:
    """Whether the rows are in the order that the file says they are in.

    Missing codes follow every number in Stata's order, text is in the order of its bytes.

    Examples
    --------
    >>> from dprct.schema import Column, FileFacts, Schema
    >>> schema = Schema((Column("x"),), FileFacts(sorted_by=("x",)))
    >>> rows_are_sorted(pd.DataFrame({"x": [1.0, 2.0, float("nan")]}), schema)
    True
    >>> rows_are_sorted(pd.DataFrame({"x": [2.0, 1.0]}), schema)
    False
    """
    tied = np.ones(max(len(data) - 1, 0), bool)
    for name in schema.file.sorted_by:
        for key in _sort_keys(data[name], text=schema.column(name).is_text):
            if bool(np.any(tied & (key[1:] < key[:-1]))):
                return False
            tied &= key[1:] == key[:-1]
    return True


def _sort_keys(column: pd.Series[Any], *, text: bool) -> list[NDArray[Any]]:
    if text:
        encoded = [
            cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogateescape")
            for cell in _cells(column)
        ]
        return [np.array([*encoded, b""], dtype=object)[:-1]]
    numbers = _floats(column)
    codes = missing_numbers(numbers)
    return [codes, np.where(codes < 0, numbers, 0.0)]


@checked
def compare(
    a: Source, b: Source, certificate: str | Path | Mapping[str, Any] | None = None
) -> Comparison:
    """Compare two data files, and tell permitted differences from others.

    Parameters
    ----------
    a, b : path or (data, schema)
        The original, and the file that replaces it.
    certificate : path or mapping, optional
        The certificate whose differences are permitted.  By default, the
        ``<stem>.certificate.json`` next to ``b``, if ``b`` is a path and there is one.
        ``{"differences": []}`` permits nothing.

    Returns
    -------
    Comparison
        The differences; false if the files are identical.

    Raises
    ------
    FileError
        If a file or the certificate cannot be read.
    ParameterError
        If ``a`` or ``b`` is neither a path nor a pair.
    SchemaError
        If the columns of a pair are not those of its schema.

    Notes
    -----
    Values are counted and never shown.  The counts are exact, so that they are confidential if one
    of the files is; values that a certificate permits to differ are therefore not counted.  To
    check whether values are admissible, use :meth:`dprct.schema.schema.Schema.validate`.

    Examples
    --------
    >>> from dprct.schema.columns import Column
    >>> a = (pd.DataFrame({"x": [1.0, 2.0]}), Schema((Column("x", "byte"),)))
    >>> b = (pd.DataFrame({"x": [1.0, 3.0]}), Schema((Column("x", "int"),)))
    >>> print(compare(a, b))
    the first and the second differ in 2 ways that no certificate permits
      type of x: byte in the first, int in the second
      values of x: 1 of 2 rows differ
    >>> bool(compare(a, a))
    False
    """
    if certificate is None and isinstance(b, (str, os.PathLike)):
        certificate = certificate_beside(Path(b))
    permits = {} if certificate is None else permits_of(certificate)
    one, two = _pair(a), _pair(b)
    names = {old: new for old, new in former_names(two[1]).items() if old in one[1].names}
    one = renamed(*one, names)
    found = [
        *(Difference("name", new, f"{old!r} in the first") for old, new in names.items()),
        *fact_differences(one[1], two[1]),
        *value_differences(one, two),
    ]
    differences = in_order([permitted(difference, permits) for difference in found])
    return Comparison(differences, (_name(a, "the first"), _name(b, "the second")))


def _pair(source: object) -> tuple[pd.DataFrame, Schema]:
    if isinstance(source, (str, os.PathLike)):
        from dprct.io import read

        return read(source)
    match source:
        case (pd.DataFrame() as data, Schema() as schema):
            pass
        case _:
            parts = source if isinstance(source, tuple) else (source,)
            given = ", ".join(map(kind_of, parts))
            raise ParameterError(
                f"got {given}; give a path, or a pair of ``pandas frame`` and schema"
            )
    if list(data.columns) != schema.names:
        raise SchemaError(
            "the columns of the data are not those of the schema, in its order; "
            "give a pair as ``dprct.read`` returns it"
        )
    return data, schema


def _name(source: Source, otherwise: str) -> str:
    return Path(source).name if isinstance(source, (str, os.PathLike)) else otherwise


__all__ = ["Comparison", "Difference", "compare"]
