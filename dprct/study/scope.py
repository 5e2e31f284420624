"""Which columns and rows of a file a study is about: patterns of names, a condition on rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.errors import ColumnError, FileError, FormulaError, StudyError
from dprct.schema.expressions import holds, parents, parse
from dprct.study.sections import section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

RestFate = Literal["withheld", "key", "drop"]

Facts = Mapping[str, Mapping[str, Any]]
"""Declared facts by the name of a column, or by a pattern of names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which columns and rows a study is about, and what becomes of the other columns.

    Parameters
    ----------
    columns : list of str
        The columns of the study; ``*`` stands for any text and ``?`` for one character, as in
        ``"hh_*"``.  Columns with a table of their own belong to it, too.  Without this list, all
        columns of the file do.
    rest : {"withheld", "key", "drop"}
        The fate of all columns that the study is not about; without ``columns``, those are the
        columns without a table.  With ``columns`` and without this, they are dropped.
    sample : str
        A condition on rows, such as ``"attrit == 0 & round > 1"``: only these are read.  Every
        column in it has ``fate = "public"``.  A row in which one of them is missing is left out.

    Notes
    -----
    Neighbours agree in their public columns, and so in the rows of the sample: see
    :func:`dprct.release.release.check_sample`.
    """

    columns: tuple[str, ...] = ()
    rest: RestFate | None = None
    sample: str | None = None

    def facts(self, declared: Facts, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what is declared of each column: patterns first, then the column's own table.

        Parameters
        ----------
        declared : mapping from name or pattern to facts
        names : sequence of str
            All columns of the file.  A name that is none of them is kept, so that it is refused
            where the facts are read.
        """
        found: dict[str, dict[str, Any]] = {}
        own = {}
        for text, facts in declared.items():
            if text in names or not is_pattern(text):
                own[text] = facts
                continue
            for name in matching(text, names):
                found[name] = {**found.get(name, {}), **facts}
        for name, facts in own.items():
            found[name] = {**found.get(name, {}), **facts}
        inside = {*found, *named(self.columns, names)}
        rest = self.rest or ("drop" if self.columns else None)
        if rest is not None:
            found |= {name: {"fate": rest} for name in names if name not in inside}
        return found

    @property
    def condition(self) -> str:
        """The condition on rows in the language of derived columns; empty where there is none.

        Raises
        ------
        StudyError
            If it is none.
        """
        return "" if self.sample is None else _condition(self.sample)

    def sampled(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the sample, numbered from 0; all rows where there is no condition.

        Raises
        ------
        StudyError, FileError
            If the condition is none, its columns are not in the data, or it keeps no row.
        """
        if not (condition := self.condition):
            return data
        names = sorted(parents(condition))
        for name in names:
            if name not in data.columns:
                raise FileError(f"[study] sample: {ColumnError.unknown(name, data.columns)}")
            if data[name].dtype.kind != "f":
                raise StudyError(_TEXT.format(name))
        kept = holds(condition, {name: data[name].to_numpy(np.float64) for name in names})
        if not kept.any():
            raise StudyError(f"[study] sample = {self.sample!r} keeps no row; mend it")
        return data[kept].reset_index(drop=True)

    def open_sample(self, schema: Schema) -> list[str]:
        """Return what keeps the condition from being a public one, in words.

        Parameters
        ----------
        schema : Schema
            With what the study declares.
        """
        if not (condition := self.condition):
            return []
        named = sorted(parents(condition))
        if not named:
            return [f"[study] sample = {self.sample!r} names no column; name one, or remove it"]
        known = [name for name in named if name in schema.names]
        return [
            *(
                f"[study] sample: {ColumnError.unknown(name, schema.names, 'the file')}"
                for name in named
                if name not in known
            ),
            *(said for name in known for said in _not_public(schema.column(name))),
        ]

    def warnings(self, schema: Schema) -> tuple[str, ...]:
        """Return what is to be known of columns of the condition that may be missing."""
        names = sorted(parents(self.condition)) if self.sample is not None else []
        missing = [name for name in names if schema.column(name).missing != ()]
        if not missing:
            return ()
        return (
            f"a row in which {' or '.join(missing)} is missing is not in the sample; Stata counts "
            'a missing value as the largest number (missing = "never" says that there is none)',
        )

    def problems(self, declared: Facts, names: Sequence[str]) -> list[str]:
        """Return names and patterns that fit no column of the file, in words."""
        asked = [("[study] columns", text) for text in self.columns]
        asked += [("[columns]", text) for text in declared if is_pattern(text)]
        return [problem for where, text in asked for problem in unmatched(where, text, names)]


def scope_from(document: Mapping[str, Any]) -> Scope:
    """Return the section ``[study]`` of a parsed study file.

    Raises
    ------
    StudyError
        If a key is unknown or of a wrong type, or files are to be merged.

    Examples
    --------
    >>> scope_from({"study": {"sample": "attrit == 0"}}).condition
    'attrit == 0'
    """
    table = document.get("study", {})
    if isinstance(table, Mapping) and "merge" in table:
        raise StudyError(_MERGE)
    found: Scope = section(Scope, table, "[study]")
    _ = found.condition  # what is none is refused where the file is read
    return found


_MERGE = (
    "[study.merge] is no table of a study file: who has how many rows after a merge must be known "
    "before a budget means anything, and ledger and certificate are of one file. Merge before, in "
    'Stata with: merge m:1 id using "other.dta", keep(match) nogenerate, then save "merged.dta"; '
    'in pandas with: a.merge(b, on="id", validate="m:1"). Then write data = "merged.dta", and '
    "[unit] id and max_rows if anybody has several rows in it"
)

_TEXT = (
    "[study] sample uses {!r}, which holds text; make a column of 0 and 1 of it before, and name "
    "that"
)


def _condition(text: str) -> str:
    """Return a condition with ``and`` and ``or`` for the signs that Stata has for them.

    Examples
    --------
    >>> _condition("attrit == 0 & (round != 1 | late == 1)")
    'attrit == 0 and (round != 1 or late == 1)'
    """
    if "~" in text or re.search(r"!(?!=)", text):
        raise StudyError(f"[study] sample = {text!r}; write not, or !=, for ! and ~")
    words = re.sub(r"\s*&+\s*", " and ", re.sub(r"\s*\|+\s*", " or ", text)).strip()
    try:
        parse(words, "[study] sample")
    except FormulaError as error:
        raise StudyError(str(error).replace("sample=", "sample = ", 1)) from None
    return words


def _not_public(column: Column) -> list[str]:
    """Return in words why a condition on a column is not public, if it is not."""
    name = column.name
    if column.is_text:
        return [_TEXT.format(name)]
    if column.derived is not None:
        return [
            f"[study] sample uses {name!r}, which is derived; write what it is derived from, such "
            f"as ({column.derived}) != 0"
        ]
    if column.fate == "public":
        return []
    fate = "has no fate" if column.fate is None else f"has fate = {column.fate!r}"
    return [
        f"[study] sample uses {name!r}, which {fate}: who is in the sample would tell private "
        'values; give it fate = "public" if everybody may know it of everybody, or take method = '
        f'"moments" with subgroups = ["{name}"], whose cells may be private'
    ]


def is_pattern(text: str) -> bool:
    """Whether a name has a sign that stands for others.

    Examples
    --------
    >>> is_pattern("hh_*"), is_pattern("age")
    (True, False)
    """
    return "*" in text or "?" in text


def matching(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that a name or pattern stands for, in their own order.

    Examples
    --------
    >>> matching("hh_?", ["hh_1", "hh_12", "age"])
    ['hh_1']
    """
    names = list(names)
    if text in names or not is_pattern(text):
        return [name for name in names if name == text]
    parts = {"*": ".*", "?": "."}
    fits = re.compile("".join(parts.get(sign, re.escape(sign)) for sign in text), re.DOTALL)
    return [name for name in names if fits.fullmatch(name)]


def named(texts: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the names that a list of names and patterns stands for, each once."""
    found = {name for text in texts for name in matching(text, names)}
    return [name for name in names if name in found]


def unmatched(where: str, text: str, names: Sequence[str]) -> list[str]:
    """Return in words that a name or pattern fits no column, if it fits none."""
    if matching(text, names):
        return []
    if is_pattern(text):
        return [f"{where} {text!r}: no column of the file has such a name; mend or remove it"]
    return [f"{where}: {ColumnError.unknown(text, tuple(names), 'the file')}"]
