"""Effects of cells of made-up moments, each cell being an arm, or an arm in a block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.estimate.contrasts import Contrast
from dprct.estimate.moments.effects import (
    Combinations,
    EffectResults,
    Unit,
    arm_means,
    effects_of,
    means_of,
    spread_within,
)
from dprct.privacy.budget import Guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.moments.noisy import NoisyMoments

NONE = Guarantee.none("these are made-up rows")


def selected(cell: NoisyMoments, names: Sequence[str]) -> NoisyMoments:
    """Return the moments of some of the columns, in the order asked for."""
    at = [cell.names.index(name) for name in names]
    each = {key: getattr(cell, key)[at] for key in ("totals", "centre", "scale", "weight")}
    return replace(cell, names=tuple(names), cross=cell.cross[np.ix_(at, at)], **each)


def means_of_cells(
    cells: Sequence[NoisyMoments], outcomes: Sequence[str], shares: np.ndarray | None = None
) -> tuple[Combinations, list[float]]:
    """Return means of arms, outcomes first, and spreads of the control group."""
    first, means = cells[0], [means_of(cell) for cell in cells]
    units = [Unit(j, float(first.centre[j]), float(first.scale[j]), float(first.weight[j]))
             for j in map(first.names.index, outcomes)]  # fmt: skip
    if shares is None:
        shares = np.tile(np.eye(len(cells)), (len(units), 1, 1))
    sd = [spread_within(means, unit, shares[j, 0]) for j, unit in enumerate(units)]
    return arm_means(means, units, shares), sd


def effects_of_cells(
    cells: Sequence[NoisyMoments],
    outcomes: Sequence[str],
    contrasts: Mapping[str, Sequence[float]],
    shares: np.ndarray | None = None,
) -> EffectResults:
    """Return contrasts of arms, one to a cell unless ``shares`` say what cells weigh in arms."""
    means, sd = means_of_cells(cells, outcomes, shares)
    asked: list[Any] = [Contrast(name, tuple(w)) for name, w in contrasts.items()]
    arms = [f"arm {a}" for a in range(len(means.weights) // len(outcomes))]
    return effects_of(
        means, outcomes, asked, arms, sd, guarantee=NONE, nobs=0, df_resid=0.0,
        units=np.array([cell.scale / cell.weight for cell in cells]), columns=cells[0].names,
    )  # fmt: skip
