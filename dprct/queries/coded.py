"""The confidential rows of a fit as codes and numbers: in memory, in few bytes, or in an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.encode import prepared_for
from dprct.queries.blocks import EngineCodes
from dprct.queries.compact import compact, smallest_integer
from dprct.queries.grid import Clipped
from dprct.queries.order import canonical_order
from dprct.queries.passes import steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.encode import Coded
    from dprct.queries.additive import Codes
    from dprct.queries.arithmetic import Array
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame, Table

_STEPS, _TREATED = "__steps", "__treated"


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Rows in memory: codes of features, treatment, outcome.

    Parameters
    ----------
    codes : list of (n,) int arrays
    outcome : (n,) array
        Clipped to its bounds, on its grid.
    treated : (n,) array
        0 or 1; zeros where there is no treatment.
    """

    codes: list[Codes]
    outcome: Array
    treated: Array

    @classmethod
    def of(
        cls,
        frame: Frame,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> CodedRows:
        """Read the rows; every value maps to something, so that nothing is ever refused here."""
        return CompactRows.of(frame, encodings, outcome, fill, treatment).rows(None)

    def rows(self, places: NDArray[np.int64] | None) -> CodedRows:
        """Return some of the rows, by their places; all of them for None."""
        if places is None:
            return self
        return CodedRows(
            [codes[places] for codes in self.codes], self.outcome[places], self.treated[places]
        )

    def with_arm(self) -> CodedRows:
        """Return the rows with treatment as a further feature, the last."""
        arm = self.treated.astype(np.int8)
        return CodedRows([*self.codes, arm], self.outcome, self.treated)


@dataclass(frozen=True, slots=True, eq=False)
class CompactRows:
    """Rows in memory, in as few bytes as they need: a fit with parts unpacks one part at a time.

    Parameters
    ----------
    codes : list of (n,) int arrays
        Of the smallest type.
    steps : (n,) array of int32
        The outcome's steps on its grid.
    treated : (n,) array of int8
        0 or 1.
    grid : Clipped
        Of the outcome.
    """

    codes: list[Codes]
    steps: NDArray[np.int32]
    treated: NDArray[np.int8]
    grid: Clipped

    @classmethod
    def of(
        cls,
        frame: Table,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> CompactRows:
        """Read the rows of any engine, once; total."""
        every = _expressions(encodings, outcome, fill, treatment)
        types = {f"c{j}": smallest_integer(e.size) for j, e in enumerate(encodings)}
        types |= {_STEPS: nw.Int32, _TREATED: nw.Int8}
        table = prepared_for(frame, [*encodings, *([treatment] if treatment else [])])
        found = compact(table, every, types)
        codes = [found[f"c{j}"] for j in range(len(encodings))]
        return cls(codes, found[_STEPS], found[_TREATED], Clipped(outcome))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.steps)

    def rows(self, places: NDArray[np.int64] | None) -> CodedRows:
        """Return some of the rows, by their places; all of them for None."""
        codes, steps, treated = self.codes, self.steps, self.treated
        if places is not None:
            codes, steps, treated = [c[places] for c in codes], steps[places], treated[places]
        y = _outcome(self.grid, steps.astype(np.float64))
        return CodedRows(codes, y, treated.astype(np.float64))

    def in_canonical_order(self) -> CompactRows:
        """Return the rows in an order that is the same in every engine; for simulation only."""
        order = canonical_order([*self.codes, self.steps, self.treated])
        codes = [codes[order] for codes in self.codes]
        return CompactRows(codes, self.steps[order], self.treated[order], self.grid)


@dataclass(frozen=True, slots=True, eq=False)
class EngineRows:
    """Rows that stay in their engine: what :class:`CodedRows` holds, as expressions.

    Parameters
    ----------
    codes : EngineCodes
    outcome, treated : expression of the columns of ``codes.frame``
    """

    codes: EngineCodes
    outcome: nw.Expr
    treated: nw.Expr

    @classmethod
    def of(
        cls,
        frame: nw.LazyFrame[Any],
        n: int,
        encodings: Sequence[Coded],
        outcome: Column,
        fill: float | None,
        treatment: Coded | None = None,
    ) -> EngineRows:
        """Say how rows are read; nothing is read."""
        every = _expressions(encodings, outcome, fill, treatment)
        table = prepared_for(frame, [*encodings, *([treatment] if treatment else [])])
        coded = table.select(*[e.cast(nw.Int64).alias(name) for name, e in every.items()])
        names = tuple(f"c{j}" for j in range(len(encodings)))
        y = _outcome(Clipped(outcome), nw.col(_STEPS).cast(nw.Float64))
        return cls(EngineCodes(coded, names, n), y, nw.col(_TREATED).cast(nw.Float64))

    def rows(self, places: NDArray[np.int64] | None) -> EngineRows:
        """Return all rows; which row is where, an engine does not know."""
        assert places is None
        return self

    def with_arm(self) -> EngineRows:
        """Return the rows with treatment as a further feature, the last."""
        codes = EngineCodes(self.codes.frame, (*self.codes.names, _TREATED), self.codes.n)
        return EngineRows(codes, self.outcome, self.treated)


def _expressions(
    encodings: Sequence[Coded], outcome: Column, fill: float | None, treatment: Coded | None
) -> dict[str, nw.Expr]:
    """Return the codes, steps of the outcome and treatment of a prepared table; total."""
    steps = steps_of(outcome, fill)
    arm = nw.lit(0) if treatment is None else (treatment.expression() == 1)
    codes = {f"c{j}": e.expression() for j, e in enumerate(encodings)}
    return {**codes, _STEPS: steps, _TREATED: arm}


def _outcome(grid: Clipped, steps: Any) -> Any:
    """Return steps, doubles, as values: in an engine the same two operations."""
    assert grid.column.bounds is not None
    return steps * grid.step + float(grid.column.bounds[0])
