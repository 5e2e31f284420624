"""Where a protected file may be written, and under which name."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError, SchemaError
from dprct.privacy.budget import Budget, Guarantee
from dprct.release.writing import (
    NO_GUARANTEE,
    certificate_paths,
    check_name,
    check_target,
    is_described,
    rehearse,
    unpromised_name,
)
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = Guarantee.none("edges come from the data")
SOMETHING = Guarantee.of(Budget(1), "replace-one")


def described(path: Path, content: bytes) -> None:
    """Write a file and a certificate that knows its hash."""
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    text = json.dumps({"file": {"name": path.name, "sha256": digest}})
    certificate_paths(path)[1].write_text(text, "utf-8")


def test_a_file_without_a_guarantee_says_so_in_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"name it 'liberia_no_dp_guarantee\.dta'"):
        check_name(tmp_path / "liberia.dta", NOTHING)
    check_name(tmp_path / unpromised_name("liberia"), NOTHING)
    check_name(tmp_path / "liberia.dta", SOMETHING)
    assert NO_GUARANTEE in unpromised_name("liberia")


def test_only_a_file_that_its_certificate_describes_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    check_target(path)
    path.write_bytes(b"confidential")
    assert not is_described(path)
    with pytest.raises(FileError, match="may be a confidential file"):
        check_target(path)
    described(path, b"protected")
    assert is_described(path)
    check_target(path)
    path.write_bytes(b"protected and edited")
    with pytest.raises(FileError, match="may be a confidential file"):
        check_target(path)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("a.csv", r"end in \.dta"), ("none/a.dta", "does not exist"), ("folder.dta", "is a folder")],
)
def test_other_places_are_refused(tmp_path: Path, name: str, rule: str) -> None:
    (tmp_path / "folder.dta").mkdir()
    with pytest.raises(FileError, match=rule):
        check_target(tmp_path / name)


def test_a_rehearsal_leaves_nothing_and_finds_what_a_file_cannot_hold(tmp_path: Path) -> None:
    rehearse(Schema((Column("got", "byte"),)), tmp_path / "a.dta")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SchemaError):
        rehearse(Schema((Column("two words", "byte"),)), tmp_path / "a.dta")
    assert list(tmp_path.iterdir()) == []
