"""Where a release of moments puts its noise: centres, scales, weights and the ball; public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.queries.ball import STEPS, MomentsGrid, Scaled
from dprct.queries.sums import EXTREMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.moments.variables import Variable
    from dprct.queries.ball import Part

REACH = 1.5
"""Radius of the ball in standard deviations of a typical row: 9 to 11 % of normal rows are moved,
and an effect by 1 to 3 % of itself (docs/methods.md)."""

GUESS = 0.3
"""Public guess of a regression's R squared, in standardised columns: it sets the weight of its
outcome, and plans use it."""

NOTHING = Fraction(0)

Use = Literal["effects", "mixed", "regressions"]
CONSTANTS: dict[Use, float] = {"effects": 1.0, "mixed": 0.5, "regressions": math.sqrt(0.1)}
"""h over R.  At 1 sums have their least noise, and second moments cost nothing; at 1/2 both have
1.25 of their least; at the last the second moments nearly have their least."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a release in units of its noise: ``z = weight (x - centre) / scale``.

    Parameters
    ----------
    variable : Variable
    centre, scale, weight : float
    exempt : bool
        Never moved, because it has two values.
    declared : bool
        Whether the scale is a declared standard deviation, not half the width of the bounds.
    """

    variable: Variable
    centre: float
    scale: float
    weight: float = 1.0
    exempt: bool = False
    declared: bool = False

    @property
    def reach(self) -> float:
        """The largest size of z within the bounds."""
        low, high = self.variable.bounds
        if self.variable.within is not None:  # root mean square in a unit
            return self.weight * (high - low) / 2 / self.scale
        return self.weight * max(high - self.centre, self.centre - low) / self.scale

    @property
    def spread(self) -> float:
        """Standard deviation of z that a plan takes it to have."""
        return self.weight * (1.0 if self.declared or self.exempt else 0.5)


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns in units of their noise, and the ball that every row is in.

    Parameters
    ----------
    places : tuple of Place
    radius : float
        R, in units of z, exempt columns included.
    shrunk_radius : float
        R_s, of the columns that are not exempt.
    grid : MomentsGrid
    """

    places: tuple[Place, ...]
    radius: float
    shrunk_radius: float
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


def scales_of(asked: object, what: str, names: Sequence[str]) -> dict[str, float]:
    """Return declared numbers of columns.

    Raises
    ------
    ParameterError
        If it is no mapping, names no column of the release, or holds what is no number.
    """
    if asked is None:
        return {}
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"``{what}={given(asked)}``; give a ``mapping`` from column to number, such as "
            f"``{{{names[0] if names else 'wage'!r}: 1.0}}``"
        )
    found = {}
    for name, value in asked.items():
        if name not in names:
            raise ParameterError(
                f"``{what}=`` names ``{given(name)}``, which is no column of this release; it has "
                f"{', '.join(names)}"
            )
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is None or not abs(number) <= EXTREMES[1]:
            raise ParameterError(
                f"``{what}=`` of {name!r} is ``{given(value)}``; give a finite number"
            )
        if what == "sd" and not number >= EXTREMES[0]:
            raise ParameterError(
                f"``sd=`` of {name!r} is ``{given(value)}``; a column's scale is above 0: leave "
                "out a column that does not vary"
            )
        found[name] = float(number)
    return found


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
    if variable.two_valued and not any(name in sd for name in names):
        return Place(variable, middle, half, exempt=True)
    if len(variable.parts) == 1:
        known = names[0] in sd
        at = min(max(centre.get(names[0], middle), low), high)
        return Place(variable, at, sd.get(names[0], half), declared=known)
    first, second = 1.0, 1.0
    for key in dict.fromkeys(part.key for part in variable.parts):
        same = [part for part in variable.parts if part.key == key]
        a, b = same[0].bounds
        dummy = key[1] >= 0 or same[0].column.levels is not None
        if key[0] not in sd and not dummy:
            return Place(variable, middle, half)
        mean = centre.get(key[0], a / 2 + b / 2)
        spread = sd.get(key[0], b / 2 - a / 2)
        first *= _moment(mean, spread, len(same))
        second *= _moment(mean, spread, 2 * len(same))
    spread = math.sqrt(max(second - first**2, 0.0))
    if not spread >= EXTREMES[0]:
        return Place(variable, middle, half)
    return Place(variable, min(max(first, low), high), min(spread, high - low), declared=True)


def _moment(mean: float, sd: float, power: int) -> float:
    """Return the mean of a power of a normal number."""
    found = [1.0, mean]
    for k in range(2, power + 1):
        found.append(mean * found[k - 1] + (k - 1) * sd**2 * found[k - 2])
    return found[power]


def weighted(
    places: Sequence[Place], outcomes: Sequence[str], treatments: Sequence[str]
) -> tuple[Place, ...]:
    """Return the places with the weights that serve regressions of ``outcomes`` best.

    Notes
    -----
    With p other columns and q outcomes of weight w, the noise of a coefficient of a regression is
    proportional to (p + q w^2) (1 + f w^2)^.5 / w, where f is the guess of its R squared: least at
    ``w^2 = ((1 + 8 p f / q)^.5 - 1) / (4 f)``.  An indicator whose coefficient is asked for first
    is not moved, so that its weight costs its square alone; it is 1.5, as long as a typical column
    is in the ball.
    """
    moved = [place for place in places if not place.exempt]
    q = sum(place.variable.name in outcomes for place in moved)
    p = len(places) - sum(place.variable.name in outcomes for place in places)
    if not q or not p:
        return tuple(places)
    w = math.sqrt(max((math.sqrt(1 + 8 * p * GUESS / q) - 1) / (4 * GUESS), 1.0))
    return tuple(
        replace(place, weight=w)
        if place.variable.name in outcomes and not place.exempt
        else replace(place, weight=REACH)
        if place.variable.name in treatments and place.exempt
        else place
        for place in places
    )


