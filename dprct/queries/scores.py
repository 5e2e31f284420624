"""Sums of products of scores, for errors that are robust: the second release of one fit.

Its linear functions are those of numbers that were released before.  They may be anything: what a
unit can move the sums by is a public constant, whatever they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.group_moments import STEPS, moved_in, rows_in_ball, units_of
from dprct.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.queries.group_moments import MomentCells, MomentsGrid
    from dprct.schema.tables import Frame

FINEST = 1 << 30
"""Largest whole number of a linear function; r has at most 2^11 entries of 2^16 each."""

MOST_COLUMNS = 1 << 11

_FARTHEST = 1 << 24
"""Steps at which the score of a unit is cut before it is moved into the ball."""

SCORE_SQUARED = 2 * STEPS**4
"""D^2 of the sum of g g': |gg' - ff'|^2 = |g|^4 + |f|^4 - 2 (g'f)^2 <= 2 L^4."""


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The score of a row as a function of r: (residual'r) (regressors r), in steps of a ball.

    Notes
    -----
    The score of a unit is the sum g of those of its rows, moved to length L = 2^16 at most as a row
    of :class:`MomentsGrid` is, in whole numbers.  It adds g g', all k^2 entries.  Of
    units replaced, ``|g g' - f f'|_F^2 = |g|^4 + |f|^4 - 2 (g'f)^2 <= 2 L^4``, attained by g and f
    on the surface that are at right angles.  This holds whatever residual, regressors and
    per_unit are: they may be functions of earlier releases, never of rows.
    """

    residual: NDArray[np.int64]  # (G, d + 1): of every group; 0 where its rows do not count
    regressors: NDArray[np.int64]  # (G, k, d + 1)
    per_unit: float  # the product is multiplied by it and rounded to whole steps

    def __post_init__(self) -> None:
        groups, _, d = self.regressors.shape
        if self.residual.shape != (groups, d) or d > MOST_COLUMNS:
            raise ParameterError("scores need one residual and k regressors for every group")
        for numbers in (self.residual, self.regressors):
            if numbers.dtype != np.int64 or (np.abs(numbers) > FINEST).any():
                raise ParameterError(f"linear functions of scores are whole, up to {FINEST}")
        if not 0 <= self.per_unit < np.inf:
            raise ParameterError("per_unit of scores must be a finite number, at least 0")

    @property
    def size(self) -> int:
        """Numbers that are released."""
        return int(self.regressors.shape[1]) ** 2


def score_sums(
    table: Frame,
    grid: MomentsGrid,
    cells: MomentCells,
    of: ScoreMap,
    relation: Relation,
    unit: str | None = None,
) -> IntegerVector:
    """Add g g' over all units, exactly; of all groups together.

    Rows are moved into the grid's ball first; one in no group counts nowhere.  ``unit`` says whose
    a row is, where ``grid.rows`` is above 1.
    """
    if relation == "add-remove":
        raise ParameterError("scores follow moments, which take the number of rows as public")
    if not isinstance(table, nw.DataFrame):
        raise ParameterError("scores are added from rows that are in memory")
    k = of.regressors.shape[1]
    total = np.zeros((k, k), dtype=object)
    units = units_of(table, grid, unit)
    whole = None if units is None else np.zeros((len(units), k), np.int64)
    for start, group, steps, _ in rows_in_ball(table, grid, cells, units):
        scores = _scores(group, steps.T.astype(np.int64), of)
        if whole is None or units is None:
            _add(total, scores)
        else:
            np.add.at(whole, units[start : start + len(scores)], scores)
    if whole is not None:
        _add(total, whole)
    return IntegerVector(
        np.array([int(cell) for cell in total.ravel()], dtype=object),
        l1=2 * k * STEPS**2,
        l2_squared=SCORE_SQUARED,
        l_inf=STEPS**2,
        relation=relation,
    )


def _scores(group: NDArray[np.int64], steps: NDArray[np.int64], of: ScoreMap) -> Any:
    """Return the score of every row in whole steps: exact sums, and one rounded product each.

    A product of matrices of doubles may round a row by its place among others; sums of whole
    numbers do not, and the rest is done number by number.
    """
    found = np.zeros((len(group), of.regressors.shape[1]), np.int64)
    for g in range(len(of.residual)):
        here = np.flatnonzero(group == g)
        if not len(here) or not of.residual[g].any():
            continue
        r = steps[here]
        residual = (r @ of.residual[g]).astype(np.float64)
        regressors = (r @ of.regressors[g].T).astype(np.float64)
        scaled = residual[:, None] * regressors * of.per_unit
        found[here] = np.floor(np.clip(scaled, -_FARTHEST, _FARTHEST) + 0.5).astype(np.int64)
    return found


def _add(total: Any, scores: NDArray[np.int64]) -> None:
    """Add g g' of scores (m, k) that are moved into the ball first."""
    inside = moved_in(np.clip(scores, -_FARTHEST, _FARTHEST), STEPS**2)
    for start in range(0, len(inside), _CHUNK):
        part = inside[start : start + _CHUNK].astype(np.float64)
        total += (part.T @ part).astype(np.int64).astype(object)


_CHUNK = 1 << 18
"""Units whose products, each at most 2^32, doubles add exactly."""
