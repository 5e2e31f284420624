"""From released numbers to a table of effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.estimate.contrasts import arm_contrasts
from dprct.estimate.results import PrivateATEResults
from dprct.estimate.tabulation import tabulated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.index import Index
    from dprct.estimate.mechanism import Released
    from dprct.privacy.guarantee import Guarantee

TITLE = "Private average treatment effects"


def results_of(
    outcomes: Sequence[AnyOutcome],
    found: Sequence[Released],
    arms: Sequence[str],
    contrasts: Sequence[Contrast],
    levels: tuple[float, ...],
    guarantee: Guarantee,
    ledger: str,
    n: int,
    *,
    indexes: Mapping[str, Index] | None = None,
) -> PrivateATEResults:
    """Return the results object: post-processing of what was released."""
    outcome_names = tuple(outcome.column.name for outcome in outcomes)
    control = pd.DataFrame(
        {
            "mean": [one.control for one in found],
            "noise": [np.sqrt(2) * one.control_scale for one in found],
        },
        index=pd.Index(outcome_names, dtype=object),
    )
    found = [one.contrasted(contrasts) for one in found]
    means = tuple(one.means for one in found)
    table = tabulated(outcome_names, [one.effects for one in found], means, contrasts, levels)
    return PrivateATEResults(
        **table,
        df_inference=float("inf"),
        df_resid=float("inf"),
        nobs=n,
        cov_type="private",
        guarantee=guarantee,
        outcome=", ".join(outcome_names),
        formula=f"{' + '.join(outcome_names)} ~ {' + '.join(arms[1:])}",
        title=TITLE,
        notes=_notes(outcomes, found, _compared(arms, contrasts), arms[0], indexes or {}),
        levels=levels,
        control=control,
        ledger=ledger,
        arms=tuple(arms),
        outcomes=outcome_names,
        means=means,
    )


def _compared(arms: Sequence[str], contrasts: Sequence[Contrast]) -> str:
    if tuple(contrasts) == arm_contrasts(arms):
        return f"difference from {arms[0]}"
    return "factorial effect, all combinations of the other factors weighing the same,"


def _notes(
    outcomes: Sequence[AnyOutcome],
    found: Sequence[Released],
    compared: str,
    control: str,
    indexes: Mapping[str, Index],
) -> tuple[str, ...]:
    notes = []
    for outcome, one in zip(outcomes, found, strict=True):
        bounds = outcome.column.bounds
        assert bounds is not None
        among = ", among those with a value" if outcome.among_observed else ""
        filled = "" if outcome.fill is None else f", missing values being {outcome.fill:g}"
        name = outcome.column.name
        index = indexes.get(name)
        what = name if index is None else f"{name} less its index"
        notes.append(
            f"Estimand: {compared} in the mean of {what} clipped to "
            f"[{bounds[0]:g}, {bounds[1]:g}]{among}{filled}; {control} mean {one.control:.4g} "
            f"(noise sd {np.sqrt(2) * one.control_scale:.2g})."
        )
        notes += [] if index is None else [f"Index of {name}: {index.said(name)}."]
        notes += outcome.remarks(one)
    return (*notes, "Errors and intervals contain sampling and privacy noise.")
