"""Verdicts on released moments, against what the release itself does with each regression."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import MARGINAL
from dprct.cli import main
from dprct.dofile import Regression
from dprct.errors import DprctError
from dprct.estimate.moments.results import Moments
from dprct.io.stata import write_dta
from dprct.schema import Column, Schema, Unit
from dprct.study.headers import header_and_rows
from dprct.study.moments_verdicts import Served
from dprct.study.protect import protected, written_files
from dprct.study.reading import ServedRegression
from dprct.study.ready import bound_model, study_of
from dprct.study.verdicts import of_file, of_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.study.verdicts import Verdict

STUDY = """\
version = 1
data = "pupils.dta"
dataset_id = "pupils"
[release]
method = "moments"
epsilon = 20.0
delta = 1e-6
[design]
kind = "simple"
arms = ["tutor"]
shares = 0.5
[moments]
columns = ["score", "age", "C(grade)", "days", "passed"]
formulas = ["score ~ tutor + age"]
subgroups = ["girl"]
cov_type = "HC1"
[header]
confirm = true
[columns.score]
bounds = [-4, 4]
missing = "never"
[columns.age]
bounds = [5, 15]
missing = "never"
[columns.days]
bounds = [0, 200]
missing = ["."]
missing_policy = 0
[columns.grade]
levels = [1, 2, 3]
missing = "never"
[columns.girl]
levels = [0, 1]
missing = "never"
[columns.tutor]
levels = [0, 1]
missing = "never"
[columns.diary]
bounds = [0, 1]
missing = "never"
[columns.passed]
levels = [0, 1]
missing = "never"
"""
CASES = [
    ("reg score tutor age, r", "valid", ""),
    ("reg score tutor age", "effects only", "robust ones are released for it"),
    ("reg score tutor age i.grade", "valid", ""),
    ("reg score tutor", "valid", ""),
    ("reg age tutor if girl==1", "valid", ""),
    ("reg age i.grade if girl == 1 & tutor==0", "valid", ""),
    ("reg age tutor if 1 == 1 & girl == 1", "valid", ""),
    ("bysort girl: reg score tutor", "valid", ""),
    ("areg score tutor age, absorb(grade)", "valid", ""),
    ("reg score c.tutor##c.girl age", "valid", ""),
    ("gen tg = tutor*girl\nreg score tutor girl tg", "valid", ""),
    ("gen ta = tutor*age\nreg score tutor age ta", "valid", ""),
    ("ivregress 2sls score (age = tutor)", "valid", ""),
    ("reg score tutor age i.grade, r", "effects only", "need its scores"),
    ("reg score tutor, cluster(grade)", "effects only", "clusters grade are not units"),
    ("reghdfe score tutor age, absorb(grade)", "effects only", "reghdfe counts"),
    ("reg score tutor if age > 9", "artefact", "age > 9; no such group"),
    ("reg score tutor if girl==2", "artefact", "no such group"),
    ("reg score tutor if 1 == 2 & girl == 1", "artefact", "no such group"),
    ("replace girl = 0 if age > 9\nreg age tutor if girl==1", "artefact", "no such group"),
    ("reg age tutor if tutor==1", "artefact", "tutor is the same in all rows"),
    ("bysort grade: reg score tutor", "artefact", "by grade; no such group"),
    ("gen la = log(age)\nreg score tutor la", "artefact", "makes la (log(age))"),
    ("gen aa = age*grade\nreg score tutor aa", "artefact", "age:grade was not released"),
    ("replace age = 9\ngen ta = tutor*age\nreg score tutor age ta", "artefact", "makes"),
    ("reg score c.age#c.days tutor", "artefact", "age:days was not released"),
    ("reg score tutor diary", "artefact", "diary was not released"),
    ("reg score tutor days", "artefact", "a declared number stands for missing values of days"),
    ("reg score tutor [aw=age]", "artefact", "weighted"),
    ("reg score tutor, noconstant", "artefact", "no intercept"),
    ("probit girl tutor age", "artefact", "fitted means of a probit"),
    ("logit passed tutor, robust", "valid", ""),
    ("logistic passed i.tutor##i.girl", "valid", ""),
    ("probit passed tutor", "valid", ""),
    ("logit passed tutor, cluster(grade)", "effects only", "need its scores"),
    ("logit passed tutor age", "artefact", "its coefficients are not released"),
    ("logit passed tutor girl", "artefact", "its coefficients are not released"),
    ("collapse score tutor, by(grade)\nreg score tutor", "artefact", "after collapse"),
    ("reg score tutor nothere", "cannot run", "nothere is not a column"),
]


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released study."""
    home = tmp_path_factory.mktemp("school")
    rng = np.random.default_rng(3)
    n = 3000
    frame = pd.DataFrame(
        {
            "score": rng.normal(size=n).clip(-4, 4),
            "age": rng.uniform(5, 15, n),
            "days": rng.uniform(0, 200, n),
            "grade": rng.integers(1, 4, n).astype(float),
            "girl": rng.integers(0, 2, n).astype(float),
            "tutor": rng.integers(0, 2, n).astype(float),
            "diary": rng.uniform(0, 1, n),
            "passed": rng.integers(0, 2, n).astype(float),
        }
    )
    write_dta(frame, Schema.from_frame(frame), home / "pupils.dta")
    (home / "study.toml").write_text(STUDY)
    text = "".join(f"use pupils, clear\n{case}\n" for case, _, _ in CASES)
    (home / "tables.do").write_text(text)
    study = study_of(home / "study.toml")
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    return home


