"""Declared regressions with an instrument: the effect, its set, and what is refused."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema((
    Column("y", bounds=(-4, 6), sd=1.3, **NEVER), Column("d", **BINARY),
    Column("z", **BINARY), Column("z2", **BINARY), Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
    Column("village", "int", bounds=(0, 500), **NEVER),
    Column("share", "byte", levels=(1.0, 3.0), fate="public",
                                              **NEVER),
))  # fmt: skip
FORMULA = "y ~ x + [d ~ z]"


def table(n: int = 4000, moved: float = 0.5, seed: int = 1, effect: float = 0.8) -> pd.DataFrame:
    """Half of the villages, of 20 people each, are offered what moves take-up."""
    rng = np.random.default_rng(seed)
    village = np.repeat(np.arange(n // 20), 20)
    z = rng.permutation(np.arange(n // 20) % 2)[village]
    u, x = rng.normal(size=(2, n))
    d = (0.8 * u + rng.normal(size=n) + 3 * moved * z > 0.8) * 1.0
    y = effect * d + 0.5 * u + 0.5 * x + 0.2 * rng.normal(size=n // 20)[village]
    return pd.DataFrame({
        "y": (y + rng.normal(size=n)).clip(-4, 6), "d": d, "z": z * 1.0, "z2": 1.0 * (x > 0),
        "x": x.clip(-3, 3), "village": village, "share": 1.0 + 2.0 * (village % 2),
    })  # fmt: skip


ROWS = table()
VILLAGES = dprct.Cluster("z", cluster="village", shares=0.5)


def model(rows: Any = ROWS, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {
        "assignment": VILLAGES, "neighbors": "replace-one-design-public", "formulas": [FORMULA],
        **options,
    }  # fmt: skip
    return PrivateMoments(rows, SCHEMA, **given)


@pytest.mark.parametrize("clusters", [True, False])
def test_the_effect_is_that_of_two_stages_and_its_set_nearly_so(clusters: bool) -> None:
    design = VILLAGES if clusters else dprct.Complete("z", counts=int(ROWS["z"].sum()))
    m = model(assignment=design).fit(30, 1e-6, rng=2)
    found = m.iv(FORMULA)
    plain = dprct.iv(FORMULA, ROWS, cluster="village" if clusters else None)
    assert abs(found.params["d"] - plain.params["d"]) < 0.3 * plain.bse["d"]
    assert found.bse["d"] == pytest.approx(plain.bse["d"], rel=0.25)
    low, high = found.conf_int().loc["d"]
    assert found.confidence_set().kind == "interval"
    assert low < found.params["d"] < high
    assert high - low == pytest.approx(2 * 1.97 * found.bse["d"], rel=0.1)
    assert found.first_stage > 100
    assert found.pvalues["d"] < 1e-4
    # the parts are declared regressions of their own
    assert [one.formula for one in m.regressions] == ["y ~ x + z", "d ~ x + z"]
    ratio = m.regressions[0].params["z"] / m.regressions[1].params["z"]
    assert found.params["d"] == pytest.approx(ratio)


def test_where_outcome_and_take_up_vary_together_the_covariance_counts() -> None:
    """Without it the error of y - d, which is uncorrelated with d, would be half as large again."""
    found = model().fit(30, 1e-6, rng=3).iv(FORMULA).reduced
    exact = dprct.ols("w ~ x + z", ROWS.assign(w=ROWS["y"] - 0.8 * ROWS["d"]), cluster="village")
    sd = found.variance(1.0, -0.8)[0] ** 0.5
    assert sd == pytest.approx(exact.bse["z"], rel=0.25)
    apart = found.reduced.sampling[0, 0] + 0.64 * found.first.sampling[0, 0]
    assert abs(apart - exact.bse["z"] ** 2) > 5 * abs(sd**2 - exact.bse["z"] ** 2)


def test_a_weak_instrument_has_an_open_set() -> None:
    found = model(table(moved=0.01)).fit(8, 1e-6, rng=1).iv(FORMULA)
    assert found.first_stage < 4
    assert found.confidence_set().kind in ("all numbers", "two rays")


def test_intervals_cover_where_nothing_is_strong() -> None:
    hits, times = 0, 60
    for seed in range(times):
        rows = table(1000, moved=0.4, seed=seed, effect=0.5)
        design = dprct.Complete("z", counts=int(rows["z"].sum()))
        fit = model(rows, assignment=design).fit(4, 1e-6, rng=seed)
        hits += 0.5 in fit.iv(FORMULA).confidence_set()
    assert hits >= 0.88 * times


def test_it_is_found_saved_and_planned(tmp_path: Any) -> None:
    one = Regression(FORMULA, weights="share", name="late")
    asked = model(formulas=[one, "y ~ x + z"])
    said = " ".join(str(asked.plan(8, 1e-6)).split())
    assert "d ~ x + z, weights share by one step" in said
    m = asked.fit(8, 1e-6)
    pd.testing.assert_series_equal(m.iv("late").params, m.iv(one).params)
    assert m.iv("late").formula == FORMULA
    assert "weighted by share" in str(m.iv("late"))
    assert [r.formula for r in m.regressions] == ["y ~ x + z", "d ~ x + z", "y ~ x + z"]
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.to_dict() == m.to_dict()
    assert str(back.iv("late")) == str(m.iv("late"))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(json.dumps(m.to_dict())), json.loads(rules))
    with pytest.raises(ParameterError, match="was not declared for this release; declared: late"):
        m.iv(Regression(FORMULA))
    with pytest.raises(ParameterError, match=r"clusters of village were assigned.*declared are"):
        m.iv("d ~ x + [y ~ z]")


def test_a_stage_that_is_declared_by_itself_is_drawn_once() -> None:
    first = Regression("d ~ z + x", name="first stage")
    m = model(formulas=[FORMULA, first, Regression(FORMULA, name="late")])
    assert [one.step.title for one in m.facts.steps.bound] == ["y ~ x + z", "first stage"]
    assert len(m.facts.steps.crosses) == 1
    found = m.fit(8, 1e-6)
    ratio = found.ols("y ~ x + z").params["z"] / found.ols("first stage").params["z"]
    assert found.iv("late").params["d"] == pytest.approx(ratio)
    # rows without an outcome are none of the first stage of a regression on it
    apart = SCHEMA.declare(y={"missing": (".",), "missing_policy": "public"})
    both = PrivateMoments(
        ROWS, apart, formulas=[FORMULA, first], assignment=m.spec.assignment,
        neighbors="replace-one-design-public",
    )  # fmt: skip
    assert len(both.facts.steps.bound) == 3


def test_a_first_stage_of_fewer_rows_is_told_from_that_of_all() -> None:
    rows = ROWS.assign(y=ROWS["y"].where(ROWS["x"] > -1), w=ROWS["y"].where(ROWS["x"] < 1))
    schema = Schema((*SCHEMA.columns, Column("w", bounds=(-4, 6), sd=1.3))).declare(
        **{key: {"missing": (".",), "missing_policy": "public"} for key in "yw"}
    )
    m = PrivateMoments(
        rows, schema, assignment=VILLAGES, neighbors="replace-one-design-public",
        formulas=["y ~ [d ~ z]", "w ~ [d ~ z]", "d ~ z"],
    )  # fmt: skip
    assert [one.step.title for one in m.facts.steps.bound] == [
        "y ~ z",
        "d ~ z, where not missing(y)",
        "w ~ z",
        "d ~ z, where not missing(w)",
        "d ~ z",
    ]
    found = m.fit(30, 1e-6, rng=3)
    assert found.ols("d ~ z").nobs == len(rows)
    for y in ("y", "w"):
        stage = found.ols(f"d ~ z, where not missing({y})")
        assert stage.nobs == rows[y].notna().sum()
        ratio = found.ols(f"{y} ~ z").params["z"] / stage.params["z"]
        assert found.iv(f"{y} ~ [d ~ z]").params["d"] == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ [d ~ z + x]", "the instrument x, which was not assigned"),
        ("y ~ z + [d ~ x]", "the instrument x, which was not assigned"),
        ("y ~ x + [d ~ z + z:village]", "instrument"),
        ("y + x ~ [d ~ z]", "it has instruments, and several outcomes"),
        ("y ~ x + [d ~ z2]", "it does not name the treatment"),
    ],
)
def test_what_is_not_served_is_refused_by_name(formula: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(formulas=[Regression(formula, name="late", weights="share")])
