"""A short report of the experiments, and figures: error against epsilon, lambda, n and T0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct import plots
from dprct.privacy.noise import source as noise_source
from papers.dpsc.claims import claims
from papers.dpsc.forms import FORMS, simulated
from papers.dpsc.several import several_table
from papers.markdown import markdown
from papers.runner import save_figure

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes


SHOWN = ((10, 2.0, 1), (10, 2.0, 20), (100, 10.0, 1), (100, 10.0, 20))
"""Donors, epsilon and lambda over T0 of the report's columns; T0 = 10."""

_TEXT = """\
# Synthetic control: the published forms and the strict one

Error (root mean square over the 3 periods after treatment) of the predicted path on the paper's
design, T0 = 10, a signal of about 48; mean over {reps:,} panels, its Monte Carlo error in
parentheses. The data are divided by the public bound 5 T + 1, which is the rescaling to [-1, 1] of
the paper's equation (3), and the predicted path is multiplied by it.

The published forms are drawn twice. With the density that Algorithms 2 and 3 print, the noise of
scale a has a mean length of n a. Equation (10) takes a for the mean length itself, and here it is
an exponential length of that mean, which promises no epsilon: its density has no bound near 0.
Neither law gives all of the paper's figures, so that what the paper ran is not known; the table
below has what it says of each figure, under both.

{claims}

{errors}

Published, objective perturbation: no guarantee holds.

Before treatment, the root mean square distance of the treated unit from the donors' weighted mean
(section 8.2). It reads the donors once more: in a release it costs epsilon (`pre_fit=True`), and
here it is a simulation.

{before}

## Bounds on the mean error

{bounds}

Printed: Theorems 3.2 and 3.5 (`dprct.published.ControlError`), which take the scale of the
L2-Laplace noise for its mean length (n times that for the weights, n (T - T0) times for the
donors), print sqrt(2) / eps2 where their proof has 2 / eps2, and for Gaussian noise of scale beta
sqrt(n beta) in place of sqrt(n) beta. Ours: the same with these corrected; for the strict forms,
the largest distance of a donor from the treated unit, plus chance, plus the noise for a largest
weight of one (of 1 / n for equal weights).

{verdict}

Remark 3.3 rests its growth in n on Section 4.1.1, whose Lemma 4.7 finds a sensitivity of at least
order sqrt(n): that is an artefact of a closed form with a penalty of 1, (X X' + I)^-1 X y, where
the minimiser at lambda = 2 T0 has (X X' + T0 I)^-1 X y, whose sensitivity does not grow with n.
{several}"""

_SEVERAL = """
## Several treated units

Named in the paper (section 1.2, related work) and not defined. Algorithm 2 with step 1 for each
unit on its part of epsilon_1, and step 2 once for all, beside Algorithm 2 for each on its part of
epsilon; 100 donors, T0 = 10, epsilon 100, lambda = 20 T0. Root mean square error of one path.

"""


def report_of(table: pd.DataFrame, reps: int, several: pd.DataFrame | None = None) -> str:
    """Return the report of a table of errors.

    Parameters
    ----------
    table : DataFrame
        As of :class:`papers.dpsc.Experiments`.
    reps : int
        Repetitions.
    several : DataFrame, optional
        Of :class:`papers.dpsc.several.Several`.
    """
    forms = [form for form in FORMS if table["form"].eq(form).any()]
    errors = [[FORMS[f], *(_error(_one(table, f, *c)) for c in SHOWN)] for f in forms]
    before = [[FORMS[f], *(f"{_one(table, f, *c)['before']:,.4g}" for c in SHOWN)] for f in forms]
    bounds = []
    for form in ("output", "objective", "objective, normal", "strict", "uniform"):
        for kind in ("printed", "ours"):
            values = [_one(table, form, *c)[f"bound.{kind}"] for c in SHOWN]
            if values[0] == values[0]:  # not NaN
                bounds.append([f"{FORMS[form]}: {kind}", *(f"{v:,.4g}" for v in values)])
    return _TEXT.format(
        reps=reps, errors=_by_setting(errors), before=_by_setting(before),
        bounds=_by_setting(bounds), verdict=_verdict(table), claims=claimed(table),
        several="" if several is None else f"{_SEVERAL}{several_table(several)}\n",
    )  # fmt: skip


def _one(table: pd.DataFrame, form: str, n: int, epsilon: float, ratio: int) -> pd.Series[float]:
    which = table["n"].eq(n) & table["T0"].eq(10) & table["epsilon"].eq(epsilon)
    return table[which & table["lambda"].eq(10.0 * ratio) & table["form"].eq(form)].iloc[0]


