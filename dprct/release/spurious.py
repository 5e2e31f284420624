"""How often unrelated columns look related on the file of a noisy histogram."""

from __future__ import annotations

import hashlib
import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dprct.encoding import ExclusiveEncoding
from dprct.privacy.histograms import StabilityHistogram
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.histograms import CellHistogram, HistogramRelease

_MOST_DRAWS, _FEWEST_DRAWS = 400, 4
_WORK = 2 * 10**7
"""Cells times pairs of columns that a simulation visits, but for the fewest draws."""
_AT_ONCE = 2**22


def spurious_share(n: int, mechanism: CellHistogram, more: float = 0.0) -> float:
    """Share of regressions of one column on an unrelated one that are significant at 5 %.

    Where :func:`error_ratio` is not known, rows are uniform, and the share is 5 %.

    Examples
    --------
    >>> from dprct.privacy.histograms import SparseHistogram
    >>> round(spurious_share(10_000, SparseHistogram(1, 6, 10_000)), 3)
    0.051
    """
    ratio = error_ratio(n, mechanism, more)
    return 0.05 if math.isnan(ratio) else math.erfc(1.96 / ratio / math.sqrt(2))


def error_ratio(n: int, mechanism: CellHistogram, more: float = 0.0) -> float:
    """Error of the effect of one column on an unrelated one, over that on data without noise.

    NaN where no combination is expected to be released.

    ``more`` is the variance that something else adds to an effect, over that of sampling.

    Notes
    -----
    In a table whose K combinations are equally frequent, a cell holds a Poisson number N of rows
    with mean m = n / K.  Let Z be its released count: N plus noise if that is at least t, else 0.
    The file has n rows in proportion to the Z.  A correlation of two standardised columns u and v
    that every combination crosses is sum(Z u v) / sum(Z), with variance Var(Z) / (K E[Z]^2), so
    that t = sqrt(n) times it has variance m Var(Z) / E[Z]^2: 1 without noise, 1 + noise / m with
    noise that drops nothing.  Public numbers enter and no others.
    """
    m, t, alpha = n / mechanism.cells, mechanism.threshold, math.exp(-1 / mechanism.scale)
    reach = 12 * math.sqrt(m) + 30
    N = np.arange(max(0, math.floor(m - reach)), math.ceil(m + reach) + 1, dtype=np.float64)
    weight = np.exp(N * math.log(m) - m - [math.lgamma(number + 1) for number in N.tolist()])
    tail, first, second = _noise_above(t - N, alpha)
    if isinstance(mechanism, StabilityHistogram):
        weight = np.where(N > 0, weight, 0.0)
    mean = float(weight @ (N * tail + first))
    square = float(weight @ (N**2 * tail + 2 * N * first + second))
    if mean <= 0:  # no combination is expected to be released: rows are uniform
        return math.nan
    variance = m / mean * (square / mean - mean) + more
    return math.sqrt(max(variance, 1e-300))


def _noise_above(c: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.float64], ...]:
    """Return P(X >= c), E[X; X >= c] and E[X^2; X >= c] of discrete Laplace noise X."""
    a = np.where(c >= 1, c, 1 - c)  # by symmetry, of X <= c - 1
    mass, odds = alpha**a / (1 + alpha), alpha / (1 - alpha)
    first = mass * (a + odds)
    second = mass * (a**2 + 2 * a * odds + odds * (1 + alpha) / (1 - alpha))
    variance = 2 * alpha / (1 - alpha) ** 2
    return np.where(c >= 1, mass, 1 - mass), first, np.where(c >= 1, second, variance - second)


def released_share(
    released: HistogramRelease, encodings: Sequence[Coded], n: int, mechanism: CellHistogram
) -> float:
    """Share of pairs of unrelated columns with abs(t) > 1.96, at the levels' released shares.

    Notes
    -----
    :func:`spurious_share` takes combinations to be equally frequent, which is all that is public
    before the fit.  Here tables of independent columns are drawn whose levels are as frequent as
    in the released table, with a Poisson number of rows in each cell; each gets the noise and
    the threshold of the mechanism.  The generator is seeded by the released table, so that the
    same table has the same share.  Cost grows with K alone.
    """
    places = [place for place, radix in enumerate(released.radices) if radix > 1]
    scores = [_scores(encodings[place]) for place in places]
    pairs = list(combinations(range(len(places)), 2))
    if not pairs or not len(released.counts):
        return 0.05
    radices = tuple(released.radices[place] for place in places)
    expected = np.full(1, float(n))
    for place, radix in zip(places, radices, strict=True):
        known = np.bincount(released.codes[:, place], released.counts, radix)
        expected = np.multiply.outer(expected, known / known.sum()).ravel()
    told = released.codes.tobytes() + released.counts.tobytes()
    noise = source(int.from_bytes(hashlib.sha256(told).digest()[:8]))
    rng, cells = noise.post_processing_rng(), len(expected)
    draws = min(max(_WORK // (cells * len(pairs)), _FEWEST_DRAWS), _MOST_DRAWS)
    each = max(1, _AT_ONCE // cells)
    found = []
    for start in range(0, draws, each):
        counts = rng.poisson(expected, (min(each, draws - start), cells))
        noisy = counts + noise.discrete_laplace(mechanism.scale, counts.size).reshape(counts.shape)
        kept = np.where(noisy >= mechanism.threshold, noisy, 0)
        if isinstance(mechanism, StabilityHistogram):
            kept[counts == 0] = 0
        table = kept.reshape(-1, *radices)
        for one, two in pairs:
            others = tuple(axis + 1 for axis in range(len(places)) if axis not in (one, two))
            found.append(_t(table.sum(axis=others), scores[one], scores[two], n).ravel())
    t = np.concatenate(found)
    t = t[np.isfinite(t)]
    return float(np.mean(np.abs(t) > 1.96)) if len(t) else 0.05


def _scores(code: Coded) -> NDArray[np.float64]:
    """Columns that a regression would use (q, levels), by code; NaN is missing."""
    if isinstance(code, ExclusiveEncoding):
        return np.eye(code.size)[1:]
    regular = np.arange(len(code.cells), dtype=np.float64)
    return np.append(regular, np.full(len(code.missing), np.nan))[None, :]


def _t(
    table: NDArray[np.int64], u: NDArray[np.float64], v: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Statistics t of columns in two-way tables (draws, levels, levels) that n rows are drawn by.

    NaN where a column does not vary.
    """
    weight = table * (n / np.maximum(table.sum(axis=(1, 2), keepdims=True), 1))
    weight = weight * np.isfinite(u[0])[:, None] * np.isfinite(v[0])
    u, v = np.nan_to_num(u), np.nan_to_num(v)
    rows = weight.sum(axis=(1, 2))[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_u = np.einsum("dij,ai->da", weight, u)[:, :, None] / rows
        mean_v = np.einsum("dij,bj->db", weight, v)[:, None, :] / rows
        both = np.einsum("dij,ai,bj->dab", weight, u, v) / rows - mean_u * mean_v
        var_u = np.einsum("dij,ai->da", weight, u**2)[:, :, None] / rows - mean_u**2
        var_v = np.einsum("dij,bj->db", weight, v**2)[:, None, :] / rows - mean_v**2
        varies = (var_u > 1e-12) & (var_v > 1e-12) & (rows > 2)
        r = np.where(varies, both / np.sqrt(var_u * var_v), np.nan)
        left = np.maximum(1 - r**2, 1e-300)
        statistic: NDArray[np.float64] = r * np.sqrt((rows - 2) / left)
    return statistic
