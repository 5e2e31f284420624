"""An additive function fitted to released sums, and its error as far as it is known.

Shapes are polynomials in the number of the bin, each coefficient shrunk to zero by its noise.
Everything here is post-processing of released numbers and public facts.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dprct.arguments import given
from dprct.defaults import SHAPE_DEGREE, SHRINKAGE
from dprct.errors import ParameterError
from dprct.estimate.noise_law import PathNoise, check_alpha
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.additive.release import AdditiveSums, Cells
    from dprct.estimate.additive.terms import Terms

    Array = NDArray[np.float64]

FEWEST_NOISE = 5.0
"""A cell whose noisy count is below this many standard deviations of its noise has no interval."""

_FEWEST = 0.1
"""A cell's count is taken to be at least this share of an equal share of all records."""

PARTS = ("all", "noise")


@dataclass(frozen=True, eq=False)
class AdditiveFit:
    """An additive function of coded features: a mean, and one smoothed shape per term.

    Notes
    -----
    The shape of a feature is its marginal one, E(target | level) - E(target), smoothed; the sum of
    shapes is the best additive function where features are independent of each other.  Pairs are
    what their cells show beyond that.
    """

    terms: Terms
    sums: AdditiveSums  # what was released
    centre: float = 0.0  # public number that was taken off the target

    @property
    def average(self) -> float:
        """Mean of the clipped target."""
        return self.centre + self.sums.mean

    @cached_property
    def shapes(self) -> tuple[Array, ...]:
        """Smoothed shapes (K,) of the terms, each of mean zero over the released cells."""
        main = [self._main(j) for j in range(self.terms.features)]
        return (*main, *(self._interaction(pair, main) for pair in self.terms.pairs))

    def at(self, codes: Sequence[NDArray[np.int32]]) -> Array:
        """Return the function (m,) at coded rows."""
        found = np.full(len(codes[0]), self.average)
        for term, shape in zip(self.terms.terms, self.shapes, strict=True):
            cell = codes[term[0]].astype(np.int64)
            if len(term) == 2:
                cell = cell * self.terms.encodings[term[1]].size + codes[term[1]]
            found += shape[cell]
        return found

    def table(self) -> pd.DataFrame:
        """Return the function as a table: the average, and the smoothed shape of every level."""
        terms = self.terms
        rows = [("average", "", self.average)]
        for term, shape in zip(terms.terms, self.shapes, strict=True):
            levels = itertools.product(*(terms.labels(j) for j in term))
            named = (", ".join(level) for level in levels)
            rows += [(terms.named(term), level, x) for level, x in zip(named, shape, strict=True)]
        return pd.DataFrame(rows, columns=["term", "level", "shape"])

    def average_noise(self, part: str = "all") -> PathNoise:
        """Return the law of the error of the average: noise, and sampling unless it is left out."""
        _check_part(part)
        sampling = self.sums.largest_variance / self.sums.mass if part == "all" else 0.0
        return self.sums.mean_noise + PathNoise((), sampling)

    def levels(
        self, name: str, alpha: float = 0.05, part: str = "all", joint: bool = False
    ) -> pd.DataFrame:
        """One row per level of a feature or subgroup: what its cell shows, and an interval."""
        _check_part(part)
        check_alpha(alpha)
        j = self.terms.place(name, feature=False)
        raw, counts, fewest = self._level(j)
        laws, noise = self._laws(j, part), self._laws(j, "noise")
        share = alpha / len(raw) if joint else alpha
        half = np.array([half_width(law, share) for law in laws])
        few, (least, most) = fewest < FEWEST_NOISE * self.sums.sd_count, self._ends
        return pd.DataFrame(
            {
                "level": self.terms.labels(j),
                "middle": self.terms.middles(j),
                "count": counts,
                "estimate": self.average + self.shapes[j] if j < self.terms.features else raw,
                "raw": raw,
                "std.error": [law.sd for law in laws],
                "std.error.noise": [law.sd for law in noise],
                "low": np.where(few, least, np.maximum(raw - half, least)),
                "high": np.where(few, most, np.minimum(raw + half, most)),
            }
        )

    @property
    def _ends(self) -> tuple[float, float]:
        """Between which public numbers a level lies."""
        return self.centre - self.sums.clip, self.centre + self.sums.clip

    def _level(self, j: int) -> tuple[Array, Array, Array]:
        """Return what each level shows (K,), its count, and the count that an interval needs."""
        cells = self.sums.cells_of((j,))
        assert cells is not None
        raw, counts = self._raw(cells)
        return raw, counts, counts

    def _laws(self, j: int, part: str) -> list[PathNoise]:
        """Return the law of the error of each level."""
        raw, counts, _ = self._level(j)
        pairs = zip(counts, raw - self.centre, strict=True)
        return [self._cell_law(count, mean, part) for count, mean in pairs]

    def _cell_law(self, count: float, mean: float, part: str) -> PathNoise:
        """Return the law of S~ / N~ - E(target | cell) = (e_S - r e_N + sampling) / N~."""
        sums = self.sums
        law = sums.noise([(1 / count, 1)]) + sums.noise([(mean / count, 1)], sums.sd_count)
        sampling = sums.largest_variance / count if part == "all" else 0.0
        return law + PathNoise((), sampling)

    def _raw(self, cells: Cells) -> tuple[Array, Array]:
        assert cells.counts is not None
        assert cells.sums is not None
        counts = usable_counts(cells.counts, self.sums.mass)
        clip = self.sums.clip
        return self.centre + np.clip(cells.sums / counts, -clip, clip), counts

    def _deviation(self, cells: Cells) -> tuple[Array, Array, Array]:
        """Return means less the mean of all, their variance, and the share of each cell; (K,)."""
        raw, counts = self._raw(cells)
        means = raw - self.average
        noise = (self.sums.sd_sum, self.sums.sd_count)
        variance = cell_variance(counts, raw - self.centre, noise, self.sums.variance)
        return means, variance, counts / counts.sum()

    def _main(self, j: int) -> Array:
        cells = self.sums.cells_of((j,))
        assert cells is not None
        return smooth_shape(*self._deviation(cells), self.terms.ordered(j))

    def _interaction(self, pair: tuple[int, int], main: Sequence[Array]) -> Array:
        cells = self.sums.cells_of(pair)
        assert cells is not None
        means, variance, weights = self._deviation(cells)
        rest = means - np.add.outer(main[pair[0]], main[pair[1]]).ravel()
        sizes = self.terms.encodings[pair[0]].size, self.terms.encodings[pair[1]].size
        ordered = tuple(self.terms.ordered(j) == size for j, size in zip(pair, sizes, strict=True))
        return smooth_interaction(rest, variance, weights, (ordered[0], ordered[1]), sizes)


