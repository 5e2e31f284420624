"""Declared regressions whose errors are clustered in two ways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Moments, PrivateMoments, Regression
from dprct.errors import ParameterError
from dprct.schema import Column, Schema
from dprct.study.package_page import OnConfidential
from dprct.study.reading import Reading

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("y", bounds=(-5, 5), sd=1.2, **NEVER), Column("took", **NEVER, levels=(0.0, 1.0)),
        Column("t", **NEVER, levels=(0.0, 1.0)), Column("s", **NEVER, levels=(0.0, 1.0)),
        Column("x", bounds=(-3, 3), **NEVER), Column("v", "int", **NEVER),
        Column("w", "int", fate="public", **NEVER), Column("few", "int", fate="public", **NEVER),
    ),
    dataset_id="two ways",
)  # fmt: skip


def table(n: int = 6000, seed: int = 1) -> pd.DataFrame:
    """Villages that are treated, and markets to which most people of the same arm go."""
    rng = np.random.default_rng(seed)
    v, x = rng.integers(0, 40, n), rng.normal(size=n).clip(-3, 3)
    t = rng.permutation(np.arange(40) % 2.0)[v]
    other = rng.random(n) < 0.1
    w = 2 * rng.integers(0, 15, n) + np.where(other, 1 - t, t).astype(int)
    y = 0.3 * t + 0.5 * x + 0.4 * rng.normal(size=40)[v] + 0.4 * rng.normal(size=30)[w]
    return pd.DataFrame({
        "y": (y + 0.8 * rng.normal(size=n)).clip(-5, 5), "took": (y > 0) * 1.0, "t": t,
        "s": rng.integers(0, 2, n) * 1.0, "x": x, "v": v * 1.0, "w": w * 1.0, "few": w % 8 * 1.0,
    })  # fmt: skip


ROWS = table()
TWO = Regression("y ~ t + x", cluster=("v", "w"), name="two")


def model(*formulas: Any, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {
        "assignment": dprct.Cluster("t", cluster="v", icc=0.1),
        "neighbors": "replace-one-design-public", **options,
    }  # fmt: skip
    return PrivateMoments(ROWS, SCHEMA, formulas=list(formulas), **given)


def plain(formula: str, term: str) -> float:
    """Standard error by the definition, with the factor of the smaller number of clusters."""
    fit = dprct.ols(formula, ROWS)
    X = np.column_stack([np.ones(len(ROWS)), *(ROWS[n] for n in fit.params.index[1:])])
    e = ROWS["y"].to_numpy() - X @ fit.params.to_numpy()
    A = np.linalg.inv(X.T @ X)
    S = np.zeros((len(A), len(A)))
    for sign, by in ((1, ["v"]), (1, ["w"]), (-1, ["v", "w"])):
        code = ROWS.groupby(by).ngroup().to_numpy()
        u = np.array([np.bincount(code, X[:, j] * e) for j in range(len(A))])
        S += sign * u @ u.T
    n, k, G = len(ROWS), len(A), 30
    V = A @ S @ A * G / (G - 1) * (n - 1) / (n - k)
    return float(np.sqrt(np.diag(V)[list(fit.params.index).index(term)]))


@pytest.mark.parametrize(("term", "rel"), [("t", 0.1), ("s", 0.3)])
def test_errors_are_those_of_the_definition(term: str, rel: float) -> None:
    formula = f"y ~ {term} + x"
    design = None if term == "t" else dprct.Simple("s")
    one = Regression(formula, cluster=["v", "w"], name="two")  # type: ignore[arg-type]
    schema = SCHEMA.declare(v={"fate": "public"})
    m = PrivateMoments(
        ROWS, schema, formulas=[one], neighbors="replace-one-design-public",
        assignment=design or dprct.Cluster("t", cluster="v", icc=0.1),
    ).fit(30, 1e-6, rng=1)  # fmt: skip
    found = m.ols("two")
    assert found.bse[term] == pytest.approx(plain(formula, term), rel=rel)
    if term == "t":  # errors clustered in one way are shorter by more than that
        ways = [dprct.ols(formula, ROWS, cluster=by).bse[term] for by in ("v", "w")]
        assert max(ways) < 0.8 * plain(formula, term)
    assert found.df_inference == 29
    assert "clusters of v and 30 clusters of w" in " ".join(found.notes)
    assert "w of anybody" in " ".join(str(m.guarantee).split())
    turned = m.ols(Regression(formula, cluster=("w", "v"), name="two"))
    assert turned.bse[term] == found.bse[term]
    with pytest.raises(ParameterError, match="are clustered in two ways, so that"):
        found.wald_test([f"{term} = 0", f"2 * {term} = 0"])


def test_a_release_comes_back_as_it_was(tmp_path: Any) -> None:
    m = model(TWO).fit(8, 1e-6)
    m.save(tmp_path / "a.moments.json")
    again = Moments.load(tmp_path / "a.moments.json")
    assert again.ols(TWO).of.ways == (40, 30)
    pd.testing.assert_frame_equal(m.ols("two").conf_int(), again.ols("two").conf_int())


def test_a_plan_says_where_noise_hides_the_variance() -> None:
    m = model(TWO)
    assert "40 clusters of v and 30 clusters of w" in " ".join(str(m.plan(4, 1e-6)).split())
    assert not m.plan(16, 1e-6).warnings
    (said,) = m.plan(0.2, 1e-6).warnings
    assert "the noise of its variance, clustered in two ways" in said


def test_the_plan_expects_the_error_that_comes() -> None:
    m = model(TWO)
    (planned,) = m.spec.allocation(m.facts, m.plan(16, 1e-6).budget).planned  # type: ignore[attr-defined]
    found = [m.fit(16, 1e-6, rng=seed).ols("two").bse["t"] for seed in range(4)]
    assert np.median(found) == pytest.approx(planned.error[0], rel=0.35)


@pytest.mark.parametrize(
    ("one", "options", "words"),
    [
        (Regression("y ~ t + x", cluster=("v", "few")), {}, "8 clusters are too few .* two ways"),
        (Regression("y ~ t*x", cluster=("v", "w")), {}, "two ways, and t:x is a product"),
        (
            Regression("y ~ t + x", cluster=("v", "w"), where="x > 0"), {},
            "two ways, and private columns choose people",
        ),
        (
            Regression("y ~ s", cluster=("w", "few")),
            {"assignment": dprct.Simple("s"), "neighbors": "replace-one"},
            "treatment is private, and it has errors clustered in two ways",
        ),
        (
            Regression("y ~ x + [took ~ t]", cluster=("v", "w")), {},
            "errors are clustered in two ways, where no covariances are released",
        ),
        (
            Regression("y + took ~ t", cluster=("v", "w"), joint="all"), {},
            "has errors clustered in two ways, and no covariances",
        ),
    ],
)  # fmt: skip
def test_what_is_not_offered_is_refused_by_name(one: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(one, **options)


def test_a_pair_is_of_two_columns_and_a_file_carries_one() -> None:
    with pytest.raises(ParameterError, match="names 'v' twice"):
        Regression("y ~ t", cluster=("v", "v"))
    with pytest.raises(ParameterError, match="cluster="):
        Regression("y ~ t", cluster=("v", "w", "few"))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a file carries those of one"):
        dprct.Calibrated(ROWS, SCHEMA, formulas=[TWO], covariate_release="filler",
                         assignment=dprct.Cluster("t", cluster="v"))  # fmt: skip


def test_a_custodian_sees_the_errors_of_both_ways() -> None:
    raw = OnConfidential(ROWS, SCHEMA, model(TWO).fit(8, 1e-6, rng=1))
    found = raw.cells(SimpleNamespace(reading=Reading("a.moments.json", "two")), 0.05)  # type: ignore[arg-type]
    by_hand = dprct.ols("y ~ t + x", ROWS, cluster=["v", "w"])
    assert found["t"].error == pytest.approx(by_hand.bse["t"])
    assert by_hand.bse["t"] > 1.2 * dprct.ols("y ~ t + x", ROWS, cluster="v").bse["t"]
