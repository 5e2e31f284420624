"""Error and wrong signs against epsilon, and against n1 for the synthetic designs."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprct import plots
from dprct.io.atomic import atomic_write
from papers.ippw.samples import MAIN_SIZE

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

MARKERS = "osv^DX*"
MAIN_EPSILON = 1.0


def write_figures(folder: Path, summary: pd.DataFrame) -> list[Path]:
    """Draw a figure per study, and one against n1; return their files.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    FileError
        If one cannot be written.
    """
    written = []
    sizes = summary[summary["study"].str.startswith("synthetic")]
    main = f"synthetic n1={MAIN_SIZE}"
    for label in (main, "ihdp", "lalonde"):
        part = summary[summary["study"] == label]
        if len(part):
            name = "synthetic" if label == main else label
            written.append(_saved(folder / f"{name}.png", by_epsilon(part, label)))
    written.append(_saved(folder / "synthetic_n1.png", by_size(sizes)))
    return written


def by_epsilon(part: pd.DataFrame, title: str) -> list[Axes]:
    """Draw median absolute error and the share of wrong signs of one study against epsilon."""
    axes = plots.panels(2, size=(5.5, 4.2))
    _drawn(axes, part, "epsilon")
    for ax in axes:
        ax.set_xscale("log")
        epsilons = sorted(part["epsilon"].unique())
        ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("epsilon")
        ax.set_title(title)
    return axes


def by_size(part: pd.DataFrame) -> list[Axes]:
    """Draw the same of the synthetic designs against n1, at epsilon 1."""
    axes = plots.panels(2, size=(5.5, 4.2))
    rows = part[part["epsilon"] == MAIN_EPSILON]
    n1 = [int(re.findall(r"\d+$", study)[0]) for study in rows["study"]]
    _drawn(axes, rows.assign(n1=n1), "n1")
    for ax in axes:
        ax.set_xlabel("n1")
        ax.set_title(f"synthetic, epsilon = {MAIN_EPSILON:g}")
    return axes


def _drawn(axes: list[Axes], rows: pd.DataFrame, along: str) -> None:
    error, sign = axes
    for marker, (title, part) in zip(MARKERS, rows.groupby("title", sort=False), strict=False):
        error.plot(part[along], part["median_error"], marker=marker, label=str(title))
        sign.plot(part[along], part["wrong_sign"], marker=marker, label=str(title))
    error.set_yscale("log")
    error.set_ylabel("Median absolute error")
    sign.set_ylabel("Share of wrong signs")
    sign.set_ylim(bottom=-0.02)
    error.legend(fontsize="small")


def _saved(path: Path, axes: list[Axes]) -> Path:
    figure: Any = axes[0].figure
    try:
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    finally:
        import_module("matplotlib.pyplot").close(figure)
    return path
