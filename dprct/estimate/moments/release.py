"""The one draw of a release of moments: whole numbers with Gaussian noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.index_models import coding_of
from dprct.estimate.moments.noisy import NoisyMoments
from dprct.estimate.moments.one_step import (
    EFFECTS,
    NO_STEPS,
    SQUARES,
    TOTALS,
    SharedAllocation,
    StepAllocation,
    declared_of,
    place_of,
)
from dprct.estimate.moments.robust_errors import SHARE, DrawnScores
from dprct.estimate.synthetic_control.allocation import ReleasePart, mechanisms_of
from dprct.model import Facts
from dprct.privacy.mechanisms import Allocation, AnalyticGaussian
from dprct.queries.group_moments import STEPS, moment_sums
from dprct.queries.scores import SCORE_SQUARED, score_sums
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import Declared, DrawnCross, DrawnStep
    from dprct.estimate.moments.groups import Group, Grouping
    from dprct.estimate.moments.index_models import Coding, DrawnIndex, IndexModel
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.one_step import Chosen, Steps
    from dprct.estimate.moments.robust_errors import Scored
    from dprct.model import BoundTable
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Budget, Relation
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.group_moments import MomentsGrid
    from dprct.queries.one_step import Vector
    from dprct.queries.scores import ScoreMap

MOMENTS = "moments"
"""The part of an allocation of :class:`dprct.PrivateMoments` that is drawn first."""

MOST_NUMBERS = 1_000_000
"""Numbers of a release; a file of more is tens of megabytes, and its noise as large."""

SCORES = "scores of regression {}"
"""The others, which are drawn after it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MomentsFacts(Facts):
    """What is public of a release of moments."""

    grouping: Grouping
    layout: Layout
    steps: Steps = NO_STEPS  # the declared regressions that one step serves
    withheld: str = ""  # why no errors are read off the moments; empty where they are
    models: tuple[IndexModel, ...] = ()  # the declared models of an index

    @property
    def codings(self) -> tuple[Coding, ...]:
        """How the regressors of these are added up."""
        inside = (*self.grouping.treatment, *self.grouping.subgroups)
        return tuple(
            coding_of(model, self.layout, self.grouping.groups, inside, self.schema)
            for model in self.models
        )

    @property
    def declared(self) -> tuple[Declared, ...]:
        """What is public of these regressions."""
        return tuple(
            declared_of(bound, place_of(self.layout, bound.step.outcome).variable.bounds)
            for bound in self.steps.bound
        )


@dataclass(frozen=True, eq=False)
class DrawnMoments:
    """What was released: twice the noisy sums of every group, and the noise of one draw."""

    # (G, d + 1, d + 1): symmetric.  Off the diagonal the sum of two draws of the same number; on it
    # twice one draw; the corner is twice h^2 times the rows, public or drawn.
    sums: NDArray[Any]
    sigma: float  # standard deviation of a draw, in steps squared
    scores: tuple[DrawnScores, ...] = ()  # of the regressions whose errors are robust
    # C times the rows of each group outside the ball, with noise; None where they were not asked
    # for.
    clipped: tuple[int, ...] | None = None
    steps: tuple[DrawnStep, ...] = ()  # of the declared regressions that one step serves
    share: str = ""  # of mu squared, as a fraction, what moments had beside these; empty without
    # Of the declared regressions with an instrument, and of those that are tested together.
    crosses: tuple[DrawnCross, ...] = ()
    models: tuple[DrawnIndex, ...] = ()  # of the declared models of an index

    def cross(self, first: int, second: int) -> DrawnCross:
        """Return what was released of two declared regressions together."""
        return next(one for one in self.crosses if (one.first, one.second) == (first, second))


NO_PARTS: Mapping[str, ReleasePart] = {}


