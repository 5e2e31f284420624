from __future__ import annotations

import pytest

from dprct.cli.show import allow_any_text, complain, printable, say, working


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


def test_any_stream_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    allow_any_text()
    sys.stdout.write("é")
    sys.stdout.flush()
    assert ascii_only.buffer.getvalue() == b"?"  # type: ignore[attr-defined]
