"""Counts of coded columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.encode import Coded, Encoding, prepared_for
from dprct.missing import MISSING_CODES
from dprct.privacy.aggregate import CellCounts, IntegerVector
from dprct.queries.bin_keys import BinKey, bin_key
from dprct.schema.table import COMPANION, collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.schema.table import Frame, Table

    Integers = NDArray[np.int64]
    Expressions = dict[str, nw.Expr]


_ROWS = "__rows"
_COUNT = nw.len().alias(_ROWS)

_MOST_INTEGER = 1 << 62


def cell_counts(
    frame: Table, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> CellCounts:
    """Count the rows in every occupied cell of the public domain.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    encodings : sequence of Encoding or ExclusiveEncoding, length p
    relation : str
        Which data sets are neighbours.

    Returns
    -------
    CellCounts
        Sealed.  Replacing one row moves one unit from one cell to another: L1 sensitivity 2, L2
        sensitivity sqrt(2); adding or removing one: 1 and 1.
    """
    radices = [encoding.size for encoding in encodings]
    digits, rows = _merged(*_counted(frame, encodings), radices)
    return CellCounts(digits, rows, radices=radices, relation=relation)


def one_way_counts(
    frame: Table, encodings: Sequence[Coded], relation: Relation = "replace-one"
) -> IntegerVector:
    """Count the rows at every level of every column, one column after the other.

    Returns
    -------
    IntegerVector
        Sealed, of length ``sum(sizes)``.  Replacing one row moves one unit in each of the p
        columns: L1 sensitivity 2p, L2 sensitivity sqrt(2p), largest coordinate 1 (adding or
        removing: p, sqrt(p), 1).
    """
    counts = [_one_way(frame, encoding) for encoding in encodings]
    moved = len(encodings) * (1 if relation == "add-remove" else 2)
    return IntegerVector(
        np.concatenate(counts),
        l1=moved,
        l2_squared=moved,
        l_inf=1,
        relation=relation,
    )


def _one_way(frame: Table, encoding: Coded) -> Integers:
    digits, rows = _counted(frame, [encoding])
    found = np.zeros(encoding.size, np.int64)
    np.add.at(found, digits[:, 0], rows)
    return found


def _merged(digits: Integers, rows: Integers, radices: Sequence[int]) -> tuple[Integers, Integers]:
    """Add up rows of equal codes, and sort: engines group in any order, a seed means the same."""
    words = _words(digits, radices)
    order = np.lexsort(words[::-1])
    is_first = np.ones(len(digits), bool)
    is_first[1:] = np.any([np.diff(word[order]) != 0 for word in words], axis=0)
    starts = np.flatnonzero(is_first)
    return digits[order[starts]], np.add.reduceat(rows[order], starts)


def _words(digits: Integers, radices: Sequence[int]) -> list[Integers]:
    """Return the same order in few columns: sorting one takes a fifth of sorting five."""
    words, room = [digits[:, 0]], _MOST_INTEGER // radices[0]
    for digit, radix in zip(digits.T[1:], radices[1:], strict=True):
        if radix <= room:
            words[-1], room = words[-1] * radix + digit, room // radix
        else:
            words, room = [*words, digit], _MOST_INTEGER // radix
    return words


def _counted(frame: Table, encodings: Sequence[Coded]) -> tuple[Integers, Integers]:
    """Return codes (m, p) and how many rows have them (m,); the same codes may come again.

    Rows are grouped by what tells their codes at the least cost, and only the groups are encoded:
    by what they hold where a code is one legal value, by a key where it is a bin.  Of legal rows,
    groups are about as few as codes, by the schema; encoding each row costs an engine more than
    counting it.
    """
    columns = [_grouping(f"__code{j}", encoding) for j, encoding in enumerate(encodings)]
    coded = prepared_for(frame, encodings)
    by = {name: e for column in columns for name, e in column.by(coded).items()}
    with warnings.catch_warnings():
        # pandas warns of how it puts more than a hundred columns of keys together
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        groups = coded.select(**by).group_by(*by).agg(_COUNT)
    answers = {name: e for column in columns for name, e in column.answers().items()}
    few = collected(groups.select(**answers, **{_ROWS: nw.col(_ROWS)}))
    return np.column_stack([column.codes(few) for column in columns]), _integers(few, _ROWS)


@dataclass(frozen=True)
class _ByCode:
    """Rows grouped by their codes."""

    name: str
    encoding: Coded

    def by(self, frame: Table) -> Expressions:
        """Return what rows are grouped by."""
        del frame
        return {self.name: self.encoding.expression()}

    def answers(self) -> Expressions:
        """Return what is asked of each group."""
        return {self.name: nw.col(self.name)}

    def codes(self, few: Frame) -> Integers:
        """Return the codes of the groups (m,)."""
        return _integers(few, self.name)


class _ByValue(_ByCode):
    """Rows grouped by what they hold."""

    def by(self, frame: Table) -> Expressions:
        del frame
        names = [column.name for column in self.encoding.columns]
        beside = [name + COMPANION for name in names if getattr(self.encoding, "missing", ())]
        return {name: nw.col(name) for name in (*names, *beside)}

    def answers(self) -> Expressions:
        return {self.name: self.encoding.expression()}


@dataclass(frozen=True)
class _ByKey:
    """Rows grouped by the key of their bins, and by their missing codes if these are levels."""

    name: str
    encoding: Encoding
    key: BinKey

    def by(self, frame: Table) -> Expressions:
        x = nw.col(self.encoding.name).cast(nw.Float64)
        if frame.implementation.is_spark_like():  # whose ceil ends in int64: no NaN, nothing far
            x = self.encoding.known()
        beside = nw.col(self.encoding.name + COMPANION)
        return {self.name: self.key.of(x)} | {name: beside for name in self._beside()}

    def answers(self) -> Expressions:
        return {name: nw.col(name) for name in (self.name, *self._beside())}

    def codes(self, few: Frame) -> Integers:
        keys = few[self.name].cast(nw.Float64).to_numpy()
        found = self.key.codes(np.asarray(keys, np.float64))
        for name in self._beside():
            missing = _integers(few, name)
            for k, code in enumerate(self.encoding.missing, len(self.encoding.cells)):
                found[missing == MISSING_CODES.index(code)] = k
        return found

    def _beside(self) -> list[str]:
        return [self.name + COMPANION] if self.encoding.missing else []


def _grouping(name: str, encoding: Coded) -> _ByCode | _ByKey:
    if not isinstance(encoding, Encoding) or len(encoding.cells[0]) == 1:
        return _ByValue(name, encoding)
    key = bin_key(encoding.rule)
    return _ByCode(name, encoding) if key is None else _ByKey(name, encoding, key)


def _integers(frame: Frame, name: str) -> Integers:
    return np.asarray(frame[name].to_numpy()).astype(np.int64)
