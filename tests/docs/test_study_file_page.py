"""docs/study_file.md, and the script that writes it from the specifications."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import pytest

from dprct.schema.facts import DECLARABLE
from dprct.schema.keys import keys_of
from dprct.study.asked import DESIGN, needs_formula, spec_of
from dprct.study.methods import ESTIMATES, METHODS, UNPROMISED

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.study_file_page")


def test_the_page_is_what_the_script_writes(script: ModuleType, checkout: Path) -> None:
    written = (checkout / "docs" / "study_file.md").read_text("utf-8")
    assert written == script.page(), "run python scripts/study_file_page.py"


def test_every_method_and_every_key_of_an_estimate_is_told(script: ModuleType) -> None:
    text = script.page()
    assert all(f"| `{method}` |" in text for method in METHODS)
    for method in ESTIMATES:
        own = text.partition(f"## `[{method}]`\n")[2].partition("\n## ")[0]
        told = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", own, re.MULTILINE))
        spec = spec_of(method)
        given = spec.formula_gives if needs_formula(method) else ()
        assert set(told) == set(keys_of(spec)) - {*given, DESIGN}
        assert all(told.values())


def test_every_key_of_a_column_is_told(script: ModuleType) -> None:
    own = script.page().partition("## `[columns.NAME]`\n")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", own, re.MULTILINE))
    assert set(told) == set(DECLARABLE)


def test_a_worked_file_of_every_strict_method_is_shown(script: ModuleType, checkout: Path) -> None:
    text = script.page()
    for method in set(METHODS) - UNPROMISED:
        worked = (checkout / "docs" / "studies" / f"{method}.toml").read_text("utf-8")
        assert f"```toml{worked.partition(chr(10))[2]}```" in text.replace("```toml\n", "```toml")
