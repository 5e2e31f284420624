"""R inside the test process, started by rpy2; without it these tests are skipped aloud."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from dprct.rbridge.files import r_is_here

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class R:
    """Evaluates code, and crosses as the R package does."""

    session: Any

    def __call__(self, code: str) -> Any:
        from dprct.rbridge.convert import call_r

        base, ri = self.session.base, self.session.ri
        expression = base("str2expression")(ri.StrSexpVector([code]))
        return call_r(base("eval"), expression, self.room)

    @property
    def room(self) -> Any:
        return self.session.ri.globalenv

    def identical(self, one: Any, other: Any) -> bool:
        return bool(self.session.base("identical")(one, other)[0])

    def back(self, code: str) -> bool:
        """Whether the value of some code comes back from Python as it was."""
        from dprct.rbridge.convert import from_r, to_r

        value = self(code)
        return self.identical(value, to_r(from_r(value)))

    def cross(self, name: str, arguments: str = "list()") -> Any:
        """Run an export; return its frame."""
        from dprct.rbridge import dispatch

        table = self.session.base("new.env")()
        frame = self.session.base("new.env")()
        frame["fn"] = self.session.ri.StrSexpVector([name])
        frame["args"] = self(arguments)
        table["1"] = frame
        dispatch.serve(table)
        assert dispatch.run("1")
        return frame


@pytest.fixture(scope="session")
def r() -> R:
    if not r_is_here():
        if os.environ.get("DPRCT_REQUIRE_R"):
            pytest.fail("DPRCT_REQUIRE_R is set, and R or rpy2 is not installed")
        pytest.skip("needs R and rpy2; see scripts/r-for-tests")
    from dprct.rbridge.attach import attach

    return R(attach())


@pytest.fixture(scope="session")
def haven(r: R) -> str:
    """Name of the package haven, without which the test is skipped or fails."""
    if not bool(r('requireNamespace("haven", quietly = TRUE)')[0]):
        if os.environ.get("DPRCT_REQUIRE_R"):
            pytest.fail("DPRCT_REQUIRE_R is set, and haven is not installed")
        pytest.skip("needs haven of R; see scripts/r-for-tests")
    return "haven"


@dataclass(frozen=True)
class Host:
    """An R session of its own, with the R package installed, that starts this Python."""

    rscript: str
    library: str

    def start(self, code: str, **env: str) -> subprocess.Popen[str]:
        """Start R on some code; the package is attached."""
        before = f'.libPaths(c("{self.library}", .libPaths())); library(dprct)\n'
        names = {"R_SESSION_INITIALIZED", "R_HOME", "LD_LIBRARY_PATH", "RETICULATE_PYTHON"}
        kept = {k: v for k, v in os.environ.items() if k not in names}
        given = {"DPRCT_PYTHON": sys.executable, "TZ": "UTC", **env}
        return subprocess.Popen(
            [self.rscript, "-e", before + code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**kept, **given},
        )

    def run(self, code: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run some code to its end."""
        process = self.start(code, **env)
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess([], process.returncode, out, err)


@pytest.fixture(scope="session")
def host(rscript: str, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Host:
    found = subprocess.run(
        [rscript, "-e", "quit(status = !requireNamespace('reticulate', quietly = TRUE))"],
        check=False,
        capture_output=True,
    )
    if found.returncode or not r_is_here():
        if os.environ.get("DPRCT_REQUIRE_R"):
            pytest.fail("DPRCT_REQUIRE_R is set, and reticulate or rpy2 is not installed")
        pytest.skip("needs reticulate of R, and rpy2; see scripts/r-for-tests")
    library = tmp_path_factory.mktemp("library")
    subprocess.run(
        [
            *(rscript.removesuffix("script"), "CMD", "INSTALL", "--no-docs", "--no-test-load"),
            *(f"--library={library}", str(checkout / "r-wrapper")),
        ],
        check=True,
        capture_output=True,
    )
    return Host(rscript, str(library))
