"""Indices of outcomes: the mean effect in standard deviations, from released moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.effects import Combinations, EffectResults, tabulated
from dprct.results.joint import positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

LEAST_VARIANCE = 4.0
"""A released control variance divides where it is so many standard deviations of its noise."""


def index_of(
    effects: EffectResults,
    outcomes: Sequence[str],
    *,
    scales: Mapping[str, float] | None = None,
    control: int = 0,
    signs: Mapping[str, int] | None = None,
    name: str = "index",
) -> EffectResults:
    """Return the effect of every contrast on the mean of outcomes in units of their scales.

    Scales are public standard deviations, by default the released ones of the ``control`` cell.  A
    sign of -1 is for outcomes of which less is better.

    Notes
    -----
    With released scales the error of tau / sd has the further part -tau / (2 sd^3) times the error
    of the variance, whose variance is that of its noise and, for normal outcomes,
    2 cov^2 / (n - 1) of sampling.

    References
    ----------
    Kling, Liebman and Katz (2007), Econometrica 75, equation 1.
    """
    panels = {outcome: (names, places) for outcome, names, places in effects.facets}
    signs = {} if signs is None else signs
    _check(outcomes, panels, signs, scales)
    contrasts = panels[outcomes[0]][0]
    J, k = len(outcomes), len(contrasts)
    sign = np.array([float(signs.get(outcome, 1)) for outcome in outcomes])
    given = effects.combinations
    extra = np.zeros((k, k))
    if scales is not None:
        sd = np.array([float(scales[outcome]) for outcome in outcomes])
        said = "public scales"
    else:
        variances, error = _control_variances(effects, outcomes, control)
        sd = np.sqrt(variances)
        values = effects.params.to_numpy()
        tau = np.array([values[list(panels[outcome][1])] for outcome in outcomes])  # (J, k)
        slopes = -(sign / (2 * J * variances**1.5))[:, None] * tau
        extra = slopes.T @ error @ slopes
        said = "released standard deviations of the control group"
    L = np.zeros((k, len(effects.params)))
    for j, outcome in enumerate(outcomes):
        for i, place in enumerate(panels[outcome][1]):
            L[i, place] = sign[j] / sd[j] / J
    moved = given.transformed(L)
    moved = Combinations(moved.cells, moved.weights, moved.offsets, moved.extra + extra)
    return tabulated(
        moved,
        contrasts,
        ((name, contrasts, tuple(range(k))),),
        like=effects,
        outcome=name,
        title=f"{effects.title}: {name} of {J} outcomes",
        notes=(*effects.notes, f"Index: mean over {', '.join(outcomes)}, each over its {said}."),
    )


def _check(
    outcomes: Sequence[str],
    panels: Mapping[str, Any],
    signs: Mapping[str, int],
    scales: Mapping[str, float] | None,
) -> None:
    if not outcomes or len(set(outcomes)) < len(outcomes):
        raise ParameterError("an index needs at least one outcome, and each one once")
    for outcome in (*outcomes, *signs, *(() if scales is None else scales)):
        if outcome not in panels:
            raise ParameterError(
                f"{outcome!r} is not an outcome of these effects; they are {', '.join(panels)}"
            )
    if any(sign not in (1, -1) for sign in signs.values()):
        raise ParameterError("``signs=`` of an index are 1 or -1; -1 where less is better")
    if scales is not None:
        for outcome in outcomes:
            value = scales.get(outcome)
            if value is None or not (math.isfinite(value) and value > 0):
                raise ParameterError(
                    f"``scales=`` needs a public standard deviation above 0 for {outcome!r}"
                )


def _control_variances(
    effects: EffectResults, outcomes: Sequence[str], control: int
) -> tuple[Array, Array]:
    """Return released variances of the control cell, (J,), and the covariance of their errors."""
    cell = effects.combinations.cells[control]
    at = np.array([effects.columns.index(outcome) for outcome in outcomes], np.intp)
    unit = effects.units[control, at]
    covariance = cell.rows * cell.sampling[np.ix_(at, at)] * np.outer(unit, unit)
    noise = cell.rows * cell.spread * unit**2
    variances = np.diag(covariance)
    low = [
        outcome
        for outcome, v, s in zip(outcomes, variances, noise, strict=True)
        if not (cell.usable and v > LEAST_VARIANCE * s and v > 0)
    ]
    if low:
        raise ParameterError(
            f"the released control variance of {low[0]!r} is below {LEAST_VARIANCE:g} standard "
            "deviations of its noise; give public ``scales=`` instead"
        )
    error = 2 * positive(covariance) ** 2 / (cell.rows - 1) + np.diag(noise**2)
    return variances, error
