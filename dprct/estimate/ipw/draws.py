"""The private step of IPW: what is released of each part of the rows, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.defaults import FEWEST_COUNTED, FEWEST_WEIGHT_SCALES, OVERLAP_BINS
from dprct.privacy.partition import random_part
from dprct.queries.propensity import propensity_weights
from dprct.queries.weighted import Centre, Weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.estimate.ipw.recipe import Prices, Recipe
    from dprct.privacy.aggregate import IntegerVector
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.propensity import Block
    from dprct.queries.records import CompactTable
    from dprct.queries.weighted import Scheme

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What left the confidential table; effects and means in units of R, about the middle.

    Parameters
    ----------
    weights : (d,) array
        Noisy propensity weights.
    weight_sd, weight_spread : float
        Their noise; the variance of each, sampling included.
    theta : float
        The effect; NaN where a denominator is not far from its noise.
    noises : tuple of float
        Laplace scales (standard deviations, if ``gaussian``) of what is in it, in units of R.
    gaussian : int
        How many of ``noises``, the first ones, are standard deviations.
    variance, variance_scale : float
        Of its sampling error, and the Laplace scale of that.
    slope : float
        Squared norm of the derivative of theta in the weights; 0 where not released.
    masses : tuple of float
        Released denominators (weights of the treated, of the others; or one number of records).
    balance : mapping from name to (weighted difference, root mean square, noise of the first)
    overlap : (2, bins) array of int or None
    n2 : int
    """

    weights: Array
    weight_sd: float
    weight_spread: float
    theta: float
    noises: tuple[float, ...]
    gaussian: int
    variance: float
    variance_scale: float
    slope: float
    masses: tuple[float, ...]
    balance: Mapping[str, tuple[float, float, float]]
    overlap: NDArray[np.int64] | None
    n2: int

    def state(self) -> dict[str, Any]:
        """Return what was released as JSON-ready values, for the ledger."""
        overlap = None if self.overlap is None else self.overlap.tolist()
        return {
            "weights": self.weights.tolist(),
            "effect": None if np.isnan(self.theta) else self.theta,
            "variance": self.variance,
            "slope": self.slope,
            "masses": list(self.masses),
            "balance": {name: list(found) for name, found in self.balance.items()},
            "overlap": overlap,
        }


@dataclass(frozen=True, slots=True)
class _Ratio:
    """The effect before its variance: what was drawn, and around what influences are taken."""

    theta: float
    noises: tuple[float, ...]
    masses: tuple[float, ...]
    divisor: float
    centre: Centre


def released(
    recipe: Recipe,
    rows: CompactTable,
    prices: Prices,
    noise: NoiseSource,
) -> Released:
    """Draw everything; the caller has charged the whole.

    Parameters
    ----------
    recipe : Recipe
    rows : CompactTable
        All rows.
    prices : Prices
    noise : NoiseSource

    Notes
    -----
    *Positions.*  For every set of places that is the first part, the two parts are released
    separately: a person at a place is in one of them, whatever the values.

    *Order.*  An engine promises no order of rows, and its order may depend on all values.  The set
    of places is therefore drawn uniformly among all of its size, exactly
    (:func:`~dprct.privacy.partition.random_part`), after the rows were read.  Let D and D' be
    neighbours, each in any order.  An order is a bijection of places to people, so that in both the
    set S of people in the first part is uniform among all of that size.  Given S, the release keeps
    the guarantee in whatever order the rows of either table are: its sums are sums of integers,
    which know no order, and its weights are within the solver's tolerance of a minimiser that knows
    none.  The average over S, whose law is the same for D and D', keeps it too.

    With a seed, rows are put in an order of their own first, so that all engines agree.
    """
    first, second = _parts(recipe, rows, noise)
    part = rows.part(first)
    sealed = propensity_weights(part.Z, part.t, prices.grid, recipe.relation)
    del part  # before the others are gathered
    weights = prices.weights.release(sealed, noise).values
    weighted = Weighted(
        rows.part(second), weights, prices.weight_sd, recipe.scheme, recipe.relation
    )
    draw = _Drawer(prices, noise)
    ratio = _hajek(recipe, weighted, draw) if recipe.hajek else _plain(recipe, weighted, draw)
    variance, variance_scale = draw("variance", weighted.squares(ratio.centre))
    slope = 0.0
    if recipe.errors == "total":
        found, _ = draw("gradient", weighted.gradient(ratio.centre))
        slope = float(np.square(found / ratio.divisor).sum())
    numbers = {block.column.name: block for block in rows.design.blocks if not block.levels}
    balance = {
        name: _balance(name, weighted, numbers[name], ratio.divisor, draw)
        for name in recipe.balance
    }
    counts = None
    if recipe.overlap:
        found, _ = draw("overlap", weighted.overlap(OVERLAP_BINS))
        counts = np.rint(found).astype(np.int64).reshape(2, OVERLAP_BINS)
    return Released(
        weights=weights,
        weight_sd=prices.weight_sd,
        weight_spread=prices.weight_spread,
        theta=ratio.theta,
        noises=ratio.noises,
        gaussian=_gaussian_draws(recipe),
        variance=float(variance[0]) / ratio.divisor**2,
        variance_scale=variance_scale[0] / ratio.divisor**2,
        slope=slope,
        masses=ratio.masses,
        balance=balance,
        overlap=counts,
        n2=recipe.n2,
    )


