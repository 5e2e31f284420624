"""What five papers define, item by item: what each prints, and what is here.

The numbers are those of a run (``make replicate-*``), or are computed here from the formulas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dprct.custodian.tables import ci_overlap
from dprct.published.histogram import threshold
from dprct.published.synthetic_control import objective_of, output_scale
from papers.cate.report import shown
from papers.dpsc.claims import claims
from papers.markdown import markdown
from papers.rct.printed import LISTS, printed
from papers.rct.summary import summary as agreement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

RIGHT = "as printed"
OTHER = "run as printed, other numbers"
LOST = "lost in the text at hand"
UNUSED = "public, not used"
OPEN = "named, left open"
STATES = {
    RIGHT: "is here as the paper defines it, or has nothing to run; its numbers, if any, come out",
    OTHER: "is run as the paper defines it, and its numbers do not all come out: said above",
    LOST: "its formulas or settings are missing in the text at hand: derived anew or chosen here",
    UNUSED: "its data or settings can be had by the repository that the paper names "
    "(FengshiNiu/DP-CATE), and were not used: of it the page has results alone",
    OPEN: "is named by its paper and left to others or to future work",
}


_EXPECTED = re.compile(r" printed values among our \d+ runs, where \d+% of those of another run "
                       r"can be expected| printed ITT within our 5% and 95%")  # fmt: skip
"""What the lists above say once for each method."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a paper defines.

    Parameters
    ----------
    paper, name : str
    printed : str
        With its place.
    ours : str
        Here, with a number where there is one.
    state : str
        Of :data:`STATES`.
    """

    paper: str
    name: str
    printed: str
    ours: str
    state: str = RIGHT


@dataclass(frozen=True, slots=True)
class Runs:
    """What the replications left; a table is None where its data were not at hand.

    Parameters
    ----------
    rct : mapping of table number to DataFrame
    dpsc, several : DataFrame
    ippw, trees : DataFrame
        Summary, and estimates without privacy.
    cate, stages : DataFrame
    """

    rct: Mapping[int, pd.DataFrame]
    dpsc: pd.DataFrame
    ippw: pd.DataFrame
    cate: pd.DataFrame
    several: pd.DataFrame | None = None
    trees: pd.DataFrame | None = None
    stages: pd.DataFrame | None = None

    def table(self, number: int) -> str:
        """How many numbers of a table of the first paper agree."""
        if number not in self.rct:
            return "its data were not at hand"
        table = self.rct[number]
        if number in LISTS:
            return f"{table['same'].astype(bool).sum()} of {len(table)} lines are the same"
        return _EXPECTED.sub("", agreement(number, table)).rstrip(".")

    def figure(self, number: str) -> str:
        """How many sentences on a figure of the second paper hold, by law of the noise."""
        words = []
        for law in ("density", "equation (10)"):
            found = [one for one in claims(self.dpsc) if (one.figure, one.law) == (number, law)]
            if found:
                words.append(f"{law}: {sum(one.holds for one in found)} of {len(found)}")
        return "; ".join(words) or "not run"

    def rmse(self, form: str, what: str = "rmse") -> str:
        """An error of the second paper's design, n = T0 = 10, epsilon 2, lambda = T0."""
        t = self.dpsc
        at = t["n"].eq(10) & t["T0"].eq(10) & t["epsilon"].eq(2) & t["lambda"].eq(10)
        found = t.loc[at & t["form"].eq(form)]
        return f"{found[what].iloc[0]:,.4g}" if len(found) and what in found else "not run"

    def signs(self, study: str, what: str) -> str:
        """Shares of other signs of the third paper's estimator by our epsilons."""
        return self._by_epsilon(study, what, ".3f")

    def means(self, study: str) -> str:
        """Means of the third paper's estimator, with noise in the weights, by our epsilons."""
        return self._by_epsilon(study, "mean_partial", ",.4g")

    def _by_epsilon(self, study: str, what: str, style: str) -> str:
        t = self.ippw
        rows = t[t["study"].eq(study) & t["setup"].eq("printed")].sort_values("epsilon")
        if rows.empty:
            return "its data were not at hand"
        return ", ".join(f"{one:{style}}" for one in rows[what])

    def mse(self, design: str, form: str, n: int, epsilon: float) -> str:
        """An error of the fourth paper's designs."""
        t = self.cate
        at = t["design"].eq(design) & t["form"].eq(form) & t["n"].eq(n) & t["epsilon"].eq(epsilon)
        found = t.loc[at, "mse"]
        return shown(float(found.iloc[0])) if len(found) else "not run"


