"""Release made-up data of 30 published shapes, and compare with the author's regression.

Usage: python scripts/published_shapes.py [runs, 40 by default]
       python scripts/published_shapes.py draw FOLDER

The 30 were drawn by a seed from the regressions that the census calls valid (see
do_file_census.py, whose FOLDER is meant): how many arms, covariates and levels of blocks each has,
whether errors are clustered or classical, whether a condition chooses rows.  Numbers of rows and
clusters and the law of the outcome are drawn by the same seed, for no do-file tells them.  Nothing
of a paper's data is here.  Printed is how often the released 95 % interval at epsilon 4 holds the
coefficient that the author's least squares have on the same rows, and the true effect; and the
released standard error over the author's.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct import Column, PrivateMoments, Regression, Schema
from dprct.dofile.varlists import bare_names

TOP = Path(__file__).resolve().parents[1]
SHAPES = TOP / "tests" / "reference" / "published_shapes.csv"
SEED, DRAWN, EPSILON, DELTA = 33, 30, 4.0, 1e-6
KINDS = ("normal", "binary", "skewed", "zero-inflated")
FIELDS = (
    "number", "paper", "arms", "covariates", "blocks", "clusters", "size", "condition", "outcome",
    "errors",
)  # fmt: skip
BOUNDS = {"normal": (-6.0, 6.0, 1.0, 0.0), "binary": (0.0, 1.0, 0.5, 0.5),
          "skewed": (0.0, 15.0, 2.2, 1.6), "zero-inflated": (0.0, 15.0, 1.5, 0.5)}  # fmt: skip


def draw(folder: Path) -> None:
    """Draw 30 of the regressions that are called valid, and write their shapes."""
    path = TOP / "scripts" / "do_file_census.py"
    spec = importlib.util.spec_from_file_location("do_file_census", path)
    assert spec is not None
    assert spec.loader is not None
    census = importlib.util.module_from_spec(spec)
    sys.modules["do_file_census"] = census
    spec.loader.exec_module(census)
    home, valid = folder / "experiments", []
    readings: dict[str, Any] = {}
    for number, wanted in enumerate(json.loads((folder / "regressions.json").read_text("utf-8"))):
        paper = wanted["paper"]
        if paper not in readings:
            readings[paper] = census.read_files([(home / f"Replication{paper}.do", home)])
        if census.declared_verdict(wanted, readings[paper]).startswith("valid"):
            valid.append((number, paper, census.row_of(wanted, readings[paper])))
    rng = np.random.default_rng(SEED)
    chosen = sorted(rng.choice(len(valid), DRAWN, replace=False).tolist())
    with SHAPES.open("w", encoding="utf-8", newline="") as out:
        rows = csv.DictWriter(out, FIELDS, lineterminator="\n")
        rows.writeheader()
        for at in chosen:
            rows.writerow(dict(zip(FIELDS, shape_of(*valid[at], rng), strict=True)))


def shape_of(number: int, paper: str, row: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return the shape of a regression, with numbers of rows that are drawn."""
    words = [word for word in row.regressors if not set(bare_names(word)) & {*row.treatments}]
    factors = [word for word in words if word.startswith("i.")]
    blocks = int(rng.integers(3, 12)) if factors or row.absorb else 0
    groups = int(rng.choice([40, 60, 100, 150, 200])) if row.cluster else 0
    size = int(rng.choice([10, 20, 30])) if row.cluster else int(rng.choice([1000, 2000, 5000]))
    covariates = min(len(words) - len(factors), 12)
    return (
        number, paper, min(len(row.treatments), 4), covariates, blocks, groups, size,
        int(bool(row.sample or row.groups)), KINDS[int(rng.integers(len(KINDS)))],
        "classical" if row.vce in ("", "classical") else "robust",
    )  # fmt: skip


