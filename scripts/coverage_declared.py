"""Write docs/coverage_declared.md: coverage and error of declared regressions, over a grid.

Usage: python scripts/coverage_declared.py [runs per cell, 200 by default] [part of a case's name]

The truth is the effect on the outcome clipped at its declared bounds.  Every release is a whole fit
of PrivateMoments on fresh rows, with seeded noise of the law of the release; the rows of a run are
released at every epsilon.  The page is written after every 20 runs of each case, so that it can be
stopped.  With a part of a name the rows of these cases alone are printed, and nothing is written.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct import Column, PrivateMoments, Schema

OUT = Path(__file__).resolve().parents[1] / "docs" / "coverage_declared.md"
DELTA, LOW = 1e-6, 0.93
ROUND = 20
"""Releases of every case before the page is written again."""
NEVER: Any = {"missing": ()}

HEAD = """# How well declared regressions do

Written by `scripts/coverage_declared.py`; {runs} simulated releases per row (of eight outcomes a
quarter as many), delta = 1e-6, ten covariates fixed before treatment (R squared .4 where the
outcome is normal), one person protected, treatment public unless stated otherwise. **The truth is
the effect on the outcome clipped at its declared bounds.** Rows are drawn anew in every run, and
treatment is assigned anew. [Declared regressions](declared_regressions.md) explains them.

*Error*: root mean squared error over that of least squares with covariates and without privacy.
*Printed*: the same ratio in an earlier simulation of 150 runs. *Width* and *off by*: the
median standard error and the mean error, over the same error of least squares. *Test*: how often
the 5 % test of a true zero rejects, where the effect is zero. A coverage in bold is more than three
binomial errors below .93. With {runs} releases a coverage of .95 is known to {known}, and an error
ratio to {within} %; outcomes of one release count each.

*Sampling weights* are public, of 1 to 4. *Private treatment* is drawn for each person
independently. *An instrument*: the offer changes the take-up of .6 of the people; the interval is
the Anderson-Rubin set, which may be open, so no width is given.

| case | rows | epsilon | coverage 95 % | error | printed | width | off by | test |
|---|---|---|---|---|---|---|---|---|
"""

NEXT = """
**Read next:** [declared regressions](declared_regressions.md), [reliability](reliability.md).
"""

# what ALGORITHMS, section 12, measured in 150 runs: error at epsilon 1 and 4
PRINTED = {
    ("normal, robust errors", 1000): (2.03, 1.11), ("normal, robust errors", 5000): (1.27, 1.01),
    ("normal, robust errors", 20000): (1.12, 1.05), ("normal, eight outcomes", 5000): (2.8, 1.26),
    ("lognormal, robust errors", 1000): (1.78, 1.10),
    ("lognormal, robust errors", 5000): (1.16, 1.00),
    ("lognormal, robust errors", 20000): (1.06, 1.02),
    ("lognormal, eight outcomes", 5000): (2.2, 1.15),
    ("40 clusters of 15, eight outcomes", 600): (5.6, 1.89),
    ("100 clusters of 20, eight outcomes", 2000): (2.9, 1.27),
    ("200 clusters of 30, eight outcomes", 6000): (1.65, 1.06),
    ("200 clusters of 30", 6000): (1.09, 1.00),
    ("private treatment, .7 and .9 seen privately", 2000): (2.25, 1.19),
    ("private treatment, .7 and .9 seen privately", 10000): (1.34, 1.05),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One cell of the grid; ``kind`` is the law of the outcome.

    ``where``: of the half of the rows for which a condition on a public column holds.  ``slope``:
    the coefficient of treatment times a covariate with which the effect varies.  ``weights``: with
    sampling weights, to which the effect is tied; ``own``: these are private, lognormal from .25
    to 4.  ``offer``: the effect of what was taken up.  ``hidden``: treatment is private, drawn for
    each person alone; ``gone``: outcomes of .3 of the treated and .1 of the others are missing,
    and who has one is private; ``within``: errors of public clusters of so many people;
    ``crossed``: of so many markets, too, which cross these, or the clusters assigned.
    """

    name: str
    n: int
    kind: str = "normal"
    outcomes: int = 1
    cluster: int = 1
    sizes: tuple[int, int] | None = None
    share: float = 0.5
    scale: float = 1.0
    centre: float = 0.0
    where: bool = False
    slope: bool = False
    weights: bool = False
    offer: bool = False
    own: bool = False
    hidden: bool = False
    gone: bool = False
    within: int = 0
    crossed: int = 0
    epsilons: tuple[float, ...] = (1.0, 4.0)

    @property
    def alike(self) -> bool:
        """Whether every run has the same public facts, but for who is treated."""
        same = self.sizes is None and not (self.where or self.weights)
        return same or self.hidden or self.own


