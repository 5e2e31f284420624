"""Figures of additive models; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.plots import RELEASED, panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes


def shape(
    table: pd.DataFrame, name: str, average: float, what: str, *, ax: Axes | None = None
) -> Axes:
    """Draw the smoothed shape of a feature over its levels, with the interval of each level.

    Parameters
    ----------
    table : DataFrame
        As from :meth:`dprct.estimate.additive.AdditiveResults.shape`.
    name : str
    average : float
    what : str
        What is drawn, for the axis.
    ax : Axes, optional
    """
    ax = panels(1)[0] if ax is None else ax
    at = np.arange(len(table))
    ax.fill_between(
        at, table["low"], table["high"], color=RELEASED, alpha=0.2, linewidth=0, label="interval"
    )
    ax.plot(at, table["raw"], ".", color=RELEASED, label="level alone")
    ax.plot(at, table["estimate"], color=RELEASED, label="smoothed")
    ax.axhline(average, color="0.6", linewidth=0.8)
    ax.set_xticks(at, list(table["level"]), rotation=45, ha="right", fontsize=7)
    ax.set_title(name)
    ax.set_ylabel(what)
    ax.legend(fontsize=8)
    return ax


def forest(
    rows: Sequence[tuple[str, float, float, float]], what: str, *, ax: Axes | None = None
) -> Axes:
    """Draw estimates with intervals, one row each.

    Parameters
    ----------
    rows : sequence of (name, estimate, low, high)
    what : str
    ax : Axes, optional
    """
    ax = panels(1)[0] if ax is None else ax
    at = np.arange(len(rows))[::-1]
    for y, (_, value, low, high) in zip(at, rows, strict=True):
        ax.plot([low, high], [y, y], color=RELEASED)
        ax.plot([value], [y], "o", color=RELEASED)
    ax.set_yticks(at, [name for name, *_ in rows], fontsize=8)
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set_xlabel(what)
    return ax