def _cell(table: pd.DataFrame | None, row: str, method: str, measure: str) -> str:
    if table is None:
        return "not run"
    at = table["row"].astype(str).eq(row) & table["method"].eq(method)
    found = table.loc[at & table["measure"].eq(measure), "ours"]
    return f"{found.iloc[0]:.2f}" if len(found) else "not run"


def _rct(run: Runs) -> Iterator[Item]:
    def item(*words: str) -> Item:
        return Item("Assessing Utility of Differential Privacy for RCTs", *words)

    half = _cell(run.rct.get(1), "0.5", "GenModel", "tau")
    page = printed(1)
    theirs = page[page["row"].eq("0.5") & page["method"].eq("GenModel")]["printed"].iloc[0]
    yield item(
        "MV Histogram: edges, Laplace, cut, resampling",
        "Algorithm 1",
        "`published.MVHistogram`; noise 2/(n epsilon), 1/(n epsilon) by `neighbors=`",
    )
    yield item(
        "its threshold",
        "2 log(2/delta)/(n epsilon) + 1/n: .00699 at 1, .1, 1,000, 50",
        f"`threshold`: {threshold(1.0, 0.1, 1000, 50):.5f}",
    )
    yield item(
        "stability and fully private histogram",
        "section 3.1",
        "`dprct.MVHistogram`, sparse or dense, with a guarantee",
    )
    yield item("zeta", "2/3 (Table 19)", "`zeta=`; 2/3 in every run")
    yield item("Hybrid", "Algorithm 2", "`published.Hybrid`; RSS/(n - k), reason 2")
    yield item(
        "blocking variables, stratified assignment R",
        "sections 2 and 5.1",
        "`Block`, `BlockCluster`, `Factorial`, `Custom`",
    )
    yield item("treatment by covariate", "section 3.2", "roles of the formula")
    yield item("Hybrid for binary outcomes and counts", "section 3.2.1", "`families=`")
    yield item(
        "GenModel",
        f"Algorithm 3; Table 1, epsilon .5: mean {theirs}",
        f"`published.GenModel`: mean {half}; reason 3",
        OTHER,
    )
    yield item(
        "Algorithm 4 line 10, Algorithm 5 line 9",
        "empty bins get nothing",
        "`noise_on='occupied bins'`, the default",
    )
    yield item(
        "Algorithms 4 and 5, the rest",
        "appendix A",
        "`DPVariance`, `DPRange`; R: `published_variance()`, `published_range()`",
    )
    yield item(
        "Algorithm 3, delta of variance and ranges", "its inputs", "`Allocation(histograms=)`"
    )
    yield item(
        "Algorithm 3, inputs of each coefficient",
        "epsilon, upsilon, alpha of each; one sigma_min, sigma_max, of the variance",
        "`Allocation(own=)`, `v=`, `alpha=` by name",
    )
    yield item(
        "division of epsilon",
        "Table 19",
        run.table(19) if 19 in run.rct else "`Allocation.section4()`, `.section5()`, exact",
    )
    yield item(
        "variants with the confidential variance", "section 3.2.2", "`sigma=`, `confidential_from=`"
    )
    yield item(
        "GenModel for generalised linear models", "section 3.2.2, future work", "`families=`"
    )
    yield item(
        "errors that contain the noise",
        "section 4.1, future work",
        "`Calibrated`, `PrivateATE`, with a guarantee",
    )
    yield item(
        "overlap and |Delta|",
        "equation (5), section 4.1: .5 for (0, 2) and (1, 3)",
        f"`ci_overlap`: {float(ci_overlap(0.0, 2.0, 1.0, 3.0)):g}",
    )
    yield item("diagnostics", "section 5.2.1, appendix C.1", "`plots.residuals_fitted`, quantiles")
    yield item("HC1, Bonferroni, Westfall-Young", "section 5.1, appendix B.2", "`itt_table`")
    yield item(
        "simulated designs, 11 models",
        "equations (6) to (8), Table 2",
        "confidential rows of Tables 3 and 4: " + _confidential(run),
    )
    yield item("Table 1", "5 epsilons, 3 methods", run.table(1), OTHER)
    yield item("Tables 3 and 4", "11 models, 4 methods", f"{run.table(3)}. {run.table(4)}", OTHER)
    yield item(
        "Tables 2, 5, 9, 10 and 19",
        "lists of variables and parameters",
        "line by line in `build/rct-paper`; " + _lists(run),
    )
    yield item("Table 6", "12 effects, 6 methods", run.table(6), OTHER)
    yield item("Table 11", "80 numbers", run.table(11))
    yield item("Table 12", "216 numbers", run.table(12) + "; reason 5")
    yield item("Tables 13 and 14", "72 effects each", f"{run.table(13)}; {run.table(14)}", OTHER)
    yield item(
        "Tables 15 and 16", "72 effects each", f"{run.table(15)}; {run.table(16)}; reason 3", OTHER
    )
    yield item("Tables 17 and 18", "9 effects each", f"{run.table(17)}. {run.table(18)}", OTHER)
    yield item("Tables 7 and 8", "seconds", f"{run.table(7)}. {run.table(8)}", OTHER)
    yield item(
        "Figures 3, 4, 5, 6, 18, 19",
        "effects, overlaps, residuals",
        "`figure_03.png` and so on, of `make replicate-rct`",
    )
    yield item(
        "Figures 7 and 8, of which 16 and 17 are parts",
        "heat maps of Liberia",
        "`figure_07.png`, `figure_08.png`",
    )
    yield item("Figures 9 and 10 to 15", "residuals of Liberia", "`figure_09.png` to `_15.png`")
    yield item("Figures 1 and 2", "diagrams", "left out")
    yield item("a Stata file with its mechanism named", "section 1", "`protect`: file, certificate")
    yield item("Goal 3, cost of computing", "section 5.3", "Tables 7 and 8; times above")
    yield item(
        "why Hybrid and GenModel keep no epsilon",
        "sections 3.2.1 and 3.2.2",
        "`Guarantee.none(reason)`",
    )
    yield item(
        "the R package",
        "Algorithms 1 to 5",
        "`published_mv_histogram()`, `_hybrid()`, `_gen_model()`, `_variance()`, `_range()`",
    )
    yield item(
        "a further budget, other specifications",
        "section 6",
        "`Accountant`; verdicts of regressions",
    )


