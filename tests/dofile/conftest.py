"""A do-file from a text, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.dofile import read_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.dofile import Reading


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Reading]:
    """Read a text, beside other files of its folder."""

    def run(text: str | bytes, header: list[str] | None = None, **others: str) -> Reading:
        treatments = [others.pop("treatment")] if "treatment" in others else []
        for name, content in others.items():
            (tmp_path / f"{name}.do").write_text(content, encoding="utf-8")
        raw = text.encode("utf-8") if isinstance(text, str) else text
        (tmp_path / "main.do").write_bytes(raw)
        return read_files([(tmp_path / "main.do", tmp_path)], header, None, treatments)

    return run


@pytest.fixture
def outcomes(read: Callable[..., Reading]) -> Callable[..., list[str]]:
    """Read a text and return "outcome: regressors" of each row."""

    def run(text: str, header: list[str] | None = None, **others: str) -> list[str]:
        return [
            f"{row.outcome}: {' '.join(row.regressors)}" for row in read(text, header, **others)
        ]

    return run
