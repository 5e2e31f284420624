"""What a synthetic control releases of each unit: weights, and the paths computed with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dprct.estimate.noise_law import PathNoise
from dprct.estimate.synthetic_control.allocation import WEIGHTS, placebo_name
from dprct.queries.donors import (
    UNIT,
    Donors,
    predictor_steps,
    ridge_weights,
    series_steps,
    series_units,
    squared_norm,
    weighted_mean,
    weighted_series,
)
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dprct.estimate.synthetic_control.allocation import ControlAllocation
    from dprct.estimate.synthetic_control.panel import PanelFacts
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.donors import RidgeGrid, Scale, Steps
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]


def uniform(n: int) -> Array:
    """Return equal weights (n,)."""
    return np.full(n, 1.0 / n)


def simplex_projection(v: Array) -> Array:
    """The closest point (n,) with no negative coordinate and sum 1.

    Notes
    -----
    ``max(v - c, 0)``, with the c at which the sum is one, found among the sorted coordinates.

    References
    ----------
    Held, Wolfe and Crowder (1974), "Validation of subgradient optimization".

    Examples
    --------
    >>> simplex_projection(np.array([0.5, 0.9, -0.2])).round(3).tolist()
    [0.3, 0.7, 0.0]
    """
    ordered = np.sort(v)[::-1]
    level = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
    last = np.nonzero(ordered > level)[0][-1]
    return np.asarray(np.maximum(v - level[last], 0.0))


def shrunk(noisy: Array, noise_sd: float) -> Array:
    """Released weights moved towards equal ones, in the manner of James and Stein.

    Notes
    -----
    ``f0 + s (f - f0)`` with ``s = max(0, 1 - n noise_sd^2 / ||f - f0||^2)``: the noise alone makes
    the squared distance from equal weights n noise_sd^2 on average.

    Examples
    --------
    >>> shrunk(np.array([0.75, 0.25]), 0.25).tolist()
    [0.5, 0.5]
    """
    centre = uniform(len(noisy))
    apart = noisy - centre
    distance = float(apart @ apart)
    keep = 1 - len(noisy) * noise_sd**2 / distance if distance > 0 else 0.0
    return np.asarray(centre + (keep if keep > 0 else 0.0) * apart)


def usable(noisy: Array, noise_sd: float) -> Array:
    """Return released weights (n,) made usable: shrunk, then projected on the simplex; free."""
    return simplex_projection(shrunk(noisy, noise_sd))


@dataclass(frozen=True, eq=False)
class Series:
    """A released path over some periods."""

    prediction: Array  # (K,): noisy weighted sum of the donors
    target: Array  # (K,): the unit's own series, noisy unless it is public
    # noise, target_noise: the law of the noise of one period; of sd 0 for a public target.
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


@dataclass(frozen=True, eq=False)
class UnitRelease:
    """Everything that is released of one unit, treated or in pretence."""

    unit: str
    donors: tuple[str, ...]
    weights: Array  # (n,): on the simplex: the released ones, shrunk and projected, or equal ones
    noisy_weights: Array | None  # (n,): ridge weights as they were released, before that
    weight_sd: float  # noise of each of these, one standard deviation
    post: Series
    pre: Series | None  # where the path before treatment was paid for
    mean: Series | None = None  # of one value, the mean after treatment, where that was paid for

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
    def pre_rmse(self) -> float:
        """Root mean squared gap before treatment less its noise; NaN if not released."""
        if self.pre is None:
            return float("nan")
        excess = float(np.mean(self.pre.effect**2)) - self.pre.effect_noise.sd**2
        return float(np.sqrt(excess)) if excess > 0 else 0.0

    @property
    def _direct_share(self) -> float:
        """Weight of the mean by itself, from the released weights and public facts alone."""
        assert self.mean is not None
        path = self.post.effect_noise.mean_of(len(self.post.effect)).sd
        return path**2 / (path**2 + self.mean.effect_noise.sd**2)


def public_norm(scale: Scale, target: Array, extra: Steps | None = None) -> float:
    """Norm of a public series over the bound, with predictors on the grid already; rounded up."""
    square = squared_norm(scale.steps(target)) + squared_norm(() if extra is None else extra)
    return math.sqrt(square) / UNIT * (1 + 1e-12)


def released(
    allocation: ControlAllocation, facts: PanelFacts, frame: Frame, noise: NoiseSource
) -> tuple[UnitRelease, ...]:
    """Draw everything, the treated unit first; the caller has charged the allocation."""
    panel, scale = facts.panel, allocation.scale
    predictors, extra = facts.predictors, facts.target_extra
    donors = Donors.of(frame, panel.outcome, panel.rows, scale, panel.T0, predictors)
    if facts.target is None:
        target = series_steps(frame, panel.outcome, panel.target_rows, scale)
        if predictors:
            [extra] = predictor_steps(frame, predictors, panel.target_rows[None])
    else:
        target = scale.steps(facts.target)
    return (
        release_treated(allocation, facts, donors, target, noise, extra),
        *(release_placebo(allocation, facts, donors, j, noise) for j in allocation.form.placebos),
    )


def release_treated(
    allocation: ControlAllocation,
    facts: PanelFacts,
    donors: Donors,
    target: Steps,
    noise: NoiseSource,
    extra: Steps | None = None,
) -> UnitRelease:
    """Draw what is released of the treated unit: its series and predictors are on the grid."""
    form = allocation.form
    grid = form.grid if form.rule == "ridge" else None
    names = facts.panel.treated, facts.panel.names
    before = target[: form.T0]
    matched = before if extra is None else np.append(before, extra)
    public = None if facts.target is None else allocation.scale.public(facts.target)
    return _release(
        allocation, donors, matched, target, public, names, grid, lambda name: name, noise
    )


def release_placebo(
    allocation: ControlAllocation, facts: PanelFacts, donors: Donors, j: int, noise: NoiseSource
) -> UnitRelease:
    """Draw the placebo of donor j, whose series is as confidential as the others'."""
    others, target = donors.without(j)
    form, all_names = allocation.form, facts.panel.names
    grid = form.placebo_grid if form.rule == "ridge" else None
    names = all_names[j], all_names[:j] + all_names[j + 1 :]
    return _release(
        allocation, others, donors.matched[j], target, None, names, grid,
        lambda name: placebo_name(j, name), noise,
    )  # fmt: skip


