"""Draw the pictures of the documentation.

    .venv/bin/python scripts/pictures.py

table.svg: a paper's table on the confidential file and as released.  It is drawn with a
seed, so that it can be drawn again; a seed has no guarantee, and the picture says so.
epsilon.svg: what epsilon costs, from the plans of PrivateATE, which read public facts alone.
flow.svg: how a release flows, and what passes from the confidential rows.
gallery_1.svg and so on: what the blocks of docs/gallery.md draw.
coverage.svg: how often intervals cover, from the tables of docs/coverage.md.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

TOP = Path(__file__).resolve().parents[1]
SEED, EPSILON = 1, 1
SIZES, EPSILONS = (500, 2000, 8000), np.geomspace(0.1, 8, 14)


FORMULAS = ("got ~ any", "got ~ any + age + distvct")
_ROWS = (("any", "any incentive"), ("age", "age"), ("distvct", "distance, km"))


def columns() -> list[dict[str, tuple[float, float] | None]]:
    """Coefficients and errors of each column of the table: raw, released, raw, released."""
    path = TOP / "data" / "thornton_hiv.dta"
    two = {"levels": [0, 1], "missing": [".a"], "missing_policy": "public"}
    facts = {
        "got": two,
        "any": two,
        "age": {"bounds": (10, 90), "sd": 14, "centre": 33, "missing": ["."]}
        | {"missing_policy": "public"},
        "distvct": {"bounds": (0, 6), "sd": 1.3, "centre": 2, "missing": "never"},
    }
    schema = dprct.Schema.from_dta(path).declare(**facts, confirm_header=True)
    schema = schema.declare_rest("withheld").seal()
    data, _ = dprct.read_dta(path)
    data = data[data["any"].notna() & data["got"].notna() & data["age"].notna()]
    model = dprct.PrivateMoments(
        data, schema, assignment=dprct.Simple("any", shares=0.78), formulas=FORMULAS,
        neighbors="replace-one-design-public",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed has no guarantee is what the picture says
        released = model.fit(epsilon=EPSILON, delta=1e-6, rng=SEED)
    found = []
    for formula in FORMULAS:
        for fit in (dprct.ols(formula, data), released.ols(formula)):
            found.append({
                name: (fit.params[name], fit.bse[name]) if name in fit.params else None
                for name, _ in _ROWS
            })  # fmt: skip
    return found


def paper_table(columns: list[dict[str, tuple[float, float] | None]], n: int) -> str:
    """Table of a paper as SVG: each regression on the confidential rows and as released."""
    left, width, row = 150, 128, 21
    whole, top = left + 4 * width + 16, 96
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {top + 9 * row + 34}" '
        f'width="{whole}" role="img" aria-label="Two regressions, confidential and released">',
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2933}.h{font-weight:bold}.s"
        "{fill:#52606d}.n{font-variant-numeric:tabular-nums}</style>",
        f'<rect width="{whole}" height="{top + 9 * row + 34}" rx="8" fill="#fff"/>',
    ]
    for side in (1, 3):
        x = left + side * width
        parts.append(
            f'<rect x="{x}" y="30" width="{width - 8}" height="{top + 7 * row - 34}" rx="6" '
            'fill="#eaf6ef"/>'
        )

    def write(x: float, y: float, text: str, kind: str = "", middle: bool = True) -> None:
        place = ' text-anchor="middle"' if middle else ""
        parts.append(f'<text class="{kind}" x="{x}" y="{y}"{place}>{escape(text)}</text>')

    write(12, 22, "Came to learn the result of an HIV test (Thornton 2008)", "h", middle=False)
    for at in range(4):
        x = left + at * width + (width - 8) / 2
        write(x, 50, f"({at // 2 + 1})", "s")
        write(x, 70, ("confidential", "released")[at % 2], "h")
        for line, (name, _) in enumerate(_ROWS):
            y, cell = top + 2 * line * row, columns[at][name]
            if cell is None:
                own = at >= 2
                write(x, y, "n.r." if own else "", "s")
                continue
            write(x, y, f"{cell[0]:.3f}", "n")
            write(x, y + row - 3, f"({cell[1]:.3f})", "n s")
        write(x, top + 6 * row, f"{n:,}", "n")
    for line, (_, words) in enumerate(_ROWS):
        write(12, top + 2 * line * row, words, middle=False)
    write(12, top + 6 * row, "people", middle=False)
    notes = (
        f"Robust errors in parentheses; released ones contain the noise. Epsilon = {EPSILON:g} and",
        "delta = 1e-6 per person, for both regressions together. n.r.: not released.",
        f"Drawn with seed {SEED} for this picture, which is a simulation (scripts/pictures.py).",
    )
    for line, words in enumerate(notes):
        write(12, top + 7 * row + 14 + 18 * line, words, "s", middle=False)
    return "\n".join([*parts, "</svg>"]) + "\n"


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
        ("Queries", "exact sums, and the most", "that one person changes them"),
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


def draw_gallery(folder: Path) -> None:
    """Run the blocks of docs/gallery.md, and save what each leaves in ``ax``."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dprct"
    page = (folder / "gallery.md").read_text("utf-8")
    names: dict[str, object] = {}
    with contextlib.chdir(TOP / "data"):
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        for number, block in enumerate(blocks, start=1):
            names.pop("ax", None)
            exec(block, names)
            if "ax" in names:
                place = folder / f"gallery_{number}.svg"
                figure = names["ax"].figure  # type: ignore[attr-defined]
                figure.savefig(place, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    DOCS = TOP / "docs"
    draw_gallery(DOCS)
    (DOCS / "table.svg").write_text(paper_table(columns(), 2829), encoding="utf-8")
    draw_epsilon(DOCS / "epsilon.svg")
    (DOCS / "flow.svg").write_text(flow(), encoding="utf-8")
    draw_coverage((DOCS / "coverage.md").read_text("utf-8"), DOCS / "coverage.svg")
