"""Charges by themselves; that releases charge before they draw is in tests/release."""

from __future__ import annotations

import pytest

from dprct.errors import BudgetError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.noise import source
from dprct.results.charging import Receipt, charged
from dprct.schema import Column, Schema

SCHEMA = Schema((Column("y"),))
GUARANTEE = Guarantee.of(Budget(1), "replace-one", unit="person")


def test_an_accountant_in_memory_is_charged_and_keeps_the_released_state() -> None:
    accountant = Accountant(1)
    receipt = charged(SCHEMA, GUARANTEE, "Method", accountant, source())
    receipt.save({"value": 3})
    assert accountant.spent == Budget(1)
    assert receipt.entry_id is not None
    assert receipt.entry_id in receipt.words
    with pytest.raises(BudgetError):
        charged(SCHEMA, GUARANTEE, "Method", accountant, source())


def test_a_simulation_and_a_schema_without_ledger_charge_nothing() -> None:
    accountant = Accountant(1)
    assert "simulation" in charged(SCHEMA, GUARANTEE, "Method", accountant, source(1)).words
    assert accountant.spent == Budget(0)
    assert charged(SCHEMA, GUARANTEE, "Method", None, source()) == Receipt("charged to no ledger")
