"""Sentences that quote a paper say where, and the script finds those that do not."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def script() -> Any:
    return importlib.import_module("scripts.paper_sentences")


def test_every_quotation_has_its_place(script: Any) -> None:
    lacking = [f"{one.path}:{one.line}: {one.text}" for one in script.every() if not one.placed]
    assert lacking == []
    assert len(script.every()) > 20


def test_a_quotation_without_a_place_is_found(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "TOP", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "The paper prints 5.21.\n\nThe paper prints 5.21 (Table 1).\n\n"
        "It has 20 runs. The paper says so in section 4.3. So do we.\n\nOur paper is another.\n",
        "utf-8",
    )
    assert [(one.line, one.placed) for one in script.quoted(page)] == [
        (1, False), (3, True), (5, True),
    ]  # fmt: skip
    program = tmp_path / "program.py"
    program.write_text('"""The paper has noise."""\n\nx = 1  # as the paper says\n', "utf-8")
    assert [one.placed for one in script.quoted(program)] == [False]
