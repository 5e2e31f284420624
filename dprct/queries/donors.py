"""Donors of a synthetic control: their ridge weights, and weighted sums of their series.

One record is one donor: its whole series, and its predictors.  Both are clipped to public bounds
and put on a grid symmetric about zero, so that every number is an integer and sums of products are
exact.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dprct.errors import ParameterError
from dprct.lazy import linalg
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.privacy.ridge_sensitivity import ridge_l1, ridge_l2, solver_error, target_l2
from dprct.queries.sums import GRID
from dprct.records import dataclass
from dprct.schema.columns import check_own, extent_of
from dprct.schema.facts import EXTREMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]
    Steps = NDArray[np.int64]

UNIT = GRID // 2
"""Grid steps from 0 to the bound B: a number x is k = round(x / B * UNIT)."""

WEIGHT_UNIT = 1 << 40
"""Weights are multiples of its inverse in an exact weighted sum."""

LARGEST = 1 << 15
"""Donors, and pre-periods, are fewer: the entries of X X' then are integers below 2^53.  With
predictors, so are donors times the largest of their weights, and pre-periods plus all of these."""

SOLVER_SHARE = 1e-3
"""Share of the sensitivity that the solver's error may reach before a penalty is refused."""

_FEWEST_STEPS = 1 << 12
"""Steps between the bounds; with fewer the grid would show in the path."""

_ROUNDING = 1 + 1e-12
"""Covers the rounding of the closed forms of sensitivities, which are a few operations long."""


@dataclass(frozen=True)
class Scale:
    """Public bounds of every number of a panel, and the grid within them."""

    option: ClassVar[str] = "bound"

    # low, high: smallest and largest admissible number.
    low: float
    high: float

    def __post_init__(self) -> None:
        finite = math.isfinite(self.low) and math.isfinite(self.high)
        given = f"``{self.option}=({self.low:g}, {self.high:g})``"
        if not (finite and self.low < self.high and EXTREMES[0] <= self.bound <= EXTREMES[1]):
            raise ParameterError(
                f"{given}; give a positive number B of at most {EXTREMES[1]:g}, or the smallest "
                "and the largest number that are possible, from public knowledge"
            )
        if self.width < _FEWEST_STEPS:
            raise ParameterError(
                f"{given} is narrow for numbers of that size; subtract a public constant from the "
                "outcome"
            )

    @property
    def bound(self) -> float:
        """B, the largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def width(self) -> int:
        """Grid steps between the bounds: by how much one number can change."""
        return self.steps_at(self.high) - self.steps_at(self.low)

    @property
    def step(self) -> Fraction:
        """What one grid step is worth."""
        return Fraction(self.bound) / UNIT

    def steps_at(self, value: float) -> int:
        """Step k of one public number."""
        return math.floor(value / self.bound * UNIT + 0.5)

    def steps(self, values: Array) -> Steps:
        """Steps k of many numbers, which are clipped; NaN counts as the lower bound."""
        return np.asarray(np.floor(self.clipped(values) / self.bound * UNIT + 0.5), np.int64)

    def clipped(self, values: Array) -> Array:
        """Return numbers clipped to the bounds; NaN becomes the lower bound."""
        return np.asarray(np.where(np.isnan(values), self.low, values).clip(self.low, self.high))

    def public(self, series: Array) -> Array:
        """A public series as it is shown."""
        return series

    @property
    def levels_said(self) -> tuple[str, ...]:
        """Bounds that numbers have before they become what these bounds are of."""
        return ()


@dataclass(frozen=True)
class ChangeScale(Scale):
    """Bounds of a unit's numbers less its own mean before treatment, and the grid within them.

    Notes
    -----
    A unit's numbers k_t on the grid of its levels become (T0 k_t - sum of k_s, s < T0) / T0 steps,
    clipped to the bounds of changes and rounded to their grid: whole numbers up to one division,
    and a function of this unit's own numbers.  Replacing a donor replaces its row by another within
    the bounds of changes, so that every sensitivity is that of :class:`Scale` with these.
    """

    option: ClassVar[str] = "changes"

    levels: Scale  # bounds of the numbers themselves
    T0: int  # periods before treatment

    def steps(self, values: Array) -> Steps:
        """Steps of the changes of many units (..., T), whose first T0 periods have a mean of 0."""
        return Scale.steps(self, self._changes(self.levels.steps(values)))

    @property
    def levels_said(self) -> tuple[str, ...]:
        """Bounds of the numbers of which changes are made."""
        return (f"the bounds {self.levels.low:g} to {self.levels.high:g} of these numbers",)

    def public(self, series: Array) -> Array:
        """Changes of a public series, unclipped."""
        return np.asarray(series - series[: self.T0].mean())

    def _changes(self, k: Steps) -> Array:
        before = k[..., : self.T0].sum(axis=-1, keepdims=True)
        return np.asarray((self.T0 * k - before) * (float(self.levels.step) / self.T0))


@dataclass(frozen=True)
class Predictor:
    """A covariate of units that ridge weights match, next to the outcome before treatment.

    Notes
    -----
    Of each unit, the mean of the clipped numbers that are not missing, or the middle of the bounds
    where all are missing, becomes u in [-1, 1], 0 at the middle.  Its coordinate is sqrt(weight) u
    on the grid, at most :attr:`reach` steps from 0: a function of that unit's rows alone.
    """

    column: Column  # of numbers, with bounds
    periods: tuple[int, ...]  # over which it is averaged: places in the order of time
    weight: float  # how much it counts: 1 is as much as one period of the outcome

    def __post_init__(self) -> None:
        check_own(self.column)

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds: those of the schema, or the extremes of its levels."""
        found = extent_of(self.column)
        assert found is not None
        return found

    @property
    def reach(self) -> int:
        """Grid steps from 0 to the largest coordinate; public."""
        return math.floor(math.sqrt(self.weight) * UNIT + 0.5)

    def steps(self, frame: Frame, rows: Places) -> Steps:
        """The coordinate of some units (n,), whose cells ``rows`` has in the order of time."""
        low, high = self.bounds
        numbers = np.asarray(frame[self.column.name].cast(nw.Float64).to_numpy(), np.float64)
        cells = numbers[rows[:, list(self.periods)]]
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        apart = np.where(np.isnan(cells), 0.0, cells.clip(low, high) - middle) / half
        held = np.maximum(np.sum(~np.isnan(cells), axis=1), 1)
        u = (apart.sum(axis=1) / held).clip(-1, 1)
        steps = np.asarray(np.floor(u * math.sqrt(self.weight) * UNIT + 0.5), np.int64)
        return steps.clip(-self.reach, self.reach)


