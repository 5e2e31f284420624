"""Draw the pictures of the documentation.

    .venv/bin/python scripts/pictures.py

raw_and_protected.svg: one regression on a confidential and on a protected file.  It is drawn with a
seed, so that it can be drawn again; a seed has no guarantee, and the picture says so.
epsilon.svg: what epsilon costs, from the plans of PrivateATE, which read public facts alone.
flow.svg: how a release flows, and what passes from the confidential rows.
coverage.svg: how often intervals cover, from the tables of docs/coverage.md.
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
        "got": {
            "levels": [0, 1],
            "missing": [".a"],
            "missing_policy": "public",
            "fate": "modelled",
        },
        "any": {"levels": [0, 1], "missing": "never", "fate": "public"},
    }
    schema = schema.declare(**facts, confirm_header=True).declare_rest("withheld").seal()
    data, _ = dprct.read_dta(path)
    data = data[data["any"].notna()]
    model = dprct.Calibrated.from_formula("got ~ any", data, schema, treatment="any")
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
            dprct.Column("y", bounds=(0.0, width), sd=1.0, missing=()),
            dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
        )
    )
    rows = pd.DataFrame({"y": width / 2, "t": np.arange(n) % 2})
    model = dprct.PrivateATE(rows, schema, outcome="y", treatment="t")
    sampling = np.sqrt(4 / n)
    found = []
    for epsilon in EPSILONS:
        found.append(model.plan(float(epsilon)).value("std_error") / sampling)
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


FLOW = (
    # x, y, width, what it is, lines
    (0, 0, 210, "public", ("Do-files, the file's header", "what a questionnaire says")),
    (
        270,
        0,
        210,
        "public",
        ("Study file or schema", "bounds, levels, design,", "budget"),
    ),
    (540, 0, 210, "public", ("check, plan", "errors to expect; a hash", "to approve")),
    (0, 150, 210, "secret", ("Confidential rows", "stay with their custodian")),
    (
        270,
        150,
        210,
        "secret",
        ("Queries", "exact whole numbers, and how", "much one person can move them"),
    ),
    (540, 150, 210, "noise", ("Charge, then noise", "ledger first; draws are exact")),
    (0, 300, 210, "public", ("A reader's do-file", "runs unchanged")),
    (270, 300, 210, "public", ("Protected file or results", "with a certificate")),
    (
        540,
        300,
        210,
        "public",
        ("Released numbers", "saved; all else is computed", "from these, at no price"),
    ),
)
ARROWS = (
    (210, 40, 270, 40), (480, 40, 540, 40), (645, 92, 645, 150), (375, 92, 375, 150),
    (210, 190, 270, 190), (480, 190, 540, 190), (645, 242, 645, 300), (540, 340, 480, 340),
    (270, 340, 210, 340),
)  # fmt: skip
FILLS = {"public": "#eaf6ef", "secret": "#fbeaea", "noise": "#fdf6e3"}


def flow() -> str:
    """Return how a release flows as SVG: from public facts and confidential rows to a reader."""
    words = "How a release flows: public facts and confidential rows, one noisy step, the rest free"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 766 440" width="766" role="img" '
        f'aria-label="{words}">',
        "<style>text{font:12.5px system-ui,sans-serif;fill:#1f2933}.h{font-weight:bold}"
        ".s{fill:#52606d}line{stroke:#52606d;stroke-width:1.5}</style>",
        '<defs><marker id="a" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#52606d"/></marker></defs>',
    ]
    for x, y, width, kind, lines in FLOW:
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="92" rx="8" fill="{FILLS[kind]}"/>'
        )
        for row, line in enumerate(lines):
            parts.append(
                f'<text class="{"s" if row else "h"}" x="{x + 12}" y="{y + 28 + 21 * row}">'
                f"{escape(line)}</text>"
            )
    parts += [
        f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" marker-end="url(#a)"/>' for a, b, c, d in ARROWS
    ]
    for x, (kind, said) in zip(
        (0, 180, 420),
        {
            "public": "public",
            "secret": "seen by nobody else",
            "noise": "the only private step",
        }.items(),
        strict=True,
    ):
        parts.append(f'<rect x="{x}" y="412" width="14" height="14" fill="{FILLS[kind]}"/>')
        parts.append(f'<text class="s" x="{x + 20}" y="424">{said}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


RUNS = 4000


def covered(page: str) -> pd.DataFrame:
    """Return the first table of the page on coverage: treatment public."""
    part = page.split("\n## ")[1]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return pd.DataFrame(cells[2:], columns=cells[0]).replace("-", np.nan)


def draw_coverage(page: str, path: Path) -> None:
    """Draw the coverage of private and of plain intervals against the width of the private ones."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dprct"
    import matplotlib.pyplot as plt

    table = covered(page)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4))
    for ax, level, lowest in zip(axes, ("95", "99"), (79, 86), strict=True):
        for name, marker, colour in (("plain", "x", "0.6"), ("private", "o", "C0")):
            share = table[f"{name} {level}%"].astype(float)
            half = 300 * np.sqrt(share / 100 * (1 - share / 100) / RUNS)
            width = table["width"].astype(float)
            ax.errorbar(width, share, half, fmt=marker, ms=4, lw=0.8, color=colour, label=name)
        ax.axhline(float(level), color="0.3", lw=1, ls=":")
        ax.set(xscale="log", ylim=(lowest, 100.6), title=f"{level} % intervals")
        ax.set(xlabel="width over that of the plain interval")
        ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        ax.minorticks_off()
    axes[0].set_ylabel("intervals that contain\nthe effect, % (3 std errors)")
    axes[0].legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    DOCS = TOP / "docs"
    (DOCS / "raw_and_protected.svg").write_text(drawn(*tables()), encoding="utf-8")
    draw_epsilon(DOCS / "epsilon.svg")
    (DOCS / "flow.svg").write_text(flow(), encoding="utf-8")
    draw_coverage((DOCS / "coverage.md").read_text("utf-8"), DOCS / "coverage.svg")
