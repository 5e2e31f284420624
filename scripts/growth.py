#!/usr/bin/env python3
"""Measure how processor time grows with the size of what is asked, and write it into a page.

    python scripts/growth.py [--page docs/reliability.md] [WORD ...]

Each case is run at sizes that grow by a factor; its exponent is the slope of log time over log size
between the last two.  Those above ``LINEAR`` are listed on the page as growing faster than
linearly, the others are named below.  WORDs pick cases by their names.
"""

from __future__ import annotations

import argparse
import functools
import math
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

import dprct
from dprct.dofile.reader import read_files
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BEGIN, END = "<!-- figures of scripts/growth.py -->", "<!-- end of growth -->"
LINEAR = 1.2
"""Exponents up to here are taken for linear: caches and pages of memory alone give as much."""
ROUNDS, LONG = 3, 1.0
"""Smallest of so many rounds; of one where it takes so many seconds."""


class Case(NamedTuple):
    """What is run, along what it grows, at which sizes, and how one size is set up."""

    name: str
    along: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Callable[[], object]]


class Measured(NamedTuple):
    """Seconds of processor at each size, and the exponent between the last two."""

    case: Case
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """Slope of log time over log size at the largest sizes."""
        (*_, a, b), (*_, m, n) = self.seconds, self.case.sizes
        return math.log(b / a) / math.log(n / m)


