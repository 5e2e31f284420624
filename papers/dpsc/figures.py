"""Figures of the experiments: error against epsilon, lambda, n and T0."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprct import plots
from dprct.io.atomic import atomic_write
from papers.dpsc.forms import FORMS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

_LABELS = {"epsilon": "epsilon", "lambda": "lambda", "n": "donors", "T0": "periods before"}


def write_figures(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Draw every figure of which there are at least two points, and return the files.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    """
    written = []
    for against in _LABELS:
        parts = _parts(table, against)
        if not parts:
            continue
        axes = plots.panels(len(parts))
        for ax, (title, part) in zip(axes, parts.items(), strict=True):
            _curves(ax, part, against, title)
        axes[0].legend(fontsize=6)
        figure: Any = axes[0].figure
        path = folder / f"rmse_by_{against}.png"
        try:
            with atomic_write(path, "wb") as file:
                figure.savefig(file, format="png", dpi=100)
        finally:
            import_module("matplotlib.pyplot").close(figure)
        written.append(path)
    return written


def _parts(table: pd.DataFrame, against: str) -> dict[str, pd.DataFrame]:
    """Return the settings that differ in one thing alone, by what they share."""
    ratio = table["lambda"] / table["T0"]
    if against == "lambda":
        there = table[table["epsilon"].eq(100)]
        groups = there.groupby(["n", "T0"], sort=False)
    else:
        there = table[ratio.eq(20)]
        there = there if against == "epsilon" else there[there["epsilon"].eq(10)]
        groups = there.groupby([k for k in ("n", "T0") if k != against], sort=False)
    found = {}
    for key, part in groups:
        names = [k for k in ("n", "T0") if against in ("epsilon", "lambda") or k != against]
        title = ", ".join(f"{k} = {v}" for k, v in zip(names, key, strict=True))
        least = 3 if against in ("n", "T0") else 2
        if part[against].nunique() >= least:
            found[title] = part
    return found


def _curves(ax: Axes, part: pd.DataFrame, against: str, title: str) -> None:
    """Draw errors with two Monte Carlo errors, and the bounds that are ours as dots."""
    for k, (form, label) in enumerate(FORMS.items()):
        rows = part[part["form"].eq(form)].sort_values(against)
        color = f"C{k}"
        ax.errorbar(
            rows[against], rows["rmse"], 2 * rows["se"], label=label, color=color, marker=".", lw=1
        )
        ax.plot(rows[against], rows["bound.ours"], color=color, linestyle=":", lw=1)
        ax.plot(rows[against], rows["bound.printed"], color=color, linestyle="--", lw=1)
    ax.set(xscale="log", yscale="log", xlabel=_LABELS[against], ylabel="RMSE")
    ax.set_title(title, fontsize=9)