@pytest.fixture(scope="module")
def planned(school: Path) -> list[Verdict]:
    return of_study([school / "tables.do"], study_of(school / "study.toml"))


@pytest.mark.parametrize("place", range(len(CASES)))
def test_each_case(planned: list[Verdict], place: int) -> None:
    text, kind, reason = CASES[place]
    found = planned[place]
    assert (found.kind, text) == (kind, text), str(found)
    assert reason in found.reason
    assert bool(found.reason) == (kind != "valid")


def test_the_release_gives_the_verdicts_of_the_plan(
    school: Path, planned: list[Verdict], command_line: Callable[..., Any]
) -> None:
    found = of_file([school / "tables.do"], school / "pupils.moments.json")
    # columns that were not released are not known to the file, which says so otherwise
    same = [k for k, (text, _, _) in enumerate(CASES) if "diary" not in text]
    assert [found[k].kind for k in same] == [planned[k].kind for k in same]
    ran = command_line(main)(
        "verify", school / "pupils.moments.json", "--do", school / "tables.do", "--json"
    )
    assert [one["verdict"] for one in json.loads(ran.out)["regressions"]] == [
        one.kind for one in found
    ]


def test_what_is_served_is_read_off_as_the_verdict_says(
    school: Path, planned: list[Verdict]
) -> None:
    moments = Moments.load(school / "pupils.moments.json")
    done = 0
    for one in planned:
        if one.reading is None or "LEVEL" in one.remedy:
            continue
        found = one.reading.numbers(moments, 0.05)["estimate"]
        assert np.isfinite(found["age" if one.regression.endogenous else "Intercept"])
        assert f'dprct ols pupils.moments.json "{one.reading.asked}"' in one.remedy
        done += 1
    assert done >= 11


@pytest.mark.parametrize(
    "formula", ["score ~ tutor + age:days", "score ~ tutor + diary", "score ~ tutor + C(age)"]
)
def test_what_is_not_served_is_refused_by_the_release(school: Path, formula: str) -> None:
    with pytest.raises(DprctError):
        Moments.load(school / "pupils.moments.json").ols(formula)


SHOP = """\
version = 1
data = "shop.dta"
dataset_id = "shop"
[unit]
name = "worker"
id = "worker"
max_rows = 3
[release]
method = "moments"
epsilon = 20.0
delta = 1e-6
[moments]
formulas = ["sales ~ bonus + C(quarter) | worker", "sales ~ bonus"]
cov_type = "CR1"
[header]
confirm = true
[columns.worker]
fate = "key"
[columns.quarter]
levels = [1, 2, 3]
missing = "never"
[columns.bonus]
levels = [0, 1]
missing = "never"
[columns.sales]
bounds = [0, 30]
missing = "never"
"""
PANEL = [
    ("xtreg sales bonus i.quarter, fe vce(cluster worker)", "valid", ""),
    ("xtreg sales bonus i.quarter, fe robust", "valid", ""),
    ("reghdfe sales bonus i.quarter, absorb(worker) cluster(worker)", "valid", ""),
    ("reg sales bonus, cluster(worker)", "valid", ""),
    ("xtreg sales bonus i.quarter, fe", "effects only", "those clustered by worker are released"),
    ("reghdfe sales bonus i.quarter, absorb(worker) vce(robust)", "effects only", "clustered by"),
    ("areg sales bonus i.quarter, absorb(worker) cluster(worker)", "effects only", "areg counts"),
    ("reg sales bonus, robust", "effects only", "those clustered by worker are released"),
    ("xtreg sales bonus, fe vce(cluster worker)", "artefact", "scores of this regression"),
    ("xtreg bonus sales, fe vce(cluster worker)", "artefact", "scores of this regression"),
    ("reghdfe sales bonus, absorb(worker quarter) cluster(worker)", "valid", ""),
    ("reghdfe sales bonus, absorb(quarter) cluster(worker)", "artefact", "was not released"),
    ("xtreg sales bonus, re", "artefact", "random effects"),
]


