"""The table of docs/audit.md, and the script that writes it."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

ROW: dict[str, Any] = {
    "method": "Marginals", "neighbours": "a row moves", "event": "likelihood ratio",
    "draws": 30_000, "claimed": 2.0, "delta": 0.0, "certified": 1.7, "alpha": 1e-9, "tight": True,
}  # fmt: skip
PAGE = "# Page\n\n<!-- rows of make audit -->\n<!-- end of rows -->\nrest\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.audit_table")


def test_rows_are_written_in_order_and_kept(script: ModuleType) -> None:
    once = script.written(PAGE, [ROW])
    assert "| Marginals | a row moves | likelihood ratio | 2 x 60,000 | 2 | 1.70 | 85% | yes |" in (
        once
    )
    other = {**ROW, "method": "Calibrated", "delta": 0.001, "tight": False}
    twice = script.written(once, [other])
    assert [text.split(" | ")[0] for text in twice.splitlines() if text[:3] in ("| M", "| C")] == [
        "| Calibrated",
        "| Marginals",
    ]
    assert "| 2, delta 0.001 |" in twice
    assert script.written(twice, [ROW]) == twice
    assert twice.endswith("<!-- end of rows -->\nrest\n")


def test_a_page_without_a_place_is_refused(script: ModuleType) -> None:
    with pytest.raises(ValueError, match="the page has no"):
        script.written("# Page\n", [ROW])


def test_no_figure_of_the_page_contradicts_its_claim(script: ModuleType, checkout: Path) -> None:
    lines = script.kept((checkout / "docs" / "audit.md").read_text("utf-8"))
    assert {method.split(",")[0] for method, _ in lines} >= {"MVHistogram", "Marginals"}
    for text in lines.values():
        cells = text.strip("| ").split(" | ")
        claimed, certified = float(cells[4].split(",")[0].removeprefix("mu ")), float(cells[5])
        assert certified <= claimed, text
        assert cells[7] == "no" or certified >= 0.8 * claimed, text


def test_theorems_have_the_best_figure_of_each_method(script: ModuleType) -> None:
    rows = [ROW, {**ROW, "neighbours": "two rows", "certified": 1.9},
            {**ROW, "neighbours": "loose", "certified": 1.99, "tight": False}]  # fmt: skip
    theorems = "a\n<!-- theorems -->\n| Marginals | why | - |\n| New | why | - |\n" \
        "<!-- end of theorems -->\nb | - |\n"  # fmt: skip
    done = script.figured(theorems, script.written(PAGE, rows))
    assert "| Marginals | why | 1.90 of 2 |\n| New | why | - |\n" in done
    assert done.endswith("<!-- end of theorems -->\nb | - |\n")


def test_the_figures_of_the_theorems_are_those_of_the_audit(
    script: ModuleType, checkout: Path
) -> None:
    page, theorems = (
        (checkout / name).read_text("utf-8") for name in ("docs/audit.md", "docs/why_believe_it.md")
    )
    assert script.figured(theorems, page) == theorems
    assert "1." in "".join(script.figures(page).values())


def test_the_page_says_at_which_commit_it_was_renewed(script: ModuleType) -> None:
    page = "a\n\nRenewed last at commit 1234567: 9 rows.\n\nb\n"
    found = script.dated(page, 3)
    assert re.fullmatch(
        r"a\n\nRenewed last at commit (unknown|[0-9a-f]{7,}): 3 rows\.\n\nb\n", found
    )
    assert "Renewed last at commit" in (script.TOP / "docs" / "audit.md").read_text("utf-8")