def made(shape: dict[str, str], rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return rows of a shape, and the true effect of every arm."""
    arms, covariates, blocks = (int(shape[name]) for name in ("arms", "covariates", "blocks"))
    groups, size = int(shape["clusters"]), int(shape["size"])
    # groups are assigned within blocks, in equal parts of them
    units = groups or size
    block = np.arange(units) % max(1, blocks)
    arm = np.zeros(units, int)
    for one in np.unique(block):
        here = np.flatnonzero(block == one)
        arm[rng.permutation(here)] = np.arange(len(here)) % (arms + 1)
    of = np.repeat(np.arange(units), size if groups else 1)
    n = len(of)
    x = np.clip(rng.normal(size=(n, covariates)), -3, 3)
    own = rng.normal(size=units)[of] * (0.3 if groups else 0.0)
    z = 0.5 * x.sum(axis=1) / max(1, covariates) ** 0.5 + 0.2 * (block[of] % 3) + own
    z = z + 0.8 * rng.normal(size=n)
    u, kind = rng.random(n), shape["outcome"]

    def outcome(effect: float) -> Any:
        if kind == "binary":
            return (z + effect > 0.2) * 1.0
        if kind == "normal":
            return z + effect
        return np.exp(0.7 * z + effect) * (kind == "skewed" or u < 0.4)

    low, high, *_ = BOUNDS[kind]
    of_arms = [np.clip(outcome(0.15 * a), low, high) for a in range(arms + 1)]
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(covariates)])
    data["y"] = np.choose(arm[of], of_arms)
    for a in range(1, arms + 1):
        data[f"t{a}"] = (arm[of] == a) * 1.0
    data = data.assign(block=block[of] * 1.0, v=of, wave=rng.integers(0, 2, n) * 1.0)
    truth = np.array([(one - of_arms[0]).mean() for one in of_arms[1:]])
    return data, truth


def release(shape: dict[str, str], data: pd.DataFrame, seed: int) -> tuple[Any, Any, Any]:
    """Return the released interval of every arm, the author's effects, and errors over theirs."""
    low, high, sd, centre = BOUNDS[shape["outcome"]]
    binary = shape["outcome"] == "binary"
    facts: dict[str, Any] = {"type": "byte", "levels": (0.0, 1.0)} if binary else {
        "bounds": (low, high), "sd": sd, "centre": centre}  # fmt: skip
    arms = [name for name in data if str(name).startswith("t")]
    covariates = [name for name in data if str(name).startswith("x")]
    schema = Schema((
        Column("y", **facts, missing=()),
        *(Column(name, "byte", levels=(0.0, 1.0), missing=(), exclusive="arm") for name in arms),
        *(Column(name, bounds=(-3, 3), sd=1.0, missing=()) for name in covariates),
        Column("block", "byte", missing=()), Column("v", "long", missing=()),
        Column("wave", "byte", missing=(), fate="public"),
    ))  # fmt: skip
    clustered, blocked = int(shape["clusters"]) > 0, int(shape["blocks"]) > 0
    design: Any = dprct.Simple(arms)
    if blocked:
        design = dprct.Block(arms, block="block")
    if clustered:
        design = dprct.Cluster(arms, cluster="v", icc=0.15)
    if clustered and blocked:
        design = dprct.BlockCluster(arms, block="block", cluster="v", icc=0.15)
    formula = f"y ~ {' + '.join([*arms, *covariates])}{' | block' if blocked else ''}"
    where = "wave == 1" if int(shape["condition"]) else None
    classical = shape["errors"] == "classical"
    asked = Regression(formula, where=where, cov_type="nonrobust" if classical else None)
    model = PrivateMoments(
        data, schema, assignment=design, formulas=[asked], neighbors="replace-one-design-public",
    )  # fmt: skip
    found = model.fit(EPSILON, DELTA, rng=seed).ols(asked)
    use = data[data["wave"] == 1] if where else data
    columns = [np.ones(len(use)), *(use[name] for name in (*arms, *covariates))]
    columns += [use["block"] == one for one in sorted(set(use["block"]))[1:]] if blocked else []
    raw, errors = least_squares(
        np.column_stack(columns).astype(float), use["y"].to_numpy(),
        use["v"].to_numpy() if clustered else np.arange(len(use)), classical=classical,
    )  # fmt: skip
    here = slice(1, 1 + len(arms))
    return found.conf_int().loc[arms].to_numpy(), raw[here], found.bse[arms] / errors[here]


def least_squares(X: Any, y: Any, cluster: Any, *, classical: bool) -> tuple[Any, Any]:
    """Return coefficients, and their classical, robust or clustered errors."""
    bread = np.linalg.inv(X.T @ X)
    beta = bread @ X.T @ y
    if classical:
        s2 = ((y - X @ beta) ** 2).sum() / (len(y) - X.shape[1])
        return beta, np.sqrt(s2 * np.diag(bread))
    _, of = np.unique(cluster, return_inverse=True)
    scores = np.zeros((of.max() + 1, X.shape[1]))
    np.add.at(scores, of, X * (y - X @ beta)[:, None])
    V = bread @ scores.T @ scores @ bread * len(y) / (len(y) - X.shape[1])
    return beta, np.sqrt(np.diag(V))


def shapes() -> list[dict[str, str]]:
    """Return the 30."""
    return list(csv.DictReader(SHAPES.read_text("utf-8").splitlines()))


def held(shape: dict[str, str], runs: int) -> tuple[float, float, float, int]:
    """Return how often intervals hold the author's coefficients and the truth, and of how many.

    Before the last stands the median error over the author's.
    """
    rng = np.random.default_rng([SEED, int(shape["number"])])
    author, true, errors = [], [], []
    for run in range(runs):
        data, truth = made(shape, rng)
        ends, raw, over = release(shape, data, run)
        errors += over.tolist()
        author += ((ends[:, 0] <= raw) & (raw <= ends[:, 1])).tolist()
        true += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).tolist()
    return float(np.mean(author)), float(np.mean(true)), float(np.median(errors)), len(author)


def main(runs: int) -> None:
    """Print a table of the 30."""
    warnings.simplefilter("ignore")
    heads = [*FIELDS, "author's held", "effect held", "error"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    every = []
    for shape in shapes():
        author, true, over, number = held(shape, runs)
        every.append((author * number, true * number, number))
        words = " | ".join(shape[name] for name in FIELDS)
        print(f"| {words} | {author:.3f} | {true:.3f} | {over:.2f} |", flush=True)
    a, t, n = np.array(every).sum(axis=0)
    print(f"All: author's coefficient held in {a / n:.3f}, the effect in {t / n:.3f} of {n:.0f}.")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "draw":
        draw(Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
