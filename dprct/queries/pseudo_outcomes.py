"""What a second stage regresses: per record, functions of it and of public or released numbers.

Nothing here is an aggregate: arrays, or expressions of a table in its engine, stay inside ``fit``
and go from here to :func:`dprct.queries.additive.additive_sums`, which clips them, whatever they
hold.  Each formula is written once for both.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import narwhals as nw

from dprct.queries.arithmetic import Array, Numbers, over

Held = TypeVar("Held", Array, nw.Expr, covariant=True)


class Observed(Protocol[Held]):
    """Rows with an outcome and a treatment of 0 or 1, as doubles."""

    @property
    def outcome(self) -> Held:
        """Clipped outcomes."""

    @property
    def treated(self) -> Held:
        """0 or 1."""


def doubly_robust(
    rows: Observed[Numbers], control: Numbers | float, treated: Numbers | float, e: Numbers | float
) -> Numbers:
    """Return psi = mu1 - mu0 + T (y - mu1) / e - (1 - T)(y - mu0) / (1 - e); (n,).

    Parameters
    ----------
    rows : CodedRows or EngineRows
    control, treated : float, or (n,) array of rows in memory
        mu0 and mu1 at the rows: released, or a public constant such as the middle of the bounds.
    e : float, or (n,) array of rows in memory
        Propensity: public, or released and trimmed.

    Notes
    -----
    With the true e its expectation given x is the effect at x, whatever mu0 and mu1 are.

    References
    ----------
    ALGORITHMS.md, section 7.
    """
    t, y = rows.treated, rows.outcome
    first: Numbers = over(t * (y - treated), e)
    second: Numbers = over((1 - t) * (y - control), 1 - e)
    return (treated - control) + first - second


def residual_ratio(
    rows: Observed[Numbers], mean: Numbers | float, e: Numbers | float
) -> tuple[Numbers, Numbers]:
    """Return (y - m) / (T - e) and its weight (T - e)^2 in the R-learner's criterion; (n,) each.

    Parameters
    ----------
    rows : CodedRows or EngineRows
    mean : float, or (n,) array of rows in memory
        m, the expected outcome given x, treated or not.
    e : float, or (n,) array of rows in memory
        In (0, 1).

    Notes
    -----
    Minimising sum ((y - m) - (T - e) tau)^2 over a constant tau in a cell gives the weighted mean
    of the ratios.  The weights depend on the data, so that their sums need noise, too.

    References
    ----------
    Nie and Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects".
    """
    rest: Numbers = rows.treated - e
    return over(rows.outcome - mean, rest), rest * rest
