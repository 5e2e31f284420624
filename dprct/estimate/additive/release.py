"""The one private step of an additive model: counts and sums, jointly, with exact noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.defaults import PURE_COUNT_UNITS
from dprct.estimate.noise_law import PathNoise
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace
from dprct.queries import HALF_STEPS, AdditiveLayout, EngineCodes, additive_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.queries import Block
    from dprct.queries.additive import Codes
    from dprct.queries.arithmetic import Numbers

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What was released of one block.

    Parameters
    ----------
    block : Block
    counts : (K,) array or None
        Noisy numbers (or total weights) of records.
    sums : (K,) array or None
        Noisy sums of the clipped target.
    """

    block: Block
    counts: Array | None
    sums: Array | None

    def of_arm(self, arm: int) -> Cells:
        """Return the cells of one arm, of a block whose first feature is the arm."""
        block = replace(self.block, features=self.block.features[1:], shape=self.block.shape[1:])
        counts, sums = (
            None if x is None else x.reshape(2, -1)[arm] for x in (self.counts, self.sums)
        )
        return Cells(block, counts, sums)


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveSums:
    """Noisy counts and sums of an additive model, and the law of their noise; all releasable.

    Parameters
    ----------
    cells : tuple of Cells
        The first is everybody.
    second : float
        Noisy sum of the squared clipped target.
    n : int
        Records; public.
    clip : float
    sd_sum, sd_count : float
        Noise of a sum (in the unit of the target) and of a count, one standard deviation; public.
    laplace : bool
        The noise is Laplace; otherwise Gaussian.
    weighted : bool
        Counts are total weights.
    """

    cells: tuple[Cells, ...]
    second: float
    n: int
    clip: float
    sd_sum: float
    sd_count: float
    laplace: bool
    weighted: bool = False

    @property
    def mass(self) -> float:
        """Number of records, or their total weight: of several noisy ones, the best average."""
        if self.cells[0].counts is None and not self.weighted:
            return float(self.n)
        totals = [(float(c.counts.sum()), c.block.size) for c in self.cells if c.counts is not None]
        return max(_pooled(totals), 1.0)

    @property
    def mean(self) -> float:
        """Mean of the clipped target, the average of what every block says of it."""
        totals = [(float(c.sums.sum()), c.block.size) for c in self.cells if c.sums is not None]
        return float(np.clip(_pooled(totals) / self.mass, -self.clip, self.clip))

    @property
    def mean_noise(self) -> PathNoise:
        """The law of the noise of :attr:`mean`; of a noisy mass, to first order.

        Notes
        -----
        A block of K cells gives the total with noise of variance K sd^2; the best average weighs it
        by a = (1 / K) / sum (1 / K).  Blocks have independent noise, so that the variance is
        sd^2 / sum (1 / K).
        """
        sizes = [c.block.size for c in self.cells if c.sums is not None]
        law = self.noise(_weights(sizes, 1 / self.mass))
        if self.cells[0].counts is None and not self.weighted:
            return law
        sizes = [c.block.size for c in self.cells if c.counts is not None]
        return law + self.noise(_weights(sizes, self.mean / self.mass), self.sd_count)

    def noise(self, parts: Sequence[tuple[float, int]], unit: float | None = None) -> PathNoise:
        """Return the law of a sum of noise terms: (factor, how many) each."""
        sd = self.sd_sum if unit is None else unit
        kept = [(abs(factor) * sd, count) for factor, count in parts if factor]
        if self.laplace:
            return PathNoise(tuple((scale / math.sqrt(2), count) for scale, count in kept))
        return PathNoise((), sum(count * scale**2 for scale, count in kept))

    @property
    def variance(self) -> float:
        """Variance of the clipped target, from the released second moment; at least R^2 / 10^4."""
        found = self.second / self.mass - self.mean**2
        return min(max(found, self.clip**2 * 1e-4), self.clip**2)

    @property
    def largest_variance(self) -> float:
        """Variance of the clipped target with two standard deviations of its noise added."""
        noise = 2 * self.sd_sum * self.clip / self.mass
        return min(self.variance + noise, self.clip**2)

    def of_arm(self, arm: int) -> AdditiveSums:
        """Return the sums of one of two arms, with its share of the second moment of both."""
        one = replace(self, cells=tuple(cells.of_arm(arm) for cells in self.cells))
        return replace(one, second=self.second * one.mass / self.mass)

    def cells_of(self, features: tuple[int, ...]) -> Cells | None:
        """Return what was released of a block, if anything was."""
        return next((c for c in self.cells if c.block.features == features), None)

    def state(self) -> dict[str, Any]:
        """Return what was released as JSON-ready values."""
        return {
            "n": self.n,
            "clip": self.clip,
            "second": self.second,
            "sd_sum": self.sd_sum,
            "sd_count": self.sd_count,
            "laplace": self.laplace,
            "weighted": self.weighted,
            "cells": [
                {
                    "features": list(c.block.features),
                    "shape": list(c.block.shape),
                    "counts": None if c.counts is None else c.counts.tolist(),
                    "sums": None if c.sums is None else c.sums.tolist(),
                }
                for c in self.cells
            ],
        }


