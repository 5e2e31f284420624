from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from dprct import progress
from dprct.progress import saying


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal, in a process that neither the shell nor R has begun, and little patience."""
    for module in ("dprct.cli.main", "dprct.rbridge"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    return Terminal()


def speakers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "dprct progress"]


def test_what_takes_long_is_said_on_a_terminal(
    alone: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", alone)
    with saying("fitting"):
        for _ in range(500):
            if alone.getvalue():
                break
            time.sleep(0.01)
    assert alone.getvalue() == "dprct: fitting, 0 s\n"
    for one in speakers():
        one.join(5)
    assert not speakers()


def test_nothing_is_said_where_nobody_reads_or_the_door_speaks(
    alone: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with saying("fitting"):
        assert not speakers()
    monkeypatch.setitem(sys.modules, "dprct.rbridge", progress)
    monkeypatch.setattr(sys, "stderr", alone)
    with saying("fitting"):
        assert not speakers()


def test_a_failure_ends_it(alone: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", alone)
    with pytest.raises(ZeroDivisionError), saying("fitting"):
        _ = 1 / 0
    for one in speakers():
        one.join(5)
    assert not speakers()
