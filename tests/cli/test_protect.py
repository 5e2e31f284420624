from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dprct.io.compare import compare
from dprct.io.stata import write_dta
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.release.writing import check_target
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Files = dict[str, bytes]


def spent(folder: Path) -> Budget:
    return Accountant.load(folder / "survey-1.ledger.json").spent


def test_check_says_that_nothing_is_open(dprct: Callable[..., Any], study: Path) -> None:
    ran = dprct("check", study)
    assert (ran.code, ran.out, ran.err) == (0, "complete: nothing is open; next: dprct plan\n", "")


def test_check_lists_what_is_open_and_reads_no_data(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], monkeypatch: Any
) -> None:
    import dprct.io.stata as stata

    monkeypatch.setattr(stata, "read_dta", lambda *_a, **_k: pytest.fail("the data were read"))
    edit(("confirm = true", "confirm = false"), ("bounds = [15, 80]", "bounds = [80, 15]"))
    ran = dprct("check", study)
    assert ran.code == 1
    assert "reversed or empty" in ran.out
    assert "from file: confirm" in ran.out
    assert ran.out.strip().splitlines()[-1].endswith("open points")
    assert all(line.startswith("- ") for line in ran.out.strip().splitlines()[:-1])


def test_check_finds_an_unknown_column(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None]
) -> None:
    edit(("[columns.age]", "[columns.agee]"))
    ran = dprct("check", study)
    assert ran.code == 1
    assert "no column 'agee' in the schema; did you mean 'age'?" in ran.out


def test_check_holds_the_release_against_the_budget_of_the_study(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    edit(("epsilon = 1.0", "epsilon = 1.6"))
    before = files()
    ran = dprct("check", study)
    assert (ran.code, ran.out.count("\n")) == (1, 2)
    assert "[release] asks for epsilon = 1.6, and [budget] allows epsilon = 1.5 in all" in ran.out
    assert dprct("protect", study, "--yes").code == 2
    assert files() == before  # no ledger is begun that then refuses


def test_check_holds_the_release_against_what_is_left_in_the_ledger(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    dprct("protect", study, "--yes")
    before = files()
    ran = dprct("check", study)
    assert ran.code == 1
    assert "ledger of 'survey-1': asked for epsilon=1, epsilon=0.5 of epsilon=1.5" in ran.out
    edit(("epsilon = 1.0", "epsilon = 0.5\nconfirm = true"))
    assert dprct("check", study).code == 0
    edit(("epsilon = 1.5", "epsilon = 2.5"))
    ran = dprct("check", study)
    assert ran.code == 1
    assert "has epsilon 1.5, which is not what was asked for (epsilon 2.5)" in ran.out
    after = files()
    assert all(after[name] == text for name, text in before.items() if name != study.name)
    assert after.keys() == before.keys()


def test_plan_prints_public_facts_and_spends_nothing(
    dprct: Callable[..., Any], study: Path, files: Callable[[], Files]
) -> None:
    before = files()
    ran = dprct("plan", study)
    assert ran.code == 0
    for part in ("Plan: MVHistogram", "500 rows", "12 cells", "epsilon=1"):
        assert part in ran.out
    assert files() == before


def test_protect_writes_file_certificate_and_ledger(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    ran = dprct("protect", study, "--yes")
    assert (ran.code, ran.err) == (0, "")
    for part in ("This charges epsilon=1 to the ledger of 'survey-1'", "Protected table: 500 rows",
                 "survey_protected.dta with its certificate", "key: unit"):  # fmt: skip
        assert part in ran.out
    assert {path.name for path in folder.iterdir() if path.is_file()} >= {
        "survey_protected.dta", "survey_protected.certificate.txt",
        "survey_protected.certificate.json", "survey_protected.certificate.html",
        "survey-1.ledger.json",
    }  # fmt: skip
    assert compare(folder / "survey.dta", folder / "survey_protected.dta").unexpected == ()
    assert spent(folder) == Budget(1)
    assert "Aurelia" not in ran.out


def test_a_second_run_exceeds_the_budget_and_changes_nothing(
    dprct: Callable[..., Any], study: Path, files: Callable[[], Files]
) -> None:
    dprct("protect", study, "--yes")
    before = files()
    ran = dprct("protect", study, "--yes")
    assert ran.code == 3
    assert ran.err.startswith("refused: ")
    assert files() == before


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 3), ("\n", 3), ("", 3), ("yeah\n", 3)]
)
def test_the_question_on_a_terminal(
    answer: str,
    code: int,
    dprct: Callable[..., Any],
    study: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)
    ran = dprct("protect", study)
    assert ran.code == code
    assert "Release now? [y/N]" in ran.err
    assert "Release now" not in ran.out
    assert (folder / "survey_protected.dta").exists() is (code == 0)
    assert (folder / "survey-1.ledger.json").exists() is (code == 0)


