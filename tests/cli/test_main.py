from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from dprct.cli import main as run_main
from dprct.cli.main import COMMANDS, DEFECT, guarded, loaded
from dprct.errors import BudgetError, ConfirmationError, DprctWarning, LedgerError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODULES = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules)))\n"


def test_the_console_entry_is_the_application(checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"]["dprct"] == "dprct.__main__:main"


def test_help_names_every_command_and_the_exit_codes(dprct: Callable[..., Any]) -> None:
    ran = dprct("--help")
    assert ran.code == 0
    for word in ("describe", "check", "plan", "protect", "compare", "demo", "Exit codes", "130"):
        assert word in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_the_command_says(name: str) -> None:
    words = inspect.cleandoc(loaded(name).help).split("\n\n")[0]
    assert COMMANDS[name][1] == " ".join(words.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_of_a_help_is_taken_for_markup(name: str) -> None:
    helps = [loaded(name).help, *(getattr(one, "help", "") for one in loaded(name).params)]
    assert not [text for text in helps if re.search(r"\[[a-z/]", text or "")]


def test_only_the_command_that_is_asked_for_is_imported(
    shell: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for arguments in (["--version"], ["--help"]):
        found = set(shell(*arguments, before=MODULES).stdout.split())
        assert "dprct.cli.main" in found
        assert found.isdisjoint({"pandas", "scipy", "dprct.estimate", "dprct.study"}), arguments
    found = set(shell("verify", "--help", before=MODULES).stdout.split())
    assert "dprct.cli.verify" in found
    assert found.isdisjoint({"dprct.cli.protect", "dprct.cli.demo"})


@pytest.mark.parametrize("name", COMMANDS)
def test_help_imports_neither_pandas_nor_scipy(
    name: str, shell: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    found = set(shell(name, "--help", before=MODULES).stdout.split())
    assert "dprct.cli.main" in found
    assert found.isdisjoint({"pandas", "scipy", "dprct.estimate", "dprct.study.study"})


@pytest.mark.parametrize("name", ["ledger", "check"])
def test_what_reads_no_rows_imports_neither_pandas_nor_pydantic(
    name: str, study: Path, shell: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    run = shell(name, study, before=MODULES)
    found = set(run.stdout.split())
    assert f"dprct.cli.{name}" in found
    assert found.isdisjoint({"pandas", "pydantic", *(["scipy"] if name == "ledger" else [])}), run


@pytest.mark.parametrize("name", COMMANDS)
def test_words_become_options_as_typer_would_make_them(name: str) -> None:
    command = loaded(name)
    context = command.context_class(command)
    options = command.get_params(context)
    if not hasattr(options[0], "get_runtime_param"):
        pytest.skip("this typer converts words without pydantic, and is left as it is")
    for option in options:
        mine, theirs = option.get_runtime_param(), type(option).get_runtime_param(option)
        for value in (None, "a//b/../c", "", "-", "3", __file__, ["a", ""], []):
            made = [_outcome(one.coerce, value, option, context) for one in (mine, theirs)]
            assert made[0] == made[1], (option.name, value)


def _outcome(convert: Callable[..., Any], *given: Any) -> Any:
    try:
        made = convert(*given)
    except Exception as error:
        return type(error), str(error)
    return type(made), made


def test_the_version_is_that_of_the_package(dprct: Callable[..., Any]) -> None:
    import dprct as package

    ran = dprct("--version")
    assert (ran.code, ran.out) == (0, f"dprct {package.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["protect"], ["protect", "a", "b"], ["check", "x", "--why"]]
)
def test_wrong_usage_is_2(arguments: list[str], dprct: Callable[..., Any]) -> None:
    ran = dprct(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage" in ran.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (SchemaError("a sentence"), 2, "error: a sentence"),
        (BudgetError("a sentence"), 3, "refused: a sentence"),
        (ConfirmationError("a sentence"), 3, "refused: a sentence"),
        (LedgerError("a sentence"), 3, "refused: a sentence"),
        (PermissionError(13, "Permission denied", "x.dta"), 2, "error: Permission denied (x.dta)"),
        (OSError("odd"), 2, "error: OSError; correct"),
        (KeyboardInterrupt(), 130, "interrupted; nothing half written is left"),
        (ValueError("Aurelia-Quint"), 70, "a defect of dprct: ValueError in "),
        (MemoryError(), 2, "error: this needs more memory than there is; free some of it"),
    ],
)
def test_every_end_has_a_code_and_a_sentence(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import typer

    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    assert ended.value.exit_code == code
    wrote = capsys.readouterr()
    assert wrote.out == ""
    assert words in wrote.err
    assert "Aurelia" not in wrote.err
    assert "Traceback" not in wrote.err
    if code == DEFECT:
        assert re.search(r"in \S*test_main\.command, line \d+; please report", wrote.err)


def test_warnings_are_notes_and_the_old_way_of_showing_them_returns(
    study: Path, edit: Callable[..., None], dprct: Callable[..., Any]
) -> None:
    edit(("epsilon = 1.0", "epsilon = 0.05\nconfirm = true"))
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("default", DprctWarning)
        ran = dprct("protect", study, "--yes")
    assert ran.code == 0
    assert "note: n / K is below t" in ran.err
    assert warnings.showwarning is before


@pytest.mark.long
def test_a_process_of_its_own_ends_alike(
    shell: Callable[..., subprocess.CompletedProcess[str]], study: Path, folder: Path
) -> None:
    done = shell("protect", study, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote" in done.stdout
    again = shell("protect", study, "--yes")
    assert again.returncode == 3
    assert "refused: " in again.stderr
    assert "Traceback" not in again.stderr
    assert shell("check", folder / "none.toml").returncode == 2


def test_a_console_without_unicode_shows_question_marks(
    shell: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    done = shell("describe", folder / "survey.dta", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "got the r?sultat" in done.stdout


NO_NETWORK = """
import sys
def watch(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")):
        sys.stdout.flush()
        import os
        os.write(2, f"opened a connection: {event}".encode())
        os._exit(99)
sys.addaudithook(watch)
"""


@pytest.mark.long
def test_nothing_opens_a_connection(
    shell: Callable[..., subprocess.CompletedProcess[str]], study: Path, folder: Path
) -> None:
    for arguments in (
        ["describe", folder / "survey.dta"],
        ["check", study],
        ["plan", study],
        ["protect", study, "--yes"],
        ["compare", folder / "survey.dta", folder / "survey_protected.dta"],
    ):
        done = shell(*arguments, before=NO_NETWORK)
        assert done.returncode == 0, done.stderr
    caught = shell("--help", before=NO_NETWORK + "import socket; socket.socket()\n")
    assert caught.returncode == 99


INTERRUPTED = """
import dprct.release.release as model, time
def slow(*arguments, **options):
    print("READY", flush=True)
    time.sleep(60)
model.assembled = slow
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_leaves_nothing_half_written(
    checkout: Path, study: Path, files: Callable[[], dict[str, bytes]]
) -> None:
    before = files()
    # a shell lets what it starts in the background ignore Ctrl-C, and so these tests too
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code += INTERRUPTED + "import sys; from dprct.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "protect", str(study), "--yes"],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    while "READY" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; nothing half written is left" in err
    after = {name: content for name, content in files().items() if "ledger" not in name}
    assert after == before


def test_main_is_what_the_package_offers() -> None:
    with pytest.raises(SystemExit) as ended:
        run_main(["--help"])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("words", "at", "offered"),
    [("dprct pr", 1, "protect"), ("dprct table --no", 2, "--no-guarantee")],
)
def test_a_shell_completes_commands_and_options(
    shell: Any, words: str, at: int, offered: str
) -> None:
    asked = {"_DPRCT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    assert shell(
        env=asked, before="sys = __import__('sys'); sys.argv[0] = 'dprct'; "
    ).stdout.split() == [offered]
