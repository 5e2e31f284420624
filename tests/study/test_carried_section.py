"""Declared regressions of a calibrated file, from the study file to the verdicts on do-files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.cli import main
from dprct.errors import StudyError
from dprct.schema import Column, FileFacts, Schema
from dprct.study.expected_regressions import entries
from dprct.study.package_page import OnFile
from dprct.study.ready import open_points
from dprct.study.study import load_study
from dprct.study.verdicts import of_file, of_study

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """\
version = 1
data = "trial.dta"
dataset_id = "trial"

[release]
method = "calibrated"
epsilon = 4.0
delta = 1e-6

[design]
kind = "block_cluster"
arms = ["treat"]
block = "district"
cluster = "village"
shares = 0.5
icc = 0.1

[calibrated]
covariate_release = "filler"

[[regression]]
formula = "income ~ treat + age + female | district"

[[regression]]
name = "employment"
formula = "works ~ treat + age | district"

[[regression]]
formula = "income ~ treat | district"

[header]
confirm = true

[columns]
district = {fate = "public", missing = "never"}
village = {fate = "public", missing = "never"}
treat = {fate = "public", levels = [0, 1], missing = "never"}
age = {fate = "modelled", bounds = [18, 79], missing = "never"}
female = {fate = "modelled", levels = [0, 1], missing = "never"}
income = {fate = "modelled", bounds = [0, 25], sd = 4, missing = "never"}
works = {fate = "modelled", levels = [0, 1], missing = "never"}
"""
DO = """\
use trial.dta, clear
reg income treat age female i.district, vce(cluster village)
areg works treat age, absorb(district) vce(cluster village)
reg income treat i.district, vce(cluster village)
reg income treat age female i.district, robust
reg income treat age, vce(cluster village)
reg income treat age female i.district if district <= 2, vce(cluster village)
reg works treat female, vce(cluster village)
"""
KINDS = [
    "valid", "valid", "artefact", "effects only", "effects only", "artefact", "artefact",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trial of 80 villages in four districts, its study file and its do-file."""
    rng = np.random.default_rng(5)
    village = np.repeat(np.arange(80), 10)
    n = len(village)
    treat = (village // 4) % 2
    age, female = rng.integers(18, 80, n), rng.integers(0, 2, n)
    income = 10 + treat + 0.05 * (age - 45) + rng.normal(0, 1, 80)[village] + rng.normal(0, 3, n)
    data = pd.DataFrame(
        {
            "district": village % 4, "village": village, "treat": treat, "age": age,
            "female": female, "income": np.clip(income, 0, 25),
            "works": rng.random(n) < 0.4 + 0.1 * treat,
        }
    ).astype(np.float64)  # fmt: skip
    kinds = {"district": "byte", "village": "int", "income": "double"}
    columns = tuple(Column(name, kinds.get(name, "byte")) for name in data)
    dprct.write_dta(data, Schema(columns, FileFacts(release=118)), tmp_path / "trial.dta")
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    (tmp_path / "tables.do").write_text(DO, "utf-8")
    return tmp_path


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_a_study_file_protects_what_the_paper_prints(folder: Path) -> None:
    path = folder / "study.toml"
    planned = of_study([folder / "tables.do"], load_study(path))
    assert [one.kind for one in planned] == KINDS
    assert "for the adjusted difference" in planned[0].reason
    for command in ("check", "plan"):
        assert run(command, path) == 0
    assert run("protect", path, "--yes", "--do", folder / "tables.do") == 0
    file = folder / "trial_protected.dta"
    assert run("verify", file) == 0
    found = of_file([folder / "tables.do"], file)
    assert [one.kind for one in found] == KINDS
    assert "which was released: treat" in found[2].reason
    do = (folder / "trial_protected.valid.do").read_text("utf-8")
    assert "regress income treat age female i._valid1, vce(cluster village)" in do
    assert "n.r. on the file; released: treat" in " ".join(do.replace("*", "").split())
    certificate = json.loads((folder / "trial_protected.certificate.json").read_text("utf-8"))
    told = [
        one
        for one in certificate["reading"]["ratios"]
        if one["command"].startswith("regress y t x, vce(cluster village):")
    ]
    assert [one["largest"] for one in told] == pytest.approx([1, 1], abs=1e-9)
    data, schema = dprct.read_dta(file)
    listed = entries(found, OnFile(data, schema))
    assert [one["outcome"] for one in listed] == ["income", "income", "works", "works"]
    fit = dprct.ols("income ~ treat + age + female | district", data, schema, cluster="village")
    assert [one["value"] for one in listed[:2]] == pytest.approx(
        [fit.params["treat"], fit.bse["treat"]], rel=1e-9
    )


def test_a_formula_beside_declared_regressions_is_refused(folder: Path) -> None:
    path = folder / "study.toml"
    path.write_text(
        STUDY.replace("delta = 1e-6", 'delta = 1e-6\nformula = "income ~ treat"'), "utf-8"
    )
    with pytest.raises(StudyError, match="remove one of the two"):
        load_study(path)


def test_what_a_file_does_not_carry_is_said_in_the_words_of_the_study(folder: Path) -> None:
    path = folder / "study.toml"
    path.write_text(STUDY.replace("works ~ treat + age | district", "works ~ treat*age"), "utf-8")
    assert run("check", path) == 1
    assert "products of treatment" in " ".join(open_points(load_study(path)))
