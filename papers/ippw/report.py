"""What the experiments say: a summary, figures, and a report beside what Tables 2 and 3 print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.ippw.risk import WORDS
from papers.ippw.samples import COVARIATES, DIMENSION, MAIN_SIZE, SYNTHETIC_N2
from papers.ippw.setups import DELTA, FIRST, IHDP_TEST, LAM, SECOND, SETUPS, TRIM, title_of
from papers.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PRINTED: Mapping[str, pd.DataFrame] = {
    "ihdp": pd.DataFrame(
        {
            "mean partial": [-237487.30, 32.34, 8.37, 5.22, 5.31],
            "mean": [-237477.13, 32.20, 8.50, 5.09, 5.40],
            "wrong sign, partial": [0.515, 0.425, 0.344, 0.287, 0.229],
            "wrong sign": [0.517, 0.425, 0.347, 0.301, 0.228],
        }
    ),
    "lalonde": pd.DataFrame(
        {
            "mean partial": [872.21, 899.15, 895.26, 906.70, 904.17],
            "mean": [876.83, 897.75, 893.37, 903.95, 900.25],
            "wrong sign, partial": [0.143, 0.072, 0.049, 0.027, 0.035],
            "wrong sign": [0.154, 0.071, 0.05, 0.039, 0.034],
        }
    ),
}
"""Tables 2 and 3, columns in order of epsilon, whose values are lost in the text at hand."""


def measured(rows: pd.DataFrame) -> dict[str, float]:
    """Return what the draws of one set-up at one epsilon say.

    Returns
    -------
    dict
        ``mean``, ``median``, ``bias``, ``rmse`` and ``median_error`` (of the absolute error)
        against the truth; ``wrong_sign``; ``wrong_sign_partial`` and ``differs`` (sign of the
        partial and of the whole against the estimate without noise); ``mean_partial``, ``own``;
        ``mean_error`` and ``mean_partial_error``, the standard errors of these means;
        ``none``: share of draws that release no effect, which are left out of all others;
        ``copies``, the mean of the largest number of copies of one person.

    Examples
    --------
    >>> rows = pd.DataFrame({"estimate": [1.0, -3.0], "truth": 1.0, "own": 2.0, "partial": 1.0})
    >>> found = measured(rows.assign(copies=1))
    >>> found["bias"], found["wrong_sign"], found["median_error"]
    (-2.0, 0.5, 2.0)
    """
    there = rows[rows["estimate"].notna()]
    error = there["estimate"] - there["truth"]
    # explosions beyond 1e150 would overflow when squared
    squared = float(np.square(error.clip(-1e150, 1e150)).mean())
    return {
        "draws": float(len(rows)),
        "mean": float(there["estimate"].mean()),
        "median": float(there["estimate"].median()),
        "bias": float(error.mean()),
        "rmse": float(np.sqrt(squared)),
        "median_error": float(error.abs().median()),
        "wrong_sign": _apart(there["estimate"], there["truth"]),
        "differs": _apart(there["estimate"], there["own"]),
        "mean_error": _of_mean(there["estimate"]),
        "mean_partial": float(there["partial"].mean()),
        "mean_partial_error": _of_mean(there["partial"]),
        "wrong_sign_partial": _apart(there["partial"], there["own"]),
        "own": float(there["own"].mean()),
        "none": 1 - len(there) / len(rows),
        "copies": float(rows["copies"].mean()),
    }


def summarised(found: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return one row per study, set-up and epsilon.

    Parameters
    ----------
    found : mapping from (study, set-up) to draws
    """
    rows = [
        {"study": study, "setup": setup, "title": title_of(setup), "epsilon": epsilon}
        | measured(part)
        | {"guarantee": promise(setup)}
        for (study, setup), draws in found.items()
        for epsilon, part in draws.groupby("epsilon")
    ]
    return pd.DataFrame(rows)


def promise(setup: str) -> str:
    """Return what a set-up keeps of the epsilon it names.

    Examples
    --------
    >>> promise("strict")
    '(epsilon, delta)'
    """
    one = SETUPS.get(setup)
    if one is None or one.mended:
        return "(epsilon, delta)"
    reasons = ["propensities that are not trimmed"]
    if one.sample_norm:
        reasons.append("a norm taken from the sample")
    if one.resampled:
        reasons.append("people in several copies")
    return "none: " + ", ".join(reasons)


def epsilon_of(wanted: float, epsilons: Sequence[float], shares: Sequence[float]) -> float:
    """Return the epsilon at which wrong signs are as frequent as wanted; NaN outside the range.

    Notes
    -----
    Interpolated in the logarithm of epsilon, along shares that are first made to fall.

    Examples
    --------
    >>> round(epsilon_of(0.3, [1.0, 4.0], [0.4, 0.2]), 6)
    2.0
    """
    falling = np.minimum.accumulate(np.asarray(shares, float))
    if not falling[-1] <= wanted <= falling[0]:
        return float("nan")
    return float(np.exp(np.interp(-wanted, -falling, np.log(np.asarray(epsilons, float)))))