def radius_of(places: Sequence[Place], asked: object, rows: int = 1) -> float:
    """Return R_s, the radius of the columns that are not exempt.

    With ``rows`` of a unit it is that of all of them together, root M times that of one.

    Raises
    ------
    ParameterError
        If it is neither a number above 0 nor ``"box"``.
    """
    moved = [place for place in places if not place.exempt]
    root = math.sqrt(rows)
    box = root * math.sqrt(math.fsum(place.reach**2 for place in moved))
    if asked is None:
        declared = all(place.declared for place in moved)
        norm = math.sqrt(math.fsum(place.weight**2 for place in moved))
        return min(REACH * norm * root, box) if declared else box
    if isinstance(asked, str) and asked == "box":
        return box
    if isinstance(asked, bool) or not isinstance(asked, (int, float)) or not 0 < asked < math.inf:
        raise ParameterError(
            f"``radius={given(asked)}``; give a number above 0, in standard deviations (``sd=``) "
            "of the columns, 'box', which moves nobody, or nothing"
        )
    return min(float(asked) * root, box)


def layout_of(
    places: Sequence[Place],
    radius: object,
    use: Use,
    *,
    count: bool,
    rows: int = 1,
    touched: Fraction = NOTHING,
    weight: Part | None = None,
) -> Layout:
    """Return the layout of columns with weights.

    Parameters
    ----------
    places : sequence of Place
    radius : number, "box" or None
        As of :func:`radius_of`.
    use : {"effects", "mixed", "regressions"}
    count : bool
        Whether numbers of rows are released.
    rows : int
        M, the most rows of a unit.
    touched : Fraction
        Share of mu squared for the number of rows that are moved; 0 where it is not released.
    weight : Part, optional
        Of a row.

    Raises
    ------
    ParameterError
        If the radius is none, or so small beside the columns that are not moved that nothing of
        the others is left.
    """
    inner = radius_of(places, radius, rows)
    exempt = math.sqrt(rows * _reserved(places))
    outer = math.hypot(inner, exempt)
    # the noise depends on M h^2 and R^2, as on h^2 and R^2 with one row
    constant = max(1, round(CONSTANTS[use] * STEPS / math.sqrt(rows)))
    everybody = inner >= radius_of(places, "box", rows)
    for _ in range(200):
        columns = tuple(scaled(place, outer) for place in places)
        if _fits(columns, inner / outer, everybody, rows):
            grid = MomentsGrid(columns, constant, count, rows, weight=weight)
            if touched:
                grid = replace(grid, touched=factor_of(grid, touched))
            return Layout(tuple(places), outer, inner, grid)
        outer *= 1 + 2.0**-12
    raise ParameterError(
        f"``radius={given(radius)}`` leaves nothing of the columns that are moved into it; give a "
        "larger one"
    )


def factor_of(grid: MomentsGrid, share: Fraction) -> int:
    """Return c, by which a count gets this share of mu squared.

    Of D^2 = 2 t^2 + (c M)^2 the count has the second term, and the noise of all numbers is
    D / mu: as much as of two releases that have 1 - share and share of mu squared.

    Raises
    ------
    ParameterError
        If nobody is moved.
    """
    if grid.moves_nobody:
        raise ParameterError(
            f"``touched={float(share):g}`` buys the number of rows that are moved, and this "
            "radius moves nobody; leave ``touched=`` out, or give ``sd=`` of every column or a "
            "smaller ``radius=``"
        )
    return max(1, math.isqrt(math.floor(grid.l2_squared * share / (1 - share))) // grid.rows)


def _fits(columns: tuple[Scaled, ...], share: float, everybody: bool, rows: int) -> bool:
    """Whether exempt columns, rounded, leave the others the room that they should have."""
    grid: Any = object.__new__(MomentsGrid)
    object.__setattr__(grid, "columns", columns)
    object.__setattr__(grid, "rows", rows)
    if not everybody:
        return bool(grid.room >= ((share * (1 - 2.0**-8)) * STEPS) ** 2 > 1)
    return bool(grid.room >= 0 and grid.moves_nobody)


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
        parts = place.variable.parts
        if len(parts) == 1 and parts[0].level is not None:
            ends = [place.weight * (x - place.centre) / place.scale for x in (0.0, 1.0)]
            levels.setdefault(parts[0].column.name, []).append((ends[0] ** 2, ends[1] ** 2))
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
    sizes: dict[str, int] = {}
    for place in places:
        parts = place.variable.parts
        if len(parts) == 1 and parts[0].level is not None and place.variable.within is None:
            name = parts[0].column.name
            sizes[name] = sizes.get(name, 0) + 1
    return tuple(
        replace(place, centre=0.0)
        if len(place.variable.parts) == 1
        and place.variable.within is None
        and place.variable.parts[0].level is not None
        and sizes[place.variable.parts[0].column.name] > 4
        else place
        for place in places
    )