def allocation_of(
    grid: MomentsGrid, groups: int, budget: Budget, scores: Sequence[int] = (),
    models: Mapping[str, ReleasePart] = NO_PARTS,
) -> Allocation:  # fmt: skip
    """Return the mechanisms of a release: moments, and the scores of regressions of these sizes.

    ``models`` are the parts of declared models of an index.

    All are fixed here, before the first draw: what scores are asked for depends on the released
    moments, and what a unit can move them by does not.  The squares of their mu add up.
    """
    if not budget.delta:
        raise ParameterError(
            "Gaussian noise needs delta > 0, and moments have no other; give one far below 1/n, "
            "or use ``PrivateATE``, whose effects can be released with ``delta=0``"
        )
    if not scores and not models:
        mechanism = AnalyticGaussian(budget, grid.l2_squared, grid.numbers(groups))
        return Allocation(budget=budget, parts={MOMENTS: mechanism})
    left = 1 - (SHARE if scores else 0) - sum((p.share for p in models.values()), Fraction(0))
    parts = {**_parts(grid, groups, scores, left), **models}
    try:
        drawn = mechanisms_of(budget, "gaussian", parts)
    except ParameterError:
        raise ParameterError(
            f"{budget} cannot be divided among moments and scores, whose draws would need another "
            "grid; give another epsilon or delta, or ``cov_type='nonrobust'``"
        ) from None
    shares = {name: part.share for name, part in parts.items()}
    return SharedAllocation(budget=budget, parts=drawn, composition="gdp", shares=shares)


def _parts(
    grid: MomentsGrid, groups: int, scores: Sequence[int], share: Fraction
) -> dict[str, ReleasePart]:
    """Moments with a share of mu squared, and the scores of regressions of these sizes."""
    parts = {MOMENTS: ReleasePart(share, grid.l1, grid.l2_squared, grid.numbers(groups))}
    for place, size in enumerate(scores, 1):
        parts[SCORES.format(place)] = ReleasePart(
            SHARE / len(scores), 2 * size * STEPS**2, SCORE_SQUARED, size**2
        )
    return parts


def shared_allocation(
    grid: MomentsGrid, groups: int, budget: Budget, scores: Sequence[int], share: Fraction
) -> Allocation:
    """Return the mechanisms of moments with a share of mu squared, and of scores beside it."""
    parts = _parts(grid, groups, scores, share)
    parts[EFFECTS] = ReleasePart(1 - sum((p.share for p in parts.values()), Fraction(0)), 1, 1, 1)
    return Allocation(
        budget=budget, parts=mechanisms_of(budget, "gaussian", parts), composition="gdp"
    )


def step_allocation(
    grid: MomentsGrid, groups: int, budget: Budget, scores: Sequence[int],
    vectors: Mapping[str, Vector], chosen: Chosen, models: Mapping[str, ReleasePart] = NO_PARTS,
) -> StepAllocation:  # fmt: skip
    """Return the mechanisms of a release with declared regressions, in the shares of a plan."""
    parts = _parts(grid, groups, scores, chosen.moments)
    shares = {name: part.share for name, part in parts.items()}
    shares |= {TOTALS: chosen.totals, SQUARES: chosen.squares}
    shares |= {name: part.share for name, part in models.items()}
    shares[EFFECTS] = 1 - sum(shares.values(), Fraction(0))
    for name, vector in vectors.items():
        l1, l2_squared, _ = vector.sensitivities
        parts[name] = ReleasePart(shares[name], l1, l2_squared, vector.size)
    parts |= models
    try:
        drawn = mechanisms_of(budget, "gaussian", parts)
    except ParameterError:
        raise ParameterError(
            f"{budget} cannot be divided among the parts of this release, whose draws would need "
            "another grid; give another epsilon or delta"
        ) from None
    return StepAllocation(
        budget=budget, parts=drawn, composition="gdp", shares=shares, clips=chosen.clips,
        planned=chosen.planned,
    )  # fmt: skip


def gaussian_of(allocation: Allocation, part: str = MOMENTS) -> AnalyticGaussian:
    """Return the mechanism of a part of a release."""
    mechanism = allocation[part]
    assert isinstance(mechanism, AnalyticGaussian)
    return mechanism


def asked_moments(
    table: BoundTable, layout: Layout, grouping: Grouping, relation: Relation, unit: str | None
) -> IntegerVector:
    """Return the sums of all groups, sealed: one pass."""
    return moment_sums(table.frame, layout.grid, grouping.cells, relation, unit, table.counted)


def drawn_moments(
    table: BoundTable,
    layout: Layout,
    grouping: Grouping,
    relation: Relation,
    allocation: Allocation,
    noise: NoiseSource,
    unit: str | None = None,
    sums: IntegerVector | None = None,
) -> DrawnMoments:
    """Add up the rows and draw the release; the caller has charged the allocation.

    ``sums`` are those of :func:`asked_moments`, where they were asked for before.
    """
    mechanism = gaussian_of(allocation)
    if sums is None:
        sums = asked_moments(table, layout, grouping, relation, unit)
    released = mechanism.release(sums, noise).units
    numbers = layout.grid.size * len(grouping.groups)
    outside = tuple(map(int, released[numbers:])) if layout.grid.clipped else None
    return DrawnMoments(matrices(layout, grouping, released), mechanism.noise_sd, clipped=outside)


