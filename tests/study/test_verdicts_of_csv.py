"""Verdicts on do-files whose data are a .csv file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.cli import main
from dprct.estimate.moments.results import Moments
from dprct.study.study import load_study
from dprct.study.verdicts import of_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
version = 1
data = "trial.csv"
dataset_id = "trial"
names = "stata"
[study]
rest = "withheld"
[release]
method = "calibrated"
epsilon = 40.0
formula = "Income ~ Treat + AGE"
[design]
kind = "simple"
arms = ["Treat"]
[calibrated]
covariate_release = "filler"
[header]
confirm = true
[columns.Income]
fate = "modelled"
bounds = [-5, 5]
sd = 1
missing = "never"
[columns.Treat]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.AGE]
fate = "modelled"
bounds = [18, 80]
missing = "never"
"""
MOMENTS = """\
version = 1
data = "trial.csv"
dataset_id = "trial"
names = "stata"
[study]
rest = "withheld"
[release]
method = "moments"
epsilon = 40.0
delta = 1e-3
[design]
kind = "simple"
arms = ["Treat"]
[moments]
neighbors = "replace-one-design-public"
[[regression]]
formula = "inc_total ~ Treat + AGE"
where = "Fe_male == 1"
[header]
confirm = true
[columns.inc_total]
fate = "modelled"
bounds = [-5, 5]
sd = 1
missing = "never"
[columns.Treat]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.AGE]
fate = "modelled"
bounds = [18, 80]
missing = "never"
[columns.Fe_male]
fate = "modelled"
levels = [0, 1]
missing = "never"
"""


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    treat = rng.integers(0, 2, 500)
    income = (rng.normal(size=500) + treat).clip(-5, 5).round(2)
    frame = {
        "Treat": treat, "AGE": rng.integers(18, 80, 500), "Income": income, "inc.total": income,
        "Fe male": rng.integers(0, 2, 500), "2nd": 1, "day": ["2021-03-05"] * 500,
    }  # fmt: skip
    pd.DataFrame(frame).to_csv(tmp_path / "trial.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def _kinds(folder: Path, text: str, study: str = STUDY) -> list[tuple[str, str]]:
    (folder / "study.toml").write_text(study)
    (folder / "a.do").write_text(text)
    found = of_study([folder / "a.do"], load_study(folder / "study.toml"))
    return [(one.kind, one.reason) for one in found]


REGRESSION = "reg income treat age, robust\n"


@pytest.mark.parametrize(
    "reading",
    [
        'import delimited using "trial.csv", clear\n',
        "import delimited trial.csv\n",
        "import delim using C:\\data\\trial, varnames(1) case(lower)\n",
        "insheet using trial.csv, comma clear\n",
        "import delimited trial.csv\nrename income y\nrename y income\n",
        "import delimited trial.csv\nsave mine, replace\nuse mine, clear\nkeep if age < .\n",
    ],
)
def test_names_are_those_that_stata_makes_of_the_files(trial: Path, reading: str) -> None:
    assert _kinds(trial, reading + REGRESSION)[0][0] == "valid"


@pytest.mark.parametrize(
    ("reading", "regression"),
    [
        ("import delimited trial.csv, case(preserve)\n", "reg Income Treat AGE, robust\n"),
        ("import delimited trial.csv, case(upper)\n", "reg INCOME TREAT AGE, robust\n"),
        ("insheet using trial.csv, case\n", "reg Income Treat AGE, robust\n"),
    ],
)
def test_the_case_is_the_one_that_is_asked_for(trial: Path, reading: str, regression: str) -> None:
    assert _kinds(trial, reading + regression)[0][0] == "valid"
    kind, reason = _kinds(trial, reading + REGRESSION)[0]
    assert (kind, "is not a column of trial.csv" in reason) == ("cannot run", True)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("import delimited a b using trial.csv\n" + REGRESSION, "artefact", "chooses or types"),
        ("import delimited trial.csv, rowrange(3)\n" + REGRESSION, "artefact", "chooses or types"),
        ("import delimited trial.csv, stringcols(1)\n" + REGRESSION, "artefact", "chooses"),
        ("import delimited other.csv\n" + REGRESSION, "cannot run", "it uses other.csv"),
        ("use trial\n" + REGRESSION, "cannot run", "it uses trial.dta"),
        ("import delimited trial.csv\nreg inctotal treat age, r\n", "cannot run", "'inc.total'"),
        ("import delimited trial.csv\nreg income treat day, r\n", "cannot run", "dates"),
        ("import delimited trial.csv\nreg income treat femalx, r\n", "cannot run", "femalx"),
    ],
)  # fmt: skip
def test_what_is_read_otherwise_is_not_valid(trial: Path, text: str, kind: str, said: str) -> None:
    (found,) = _kinds(trial, text)
    assert (found[0], said in found[1]) == (kind, True), found


def test_moments_have_the_names_of_the_study(trial: Path, command_line: Callable[..., Any]) -> None:
    text = (
        "import delimited trial.csv, clear\ngen old = age\n"
        "reg inctotal treat age if female == 1, r\nreg inctotal treat old if female==1 & age<., r\n"
        "reg inctotal treat age if female == 0, r\n"
    )
    assert [kind for kind, _ in _kinds(trial, text, MOMENTS)] == ["valid", "valid", "artefact"]
    run = command_line(main)
    assert run("protect", trial / "study.toml", "--yes").code == 0
    ran = run("verify", trial / "trial.moments.json", "--do", trial / "a.do", "--json")
    kinds = [one["verdict"] for one in json.loads(ran.out)["regressions"]]
    assert kinds == ["valid", "valid", "artefact"]
    fit = Moments.load(trial / "trial.moments.json").declared[0]
    assert fit.where == "Fe_male == 1"


def test_a_plan_and_its_file_give_the_same_verdicts(
    trial: Path, command_line: Callable[..., Any]
) -> None:
    run = command_line(main)
    (trial / "a.do").write_text(
        "import delimited trial.csv\n" + REGRESSION + "reg income treat age if age >= 18, r\n"
        "reg income treat age if age > 18, r\nreg inctotal treat, r\n"
    )
    ran = run("check", trial / "study.toml", "--do", trial / "a.do", "--json")
    planned = [one["verdict"] for one in json.loads(ran.out)["regressions"]]
    assert planned == ["valid", "valid", "artefact", "cannot run"]
    ran = run("protect", trial / "study.toml", "--do", trial / "a.do", "--yes")
    assert ran.code == 0, ran.err
    ran = run("verify", trial / "trial_protected.dta", "--do", trial / "a.do", "--json")
    assert [one["verdict"] for one in json.loads(ran.out)["regressions"]] == planned


def test_a_draft_has_the_names_of_the_file(trial: Path, command_line: Callable[..., Any]) -> None:
    run = command_line(main)
    (trial / "study.toml").unlink()
    (trial / "a.do").write_text(
        "import delimited trial.csv\n* Table 1\n"
        + REGRESSION
        + "reg inctotal treat if female == 1, r\n"
    )
    draft = ("--draft", trial / "study.toml", "--do", trial / "a.do", "--treatment", "Treat")
    ran = run("describe", trial / "trial.csv", *draft)
    assert ran.code == 0, ran.err
    text = (trial / "study.toml").read_text()
    assert 'formula = "Income + inc_total ~ Treat + AGE"' in text
    assert 'where = "Fe_male == 1 or missing(Fe_male)"' in text or 'where = "Fe_male == 1"' in text