CASES = (
    *(Case(f"{kind}, robust errors", n, kind)
      for kind in ("normal", "lognormal") for n in (1000, 5000, 20000)),
    Case("normal, eight outcomes", 5000, outcomes=8),
    Case("lognormal, eight outcomes", 5000, "lognormal", outcomes=8),
    Case("no effect, unequal spread", 2000, "spread"),
    Case("2 % have the outcome", 5000, "rare"),
    Case("zero-inflated", 5000, "zeros"),
    Case("sd three times too small", 5000, scale=1 / 3),
    Case("centre one sd off", 5000, centre=1.0),
    Case("5 % are treated", 5000, share=0.05),
    Case("40 clusters of 15, eight outcomes", 600, outcomes=8, cluster=15),
    Case("100 clusters of 20, eight outcomes", 2000, outcomes=8, cluster=20),
    Case("200 clusters of 30, eight outcomes", 6000, outcomes=8, cluster=30),
    Case("200 clusters of 30", 6000, cluster=30),
    Case("15 clusters of 100", 1500, cluster=100),
    Case("100 clusters of 5 to 100", 5000, cluster=50, sizes=(5, 100)),
    Case("60 clusters of 5 to 60, zero-inflated", 1950, "zeros", cluster=32, sizes=(5, 60)),
    Case("half of the rows, by a condition", 5000, where=True),
    *(Case("sampling weights of 1 to 4", n, weights=True) for n in (2000, 10000)),
    Case("sampling weights, lognormal", 5000, "lognormal", weights=True),
    Case("sampling weights, 200 clusters", 6000, cluster=30, weights=True),
    *(Case("an instrument", n, offer=True) for n in (2000, 10000)),
    Case("an instrument, 200 clusters", 6000, cluster=30, offer=True),
    *(Case("treatment times a covariate", n, slope=True) for n in (5000, 20000)),
    Case("treatment times a covariate, skewed", 5000, "lognormal", slope=True),
    Case("treatment times a covariate, 200 clusters", 6000, cluster=30, slope=True),
    Case("private treatment", 2000, hidden=True),
    *(Case("private treatment, .7 and .9 seen privately", n, hidden=True, gone=True)
      for n in (2000, 10000)),
    Case("private treatment, 100 public clusters of 20", 2000, hidden=True, within=20),
    *(Case("private weights, lognormal", n, weights=True, own=True) for n in (2000, 10000)),
    Case("two ways, 60 villages of 50 and 40 markets", 3000, cluster=50, crossed=40),
    Case("two ways, 12 villages of 250 and 40 markets", 3000, cluster=250, crossed=40),
    Case("two ways, 60 villages, 40 markets, people assigned", 3000, within=50, crossed=40),
    Case("private treatment and weights", 10000, weights=True, own=True, hidden=True),
)  # fmt: skip


def bounds_of(kind: str) -> tuple[float, float, float, float]:
    """Return lower and upper bound, standard deviation and centre of a law: public guesses."""
    return {
        "normal": (-4.0, 4.0, 1.0, 0.0), "lognormal": (0.0, 12.0, 2.16, 1.5),
        "spread": (0.0, 12.0, 1.5, 1.0), "rare": (0.0, 1.0, 0.14, 0.0),
        "zeros": (0.0, 10.0, 1.5, 0.5),
    }[kind]  # fmt: skip


