"""Designs of the user's own: a function that assigns, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import checked, given
from dprct.assignment.designs import Shares, shares_of
from dprct.assignment.groups import (
    CONTROL,
    Design,
    Groups,
    checked_names,
    indicators,
    levels,
    quoted,
)
from dprct.errors import ColumnError, ParameterError
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.schema.tables import NumPyTable

if TYPE_CHECKING:
    from dprct.assignment.groups import Codes, Level
    from dprct.formula.design_matrix import Array

Procedure = Callable[["pd.DataFrame", "np.random.Generator"], Any]


@dataclass(frozen=True, init=False)
class Custom(Design):
    """A randomisation by a function that you write; every draw is checked.

    Parameters
    ----------
    procedure : callable
        A function ``procedure(frame, rng)``, called with a pandas frame of n synthetic rows and a
        numpy Generator.  It returns the treatment columns of the n rows, in order: a data frame or
        mapping with exactly ``columns``, an array of n rows, or for one column a sequence of n
        values.
    columns : sequence of str, or str
        The treatment columns: 0/1 columns of arms or, with ``levels``, one column of codes.
    levels : sequence, optional
        The codes of the one column, including the control group's.
    control : bool
        Whether there is a control group: rows with zeros in all columns.
    uses : sequence of str
        The columns that the procedure gets to see.
    shares : sequence of float, optional
        Probability of each arm (with ``levels``, of each level), if it is the same for every row.
        Required for :meth:`probabilities`.

    Raises
    ------
    ParameterError
        If names repeat, or ``levels`` are given with several columns.  From :meth:`assign`, if the
        procedure returns another number of rows, other columns, or rows in no group.

    Notes
    -----
    The procedure gets a copy of synthetic or public rows only.  It should draw from ``rng``; with
    randomness of its own it is not reproducible.

    Examples
    --------
    >>> import pandas as pd
    >>> def alternate(frame, rng):
    ...     return (np.arange(len(frame)) + rng.integers(2)) % 2
    >>> design = Custom(alternate, "treat", shares=0.5)
    >>> design.assign(pd.DataFrame(index=range(4)), rng=1)["treat"].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """

    procedure: Procedure
    groups: Groups
    inputs: tuple[str, ...]
    law: Shares | None

    @checked
    def __init__(
        self,
        procedure: Procedure,
        columns: Sequence[str] | str,
        *,
        levels: Sequence[Any] | None = None,
        control: bool = True,
        uses: Sequence[str] | str = (),
        shares: Sequence[float] | float | None = None,
    ) -> None:
        if not callable(procedure):
            raise ParameterError(
                f"``procedure=`` is ``{given(procedure)}``; give a function (frame, rng)"
            )
        groups = _groups(checked_names(columns, "columns"), levels, control=control)
        implicit = CONTROL in groups.names and levels is None and control
        law = None
        if shares is not None:
            arms = len(groups.names) - int(implicit)
            law = shares_of(shares, None, arms, implicit=implicit)
            law = law if implicit else law.without_control()
        inputs = checked_names(uses, "uses") if uses else ()
        self._set(procedure=procedure, groups=groups, inputs=inputs, law=law)

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that the procedure looks at."""
        return self.inputs

    @property
    def arms(self) -> tuple[Level, ...]:
        """The groups, the control group last if it is in no column."""
        return self.groups.names

    def draw(self, rows: Any, rng: np.random.Generator) -> Codes:
        """Let the procedure assign, and check what it returns; (n,)."""
        frame = rows.native[[*self.uses]] if isinstance(rows, NumPyTable) else rows
        found = self._framed(self.procedure(frame.copy(), rng), len(rows))
        problems = self.groups.problems(found)
        if problems:
            raise ParameterError(f"the procedure's assignment is refused: {'; '.join(problems)}")
        return self.groups.codes(found)

    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the declared probability of each group; (n, G)."""
        return np.repeat(self.common(len(rows))[None], len(rows), axis=0)

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, the same for every row; (G,).

        Raises
        ------
        ParameterError
            If none is declared.
        """
        if self.law is None:
            raise ParameterError(
                "the probabilities of a Custom design are known to its author only; declare "
                "``shares=`` if they are the same for every row"
            )
        return np.array(self.law.rows[0])

    def broken_by(self, codes: Codes, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return nothing: no more is known of the procedure than the groups of its columns."""
        return []

    def describe(self) -> str:
        """Say the design in one sentence."""
        name = getattr(self.procedure, "__name__", type(self.procedure).__name__)
        given_rows = f" from {quoted(self.uses)}" if self.uses else ""
        return f"Custom randomisation by {name}{given_rows}, recorded in {quoted(self.columns)}."

    def _framed(self, returned: Any, n: int) -> pd.DataFrame:
        """Output of a procedure as the treatment columns of n rows."""
        frame = _table(returned, self.columns)
        if frame is None or len(frame) != n:
            got = (
                f"{len(frame)} rows"
                if frame is not None
                else (f"no table of columns {quoted(self.columns)}")
            )
            raise ParameterError(f"the procedure returned {got}; it was given {n} rows to assign")
        if set(frame.columns) != set(self.columns) or len(frame.columns) != len(self.columns):
            raise ColumnError(
                f"the procedure returned {len(frame.columns)} columns that are not "
                f"{quoted(self.columns)}; return exactly these"
            )
        return frame.reset_index(drop=True)


def _groups(columns: tuple[str, ...], codes: Sequence[Any] | None, *, control: bool) -> Groups:
    if codes is None:
        return indicators(columns, control=control)
    if len(columns) > 1:
        raise ParameterError(f"``levels=`` is for one column, not {quoted(columns)}")
    return levels(columns[0], tuple(codes))


def _table(returned: Any, columns: tuple[str, ...]) -> pd.DataFrame | None:
    """Return a procedure's answer as a frame, None if it is not a table of these columns."""
    if isinstance(returned, pd.DataFrame):
        return returned
    if isinstance(returned, Mapping):
        return pd.DataFrame({name: np.asarray(column) for name, column in returned.items()})
    values = np.asarray(returned)
    if values.ndim == 1 and len(columns) == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != len(columns):
        return None
    return pd.DataFrame(values, columns=list(columns))