def _confidential(run: Runs) -> str:
    found = []
    for number in (3, 4):
        words = run.table(number).split(";")[0]
        found.append(words.removeprefix("Confidential: "))
    return ", ".join(found)


def _lists(run: Runs) -> str:
    return "; ".join(f"Table {n}: {run.table(n)}" for n in LISTS if n in run.rct) or "not run"


def _dpsc(run: Runs) -> Iterator[Item]:
    def item(*words: str) -> Item:
        return Item("Differentially Private Synthetic Control", *words)

    found = objective_of(10, 10, 10.0, 1.0)
    yield item("the text without formulas", "-", "read with the one that has them")
    yield item(
        "framework: weights, then path", "Algorithm 1", "`papers.baselines.SyntheticControl`"
    )
    yield item(
        "simplex, HSVT with ridge", "section 2.2", "the same, `donor_weights=` simplex and robust"
    )
    yield item(
        "lasso, elastic net, bias correction, matrix completion",
        "sections 1.2 and 2.2, of others",
        "elastic net: a bound by its strong convexity, as the ridge has; lasso: none, one donor "
        "can take all weight from another; the last two read the donors again, which is a release",
        OPEN,
    )
    yield item(
        "several treated units",
        "section 1.2, of others: named, no algorithm",
        "not in `dprct`; a trial of ours, of Algorithm 2 with step 2 once for all: "
        + _several(run),
        OPEN,
    )
    yield item(
        "private HSVT",
        "sections 1.2 and 2.2, no algorithm",
        "needs private singular vectors of the donors, whose sensitivity grows as their gap closes",
        OPEN,
    )
    yield item(
        "output perturbation",
        "Algorithm 2: 4 T0 sqrt(8 + n)/(lam eps1) = 8.4853 at n = T0 = 10, lam = 20, eps1 = 1",
        f"`published.SyntheticControl`: {output_scale(10, 10, 20.0, 1.0):.4f}; one draw of W",
    )
    yield item(
        "objective perturbation",
        "Algorithm 3: eps0, Delta, scale = .5, 449.17, 339.41 at n = T0 = lam = 10, eps1 = 1",
        f"{found.eps0:g}, {found.extra:.2f}, {found.scale:.2f}; no guarantee",
    )
    yield item("weights may be published", "section 4.2", "`.donor_weights`")
    yield item("rescaling to [-1, 1]", "equation (3)", "`bound=`")
    yield item(
        "sensitivities",
        "Lemmas 4.2 and 4.7",
        "Lemma 4.7 is of a penalty of 1; see [synthetic control](synthetic_control.md)",
    )
    yield item("bound of Algorithm 2", "Theorem 3.2", "`ControlError.theorem`")
    yield item(
        "bound of Algorithm 3, Laplace", "Theorem 3.5", "`ControlError(perturb='objective')`"
    )
    yield item(
        "bound of Algorithm 3, Gaussian",
        "Theorem 3.5, sqrt(n beta)",
        "`delta=`; as printed, and with sqrt(n) beta",
    )
    yield item(
        "closed forms and costs",
        "Corollaries 5.5 and 7.2, equations (12) and (18)",
        "`closed_form`, `cost`; Lemma 5.6 fails outside the donors' space, said above",
    )
    yield item(
        "design", "section 8.1", "a new panel each time, where section 8.1 has 500 runs on one"
    )
    yield item("Figure 2", "one panel", "`figure_2.png`")
    yield item("Figure 3", "section 8.2", f"sentences that hold: {run.figure('3')}", OTHER)
    yield item(
        "error before treatment",
        "section 8.2",
        "n = T0 = 10, epsilon 2, output, equation (10): "
        + run.rmse("output, equation (10)", "before"),
    )
    yield item("Figure 4", "section 8.2", f"sentences that hold: {run.figure('4')}", OTHER)
    yield item("account of the figures", "section 8", "each sentence under both laws, above", OTHER)
    yield item(
        "Figures 5 and 8",
        "sections 8.3 and 8.4",
        f"sentences that hold: Figure 5, {run.figure('5')}; Figure 8, {run.figure('8')}",
        OTHER,
    )
    yield item("Figure 6", "section 8.3", f"sentences that hold: {run.figure('6')}", OTHER)
    yield item("Figure 7", "section 8.4", f"sentences that hold: {run.figure('7')}", OTHER)
    yield item("guidance", "section 8", "[synthetic control](synthetic_control.md), with numbers")
    yield item(
        "rejection of bad weights", "section 8.3, future work", "not built: said above", OPEN
    )
    yield item("effect path, placebos", "section 2.2", "`dprct.SyntheticControl`")