def potential(kind: str, z: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return outcomes without and with treatment, of standard normal z."""
    if kind == "normal":
        return z, z + 0.2
    if kind == "lognormal":
        return np.exp(z), 1.2 * np.exp(z)
    if kind == "spread":  # equal means, unequal spread
        return np.exp(0.5 * z - 0.125), np.exp(1.0 * z - 0.5)
    if kind == "rare":
        u = rng.random(z.shape)
        return (u < 0.02) * 1.0, (u < 0.02) * 1.0
    some = rng.random(z.shape) < 0.3
    return np.where(some, np.exp(z), 0.0), np.where(some, 1.2 * np.exp(z), 0.0)


def made(case: Case, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows, what is true of them, clusters treated, and errors of plain least squares."""
    G = case.n // case.cluster
    each = np.full(G, case.cluster)
    if case.sizes is not None:
        each = rng.integers(case.sizes[0], case.sizes[1] + 1, G)
    group = np.repeat(np.arange(G), each)
    n, K = len(group), case.outcomes
    t = np.zeros(G)
    t[rng.permutation(G)[: round(G * case.share)]] = 1
    t = (rng.random(G) < case.share) * 1.0 if case.hidden else t
    T = t[group]
    X = np.clip(rng.normal(size=(n, 10)), -3, 3)
    icc = 0.1 if case.cluster > 1 else 0.0
    own = math.sqrt(icc) * rng.normal(size=(G, K))[group]
    market, of_markets = np.arange(n) % max(1, case.crossed), 0.1 if case.crossed else 0.0
    own = own + math.sqrt(of_markets) * rng.normal(size=(max(1, case.crossed), K))[market]
    e = own + math.sqrt(1 - icc - of_markets) * rng.normal(size=(n, K))
    z = math.sqrt(0.04) * X.sum(axis=1)[:, None] + math.sqrt(0.6) * e
    low, high, *_ = bounds_of(case.kind)
    off, on = potential(case.kind, z, rng)
    w = 1.0 + np.arange(n) % 4
    w = np.exp(rng.normal(size=n) / 2).clip(0.25, 4) if case.own else w
    on = on + 0.1 * X[:, :1] if case.slope else on
    on = on + 0.1 * w[:, None] if case.weights else on
    takes = rng.random(n) < 0.6 if case.offer else np.ones(n, bool)
    given = T * takes
    Y = np.clip(np.where(given[:, None] == 1, on, off), low, high)
    effect = np.clip(on, low, high) - np.clip(off, low, high)
    truth = np.average(effect[takes], axis=0, weights=w[takes] if case.weights else None)
    truth = truth if case.kind != "spread" else np.full(K, SPREAD)
    if case.slope:
        line = np.column_stack([np.ones(n), X[:, 0]])
        truth = np.linalg.lstsq(line, effect)[0][1]
    names = [*(f"y{k}" for k in range(K)), "t", *(f"x{j}" for j in range(10)), "v"]
    data = pd.DataFrame(np.column_stack([Y, T, X, group]), columns=names)
    data = data.assign(wave=np.arange(n) % 2.0, w=w, taken=given.astype(float), m=market * 1.0)
    W = np.column_stack([np.ones(n), T, X])
    W = np.insert(W, 1, T * X[:, 0], axis=1) if case.slope else W
    use = data["wave"].to_numpy() != 1 if case.where else np.ones(n, bool)
    if case.gone:
        use &= rng.random(n) < np.where(T == 1, 0.7, 0.9)
        data.loc[~use, "y0"] = np.nan
    if case.within:
        data["v"] = np.arange(n) // case.within * 1.0
    root = np.sqrt(w)[:, None] if case.weights else 1.0
    left = np.column_stack([Y, given]) if case.offer else Y
    slopes = np.linalg.lstsq((W * root)[use], (left * root)[use], rcond=None)[0][1]
    plain = (slopes[:-1] / slopes[-1] if case.offer else slopes) - truth
    return data, truth, int(t.sum()), plain


def model_of(case: Case, data: pd.DataFrame, treated: int) -> PrivateMoments:
    """Return the declared regressions of a case."""
    low, high, sd, centre = bounds_of(case.kind)
    facts: dict[str, Any] = {"bounds": (low, high), **NEVER}
    facts |= {"missing": (".",), "missing_policy": "private"} if case.gone else {}
    about = {"sd": sd * case.scale, "centre": min(max(centre + case.centre * sd, low), high)}
    if case.kind == "rare":
        facts, about = {"type": "byte", "levels": (0.0, 1.0), **NEVER}, {}
    names = [f"x{j}" for j in range(10)]
    outcomes = [f"y{k}" for k in range(case.outcomes)]
    schema = Schema((
        *(Column(y, **facts, **about) for y in outcomes),
        Column("t", "byte", levels=(0.0, 1.0), **NEVER),
        Column("taken", "byte", levels=(0.0, 1.0), **NEVER),
        *(Column(x, bounds=(-3, 3), sd=1.0, **NEVER) for x in names),
        Column("v", "long", fate="public" if case.within else None, **NEVER),
        Column("m", "long", fate="public", **NEVER),
        Column("wave", "byte", missing=(".",), fate="public"),
        Column("w", bounds=(0, 4), sd=0.6, centre=1.1, **NEVER) if case.own
        else Column("w", "byte", fate="public", **NEVER),
    ))  # fmt: skip
    design: Any = dprct.Complete("t", counts=int(data["t"].sum()))
    if case.hidden:
        design = dprct.Simple("t", shares=case.share)
    if case.cluster > 1:
        design = dprct.Cluster("t", cluster="v", counts=treated, icc=0.1)
    right = " + ".join(["t", *names, *["t:x0"] * case.slope])
    if case.offer:
        right = " + ".join([*names, "[taken ~ t]"])
    where = "wave != 1 & y0 < ." if case.where else None
    weights = "w" if case.weights else None
    cluster: Any = "v" if case.within else None
    cluster = ("v", "m") if case.crossed else cluster
    model = PrivateMoments(
        data, schema, assignment=design,
        neighbors="replace-one" if case.hidden else "replace-one-design-public",
        formulas=[dprct.Regression(f"{y} ~ {right}", where=where, weights=weights, cluster=cluster)
                  for y in outcomes],
    )  # fmt: skip
    if case.alike:  # what is paid is a function of public facts, which are the same in every run
        plans, own = PLANS.setdefault(case, {}), model._allocated

        def allocated(budget: Any) -> Any:
            if budget not in plans:
                plans[budget] = own(budget)
            return plans[budget]

        model.__dict__["_allocated"] = allocated
    return model


def release(
    case: Case, model: PrivateMoments, epsilon: float, truth: Any, rng: np.random.Generator
) -> tuple[Any, ...]:
    """Return errors, standard errors, coverage and rejections of one release."""
    fit = model.fit(epsilon, DELTA, rng=int(rng.integers(2**31)))
    if case.offer:
        found = [fit.iv(model.spec.declared[0])]
        inside = np.array([float(truth[0]) in found[0].confidence_set()])
        return found[0].params.to_numpy()[:1] - truth, np.array([np.nan]), inside, ~inside
    found = fit.regressions
    at = 1 if case.slope else 0
    ends = np.array([one.conf_int().iloc[at].to_numpy() for one in found])
    return (
        np.array([one.params.iloc[at] for one in found]) - truth,
        np.array([one.bse.iloc[at] for one in found]),
        (ends[:, 0] <= truth) & (truth <= ends[:, 1]),
        np.array([one.pvalues.iloc[at] < 0.05 for one in found]),
    )


def spread_truth() -> float:
    """Return the difference of the clipped means of two lognormal laws, by quadrature."""
    z = np.linspace(-9, 9, 200_001)
    w = np.exp(-(z**2) / 2)
    off, on = potential("spread", z, np.random.default_rng(0))
    return float(w @ (np.clip(on, 0, 12) - np.clip(off, 0, 12)) / w.sum())


SPREAD = spread_truth()
PLANS: dict[Case, dict[Any, Any]] = {}


class Runs:
    """The releases of a case so far."""

    def __init__(self, case: Case) -> None:
        self.case, self.rng = case, np.random.default_rng(20_261_125)
        self.plain: list[Any] = []
        self.found: dict[float, list[Any]] = {epsilon: [] for epsilon in case.epsilons}

    def more(self, runs: int) -> None:
        """Release so many more times, at every epsilon; of eight outcomes a quarter as often."""
        for _ in range(max(1, runs // 4) if self.case.outcomes > 1 else runs):
            data, truth, treated, error = made(self.case, self.rng)
            self.plain.append(error)
            model = model_of(self.case, data, treated)
            for epsilon, several in self.found.items():
                several.append(release(self.case, model, epsilon, truth, self.rng))

    def rows(self) -> list[str]:
        """Return the rows of the table, one for each epsilon."""
        scale = math.sqrt((np.array(self.plain) ** 2).mean())
        return [
            row(self.case, at, scale, several) for at, several in enumerate(self.found.values())
        ]


def row(case: Case, at: int, scale: float, several: list[Any]) -> str:
    """Return one row of the table."""
    errors, widths, covered, rejected = (np.array(part) for part in zip(*several, strict=True))
    cover, runs = covered.mean(), len(several)
    low = cover < LOW - 3 * math.sqrt(LOW * (1 - LOW) / runs)
    said = f"**{cover:.3f}**" if low else f"{cover:.3f}"
    test = f"{rejected.mean():.3f}" if case.kind in ("rare", "spread") else ""
    printed = PRINTED.get((case.name, case.n))
    width = "" if case.offer else f"{np.median(widths) / scale:.2f}"
    return (
        f"| {case.name} | {case.n:,} | {case.epsilons[at]:g} | {said} | "
        f"{math.sqrt((errors**2).mean()) / scale:.2f} | "
        f"{'' if printed is None else format(printed[at], '.2f')} | {width} | "
        f"{errors.mean() / scale:+.2f} | {test} |"
    )


def main(runs: int, part: str) -> None:
    """Write the page, or print the rows of some cases; the page has what was run so far."""
    warnings.simplefilter("ignore")
    cases, start = [Runs(case) for case in CASES if part in case.name], time.process_time()
    for done in range(0, runs, ROUND):
        for case in cases:
            case.more(min(ROUND, runs - done))
        so_far, minutes = min(runs, done + ROUND), (time.process_time() - start) / 60
        rows = [one for case in cases for one in case.rows()]
        if part:
            print(f"{so_far} runs, {minutes:.1f} minutes", *rows, sep="\n", flush=True)
            continue
        known = f"{1.96 * math.sqrt(0.95 * 0.05 / so_far):.3f}".lstrip("0")
        within = round(100 * 1.96 / math.sqrt(2 * so_far))
        head = HEAD.format(runs=so_far, known=known, within=within)
        tail = f"\nThe simulation took {minutes:.0f} minutes of processor time.\n"
        OUT.write_text(head + "\n".join(rows) + "\n" + tail + NEXT, encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else "")
