"""Draw the pictures of the documentation.

    .venv/bin/python scripts/pictures.py

raw_and_protected.svg: one regression on a confidential and on a protected file.  It is drawn with a
seed, so that it can be drawn again; a seed has no guarantee, and the picture says so.
epsilon.svg: what epsilon costs, from the plans of PrivateATE, which read public facts alone.
"""

from __future__ import annotations

import warnings
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

TOP = Path(__file__).resolve().parents[1]
SEED, EPSILON = 1, 1
COMMAND = "regress got any, vce(robust)"
LINE, LETTER, MARGIN = 19, 7.9, 16
SIZES, EPSILONS = (500, 2000, 8000), np.geomspace(0.1, 8, 14)


def tables() -> tuple[list[str], list[str]]:
    """Return the lines of the regression on both files."""
    path = TOP / "data" / "thornton_hiv.dta"
    schema = dprct.Schema.from_dta(path)
    facts = {
        "got": {"levels": [0, 1], "missing": [".a"], "fate": "modelled"},
        "any": {"levels": [0, 1], "missing": "never", "fate": "public"},
    }
    schema = schema.declare(**facts, confirm_header=True).declare_rest("withheld").seal()
    data, _ = dprct.read_dta(path)
    data = data[data["any"].notna()]
    model = dprct.Calibrated.from_formula(
        "got ~ any", data, schema, treatment="any", missing={"got": "public"}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed has no guarantee is what the picture says
        release = model.fit(epsilon=EPSILON, rng=SEED)
        return lines_of(dprct.ols("got ~ any", data)), lines_of(dprct.ols("got ~ any", release))


def lines_of(fit: dprct.results.LinearResults) -> list[str]:
    """Return the line of the effect, under its headings, and the number of rows."""
    low, high = fit.conf_int().loc["any"]
    return [
        f"{'got':<6}{'coef':>9}{'std err':>10}{'[0.025':>9}{'0.975]':>9}",
        f"{'any':<6}{fit.params['any']:>9.4f}{fit.bse['any']:>10.4f}{low:>9.4f}{high:>9.4f}",
        "",
        f"{fit.nobs:,} rows used, HC1, t({fit.df_inference:g})",
    ]


def drawn(raw: list[str], protected: list[str]) -> str:
    """Return both tables, one beside the other, as SVG."""
    sides = (
        ("The confidential file", raw, "stays with its custodian"),
        ("The protected file", protected, f"epsilon = {EPSILON}; the error holds the noise"),
    )
    width = max(map(len, raw + protected)) * LETTER + 2 * MARGIN
    height = (len(raw) + 4) * LINE + 2 * MARGIN
    whole = 2 * width + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:.0f} {height + LINE:.0f}" '
        f'width="{whole:.0f}" role="img" aria-label="The same regression on both files">',
        "<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2933;"
        "white-space:pre}.h{font-weight:bold}.s{fill:#52606d}</style>",
    ]
    for side, (title, lines, below) in enumerate(sides):
        x, fill = side * (width + MARGIN), ("#f5f7fa", "#eaf6ef")[side]
        parts.append(
            f'<rect x="{x:.0f}" width="{width:.0f}" height="{height}" rx="8" fill="{fill}"/>'
        )
        texts = [(title, "h"), (f". {COMMAND}", "s"), ("", ""), *((one, "") for one in lines)]
        for row, (text, kind) in enumerate([*texts, (below, "s")]):
            y = MARGIN + LINE * (row + 0.75)
            parts.append(
                f'<text class="{kind}" x="{x + MARGIN:.0f}" y="{y:.0f}" xml:space="preserve">'
                f"{escape(text)}</text>"
            )
    note = f"Thornton (2008). Drawn with seed {SEED} for this picture, which is a simulation."
    parts.append(
        f'<text class="s" x="{MARGIN}" y="{height + LINE - 4}">{escape(note)}</text></svg>'
    )
    return "\n".join(parts) + "\n"


def planned(n: int, width: float) -> list[float]:
    """Return the planned standard error over that without privacy, for each of EPSILONS.

    The outcome has a standard deviation of one and bounds ``width`` apart; half are treated.
    """
    schema = dprct.Schema(
        (
            dprct.Column("y", bounds=(0.0, width), missing=()),
            dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
        )
    )
    rows = pd.DataFrame({"y": width / 2, "t": np.arange(n) % 2})
    model = dprct.PrivateATE(rows, schema, outcome="y", treatment="t", sd={"y": 1.0})
    sampling = np.sqrt(4 / n)
    found = []
    for epsilon in EPSILONS:
        table = model.plan(float(epsilon)).table
        found.append(float(table["std_error"].dropna().iloc[0]) / sampling)
    return found


def draw_epsilon(path: Path) -> None:
    """Draw the planned error of an effect against epsilon."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dprct"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True)
    for ax, (width, words) in zip(
        axes, ((2.0, "a 0/1 outcome (2 sd wide)"), (8.0, "a scale, 8 sd wide")), strict=True
    ):
        for n in SIZES:
            ax.plot(EPSILONS, planned(n, width), label=f"n = {n:,}")
        ax.axhline(1, color="0.4", lw=1, ls=":")
        ax.set(xscale="log", yscale="log", xlabel="epsilon", title=words, ylim=(0.9, 60))
        ax.set_xticks([0.1, 0.3, 1, 3, 8], ["0.1", "0.3", "1", "3", "8"])
        ax.set_yticks([1, 2, 5, 10, 50], ["1", "2", "5", "10", "50"])
        ax.minorticks_off()
    axes[0].set_ylabel("planned std err\nover that without privacy")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    (TOP / "docs" / "raw_and_protected.svg").write_text(drawn(*tables()), encoding="utf-8")
    draw_epsilon(TOP / "docs" / "epsilon.svg")
