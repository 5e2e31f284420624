"""Error, bias and variance by design, form, n and epsilon: a summary, figures and a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct import plots
from papers.cate.forms import FORMS, constant_of
from papers.markdown import markdown
from papers.runner import save_figure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from papers.cate.designs import Design
    from papers.cate.run import Cell


MATERIAL = 1.1
"""A form loses materially where its error is above this multiple of the constant effect's."""

_TEXT = """\
# Heterogeneous effects: DP-EBM, as printed and corrected, and the one-step learner

Mean squared error of the effect at {test} people who are in no sample; mean over {draws}
samples, delta = 1e-5. Everything is simulated, with simulation noise. {left_out}

"Known e": the probability of treatment is used, where treatment was randomised (B, voting).
The constant effect is the S-learner there, and elsewhere the average of the one-step DR-learner.
DP-EBM "as printed" is run as the paper ran it (section 5.1.1): interpret's defaults, which take
ranges, kinds of features and classes from the data, a classifier for e, targets as they are. It
has no guarantee. "Corrected": targets are clipped to a public range and centred, and bounds are
declared; the guarantee is as claimed by interpret, not certified, and the noise is far larger.

{tables}

## Where the one-step learner loses to the constant effect

By more than {material:.0%}, and by more than two Monte Carlo errors of the difference.

{losses}

## Where it wins

{wins}
{multistage}
## Notes

- Squared bias and variance are of as many fits; the paper's variance (2 MSE - bias, its section
  5.1.3) should read MSE - bias.
- Setup E's covariances are not printed (Table 1): neighbours are correlated by 0.5 here.
- The voting design has other people than the paper's: those of the social pressure experiment who
  got no letter; four features; 40% are treated at random.
"""


def report_of(
    summary: pd.DataFrame,
    designs: Mapping[str, Design],
    test: int,
    *,
    ebm: bool,
    multistage: pd.DataFrame | None = None,
) -> str:
    """Return the report of a summary.

    Parameters
    ----------
    summary : DataFrame
        As of :class:`papers.cate.Experiments`.
    designs : mapping from name to Design
    test : int
        People on whom errors are measured.
    ebm : bool
        Whether DP-EBM could be run.
    multistage : DataFrame, optional
        Of :class:`papers.cate.multistage.Multistage`.
    """
    compared = against_constant(summary, designs)
    lost, won = compared["lost"], compared["won"]
    left_out = [] if ebm else ["DP-EBM is left out: interpret-core is not installed."]
    if "voting" not in designs:
        left_out.append("The voting design is left out: its data are not at hand (--data).")
    return _TEXT.format(
        test=f"{test:,}", draws=_counted(summary), left_out=" ".join(left_out),
        material=MATERIAL - 1,
        tables="\n\n".join(_section(name, summary, design) for name, design in designs.items()),
        losses=_listed(compared[lost]), wins=_listed(compared[won]),
        multistage="" if multistage is None else f"\n{_MULTISTAGE}\n\n{stages(multistage)}\n",
    )  # fmt: skip


_MULTISTAGE = """\
## Remark 3.2: a partially linear model, and nonparametric instruments

Each fit has a disjoint part of the rows (1/4, 1/4, 1/2) and the whole budget, with additive
learners first and noisy cross products last: what is promised is what these learners promise. Setup
C, where the effect is 1 for everybody; and a structural function, t - t^2, whose errors move
treatment, too. Without: the outcome on treatment, or on the same three functions of it, no
noise."""


def stages(found: pd.DataFrame) -> str:
    """Return the errors of the estimators of Remark 3.2 as Markdown."""
    lines = [
        [row["estimator"], f"{row['epsilon']:g}", shown(row["rmse"]), shown(row["without"])]
        for row in found.to_dict("records")
    ]
    return markdown(("", "epsilon", "root mean square error", "without"), lines)


def _counted(summary: pd.DataFrame) -> str:
    """Return how many samples each kind of form has, in words."""
    kinds = {"strict": "one-step learner", "published": "DP-EBM", "none": "without privacy"}
    of = summary.groupby(summary["form"].map(lambda form: FORMS[form].kind))["draws"].max()
    return ", ".join(f"{of[kind]} ({words})" for kind, words in kinds.items() if kind in of)


