"""Figures of a synthetic control; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.plots import ORIGINAL, RELEASED, panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_BARS = 30


def paths(
    observed: pd.Series[float],
    counterfactual: pd.Series[float],
    half: pd.Series[float],
    start: float,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the observed and the synthetic path, with the band of the noise of the latter.

    Parameters
    ----------
    observed, counterfactual : Series by time
    half : Series by time
        Half width of the band.
    start : float
        First period with treatment.
    ax : Axes, optional
    """
    ax = panels(1)[0] if ax is None else ax
    ax.plot(observed.index, observed, color=ORIGINAL, label="observed")
    ax.plot(counterfactual.index, counterfactual, color=RELEASED, linestyle="--", label="synthetic")
    ax.fill_between(
        counterfactual.index,
        counterfactual - half,
        counterfactual + half,
        color=RELEASED,
        alpha=0.2,
        linewidth=0,
        label="privacy noise",
    )
    ax.legend(fontsize=8)
    return _dated(ax, start, "Outcome")


def gap(
    effect: pd.Series[float], band: pd.DataFrame, start: float, *, ax: Axes | None = None
) -> Axes:
    """Draw the effect path with the band of its noise.

    Parameters
    ----------
    effect : Series by time
    band : DataFrame by time
        Columns low and high.
    start : float
    ax : Axes, optional
    """
    ax = panels(1)[0] if ax is None else ax
    ax.fill_between(band.index, band["low"], band["high"], color=RELEASED, alpha=0.2, linewidth=0)
    ax.plot(effect.index, effect, color=RELEASED)
    ax.axhline(0, color="grey", linewidth=1)
    return _dated(ax, start, "Effect")


def placebos(
    effect: pd.Series[float],
    others: pd.DataFrame,
    unit: str,
    start: float,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the effect path of the treated unit over those of placebos.

    Parameters
    ----------
    effect : Series by time
    others : DataFrame by time
        A column per placebo.
    unit : str
        Name of the treated unit.
    start : float
    ax : Axes, optional
    """
    ax = panels(1)[0] if ax is None else ax
    for k, name in enumerate(others.columns):
        label = "placebos" if k == 0 else None
        ax.plot(others.index, others[name], color="grey", alpha=0.5, linewidth=0.8, label=label)
    ax.plot(effect.index, effect, color=RELEASED, linewidth=2, label=unit)
    ax.axhline(0, color="grey", linewidth=1)
    ax.legend(fontsize=8)
    return _dated(ax, start, "Effect")


def weights(values: pd.Series[float], *, ax: Axes | None = None) -> Axes:
    """Draw the largest weights of donors as bars.

    Parameters
    ----------
    values : Series by donor
    ax : Axes, optional
    """
    shown = values.sort_values(ascending=False).head(_MOST_BARS)
    if ax is None:
        ax = panels(1, size=(4.5, 1.2 + 0.2 * len(shown)))[0]
    place = np.arange(len(shown))[::-1]
    ax.barh(place, shown.to_numpy(), color=RELEASED)
    ax.set_yticks(place, [str(name) for name in shown.index], fontsize=7)
    ax.set_xlabel("Weight")
    return ax


def _dated(ax: Axes, start: float, label: str) -> Axes:
    ax.axvline(start, color="grey", linestyle=":", linewidth=1)
    ax.set_xlabel("Time")
    ax.set_ylabel(label)
    return ax
