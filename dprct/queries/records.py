"""Rows of a weighted estimate: read once as compact columns, and made anew piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from dprct.queries.compact import compact
from dprct.queries.grid import GRID
from dprct.queries.logistic import Held
from dprct.queries.order import canonical_order
from dprct.queries.passes import steps_of
from dprct.schema.table import check_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from dprct.queries.logistic import Rows
    from dprct.queries.propensity import Block, Covariates, Treated
    from dprct.schema.facts import Column
    from dprct.schema.table import Table

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

HELD_MOST = 1 << 25
"""Doubles up to which the rows of a part are kept in memory (256 MB); above, they are made anew."""

_BESIDE = 5
"""Doubles that weighting keeps beside each row that is kept: an outcome, weights and slopes."""

HALF = GRID // 2
"""Steps of an outcome from the middle of its bounds to their end."""

_STEPS, _TREATED, _BLOCK = "steps", "treated", "block"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """Some rows of a fit; confidential, and nowhere but inside ``fit``.

    Parameters
    ----------
    steps : (n,) array of int32
        Outcomes on their public grid, 0 to 2^20.
    t : (n,) array of bool
        Who is treated.
    Z : Rows
        Covariates of norm at most 1, in memory or made anew.
    columns : mapping from Block to (n,) array
        What the covariates are made of.
    """

    steps: NDArray[np.int32]
    t: Mask
    Z: Rows
    columns: Mapping[Block, NDArray[Any]]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.t)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactTable:
    """All rows of a fit, a few bytes each; confidential, and nowhere but inside ``fit``.

    Parameters
    ----------
    steps : (n,) array of int32
    treated : (n,) array of int8
    design : Covariates
    columns : mapping from Block to (n,) array
        As :meth:`~dprct.queries.propensity.Block.coded` says.
    """

    steps: NDArray[np.int32]
    treated: NDArray[np.int8]
    design: Covariates
    columns: Mapping[Block, NDArray[Any]]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.treated)

    def part(self, places: NDArray[np.int64]) -> Records:
        """Return the rows at some places, in that order."""
        columns = {b: b.settled(raw, places) for b, raw in self.columns.items()}
        return Records(
            self.steps[places],
            self.treated[places] != 0,
            _rows(self.design, columns),
            columns,
        )

    def order(self) -> NDArray[np.int64]:
        """Return an order of the rows that does not depend on where they were; for simulation."""
        return canonical_order([self.steps, self.treated, *self.columns.values()])


def read_once(
    frame: Table,
    outcome: Column,
    fill: float | None,
    treatment: Treated,
    design: Covariates,
    n: int,
) -> CompactTable:
    """Read what a fit needs of every row, in one pass; confidential.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    outcome : Column
        With bounds.
    fill : float or None
        What stands for a missing outcome; the lower bound if None.
    treatment : Treated
    design : Covariates
    n : int
        Rows that the table had at the door.

    Raises
    ------
    EngineError
        If the engine fails, or has another number of rows than at the door.

    Notes
    -----
    Rows are put into parts, and the parts are gone through many times: whatever an engine would
    bring in another order, or another pass, is therefore read once and kept.  That takes 8 bytes of
    a row for each number, 1 for each column of at most 126 levels, and 5 for outcome and treatment.
    """
    blocks = {f"{_BLOCK}{j}": block for j, block in enumerate(design.blocks)}
    found = compact(
        frame,
        {
            _STEPS: steps_of(outcome, fill),
            _TREATED: treatment.coded(frame),
            **{name: block.coded(frame) for name, block in blocks.items()},
        },
        {_STEPS: nw.Int32, _TREATED: nw.Int8, **{k: block.dtype for k, block in blocks.items()}},
    )
    check_rows(len(found[_STEPS]), n)
    columns = {block: found[name] for name, block in blocks.items()}
    return CompactTable(found[_STEPS], found[_TREATED], design, columns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _MadeAnew:
    """Rows of covariates that are made of their columns whenever they are asked for."""

    design: Covariates
    columns: Mapping[Block, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns[self.design.blocks[0]])

    def chunk(self, start: int, stop: int) -> Array:
        return self.design.rows({b: x[start:stop] for b, x in self.columns.items()})

    def every(self, step: int) -> Rows:
        return _rows(self.design, {b: x[::step] for b, x in self.columns.items()})


def _rows(design: Covariates, columns: Mapping[Block, NDArray[Any]]) -> Rows:
    """Return rows in memory if they are few; a function of their number alone."""
    made = _MadeAnew(design, columns)
    if len(made) * (design.size + _BESIDE) > HELD_MOST:
        return made
    return Held(made.chunk(0, len(made)))
