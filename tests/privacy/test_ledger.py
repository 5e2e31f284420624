"""The ledger on file: damage, locks, atomic replacement, and processes that race."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import LedgerError, ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.entries import Ledger
from dprct.privacy.ledger import LedgerFile, ledger_path, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
EMPTY = Ledger(Budget(1), "replace-one", "person", "sequential", dataset_id="trial")

HOLD = """
import sys
from dprct.privacy.ledger import LedgerFile
with LedgerFile(sys.argv[1]).locked():
    print("held", flush=True)
    sys.stdin.read()
"""

SPEND = """
import sys
from dprct.errors import BudgetError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
accountant = Accountant.load(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
charged = 0
while True:
    try:
        accountant.charge(Budget(0.025), method=sys.argv[2], relation="replace-one")
    except BudgetError:
        break
    charged += 1
print(charged)
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    with python(HOLD, str(path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        yield holder
        holder.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "trial.ledger.json"
    LedgerFile(file).write(EMPTY)
    return file


@pytest.mark.parametrize("count", [2, 8])
def test_processes_cannot_spend_one_budget_twice(count: int, path: Path) -> None:
    with contextlib.ExitStack() as all_of_them:
        racers = [
            all_of_them.enter_context(python(SPEND, str(path), f"racer {i}")) for i in range(count)
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline().strip() == "ready"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        charged = [int(racer.communicate(timeout=120)[0]) for racer in racers]
    entries = Accountant.load(path).ledger
    assert sum(charged) == len(entries) == 40
    assert sum((entry.budget for entry in entries), Budget(0)) == Budget(1)


def test_threads_with_their_own_accountants_do_not_overspend(path: Path) -> None:
    def spend() -> None:
        accountant = Accountant.load(path)
        for _ in range(10):
            accountant.charge(Budget(0.05), method="m", relation="replace-one")

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Accountant.load(path).spent == Budget(1)


def test_a_lock_held_elsewhere_is_waited_for_then_reported(path: Path) -> None:
    with held_elsewhere(path):
        accountant = Accountant.load(path, timeout=0.05)  # reading needs no lock
        with pytest.raises(LedgerError, match="locked by another process"):
            accountant.charge(Budget(0.5), method="m", relation="replace-one")
        assert accountant.spent == Budget(0)


def test_a_ledger_is_begun_under_its_lock(tmp_path: Path) -> None:
    """Two processes that begin one ledger at once must not both find none and write it."""
    path = tmp_path / "trial.ledger.json"
    with (
        LedgerFile(path).locked(),
        pytest.raises(LedgerError, match="locked by another process"),
    ):
        Accountant.open(path, dataset_id="trial", epsilon=1, timeout=0.05)
    assert not path.exists()


def test_the_lock_of_a_killed_process_is_gone(path: Path) -> None:
    with held_elsewhere(path) as holder:
        holder.kill()
        holder.wait()
        Accountant.load(path, timeout=5).charge(Budget(0.5), method="m", relation="replace-one")
    assert Accountant.load(path).spent == Budget(0.5)


def test_the_file_is_read_by_people(path: Path) -> None:
    Accountant.load(path).charge(Budget(0.1), method="MVHistogram", relation="replace-one")
    facts = json.loads(path.read_text(encoding="utf-8"))
    assert facts["version"] == 4
    assert facts["records"][1]["entry"]["epsilon"] == "0.1"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_damaged_byte_is_never_a_fresh_ledger(tmp_path_factory, data: st.DataObject) -> None:
    file = tmp_path_factory.mktemp("damage") / "trial.ledger.json"
    accountant = Accountant.open(file, dataset_id="trial", epsilon=1)
    accountant.charge(Budget(0.5), method="m", relation="replace-one")
    sound = file.read_bytes()
    at = data.draw(st.integers(0, len(sound) - 1))
    broken = data.draw(
        st.sampled_from(
            [sound[:at], sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :], sound[at:] + sound]
        )
    )
    file.write_bytes(broken)
    try:
        found = LedgerFile(file).read("trial")
    except LedgerError:
        with pytest.raises(LedgerError):
            Accountant.open(file, dataset_id="trial", epsilon=1)
        assert file.read_bytes() == broken
    else:  # a byte of white space
        assert found.spent == Budget(0.5)


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b"null", b"version"])
def test_a_foreign_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for use in (
        lambda: Accountant.load(path),
        lambda: Accountant.open(path, dataset_id="trial", epsilon=1),
    ):
        with pytest.raises(LedgerError, match="ledger"):
            use()
    assert path.read_bytes() == content


def test_the_ledger_of_another_data_set_is_refused(path: Path) -> None:
    with pytest.raises(LedgerError, match="belongs to data set 'trial'"):
        LedgerFile(path).read("other")


def test_a_missing_ledger_is_not_invented(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        Accountant.load(tmp_path / "none.ledger.json")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_removed_from_its_releases_is_missed(path: Path) -> None:
    file = LedgerFile(path)
    file.save_state("1-a", {"x": 1})
    path.unlink()
    with pytest.raises(LedgerError, match="is gone"):
        Accountant.open(path, dataset_id="trial", epsilon=1)


def test_a_folder_in_place_of_a_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trial.ledger.json").mkdir()
    with pytest.raises(LedgerError, match="cannot read"):
        Accountant.open(tmp_path / "trial.ledger.json", dataset_id="trial", epsilon=1)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot lock"):
        Accountant.open(tmp_path / "no" / "trial.ledger.json", dataset_id="trial", epsilon=1)


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(path: Path, monkeypatch) -> None:
    before = path.read_bytes()
    accountant = Accountant.load(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerError, match="No space left"):
        accountant.charge(Budget(0.5), method="m", relation="replace-one")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".dprct-*"))
    assert accountant.spent == Budget(0)


