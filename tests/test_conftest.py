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


DRAWN = "secure.discrete_laplace(5e3, 4).tolist(), secure.discrete_gaussian(9.0, 4).tolist(), " + (
    "secure.uniform_below(10**30), secure.uniform_bytes(4).tobytes(), "
    "secure.post_processing_rng().normal()"
)


@pytest.mark.long
def test_noise_is_drawn_by_the_name_of_the_test(tmp_path: Path, checkout: Path) -> None:
    conftest = (checkout / "tests" / "conftest.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    written = tmp_path / "written"
    lines = [
        "import pytest\nfrom dprct.privacy.noise import Secure\nsecure = Secure()",
        f"@pytest.fixture(scope='module')\ndef shared_draw():\n    return {DRAWN}",
        f"def write(*values):\n    print(*values, {DRAWN}, file=open({str(written)!r}, 'a'))",
        "def test_one():\n    write('one')",
        "def test_two(shared_draw):\n    write('two', shared_draw)",
        "def test_three(shared_draw):\n    write('three', shared_draw)",
    ]
    (tmp_path / "test_it.py").write_text("\n".join(lines) + "\n")

    def drawn(*options: str) -> list[str]:
        written.unlink(missing_ok=True)
        plain = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "--rootdir", ".", *options]
        command = [sys.executable, "-m", "pytest", *plain]
        subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
        return written.read_text().splitlines()

    tests = [f"test_it.py::test_{name}" for name in ("one", "two", "three")]
    ordered = ["-p", "no:randomly"]
    first = drawn(*ordered, *tests)
    assert sorted(drawn(*ordered, *reversed(tests))) == sorted(first)
    assert drawn(*ordered, tests[2]) == [first[2]]
    for other in ("--noise=2", "--noise=system"):
        assert not {*drawn(*ordered, other, *tests)} & {*first}
