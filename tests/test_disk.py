"""Ordinary files only, locks, leftovers of dead processes, and interrupts that wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
import tomlkit

import dprct
from dprct import disk
from dprct.errors import DprctError, FileError
from dprct.privacy.accountant import Accountant
from dprct.schema.toml import load

if TYPE_CHECKING:
    from collections.abc import Callable

posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are POSIX")


@posix
@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_only_ordinary_files_are_opened(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        import socket

        monkeypatch.chdir(tmp_path)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")
    with pytest.raises(FileError, match=f"not an ordinary file but a {kind}"):
        disk.opened(path)


DOORS: dict[str, Callable[[Path], object]] = {
    "read .dta": lambda p: dprct.read_dta(p.with_suffix(".dta")),
    "read .csv": lambda p: dprct.read(p.with_suffix(".csv")),
    "read .parquet": lambda p: dprct.read(p.with_suffix(".parquet")),
    "read .sav": lambda p: dprct.read(p.with_suffix(".sav")),
    "header": lambda p: dprct.Schema.from_dta(p.with_suffix(".dta")),
    "compare": lambda p: dprct.compare(p.with_suffix(".dta"), p.with_suffix(".dta")),
    "verify": lambda p: dprct.verify(p.with_suffix(".dta")),
    "schema": lambda p: load(p.with_suffix(".toml")),
    "ledger": lambda p: Accountant.load(p.with_suffix(".json")),
    "moments": lambda p: dprct.Moments.load(p.with_suffix(".json")),
    "certificate": lambda p: dprct.verify(p, p.with_suffix(".json")),
}


@posix
@pytest.mark.parametrize("door", DOORS)
def test_no_door_hangs_on_a_pipe(door: str, tmp_path: Path) -> None:
    for suffix in (".dta", ".csv", ".parquet", ".sav", ".toml", ".json"):
        os.mkfifo(tmp_path / f"x{suffix}")
    with pytest.raises(DprctError, match=r"not an ordinary file|no certificate"):
        DOORS[door](tmp_path / "x")


def test_what_is_too_long_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    with path.open("wb") as file:
        file.truncate(disk.MOST_TOML + 1)
    with pytest.raises(FileError, match="more than 16 MB"):
        load(path)
    assert disk.content(path, disk.MOST_TOML + 1) == bytes(disk.MOST_TOML + 1)


def dead() -> int:
    """The id of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid


@posix
def test_what_dead_processes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    mine, gone = disk.draft_name(), disk.draft_name().replace(str(os.getpid()), str(dead()))
    (tmp_path / f"{gone}.part").write_bytes(b"x")
    (tmp_path / gone).mkdir()
    (tmp_path / gone / "a.dta").write_bytes(b"half")
    others = (mine, f"{mine}.part", ".dprct-notes", gone.replace(disk._HOST, "0" * 8))
    for name in others:
        (tmp_path / name).write_bytes(b"x")
    disk.sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(others)


@posix
def test_moves_that_had_begun_are_finished(tmp_path: Path) -> None:
    gone = tmp_path / disk.draft_name().replace(str(os.getpid()), str(dead()))
    gone.mkdir()
    (tmp_path / "a.json").write_bytes(b"new")
    (tmp_path / "a.dta").write_bytes(b"old")
    (gone / "a.dta").write_bytes(b"new")
    (gone / "MOVES").write_text("a.json\na.dta\n../b", "utf-8")
    disk.sweep(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "a.json": b"new", "a.dta": b"new",
    }  # fmt: skip


def test_all_files_take_their_names_or_none(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a").write_bytes(b"old")
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == "c":
            raise OSError(28, "No space left on device")
        replace(source, target)

    with disk.drafts(tmp_path) as place:
        for name in "abc":
            (place / name).write_bytes(b"new")
        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(OSError, match="No space"):
            disk.move_all(place, tmp_path, "abc")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"old"}


@posix
def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "far").write_bytes(b"far")
    (tmp_path / "a").symlink_to(tmp_path / "far")
    with disk.drafts(tmp_path) as place:
        (place / "a").write_bytes(b"new")
        disk.move_all(place, tmp_path, "a")
    assert (tmp_path / "far").read_bytes() == b"far"
    assert not (tmp_path / "a").is_symlink()


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_a_short_block(number: signal.Signals) -> None:
    came: list[str] = []
    before = signal.signal(number, lambda *_: came.append("handled"))
    try:
        with disk.uninterrupted():
            os.kill(os.getpid(), number)
            came.append("end of block")
    finally:
        signal.signal(number, before)
    assert came == ["end of block", "handled"]


@posix
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dprct import disk\n"
        "with disk.writing_into(Path(sys.argv[1])):\n    print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(disk.__file__).parents[1])},
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with (
            pytest.raises(FileError, match="another process has been writing"),
            disk.writing_into(tmp_path, timeout=0.05),
        ):
            pass
        other.communicate("")
    with disk.writing_into(tmp_path), disk.writing_into(tmp_path):  # its own twice is once
        pass
    assert list(tmp_path.iterdir()) == []


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with disk.writing_into(tmp_path):
            order.append("second")

    with disk.writing_into(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_what_is_no_toml_raises_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    for broken in (b"version = \n", b"\xff\xfe", b"a = 1\na = 2\n", b"a = " + b"[" * 50_000):
        path.write_bytes(broken)
        with pytest.raises(KeyError):
            disk.read_toml(path, KeyError)
    path.write_bytes(b"a = [1, 2]")
    assert disk.read_toml(path, KeyError) == {"a": [1, 2]}


def test_a_long_list_is_not_read_by_the_parser_that_keeps_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tomlkit takes a minute for it."""
    monkeypatch.setattr(tomlkit, "parse", lambda _: pytest.fail("tomlkit was asked"))
    path = tmp_path / "long.toml"
    path.write_text(f"levels = [{'1, ' * 300_000}]\nlabel = '{'1.' * 40}'\n", "utf-8")
    assert len(disk.read_toml(path, KeyError)["levels"]) == 300_000


def test_reading_takes_memory_for_what_is_there(tmp_path: Path) -> None:
    """``file.read(n)`` takes n bytes first, so that a limit of memory ended every command."""
    path = tmp_path / "small.json"
    path.write_bytes(b"x" * 3000)
    tracemalloc.start()
    try:
        assert disk.content(path, disk.MOST_JSON) == b"x" * 3000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"ab")
    with (
        disk.opened(path) as file,
        patch.object(os, "fstat", return_value=os.stat_result([0] * 10)),
    ):
        assert disk.read_at_most(file, 100) == b"ab"
        file.seek(0)
        assert disk.read_at_most(file, 1) == b"ab"


def test_a_new_folder_is_as_durable_as_a_file(tmp_path: Path) -> None:
    with patch.object(disk, "sync_folder") as sync:
        disk.make_folder(tmp_path / "states")
        disk.make_folder(tmp_path / "states")
    sync.assert_called_once_with(tmp_path)
