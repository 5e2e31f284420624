"""Where the moments of a study are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError
from dprct.study.moments_tables import check_moments_target, moments_path

if TYPE_CHECKING:
    from pathlib import Path


def test_the_moments_are_named_after_the_results(tmp_path: Path) -> None:
    assert moments_path(tmp_path / "trial_moments.json").name == "trial.moments.json"
    check_moments_target(tmp_path / "trial_moments.json", "trial")


def test_a_strangers_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "trial.moments.json").write_text("{}")
    with pytest.raises(FileError):
        check_moments_target(tmp_path / "trial_moments.json", "trial")
    with pytest.raises(FileError, match="leave out"):
        check_moments_target(tmp_path / "other.moments.json", "trial")
