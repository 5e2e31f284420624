"""What additive models release: mechanisms, guarantee, the noise to expect, and the draw."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dprct.arguments import given
from dprct.defaults import PURE_COUNT_UNITS
from dprct.errors import ParameterError
from dprct.estimate.noise_law import PathNoise
from dprct.privacy.budget import Guarantee
from dprct.privacy.mechanisms import Allocation, AnalyticGaussian, DiscreteLaplace
from dprct.queries.additive import HALF_STEPS, AdditiveLayout, EngineCodes, additive_sums
from dprct.records import dataclass
from dprct.results.plan import PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.additive.terms import Terms
    from dprct.model import Facts
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.additive import Block, Codes
    from dprct.queries.sums import Numbers
    from dprct.queries.treatment_moments import TreatmentMoments

    Array = NDArray[np.float64]

Mechanism = AnalyticGaussian | DiscreteLaplace

_POOR = 0.25
"""Noise of a level, as a share of the clip, above which a plan warns."""


@dataclass(frozen=True, kw_only=True)
class AdditiveAllocation(Allocation):
    """One joint mechanism for each disjoint part of the rows."""

    parts: Mapping[str, Mechanism]
    # What each mechanism adds noise to; the last part has the function that is asked for.
    layouts: Mapping[str, AdditiveLayout | TreatmentMoments]

    def __getitem__(self, name: str) -> Mechanism:
        return self.parts[name]

    @property
    def last(self) -> tuple[AdditiveLayout, Mechanism]:
        """Layout and mechanism of the part with the function that is asked for."""
        name, layout = list(self.layouts.items())[-1]
        assert isinstance(layout, AdditiveLayout)
        return layout, self.parts[name]


def allocation_of(
    layouts: Mapping[str, AdditiveLayout | TreatmentMoments], budget: Budget
) -> AdditiveAllocation:
    """Return the mechanisms of releases from disjoint parts of the rows, each at ``budget``.

    Notes
    -----
    Parts are a random partition of fixed sizes that does not depend on any value, so that replacing
    one row changes one part (of rows that come in any order, as proved in
    :func:`dprct.estimate.cate.release.partition`).  Releases of other parts are then the same, or
    functions of what that part released: the privacy of the whole is that of the worst part, in any
    measure (of the trade-off curves, the smallest).  All parts have the same mu, which depends on
    the budget alone.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", for trade-off curves.
    """
    return AdditiveAllocation(
        budget=budget,
        parts={name: mechanism_of(layout, budget) for name, layout in layouts.items()},
        disjoint=tuple((name,) for name in layouts),
        layouts=layouts,
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """What was released of one block."""

    block: Block
    counts: Array | None  # (K,): noisy numbers (or total weights) of records
    sums: Array | None  # (K,): noisy sums of the clipped target

    def of_arm(self, arm: int) -> Cells:
        """Return the cells of one arm, of a block whose first feature is the arm."""
        block = replace(self.block, features=self.block.features[1:], shape=self.block.shape[1:])
        counts, sums = (
            None if x is None else x.reshape(2, -1)[arm] for x in (self.counts, self.sums)
        )
        return Cells(block, counts, sums)


@dataclass(frozen=True, eq=False)
class AdditiveSums:
    """Noisy counts and sums of an additive model, and the law of their noise; all releasable."""

    cells: tuple[Cells, ...]  # the first is everybody
    second: float  # noisy sum of the squared clipped target
    n: int  # records; public
    clip: float
    # sd_sum, sd_count: noise of a sum (in the unit of the target) and of a count, one standard
    # deviation; public.
    sd_sum: float
    sd_count: float
    laplace: bool  # the noise is Laplace; otherwise Gaussian
    weighted: bool = False  # counts are total weights

    @property
    def mass(self) -> float:
        """Number of records, or their total weight: of several noisy ones, the best average."""
        if self.cells[0].counts is None and not self.weighted:
            return float(self.n)
        totals = [(float(c.counts.sum()), c.block.size) for c in self.cells if c.counts is not None]
        return max(_pooled(totals), 1.0)

    @property
    def mean(self) -> float:
        """Mean of the clipped target: the average of the means of all blocks."""
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
        """Released cells of a block, if there are any."""
        return next((c for c in self.cells if c.block.features == features), None)


def layout_of(
    blocks: tuple[Block, ...], clip: float, budget: Budget, *, weighted: bool = False
) -> AdditiveLayout:
    """Return the layout of a release: under Laplace noise a count is worth less than a sum."""
    units = HALF_STEPS if budget.delta else PURE_COUNT_UNITS
    return AdditiveLayout(blocks, float(clip), weighted, units)


def mechanism_of(layout: AdditiveLayout | TreatmentMoments, budget: Budget) -> Mechanism:
    """Return Gaussian noise from the L2 sensitivity, or Laplace noise from L1 where delta is 0."""
    if budget.delta:
        return AnalyticGaussian(budget, layout.l2_squared, layout.size)
    return DiscreteLaplace(budget.epsilon, layout.l1)


def noise_of(layout: AdditiveLayout, mechanism: Mechanism) -> tuple[float, float]:
    """Return the noise of a sum (unit of the target) and of a count: one sd each; public."""
    sd = mechanism.noise_sd
    return sd * float(layout.step), sd / layout.count_units


def released_sums(
    codes: Sequence[Codes] | EngineCodes,
    target: Numbers,
    layout: AdditiveLayout,
    mechanism: Mechanism,
    noise: NoiseSource,
    weights: Numbers | None = None,
) -> AdditiveSums:
    """Draw the release; the caller has charged the mechanism."""
    return asked_sums(codes, target, layout, mechanism, weights)(noise)


def asked_sums(
    codes: Sequence[Codes] | EngineCodes,
    target: Numbers,
    layout: AdditiveLayout,
    mechanism: Mechanism,
    weights: Numbers | None = None,
) -> Callable[[NoiseSource], AdditiveSums]:
    """Ask for the sums, and return the draw of their release; sums stay sealed until it."""
    sealed = additive_sums(codes, target, layout, weights)
    n = codes.n if isinstance(codes, EngineCodes) else len(codes[0])
    return lambda noise: _drawn(sealed, n, layout, mechanism, noise)


def _drawn(
    sealed: IntegerVector, n: int, layout: AdditiveLayout, mechanism: Mechanism, noise: NoiseSource
) -> AdditiveSums:
    units = mechanism.release(sealed, noise).units.astype(np.float64)
    step, cells, at = float(layout.step), [], 0
    for block in layout.blocks:
        counts = sums = None
        if block.counts:
            counts, at = units[at : at + block.size] / layout.count_units, at + block.size
        if block.sums:
            sums, at = units[at : at + block.size] * step, at + block.size
        cells.append(Cells(block, counts, sums))
    sd_sum, sd_count = noise_of(layout, mechanism)
    return AdditiveSums(
        tuple(cells),
        float(units[at]) * step * layout.clip,
        n,
        layout.clip,
        sd_sum,
        sd_count,
        isinstance(mechanism, DiscreteLaplace),
        layout.weighted,
    )


def check_neighbors(neighbors: object) -> None:
    """Refuse a neighbouring relation that additive models are not offered under."""
    if not isinstance(neighbors, str) or neighbors != "replace-one":
        raise ParameterError(
            f"``neighbors={given(neighbors)}``; allowed: 'replace-one' (the whole row is private)"
        )


def guarantee_of(
    allocation: AdditiveAllocation,
    facts: Facts,
    terms: Terms,
    outcome: str,
    more: Sequence[str] = (),
) -> Guarantee:
    """Guarantee of a fit, and the public facts that it rests on."""
    unit, budget = facts.schema.unit, allocation.budget
    public = (
        f"the number of rows, n = {facts.n}",
        unit.said,
        f"the declared bounds and levels of {', '.join(terms.names)}",
        f"the declared bounds of {outcome}",
        f"the clip R = {allocation.last[0].clip:g}",
        *more,
    )
    mus = [m.noise.mu for m in allocation.parts.values() if isinstance(m, AnalyticGaussian)]
    return Guarantee(
        "gdp" if mus else "pure",
        "replace-one",
        budget,
        unit=unit.name,
        public_facts=public,
        not_covered=("participation of anybody",),
        parameter=max(mus) if mus else None,
    )


def planned_noise(terms: Terms, allocation: AdditiveAllocation, n: int) -> Iterator[PlannedNumber]:
    """Terms and noise as a plan has them, in the unit of the target; n rows in the last part."""
    layout, mechanism = allocation.last
    sd_sum, sd_count = noise_of(layout, mechanism)
    bins = max(terms.encodings[j].size for j in range(terms.features))
    law = "Laplace" if isinstance(mechanism, DiscreteLaplace) else "Gaussian"
    yield from notes(_terms_said(terms))
    clip = "R, beyond which the target is clipped; noise is proportional to it"
    yield PlannedNumber("clip", layout.clip, why=clip)
    yield PlannedNumber("released", layout.size, "numbers", f"jointly, with {law} noise")
    yield from notes({"noise": mechanism.describe()})
    level = f"sd where it has 1 in {bins} of {n:,} rows, before smoothing"
    yield PlannedNumber("noise of a level", sd_sum * bins / n, why=level)
    yield PlannedNumber("noise of a level", sd_count, "rows", "sd of its count")


def average_noise(allocation: AdditiveAllocation, n: int) -> float:
    """Noise, one sd, of the average of everybody, which every block of sums tells again."""
    layout, mechanism = allocation.last
    sd_sum, _ = noise_of(layout, mechanism)
    return sd_sum / math.sqrt(sum(1 / b.size for b in layout.blocks if b.sums)) / n


def noise_warnings(terms: Terms, allocation: AdditiveAllocation, n: int) -> tuple[str, ...]:
    """Warnings of what is likely to disappoint."""
    layout, mechanism = allocation.last
    sd_sum, _ = noise_of(layout, mechanism)
    bins = max(terms.encodings[j].size for j in range(terms.features))
    if sd_sum * bins / n <= _POOR * layout.clip:
        return ()
    return (
        "the noise of a level is above a quarter of the clip: shapes will be shrunk to the "
        "average; use fewer features, fewer bins, a smaller public clip, or a larger epsilon",
    )


def _terms_said(terms: Terms) -> dict[str, str]:
    """Return features, subgroups, pairs and joint counts in words."""
    own, others = terms.encodings[: terms.features], terms.encodings[terms.features :]
    lines = {
        "features": "; ".join(encoding.describe() for encoding in own),
        "subgroups": "; ".join(encoding.describe() for encoding in others),
        "pairs": ", ".join(terms.named(pair) for pair in terms.pairs),
        "joint counts": ", ".join(terms.named(pair) for pair in terms.crossed),
    }
    return {name: said for name, said in lines.items() if said}


def _weights(sizes: Sequence[int], unit: float) -> list[tuple[float, int]]:
    """Return the factor of each noise term in the average of totals, and how many have it."""
    whole = sum(1 / size for size in sizes)
    return [(unit / size / whole, size) for size in sizes]


def _pooled(totals: Sequence[tuple[float, int]]) -> float:
    """Return the average of noisy totals whose variances are proportional to the numbers."""
    return float(sum(t / size for t, size in totals) / sum(1 / size for _, size in totals))
