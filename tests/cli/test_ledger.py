"""What a study spent, and what is left of it after its process was killed at any step."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KILLER = """
import os, signal
import dprct.disk as disk
import dprct.privacy.accountant as accountant, dprct.privacy.ledger as ledger
import dprct.release.histogram as histogram, dprct.release.release as base
import dprct.results.receipt as charging
def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)
def die_at(call, original):
    count = iter(range(1, 1000))
    return lambda *a, **k: die() if next(count) == call else original(*a, **k)
def named(end, original):
    return lambda a, b, **k: die() if str(b).endswith(end) else original(a, b, **k)
def half(call, original, share=0.5):
    def write(path, content):
        if next(count) == call:
            with open(path.with_name(disk.draft_name()), "wb") as file:
                file.write(content[: int(share * len(content))])
                file.flush()
                os.fsync(file.fileno())
            die()
        return original(path, content)
    count = iter(range(1, 1000))
    return write
def put(call, share):
    original = ledger.LedgerFile._put
    def write(file, at, content):
        if next(count) == call:
            original(file, at, content[: int(share * len(content))])
            die()
        return original(file, at, content)
    count = iter(range(1, 1000))
    ledger.LedgerFile._put = staticmethod(write)
"""

# in order; replace_file begins the ledger and keeps, before each append, how it ended: for the
# charge, for the content, and, after the state was saved, for the note that it was
ALL_BUT_THE_NAME = "the file written, without its name"
NOTHING, SPENT, SAVED = (Budget(0), False), (Budget(1), False), (Budget(1), True)
STEPS: dict[str, tuple[str, tuple[Budget, bool]]] = {
    "before the charge": ("accountant.Accountant.charge = die", NOTHING),
    "half of what is kept for the charge": (
        "ledger.replace_file = half(2, ledger.replace_file)", NOTHING),
    "nothing of the charge written": ("put(1, 0)", NOTHING),
    "half of the charge written": ("put(1, 0.5)", NOTHING),
    "the charge written, not its sums": ("put(1, 0.9)", NOTHING),
    "the charge in place, not returned": ("put(1, 1)", SPENT),
    "the content not noted": ("accountant.Accountant.note_content = die", SPENT),
    "before the draw": ("histogram.cell_counts = die", SPENT),
    "after the draw": ("charging.Receipt.save = die", SPENT),
    "half of the state written": ("ledger.replace_file = half(4, ledger.replace_file)", SPENT),
    "the state saved, not noted": ("ledger.replace_file = half(5, ledger.replace_file)", SAVED),
    "the state saved, half noted": ("put(3, 0.5)", SAVED),
    "the state saved and noted": ("base.Release.write_dta = die", SAVED),
    "within the file": ("base.write_protected = die", SAVED),
    ALL_BUT_THE_NAME: (
        'os.replace = named("une/survey_protected.dta", os.replace)', SAVED),
}  # fmt: skip

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")


def ledger_of(folder: Path) -> Accountant:
    return Accountant.load(folder / "survey-1.ledger.json")


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_has_spent_what_it_may_have_drawn(
    step: str,
    shell: Callable[..., Any],
    dprct: Callable[..., Any],
    study: Path,
    folder: Path,
    files: Callable[[], dict[str, bytes]],
) -> None:
    code, (spent, saved) = STEPS[step]
    ran = shell("protect", study, "--yes", before=f"{KILLER}{code}\n")
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (folder / "survey_protected.dta").exists()
    accountant = ledger_of(folder)
    assert accountant.spent == spent
    assert [accountant.is_saved(entry.id) for entry in accountant.ledger] == [saved] * int(
        spent.epsilon
    )
    shown = dprct("ledger", study).out  # and what had all but its name has it now
    assert ("SPENT, nothing saved" in shown) is (spent == Budget(1) and not saved)
    assert (folder / "survey_protected.dta").exists() is (step == ALL_BUT_THE_NAME)
    assert ("dprct protect --resume 1-" in shown) is (saved and step != ALL_BUT_THE_NAME)
    resumed = dprct("protect", study, "--resume", "1")
    assert resumed.code == (0 if saved else 3)
    assert (folder / "survey_protected.dta").exists() is saved
    assert ledger_of(folder).spent == spent  # resuming is free, refusing to as well
    again = dprct("protect", study, "--yes")
    assert again.code == (0 if spent == Budget(0) else 3)  # 1.5 pays for one release, not for two
    ledger_of(folder).charge(Budget(0.5), method="m", relation="replace-one")
    assert not [name for name in files() if name.endswith(".pending") or ".dprct-" in name]


def test_a_resumed_file_is_another_draw_of_the_same_release(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    certified = folder / "survey_protected.certificate.json"
    first = (folder / "survey_protected.dta").read_bytes()
    before, words = ledger_of(folder).to_dict(), json.loads(certified.read_text("utf-8"))
    assert "written to survey_protected.dta" in dprct("ledger", study).out
    ran = dprct("protect", study, "--resume", ledger_of(folder).ledger[0].id)
    assert ran.code == 0
    assert "nothing was charged" in ran.out
    assert "fresh draw from the release" in ran.out
    assert ledger_of(folder).to_dict() == before
    assert (folder / "survey_protected.dta").read_bytes() != first
    after = json.loads(certified.read_text("utf-8"))
    assert "resumed from its saved state" in after["ledger"]
    assert after["guarantee"] == words["guarantee"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("bins = [30, 50]", "bins = [30, 60]"), "what the study declares is not what it was"),
        (('"mv_histogram"', '"marginals"'), "paid for 'MVHistogram"),
    ],
)
def test_a_changed_study_is_not_resumed(
    change: tuple[str, str],
    words: str,
    dprct: Callable[..., Any],
    study: Path,
    edit: Callable[..., None],
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    edit(change)
    ran = dprct("protect", study, "--resume", "1")
    assert (ran.code, words in ran.err) == (3, True)


def test_a_release_is_resumed_under_its_approval_only(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    released = (folder / "survey_protected.dta").read_bytes()
    ran = dprct("protect", study, "--resume", "1", "--approved", "0" * 64)
    assert (ran.code, "not the one that was approved" in ran.err) == (3, True)
    assert (folder / "survey_protected.dta").read_bytes() == released
    (line,) = [x for x in dprct("plan", study).out.splitlines() if x.startswith("Approval hash: ")]
    approved = line.removeprefix("Approval hash: ")
    assert dprct("protect", study, "--resume", "1", "--approved", approved).code == 0


def test_a_saved_state_that_was_edited_is_not_resumed(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    (state,) = (folder / "survey-1.ledger.released").iterdir()
    state.write_bytes(re.sub(rb'"threshold": \d+', b'"threshold": 99', state.read_bytes()))
    ran = dprct("protect", study, "--resume", "1")
    assert (ran.code, "was changed after it was saved" in ran.err) == (3, True)


def test_the_ledger_is_shown(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    ran = dprct("ledger", study)
    assert (ran.code, "nothing was charged" in ran.out) == (0, True)
    assert json.loads(dprct("ledger", study, "--json").out)["ledger"] is None
    package = folder / "package"  # which has a copy of the study file, and no data
    package.mkdir()
    (package / study.name).write_bytes(study.read_bytes())
    ran = dprct("ledger", package / study.name)
    assert (ran.code, "nothing was charged" in ran.out) == (0, False)
    assert "ask those who keep the data what was charged" in ran.out
    dprct("protect", study, "--yes")
    accountant = ledger_of(folder)
    accountant.note_unprotected(method="published.X (Algorithm 1)", reason="it looks at the data")
    accountant.note_content("a" * 64)
    shown = dprct("ledger", study)
    assert shown.code == 0
    for part in (
        "Privacy budget of survey-1: epsilon=1.5 per person", "spent: epsilon=1; left: epsilon=0.5",
        "The sum of all charges holds for every person (by unit), under replace-one, and so under",
        "It takes as public what any charge does: the number of rows",
        "NO GUARANTEE for 1 of 2 entries", accountant.ledger[0].id, "MVHistogram", "replace-one",
        "person (by unit)", "written to survey_protected.dta", "published.X", "NO GUARANTEE, no",
        "data file: first use", "data file: the file changed", f"head: {accountant.head}",
    ):  # fmt: skip
        assert part in shown.out
    facts = json.loads(dprct("ledger", study, "--json").out)
    assert facts["spent"] == {"epsilon": "1.0", "delta": "0.0"}
    assert facts["remaining"]["epsilon"] == "0.5"
    assert facts["together"]["relations"] == ["replace-one", "replace-one-design-public"]
    assert facts["entries"][0]["public_facts"] == facts["together"]["public_facts"]
    assert [entry["state"] for entry in facts["entries"]] == ["written", "no-guarantee"]
    assert [entry["max_rows"] for entry in facts["entries"]] == [1, 1]
    assert facts["entries"][0]["unit_id"] == "unit"
    for text in (shown.out, json.dumps(facts)):  # the hash of the data file may not be published
        assert not any(content in text for content in accountant.contents)
