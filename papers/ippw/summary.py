"""Error and wrong signs by study, set-up and epsilon; and the paper's printed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.ippw.cells import title_of
from papers.ippw.setups import SETUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PRINTED: Mapping[str, pd.DataFrame] = {
    "ihdp": pd.DataFrame(
        {
            "mean partial": [-237487.30, 32.34, 8.37, 5.22, 5.31],
            "mean": [-237477.13, 32.20, 8.50, 5.09, 5.40],
            "wrong sign, partial": [0.515, 0.425, 0.344, 0.287, 0.229],
            "wrong sign": [0.517, 0.425, 0.347, 0.301, 0.228],
        }
    ),
    "lalonde": pd.DataFrame(
        {
            "mean partial": [872.21, 899.15, 895.26, 906.70, 904.17],
            "mean": [876.83, 897.75, 893.37, 903.95, 900.25],
            "wrong sign, partial": [0.143, 0.072, 0.049, 0.027, 0.035],
            "wrong sign": [0.154, 0.071, 0.05, 0.039, 0.034],
        }
    ),
}
"""Tables 2 and 3, columns in order of epsilon, whose values are lost in the text at hand."""


def measured(rows: pd.DataFrame) -> dict[str, float]:
    """Return what the draws of one set-up at one epsilon say.

    Returns
    -------
    dict
        ``mean``, ``median``, ``bias``, ``rmse`` and ``median_error`` (of the absolute error)
        against the truth; ``wrong_sign``; ``wrong_sign_partial`` and ``differs`` (sign of the
        partial and of the whole against the estimate without noise); ``mean_partial``, ``own``;
        ``none``: share of draws that release no effect, which are left out of all others;
        ``copies``, the mean of the largest number of copies of one person.

    Examples
    --------
    >>> rows = pd.DataFrame({"estimate": [1.0, -3.0], "truth": 1.0, "own": 2.0, "partial": 1.0})
    >>> found = measured(rows.assign(copies=1))
    >>> found["bias"], found["wrong_sign"], found["median_error"]
    (-2.0, 0.5, 2.0)
    """
    there = rows[rows["estimate"].notna()]
    error = there["estimate"] - there["truth"]
    # explosions beyond 1e150 would overflow when squared
    squared = float(np.square(error.clip(-1e150, 1e150)).mean())
    return {
        "draws": float(len(rows)),
        "mean": float(there["estimate"].mean()),
        "median": float(there["estimate"].median()),
        "bias": float(error.mean()),
        "rmse": float(np.sqrt(squared)),
        "median_error": float(error.abs().median()),
        "wrong_sign": _apart(there["estimate"], there["truth"]),
        "differs": _apart(there["estimate"], there["own"]),
        "mean_partial": float(there["partial"].mean()),
        "wrong_sign_partial": _apart(there["partial"], there["own"]),
        "own": float(there["own"].mean()),
        "none": 1 - len(there) / len(rows),
        "copies": float(rows["copies"].mean()),
    }


def summarised(found: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return one row per study, set-up and epsilon.

    Parameters
    ----------
    found : mapping from (study, set-up) to draws
    """
    rows = [
        {"study": study, "setup": setup, "title": title_of(setup), "epsilon": epsilon}
        | measured(part)
        | {"guarantee": promise(setup)}
        for (study, setup), draws in found.items()
        for epsilon, part in draws.groupby("epsilon")
    ]
    return pd.DataFrame(rows)


def promise(setup: str) -> str:
    """Return what a set-up keeps of the epsilon it names.

    Examples
    --------
    >>> promise("strict")
    '(epsilon, delta)'
    """
    one = SETUPS.get(setup)
    if one is None or one.mended:
        return "(epsilon, delta)"
    reasons = ["propensities that are not trimmed"]
    if one.sample_norm:
        reasons.append("a norm taken from the sample")
    if one.resampled:
        reasons.append("people in several copies")
    return "none: " + ", ".join(reasons)


def epsilon_of(wanted: float, epsilons: Sequence[float], shares: Sequence[float]) -> float:
    """Return the epsilon at which wrong signs are as frequent as wanted; NaN outside the range.

    Notes
    -----
    Interpolated in the logarithm of epsilon, along shares that are first made to fall.

    Examples
    --------
    >>> round(epsilon_of(0.3, [1.0, 4.0], [0.4, 0.2]), 6)
    2.0
    """
    falling = np.minimum.accumulate(np.asarray(shares, float))
    if not falling[-1] <= wanted <= falling[0]:
        return float("nan")
    return float(np.exp(np.interp(-wanted, -falling, np.log(np.asarray(epsilons, float)))))


def _apart(first: pd.Series[float], second: pd.Series[float]) -> float:
    """Return how often two signs differ, among rows that have both."""
    both = first.notna() & second.notna()
    if not both.any():
        return float("nan")
    return float((np.sign(first[both]) != np.sign(second[both])).mean())