@dataclass(frozen=True, eq=False, repr=False)
class Donors:
    """Series and predictors on the grid; confidential, except for the shape."""

    steps: Steps  # (n, T)
    scale: Scale
    T0: int  # pre-periods, the first columns
    extra: Steps | None = None  # (n, P): coordinates of predictors

    @property
    def n(self) -> int:
        """Number of donors; public."""
        return int(self.steps.shape[0])

    @property
    def matched(self) -> Steps:
        """What ridge weights match (n, T0 + P): the pre-periods, then the predictors."""
        before = self.steps[:, : self.T0]
        return before if self.extra is None else np.hstack([before, self.extra])

    @classmethod
    def of(
        cls,
        frame: Frame,
        column: Column,
        rows: Places,
        scale: Scale,
        T0: int,
        predictors: Sequence[Predictor] = (),
    ) -> Donors:
        """Read the donors' series from a column: clipped and on the grid, whatever it holds.

        ``rows``, (n, T), is where each donor's cells are.
        """
        extra = predictor_steps(frame, predictors, rows) if predictors else None
        return cls(series_steps(frame, column, rows, scale), scale, T0, extra)

    def without(self, j: int) -> tuple[Donors, Steps]:
        """Return the other donors, and the series of donor j."""
        extra = None if self.extra is None else np.delete(self.extra, j, axis=0)
        return Donors(np.delete(self.steps, j, axis=0), self.scale, self.T0, extra), self.steps[j]


def series_steps(frame: Frame, column: Column, rows: Places, scale: Scale) -> Steps:
    """Return the cells of a column in these rows on the grid; confidential."""
    check_own(column)
    values = frame[column.name].cast(nw.Float64).to_numpy()
    return scale.steps(np.asarray(values, np.float64)[rows])


def predictor_steps(frame: Frame, predictors: Sequence[Predictor], rows: Places) -> Steps:
    """Return the coordinates (n, P) of units whose cells are in these rows; confidential."""
    return np.column_stack([one.steps(frame, rows) for one in predictors])


