from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dprct
from dprct.disk import atomic_write, file_error, path_of
from dprct.errors import DprctError, FileError, ParameterError
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable


POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX")
NOT_ROOT = pytest.mark.skipif(
    os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere"
)


def write(path, content=b"new", mode="wb"):
    with atomic_write(path, mode) as file:
        file.write(content)


def interrupted(path, interruption):
    with atomic_write(path) as file:
        file.write(b"half")
        raise interruption


def test_a_file_appears_whole(tmp_path):
    write(tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_text_is_utf8_with_unix_line_ends(tmp_path):
    write(tmp_path / "a.txt", "é\n", "w")
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()


def test_nothing_is_there_before_the_end(tmp_path):
    with atomic_write(tmp_path / "a.bin") as file:
        file.write(b"half")
        assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_interruption_leaves_the_older_file_and_nothing_else(tmp_path, interruption):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with pytest.raises(interruption):
        interrupted(target, interruption)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    with pytest.raises(FileError, match="free some space") as refusal:
        interrupted(tmp_path / "a.bin", OSError(errno.ENOSPC, "No space left on device"))
    assert refusal.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_a_failing_flush_leaves_nothing(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match="could not be written"):
        write(tmp_path / "a.bin")
    assert os.listdir(tmp_path) == []


def test_a_refusal_from_within_passes_unchanged(tmp_path):
    with pytest.raises(DprctError, match=r"^mine$"):
        interrupted(tmp_path / "a.bin", FileError("mine"))
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileError, match=r"folder of .* does not exist; create it"):
        write(tmp_path / "absent" / "a.bin")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileError, match="is a folder; name a file"):
        write(tmp_path)


@POSIX
@NOT_ROOT
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="may not be written by you"):
            write(tmp_path / "a.bin")
    finally:
        tmp_path.chmod(0o700)


@POSIX
def test_permissions_are_those_of_the_older_file_or_of_the_session(tmp_path):
    old = tmp_path / "old.bin"
    old.touch()
    old.chmod(0o640)
    write(old)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    (tmp_path / "plain.bin").touch()
    write(tmp_path / "new.bin")
    assert (tmp_path / "new.bin").stat().st_mode == (tmp_path / "plain.bin").stat().st_mode


@POSIX
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.bin").write_bytes(b"old")
    (tmp_path / "link.bin").symlink_to(tmp_path / "real.bin")
    write(tmp_path / "link.bin")
    assert (tmp_path / "link.bin").is_symlink()
    assert (tmp_path / "real.bin").read_bytes() == b"new"


def test_an_error_is_a_sentence_about_the_named_file():
    refusal = file_error(PermissionError(errno.EACCES, "denied"), "x.dta", "read")
    assert str(refusal) == (
        "'x.dta' may not be read by you; change its permissions or choose another place"
    )
    assert isinstance(refusal, OSError)
    assert "could not be read" in str(file_error(OSError(errno.EIO, "broken"), "x.dta", "read"))


DATA, SCHEMA = (
    pd.DataFrame({"got": [0.0, 1.0] * 50}),
    Schema((Column("got", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),)),
)


def released() -> Any:
    return dprct.Marginals(DATA, SCHEMA).fit(1)


def test_names_and_paths_are_paths() -> None:
    assert path_of("a.dta") == path_of(Path("a.dta")) == Path("a.dta")


@pytest.mark.parametrize(
    "ask",
    [
        path_of,
        dprct.read,
        dprct.read_dta,
        dprct.verify,
        lambda path: dprct.write_dta(DATA, SCHEMA, path),
        lambda path: dprct.compare(path, path),
        lambda path: released().write_dta(path),
    ],
    ids=["path_of", "read", "read_dta", "verify", "write_dta", "compare", "release"],
)
@pytest.mark.parametrize("wrong", [5, None, DATA])
def test_what_is_no_file_name_is_refused_by_its_type(
    ask: Callable[[Any], Any], wrong: object
) -> None:
    with pytest.raises(ParameterError, match=f"got {type(wrong).__name__}"):
        ask(wrong)
