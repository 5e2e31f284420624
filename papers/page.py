"""``docs/papers.md`` and the tables of ``docs/heterogeneous_effects.md``, from what runs left."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct.disk import atomic_write
from dprct.errors import FileError
from papers.cate import authors
from papers.cate.report import shown
from papers.dpsc.report import SHOWN, claimed
from papers.ippw.report import PRINTED, risk_table
from papers.items import Runs, item_tables
from papers.markdown import markdown
from papers.rct import reasons
from papers.rct.printed import AVERAGES, EVERY, IMPLEMENTED
from papers.rct.summary import expected_inside
from papers.rct.summary import summary as agreement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOP = Path(__file__).resolve().parents[1]
FOLDERS = {paper: f"{paper}-paper" for paper in ("rct", "ippw", "dpsc", "cate")}
"""Where ``make replicate-*`` leaves what it made, below ``build``."""

_TEXT = """\
# The papers: what they print, and what comes out here

One table per paper compares the printed numbers with ours: the algorithm as printed, corrected, and
strict. Below each table we state why they differ. Everything that the papers define follows
[item by item](#item-by-item). `python -m papers page` writes this page from the numbers that
`make replicate-rct`, `-ippw`, `-dpsc` and `-cate` leave in `build/`; do not edit it. All runs are
simulations on data that are not confidential. "As printed" has no guarantee in any of these tables,
unless a line states one.

{paths}

| | runs by default | with `FULL=1` |
|---|---|---|
| `make replicate-rct` | 100 releases; Tables 1, 3 and 4 have 20, Liberia has 1 | the same |
| `make replicate-ippw` | 100 draws (synthetic), 300 (IHDP, LaLonde) | 1,000 of the latter |
| `make replicate-dpsc` | 300 panels per setting | 500 |
| `make replicate-cate` | 4 samples; 2 with DP-EBM, at two sizes | 50, every n and epsilon |

{times} With `FULL=1` test sets have 250,000 people (voting: 20,000), the second and the third take
two to three times as long, and the last some 25 hours of one core, by the time of one fit.

## Assessing Utility of Differential Privacy for RCTs

{rct}

## Privacy-Preserving Causal Inference via Inverse Probability Weighting

{ippw}

## Differentially Private Synthetic Control

{dpsc}

## Differentially Private Estimation of Heterogeneous Causal Effects

{cate}

## Item by item

{items}

**Read next:** [why believe it](why_believe_it.md), [how it compares](comparison.md), \
[which method](which_method.md).
"""

_TIMES = """\
The first takes 410 seconds of processor, of which its 15 figures take 23; the second 230, the third
50, the last 270: 16 minutes of one core in all, and several times as long on a machine full of
other work."""


def write_page(
    states: Path, page: Path, effects: Path | None = None, commit: str | None = None
) -> None:
    """Write the page on all papers, and the tables of that on effects that vary.

    Parameters
    ----------
    states : Path
        Folder with those of ``make replicate-*``.
    page : Path
    effects : Path, optional
        A page with ``<!-- tables -->`` and ``<!-- end of tables -->``.
    commit : str, optional
        At which the runs were made; this checkout's by default.

    Raises
    ------
    FileError
        If a run is not there.
    """
    cate, ippw = (_read(states, paper, "summary.csv") for paper in ("cate", "ippw"))
    rct, dpsc = _tables(states), _read(states, "dpsc", "rmse.csv")
    runs = Runs(
        rct, dpsc, ippw, cate, several=_optional(states, "dpsc", "several.csv"),
        trees=_optional(states, "ippw", "baselines.csv"),
        stages=_optional(states, "cate", "multistage.csv"),
    )  # fmt: skip
    text = _TEXT.format(
        paths=f"This page: {_drawn(states)}; runs of commit {commit or _commit()}.", times=_TIMES,
        rct=_rct(rct), ippw=_ippw(ippw, _read(states, "ippw", "risks.csv")), dpsc=_dpsc(dpsc),
        cate=_cate(cate), items=item_tables(runs),
    )  # fmt: skip
    _write(page, text)
    if effects is not None:
        before, _, rest = effects.read_text("utf-8").partition("<!-- tables -->")
        after = rest.partition("<!-- end of tables -->")[2]
        if not after:
            raise FileError(
                f"{effects} has no place for tables; put <!-- tables --> and "
                "<!-- end of tables --> into it"
            )
        tables = f"<!-- tables -->\n\n{effect_tables(cate)}\n\n<!-- end of tables -->"
        _write(effects, before + tables + after)


def _commit() -> str:
    """Return the commit of this checkout, or unknown."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def _write(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)


def _read(states: Path, paper: str, name: str, words: tuple[str, ...] = ()) -> pd.DataFrame:
    path = states / FOLDERS[paper] / name
    try:
        return pd.read_csv(path, dtype=dict.fromkeys(words, str))
    except (OSError, ValueError) as error:
        raise FileError(f"{path} is not there; run make replicate-{paper} first") from error


def _optional(states: Path, paper: str, name: str) -> pd.DataFrame | None:
    return _read(states, paper, name) if (states / FOLDERS[paper] / name).is_file() else None


def _tables(states: Path) -> dict[int, pd.DataFrame]:
    """Return the tables of the first paper that are there; those of the simulations have to be."""
    tables = {}
    for number in EVERY:
        try:
            tables[number] = _read(states, "rct", f"table_{number:02d}.csv", ("row", "printed"))
        except FileError:
            if number in AVERAGES:
                raise
    return tables


_PANELS = re.compile(r"mean over ([0-9,]+) panels")
"""How many panels a report of the second paper says that it has."""


def _drawn(states: Path) -> str:
    """Return how much each run drew, by what it kept."""
    found = []
    for paper in ("rct", "ippw", "cate"):
        kept = [json.loads(path.read_text("utf-8"))["settings"]
                for path in (states / FOLDERS[paper] / "cells").glob("*.json")]  # fmt: skip
        counts = sorted({one["draws"] for one in kept if "draws" in one})
        seeds = sorted({one["seed"] for one in kept if "seed" in one})
        if counts:
            words = f"`{paper}` {', '.join(map(str, counts))} draws per setting"
            found.append(words + (f" (seed {', '.join(map(str, seeds))})" if seeds else ""))
    report = states / FOLDERS["dpsc"] / "report.md"
    panels = _PANELS.search(report.read_text("utf-8")) if report.is_file() else None
    if panels:
        found.append(f"`dpsc` {panels[1]} panels per setting")
    return "; ".join(found)


def _keyed(table: pd.DataFrame, *names: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows of a table by what names them."""
    return {
        tuple(row[name] for name in names): {str(k): v for k, v in row.items()}
        for row in table.to_dict("records")
    }


_RCT_ROWS = (
    (1, "row", "5000"), (1, "row", "1"), (3, "row", "Model 1"), (4, "row", "Model 9"),
)  # fmt: skip
_WHY = {"MV Histogram": "1", "Hybrid": "2", "GenM-1": "3", "GenModel": "3", "GenM-2": "3"}


def _rct(tables: Mapping[int, pd.DataFrame]) -> str:
    rows, runs = [], int(tables[1]["runs"].min())
    for number, column, value in _RCT_ROWS:
        part = tables[number]
        part = part[part[column].eq(value) & part["measure"].eq("overlap")]
        for one in part[part["method"].ne("Confidential")].to_dict("records"):
            label = f"epsilon {value}" if number == 1 else value
            rows.append(
                [
                    f"Table {number}, {label}: {one['method']}, mean overlap", one["printed"],
                    f"{one['ours']:.2f} [{one['low']:.2f}, {one['high']:.2f}]",
                    _WHY.get(one["method"], ""),
                ]
            )  # fmt: skip
    agree = "\n".join(
        f"- Table {number}: {agreement(number, table)}"
        for number, table in tables.items()
        if number in IMPLEMENTED
    )
    why = "\n".join(
        f"{k}. {text}"
        for k, text in enumerate(
            (reasons.HISTOGRAM, reasons.HYBRID, f"{reasons.GENMODEL} {reasons.GENMODEL_SIMULATED} "
             f"{reasons.GENMODEL_LIBERIA}", reasons.ASSIGNMENT, reasons.SLIP), start=1,
        )
    )  # fmt: skip
    return "\n\n".join(
        (
            "Algorithms 1 to 3 as printed, misprints corrected; no method of this paper has a "
            f"strict form of its own (`Calibrated` and `PrivateATE` are ours). {_brackets(runs)}"
            "`make replicate-rct` shows all 19 tables, each number next to the printed one, and "
            "draws Figures 3 to 15, 18 and 19 (1 and 2 are diagrams, 16 and 17 parts of 7 and 8).",
            markdown(("what", "printed", "ours, as printed", "why"), rows),
            f"How many printed numbers ours agree with:\n\n{agree}",
            f"Why they differ:\n\n{why}",
        )
    )


def _brackets(runs: int) -> str:
    """Return what stands in brackets, and what can be expected of it, by the number of runs."""
    if runs < 2:
        return "In brackets a single run of 20 releases at most, which says nothing of others. "
    return (
        f"In brackets the smallest and largest mean of {runs} runs of 20 releases, which is what "
        f"Tables 1, 3 and 4 print: another run is between them with probability "
        f"{expected_inside(runs):.0%}. "
    )


def _ippw(summary: pd.DataFrame, risks: pd.DataFrame) -> str:
    parts = []
    for study, printed in PRINTED.items():
        rows = summary[summary["study"].eq(study)].set_index(["setup", "epsilon"])
        if rows.empty:
            parts.append(f"{study}: its data were not at hand (`--data`).")
            continue
        lines = []
        epsilons = sorted(rows.loc["printed"].index)
        columns = list(zip(epsilons, printed.to_dict("records"), strict=True))
        for what, name, ours in (
            ("wrong sign against no noise, weights' noise alone", "wrong sign, partial",
             "wrong_sign_partial"),
            ("the same, all noise", "wrong sign", "differs"),
        ):  # fmt: skip
            for epsilon, page in columns:
                cells = [f"{rows.loc[('printed', epsilon), ours]:.3f}",
                         f"{rows.loc[('mended', epsilon), ours]:.3f}"]  # fmt: skip
                lines.append([what, f"{epsilon:g}", f"{page[name]:g}", *cells, "1, 2"])
        for what, name, ours in (
            ("mean effect, weights' noise alone", "mean partial", "mean_partial"),
            ("mean effect, all noise", "mean", "mean"),
        ):
            for epsilon, page in columns:
                cells = [f"{rows.loc[(setup, epsilon), ours]:,.4g}"
                         for setup in ("printed", "mended")]  # fmt: skip
                lines.append([what, f"{epsilon:g}", f"{page[name]:,.2f}", *cells, "1, 2, 4"])
        for epsilon in epsilons:
            cells = [
                f"{rows.loc[(setup, epsilon), 'wrong_sign']:.3f}" for setup in ("printed", "mended")
            ]
            strict = f"; strict {rows.loc[('strict', epsilon), 'wrong_sign']:.3f}"
            cells[1] += strict
            lines.append(["wrong sign against the truth", f"{epsilon:g}", "-", *cells, "3"])
        heads = ("what", "our epsilon", "printed", "ours, as printed", "ours, corrected", "why")
        parts.append(f"### {study}\n\n{markdown(heads, lines)}")
    why = (
        "1. The text at hand has lost the paper's epsilons, lam and delta; its columns stand in "
        "order of epsilon next to ours, and are not for the same epsilon.\n"
        "2. As printed (equations (3) to (7), no trimming) effects are sums of log-normal terms; "
        "covariates are divided by their largest norm in the sample, which the paper says of its "
        "synthetic data (section 4) and not of these two, and people are sampled with replacement "
        "(section 4; LaLonde's for the effect without), so that no guarantee holds. Corrected: "
        "public norm, trimming (appendix B), each person once, noise proved at every epsilon.\n"
        "3. Tables 2 and 3 compare with the estimate without noise; against the truth, penalty and "
        "trimming count, too. Strict is `dprct.IPW` in its plain form.\n"
        "4. Without trimming the mean over draws is that of the largest draw, in print (-237,487 "
        "for a true effect of 4, Table 2) as here.\n\n"
        "The text at hand has no formulas. The sensitivities of Definition 2, 2/(n1 lam), and of "
        "appendix C, 2 R/(n2 c), are derived anew, too.\n\n"
        "The risk of a wrong sign from public facts (Lemma 3, Theorems 4, 5, 8 to 11, Lemma 6, "
        "Corollary 7) is `dprct.published.SignRisk`. Its formulas are derived anew: those of the "
        "paper are lost in the text at hand. Its bounds hold whatever the rows are, and are far "
        f"above what happens in a simulation of one sample each. {_say_nothing(risks)}:\n\n"
        + risk_table(risks)
        + "\n\nAll set-ups are in `report.md` of `make replicate-ippw`, whose `--figures` draws "
        "Figure 1 (the bias of Lemma 3, and as simulated) and Figure 2: signs that differ against "
        "the effect and epsilon at n1 = 1,000 (a, b), and means with 95 % bars against n1 (c, d), "
        "with noise in the weights alone (a, c) and with all noise (b, d). The paper's effects "
        "are lost, too; ours are 1/4 to 4."
    )
    return "\n\n".join([*parts, f"Why they differ:\n\n{why}"])


def _say_nothing(risks: pd.DataFrame) -> str:
    """How many bounds on a probability are 1."""
    ones = risks["bound"].gt(0.995).sum()
    return f"{ones} of the {len(risks)} bounds are 1 or above .995, which says nothing"


def _dpsc(table: pd.DataFrame) -> str:
    by = _keyed(table, "n", "T0", "epsilon", "lambda", "form")
    lines = []
    for n, epsilon, ratio in SHOWN:
        if ratio != 1:
            continue
        for form, words in (("output", "Algorithm 2"), ("objective", "Algorithm 3")):
            one = by[n, 10, epsilon, 10.0, form]
            radius = by[n, 10, epsilon, 10.0, f"{form}, equation (10)"]
            mended = by[n, 10, epsilon, 200.0, "strict"]
            lines.append(
                [
                    f"{words}, n = {n}, epsilon {epsilon:g}: RMSE",
                    "figure",
                    f"{one['bound.printed']:,.4g} (Theorem {'3.2' if form == 'output' else '3.5'})",
                    f"density {one['rmse']:,.4g}; equation (10) {radius['rmse']:,.4g}",
                    f"strict {mended['rmse']:,.4g} (lambda = 20 T0)",
                    "1, 2",
                ]
            )
    counts = []
    for words, which in (
        ("printed density", ~table["form"].str.contains("(10)", regex=False)),
        ("radius of equation (10)", table["form"].str.contains("(10)", regex=False)),
    ):
        there = table[table["bound.printed"].notna() & which]
        above = (there["rmse"] - 3 * there["se"] > there["bound.printed"]).sum()
        counts.append(f"{words}: {above} of {len(there)} cases above the printed bound")
    why = (
        "1. The density that Algorithms 2 and 3 print has a mean length of n times its scale; "
        "equation (10) takes the scale itself, which is not private. Neither gives all of the "
        "figures, see below; against the bounds of Theorems 3.2 and 3.5 as printed, of all "
        "settings: "
        + "; ".join(counts)
        + ".\n2. Section 8 has figures and no numbers. The bounds are its theorems', evaluated "
        "by us on the simulated panels; they are not in print. Strict: noise from an exact "
        "sensitivity (`ridge_l1`), weights on the simplex. Output perturbation as printed is pure; "
        "objective perturbation is not private.\n\n"
        "What the paper says of its figures (section 8), and what comes out under either law of "
        'the noise. Its sentences name no numbers: "around", "comparable", "slightly" and '
        '"converge" are taken to be within a factor of two, "far", "substantially" and '
        '"dramatically" beyond it.\n\n'
        + claimed(table)
        + '\n\n"Sample each entry of W i.i.d." (Algorithms 2 and 3, step 2) is a misprint: '
        "the density that follows, of the norm of all of W, is not that of independent entries, "
        "and the proof of step 2 (Theorem 3.1) uses it as it stands; so does "
        "`published.SyntheticControl`, which draws W at once.\n\n"
        "Theorems 3.2 and 3.5, Corollaries 5.5 and 7.2 and the costs of equations (12) and (18) "
        "are `dprct.published.ControlError`. Lemma 5.7 takes the smallest eigenvalue of a matrix "
        "on the donors' space for that on all, so that Lemma 5.6, and with it Corollaries 5.5 and "
        "7.2, fail where true weights lie partly outside that space: what is outside is never "
        "learnt. `closed_form(outside=)` adds its length, 1 if not given.\n\n"
        "`make replicate-dpsc` draws Figures 2, 5, 6 and 8 at the paper's lambda = T0, with ours "
        "next to them; each repetition has a panel of its own, where the paper runs 500 on one "
        "(section 8.1). Its proposal to reject noisy weights that are far from the true ones "
        "(section 8.3) is not built. With output perturbation (Algorithm 2) that distance is the "
        "length of the noise, so that rejecting is drawing noise cut off at a radius: where such "
        "noise can fall moves with the data, and no pure epsilon holds; a private test of a length "
        "whose law is public tells nothing. That argument is of Algorithm 2 alone; Algorithm 3 has "
        "no guarantee that a test could keep. `SyntheticControl` shrinks the weights by what is "
        "public of the noise instead, which costs nothing."
    )
    heads = ("what", "printed", "bound, evaluated here", "ours, as printed", "ours, strict", "why")
    return f"{markdown(heads, lines)}\n\nWhy they differ:\n\n{why}"


def _cate(summary: pd.DataFrame) -> str:
    by = _keyed(summary, "design", "form", "n", "epsilon")

    def mse(*key: object) -> str:
        return shown(float(by[key]["mse"])) if key in by else "-"

    lines = []
    names = list(dict.fromkeys(summary["design"]))
    for name in names:
        for n in (4000, 16_000):
            for epsilon in (1.0, 4.0, 16.0):
                if (name, "ebm dr, printed", n, epsilon) not in by:
                    continue
                lines.append(
                    [
                        f"{name}, n = {n:,}, epsilon {epsilon:g}: MSE of the DR-learner",
                        "-" if name == CONSTANT else "figure", _theirs(name, n, epsilon),
                        mse(name, "ebm dr, printed", n, epsilon), mse(name, "ebm dr", n, epsilon),
                        *(mse(name, form, n, epsilon) for form in _ESTIMATED),
                        mse(name, "one-step", n, epsilon), "1, 2, 4",
                    ]
                )  # fmt: skip
    s = [(n, e) for n, e in ((4000, 1.0), (16_000, 1.0), (16_000, 16.0))
         if ("voting", "ebm s, printed", n, e) in by]  # fmt: skip
    lines += [
        [
            f"voting, n = {n:,}, epsilon {e:g}: MSE of the S-learner", "0.016",
            _theirs_s(n, e), mse("voting", "ebm s, printed", n, e), mse("voting", "ebm s", n, e),
            mse("voting", "constant, split", n, e), "-", "-", "-",
            mse("voting", "constant", n, e), "3, 4",
        ]
        for n, e in s
    ]  # fmt: skip
    why = (
        "1. Section 5 has figures; section 5.1.1 says that interpret's defaults were used. "
        "These take ranges and classes from the data, so that interpret's own claim does not hold "
        "(`published.CATE(as_printed=True)`: guarantee none). Corrected: declared bounds, clipped "
        "and centred targets, a regression for e; as claimed by interpret, not certified. Its "
        "noise scales with the public range.\n"
        "2. Ours, strict: `dprct.CATE`, one release of counts and sums from each part of the rows. "
        "With e and outcomes estimated it estimates what DP-EBM as printed does, and is the column "
        "to compare it with. The next column is `propensity_model='logit'`. With e alone estimated "
        "there is no model of the outcome, which is better the less e depends on features. The "
        "plug-in is `learner='t'`, on all rows. Where treatment was randomised, e is known. On "
        "voting R is 1.25, the largest value of a pseudo-outcome with known e; with models of the "
        "outcome it can be 1.75, and clipping explains most of the error of the first two.\n"
        "3. 0.016 is the variance of the effect in the paper's voting data (section 5.2); ours are "
        "other people (social pressure, no letter), with a variance of 0.015.\n"
        "4. The authors' file is `dp_cate_simulation_final.csv` of FengshiNiu/DP-CATE, the "
        "repository that the paper names (footnote of section 5): means of 25 fits of DP-EBM, as "
        "its figures have (Figure 2). On A to D its errors are 0.6 to 1.2 times ours. Its E has "
        "three 0/1 features and its voting data 11 covariates, where ours have none and 4. "
        '"B, constant effect" is ours, not the paper\'s.\n\n'
        + _not_found(by)
        + "More in [heterogeneous_effects.md](heterogeneous_effects.md)."
    )
    heads = ("what", "printed", "authors' file, not print", "ours, as printed", "ours, corrected",
             "ours, strict, e and outcomes estimated", "the same, e by a logit",
             "strict, e alone estimated", "strict, plug-in without e", "strict, e known",
             "why")  # fmt: skip
    return f"{markdown(heads, lines)}\n\nWhy they differ:\n\n{why}"


def _not_found(by: dict[tuple[Any, ...], dict[str, Any]]) -> str:
    """Return what section 5.2 of the paper says and does not come out, empty without the runs."""
    parts = []
    few, many = 4000, 16_000
    voting = [("voting", f"ebm {x}, printed", n, 1.0) for n in (few, many) for x in ("dr", "s")]
    if all(key in by for key in voting):
        dr_few, s_few, dr, s = (float(by[key]["mse"]) for key in voting)
        if dr < s:
            parts.append(
                "- At epsilon 1 the S-learner is better until about 20,000 people (section 5.2, "
                f"Figure 2). Here the DR-learner is better at {many:,} already ({shown(dr)} "
                f"against {shown(s)}), and at {few:,} it is worse ({shown(dr_few)} against "
                f"{shown(s_few)}). In the authors' file it comes out, on all 11 covariates: "
                f"{_crossing()}."
            )
    ratios: dict[str, list[str]] = {"variance": [], "bias2": []}
    for name in dict.fromkeys(key[0] for key in by):
        strong, weak = (by.get((name, "ebm dr, printed", many, e)) for e in (1.0, 16.0))
        if name == CONSTANT or strong is None or weak is None:
            continue  # which is not one of the paper's six
        for part, found in ratios.items():
            if min(strong[part], weak[part]) > 0:
                found.append(f"{name} {float(f'{strong[part] / weak[part]:.2g}'):g}")
    if ratios["variance"]:
        parts.append(
            "- From no privacy to strong privacy variance often grows about tenfold, and bias at "
            f"most twofold (section 5.2, Figure 3). Here from epsilon 16 to 1, n = {many:,}, by a "
            f"factor of: variance {', '.join(ratios['variance'])}; squared bias "
            f"{', '.join(ratios['bias2']) or 'nowhere'} (where both estimates of it are above "
            "zero). Figure 3 has C, D and E at 4,000 people. In the authors' file variance grows "
            f"by: {', '.join(f'{k} {v}' for k, v in authors.VARIANCE.items())}."
        )
    if not parts:
        return ""
    return "What section 5.2 finds and does not come out:\n\n" + "\n".join(parts) + "\n\n"


_ESTIMATED = ("one-step, split", "logit, split", "e alone", "plug-in")
"""Forms of the one-step learner that know no propensity, in the order of the page's columns."""

CONSTANT = "B, constant effect"
"""A design of ours, which the paper lacks."""

_HEADS = {CONSTANT: "B, tau = 1"}


def _theirs(design: str, n: int, epsilon: float) -> str:
    error = authors.DR.get((design, n, epsilon))
    return "-" if error is None else f"{error:g}"


def _theirs_s(n: int, epsilon: float) -> str:
    known = (n, epsilon) == (16_000, 1.0)
    return f"{authors.VOTING['s'][0]:g}" if known else "-"


def _crossing() -> str:
    """The errors in the authors' file on both sides of where two learners cross."""
    pairs = zip((16_000, 32_000), authors.VOTING["dr"], authors.VOTING["s"], strict=True)
    return ", and ".join(f"DR {dr:g} against S {s:g} at {n:,}" for n, dr, s in pairs)


def effect_tables(summary: pd.DataFrame) -> str:
    """Return errors by form and design, by n, and in parts, as Markdown."""
    names = list(dict.fromkeys(summary["design"]))
    heads = ["", *(_HEADS.get(name, name) for name in names)]
    main = 16_000
    parts = []
    for epsilon in (1.0, 4.0):
        rows = summary[
            summary["n"].eq(main)
            & (summary["epsilon"].eq(epsilon) | (summary["epsilon"].gt(1e300) & (epsilon == 1)))
        ]
        parts.append(f"## At n = {main:,}, epsilon = {epsilon:g}")
        parts.append(markdown(heads, _by(rows, "design", names)))
    parts.append("## Error against n, epsilon = 1")
    for name in names:
        rows = summary[
            summary["design"].eq(name)
            & (summary["epsilon"].eq(1) | summary["epsilon"].gt(1e300))
        ]  # fmt: skip
        if name not in ("B", "B, constant effect", "voting"):
            continue
        sizes = sorted(rows["n"].unique())
        parts.append(f"{name}:")
        parts.append(markdown(["n", *(f"{n:,}" for n in sizes)], _by(rows, "n", sizes)))
    parts.append("## Where a constant effect is better")
    parts.append("By more than 10% and two Monte Carlo errors, in the same run.")
    parts.append(
        markdown(("design", "learner", "n", "epsilon", "MSE", "constant"), _losses(summary))
    )
    parts.append(f"## Squared bias and variance, n = {main:,}")
    few = ("one-step", "one-step, split", "ebm dr", "ebm dr, printed")
    rows = summary[summary["n"].eq(main) & summary["form"].isin(few)]
    rows = rows.assign(
        mse=[
            f"{shown(b)} + {shown(v)}" for b, v in zip(rows["bias2"], rows["variance"], strict=True)
        ],
        title=rows["design"] + ": " + rows["title"],
    )
    epsilons = (1.0, 4.0, 16.0)
    parts.append(
        markdown(["", *(f"epsilon {e:g}" for e in epsilons)], _by(rows, "epsilon", epsilons))
    )
    return "\n\n".join(parts)


def _losses(summary: pd.DataFrame) -> list[list[str]]:
    """Return where a one-step learner has a larger error than a private constant."""
    by = _keyed(summary, "design", "form", "n", "epsilon")
    found = []
    for (design, form, n, epsilon), row in by.items():
        if not str(form).startswith("one-step"):
            continue
        same = (design, "constant", n, epsilon), (design, "constant, split", n, epsilon)
        constant = next((by[key] for key in same if key in by), None)
        if constant is None:
            continue
        gap = row["mse"] - constant["mse"]
        if gap > max(0.1 * constant["mse"], 2 * math.hypot(row["se"], constant["se"])):
            found.append(
                [
                    _HEADS.get(design, design), row["title"], f"{n:,}", f"{epsilon:g}",
                    shown(row["mse"]), shown(constant["mse"]),
                ]
            )  # fmt: skip
    return found


def _by(rows: pd.DataFrame, along: str, values: Sequence[object]) -> list[list[str]]:
    found = []
    for title, part in rows.groupby("title", sort=False):
        cells: dict[Any, Any] = dict(zip(part[along], part["mse"], strict=True))
        found.append([str(title), *(shown(cells[v]) if v in cells else "-" for v in values)])
    return found
