"""Effects of a release as the table of an experimental paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.results.itt import ITTTable
from dprct.results.tables import Column, Estimate, Row, style_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.estimate.moments.effects import EffectResults


def table_of(
    effects: EffectResults,
    outcomes: Mapping[str, str],
    arms: Mapping[str, str],
    *,
    adjust: bool,
    style: str,
    title: str,
) -> ITTTable:
    """Table with a row for every outcome and a column for every arm."""
    shape = style_named(style)
    known = {name for _, names, _ in effects.facets for name in names}
    for arm in arms:
        if arm not in known:
            raise ParameterError(
                f"``arms=`` names {arm!r}; the arms are {', '.join(sorted(known))}"
            )
    tidy, adjusted = effects.tidy(), effects.adjusted_pvalues().to_numpy()
    records, rows = [], []
    for outcome, names, places in effects.facets:
        cells: list[float | Estimate] = [float(effects.control["mean"][outcome])]
        for arm, place in zip(names, places, strict=True):
            one = tidy.iloc[place]
            cells.append(
                Estimate(one["estimate"], one["std.error"], one["p.value"], adjusted[place])
            )
            records.append(
                {
                    "covariates": "",
                    "outcome": outcome,
                    "arm": arm,
                    "control_mean": cells[0],
                    "estimate": one["estimate"],
                    "std.error": one["std.error"],
                    "statistic": one["statistic"],
                    "df": np.inf,
                    "p.value": one["p.value"],
                    "p.adjusted": adjusted[place],
                    "family": "all",
                    "family_size": len(tidy),
                    "nobs": effects.nobs,
                    "rank": len(names) + 1,
                    "n_groups": np.nan,
                    "std.error.noise": one["std.error.noise"],
                }
            )
        rows.append(Row(outcome, outcomes[outcome], tuple(cells)))
    columns = (Column("control_mean", "Control mean"), *(Column(a, b) for a, b in arms.items()))
    return ITTTable(
        columns=columns,
        rows=tuple(rows),
        title=title,
        corner="Outcome",
        parts=(
            ("estimate", "ITT"),
            ("std.error", "Std. Err"),
            ("p.adjusted", "Adj. p-value") if adjust else ("p.value", "p-value"),
        ),
        style=shape,
        notes=(
            "Differences in means from released moments; errors contain the noise of the release."
            + (" p-values: family-wise, step-down, largest t." if adjust else ""),
            *effects.notes,
            *str(effects.guarantee).splitlines(),
        ),
        estimates=pd.DataFrame(records),
        guarantee=effects.guarantee,
    )
