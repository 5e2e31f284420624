from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.errors import BudgetError, ConfirmationError, LedgerError
from dprct.io.stata import write_dta
from dprct.rbridge.registry import exported
from dprct.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path


def test_a_study_is_charged_once_and_only_if_it_is_the_approved_one(folder: Path) -> None:
    study = str(folder / "study.toml")
    assert exported("study_read")(study).fields["dataset_id"] == "survey-1"
    assert exported("study_check")(study).fields["complete"]
    approval = exported("study_plan")(study).fields["approval"]
    with pytest.raises(ConfirmationError, match="not the one that was approved"):
        exported("study_protect")(study, approved="0" * 64)
    with pytest.raises(LedgerError, match="nothing was charged"):
        exported("study_ledger")(study)
    made = exported("study_protect")(study, approved=approval)
    assert made.fields["files"][0] == str(folder / "survey_protected.dta")
    assert exported("study_ledger")(study).live.charges == 1
    with pytest.raises(BudgetError):
        exported("study_protect")(study)
    assert exported("study_ledger")(study).live.charges == 1
    assert not exported("study_check")(study).fields["complete"]


def test_a_method_without_guarantee_must_be_accepted(folder: Path) -> None:
    study = folder / "study.toml"
    text = study.read_text("utf-8")
    study.write_text(text.replace('"mv_histogram"', '"published_mv_histogram"'), "utf-8")
    with pytest.raises(ConfirmationError, match="accept_no_guarantee=True"):
        exported("study_protect")(str(study))
    made = exported("study_protect")(str(study), accept_no_guarantee=True)
    assert not made.fields["guarantee"].fields["holds"]


STUDY = """\
version = 1
data = "rep/ponds.dta"
dataset_id = "ponds"
[release]
method = "calibrated"
epsilon = 3.0
formula = "carp ~ lime"
[design]
kind = "simple"
arms = ["lime"]
[calibrated]
covariate_release = "filler"
[header]
confirm = true
[columns.carp]
fate = "modelled"
bounds = [0, 9]
missing = "never"
[columns.lime]
fate = "public"
levels = [0, 1]
missing = "never"
[package]
folder = "rep"
"""


def test_a_package_says_what_each_regression_is_worth_and_is_charged_once(tmp_path: Path) -> None:
    (tmp_path / "rep").mkdir()
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"carp": rng.uniform(0, 9, 200), "lime": np.arange(200) % 2.0})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "rep" / "ponds.dta")
    (tmp_path / "rep" / "a.do").write_text("use ponds\nreg carp lime, r\nprobit carp lime\n")
    (tmp_path / "study.toml").write_text(STUDY)
    study = str(tmp_path / "study.toml")
    with pytest.raises(ConfirmationError, match="not one that was approved"):
        exported("study_package")(study, approved="0" * 64)
    with pytest.raises(LedgerError, match="nothing was charged"):
        exported("study_ledger")(study)
    approval = exported("study_plan")(study).fields["approval"]
    made = exported("study_package")(study, approved=[approval]).fields
    assert made["folder"] == str(tmp_path / "ponds_package")
    assert (tmp_path / "ponds_package" / "ponds.dta").is_file()
    assert made["regressions"]["verdict"].tolist() == ["valid", "artefact"]
    assert made["copied"] == ["a.do"]
    assert "copied: a.do" in made["text"]
    assert made["unread"] == {}
    assert made["left_out"].keys() == {"ponds.dta", "ponds.openings.jsonl"}
    again = exported("study_package")(study, folder=str(tmp_path / "again")).fields
    assert (made["charged"], again["charged"]) == (1, 0)
    assert exported("study_ledger")(study).live.charges == 1