def _parts(
    recipe: Recipe, rows: CompactTable, noise: NoiseSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows of each part."""
    inside = random_part(recipe.n1 + recipe.n2, recipe.n1, noise)
    first, second = np.flatnonzero(inside), np.flatnonzero(~inside)
    if not noise.simulation:
        return first, second
    order = rows.order()
    return order[first], order[second]


@dataclass(frozen=True, slots=True)
class _Drawer:
    prices: Prices
    noise: NoiseSource

    def __call__(self, name: str, sealed: IntegerVector) -> tuple[Array, list[float]]:
        """Draw one part: noisy numbers, and the scale (or sd) of the noise of each."""
        mechanism = self.prices.parts[name]
        found = mechanism.release(sealed, self.noise)
        laplace = getattr(mechanism, "scale", None)
        size = found.noise_sd if laplace is None else laplace * float(found.grid)
        return found.values, [size] * len(found.values)


def _gaussian_draws(recipe: Recipe) -> int:
    if recipe.noise == "laplace":
        return 0
    return 2 if recipe.hajek else 1


def _plain(recipe: Recipe, weighted: Weighted, draw: _Drawer) -> _Ratio:
    """Return the difference of weighted sums, over the number of records the effect is about."""
    estimand = recipe.scheme.estimand
    (total,), (scale,) = draw("effect", weighted.difference())
    size, spread = float(recipe.n2), 0.0
    if estimand != "ate":
        if recipe.counts_arm:
            (size,), (spread,) = draw("mass", weighted.count())
        else:  # who is treated is public
            size = float(public_size(weighted.records.t, recipe.scheme))
    usable, divisor = _divisor(size, spread)
    theta = float(total) / divisor
    shift = float(np.clip(theta, -2, 2))
    centre = Centre(
        treated_shift=0.0 if estimand == "atc" else shift,
        control_shift=0.0 if estimand == "att" else shift,
    )
    noises = (scale / divisor, abs(shift) * spread / divisor)
    masses = () if estimand == "ate" else (size,)
    return _Ratio(theta if usable else float("nan"), noises, masses, divisor, centre)


def _hajek(recipe: Recipe, weighted: Weighted, draw: _Drawer) -> _Ratio:
    """Return the difference of weighted means, each over its own released weights."""
    most = (recipe.scheme.treated_most, recipe.scheme.control_most)
    sums, sum_scales = draw("effect", weighted.arm_sums())
    masses, mass_scales = draw("mass", weighted.masses())
    means, divisors, noises, usable = [], [], [], []
    for arm in (0, 1):
        mass, spread = masses[arm] * most[arm], mass_scales[arm] * most[arm]
        fine, divisor = _divisor(float(mass), spread)
        mean = float(np.clip(sums[arm] * most[arm] / divisor, -1, 1))
        noises += [sum_scales[arm] * most[arm] / divisor, abs(mean) * spread / divisor]
        means.append(mean)
        divisors.append(divisor)
        usable.append(fine)
    n2 = float(recipe.n2)
    centre = Centre(
        treated_mean=means[0],
        control_mean=means[1],
        treated_scale=n2 / divisors[0],
        control_scale=n2 / divisors[1],
    )
    theta = means[0] - means[1] if all(usable) else float("nan")
    # the draws of the sums first: they are Gaussian where that was asked
    ordered = (noises[0], noises[2], noises[1], noises[3])
    return _Ratio(theta, ordered, tuple(divisors), n2, centre)


def _divisor(size: float, spread: float) -> tuple[bool, float]:
    """Return whether a released denominator is far from its noise, and what to divide by."""
    least = FEWEST_WEIGHT_SCALES * spread
    if least < FEWEST_COUNTED:
        least = float(FEWEST_COUNTED)
    return size >= least, size if size >= least else least


def public_size(t: Mask, scheme: Scheme) -> int:
    """Return how many records an ATT or ATC is about, where who is treated is public."""
    return int((~t if scheme.estimand == "atc" else t).sum())


def _balance(
    name: str, weighted: Weighted, block: Block, divisor: float, draw: _Drawer
) -> tuple[float, float, float]:
    apart, square = weighted.balance(block)
    (difference,), (scale,) = draw(f"balance {name}", apart)
    (total,), _ = draw(f"spread {name}", square)
    spread = float(np.sqrt(np.clip(total / len(weighted.records), 1e-6, 1)))
    return float(difference) / divisor, spread, float(np.sqrt(2) * scale) / divisor