def _release(
    allocation: ControlAllocation,
    donors: Donors,
    matched: Steps,
    target: Steps,
    public: Array | None,
    names: tuple[str, tuple[str, ...]],
    grid: RidgeGrid | None,
    part: Callable[[str], str],
    noise: NoiseSource,
) -> UnitRelease:
    form = allocation.form
    noisy, sd, weights = None, 0.0, uniform(donors.n)
    if grid is not None:
        sealed = ridge_weights(donors, matched, grid)
        found = allocation[part(WEIGHTS)].release(sealed, noise)
        noisy, sd = found.values, found.noise_sd
        weights = usable(noisy, sd)

    confidential = target if public is None else None

    def series(name: str, periods: slice) -> Series:
        query = weighted_mean if name == "mean" else weighted_series
        sealed = query(donors, weights, periods, confidential)
        # the step of the grid is known now that the weights are; the mechanism was before
        own, each = series_units(donors.scale, weights)
        law = allocation.law(part(name), own)
        units = [int(unit) for unit in allocation[part(name)].release(sealed, noise).units]
        K = sealed.size if public is not None else sealed.size // 2
        prediction = np.array([float(unit * own) for unit in units[:K]])
        if public is not None:
            known = public[periods].mean(keepdims=True) if name == "mean" else public[periods]
            return Series(prediction, known, law, PathNoise())
        values = np.array([float(unit * each) for unit in units[K:]])
        return Series(prediction, values, law, allocation.law(part(name), each))

    before, after = slice(0, form.T0), slice(form.T0, form.T)
    return UnitRelease(
        names[0], names[1], weights, noisy, sd,
        post=series("prediction", after),
        pre=series("pre_fit", before) if form.pre_fit else None,
        mean=series("mean", after) if "mean" in form.shares else None,
    )  # fmt: skip
