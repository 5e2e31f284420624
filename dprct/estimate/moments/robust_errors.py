"""Robust errors of declared regressions: what is asked of a second release, and how it is read.

Residuals and regressors are those of the released moments, so that the release of scores follows
them in the same fit.  Its budget and its sensitivity are fixed before the first draw.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.gaussian_law import LARGEST_RATIO, kappa, rounded_up
from dprct.estimate.moments.system import fit, inverse_of, rows_of, system_of
from dprct.estimate.moments.variables import (
    instrumented,
    less_means,
    main_part,
    name_within,
    regressors_of,
    unit_effects,
)
from dprct.queries.group_moments import STEPS
from dprct.queries.scores import ScoreMap
from dprct.records import dataclass
from dprct.results.joint import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.estimate.moments.system import Fit, Regressor
    from dprct.formula.syntax import Formula
    from dprct.schema import Schema

    Array = NDArray[np.floating[Any]]

SHARE = Fraction(1, 10)
"""Of mu squared, which all scores of a fit have together."""

_FINE = 2.0**29
_LONGEST = 9.0  # squared, in typical scores: a ball of at least three of them
_NOISE = 0.1  # of the sum of squared scores: a ball is as large as this noise allows


@dataclass(frozen=True)
class Scored:
    """A regression whose scores are released."""

    outcome: str  # with fixed effects of units ``"wage | person"``
    # Names as in its table of results; whoever names the same has the same regression.
    regressors: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DrawnScores:
    """The released scores of one regression, in steps squared of its ball."""

    outcome: str
    regressors: tuple[str, ...]
    sums: NDArray[Any]  # (k, k): symmetric: twice the noisy sum, as of :class:`DrawnMoments`
    sigma: float  # standard deviation of a draw


def scored(formulas: Sequence[Formula], schema: Schema) -> tuple[tuple[Scored, str], ...]:
    """Return the regressions of formulas, each outcome one, each with its formula."""
    if not formulas:
        raise ParameterError(
            "``cov_type=`` releases the scores of regressions; name these in ``formulas=``"
        )
    found: dict[Scored, str] = {}
    for formula in formulas:
        if instrumented(formula):
            raise ParameterError(
                f"{formula.text!r} has instruments, of which no scores are released; leave it out "
                "of ``formulas=``, or leave ``cov_type=`` out"
            )
        bare, unit = unit_effects(formula, schema.unit.repeated_id)
        regressors = less_means(regressors_of(main_part(bare), schema), unit)
        names = tuple(one.name for one in regressors)
        right = formula.text.partition("~")[2].strip()
        for outcome in formula.outcome_names:
            one = Scored(name_within(outcome, unit), names)
            found.setdefault(one, f"`{outcome}` ~ {right}")
    return tuple(found.items())


@dataclass(frozen=True, eq=False)
class Whitened:
    """A fit in coordinates in which released moments make all regressors alike."""

    fit: Fit | None  # None where it is not read, or there are not more rows than coefficients
    root: Array  # (k, k): A^(1/2).  The regressors are n^(1/2) A^(1/2) T r, of mean square 1
    radius: float  # G, of the ball of scores; 0 where the regression is not estimated
    cuts: bool  # whether a score can be outside: all of them together have n k s^2


def whitened(
    cells: Sequence[NoisyMoments], outcome: Regressor, regressors: Sequence[Regressor], rows: int,
    sigma: float, counted: float | None = None,
) -> Whitened:  # fmt: skip
    """Return the coordinates of scores: functions of released numbers.

    G^2 is at least s^2 k M max(9, 4 M), s^2 the released residual variance: three times a typical
    score of units of one row, and of units of M rows at least twice that of M equal ones.  Where n
    is large it is larger, up to where the noise of the sum, ``sigma`` (G / L)^2, is a tenth of what
    it is about, n s^2: skewed residuals lose the less.  With weights a,
    s^2 and the regressors are weighted by a / W, scores are (a / W) e x, and, as a / W is at most
    1, their mean square is s^2 k times the mean of a / W at most; ``counted`` is the number of
    rows.
    """
    system = system_of(cells, regressors, counted)
    inverse = inverse_of(system)
    found, cuts = None, False
    if inverse.passes and system.df_resid > 0:
        found = fit(system, inverse, rows_of(cells, outcome), kap=0.0)
    w, U = np.linalg.eigh(inverse.A)
    root = (U * np.sqrt(np.maximum(w, 0))) @ U.T
    radius = 0.0
    if found is not None and found.residual_variance > 0:
        size = len(system.M) * rows * max(_LONGEST, 4 * rows)
        if counted:
            size *= min(1.0, max(system.n, 0.0) / counted)
        everything = len(system.M) * rows * max(system.n, 1.0)
        allowed = _NOISE * system.n * STEPS**2 / sigma if sigma > 0 else everything
        size = min(max(size, allowed), everything)
        cuts = size < everything
        radius = math.sqrt(found.residual_variance * size)
    return Whitened(found, root, radius if math.isfinite(radius) else 0.0, cuts)


def score_map(
    of: Whitened, members: Sequence[Sequence[int]], layout: Layout, groups: int, size: int
) -> ScoreMap:
    """Scores of a fit, in whose cells are these groups of the release, as whole functions of rows.

    ``size`` is k, all regressors; those that were omitted have the score 0.
    """
    d = len(layout.places) + 1
    residual = np.zeros((groups, d), np.int64)
    regressors = np.zeros((groups, size, d), np.int64)
    if of.fit is None or not of.radius:
        return ScoreMap(residual, regressors, 0.0)
    system = of.fit.system
    k = system.T.shape[1]
    a = system.residual(of.fit.w, of.fit.b)
    x = math.sqrt(max(system.n, 0.0)) * of.root @ system.T
    largest = [float(np.abs(one).max()) for one in (a, x)]
    if not min(largest) > 0 or not math.isfinite(max(largest)):
        return ScoreMap(residual, regressors, 0.0)
    finer = _FINE / largest[0], _FINE / largest[1]
    for place, inside in enumerate(members):
        for g in inside:
            residual[g] = np.rint(a[place] * finer[0]).astype(np.int64)
            regressors[g, :k] = np.rint(x[place] * finer[1]).astype(np.int64)
    per_unit = layout.step**2 * STEPS / of.radius / finer[0] / finer[1]
    return ScoreMap(residual, regressors, per_unit if math.isfinite(per_unit) else 0.0)


def meat_of(of: Whitened, drawn: DrawnScores, rows: int, absorbed: int = 0) -> Array | None:
    """Return the sum of products of scores in the order and units of all regressors.

    None where the regression is not estimated whatever its errors are.  It is raised by kappa of
    its own noise, as a residual variance is, and by n / (n - k); with units of up to M rows, of
    which there are at least n / M = u, by u / (u - 1) (n - 1) / (n - k).  ``absorbed`` counts in k:
    of fixed effects of units, within which errors are dependent anyway, the constant does.
    """
    if of.fit is None:
        return None
    if not of.radius:
        raise ParameterError(
            f"the residual variance of {drawn.outcome!r} was released at or below 0, so that no "
            "scores were added up; spend more, or release fewer columns"
        )
    fitted, system = of.fit, of.fit.system
    k, n = len(system.M), system.n
    unit = (of.radius / STEPS) ** 2
    doubled = np.array([[float(cell) for cell in row] for row in drawn.sums])[:k, :k]
    s2 = drawn.sigma * unit
    J = system.to_names
    om = s2 * np.square(J @ of.root).sum(axis=1) / n
    noise = np.maximum(np.diag(J @ fitted.noise @ J.T), 1e-300)
    kap = 0.0
    if s2 > 0:
        kap = kappa(min(rounded_up(float((om / noise).max())), LARGEST_RATIO), 0.05)
    raised = positive(doubled / 2 * unit + kap * s2 * np.eye(k))
    if rows == 1 and of.cuts:
        # in place of what the ball cut off: on average scores vary by n s^2, which was released
        least = k * n * fitted.residual_variance
        raised = raised * max(1.0, least / max(float(np.trace(raised)), 1e-9 * least))
    nobs = system.nobs
    units = nobs / rows
    left = nobs - k - absorbed
    factor = nobs / left
    if rows > 1:
        factor = units / max(units - 1, 1e-9) * (nobs - 1) / left
    inner = np.linalg.inv(of.root)
    # scores of the basis are J' times those of the names
    back = np.linalg.inv(J).T @ inner
    found = back @ raised @ back.T * (factor / n)
    whole = np.zeros((len(drawn.regressors),) * 2)
    kept = [drawn.regressors.index(name) for name in system.names]
    whole[np.ix_(kept, kept)] = found
    return whole
