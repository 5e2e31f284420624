"""Which columns of a file a study is about: patterns of names, and one fate for the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dprct.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RestFate = Literal["withheld", "key", "drop"]

Facts = Mapping[str, Mapping[str, Any]]
"""Declared facts by the name of a column, or by a pattern of names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which columns a study is about, and what becomes of the others.

    Parameters
    ----------
    columns : list of str
        The columns of the study; ``*`` stands for any text and ``?`` for one character, as in
        ``"hh_*"``.  Columns with a table of their own belong to it, too.  Without this list, all
        columns of the file do.
    rest : {"withheld", "key", "drop"}
        The fate of all columns that the study is not about; without ``columns``, those are the
        columns without a table.  With ``columns`` and without this, they are dropped.
    """

    columns: tuple[str, ...] = ()
    rest: RestFate | None = None

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

    def problems(self, declared: Facts, names: Sequence[str]) -> list[str]:
        """Return names and patterns that fit no column of the file, in words."""
        asked = [("[study] columns", text) for text in self.columns]
        asked += [("[columns]", text) for text in declared if is_pattern(text)]
        return [problem for where, text in asked for problem in unmatched(where, text, names)]


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
