"""Figures of the experiments: error against n and epsilon, and its bias and variance."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import plots
from dprct.io.atomic import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

MARKERS = "osv^DX*Pph<>"
LEAST = 1e-4
"""Where estimated bias and variance are cut off, for they may be below zero by chance."""


def write_figures(folder: Path, summary: pd.DataFrame) -> list[Path]:
    """Draw error against n, against epsilon, and its two parts; return the files.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    FileError
        If one cannot be written.
    """
    private = summary[np.isfinite(summary["epsilon"])]
    least = private["epsilon"].min()
    main = private.loc[private["epsilon"].ne(least), "n"].max()
    by_n = summary[summary["epsilon"].eq(least) | np.isinf(summary["epsilon"])]
    by_epsilon = private[private["n"].eq(main)]
    written = [_saved(folder / "mse_by_n.png", by_n, "n", ("mse",))]
    written.append(_saved(folder / "mse_by_epsilon.png", by_epsilon, "epsilon", ("mse",)))
    few = by_epsilon[by_epsilon["form"].isin(["one-step", "one-step, split", "ebm dr"])]
    parts = ("bias2", "variance")
    written.append(_saved(folder / "bias_and_variance.png", few, "epsilon", parts))
    return written


def _saved(path: Path, rows: pd.DataFrame, along: str, what: tuple[str, ...]) -> Path:
    names = list(rows["design"].unique())
    axes = plots.panels(len(names), columns=2, size=(6.0, 4.0))
    forms = list(rows["form"].unique())
    for ax, name in zip(axes, names, strict=True):
        _curves(ax, rows[rows["design"].eq(name)], along, what, forms)
        title = name if name == "voting" else f"setup {name}"
        ax.set(xscale="log", yscale="log", xlabel=along, ylabel=" and ".join(what), title=title)
        ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure: Any = axes[0].figure
    try:
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    finally:
        import_module("matplotlib.pyplot").close(figure)
    return path


def _curves(
    ax: Axes, rows: pd.DataFrame, along: str, what: tuple[str, ...], forms: list[str]
) -> None:
    """Draw a line per form and measure; dashed for the second measure and without privacy."""
    for form, part in rows.groupby("form", sort=False):
        k, part = forms.index(str(form)), part.sort_values(along)
        for j, measure in enumerate(what):
            dashed = j == 1 or bool(np.isinf(part["epsilon"]).all())
            label = str(form) if len(what) == 1 else f"{form}: {measure}"
            ax.plot(
                part[along], part[measure].clip(lower=LEAST), label=label, color=f"C{k % 10}",
                marker=MARKERS[k % len(MARKERS)], markersize=4, lw=1, ls="--" if dashed else "-",
            )  # fmt: skip
