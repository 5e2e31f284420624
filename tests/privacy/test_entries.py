from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import LedgerError, ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.charges import Sums
from dprct.privacy.composition import RULES, Charge, gdp_mu
from dprct.privacy.entries import Ledger, new_entry

if TYPE_CHECKING:
    from dprct.privacy.charges import Entry

EMPTY = Ledger(Budget(1, 1e-6), "replace-one", "person", "sequential", dataset_id="trial")
FACTS = {"method": "MVHistogram", "relation": "replace-one", "unit": "person"}


def filled() -> Ledger:
    gaussian = Charge(Budget(0.2, 1e-7), "gdp", gdp_mu(0.2, 5e-8), Fraction(1, 10**12))
    ledger = EMPTY.with_content("a" * 64)
    for charge in (Charge(Budget(Fraction(1, 3)), "pure"), gaussian):
        ledger = ledger.with_entry(new_entry(ledger, charge, description="été", **FACTS))
    return ledger


def pure(epsilon: float, group: str | None = None, block: str | None = None) -> Entry:
    facts = {**FACTS, "parallel_group": group, "block": block}
    return new_entry(EMPTY, Charge(Budget(epsilon), "pure"), **facts)


def test_json_brings_a_ledger_back() -> None:
    ledger = filled()
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_change_of_a_value_is_noticed(data: st.DataObject) -> None:
    facts: Any = json.loads(json.dumps(filled().to_dict()))
    spots = _leaves(facts)
    parent, key = data.draw(st.sampled_from(spots))
    parent[key] = data.draw(
        st.sampled_from(["0", "9", None, -1, [], {}, "1/0", True]).filter(
            lambda new: new != parent[key] or type(new) is not type(parent[key])
        )
    )
    with pytest.raises(LedgerError):
        Ledger.from_dict(facts)


def _leaves(node: Any) -> list[tuple[Any, Any]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for key, value in pairs:
        found += _leaves(value) if isinstance(value, (dict, list)) and value else [(node, key)]
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": Budget(2)}, "contradicts"),
        ({"relation": "swap"}, "contradicts"),
        ({"extra": 1}, "contradicts"),
    ],
)
def test_a_sound_checksum_does_not_excuse_nonsense(change, words, monkeypatch) -> None:
    facts = {**filled().to_dict(), **change}
    monkeypatch.setattr("dprct.privacy.entries.checksum", lambda _: facts["checksum"])
    with pytest.raises(LedgerError, match=words):
        Ledger.from_dict(facts)


def test_charges_that_cannot_be_added_are_no_ledger(monkeypatch) -> None:
    facts = replace(filled(), relation=None, unit=None).to_dict()
    facts["entries"][0]["unit"] = "donor"
    monkeypatch.setattr("dprct.privacy.entries.checksum", lambda _: facts["checksum"])
    monkeypatch.setattr("dprct.privacy.entries.first_broken", lambda *_: None)
    with pytest.raises(LedgerError, match="cannot be added together"):
        Ledger.from_dict(facts)


def test_entries_of_a_foreign_hand_cannot_name_files(monkeypatch) -> None:
    facts = filled().to_dict()
    facts["entries"][0]["id"] = "../../x"
    monkeypatch.setattr("dprct.privacy.entries.checksum", lambda _: facts["checksum"])
    monkeypatch.setattr("dprct.privacy.entries.first_broken", lambda *_: None)
    with pytest.raises(LedgerError, match="an id that dprct did not write"):
        Ledger.from_dict(facts)


@pytest.mark.parametrize("facts", [None, [], "x", {}, {"format": "other"}])
def test_what_is_no_ledger_is_refused(facts: object) -> None:
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.from_dict(facts)


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(LedgerError, match="version"):
        Ledger.from_dict({**EMPTY.to_dict(), "version": 4})


@pytest.mark.parametrize(
    "change",
    [
        {"relation": "swap"},
        {"unit": 3},
        {"composition": "best"},
        {"total": Budget(0)},
        {"total": Budget(1), "composition": "zcdp"},
    ],
)
def test_impossible_terms_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        replace(EMPTY, **change)


def test_blocks_of_a_group_cost_the_largest_and_charges_on_one_block_add() -> None:
    entries = (
        pure(0.3, "arms", "treated"),
        pure(0.1, "arms", "treated"),
        pure(0.25, "arms", "control"),
        pure(0.05),
        pure(0.05),
        pure(0.2, "sites", "treated"),
    )
    sums = Sums("")
    for entry in entries:
        sums = sums.with_entry(entry, RULES["sequential"])
    assert sums.cost == (Fraction(4, 10) + Fraction(1, 10) + Fraction(2, 10), 0)


def test_a_parallel_charge_names_group_and_block() -> None:
    with pytest.raises(ParameterError, match="block"):
        pure(0.1, "arms")


@pytest.mark.parametrize("change", [{"method": 3}, {"description": None}, {"relation": "swap"}])
def test_an_entry_is_made_of_words(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        new_entry(EMPTY, Charge(Budget(1), "pure"), **{**FACTS, **change})


def test_a_ledger_continues_only_what_it_contains() -> None:
    ledger = filled()
    assert ledger.continues(EMPTY)
    assert ledger.continues(ledger)
    assert not EMPTY.continues(ledger)
    assert not replace(ledger, total=Budget(2, 1e-6)).continues(EMPTY)
    assert not replace(ledger, entries=ledger.entries[::-1]).continues(ledger)


def test_a_changed_file_is_noted_and_the_ledger_goes_on() -> None:
    ledger = EMPTY.with_content("a" * 64)
    assert ledger.with_content("a" * 64) is ledger
    changed = ledger.with_content("b" * 64)
    assert [c.note for c in changed.contents] == [
        "first use",
        "the file changed; the ledger continues",
    ]
    with pytest.raises(ParameterError, match="hexadecimal"):
        EMPTY.with_content("A" * 64)


def test_the_table_has_a_line_for_every_entry() -> None:
    lines = str(filled()).splitlines()
    assert lines[0].startswith("Privacy budget of trial: epsilon=1, delta=1e-06 per person")
    assert lines[2].startswith("The sum of all charges holds for every person, under replace-one,")
    assert lines[3] == ("What is public and what is not covered was not recorded of entry 1, 2.")
    assert len(lines) == 7
    assert "0.333333" in lines[5]
    assert lines[6].endswith("été")
