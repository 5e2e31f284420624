"""Our numbers beside the printed ones, in one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from dprct.custodian.tables import ci_overlap
from papers.rct import liberia
from papers.rct.printed import Asked, as_printed, asked, number_in, printed, records
from papers.rct.simulated import TRUE_EFFECT
from papers.rct.specification import intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    _Effect = tuple[str, str, str]

RUN = 20
"""Releases that Tables 1, 3 and 4 average."""

MEASURES = ("itt", "se", "p", "overlap", "difference")
ONE_NUMBER = ["ours", "low", "high", "share"]
_INDEX = "fam_asb_lt"


def measures(
    effects: pd.DataFrame, confidential: pd.DataFrame, truth: float | None
) -> pd.DataFrame:
    """Return what section 4.1 measures of every effect of every release.

    Parameters
    ----------
    effects : DataFrame
        ``draw``, ``outcome``, ``arm``, ``estimate``, ``se``, ``df``.
    confidential : DataFrame
        The same without ``draw``, of the confidential data.
    truth : float or None
        From which differences are taken; None: from the confidential estimate.

    Returns
    -------
    DataFrame
        ``draw``, ``outcome``, ``arm``, ``itt``, ``se``, ``p``, ``overlap``, ``difference``.
    """
    both = effects.merge(confidential, on=["outcome", "arm"], suffixes=("", ".c"), validate="m:1")
    low, high = intervals(both)
    kept = both[["estimate.c", "se.c", "df.c"]].set_axis(["estimate", "se", "df"], axis=1)
    found = both[["draw", "outcome", "arm"]].assign(itt=both["estimate"], se=both["se"])
    found["p"] = adjusted_p(both["estimate"] / both["se"], both["outcome"])
    found["overlap"] = ci_overlap(*intervals(kept), low, high)
    found["difference"] = (
        both["estimate"] - (both["estimate.c"] if truth is None else truth)
    ).abs()
    return found


def adjusted_p(t: pd.Series[float], outcome: pd.Series[str]) -> pd.Series[float]:
    """Return the paper's p-values: one-sided normal, Bonferroni with 3 or 21 comparisons."""
    comparisons = np.where(outcome == _INDEX, 3, 21)
    return pd.Series(np.minimum(1.0, comparisons * special.ndtr(-np.abs(t))), index=t.index)


