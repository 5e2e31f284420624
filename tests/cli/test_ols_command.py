"""``dprct ols``: whoever has released moments runs regressions, and needs no data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Complete, Simple
from dprct.errors import ParameterError
from dprct.estimate.moments.declared import Regression
from dprct.estimate.moments.model import PrivateMoments
from dprct.estimate.moments.results import Moments
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng, never = np.random.default_rng(6), {"missing": ()}
    schema = Schema(
        (
            Column("yield", bounds=(-5.0, 5.0), sd=1.0, **never),
            Column("rain", bounds=(-4.0, 4.0), sd=1.0, **never),
            Column("seed", "byte", levels=(0.0, 1.0), **never),
            Column("soil", "str4", levels=("clay", "sand"), **never),
        )
    )
    data = pd.DataFrame(
        {
            "yield": rng.normal(size=2000),
            "rain": rng.normal(size=2000),
            "seed": rng.integers(0, 2, 2000).astype(float),
            "soil": np.array(["clay", "sand"], object)[rng.integers(0, 2, 2000)],
        }
    )
    model = PrivateMoments(
        data, schema, formulas=["yield ~ seed + rain"], assignment=Simple("seed"),
        subgroups=["soil"],
    )  # fmt: skip
    return model.fit(epsilon=4, delta=1e-6).save(tmp_path / "farm.moments.json")


def test_a_reader_runs_regressions(dprct: Callable[..., Any], file: Path) -> None:
    moments = Moments.load(file)
    ran = dprct("ols", file, "yield ~ seed + rain")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip() == moments.ols("yield ~ seed + rain").summary().strip()
    ran = dprct("ols", file, "yield ~ rain", "--where", "soil=clay", "--where", "seed=1", "--json")
    (_, slope) = json.loads(ran.out)
    fit = moments.ols("yield ~ rain", where={"soil": "clay", "seed": 1.0})
    assert slope["estimate"] == pytest.approx(fit.params["rain"], rel=1e-12)
    effect = json.loads(dprct("ols", file, "--effects", "--json").out)[0]
    assert effect["estimate"] == pytest.approx(moments.effects().params["seed"], rel=1e-12)


def test_without_a_formula_it_says_what_was_released(dprct: Callable[..., Any], file: Path) -> None:
    assert dprct("ols", file).out.strip() == Moments.load(file).summary().strip()
    said = json.loads(dprct("ols", file, "--json").out)
    assert said["columns"] == ["yield", "rain"]
    assert said["arms"] == ["control", "seed"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["yield ~ wind"], "'wind' was not released; released: yield, rain"),
        (["yield ~ rain", "--where", "soil"], "not of the form COLUMN=LEVEL"),
        (["yield ~ rain", "--where", "soil=mud"], "levels are clay, sand"),
        (["yield ~ rain", "--effects"], "--effects and --joint take no formula"),
        (["--margins", "logit"], "--margins are those of a declared regression"),
        (["yield ~ rain", "--margins", "logit"], "margins are those of a regression declared"),
        (["yield ~ rain", "--cov-type", "HC3"], "allowed: by group, nonrobust"),
    ],
)
def test_refusals(dprct: Callable[..., Any], file: Path, asked: list[str], words: str) -> None:
    ran = dprct("ols", file, *asked)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_an_edited_file(dprct: Callable[..., Any], file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace('"n": 2000', '"n": 2001'), "utf-8")
    ran = dprct("ols", file)
    assert ran.code == 2
    assert "was changed after it was written" in ran.err


def test_declared_regressions_are_found_by_condition_and_by_name(
    dprct: Callable[..., Any], tmp_path: Path
) -> None:
    rng, never = np.random.default_rng(8), {"missing": ()}
    two = {"levels": (0.0, 1.0), **never}
    schema = Schema(
        (
            Column("kids", bounds=(0.0, 8.0), sd=1.0, **never),
            Column("took", "byte", **two),
            Column("girl", "byte", **two),
            Column("aid", "byte", **two),
        )
    )
    aid = np.arange(3000) % 2.0
    took = (rng.random(3000) < 0.2 + 0.6 * aid) * 1.0
    frame = pd.DataFrame(
        {"kids": rng.poisson(1, 3000) + took, "took": took, "girl": rng.integers(0, 2, 3000) * 1.0,
         "aid": aid}
    ).clip(upper=8.0)  # fmt: skip
    girls = Regression("kids ~ aid", where="girl == 1")
    path = PrivateMoments(
        frame, schema, assignment=Complete("aid", shares=0.5),
        formulas=["kids ~ aid", girls, Regression("kids ~ [took ~ aid]", name="iv")],
        neighbors="replace-one-design-public",
    ).fit(epsilon=4, delta=1e-6).save(tmp_path / "a.moments.json")  # fmt: skip
    moments = Moments.load(path)
    for said in ("girl=1", "girl == 1"):
        ran = dprct("ols", path, "kids ~ aid", "--where", said)
        assert ran.out.strip() == moments.ols(girls).summary().strip()
    assert dprct("ols", path, "kids ~ aid", "--where", "girl=0").code == 2
    for asked in ("iv", "kids ~ [took ~ aid]"):
        assert dprct("ols", path, asked).out.strip() == moments.iv("iv").summary().strip()
    with pytest.raises(ParameterError, match=r"ask for it with iv\(\)"):
        moments.ols("iv")
    for asked in ("ivv", "kids ~ aid, where grl == 1"):
        ran = dprct("ols", path, asked)
        assert (ran.code, "is neither a declared regression nor a formula" in ran.err) == (2, True)
        assert "did you mean '" in ran.err


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Released moments with a declared logit."""
    rng, never = np.random.default_rng(9), {"missing": ()}
    two = {"levels": (0.0, 1.0), **never}
    schema = Schema((
        Column("works", "byte", **two), Column("arm", "byte", **two),
        Column("age", bounds=(20.0, 60.0), **never),
    ))  # fmt: skip
    arm = (rng.random(6000) < 0.5) * 1.0
    works = (rng.random(6000) < 0.4 + 0.2 * arm) * 1.0
    data = pd.DataFrame({"works": works, "arm": arm, "age": rng.uniform(20, 60, 6000)})
    logit = Regression("works ~ arm + age", family="logit", name="main")
    model = PrivateMoments(data, schema, assignment=Simple("arm", shares=0.5), formulas=[logit])
    folder = tmp_path_factory.mktemp("jobs")
    return model.fit(epsilon=40, delta=1e-6).save(folder / "jobs.moments.json")


