"""R inside the test process, started by rpy2; without it these tests are skipped aloud."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

from dprct.rbridge.files import r_is_here


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