def layout_of(
    blocks: tuple[Block, ...], clip: float, budget: Budget, *, weighted: bool = False
) -> AdditiveLayout:
    """Return the layout of a release: under Laplace noise a count is worth less than a sum."""
    units = HALF_STEPS if budget.delta else PURE_COUNT_UNITS
    return AdditiveLayout(blocks, float(clip), weighted, units)


def mechanism_of(layout: AdditiveLayout, budget: Budget) -> AnalyticGaussian | DiscreteLaplace:
    """Return Gaussian noise from the L2 sensitivity, or Laplace noise from L1 where delta is 0."""
    if budget.delta:
        return AnalyticGaussian(budget, layout.l2_squared, layout.size)
    return DiscreteLaplace(budget.epsilon, layout.l1)


def noise_of(layout: AdditiveLayout, budget: Budget) -> tuple[float, float]:
    """Return the noise of a sum (unit of the target) and of a count: one sd each; public."""
    sd = mechanism_of(layout, budget).noise_sd
    return sd * float(layout.step), sd / layout.count_units


def released_sums(
    codes: Sequence[Codes] | EngineCodes,
    target: Numbers,
    layout: AdditiveLayout,
    budget: Budget,
    noise: NoiseSource,
    weights: Numbers | None = None,
) -> AdditiveSums:
    """Draw the release; the caller has charged ``budget``.

    Parameters
    ----------
    codes : sequence of (n,) int arrays, or EngineCodes
    target : (n,) array, or expression of the columns beside the codes
    layout : AdditiveLayout
    budget : Budget
    noise : NoiseSource
    weights : as target, optional
    """
    sealed = additive_sums(codes, target, layout, weights)
    units = mechanism_of(layout, budget).release(sealed, noise).units.astype(np.float64)
    step, cells, at = float(layout.step), [], 0
    for block in layout.blocks:
        counts = sums = None
        if block.counts:
            counts, at = units[at : at + block.size] / layout.count_units, at + block.size
        if block.sums:
            sums, at = units[at : at + block.size] * step, at + block.size
        cells.append(Cells(block, counts, sums))
    sd_sum, sd_count = noise_of(layout, budget)
    return AdditiveSums(
        tuple(cells),
        float(units[at]) * step * layout.clip,
        codes.n if isinstance(codes, EngineCodes) else len(codes[0]),
        layout.clip,
        sd_sum,
        sd_count,
        not budget.delta,
        layout.weighted,
    )


def _weights(sizes: Sequence[int], unit: float) -> list[tuple[float, int]]:
    """Return the factor of each noise term in the average of totals, and how many have it."""
    whole = sum(1 / size for size in sizes)
    return [(unit / size / whole, size) for size in sizes]


def _pooled(totals: Sequence[tuple[float, int]]) -> float:
    """Return the average of noisy totals whose variances are proportional to the numbers."""
    return float(sum(t / size for t, size in totals) / sum(1 / size for _, size in totals))
