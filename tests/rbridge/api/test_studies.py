from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import BudgetError, ConfirmationError, LedgerError
from dprct.rbridge.registry import exported

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
