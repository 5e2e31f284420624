"""The figures of the experiments: ours, and Figures 1 and 2 of the paper drawn again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct import plots
from dprct.published import SignRisk
from papers.ippw.samples import DIMENSION, MAIN_SIZE, SYNTHETIC_N2, TRUE_EFFECT
from papers.ippw.setups import DELTA, LAM, TRIM
from papers.runner import save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


MARKERS = "osv^DX*"
MAIN_EPSILON = 1.0
NORMAL = 1.96


def write_figures(folder: Path, summary: pd.DataFrame) -> list[Path]:
    """Draw a figure per study, one against n1, and the paper's Figures 1 and 2; return the files.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    FileError
        If one cannot be written.
    """
    written = []
    sizes = summary[summary["study"].str.startswith("synthetic n1=")]
    main = f"synthetic n1={MAIN_SIZE}"
    for label in (main, "ihdp", "lalonde"):
        part = summary[summary["study"] == label]
        if len(part):
            name = "synthetic" if label == main else label
            written.append(save_figure(folder / f"{name}.png", by_epsilon(part, label)))
    written.append(save_figure(folder / "synthetic_n1.png", by_size(sizes)))
    printed = sizes[sizes["setup"] == "once"]  # new rows in each draw, as in the paper
    if len(printed):
        written.append(save_figure(folder / "figure_1.png", figure_1(printed)))
        effects = summary[summary["study"].str.startswith("synthetic effect=")]
        both = pd.concat([printed[printed["study"].eq(main)], effects])
        written.append(save_figure(folder / "figure_2.png", figure_2(both, printed)))
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
    _drawn(axes, rows.assign(n1=_sizes_of(rows)), "n1")
    for ax in axes:
        ax.set_xlabel("n1")
        ax.set_title(f"synthetic, epsilon = {MAIN_EPSILON:g}")
    return axes


def figure_1(part: pd.DataFrame) -> list[Axes]:
    """Draw the bias that noise in the weights brings, by Lemma 3 and as simulated, against n1.

    Lemma 3 is of rows of length 1 whose odds are not trimmed: the estimate less what it would be
    with all odds at zero, times the factor on the left.  Simulated rows are shorter, so that their
    bias is smaller; bars are 95 % intervals of the mean over draws.
    """
    factor, simulated = plots.panels(2, size=(5.5, 4.2))
    for marker, (epsilon, rows) in zip(MARKERS, _by_size(part), strict=False):
        label = f"epsilon = {epsilon:g}"
        at = [
            SignRisk(
                n1=n1, n2=SYNTHETIC_N2, covariates=DIMENSION, lam=LAM, epsilon=epsilon,
                delta=float(DELTA), radius=1, trim=TRIM,
            ).bias(1.0)
            for n1 in rows["n1"]
        ]  # fmt: skip
        factor.plot(rows["n1"], at, marker=marker, label=label)
        bias = rows["mean_partial"] - rows["own"]
        half = NORMAL * rows["mean_partial_error"]
        simulated.errorbar(rows["n1"], bias, half, marker=marker, capsize=3, label=label)
    factor.set_yscale("log")
    simulated.set_yscale("symlog")
    factor.set_ylabel("Factor of Lemma 3 at length 1")
    simulated.set_ylabel("Simulated bias of the partial estimate")
    for ax in (factor, simulated):
        ax.set_xlabel("n1")
    factor.legend(fontsize="small")
    return [factor, simulated]


def figure_2(effects: pd.DataFrame, sizes: pd.DataFrame) -> list[Axes]:
    """Draw how often signs differ from the estimate without noise, and means with 95 % bars.

    Panels as in Figure 2: signs against the effect at one n1, with noise in the weights alone (a)
    and with all noise (b); means against n1, (c) and (d).

    Parameters
    ----------
    effects, sizes : DataFrame
        The designs of the main n1 by effect, and those of the main effect by n1.
    """
    axes = plots.panels(4, size=(5.5, 4.2))
    shown = (
        ("wrong_sign_partial", "mean_partial", "mean_partial_error", "noise in the weights"),
        ("differs", "mean", "mean_error", "all noise"),
    )
    truth = [_effect_of(study) for study in effects["study"]]
    for k, (share, mean, error, words) in enumerate(shown):
        sign, means = axes[k], axes[k + 2]
        by_effect = effects.assign(effect=truth).sort_values("effect").groupby("epsilon")
        for marker, (epsilon, rows) in zip(MARKERS, by_effect, strict=False):
            sign.plot(rows["effect"], rows[share], marker=marker, label=f"epsilon = {epsilon:g}")
        for marker, (epsilon, rows) in zip(MARKERS, _by_size(sizes), strict=False):
            means.errorbar(
                rows["n1"], rows[mean], NORMAL * rows[error], marker=marker, capsize=3,
                label=f"epsilon = {epsilon:g}",
            )  # fmt: skip
        own = sizes.assign(n1=_sizes_of(sizes)).groupby("n1")["own"].mean()
        means.plot(own.index, own, color="black", linestyle="--", label="without noise")
        sign.set_title(f"({'ab'[k]}) {words}, n1 = {MAIN_SIZE:,}")
        means.set_title(f"({'cd'[k]}) {words}, effect {TRUE_EFFECT:g}")
        sign.set_xlabel("effect")
        means.set_xlabel("n1")
        sign.set_xscale("log", base=2)
        sign.set_ylabel("Share of other signs than without noise")
        sign.set_ylim(bottom=-0.02)
        means.set_yscale("symlog")  # means of exploding estimates, as in the paper
        means.set_ylabel("Mean estimate, 95 % interval")
    axes[2].legend(fontsize="small")
    return axes


def _effect_of(study: str) -> float:
    """Return the effect of a synthetic design, by its label."""
    _, there, effect = study.partition("effect=")
    return float(effect) if there else TRUE_EFFECT


def _by_size(part: pd.DataFrame) -> Any:
    return part.assign(n1=_sizes_of(part)).sort_values("n1").groupby("epsilon")


def _sizes_of(part: pd.DataFrame) -> list[int]:
    return [int(re.findall(r"\d+$", study)[0]) for study in part["study"]]


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
