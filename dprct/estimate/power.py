"""What private effects can show, as numbers: a table that plans and people can use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.estimate.planning import detectable, expected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.effects import NoisyEffect

COLUMNS = (
    "std_err", "noise", "sampling", "detectable", "std_err_half", "std_err_double",
    "detectable_half", "detectable_double", "equal_epsilon", "sd", "usable",
)  # fmt: skip
"""Columns of :func:`power_table`."""


def power_table(
    outcomes: Sequence[AnyOutcome],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sds: Mapping[str, float],
    levels: Sequence[float],
) -> pd.DataFrame:
    """Return what every effect can be expected to show; a function of public facts.

    Parameters
    ----------
    outcomes : sequence of Outcome
    contrasts : sequence of Contrast
    epsilon : Fraction
        Of all outcomes together.
    sds : mapping from outcome to number
        Declared standard deviations; half the width of the bounds where there is none.
    levels : sequence of float
        Sizes of tests at which errors are to be valid; power is for the first.

    Returns
    -------
    DataFrame
        One row per outcome and effect.  ``noise`` and ``sampling`` are standard deviations,
        ``detectable`` the effect that is found with 80 % power, ``_half`` and ``_double`` the same
        at half and double epsilon, ``equal_epsilon`` where noise equals sampling; ``usable`` says
        whether ``detectable`` is at most one standard deviation of the outcome.
    """
    records, index = [], []
    for outcome in outcomes:
        name = outcome.column.name
        sd = sds.get(name)
        at = [expected(outcome, e, sd, contrasts) for e in (epsilon, epsilon / 2, epsilon * 2)]
        spread = float(outcome.width) / 2 if sd is None else sd
        for contrast, now, half, double in zip(contrasts, *at, strict=True):
            records.append(_record(float(epsilon), spread, levels, now, half, double))
            index.append((name, contrast.name))
    names = pd.MultiIndex.from_tuples(index, names=["outcome", "effect"])
    return pd.DataFrame(records, index=names, columns=list(COLUMNS))


def _record(
    epsilon: float,
    sd: float,
    levels: Sequence[float],
    now: NoisyEffect,
    half: NoisyEffect,
    double: NoisyEffect,
) -> tuple[float | bool, ...]:
    sampling = math.sqrt(math.fsum(part.value for part in now.variances))
    found = detectable(now, levels[0])
    return (
        now.standard_error(levels),
        now.noise_sd,
        sampling,
        found,
        half.standard_error(levels),
        double.standard_error(levels),
        detectable(half, levels[0]),
        detectable(double, levels[0]),
        epsilon * now.noise_sd / sampling if sampling else np.inf,
        sd,
        found <= sd,
    )