def _of_mean(values: pd.Series[float]) -> float:
    """Return the standard error of a mean; NaN of fewer than two draws."""
    if len(values) < 2:
        return float("nan")
    # explosions beyond 1e150 would overflow when squared
    return float(np.std(values.clip(-1e150, 1e150).to_numpy(), ddof=1)) / math.sqrt(len(values))


def _apart(first: pd.Series[float], second: pd.Series[float]) -> float:
    """Return how often two signs differ, among rows that have both."""
    both = first.notna() & second.notna()
    if not both.any():
        return float("nan")
    return float((np.sign(first[both]) != np.sign(second[both])).mean())


_HEAD = f"""\
# Private inverse probability weighting: the paper's experiments again

Lee, Gresele, Park and Muandet, "Privacy-Preserving Causal Inference via Inverse Probability
Weighting", section 4. Everything here is simulated on data that are looked at; nothing is a
release. The folder holds estimates on the data given: keep it with them.

- **as printed**: {FIRST} of each arm are sampled with replacement for the propensity model, and
  {SECOND} for the effect (with replacement for IHDP, without for LaLonde: section 4), no trimming
  of propensities, noise by the classical formula. Covariates are divided by the largest norm in the
  sample: the paper says so of its synthetic data, and nothing of the others. No guarantee.
- **printed, nobody twice**: the same with balanced arms drawn without replacement. No guarantee.
- **printed, public norm**: as printed with a public bound of the norm. No guarantee.
- **published, corrected**: every row in one part, public norm, penalised intercept, propensities
  within [{TRIM:g}, {1 - TRIM:g}], public bounds of the outcome, noise that is proved at every
  epsilon. (epsilon, delta).
- **strict**: `dprct.IPW` in its plain form, `hajek=False`: also with exact noise, a penalty that
  follows epsilon, and odds freed of the bias of noisy weights before trimming. (epsilon, delta).
- **strict, Hajek**: the same with `hajek=True`, each arm over its released sum of weights (the
  default where that can be expected to be far from its noise); no effect is released where it is
  not.

lam = {LAM:g} and delta = {float(DELTA):g} in the published set-ups. An epsilon that "as printed"
names is not the one it has: with a norm from the sample and no trimming there is no guarantee, and
with these corrected a person in k copies would still have k epsilon.

Columns: `own` is the same estimate on the same rows without noise, `median error` that of the
absolute error, `wrong sign` against the truth, `copies` the largest number of copies of one person,
`no effect` the share of draws that release none.
"""

_REASONS = f"""\
## Why our numbers are not the printed ones

1. **Lost settings.** The text of the paper at hand has lost the values of epsilon, lam and delta,
   and the constants of the synthetic design ({DIMENSION} covariates, n2 = {SYNTHETIC_N2} and effect
   1 are ours). Columns of the printed tables are therefore in order of epsilon, not beside ours; a
   row of each says at which epsilon our shares of wrong signs are the printed ones. These differ
   between IHDP and LaLonde: one lam and one list of epsilons do not give both tables here.
2. **Means of exploding estimates.** Without trimming the effect is a sum of log-normal terms; at
   small epsilon its mean over draws is that of the largest draw, in Table 2 (-237487 for a
   true effect of 4) as here. Medians and shares of wrong signs can be compared, means cannot.
3. **IHDP's truth.** Section 4 scores against 4, which is the effect on the treated. We score
   against the mean of mu1 - mu0 in each realisation, of which the file has 100, not 1000; the
   usual split ({IHDP_TEST} rows for testing) is drawn anew in each draw.
4. **Balanced samples have another estimand.** {SECOND} of each arm stand for a population in which
   half is treated: what is estimated lies between the effects on the treated and on the others.
5. **LaLonde.** Here are the {len(COVARIATES)} covariates of the experiment's public file; the paper
   has 9, from a package of its day. Treatment was randomised, so that there is nothing to adjust
   for: the difference in means is the benchmark. Earnings in dollars make the largest norm, and
   after the division next to nothing of the other covariates is left in the propensity.
6. **Noise of the printed effects on LaLonde.** Earnings reach 60,000 dollars. At epsilon 5 and
   delta 1e-5 the published noise on a mean of {2 * SECOND} weighted outcomes has a standard
   deviation above 1,000, even if every propensity were 1/2; the printed means over 1000 draws
   with and without it differ by 3.2 dollars in root mean square, as a standard deviation of about
   100 would give. The printed noise is far below what outcomes of this range need.
7. **Copies.** Sampling with replacement (section 4: IHDP, and LaLonde's training rows) puts one
   person into many copies of the same part: dividing by the number of rows understates what that
   person contributes.
8. **What honesty costs.** Corrected and strict estimates clip outcomes to public bounds, wide for
   LaLonde's earnings and a guess for IHDP's 100 scales; the estimand is that of clipped outcomes.
   With outcomes far from the middle of their bounds, noise in the propensities moves the sum of
   weights, and with it the effect: dividing by that sum (Hajek) removes most of it, where the
   sum can be told from its noise. Penalty, trimming and a missing intercept leave confounding
   behind: compare `own` with the estimators without privacy. At these n and epsilon no private
   weighting estimate of LaLonde's effect is usable.
9. **A penalty that follows epsilon.** The strict form multiplies odds by exp(-s1^2 ||z||^2 / 2), s1
   the noise of a propensity weight. With s1 well above 1 both odds of most records would fall to
   the trimming bound: its default penalty keeps s1 at .7 or less, so that at these n propensities
   are nearly constant and the effect is near the difference in means.
"""


