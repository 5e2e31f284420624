"""An additive function fitted to released sums, with what is known of its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dprct.errors import ParameterError
from dprct.estimate.additive.smoothing import (
    cell_variance,
    smooth_interaction,
    smooth_shape,
    usable_counts,
)
from dprct.estimate.noise_law import PathNoise, check_alpha
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.additive.release import AdditiveSums, Cells
    from dprct.estimate.additive.terms import Terms

    Array = NDArray[np.float64]

FEWEST_NOISE = 5.0
"""A cell whose noisy count is below this many standard deviations of its noise has no interval."""

PARTS = ("all", "noise")


@dataclass(frozen=True, eq=False)
class AdditiveFit:
    """An additive function of coded features: a mean, and one smoothed shape per term.

    Parameters
    ----------
    terms : Terms
    sums : AdditiveSums
        What was released.
    centre : float
        Public number that was taken off the target.

    Notes
    -----
    The shape of a feature is its marginal one, E(target | level) - E(target), smoothed; the sum of
    shapes is the best additive function where features are independent of each other.  Pairs are
    what their cells show beyond that.
    """

    terms: Terms
    sums: AdditiveSums
    centre: float = 0.0

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

    def average_noise(self, part: str = "all") -> PathNoise:
        """Return the law of the error of the average: noise, and sampling unless it is left out."""
        _check_part(part)
        sampling = self.sums.largest_variance / self.sums.mass if part == "all" else 0.0
        return self.sums.mean_noise + PathNoise((), sampling)

    def levels(
        self, name: str, alpha: float = 0.05, part: str = "all", joint: bool = False
    ) -> pd.DataFrame:
        """Return one row per level of a feature or group: what its cell shows, and an interval.

        Returns
        -------
        DataFrame
            ``level, middle, count, estimate`` (of the smoothed shape; that of the cell for groups),
            ``raw`` (of the cell alone), ``std.error, std.error.noise, low, high`` (of ``raw``).
        """
        _check_part(part)
        check_alpha(alpha)
        j = self.terms.place(name, feature=False)
        cells = self.sums.cells_of((j,))
        assert cells is not None
        raw, counts = self._raw(cells)
        smooth = self.average + self.shapes[j] if j < self.terms.features else raw
        share = alpha / len(raw) if joint else alpha
        laws = [self._cell_law(n, r, part) for n, r in zip(counts, raw - self.centre, strict=True)]
        half = np.array([half_width(law, share) for law in laws])
        few = counts < FEWEST_NOISE * self.sums.sd_count
        clip = self.sums.clip
        low = np.where(few, self.centre - clip, np.maximum(raw - half, self.centre - clip))
        high = np.where(few, self.centre + clip, np.minimum(raw + half, self.centre + clip))
        return pd.DataFrame(
            {
                "level": self.terms.labels(j),
                "middle": self.terms.middles(j),
                "count": counts,
                "estimate": smooth,
                "raw": raw,
                "std.error": [law.sd for law in laws],
                "std.error.noise": [self._cell_law(n, r, "noise").sd
                                    for n, r in zip(counts, raw - self.centre, strict=True)],
                "low": low,
                "high": high,
            }
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Return what was released as JSON-ready values."""
        return {"centre": self.centre, **self.sums.state()}

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
    return float(-ndtri(alpha / 2) * PathNoise((), law.variance).sd)


def _check_part(part: object) -> None:
    if not isinstance(part, str) or part not in PARTS:
        raise ParameterError(
            f"part={given(part)}; allowed: 'all' (privacy noise and sampling), 'noise' (privacy "
            "noise)"
        )