def test_a_declared_logit_is_read_with_ratios_margins_and_tests(
    dprct: Callable[..., Any], jobs: Path
) -> None:
    logit = Moments.load(jobs).glm("works ~ arm + age", family="logit")
    with pytest.raises(
        ParameterError, match=r"not as least squares; ask for it with Moments.glm\(\)"
    ):
        Moments.load(jobs).ols("main")
    shown = {row["term"]: row for row in json.loads(dprct("ols", jobs, "main", "--json").out)}
    assert shown["arm"]["estimate"] == pytest.approx(logit.params["arm"], rel=1e-12)
    ran = dprct("ols", jobs, "works ~ arm + age", "--family", "logit", "--ratios", "--json")
    ratios = {row["term"]: row for row in json.loads(ran.out)}
    for name, value in logit.odds_ratios().loc["arm"].items():
        assert ratios["arm"][name] == pytest.approx(value, rel=1e-12)
    (margin,) = json.loads(dprct("ols", jobs, "main", "--margins", "arm", "--json").out)
    assert margin["estimate"] == pytest.approx(logit.margins("arm").params.iloc[0], rel=1e-12)
    tested = json.loads(dprct("ols", jobs, "main", "--test", "arm = 0", "--json").out)
    assert tested["statistic"] == pytest.approx(logit.wald_test("arm = 0").statistic, rel=1e-12)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["main", "--ratios", "--margins", "arm"], "print one thing each"),
        (["main", "--ratios", "--test", "arm = 0"], "print one thing each"),
        (["main", "--margins", "arm", "--test", "arm = 0"], "print one thing each"),
        (["main", "--ratios", "--cov-type", "nonrobust"], "neither --where nor --cov-type"),
        (["main", "--family", "probit"], "was not declared as a probit"),
        (["main", "--family", "tobit"], "allowed: logit, probit, cloglog, poisson"),
        (["main", "--margins", "wage"], "'wage' is not a regressor"),
        (["works ~ arm", "--ratios"], "--family and --ratios are of a declared logit"),
    ],
)
def test_refusals_of_a_declared_logit(
    dprct: Callable[..., Any], jobs: Path, asked: list[str], words: str
) -> None:
    ran = dprct("ols", jobs, *asked)
    assert (ran.code, ran.out) == (2, "")
    assert words in " ".join(ran.err.split())
