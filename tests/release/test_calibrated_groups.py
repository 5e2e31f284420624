"""Regressions within public groups, and across them, on one calibrated file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import Validity
from dprct.errors import ParameterError
from dprct.model import Facts
from dprct.privacy.budget import Budget
from dprct.release.calibrated.covariates import Target
from dprct.release.calibrated.groups import Groups, balanced, joined, same_shares
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from dprct.release.release import Release

DELTA = 1e-6
WHOLE = {"missing": ()}
SCHEMA = Schema((
    Column("yield", bounds=(0, 3), sd=0.4, **WHOLE),
    Column("loans", bounds=(-5, 9), sd=1.5, **WHOLE),
    Column("seed", "byte", levels=(0.0, 1.0), exclusive="arm", **WHOLE),
    Column("tools", "byte", levels=(0.0, 1.0), exclusive="arm", **WHOLE),
    Column("soil", "byte", levels=(1.0, 2.0, 10.0), **WHOLE),
    Column("slope", "byte", levels=(0.0, 1.0), fate="filler", **WHOLE),
    Column("age", bounds=(18, 65), fate="modelled", **WHOLE),
))  # fmt: skip
LEVELS = (1.0, 10.0, 2.0)
"""In the order of their texts, as released effects are."""
SETS = ["C(soil)"]

pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")


def farms(cells: dict[float, tuple[int, ...]], seed: int = 3) -> pd.DataFrame:
    """Farms of every soil: those without treatment, then those of every arm."""
    rng, parts = np.random.default_rng(seed), []
    for soil, sizes in cells.items():
        arm = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        harvest = 1 + 0.05 * soil + 0.1 * arm * soil / 2 + 0.3 * rng.normal(size=len(arm))
        parts.append(pd.DataFrame({
            "yield": np.clip(harvest, 0, 3), "loans": rng.normal(2, 1.5, len(arm)).clip(-5, 9),
            "seed": (arm == 1) * 1.0, "tools": (arm == 2) * 1.0, "soil": soil,
            "slope": rng.integers(0, 2, len(arm)) * 1.0, "age": rng.uniform(18, 65, len(arm)),
        }))  # fmt: skip
    data = pd.concat(parts, ignore_index=True)
    return data if data["tools"].any() else data.drop(columns="tools")


def model(data: pd.DataFrame, **options: Any) -> dprct.Calibrated:
    arms = [name for name in ("seed", "tools") if name in data]
    schema = Schema(tuple(column for column in SCHEMA.columns if column.name in data))
    given: dict[str, Any] = {
        "outcome": ["yield", "loans"], "treatment": arms, "subgroups": "soil",
        "assignment": dprct.Block(arms, block="soil", shares=None), "attrition": True,
        "specifications": SETS, "covariate_release": "filler",
        **options,
    }  # fmt: skip
    return dprct.Calibrated(data, schema, **given)


EQUAL = {1.0: (60, 40), 2.0: (60, 40), 10.0: (60, 40)}
UNEQUAL = {1.0: (30, 20), 2.0: (120, 80), 10.0: (60, 40)}
THREE = {1.0: (30, 20, 25), 2.0: (60, 40, 50), 10.0: (30, 20, 25)}
APART = {1.0: (30, 21), 2.0: (60, 40), 10.0: (33, 50)}


@pytest.fixture(scope="module")
def releases() -> dict[str, Release]:
    cells = {"equal": EQUAL, "unequal": UNEQUAL, "three": THREE, "apart": APART}
    return {name: model(farms(of)).fit(3, DELTA) for name, of in cells.items()}


def within(release: Release, outcome: str, level: float) -> dprct.OLSResults:
    rows = release.protected[release.protected["soil"] == level]
    return dprct.ols(f"{outcome} ~ {' + '.join(arms_of(release))}", rows, release.schema)


def arms_of(release: Release) -> list[str]:
    return [name for name in ("seed", "tools") if name in release.protected]


@pytest.mark.parametrize("name", ["equal", "unequal", "three", "apart"])
def test_every_level_returns_its_released_effects_and_errors(
    name: str, releases: dict[str, Release]
) -> None:
    release = releases[name]
    by, arms = release.estimates.effects(where="soil"), arms_of(release)
    for outcome in ("yield", "loans"):
        for level in LEVELS:
            fit = within(release, outcome, level)
            wanted = [f"{outcome} if soil={level:g}: {arm}" for arm in arms]
            assert fit.params[arms].to_numpy() == pytest.approx(by.params[wanted], abs=1e-9)
            ratio = fit.bse[arms].to_numpy() / by.bse[wanted].to_numpy()
            # of levels of several sizes the smallest has about k / (2 n) more
            assert ratio.min() > 1 - 1e-9
            if name == "equal":  # in one fit of twenty a little more, which the certificate says
                assert ratio.max() < 1.02
            if name in ("unequal", "apart"):
                assert ratio.max() < 1 + 1.5 * 2 / (2 * fit.nobs) + 1e-9
            assert fit.notes[0].startswith("Calibrated:")
            control = by.control.loc[f"{outcome} if soil={level:g}"]
            assert fit.params["Intercept"] == pytest.approx(control["mean"], abs=1e-9)


@pytest.mark.parametrize("right", ["", " + C(soil)"])
@pytest.mark.parametrize("name", ["equal", "unequal", "three"])
def test_all_rows_return_the_effects_of_everybody(
    name: str, right: str, releases: dict[str, Release]
) -> None:
    release, arms = releases[name], arms_of(releases[name])
    for outcome in ("yield", "loans"):
        fit = dprct.ols(f"{outcome} ~ {' + '.join(arms)}{right}", release.protected, release.schema)
        wanted = [f"{outcome}: {arm}" for arm in arms]
        assert fit.params[arms].to_numpy() == pytest.approx(
            release.estimates.params[wanted], abs=1e-9
        )
        assert (fit.bse[arms].to_numpy() / release.estimates.bse[wanted] > 1 - 1e-9).all()
        assert fit.notes[0].startswith("Calibrated:")
    assert "on all rows and within levels of soil" in release.plan.facts["calibration"]


@pytest.mark.parametrize("name", ["unequal", "three", "apart"])
def test_crossed_arms_return_effects_and_their_differences(
    name: str, releases: dict[str, Release]
) -> None:
    release, arms = releases[name], arms_of(releases[name])
    by = release.estimates.effects(where="soil")
    fit = dprct.ols(f"loans ~ ({' + '.join(arms)})*C(soil)", release.protected, release.schema)
    for arm in arms:
        first = f"loans if soil=1: {arm}"
        assert fit.params[arm] == pytest.approx(by.params[first], abs=1e-9)
        assert fit.bse[arm] >= by.bse[first] * (1 - 1e-9)
        for level in (2, 10):
            term = next(c for c in fit.params.index if arm in c and f"[T.{level}" in c)
            other = f"loans if soil={level}: {arm}"
            wanted = by.params[other] - by.params[first]
            assert fit.params[term] == pytest.approx(wanted, abs=1e-9)
            assert fit.bse[term] >= np.hypot(by.bse[other], by.bse[first]) * (1 - 1e-9)
    assert "effects in the first level of soil" in fit.notes[0]


def test_sets_of_covariates_return_the_effects_of_everybody() -> None:
    sets = ["", "C(soil)", "C(soil) + age"]
    release = model(
        farms(THREE), covariates=["C(soil)", "age", "I(age**2)"], specifications=sets
    ).fit(3, DELTA)  # fmt: skip
    arms, by = ["seed", "tools"], release.estimates.effects(where="soil")
    for outcome in ("yield", "loans"):
        wanted = [f"{outcome}: {arm}" for arm in arms]
        for right in ("", "+ C(soil)", "+ C(soil) + age", "+ C(soil) + age + I(age**2)"):
            fit = dprct.ols(f"{outcome} ~ seed + tools {right}", release.protected, release.schema)
            effects = release.estimates.params[wanted]
            assert fit.params[arms].to_numpy() == pytest.approx(effects, abs=1e-8)
            assert (fit.bse[arms].to_numpy() / release.estimates.bse[wanted] > 1 - 1e-9).all()
            assert fit.notes[0].startswith("Calibrated:")
        for level in LEVELS:
            fit = within(release, outcome, level)
            inner = [f"{outcome} if soil={level:g}: {arm}" for arm in arms]
            assert fit.params[arms].to_numpy() == pytest.approx(by.params[inner], abs=1e-9)
            assert (fit.bse[arms].to_numpy() / by.bse[inner].to_numpy() > 1 - 1e-9).all()
    rows = release.protected[release.protected["soil"] == 2]
    fit = dprct.ols("yield ~ seed + tools + age", rows, release.schema)
    assert "and not one with age" in fit.notes[0]


def test_where_shares_differ_factors_compare_like_with_like(releases: dict[str, Release]) -> None:
    release = releases["apart"]
    bare = dprct.ols("yield ~ seed", release.protected, release.schema)
    plain = dprct.ols("yield ~ seed", release.protected)
    assert abs(plain.params["seed"] - release.estimates.params["yield: seed"]) > 1e-3
    assert bare.not_carried == ("Intercept", "seed")
    assert bare.params.isna().all()
    assert "Arms have other shares in some levels of soil" in bare.notes[0]
    assert np.isnan(bare.bse["Intercept"])
    fit = dprct.ols("yield ~ seed + C(soil)", release.protected, release.schema)
    assert fit.notes[0].startswith("Calibrated:")
    # least squares weighs the levels by n p (1 - p)
    by, sizes = (
        release.estimates.effects(where="soil"),
        np.array([APART[level] for level in LEVELS]),
    )
    weights = sizes.prod(axis=1) / sizes.sum(axis=1)
    weights = weights / weights.sum()
    names = [f"yield if soil={level:g}: seed" for level in LEVELS]
    assert fit.params["seed"] == pytest.approx(weights @ by.params[names], abs=1e-9)
    alone = np.sqrt(weights**2 @ by.bse[names] ** 2)
    assert 0.9 * alone < fit.bse["seed"] < 1.2 * alone
    told = release.plan.facts["on all rows, with C(soil)"]
    effect, error = map(float, re.findall(r"yield: seed (\S+) \((\S+)\)", told)[0])
    assert fit.params["seed"] == pytest.approx(effect, rel=1e-5)
    assert fit.bse["seed"] >= error * (1 - 1e-3)
    assert any("other shares in some levels of soil" in line for line in release.plan.warnings)
    valid = Validity.of(release.schema)
    assert valid is not None
    assert (valid.control_errors, valid.covariates) == ((), (("C(soil)",),))
    issued = release.issued
    assert issued is not None
    (ratio,) = [one for one in issued.reading.ratios if one.command == "regress y t x, vce(robust)"]
    assert ratio.smallest > 1 - 1e-6


def test_covariates_keep_weighted_effects_of_several_arms() -> None:
    data = farms({1.0: (30, 21, 20), 2.0: (60, 40, 31), 10.0: (33, 50, 24)})
    release = model(data, covariates=["C(soil)", "age"]).fit(3, DELTA)
    short = dprct.ols("yield ~ seed + tools + C(soil)", release.protected, release.schema)
    fit = dprct.ols("yield ~ seed + tools + C(soil) + age", release.protected, release.schema)
    told = re.findall(
        r"yield: \w+ (\S+) \((\S+)\)", release.plan.facts["on all rows, with C(soil)"]
    )
    for arm, (effect, error) in zip(("seed", "tools"), told, strict=True):
        assert fit.params[arm] == pytest.approx(short.params[arm], abs=1e-9)
        assert fit.params[arm] == pytest.approx(float(effect), rel=1e-5)
        assert fit.bse[arm] >= float(error) * (1 - 1e-3)
        assert short.bse[arm] >= float(error) * (1 - 1e-3)
    assert fit.notes[0].startswith("Calibrated:")


def test_the_certificate_reads_every_level(releases: dict[str, Release]) -> None:
    issued = releases["unequal"].issued
    assert issued is not None
    ratios = {one.command: one for one in issued.reading.ratios}
    found = ratios["regress y t if soil == level, vce(robust)"]
    assert not found.too_small
    assert found.largest < 1.05
    assert "other subgroups, other interactions" in " ".join(issued.reading.breaks)


def test_missing_values_that_are_public_keep_effects_in_levels() -> None:
    data = farms(EQUAL)
    data.loc[data.groupby(["soil", "seed"]).head(5).index, "yield"] = np.nan
    schema = SCHEMA.with_columns(
        [Column("yield", bounds=(0, 3), missing=(".",), missing_policy="public")]
    )
    schema = Schema(tuple(column for column in schema.columns if column.name in data))
    release = dprct.Calibrated(
        data, schema, outcome=["yield", "loans"], treatment="seed", subgroups=["soil"],
        assignment=dprct.Block("seed", block="soil", shares=None), attrition=True,
        covariate_release="filler",
    ).fit(3, DELTA)  # fmt: skip
    by = release.estimates.effects(where="soil")
    for level in LEVELS:
        fit = within(release, "yield", level)
        assert fit.nobs == 90
        effect = by.params[f"yield if soil={level:g}: seed"]
        assert fit.params["seed"] == pytest.approx(effect, abs=1e-9)


def hc1(y: np.ndarray[Any, Any], right: list[Any]) -> tuple[float, float]:
    """Return the coefficient of the first regressor and its robust error, by the formula."""
    X = np.column_stack([*right, np.ones(len(y))])
    bread = np.linalg.inv(X.T @ X)
    b = bread @ X.T @ y
    scores = X * (y - X @ b)[:, None]
    cov = len(y) / (len(y) - X.shape[1]) * bread @ scores.T @ scores @ bread
    return float(b[0]), float(np.sqrt(cov[0, 0]))


@pytest.mark.long
def test_no_error_is_too_small_in_any_design() -> None:
    # 60 draws of sizes, effects and errors; joined() alone, so that every ratio is seen
    rng = np.random.default_rng(11)
    for _ in range(60):
        groups, share = int(rng.integers(2, 5)), rng.integers(1, 4, 2) * 4
        cells = np.outer(rng.integers(1, 6, groups), share)
        arms = np.concatenate([np.repeat([0, 1], row) for row in cells])
        codes = np.repeat(np.arange(groups), cells.sum(axis=1))
        levels = tuple(
            Target(rng.normal(size=1), np.array([[s]]), rng.normal())
            for s in rng.exponential(size=groups)
        )
        weights = cells.sum(axis=1) / len(arms)
        effect = sum(w * one.effects for w, one in zip(weights, levels, strict=True))
        error = np.array([[rng.exponential() / groups]])
        target = Target(effect, error, 0.0, control_error=1.0, within=levels)
        values = np.zeros(len(arms))
        for code, one in enumerate(levels):
            for arm in (0, 1):
                here = np.flatnonzero((codes == code) & (arms == arm))
                noise = rng.normal(size=len(here))
                values[here] = one.control + arm * one.effects[0] + noise - noise.mean()
        constant = np.ones((len(arms), 1))
        age = rng.normal(size=(len(arms), 1))
        cells = pd.Series(codes * 2 + arms)
        inner = (age[:, 0] - pd.Series(age[:, 0]).groupby(cells).transform("mean")).to_numpy()
        for code in range(groups):  # as outcomes are constructed: residuals know nothing of age
            part = np.where(codes == code, inner, 0.0)
            values -= part * (part @ values) / (part @ part)
        found = joined(values, target, [constant, np.hstack([constant, age])], arms, codes, "g")
        assert found.whole
        for ratio, right in zip(found.ratios, ([], [age[:, 0]]), strict=True):
            b, error_of = hc1(found.values, [arms, *right])
            assert b == pytest.approx(effect[0], abs=1e-9)
            assert ratio[0] == pytest.approx(error_of / np.sqrt(error[0, 0]), rel=1e-9)
            assert ratio[0] >= 1 - 1e-9
        for code, one in enumerate(levels):
            b, error_of = hc1(found.values[codes == code], [arms[codes == code]])
            assert b == pytest.approx(one.effects[0], abs=1e-9)
            wanted = np.sqrt(one.covariance[0, 0])
            assert found.within[code][0] == pytest.approx(error_of / wanted, rel=1e-9)
            assert found.within[code][0] >= 1 - 1e-9
        assert found.control is not None
        assert found.control >= 1 - 1e-9


def test_shares_are_compared_in_whole_numbers() -> None:
    assert balanced(np.array([[30, 20], [60, 40]]))
    assert not balanced(np.array([[30, 20], [60, 41]]))
    arms = np.tile([0, 1], 6)
    assert same_shares(arms, np.repeat([0, 1, 2], 4))
    assert not same_shares(arms, np.repeat([0, 1], [5, 7]))


def test_levels_are_in_the_order_of_released_effects() -> None:
    assert Groups.of("soil", np.array([2.0, 10.0, 1.0])).levels == LEVELS
    text = Groups.of("soil", np.array(["sand", "clay"], object))
    assert text.levels == ("clay", "sand")
    assert text.taken(np.array([1, 0])).codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subgroups": ["soil", "slope"]}, "name 2 columns.*a column of their own"),
        ({"subgroups": ["slope"]}, "names no block of the design"),
        (
            {"covariates": ["age"], "specifications": ["age + C(soil)"]},
            r"contradict each other .* with C\(soil\), or other factors of the levels, and without",
        ),
        ({"gamma": "moments", "covariates": ["C(soil)"], "specifications": []}, "gamma='zero'"),
        ({"neighbors": "replace-one"}, "needs public groups"),
        ({"blocks": "ignore"}, "blocks='ignore'|blocks='weight'"),
    ],
)
def test_what_cannot_hold_at_once_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(farms(EQUAL), **options)


def test_levels_need_rows_and_values() -> None:
    few = farms({1.0: (20, 20), 2.0: (2, 2)})
    with pytest.raises(ParameterError, match=r"within soil = 2: 4 rows leave no residuals beside"):
        model(few, covariates=["C(soil)", "age", "I(age**2)"], specifications=[])
    with pytest.raises(ParameterError, match="fewer than two people with an outcome in some block"):
        model(farms({1.0: (20, 20), 2.0: (1, 1), 10.0: (20, 20)}))
    assert model(farms({1.0: (20, 20), 2.0: (2, 2)})).plan(3, DELTA).refusal == ""
    with pytest.raises(ParameterError, match="has one level"):
        model(farms({1.0: (20, 20)}))
    with pytest.raises(ParameterError, match="some rows are in no group"):
        Groups.of("soil", np.array([1.0, np.nan]))


def test_effects_in_levels_need_the_release_that_has_them() -> None:
    asked = model(farms(EQUAL))
    with pytest.raises(ParameterError, match="need the joint release"):
        asked.plan(3)
    # one outcome alone would do better without the delta, and has no levels there
    one = model(farms(EQUAL).drop(columns="loans"), outcome="yield").plan(3, DELTA)
    assert "yield ~ seed within each level of soil" in one.facts["regressions"]
    assert "yield if soil=2: seed" in one.errors()


def test_a_header_alone_is_planned() -> None:
    # no table says which blocks there are, for effects in subgroups as for a file
    asked = model(farms(EQUAL))
    facts = Facts(asked.spec.prepared(asked.facts.schema), 300)
    budget = Budget.asked(3, DELTA)
    assert asked.spec.unaffordable(facts, budget, confirm=False) is None
    assert asked.spec.effects.unaffordable(facts, budget, confirm=False) is None