@dataclass(frozen=True)
class RidgeGrid:
    """Sensitivities of rounded ridge weights, in grid steps; public.

    Notes
    -----
    Relation: replace-one on donors, or on donors and the treated unit.  The exact weights move by
    D (:mod:`dprct.privacy.ridge_sensitivity`); the computed ones by two solver errors more, and
    rounding to the grid adds at most one step per coordinate: n in L1, sqrt(n) in L2.

    A predictor is one more coordinate of each row, in [-r, r] for its public r.  The proof needs of
    a row nothing but its squared norm, at most S^2, which is T0 without predictors and
    ``T0 + sum(r^2)`` with them: that number stands in the place of T0 (docs/methods.md, section 6).
    """

    # n, T0: donors and pre-periods.
    n: int
    T0: int
    lam: float  # the penalty, for data divided by the bound
    # Norm of what the weights match of the treated unit (its pre-period over the bound, and its
    # predictors), where it is public; None where the treated unit is protected too.
    y_norm: float | None
    # Of the predictors, in grid steps: the largest absolute value of each coordinate.
    reaches: tuple[int, ...]
    # What one step is worth, a power of two at most 1 / (2^20 n) of the L2 sensitivity.
    grid: Fraction
    # l1, l2: sensitivities in steps.
    l1: int
    l2: int

    def __init__(
        self, n: int, T0: int, lam: float, y_norm: float | None, reaches: tuple[int, ...] = ()
    ) -> None:
        square = squared_reach(T0, reaches)
        largest = max((squared_reach(0, (one,)) for one in reaches), default=0.0)
        if max(n, n * largest, square) >= LARGEST:
            raise _too_many(n, T0, reaches)
        norm = math.sqrt(square) if y_norm is None else y_norm
        exact_l1, exact_l2 = ridge_l1(norm, n, square, lam), ridge_l2(norm, square, lam)
        if y_norm is None:
            target = target_l2(n, square, lam)
            exact_l1, exact_l2 = max(exact_l1, math.sqrt(n) * target), max(exact_l2, target)
        error = solver_error(norm, n, square, lam, T0 + len(reaches))
        if error > SOLVER_SHARE * exact_l2:
            raise ParameterError(
                f"``lam={lam:g}`` is too small for {n:,} donors and {T0:,} pre-periods: the linear "
                "system could be ill-conditioned; give a larger one, such as 20 * T0"
            )
        # a treated unit of zeros has weights of zero, and any grid will do
        grid = math.ldexp(1.0, math.floor(math.log2(exact_l2 / (GRID * n)))) if exact_l2 else 1.0
        values = (n, T0, lam, y_norm, reaches, Fraction(grid))
        names = ("n", "T0", "lam", "y_norm", "reaches", "grid")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)
        l1 = (exact_l1 * _ROUNDING + 2 * math.sqrt(n) * error) / grid + n
        l2 = (exact_l2 * _ROUNDING + 2 * error) / grid + math.sqrt(n)
        object.__setattr__(self, "l1", math.ceil(l1))
        object.__setattr__(self, "l2", min(math.ceil(l2), math.ceil(l1)))


def squared_reach(T0: int, reaches: Sequence[int]) -> float:
    """Return the largest squared norm of what the weights match of one unit, without rounding.

    Examples
    --------
    >>> squared_reach(10, (UNIT, UNIT // 2))
    11.25
    """
    return T0 + sum(reach**2 for reach in reaches) / UNIT**2


def _too_many(n: int, T0: int, reaches: Sequence[int]) -> ParameterError:
    if reaches and max(n, T0) < LARGEST:
        return ParameterError(
            f"the weights of predictors are too large for {n:,} donors and {T0:,} pre-periods; the "
            "donors times the largest weight, and the pre-periods plus all weights, must stay "
            f"below {LARGEST:,}: give smaller ones"
        )
    return ParameterError(
        f"there are {n:,} donors and {T0:,} pre-periods, and ridge weights need fewer than "
        f"{LARGEST:,} of each; use ``donor_weights='uniform'``"
    )


