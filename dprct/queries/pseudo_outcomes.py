"""What a second stage regresses: per record, functions of it and of public or released numbers.

Nothing here is an aggregate: the arrays stay inside ``fit`` and go from here to
:func:`dprct.queries.additive.additive_sums`, which clips them, whatever they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.queries.additive import feature_codes
from dprct.queries.arms import filled_steps
from dprct.queries.grid import Clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.encode import Coded
    from dprct.queries.additive import Codes
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The confidential rows of a fit as numbers: codes of features, treatment, outcome.

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
        grid = Clipped(outcome)
        assert grid.column.bounds is not None
        steps = filled_steps(frame, grid.column, fill).astype(np.float64)
        y = np.asarray(float(grid.column.bounds[0]) + grid.step * steps, np.float64)
        treated = np.zeros(len(y))
        if treatment is not None:
            treated = (feature_codes(frame, [treatment])[0] == 1).astype(np.float64)
        return cls(feature_codes(frame, encodings), y, treated)

    def rows(self, places: NDArray[np.int64] | None) -> CodedRows:
        """Return some of the rows, by their places; all of them for None."""
        if places is None:
            return self
        return CodedRows(
            [codes[places] for codes in self.codes], self.outcome[places], self.treated[places]
        )


def doubly_robust(
    rows: CodedRows, control: Array | float, treated: Array | float, e: Array | float
) -> Array:
    """Return psi = mu1 - mu0 + T (y - mu1) / e - (1 - T)(y - mu0) / (1 - e); (n,).

    Parameters
    ----------
    rows : CodedRows
    control, treated : (n,) array or float
        mu0 and mu1 at the rows: released, or a public constant such as the middle of the bounds.
    e : (n,) array or float
        Propensity: public, or released and trimmed.

    Notes
    -----
    With the true e its expectation given x is the effect at x, whatever mu0 and mu1 are.

    References
    ----------
    ALGORITHMS.md, section 7.
    """
    t, y = rows.treated, rows.outcome
    return np.asarray(
        treated - control + t * (y - treated) / e - (1 - t) * (y - control) / (1 - e), np.float64
    )


def residual_ratio(rows: CodedRows, mean: Array | float, e: Array | float) -> tuple[Array, Array]:
    """Return (y - m) / (T - e) and its weight (T - e)^2 in the R-learner's criterion; (n,) each.

    Parameters
    ----------
    rows : CodedRows
    mean : (n,) array or float
        m, the expected outcome given x, treated or not.
    e : (n,) array or float
        In (0, 1).

    Notes
    -----
    Minimising sum ((y - m) - (T - e) tau)^2 over a constant tau in a cell gives the weighted mean
    of the ratios.  The weights depend on the data, so that their sums need noise, too.

    References
    ----------
    Nie and Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects".
    """
    rest = np.asarray(rows.treated - e, np.float64)
    return np.asarray((rows.outcome - mean) / rest, np.float64), rest**2