def drawn_scores(
    table: BoundTable,
    layout: Layout,
    grouping: Grouping,
    relation: Relation,
    mechanism: AnalyticGaussian,
    noise: NoiseSource,
    of: Scored,
    asked: ScoreMap,
    unit: str | None = None,
) -> DrawnScores:
    """Add up the scores of one regression and draw them."""
    sums = score_sums(table.rows(), layout.grid, grouping.cells, asked, relation, unit)
    k = len(of.regressors)
    cells = [int(number) for number in mechanism.release(sums, noise).units]
    found = np.array(cells, dtype=object).reshape(k, k)
    return DrawnScores(of.outcome, of.regressors, found + found.T, mechanism.noise_sd)


def matrices(layout: Layout, grouping: Grouping, numbers: Any) -> NDArray[Any]:
    """Return released numbers as one symmetric matrix of whole numbers for each group."""
    grid, size = layout.grid, layout.grid.size
    found = np.empty((len(grouping.groups), grid.width + 1, grid.width + 1), dtype=object)
    for g, group in enumerate(grouping.groups):
        found[g] = grid.matrix(numbers[g * size : (g + 1) * size], group.rows or 0)
    return found


def moments_of(layout: Layout, sums: Any, sigma: float, rows: int | None) -> NoisyMoments:
    """Return the released numbers of one group in units of z; ``rows`` where it is public."""
    grid, step = layout.grid, layout.step
    doubled = np.array([[float(cell) for cell in row] for row in sums])
    s1, s2 = layout.noise(sigma)
    count = float(rows) if rows is not None else doubled[0, 0] / (2 * grid.constant**2)
    places = layout.places
    return NoisyMoments(
        names=layout.names,
        n=count,
        n_is_public=rows is not None,
        totals=doubled[0, 1:] / (2 * grid.constant) * step,
        cross=doubled[1:, 1:] / 2 * step**2,
        s1=s1,
        s2=s2,
        centre=np.array([place.centre for place in places]),
        scale=np.array([place.scale for place in places]),
        weight=np.array([place.weight for place in places]),
    )


def count_noise(layout: Layout, sigma: float) -> float:
    """Return the standard deviation of the number of rows of a private cell."""
    s2 = layout.noise(sigma)[1]
    return s2 / layout.h**2 if math.isfinite(layout.h) else math.inf


@dataclass(frozen=True)
class Clipped:
    """The released shares of rows that were outside the ball of covariates, by arm.

    Notes
    -----
    There is no sampling error: the share is that of the rows of this table.
    """

    # shares, bse: without bias, so that a share may be below 0 where hardly any row was outside;
    # and the standard deviation of its noise.  One entry, ``"all"``, without arms.
    shares: Mapping[str, float]
    bse: Mapping[str, float]

    def __str__(self) -> str:
        return ", ".join(
            f"{arm} {share:.4f} (noise sd {self.bse[arm]:.4f})"
            for arm, share in self.shares.items()
        )


def clipped_of(
    layout: Layout, drawn: DrawnMoments, groups: Sequence[Group], rows: Sequence[float]
) -> Clipped:
    """Return the shares; ``rows`` are those of each group, public or released.

    Where no row can be outside the shares are 0, and nothing was released for them.
    """
    total, outside, draws = dict[str, float](), dict[str, float](), dict[str, int]()
    numbers = drawn.clipped or [0] * len(groups)
    for group, number, n in zip(groups, numbers, rows, strict=True):
        arm = group.arm or "all"
        total[arm] = total.get(arm, 0.0) + n
        outside[arm] = outside.get(arm, 0.0) + number
        draws[arm] = draws.get(arm, 0) + 1
    by = {arm: max(n, 1.0) * max(layout.grid.clipped, 1) for arm, n in total.items()}
    noise = 0.0 if drawn.clipped is None else drawn.sigma
    return Clipped(
        {arm: number / by[arm] for arm, number in outside.items()},
        {arm: noise * math.sqrt(draws[arm]) / by[arm] for arm in outside},
    )