def test_effects_of_units_are_those_of_xtreg(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(4), 600
    worker = np.repeat(np.arange(n), 3)
    frame = pd.DataFrame(
        {
            "worker": worker,
            "quarter": np.tile([1.0, 2.0, 3.0], n),
            "bonus": rng.integers(0, 2, 3 * n).astype(float),
            "sales": rng.uniform(0, 30, 3 * n),
        }
    )
    write_dta(frame, Schema.from_frame(frame), tmp_path / "shop.dta")
    (tmp_path / "shop.toml").write_text(SHOP)
    head = "use shop, clear\nxtset worker quarter\n"
    (tmp_path / "shop.do").write_text("".join(f"{head}{text}\n" for text, _, _ in PANEL))
    study = study_of(tmp_path / "shop.toml")
    before = of_study([tmp_path / "shop.do"], study)
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    after = of_file([tmp_path / "shop.do"], tmp_path / "shop.moments.json")
    for found in (before, after):
        for (text, kind, reason), one in zip(PANEL, found, strict=True):
            assert (one.kind, text) == (kind, text), str(one)
            assert reason in one.reason
    moments = Moments.load(tmp_path / "shop.moments.json")
    for one in before[:4]:
        read = re.search(r'dprct ols shop.moments.json "([^"]+)"', one.remedy)
        assert read is not None
        assert moments.ols(read[1]).cov_type == "scores"


TOWNS = """\
version = 1
data = "towns.dta"
dataset_id = "towns"
[release]
method = "moments"
epsilon = 20.0
delta = 1e-6
[design]
kind = "block_cluster"
arms = ["aid"]
shares = 0.5
block = "town"
cluster = "village"
[moments]
formulas = ["work ~ aid + age"]
neighbors = "replace-one-design-public"
[[regression]]
formula = "wage ~ aid + age | town"
name = "wages"
[[regression]]
formula = "work ~ aid + age"
where = "town == 1 | town == 2 | town == 5"
name = "north"
[[regression]]
formula = "age ~ aid"
cov_type = "nonrobust"
[[regression]]
formula = "age ~ aid"
cov_type = "HC1"
[[regression]]
formula = "wage ~ aid | town"
count_effects = false
name = "as xtreg"
[[regression]]
formula = "age ~ aid"
cluster = ["village", "team"]
[[regression]]
formula = "wage ~ age + [work ~ aid]"
[header]
confirm = true
[columns.wage]
bounds = [-5, 5]
sd = 1
missing = "never"
[columns.work]
levels = [0, 1]
missing = "never"
[columns.age]
bounds = [-4, 4]
sd = 1
missing = "never"
[columns.aid]
levels = [0, 1]
missing = "never"
[columns.town]
bounds = [0, 100]
missing = "never"
[columns.village]
bounds = [0, 1000]
missing = "never"
[columns.team]
bounds = [0, 100]
missing = "never"
fate = "public"
"""
DECLARED = [
    ("reg wage aid age i.town, cluster(village)", "valid",
     '"wages", for the adjusted difference (age)'),
    ("areg wage age aid, absorb(town) cluster(village)", "valid", '"wages"'),
    ("areg wage aid age, absorb(town) cluster(town)", "effects only", '"wages"'),
    ("reg work aid age, cluster(village)", "valid", '"work ~ aid + age"'),
    ("reg work aid age, robust", "effects only", ""),
    ("reg work aid age, cluster(town)", "effects only", ""),
    ("xtreg wage aid age, fe i(town) cluster(village)", "effects only", ""),
    ("reg wage aid, cluster(village)", "artefact",
     'declare it: [[regression]] formula = "wage ~ aid"'),
    ("reg age aid", "valid", '"age ~ aid, classical errors"'),
    ("reg age aid, robust", "valid", '"age ~ aid, robust errors"'),
    ("reg age aid, cluster(village)", "effects only", "age ~ aid"),
    ("ivregress 2sls wage age (work = aid), vce(cluster village)", "valid",
     '"wage ~ age + [work ~ aid]"'),
    ("ivreg2 wage age (work = aid), cluster(village)", "valid", ""),
    ("ivreg2 wage age (work = aid), robust", "effects only", ""),
    ("ivreg2 wage (work = aid), cluster(village)", "artefact", "[work ~ aid]"),
    ("reg age aid, vce(cluster team village)", "valid", '"age ~ aid, cluster team and village"'),
    ("reg age aid, vce(cluster town team)", "effects only", "age ~ aid"),
    ("xtreg wage aid, fe i(town) cluster(village)", "valid", '"as xtreg"'),
    ("areg wage aid, absorb(town) cluster(village)", "effects only", "count_effects = true"),
    ("reg wage aid i.town, cluster(village)", "effects only", "count_effects = true"),
    ("reg work aid age if age > 0, cluster(village)", "artefact", "with where = "),
    ("reg work aid age if town==1 | town==2 | town==5, cluster(village)", "valid", '"north"'),
    ("reg work aid age if town==1, cluster(village)", "artefact", '"town == 1", if its columns'),
    ("reg work aid age if town==1 | town==2 | town==5, robust", "effects only", '"north"'),
    ("logit work i.aid age, cluster(village)", MARGINAL, '"work ~ aid + age" --margins logit'),
    ("logistic work i.aid age, cluster(village)", MARGINAL, "--margins logit"),
    ("poisson work i.aid age, cluster(village)", MARGINAL, "--margins poisson"),
    ("logit work i.aid age if town==1 | town==2 | town==5, cluster(village)", MARGINAL, '"north"'),
    ("logit work i.aid age, robust", "effects only", "--margins logit"),
    ("logit work i.aid age", "effects only", "--margins logit"),
    ("logit work aid age, cluster(village)", "artefact", "write i.aid"),
    ("logit work i.aid, cluster(village)", "artefact", 'formula = "work ~ C(aid)"'),
    ("logit wage i.aid age i.town, cluster(village)", "artefact", ""),
    ("poisson wage i.aid age i.town, cluster(village)", "artefact", ""),
    ("probit work i.aid age, cluster(village)", "artefact", "declare the linear regression"),
    ("dprobit work aid age, cluster(village)", "artefact", "declare the linear regression"),
    ("tobit work aid age, ll(0)", "artefact", "declare the linear regression"),
    ("mlogit work i.aid age", "artefact", ""),
    ("clogit work i.aid age, group(town)", "artefact", ""),
    ("xtlogit work i.aid age, re", "artefact", ""),
]  # fmt: skip


WAVES = """\
version = 1
data = "waves.dta"
dataset_id = "waves"
[release]
method = "moments"
epsilon = 20.0
delta = 1e-6
[unit]
name = "person"
id = "person"
max_rows = 3
[design]
kind = "cluster"
arms = ["aid"]
shares = 0.5
cluster = "person"
[moments]
formulas = ["wage ~ aid:after + C(wave) | person", "wage ~ aid + age + C(wave)"]
neighbors = "replace-one-design-public"
[[regression]]
formula = "wage ~ aid:after + C(wave) | person"
count_effects = true
[header]
confirm = true
[columns.wage]
bounds = [-5, 5]
sd = 1
missing = "never"
[columns.age]
bounds = [-4, 4]
sd = 1
missing = "never"
[columns.aid]
levels = [0, 1]
missing = "never"
[columns.after]
levels = [0, 1]
fate = "public"
missing = "never"
[columns.wave]
levels = [1, 2, 3]
fate = "public"
missing = "never"
[columns.person]
bounds = [0, 1000]
missing = "never"
"""
IN_WAVES = [
    ("xtreg wage c.aid#c.after i.wave, fe i(person) cluster(person)", "valid"),
    ("reghdfe wage c.aid#c.after i.wave, absorb(person) cluster(person)", "valid"),
    ("areg wage c.aid#c.after i.wave, absorb(person) cluster(person)", "valid"),
    ("areg wage aid age i.wave, absorb(person) cluster(person)", "artefact"),
    ("gen txp = aid*after\nxtreg wage txp i.wave, fe i(person) cluster(person)", "valid"),
    (
        "gen txp = aid*after\nreplace after = 0\n"
        "xtreg wage txp i.wave, fe i(person) cluster(person)",
        "artefact",
    ),
    (
        "gen txp = aid*after\ndrop after\ngen after = wave > 1\n"
        "xtreg wage txp i.wave, fe i(person) cluster(person)",
        "artefact",
    ),
    ("gen txw = aid*wave\nxtreg wage txw i.wave, fe i(person) cluster(person)", "artefact"),
    ("reg wage aid age i.wave, cluster(person)", "valid"),
    ("reg wage aid age i.wave, robust", "effects only"),
]


def test_regressions_of_a_panel_are_those_of_the_do_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    person, wave = np.repeat(np.arange(400.0), 3), np.tile([1.0, 2.0, 3.0], 400)
    frame = pd.DataFrame({
        "wage": rng.normal(size=1200).clip(-5, 5), "age": rng.normal(size=1200).clip(-4, 4),
        "aid": person % 2, "after": (wave == 3) * 1.0, "wave": wave, "person": person,
    })  # fmt: skip
    write_dta(frame, Schema.from_frame(frame), tmp_path / "waves.dta")
    (tmp_path / "waves.toml").write_text(WAVES)
    (tmp_path / "waves.do").write_text(
        "".join(f"use waves, clear\n{text}\n" for text, _ in IN_WAVES)
    )
    study = study_of(tmp_path / "waves.toml")
    before = of_study([tmp_path / "waves.do"], study)
    written_files(study, model := bound_model(study), protected(study, model))
    after = of_file([tmp_path / "waves.do"], tmp_path / "waves.moments.json")
    for found in (before, after):
        for (text, kind), one in zip(IN_WAVES, found, strict=True):
            assert (one.kind, text) == (kind, text), str(one)
    said = [one.reading.after for one in before if one.reading is not None]
    assert said == [one.reading.after for one in after if one.reading is not None]
    assert ", for the difference in means" in said
    assert before[0].reading is not None
    results = Moments.load(tmp_path / "waves.moments.json").ols(before[0].reading.asked)
    assert "The difference in means of wage clipped to [-5, 5]" in str(results)


def test_a_panel_is_offered_nothing_that_it_refuses() -> None:
    two = Column("work", levels=(0.0, 1.0), missing=())
    schema = Schema((two, Column("age", missing=())), unit=Unit("person", "person", 3))
    panel = Served("a", schema, frozenset(), {}, unit="person", arms=frozenset({"aid"}))
    alone = replace(panel, unit=None)
    run = {"outcome": "work", "regressors": ("i.aid", "age"), "dataset": "a.dta"}
    for command in ("logit", "probit", "poisson"):
        row = Regression("a.do", 1, command, **run)
        assert "family =" in alone.verdict(row, ("C(aid)", "age"))[2]
        assert "family =" not in panel.verdict(row, ("C(aid)", "age"))[2]
    weighted = Regression("a.do", 1, "regress", weights="pweight=w", **run)
    assert "bounds" in alone.verdict(weighted, ("C(aid)", "age"))[2]
    said = panel.verdict(weighted, ("C(aid)", "age"))[2]
    assert "bounds" not in said
    assert "public" in said
    filled = replace(alone, filled=("age",), withheld="clusters of v were assigned")
    plain = Regression("a.do", 1, "regress", **run)
    assert "number stands for missing values of age" in filled.verdict(plain, ("C(aid)", "age"))[1]


def test_a_check_of_a_panel_names_each_regression_that_is_not_served(tmp_path: Path) -> None:
    asked = {
        'formula = "wage ~ aid + age + aid:age"\ncluster = "person"': "aid:age is a product",
        'formula = "wage ~ aid + age"\nweights = "w"': "its weights are private",
        'formula = "wage ~ aid"\ncov_type = "HC1"': "robust errors take for others",
        'formula = "after ~ aid"\nfamily = "logit"': "whose scores are not added",
    }
    served = WAVES.replace("[header]", '[[regression]]\nformula = "wage ~ aid"\n[header]')
    served += '[columns.w]\nbounds = [0, 4]\nmissing = "never"\n'
    names = ("wage", "age", "aid", "after", "wave", "person", "w")
    frame = pd.DataFrame({name: [0.0, 1.0, 1.0] for name in names})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "waves.dta")
    (tmp_path / "waves.toml").write_text(
        served.replace(
            "[header]", "".join(f"[[regression]]\n{one}\n" for one in asked) + "[header]"
        )
    )
    study = study_of(tmp_path / "waves.toml")
    problems = study.problems(*header_and_rows(study))
    assert len(problems) == len(asked)
    for reason, problem in zip(asked.values(), problems, strict=True):
        assert reason in problem