def _several(run: Runs) -> str:
    if run.several is None:
        return "not run"
    rows = run.several[run.several["noise"].eq("density")].set_index("treated")
    words = ", ".join(
        f"{m} {'unit' if m == 1 else 'units'} {rows.loc[m, 'once']:,.4g} "
        f"({rows.loc[m, 'apart']:,.4g})"
        for m in rows.index
    )
    return f"RMSE of a path (in brackets Algorithm 2 for each unit apart) {words}"


def _ippw(run: Runs) -> Iterator[Item]:
    def item(*words: str) -> Item:
        return Item("Privacy-Preserving Causal Inference via IPW", *words)

    yield item(
        "private propensity weights",
        "Definition 2",
        "`published.IPW`: 2/(n1 lam), derived anew",
        LOST,
    )
    yield item(
        "private effect",
        "equation (5), appendix C",
        "`outcome_bound=`, `trim=`: 2 R/(n2 c), derived anew",
        LOST,
    )
    yield item("trimming", "appendix B", "`trim=`")
    yield item("risk with trimming", "Lemma 6", "`SignRisk`; the formula is derived anew", LOST)
    yield item("ATT and ATC", "appendix F", "`estimand=`")
    yield item("the algorithm", "Algorithm 1", "`split=`, `scale=`, `sampling=`")
    yield item(
        "separate privacy of both parts",
        "end of section 3.2",
        "`weights_epsilon=`, `effect_epsilon=`; `dprct.IPW` gives both the same",
    )
    yield item("bias", "Lemma 3, Figure 1", "`SignRisk.bias`, `figure_1.png`; derived anew", LOST)
    yield item(
        "risks and rows needed",
        "Theorems 4, 5 and 8 to 11, Corollary 7",
        "`SignRisk.partial`, `.both`, `.full`, `.moved`, `.rows`; derived anew",
        LOST,
    )
    yield item("Figure 2(a, b)", "signs against effect and epsilon, n1 = 1,000", "`figure_2.png`")
    yield item("Figure 2(c, d)", "means against n1, 95 % bars", "`figure_2.png`", LOST)
    yield item(
        "Table 2, IHDP",
        "signs .515, .425, .344, .287, .229; means -237,487, 32.34, 8.37, 5.22, 5.31",
        f"{run.signs('ihdp', 'wrong_sign_partial')}; {run.means('ihdp')} (other epsilons)",
        LOST,
    )
    yield item(
        "Table 3, LaLonde",
        "signs .143, .072, .049, .027, .035; means 872, 899, 895, 907, 904",
        f"{run.signs('lalonde', 'wrong_sign_partial')}; {run.means('lalonde')} (other epsilons, 7 "
        "of 9 covariates)",
        LOST,
    )
    yield item(
        "delta, lam, seed, epsilons",
        "section 4, lost in the text at hand",
        "1e-5, .01, 1, and .2 to 5",
        LOST,
    )
    yield item(
        "heterogeneous effects, other estimators",
        "section 5, future work",
        '`dprct.CATE`; `IPW(estimator="aipw")`; no private matching',
        OPEN,
    )
    yield item("CART, boosted CART", "section 2.1, not private", _trees(run))
    yield item("intervals of the effect", "section 5, future work", "`dprct.IPW`, `conf_int`")


