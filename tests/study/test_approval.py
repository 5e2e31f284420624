from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dprct.certificate.page import text
from dprct.errors import ConfirmationError
from dprct.privacy.budget import Budget
from dprct.study.approval import KIND, Approval, approval_of, approval_page
from dprct.study.protect import protected
from dprct.study.ready import bound_model
from dprct.study.study import load_study

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def study(folder: Path) -> Path:
    """The study file."""
    return folder / "study.toml"


def approval(path: Path) -> Approval:
    study = load_study(path)
    return approval_of(study, bound_model(study))


def changed(path: Path, old: str, new: str) -> str:
    words = path.read_text("utf-8")
    assert old in words
    path.write_text(words.replace(old, new), encoding="utf-8")
    return approval(path).sha256


def test_the_hash_is_that_of_the_study_and_not_of_its_layout(study: Path) -> None:
    first = approval(study).sha256
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert changed(study, "version = 1", "# a comment\n\nversion   =   1") == first


@pytest.mark.parametrize(
    ("old", "new"),
    [("epsilon = 1.0", "epsilon = 1.25"), ("bounds = [15, 80]", "bounds = [15, 81]"),
     ("confirm = true", 'confirm = true\n[declared]\nby = "A. Custodian"')],
)  # fmt: skip
def test_any_change_of_the_study_changes_the_hash(study: Path, old: str, new: str) -> None:
    first = approval(study)
    assert changed(study, old, new) != first.sha256
    with pytest.raises(ConfirmationError, match="is not the one that was approved"):
        approval(study).check(first.sha256)


def test_the_public_facts_and_the_promise_are_in_the_hash(study: Path) -> None:
    found = approval(study)
    others = [
        replace(found, schema=found.schema.declare(age=(15, 81))),
        replace(found, guarantee=replace(found.guarantee, public_facts=())),
        replace(found, plan=replace(found.plan, method="another")),
        replace(found, price=None),
        replace(found, price=Budget(2)),
        replace(found, price=Budget(1, 1e-6)),
        replace(found, study=replace(found.study, sha256="0" * 64)),
    ]
    assert len({found.sha256, *(other.sha256 for other in others)}) == 1 + len(others)


def test_the_hash_may_be_copied_with_spaces_and_capitals(study: Path) -> None:
    found = approval(study)
    found.check(f" {found.sha256[:32].upper()} {found.sha256[32:]}\n")
    with pytest.raises(ConfirmationError, match=r"approved was \S"):
        found.check(found.sha256[:-1])


def test_the_page_shows_what_is_signed(study: Path) -> None:
    found = approval(study)
    page = approval_page(found)
    for part in (
        KIND, found.sha256, "epsilon=1", "e^1 = 2.72", "bounds: 15, 80", "somebody unnamed",
        "Spent before", "nothing", "must not have been read off the data", "Signature",
        f"dprct protect {study.name} --approved {found.sha256}",
        "not a legal determination of anonymity", *found.guarantee.public_facts,
    ):  # fmt: skip
        assert text(part) in page
    changed(study, "[header]", '[declared]\nby = "A. Custodian"\n\n[header]')
    assert "declared by A. Custodian" in approval_page(approval(study))


def test_the_page_says_which_note_the_released_table_may_add(study: Path) -> None:
    """It is not known before the charge, and so it is approved as a possibility."""
    found = approval(study)
    assert found.study.asked.spec.key == "mv_histogram"
    assert not found.plan.file_note
    page = approval_page(found)
    assert "A note that may be added" in page
    assert text(found.study.asked.spec.later_note) in page
    known = replace(found, plan=replace(found.plan, file_note="A note that is known."))
    assert "A note that may be added" not in approval_page(known)
    assert "A note that is known." in approval_page(known)


def test_the_page_shows_what_the_ledger_has(study: Path) -> None:
    protected(load_study(study))
    page = approval_page(approval(study))
    assert "Left before this release" in page
    assert '<th scope="row">Spent before</th><td>epsilon=1</td>' in page


def test_a_certificate_names_who_declared(study: Path) -> None:
    changed(study, "[header]", '[declared]\nby = "A. Custodian"\n\n[header]')
    certificate = protected(load_study(study)).certificate()
    assert "declared by A. Custodian on 20" in certificate.seal