def people(n: int, outcomes: int = 1, covariates: int = 1, levels: int = 5) -> tuple[Any, Schema]:
    """A trial: treatment, outcomes, covariates and a group of some levels."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"t": rng.permutation(n) % 2.0, "g": np.arange(n) % float(levels)})
    names = [f"y{j}" for j in range(outcomes)] + [f"x{j}" for j in range(covariates)]
    values = rng.normal(size=(n, len(names))).clip(-3, 3)
    data = pd.concat([data, pd.DataFrame(values, columns=names)], axis=1)
    known = [Column(name, bounds=(-3, 3), bins=(-1, 0, 1), missing=()) for name in names]
    arms = Column("t", "byte", levels=(0.0, 1.0), missing=())
    group = Column("g", levels=tuple(float(k) for k in range(levels)), missing=(),
                   fate="withheld")  # fmt: skip
    return data, Schema((arms, group, *known))


def fitted(make: Callable[..., Any], budget: tuple[Any, ...], **sizes: int) -> Callable[[], object]:
    """The fit of a model on people; binding the data is not in it."""
    data, schema = people(**sizes)
    model = make(data, schema)
    sure = {"confirm": True} if isinstance(model, dprct.MVHistogram) else {}
    return lambda: model.fit(*budget, **sure)


ROWS = (100_000, 400_000, 1_600_000)
PURE, APPROXIMATE = (1,), (1, 1e-8)


def _ate(data: Any, schema: Schema, **more: Any) -> Any:
    outcome = [name for name in data if name.startswith("y")]
    return dprct.PrivateATE(data, schema, outcome=outcome, treatment="t", **more)


def _calibrated(data: Any, schema: Schema) -> Any:
    outcome = [name for name in data if name.startswith("y")]
    covariates = [name for name in data if name.startswith("x")]
    return dprct.Calibrated(
        data, schema, outcome=outcome, treatment="t", covariates=covariates,
        covariate_release="marginals",
    )  # fmt: skip


def _columns(data: Any, schema: Schema) -> Any:
    names = [name for name in data if name.startswith("x")]
    return dprct.PrivateMoments(data, schema, columns=names)


def _regression(data: Any, schema: Schema) -> Any:
    names = " + ".join(name for name in data if name.startswith("x"))
    return dprct.PrivateMoments(data, schema, formulas=[f"y0 ~ {names}"])


def _declared(data: Any, schema: Schema) -> Any:
    outcomes = [name for name in data if name.startswith("y")]
    return dprct.PrivateMoments(
        data, schema, formulas=[f"{y} ~ t + x0" for y in outcomes],
        assignment=dprct.Complete("t", counts=len(data) // 2),
        neighbors="replace-one-design-public",
    )  # fmt: skip


def _ipw(n: int, p: int) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, p))
    t = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
    y = (0.2 * t + 0.4 * X[:, 0]).clip(-1, 1)
    model = dprct.IPW.from_arrays(X, t, y, bounds=(-1, 1), x_bounds=(-1, 1), estimator="ipw")
    return lambda: model.fit(1, 1e-7)


def _cate(data: Any, schema: Schema) -> Any:
    features = [name for name in data if name.startswith("x")]
    return dprct.CATE(data, schema, outcome="y0", treatment="t", features=features, propensity=0.5)


def _additive(data: Any, schema: Schema) -> Any:
    features = [name for name in data if name.startswith("x")]
    return dprct.PrivateAdditive(data, schema, outcome="y0", features=features)


def _control(n: int, T0: int) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (n, T0 + 10)), rng.uniform(-1, 1, T0 + 10)
    model = dprct.SyntheticControl.from_arrays(X, y, T0, 1.0)
    return lambda: model.fit(1)


def _do_file(lines: int) -> Callable[[], object]:
    folder = Path(tempfile.mkdtemp())
    words = "".join(
        f"gen v{k} = c{k % 300}*c2\nareg c{k % 300} c1 v{k} c4-c9, absorb(c3) cluster(c2)\n"
        for k in range(lines // 2)
    )
    (folder / "main.do").write_text(words, "utf-8")
    header = [f"c{k}" for k in range(300)]
    return lambda: read_files([(folder / "main.do", folder)], header, "d")


def _ledger(entries: int) -> Callable[[], object]:
    path = Path(tempfile.mkdtemp()) / "long.ledger.json"
    accountant = Accountant(1_000_000)
    facts = {"public_facts": ["the number of rows"], "not_covered": ["column village"]}
    for _ in range(entries):
        accountant.charge(Budget(1), method="MVHistogram", relation="replace-one", **facts)
    accountant.save(path, dataset_id="long")
    return lambda: Accountant.load(path)


def _ols(n: int, k: int) -> Callable[[], object]:
    data, schema = people(n, covariates=k)
    formula = "y0 ~ " + " + ".join(f"x{j}" for j in range(k))
    return lambda: dprct.ols(formula, data, schema)


def _itt(outcomes: int) -> Callable[[], object]:
    data, schema = people(1000, outcomes=outcomes)
    names = [f"y{j}" for j in range(outcomes)]
    return lambda: dprct.itt_table(
        data, schema, outcomes=names, arms=["t"], covariates=["x0"], adjust="romano-wolf"
    )


def _dta(n: int, write: bool) -> Callable[[], object]:
    data, schema = people(n, covariates=8)
    path = Path(tempfile.mkdtemp()) / "one.dta"
    dprct.write_dta(data, schema, path)
    return (lambda: dprct.write_dta(data, schema, path)) if write else lambda: dprct.read_dta(path)


def _histogram(data: Any, schema: Schema, make: Any) -> Any:
    return make(
        data,
        schema.declare(y0={"fate": "withheld"}),
        columns=["t", *(name for name in data if name.startswith("x"))],
    )


def cases() -> Iterable[Case]:
    """Every method by rows, and by what else its work grows with."""

    def rows(name: str, prepare: Callable[[int], Callable[[], object]]) -> Case:
        return Case(name, "rows", ROWS, prepare)

    def of(make: Any, budget: tuple[Any, ...], along: str, **fixed: int) -> Any:
        return lambda size: fitted(make, budget, **fixed, **{along: size})

    histogram = functools.partial(_histogram, make=dprct.MVHistogram)
    marginals = functools.partial(_histogram, make=dprct.Marginals)
    yield rows("`PrivateATE`", of(_ate, PURE, "n"))
    few = {"n": 10_000}
    yield Case("`PrivateATE`", "outcomes", (8, 32, 128), of(_ate, PURE, "outcomes", **few))
    yield Case("`PrivateATE`, a delta", "outcomes", (8, 32, 128),
               of(_ate, APPROXIMATE, "outcomes", **few))  # fmt: skip
    by_group = functools.partial(_ate, subgroups=["g"])
    yield Case("`PrivateATE`, subgroups", "levels of a column", (5, 20, 80),
               of(by_group, APPROXIMATE, "levels", n=20_000))  # fmt: skip
    yield rows("`Calibrated`", of(_calibrated, PURE, "n"))
    yield Case("`Calibrated`", "outcomes", (4, 8, 16, 32), of(_calibrated, PURE, "outcomes", **few))
    yield Case("`Calibrated`", "covariates", (8, 32, 128),
               of(_calibrated, PURE, "covariates", **few))  # fmt: skip
    yield rows("`MVHistogram`", of(histogram, PURE, "n"))
    yield Case("`MVHistogram`", "columns", (4, 8, 16, 32), of(histogram, PURE, "covariates", **few))
    yield rows("`Marginals`", of(marginals, PURE, "n"))
    yield Case("`Marginals`", "columns", (8, 32, 128), of(marginals, PURE, "covariates", **few))
    yield rows("`PrivateMoments`", of(_columns, APPROXIMATE, "n", covariates=10))
    for words, make in (("columns", _columns), ("one regression", _regression)):
        yield Case(f"`PrivateMoments`, {words}", "columns", (25, 50, 100, 200),
                   of(make, APPROXIMATE, "covariates", n=20_000))  # fmt: skip
    yield Case("`PrivateMoments`, declared", "regressions", (4, 8, 16, 32),
               of(_declared, APPROXIMATE, "outcomes", n=20_000))  # fmt: skip
    yield rows("`IPW`", lambda n: _ipw(n, 5))
    yield Case("`IPW`", "covariates", (10, 20, 40, 80), lambda p: _ipw(50_000, p))
    yield rows("`CATE`", of(_cate, APPROXIMATE, "n", covariates=5))
    yield Case("`CATE`", "features", (5, 10, 20, 40), of(_cate, APPROXIMATE, "covariates", **few))
    yield rows("`PrivateAdditive`", of(_additive, APPROXIMATE, "n", covariates=5))
    yield Case("`PrivateAdditive`", "features", (5, 10, 20, 40),
               of(_additive, APPROXIMATE, "covariates", **few))  # fmt: skip
    yield Case("`SyntheticControl`", "donors", (250, 500, 1000, 2000), lambda n: _control(n, 100))
    yield Case("`SyntheticControl`", "periods before", (50, 100, 200, 400, 800),
               lambda T0: _control(500, T0))  # fmt: skip
    yield Case("cube noise of 100 sums", "outcomes", (10, 40, 160),
               lambda size: lambda: source().cubes(1000.0, size, 100))  # fmt: skip
    yield rows("`ols`", lambda n: _ols(n, 5))
    yield Case("`ols`", "columns", (25, 50, 100, 200), lambda k: _ols(20_000, k))
    yield Case("`itt_table`, Romano and Wolf", "outcomes", (4, 8, 16, 32), _itt)
    yield rows("`read_dta`", lambda n: _dta(n, False))
    yield rows("`write_dta`", lambda n: _dta(n, True))
    yield Case("reading do-files", "lines", (500, 1000, 2000, 4000), _do_file)
    yield Case("opening a ledger", "entries", (1000, 4000, 16_000), _ledger)


def processor(deed: Callable[[], object]) -> float:
    """Smallest processor time of some rounds, after one that is not counted."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        deed()
        found.append(time.process_time() - start)
        if found[-1] > LONG:
            break
    return min(found)