def _trees(run: Runs) -> str:
    if run.trees is None:
        return "not run"
    main = run.trees[run.trees["study"].eq("synthetic n1=1000")].set_index("estimator")
    names = [name for name in ("ipw", "ipw, CART", "ipw, boosted CART") if name in main.index]
    words = ", ".join(f"{name} {float(main['bias'][name]):+.3f}" for name in names)
    return (
        f"`papers.baselines.tree_effect`, bias on the synthetic design: {words}. A private one "
        "needs private splits and leaves; Definition 2 is of logistic weights"
    )


def _cate(run: Runs) -> Iterator[Item]:
    def item(*words: str) -> Item:
        return Item("Differentially Private Estimation of Heterogeneous Causal Effects", *words)

    def voting(form: str, n: int = 16_000, epsilon: float = 1.0) -> str:
        return run.mse("voting", form, n, epsilon)

    dr, s = "ebm dr, printed", "ebm s, printed"
    yield item("meta-algorithm", "Algorithm 1", "`published.CATE(parts=)`")
    yield item("any base learner", "Remark 3.6", "`base=`: guarantee none, claims listed")
    yield item(
        "DR-learner",
        "section 3.1; the authors' file, not print: .0231, .00462, .0031",
        f"voting, 16,000, epsilon 1, 4, 16: {voting(dr)}, {voting(dr, epsilon=4.0)}, "
        f"{voting(dr, epsilon=16.0)}; on other people, of whom 4 covariates are known",
        OTHER,
    )
    yield item(
        "R-learner",
        "section 3.1; the authors' file, not print: .0239",
        f"voting, 16,000, epsilon 1: {voting('ebm r, printed')}; corrected for e = 1/2 alone",
        OTHER,
    )
    yield item(
        "S-learner",
        "section 3.1; MSE .016 (section 5.2); the authors' file .0162",
        f"{voting(s)}; `dprct.CATE(learner='s')` needs a known e, and says why; without one: "
        f"`learner='t'` {voting('plug-in')}, and `IPW(estimator='aipw')` for everybody",
    )
    yield item("all intermediate models", "Remark 3.1", "`result.models`")
    yield item(
        "parts with budgets of their own", "Theorem 3.3", "`part_budgets=`, `parallel_delta`"
    )
    yield item(
        "average effect, partially linear model, nonparametric IV",
        "Remark 3.2, of others",
        _stages(run),
    )
    yield item("DP-EBM", "section 4.1", "interpret's, behind a fence")
    yield item("classifier for e", "section 5.1.1", "`as_printed=True`")
    yield item(
        "setups A to E",
        "Table 1",
        "covariances of E are not printed: .5 of neighbours; the authors' notebook has another E: "
        "three numbers and three 0/1 features of one fixed matrix, noise that grows with x1",
        UNUSED,
    )
    yield item(
        "voting data",
        "section 5.1.2: 148,160 people, 11 covariates",
        "the people of another experiment, 4 covariates; the authors' notebook reads the file of "
        "xnie/rlearner (section 2 of Nie and Wager)",
        UNUSED,
    )
    yield item(
        "n and epsilon",
        "section 5.1.3: 35 cells",
        "4 of them for DP-EBM; all with `FULL=1` (25 hours of one core)",
    )
    yield item(
        "MSE, bias, variance", "section 5.1.3; variance 2 MSE - bias", "MSE - bias: a misprint"
    )
    yield item("Figure 1", "effect along age", "`figure_1.png`, beside the true additive part")
    yield item(
        "Figure 2",
        "S better than DR until n = 20,000 at epsilon 1",
        f"n = 4,000: DR {voting(dr, 4000)}, S {voting(s, 4000)}; 16,000: DR {voting(dr)}, S "
        f"{voting(s)}",
        OTHER,
    )
    yield item(
        "Figure 3", "variance about tenfold, bias at most twofold", "by factors, above", OTHER
    )
    yield item(
        "DP-EBM-DR-learner as it was run",
        "section 5.1.1",
        f"B, 16,000, epsilon 1, 4: {run.mse('B', dr, 16_000, 1.0)}, "
        f"{run.mse('B', dr, 16_000, 4.0)}",
    )
    yield item(
        "findings 1 to 3",
        "section 5.2",
        "the first two hold; of the third, that flexible learners need more people, the numbers "
        "differ (Figure 2)",
        OTHER,
    )
    yield item("theory of the trade-off", "section 6, future work", "-", OPEN)


