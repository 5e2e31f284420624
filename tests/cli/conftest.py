"""The command line, in this process and in one of its own, on the study of tests/conftest.py."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dprct.cli import main
from dprct.privacy.openings import RECORD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def dprct(command_line: Callable[..., Any]) -> Callable[..., Any]:
    """Run the command line in this process; return its exit code and what it wrote."""
    return command_line(main)


@pytest.fixture
def study(folder: Path) -> Path:
    """The study file."""
    return folder / "study.toml"


@pytest.fixture
def edit(study: Path) -> Callable[..., None]:
    """Change the text of the study file."""

    def change(*changes: tuple[str, str]) -> None:
        text = study.read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        study.write_text(text, encoding="utf-8")

    return change


@pytest.fixture
def files(folder: Path) -> Callable[[], dict[str, bytes]]:
    """Return every file below the study's folder with its content, but the record of openings."""
    return lambda: {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(RECORD)
    }


@pytest.fixture
def shell(checkout: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in a process of its own, without a terminal."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        code = "import sys; from dprct.cli import main; main(sys.argv[1:])"
        environment = {**os.environ, "PYTHONPATH": str(checkout), **options.pop("env", {})}
        return subprocess.run(
            [sys.executable, "-c", options.pop("before", "") + code, *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=120,
            check=False,
            **options,
        )

    return run
