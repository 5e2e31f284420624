"""The groups of an experiment, and how the file's treatment columns tell them apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.formula.design_matrix import is_factor, is_missing, numbers_of
from dprct.schema.columns import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.assignment.allocation import Codes
    from dprct.formula.design_matrix import Mask

Level = float | str

CONTROL = "control"
"""Name of the group whose arm columns are all zero."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, each a row of values in the treatment columns.

    Parameters
    ----------
    names : tuple of str or float
        The groups, the control group among them where there is one.
    columns : tuple of str
        The treatment columns.
    values : tuple of tuples
        Values of ``columns`` in each group.
    overlap : str
        What to say of rows whose values are legal column by column, but not together.

    Examples
    --------
    >>> groups = indicators(["cash", "therapy"], control=True)
    >>> groups.names, groups.values
    (('cash', 'therapy', 'control'), ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)))
    """

    names: tuple[Level, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Level, ...], ...]
    overlap: str = ""

    def frame(self, codes: Codes, index: pd.Index[Any] | None = None) -> pd.DataFrame:
        """Return the treatment columns of rows in groups ``codes``; (n, C)."""
        columns = {name: self._column(place)[codes] for place, name in enumerate(self.columns)}
        return pd.DataFrame(columns, index=index)

    def codes(self, rows: pd.DataFrame) -> Codes:
        """Return the group of each row of the treatment columns, -1 where it is in none; (n,)."""
        found = np.full(len(rows), -1, np.int64)
        for code, values in enumerate(self.values):
            same = np.ones(len(rows), bool)
            for name, value in zip(self.columns, values, strict=True):
                same &= _equal(rows[name], value)
            found[same] = code
        return found

    def problems(self, rows: pd.DataFrame) -> list[str]:
        """Say in which way rows of the treatment columns are in no group at all."""
        found = []
        for place, name in enumerate(self.columns):
            missing = is_missing(rows[name])
            allowed = set(self._column(place).tolist())
            legal = np.logical_or.reduce([_equal(rows[name], value) for value in allowed])
            if missing.any():
                found.append(f"column {name!r} has missing values, and everybody is in some group")
            if (~legal & ~missing).any():
                found.append(f"column {name!r} has values that no group has: {_listed(allowed)}")
        if not found and (self.codes(rows) < 0).any():
            found.append(self.overlap or f"columns {quoted(self.columns)} are in no group together")
        return found

    def _column(self, place: int) -> Any:
        values = [row[place] for row in self.values]
        return np.array(values, object if isinstance(values[0], str) else float)


def indicators(arms: Sequence[str], *, control: bool) -> Groups:
    """Return one 0/1 column per arm; members of the control group, if there is one, have none.

    Raises
    ------
    ParameterError
        If names are not distinct text, or an arm has the name of the implicit control group.

    Examples
    --------
    >>> indicators(["treat"], control=True).columns
    ('treat',)
    """
    names = checked_names(arms, "arms")
    if control and CONTROL in names:
        raise ParameterError(
            f"an arm is named {CONTROL!r} beside a control group that is in no arm; say "
            "control_share=0 if the arm is the control group, else rename it"
        )
    values = [tuple(float(name == column) for column in names) for name in names]
    if control:
        values.append((0.0,) * len(names))
    overlap = f"arms {quoted(names)} overlap: at most one of them is 1 in a row"
    if not control:
        overlap = (
            f"exactly one of the arms {quoted(names)} is 1 in each row, but not in all of them"
        )
    return Groups((*names, *([CONTROL] if control else [])), names, tuple(values), overlap)


def levels(column: str, codes: Sequence[object]) -> Groups:
    """Return one column whose levels are the groups.

    Raises
    ------
    ParameterError
        If levels are not distinct, or neither all numbers nor all text.

    Examples
    --------
    >>> levels("treat", [0, 1, 2]).names
    (0.0, 1.0, 2.0)
    """
    checked_names([column], "arm")
    text = [isinstance(code, str) for code in codes]
    number = [isinstance(code, Real) and np.isfinite(float(code)) for code in codes]
    if not codes or not (all(text) or all(number)):
        raise ParameterError(
            f"arms of column {column!r} are not all numbers or all text; give the column's levels"
        )
    names: tuple[Level, ...] = tuple(
        code if isinstance(code, str) else float(code)  # type: ignore[arg-type]
        for code in codes
    )
    if len(set(names)) < len(names):
        raise ParameterError(f"arms of column {column!r} name a level twice; name each once")
    return Groups(names, (column,), tuple((name,) for name in names))


def checked_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return names of columns as a tuple; refuse repetition, what is no text, and none.

    Examples
    --------
    >>> checked_names("village", "cluster")
    ('village',)
    """
    found = listed(names, parameter)
    wrong = [name for name in found if not (isinstance(name, str) and name)]
    if wrong or not found:
        got = given(wrong[0]) if wrong else "nothing"
        raise ParameterError(f"{parameter}= has {got}; give names of columns, as text")
    if len(set(found)) < len(found):
        raise ParameterError(f"{parameter}= names {quoted(found)}: one of them twice; once each")
    return tuple(str(name) for name in found)


def listed(given_values: Any, parameter: str) -> tuple[Any, ...]:
    """Return one value or several as a tuple.

    Raises
    ------
    ParameterError
        If the values are neither text, a number, nor a sequence.

    Examples
    --------
    >>> listed("cash", "arms"), listed([3, 4], "counts")
    (('cash',), (3, 4))
    """
    if isinstance(given_values, (str, Real)):
        return (given_values,)
    if not isinstance(given_values, Iterable):
        raise ParameterError(f"{parameter}= is {given(given_values)}; give a list")
    return tuple(given_values)


def _equal(column: pd.Series[Any], value: Level) -> Mask:
    if isinstance(value, str):
        return np.asarray(column.astype(object) == value, bool)
    if is_factor(column):
        return np.asarray(column.astype(object) == value, bool)
    return np.equal(numbers_of(column), value)


def quoted(names: Iterable[object]) -> str:
    """Return names in quotation marks, with commas.

    Examples
    --------
    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(repr(name) for name in names)


def _listed(values: set[Level]) -> str:
    shown = sorted(values, key=str)
    text = ", ".join(value if isinstance(value, str) else f"{value:g}" for value in shown)
    return f"allowed are {text}"