def test_content_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda *a: (calls.append("replace"), replace(*a))[1])
    replace_file(tmp_path / "x", b"content")
    assert calls[:2] == ["fsync", "replace"]
    assert (tmp_path / "x").read_bytes() == b"content"
    if sys.platform != "win32":
        assert calls == ["fsync", "replace", "fsync"]


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_the_mode_of_the_ledger_is_kept(path: Path) -> None:
    path.chmod(0o600)
    Accountant.load(path).charge(Budget(0.5), method="m", relation="replace-one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_stays_a_link_to_one_ledger(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    Accountant.load(link).charge(Budget(0.5), method="m", relation="replace-one")
    assert link.is_symlink()
    assert Accountant.load(path).spent == Budget(0.5)


def test_states_lie_beside_the_ledger(path: Path) -> None:
    accountant = Accountant.load(path)
    entry = accountant.charge(Budget(0.5), method="m", relation="replace-one")
    accountant.record(entry.id, {"cells": [1, 2]})
    assert (path.parent / "trial.ledger.released" / f"{entry.id}.json").is_file()
    assert Accountant.load(path).recover(entry.id) == {"cells": [1, 2]}


def test_a_link_in_another_folder_has_the_ledger_of_the_file(tmp_path: Path) -> None:
    """Otherwise a second budget would begin there."""
    data = tmp_path / "confidential" / "data.dta"
    data.parent.mkdir()
    data.touch()
    link = tmp_path / "link.dta"
    try:
        link.symlink_to(data)
    except OSError:
        pytest.skip("this account may make no links")
    assert ledger_path(link, "trial") == ledger_path(data.resolve(), "trial")


@pytest.mark.parametrize("name", ["liberia", "a", "A-1_b.2", "x" * 100])
def test_a_safe_id_is_the_name_of_the_file(name: str) -> None:
    expected = f"folder/{name}.ledger.json"
    assert ledger_path("folder/data.dta", name).as_posix() == expected


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "a b", "é", "-x", ".x", "x.", "x" * 101, "a\n",
     "CON", "nul.x", "com1", "a:b"],
)  # fmt: skip
def test_an_unsafe_id_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="dataset_id"):
        ledger_path("data.dta", name)


def charged_twice(path: Path) -> list[str]:
    accountant = Accountant.load(path)
    ids = []
    for epsilon in (0.5, 0.25):
        entry = accountant.charge(Budget(epsilon), method="m", relation="replace-one")
        accountant.record(entry.id, {"x": epsilon})
        ids.append(entry.id)
    return ids


def test_a_ledger_cut_off_anywhere_is_damaged_and_no_smaller_one(path: Path) -> None:
    """What a crash of ours cut is kept beside the file meanwhile: any other end is damage."""
    charged_twice(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in (lines[:-1], lines[:-2], lines[: len(lines) // 2], [*lines[:-1], lines[-1][:1]]):
        path.write_bytes(b"".join(kept)[:-1])
        with pytest.raises(LedgerError, match="damaged"):
            Accountant.load(path)


def test_an_older_copy_is_missed_by_the_releases_that_it_did_not_pay_for(path: Path) -> None:
    Accountant.load(path).charge(Budget(0.1), method="m", relation="replace-one")
    older = path.read_bytes()
    charged_twice(path)
    path.write_bytes(older)
    with pytest.raises(LedgerError, match="lost entries"):
        Accountant.load(path)


def test_the_file_is_only_appended_to(path: Path) -> None:
    charged_twice(path)
    with pytest.raises(LedgerError, match="only ever appended to"):
        LedgerFile(path).write(EMPTY)
    assert Accountant.load(path).spent == Budget(0.75)


def test_a_state_that_was_edited_is_refused(path: Path) -> None:
    (entry, _) = charged_twice(path)
    state = path.parent / "trial.ledger.released" / f"{entry}.json"
    state.write_bytes(state.read_bytes().replace(b"0.5", b"0.4"))
    with pytest.raises(LedgerError, match="was changed after it was saved"):
        Accountant.load(path).recover(entry)


def test_a_state_saved_and_not_noted_is_still_its_entrys(path: Path) -> None:
    """A crash between the two writes loses nothing: the state's own file is complete."""
    accountant = Accountant.load(path)
    entry = accountant.charge(Budget(0.5), method="m", relation="replace-one")
    LedgerFile(path).save_state(entry.id, {"x": 1})
    assert accountant.is_saved(entry.id)
    assert accountant.recover(entry.id) == {"x": 1}


def test_what_a_killed_process_left_half_written_is_swept(path: Path) -> None:
    child = "import sys, dprct.disk; sys.stdout.write(dprct.disk.draft_name())"
    left = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    states = path.with_name(f"{path.name.removesuffix('.json')}.released")
    states.mkdir()
    drafts = [path.with_name(left.stdout), states / left.stdout]
    for draft in drafts:
        draft.write_bytes(b"{")
    accountant = Accountant.load(path)
    accountant.check_writable()
    accountant.charge(Budget(0.5), method="m", relation="replace-one")
    assert not [draft for draft in drafts if draft.exists()]
