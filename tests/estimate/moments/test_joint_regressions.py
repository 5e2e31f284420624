"""Declared regressions that are tested together: across outcomes, rows and clusters."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.declared_results import _jointly
from dprct.estimate.moments.effects import JOINT_ALPHA
from dprct.estimate.moments.gaussian_law import kappa
from dprct.results.joint import WaldTest

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema((
    Column("y", bounds=(-4, 6), sd=1.3, **NEVER), Column("works", **BINARY),
    Column("pay", bounds=(0, 10), sd=2, missing=(".",), missing_policy="public"),
    Column("t", **BINARY), Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
    Column("village", "int", **NEVER), Column("town", "int", **NEVER),
    Column("woman", fate="public", **BINARY),
))  # fmt: skip
VILLAGES = dprct.Cluster("t", cluster="village", shares=0.5)
FORMULAS = [
    Regression("y + pay + works ~ t + x", joint="all"),
    Regression("y ~ t", where="woman == 1", name="women", joint="by sex"),
    Regression("y ~ t", where="woman == 0", name="men", joint="by sex"),
]


def table(n: int = 6000, seed: int = 1) -> pd.DataFrame:
    """Outcomes that share what a person and a village have; pay is missing for a tenth."""
    rng = np.random.default_rng(seed)
    village = np.repeat(np.arange(n // 20), 20)
    t = rng.permutation(np.arange(n // 20) % 2)[village] * 1.0
    c, x, rest = rng.normal(size=(3, n))
    c = c + 0.4 * rng.normal(size=n // 20)[village]
    pay = np.where(rng.random(n) < 0.1, np.nan, (5 + 0.4 * t + 1.5 * c + rest).clip(0, 10))
    return pd.DataFrame({
        "y": (0.5 * x + 0.3 * t + c).clip(-4, 6), "works": (c + 0.1 * t > 0.5) * 1.0, "pay": pay,
        "t": t, "x": x.clip(-3, 3), "village": village, "town": village // 4,
        "woman": np.arange(n) % 2 * 1.0,
    })  # fmt: skip


ROWS = table()


def model(**options: Any) -> PrivateMoments:
    given: dict[str, Any] = {
        "assignment": VILLAGES, "neighbors": "replace-one-design-public", "formulas": FORMULAS,
        **options,
    }  # fmt: skip
    return PrivateMoments(ROWS, SCHEMA, **given)


def stacked(formulas: list[tuple[str, pd.Series[bool] | None]], cluster: str | None) -> Any:
    """Covariance of the coefficients of t by the influence of rows, as ``suest`` has it."""
    each = []
    for formula, rows in formulas:
        name, _, right = formula.partition(" ~ ")
        inside = ROWS[name].notna() & (True if rows is None else rows)
        X = np.column_stack([np.ones(len(ROWS)), *(ROWS[c] for c in right.split(" + "))])
        X = X * inside.to_numpy()[:, None]
        y = ROWS[name].fillna(0.0).to_numpy() * inside
        bread = np.linalg.inv(X.T @ X)
        e = y - X @ (bread @ X.T @ y)
        each.append((X * (e * inside).to_numpy()[:, None]) @ bread[:, 1])
    found = pd.DataFrame(each).T
    if cluster is not None:
        found = found.groupby(ROWS[cluster]).sum()
    return found.T.to_numpy() @ found.to_numpy()


@pytest.mark.parametrize("clusters", [True, False])
def test_the_covariance_is_that_of_the_influence_of_people(clusters: bool) -> None:
    design = VILLAGES if clusters else dprct.Complete("t", counts=int(ROWS["t"].sum()))
    m = model(assignment=design).fit(30, 1e-6, rng=1)
    cluster = "village" if clusters else None
    for name, formulas in (
        ("all", [(f"{y} ~ t + x", None) for y in ("y", "pay", "works")]),
        ("by sex", [("y ~ t", ROWS["woman"] == s) for s in (1, 0)]),
    ):
        found = m.joint(name)
        wanted = stacked(formulas, cluster)
        scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        assert np.abs((found.sampling - wanted) / scale).max() < 0.15
        tested = found.wald_test()
        b, cov = found.params.to_numpy(), wanted + np.diag(found.noises**2)
        exact = float(b @ np.linalg.solve(cov, b)) / len(b)
        assert tested.statistic == pytest.approx(exact, rel=0.5)
        assert 0.85 * len(b) < tested.df <= len(b)
    if not clusters:  # men and women are other rows
        assert m.joint("by sex").sampling[0, 1] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(("size", "ratio"), [(3, 1.0), (8, 1.0)])
@pytest.mark.parametrize("alike", [0.0, 0.9])
def test_true_nulls_are_rejected_at_the_level(size: int, ratio: float, alike: float) -> None:
    """Of a covariance with noise the Wald test rejects .12 of eight apart, .005 of three alike."""
    rng = np.random.default_rng(size)
    V = 3 * (1 + 2 * (alike > 0)) * ((1 - alike) * np.eye(size) + alike)
    half, rejected, draws = np.linalg.cholesky(V + np.eye(size)), 0, 1500
    names = [str(k) for k in range(size)]
    plain = WaldTest(0.0, 0.0, size, math.inf, "")
    raised = {level: kappa(ratio, level) for level in (0.05, JOINT_ALPHA)}
    for _ in range(draws):
        noise = rng.normal(size=(size, size)) * ratio
        S = V + np.triu(noise) + np.triu(noise, 1).T
        laws: Any = [SimpleNamespace(spreads=[ratio], kappa=raised.get) for _ in names]
        found = _jointly(plain, half @ rng.normal(size=size), laws, S, np.eye(size))
        rejected += found.pvalue < 0.05
    assert 0.015 < rejected / draws < 0.068


def test_combinations_have_the_error_that_the_covariance_gives() -> None:
    m = model().fit(30, 1e-6, rng=2)
    found = m.joint("all")
    assert list(found.params.index) == ["y: t", "pay: t", "works: t"]
    other = found.lincom("`y: t` - `pay: t`")
    wanted = stacked([(f"{y} ~ t + x", None) for y in ("y", "pay")], "village")
    assert other.params.iloc[0] == pytest.approx(found.params.iloc[0] - found.params.iloc[1])
    exact = float(np.array([1, -1]) @ wanted @ [1, -1])
    assert 0.8 * exact < other.bse.iloc[0] ** 2 < 1.8 * exact  # with noise, and raised for it
    assert m.lincom("`y: t` - `pay: t`", joint="all").bse.iloc[0] == other.bse.iloc[0]
    assert m.wald_test("`y: t` = `pay: t`", joint="all").df == 1
    assert m.wald_test(joint="all") == found.wald_test()
    # each interval is that of its own regression
    alone = m.ols("y ~ t + x").conf_int().iloc[0]
    np.testing.assert_allclose(found.conf_int().iloc[0], alone)
    with pytest.raises(ParameterError, match="takes one combination"):
        found.lincom("`y: t` = `pay: t` = 0")


def test_several_arms_of_the_same_weights_share_draws() -> None:
    """Entries across the diagonal of a block are one draw, and combinations count it so."""
    found = model().fit(8, 1e-6, rng=2).joint("all")
    w = np.array([1.0, 1.0, 0.0])
    spread = found._combined(w, 0.0).spreads[0]
    by_hand = np.array([found.spread[0, 0], found.spread[1, 1], 2 * found.spread[0, 1]])
    assert spread == pytest.approx(float(np.linalg.norm(by_hand)))


def test_families_are_planned_saved_and_found_again(tmp_path: Any) -> None:
    asked = model()
    assert asked.plan(4, 1e-6).value("joint, all") == 3
    m = asked.fit(4, 1e-6)
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.to_dict() == m.to_dict()
    assert str(back.joint("by sex")) == str(m.joint("by sex"))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(json.dumps(m.to_dict())), json.loads(rules))
    one = model(formulas=FORMULAS[:1]).fit(4, 1e-6)
    assert one.joint().formula == one.joint("all").formula
    for name in (None, "none"):
        with pytest.raises(ParameterError, match="tested together: all, by sex"):
            m.joint(name)


def test_what_has_no_covariance_is_refused_by_name() -> None:
    rows: list[tuple[list[Any], str]] = [
        ([Regression("y ~ t", joint="one")], "'y ~ t' is the only one of it"),
        ([Regression("y + works ~ t*x", joint="a")], "multiplies treatment by private"),
    ]
    for formulas, words in rows:
        with pytest.raises(ParameterError, match=words):
            model(formulas=formulas)
    with pytest.raises(ParameterError, match="without instruments, which are tested together"):
        Regression("y ~ [works ~ t]", joint="late")
    with pytest.raises(ParameterError, match="name of a family"):
        Regression("y ~ t", joint=" ")