def averages(found: pd.DataFrame) -> pd.DataFrame:
    """Return, per measure, the mean over runs of 20 releases, and the extremes of the runs.

    Parameters
    ----------
    found : DataFrame
        See :func:`measures`, of one effect.

    Returns
    -------
    DataFrame
        Index ``tau`` and ``overlap`` (means of a run), ``difference`` (its median); columns
        ``ours``, ``low``, ``high``, ``share``: of the runs below nothing is printed, so NaN.
    """
    runs = found.assign(run=found["draw"] // RUN)
    if runs["run"].nunique() > 1:
        whole = runs.groupby("run")["draw"].transform("size") == RUN
        runs = runs[whole]
    by = runs.groupby("run")
    of_run = pd.DataFrame(
        {
            "tau": by["itt"].mean(),
            "overlap": by["overlap"].mean(),
            "difference": by["difference"].median(),
        }
    )
    return pd.DataFrame(
        {"ours": of_run.mean(), "low": of_run.min(), "high": of_run.max(), "share": np.nan}
    )


def distribution(values: Array, mark: float, decimals: int) -> tuple[float, float, float, float]:
    """Return median, 5 % and 95 % quantile, and the share of values below a printed one.

    Parameters
    ----------
    values : (draws,) array
    mark : float
        The printed number.
    decimals : int
        Of the page; values are rounded to them before they are compared, ties count half.

    Examples
    --------
    >>> distribution(np.array([0.1, 0.2, 0.301, 0.4]), 0.3, 1)[3]
    0.625
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return (np.nan,) * 4
    rounded = np.round(values, decimals)
    tied = np.isclose(rounded, mark, atol=0.1 * 10.0**-decimals, rtol=0)
    share = float(((rounded < mark) & ~tied).mean() + tied.mean() / 2)
    low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
    return float(middle), float(low), float(high), share


def compared_averages(
    table: int, effects: Mapping[Asked, pd.DataFrame], confidential: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return Table 1, 3 or 4 number by number.

    Parameters
    ----------
    table : int
    effects : mapping of Asked to DataFrame
        What was drawn.
    confidential : mapping of model to DataFrame
        Effects on the confidential data.

    Returns
    -------
    DataFrame
        Those of ``printed`` with ``ours``, ``low``, ``high`` and ``share``, NaN where a method was
        not drawn, and ``runs``, whole ones of 20 releases.
    """
    page = printed(table)
    found: dict[tuple[str, str], pd.DataFrame] = {}
    runs = min((drawn["draw"].nunique() // RUN for drawn in effects.values()), default=0)
    for row, method in dict.fromkeys(zip(page["row"], page["method"], strict=True)):
        wanted = asked(table, "", row, method)
        model = row if wanted is None else wanted.model
        own = confidential[model]
        if wanted is None:
            found[row, method] = averages(measures(own.assign(draw=0), own, TRUE_EFFECT))
        elif wanted in effects:
            found[row, method] = averages(measures(effects[wanted], own, TRUE_EFFECT))
    nothing = pd.Series(np.nan, index=ONE_NUMBER)
    keys = zip(page["row"], page["method"], page["measure"], strict=True)
    ours = [found[r, m].loc[measure] if (r, m) in found else nothing for r, m, measure in keys]
    both = pd.concat([page, pd.DataFrame(ours)[ONE_NUMBER].reset_index(drop=True)], axis=1)
    return both.assign(runs=runs)


def compared_distributions(
    table: int, effects: Mapping[Asked, pd.DataFrame], confidential: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one of Tables 6 and 13 to 18 number by number; see :func:`compared_averages`."""
    page = printed(table)
    found: dict[Asked | str, dict[_Effect, Array]] = {}
    for panel in dict.fromkeys(page["panel"]):
        own = confidential[panel]
        found[panel] = _by_effect(measures(own.assign(draw=0), own, None))
        for one_of, drawn in effects.items():
            if one_of.model == panel:
                found[one_of] = _by_effect(measures(drawn, own, None))
    ours = []
    for number in records(page):
        wanted = asked(table, number["panel"], number["row"], number["method"])
        draws = found.get(number["panel"] if wanted is None else wanted, {})
        values = draws.get((number["row"], number["arm"], number["measure"]), np.empty(0))
        one = distribution(values, number["value"], number["decimals"])
        ours.append((*one[:3], np.nan) if wanted is None else one)
    return pd.concat([page, pd.DataFrame(ours, columns=ONE_NUMBER)], axis=1)


def _by_effect(found: pd.DataFrame) -> dict[_Effect, Array]:
    """Return the draws of every measure of every effect."""
    return {
        (str(outcome), str(arm), name): group[name].to_numpy(np.float64)
        for (outcome, arm), group in found.groupby(["outcome", "arm"], sort=False)
        for name in MEASURES
    }


def compared_regressions(table: int, data: pd.DataFrame) -> pd.DataFrame:
    """Return Table 11 or 12 number by number.

    Parameters
    ----------
    table : {11, 12}
    data : DataFrame
        The experiment of Liberia.

    Returns
    -------
    DataFrame
        Those of ``printed`` with ``ours`` and ``same``, whether both have the same digits.
    """
    from dprct.results.itt import itt_table

    sets = liberia.covariate_sets([str(name) for name in data.columns])
    made = itt_table(
        data,
        outcomes=liberia.OUTCOMES,
        arms=liberia.ARMS,
        covariates=sets if table == 12 else sets["Full Baseline"],
        blocks=liberia.BLOCKS,
        alternative="one-sided",
        distribution="normal",
        adjust="bonferroni",
        families={"index": [_INDEX], "components": liberia.OUTCOMES[1:]},
        family_sizes={"index": 9} if table == 11 else None,
    ).estimates
    by = {(row["covariates"], row["outcome"], row["arm"]): row for row in records(made)}
    name = {"itt": "estimate", "se": "std.error", "p": "p.adjusted", "control_mean": "control_mean"}
    page = printed(table)
    first = next(iter(liberia.ARMS))
    page["ours"] = [
        float(by[n["panel"], n["row"], n["arm"] or first][name[n["measure"]]])
        for n in records(page)
    ]
    cells = zip(page["ours"], page["decimals"], page["printed"], strict=True)
    page["same"] = [as_printed(v, d) == number_in(text) for v, d, text in cells]
    return page
