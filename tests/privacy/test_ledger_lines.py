"""A ledger of any length: what is kept for the next charge, what a crash left, and old files."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy import entries
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget, fraction
from dprct.privacy.charges import Entry
from dprct.privacy.entries import Ledger
from dprct.privacy.ledger import LedgerFile

if TYPE_CHECKING:
    from pathlib import Path

FACTS: dict[str, Any] = {"method": "m", "relation": "replace-one"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    accountant = Accountant.open(tmp_path / "t.ledger.json", dataset_id="t", epsilon=100)
    for k in range(5):
        accountant.charge(Budget(1), **FACTS, public_facts=[f"fact {k % 2}"], not_covered=[])
    accountant.charge(Budget(2), parallel_group="arms", block="a", **FACTS)
    accountant.charge(Budget(3), parallel_group="arms", block="b", unit_id="v", max_rows=3, **FACTS)
    accountant.note_unprotected(method="published.X", reason="none")
    accountant.note_content("a" * 64)
    return tmp_path / "t.ledger.json"


def test_sums_on_file_are_those_of_the_entries(path: Path) -> None:
    kept = LedgerFile(path).read()
    counted = Ledger(
        kept.total, kept.relation, kept.unit, kept.composition, kept.dataset_id, tuple(kept.entries)
    )
    assert kept.sums == counted.sums
    assert kept.spent == counted.spent == Budget(8)
    assert kept.together == counted.together
    assert kept.checked() is kept


def test_a_charge_reads_no_entry(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it takes as long in a long ledger as in a short one."""
    accountant = Accountant.load(path)
    monkeypatch.setattr(entries, "_entry", lambda _: pytest.fail("an entry was read"))
    entry = accountant.charge(Budget(1), **FACTS)
    accountant.record(entry.id, {"x": 1})
    accountant.note_content("b" * 64)
    assert (accountant.spent, accountant.charges) == (Budget(9), 8)
    assert Accountant.load(path).remaining == Budget(91)


def test_a_charge_writes_the_end_of_the_file_alone(path: Path, monkeypatch) -> None:
    before = path.read_bytes()
    written: list[int] = []
    put = LedgerFile._put
    monkeypatch.setattr(
        LedgerFile, "_put", staticmethod(lambda f, at, c: (written.append(at), put(f, at, c))[1])
    )
    Accountant.load(path).charge(Budget(1), **FACTS)
    (at,) = written
    assert at == before.rindex(b"\n", 0, -1) + 1
    assert path.read_bytes()[:at] == before[:at]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_an_append_that_was_cut_off_is_as_if_it_had_not_begun(
    share: float, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, put = path.read_bytes(), LedgerFile._put

    class Dead(BaseException):
        pass

    def dying(file: Any, at: int, content: bytes) -> None:
        put(file, at, content[: int(share * len(content))])
        raise Dead

    with monkeypatch.context() as patch:
        patch.setattr(LedgerFile, "_put", staticmethod(dying))
        with pytest.raises(Dead):
            Accountant.load(path).charge(Budget(50), **FACTS)
    assert Accountant.load(path).spent == Budget(8)
    Accountant.load(path).charge(Budget(1), **FACTS)
    assert Accountant.load(path).spent == Budget(9)
    assert path.read_bytes().startswith(before[: before.rindex(b"\n", 0, -1)])
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(".")] == []


@pytest.mark.long
def test_every_cut_and_every_flipped_byte_is_refused(path: Path) -> None:
    sound = path.read_bytes()
    for at in range(0, len(sound), 7):
        for broken in (sound[:at], sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]):
            path.write_bytes(broken)
            with pytest.raises(LedgerError):
                LedgerFile(path).read()


def test_a_removed_line_is_refused(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for k in range(len(lines)):
        path.write_bytes(b"".join(lines[:k] + lines[k + 1 :]))
        with pytest.raises(LedgerError):
            LedgerFile(path).read()


def sealed_again(path: Path, change: Any) -> None:
    """Write the file with other lines, and all hashes computed again."""
    *lines, _ = path.read_bytes().splitlines(keepends=True)
    lines = change(lines)
    kept = LedgerFile(path).read()
    path.write_bytes(b"".join(lines) + entries.last_line(kept, entries.digest_after("", lines)))


def test_sums_that_are_not_those_of_the_entries_are_named(path: Path) -> None:
    sealed_again(
        path, lambda ls: [line.replace(b'"epsilon": "2.0"', b'"epsilon": "1.0"') for line in ls]
    )
    accountant = Accountant.load(path)
    with pytest.raises(LedgerError, match="sums are not those of its entries"):
        _ = accountant.ledger
    with pytest.raises(LedgerError, match="sums are not those of its entries"):
        str(accountant)


def test_numbers_are_bounded_before_they_are_parsed(path: Path) -> None:
    for text in ("1e999999999", "1e-999999999", "9" * 5000, "inf", "nan", " 1", "1_0", "", None, 1):
        with pytest.raises(ParameterError, match="not one that this package writes"):
            fraction(text)
    assert fraction("-2.50e1") == -25
    entry = LedgerFile(path).read().entries[0].to_dict()
    with pytest.raises(ParameterError):
        Entry.from_dict({**entry, "slack": "1e999999999"})
    facts = LedgerFile(path).read().to_dict()
    facts["epsilon"] = "1e999999999"
    facts.pop("checksum")
    from dprct.privacy.charges import checksum

    with pytest.raises(LedgerError):
        Ledger.from_dict({**facts, "checksum": checksum(facts)})


def test_what_could_not_be_read_again_is_not_written(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ParameterError):
        Accountant.load(path).charge(Budget(Fraction(1, 10**4500)), **FACTS)
    assert path.read_bytes() == before


@pytest.mark.parametrize("edit", ["same size", "longer", "cut"])
def test_an_accountant_notices_what_happens_to_its_file(edit: str, path: Path) -> None:
    accountant = Accountant.load(path)
    assert accountant.spent == Budget(8)
    raw = path.read_bytes()
    at = raw.index(b"replace-one")
    new = {"same size": raw[:at] + b"s" + raw[at + 1 :], "longer": raw + b" ", "cut": raw[:-9]}
    path.write_bytes(new[edit])
    with pytest.raises(LedgerError):
        _ = accountant.spent


def test_two_accountants_on_one_file_see_each_others_charges(path: Path) -> None:
    one, two = Accountant.load(path), Accountant.load(path)
    for _ in range(3):
        one.charge(Budget(1), **FACTS)
        two.charge(Budget(1), **FACTS)
    assert one.spent == two.spent == Budget(14)
    assert [e.number for e in one.ledger] == [str(k) for k in range(1, 15)]
    with pytest.raises(BudgetError):
        one.charge(Budget(87), **FACTS)


def test_the_file_is_one_json_document(path: Path) -> None:
    facts = json.loads(path.read_text("utf-8"))
    assert facts["now"]["entries"] == 8
    assert facts["records"][1]["entry"]["id"].startswith("1-")


def test_why_a_budget_is_separate_is_kept(path: Path) -> None:
    Accountant.load(path).declare_separate("another wave")
    assert Accountant.load(path).separate == "another wave"
    assert Accountant.load(path).spent == Budget(8)
    with pytest.raises(ParameterError, match="empty"):
        Accountant.load(path).declare_separate(" ")
