"""Effects of a release as the table of an experimental paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.results.itt import ITTTable, laid_out
from dprct.results.tables import style_named

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
    for name in arms:
        if name not in known:
            raise ParameterError(
                f"``arms=`` names {name!r}; the arms are {', '.join(sorted(known))}"
            )
    cells = [(y, arm, len(names) + 1) for y, names, _ in effects.facets for arm in names]
    of, arm, rank = zip(*cells, strict=True)
    tidy, mean = effects.tidy(), effects.control["mean"]
    estimates = pd.DataFrame({
        "covariates": "", "outcome": of, "arm": arm, "control_mean": mean[[*of]].array,
        **{name: tidy[name] for name in ("estimate", "std.error", "statistic")}, "df": np.inf,
        "p.value": tidy["p.value"], "p.adjusted": effects.adjusted_pvalues().to_numpy(),
        "family": "all", "family_size": len(tidy), "nobs": effects.nobs, "rank": rank,
        "n_groups": np.nan, "std.error.noise": tidy["std.error.noise"],
    })  # fmt: skip
    adjusted = "all" if adjust else None
    columns, rows, parts = laid_out(estimates, outcomes, arms, adjusted, absent=set())
    return ITTTable(
        columns=columns,
        rows=rows,
        title=title,
        corner="Outcome",
        parts=parts,
        style=shape,
        notes=(
            "Differences in means from released moments; errors contain the noise of the release."
            + (" p-values: family-wise, step-down, largest t." if adjust else ""),
            *effects.notes,
            *str(effects.guarantee).splitlines(),
        ),
        estimates=estimates,
        guarantee=effects.guarantee,
    )
