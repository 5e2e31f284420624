"""One-way histograms of many columns, released together with public bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.aggregate import MOVED_ROWS, IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.cells import checked_radices
from dprct.privacy.histogram import weighted_indices
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.privacy.budget import Real
    from dprct.privacy.cells import IntArray
    from dprct.privacy.guarantee import Relation
    from dprct.privacy.noise import NoiseSource
    from dprct.privacy.rules import Charge


@dataclass(frozen=True, slots=True, eq=False)
class OneWayRelease:
    """Noisy counts of every level of every column.

    Parameters
    ----------
    counts : tuple of arrays of int64
        ``counts[j]`` has one entry per level of column j; noise may make it negative.
    noise_sd : float
        Standard deviation of the noise of each count; public.
    simulation : bool
        A seed was given: no guarantee.
    """

    counts: tuple[IntArray, ...]
    noise_sd: float
    simulation: bool


@dataclass(frozen=True, slots=True)
class OneWayHistograms:
    """Noise on the p one-way histograms of p columns, jointly.

    Parameters
    ----------
    epsilon : number
        Above 0; for all columns together.
    radices : sequence of int, length p
        Public number of levels of each column.
    delta : number, default 0
        0: discrete Laplace noise; above 0: Gaussian noise by the analytic calibration.
    relation : {"replace-one", "replace-one-design-public", "add-remove"}

    Notes
    -----
    Replacing one row moves one count down and one up in each of the p histograms: joint L1
    sensitivity 2p, L2 sensitivity sqrt(2p) (add-remove: p and sqrt(p)).  Noise goes on every
    level, so no threshold is needed.

    Examples
    --------
    >>> mechanism = OneWayHistograms(1, radices=[2, 5, 3])
    >>> print(mechanism.describe())
    discrete Laplace noise of scale 6 on sums of L1 sensitivity 6 (epsilon=1)
    """

    epsilon: Fraction
    radices: tuple[int, ...]
    delta: Fraction = Fraction(0)
    relation: Relation = "replace-one"
    mechanism: DiscreteLaplace | AnalyticGaussian = field(init=False, repr=False, compare=False)
    """The mechanism that draws the noise."""

    def __init__(
        self,
        epsilon: Real,
        radices: Sequence[int],
        delta: Real = 0,
        relation: Relation = "replace-one",
    ) -> None:
        budget = Budget.asked(epsilon, delta)
        if relation not in MOVED_ROWS:
            raise ParameterError(f"relation={relation!r}; allowed: {', '.join(MOVED_ROWS)}")
        object.__setattr__(self, "epsilon", budget.epsilon)
        object.__setattr__(self, "radices", checked_radices(radices))
        object.__setattr__(self, "delta", budget.delta)
        object.__setattr__(self, "relation", relation)
        object.__setattr__(self, "mechanism", self._made())

    @property
    def sensitivity(self) -> int:
        """Joint L1 sensitivity; also the square of the joint L2 sensitivity."""
        return MOVED_ROWS[self.relation] * len(self.radices)

    def _made(self) -> DiscreteLaplace | AnalyticGaussian:
        if self.delta:
            return AnalyticGaussian(self.budget, self.sensitivity, sum(self.radices))
        return DiscreteLaplace(self.epsilon, self.sensitivity)

    @property
    def budget(self) -> Budget:
        """The (epsilon, delta) of all columns together."""
        return Budget(self.epsilon, self.delta)

    def cost(self) -> Charge:
        """Return the charge of the mechanism that draws the noise."""
        return self.mechanism.cost()

    def describe(self) -> str:
        """Return the law of the noise in one sentence."""
        return self.mechanism.describe()

    def aggregate(self, counts: Sequence[IntArray]) -> IntegerVector:
        """Seal the confidential one-way counts with their joint sensitivity.

        Parameters
        ----------
        counts : sequence of arrays of int
            ``counts[j]`` has ``radices[j]`` entries.
        """
        if tuple(len(column) for column in counts) != self.radices:
            raise ParameterError("counts must have one entry per declared level of each column")
        joint = self.sensitivity
        stacked = np.concatenate([np.asarray(column) for column in counts])
        return IntegerVector(stacked, l1=joint, l2_squared=joint, l_inf=1, relation=self.relation)

    def release(self, aggregate: IntegerVector, source: NoiseSource) -> OneWayRelease:
        """Add the noise.

        Parameters
        ----------
        aggregate : IntegerVector
            From :meth:`aggregate`.
        source : NoiseSource
        """
        if aggregate.size != sum(self.radices) or aggregate.relation != self.relation:
            raise ParameterError(
                "the aggregate is not of the declared levels and relation; seal it with aggregate()"
            )
        noisy = self.mechanism.release(aggregate, source)
        ends = accumulate(self.radices, initial=0)
        columns = tuple(noisy.units[start:stop].astype(np.int64) for start, stop in pairwise(ends))
        return OneWayRelease(columns, noisy.noise_sd, noisy.simulation)


def draw_independent_rows(release: OneWayRelease, n: int, rng: np.random.Generator) -> IntArray:
    """Draw columns independently in proportion to the positive part: post-processing.

    Parameters
    ----------
    release : OneWayRelease
    n : int
        How many rows.
    rng : numpy.random.Generator

    Returns
    -------
    array of int64, shape (n, p)
        Digits; a column without a positive count is uniform over its levels.

    Examples
    --------
    >>> sure = OneWayRelease((np.array([-1, 4]), np.array([7, 0, -2])), 1.0, False)
    >>> draw_independent_rows(sure, 2, np.random.default_rng(1)).tolist()
    [[1, 0], [1, 0]]
    """
    columns = []
    for noisy in release.counts:
        positive = np.maximum(noisy, 0)
        weights = positive if positive.any() else np.ones_like(positive)
        columns.append(weighted_indices(weights, n, rng))
    return np.column_stack(columns)