def _error(row: pd.Series[float]) -> str:
    return f"{row['rmse']:,.4g} ({row['se']:,.2g})"


def _by_setting(rows: list[list[str]]) -> str:
    return markdown(["", *(f"n = {n}, epsilon {e:g}, lambda {m} T0" for n, e, m in SHOWN)], rows)


def claimed(table: pd.DataFrame) -> str:
    """Return what section 8 says of its figures, and what comes out, as Markdown.

    Empty where a table has the few settings of a quick run.
    """
    rows = [
        [f"Figure {one.figure}", one.said, one.law, one.found, "yes" if one.holds else "no"]
        for one in sorted(claims(table), key=lambda one: (one.figure, one.said))
    ]
    return markdown(("", "section 8 says", "noise", "here", "holds"), rows) if rows else ""


def _verdict(table: pd.DataFrame) -> str:
    sentences = []
    private = ~table["form"].str.contains("equation (10)", regex=False)
    for words, kind, rows in (
        ("", "printed", private),
        (" with the radius of equation (10)", "printed", ~private),
        ("", "ours", private),
    ):
        there = table[table[f"bound.{kind}"].notna() & rows]
        above = (there["rmse"] - 3 * there["se"] > there[f"bound.{kind}"]).sum()
        sentences.append(
            f"The bounds that are {kind} are exceeded{words}, by more than three Monte Carlo "
            f"errors, in {above} of {len(there)} cases."
        )
    return " ".join(sentences)


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
        written.append(save_figure(folder / f"rmse_by_{against}.png", axes))
    return written + _as_in_the_paper(folder, table)


FIGURES = {
    5: ("output", "objective", "strict"),
    6: ("objective", "objective, normal", "strict"),
    8: ("output", "objective", "strict"),
}
"""Forms of the paper's figures of error against epsilon at lambda = T0, and ours beside them."""


def _as_in_the_paper(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Draw Figures 2, 5, 6 and 8: the paper's forms at lambda = T0, the strict one at 20 T0.

    Solid lines are the radius of equation (10) where a form has one, dashed lines the density.
    """
    ratio = table["lambda"] / table["T0"]
    by_epsilon = table[ratio.eq(1) & ~table["form"].eq("strict") | ratio.eq(20)]
    written = [save_figure(folder / "figure_2.png", [_example()])]
    for number, forms in FIGURES.items():
        one = by_epsilon[by_epsilon["n"].eq(10) & by_epsilon["T0"].eq(10)]
        part = one if number == 5 else by_epsilon
        if part["epsilon"].nunique() < 3 or not part["lambda"].eq(part["T0"]).any():
            continue
        axes = plots.panels(len(forms))
        for ax, form in zip(axes, forms, strict=True):
            _by_size(ax, part, form)
        axes[0].legend(fontsize=6)
        written.append(save_figure(folder / f"figure_{number}.png", axes))
    return written


def _by_size(ax: Axes, part: pd.DataFrame, form: str) -> None:
    wanted = part["lambda"].eq(part["T0"] * (20 if form == "strict" else 1))
    for style, name in (("--", form), ("-", f"{form}, equation (10)")):
        rows = part[wanted & part["form"].eq(name)]
        groups = [g for g in rows.groupby(["n", "T0"], sort=False) if len(g[1]) > 2]
        for k, ((n, T0), lines) in enumerate(groups):
            along = lines.sort_values("epsilon")
            ax.errorbar(
                along["epsilon"], along["rmse"], 2 * along["se"], color=f"C{k}", linestyle=style,
                marker=".", lw=1, label=f"n = {n}, T0 = {T0}" + (", density" * (style == "--")),
            )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="RMSE after treatment")
    ax.set_title(FORMS[form] + (", lambda = 20 T0" if form == "strict" else ", lambda = T0"))
    ax.title.set_fontsize(8)


def _example() -> Axes:
    """Draw one panel of the design (Figure 2)."""
    panel = simulated(10, 10, noise_source(1).post_processing_rng())
    (ax,) = plots.panels(1)
    periods = range(1, panel.donors.shape[1] + 1)
    for series in panel.donors:
        ax.plot(periods, panel.bound * series, color="0.7", lw=1)
    ax.plot(periods, panel.bound * panel.target, color="C3")
    ax.axvline(10.5, color="0.5", linestyle=":", lw=1)
    ax.set(xlabel="period", ylabel="outcome", title="n = 10, T0 = 10")
    return ax


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