def _stages(run: Runs) -> str:
    if run.stages is None:
        return "not run"
    at = run.stages[run.stages["epsilon"].eq(1)].set_index("estimator")
    words = "; ".join(
        f"{name} {shown(row['rmse'])} (without {shown(row['without'])})"
        for name, row in zip(at.index, at.to_dict("records"), strict=True)
    )
    return f"`papers.cate.multistage`, root mean square error at epsilon 1: {words}"


def _users(run: Runs) -> Iterator[Item]:
    def item(*words: str) -> Item:
        return Item("All", *words)

    del run
    yield item("result objects, .dta, rpy2, vignettes", "what an economist asks for", "there")
    yield item("methods from a shell", "what an economist asks for", "study files, `dprct protect`")
    yield item(
        "the papers' tables from R",
        "what an economist asks for",
        "read `build/rct-paper/table_01.csv` and so on, or their .tex: `papers/` is not in the "
        "package, and R has no function of its own for it",
    )
    yield item(
        "few repetitions",
        "what an economist asks for",
        "`--reps` below 40 says that no range can be given",
    )


PARTS: tuple[Callable[[Runs], Iterator[Item]], ...] = (_rct, _dpsc, _ippw, _cate, _users)


def items(run: Runs) -> list[Item]:
    """Every item of the five papers, with its state and numbers."""
    return [item for part in PARTS for item in part(run)]


def item_tables(run: Runs) -> str:
    """The items as Markdown, a table per paper, after how many there are of each state."""
    every = items(run)
    counts: dict[str, Any] = {state: sum(one.state == state for one in every) for state in STATES}
    lines = [[state, f"{counts[state]}", words] for state, words in STATES.items()]
    tables = [
        f"{len(every)} items, by what became of them:",
        markdown(("state", "items", "which"), lines),
    ]
    for paper in dict.fromkeys(one.paper for one in every):
        rows = [[o.name, o.printed, o.ours, o.state] for o in every if o.paper == paper]
        tables.append(f"### {paper}: items")
        tables.append(markdown(("item", "printed", "ours", "state"), rows))
    return "\n\n".join(tables)