def measured(case: Case) -> Measured:
    """Run a case at each of its sizes."""
    seconds = []
    for size in case.sizes:
        deed = case.prepare(size)
        seconds.append(processor(deed))
    return Measured(case, tuple(seconds))


def table(found: list[Measured]) -> str:
    """What grows faster than linearly, as Markdown, and the names of what does not."""
    lines = ["| what | along | sizes | seconds of processor | exponent |", "|---|---|---|---|---:|"]
    faster = sorted((one for one in found if one.exponent > LINEAR), key=lambda one: -one.exponent)
    for one in faster:
        sizes = ", ".join(f"{size:,}" for size in one.case.sizes)
        seconds = ", ".join(f"{second:.3g}" for second in one.seconds)
        lines.append(
            f"| {one.case.name} | {one.case.along} | {sizes} | {seconds} | {one.exponent:.1f} |"
        )
    slower = "; ".join(
        f"{one.case.name} by {one.case.along} {one.exponent:.1f}"
        for one in found if one.exponent <= LINEAR
    )  # fmt: skip
    return "\n".join([*lines, "", f"No faster than linear (exponent up to {LINEAR}): {slower}."])


def write_into(page: Path, words: str) -> None:
    """Renew what stands between the marks of a page."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{words}\n{END}{after}", "utf-8")


def main() -> None:
    """Measure, print, and write if a page is named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    found = []
    warnings.simplefilter("ignore")
    for case in cases():
        if given.words and not any(w in f"{case.name} {case.along}" for w in given.words):
            continue
        one = measured(case)
        print(f"{case.name} by {case.along}: {one.exponent:.2f}", [f"{s:.3g}" for s in one.seconds],
              flush=True)  # fmt: skip
        found.append(one)
    if given.page:
        write_into(given.page, table(found))


if __name__ == "__main__":
    main()
