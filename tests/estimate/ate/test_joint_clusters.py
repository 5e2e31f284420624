"""Clusters that were assigned, in the joint release: errors of people times the design effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import dprct
from dprct import Calibrated, Cluster, Column, PrivateATE, Schema
from dprct.errors import ParameterError

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("school", "int", fate="public", **NEVER),
        Column("meal", "byte", levels=(0, 1), fate="public", **NEVER),
        Column("girl", "byte", levels=(0, 1), fate="public", **NEVER),
        Column("score", bounds=(-5, 5), sd=1, **NEVER),
        Column("height", bounds=(-5, 5), sd=1, **NEVER),
    )
)
DESIGN = Cluster("meal", cluster="school")
BOTH: Any = ["score", "height"]
CORRELATION, EFFECT = 0.15, 0.4


def correlated(data: pd.DataFrame, icc: Any) -> PrivateATE:
    """Effects on both outcomes, with a declared correlation within schools."""
    return PrivateATE(data, SCHEMA, outcome=BOTH, assignment=replace(DESIGN, icc=icc))


def pupils(seed: int) -> pd.DataFrame:
    """Fifty schools of other sizes; what they share of both outcomes correlates as these do."""
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(50), rng.integers(10, 31, 50))
    meal = rng.permutation(np.repeat([0.0, 1.0], 25))[school]
    root = np.linalg.cholesky([[1, 0.6], [0.6, 1]])
    shared, own = rng.normal(size=(50, 2)) @ root.T, rng.normal(size=(len(school), 2)) @ root.T
    y = np.sqrt(CORRELATION) * shared[school] + np.sqrt(1 - CORRELATION) * own
    y[:, 0] += EFFECT * meal
    girl = rng.integers(0, 2, len(school))
    columns = {"school": school, "meal": meal, "girl": girl}
    return pd.DataFrame(columns | dict(zip(("score", "height"), y.clip(-5, 5).T, strict=True)))


def test_it_finds_what_each_outcome_by_itself_finds() -> None:
    """At budgets whose noise is small, effects and errors without delta are the same."""
    data = pupils(1)
    alone = correlated(data, CORRELATION).fit(epsilon=25)
    found = correlated(data, CORRELATION).fit(epsilon=25, delta=1e-6)
    assert found.params.to_numpy() == pytest.approx(alone.params.to_numpy(), abs=0.05)
    assert found.bse.to_numpy() == pytest.approx(alone.bse.to_numpy(), rel=0.25)
    people = correlated(data, 0).fit(epsilon=25, delta=1e-6)
    assert (found.bse.to_numpy() > 1.6 * people.bse.to_numpy()).all()
    assert "with the declared correlation (0.15 for score, 0.15 for height)" in " ".join(
        found.notes
    )


def test_the_errors_are_those_of_people_times_the_design_effect() -> None:
    """By arm and outcome, and between outcomes by the root of the product; of one draw."""
    data = pupils(2)
    model: Any = {"epsilon": 4, "delta": 1e-6, "rng": 3}
    people = correlated(data, 0).fit(**model)
    rule = {"score": 0.2, "height": 0.1}
    found = correlated(data, rule).fit(**model)
    assert found.params.equals(people.params)
    rows = data.groupby(["meal", "school"]).size()
    for place, name in enumerate(BOTH):
        size = rows.groupby("meal").apply(lambda n: (n**2).sum() / n.sum())
        d, n = 1 + rule[name] * (size.to_numpy() - 1), rows.groupby("meal").sum().to_numpy()
        effects = d * (n - 1) / (n - d)
        parts, before = found.laws[place].parts, people.laws[place].parts
        # control first, as the design effects are
        order = np.argsort(
            [2 * abs(p / b - effects[0]) for p, b in zip(parts, before, strict=True)]
        )
        assert (parts / before)[order] == pytest.approx(effects, rel=1e-9)


@pytest.mark.long
def test_intervals_and_joint_tests_hold() -> None:
    """100 experiments: an interval that misses 5 % is refused once in 1e7; one without the design
    effect misses a third, and is found out nearly always."""
    runs, within, small, blind = 100, 0, 0, 0
    for seed in range(runs):
        data = pupils(100 + seed)
        found = correlated(data, CORRELATION).fit(4, 1e-6, rng=seed)
        low, high = found.conf_int().loc["score: meal"]
        within += low <= EFFECT <= high
        small += found.wald_test([f"`score: meal` = {EFFECT}", "`height: meal` = 0"]).pvalue < 0.05
        center, half = (low + high) / 2, (high - low) / 2
        blind += abs(center - EFFECT) <= half / 1.8
    least = binom.ppf(1e-7, runs, 0.95)
    assert within >= least
    assert runs - small >= least
    assert blind < least


def test_a_file_returns_them_clustered_by_school() -> None:
    data = pupils(3)
    model = Calibrated.from_formula(
        "score + height ~ meal + girl", data, SCHEMA, treatment="meal",
        assignment=replace(DESIGN, icc=CORRELATION),
    )  # fmt: skip
    release = model.fit(epsilon=4, delta=1e-6)
    for name in BOTH:
        fit = dprct.ols(f"{name} ~ meal + girl", release, cluster="school")
        params, errors = release.estimates.params, release.estimates.bse
        assert fit.params["meal"] == pytest.approx(params[f"{name}: meal"], abs=1e-9)
        assert fit.bse["meal"] == pytest.approx(errors[f"{name}: meal"], rel=1e-9)
        assert fit.notes[-1].startswith("Calibrated: ")


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        ({}, {}, "declare icc= of the design for 'score'"),
        ({"icc": {"score": 0.1}}, {}, "declare icc= of the design for 'height'"),
        ({"cluster_mean_bounds": {"score": (-1, 1), "height": (-1, 1)}}, {}, "declare icc="),
        ({"largest": 40}, {"privacy_unit": "cluster"}, "privacy_unit='person'"),
        ({"icc": 0.1}, {"subgroups": ["girl"]}, "clusters depend"),
    ],
)
def test_what_the_moments_of_people_do_not_tell_is_refused(
    facts: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        PrivateATE(
            pupils(4), SCHEMA, outcome=BOTH, assignment=replace(DESIGN, **facts), **options
        ).fit(epsilon=4, delta=1e-6)
    assert words in str(caught.value)


def test_a_plan_has_the_design_effects() -> None:
    model = correlated(pupils(5), {"score": 0.0, "height": 0.5})
    text = " ".join(str(model.plan(epsilon=4, delta=1e-6)).split())
    assert "sampling variances of people times design effects 1, " in text
    assert "the declared upper bound on the intra-cluster correlation of height, 0.5" in str(
        model.fit(4, 1e-6).guarantee
    ).replace("\n", " ")
