"""Products of treatment and private covariates in declared regressions: their plan and reading.

With T assigned at random and x fixed before, the coefficients of T and T x are the least-squares
line of the effect on x.  Sums of t u r and the means and products of u give it: theta solves
G theta = s, G_pp' = V_kk' M_jj', with the public variances V of treatment and the released M.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.estimate.moments.declared import DrawnStep
from dprct.queries.one_step import ALONE, FINEST
from dprct.queries.slopes import Influence
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.bound_step import BoundStep
    from dprct.estimate.moments.layout import Layout
    from dprct.queries.one_step import Gram, OnGrid
    from dprct.queries.slopes import Slopes

    Array = NDArray[np.floating[Any]]

GATE = 5.0
"""Standard deviations of noise that the smallest eigenvalue of M must be above."""

_SAFE = 8.0
"""The same, of what is planned."""

_ROOM = 1.5
"""How far beyond b a residual about its level counts in the squares of clusters."""

_LEAST = 0.01
"""Of the squared half range, the variance that a covariate is planned to have at least."""


def variances(bound: BoundStep) -> Array:
    """V: mean over rows, by weight, of the products of treatments less their projection; (K, K)."""
    found: Array = (bound.scored * bound.sizes) @ bound.rest.T / bound.mass
    return found


def counting(bound: BoundStep) -> tuple[float, float]:
    """Planned means over all people of what a row counts by private columns, and of its square.

    Both are in units of the largest private weight.
    """
    if bound.chosen is None:
        return 1.0, 1.0
    mean, square = (bound.chosen.share * one for one in bound.chosen.loads)
    return mean, square


def means_of(bound: BoundStep, layout: Layout) -> tuple[Array, Array]:
    """Planned mean and second moment of 1 and each u, by declared centres and scales; (1 + J,)."""
    known = {place.variable.key: place for place in layout.places}
    mean, square = [1.0], [1.0]
    for key, feature in zip(bound.step.feature_keys, bound.step.features, strict=True):
        place, (low, high) = known[key], feature.bounds
        half = (high - low) / 2
        shares = [1 / len(p.column.levels) for p in feature.parts if p.level is not None
                  and p.column.levels]  # fmt: skip
        m = min(max((place.centre - low / 2 - high / 2) / half, -1 + _LEAST), 1 - _LEAST)
        if len(shares) == len(feature.parts):  # of levels as frequent as each other
            m = min(2 * math.prod(shares) - 1, 1 - _LEAST)
        most = 1.0 if feature.flat else min(1.0, m * m + (place.scale / half) ** 2)
        mean.append(m)
        square.append(max(most, m * m + _LEAST))
    return np.array(mean), np.array(square)


def second_moments(mean: Array, square: Array) -> Array:
    """M of 1 and covariates that are planned to be independent."""
    found: Array = np.outer(mean, mean)
    np.fill_diagonal(found, square)
    return found


def gram_told_above(bound: BoundStep, layout: Layout, gram: Gram, several: float) -> float:
    """Return the mu of moments above which M is planned to be well above its noise."""
    mean, square = means_of(bound, layout)
    least = counting(bound)[0] * float(np.linalg.eigvalsh(second_moments(mean, square))[0])
    moved = gram.on_grid.unit / GRID**2 * several / float(bound.loaded.sum())
    return _SAFE * moved / least if least > 0 else math.inf


def per_unit(bound: BoundStep) -> Array:
    """Coefficients of T and T x, of those of T and T u, u = (x - middle) / half range; (Q, Q)."""
    terms = bound.step.terms
    found = np.eye(len(terms))
    for p, (k, j) in enumerate(terms):
        if j == ALONE:
            continue
        low, high = bound.step.features[j].bounds
        found[p, p] = 2 / (high - low)
        found[terms.index((k, ALONE)), p] = -(low + high) / (high - low)
    return found


def gram_of(bound: BoundStep, V: Array, M: Array) -> Array:
    """G of the terms."""
    k = [one for one, _ in bound.step.terms]
    j = [one + 1 for _, one in bound.step.terms]
    found: Array = V[np.ix_(k, k)] * M[np.ix_(j, j)]
    return found


@dataclass(frozen=True, eq=False)
class PlannedSlopes:
    """What a plan expects of a regression with products, in half steps of the outcome."""

    sampling: Array  # (Q, Q): covariance of the coefficients without privacy and covariates
    noise: Array  # (Q,): standard deviations of the noise of the coefficients
    spread: Array  # (Q,): standard deviation of the noise of each variance
    scales: Array  # (Q,): at which rows or clusters are clipped
    most: tuple[int, ...]  # D of each coefficient


@dataclass(frozen=True, eq=False)
class SlopesAhead:
    """What a plan knows of a regression with products, whatever the shares and clips."""

    basis: Array  # (Q, Q): coefficients of T and T x, of the sums
    # raw, own: (Q, Q) and (Q,) array, variance of the sums over rows, and within clusters, of
    # residuals of variance 1.
    raw: Array
    own: Array
    # longest, least: (Q,), the longest weight of a row, and the part of it at which rows are
    # clipped at least.
    longest: Array
    least: Array
    # (Q,): standard deviations of the noise at mu = 1, over what a residual is bounded by.
    noise: Array


def slopes_ahead(bound: BoundStep, layout: Layout, icc: float) -> SlopesAhead:
    """Take together what all plans of a regression have in common."""
    terms = bound.step.terms
    mean, square = means_of(bound, layout)
    share, heavy = counting(bound)
    V, M = variances(bound), second_moments(mean, square)
    basis = per_unit(bound) @ np.linalg.inv(gram_of(bound, V, share * M))
    rows, whole = bound.spread.T
    alike = icc * (whole / rows - 1).mean() if bound.clusters else 0.0
    k, j = np.array([one for one, _ in terms]), np.array([one + 1 for _, one in terms])
    longest = np.abs(bound.scored).max(axis=1)[k]
    W = heavy * (bound.scored * bound.sizes) @ bound.scored.T / bound.mass
    return SlopesAhead(
        basis,
        gram_of(bound, W, M + alike * np.outer(mean, mean)),
        W[k, k] * (square[j] + alike * (mean[j] ** 2 + 0.1 * (square[j] - mean[j] ** 2))),
        longest,
        4 * longest * np.minimum(1.0, 2.5 * np.sqrt(square[j])),
        np.sqrt((basis**2).sum(1)) * 2 * math.sqrt(bound.moved.max()) / bound.mass,
    )


def planned_slopes(
    bound: BoundStep, ahead: SlopesAhead, sd: float, reach: int, effects: float, squares: float,
    times: float,
) -> PlannedSlopes:  # fmt: skip
    """Errors and clips where effects and squares have these mu.

    Parameters
    ----------
    sd : float
        Of the outcome in half steps.
    times : float
        Planned standard deviations of a cluster's sum that it is clipped at.
    """
    n, size, basis, longest = bound.mass, len(ahead.basis), ahead.basis, ahead.longest
    if bound.clusters:
        c = times * sd * np.sqrt(n * ahead.own / bound.clusters)
        most = np.minimum(np.ceil(_ROOM * reach * longest / c * GRID), GRID)
    else:
        wide = sd * np.sqrt(np.diag(ahead.raw)) * np.sqrt(0.5 * squares / size * n)
        c = np.minimum(2 * reach * longest, np.maximum(sd * ahead.least, wide))
        most = np.full(size, float(GRID))
    d = 2 * most / GRID
    each = np.minimum(2.0, d[:, None] + d)
    np.fill_diagonal(each, np.where(d <= 1, np.minimum(d * (2 - d), 1.0), 1.0))
    length = min(float(size), math.sqrt(float(np.square(np.triu(each)).sum())))
    s = np.outer(c, c) * length / squares / n**2 * bound.inflation
    # of w'Vw, of entries of V with independent noise
    w, s = basis**2, s * s
    spread = np.sqrt(2 * ((w @ s) * w).sum(1) - w**2 @ np.diag(s))
    return PlannedSlopes(
        basis @ ahead.raw @ basis.T * sd**2 / n, ahead.noise * reach / effects, spread, c,
        tuple(int(x) for x in most),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReadSlopes:
    """The coefficients of a regression with products as released, in half steps."""

    theta: Array  # (Q,): of T and T u
    basis: Array  # (Q, Q): coefficients of T and T x, of the sums
    noise: Array  # (Q, Q): covariance of the noise of the sums
    influence: Influence  # of rows, for squares
    usable: bool  # whether the covariates vary by more than the noise of their moments
    rows: float  # about how many count


def read_slopes(
    bound: BoundStep, score: Slopes, effects: tuple[OnGrid, Sequence[int], float],
    totals: tuple[OnGrid, Sequence[int], float], gram: tuple[Gram, OnGrid, Sequence[int], float],
    level: Sequence[float], scales: Array,
) -> ReadSlopes:  # fmt: skip
    """Coefficients from the released sums, totals and products of covariates.

    ``level`` is that of the block of every cell.
    """
    n, terms, Q = bound.mass, bound.step.terms, len(bound.step.terms)
    whole = float(bound.loaded.sum())
    part, units, sd = effects
    unit = part.unit / GRID * bound.longest / FINEST / GRID / n / score.scale
    s, own = np.array(units[:Q], float) * unit, np.full(Q, sd * unit)
    A, other = np.zeros(Q), np.zeros(Q)
    for units_of_A, (k, j) in zip(units[Q:], score.levels_of, strict=True):
        p, w = terms.index((k, j)), score.weight(k)
        A[p], other[p] = units_of_A * unit / w, sd * unit / w
    of, part, units, sd = gram
    unit = part.unit / GRID**3 / whole / score.scale
    M, sd_M = np.eye(1 + len(of.features)), sd * unit
    for (a, b), value in zip(of.entries, units, strict=True):
        M[of.at(a, b)] = M[of.at(b, a)] = value * unit
    part, units, sd = totals
    count = max(M[0, 0], sd_M)
    unit = part.unit / GRID / whole / score.scale / count
    m, sd_m = float(sum(units)) * unit, math.sqrt(len(units)) * sd * unit
    if score.hides:
        sd_m, level = math.hypot(sd_m, m * sd_M / count), [m] * len(level)
    s = s - m * A
    V = variances(bound)
    G = gram_of(bound, V, M)
    usable = bool(np.linalg.eigvalsh(M)[0] > GATE * sd_M and np.linalg.eigvalsh(G)[0] > 0)
    inverse = np.linalg.inv(G) if usable else np.full((Q, Q), math.nan)
    theta = inverse @ s
    known = np.nan_to_num(theta)
    noise = np.diag(own**2 + (m * other) ** 2) + sd_m**2 * np.outer(A, A)
    for a, b in of.entries:
        E = np.zeros_like(M)
        E[of.at(a, b)] = E[of.at(b, a)] = sd_M
        moved = gram_of(bound, V, E) @ known
        noise = noise + np.outer(moved, moved)
    levels = np.array([np.asarray(level) if j == ALONE else np.full(len(level), m)
                       for _, j in terms])  # fmt: skip
    at = [one for one, _ in terms]
    influence = Influence(
        terms, np.asarray(bound.rest, np.float64), np.asarray(bound.own, np.float64), levels,
        V[np.ix_(at, at)] * known[None, :], GRID / scales,
    )  # fmt: skip
    rows = float(bound.n)
    if bound.chosen is not None and not bound.chosen.everybody:
        rows *= count / bound.chosen.loads[0]
    return ReadSlopes(theta, per_unit(bound) @ inverse, noise, influence, usable, rows)


def drawn_slopes(
    bound: BoundStep, read: ReadSlopes, squares: tuple[OnGrid, Sequence[int], float],
    pairs: Sequence[tuple[int, int]], scales: Array, half: float,
) -> DrawnStep:  # fmt: skip
    """What was released of a regression with products, in units of its outcome."""
    part, units, sd = squares
    Q = len(bound.step.terms)
    unit = part.unit / GRID**3 / bound.mass**2 * bound.inflated(read.rows) * half**2
    by = np.outer(scales, scales) * unit
    sampling = np.zeros((Q, Q))
    for (j, k), value in zip(pairs, units, strict=True):
        sampling[j, k] = sampling[k, j] = value * by[j, k]
    params = per_unit(bound) @ read.theta
    covariance = read.basis @ read.noise @ read.basis.T * half**2
    noise = np.sqrt(np.diag(covariance))
    rows = read.rows if bound.chosen is not None and read.usable else None
    return DrawnStep(params * half, sampling, sd * by, noise, read.basis, covariance, rows)
