"""The trail from each guarantee to theorem, code, test, replay and attack leads somewhere."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.proofs")


def test_every_link_leads_somewhere_and_the_page_has_them(
    script: ModuleType, checkout: Path
) -> None:
    assert script.broken() == []
    page = (checkout / "docs" / "why_believe_it.md").read_text("utf-8")
    assert script.written(page) == page, "run python scripts/proofs.py"


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        ({"section": "99. Nothing"}, "no section"),
        ({"code": "dprct/queries/sums.py:nothing"}, "no nothing in"),
        ({"test": "tests/nothing.py:test"}, "no test in"),
        ({"replay": "estimate.PrivateATE: nothing"}, "no replay case"),
        ({"audit": "Nothing"}, "no row of"),
    ],
)
def test_a_broken_link_is_found(script: ModuleType, changed: dict[str, str], lost: str) -> None:
    (found,) = script.broken((replace(script.TRAILS[1], **changed),))
    assert lost in found


def test_the_attacks_of_the_page_are_files_of_tests(checkout: Path) -> None:
    text = (checkout / "docs" / "attack.md").read_text("utf-8")
    commands = re.findall(r"`pytest ([^`]*)`", text)
    assert len(commands) > 9
    for command in commands:
        words = [word for word in command.split() if "/" in word]
        assert words
        assert all((checkout / word).exists() for word in words)
