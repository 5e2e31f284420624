"""Logits of do-files, in the manner of published tables: each served, or refused by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import MARGINAL
from dprct.cli import main
from dprct.estimate.moments.results import Moments
from dprct.io.stata import write_dta
from dprct.schema import Schema
from dprct.study.protect import protected, written_files
from dprct.study.ready import bound_model, study_of
from dprct.study.verdicts import of_file, of_study

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """\
version = 1
data = "farmers.dta"
dataset_id = "farmers"
[release]
method = "moments"
epsilon = 40.0
delta = 1e-6
[design]
kind = "simple"
arms = ["offer"]
shares = 0.5
[moments]
neighbors = "replace-one-design-public"
attrition = true
[[regression]]
formula = "takeup ~ offer + age + educ"
family = "logit"
name = "Table 2"
[[regression]]
formula = "takeup ~ offer + age"
family = "logit"
cluster = "village"
[[regression]]
formula = "loans ~ offer + age"
family = "poisson"
[[regression]]
formula = "works ~ offer + age"
family = "probit"
cov_type = "nonrobust"
[[regression]]
formula = "works ~ offer * age"
family = "logit"
[[regression]]
formula = "works ~ C(offer) + age"
[[regression]]
formula = "takeup ~ offer + age"
family = "logit"
where = "educ == 1"
[[regression]]
formula = "takeup ~ offer + educ"
family = "logit"
where = "age > 30"
weights = "weight"
[header]
confirm = true
[columns.takeup]
levels = [0, 1]
missing = "never"
[columns.works]
levels = [0, 1]
missing = "never"
[columns.loans]
bounds = [0, 9]
missing = "never"
[columns.age]
bounds = [18, 70]
missing = "never"
[columns.educ]
levels = [0, 1]
missing = "never"
[columns.weight]
bounds = [0, 4]
missing = "never"
[columns.village]
missing = "never"
fate = "public"
[columns.offer]
levels = [0, 1]
missing = "never"
"""
VALID, ERRORS, NO = "valid", "effects only", "artefact"
RUNS = [
    ("logit takeup offer age educ, robust", VALID, ""),
    ("logit takeup offer age educ, vce(robust)", VALID, ""),
    ("logit takeup age educ offer, r", VALID, ""),
    ("logit takeup i.offer age i.educ, robust", VALID, ""),
    ("logistic takeup offer age educ, robust", VALID, ""),
    ("logit takeup offer age, cluster(village)", VALID, ""),
    ("logit takeup offer age, vce(cluster village)", VALID, ""),
    ("poisson loans offer age, robust", VALID, ""),
    ("poisson loans i.offer age, vce(robust)", VALID, ""),
    ("probit works offer age", VALID, ""),
    ("logit works i.offer##c.age, robust", VALID, ""),
    ("logit takeup offer age educ", ERRORS, "robust ones are released"),
    ("logit takeup offer age educ, cluster(village)", ERRORS, "robust ones are released"),
    ("logit takeup offer age, robust", ERRORS, "clustered by village"),
    ("probit works offer age, robust", ERRORS, "classical ones are released"),
    ("poisson loans offer age", ERRORS, "robust ones are released"),
    ("logit works i.offer age, robust", MARGINAL, "effect on the mean"),
    ("logit works offer age educ, robust", NO, "its coefficients are not released"),
    ("logit takeup offer age if educ == 1, robust", VALID, ""),
    ("logit takeup offer educ if age > 30 [pw=weight]", VALID, ""),
    ("logit takeup offer educ [pw=weight] if age > 30, robust", VALID, ""),
    ("logit takeup offer age if educ == 1", ERRORS, "robust ones are released"),
    ("logit takeup offer age if educ == 0, robust", NO, "its coefficients are not released"),
    ("logit takeup offer educ if age > 30, robust", NO, "its coefficients are not released"),
    ("logit takeup offer age educ if age > 30, robust", NO, "its coefficients are not released"),
    ("logit takeup offer age educ [pw=age], robust", NO, "its coefficients are not released"),
    ("bysort educ: logit takeup offer age, cluster(village)", NO, "coefficients are not released"),
    ("dprobit works offer age", NO, "at the mean of covariates"),
    ("xtlogit takeup offer age, fe i(village)", NO, "effects of units on the log odds"),
    ("xtlogit takeup offer age, re i(village)", NO, "effects of units on the log odds"),
    ("melogit takeup offer age || village:", NO, "random effects on the log odds"),
    ("clogit takeup offer age, group(village)", NO, "conditional on the number of ones"),
    ("mlogit loans offer age", NO, "an equation for each category"),
    ("ologit loans offer age", NO, "ordered categories"),
    ("oprobit loans offer age", NO, "ordered categories"),
    ("xtprobit works offer age, re i(village)", NO, "effects of units on an index"),
    ("cloglog takeup offer age", NO, "are not those of the arms"),
    ("nbreg loans offer age, robust", NO, "a law of counts"),
    ("tobit loans offer age, ll(0)", NO, "censored index"),
]


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released study with declared logits."""
    home, n = tmp_path_factory.mktemp("farm"), 6000
    rng = np.random.default_rng(5)
    offer, age = rng.integers(0, 2, n), rng.uniform(18, 70, n)
    frame = pd.DataFrame({
        "takeup": (rng.random(n) < 0.3 + 0.2 * offer).astype(float),
        "works": rng.integers(0, 2, n).astype(float),
        "loans": rng.poisson(1 + 0.5 * offer).clip(0, 9).astype(float), "age": age,
        "educ": rng.integers(0, 2, n).astype(float), "village": (np.arange(n) // 15).astype(float),
        "offer": offer.astype(float), "weight": rng.uniform(1, 4, n),
    })  # fmt: skip
    write_dta(frame, Schema.from_frame(frame), home / "farmers.dta")
    (home / "study.toml").write_text(STUDY)
    text = "".join(f"use farmers, clear\n{run}\n" for run, _, _ in RUNS)
    (home / "tables.do").write_text(text)
    study = study_of(home / "study.toml")
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    return home


def test_each_logit_is_served_or_refused_by_name(farm: Path) -> None:
    planned = of_study([farm / "tables.do"], study_of(farm / "study.toml"))
    released = of_file([farm / "tables.do"], farm / "farmers.moments.json")
    for found in (planned, released):
        assert len(found) == len(RUNS)
        for (run, kind, reason), one in zip(RUNS, found, strict=True):
            assert (one.kind, run) == (kind, run), str(one)
            assert reason in one.reason, (run, one.reason)
    assert sum(one.kind == VALID for one in released) == 14


def run(*words: str) -> object:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return stopped.value.code


def test_a_valid_logit_is_read_as_the_verdict_says(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(farm / "farmers.moments.json")
    m = Moments.load(file)
    assert run("ols", file, "Table 2", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["term"] for row in rows] == ["Intercept", "offer", "age", "educ"]
    assert rows[1]["estimate"] == pytest.approx(m.glm("Table 2").params["offer"])
    assert run("ols", file, "Table 2", "--ratios", "--json") == 0
    (one,) = (r for r in json.loads(capsys.readouterr().out) if r["term"] == "offer")
    assert one["estimate"] == pytest.approx(np.exp(m.glm("Table 2").params["offer"]))
    assert run("ols", file, "loans ~ offer + age", "--family", "poisson",
               "--margins", "offer", "--json") == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)[0]["term"] == "offer"
    assert run("ols", file, "works ~ offer + educ", "--family", "logit") == 2
    assert "was not declared as a logit" in capsys.readouterr().err
    assert run("ols", file, "takeup ~ offer", "--family", "logit", "--json") == 0  # saturated
    assert [r["term"] for r in json.loads(capsys.readouterr().out)] == ["Intercept", "offer"]
    assert run("ols", file, "--ratios") == 2
    assert "--family and --ratios are of a declared" in capsys.readouterr().err


def test_results_of_the_study_have_the_logits(farm: Path) -> None:
    text = (farm / "farmers_results.json").read_text()
    assert "takeup ~ offer + age, family logit, cluster village" in text
    assert "Table 2" in text
