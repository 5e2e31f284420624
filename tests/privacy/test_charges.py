from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.charges import Content, Entry, Saved
from dprct.privacy.composition import Charge

ENTRY = Entry(
    "1-0123456789ab", "2026-11-21T10:00:00Z", "MVHistogram", Charge(Budget(1), "pure"),
    "replace-one", "person", unit_id="hhid", max_rows=2, public_facts=("n",), not_covered=(),
)  # fmt: skip
NOTHING = Charge(Budget(0), "none")


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY,
        replace(ENTRY, charge=NOTHING, relation=None),
        replace(ENTRY, public_facts=None, not_covered=None),
    ],
)
def test_an_entry_comes_back(entry: Entry) -> None:
    assert Entry.from_dict(entry.to_dict()) == entry


@pytest.mark.parametrize(
    "change",
    [
        {"relation": None},
        {"charge": NOTHING},
        {"max_rows": 0},
        {"max_rows": True},
        {"unit_id": 3},
        {"block": "treated"},
        {"public_facts": "n"},
        {"not_covered": ("x", 3)},
    ],
)
def test_an_entry_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        replace(ENTRY, **change)


def test_what_was_not_recorded_is_not_written() -> None:
    old = replace(ENTRY, public_facts=None, not_covered=None)
    assert old.to_dict().keys() == ENTRY.to_dict().keys() - {"public_facts", "not_covered"}
    assert (old.recorded, ENTRY.recorded) == (False, True)


def test_hashes_and_ids_have_one_spelling() -> None:
    for entry, sha256 in (("../x", "a" * 64), (ENTRY.id, "A" * 64), (ENTRY.id, "a" * 63)):
        with pytest.raises(ParameterError):
            Saved(entry, sha256, ENTRY.when)
    assert Saved(ENTRY.id, "a" * 64, ENTRY.when).entry == ENTRY.id
    with pytest.raises(ParameterError):
        Content("A" * 64, ENTRY.when, "first use")
