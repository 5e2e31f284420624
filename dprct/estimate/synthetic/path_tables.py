"""The tables of a private synthetic control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.results import render

if TYPE_CHECKING:
    from dprct.estimate.synthetic.draws import UnitRelease
    from dprct.estimate.synthetic.path_results import SyntheticControlResults

RECORD = "one donor's whole series; a donor may be a state, not a person"

_NOTES = (
    "The ends are of privacy noise alone: they cover the path of the released weights without "
    "noise. They do not cover the error of these weights, nor chance in the outcomes; the effect "
    "has no standard error here.",
)

_DIRECT = (
    "The mean effect was released by itself too: it is more precise than the mean of the rows.",
)

_HEADS = {
    "observed": "observed",
    "counterfactual": "synthetic",
    "estimate": "effect",
    "std.error.noise": "noise sd",
}


def tidy(result: SyntheticControlResults, alpha: float) -> pd.DataFrame:
    """Return one row per released period, with the band of its noise.

    Parameters
    ----------
    result : SyntheticControlResults
    alpha : float
    """
    parts = [(result.released.post, "post", slice(result.T0, None))]
    if result.released.pre is not None:
        parts.insert(0, (result.released.pre, "pre", slice(0, result.T0)))
    tables = []
    for series, name, periods in parts:
        half = series.effect_noise.half_width(alpha)
        tables.append(
            pd.DataFrame(
                {
                    "time": result.times[periods],
                    "period": name,
                    "observed": series.target,
                    "counterfactual": series.prediction,
                    "estimate": series.effect,
                    "std.error.noise": series.effect_noise.sd,
                    "noise.low": series.effect - half,
                    "noise.high": series.effect + half,
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def placebos(result: SyntheticControlResults) -> pd.DataFrame:
    """Return one row per unit, the treated one first."""
    units = (result.released, *result.placebos)
    return pd.DataFrame(
        {
            "unit": [one.unit for one in units],
            "placebo": [False] + [True] * len(result.placebos),
            "att": [one.att for one in units],
            "std.error.noise": [one.att_noise.sd for one in units],
            "pre.rmse": [pre_rmse(one) for one in units],
        }
    )


def sheet(result: SyntheticControlResults, alpha: float) -> render.Sheet:
    """Return the effect by period and its mean, ready to be written in any format.

    Parameters
    ----------
    result : SyntheticControlResults
    alpha : float
    """
    heads = _HEADS | {"noise.low": f"[{alpha / 2:.4g}", "noise.high": f"{1 - alpha / 2:.4g}]"}
    columns = [render.Column(k, h, lambda v: render.number(v, 3)) for k, h in heads.items()]
    numbers = {
        f"{row['time']:g}": {k: float(row[k]) for k in heads}
        for _, row in tidy(result, alpha).iterrows()
    }
    low, high = result.att_interval(alpha)
    att = [np.nan, np.nan, result.att, result.att_noise.sd, low, high]
    numbers["mean effect"] = dict(zip(heads, att, strict=True))
    return render.Sheet(
        title="Private synthetic control",
        facts=_facts(result),
        headings=tuple(heads.values()),
        rows=render.rows_of(numbers, columns, list(numbers)),
        notes=(
            *_NOTES,
            *(_DIRECT if result.released.mean else ()),
            *str(result.guarantee).splitlines(),
        ),
    )


def pre_rmse(one: UnitRelease) -> float:
    """Return the root mean squared gap before treatment less its noise; NaN if not released."""
    if one.pre is None:
        return float("nan")
    excess = float(np.mean(one.pre.effect**2)) - one.pre.effect_noise.sd**2
    return float(np.sqrt(excess)) if excess > 0 else 0.0


def _facts(result: SyntheticControlResults) -> tuple[tuple[str, str], ...]:
    rule = "equal" if result.rule == "uniform" else f"ridge, lambda {result.lam:g}"
    return (
        ("One record", RECORD),
        ("Treated unit", result.released.unit),
        ("Outcome", result.outcome),
        ("Donors", f"{len(result.released.donors):,}"),
        ("Periods before", f"{result.T0:,}"),
        ("Periods after", f"{len(result.times) - result.T0:,}"),
        ("Weights", rule),
    )
