"""The campaign of ``make torture``, each family small: nothing is found wrong."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it forks and kills")

QUICK = (
    "dta", "others", "moments", "studies", "odd", "ledgers", "certificates", "kills", "calls",
    "names", "do", "memory", "races", "disks", "hostile",
)  # fmt: skip
"""All but wrong arguments, which have tests of their own beside what they are given to."""


@pytest.fixture
def torture() -> Any:
    """The script, as a module."""
    return importlib.import_module("scripts.torture")


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_nothing_is_found_wrong(name: str, torture: Any) -> None:
    runs = torture.FAMILIES[name][2]
    found = torture.tortured(name, runs, seed=1)
    assert found.findings == []
    assert found.runs >= runs


def test_what_is_wrong_is_found(torture: Any) -> None:
    """Without this a campaign that looks at nothing would be green."""
    family = torture.Family("a", "b")
    torture.attempt(family, "a bare exception", lambda: str(1 // 0))
    torture.attempt(family, "a result that is not right", lambda: "WRONG fewer charges")
    torture.attempt(family, "a sentence", lambda: torture.dprct.Budget(-1))
    assert (len(family.findings), family.ends["refused"]) == (2, 1)
    assert "ZeroDivisionError" in family.findings[0]


def test_figures_replace_those_of_the_page(torture: Any) -> None:
    page = f"before\n{torture.BEGIN}\nold\n{torture.END}\nafter\n"
    family = torture.Kept(torture.Family("Kills", "how", {"ended": 3}), "abc1234", "2026-01-01")
    words = torture.figures([family], [(100, 1.0, 2.0, 5)], "make torture")
    new = torture.written(page, words)
    assert "| Kills | how | 3 | 3 ended | 0 | abc1234, 2026-01-01 |" in new
    assert "old" not in new
    assert new.startswith("before\n")
    assert new.endswith("\nafter\n")
    with pytest.raises(ValueError, match="no <!--"):
        torture.written("nothing", words)


def test_families_are_kept_for_the_page(torture: Any, tmp_path: Path, monkeypatch: Any) -> None:
    kept = tmp_path / "kept.json"
    assert torture.kept_in(kept) == torture.kept_in(None) == {}
    for name in ("studies", "ledgers"):
        words = ["torture.py", name, "--share", "0.001", "--kept", str(kept)]
        monkeypatch.setattr(sys, "argv", words)
        assert torture.run() == 0
    found = torture.kept_in(kept)
    assert {name: one.family.runs for name, one in found.items()} == {"studies": 3, "ledgers": 5}
    assert all(one.commit for one in found.values())