def test_a_declared_regression_is_that_of_the_do_file(tmp_path: Path) -> None:
    rng, villages = np.random.default_rng(7), 120
    village = np.repeat(np.arange(villages), 20).astype(float)
    frame = pd.DataFrame(
        {
            "wage": rng.normal(size=len(village)).clip(-5, 5),
            "work": rng.integers(0, 2, len(village)).astype(float),
            "age": rng.normal(size=len(village)).clip(-4, 4),
            "aid": village % 2,
            "town": village // 4,
            "village": village,
            "team": np.arange(len(village)) % 15.0,
        }
    )
    write_dta(frame, Schema.from_frame(frame), tmp_path / "towns.dta")
    (tmp_path / "towns.toml").write_text(TOWNS)
    (tmp_path / "towns.do").write_text(
        "".join(f"use towns, clear\n{text}\n" for text, _, _ in DECLARED)
    )
    study = study_of(tmp_path / "towns.toml")
    before = of_study([tmp_path / "towns.do"], study)
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    after = of_file([tmp_path / "towns.do"], tmp_path / "towns.moments.json")
    moments = Moments.load(tmp_path / "towns.moments.json")
    for found in (before, after):
        for (text, kind, remedy), one in zip(DECLARED, found, strict=True):
            assert (one.kind, text) == (kind, text), str(one)
            assert remedy in one.remedy
            if one.kind in ("valid", MARGINAL):
                title = one.remedy.split('"')[1]
                late = "[" in title
                of = moments.iv(title) if late else moments.ols(title)
                if one.kind == MARGINAL:
                    of = moments.margins(title, family=one.remedy.split()[-1])
                assert ("work" if late else "aid") in of.params.index