def report(summary: pd.DataFrame, baselines: pd.DataFrame, risks: pd.DataFrame) -> str:
    """Return the whole report as Markdown."""
    parts = [_HEAD]
    for study in _shown(summary["study"].unique()):
        rows = summary[summary["study"] == study]
        parts += [f"## {study}\n", _without(baselines[baselines["study"] == study])]
        parts.append(_table(rows))
        if study in PRINTED:
            parts.append(_printed(study, rows))
    parts += [_sizes(summary), f"{_RISKS}\n\n{risk_table(risks)}\n", _REASONS]
    return "\n".join(part for part in parts if part)


def _shown(labels: Iterable[str]) -> list[str]:
    """Return the studies with tables of their own: of the synthetic ones that of the main size."""
    main = f"synthetic n1={MAIN_SIZE}"
    return [label for label in labels if label == main or not label.startswith("synthetic")]


def _without(rows: pd.DataFrame) -> str:
    words = [
        f"{row['estimator']} {_short(row['mean'])} (rmse {_short(row['rmse'])})"
        for row in rows.to_dict("records")
    ]
    return f"Without privacy, on all rows: {'; '.join(words)}.\n"


def _table(rows: pd.DataFrame) -> str:
    heads = ("set-up", "epsilon", "mean", "median", "own", "rmse", "median error", "wrong sign")
    lines = [
        [
            str(row["title"]), f"{row['epsilon']:g}", _short(row["mean"]), _short(row["median"]),
            _short(row["own"]), _short(row["rmse"]), _short(row["median_error"]),
            _share(row["wrong_sign"]), f"{row['copies']:.1f}", f"{row['none']:.2f}",
        ]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    return _markdown((*heads, "copies", "no effect"), lines)


def _printed(study: str, rows: pd.DataFrame) -> str:
    """Return the paper's table, and where our wrong signs are as frequent as its."""
    printed = PRINTED[study]
    ours = rows[rows["setup"] == "printed"]
    at = [
        epsilon_of(share, list(ours["epsilon"]), list(ours["wrong_sign_partial"]))
        for share in printed["wrong sign, partial"]
    ]
    lines = [[str(name), *(f"{value:g}" for value in printed[name])] for name in printed]
    lines.append(
        ["our epsilon with as many", *("outside" if np.isnan(e) else f"{e:.2g}" for e in at)]
    )
    partial = ", ".join(f"{share:.3f}" for share in ours["wrong_sign_partial"])
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in ours["epsilon"])
    places = [f"column {k}" for k in range(1, len(printed) + 1)]
    return (
        "The paper's table, columns in order of epsilon:\n\n"
        + _markdown(("", *places), lines)
        + f"\nOurs as printed: wrong signs of the partially private effect against the one without "
        f"noise {partial}, at epsilon {epsilons}.\n"
    )


def _sizes(summary: pd.DataFrame) -> str:
    """Return the synthetic designs by n1, at epsilon 1."""
    synthetic = summary["study"].str.startswith("synthetic n1=")
    rows = summary[synthetic & (summary["epsilon"] == 1)]
    lines = [
        [
            str(row["study"]).removeprefix("synthetic n1="), str(row["title"]), _short(row["mean"]),
            _short(row["own"]), _short(row["rmse"]), _share(row["wrong_sign"]),
        ]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    heads = ("n1", "set-up", "mean", "own", "rmse", "wrong sign")
    return "## Synthetic designs by n1, epsilon 1\n\n" + _markdown(heads, lines)


_RISKS = """\
## The risk of a wrong sign: bound and simulation

`dprct.published.SignRisk`, on one synthetic sample of each size, with the noise of `published.IPW`
with trimming. The formulas of Lemma 3, Theorems 4, 5 and 8 to 11, Lemma 6 and Corollary 7 are lost
in the text of the paper at hand; these are derived anew from their assumptions and proofs, and are
not known to be the printed ones. A bound of 1 says nothing."""


def risk_table(risks: pd.DataFrame) -> str:
    """Return every bound of ``SignRisk`` beside the simulated share, as Markdown.

    Parameters
    ----------
    risks : DataFrame
        Of :func:`papers.ippw.risk.compared`.
    """
    heads = ("n1 = n2", "epsilon", "estimate without noise", "sign of the estimate", "bound",
             "simulated")  # fmt: skip
    lines = [
        [
            f"{row['n']:,}", f"{row['epsilon']:g}", f"{row['effect']:.3f}", WORDS[row["event"]],
            f"{row['bound']:.3g}", f"{row['share']:.3f}",
        ]
        for row in risks.to_dict("records")
    ]  # fmt: skip
    return markdown(heads, lines)


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return markdown(heads, lines) + "\n"


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
