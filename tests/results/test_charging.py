"""Charges by themselves; that releases charge before they draw is in tests/release."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from dprct.certificate.certificate import Needed
from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget, Guarantee
from dprct.privacy.ledger import ledger_path
from dprct.privacy.noise import source
from dprct.results.receipt import Receipt, charged, noted, resumable
from dprct.schema import Column, Schema, Unit

if TYPE_CHECKING:
    from pathlib import Path

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
    with pytest.raises(ParameterError, match="accountant is int"):
        charged(SCHEMA, GUARANTEE, "Method", 1, source())  # type: ignore[arg-type]


def test_the_words_say_where_a_charge_is_kept_and_what_it_passed_over(tmp_path: Path) -> None:
    data = tmp_path / "survey.dta"
    data.write_bytes(b"rows")
    schema = replace(SCHEMA, source=data, dataset_id="survey")
    Accountant.open(ledger_path(data, "survey"), dataset_id="survey", epsilon=2)
    beside = charged(schema, GUARANTEE, "Method", None, source()).words
    assert "of data set 'survey'; epsilon=1 charged" in beside
    assert "not charged" not in beside
    elsewhere = charged(schema, GUARANTEE, "Method", Accountant(1), source()).words
    assert "of an accountant in memory; epsilon=1 charged" in elsewhere
    assert elsewhere.endswith("; the ledger of data set 'survey' was not charged")


def test_the_content_of_the_data_file_is_noted_with_a_charge(tmp_path: Path) -> None:
    data = tmp_path / "survey.dta"
    data.write_bytes(b"rows")
    schema = replace(SCHEMA, source=data, dataset_id="survey")
    purse = Accountant.open(ledger_path(data, "survey"), dataset_id="survey", epsilon=2)
    charged(schema, GUARANTEE, "Method", None, source())
    data.write_bytes(b"corrected rows")
    charged(schema, GUARANTEE, "Method", None, source())
    assert purse.contents == tuple(sha256(c).hexdigest() for c in (b"rows", b"corrected rows"))
    assert purse.spent == Budget(2)  # a corrected file begins no second budget


def test_a_simulation_and_a_schema_without_ledger_charge_nothing() -> None:
    accountant = Accountant(1)
    assert "simulation" in charged(SCHEMA, GUARANTEE, "Method", accountant, source(1)).words
    assert accountant.spent == Budget(0)
    assert charged(SCHEMA, GUARANTEE, "Method", None, source()) == Receipt("charged to no ledger")


def test_what_has_no_guarantee_is_noted_in_a_ledger_that_is_there(tmp_path: Path) -> None:
    nothing = Guarantee.none("bins come from the data")
    data = tmp_path / "survey.dta"
    data.write_bytes(b"rows")
    schema = replace(SCHEMA, source=data, dataset_id="survey")
    assert noted(schema, nothing, "published.X", source()) == ""
    accountant = Accountant.open(ledger_path(data, "survey"), dataset_id="survey", epsilon=2)
    assert noted(schema, nothing, "published.X", source(1)) == ""  # a simulation leaves nothing
    assert accountant.ledger == ()
    words = noted(schema, nothing, "published.X", source())
    (entry,) = accountant.ledger
    assert entry.id in words
    assert accountant.head[:16] in words
    assert (entry.description, entry.budget) == ("bins come from the data", Budget(0))
    assert len(accountant.contents) == 1


def test_the_words_carry_the_head_of_the_ledger(tmp_path: Path) -> None:
    data = tmp_path / "survey.dta"
    data.write_bytes(b"rows")
    schema = replace(SCHEMA, source=data, dataset_id="survey")
    accountant = Accountant.open(ledger_path(data, "survey"), dataset_id="survey", epsilon=2)
    one, two = (charged(schema, GUARANTEE, "Method", None, source()).words for _ in range(2))
    assert f"ledger head {accountant.head[:16]}" in two
    assert accountant.head[:16] not in one
    assert resumable(None, schema).path == accountant.path


def test_without_a_ledger_nothing_is_resumed() -> None:
    with pytest.raises(LedgerError, match="nothing was saved to resume from"):
        resumable(None, SCHEMA)
    accountant = Accountant(1)
    assert resumable(accountant, SCHEMA) is accountant


def test_an_entry_holds_the_unit_of_the_schema() -> None:
    schema = Schema((Column("y"), Column("hhid"))).declare(unit=Unit("household", "hhid", 3))
    accountant = Accountant(1, unit="household")
    guarantee = Guarantee.of(Budget(1), "replace-one", unit="household")
    charged(schema, guarantee, "Method", accountant, source())
    assert [(e.unit_id, e.max_rows) for e in accountant.ledger] == [("hhid", 3)]


def test_an_entry_holds_what_the_guarantee_lists() -> None:
    accountant = Accountant(1)
    listed = replace(GUARANTEE, public_facts=("n = 9",), not_covered=("column g",))
    charged(SCHEMA, listed, "Method", accountant, source())
    (entry,) = accountant.ledger
    assert (entry.public_facts, entry.not_covered) == (("n = 9",), ("column g",))


def test_a_unit_that_is_not_the_schemas_does_not_get_its_id() -> None:
    schema = Schema((Column("y"), Column("hhid"))).declare(unit=Unit("household", "hhid", 3))
    accountant = Accountant(9)
    cluster = Guarantee.of(Budget(1), "replace-one-design-public", unit="cluster of g")
    unit = Unit("cluster of g", "g", 20)
    charged(schema, cluster, "Method", accountant, source(), unit)
    donor = Guarantee.of(Budget(1), "replace-one", unit="donor")
    alone = Accountant(9)
    charged(schema, donor, "Method", alone, source())
    found = [(e.unit, e.unit_id, e.max_rows) for e in (*accountant.ledger, *alone.ledger)]
    assert found == [("cluster of g", "g", 20), ("donor", None, 1)]


def test_the_words_of_a_later_charge_state_the_sum() -> None:
    accountant = Accountant(2)
    first = replace(GUARANTEE, public_facts=("n = 9",), not_covered=("column g (declared public)",))
    second = Guarantee.of(
        Budget(0.5), "replace-one-design-public", unit="person", public_facts=("n = 9", "arms")
    )
    assert "together" not in charged(SCHEMA, first, "Method", accountant, source()).words
    words = charged(SCHEMA, second, "Method", accountant, source()).words
    assert (
        "All 2 charges together hold with epsilon=1.5 for every person, under "
        "replace-one-design-public, the weakest relation of them; besides what is listed here it "
        "does not protect: column g (declared public)"
    ) in words
    accountant.charge(Budget(0.25), method="m", relation="replace-one")
    third = replace(second, budget=Budget(0.1))
    words = charged(SCHEMA, third, "Method", accountant, source()).words
    assert words.endswith("; not recorded of entry 3")


def test_what_a_certificate_needs_of_a_ledger_is_read_from_its_words(tmp_path: Path) -> None:
    data = tmp_path / "survey.dta"
    data.write_bytes(b"rows")
    schema = replace(SCHEMA, source=data, dataset_id="survey")
    accountant = Accountant.open(ledger_path(data, "survey"), dataset_id="survey", epsilon=2)
    for _ in range(2):
        receipt = charged(schema, GUARANTEE, "Method", None, source())
        needed = Needed.of(receipt.words)
        assert needed == Needed("survey", (str(receipt.entry_id),), (accountant.head[:16],))
        assert str(needed) == (
            f"a ledger of 'survey' that has entry {receipt.entry_id} with {accountant.head[:16]} "
            "in its chain"
        )
    assert Needed.of(charged(SCHEMA, GUARANTEE, "Method", Accountant(1), source()).words) is None
