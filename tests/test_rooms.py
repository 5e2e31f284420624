"""How many files of the package a number passes on four common paths, by scripts/rooms.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MOST = {
    ".dta to Calibrated to .dta": 54,
    "fit of Calibrated": 44,
    "dprct protect": 64,
    "IPW on DuckDB": 23,
}
"""A path that needs another file has one that it can do without."""


def test_a_number_passes_few_rooms(checkout: Path) -> None:
    pytest.importorskip("duckdb")
    run = subprocess.run(
        [sys.executable, str(checkout / "scripts" / "rooms.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )
    assert run.returncode == 0, run.stderr
    found = re.findall(r"^(.+?) +(\d+) files ", run.stdout, re.MULTILINE)
    counted = {path: int(files) for path, files in found}
    assert counted.keys() == MOST.keys()
    too_many = {path: files for path, files in counted.items() if files > MOST[path]}
    assert not too_many, f"{run.stdout}\nrun scripts/rooms.py --files to see which"
    assert min(counted.values()) > 10  # something was counted