def ridge_weights(donors: Donors, target: Steps, grid: RidgeGrid) -> IntegerVector:
    """Solve ``(Xpre Xpre' + lam/2 I) f = Xpre y_pre`` and round f to its grid.

    Xpre has the pre-periods of the donors and then their predictors, if there are any.

    The target is the treated unit's pre-period on the same grid, and its predictors.  The grid is
    for these n, T0, lam and predictors; where ``y_norm`` is given it is at least that of the
    target.

    Notes
    -----
    Of X X' and X' X the smaller one is factored; its entries, and those of X y, are integers below
    2^53, so that their floating-point sums are exact whatever the order.  The penalty bounds the
    condition number for all data, hence the factorisation never fails.
    """
    X, y = donors.matched.astype(np.float64), target.astype(np.float64)
    n, coordinates = X.shape
    wide = n > coordinates
    gram = X.T @ X if wide else X @ X.T
    gram.flat[:: len(gram) + 1] += grid.lam / 2 * float(UNIT) ** 2
    solution = linalg.cho_solve(linalg.cho_factor(gram, lower=True), y if wide else X @ y)
    weights = X @ solution if wide else solution
    steps = np.floor(weights / float(grid.grid) + 0.5)
    return IntegerVector(
        np.array([int(step) for step in steps], dtype=object),
        l1=grid.l1,
        l2_squared=grid.l2**2,
        l_inf=grid.l2,
        relation="replace-one",
        grid=grid.grid,
    )


def weight_steps(weights: Array) -> list[int]:
    """Return public weights as whole multiples of ``1 / WEIGHT_UNIT``.

    Examples
    --------
    >>> weight_steps(np.array([0.25, 0.75])) == [2**38, 3 * 2**38]
    True
    """
    return [math.floor(float(w) * WEIGHT_UNIT + 0.5) for w in weights]


def weighted_series(
    donors: Donors, weights: Array, periods: slice, target: Steps | None = None
) -> IntegerVector:
    """Sum the donors' series with public weights, rounded to a 2^20th of what one donor can move.

    Weights are public or released, not negative, of sum (about) 1.  Where the treated unit is
    protected, its series is the target, whose values in these K periods follow.

    Notes
    -----
    Relation: replace-one.  A donor moves the first K coordinates only and the treated unit the
    other K only, so that both together have the sensitivity of one.  The sum is an exact integer S
    of which one donor moves ``max(w) * width`` at most; ``floor(S 2^20 / that + 1/2)`` is monotone
    and commutes with adding integers, so that numbers 2^20 apart stay so.
    """
    sums, reach = _weighted_sums(donors, weights, periods)
    values = [_rounded(total, reach) for total in sums]
    if target is not None:
        values += [_rounded(int(k), donors.scale.width) for k in target[periods]]
    return _sealed(values, len(sums))


def weighted_mean(
    donors: Donors, weights: Array, periods: slice, target: Steps | None = None
) -> IntegerVector:
    """Average the donors' weighted series over periods: one number, priced as one.

    Notes
    -----
    Relation: replace-one.  The sum over K periods is an exact integer, of which one donor moves
    ``K max(w) width`` at most (it moves each period by ``max(w) width``), and the treated unit
    ``K width``; dividing by that and rounding, halves upwards, is monotone and commutes with adding
    integers, so that sums that far apart stay 2^20 apart.
    """
    sums, reach = _weighted_sums(donors, weights, periods)
    K = len(sums)
    values = [_rounded(sum(sums), K * reach)]
    if target is not None:
        values.append(_rounded(sum(map(int, target[periods])), K * donors.scale.width))
    return _sealed(values, 1)


def _weighted_sums(donors: Donors, weights: Array, periods: slice) -> tuple[list[int], int]:
    """Return exact weighted sums by period, and by how much one donor can move each."""
    whole = weight_steps(weights)
    chosen = donors.steps[:, periods]
    sums = (np.array(whole, np.int64)[:, None] * chosen).sum(axis=0, dtype=np.int64)
    return [int(total) for total in sums], max(whole) * donors.scale.width


def _sealed(values: list[int], moved: int) -> IntegerVector:
    """Seal values of which one record moves ``moved``, by at most 2^20 each."""
    return IntegerVector(
        np.array(values, dtype=object),
        l1=GRID * moved,
        l2_squared=GRID**2 * moved,
        l_inf=GRID,
        relation="replace-one",
    )


def series_units(scale: Scale, weights: Array) -> tuple[Fraction, Fraction]:
    """Size of one unit of :func:`weighted_series`: of the sum, and of the target."""
    largest = Fraction(max(weight_steps(weights)), WEIGHT_UNIT)
    each = scale.width * scale.step / GRID
    return largest * each, each


def _rounded(value: int, reach: int) -> int:
    """Return ``value / reach`` in 2^20ths, halves upwards."""
    return (2 * value * GRID + reach) // (2 * reach)


def squared_norm(steps: Any) -> int:
    """Return the exact squared norm of a public series on the grid."""
    return sum(int(k) ** 2 for k in steps)
