"""Where a release of moments puts its noise: centres, scales, weights and the ball; public."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.moments.system import GATE
from dprct.lazy import special
from dprct.privacy.composition import gdp_mu
from dprct.queries.group_moments import STEPS, MomentsGrid, Scaled
from dprct.records import dataclass
from dprct.schema.facts import EXTREMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.variables import Variable
    from dprct.privacy.budget import Budget
    from dprct.queries.group_moments import Part

RADII = (1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Radii of the ball of covariates, in typical rows of them, that a plan chooses among; the last is
the box of their bounds, which projects no row."""

DEFAULT_SCALE = 4.0
"""Of a column without a declared standard deviation the scale is its range over this."""

VIF = 1.2
"""Variance inflation that a plan takes covariates to have."""

GUESS = 0.3
"""Public guess of a regression's R squared, in standardised columns: it sets the weight of its
outcome, and plans use it."""

LEAST_RADIUS = 1e-3
"""Smallest radius that may be asked for, in standard deviations."""

_MOST_STEPS = 1e200
"""Steps of a unit, or of a range, beyond which doubles are near their end."""

NOTHING = Fraction(0)

Use = Literal["effects", "mixed", "regressions"]
CONSTANTS: dict[Use, float] = {"effects": 1.0, "mixed": 0.5, "regressions": math.sqrt(0.1)}
"""h over R.  At 1 sums have their least noise, and second moments cost nothing; at 1/2 both have
1.25 of their least; at the last the second moments nearly have their least."""


@dataclass(frozen=True)
class Place:
    """A column of a release in units of its noise: ``z = weight (x - centre) / scale``."""

    variable: Variable
    centre: float
    scale: float
    weight: float = 1.0
    # Clipped at its bounds alone, never projected: an outcome, or a column of two values.
    exempt: bool = False
    # Whether the scale is a declared standard deviation, not a quarter of the range.
    declared: bool = False

    @property
    def reach(self) -> float:
        """The largest size of z within the bounds."""
        low, high = self.variable.bounds
        if self.variable.within is not None:  # root mean square in a unit
            return self.weight * (high - low) / 2 / self.scale
        return self.weight * max(high - self.centre, self.centre - low) / self.scale

    @property
    def name(self) -> str:
        """Of the column."""
        return self.variable.name


@dataclass(frozen=True)
class Layout:
    """Columns in units of their noise, and the ball that every row is in."""

    places: tuple[Place, ...]
    radius: float  # R, in units of z, exempt columns included
    shrunk_radius: float  # R_s, of the columns that are not exempt
    grid: MomentsGrid

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(place.variable.name for place in self.places)

    @property
    def step(self) -> float:
        """What one step of the grid is, in units of z."""
        return self.radius / STEPS

    @property
    def h(self) -> float:
        """The constant, in units of z."""
        return self.grid.constant * self.step

    def noise(self, sigma: float) -> tuple[float, float]:
        """Return s1 and s2, in units of z, for noise of ``sigma`` on whole numbers.

        An entry off the diagonal is the mean of two draws, so that its noise is s2 / sqrt 2; the
        first row is h times the sums.
        """
        s2 = sigma * self.step**2
        return s2 / (math.sqrt(2) * self.h), s2


def scales_of(variables: Sequence[Variable]) -> tuple[dict[str, float], dict[str, float]]:
    """Scales and centres by column; those of deviations from means by the variable's name."""
    columns = {part.column.name: part.column for one in variables for part in one.parts}
    sd = {name: column.sd for name, column in columns.items() if column.sd is not None}
    for one in variables:
        if one.within is not None and len(one.parts) == 1 and one.parts[0].level is None:
            own = one.parts[0].column.sd_within
            sd |= {} if own is None else {one.name: own}
    centre = {name: column.centre for name, column in columns.items() if column.centre is not None}
    return sd, centre


def places_of(
    variables: Sequence[Variable], sd: Mapping[str, float], centre: Mapping[str, float]
) -> tuple[Place, ...]:
    """Return each variable with its centre and scale; the weights are 1.

    A product has the centre and the standard deviation of a product of independent normal columns.
    """
    return tuple(
        _place(variable, sd, centre)
        if variable.within is None
        else _place_within(variable, sd, centre)
        for variable in variables
    )


def _place_within(
    variable: Variable, sd: Mapping[str, float], centre: Mapping[str, float]
) -> Place:
    """Return the place of deviations from means of units: about 0.

    Their scale is that of the column as it is, which is at least as large, unless ``sd`` has one
    of their own; an indicator's is at most 1/2.
    """
    plain = _place(replace(variable, within=None), sd, centre)
    own = sd.get(variable.name)
    known = own is not None or plain.declared or variable.of_two
    return Place(variable, 0.0, plain.scale if own is None else own, declared=known)


