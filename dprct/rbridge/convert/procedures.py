"""Functions of R's as randomisation designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dprct.rbridge.attach import attach
from dprct.rbridge.convert.calls import call_r
from dprct.rbridge.convert.frames import Likeness, Table, table_to_r
from dprct.rbridge.convert.values import RFunction, from_r, in_main_thread
from dprct.rbridge.convert.vectors import count, list_of
from dprct.rbridge.interrupts import shielded

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dprct.schema import Schema

_SEEDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RProcedure:
    """A procedure for :class:`dprct.Custom` that asks a function of R's.

    Parameters
    ----------
    function : RFunction
        ``function(data)``: gets a data frame of the synthetic rows, returns the treatment of each
        row, as a vector, or as a data frame or list of the treatment columns.
    schema : Schema
        Facts of the columns that the function looks at.
    like : Likeness or None
        What the data frame looks like in R.

    Notes
    -----
    R's random numbers are seeded from the generator for the time of the call, and afterwards go on
    as if nothing had been drawn: a seed in Python makes the assignment reproducible.

    Length and arms of what comes back are checked by :class:`dprct.Custom`.  The rows that it
    hands over are synthetic or public.
    """

    function: RFunction
    schema: Schema
    like: Likeness | None = None

    def __call__(self, rows: pd.DataFrame, rng: np.random.Generator) -> Any:
        """Return the treatment columns that R assigns to ``rows``."""
        in_main_thread()
        session = attach()
        with shielded():
            table = Table(rows.reset_index(drop=True), self.schema, self.like)
            answer = call_r(
                session.function("run_seeded"),
                self.function.sexp,
                list_of([table_to_r(table, session.ri.NULL)]),
                count(int(rng.integers(_SEEDS))),
            )
            found = from_r(answer)
        return found.data if isinstance(found, Table) else found
