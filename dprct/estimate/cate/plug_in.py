"""The plug-in learner: an outcome function for each arm, and their difference."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.estimate.additive.fitted import AdditiveFit, usable_counts
from dprct.estimate.noise_law import PathNoise
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dprct.estimate.additive.release import AdditiveSums, Cells
    from dprct.estimate.additive.terms import Terms
    from dprct.queries.additive import Block

    Array = NDArray[np.float64]

_LARGEST = 4
"""Laplace draws that are not taken to be normal."""

_STEP = 1e-3
"""By how many sds of its noise a released number is moved for a slope."""


@dataclass(frozen=True, eq=False)
class PlugIn(AdditiveFit):
    """The difference of the additive functions of two arms.

    Parameters
    ----------
    sums : AdditiveSums
        Of the outcome, every block crossed with the arm.

    Notes
    -----
    The effect at x is mu1(x) - mu0(x).  Its average is over everybody's levels, of both arms, so
    that what features have to do with treatment is taken out as far as additive functions of
    features that are independent of each other say it.  Every number is a function of the released
    ones, and its noise is that of the first order, by the slope on each of them.
    """

    @staticmethod
    def blocks(terms: Terms) -> tuple[Block, ...]:
        """Released blocks: everything crossed with the arm, which is the last code."""
        return terms.blocks(len(terms.encodings))

    @cached_property
    def arms(self) -> tuple[AdditiveFit, AdditiveFit]:
        """Functions of the untreated and of the treated."""
        first, second = (
            AdditiveFit(self.terms, self.sums.of_arm(arm), self.centre) for arm in (0, 1)
        )
        return first, second

    @cached_property
    def _gaps(self) -> tuple[Array, ...]:
        """Difference (K,) of the shapes of both arms, of every term."""
        shapes = zip(self.arms[0].shapes, self.arms[1].shapes, strict=True)
        return tuple(treated - untreated for untreated, treated in shapes)

    @cached_property
    def _shares(self) -> tuple[Array, ...]:
        """Share (K,) of everybody in every cell of every term."""
        found = [np.add(*self._counts(term)) for term in self.terms.terms]
        return tuple(counts / counts.sum() for counts in found)

    def _counts(self, term: tuple[int, ...]) -> tuple[Array, Array]:
        found = []
        for arm in self.arms:
            cells = arm.sums.cells_of(term)
            assert cells is not None
            assert cells.counts is not None
            found.append(usable_counts(cells.counts, arm.sums.mass))
        return found[0], found[1]

    @property
    def average(self) -> float:
        """The effect, averaged over everybody."""
        untreated, treated = (arm.average for arm in self.arms)
        moved = sum(float(w @ gap) for w, gap in zip(self._shares, self._gaps, strict=True))
        return float(np.clip(treated - untreated + moved, -2 * self.sums.clip, 2 * self.sums.clip))

    @cached_property
    def shapes(self) -> tuple[Array, ...]:
        """Shapes (K,) of the effect, each of mean zero over everybody."""
        pairs = zip(self._shares, self._gaps, strict=True)
        return tuple(gap - float(w @ gap) for w, gap in pairs)

    def average_noise(self, part: str = "noise") -> PathNoise:
        """Return the law of the noise of the average; no law with sampling is proved."""
        assert part == "noise"
        return self._law(0)

    @property
    def _ends(self) -> tuple[float, float]:
        return -2 * self.sums.clip, 2 * self.sums.clip

    def _level(self, j: int) -> tuple[Array, Array, Array]:
        untreated, treated = self._counts((j,))
        return self._raw_effect(j), untreated + treated, np.minimum(untreated, treated)

    def _laws(self, j: int, part: str) -> list[PathNoise]:
        """Return the law of the noise of each level; no law with sampling is proved."""
        assert part == "noise"
        first = 1 + sum(self.terms.encodings[i].size for i in range(j))
        return [self._law(first + k) for k in range(self.terms.encodings[j].size)]

    def _raw_effect(self, j: int) -> Array:
        """Return the effect (K,) at every level of a feature, not smoothed."""
        cells = [arm.sums.cells_of((j,)) for arm in self.arms]
        found = [arm._raw(one)[0] for arm, one in zip(self.arms, cells, strict=True) if one]
        gap = found[1] - found[0]
        return np.asarray(self.average + gap - float(self._shares[j] @ gap))

    @property
    def _numbers(self) -> Array:
        """The average, and the levels of all features: what has a law."""
        raw = [self._raw_effect(j) for j in range(self.terms.features)]
        return np.concatenate([[self.average], *raw])

    def _law(self, at: int) -> PathNoise:
        of_sums, of_counts = (slopes[:, at] for slopes in self._slopes)
        law = self.sums.noise([(float(slope), 1) for slope in of_sums])
        law += self.sums.noise([(float(s), 1) for s in of_counts], self.sums.sd_count)
        # of hundreds of Laplace draws the largest have the tail; the others together are normal
        ranked = sorted(law.laplace, reverse=True)
        rest = PathNoise(tuple(ranked[_LARGEST:])).sd ** 2
        return PathNoise(tuple(ranked[:_LARGEST]), law.variance + rest)

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """Slopes of the numbers on every released sum, and on every count; a row for each."""
        here, found = self._numbers, list[Any]()
        for step, moved in ((self.sums.sd_sum, _sums_moved), (self.sums.sd_count, _counts_moved)):
            near = (replace(self, sums=s)._numbers for s in moved(self.sums, step * _STEP))
            found.append([(one - here) / (step * _STEP) for one in near])
        return np.array(found[0]), np.array(found[1])


def _sums_moved(sums: AdditiveSums, step: float) -> Iterator[AdditiveSums]:
    """Yield the sums with one sum moved at a time."""
    for place, cells in enumerate(sums.cells):
        assert cells.sums is not None
        for unit in np.eye(len(cells.sums)) * step:
            yield _with(sums, place, replace(cells, sums=cells.sums + unit))


def _counts_moved(sums: AdditiveSums, step: float) -> Iterator[AdditiveSums]:
    """Yield the sums with one count moved at a time."""
    for place, cells in enumerate(sums.cells):
        assert cells.counts is not None
        for unit in np.eye(len(cells.counts)) * step:
            yield _with(sums, place, replace(cells, counts=cells.counts + unit))


def _with(sums: AdditiveSums, place: int, cells: Cells) -> AdditiveSums:
    return replace(sums, cells=(*sums.cells[:place], cells, *sums.cells[place + 1 :]))