@pytest.mark.parametrize("stdin", [io.StringIO("y\n"), None], ids=["a file", "closed"])
def test_without_a_terminal_yes_must_be_said(
    stdin: Any, dprct: Callable[..., Any], study: Path, files: Callable[[], Files], monkeypatch: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    before = files()
    ran = dprct("protect", study)
    assert ran.code == 3
    assert "no terminal to ask on; give --yes" in ran.err
    assert files() == before


def test_yes_does_not_ask(dprct: Callable[..., Any], study: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(builtins, "input", lambda *_: pytest.fail("asked"))
    assert dprct("protect", study, "-y").code == 0


@pytest.mark.filterwarnings("default:n / K is below t")
def test_yes_does_not_confirm_a_refused_plan(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    edit(("epsilon = 1.0", "epsilon = 0.01"))
    before = files()
    ran = dprct("protect", study, "--yes")
    assert ran.code == 3
    assert "confirm = true" in ran.err
    assert files() == before
    edit(("epsilon = 0.01", "epsilon = 0.01\nconfirm = true"))
    assert dprct("protect", study, "--yes").code == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("epsilon = 1.0", "epsilonn = 1.0", "unknown key 'epsilonn' in [release]; did you mean"),
        ("epsilon = 1.0", "epsilon = 0", "[release] epsilon = 0 allows no release"),
        ("epsilon = 1.0", "epsilon = inf", "not finite"),
        ("survey.dta", "none.dta", "does not exist; check the path"),
        ('"survey.dta"', '"."', "error: "),
        ("survey.dta", "study.toml", "error: "),
        ("levels = [0, 1]", "levels = [0, 5]", "got: a value outside the declared levels"),
        ("levels = [0, 1]", "", "neither bounds nor levels"),
        ('fate = "drop"', "", "column 'name' has no fate"),
        ("confirm = true", "confirm = false", "from file: confirm"),
        ('keep = ["note1"]', 'output = "survey.dta"', "may be a confidential file"),
        ('keep = ["note1"]', 'output = "none/x.dta"', "does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    old: str,
    new: str,
    words: str,
    dprct: Callable[..., Any],
    study: Path,
    edit: Callable[..., None],
    files: Callable[[], Files],
) -> None:
    edit((old, new))
    before = files()
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err
    assert "Aurelia" not in ran.err
    assert files() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["survey.dta", "study.toml"])
def test_without_permission(
    name: str, dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    (folder / name).chmod(0)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert ran.err.startswith("error: ")


def test_a_refused_permission_is_one_sentence(
    dprct: Callable[..., Any], study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refusing(file: Any, *args: Any, **options: Any) -> Any:
        if str(file).endswith("survey.dta"):
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return real(file, *args, **options)

    monkeypatch.setattr(os, "open", refusing)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert not (folder / "survey-1.ledger.json").exists()


def _full_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let the disk be full from the ``after``-th flush on."""
    calls, real = [0], os.fsync

    def full(handle: int) -> None:
        calls[0] += 1
        if calls[0] > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)


def test_a_full_disk_charges_nothing_if_it_is_full_before(
    dprct: Callable[..., Any], study: Path, files: Callable[[], Files], monkeypatch: Any
) -> None:
    before = files()
    _full_disk(monkeypatch, 0)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert "does not fit on the disk" in ran.err
    assert files() == before


@pytest.mark.parametrize("after", range(1, 16))
def test_a_disk_that_fills_up_leaves_no_half_of_a_file(
    after: int, dprct: Callable[..., Any], study: Path, folder: Path, monkeypatch: Any
) -> None:
    with monkeypatch.context() as patch:
        _full_disk(patch, after)
        ran = dprct("protect", study, "--yes")
    out = folder / "survey_protected.dta"
    assert ran.code in (0, 2, 3)
    beside = (".certificate.json", ".certificate.txt")
    assert {out.exists()} == {out.with_suffix(suffix).exists() for suffix in beside}
    assert out.exists() or ran.code != 0
    if out.exists():
        check_target(out)
    left = {path.name for path in folder.iterdir()}
    left.discard(".survey-1.ledger.json.pending")  # by which the next charge mends the ledger
    assert not [name for name in left if name.startswith(".") or name.endswith((".part", ".tmp"))]
    if not out.exists() and (folder / "survey-1.ledger.json").exists():
        told = ("the budget is charged", "stays charged", "cannot write")
        assert any(words in ran.err for words in told) or spent(folder) == Budget(0)


@pytest.mark.parametrize("step", ["bound_model", "protected"])
def test_an_interruption_is_130(
    step: str, dprct: Callable[..., Any], study: Path, files: Callable[[], Files], monkeypatch: Any
) -> None:
    import dprct.study.offer as module

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    before = files()
    monkeypatch.setattr(module, step, interrupted)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 130
    assert "interrupted; nothing half written is left" in ran.err
    assert files() == before


def test_a_defect_shows_no_value(
    dprct: Callable[..., Any], study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dprct.study.offer as module

    def broken(*_arguments: object) -> None:
        raise RuntimeError("Aurelia-Quint is 47")

    monkeypatch.setattr(module, "bound_model", broken)
    ran = dprct("protect", study, "--yes")
    assert ran.code == 70
    assert "RuntimeError in tests.cli.test_protect.broken, line" in ran.err
    assert "Aurelia" not in ran.err + ran.out


def approval_hash(words: str) -> str:
    (line,) = [line for line in words.splitlines() if line.startswith("Approval hash: ")]
    return line.removeprefix("Approval hash: ")


def test_plan_writes_a_page_to_sign_and_spends_nothing(
    dprct: Callable[..., Any], study: Path, folder: Path, files: Callable[[], Files]
) -> None:
    before = files()
    page = folder / "plan.html"
    ran = dprct("plan", study, "--html", page)
    assert (ran.code, ran.err) == (0, "")
    assert approval_hash(ran.out) in page.read_text("utf-8")
    assert set(files()) - set(before) == {"plan.html"}
    assert dprct("plan", study, "--html", page).code == 0  # such a page may be replaced


@pytest.mark.parametrize("name", ["mine.html", "study.toml", "plan.txt"])
def test_plan_replaces_no_other_file(
    dprct: Callable[..., Any], study: Path, folder: Path, name: str
) -> None:
    (folder / "mine.html").write_text("<!DOCTYPE html><title>mine</title>", "utf-8")
    ran = dprct("plan", study, "--html", folder / name)
    assert ran.code == 2
    assert repr(name) in ran.err
    assert "mine" in (folder / "mine.html").read_text("utf-8")


def test_an_approved_study_is_released(dprct: Callable[..., Any], study: Path) -> None:
    approved = approval_hash(dprct("plan", study).out)
    assert dprct("protect", study, "--yes", "--approved", approved).code == 0


def test_a_changed_study_is_refused_before_anything_is_spent(
    dprct: Callable[..., Any],
    study: Path,
    edit: Callable[..., None],
    files: Callable[[], Files],
) -> None:
    approved = approval_hash(dprct("plan", study).out)
    edit(("bins = [30, 50]", "bins = [30, 51]"))
    before = files()
    ran = dprct("protect", study, "--yes", "--approved", approved)
    assert ran.code == 3
    assert ran.err.startswith("refused: the study is not the one that was approved: its hash is ")
    assert approved in ran.err
    assert files() == before


def test_check_says_once_that_a_header_is_to_be_confirmed(
    dprct: Callable[..., Any], folder: Path
) -> None:
    names = [f"answer{k}" for k in range(30)]
    data = pd.DataFrame({name: [0.0, 1.0] * 5 for name in names})
    columns = tuple(Column(name, "byte") for name in names)
    write_dta(data, Schema(columns, file=FileFacts(label="Round 2")), folder / "wide.dta")
    (folder / "wide.toml").write_text(
        'version = 1\ndata = "wide.dta"\ndataset_id = "wide"\n[release]\nmethod = "marginals"\n'
        'epsilon = 1.0\n[study]\nrest = "withheld"\n[columns]\n'
        'answer3 = {fate = "modelled", levels = [0, 1], missing = "never"}\n', "utf-8",
    )  # fmt: skip
    ran = dprct("check", folder / "wide.toml")
    assert ran.code == 1
    assert "label sets of 30 columns come from the confidential file" in ran.out
    assert "the file ('_dta'): data set label 'Round 2' from file: confirm" in ran.out
    assert ran.out.splitlines()[-1] == "2 open points"


def test_a_plan_is_drawn_as_a_picture(dprct: Callable[..., Any], study: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = study.with_name("plan.svg")
    found = dprct("plan", study, "--picture", picture)
    assert (found.code, f"wrote {picture}" in found.out) == (0, True)
    drawn = picture.read_text("utf-8")
    assert drawn.startswith("<?xml")
    assert drawn.rstrip().endswith("</svg>")
    for wrong, says in ((picture, "exists"), (study.with_name("plan.txt"), "end it in .png")):
        refused = dprct("plan", study, "--picture", wrong)
        assert (refused.code, says in refused.err) == (2, True)
    assert picture.read_text("utf-8") == drawn


def test_a_release_says_its_guarantee_once_and_all_of_it_when_asked(
    dprct: Callable[..., Any], study: Path
) -> None:
    short = dprct("protect", study, "--yes").out
    assert short.count("ifferential privacy with epsilon") == 1
    assert "It takes as public" not in short
    assert len(short.splitlines()) <= 45
    entry = next(iter(Accountant.load(study.parent / "survey-1.ledger.json").ledger)).id
    whole = dprct("protect", study, "--yes", "--resume", entry, "--long").out
    assert "It takes as public" in whole
