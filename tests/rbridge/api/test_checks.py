from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import DprctWarning, FileError, ParameterError
from dprct.rbridge.registry import exported

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.rbridge.convert import Table


def test_a_protected_file_is_verified(release: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.dta"
    exported("release_write")(release.live, str(path))
    found = exported("verify")(str(path)).fields
    assert found["verified"]
    assert found["values"] == "match"
    with pytest.raises(FileError):
        exported("verify")(str(tmp_path / "none.dta"))


def test_utility_is_confidential(nsw: Table, nsw_path: str) -> None:
    with pytest.warns(DprctWarning, match="disclosure"):
        found = exported("utility")(nsw_path, nsw, "re78 ~ treat", {"alpha": 0.1}).fields
    assert "onfidential" in found["text"]
    assert {"overlap", "estimate"} <= set(found["effects"].columns)
    with pytest.raises(ParameterError, match="did you mean alpha"):
        exported("utility")(nsw_path, nsw, "re78 ~ treat", {"alhpa": 0.1})
