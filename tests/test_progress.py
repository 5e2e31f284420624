from __future__ import annotations

import io
import sys
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct import progress
from dprct.io import read, write
from dprct.io.stata import read_dta
from dprct.progress import saying
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal, in a process that the shell has not begun, and little patience."""
    monkeypatch.delitem(sys.modules, "dprct.cli.main", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    yield Terminal()
    for one in speakers():
        one.join(5)
    assert not speakers()


def speakers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "dprct progress"]


def said_something(terminal: Terminal) -> None:
    for _ in range(500):
        if terminal.getvalue():
            return
        time.sleep(0.01)


def test_what_takes_long_is_said_on_a_terminal(
    alone: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", alone)
    with saying("fitting"):
        said_something(alone)
    assert alone.getvalue() == "dprct: fitting, 0 s\n"


def test_nothing_is_said_where_nobody_reads_or_the_door_speaks(
    alone: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with saying("fitting"):
        assert not speakers()
    monkeypatch.setitem(sys.modules, "dprct.cli.main", progress)
    monkeypatch.setattr(sys, "stderr", alone)
    with saying("fitting"):
        assert not speakers()


def test_work_within_work_is_silent(alone: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", alone)
    with saying("fitting"):
        with saying("reading"):
            assert len(speakers()) == 1
        assert len(speakers()) == 1
    with saying("planning"):
        assert len(speakers()) >= 1


@pytest.mark.parametrize(
    ("suffix", "reader", "inner"),
    [("csv", read, "dprct.io.text._kinds"), ("dta", read_dta, "dprct.io.stata.files.read_table")],
)
def test_reading_is_said(
    suffix: str,
    reader: Callable[[Path], object],
    inner: str,
    alone: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = tmp_path / f"trial.{suffix}"
    write(pd.DataFrame({"got": [1.0, 0.0]}), Schema((Column("got"),)), path)
    home, name = inner.rsplit(".", 1)
    act = getattr(import_module(home), name)

    def slowly(*given: object) -> object:
        said_something(alone)
        return act(*given)

    monkeypatch.setattr(inner, slowly)
    monkeypatch.setattr(sys, "stderr", alone)
    reader(path)
    assert alone.getvalue() == f"dprct: reading 'trial.{suffix}', 0 s\n"


def test_a_failure_ends_it(alone: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", alone)
    with pytest.raises(ZeroDivisionError), saying("fitting"):
        _ = 1 / 0
