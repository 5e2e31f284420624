"""The private step of a synthetic control: what is released of each unit, and at which price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.estimate.synthetic.donor_weights import uniform, usable
from dprct.estimate.synthetic.path_noise import PathNoise
from dprct.estimate.synthetic.pricing import Part
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries.donors import (
    UNIT,
    Donors,
    RidgeGrid,
    ridge_weights,
    series_steps,
    series_units,
    squared_norm,
    weighted_mean,
    weighted_series,
)
from dprct.queries.grid import GRID

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.estimate.synthetic.panel import Panel
    from dprct.estimate.synthetic.pricing import Priced
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.donors import Scale, Steps

    Array = NDArray[np.float64]

Rule = Literal["ridge", "uniform"]


@dataclass(frozen=True)
class Recipe:
    """What a fit releases: public facts only.

    Parameters
    ----------
    n, T, T0 : int
        Donors, periods and pre-periods.
    rule : {"ridge", "uniform"}
    lam : float
        Penalty, for data divided by the bound.
    y_norm : float or None
        Norm of the treated unit's pre-period over the bound; None where it is protected.
    pre_fit : bool
        Whether the path before treatment is released.
    placebos : tuple of int
        Donors that are treated in pretence.
    shares : mapping from {"weights", "prediction", "mean", "pre_fit", "placebos"} to Fraction
        Of the budget, of sum one.
    """

    n: int
    T: int
    T0: int
    rule: Rule
    lam: float
    y_norm: float | None
    pre_fit: bool
    placebos: tuple[int, ...]
    shares: Mapping[str, Fraction]

    @cached_property
    def grid(self) -> RidgeGrid:
        """Sensitivities of the weights of the treated unit."""
        return RidgeGrid(self.n, self.T0, self.lam, self.y_norm)

    @cached_property
    def placebo_grid(self) -> RidgeGrid:
        """Sensitivities of the weights of a placebo, whose own series is confidential."""
        return RidgeGrid(self.n - 1, self.T0, self.lam, None)

    def parts(self) -> dict[str, Part]:
        """Return every release by name, with its share and sensitivity."""
        own = {name: s for name, s in self.shares.items() if name != "placebos"}
        grid = self.grid if self.rule == "ridge" else None
        found = {name: self._part(name, s, grid, self._doubled) for name, s in own.items()}
        if not self.placebos:
            return found
        each = self.shares["placebos"] / len(self.placebos) / sum(own.values())
        other = self.placebo_grid if self.rule == "ridge" else None
        for j in self.placebos:
            for name, share in own.items():
                found[placebo_name(j, name)] = self._part(name, share * each, other, 2)
        return found

    @property
    def _doubled(self) -> int:
        """2 where the unit's own series is released with noise, beside the prediction."""
        return 2 if self.y_norm is None else 1

    def _part(self, name: str, share: Fraction, grid: RidgeGrid | None, series: int) -> Part:
        if name == "weights":
            assert grid is not None
            return Part(share, grid.l1, grid.l2**2, grid.n)
        if name == "mean":
            return Part(share, GRID, GRID**2, series)
        K = self.T0 if name == "pre_fit" else self.T - self.T0
        return Part(share, GRID * K, GRID**2 * K, series * K)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A released path over some periods.

    Parameters
    ----------
    prediction : (K,) array
        Noisy weighted sum of the donors.
    target : (K,) array
        The unit's own series, noisy unless it is public.
    noise, target_noise : PathNoise
        The law of the noise of one period; of sd 0 for a public target.
    """

    prediction: Array
    target: Array
    noise: PathNoise
    target_noise: PathNoise

    @property
    def effect(self) -> Array:
        """Own series less prediction, (K,)."""
        return self.target - self.prediction

    @property
    def effect_noise(self) -> PathNoise:
        """The law of the noise of one period of the effect."""
        return self.noise + self.target_noise


@dataclass(frozen=True, slots=True, eq=False)
class UnitRelease:
    """Everything that is released of one unit, treated or in pretence.

    Parameters
    ----------
    unit : str
    donors : tuple of str, length n
    weights : (n,) array
        On the simplex: the released ones, shrunk and projected, or equal ones.
    noisy_weights : (n,) array or None
        Ridge weights as they were released, before that.
    weight_sd : float
        Noise of each of these, one standard deviation.
    post : Series
    pre : Series or None
        Where the path before treatment was paid for.
    mean : Series or None
        Of one value, the mean after treatment, where that was paid for.
    """

    unit: str
    donors: tuple[str, ...]
    weights: Array
    noisy_weights: Array | None
    weight_sd: float
    post: Series
    pre: Series | None
    mean: Series | None = None

    @property
    def att(self) -> float:
        """Mean effect after treatment: of the path, and of the mean by itself, by precision."""
        path = float(self.post.effect.mean())
        if self.mean is None:
            return path
        direct = self._direct_share
        return direct * float(self.mean.effect[0]) + (1 - direct) * path

    @property
    def att_noise(self) -> PathNoise:
        """The law of the noise of :attr:`att`."""
        path = self.post.effect_noise.mean_of(len(self.post.effect))
        if self.mean is None:
            return path
        direct = self._direct_share
        return self.mean.effect_noise.times(direct) + path.times(1 - direct)

    @property
    def _direct_share(self) -> float:
        """Weight of the mean by itself, from the released weights and public facts alone."""
        assert self.mean is not None
        path = self.post.effect_noise.mean_of(len(self.post.effect)).sd
        return path**2 / (path**2 + self.mean.effect_noise.sd**2)

    def state(self) -> dict[str, Any]:
        """Return what was released as JSON-ready values, for the ledger."""
        series = {"post": self.post} | ({"pre": self.pre} if self.pre else {})
        series |= {"mean": self.mean} if self.mean else {}
        return {
            "weights": None if self.noisy_weights is None else self.noisy_weights.tolist(),
            **{name: s.prediction.tolist() for name, s in series.items()},
            **{f"{name} own": s.target.tolist() for name, s in series.items() if s.target_noise.sd},
        }


def placebo_name(j: int, part: str) -> str:
    """Return the name of a part of the placebo of donor j."""
    return f"placebo {j}: {part}"


def public_norm(scale: Scale, target: Array) -> float:
    """Return the norm of a public series over the bound, as its grid has it, rounded up."""
    return math.sqrt(squared_norm(scale.steps(target))) / UNIT * (1 + 1e-12)


def release_all(
    recipe: Recipe,
    panel: Panel,
    scale: Scale,
    public: Array | None,
    prices: Priced,
    noise: NoiseSource,
) -> list[UnitRelease]:
    """Draw everything a recipe releases, the treated unit first; the caller has charged it."""
    donors = Donors.of(panel.frame, panel.outcome, panel.rows, scale, panel.T0)
    treated = release_treated(recipe, panel, donors, public, prices, noise)
    return [
        treated,
        *(release_placebo(recipe, panel, donors, j, prices, noise) for j in recipe.placebos),
    ]


def release_treated(
    recipe: Recipe,
    panel: Panel,
    donors: Donors,
    public: Array | None,
    prices: Priced,
    noise: NoiseSource,
) -> UnitRelease:
    """Draw what the recipe releases of the treated unit; the caller has charged the whole.

    ``public`` is the unit's series (T,), or None where it is protected.
    """
    if public is None:
        target = series_steps(panel.frame, panel.outcome, panel.target_rows, donors.scale)
    else:
        target = donors.scale.steps(public)
    grid = recipe.grid if recipe.rule == "ridge" else None
    return _release(
        recipe, donors, target, public, (panel.treated, panel.names),
        grid, lambda name: name, prices, noise,
    )  # fmt: skip


def release_placebo(
    recipe: Recipe, panel: Panel, donors: Donors, j: int, prices: Priced, noise: NoiseSource
) -> UnitRelease:
    """Draw the placebo of donor j, whose series is as confidential as the others'."""
    others, target = donors.without(j)
    names = panel.names[:j] + panel.names[j + 1 :]
    grid = recipe.placebo_grid if recipe.rule == "ridge" else None
    return _release(
        recipe, others, target, None, (panel.names[j], names), grid,
        lambda name: placebo_name(j, name), prices, noise,
    )  # fmt: skip