def _place(variable: Variable, sd: Mapping[str, float], centre: Mapping[str, float]) -> Place:
    low, high = variable.bounds
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    names = variable.columns
    if variable.two_valued:  # whose scale is half the range, whatever is declared
        return Place(variable, middle, half, exempt=True)
    default = 2 * half / DEFAULT_SCALE
    if len(variable.parts) == 1:
        at = min(max(centre.get(names[0], middle), low), high)
        return Place(variable, at, sd.get(names[0], default), declared=names[0] in sd)
    first, second, known = 1.0, 1.0, True
    for key in dict.fromkeys(part.key for part in variable.parts):
        same = [part for part in variable.parts if part.key == key]
        a, b = same[0].bounds
        dummy = key[1] >= 0 or same[0].column.levels is not None
        known &= dummy or key[0] in sd
        mean = centre.get(key[0], a / 2 + b / 2)
        spread = sd.get(key[0], b / 2 - a / 2 if dummy else (b - a) / DEFAULT_SCALE)
        first *= _moment(mean, spread, len(same))
        second *= _moment(mean, spread, 2 * len(same))
    spread = math.sqrt(max(second - first**2, 0.0))
    if not spread >= EXTREMES[0]:
        return Place(variable, middle, default)
    return Place(variable, min(max(first, low), high), min(spread, high - low), declared=known)


def _moment(mean: float, sd: float, power: int) -> float:
    """Return the mean of a power of a normal number."""
    found = [1.0, mean]
    for k in range(2, power + 1):
        found.append(mean * found[k - 1] + (k - 1) * sd**2 * found[k - 2])
    return found[power]


def with_outcomes(places: Sequence[Place], outcomes: Sequence[str]) -> tuple[Place, ...]:
    """Return the places with outcomes clipped at their own bounds, about the middle of these."""
    return tuple(
        replace(place, centre=0.0 if place.variable.within else sum(place.variable.bounds) / 2,
                exempt=True)
        if place.name in outcomes and not place.exempt
        else place
        for place in places
    )  # fmt: skip


