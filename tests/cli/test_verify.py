from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import FileError
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.release.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def released(dprct: Callable[..., Any], study: Path, folder: Path) -> Path:
    """The protected file of the study."""
    assert dprct("protect", study, "--yes").code == 0
    return folder / "survey_protected.dta"


def test_the_file_as_released(dprct: Callable[..., Any], released: Path) -> None:
    ran = dprct("verify", released)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "survey_protected.dta is byte for byte the file that survey_protected.certificate.json"
    )
    assert "integrity, not authorship" in ran.out


def test_what_an_archive_makes_of_it(dprct: Callable[..., Any], released: Path) -> None:
    data, _ = read_dta(released)
    archived = released.with_suffix(".tab")
    data.to_csv(archived, sep="\t", index=False)
    ran = dprct("verify", archived)
    assert ran.code == 0
    assert "its values match" in ran.out
    assert "labels not checked" in ran.out


def test_an_altered_file(dprct: Callable[..., Any], released: Path) -> None:
    data, schema = read_dta(released)
    data.loc[3, "age"] = 44.0 if data.loc[3, "age"] != 44 else 45.0
    altered = released.with_name("altered.dta")
    write_dta(data, schema, altered)
    certificate = released.with_suffix(".certificate.json")
    ran = dprct("verify", altered, "--certificate", certificate)
    assert ran.code == 1
    assert "altered.dta DOES NOT MATCH survey_protected.certificate.json" in ran.out
    assert "- values differ in age\n" in ran.out
    ran = dprct("verify", altered, "--certificate", certificate, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert (found["verified"], found["differing"]) == (False, ["age"])


def test_a_column_too_many(dprct: Callable[..., Any], released: Path) -> None:
    data, _ = read_dta(released)
    data.assign(row=1).to_csv(released.with_suffix(".csv"), index=False)
    ran = dprct("verify", released.with_suffix(".csv"))
    assert ran.code == 1
    assert "the certificate does not know: row" in ran.out


def test_without_a_certificate_it_says_where_one_may_be(
    dprct: Callable[..., Any], released: Path
) -> None:
    moved = released.with_name("moved.dta")
    released.rename(moved)
    ran = dprct("verify", moved)
    assert ran.code == 2
    assert "there is survey_protected.certificate.json: give it as the certificate" in ran.err
    with pytest.raises(FileError, match="is a folder; give the released file"):
        verify(moved.parent)
    ran = dprct("verify", moved.with_name("gone"))
    assert (ran.code, "'gone' does not exist; check the path" in ran.err) == (2, True)


def test_the_ledger_that_paid_for_the_file(dprct: Callable[..., Any], released: Path) -> None:
    ledger = released.with_name("survey-1.ledger.json")
    certificate = json.loads(released.with_suffix(".certificate.json").read_text("utf-8"))
    entry = json.loads(ledger.read_text("utf-8"))["records"][1]["entry"]
    ran = dprct("verify", released)
    needs = f"a ledger of 'survey-1' that has entry {entry['id']} with {entry['chain'][:16]}"
    assert (ran.code, f"survey-1.ledger.json has what paid for the file: {needs}" in ran.out) == (
        0,
        True,
    )
    text = " ".join(released.with_suffix(".certificate.txt").read_text("utf-8").split())
    assert f"The file is paid for only by {needs}" in text
    assert entry["id"] in certificate["ledger"]


def test_a_ledger_that_was_deleted(dprct: Callable[..., Any], released: Path) -> None:
    ledger = released.with_name("survey-1.ledger.json")
    entry = json.loads(ledger.read_text("utf-8"))["records"][1]["entry"]
    ledger.unlink()
    elsewhere = released.parent / "elsewhere"
    elsewhere.mkdir()
    for suffix in (".dta", ".certificate.json"):
        released.with_suffix(suffix).rename(elsewhere / released.with_suffix(suffix).name)
    ran = dprct("verify", elsewhere / released.name)
    assert ran.code == 0  # a data editor has no ledger
    assert "the ledger stays with the confidential data" in ran.out
    assert entry["id"] in ran.out
    ran = dprct("verify", elsewhere / released.name, "--ledger", ledger)
    assert (ran.code, "THE LEDGER CANNOT BE USED" in ran.out, entry["id"] in ran.out) == (
        1, True, True,
    )  # fmt: skip


def test_a_ledger_that_was_begun_again(dprct: Callable[..., Any], released: Path) -> None:
    """After it was deleted with its released states, another release made a new one."""
    ledger = released.with_name("survey-1.ledger.json")
    entry = json.loads(ledger.read_text("utf-8"))["records"][1]["entry"]
    ledger.unlink()
    Accountant.open(ledger.with_name("other.json"), dataset_id="survey-1", epsilon=1.5).charge(
        Budget(1), method="MVHistogram", relation="replace-one"
    )
    ran = dprct("verify", released, "--ledger", ledger.with_name("other.json"))
    assert ran.code == 1
    assert f"THE LEDGER other.json LACKS entry {entry['id']}" in ran.out
    assert f"head {entry['chain'][:16]}" in ran.out
    assert "DOES NOT MATCH" not in ran.out
    ran = dprct("verify", released, "--ledger", ledger.with_name("other.json"), "--json")
    assert (ran.code, json.loads(ran.out)["in_ledger"]) == (1, False)
