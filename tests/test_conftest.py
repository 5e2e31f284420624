"""The guards that watch every test notice what they watch for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "closing"),
    [
        ("np.random.normal()", "1 passed, 1 error"),
        ("np.random.seed(1)", "1 passed, 1 error"),
        ("np.random.default_rng(1).normal()", "1 passed"),
    ],
)
def test_global_numpy_state_is_guarded(
    body: str, closing: str, tmp_path: Path, checkout: Path
) -> None:
    conftest = (checkout / "tests" / "conftest.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "test_it.py").write_text(f"import numpy as np\n\ndef test_it():\n    {body}\n")
    plain = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, "--rootdir", ".", "test_it.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert run.stdout.splitlines()[-1].startswith(closing), run.stdout + run.stderr
