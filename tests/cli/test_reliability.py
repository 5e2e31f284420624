"""What a release leaves where it cannot be saved, written or finished, and what strangers ask."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.entries import digest_after, last_line
from dprct.privacy.ledger import LedgerFile
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and links are POSIX")
Files = dict[str, bytes]


def test_states_that_cannot_be_saved_cost_nothing(
    dprct: Callable[..., Any], study: Path, folder: Path, files: Callable[[], Files]
) -> None:
    (folder / "survey-1.ledger.released").write_bytes(b"a file where the folder should be")
    before = files()
    for _ in range(2):
        ran = dprct("protect", study, "--yes")
        assert ran.code == 3
        assert "nothing can be saved in" in ran.err
    assert Accountant.load(folder / "survey-1.ledger.json").spent == Budget(0)
    assert all(files()[name] == content for name, content in before.items())


@pytest.mark.parametrize("length", [229, 237, 245, 249])
def test_a_name_too_long_for_what_goes_with_the_file_costs_nothing(
    length: int, dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    edit(('keep = ["note1"]', f'output = "{"x" * length}.dta"'))
    ran = dprct("protect", study, "--yes")
    done = length + len(".certificate.html") <= 255
    assert (ran.code == 0) is done
    assert ("too long" in ran.err) is not done
    assert (folder / "survey-1.ledger.json").exists() is done


@posix
def test_a_disk_without_room_for_the_rows_costs_nothing(
    dprct: Callable[..., Any], study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert "does not fit on the disk" in ran.err
    assert not (folder / "survey-1.ledger.json").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("../out.dta", "outside the folder"),
        ("a/../../out.dta", "outside the folder"),
        ("/tmp/out.dta", "outside the folder"),
        ("..\\\\out.dta", "outside the folder"),
        ("C:\\\\out.dta", "outside the folder"),
        ("a\\u001b[2J.dta", "cannot be seen"),
        ("a\\u202e.dta", "cannot be seen"),
        ("a\\u0000.dta", "cannot be seen"),
    ],
)
def test_the_output_of_a_stranger_stays_in_the_folder(
    output: str, words: str, dprct: Callable[..., Any], study: Path, edit: Callable[..., None]
) -> None:
    edit(('keep = ["note1"]', f'output = "{output}"'))
    for command in (("check",), ("protect", "--yes")):
        ran = dprct(command[0], study, *command[1:])
        assert ran.code == 2
        assert words in ran.err
        assert "\x1b" not in ran.err


@pytest.mark.parametrize("name", ["\udcfe.dta", "a\x1b[2J.dta", "\u202etad.dta"])
def test_a_name_on_the_command_line_that_cannot_be_seen_costs_nothing(
    name: str, dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    ran = dprct("protect", study, "--yes", "--output", folder / name)
    assert (ran.code, "cannot be seen" in ran.err) == (2, True)
    assert not (folder / "survey-1.ledger.json").exists()


@posix
def test_an_output_through_a_link_stays_in_the_folder_unless_the_command_line_says_so(
    dprct: Callable[..., Any], study: Path, folder: Path, tmp_path: Path, edit: Callable[..., None]
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (folder / "near").symlink_to(far)
    edit(('keep = ["note1"]', 'output = "near/out.dta"'))
    ran = dprct("protect", study, "--yes")
    assert (ran.code, "through a link" in ran.err) == (2, True)
    assert list(far.iterdir()) == []
    assert dprct("protect", study, "--yes", "--output", far / "out.dta").code == 0
    assert (far / "out.certificate.json").exists()
    assert "written to out.dta" in dprct("ledger", study, "--output", far / "out.dta").out


def test_the_same_data_under_another_id_are_a_second_budget_only_with_a_reason(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    edit(
        ('dataset_id = "survey-1"', 'dataset_id = "survey-2"'),
        ("[release]", '[release]\noutput = "2.dta"'),
    )
    shutil.copy(folder / "survey.dta", folder / "copy.dta")
    edit(('data = "survey.dta"', 'data = "copy.dta"'))
    ran = dprct("check", study)
    assert (ran.code, "those of data set 'survey-1' (epsilon=1 spent)" in ran.out) == (1, True)
    assert "the same data were charged to data set 'survey-1'" in dprct("plan", study).err
    ran = dprct("protect", study, "--yes")
    assert (ran.code, "[budget] separate" in ran.err) == (3, True)
    assert not (folder / "survey-2.ledger.json").exists()
    edit(("[budget]", '[budget]\nseparate = "the custodian allows both"'))
    assert dprct("check", study).code == 0
    assert dprct("protect", study, "--yes").code == 0
    text = " ".join((folder / "2.certificate.txt").read_text("utf-8").split())
    assert "charged to data set 'survey-1' (epsilon=1 spent), which is not in this sum" in text
    assert "because: the custodian allows both" in text
    assert "because: the custodian allows both" in dprct("ledger", study).out


def test_a_ledger_beside_the_data_that_cannot_be_read_is_no_proof_of_anything(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    (folder / "other.ledger.json").write_bytes(b"{")
    ran = dprct("protect", study, "--yes")
    assert (ran.code, "other.ledger.json is damaged" in ran.err) == (3, True)


def resealed(path: Path) -> None:
    """Take the last entry away and compute every hash again, as somebody who wants budget would."""
    *lines, _ = path.read_bytes().splitlines(keepends=True)
    entries = [k for k, line in enumerate(lines) if line.startswith(b',{"entry"')]
    whole = LedgerFile(path).read()
    kept = [line for k, line in enumerate(lines) if k < entries[-1]]
    from dataclasses import replace

    short = replace(whole, entries=tuple(whole.entries)[:-1], running=None)
    digest = digest_after("", kept)
    path.write_bytes(b"".join(kept) + last_line(short, digest))


def test_a_ledger_that_contradicts_a_certificate_is_named(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    assert dprct("protect", study, "--yes").code == 0
    assert dprct("ledger", study).code == 0
    shutil.rmtree(folder / "survey-1.ledger.released")
    resealed(folder / "survey-1.ledger.json")
    assert Accountant.load(folder / "survey-1.ledger.json").spent == Budget(0)
    ran = dprct("ledger", study)
    assert ran.code == 1
    assert "CONTRADICTED: the certificate of survey_protected.dta needs" in ran.out
    ran = dprct("ledger", study, "--json")
    assert (ran.code, len(json.loads(ran.out)["contradicted"])) == (1, 1)
    assert dprct("verify", folder / "survey_protected.dta").code == 1


@pytest.mark.long
@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupt_in_the_middle_of_the_moves_leaves_a_whole_release(
    number: int, code: int, shell: Callable[..., Any], study: Path, folder: Path,
    dprct: Callable[..., Any],
) -> None:  # fmt: skip
    interrupting = (
        "import os\nfrom dprct import disk\nmove = disk._move\n"
        f"disk._move = lambda a, b: (os.kill(os.getpid(), {int(number)}), move(a, b))\n"
    )
    ran = shell("protect", study, "--yes", before=interrupting)
    assert (ran.returncode, ran.stderr) == (code, "interrupted; nothing half written is left\n")
    assert dprct("verify", folder / "survey_protected.dta").code == 0
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@posix
def test_a_kill_in_the_middle_of_the_moves_is_mended_by_the_next_command(
    shell: Callable[..., Any], study: Path, folder: Path, dprct: Callable[..., Any]
) -> None:
    killing = (
        "import os\nfrom dprct import disk\nmove, count = disk._move, []\n"
        "def once(a, b):\n    count.append(1)\n    len(count) < 3 or os.kill(os.getpid(), 9)\n"
        "    move(a, b)\ndisk._move = once\n"
    )
    assert shell("protect", study, "--yes", before=killing).returncode == -9
    assert not (folder / "survey_protected.dta").exists()
    assert [path for path in folder.iterdir() if path.name.startswith(".dprct-")]
    dprct("check", study)
    assert dprct("verify", folder / "survey_protected.dta").code == 0
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_while_it_starts_prints_no_traceback(
    number: int, code: int, checkout: Path
) -> None:
    """The import that it falls into is made to take a while, so that it surely does."""
    slow = (
        "import sys, time, builtins\nreal = builtins.__import__\n"
        "def slow(name, *a, **k):\n"
        "    if name == 'typer':\n        print('started', flush=True); time.sleep(30)\n"
        "    return real(name, *a, **k)\n"
        "builtins.__import__ = slow\nfrom dprct.__main__ import main\nmain()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, "interrupted; nothing was done\n")


@posix
@pytest.mark.parametrize("name", ["survey.dta", "study.toml", "survey-1.ledger.json"])
@pytest.mark.parametrize("command", ["check", "plan", "protect", "ledger", "table"])
def test_no_command_hangs_on_a_pipe(
    name: str, command: str, dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    ran = dprct(command, study, *["--yes"] * (command == "protect"))
    assert ran.code in (0, 1, 2, 3)
    reads = {"survey.dta": "check plan protect", "survey-1.ledger.json": "check protect ledger"}
    if command in reads.get(name, command):
        words = ran.err + ran.out
        assert "not an ordinary file" in words or "declares no table" in words


def test_names_in_other_capitals_are_one_release(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None],
    files: Callable[[], Files],
) -> None:  # fmt: skip
    edit(("epsilon = 1.0", "epsilon = 0.5\nconfirm = true"))
    assert dprct("protect", study, "--yes").code == 0
    before = files()
    edit(('keep = ["note1"]', 'output = "survey_protected.DTA"'))
    ran = dprct("protect", study, "--yes")
    assert (ran.code, "are one file on some disks" in ran.err) == (2, True)
    assert {k: v for k, v in files().items() if k != study.name} == {
        k: v for k, v in before.items() if k != study.name
    }


def test_a_second_study_does_not_replace_the_papers_of_the_first(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    edit(("epsilon = 1.0", "epsilon = 0.5\nconfirm = true"))
    assert dprct("protect", study, "--yes").code == 0
    first = (folder / "survey_protected.README-data.md").read_bytes()
    edit(('keep = ["note1"]', 'output = "second.dta"'))
    assert dprct("protect", study, "--yes").code == 0
    assert (folder / "survey_protected.README-data.md").read_bytes() == first
    shown = dprct("ledger", study).out
    assert "written to survey_protected.dta" in shown
    assert "written to second.dta" in shown
    assert "free to resume" not in shown


@posix
def test_commands_take_little_memory(
    dprct: Callable[..., Any],
    study: Path,
    shell: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """What reads a ledger or a certificate asks for no more than there is in it."""
    assert dprct("protect", study, "--yes").code == 0
    bound = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for command in (("ledger", study), ("verify", load_study(study).output)):
        run = shell(*command, before=bound, env=one)
        assert run.returncode == 0, run.stderr