def half_width(law: PathNoise, alpha: float) -> float:
    """Return q with P(|error| > q) = alpha; of a normal law without a series.

    Examples
    --------
    >>> round(half_width(PathNoise((), 4.0), 0.05), 2)
    3.92
    """
    if law.laplace:
        return law.half_width(alpha)
    return float(-special.ndtri(alpha / 2) * PathNoise((), law.variance).sd)


def _check_part(part: object) -> None:
    if not isinstance(part, str) or part not in PARTS:
        raise ParameterError(
            f"``part={given(part)}``; allowed: 'all' (privacy noise and sampling), 'noise' "
            "(privacy noise)"
        )


def usable_counts(counts: Array, mass: float) -> Array:
    """Return noisy counts (K,) that can be divided by: at least a tenth of an equal share."""
    return np.maximum(counts, _FEWEST * mass / len(counts))


def cell_variance(
    counts: Array, means: Array, noise: tuple[float, float], variance: float
) -> Array:
    """Variance (K,) of the mean of every cell: noise of sum and count (their sds), and sampling."""
    sd_sum, sd_count = noise
    found: Array = (sd_sum**2 + (means * sd_count) ** 2 + counts * variance) / counts**2
    return found


def shrunk(z: Array, variance: Array) -> Array:
    """Return coefficients shrunk to zero: z (1 - 2 v / z^2), and 0 where that changes the sign.

    Examples
    --------
    >>> shrunk(np.array([4.0, 1.0]), np.array([1.0, 1.0]))
    array([3.5, 0. ])
    """
    most = SHRINKAGE * variance
    # a square below the most that noise takes off it leaves nothing, without a division by zero
    return z * (1 - most / np.maximum(z**2, most + np.finfo(np.float64).tiny))


def smooth_shape(means: Array, variance: Array, weights: Array, ordered: int) -> Array:
    """Shape (K,) of one feature, of weighted mean zero.

    ``means`` are those of the cells less the mean of all, ``weights`` their shares.  The first
    ``ordered`` levels follow a polynomial; each of the others is shrunk by itself.

    Notes
    -----
    With W the weights and B the powers of the number of the bin, orthonormal under W, the
    coefficients are B'W h, of variance diag(B'W V W B); each is multiplied with the positive part
    of 1 - 2 v / z^2 (James and Stein's rule, one coefficient at a time).

    Examples
    --------
    >>> flat = smooth_shape(np.array([0.1, -0.1]), np.ones(2), np.full(2, 0.5), 2)
    >>> flat.tolist()
    [0.0, 0.0]
    """
    found = shrunk(means - weights @ means, variance)
    if ordered > 1:
        inside = slice(0, ordered)
        powers = np.vander(np.linspace(-1, 1, ordered), min(SHAPE_DEGREE + 1, ordered))
        found[inside] = _projected(
            powers[:, ::-1], means[inside], variance[inside], weights[inside]
        )
    shape: Array = found - weights @ found
    return shape


def smooth_interaction(
    means: Array,
    variance: Array,
    weights: Array,
    ordered: tuple[bool, bool],
    shape: tuple[int, int],
) -> Array:
    """Interaction (K1 K2,) of two features, from means less that of all and the two main effects.

    Where all levels of both are in an order, products of their first two powers are used, else
    every cell by itself.
    """
    if not all(ordered):
        return shrunk(means, variance)
    grids = [np.vander(np.linspace(-1, 1, size), min(3, size))[:, ::-1][:, 1:] for size in shape]
    products = np.einsum("ia,jb->ijab", *grids).reshape(len(means), -1)
    return _projected(products, means, variance, weights)


def _projected(basis: Array, means: Array, variance: Array, weights: Array) -> Array:
    """Return the shrunk projection of the means on the columns of a basis, under the weights."""
    root = np.sqrt(weights)
    q, _ = np.linalg.qr(basis * root[:, None])
    z = shrunk(q.T @ (root * means), (q**2).T @ (weights * variance))
    return np.asarray(q @ z / root, np.float64)
