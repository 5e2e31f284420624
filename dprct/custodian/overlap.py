"""How much of a conclusion survives: overlap of intervals and differences of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

KEYS = ["covariates", "outcome", "arm"]
NUMBERS = ["estimate", "std.error", "conf.low", "conf.high"]
_TYPES = dict.fromkeys(KEYS, object) | dict.fromkeys(NUMBERS, np.float64)


def ci_overlap(
    low: ArrayLike, high: ArrayLike, low_released: ArrayLike, high_released: ArrayLike
) -> NDArray[np.float64]:
    """Return the overlap of confidence intervals.

    Parameters
    ----------
    low, high : (m,) arrays
        Ends of the confidential intervals (L, U).
    low_released, high_released : (m,) arrays
        Ends of the released ones (L~, U~).

    Returns
    -------
    (m,) array
        Mean of the shares of each interval that lies in the other: 1 where they are the same, 0
        where they are disjoint or touch, NaN where an end is NaN.

    Notes
    -----
    An interval inside another that is k times as wide scores (1 + 1/k) / 2, at least one half:
    the measure punishes a released interval for being too wide far less than for being elsewhere.

    References
    ----------
    Karr et al. (2006), The American Statistician 60, doi:10.1198/000313006X124640; "Assessing
    Utility of Differential Privacy for RCTs", equation (5).

    Examples
    --------
    >>> ci_overlap([0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [1.0, 0.0, 3.0], [5.0, 2.0, 4.0]).tolist()
    [0.375, 1.0, 0.0]
    """
    a, b = np.asarray(low, np.float64), np.asarray(high, np.float64)
    c, d = np.asarray(low_released, np.float64), np.asarray(high_released, np.float64)
    shared = np.minimum(b, d) - np.maximum(a, c)
    meets = shared > 0
    width, width_released = (np.where(meets, w, 1.0) for w in (b - a, d - c))
    overlap = np.where(meets, (shared / width + shared / width_released) / 2, 0.0)
    return np.where(np.isnan(a + b + c + d), np.nan, np.clip(overlap, 0.0, 1.0))


def compared(
    confidential: pd.DataFrame, released: Mapping[tuple[str, int], pd.DataFrame]
) -> pd.DataFrame:
    """Return both sides of each effect in one row, with overlap and differences.

    Parameters
    ----------
    confidential : DataFrame
        One row per ``covariates``, ``outcome`` and ``arm`` with ``estimate``, ``std.error``,
        ``conf.low`` and ``conf.high``.
    released : mapping of (method, draw) to DataFrame
        The same of each release.

    Returns
    -------
    DataFrame
        The confidential rows in their order, for every method and draw; released numbers begin
        with ``released.`` and are NaN where the release has no such effect.  ``difference`` is
        released less confidential.
    """
    named = {name: f"released.{name}" for name in NUMBERS}
    draw = ["method", "draw"]
    right = pd.concat(
        {key: frame[[*KEYS, *NUMBERS]].astype(_TYPES) for key, frame in released.items()},
        names=draw,
    )
    every = pd.DataFrame(list(released), columns=draw)
    left = every.merge(confidential[[*KEYS, *NUMBERS]], how="cross")
    right = right.rename(columns=named).reset_index(level=draw)
    both = left.merge(right, on=[*draw, *KEYS], how="left", validate="1:1")
    both["overlap"] = ci_overlap(
        both["conf.low"], both["conf.high"], both["released.conf.low"], both["released.conf.high"]
    )
    both["difference"] = both["released.estimate"] - both["estimate"]
    both["abs.difference"] = both["difference"].abs()
    return both


def summarised(
    effects: pd.DataFrame, by: list[str], measures: list[str], quantiles: tuple[float, ...]
) -> pd.DataFrame:
    """Return the distribution of each measure over the draws.

    Parameters
    ----------
    effects : DataFrame
    by : list of str
        Columns that name what was measured; their order of appearance is kept.
    measures : list of str
    quantiles : tuple of float

    Returns
    -------
    DataFrame
        One row per group: ``draws``, and for each measure ``.mean``, ``.median`` and ``.q05``
        for the quantile 0.05; draws where a measure is NaN are left out of it.

    Raises
    ------
    ParameterError
        If a quantile is not between 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> draws = pd.DataFrame({"arm": ["a", "a", "a"], "overlap": [0.2, 0.4, 0.9]})
    >>> summarised(draws, ["arm"], ["overlap"], (0.5,)).round(3).values.tolist()
    [['a', 3, 0.5, 0.4, 0.4]]
    """
    if not all(0 <= q <= 1 for q in quantiles):
        raise ParameterError(f"quantiles={quantiles!r}; give numbers from 0 to 1")
    groups = effects.groupby(by, sort=False, dropna=False)
    out = groups.size().rename("draws").to_frame()
    for name in measures:
        out[f"{name}.mean"] = groups[name].mean()
        out[f"{name}.median"] = groups[name].median()
        for q in quantiles:
            out[f"{name}.q{_percent(q)}"] = groups[name].quantile(q)
    return out.reset_index()


def _percent(q: float) -> str:
    whole, _, rest = f"{100 * q:.4f}".rstrip("0").rstrip(".").partition(".")
    return whole.zfill(2) + (f".{rest}" if rest else "")