def against_constant(summary: pd.DataFrame, designs: Mapping[str, Design]) -> pd.DataFrame:
    """Return every row of a one-step learner beside the constant effect at the same n and epsilon.

    Returns
    -------
    DataFrame
        ``design, title, n, epsilon, mse, constant, lost, won``: lost by more than 10% and two
        Monte Carlo errors, won by more than two.
    """
    rows: list[dict[str, Any]] = []
    strict = summary[summary["form"].map(lambda form: FORMS[form].kind == "strict")]
    for name, design in designs.items():
        part = strict[strict["design"].eq(name)]
        other = part[part["form"].eq(constant_of(design))].set_index(["n", "epsilon"])
        records: list[dict[Any, Any]] = part[~part["form"].str.startswith("constant")].to_dict(
            "records"
        )
        for row in records:
            beside: dict[Any, Any] = other.loc[(row["n"], row["epsilon"])].to_dict()
            mse, se = float(beside["mse"]), float(beside["se"])
            gap, error = row["mse"] - mse, 2 * float(np.hypot(row["se"], se))
            rows.append(
                {k: row[k] for k in ("design", "title", "n", "epsilon", "mse")}
                | {"constant": mse, "lost": gap > max(error, (MATERIAL - 1) * mse),
                   "won": gap < -error}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _section(name: str, summary: pd.DataFrame, design: Design) -> str:
    rows = summary[summary["design"].eq(name)]
    private = rows[np.isfinite(rows["epsilon"])]
    least = private["epsilon"].min()
    main = int(private.loc[private["epsilon"].ne(least), "n"].max())
    by_n = rows[rows["epsilon"].eq(least) | np.isinf(rows["epsilon"])]
    head = "voting" if name == "voting" else f"setup {name}"
    low, high = design.bounds
    facts = f"outcome in [{low:g}, {high:g}], R = {design.clip:g}"
    at_main = private[private["n"].eq(main)]
    return "\n\n".join(
        (
            f"## {head[0].upper()}{head[1:]} ({facts})",
            f"Error against n; epsilon = {least:g} where there is one:",
            _table(by_n, "n", "mse"),
            f"Error against epsilon, n = {main:,}:",
            _table(at_main, "epsilon", "mse"),
            f"Squared bias and variance, n = {main:,}:",
            _parts(at_main),
        )
    )


def _table(rows: pd.DataFrame, along: str, what: str) -> str:
    heads = sorted(rows[along].unique())
    lines = [_line(["", *(f"{h:,g}" if along == "epsilon" else f"{h:,}" for h in heads)])]
    lines.append("|---" * (len(heads) + 1) + "|")
    for title, part in rows.groupby("title", sort=False):
        found = part.set_index(along)[what]
        lines.append(_line([str(title), *(shown(found[h]) if h in found else "" for h in heads)]))
    return "\n".join(lines)


def _parts(rows: pd.DataFrame) -> str:
    both = rows.assign(
        part=[f"{shown(b)} + {shown(v)}" for b, v in zip(rows["bias2"], rows["variance"],
                                                         strict=True)]
    )  # fmt: skip
    return _table(both, "epsilon", "part")


def _listed(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "Nowhere."
    lines = [_line(["design", "form", "n", "epsilon", "MSE", "constant"]), "|---" * 6 + "|"]
    for row in rows.to_dict("records"):
        cells = row["design"], row["title"], f"{row['n']:,}", f"{row['epsilon']:g}"
        lines.append(_line([*cells, shown(row["mse"]), shown(row["constant"])]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def shown(number: float | str) -> str:
    """Return an error with three digits; words as they are.

    Examples
    --------
    >>> shown(0.12345), shown(1234.5), shown("as it is")
    ('0.123', '1,234', 'as it is')
    """
    if isinstance(number, str):
        return number
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def decomposed(draws: pd.DataFrame) -> dict[str, float]:
    """Return ``mse, se, median, bias2, variance`` of the draws of one cell.

    Notes
    -----
    With k fits the error of their mean is bias^2 + variance / k, and the mean error is
    bias^2 + variance; both are solved for.  For k = 2 bias^2 is the paper's; its variance
    (2 MSE - bias, section 5.1.3) should read MSE - bias.  ``bias2`` is unbiased and may be below
    zero by chance.

    Examples
    --------
    >>> rows = pd.DataFrame({"mse": [4.0, 4.0], "mse_mean": 3.0})
    >>> found = decomposed(rows)
    >>> found["bias2"], found["variance"]
    (2.0, 2.0)
    """
    k, mse = len(draws), float(draws["mse"].mean())
    variance = k / (k - 1) * (mse - float(draws["mse_mean"].iloc[0]))
    return {
        "mse": mse,
        "se": float(draws["mse"].std(ddof=1)) / math.sqrt(k),
        "median": float(draws["mse"].median()),
        "bias2": mse - variance,
        "variance": variance,
    }


def summarised(found: Mapping[Cell, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per design, form, n and epsilon, with its errors."""
    rows = [
        {
            "design": cell.design, "form": form, "title": FORMS[str(form)].title, "n": cell.n,
            "epsilon": epsilon, "draws": len(part), **decomposed(part),
        }
        for cell, draws in found.items()
        for (form, epsilon), part in draws.groupby(["form", "epsilon"], sort=False)
    ]  # fmt: skip
    return pd.DataFrame(rows)


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
    few = by_epsilon[
        by_epsilon["form"].isin(["one-step", "one-step, split", "ebm dr", "ebm dr, printed"])
    ]
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
    return save_figure(path, axes)


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
