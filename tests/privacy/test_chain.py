"""A ledger edited by hand contradicts itself, and its certificates even if it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dprct.errors import LedgerError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.charges import chained, checksum
from dprct.privacy.entries import Ledger


@pytest.fixture
def facts() -> dict[str, Any]:
    accountant = Accountant(2)
    for epsilon in (0.5, 0.25, 0.125):
        accountant.charge(
            Budget(epsilon), method="m", relation="replace-one", public_facts=("n",), not_covered=()
        )
    values: dict[str, Any] = json.loads(json.dumps(accountant.to_dict()))
    return values


def signed_again(facts: dict[str, Any]) -> dict[str, Any]:
    bare = {name: value for name, value in facts.items() if name != "checksum"}
    return {**bare, "checksum": checksum(bare)}


def test_an_edit_is_noticed_by_the_checksum_and_by_the_chain(facts: dict[str, Any]) -> None:
    facts["entries"][1]["epsilon"] = "0.0625"
    with pytest.raises(LedgerError, match="checksum does not match"):
        Ledger.from_dict(facts)
    with pytest.raises(LedgerError, match="entry 2, or what is before it, was changed by hand"):
        Ledger.from_dict(signed_again(facts))


@pytest.mark.parametrize("edit", ["removed", "exchanged", "another total"])
def test_the_chain_knows_order_and_terms(edit: str, facts: dict[str, Any]) -> None:
    if edit == "removed":
        del facts["entries"][0]
    elif edit == "exchanged":
        facts["entries"].reverse()
    else:
        facts["epsilon"] = "20"
    with pytest.raises(LedgerError, match="entry 1, or what is before it"):
        Ledger.from_dict(signed_again(facts))


def test_every_term_and_every_fact_of_an_entry_stands_in_the_chain(facts: dict[str, Any]) -> None:
    beside = {"format", "version", "contents", "saved", "checksum", "entries"}
    earlier, last = facts["entries"][:-1], facts["entries"][-1]
    changed = [{**facts, name: "another"} for name in facts.keys() - beside]
    assert len(changed) == 6
    changed += [
        {**facts, "entries": [*earlier, {**last, name: "another"}]}
        for name in last.keys() - {"chain"}
    ]
    heads = {chained(values)[-1] for values in (facts, *changed)}
    assert len(heads) == 1 + len(changed)


def test_a_chain_computed_anew_has_another_head(facts: dict[str, Any]) -> None:
    """Who forges all hashes is caught by the certificates, which carry the head of their time."""
    heads = chained(facts)
    facts["entries"][0]["epsilon"] = "0.0625"
    forged = chained(facts)
    for entry, link in zip(facts["entries"], forged[1:], strict=True):
        entry["chain"] = link
    found = Ledger.from_dict(signed_again(facts))
    assert found.head == forged[-1]
    assert set(forged[1:]).isdisjoint(heads)


def test_appending_keeps_every_earlier_head(facts: dict[str, Any]) -> None:
    heads = chained(facts)
    shorter = {**facts, "entries": facts["entries"][:2]}
    assert chained(shorter) == heads[:3]


def test_a_ledger_of_the_first_version_is_continued(tmp_path: Path, facts: dict[str, Any]) -> None:
    for entry in facts["entries"]:
        for new in ("chain", "unit_id", "max_rows", "public_facts", "not_covered"):
            del entry[new]
    old = {**facts, "version": 1, "dataset_id": "trial"}
    del old["saved"]
    path = tmp_path / "trial.ledger.json"
    path.write_text(json.dumps(signed_again(old)), encoding="utf-8")
    accountant = Accountant.load(path)
    assert accountant.spent == Budget(0.875)
    accountant.charge(Budget(0.125), method="m", relation="replace-one")
    written = json.loads(path.read_text("utf-8"))
    entries = [record["entry"] for record in written["records"] if "entry" in record]
    assert (written["version"], len(entries)) == (4, 4)
    assert all(entry["chain"] for entry in entries)


def test_a_ledger_of_the_second_version_keeps_its_links(tmp_path: Path) -> None:
    """The file was written by version 2; certificates carry the heads of that time."""
    old = Path(__file__).with_name("ledger_of_version_2.json").read_text("utf-8")
    links = [entry["chain"] for entry in json.loads(old)["entries"]]
    path = tmp_path / "trial.ledger.json"
    path.write_text(old, encoding="utf-8")
    accountant = Accountant.open(path, dataset_id="trial", epsilon=1)
    assert accountant.head == links[-1]
    assert (accountant.relation, accountant.unit) == ("replace-one-design-public", "person")
    assert "was not recorded of entry 1, 2." in str(accountant)
    assert accountant.together is not None
    assert accountant.together.unit == "row"  # by pid, and without an id
    accountant.charge(
        Budget(0.25), method="m", relation="replace-one", public_facts=("n",), not_covered=()
    )
    written = json.loads(path.read_text("utf-8"))
    entries = [record["entry"] for record in written["records"] if "entry" in record]
    assert (written["version"], entries[3]["public_facts"]) == (4, ["n"])
    assert [entry["chain"] for entry in entries][:3] == links
    assert "public_facts" not in entries[0]
    assert Accountant.load(path).head == accountant.head
