from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy.accountant import Accountant
from dprct.rbridge.registry import exported

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_accountant_is_charged_and_refuses(effect: Any) -> None:
    budget = exported("accountant")(1.5).live
    assert (budget.relation, budget.unit) == (None, None)  # as in Python
    exported("fit")(effect, 1.0, accountant=budget)
    state = exported("accountant_state")(budget)
    assert state["spent"] == {"epsilon": 1.0, "delta": 0.0}
    assert state["remaining"] == {"epsilon": 0.5, "delta": 0.0}
    assert state["ledger"]["epsilon"].tolist() == [1.0]
    assert state["ledger"]["unit"].tolist() == ["person"]
    assert "for every person, under replace-one-design-public." in state["together"][0]
    with pytest.raises(BudgetError):
        exported("fit")(effect, 1.0, accountant=budget)
    assert len(exported("accountant_state")(budget)["ledger"]) == 1


def test_an_accountant_in_a_file_is_found_again(effect: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "nsw.json")
    relation = "replace-one-design-public"
    made = exported("accountant")(2.0, 0, path, "nsw", relation).live
    exported("fit")(effect, 0.5, accountant=made)
    again = exported("accountant")(None, 0, path).live
    assert exported("accountant_state")(again)["remaining"]["epsilon"] == 1.5
    with pytest.raises(ParameterError, match="relation and unit"):
        exported("accountant")(None, 0, path, relation="replace-one")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="needs epsilon"):
        exported("accountant")(None)
    with pytest.raises(ParameterError, match="needs dataset_id"):
        exported("accountant")(1.0, 0, str(tmp_path / "new.json"))


def test_terms_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="give its path"):
        exported("accountant")(1.0, dataset_id="nsw")
    path = str(tmp_path / "nsw.json")
    exported("accountant")(2.0, 0, path, "nsw")
    with pytest.raises(ParameterError, match="terms from there"):
        exported("accountant")(None, 0, path, unit="household")
    with pytest.raises(LedgerError, match="not what was asked for"):
        exported("accountant")(5.0, 0, path, "nsw")
    assert exported("accountant")(2.0, 0, path, "nsw").live.total.epsilon == 2


def test_what_neighbours_are_is_left_to_the_package() -> None:
    made = exported("accountant")(1.0).live
    assert (made.relation, made.unit) == (Accountant(1).relation, Accountant(1).unit)


def test_an_empty_ledger_has_its_columns() -> None:
    ledger = exported("accountant_state")(exported("accountant")(1.0).live)["ledger"]
    assert list(ledger.columns)[:3] == ["entry", "when", "method"]
    assert ledger.empty
