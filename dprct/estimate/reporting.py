"""From released numbers to a table of effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.estimate.results import PrivateATEResults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.mechanism import Outcome, Released
    from dprct.privacy.guarantee import Guarantee

TITLE = "Private average treatment effects"


def results_of(
    outcomes: Sequence[Outcome],
    found: Sequence[Released],
    arms: Sequence[str],
    levels: tuple[float, ...],
    guarantee: Guarantee,
    ledger: str,
    n: int,
) -> PrivateATEResults:
    """Return the results object: post-processing of what was released."""
    outcome_names = [outcome.column.name for outcome in outcomes]
    several = len(outcomes) > 1
    names = [
        f"{outcome}: {arm}" if several else arm for outcome in outcome_names for arm in arms[1:]
    ]
    effects = tuple(effect for one in found for effect in one.effects)
    index = pd.Index(names, dtype=object)
    control = pd.DataFrame(
        {
            "mean": [one.control for one in found],
            "noise": [np.sqrt(2) * one.control_scale for one in found],
        },
        index=pd.Index(outcome_names, dtype=object),
    )
    return PrivateATEResults(
        params=pd.Series([effect.value for effect in effects], index=index),
        cov=pd.DataFrame(_covariance(found, levels), index=index, columns=index),
        df_inference=float("inf"),
        df_resid=float("inf"),
        nobs=n,
        cov_type="private",
        guarantee=guarantee,
        outcome=", ".join(outcome_names),
        formula=f"{' + '.join(outcome_names)} ~ {' + '.join(arms[1:])}",
        title=TITLE,
        bse_noise=pd.Series([effect.noise_sd for effect in effects], index=index),
        notes=_notes(outcomes, found, arms),
        effects=effects,
        levels=levels,
        control=control,
        ledger=ledger,
    )


def _covariance(found: Sequence[Released], levels: Sequence[float]) -> NDArray[np.float64]:
    """Return se^2 on the diagonal, V~_0 + 2 b_0^2 between arms, NaN between outcomes."""
    sizes = [len(one.effects) for one in found]
    cov = np.full((sum(sizes), sum(sizes)), np.nan)
    start = 0
    for one in found:
        here = slice(start, start + len(one.effects))
        if len(one.effects) > 1:
            shared = one.effects[0]
            cov[here, here] = shared.variances[1].at(levels[0]) + 2 * shared.scales[1] ** 2
        start = here.stop
    errors = [effect.standard_error(levels) for one in found for effect in one.effects]
    np.fill_diagonal(cov, np.square(errors))
    return cov


def _notes(
    outcomes: Sequence[Outcome], found: Sequence[Released], arms: Sequence[str]
) -> tuple[str, ...]:
    notes = []
    for outcome, one in zip(outcomes, found, strict=True):
        bounds = outcome.column.bounds
        assert bounds is not None
        among = ", among those with a value" if outcome.among_observed else ""
        filled = "" if outcome.fill is None else f", missing values being {outcome.fill:g}"
        notes.append(
            f"Estimand: difference from {arms[0]} in the mean of {outcome.column.name} clipped to "
            f"[{bounds[0]:g}, {bounds[1]:g}]{among}{filled}; {arms[0]} mean {one.control:.4g} "
            f"(noise sd {np.sqrt(2) * one.control_scale:.2g})."
        )
    return (*notes, "Errors and intervals contain sampling and privacy noise.")