def _release(
    recipe: Recipe,
    donors: Donors,
    target: Steps,
    public: Array | None,
    names: tuple[str, tuple[str, ...]],
    grid: RidgeGrid | None,
    part: Any,
    prices: Priced,
    noise: NoiseSource,
) -> UnitRelease:
    noisy, sd, weights = None, 0.0, uniform(donors.n)
    if grid is not None:
        sealed = ridge_weights(donors, target[: recipe.T0], grid)
        found = prices.release(part("weights"), sealed, noise)
        noisy, sd = found.values, found.noise_sd
        weights = usable(noisy, sd)

    confidential = target if public is None else None

    def series(name: str, periods: slice) -> Series:
        sealed = (weighted_mean if name == "mean" else weighted_series)(
            donors, weights, periods, confidential
        )
        mechanism = prices.mechanisms[part(name)]
        units = [int(unit) for unit in prices.release(part(name), sealed, noise).units]
        K = sealed.size if public is not None else sealed.size // 2
        own, each = series_units(donors.scale, weights)
        prediction = np.array([float(unit * own) for unit in units[:K]])
        if public is not None:
            known = public[periods].mean(keepdims=True) if name == "mean" else public[periods]
            return Series(prediction, known, _law(mechanism, own), PathNoise())
        values = np.array([float(unit * each) for unit in units[K:]])
        return Series(prediction, values, _law(mechanism, own), _law(mechanism, each))

    before, after = slice(0, recipe.T0), slice(recipe.T0, recipe.T)
    return UnitRelease(
        names[0], names[1], weights, noisy, sd,
        post=series("prediction", after),
        pre=series("pre_fit", before) if recipe.pre_fit else None,
        mean=series("mean", after) if "mean" in recipe.shares else None,
    )  # fmt: skip


def _law(mechanism: Any, unit: Fraction) -> PathNoise:
    """Return the law of one coordinate, as if its grid of a 2^-20th of the scale were none."""
    if isinstance(mechanism, DiscreteLaplace):
        return PathNoise(((mechanism.scale * float(unit), 1),))
    return PathNoise((), (mechanism.noise_sd * float(unit)) ** 2)
