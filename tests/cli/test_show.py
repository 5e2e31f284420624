from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from dprct.cli import show
from dprct.cli.show import allow_any_text, complain, printable, say, working
from dprct.study import headers, ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("text", ["[red]x[/red]", ":warning: a:b", "é 数 [/]", "x" * 400, "1.50"])
def test_text_is_printed_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    complain(text, "red")
    wrote = capsys.readouterr()
    assert (wrote.out, wrote.err) == (text + "\n", text + "\n")


def test_what_steers_a_terminal_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[2Jb\x07c\u202ed\ne")
    assert capsys.readouterr().out == "a [2Jb c d\ne\n"
    assert printable("\udcff") == " "


def test_progress_goes_to_standard_error_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with working("counting"):
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", [["describe", "survey.csv"], ["check"], ["plan"], ["protect"]])
def test_a_terminal_shows_that_a_file_is_read(
    command: list[str],
    dprct: Callable[..., Any],
    folder: Path,
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wide .csv is read for minutes, as it has no header that could be read first."""
    terminal = io.StringIO()
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setattr(show, "errors", Console(file=terminal, _environ={"TERM": "xterm"}))
    read, seen = headers.facts_of_file, []

    def slowly(*given: Any) -> Any:
        for _ in range(500):
            if "reading" in terminal.getvalue():
                break
            time.sleep(0.01)
        seen.append("reading" in terminal.getvalue())
        return read(*given)

    for module in (headers, ready):
        monkeypatch.setattr(module, "facts_of_file", slowly)
    (folder / "survey.csv").write_text("got,age\n1,30\n", "utf-8")
    given = [folder / command[1]] if len(command) > 1 else [study]
    dprct(command[0], *given)
    assert seen
    assert all(seen)


def test_any_stream_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    allow_any_text()
    sys.stdout.write("é")
    sys.stdout.flush()
    assert ascii_only.buffer.getvalue() == b"?"  # type: ignore[attr-defined]