def test_a_logit_with_plain_treatment_is_not_served_where_its_factor_is_declared() -> None:
    schema = Schema((Column("work", levels=(0.0, 1.0), missing=()), Column("age", missing=())))
    declared = "work ~ C(aid) + age"
    step = ServedRegression(
        declared, declared, (), "HC1", covariates=("age",), terms=("C(aid)[T.1]",)
    )
    served = Served("a", schema, frozenset(), {}, steps=(step,), arms=frozenset({"aid"}))
    run = {"outcome": "work", "vce": "robust", "dataset": "a.dta"}
    factor = Regression("a.do", 1, "logit", regressors=("i.aid", "age"), **run)
    assert served.verdict(factor, ("C(aid)", "age"))[0] == MARGINAL
    plain = Regression("a.do", 1, "logit", regressors=("aid", "age"), **run)
    kind, _, remedy = served.verdict(plain, ("aid", "age"))
    assert (kind, remedy) == ("artefact", "write i.aid")
    probit = Regression("a.do", 1, "probit", regressors=("i.aid", "age"), **run)
    assert 'formula = "work ~ C(aid) + age"' in served.verdict(probit, ("C(aid)", "age"))[2]


def test_moments_with_weights_serve_regressions_with_these_weights_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.uniform(0, 4, 900) for name in ("trust", "age", "w", "v")})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "poll.dta")
    (tmp_path / "poll.toml").write_text(
        'version = 1\ndataset_id = "poll"\ndata = "poll.dta"\n'
        '[release]\nmethod = "moments"\nepsilon = 20.0\ndelta = 1e-6\n'
        '[moments]\nformulas = ["trust ~ age"]\nweights = "w"\n[header]\nconfirm = true\n'
        + "".join(
            f'[columns.{name}]\nbounds = [0, 4]\nmissing = "never"\n' for name in ("trust", "age")
        )
        + '[columns.w]\nbounds = [0, 4]\nmissing = "never"\nrole = "weight"\n'
    )
    cases = {
        "reg trust age [pw=w]": ("valid", ""),
        "reg trust age [aw=w], robust": ("valid", ""),
        "reg trust age, robust": ("artefact", "weighted by w, and it is not"),
        "reg trust age [pw=v]": ("artefact", "it is weighted (pweight=v)"),
        "reg trust i.age [pw=w]": ("artefact", "age"),
    }
    (tmp_path / "poll.do").write_text("".join(f"use poll, clear\n{text}\n" for text in cases))
    study = study_of(tmp_path / "poll.toml")
    before = of_study([tmp_path / "poll.do"], study)
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    after = of_file([tmp_path / "poll.do"], tmp_path / "poll.moments.json")
    for found in (before, after):
        for (text, (kind, reason)), one in zip(cases.items(), found, strict=True):
            assert (one.kind, text) == (kind, text), str(one)
            assert reason in one.reason
            assert not [said for said in one.further if "and it is not" in said]