def weighted_alike(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return exempt places with the weights at which their noise, each in its scale, is least.

    Of columns that are ``reach`` scales from the centre at most, weighted by w, the noise is
    proportional to ``(sum w^2 reach^2)^.5 / w``; its squares sum to least at w^2 = 1 / reach.
    """
    return tuple(
        replace(place, weight=(place.weight / place.reach) ** 0.5) if place.exempt else place
        for place in places
    )


def laid_out(
    places: Sequence[Place], radius: object, use: Use, rows: int = 1, *, outcomes: Sequence[str],
    treatments: Sequence[str], grouped: bool, n: int, mu: float, groups: int = 1,
) -> tuple[tuple[Place, ...], float]:  # fmt: skip
    """Return the weights of outcomes and treatments, and R_s, of the least error that is planned.

    Outcomes are what formulas explain, treatments what they name first on the right, which may be
    ``grouped`` in a release of this mu; a regression adds up so many ``groups``.

    Notes
    -----
    With noise of s2 on a product, a coefficient of a column whose z has the standard deviation v
    has the first-order error ``(1 + c s2^2 (1 + f w^2) / (2 n (1 - f) v^2 w^2))^.5`` over that
    without privacy: w is the outcomes' weight, f the guess of R squared, c the variance inflation.
    ``s2 = 2^.5 (R^2 + h^2) / mu``, R^2 = R_s^2 + what exempt columns may have, which their weights
    set.  A ball of R_s keeps rows of covariates closer together, so that their slopes are off by
    the factor ``E[|x| min(|x|, R_s)] / E[min(|x|, R_s)^2]`` under the normal law; the effect of a
    treatment that was randomised is not, whatever the ball does to covariates.  What is least is
    the mean of the squared errors of the treatment and of a typical covariate, bias included, among
    layouts at which the regression is likely to be estimated, if there are any: eta^2, the sum over
    regressors of ``s2^2 c^2 / (2 n^2 v^4)``, is at most half of what is read, and the noise of the
    residual variance, ``s2 / (n w^2 (1 - f))`` against it, at most a third.
    """
    free = [place for place in places if not place.exempt]
    explained = [p for p in places if p.exempt and p.name in outcomes and not _factor(p)]
    treated = [p for p in places if p.exempt and p.name in treatments and not _factor(p)]
    rest = [p for p in places if p.exempt and p not in explained and p not in treated]
    box = radius_of(places, "box", rows)
    typical = math.sqrt(rows * len(free))
    inner = np.array([radius_of(places, radius, rows)] if radius is not None else
                     [*(r * typical for r in RADII if r * typical < box), box])  # fmt: skip
    squares = [rows * math.fsum(p.reach**2 for p in some) for some in (explained, treated)]
    w2 = np.geomspace(0.05, 20, 49)[:, None, None] if explained else np.ones((1, 1, 1))
    lam2 = np.geomspace(0.5, 32, 25)[None, :, None] if treated else np.ones((1, 1, 1))
    outer = inner**2 + rows * _reserved(rest) + w2 * squares[0] + lam2 * squares[1]
    constant = CONSTANTS[use] ** 2
    noise2 = groups * ((1 + constant) * outer / mu) ** 2 / n  # s2^2 / (2 n)
    noise = noise2 * (1 + GUESS * w2) / ((1 - GUESS) * w2)
    slope = VIF * noise + n * GUESS / (1 - GUESS) * _bias(len(free), inner / math.sqrt(rows))
    effect = noise / (constant * outer if grouped else lam2)
    error = effect if not free else (effect + slope) / 2 if grouped or treated else slope
    eta = VIF**2 * noise2 / n * (len(free) + len(treated) / lam2**2)
    residual = np.sqrt(2 * noise2 / n) / (w2 * (1 - GUESS))  # noise of its variance against it
    likely = (eta <= GATE / 2) & (residual <= 1 / 3)
    if likely.any():
        error = np.where(likely, error, np.inf)
    i, j, k = np.unravel_index(int(np.argmin(error)), error.shape)
    outcome_weight, treatment_weight = math.sqrt(w2[i, 0, 0]), math.sqrt(lam2[0, j, 0])
    found = tuple(
        replace(place, weight=outcome_weight) if place in explained
        else replace(place, weight=treatment_weight) if place in treated
        else place
        for place in places
    )  # fmt: skip
    return found, float(inner[k])


def _factor(place: Place) -> str | None:
    """The column of which a place is a level; None if it is none."""
    first, *others = place.variable.parts
    return None if others or first.level is None else first.column.name


def _bias(p: int, radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (factor - 1)^2 / p of a slope on one of p normal columns in balls of these radii."""
    if not p:
        return np.zeros_like(radius)
    length = math.sqrt(2) * math.exp(special.gammaln((p + 1) / 2) - special.gammaln(p / 2))
    products = p * special.chdtr(p + 2, radius**2)
    products += radius * length * special.chdtrc(p + 1, radius**2)
    found: NDArray[np.float64] = (products / square_within(p, radius) - 1) ** 2 / p
    return found


def square_within(p: int, radius: Any) -> Any:
    """Return E[min(|x|, R)^2] of p independent standard normal columns.

    Examples
    --------
    >>> round(float(square_within(4, 100.0)), 6), bool(square_within(4, 2.0) < 4)
    (4.0, True)
    """
    return p * special.chdtr(p + 2, radius**2) + radius**2 * special.chdtrc(p, radius**2)


def radius_of(places: Sequence[Place], asked: object, rows: int = 1) -> float:
    """Return R_s, the radius of the columns that are not exempt.

    With ``rows`` of a unit it is that of all of them together, root M times that of one.
    """
    free = [place for place in places if not place.exempt]
    root = math.sqrt(rows)
    box = root * math.sqrt(math.fsum(place.reach**2 for place in free))
    if isinstance(asked, str) and asked == "box":
        return box
    number = isinstance(asked, (int, float)) and not isinstance(asked, bool)
    if not number or not LEAST_RADIUS <= asked < math.inf:  # type: ignore[operator]
        raise ParameterError(
            f"``radius={given(asked)}``; give a number of at least {LEAST_RADIUS:g}, in standard "
            "deviations (sd) of the covariates, 'box', which projects no row, or nothing"
        )
    if not free:
        raise ParameterError(
            f"``radius={given(asked)}`` is for covariates, the only columns projected onto a "
            "ball, and this release has none: outcomes and columns of two values are clipped at "
            "their own bounds; leave ``radius=`` out"
        )
    return min(float(asked) * root, box)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def mu_of(budget: Budget) -> float:
    """Return mu of one Gaussian release with a budget."""
    return float(gdp_mu(budget.epsilon, budget.delta)) if budget.delta else 1.0


def layout_of(
    places: Sequence[Place],
    inner: float,
    use: Use,
    *,
    count: bool,
    rows: int = 1,
    clipped: Fraction = NOTHING,
    weight: Part | None = None,
) -> Layout:
    """The layout of columns with weights.

    ``inner`` is R_s, as of :func:`radius_of`.  With ``count``, numbers of rows are released, of
    which a unit has M at most; ``clipped`` is the share of mu squared for those outside the ball, 0
    where they are not released.
    """
    exempt = math.sqrt(rows * _reserved(places))
    outer = math.hypot(inner, exempt)
    # the noise depends on M h^2 and R^2, as on h^2 and R^2 with one row
    constant = max(1, round(CONSTANTS[use] * STEPS / math.sqrt(rows)))
    _check_scales(places, outer)
    everybody = inner >= radius_of(places, "box", rows)
    for _ in range(200):
        columns = tuple(scaled(place, outer) for place in places)
        if _fits(columns, inner / outer, everybody, rows):
            grid = MomentsGrid(columns, constant, count, rows, weight=weight)
            if clipped:
                grid = replace(grid, clipped=factor_of(grid, clipped))
            return Layout(tuple(places), outer, inner, grid)
        outer *= 1 + 2.0**-12
    raise ParameterError(
        f"a radius of {inner:g} leaves nothing of the covariates that are projected onto it; give "
        "a larger ``radius=``"
    )


def _check_scales(places: Sequence[Place], radius: float) -> None:
    """Refuse scales at which steps of the grid are not finite, where all of them are made.

    A scale that overflows makes a value at the centre no number and any other infinite, so that
    what a fit ends in would tell them apart.
    """
    for place in places:
        low, high = place.variable.bounds
        with np.errstate(all="ignore"):
            per_unit = float(np.float64(place.weight) * STEPS / (place.scale * np.float64(radius)))
            ends = [abs(np.float64(end) - place.centre) * per_unit for end in (low, high)]
        if not 1 / _MOST_STEPS <= per_unit <= _MOST_STEPS or not max(ends) <= _MOST_STEPS:
            raise ParameterError(
                f"{place.name!r} has the scale {place.scale:g} in a ball of radius {radius:g}, "
                "whose steps no double holds; declare sd and bounds in another unit, or leave "
                "``radius=`` out"
            )


def factor_of(grid: MomentsGrid, share: Fraction) -> int:
    """Return c, by which counts get this share of mu squared; 0 where no row is outside.

    Of D^2 = 2 t^2 + 2 (c M)^2 the counts have the second term, and the noise of all numbers is
    D / mu: as much as of two releases that have 1 - share and share of mu squared.
    """
    if grid.projects_nobody:
        return 0
    return max(1, math.isqrt(math.floor(grid.l2_squared * share / (1 - share) / 2)) // grid.rows)


def _fits(columns: tuple[Scaled, ...], share: float, everybody: bool, rows: int) -> bool:
    """Whether exempt columns, rounded, leave the others the room that they should have."""
    grid: Any = object.__new__(MomentsGrid)
    object.__setattr__(grid, "columns", columns)
    object.__setattr__(grid, "rows", rows)
    if not everybody:
        return bool(grid.room >= ((share * (1 - 2.0**-8)) * STEPS) ** 2 > 1)
    return bool(grid.room >= 0 and grid.projects_nobody)


def scaled(place: Place, radius: float) -> Scaled:
    """Return a column as whole steps of a ball of this radius."""
    variable, (low, high) = place.variable, place.variable.bounds
    per_unit = place.weight * STEPS / (place.scale * radius)
    within = variable.within is not None
    centre = low / 2 + high / 2 if within else place.centre
    return Scaled(
        variable.name, variable.parts, (low, high), centre, per_unit, place.exempt, within
    )


def _reserved(places: Sequence[Place]) -> float:
    """Return R_e^2: of the levels of one column a row has one."""
    total, levels = 0.0, {}  # type: float, dict[str, list[tuple[float, float]]]
    for place in places:
        if not place.exempt:
            continue
        if name := _factor(place):
            ends = [place.weight * (x - place.centre) / place.scale for x in (0.0, 1.0)]
            levels.setdefault(name, []).append((ends[0] ** 2, ends[1] ** 2))
        else:
            total += place.reach**2
    for group in levels.values():
        total += math.fsum(zero for zero, _ in group)
        total += max(0.0, *(one - zero for zero, one in group))
    return total


def one_hot(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return the places with the levels of a long factor about 0, where a row has one of them.

    About 1/2 each of k levels takes 1 of R^2, k in all; about 0, at the same spread, 4 in all.
    """
    names = [None if place.variable.within else _factor(place) for place in places]
    sizes = Counter(names)
    return tuple(
        replace(place, centre=0.0) if name and sizes[name] > 4 else place
        for name, place in zip(names, places, strict=True)
    )
